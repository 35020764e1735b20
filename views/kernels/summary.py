"""The tests of the summary: whether any query can use a triple."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel


class SummaryColumns(NamedTuple):
    """The summary as kernels see it.

    `keep_all`[0] is 1 when every triple is wanted. Otherwise row `r` wants the triples whose
    component `c` hashes to `hashes[r, c]` for each `c` with `fixed[r, c]`; rows are sorted by
    predicate hash, those with any predicate first (`anywhere`[0] of them).
    """

    keep_all: NDArray[np.uint8]
    anywhere: NDArray[np.int64]
    hashes: NDArray[np.int64]
    fixed: NDArray[np.bool_]


@kernel
def first_of_predicate(summary, predicate):
    """First row of the summary that asks for `predicate`, or -1."""
    low, high = summary.anywhere[0], summary.hashes.shape[0]
    while low < high:
        middle = (low + high) // 2
        if summary.hashes[middle, 1] < predicate:
            low = middle + 1
        else:
            high = middle
    if low < summary.hashes.shape[0] and summary.hashes[low, 1] == predicate:
        return low
    return -1


@kernel
def may_use_predicate(summary, predicate):
    """Whether any query can use a triple with this predicate: what can be asked before the rest is read."""
    if summary.keep_all[0] or summary.anywhere[0] > 0:
        return True
    return first_of_predicate(summary, predicate) >= 0


@kernel
def may_use(summary, subject, predicate, obj):
    """Whether any query can use the triple with these three hashes."""
    if summary.keep_all[0]:
        return True
    for row in range(summary.anywhere[0]):
        if (not summary.fixed[row, 0] or summary.hashes[row, 0] == subject) and (
            not summary.fixed[row, 2] or summary.hashes[row, 2] == obj
        ):
            return True
    row = first_of_predicate(summary, predicate)
    if row < 0:
        return False
    while row < summary.hashes.shape[0] and summary.hashes[row, 1] == predicate:
        if (not summary.fixed[row, 0] or summary.hashes[row, 0] == subject) and (
            not summary.fixed[row, 2] or summary.hashes[row, 2] == obj
        ):
            return True
        row += 1
    return False


@kernel
def mark_usable(summary, columns, usable):
    """Mark the rows of (subject, predicate, object) that some query can use; hashes or ids, as the summary has them."""
    for row in range(columns.shape[0]):
        usable[row] = may_use(summary, columns[row, 0], columns[row, 1], columns[row, 2])
