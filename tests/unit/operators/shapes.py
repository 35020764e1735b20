"""Basic graph patterns of every shape, and what an operator for them must give."""

from __future__ import annotations

import random
from collections import Counter

from tests.oracle.kernels import PlainWindow, matches
from tests.unit.operators.harness import compare, random_stream

SHAPES = {
    "one pattern": [("x", 1, "y")],
    "repeated variable": [("x", 1, "x"), ("x", 2, "y")],
    "star": [("x", 1, "a"), ("x", 2, "b"), ("x", 3, "c")],
    "star into a hub": [("a", 1, "x"), ("b", 2, "x"), ("c", 1, "x")],
    "chain": [("a", 1, "b"), ("b", 2, "c"), ("c", 1, "d")],
    "tree": [("a", 1, "b"), ("b", 2, "c"), ("b", 3, "d"), ("a", 2, "e")],
    "snowflake": [("a", 1, "b"), ("a", 2, "c"), ("b", 3, "d"), ("b", 1, "e"), ("c", 2, "f")],
    "triangle": [("a", 1, "b"), ("b", 1, "c"), ("c", 1, "a")],
    "4-cycle": [("a", 1, "b"), ("b", 2, "c"), ("c", 1, "d"), ("d", 2, "a")],
    "clique": [("a", 1, "b"), ("a", 1, "c"), ("a", 1, "d"), ("b", 1, "c"), ("b", 1, "d"), ("c", 1, "d")],
    "self-join": [("a", 1, "b"), ("b", 1, "c")],
    "twice the same": [("a", 1, "b"), ("a", 1, "b")],
    "both ways": [("a", 1, "b"), ("b", 2, "a")],
    "constants": [("a", 1, 5), (5, 2, "c"), ("a", 2, "c")],
    "all constant": [(4, 1, 5), ("a", 2, "b")],
    "constants only": [(4, 1, 5), (5, 1, 4)],
    "variable predicate": [("a", "p", "b"), ("b", "p", "c")],
    "everything": [("s", "p", "o")],
    "predicate as subject": [("a", "p", "b"), ("p", 1, "c")],
    "three variables shared": [("a", "p", "b"), ("b", "p", "a"), ("a", 1, "p")],
    "disconnected": [("a", 1, "b"), ("c", 2, "d")],
    "disconnected parts": [("a", 1, "b"), ("b", 2, "c"), ("d", 3, "e"), ("e", 1, "d")],
}


def names_of(patterns):
    return list(dict.fromkeys(term for pattern in patterns for term in pattern if isinstance(term, str)))


def check_shape(operator, shape, counting, seed, *, projected=None):
    """Random events with repeats, deletions and expiry: at every instant the deltas add up to the matches."""
    rng = random.Random(f"{shape} {counting} {seed}")
    patterns = SHAPES[shape]
    names = names_of(patterns) if projected is None else projected
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=counting)
    # predicates are vertices too where a pattern joins them
    vertices = 3 if len(patterns) > 4 else 4
    stream = random_stream(rng, events=30, vertices=vertices, start=rng.choice([0, -100]))
    if "predicate" in shape or "shared" in shape:
        stream = [(t, [(s, tuple(_fold(x) for x in row)) for s, row in operations]) for t, operations in stream]

    def expected(content):
        return Counter((tuple(binding[name] for name in names), end) for binding, end in matches(content, patterns))

    compare(rng, stream, window, lambda views: operator(views, patterns, names), expected)


def _fold(term):
    return (term - 1) % 4 + 1
