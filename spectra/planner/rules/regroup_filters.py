from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Filter, Node
from spectra.sparql.syntax import Call


def regroup_filters(node: Node) -> Iterator[Node]:
    """A filter for each condition of a conjunction, so that each can go down by itself; or one for two.

    FILTER[p && q](a)  =  FILTER[q](FILTER[p](a))

    An error beside a condition that is false is false, and beside one that holds is an error: both drop the solution.
    """
    match node:
        case Filter(Call("&&", conditions), below):
            for condition in conditions:
                below = Filter(condition, below)
            yield below
        case Filter(condition, Filter(first, below)):
            yield Filter(Call("&&", (first, condition)), below)
