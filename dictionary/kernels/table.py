"""The dictionary's loops: a hash table with linear probing over columns that are indexed by term id.

A slot holds one entry, the upper 32 bits of the term's hash and its id in the lower ones, or 0. The
upper half is both the fingerprint that is compared first and the number of the entry's home slot, so
probing, deleting and rebuilding read the slots only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel

# places in `Table.counters`
HASH_MASK, NEXT_ID, FREE_COUNT, CANDIDATE_COUNT, ARENA_USED, ARENA_GARBAGE, ADAPTIVE_COUNT = range(7)
PERSISTENT_COUNT, COLLISIONS, COUNTERS = range(7, 10)

# values of `Table.state`
FREE, ADAPTIVE, PERSISTENT = range(3)

# `encode`: only look the terms up; ADAPTIVE and PERSISTENT say what a new term becomes
FIND = 0

# `encode`: why it stopped
DONE, NO_ROOM, BAD_SPAN = range(3)

# rows that `encode` fetches at once
BLOCK = 32

UPPER = -(1 << 32)
LOWER = (1 << 32) - 1


class Table(NamedTuple):
    """The dictionary as kernels see it; `c` ids, of which 0 is never a term.

    `slots` has a power of two of entries. The text of term `t` is the `length[t]` bytes of `arena`
    from `start[t]` on; the `tag[t]` bytes behind them are its language tag as first seen, where that
    has capitals. `free` and `candidates` are stacks of ids, `queued` says which are candidates.
    """

    slots: NDArray[np.int64]
    arena: NDArray[np.uint8]
    hashes: NDArray[np.int64]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    tag: NDArray[np.int32]
    references: NDArray[np.int32]
    state: NDArray[np.uint8]
    queued: NDArray[np.bool_]
    free: NDArray[np.int32]
    candidates: NDArray[np.int32]
    counters: NDArray[np.int64]


@kernel
def same_bytes(left, right):
    """Whether two byte arrays of one length are equal; without an early exit, so that it is vectorised."""
    different = np.uint8(0)
    for position in range(left.shape[0]):
        different |= left[position] ^ right[position]
    return different == 0


@kernel
def copy_bytes(source, begin, target, place, size):
    """Copy `size` bytes; a loop, since assigning slices to each other would allocate."""
    for position in range(size):
        target[place + position] = source[begin + position]


@kernel
def fetch(table, hashes, first, last, terms):
    """Read what looking up the rows ``first : last`` is likely to read, and return a sum of it.

    Each loop is free of dependencies between rows, so the waits for memory overlap; in a large
    dictionary the lookups that follow are twice as fast. `terms` is scratch space.
    """
    last_slot = table.slots.shape[0] - 1
    for row in range(first, last):
        terms[row - first] = table.slots[((hashes[row] & table.counters[HASH_MASK]) >> 32) & last_slot] & LOWER
    seen = np.int64(0)
    for position in range(last - first):
        term = terms[position]
        seen ^= table.length[term]
        terms[position] = table.start[term]
    for position in range(last - first):
        seen ^= table.arena[terms[position]]
    return seen


@kernel
def encode(table, text, start, length, tag, hashes, kind, first, ids, scratch):
    """Write the ids of the terms from row `first` on, and give new terms an id unless `kind` is FIND.

    Parameters
    ----------
    table : Table
        Changed unless `kind` is FIND.
    text : uint8[::1]
        Where the spans are.
    start : int64[::1]
        Where each span begins.
    length, tag : int32[::1]
        The bytes of its text, and those of its language tag as written behind it.
    hashes : int64[::1]
        One per span; the dictionary's mask is applied here.
    kind : int64
        FIND (unknown terms get 0), ADAPTIVE or PERSISTENT.
    first : int64
        The row to begin at.
    ids : int32[::1]
        Written.
    scratch : int64[BLOCK + 1]
        Room to look ahead.

    Returns
    -------
    row, status : int64
        DONE, or the row that has NO_ROOM (call again from there) or is a BAD_SPAN.
    """
    counters, slots, arena = table.counters, table.slots, table.arena
    last_slot = slots.shape[0] - 1
    capacity = table.state.shape[0]
    for row in range(first, start.shape[0]):
        if (row - first) % BLOCK == 0:
            scratch[BLOCK] ^= fetch(table, hashes, row, min(row + BLOCK, start.shape[0]), scratch)
        begin = start[row]
        size = np.int64(length[row])
        whole = size + tag[row]
        if begin < 0 or size < 0 or tag[row] < 0 or tag[row] > size or begin + whole > text.shape[0]:
            return row, BAD_SPAN
        masked = hashes[row] & counters[HASH_MASK]
        fingerprint = masked & UPPER
        slot = (masked >> 32) & last_slot
        collided = False
        term = np.int64(0)
        while slots[slot] != 0:
            if slots[slot] & UPPER == fingerprint:
                other = slots[slot] & LOWER
                if table.length[other] == size:
                    place = table.start[other]
                    if same_bytes(arena[place : place + size], text[begin : begin + size]):
                        term = other
                        break
                if table.hashes[other] == masked:
                    collided = True
            slot = (slot + 1) & last_slot
        if term != 0:
            if kind == PERSISTENT and table.state[term] == ADAPTIVE:
                table.state[term] = PERSISTENT
                counters[ADAPTIVE_COUNT] -= 1
                counters[PERSISTENT_COUNT] += 1
        elif kind != FIND:
            place = counters[ARENA_USED]
            live = counters[ADAPTIVE_COUNT] + counters[PERSISTENT_COUNT]
            if (
                place + whole > arena.shape[0]
                or 2 * (live + 1) > slots.shape[0]
                or (counters[FREE_COUNT] == 0 and counters[NEXT_ID] == capacity)
            ):
                return row, NO_ROOM
            if counters[FREE_COUNT] > 0:
                counters[FREE_COUNT] -= 1
                term = np.int64(table.free[counters[FREE_COUNT]])
            else:
                term = counters[NEXT_ID]
                counters[NEXT_ID] += 1
            copy_bytes(text, begin, arena, place, whole)
            counters[ARENA_USED] += whole
            table.hashes[term] = masked
            table.start[term] = place
            table.length[term] = size
            table.tag[term] = tag[row]
            table.state[term] = kind
            slots[slot] = fingerprint | term
            if collided:
                counters[COLLISIONS] += 1
            if kind == PERSISTENT:
                counters[PERSISTENT_COUNT] += 1
            else:
                counters[ADAPTIVE_COUNT] += 1
                table.queued[term] = True
                table.candidates[counters[CANDIDATE_COUNT]] = term
                counters[CANDIDATE_COUNT] += 1
        ids[row] = term
    return start.shape[0], DONE


@kernel
def count_references(table, ids, change):
    """Add `change` to the reference count of each id; those that reach 0 become candidates.

    Returns
    -------
    row : int64
        -1, or the first row whose id is no term or whose count would fall below 0; nothing from
        there on is counted.
    """
    counters = table.counters
    for row in range(ids.shape[0]):
        term = np.int64(ids[row])
        if term == 0:
            continue
        if term < 0 or term >= counters[NEXT_ID] or table.state[term] == FREE:
            return row
        references = table.references[term] + change
        if references < 0:
            return row
        table.references[term] = references
        if references == 0 and table.state[term] == ADAPTIVE and not table.queued[term]:
            table.queued[term] = True
            table.candidates[counters[CANDIDATE_COUNT]] = term
            counters[CANDIDATE_COUNT] += 1
    return -1


@kernel
def reclaim(table):
    """Free the candidates that have no reference, forget the others, and return how many were freed.

    Entries behind a freed slot move up to where their probing can still find them (backward-shift
    deletion), so the table holds no tombstones.
    """
    counters, slots = table.counters, table.slots
    last_slot = slots.shape[0] - 1
    freed = 0
    for position in range(counters[CANDIDATE_COUNT]):
        term = np.int64(table.candidates[position])
        table.queued[term] = False
        if table.state[term] != ADAPTIVE or table.references[term] > 0:
            continue
        hole = (table.hashes[term] >> 32) & last_slot
        while slots[hole] & LOWER != term:
            hole = (hole + 1) & last_slot
        slot = (hole + 1) & last_slot
        while slots[slot] != 0:
            home = (slots[slot] >> 32) & last_slot
            if (slot - home) & last_slot >= (slot - hole) & last_slot:
                slots[hole] = slots[slot]
                hole = slot
            slot = (slot + 1) & last_slot
        slots[hole] = 0
        counters[ARENA_GARBAGE] += table.length[term] + table.tag[term]
        counters[ADAPTIVE_COUNT] -= 1
        table.state[term] = FREE
        table.free[counters[FREE_COUNT]] = term
        counters[FREE_COUNT] += 1
        freed += 1
    counters[CANDIDATE_COUNT] = 0
    return freed


@kernel
def rebuild(table, slots, arena):
    """Enter every entry of `table` into the empty `slots` and copy its text into `arena`.

    `table.start` then holds for `arena`. Returns how many bytes of `arena` are used.
    """
    last_slot = slots.shape[0] - 1
    used = 0
    for row in range(table.slots.shape[0]):
        entry = table.slots[row]
        if entry == 0:
            continue
        slot = (entry >> 32) & last_slot
        while slots[slot] != 0:
            slot = (slot + 1) & last_slot
        slots[slot] = entry
        term = entry & LOWER
        place = table.start[term]
        whole = np.int64(table.length[term]) + table.tag[term]
        copy_bytes(table.arena, place, arena, used, whole)
        table.start[term] = used
        used += whole
    return used
