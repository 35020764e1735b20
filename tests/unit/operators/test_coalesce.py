"""Coalescing of value-equivalent tuples: what a set of rows does at each instant."""

from __future__ import annotations

import random

import numpy as np

from spectra.operators.coalesce import ENTER, LEAVE, coalesced
from spectra.operators.contract import Deltas
from spectra.views.kernels.apply import PROLONG, RENEW


def deltas(*given: tuple[int, int, int, int]) -> Deltas:
    """(instant, sign, end, value) of rows with one value."""
    at, sign, until, value = (np.array([each[place] for each in given], np.int64) for place in range(4))
    return Deltas(at, sign.astype(np.int8), until, value.astype(np.int32).reshape(-1, 1))


def found(*given: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
    """(instant, change, end, value) for each change."""
    change, last = coalesced(deltas(*given))
    rows = zip(last.at.tolist(), change.tolist(), last.until.tolist(), last.rows[:, 0].tolist(), strict=True)
    return [(at, kind, until, value) for at, kind, until, value in rows]


def test_nothing_becomes_nothing() -> None:
    change, last = coalesced(Deltas.empty(2))
    assert len(change) == len(last) == 0


def test_a_row_that_gets_another_end_changes_once() -> None:
    assert found((1, 1, 9, 5)) == [(1, ENTER, 9, 5)]
    assert found((1, -1, 9, 5)) == [(1, LEAVE, 9, 5)]
    assert found((1, -1, 9, 5), (1, 1, 12, 5)) == [(1, PROLONG, 12, 5)]
    assert found((1, -1, 9, 5), (1, 1, 7, 5)) == [(1, RENEW, 7, 5)]
    assert found((1, -1, 9, 5), (1, 1, 12, 5), (1, -1, 12, 5), (1, 1, 14, 5)) == [(1, PROLONG, 14, 5)]


def test_a_row_that_enters_and_leaves_at_one_instant_was_never_there() -> None:
    assert found((1, 1, 9, 5), (1, -1, 9, 5)) == []
    assert found((1, 1, 9, 5), (1, -1, 9, 5), (2, 1, 9, 5)) == [(2, ENTER, 9, 5)]


def test_rows_and_instants_are_told_apart() -> None:
    given = [(1, 1, 9, 5), (1, 1, 8, 6), (2, -1, 9, 5), (2, 1, 11, 5), (3, -1, 8, 6)]
    assert found(*given) == [(1, ENTER, 9, 5), (1, ENTER, 8, 6), (2, PROLONG, 11, 5), (3, LEAVE, 8, 6)]


def test_one_change_for_each_row_and_instant_of_random_deltas() -> None:
    """Applied one by one, changes give after each instant the rows, with their ends, that all deltas give."""
    rng = random.Random(8)
    for _ in range(200):
        there: dict[int, int] = {}
        given: list[tuple[int, int, int, int]] = []
        after: dict[int, dict[int, int]] = {}
        for at in range(4):
            for _ in range(rng.randrange(6)):
                value = rng.randrange(3)
                if value in there:
                    given.append((at, -1, there.pop(value), value))
                if rng.random() < 0.7:
                    there[value] = at + rng.randrange(1, 5)
                    given.append((at, 1, there[value], value))
            after[at] = dict(there)
        changes = found(*given) if given else []
        assert len({(at, value) for at, _, _, value in changes}) == len(changes)
        rows: dict[int, int] = {}
        for at in range(4):
            for _, kind, until, value in (each for each in changes if each[0] == at):
                assert (value in rows) == (kind != ENTER)
                if kind == PROLONG:
                    assert until >= rows[value]
                if kind == RENEW:
                    assert until < rows[value]
                if kind == LEAVE:
                    del rows[value]
                else:
                    rows[value] = until
            assert rows == after[at]
