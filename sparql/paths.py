"""rdflib's parse tree of a property path -> `PathExpression`."""

from __future__ import annotations

from typing import Any

from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import URIRef

from spectra.errors import InternalError, QueryError
from spectra.sparql.placeholders import InverseSlot, IriSlot, RepeatSlot, Rewritten
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    PathExpression,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

_MODIFIERS: dict[str, type[ZeroOrMorePath | OneOrMorePath | ZeroOrOnePath]] = {
    "*": ZeroOrMorePath,
    "+": OneOrMorePath,
    "?": ZeroOrOnePath,
}


def iri_text(node: URIRef, rewritten: Rewritten) -> str:
    """The canonical text of an IRI of the parse tree: the user's own, or one that the grammar made."""
    slot = rewritten.slots[int(node)] if node.isdigit() else IriSlot(f"<{node}>")
    if isinstance(slot, IriSlot):
        return slot.text
    raise rewritten.error("a repetition can only follow an element of a property path", int(node))


def translate_path(node: Any, rewritten: Rewritten) -> PathExpression:
    """The path that a node of the parse tree means; a single predicate is a `Link`."""
    if isinstance(node, URIRef):
        return Link(iri_text(node, rewritten))
    if not isinstance(node, CompValue):
        raise InternalError(f"unknown path in the parse tree: {node!r}")
    if node.name == "PathAlternative":
        parts = tuple(translate_path(part, rewritten) for part in node.part)
        return parts[0] if len(parts) == 1 else AlternativePath(parts)
    if node.name == "PathSequence":
        return _sequence(node, rewritten)
    if node.name == "PathElt":
        path = translate_path(node.part, rewritten)
        return path if node.mod is None else _MODIFIERS[str(node.mod)](path)
    if node.name == "PathEltOrInverse":
        return InversePath(translate_path(node.part, rewritten))
    if node.name == "PathNegatedPropertySet":
        return _negated(node, rewritten)
    if node.name == "DistinctPath":
        raise QueryError("DISTINCT (path) is not SPARQL 1.1", hint="Leave DISTINCT out, or use SELECT DISTINCT.")
    raise InternalError(f"unknown path in the parse tree: {node.name}")


def _sequence(node: CompValue, rewritten: Rewritten) -> PathExpression:
    parts: list[PathExpression] = []
    inverse_written = False  # whether the part before is `^elt`, not `(^elt)`
    for part in node.part:
        repeat = _repeat(part, rewritten)
        if repeat is None:
            parts.append(translate_path(part, rewritten))
        elif isinstance(parts[-1], InversePath) and inverse_written:
            # ^elt{n} is ^(elt{n}), as ^elt* is ^(elt*)
            parts[-1] = InversePath(RepeatPath(parts[-1].path, repeat.low, repeat.high))
        else:
            parts[-1] = RepeatPath(parts[-1], repeat.low, repeat.high)
        inverse_written = part.name == "PathEltOrInverse"
    return parts[0] if len(parts) == 1 else SequencePath(tuple(parts))


def _repeat(part: CompValue, rewritten: Rewritten) -> RepeatSlot | None:
    """The repetition that a part of a sequence stands for, if it does."""
    if part.name != "PathElt" or not isinstance(part.part, URIRef) or not part.part.isdigit():
        return None
    index = int(part.part)
    slot = rewritten.slots[index]
    if not isinstance(slot, RepeatSlot):
        return None
    if part.mod is not None:
        hint = f"Put parentheses around the inner one: (…{{…}}){part.mod}."
        raise rewritten.error("a path element takes one modifier", index, hint=hint)
    return slot


def _negated(node: CompValue, rewritten: Rewritten) -> NegatedPropertySet:
    forward: list[str] = []
    backward: list[str] = []
    for part in node.part or ():
        slot = rewritten.slots[int(part)] if part.isdigit() else None
        if isinstance(slot, InverseSlot):
            backward.append(slot.predicate)
        else:
            forward.append(iri_text(part, rewritten))
    if not forward and not backward:  # !() excludes nothing, and looks forward
        return NegatedPropertySet((), None)
    return NegatedPropertySet(tuple(forward) if forward else None, tuple(backward) if backward else None)
