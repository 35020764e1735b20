"""Coalescing of value-equivalent tuples: one change for each row and instant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectra.operators.contract import Deltas
from spectra.operators.relational.stateless import distinct_rows
from spectra.views.kernels.apply import PROLONG, RENEW

ENTER, LEAVE = np.int8(1), np.int8(-1)


def runs(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where a new combination of values starts in sorted columns."""
    fresh = np.zeros(len(columns[0]), np.bool_)
    fresh[0] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(fresh)


def coalesced(deltas: Deltas) -> tuple[NDArray[np.int8], Deltas]:
    """What each row of a set does at each instant: `ENTER`, `PROLONG`, `RENEW` or `LEAVE`, and the delta with its end.

    A row that enters and leaves at one instant was never there.
    """
    count = len(deltas)
    if not count:
        return np.zeros(0, np.int8), deltas
    _, row = distinct_rows(deltas.rows)
    order = np.lexsort((np.arange(count), row, deltas.at))
    starts = runs(deltas.at[order], row[order])
    first, last = order[starts], order[np.append(starts[1:], count) - 1]
    net = np.add.reduceat(deltas.sign[order].astype(np.int8), starts)
    there = deltas.sign[last] > 0
    # a row that stays left with its old end first and entered with the new one last
    stays = np.where(deltas.until[last] < deltas.until[first], RENEW, PROLONG)
    change = np.where(there, np.where(net > 0, ENTER, stays), np.where(net < 0, LEAVE, 0)).astype(np.int8)
    return change[change != 0], deltas.take(last[change != 0])
