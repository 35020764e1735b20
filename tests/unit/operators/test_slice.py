"""ORDER BY with LIMIT and OFFSET, and the blank nodes of templates, beside sorted lists."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spectra.dictionary.dictionary import Dictionary
from spectra.errors import InternalError
from spectra.operators.relational.fresh import Fresh
from spectra.operators.relational.group import Terms
from spectra.operators.relational.slice import Slice
from tests.unit.operators.test_distinct import told_rows
from tests.unit.operators.test_join import Given, add, random_batches

DICTIONARY = Dictionary()
NAMES = [f"<urn:{term}>" for term in range(1, 1002)]
IDS = [DICTIONARY.constant(text) for text in NAMES]
names = DICTIONARY.all_spans


def test_ids_are_those_of_the_names():
    assert list(range(1, 1002)) == IDS


def plain_slice(bag, order, shown, offset, limit, distinct):
    """(row, until) of a slice: ends are those of the rows, or when those before them no longer fill the offset."""
    copies = sorted(bag.elements(), key=lambda copy: (order(copy[0]), -copy[1]))
    if distinct:
        first: dict = {}
        for row, until in copies:
            first.setdefault(shown(row), (row, until))
        copies = list(first.values())
    found: Counter = Counter()
    last = len(copies) if limit is None else offset + limit
    for position, (row, until) in enumerate(copies[:last]):
        if position >= offset:
            earlier = sorted(end for _, end in copies[:position])
            found[shown(row), min(until, earlier[position - offset]) if offset else until] += 1
    return found


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("offset", "limit"), [(0, 2), (1, 2), (2, None), (0, 0), (0, None), (3, 100), (0, 5)])
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("unbound", [0.0, 0.3])
def test_the_slice_of_every_instant(descending, offset, limit, distinct, unbound):
    rng = random.Random(f"{descending} {offset} {limit} {distinct} {unbound}")
    batches = random_batches(rng, 3, values=3, batches=20, unbound=unbound)
    source = Given("abc", batches)
    sliced = Slice(source, ["a"], [("b", descending)], offset, limit, names, distinct=distinct)
    held: Counter = Counter()

    def order(row):
        listed = [(name, f"<urn:{term}>") for name, term in zip("abc", row, strict=True) if term]
        return -row[1] if descending else row[1], listed

    for batch in batches:
        told = told_rows(sliced.process())
        cursor = 0
        for instant in sorted({row[0] for row in batch}):
            add(source.held, [row for row in batch if row[0] == instant])
            while cursor < len(told) and told[cursor][0] <= instant:
                add(held, [told[cursor]])
                cursor += 1
            assert held == plain_slice(source.held, order, lambda row: row[:1], offset, limit, distinct)
        assert cursor == len(told)
        assert Counter((row[3], row[2]) for row in told_rows(sliced.current(99))) == held
    assert sliced.counters["rows"] == len(source.held)


def test_only_what_changes_is_told():
    batches = [[(1, 1, 9, (value,)) for value in (2, 4, 6)], [(2, 1, 9, (1,)), (2, -1, 9, (1,)), (2, 1, 9, (3,))]]
    sliced = Slice(Given("a", batches), ["a"], [("a", False)], 0, 2, names, distinct=False)
    assert sorted(told_rows(sliced.process())) == [(1, 1, 9, (2,)), (1, 1, 9, (4,))]
    assert told_rows(sliced.process()) == [(2, -1, 9, (4,)), (2, 1, 9, (3,))]


def test_a_row_leaves_when_those_before_it_no_longer_fill_the_offset():
    source = Given("a", [[(1, 1, 30, (3,)), (1, 1, 10, (1,)), (1, 1, 20, (2,))]])
    told = told_rows(Slice(source, ["a"], [("a", False)], 1, 2, names, distinct=False).process())
    # at 10 the second becomes the first; at 20 the third does
    assert sorted(told) == [(1, 1, 10, (2,)), (1, 1, 20, (3,))]


def test_rows_that_differ_in_a_hidden_column_are_two():
    batches = [[(1, 1, 9, (1, 5)), (1, 1, 5, (1, 6))], [(5, -1, 5, (1, 6))], [(9, -1, 9, (1, 5))]]
    sliced = Slice(Given(["a", "_:b"], batches), ["a"], [], 0, None, names, distinct=False)
    assert sorted(told_rows(sliced.process())) == [(1, 1, 5, (1,)), (1, 1, 9, (1,))]
    assert told_rows(sliced.process()) == [(5, -1, 5, (1,))]
    assert told_rows(sliced.process()) == [(9, -1, 9, (1,))]


@pytest.mark.parametrize("distinct", [False, True])
def test_a_change_looks_at_what_moves_over_the_limit(distinct):
    rows = [(1, 1, 50, (i,)) for i in range(101, 1001)]
    changes = [[(2, 1, 50, (100,))], [(3, 1, 50, (1001,))], [(4, -1, 50, (100,))], [(5, -1, 50, (1001,))]]
    sliced = Slice(Given("a", [rows, *changes]), ["a"], [("a", True)], 0, 500, names, distinct=distinct)
    sliced.process()
    for _ in changes:  # two rows that are told, and one step to the next
        before = sliced.counters["visited"]
        sliced.process()
        assert sliced.counters["visited"] - before <= 3


def test_behind_an_offset_only_the_stretch_is_visited():
    rows = [(1, 1, 50, (i,)) for i in range(1, 1000)]
    sliced = Slice(Given("a", [rows, [(2, 1, 50, (1000,))]]), ["a"], [("a", True)], 1, 3, names, distinct=False)
    sliced.process()
    before = sliced.counters["visited"]
    sliced.process()
    assert sliced.counters["visited"] - before <= 5


def test_a_row_that_leaves_and_never_came_is_our_fault():
    with pytest.raises(InternalError, match="never came"):
        Slice(Given("a", [[(1, -1, 5, (7,))]]), ["a"], [], 0, 1, names, distinct=False).process()
    with pytest.raises(InternalError, match="never came"):
        fresh([[(1, -1, 5, (7,))]]).process()


def fresh(batches):
    dictionary = Dictionary()
    terms = Terms(lambda ids: [f"<urn:{term}>" for term in ids.tolist()], dictionary.add_all, lambda *_: None)
    return Fresh(Given("a", batches), ["_:x", "_:y"], terms)


def test_each_copy_of_a_solution_has_blank_nodes_of_its_own_and_keeps_them():
    operator = fresh([[(1, 1, 9, (7,)), (1, 1, 5, (7,)), (1, 1, 5, (8,))], [(5, -1, 5, (7,)), (5, -1, 5, (8,))]])
    entered = told_rows(operator.process())
    assert len({row[1] for *_, row in entered} | {row[2] for *_, row in entered}) == 6
    left = told_rows(operator.process())
    assert {(-sign, until, row) for _, sign, until, row in left} == {
        (sign, until, row) for _, sign, until, row in entered if until == 5
    }
    assert operator.counters["rows"] == 1
    again = fresh([[(3, 1, 9, (7,))]])
    assert [row[0] for *_, row in told_rows(again.process())] == [7]
