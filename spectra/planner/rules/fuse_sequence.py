from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from spectra.algebra.nodes import Derived, Distinct, Node, Path, Pattern, Project, WScan, pattern_of
from spectra.sparql.syntax import InversePath, Link, PathExpression, SequencePath, Term, Variable


def fuse_sequence(node: Node) -> Iterator[Node]:
    """Two steps over a vertex that nothing else names as one path.

    DISTINCT(PROJECT[…](PATTERN(PATH[s r1 h], PATH[h r2 o], …)))  =  DISTINCT(PROJECT[…](PATTERN(PATH[s r1/r2 o], …)))

    when `h` is in neither … . Which vertex is between makes only copies, and those are dropped. A triple pattern with
    a fixed predicate is a path of one edge, in either direction.
    """
    match node:
        case Distinct(Project(names, Pattern(inputs))):
            for first, second in permutations(range(len(inputs)), 2):
                others = [part for at, part in enumerate(inputs) if at not in (first, second)]
                elsewhere = set(names).union(*(part.variables for part in others))
                for fused in _fused(inputs[first], inputs[second], elsewhere):
                    yield Distinct(Project(names, pattern_of(fused, *others)))


def _fused(first: Node, second: Node, elsewhere: set[str]) -> Iterator[Node]:
    """The path over both, from each end of the first that can be its start."""
    if not isinstance(first, WScan | Path) or not isinstance(second, WScan | Path) or first.source != second.source:
        return
    if isinstance(first.source, Derived):
        return
    for start, one, via in _ways(first):
        for far, two, end in _ways(second):
            inside = isinstance(via, Variable) and via.name not in elsewhere and via not in (start, end)
            # of a path and the one back only one is needed
            if inside and far == via and (str(start), str(end)) <= (str(end), str(start)):
                yield Path(first.source, start, SequencePath((*_steps(one), *_steps(two))), end)


def _ways(node: WScan | Path) -> Iterator[tuple[Term, PathExpression, Term]]:
    """A step in its direction and against it."""
    match node:
        case Path(_, subject, path, object_):
            yield subject, path, object_
            yield object_, InversePath(path), subject
        case WScan(_, subject, str(predicate), object_):
            yield subject, Link(predicate), object_
            yield object_, InversePath(Link(predicate)), subject


def _steps(path: PathExpression) -> tuple[PathExpression, ...]:
    return path.parts if isinstance(path, SequencePath) else (path,)
