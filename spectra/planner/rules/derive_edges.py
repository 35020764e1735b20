from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from spectra.algebra.nodes import OBJECT, SUBJECT, Derived, Node, Path, Source
from spectra.algebra.paths import may_be_empty, path_node
from spectra.automata.nfa import mentioned
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    PathExpression,
    RepeatPath,
    SequencePath,
    Variable,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

#: The label of derived edges.
_EDGE = Link("_:d")


def derive_edges(node: Node) -> Iterator[Node]:
    """A part of a path below a closure as edges of their own, derived by another PATH.

    PATH[R(r)](S)  =  PATH[R(d)](S ∪ S_d)      where S_d has an edge d for every pair of PATH[r](S)

    With R(r) = r+ it is the decomposition of the Kleene star: the closure of a derived relation. The edge d is valid
    as long as some path of r is, so it may be part of the same longer paths at the same instants. The part must not be
    empty. The whole may be empty only as `*` from or to a constant, which matches itself in any graph; elsewhere the
    empty path matches the terms of S, and these are not all in derived edges.
    """
    match node:
        case Path(Source() as source, subject, path, object_):
            constant = not (isinstance(subject, Variable) and isinstance(object_, Variable))
            if _has_negation(path) or (may_be_empty(path) and not (constant and isinstance(path, ZeroOrMorePath))):
                return
            for part, rest in _parts(path, repeated=False):
                if may_be_empty(part):
                    continue
                labels = sorted(mentioned(rest) - {_EDGE.predicate})
                edges = [(_EDGE.predicate, part), *((label, Link(label)) for label in labels)]
                derived = Derived(
                    tuple((label, path_node(source, SUBJECT, relation, OBJECT)) for label, relation in edges)
                )
                yield Path(derived, subject, rest, object_)


def _parts(path: PathExpression, *, repeated: bool) -> Iterator[tuple[PathExpression, PathExpression]]:
    """The parts of a path that are repeated and longer than an edge, each with the path that has `_EDGE` instead."""
    if repeated and not isinstance(path, Link | InversePath):
        yield path, _EDGE
    match path:
        case SequencePath(parts):
            for first, last in combinations(range(len(parts) + 1), 2) if repeated else ():
                if 2 <= last - first < len(parts):
                    yield SequencePath(parts[first:last]), SequencePath((*parts[:first], _EDGE, *parts[last:]))
            for at, part in enumerate(parts):
                for inner, rest in _parts(part, repeated=repeated):
                    yield inner, SequencePath((*parts[:at], rest, *parts[at + 1 :]))
        case AlternativePath(parts):
            for at, part in enumerate(parts):
                for inner, rest in _parts(part, repeated=repeated):
                    yield inner, AlternativePath((*parts[:at], rest, *parts[at + 1 :]))
        case Link() | NegatedPropertySet() | RepeatPath(_, _, 0):
            return
        case ZeroOrMorePath() | OneOrMorePath() | ZeroOrOnePath() | InversePath() | RepeatPath():
            closes = isinstance(path, ZeroOrMorePath | OneOrMorePath | RepeatPath)
            for inner, rest in _parts(path.path, repeated=repeated or closes):
                yield inner, replace(path, path=rest)


def _has_negation(path: PathExpression) -> bool:
    match path:
        case NegatedPropertySet():
            return True
        case SequencePath(parts) | AlternativePath(parts):
            return any(map(_has_negation, parts))
        case Link():
            return False
        case _:
            return _has_negation(path.path)
