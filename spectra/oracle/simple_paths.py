"""Property paths without a repeated vertex, by trying them all.

A path is simple as a whole: what each part of it may visit depends on what the parts before have visited. The
path of length zero is simple; one that comes back to where it began is not. A single predicate, either way, is a triple
pattern and no path.
"""

from __future__ import annotations

from spectra.oracle.dataset import TripleSet
from spectra.oracle.paths import ends, inverse
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

#: Where a path has come to, and all that it has visited.
_Walk = tuple[str, frozenset[str]]


def simple_ends(graph: TripleSet, path: PathExpression, start: str) -> list[str]:
    """The distinct terms that simple paths lead to from `start`."""
    while isinstance(path, InversePath):
        path = path.path if isinstance(path.path, Link) else inverse(path.path)
        if isinstance(path, Link):
            return ends(graph, InversePath(path), start)
    if isinstance(path, Link):
        return ends(graph, path, start)
    return list({end for end, _ in _walks(graph, path, {(start, frozenset([start]))})})


def _walks(graph: TripleSet, path: PathExpression, walks: set[_Walk]) -> set[_Walk]:
    """The walks, gone on by the path in every way."""
    match path:
        case Link() | InversePath(Link()) | NegatedPropertySet():
            return {
                (end, visited | {end})
                for node, visited in walks
                for end in ends(graph, path, node)
                if end not in visited
            }
        case InversePath(inner):
            return _walks(graph, inverse(inner), walks)
        case AlternativePath(parts):
            return set().union(*(_walks(graph, part, walks) for part in parts))
        case SequencePath(parts):
            for at, part in enumerate(parts):
                walks = _walks(graph, part, walks if at == 0 else _inside(graph, walks))
            return walks
        case ZeroOrOnePath(inner):
            return walks | _walks(graph, inner, walks)
        case ZeroOrMorePath(inner):
            return _any_number(graph, inner, walks)
        case OneOrMorePath(inner):
            return _any_number(graph, inner, _walks(graph, inner, walks))
        case RepeatPath(inner, low, high):
            found = set(walks) if low == 0 else set()
            length = 0
            while walks and (length < low or (high is not None and length < high)):
                walks = _walks(graph, inner, walks if length == 0 else _inside(graph, walks))
                length += 1
                if length >= low:
                    found |= walks
            return found if high is not None else _any_number(graph, inner, found)


def _inside(graph: TripleSet, walks: set[_Walk]) -> set[_Walk]:
    """Those that are at a term of the graph, over which the variable between two parts ranges."""
    return {(node, visited) for node, visited in walks if node in graph.nodes}


def _any_number(graph: TripleSet, path: PathExpression, walks: set[_Walk]) -> set[_Walk]:
    found = set(walks)
    while walks:
        walks = _walks(graph, path, walks) - found
        found |= walks
    return found
