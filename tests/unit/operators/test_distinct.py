"""Distinct, beside a plain set with the latest end of each row's copies."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spectra.errors import InternalError
from spectra.operators.relational.distinct import Distinct
from tests.unit.operators.test_join import Given, add, random_batches


def plain_distinct(bag):
    ends: dict = {}
    for row, until in bag:
        ends[row] = max(until, ends.get(row, until))
    return Counter(ends.items())


def told_rows(told):
    return list(
        zip(told.at.tolist(), told.sign.tolist(), told.until.tolist(), map(tuple, told.rows.tolist()), strict=True)
    )


@pytest.mark.parametrize("width", [0, 1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_distinct_adds_up_to_the_set(width, seed):
    rng = random.Random(f"{width} {seed}")
    batches = random_batches(rng, width, values=2, batches=20)
    source = Given("ab"[:width], batches)
    distinct = Distinct(source)
    held: Counter = Counter()
    for batch in batches:
        told = told_rows(distinct.process())
        assert [row[0] for row in told] == sorted(row[0] for row in told)
        # at every instant of the batch, not only at its end
        cursor = 0
        for at, instant in enumerate(batch):
            add(source.held, [instant])
            if at + 1 < len(batch) and batch[at + 1][0] == instant[0]:
                continue
            while cursor < len(told) and told[cursor][0] <= instant[0]:
                add(held, [told[cursor]])
                cursor += 1
            assert held == plain_distinct(source.held)
        assert cursor == len(told)
        assert Counter((row[3], row[2]) for row in told_rows(distinct.current(99))) == plain_distinct(source.held)
    assert distinct.counters["rows"] == len(source.held)


def test_a_second_copy_is_not_told_and_a_longer_one_moves_the_end():
    distinct = Distinct(
        Given("a", [[(1, 1, 5, (7,)), (2, 1, 5, (7,)), (3, 1, 9, (7,)), (4, -1, 9, (7,)), (5, -1, 5, (7,))]])
    )
    assert told_rows(distinct.process()) == [
        (1, 1, 5, (7,)),
        (3, -1, 5, (7,)),
        (3, 1, 9, (7,)),
        (4, -1, 9, (7,)),
        (4, 1, 5, (7,)),
    ]


def test_what_leaves_and_enters_in_one_instant_is_not_told():
    distinct = Distinct(
        Given("a", [[(1, 1, 5, (7,))], [(2, -1, 5, (7,)), (2, 1, 5, (7,)), (2, 1, 5, (8,)), (2, -1, 5, (8,))]])
    )
    distinct.process()
    assert told_rows(distinct.process()) == []


def test_a_row_that_leaves_and_never_came_is_our_fault():
    with pytest.raises(InternalError, match="never came"):
        Distinct(Given("a", [[(1, -1, 5, (7,))]])).process()
