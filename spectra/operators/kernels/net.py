"""What is left of the deltas of one evaluation when rows that left and entered cancel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.rows import equal_columns, row_slot


class NetColumns(NamedTuple):
    """What the kernel works with: `table` and `members` for one evaluation, the others for all deltas.

    `table` holds delta + 1, the first one of each row; `slot` is where. `following` and `tail` link those of a row.
    """

    table: NDArray[np.int32]
    members: NDArray[np.int32]
    slot: NDArray[np.int32]
    following: NDArray[np.int32]
    tail: NDArray[np.int32]


def new_columns(deltas: int, largest: int) -> NetColumns:
    """For so many deltas, at most `largest` of them in one evaluation."""
    return NetColumns(
        np.zeros(1 << (2 * largest - 1).bit_length(), np.int32),
        *(np.empty(size, np.int32) for size in (largest, deltas, deltas, deltas)),
    )


@kernel
def net_deltas(keys, sign, until, rows, columns, work, chosen, chosen_sign):
    """Which deltas are told, and with what sign; returns how many.

    Deltas with one key are of one evaluation and follow each other. Of a row that enters n times more than it leaves,
    the n copies that last longest are told.
    """
    written = 0
    first = 0
    while first < keys.shape[0]:
        last = first
        while last < keys.shape[0] and keys[last] == keys[first]:
            last += 1
        if last - first > 1:
            link_equal_rows(first, last, rows, columns, work)
        for delta in range(first, last):
            if last - first == 1 or work.tail[delta] == delta:
                chosen[written], chosen_sign[written] = delta, sign[delta]
                written += 1
            elif work.tail[delta] >= 0:
                written += net_of_row(delta, sign, until, work, chosen, chosen_sign, written)
        first = last
    return written


@kernel
def link_equal_rows(first, last, rows, columns, work):
    """`tail` of the first delta of each row is its last one, of the others -1; between them they follow each other."""
    size_mask = work.table.shape[0] - 1
    for delta in range(first, last):
        slot = row_slot(rows[delta], columns, np.int64(0), size_mask)
        while work.table[slot] > 0 and not equal_columns(rows, work.table[slot] - 1, columns, rows[delta], columns):
            slot = (slot + 1) & size_mask
        head = work.table[slot] - 1
        if head < 0:
            work.table[slot] = delta + 1
            work.slot[delta] = slot
            work.tail[delta] = delta
        else:
            work.following[work.tail[head]] = delta
            work.tail[head] = delta
            work.tail[delta] = -1
    for delta in range(first, last):
        if work.tail[delta] >= 0:
            work.table[work.slot[delta]] = 0


@kernel
def net_of_row(head, sign, until, work, chosen, chosen_sign, written):
    """Write the copies of a row that are told; returns how many."""
    count = 0
    net = np.int64(0)  # the signs are of eight bits
    delta = head
    while True:
        work.members[count] = delta
        net += sign[delta]
        count += 1
        if delta == work.tail[head]:
            break
        delta = work.following[delta]
    if net == 0:
        return 0
    sort_by_end(work.members, count, until)
    told = 1 if net > 0 else -1
    missing = net * told
    last = count
    while missing > 0:  # copies with equal ends cancel first
        first = last - 1
        left = np.int64(sign[work.members[first]])
        while first > 0 and until[work.members[first - 1]] == until[work.members[last - 1]]:
            first -= 1
            left += sign[work.members[first]]
        for _ in range(min(missing, max(0, left * told))):
            missing -= 1
            chosen[written + missing], chosen_sign[written + missing] = work.members[first], told
        last = first
    return net * told


@kernel
def sort_by_end(members, count, until):
    """Shell's sort of the first members, the one that ends first in front."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            member = members[i]
            at = i
            while at >= gap and until[members[at - gap]] > until[member]:
                members[at] = members[at - gap]
                at -= gap
            members[at] = member
        gap //= 2
