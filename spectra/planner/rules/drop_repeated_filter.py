from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Filter, Node


def drop_repeated_filter(node: Node) -> Iterator[Node]:
    """A filter once.

    FILTER[p](FILTER[q](FILTER[p](a)))  =  FILTER[q](FILTER[p](a))

    FILTER is idempotent, and filters may change places: each keeps or drops a solution by that solution alone.
    """
    if not isinstance(node, Filter):
        return
    below = node.input
    while isinstance(below, Filter):
        if below.condition == node.condition:
            yield node.input
            return
        below = below.input
