from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Filter, Node


def swap_filters(node: Node) -> Iterator[Node]:
    """Two filters in the other order.

    FILTER[q](FILTER[p](a))  =  FILTER[p](FILTER[q](a))

    Each keeps or drops a solution by that solution alone.
    """
    match node:
        case Filter(condition, Filter(first, below)) if condition != first:
            yield Filter(first, Filter(condition, below))
