"""PATH by columns: the queue of a widest-first search, in which columns wait at the levels they are reached at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.columns import LEVEL, QUEUED, TOUCHED
from spectra.operators.kernels.containers import Lives


class SearchColumns(NamedTuple):
    """A widest-first search over the columns.

    `best` (by term and state) is the level at which a column is reached. `bucket` heads the list of the columns that
    wait at a level, linked by `after` and `before`, and `waiting` counts them by 256 levels. `touched` are the
    columns with a level, and `found` is room for some edges that lead on. `merged` (by term) says in which instant an
    accepting column of a vertex was merged last, and `gained` (by slot) in which a root gained after pairs had begun.
    Of walks, `seen` says which one came by a column last, and `stack` are the columns yet to be gone on from.
    """

    best: Lives
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    touched: NDArray[np.int32]
    merged: NDArray[np.int32]
    gained: NDArray[np.int32]
    seen: NDArray[np.int64]
    stack: NDArray[np.int32]
    bucket: NDArray[np.int32]
    waiting: NDArray[np.int32]
    found: NDArray[np.int64]


@kernel
def unqueue(search, work, node, level):
    """Take a column that waits at a level."""
    after, before = search.after[node], search.before[node]
    if after >= 0:
        search.before[after] = before
    if before >= 0:
        search.after[before] = after
    else:
        search.bucket[level] = after
    search.waiting[level >> 8] -= 1
    work[QUEUED] -= 1


@kernel
def enqueue(search, work, node, vertex, state, level):
    """Let a column wait at a level that is greater than the one it has."""
    known = np.int64(search.best[vertex, state])
    if known != 0:
        unqueue(search, work, node, known)
    else:
        search.touched[work[TOUCHED]] = node
        work[TOUCHED] += 1
    search.best[vertex, state] = level
    head = search.bucket[level]
    search.after[node] = head
    search.before[node] = -1
    if head >= 0:
        search.before[head] = node
    search.bucket[level] = node
    search.waiting[level >> 8] += 1
    work[QUEUED] += 1


@kernel
def widest(search, work):
    """The column that waits at the highest level."""
    level = work[LEVEL]
    while search.bucket[level] < 0:
        if search.waiting[level >> 8] == 0:
            level = (level >> 8 << 8) - 1
        else:
            level -= 1
    work[LEVEL] = level
    return search.bucket[level]


@kernel
def forget_search(columns, search, work):
    for at in range(work[TOUCHED]):
        node = search.touched[at]
        search.best[columns.vertex[node], columns.state[node]] = 0
    work[TOUCHED] = 0
    work[LEVEL] = 0
