"""PATH by spath: at every instant the deltas add up to the pairs that the window connects, with their ends."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spectra.automata import inverse, minimal_dfa
from spectra.clock import FOREVER
from spectra.operators.path.spath import SPath
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
    ZeroOrOnePath,
)
from tests.oracle.kernels import PlainWindow, terms_with_end, widest_pairs
from tests.unit.operators.harness import compare, random_stream

A, B, C = Link("1"), Link("2"), Link("3")
PATHS = {
    "a+": OneOrMorePath(A),
    "a*": ZeroOrMorePath(A),
    "a?": ZeroOrOnePath(A),
    "(a/b)+": OneOrMorePath(SequencePath((A, B))),
    "(a|b)*": ZeroOrMorePath(AlternativePath((A, B))),
    "a*/b*": SequencePath((ZeroOrMorePath(A), ZeroOrMorePath(B))),
    "(^a/b)+": OneOrMorePath(SequencePath((InversePath(A), B))),
    "(a|^a)+": OneOrMorePath(AlternativePath((A, InversePath(A)))),
    "(!a)+": OneOrMorePath(NegatedPropertySet(("1",), None)),
    "(!(a|^b)/c)*": ZeroOrMorePath(SequencePath((NegatedPropertySet(("1",), ("2",)), C))),
    "a{2,3}": RepeatPath(A, 2, 3),
    "a|b/c*": AlternativePath((A, SequencePath((B, ZeroOrMorePath(C))))),
}
ENDS = {
    "variables": ("x", "y"),
    "one variable": ("x", "x"),
    "constant root": (5, "y"),
    "both constant": (5, 6),
    "loop at a constant": (5, 5),
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(4))
def test_deltas_add_up_to_the_pairs(name, ends, seed):
    rng = random.Random(f"{name} {ends} {seed}")
    dfa = minimal_dfa(PATHS[name])
    root, target = ENDS[ends]
    step = rng.choice([1, 2, 5])
    counting = seed == 3
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=counting)
    stream = random_stream(rng, events=40, vertices=5, deletions=rng.choice([0, 0.1, 0.3]), start=rng.choice([0, -100]))

    def expected(content):
        pairs = dict(widest_pairs(content, dfa, int))
        if dfa.accepts_empty:
            pairs.update({(term, term): end for term, end in terms_with_end(content).items()})
            pairs.update({(term, term): FOREVER for term in (root, target) if isinstance(term, int)})
        rows = Counter()
        for (x, y), end in pairs.items():
            binding = {}
            for term, value in ((root, x), (target, y)):
                if (binding.setdefault(term, value) if isinstance(term, str) else term) != value:
                    break
            else:
                rows[tuple(binding.values()), end] += 1
        return rows

    compare(rng, stream, window, lambda views: SPath(views, dfa, root, target, int), expected)


def test_inverse_paths_give_the_pairs_the_other_way_round():
    rng = random.Random(7)
    for path in PATHS.values():
        content = {triple: 1 for _, ops in random_stream(rng, deletions=0) for _, triple in ops}
        there = widest_pairs(content, minimal_dfa(path), int)
        back = widest_pairs(content, minimal_dfa(inverse(path)), int)
        assert {(y, x) for x, y in there} == set(back)


def test_the_edges_of_one_event_outgrow_every_array():
    # 60 edges into a hub with ends of their own, then 100 edges out of it in one event: thousands of relaxations
    # wait at once, and the heap grows while they do
    dfa = minimal_dfa(PATHS["a+"])
    hub = 4
    stream = [(2 * at, [(1, (10 + at, 1, hub))]) for at in range(60)]
    stream.append((120, [(1, (hub, 1, 100 + at)) for at in range(100)] + [(1, (100, 1, 10))]))
    window = PlainWindow(range=500, step=2)

    def expected(content):
        return Counter((pair, end) for pair, end in widest_pairs(content, dfa, int).items())

    compare(random.Random(1), stream, window, lambda views: SPath(views, dfa, "x", "y", int), expected)
