from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Distinct, Node, Path, Union
from spectra.algebra.paths import path_node
from spectra.sparql.syntax import AlternativePath


def decompose_alternation(node: Node) -> Iterator[Node]:
    """The alternatives of a path as a union.

    PATH[s r1|r2 o]  =  DISTINCT(UNION(PATH[s r1 o], PATH[s r2 o]))

    A pair that both connect is there once.
    """
    match node:
        case Path(source, subject, AlternativePath(parts), object_):
            yield Distinct(Union(tuple(path_node(source, subject, part, object_) for part in parts)))
