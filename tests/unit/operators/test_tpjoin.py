"""PATTERN by tpjoin: at every instant the deltas add up to the matches of the window, with their ends."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spectra.operators.pattern.tpjoin import TpJoin
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
@pytest.mark.parametrize("seed", range(6))
def test_deltas_add_up_to_the_matches(shape, counting, seed):
    rng = random.Random(f"{shape} {counting} {seed}")
    patterns = SHAPES[shape]
    names = list(dict.fromkeys(t for p in patterns for t in p if isinstance(t, str)))
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=counting)
    stream = random_stream(rng, events=30, vertices=4, start=rng.choice([0, -100]))

    def expected(content):
        return Counter((tuple(binding[name] for name in names), end) for binding, end in matches(content, patterns))

    compare(rng, stream, window, lambda views: TpJoin(views, patterns, names), expected)
