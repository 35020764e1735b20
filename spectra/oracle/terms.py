"""Canonical N-Triples text taken apart and put together, for the oracle alone."""

from __future__ import annotations

from typing import NamedTuple

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

TRUE = f'"true"^^<{XSD}boolean>'
FALSE = f'"false"^^<{XSD}boolean>'

_UNESCAPED = {"\\": "\\", '"': '"', "n": "\n", "r": "\r"}


class Literal(NamedTuple):
    lexical: str
    datatype: str
    language: str


def is_iri(text: str) -> bool:
    return text.startswith("<")


def is_blank(text: str) -> bool:
    return text.startswith("_:")


def is_literal(text: str) -> bool:
    return text.startswith('"')


def literal(text: str) -> Literal | None:
    """The parts of a literal, None for an IRI or a blank node."""
    if not is_literal(text):
        return None
    close = text.rindex('"')
    body, rest = text[1:close], text[close + 1 :]
    if "\\" in body:
        pieces = []
        position = 0
        while position < len(body):
            character = body[position]
            if character == "\\":
                position += 1
                character = _UNESCAPED[body[position]]
            pieces.append(character)
            position += 1
        body = "".join(pieces)
    if rest.startswith("@"):
        return Literal(body, RDF_LANG_STRING, rest[1:])
    return Literal(body, rest[3:-1] if rest else XSD + "string", "")


def literal_text(lexical: str, datatype: str = XSD + "string", language: str = "") -> str:
    """Canonical text of a literal."""
    body = lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    if language:
        return f'"{body}"@{language.lower()}'
    if datatype == XSD + "string":
        return f'"{body}"'
    return f'"{body}"^^<{datatype}>'


def boolean_text(value: bool) -> str:
    return TRUE if value else FALSE
