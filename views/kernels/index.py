"""A multimap over three integer columns, by any subset of them: what makes a view bidirectional.

A *mask* says which columns form the key (1 the first, 2 the second, 4 the third). Rows with equal
keys form a doubly linked list; an open-addressing table holds the first row of each list and its
length. Keys are not stored: they are read from the first row. Rows are unlinked in constant time,
and a key whose last row goes leaves no tombstone (the probe chain is shifted back).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel


class IndexColumns(NamedTuple):
    """Several indexes over the same rows; the first axis is the index.

    `heads` holds row + 1 of the first row of a list, 0 for an empty slot; `counts` its length.
    `after` and `before` link the rows of one list, -1 at the ends. `used` counts the slots taken.
    """

    masks: NDArray[np.int64]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    heads: NDArray[np.int32]
    counts: NDArray[np.int32]
    used: NDArray[np.int64]


@kernel
def key_slot(a, b, c, mask, size_mask):
    """The slot at which the search for a key starts. The masks keep every product below 2**63, compiled or not."""
    h = np.int64(mask)
    if mask & 1:
        h = (h * 1000003 ^ a) & 0x3FFFFFFFFFF
    if mask & 2:
        h = (h * 1000003 ^ b) & 0x3FFFFFFFFFF
    if mask & 4:
        h = (h * 1000003 ^ c) & 0x3FFFFFFFFFF
    h = (h ^ (h >> 21)) & 0x7FFFFFFF
    h = h * 1540483477
    h ^= h >> 29
    return h & size_mask


@kernel
def find_slot(first, second, third, index, at, a, b, c):
    """Slot of the list with key (a, b, c) in index `at`, or -1. Components outside the mask are ignored."""
    mask = index.masks[at]
    size_mask = index.heads.shape[1] - 1
    slot = key_slot(np.int64(a), np.int64(b), np.int64(c), mask, size_mask)
    while True:
        head = index.heads[at, slot] - 1
        if head < 0:
            return -1
        if (
            (mask & 1 == 0 or first[head] == a)
            and (mask & 2 == 0 or second[head] == b)
            and (mask & 4 == 0 or third[head] == c)
        ):
            return slot
        slot = (slot + 1) & size_mask


@kernel
def link(first, second, third, index, row):
    """Put `row` at the front of its list in every index."""
    size_mask = index.heads.shape[1] - 1
    a, b, c = first[row], second[row], third[row]
    for at in range(index.masks.shape[0]):
        mask = index.masks[at]
        slot = key_slot(np.int64(a), np.int64(b), np.int64(c), mask, size_mask)
        head = index.heads[at, slot] - 1
        while head >= 0 and not (
            (mask & 1 == 0 or first[head] == a)
            and (mask & 2 == 0 or second[head] == b)
            and (mask & 4 == 0 or third[head] == c)
        ):
            slot = (slot + 1) & size_mask
            head = index.heads[at, slot] - 1
        index.after[at, row] = head
        index.before[at, row] = -1
        if head >= 0:
            index.before[at, head] = row
        else:
            index.used[at] += 1
            index.counts[at, slot] = 0
        index.heads[at, slot] = row + 1
        index.counts[at, slot] += 1


@kernel
def remove_slot(first, second, third, index, at, slot):
    """Empty a slot and shift back the entries whose probe chain ran over it."""
    mask = index.masks[at]
    size_mask = index.heads.shape[1] - 1
    hole = slot
    probe = slot
    while True:
        probe = (probe + 1) & size_mask
        head = index.heads[at, probe] - 1
        if head < 0:
            break
        home = key_slot(np.int64(first[head]), np.int64(second[head]), np.int64(third[head]), mask, size_mask)
        if ((probe - home) & size_mask) >= ((probe - hole) & size_mask):
            index.heads[at, hole] = index.heads[at, probe]
            index.counts[at, hole] = index.counts[at, probe]
            hole = probe
    index.heads[at, hole] = 0
    index.counts[at, hole] = 0
    index.used[at] -= 1


@kernel
def unlink(first, second, third, index, row):
    """Take `row` out of its list in every index."""
    for at in range(index.masks.shape[0]):
        slot = find_slot(first, second, third, index, at, first[row], second[row], third[row])
        after = index.after[at, row]
        before = index.before[at, row]
        if after >= 0:
            index.before[at, after] = before
        if before >= 0:
            index.after[at, before] = after
            index.counts[at, slot] -= 1
        elif after >= 0:
            index.heads[at, slot] = after + 1
            index.counts[at, slot] -= 1
        else:
            remove_slot(first, second, third, index, at, slot)


@kernel
def rebuild(first, second, third, old, new):
    """Move every list of `old` into the larger tables of `new`; the links stay as they are."""
    size_mask = new.heads.shape[1] - 1
    for at in range(old.masks.shape[0]):
        mask = old.masks[at]
        for old_slot in range(old.heads.shape[1]):
            head = old.heads[at, old_slot] - 1
            if head < 0:
                continue
            slot = key_slot(np.int64(first[head]), np.int64(second[head]), np.int64(third[head]), mask, size_mask)
            while new.heads[at, slot] != 0:
                slot = (slot + 1) & size_mask
            new.heads[at, slot] = head + 1
            new.counts[at, slot] = old.counts[at, old_slot]
        new.used[at] = old.used[at]


def new_index(masks: list[int], rows: int, slots: int) -> IndexColumns:
    """Empty indexes with room for `rows` rows; `slots` is a power of two."""
    # the links of a row lie together, and so do the two columns of a slot: one cache line for each
    links = np.full((rows, len(masks), 2), -1, np.int32)
    table = np.zeros((len(masks), slots, 2), np.int32)
    return IndexColumns(
        masks=np.array(masks, np.int64),
        after=links[:, :, 0].T,
        before=links[:, :, 1].T,
        heads=table[:, :, 0],
        counts=table[:, :, 1],
        used=np.zeros(len(masks), np.int64),
    )


def grown_index(
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    third: NDArray[np.int32],
    index: IndexColumns,
    rows: int,
    slots: int,
) -> IndexColumns:
    """The same indexes with room for `rows` rows and at least `slots` slots."""
    masks = index.masks.tolist()
    grown = new_index(masks, rows, max(slots, index.heads.shape[1]))
    held = index.after.shape[1]
    grown.after[:, :held] = index.after
    grown.before[:, :held] = index.before
    if grown.heads.shape == index.heads.shape:
        grown.heads[:] = index.heads
        grown.counts[:] = index.counts
        grown.used[:] = index.used
    else:
        rebuild(first, second, third, index, grown)
    return grown
