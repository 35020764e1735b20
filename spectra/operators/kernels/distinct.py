"""Which rows are there at all, and until when the last copy of each is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, equal_columns, find_rows, remove_row, row_slot


class Touched(NamedTuple):
    """Rows that changed at the present instant, with the end each had before (`NO_END`: not there)."""

    rows: NDArray[np.int32]
    before: NDArray[np.int64]
    table: NDArray[np.int32]


@kernel
def latest_end(copies, row):
    """The latest end of the copies of a row, `NO_END` where there is none: the first of its list."""
    entry = copies.heads[find_rows(copies, row, copies.key)] - 1
    return copies.until[entry] if entry >= 0 else np.int64(NO_END)


@kernel
def distinct_deltas(copies, at, sign, until, rows, touched, out):
    """Deltas of the set of rows, instant by instant; returns (written, removals that found nothing).

    `copies` holds the bag of rows, looked up by the whole row.
    """
    written = 0
    missing = 0
    size_mask = touched.table.shape[0] - 1
    first = 0
    while first < at.shape[0]:
        last = first
        changed = 0
        while last < at.shape[0] and at[last] == at[first]:
            row = rows[last]
            # remember, once per instant and row, what was there before
            place = row_slot(row, copies.key, np.int64(0), size_mask)
            while touched.table[place] > 0 and not equal_columns(
                touched.rows, touched.table[place] - 1, copies.key, row, copies.key
            ):
                place = (place + 1) & size_mask
            if touched.table[place] == 0:
                for column in range(row.shape[0]):
                    touched.rows[changed, column] = row[column]
                touched.before[changed] = latest_end(copies, row)
                changed += 1
                touched.table[place] = changed
            if sign[last] > 0:
                add_row(copies, row, until[last])
            elif not remove_row(copies, row, until[last]):
                missing += 1
            last += 1
        for i in range(changed):
            row = touched.rows[i]
            before, after = touched.before[i], latest_end(copies, row)
            for step in range(2):
                end = before if step == 0 else after
                if before != after and end != NO_END:
                    out.at[written] = at[first]
                    out.sign[written] = -1 if step == 0 else 1
                    out.until[written] = end
                    for column in range(row.shape[0]):
                        out.rows[written, column] = row[column]
                    written += 1
        for i in range(changed):  # leave the table empty for the next instant
            place = row_slot(touched.rows[i], copies.key, np.int64(0), size_mask)
            while touched.table[place] != 0:
                touched.table[place] = 0
                place = (place + 1) & size_mask
        first = last
    return written, missing
