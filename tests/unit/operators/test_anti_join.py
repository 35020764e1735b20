"""Anti-join, beside nested loops over bags; and operators with several readers."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spectra.errors import InternalError
from spectra.operators.relational.anti_join import AntiJoin
from spectra.operators.relational.join import HashJoin
from spectra.operators.relational.shared import Shared
from tests.unit.operators.test_distinct import told_rows
from tests.unit.operators.test_join import Given, add, random_batches


def plain_anti_join(left, right, key):
    matches = {row for row, _ in right}
    return Counter({(row, until): n for (row, until), n in left.items() if key(row) not in matches})


@pytest.mark.parametrize("keys", ["", "a", "b", "ba"])
@pytest.mark.parametrize("seed", range(8))
def test_anti_join_adds_up_at_every_instant(keys, seed):
    rng = random.Random(f"{keys} {seed}")
    left_batches = random_batches(rng, 2, values=3, unbound=0.2, batches=20)
    right_batches = random_batches(rng, len(keys), values=3, unbound=0.2, batches=20)
    left, right = Given("ab", left_batches), Given(keys, right_batches)
    anti_join = AntiJoin(left, right, list(keys))
    held: Counter = Counter()
    for left_batch, right_batch in zip(left_batches, right_batches, strict=True):
        told = told_rows(anti_join.process())
        assert [row[0] for row in told] == sorted(row[0] for row in told)
        cursor = 0
        for instant in sorted({row[0] for row in (*left_batch, *right_batch)}):
            add(left.held, [row for row in left_batch if row[0] == instant])
            add(right.held, [row for row in right_batch if row[0] == instant])
            while cursor < len(told) and told[cursor][0] <= instant:
                add(held, [told[cursor]])
                cursor += 1
            wanted = plain_anti_join(left.held, right.held, lambda row: tuple(row["ab".index(k)] for k in keys))
            assert +held == wanted
        assert cursor == len(told)
        assert Counter((row[3], row[2]) for row in told_rows(anti_join.current(99))) == +held
    assert anti_join.counters["rows"] == len(left.held) + len({row for row, _ in right.held})
    assert anti_join.nbytes > 0


def test_a_match_that_is_replaced_covers_all_the_while():
    anti_join = AntiJoin(
        Given("a", [[(1, 1, 9, (7,))], [], []]),
        Given("a", [[(1, 1, 5, (7,))], [(5, -1, 5, (7,)), (5, 1, 8, (7,))], [(8, -1, 8, (7,))]]),
        ["a"],
    )
    assert told_rows(anti_join.process()) == []
    assert told_rows(anti_join.process()) == []
    assert told_rows(anti_join.process()) == [(8, 1, 9, (7,))]


def test_many_rows_of_one_key_go_through_little_room():
    count = 5000
    rows = [(1, 1, 50 + i % 7, (1, i)) for i in range(count)]
    anti_join = AntiJoin(Given("ab", [rows, [], []]), Given("a", [[], [(2, 1, 9, (1,))], [(9, -1, 9, (1,))]]), ["a"])
    assert len(anti_join.process()) == count
    gone = anti_join.process()
    assert len(gone) == count
    assert (gone.sign == -1).all()
    back = anti_join.process()
    assert sorted(told_rows(back)) == sorted((9, 1, until, row) for _, _, until, row in rows)


@pytest.mark.parametrize("side", [0, 1])
def test_a_row_that_leaves_and_never_came_is_our_fault(side):
    batches = [[], []]
    batches[side] = [(1, -1, 5, (7,))]
    with pytest.raises(InternalError, match="never came"):
        AntiJoin(Given("a", [batches[0]]), Given("a", [batches[1]]), ["a"]).process()


def test_a_shared_operator_is_asked_once_for_all_its_readers():
    given = Given("a", [[(1, 1, 5, (7,))], [(2, 1, 5, (8,))]])
    shared = Shared(given)
    join = HashJoin(shared.reader(), shared.reader(), frozenset("a"))
    assert len(join.initial(0)) == 0
    assert told_rows(join.process()) == [(1, 1, 5, (7,))]
    assert told_rows(join.process()) == [(2, 1, 5, (8,))]
    with pytest.raises(StopIteration):
        join.process()
