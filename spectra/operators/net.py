"""What is left of deltas when rows that left and entered cancel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectra.operators.coalesce import runs
from spectra.operators.contract import Deltas
from spectra.operators.kernels.net import net_deltas, new_columns


def net_changes(deltas: Deltas, keys: NDArray[np.int64]) -> tuple[Deltas, NDArray[np.int64]]:
    """What is left per key, an evaluation or a graph, when rows that left and entered cancel; in the order of keys.

    Of a row that enters n times more than it leaves, the n copies that last longest are told.
    """
    count = len(deltas)
    if count == 0:
        return deltas, keys
    if bool(np.any(keys[1:] < keys[:-1])):
        order = np.argsort(keys, kind="stable")
        deltas, keys = deltas.take(order), keys[order]
    ends = np.append(runs(keys)[1:], count)
    chosen, sign = np.empty(count, np.int64), np.empty(count, np.int8)
    columns = np.arange(deltas.rows.shape[1])
    work = new_columns(count, int(np.diff(ends, prepend=0).max()))
    told = net_deltas(keys, deltas.sign, deltas.until, deltas.rows, columns, work, chosen, sign)
    if told == count:
        return deltas, keys
    which = chosen[:told]
    return Deltas(deltas.at[which], sign[:told], deltas.until[which], deltas.rows[which]), keys[which]
