"""Rows without a match, as matches and rows come and go."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, find_rows, remove_row


@kernel
def anti_join_deltas(
    left, matches, covered, left_at, left_sign, left_until, left_rows, match_at, match_sign, match_rows,
    key_of_left, progress, out, counters,
):  # fmt: skip
    """Deltas of the left rows without a match, instant by instant; (deltas written, whether all is done).

    `left` holds the left rows by their key, `matches` the bag of keys of the other side, `covered` those
    keys whose left rows are not told at present. A row of the other side is a key. Within an instant all
    matches are applied first, so that a match that is replaced covers all the while. `progress` holds
    (left done, matches done, phase, delta, entry to go on with, last left, last match of the instant), so
    that a call that ran out of room can be continued. `counters` are rows told because of a match that
    came or went, and removals that found nothing.
    """
    written = 0
    room = out.at.shape[0]
    key = matches.key
    while progress[0] < left_at.shape[0] or progress[1] < match_at.shape[0]:
        if progress[1] >= match_at.shape[0]:
            at = left_at[progress[0]]
        elif progress[0] >= left_at.shape[0]:
            at = match_at[progress[1]]
        else:
            at = min(left_at[progress[0]], match_at[progress[1]])
        if progress[2] == 0:
            progress[5] = progress[0]
            while progress[5] < left_at.shape[0] and left_at[progress[5]] == at:
                progress[5] += 1
            progress[6] = progress[1]
            while progress[6] < match_at.shape[0] and match_at[progress[6]] == at:
                i = progress[6]
                if match_sign[i] > 0:
                    add_row(matches, match_rows[i], np.int64(0))
                elif not remove_row(matches, match_rows[i], np.int64(0)):
                    counters[1] += 1
                progress[6] += 1
            progress[2], progress[3], progress[4] = 1, progress[1], -2
        if progress[2] == 2:
            while progress[3] < progress[5]:
                if written == room:
                    return written, False
                i = progress[3]
                if left_sign[i] > 0:
                    add_row(left, left_rows[i], left_until[i])
                elif not remove_row(left, left_rows[i], left_until[i]):
                    counters[1] += 1
                if covered.heads[find_rows(covered, left_rows[i], key_of_left)] == 0:
                    out.at[written] = at
                    out.sign[written] = left_sign[i]
                    out.until[written] = left_until[i]
                    for column in range(left_rows.shape[1]):
                        out.rows[written, column] = left_rows[i, column]
                    written += 1
                progress[3] += 1
            progress[2], progress[3], progress[4] = 3, progress[1], -2
        # before the left rows of the instant: keys that found a match; after them: keys that lost the last one
        while progress[3] < progress[6]:
            row = match_rows[progress[3]]
            if progress[4] == -2:
                matched = matches.heads[find_rows(matches, row, key)] > 0
                hidden = covered.heads[find_rows(covered, row, key)] > 0
                if matched == hidden or matched != (progress[2] == 1):
                    progress[3] += 1
                    continue
                progress[4] = left.heads[find_rows(left, row, key)] - 1
            entry = progress[4]
            while entry >= 0:
                if written + left.copies[entry] > room:
                    progress[4] = entry
                    return written, False
                for _ in range(left.copies[entry]):
                    counters[0] += 1
                    out.at[written] = at
                    out.sign[written] = -1 if progress[2] == 1 else 1
                    out.until[written] = left.until[entry]
                    for column in range(left.rows.shape[1]):
                        out.rows[written, column] = left.rows[entry, column]
                    written += 1
                entry = left.after[entry]
            if progress[2] == 1:
                add_row(covered, row, np.int64(0))
            else:
                remove_row(covered, row, np.int64(0))
            progress[3] += 1
            progress[4] = -2
        if progress[2] == 1:
            progress[2], progress[3] = 2, progress[0]
        else:
            progress[0], progress[1], progress[2] = progress[5], progress[6], 0
    return written, True
