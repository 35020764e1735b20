"""Property paths as section 18.4 of the SPARQL 1.1 recommendation evaluates them.

A path is followed from one end; what comes out is the multiset of other ends. `/`, `|` and
negated property sets keep duplicates, `*`, `+` and `?` give distinct pairs. Of the bounded
repetitions, which SPARQL 1.1 left out, `p{n}` is the sequence `p/…/p` and keeps duplicates;
`p{n,m}` and `p{n,}` are the distinct pairs of the sequences of all those lengths.
"""

from __future__ import annotations

from spectra.oracle.dataset import TripleSet
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


def inverse(path: PathExpression) -> PathExpression:
    """The path that leads back: (x, y) is in it as often as (y, x) is in `path`."""
    match path:
        case InversePath(inner):
            return inner
        case SequencePath(parts):
            return SequencePath(tuple(inverse(part) for part in reversed(parts)))
        case AlternativePath(parts):
            return AlternativePath(tuple(inverse(part) for part in parts))
        case ZeroOrMorePath(inner):
            return ZeroOrMorePath(inverse(inner))
        case OneOrMorePath(inner):
            return OneOrMorePath(inverse(inner))
        case ZeroOrOnePath(inner):
            return ZeroOrOnePath(inverse(inner))
        case RepeatPath(inner, low, high):
            return RepeatPath(inverse(inner), low, high)
        case NegatedPropertySet(forward, backward):
            return NegatedPropertySet(backward, forward)
        case Link():
            return InversePath(path)


def ends(graph: TripleSet, path: PathExpression, start: str) -> list[str]:
    """The multiset of terms that `path` leads to from `start`.

    `start` may be a constant that is not in the graph: then only zero-length paths match, and the
    variable between the parts of a sequence, ranging over the terms of the graph, never takes it.
    """
    match path:
        case Link(predicate):
            return [triple[2] for triple in graph.outgoing.get(start, ()) if triple[1] == predicate]
        case InversePath(Link(predicate)):
            return [triple[0] for triple in graph.incoming.get(start, ()) if triple[1] == predicate]
        case InversePath(inner):
            return ends(graph, inverse(inner), start)
        case NegatedPropertySet(forward, backward):
            found = []
            if forward is not None:
                found += [triple[2] for triple in graph.outgoing.get(start, ()) if triple[1] not in forward]
            if backward is not None:
                found += [triple[0] for triple in graph.incoming.get(start, ()) if triple[1] not in backward]
            return found
        case AlternativePath(parts):
            return [end for part in parts for end in ends(graph, part, start)]
        case SequencePath(parts):
            return _sequence(graph, parts, start)
        case ZeroOrOnePath(inner):
            return list({start, *ends(graph, inner, start)})
        case ZeroOrMorePath(inner):
            return list(_arbitrary_length(graph, inner, {start}))
        case OneOrMorePath(inner):
            return list(_arbitrary_length(graph, inner, set(ends(graph, inner, start))))
        case RepeatPath(_, 0, 0):
            return [start]
        case RepeatPath(inner, low, high) if low == high:
            return _sequence(graph, (inner,) * low, start)
        case RepeatPath(inner, low, high):
            return list(_repeated(graph, inner, low, high, start))


def _sequence(graph: TripleSet, parts: tuple[PathExpression, ...], start: str) -> list[str]:
    found = ends(graph, parts[0], start)
    for part in parts[1:]:
        onward: dict[str, list[str]] = {}
        for node in found:
            if node not in onward:
                onward[node] = ends(graph, part, node) if node in graph.nodes else []
        found = [end for node in found for end in onward[node]]
    return found


def _arbitrary_length(graph: TripleSet, path: PathExpression, visited: set[str]) -> set[str]:
    """ALP: `visited` and all that `path` leads to from there, once or more often."""
    waiting = list(visited)
    while waiting:
        for node in ends(graph, path, waiting.pop()):
            if node not in visited:
                visited.add(node)
                waiting.append(node)
    return visited


def _repeated(graph: TripleSet, path: PathExpression, low: int, high: int | None, start: str) -> set[str]:
    reached = {start}  # by exactly `length` repetitions
    found = {start} if low == 0 else set()
    length = 0
    while reached and (length < low or (high is not None and length < high)):
        reached = {end for node in reached if length == 0 or node in graph.nodes for end in ends(graph, path, node)}
        length += 1
        if length >= low:
            found |= reached
    if high is None:
        found = _arbitrary_length(graph, path, set(found))
    return found
