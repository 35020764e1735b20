"""Random streams through the views and one operator, beside the plain twins."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from spectra.clock import FOREVER
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow, grouped_by_time


def random_stream(rng: random.Random, *, events=40, vertices=5, predicates=(1, 2, 3), deletions=0.2, start=0):
    """Events with repeats, equal times, gaps, deletions, self-loops; ids of vertices follow the predicates'."""
    time = start
    stream = []
    first = max(predicates) + 1
    for _ in range(events):
        time += rng.choice([0, 1, 1, 2, 3, 3, 7, 25])
        operations = []
        for _ in range(rng.choice([0, 1, 1, 1, 2, 5])):
            triple = (
                rng.randrange(first, first + vertices),
                rng.choice(predicates),
                rng.randrange(first, first + vertices),
            )
            operations.append((-1 if rng.random() < deletions else 1, triple))
        stream.append((time, operations))
    return stream


def columns_of(events, window: PlainWindow):
    first, triples, sign, times, positions, ends = [0], [], [], [], [], []
    count = window.events
    for time, operations in events:
        for s, triple in operations:
            triples.append(triple)
            sign.append(s)
        first.append(len(sign))
        times.append(time)
        position = count if window.counting else time
        count += 1
        positions.append(position)
        ends.append(window.end(position))
    return (
        np.array(triples, np.int32).reshape(-1, 3),
        np.array(sign, np.int8),
        np.array(first, np.int64),
        np.array(times, np.int64),
        np.array(positions, np.int64),
        np.array(ends, np.int64),
    )


def compare(rng, stream, window: PlainWindow, make_operator, expected):
    """Feed a stream in random batches and check, at every instant, the bag of (row, until) the deltas add up to."""
    views = WindowViews(counting=window.counting)
    operator = make_operator(views)
    held: Counter = Counter()
    for d in zip(*_columns(operator.initial(stream[0][0] if stream else 0)), strict=True):
        held[d[3], d[2]] += d[1]
    groups = grouped_by_time(stream)
    at = 0
    while at < len(groups):
        size = rng.choice([1, 1, 2, 5, 100])
        batch = groups[at : at + size]
        at += size
        flat = [(time, ops) for time, events in batch for ops in events]
        horizon = batch[-1][0] + rng.choice([0, 0, 5])
        if at < len(groups):
            horizon = min(horizon, groups[at][0] - 1)
        horizon = max(horizon, batch[-1][0])
        snapshots = []
        columns = columns_of(flat, window)
        for time, events in batch:
            for expiry in window.expiries_before(time):
                window.expire(expiry)
                snapshots.append((expiry, expected(window.content)))
            window.apply(time, events)
            snapshots.append((time, expected(window.content)))
        for expiry in window.expiries_before(horizon + 1):
            window.expire(expiry)
            snapshots.append((expiry, expected(window.content)))
        views.apply(*columns, horizon)
        deltas = operator.process()
        views.vacuum()
        rows = list(zip(*_columns(deltas), strict=True))
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)
        cursor = 0
        for time, want in snapshots:
            while cursor < len(rows) and rows[cursor][0] <= time:
                _, sign, until, row = rows[cursor]
                held[row, until] += sign
                cursor += 1
            got = {key: count for key, count in held.items() if count}
            want = Counter({(row, FOREVER if window.counting else until): n for (row, until), n in want.items()})
            assert got == want, (time, "missing", want - Counter(got), "extra", Counter(got) - want)
        assert cursor == len(rows)
        now = _columns(operator.current(horizon))
        assert Counter(zip(now[3], now[2], strict=True)) == want
        assert views.live == len(window.content)


def compare_changes(rng, stream, window: PlainWindow, make_operator, expected, *, removals=True):
    """The same for an operator that does not tell extensions: what enters at each instant, until when, and what leaves.

    `expected` gives the end of each pair of a window's content. Without `removals` nothing that leaves is told.
    """
    views = WindowViews(counting=window.counting)
    operator = make_operator(views)
    groups = grouped_by_time(stream)
    before: dict = {}
    at = 0
    while at < len(groups):
        size = rng.choice([1, 1, 2, 5, 100])
        batch = groups[at : at + size]
        at += size
        flat = [(time, ops) for time, events in batch for ops in events]
        horizon = batch[-1][0]
        columns = columns_of(flat, window)
        content = {}
        for time, events in batch:
            for expiry in window.expiries_before(time):
                window.expire(expiry)
                content[expiry] = expected(window.content)
            window.apply(time, events)
            content[time] = expected(window.content)
        for expiry in window.expiries_before(horizon + 1):
            window.expire(expiry)
            content[expiry] = expected(window.content)
        views.apply(*columns, horizon)
        told = Counter(zip(*_columns(operator.process()), strict=True))
        views.vacuum()
        wanted: Counter = Counter()
        for time, pairs in content.items():
            for pair in pairs.keys() - before.keys():
                wanted[time, 1, FOREVER if window.counting else pairs[pair], pair] += 1
            for pair in before.keys() - pairs.keys() if removals else ():
                wanted[time, -1, FOREVER if window.counting else time, pair] += 1
            before = pairs
        got: Counter = Counter()
        for (time, sign, until, row), n in told.items():
            got[time, sign, until if sign > 0 or window.counting else time, row] += n
        for time, _, _, row in [change for change in got if change[1] > 0]:
            left = time, -1, FOREVER if window.counting else time, row
            if got[left]:  # deleted, and there again by another edge of that instant
                got -= Counter({change: got[change] for change in list(got) if (change[0], change[3]) == (time, row)})
        assert got == wanted, ("missing", wanted - got, "extra", got - wanted)


def _columns(deltas):
    return deltas.at.tolist(), deltas.sign.tolist(), deltas.until.tolist(), [tuple(row) for row in deltas.rows.tolist()]
