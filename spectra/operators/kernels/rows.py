"""Bags of rows with their ends, looked up by a key: the state of a join, of DISTINCT and of a report.

An entry is a row, its `until`, and how many copies of both there are. Entries with equal keys form a
doubly linked list behind one slot of an open-addressing table, in an ordered table the one that lasts
longest first; a second table finds an entry by its whole row and end, so that a removal costs the same
on a hot key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel


class RowTable(NamedTuple):
    """`key` and `whole` are the columns of the two look-ups; `size` holds (entries, free entries, ordered).

    `heads` and `exact` hold entry + 1, 0 for an empty slot. `copies` is 0 for a free entry.
    """

    rows: NDArray[np.int32]
    until: NDArray[np.int64]
    copies: NDArray[np.int64]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    heads: NDArray[np.int32]
    exact: NDArray[np.int32]
    free: NDArray[np.int32]
    key: NDArray[np.int64]
    whole: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def row_slot(row, columns, until, size_mask):
    """Where the search for `row[columns]` and `until` starts; products stay below 2**63, compiled or not."""
    h = until & 0x3FFFFFFFFFF
    for i in range(columns.shape[0]):
        h = (h * 1000003 ^ np.int64(row[columns[i]])) & 0x3FFFFFFFFFF
    h = (h ^ (h >> 21)) & 0x7FFFFFFF
    h = h * 1540483477
    h ^= h >> 29
    return h & size_mask


@kernel
def equal_columns(rows, entry, columns, row, row_columns):
    for i in range(columns.shape[0]):
        if rows[entry, columns[i]] != row[row_columns[i]]:
            return False
    return True


@kernel
def find_rows(table, row, columns):
    """Slot of the entries whose key equals `row[columns]`: heads[slot] is 0 where there are none."""
    size_mask = table.heads.shape[0] - 1
    slot = row_slot(row, columns, np.int64(0), size_mask)
    while True:
        head = table.heads[slot] - 1
        if head < 0 or equal_columns(table.rows, head, table.key, row, columns):
            return slot
        slot = (slot + 1) & size_mask


@kernel
def find_exact(table, row, until):
    """Slot of the entry with this row and this end: exact[slot] is 0 where there is none."""
    size_mask = table.exact.shape[0] - 1
    slot = row_slot(row, table.whole, until, size_mask)
    while True:
        entry = table.exact[slot] - 1
        if entry < 0 or (
            table.until[entry] == until and equal_columns(table.rows, entry, table.whole, row, table.whole)
        ):
            return slot
        slot = (slot + 1) & size_mask


@kernel
def add_row(table, row, until):
    """Add a copy of a row with an end; the table has room."""
    place = find_exact(table, row, until)
    if table.exact[place] > 0:
        table.copies[table.exact[place] - 1] += 1
        return
    table.size[1] -= 1
    entry = table.free[table.size[1]]
    for column in range(row.shape[0]):
        table.rows[entry, column] = row[column]
    table.until[entry] = until
    table.copies[entry] = 1
    table.exact[place] = entry + 1
    slot = find_rows(table, row, table.key)
    following = table.heads[slot] - 1
    previous = -1
    while following >= 0 and table.size[2] and table.until[following] > until:
        previous = following
        following = table.after[following]
    table.after[entry] = following
    table.before[entry] = previous
    if following >= 0:
        table.before[following] = entry
    if previous >= 0:
        table.after[previous] = entry
    else:
        table.heads[slot] = entry + 1
    table.size[0] += 1


@kernel
def clear_slot(table, slots, slot, columns, with_until):
    """Empty a slot and shift back the entries whose probe chain ran over it."""
    size_mask = slots.shape[0] - 1
    hole = slot
    probe = slot
    while True:
        probe = (probe + 1) & size_mask
        entry = slots[probe] - 1
        if entry < 0:
            break
        until = table.until[entry] if with_until else np.int64(0)
        home = row_slot(table.rows[entry], columns, until, size_mask)
        if ((probe - home) & size_mask) >= ((probe - hole) & size_mask):
            slots[hole] = slots[probe]
            hole = probe
    slots[hole] = 0


@kernel
def remove_row(table, row, until):
    """Remove a copy of a row with this end; False where there is none."""
    place = find_exact(table, row, until)
    entry = table.exact[place] - 1
    if entry < 0:
        return False
    table.copies[entry] -= 1
    if table.copies[entry] > 0:
        return True
    after, before = table.after[entry], table.before[entry]
    if after >= 0:
        table.before[after] = before
    if before >= 0:
        table.after[before] = after
    else:
        slot = find_rows(table, row, table.key)
        if after >= 0:
            table.heads[slot] = after + 1
        else:
            clear_slot(table, table.heads, slot, table.key, False)
    clear_slot(table, table.exact, place, table.whole, True)
    table.free[table.size[1]] = entry
    table.size[1] += 1
    table.size[0] -= 1
    return True


@kernel
def move_slots(table, old_heads, old_exact):
    """Fill the (larger) tables of slots from the old ones."""
    size_mask = table.heads.shape[0] - 1
    for i in range(old_heads.shape[0]):
        head = old_heads[i] - 1
        if head >= 0:
            slot = row_slot(table.rows[head], table.key, np.int64(0), size_mask)
            while table.heads[slot] != 0:
                slot = (slot + 1) & size_mask
            table.heads[slot] = head + 1
        entry = old_exact[i] - 1
        if entry >= 0:
            slot = row_slot(table.rows[entry], table.whole, table.until[entry], size_mask)
            while table.exact[slot] != 0:
                slot = (slot + 1) & size_mask
            table.exact[slot] = entry + 1


@kernel
def apply_rows(table, sign, until, rows):
    """Add and remove entries in order; how many removals found nothing."""
    missing = 0
    for i in range(sign.shape[0]):
        if sign[i] > 0:
            add_row(table, rows[i], until[i])
        elif not remove_row(table, rows[i], until[i]):
            missing += 1
    return missing


def new_table(width: int, key: list[int], room: int = 1024, *, ordered: bool = False) -> RowTable:
    """An empty table; `room` is a power of two."""
    return RowTable(
        rows=np.zeros((room, width), np.int32),
        until=np.zeros(room, np.int64),
        copies=np.zeros(room, np.int64),
        after=np.full(room, -1, np.int32),
        before=np.full(room, -1, np.int32),
        heads=np.zeros(2 * room, np.int32),
        exact=np.zeros(2 * room, np.int32),
        free=np.arange(room - 1, -1, -1, dtype=np.int32),
        key=np.array(key, np.int64),
        whole=np.arange(width, dtype=np.int64),
        size=np.array([0, room, ordered], np.int64),
    )


def with_room(table: RowTable, additions: int) -> RowTable:
    """The table itself, or a larger one, with room for so many more entries."""
    room = len(table.until)
    if table.size[1] >= additions:
        return table
    grown_room = 2 * room
    while grown_room - int(table.size[0]) < additions:
        grown_room *= 2
    grown = new_table(table.rows.shape[1], table.key.tolist(), grown_room, ordered=bool(table.size[2]))
    for name in ("rows", "until", "copies", "after", "before"):
        getattr(grown, name)[:room] = getattr(table, name)
    held = int(table.size[1])
    grown.free[:held] = table.free[:held]
    grown.free[held : held + grown_room - room] = np.arange(grown_room - 1, room - 1, -1, dtype=np.int32)
    grown.size[0], grown.size[1] = table.size[0], held + grown_room - room
    move_slots(grown, table.heads, table.exact)
    return grown
