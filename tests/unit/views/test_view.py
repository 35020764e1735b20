"""The views of a window, beside a dict that is moved on one instant at a time."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from spectra.clock import FOREVER
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, EXTENDED, end_at, visible
from spectra.views.kernels.index import find_slot
from spectra.views.view import OBJECT, PREDICATE, SUBJECT, WHOLE, WindowViews
from tests.oracle.kernels import PlainWindow, grouped_by_time
from tests.unit.operators.harness import columns_of, random_stream

MASKS = [SUBJECT, PREDICATE, OBJECT, SUBJECT | PREDICATE, PREDICATE | OBJECT, SUBJECT | OBJECT, 0]

#: Of one instant, in this order: what lasts longer, what is deleted, what is new, what expires.
ORDER = {int(EXTENDED): 0, int(DELETED): 1, int(ENTERED): 2, int(EXPIRED): 3}


def triple_of(views, row):
    columns = views.columns
    return int(columns.subject[row]), int(columns.predicate[row]), int(columns.object[row])


def content(views):
    return {triple_of(views, row): int(views.columns.valid_to[row]) for row in views.rows().tolist()}


def content_at(views, rows, position):
    """What the window held when the log had come to a position."""
    return {
        triple_of(views, row): int(end_at(views.columns, row, position))
        for row in rows
        if visible(views.columns, row, position)
    }


def check_indexes(views, held):
    index = views.columns.lists
    columns = (views.columns.subject, views.columns.predicate, views.columns.object)
    for at, mask in enumerate(index.masks.tolist()):
        lists: dict[tuple, set] = {}
        for triple in held:
            key = tuple(v for bit, v in zip((1, 2, 4), triple, strict=True) if mask & bit)
            lists.setdefault(key, set()).add(triple)
        for triple in held:
            slot = find_slot(*columns, index, at, *triple)
            found = []
            row = int(index.heads[at, slot]) - 1
            while row >= 0:
                found.append(triple_of(views, row))
                row = int(index.after[at, row])
            key = tuple(v for bit, v in zip((1, 2, 4), triple, strict=True) if mask & bit)
            assert len(found) == len(set(found)) == index.counts[at, slot]
            assert set(found) == lists[key]
        assert index.used[at] == len(lists)


def batches(rng, stream, window):
    """(groups of events by time, horizon) for batches of random size."""
    groups = grouped_by_time(stream)
    at = 0
    while at < len(groups):
        size = rng.choice([1, 1, 2, 5, 100])
        batch = groups[at : at + size]
        at += size
        horizon = batch[-1][0] + rng.choice([0, 0, 5])
        if at < len(groups):
            horizon = max(batch[-1][0], min(horizon, groups[at][0] - 1))
        yield batch, horizon


@pytest.mark.parametrize("counting", [False, True], ids=["time", "count"])
@pytest.mark.parametrize("seed", range(10))
def test_views_hold_what_the_window_holds(counting, seed):
    rng = random.Random(f"{counting} {seed}")
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=counting)
    stream = random_stream(rng, events=60, vertices=4, start=rng.choice([0, -100]))
    views = WindowViews(counting=counting)
    views.require(MASKS)
    for batch, horizon in batches(rng, stream, window):
        before = set(window.content)
        columns = columns_of([(time, operations) for time, events in batch for operations in events], window)
        states = []
        for time, events in batch:
            for expiry in window.expiries_before(time):
                window.expire(expiry)
                states.append((expiry, dict(window.content)))
            window.apply(time, events)
            states.append((time, dict(window.content)))
        for expiry in window.expiries_before(horizon + 1):
            window.expire(expiry)
            states.append((expiry, dict(window.content)))
        log = views.apply(*columns, horizon)
        at, kind, rows = log.at.tolist(), log.kind.tolist(), log.row.tolist()

        # in time order, and within an instant so that a solution never seems to leave and to enter
        assert [(t, ORDER[k]) for t, k in zip(at, kind, strict=True)] == sorted(
            (t, ORDER[k]) for t, k in zip(at, kind, strict=True)
        )
        # a triple is found where it is held
        triples = list(itertools.product(range(4, 8), (1, 2, 3), range(4, 8)))
        found = [None if row < 0 else triple_of(views, row) for row in views.find(np.array(triples, np.int32)).tolist()]
        assert found == [triple if triple in window.content else None for triple in triples]
        # the window can be seen as it was after every instant of the batch
        everyone = sorted({*rows, *views.rows().tolist()})
        for time, held in states:
            position = int(np.searchsorted(log.at, time, side="right"))
            assert content_at(views, everyone, position) == held
        entered = views.entered_terms().reshape(3, -1).T.tolist()
        assert sorted(map(tuple, entered)) == sorted(
            triple_of(views, r) for r, k in zip(rows, kind, strict=True) if k > 0
        )

        gone = sorted(triple_of(views, r) for r, k in zip(rows, kind, strict=True) if k < 0)
        assert sorted(map(tuple, views.vacuum().reshape(-1, 3).tolist())) == gone
        assert content(views) == window.content
        assert views.live == len(window.content)
        assert views.latest_end == max(window.content.values(), default=-FOREVER)
        check_indexes(views, window.content)
        assert before | set(map(tuple, entered)) >= set(window.content)


def test_the_timelist_is_in_order_and_has_every_end():
    rng = random.Random(3)
    window = PlainWindow(range=6, step=2)
    views = WindowViews()
    for batch, horizon in batches(rng, random_stream(rng, events=80), window):
        columns = columns_of([(time, operations) for time, events in batch for operations in events], window)
        for time, events in batch:
            window.expire(time - 1)
            window.apply(time, events)
        window.expire(horizon)
        views.apply(*columns, horizon)
        views.vacuum()
        timelist = views.timelist
        ring = np.arange(timelist.bounds[0], timelist.bounds[1]) & (len(timelist.rows) - 1)
        ends = timelist.ends[ring].tolist()
        assert ends == sorted(ends)
        valid = {
            (int(row), int(end))
            for row, end in zip(timelist.rows[ring], timelist.ends[ring], strict=True)
            if views.columns.valid_to[row] == end
        }
        assert {(row, int(views.columns.valid_to[row])) for row in views.rows().tolist()} <= valid


def event(triples, time, end):
    """One event as `WindowViews.apply` takes it, in a window that holds until `end`."""
    count = len(triples)
    return (
        np.array(triples, np.int32).reshape(-1, 3),
        np.ones(count, np.int8),
        np.array([0, count], np.int64),
        np.array([time], np.int64),
        np.array([time], np.int64),
        np.array([end], np.int64),
        time,
    )


def test_growth_keeps_content_and_indexes():
    views = WindowViews()
    views.require([PREDICATE, SUBJECT | PREDICATE])
    wanted = {}
    for time in range(8):
        triples = [(time * 1000 + i + 1, 1 + i % 3, i + 1) for i in range(1000)]
        wanted |= dict.fromkeys(triples, 100)
        views.apply(*event(triples, time, 100))
        views.vacuum()
    assert content(views) == wanted
    check = [(1, 1, 1), (7002, 2, 2), (3500, 2, 500)]
    index = views.columns.lists
    columns = (views.columns.subject, views.columns.predicate, views.columns.object)
    for triple in check:
        assert all(find_slot(*columns, index, at, *triple) >= 0 for at in range(len(index.masks)))
    assert find_slot(*columns, index, 0, 9999, 1, 1) == -1


def test_rows_are_used_again_and_memory_follows_the_window():
    views = WindowViews()
    views.require([SUBJECT | PREDICATE])
    sizes = []
    for time in range(3000):
        # a thousand triples are held at any time, and a million would be if none were given back
        triples = [(1 + (time * 100 + i) % 99_991, 1, 1 + time) for i in range(100)]
        views.apply(*event(triples, time, time + 10))
        views.vacuum()
        sizes.append(views.nbytes)
    assert views.live == 1000
    assert max(sizes[100:]) == sizes[100]
    assert views.columns.subject.shape[0] <= 4096


def test_an_event_of_many_operations_on_one_triple():
    window = PlainWindow(range=10, step=5)
    views = WindowViews()
    operations = [(1, (4, 1, 5)), (-1, (4, 1, 5))] * 2000 + [(1, (4, 1, 5))]
    views.apply(*columns_of([(1, operations)], window), 1)
    assert views.log.kind.tolist() == [int(ENTERED)]
    views.vacuum()
    window.apply(1, [operations])
    assert content(views) == window.content == {(4, 1, 5): 10}


def test_index_of_is_the_largest_index_within_what_is_bound():
    views = WindowViews()
    views.require([PREDICATE, SUBJECT | PREDICATE])
    masks = views.columns.lists.masks.tolist()
    best = {bound: (masks[at] if at >= 0 else None) for bound, at in enumerate(views.index_of().tolist())}
    assert best[WHOLE] == WHOLE
    assert best[SUBJECT | PREDICATE] == SUBJECT | PREDICATE
    assert best[PREDICATE | OBJECT] == PREDICATE
    assert best[SUBJECT] is None


def test_an_index_that_is_added_later_lists_what_the_window_holds():
    views = WindowViews()
    views.require([PREDICATE])
    triples = [(i % 7 + 1, i % 3 + 1, i + 1) for i in range(40)]
    views.apply(*event(triples, 0, 10))
    views.vacuum()
    views.require([SUBJECT, SUBJECT | PREDICATE])
    check_indexes(views, set(triples))
    views.apply(*event([(1, 1, 99)], 1, 10))
    check_indexes(views, {*triples, (1, 1, 99)})
