from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Distinct, Node, Path, Project, Source, Union, WScan
from spectra.sparql.syntax import AlternativePath, InversePath, Link, PathExpression, Term


def fuse_alternation(node: Node) -> Iterator[Node]:
    """Branches between the same two ends as one path, where duplicates are dropped.

    DISTINCT(UNION(PATH[s r1 o], PATH[s r2 o]))  =  PATH[s r1|r2 o]

    PATH gives each pair once; a projection of it need not. A triple pattern with a fixed predicate is a path of one
    edge, in either direction.
    """
    match node:
        case Distinct(Union(branches)):
            yield from _fused(branches)
        case Distinct(Project(names, Union(branches))):
            for fused in _fused(branches):
                yield Distinct(Project(names, fused))


def _fused(branches: tuple[Node, ...]) -> Iterator[Node]:
    match branches:
        case ((WScan(Source() as source, s, str(), o) | Path(Source() as source, s, _, o)), _, *_):
            paths = [_between(branch, s, o) for branch in branches if getattr(branch, "source", None) == source]
            known = [path for path in paths if path is not None]
            if len(known) == len(branches):
                yield Path(source, s, AlternativePath(tuple(known)), o)


def _between(node: Node, subject: Term, object_: Term) -> PathExpression | None:
    match node:
        case WScan(_, s, str(predicate), o):
            path: PathExpression = Link(predicate)
        case Path(_, s, path, o):
            pass
        case _:
            return None
    if (s, o) == (subject, object_):
        return path
    return InversePath(path) if (o, s) == (subject, object_) else None
