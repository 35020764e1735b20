from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Construct, Distinct, Extend, Filter, Node, Pattern, Project, Union, with_children


def drop_distinct(node: Node) -> Iterator[Node]:
    """DISTINCT once, at the top.

    DISTINCT(C(DISTINCT(a)))  =  DISTINCT(C(a))

    where C is made of PROJECT, FILTER, UNION, PATTERN, EXTEND and CONSTRUCT: these make a solution of other
    solutions, whatever number of copies those have.
    """
    if isinstance(node, Distinct):
        without = _without(node.input)
        if without != node.input:
            yield Distinct(without)


def _without(node: Node) -> Node:
    match node:
        case Distinct(below):
            return _without(below)
        case Project() | Filter() | Union() | Pattern() | Extend() | Construct():
            return with_children(node, _without)
        case _:
            return node
