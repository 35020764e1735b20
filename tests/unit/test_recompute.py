"""PATTERN by recompute: the joins of the whole window, redone at every instant, and what differs is told."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from spectra.operators.pattern.recompute import Recompute
from spectra.views.view import WindowViews
from tests.unit.operators.shapes import SHAPES, check_shape


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("counting", [False, True], ids=["time", "count"])
@pytest.mark.parametrize("seed", range(2))
def test_deltas_add_up_to_the_matches(shape, counting, seed):
    check_shape(partial(Recompute, lazy=bool(seed)), shape, counting, seed)


def test_copies_of_a_row_are_counted():
    check_shape(Recompute, "star", False, 1, projected=["x"])


def apply(views, time, triples, end=100):
    rows = np.array(triples, np.int32).reshape(-1, 3)
    one = np.array([time], np.int64)
    views.apply(
        rows, np.ones(len(rows), np.int8), np.array([0, len(rows)], np.int64), one, one, np.array([end], np.int64), time
    )


def test_all_is_computed_once_per_instant_however_many_triples_it_brings():
    views = WindowViews()
    operator = Recompute(views, [("a", 1, "b"), ("b", 2, "c")], ["a", "b", "c"], lazy=False)
    apply(views, 1, [(10 + n, 1, 50) for n in range(20)])
    assert len(operator.process()) == 0
    views.vacuum()
    assert operator.counters["evaluations"] == 1
    apply(views, 2, [(50, 2, 60), (50, 2, 61)])
    assert len(operator.process()) == 40
    views.vacuum()
    assert operator.counters["evaluations"] == 2


def test_nothing_is_computed_while_a_view_is_empty():
    views = WindowViews()
    operator = Recompute(views, [("a", 1, "b"), ("b", 2, "c")], ["a", "b", "c"])
    apply(views, 1, [(10 + n, 1, 50) for n in range(20)])
    assert len(operator.process()) == 0
    views.vacuum()
    assert operator.counters["evaluations"] == 0
    assert operator.counters["skipped"] == 20
    apply(views, 2, [(50, 2, 60)], end=5)
    assert len(operator.process()) == 20
    views.vacuum()
    apply(views, 6, [(30, 1, 50)])
    assert sorted(operator.process().sign.tolist()) == [-1] * 20
    assert operator.counters["evaluations"] == 1


def test_the_smaller_view_drives_the_join():
    views = WindowViews()
    operator = Recompute(views, [("a", 1, "b"), ("b", 2, "c")], ["a", "b", "c"])
    apply(views, 1, [(1000 + n, 1, 2000 + n) for n in range(500)])
    operator.process()
    views.vacuum()
    before = operator.counters["candidates"]
    apply(views, 2, [(2007, 2, 60)])
    assert operator.process().rows.tolist() == [[1007, 2007, 60]]
    assert operator.counters["candidates"] - before == 1


def test_more_answers_than_there_was_room_for():
    views = WindowViews()
    operator = Recompute(views, [("a", 1, "b"), ("c", 2, "d")], ["a", "c"])
    apply(views, 1, [(100 + n, 1, 5) for n in range(90)])
    assert len(operator.process()) == 0
    views.vacuum()
    apply(views, 2, [(300 + n, 2, 5) for n in range(90)])
    deltas = operator.process()
    views.vacuum()
    assert len(deltas) == 8100
    assert len(operator.current(3)) == 8100
    apply(views, 3, [(300, 2, 6)])
    assert len(operator.process()) == 90
