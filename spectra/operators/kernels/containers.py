"""Columns of lives in adaptive containers: what each column holds decides how it is held.

A column has a *life* for every root that reaches it; a life is the rank of an end of validity among the known
ends, 0 for none, and those up to the last expired one are over. A sparse column is a list of (root, life) in the
order of the roots, a dense one a block of lives with the root as position. Containers have 2**size places and are
cut from two arenas, one for each kind; those given back are kept by size and used again.

Loops over blocks go over slices of one stride: only there the compiler knows that no index is negative and that
the length is fixed, and makes vector instructions of them (forty times as fast).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel

# kinds of containers
NONE, LIST, BLOCK = 0, 1, 2

#: The smallest block, and the stride of vectorised loops over blocks.
STRIDE = 64
_STRIDE_SIZE = 6
_LEAST_LIST = 16

#: So many bits of a row, or of a root's slot, tell which one it is of those that are looked at together.
DUE_BITS = 6

# what `held` says: of the arenas the places cut, in use, and asked for in vain; rows taken at least once and
# given back since; how often a column changed its kind; rows that were looked at for lives that are over
LIST_CUT, LIST_USED, LIST_WANTED, BLOCK_CUT, BLOCK_USED, BLOCK_WANTED, ROWS, FREE_ROWS, CONVERTED, REVIEWED = range(10)

Lives = NDArray[np.unsignedinteger]


class ColumnTable(NamedTuple):
    """Columns, one per row, and the arenas that their containers are cut from.

    A row is that of a vertex and a state of the automaton. `least` is no greater than any life in the column, `due` no
    greater than `least` of any column among 64 rows, and `free` are the rows that were given back. `list_free` and
    `block_free` head the lists of containers that were given back, by size; they are linked by `entry_root` and by
    `block_link` (one per stride).
    """

    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    kind: NDArray[np.int8]
    size: NDArray[np.int64]
    offset: NDArray[np.int64]
    entries: NDArray[np.int32]
    least: Lives
    due: Lives
    free: NDArray[np.int32]
    entry_root: NDArray[np.int32]
    entry_life: Lives
    list_free: NDArray[np.int64]
    cell: Lives
    block_link: NDArray[np.int64]
    block_free: NDArray[np.int64]
    held: NDArray[np.int64]


class GainColumns(NamedTuple):
    """The roots that gain by a path, in order, and how long a life each can have by it.

    `cell` is the same as a block while `dense` is not 0. `root`, `before` and `after` of `changed_…` say
    what a merge changed. `level` is room for one life of the right type.
    """

    root: NDArray[np.int32]
    life: Lives
    cell: Lives
    level: Lives
    changed_root: NDArray[np.int32]
    changed_before: Lives
    changed_after: Lives


@kernel
def take_row(columns, vertex, state, forever):
    """A row for a new column, -1 where the table is full."""
    held = columns.held
    if held[FREE_ROWS] > 0:
        held[FREE_ROWS] -= 1
        row = np.int64(columns.free[held[FREE_ROWS]])
    elif held[ROWS] < columns.vertex.shape[0]:
        row = held[ROWS]
        held[ROWS] += 1
    else:
        return np.int64(-1)
    columns.vertex[row] = vertex
    columns.state[row] = state
    columns.kind[row] = NONE
    columns.entries[row] = 0
    columns.least[row] = forever
    return row


@kernel
def free_row(columns, row, forever):
    """Give back the row of a column that is empty."""
    columns.least[row] = forever
    columns.free[columns.held[FREE_ROWS]] = row
    columns.held[FREE_ROWS] += 1


@kernel
def let_be_least(columns, row, life):
    """Let a bound of a column's lives be one, and see to it that the column is looked at when it is over."""
    columns.least[row] = life
    if life < columns.due[row >> DUE_BITS]:
        columns.due[row >> DUE_BITS] = life


@kernel
def lower_least(columns, row, life):
    """Let the bound of a column's lives be no greater than a life that it gets."""
    if life < columns.least[row]:
        let_be_least(columns, row, life)


@kernel
def size_for(places):
    """The size of the smallest container with so many places."""
    size = 0
    while (1 << size) < places:
        size += 1
    return size


@kernel
def block_size(roots):
    """The size of a block for so many roots."""
    return max(_STRIDE_SIZE, size_for(roots))


@kernel
def longest_list(roots):
    """With more entries than this a column becomes a block."""
    return max(_LEAST_LIST, roots >> 4)


@kernel
def allocate(columns, kind, size):
    """The offset of a container, -1 where the arena is full. A block comes with lives of 0."""
    places = 1 << size
    if kind == LIST:
        offset = columns.list_free[size]
        if offset >= 0:
            columns.list_free[size] = columns.entry_root[offset]
        else:
            offset = columns.held[LIST_CUT]
            if offset + places > columns.entry_root.shape[0]:
                columns.held[LIST_WANTED] = places
                return np.int64(-1)
            columns.held[LIST_CUT] += places
        columns.held[LIST_USED] += places
        return offset
    offset = columns.block_free[size]
    if offset >= 0:
        columns.block_free[size] = columns.block_link[offset >> _STRIDE_SIZE]
    else:
        offset = columns.held[BLOCK_CUT]
        if offset + places > columns.cell.shape[0]:
            columns.held[BLOCK_WANTED] = places
            return np.int64(-1)
        columns.held[BLOCK_CUT] += places
    columns.held[BLOCK_USED] += places
    block = columns.cell[offset : offset + places]
    for at in range(places):
        block[at] = 0
    return offset


@kernel
def give_back(columns, kind, size, offset):
    """Keep a container for the next column that needs one of its size."""
    if kind == LIST:
        columns.entry_root[offset] = columns.list_free[size]
        columns.list_free[size] = offset
        columns.held[LIST_USED] -= 1 << size
    else:
        columns.block_link[offset >> _STRIDE_SIZE] = columns.block_free[size]
        columns.block_free[size] = offset
        columns.held[BLOCK_USED] -= 1 << size


@kernel
def refit(columns, node, kind, size, expired):
    """Move a column into another container, without the lives that are over; False where the arena is full.

    A new list has to have room for all, a new block for the greatest root.
    """
    offset = allocate(columns, kind, size)
    if offset < 0:
        return False
    old_kind, old_size, old = columns.kind[node], columns.size[node], columns.offset[node]
    count = 0
    if old_kind == LIST:
        for at in range(old, old + columns.entries[node]):
            life = columns.entry_life[at]
            if life > expired:
                if kind == LIST:
                    columns.entry_root[offset + count] = columns.entry_root[at]
                    columns.entry_life[offset + count] = life
                else:
                    columns.cell[offset + columns.entry_root[at]] = life
                count += 1
    elif old_kind == BLOCK:
        for root in range(1 << old_size):
            life = columns.cell[old + root]
            if life > expired:
                if kind == LIST:
                    columns.entry_root[offset + count] = root
                    columns.entry_life[offset + count] = life
                else:
                    columns.cell[offset + root] = life
                count += 1
    if old_kind != NONE:
        give_back(columns, old_kind, old_size, old)
        columns.held[CONVERTED] += old_kind != kind
    columns.kind[node] = kind
    columns.size[node] = size
    columns.offset[node] = offset
    columns.entries[node] = count
    return True


@kernel
def empty(columns, node):
    """Give back the container of a column."""
    if columns.kind[node] != NONE:
        give_back(columns, columns.kind[node], columns.size[node], columns.offset[node])
        columns.kind[node] = NONE
    columns.entries[node] = 0


@kernel
def entry_at(columns, node, root):
    """Where the entry of a root is in a list, or would be."""
    low = columns.offset[node]
    high = low + columns.entries[node]
    while low < high:
        middle = (low + high) >> 1
        if columns.entry_root[middle] < root:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def life_of(columns, node, root):
    """The life of a root in a column, 0 for none; one that is over may still be there."""
    if columns.kind[node] == BLOCK:
        if root < 1 << columns.size[node]:
            return np.int64(columns.cell[columns.offset[node] + root])
    elif columns.kind[node] == LIST:
        at = entry_at(columns, node, root)
        if at < columns.offset[node] + columns.entries[node] and columns.entry_root[at] == root:
            return np.int64(columns.entry_life[at])
    return np.int64(0)


@kernel
def set_life(columns, node, root, life):
    """Change the life of a root that the column holds."""
    if columns.kind[node] == BLOCK:
        columns.cell[columns.offset[node] + root] = life
    else:
        columns.entry_life[entry_at(columns, node, root)] = life
    if life > 0:
        lower_least(columns, node, life)


@kernel
def put_entry(columns, node, root, life):
    """Let a root live at least so long in a column that is always a list; False where the arena is full."""
    if columns.kind[node] == NONE:
        if not refit(columns, node, LIST, 1, 0):
            return False
    at = entry_at(columns, node, root)
    last = columns.offset[node] + columns.entries[node]
    if at < last and columns.entry_root[at] == root:
        columns.entry_life[at] = max(np.int64(columns.entry_life[at]), life)
        lower_least(columns, node, life)
        return True
    if columns.entries[node] == 1 << columns.size[node]:
        place = at - columns.offset[node]
        if not refit(columns, node, LIST, columns.size[node] + 1, np.int64(-1)):  # what was counted stays
            return False
        at = columns.offset[node] + place
    insert_entry(columns, node, at, root, life)
    return True


@kernel
def insert_entry(columns, node, at, root, life):
    """Put an entry at its place in a list that has room for it."""
    for entry in range(columns.offset[node] + columns.entries[node], at, -1):
        columns.entry_root[entry] = columns.entry_root[entry - 1]
        columns.entry_life[entry] = columns.entry_life[entry - 1]
    columns.entry_root[at] = root
    columns.entry_life[at] = life
    columns.entries[node] += 1
    lower_least(columns, node, life)


@kernel
def put_life(columns, node, root, life, roots, expired):
    """Let one root live at least so long in a column; its life before, -1 for want of room in an arena."""
    if columns.kind[node] != BLOCK:
        at = entry_at(columns, node, root)
        last = columns.offset[node] + columns.entries[node]
        if at < last and columns.entry_root[at] == root:
            before = np.int64(columns.entry_life[at])
            if life > before:
                columns.entry_life[at] = life
                lower_least(columns, node, life)
            return before
        wanted = np.int64(columns.entries[node]) + 1
        if columns.kind[node] == LIST and wanted <= 1 << columns.size[node]:
            insert_entry(columns, node, at, root, life)
            return np.int64(0)
        if wanted <= longest_list(roots):
            place = at - columns.offset[node]
            if not refit(columns, node, LIST, size_for(max(wanted, 2)), np.int64(-1)):  # what was counted stays
                return np.int64(-1)
            insert_entry(columns, node, columns.offset[node] + place, root, life)
            return np.int64(0)
        if not refit(columns, node, BLOCK, block_size(roots), expired):
            return np.int64(-1)
    elif root >= 1 << columns.size[node]:
        if not refit(columns, node, BLOCK, block_size(roots), expired):
            return np.int64(-1)
    at = columns.offset[node] + root
    before = np.int64(columns.cell[at])
    if life > before:
        columns.cell[at] = life
        lower_least(columns, node, life)
    return before


@kernel
def shortest(gains, gained):
    """The shortest life among the gains."""
    lives = gains.life[:gained]
    least = lives[0]
    for number in range(gained):
        least = min(least, lives[number])
    return np.int64(least)


@kernel
def note_change(gains, changed, root, before, after, expired, extensions):
    """Remember a life that began, or with `extensions` one that became longer; how many are remembered."""
    if before <= expired or extensions:
        gains.changed_root[changed] = root
        gains.changed_before[changed] = before if before > expired else 0
        gains.changed_after[changed] = after
        return changed + 1
    return changed


@kernel
def merge_entries(columns, gains, node, gained, level, fresh, expired, noting, extensions):
    """Put gains into a list that has room for `fresh` more entries; how many changes were noted."""
    changed = 0
    first = columns.offset[node]
    at = first + columns.entries[node] - 1
    put = at + fresh
    number = gained - 1
    while number >= 0:
        root = gains.root[number]
        if at >= first and columns.entry_root[at] > root:
            columns.entry_root[put] = columns.entry_root[at]
            columns.entry_life[put] = columns.entry_life[at]
            at -= 1
        else:
            before = np.int64(0)
            if at >= first and columns.entry_root[at] == root:
                before = np.int64(columns.entry_life[at])
                at -= 1
            after = min(np.int64(gains.life[number]), level)
            if after > before:
                if noting:
                    changed = note_change(gains, changed, root, before, after, expired, extensions)
            else:
                after = before
            columns.entry_root[put] = root
            columns.entry_life[put] = after
            number -= 1
        put -= 1
    columns.entries[node] += fresh
    return changed


@kernel
def merge_cells(columns, gains, node, gained, level, expired, noting, extensions):
    """Put a few gains into a block: (whether one was better, how many changes were noted)."""
    better = False
    changed = 0
    first = columns.offset[node]
    for number in range(gained):
        root = gains.root[number]
        before = np.int64(columns.cell[first + root])
        after = min(np.int64(gains.life[number]), level)
        if after > before:
            better = True
            columns.cell[first + root] = after
            if noting:
                changed = note_change(gains, changed, root, before, after, expired, extensions)
    return better, changed


@kernel
def merge_block(columns, gains, node, level, roots, expired, noting, extensions):
    """Put gains that are a block into a block: (whether one was better, how many changes were noted)."""
    better = False
    changed = 0
    offset = columns.offset[node]
    gains.level[0] = level
    limit = gains.level[0]
    gains.level[0] = expired
    over = gains.level[0]
    for first in range(0, roots, STRIDE):
        lives = columns.cell[offset + first : offset + first + STRIDE]
        offers = gains.cell[first : first + STRIDE]
        some = False
        told = False
        for at in range(STRIDE):
            longer = min(offers[at], limit) > lives[at]
            some |= longer
            told |= longer & (lives[at] <= over)
        if not some:
            continue
        better = True
        if noting and (told or extensions):
            for at in range(STRIDE):
                before = np.int64(lives[at])
                after = min(np.int64(offers[at]), level)
                if after > before:
                    changed = note_change(gains, changed, first + at, before, after, expired, extensions)
        for at in range(STRIDE):
            lives[at] = max(lives[at], min(offers[at], limit))
    return better, changed


@kernel
def merge(columns, gains, node, gained, least, dense, level, roots, expired, noting, extensions):
    """Let a column be max(column, min(gains, level)); (whether a life became longer, how many changes were noted).

    The first is -1 for want of room in an arena; then nothing was done. `least` is the shortest life among the gains.
    """
    least = min(least, level)
    if columns.kind[node] != BLOCK:
        fresh = 0
        better = False
        last = columns.offset[node] + columns.entries[node]
        at = entry_at(columns, node, gains.root[0])
        for number in range(gained):
            root = gains.root[number]
            while at < last and columns.entry_root[at] < root:
                at += 1
            if at < last and columns.entry_root[at] == root:
                better |= min(np.int64(gains.life[number]), level) > columns.entry_life[at]
            else:
                fresh += 1
        if fresh == 0 and not better:
            return 0, 0
        wanted = columns.entries[node] + fresh
        if columns.kind[node] == NONE or wanted > 1 << columns.size[node]:
            if wanted > longest_list(roots):
                if not refit(columns, node, BLOCK, block_size(roots), expired):
                    return -1, 0
            elif not refit(columns, node, LIST, size_for(max(wanted, 2)), np.int64(-1)):  # what was counted stays
                return -1, 0
        if columns.kind[node] == LIST:
            lower_least(columns, node, least)
            return 1, merge_entries(columns, gains, node, gained, level, fresh, expired, noting, extensions)
    if gains.root[gained - 1] >= 1 << columns.size[node]:
        if not refit(columns, node, BLOCK, block_size(roots), expired):
            return -1, 0
    if dense and roots <= 1 << columns.size[node]:
        better, changed = merge_block(columns, gains, node, level, roots, expired, noting, extensions)
    else:
        better, changed = merge_cells(columns, gains, node, gained, level, expired, noting, extensions)
    if not better:
        return 0, 0
    lower_least(columns, node, least)
    return 1, changed


@kernel
def purge(columns, gains, node, expired, roots, forever):
    """Drop the lives that are over and let the column have the container that fits; how many lives are left."""
    first = columns.offset[node]
    left = 0
    least = np.int64(forever)
    if columns.kind[node] == LIST:
        for at in range(first, first + columns.entries[node]):
            life = columns.entry_life[at]
            if life > expired:
                columns.entry_root[first + left] = columns.entry_root[at]
                columns.entry_life[first + left] = life
                left += 1
                least = min(least, np.int64(life))
        columns.entries[node] = left
    elif columns.kind[node] == BLOCK:
        gains.level[0] = forever
        lowest = gains.level[0]
        highest = gains.level[0]
        gains.level[0] = expired
        over = gains.level[0]
        lives = columns.cell[first : first + (1 << columns.size[node])]
        for at in range(lives.shape[0]):
            left += lives[at] > over
            lowest = min(lowest, lives[at] if lives[at] > over else highest)
        least = np.int64(lowest)
        columns.entries[node] = left
    columns.least[node] = least
    if left == 0:
        empty(columns, node)
    elif columns.kind[node] == LIST:
        if 4 * max(left, 2) <= 1 << columns.size[node]:
            refit(columns, node, LIST, size_for(max(left, 2)), expired)
    elif 4 * left <= longest_list(roots):
        refit(columns, node, LIST, size_for(max(left, 2)), expired)
    elif 4 << block_size(roots) <= 1 << columns.size[node]:
        refit(columns, node, BLOCK, block_size(roots), expired)
    return left


@kernel
def repack(old, new):
    """Move all columns into arenas of another size, one after the other."""
    for node in range(old.held[ROWS]):
        kind = old.kind[node]
        if kind == NONE:
            continue
        places = 1 << old.size[node]
        offset = old.offset[node]
        put = allocate(new, kind, old.size[node])
        if kind == LIST:
            for at in range(places):
                new.entry_root[put + at] = old.entry_root[offset + at]
                new.entry_life[put + at] = old.entry_life[offset + at]
        else:
            for at in range(places):
                new.cell[put + at] = old.cell[offset + at]
        new.offset[node] = put
