"""Join and its table of rows, beside nested loops over bags."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from spectra.operators.contract import Deltas
from spectra.operators.kernels.rows import apply_rows, find_rows, new_table, with_room
from spectra.operators.relational.join import HashJoin


class Given:
    """An input that tells prepared deltas, one batch after the other."""

    def __init__(self, variables, batches):
        self.variables = tuple(variables)
        self.counters = {}
        self.nbytes = 0
        self._batches = iter(batches)
        self.held = Counter()

    def initial(self, at):
        return Deltas.empty(len(self.variables))

    def process(self):
        return deltas(next(self._batches), len(self.variables))

    def current(self, at):
        rows = [(at, 1, until, row) for (row, until), count in self.held.items() for _ in range(count)]
        return deltas(rows, len(self.variables))


def deltas(rows, width):
    return Deltas(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int8),
        np.array([row[2] for row in rows], np.int64),
        np.array([row[3] for row in rows], np.int32).reshape(len(rows), width),
    )


def random_batches(rng, width, *, batches=12, values=3, unbound=0.0):
    """Signed rows in time order; only what is there leaves, with the end it had."""
    held: list = []
    found = []
    time = 0
    for _ in range(batches):
        batch = []
        for _ in range(rng.choice([0, 1, 3, 20])):
            time += rng.choice([0, 0, 1])
            if held and rng.random() < 0.4:
                row, until = held.pop(rng.randrange(len(held)))
                batch.append((time, -1, until, row))
            else:
                row = tuple(0 if rng.random() < unbound else rng.randint(1, values) for _ in range(width))
                until = rng.choice([50, 60, 70])
                held.append((row, until))
                batch.append((time, 1, until, row))
        found.append(batch)
        time += 1
    return found


def plain_join(left, right, left_names, right_names):
    """The join of two bags of (row, until); 0 is unbound."""
    names = list(dict.fromkeys((*left_names, *right_names)))
    found = Counter()
    for (left_row, left_until), n in left.items():
        for (right_row, right_until), m in right.items():
            merged = dict(zip(left_names, left_row, strict=True))
            for name, value in zip(right_names, right_row, strict=True):
                if merged.get(name, 0) and value and merged[name] != value:
                    break
                merged[name] = merged.get(name, 0) or value
            else:
                found[tuple(merged[name] for name in names), min(left_until, right_until)] += n * m
    return found


def add(bag, rows):
    for _, sign, until, row in rows:
        bag[row, until] += sign
        if not bag[row, until]:
            del bag[row, until]


SHAPES = {
    "one shared": ("ab", "bc", "b"),
    "two shared": ("abc", "bcd", "bc"),
    "none shared": ("a", "b", ""),
    "the same": ("ab", "ab", "ab"),
    "shared but perhaps unbound": ("ab", "bc", ""),
    "one certain, one not": ("abc", "bcd", "b"),
    "no column on the left": ("", "a", ""),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(6))
def test_join_adds_up_to_the_join_of_the_bags(shape, seed):
    left_names, right_names, certain = SHAPES[shape]
    rng = random.Random(f"{shape} {seed}")
    loose = set(left_names) & set(right_names) - set(certain)
    unbound = 0.3 if loose else 0.0

    def made(names):
        batches = random_batches(rng, len(names), unbound=unbound)
        fixed = [at for at, name in enumerate(names) if name in certain]
        # a certain variable is bound in every row
        return [
            [(t, s, u, tuple(v or (1 if at in fixed else 0) for at, v in enumerate(row))) for t, s, u, row in batch]
            for batch in batches
        ]

    left_batches, right_batches = made(left_names), made(right_names)
    left, right = Given(left_names, left_batches), Given(right_names, right_batches)
    join = HashJoin(left, right, frozenset(certain))
    assert join.variables == tuple(dict.fromkeys(left_names + right_names))
    held: Counter = Counter()
    for left_rows, right_rows in zip(left_batches, right_batches, strict=True):
        told = join.process()
        assert told.at.tolist() == sorted(told.at.tolist())
        add(left.held, left_rows)
        add(right.held, right_rows)
        add(
            held,
            zip(told.at.tolist(), told.sign.tolist(), told.until.tolist(), map(tuple, told.rows.tolist()), strict=True),
        )
        wanted = plain_join(left.held, right.held, left_names, right_names)
        assert held == wanted
        now = join.current(99)
        assert Counter(zip(map(tuple, now.rows.tolist()), now.until.tolist(), strict=True)) == wanted
    assert join.counters["rows"] == len(left.held) + len(right.held)


def test_join_at_every_instant():
    left = Given("ab", [[(1, 1, 9, (1, 2)), (5, -1, 9, (1, 2))]])
    right = Given("bc", [[(3, 1, 7, (2, 3)), (7, -1, 7, (2, 3))]])
    told = HashJoin(left, right, frozenset("b")).process()
    assert told.at.tolist() == [3, 5]
    assert told.sign.tolist() == [1, -1]
    assert told.until.tolist() == [7, 7]
    assert told.rows.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_more_results_than_there_was_room_for():
    rows = [(1, 1, 9, (1, value)) for value in range(1, 301)]
    left, right = Given("ab", [rows]), Given("ac", [rows])
    told = HashJoin(left, right, frozenset("a")).process()
    assert len(told) == 300 * 300
    assert len({tuple(row) for row in told.rows.tolist()}) == 300 * 300


def test_a_selective_join_looks_only_at_its_key():
    many = [(1, 1, 9, (value, value)) for value in range(1, 2001)]
    join = HashJoin(Given("ab", [many, []]), Given("bc", [[], [(2, 1, 9, (7, 1))]]), frozenset("b"))
    join.process()
    before = join.counters["candidates"]
    assert len(join.process()) == 1
    assert join.counters["candidates"] - before == 1


# --- the table ----------------------------------------------------------------------------


def entries(table):
    held = np.flatnonzero(table.copies)
    return Counter({
        (tuple(table.rows[e].tolist()), int(table.until[e])): int(table.copies[e]) for e in held
    })  # fmt: skip


@pytest.mark.parametrize("key", [[0], [1], [0, 1], []])
@pytest.mark.parametrize("seed", range(4))
def test_table_is_a_bag_with_lists_by_key(key, seed):
    rng = random.Random(f"{key} {seed}")
    ordered = seed % 2 == 0
    table = new_table(2, key, room=4, ordered=ordered)
    bag: Counter = Counter()
    missing = 0
    for _ in range(60):
        rows, signs, untils = [], [], []
        for _ in range(rng.randrange(8)):
            row, until = (rng.randint(1, 4), rng.randint(1, 4)), rng.choice([5, 6, 7])
            sign = rng.choice([1, 1, -1])
            rows.append(row)
            signs.append(sign)
            untils.append(until)
            if sign > 0:
                bag[row, until] += 1
            elif bag[row, until]:
                bag[row, until] -= 1
            else:
                missing -= 1
        bag = +bag
        table = with_room(table, signs.count(1))
        missing += apply_rows(
            table, np.array(signs, np.int8), np.array(untils, np.int64), np.array(rows, np.int32).reshape(-1, 2)
        )
        assert missing == 0
        assert entries(table) == bag
        assert table.size[0] == len(bag)
        for probe in {row for row, _ in bag} | {(9, 9)}:
            slot = find_rows(table, np.array(probe, np.int32), table.key)
            entry, found = int(table.heads[slot]) - 1, []
            while entry >= 0:
                found.append((tuple(table.rows[entry].tolist()), int(table.until[entry])))
                entry = int(table.after[entry])
            if ordered:
                assert [until for _, until in found] == sorted((until for _, until in found), reverse=True)
            assert set(found) == {e for e in bag if all(e[0][column] == probe[column] for column in key)}
            assert len(found) == len(set(found))


def test_removal_of_what_is_not_there_is_counted():
    table = new_table(1, [0])
    row = np.array([[3]], np.int32)
    assert apply_rows(table, np.array([-1], np.int8), np.array([5], np.int64), row) == 1
    assert apply_rows(table, np.array([1, -1], np.int8), np.array([5, 6], np.int64), np.repeat(row, 2, 0)) == 1
    assert entries(table) == Counter({((3,), 5): 1})
