"""The multimap over three columns, beside a dict of lists."""

from __future__ import annotations

import random
from collections import defaultdict

import numpy as np
import pytest

from spectra.views.kernels.index import find_slot, grown_index, link, new_index, unlink

MASKS = [7, 1, 2, 4, 3, 5, 6, 0]


def key(row, mask):
    return tuple(value for bit, value in zip((1, 2, 4), row, strict=True) if mask & bit)


def listed(columns, index, at, row):
    """The rows of a list, walked forward, with the links back checked on the way."""
    slot = find_slot(*columns, index, at, *row)
    if slot < 0:
        return []
    found = []
    before, current = -1, int(index.heads[at, slot]) - 1
    while current >= 0:
        assert index.before[at, current] == before
        found.append(current)
        before, current = current, int(index.after[at, current])
    assert index.counts[at, slot] == len(found)
    return found


def check(columns, index, live, keys):
    for at, mask in enumerate(MASKS):
        lists = defaultdict(set)
        for row, triple in live.items():
            lists[key(triple, mask)].add(row)
        for triple in keys:
            assert set(listed(columns, index, at, triple)) == lists.get(key(triple, mask), set())
        assert index.used[at] == len(lists)


@pytest.mark.parametrize("seed", range(8))
def test_link_unlink_and_growth(seed):
    rng = random.Random(seed)
    room, values = 64, rng.choice([2, 3, 8])
    columns = [np.zeros(room, np.int32) for _ in range(3)]
    index = new_index(MASKS, room, 2 * room)
    live: dict[int, tuple[int, int, int]] = {}
    free = list(range(room))
    keys = [(a, b, c) for a in range(1, values + 1) for b in range(1, 3) for c in range(1, values + 1)]
    for step in range(400):
        if free and (not live or rng.random() < (0.7 if step < 200 else 0.4)):
            row = free.pop(rng.randrange(len(free)))
            triple = rng.choice(keys)
            for column, value in zip(columns, triple, strict=True):
                column[row] = value
            link(*columns, index, row)
            live[row] = triple
        elif live:
            row = rng.choice(sorted(live))
            unlink(*columns, index, row)
            del live[row]
            free.append(row)
        if not free:
            index = grown_index(*columns, index, 2 * room, 4 * room)
            columns = [np.concatenate((column, np.zeros(room, np.int32))) for column in columns]
            free += range(room, 2 * room)
            room *= 2
        if step % 25 == 0:
            check(columns, index, live, keys)
    for row in list(live):
        unlink(*columns, index, row)
    assert not index.heads.any()
    assert not index.used.any()


def test_the_newest_row_comes_first():
    columns = [np.full(8, 5, np.int32) for _ in range(3)]
    index = new_index([2], 8, 16)
    for row in (3, 0, 6):
        link(*columns, index, row)
    assert listed(columns, index, 0, (0, 5, 0)) == [6, 0, 3]
    unlink(*columns, index, 0)
    assert listed(columns, index, 0, (0, 5, 0)) == [6, 3]


def test_nothing_is_found_in_an_empty_index():
    columns = [np.zeros(4, np.int32) for _ in range(3)]
    assert find_slot(*columns, new_index([7], 4, 8), 0, 1, 2, 3) == -1
