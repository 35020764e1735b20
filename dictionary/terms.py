r"""RDF terms as canonical N-Triples text: equal terms have equal text.

An IRI is ``<…>`` and a blank node ``_:label``, in raw Unicode. A literal is ``"lexical"``, in which
exactly these are escaped: ``\`` as ``\\``, ``"`` as ``\"``, line feed as ``\n``, carriage return as
``\r``; then ``^^<datatype>``, left out for `xsd:string`, or ``@language`` in lower case. The printed
text of a term is the same with the language tag as it was first written.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from logging import getLogger
from typing import TYPE_CHECKING, NoReturn

from spectra.errors import StreamError

if TYPE_CHECKING:
    from rdflib.term import BNode, URIRef
    from rdflib.term import Literal as RdflibLiteral

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
RDF_LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"

_STRING_SUFFIX = f"^^<{XSD_STRING}>"
_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_ABSOLUTE_IRI = re.compile(r'[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|^`\\]*')
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_QUOTED = re.compile(r'"([^"\\\n\r]*(?:\\.[^"\\\n\r]*)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.|\Z)", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

# PN_CHARS_U and PN_CHARS of N-Triples, without the colon that its test suite refuses
_LABEL_FIRST = (
    "A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff0-9"
)
_LABEL_REST = rf"{_LABEL_FIRST}\-\u00b7\u0300-\u036f\u203f-\u2040"
_LABEL = re.compile(f"[{_LABEL_FIRST}](?:[{_LABEL_REST}.]*[{_LABEL_REST}])?")

_TERM_HINT = 'Write <iri>, _:label, "text", "text"@language or "text"^^<datatype>.'
_OBJECT_HINT = "Give N-Triples text, or an IRI, blank node or literal of rdflib or pyoxigraph."


@dataclass(frozen=True, slots=True)
class Iri:
    value: str


@dataclass(frozen=True, slots=True)
class BlankNode:
    label: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A lexical form with its datatype's IRI; a language, in lower case, goes with `rdf:langString`."""

    lexical: str
    datatype: str = XSD_STRING
    language: str = ""

    def __post_init__(self) -> None:
        if self.language and self.datatype != RDF_LANG_STRING:
            raise StreamError(f'literal with language "{self.language}" has datatype <{self.datatype}>')


Term = Iri | BlankNode | Literal


def parse_term(text: str) -> Term:
    r"""The term that N-Triples text stands for, escapes decoded and language in lower case.

    Examples
    --------
    >>> parse_term(r'"caf\u00E9"@EN')
    Literal(lexical='café', datatype='http://www.w3.org/1999/02/22-rdf-syntax-ns#langString', language='en')
    """
    match text[:1]:
        case "<":
            return Iri(_parse_iri(text, text))
        case "_":
            return BlankNode(_parse_label(text))
        case '"':
            lexical, datatype, language = _parse_literal(text)
            return Literal(lexical, datatype, language.lower())
    _refuse(text, "no term starts like this")


def term_text(term: Term) -> str:
    """The canonical N-Triples text of a term."""
    match term:
        case Iri(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case Literal(lexical, datatype, language):
            return _quote(lexical) + _suffix(datatype, language.lower())


def canonical(term: object) -> tuple[str, str]:
    r"""The canonical text of a term, and its language tag as written if that has capitals (else "").

    The term is N-Triples text, a term of rdflib or pyoxigraph, or a `Term`.

    Examples
    --------
    >>> canonical(r'"\u0041"@EN')
    ('"A"@en', 'EN')
    """
    if type(term) is str:
        return _canonical_text(term)
    match term:
        case Iri(value):
            return _canonical_iri(value)
        case BlankNode(label):
            return _canonical_label(label)
        case Literal(lexical, datatype, language):
            return _canonical_literal(lexical, datatype, language)
    # a term of a library that was never imported cannot be here, so neither needs importing
    rdflib = sys.modules.get("rdflib.term")
    if rdflib is not None and isinstance(term, rdflib.Identifier):
        if isinstance(term, rdflib.URIRef):
            return _canonical_iri(str(term))
        if isinstance(term, rdflib.BNode):
            return _canonical_label(str(term))
        if isinstance(term, rdflib.Literal):
            return _canonical_literal(str(term), str(term.datatype or XSD_STRING), term.language or "")
        raise StreamError(f"not an RDF term: {term!r}", hint=_OBJECT_HINT)
    if isinstance(term, str):
        return _canonical_text(str(term))
    pyoxigraph = sys.modules.get("pyoxigraph")
    if pyoxigraph is not None:
        if isinstance(term, pyoxigraph.NamedNode):
            return _canonical_iri(term.value)
        if isinstance(term, pyoxigraph.BlankNode):
            return _canonical_label(term.value)
        if isinstance(term, pyoxigraph.Literal) and getattr(term, "direction", None) is None:
            return _canonical_literal(term.value, term.datatype.value, term.language or "")
    raise StreamError(f"not an RDF term: {term!r}", hint=_OBJECT_HINT)


def literal_parts(text: str) -> tuple[str, str, str]:
    """Lexical form, datatype IRI and language tag ("" for none) of a literal's canonical or printed text."""
    end = text.rfind('"')
    lexical = text[1:end]
    if "\\" in lexical:
        lexical = _unescape(lexical, text)
    suffix = text[end + 1 :]
    if not suffix:
        return lexical, XSD_STRING, ""
    if suffix[0] == "@":
        return lexical, RDF_LANG_STRING, suffix[1:]
    return lexical, suffix[3:-1], ""


def to_json(text: str) -> dict[str, str]:
    """The SPARQL 1.1 JSON results form of a term's canonical or printed text."""
    first = text[0]
    if first == "<":
        return {"type": "uri", "value": text[1:-1]}
    if first == "_":
        return {"type": "bnode", "value": text[2:]}
    lexical, datatype, language = literal_parts(text)
    if language:
        return {"type": "literal", "value": lexical, "xml:lang": language}
    if datatype == XSD_STRING:
        return {"type": "literal", "value": lexical}
    return {"type": "literal", "value": lexical, "datatype": datatype}


def to_rdflib(text: str) -> URIRef | BNode | RdflibLiteral:
    """The rdflib term of a term's canonical or printed text, its lexical form untouched."""
    from rdflib.term import BNode, URIRef
    from rdflib.term import Literal as RdflibLiteral

    first = text[0]
    if first == "<":
        return URIRef(text[1:-1])
    if first == "_":
        return BNode(text[2:])
    lexical, datatype, language = literal_parts(text)
    if language:
        return RdflibLiteral(lexical, lang=language)
    if datatype == XSD_STRING:
        return RdflibLiteral(lexical)
    with _quiet:
        return RdflibLiteral(lexical, datatype=URIRef(datatype), normalize=False)


class _Quiet:
    """Keeps rdflib from logging a traceback for every literal that is not of its datatype: RDF allows them."""

    def __enter__(self) -> None:
        self._before = _RDFLIB_LOG.disabled
        _RDFLIB_LOG.disabled = True

    def __exit__(self, *_: object) -> None:
        _RDFLIB_LOG.disabled = self._before


_RDFLIB_LOG = getLogger("rdflib.term")
_quiet = _Quiet()


# --- from text ----------------------------------------------------------------------------


def _canonical_text(text: str) -> tuple[str, str]:
    match text[:1]:
        case "<":
            value = _parse_iri(text, text)
            return (text, "") if "\\" not in text else (f"<{value}>", "")
        case "_":
            _parse_label(text)
            return text, ""
        case '"':
            lexical, datatype, language = _parse_literal(text)
            if "\\" not in text and not language:
                return text.removesuffix(_STRING_SUFFIX), ""
            lower = language.lower()
            return _quote(lexical) + _suffix(datatype, lower), "" if language == lower else language
    _refuse(text, "no term starts like this")


def _parse_iri(part: str, text: str) -> str:
    """The IRI of `part`, ``<…>``, which is `text` or the end of it."""
    if len(part) < 2 or part[-1] != ">":
        _refuse(text, "the IRI has no closing >")
    value = part[1:-1]
    if "\\" in value:
        if re.search(r"\\[^uU]", value):
            _refuse(text, "an IRI knows the escapes \\uXXXX and \\UXXXXXXXX only")
        value = _unescape(value, text)
    reason = _why_not_iri(value)
    if reason:
        _refuse(text, reason)
    return value


def _parse_label(text: str) -> str:
    label = text[2:]
    if text[1:2] != ":" or _LABEL.fullmatch(label) is None:
        _refuse(text, "not a blank node label")
    return label


def _parse_literal(text: str) -> tuple[str, str, str]:
    """Lexical form, datatype IRI and language tag as written."""
    if "\\" not in text:
        end = text.rfind('"')
        lexical = text[1:end]
        if end == 0:
            _refuse(text, "unterminated literal")
        if '"' in lexical or "\n" in lexical or "\r" in lexical:
            _refuse(text, "a quote or line end inside a literal must be escaped")
    else:
        quoted = _QUOTED.match(text)
        if quoted is None:
            _refuse(text, "unterminated literal, or a line end in it that is not escaped")
        end = quoted.end() - 1
        lexical = _unescape(quoted[1], text)
    if not lexical.isascii() and not _is_unicode(lexical):
        _refuse(text, "a surrogate is not a character")
    suffix = text[end + 1 :]
    if not suffix:
        return lexical, XSD_STRING, ""
    if suffix[0] == "@":
        if _LANGUAGE.fullmatch(suffix, 1) is None:
            _refuse(text, f'not a language tag: "{suffix}"')
        return lexical, RDF_LANG_STRING, suffix[1:]
    if suffix.startswith("^^<"):
        return lexical, _parse_iri(suffix[2:], text), ""
    _refuse(text, "after a literal's closing quote comes nothing, @language or ^^<datatype>")


def _unescape(escaped: str, text: str) -> str:
    """`escaped` with its escapes decoded; `text` is what an error names."""

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            point = int(code[1:], 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                _refuse(text, f"\\{code} is not a character")
            return chr(point)
        if code not in _ESCAPED:
            _refuse(text, f"bad escape \\{code}")
        return _ESCAPED[code]

    return _ESCAPE.sub(character, escaped)


def _refuse(text: str, reason: str) -> NoReturn:
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    raise StreamError(f"not an N-Triples term: {shown}", detail=f"{reason[0].upper()}{reason[1:]}.", hint=_TERM_HINT)


# --- from parts ---------------------------------------------------------------------------


def _canonical_iri(value: str) -> tuple[str, str]:
    reason = _why_not_iri(value)
    if reason:
        raise StreamError(f"not an absolute IRI: {value!r}", detail=f"{reason[0].upper()}{reason[1:]}.")
    return f"<{value}>", ""


def _canonical_label(label: str) -> tuple[str, str]:
    if _LABEL.fullmatch(label) is None:
        raise StreamError(f"not a blank node label: {label!r}", hint="Use letters, digits, '_', '-' and '.' inside.")
    return f"_:{label}", ""


def _canonical_literal(lexical: str, datatype: str, language: str) -> tuple[str, str]:
    if not lexical.isascii() and not _is_unicode(lexical):
        raise StreamError(f"literal holds a surrogate, which is not a character: {lexical!r}")
    if language:
        if _LANGUAGE.fullmatch(language) is None:
            raise StreamError(f"not a language tag: {language!r}")
        lower = language.lower()
        return _quote(lexical) + f"@{lower}", "" if language == lower else language
    reason = _why_not_iri(datatype)
    if reason:
        raise StreamError(f"not a datatype IRI: {datatype!r}", detail=f"{reason[0].upper()}{reason[1:]}.")
    return _quote(lexical) + _suffix(datatype, ""), ""


def _quote(lexical: str) -> str:
    escaped = lexical.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _suffix(datatype: str, language: str) -> str:
    if language:
        return f"@{language}"
    return "" if datatype == XSD_STRING else f"^^<{datatype}>"


def _why_not_iri(value: str) -> str:
    """Why `value` is not an absolute IRI, "" if it is."""
    if _ABSOLUTE_IRI.fullmatch(value) is None:
        wrong = _NOT_IN_IRI.search(value)
        return "relative IRI" if wrong is None else f"{wrong[0]!r} is not allowed in an IRI"
    if not value.isascii() and not _is_unicode(value):
        return "a surrogate is not a character"
    return ""


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
