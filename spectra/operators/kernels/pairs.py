"""Pairs whose ends change at a log entry: told at once, or collected to be told when the entry is done."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.automaton import emit_change
from spectra.views.kernels.index import IndexColumns, find_slot, grown_index, link, new_index, unlink

# what `size` holds: pairs that are collected, and those of them that are told
COLLECTED, TOLD = 0, 1

_BY_PAIR = 0


class PairColumns(NamedTuple):
    """The pairs that are collected, each once, with its end before the first change; without room, they are told."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    third: NDArray[np.int32]
    before: NDArray[np.int64]
    size: NDArray[np.int64]
    lists: IndexColumns


@kernel
def collects(pairs):
    return pairs.before.shape[0] > 0


@kernel
def has_room_for(pairs, out, written, count):
    """Whether so many pairs can change."""
    if collects(pairs):
        return pairs.size[COLLECTED] + count <= pairs.before.shape[0]
    return written + 2 * count <= out.at.shape[0]


@kernel
def collect_pair(pairs, root, vertex, before):
    """Remember a pair and its end, unless it is known; there must be room."""
    slot = find_slot(pairs.root, pairs.vertex, pairs.third, pairs.lists, _BY_PAIR, root, vertex, 0)
    if slot < 0:
        at = pairs.size[COLLECTED]
        pairs.size[COLLECTED] = at + 1
        pairs.root[at] = root
        pairs.vertex[at] = vertex
        pairs.before[at] = before
        link(pairs.root, pairs.vertex, pairs.third, pairs.lists, at)


@kernel
def change_pair(automaton, pairs, out, written, at, before, after, root, vertex, counting, extensions):
    """Tell or remember that the end of a pair changes; returns how many deltas are written. There must be room."""
    if collects(pairs):
        collect_pair(pairs, root, vertex, before)
        return written
    return emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions)


@kernel
def forget_pairs(pairs):
    """All that was collected is told."""
    for at in range(pairs.size[COLLECTED]):
        unlink(pairs.root, pairs.vertex, pairs.third, pairs.lists, at)
    pairs.size[:] = 0


def new_pairs(room: int) -> PairColumns:
    """Room for so many pairs, a power of two; 0 to have them told at once."""
    rows = max(room, 2)  # an empty index would have another type, and kernels of its own
    return PairColumns(
        root=np.zeros(rows, np.int32),
        vertex=np.zeros(rows, np.int32),
        third=np.zeros(rows, np.int32),
        before=np.zeros(room, np.int64),
        size=np.zeros(2, np.int64),
        lists=new_index([1 | 2], rows, 2 * rows),
    )


def grown_pairs(pairs: PairColumns) -> PairColumns:
    """The same pairs with room for twice as many."""
    held = len(pairs.before)
    grown = new_pairs(2 * held)
    for name in ("root", "vertex", "before"):
        getattr(grown, name)[:held] = getattr(pairs, name)
    index = grown_index(pairs.root, pairs.vertex, pairs.third, pairs.lists, 2 * held, 4 * held)
    return grown._replace(size=pairs.size, lists=index)
