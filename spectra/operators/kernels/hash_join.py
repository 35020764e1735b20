"""A symmetric hash join of two streams of signed rows, in time order."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, find_rows, remove_row


@kernel
def join_deltas(
    left, right, left_at, left_sign, left_until, left_rows, right_at, right_sign, right_until, right_rows,
    key_of_left, key_of_right, loose, columns, progress, out, counters,
):  # fmt: skip
    """Join what arrives with what is there; returns (deltas written, whether all is done).

    `left` and `right` are the tables of the two sides. `key_of_left` are the columns of a left row by
    which the right table is searched, and the other way round. `loose` has pairs of columns that are
    one variable but may be unbound: they are compatible when equal or when one is unbound (0).
    `columns` says where each output column comes from: (left column or -1, right column or -1).
    `progress` holds (left done, right done, whether the present delta is in its table, entry to go on
    with), so that a call that ran out of room can be continued. `counters` are candidates, removals
    that found nothing.
    """
    written = 0
    room = out.at.shape[0]
    while progress[0] < left_at.shape[0] or progress[1] < right_at.shape[0]:
        from_left = progress[1] >= right_at.shape[0] or (
            progress[0] < left_at.shape[0] and left_at[progress[0]] <= right_at[progress[1]]
        )
        if from_left:
            at, sign, until, row = (
                left_at[progress[0]],
                left_sign[progress[0]],
                left_until[progress[0]],
                left_rows[progress[0]],
            )
        else:
            at, sign, until, row = (
                right_at[progress[1]],
                right_sign[progress[1]],
                right_until[progress[1]],
                right_rows[progress[1]],
            )
        if progress[2] == 0:
            own = left if from_left else right
            if sign > 0:
                add_row(own, row, until)
            elif not remove_row(own, row, until):
                counters[1] += 1
            other = right if from_left else left
            slot = find_rows(other, row, key_of_left if from_left else key_of_right)
            progress[2] = 1
            progress[3] = other.heads[slot] - 1
        entry = progress[3]
        while entry >= 0:
            other = right if from_left else left
            if written + other.copies[entry] > room:
                progress[3] = entry
                return written, False
            counters[0] += 1
            left_row = row if from_left else left.rows[entry]
            right_row = right.rows[entry] if from_left else row
            compatible = True
            for i in range(loose.shape[0]):
                a, b = left_row[loose[i, 0]], right_row[loose[i, 1]]
                if a != 0 and b != 0 and a != b:
                    compatible = False
                    break
            for _ in range(other.copies[entry] if compatible else 0):
                out.at[written] = at
                out.sign[written] = sign
                out.until[written] = min(until, other.until[entry])
                for i in range(columns.shape[0]):
                    value = np.int32(0)
                    if columns[i, 0] >= 0:
                        value = left_row[columns[i, 0]]
                    if value == 0 and columns[i, 1] >= 0:
                        value = right_row[columns[i, 1]]
                    out.rows[written, i] = value
                written += 1
            entry = other.after[entry]
        progress[2] = 0
        if from_left:
            progress[0] += 1
        else:
            progress[1] += 1
    return written, True
