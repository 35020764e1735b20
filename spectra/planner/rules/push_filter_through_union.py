from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Filter, Node, Union


def push_filter_through_union(node: Node) -> Iterator[Node]:
    """A filter in each branch of a union.

    FILTER[p](UNION(a, b))  =  UNION(FILTER[p](a), FILTER[p](b))

    A solution is kept or dropped by what it binds, whichever branch it is of.
    """
    match node:
        case Filter(condition, Union(branches)):
            yield Union(tuple(Filter(condition, branch) for branch in branches))
