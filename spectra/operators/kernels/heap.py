"""Steps of a search that wait, the one that lasts longest first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spectra.jit import kernel


class HeapColumns(NamedTuple):
    """Each step says that the edge `via` leads from `parent` to a product node that is then reached until `end`.

    `size` is how many wait.
    """

    end: NDArray[np.int64]
    product: NDArray[np.int32] | NDArray[np.int64]
    parent: NDArray[np.int32]
    via: NDArray[np.int32]
    size: NDArray[np.int64]


@kernel
def heap_is_full(heap):
    return heap.size[0] == heap.end.shape[0]


@kernel
def heap_put(heap, at, end, product, parent, via):
    heap.end[at] = end
    heap.product[at] = product
    heap.parent[at] = parent
    heap.via[at] = via


@kernel
def heap_push(heap, end, product, parent, via):
    """Let a step wait; there must be room."""
    at = heap.size[0]
    heap.size[0] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if heap.end[above] >= end:
            break
        heap_put(heap, at, heap.end[above], heap.product[above], heap.parent[above], heap.via[above])
        at = above
    heap_put(heap, at, end, product, parent, via)


@kernel
def heap_pop(heap):
    """Take the first step off."""
    last = heap.size[0] - 1
    heap.size[0] = last
    end, product, parent, via = heap.end[last], heap.product[last], heap.parent[last], heap.via[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and heap.end[below + 1] > heap.end[below]:
            below += 1
        if end >= heap.end[below]:
            break
        heap_put(heap, at, heap.end[below], heap.product[below], heap.parent[below], heap.via[below])
        at = below
    heap_put(heap, at, end, product, parent, via)


def new_heap(room: int, product: DTypeLike) -> HeapColumns:
    """No steps, with room for so many to product nodes of a type."""
    return HeapColumns(
        end=np.zeros(room, np.int64),
        product=np.zeros(room, product),
        parent=np.zeros(room, np.int32),
        via=np.zeros(room, np.int32),
        size=np.zeros(1, np.int64),
    )


def grown_heap(heap: HeapColumns) -> HeapColumns:
    """The same steps with room for twice as many."""
    grown = new_heap(2 * len(heap.end), heap.product.dtype)
    columns: list[tuple[NDArray[Any], NDArray[Any]]] = list(zip(grown, heap, strict=True))
    for column, held in columns:
        column[: len(held)] = held
    return grown
