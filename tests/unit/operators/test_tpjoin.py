"""PATTERN by tpjoin: at every instant the deltas add up to the matches of the window, with their ends."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from spectra.operators.pattern.tpjoin import TpJoin
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow, matches
from tests.unit.operators.harness import compare, random_stream

SHAPES = {
    "one pattern": [("x", 1, "y")],
    "self-loop": [("x", 1, "x")],
    "star": [("x", 1, "a"), ("x", 2, "b"), ("x", 3, "c")],
    "chain": [("a", 1, "b"), ("b", 2, "c"), ("c", 1, "d")],
    "triangle": [("a", 1, "b"), ("b", 1, "c"), ("c", 1, "a")],
    "twice the same": [("a", 1, "b"), ("a", 1, "b")],
    "constants": [("a", 1, 5), (5, 2, "c")],
    "all constant": [(4, 1, 5), ("a", 2, "b")],
    "variable predicate": [("a", "p", "b"), ("b", "p", "c")],
    "everything": [("s", "p", "o")],
    "predicate as subject": [("a", "p", "b"), ("p", 1, "c")],
    "disconnected": [("a", 1, "b"), ("c", 2, "d")],
    "tree": [("a", 1, "b"), ("b", 2, "c"), ("b", 3, "d"), ("a", 2, "e")],
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("counting", [False, True], ids=["time", "count"])
@pytest.mark.parametrize("lazy", [True, False], ids=["lazy", "eager"])
@pytest.mark.parametrize("seed", range(4))
def test_deltas_add_up_to_the_matches(shape, counting, lazy, seed):
    rng = random.Random(f"{shape} {counting} {seed}")
    patterns = SHAPES[shape]
    names = list(dict.fromkeys(t for p in patterns for t in p if isinstance(t, str)))
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=counting)
    stream = random_stream(rng, events=30, vertices=4, start=rng.choice([0, -100]))

    def expected(content):
        return Counter((tuple(binding[name] for name in names), end) for binding, end in matches(content, patterns))

    compare(rng, stream, window, lambda views: TpJoin(views, patterns, names, lazy=lazy), expected)


# --- what the automaton does, and what it leaves ---------------------------------------------

STAR = [("x", 1, "a"), ("x", 2, "b"), ("x", 3, "c")]
CHAIN = [("a", 1, "b"), ("b", 2, "c"), ("c", 3, "d")]


class Fed:
    """An operator, its window, and what each instant did to its counters."""

    def __init__(self, patterns, **options):
        self.views = WindowViews()
        names = list(dict.fromkeys(term for pattern in patterns for term in pattern if isinstance(term, str)))
        self.operator = TpJoin(self.views, patterns, names, **options)
        self.time = 0

    def __call__(self, *triples, end=100, deleted=()):
        """(deltas, what the counters grew by) of one instant."""
        self.time += 1
        before = self.operator.counters
        operations = [(-1, triple) for triple in deleted] + [(1, triple) for triple in triples]
        one = np.array([self.time], np.int64)
        self.views.apply(
            np.array([triple for _, triple in operations], np.int32).reshape(-1, 3),
            np.array([sign for sign, _ in operations], np.int8),
            np.array([0, len(operations)], np.int64),
            one,
            one,
            np.array([end], np.int64),
            self.time,
        )
        deltas = self.operator.process()
        self.views.vacuum()
        after = self.operator.counters
        return deltas, {name: after[name] - before[name] for name in after}


def test_nothing_is_joined_until_every_pattern_has_a_row():
    fed, eager = Fed(STAR), Fed(STAR, lazy=False)
    few = [(10 + n, predicate, 90) for n in range(5) for predicate in (1, 2)]
    _, counted = fed(*few)
    assert counted == {"probes": 0, "candidates": 0, "joined": 0, "stopped": 0, "skipped": 10, "pruned": 0}
    _, counted = eager(*few)
    assert counted["probes"] >= 10
    assert counted["skipped"] == 0
    for each in (fed, eager):
        deltas, counted = each((12, 3, 91))
        assert deltas.rows.tolist() == [[12, 90, 90, 91]]
        assert counted["skipped"] == 0


def test_a_view_that_becomes_empty_again_stops_the_joins():
    fed = Fed(STAR)
    fed((10, 1, 90), (10, 2, 90))
    deltas, _ = fed((10, 3, 90), end=4)
    assert len(deltas) == 1
    deltas, counted = fed((11, 1, 90), (11, 2, 90))  # at 3: the third view has its row
    assert counted["skipped"] == 0
    deltas, counted = fed((12, 1, 90))  # at 4: it is there until its instant is over, then it is not
    assert deltas.sign.tolist() == [-1]
    deltas, counted = fed((13, 1, 90), deleted=[(10, 1, 90)])
    assert counted["skipped"] == 2
    assert counted["probes"] == 0


def test_a_triple_that_comes_and_goes_within_a_batch_is_counted_once():
    views = WindowViews()
    operator = TpJoin(views, STAR, ["x", "a", "b", "c"])
    times = np.array([1, 2, 3], np.int64)
    triples = np.array([(10, 3, 90), (10, 3, 90), (10, 1, 90)], np.int32)
    ends = np.array([100, 100, 100], np.int64)
    views.apply(triples, np.array([1, -1, 1], np.int8), np.arange(4), times, times, ends, 3)
    operator.process()
    views.vacuum()
    assert operator.counters["skipped"] == 3
    assert operator.cardinalities == (1, 0, 0)


def test_the_smallest_view_is_asked_first_and_without_a_row_it_is_the_last():
    fed = Fed(STAR)
    fed(*[(10 + n, 2, 90) for n in range(50)])
    fed((99, 3, 90))
    # the third view has one row and none for this subject: one look-up, and the fifty of the second are left alone
    _, counted = fed((10, 1, 90))
    assert counted == {"probes": 1, "candidates": 0, "joined": 0, "stopped": 1, "skipped": 0, "pruned": 0}


def test_the_order_follows_the_cardinalities():
    fed = Fed(STAR)
    fed(*[(10 + n, 3, 90) for n in range(50)])
    fed((99, 2, 90))
    _, counted = fed((10, 1, 90))
    assert counted["probes"] == 1
    # now the second view is the larger one
    fed(*[(10 + n, 2, 90) for n in range(50)], deleted=[(10 + n, 3, 90) for n in range(1, 50)])
    assert fed.operator.cardinalities == (1, 51, 1)
    _, counted = fed((20, 1, 90))
    assert counted == {"probes": 1, "candidates": 0, "joined": 0, "stopped": 1, "skipped": 0, "pruned": 0}
    _, counted = fed((10, 1, 91))
    assert counted == {"probes": 2, "candidates": 2, "joined": 2, "stopped": 0, "skipped": 0, "pruned": 0}


def test_a_chain_stops_at_the_link_that_is_missing():
    fed = Fed(CHAIN)
    fed(*[(20, 2, 30 + n) for n in range(50)], (99, 3, 98))
    # b has fifty successors, none of which goes on: each is joined, asked once, and left
    _, counted = fed((10, 1, 20))
    assert counted == {"probes": 51, "candidates": 50, "joined": 50, "stopped": 50, "skipped": 0, "pruned": 0}
    # from the other end the chain is over before the fifty
    _, counted = fed((97, 3, 96))
    assert counted == {"probes": 1, "candidates": 0, "joined": 0, "stopped": 1, "skipped": 0, "pruned": 0}


def test_a_star_is_looked_up_once():
    patterns = [("x", predicate, f"v{predicate}") for predicate in range(1, 7)]
    fed = Fed(patterns)
    fed(*[(10, predicate, 90) for predicate in range(2, 7)])
    deltas, counted = fed((10, 1, 90))
    assert len(deltas) == 1
    assert counted == {"probes": 5, "candidates": 5, "joined": 5, "stopped": 0, "skipped": 0, "pruned": 0}


def test_more_matches_than_there_was_room_for_are_counted_once():
    product = [("a", 1, "b"), ("c", 2, "d")]
    fed = Fed(product)
    many = [(10 + n, 1, 90) for n in range(3000)]
    fed(*many)
    deltas, _ = fed((10, 2, 90))
    assert len(deltas) == 3000
    assert fed.operator.cardinalities == (3000, 1)
    deltas, _ = fed(deleted=[(10, 2, 90)])
    assert deltas.sign.tolist() == [-1] * 3000
    assert fed.operator.cardinalities == (3000, 0)
