"""PATH by spath: at every instant the deltas add up to the pairs that the window connects, with their ends."""

from __future__ import annotations

import random
from collections import Counter

import numba
import numpy as np
import pytest

from spectra.automata import inverse, minimal_dfa
from spectra.clock import FOREVER
from spectra.operators.path.rapq import RApq
from spectra.operators.path.rspq import RSpq
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
from spectra.views.kernels.apply import EXPIRED
from spectra.views.view import WindowViews
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


def expected_rows(dfa, root, target):
    """What the pairs of a window are as (row, end), for these ends of the path."""

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

    return expected


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
    expected = expected_rows(dfa, root, target)
    compare(rng, stream, window, lambda views: SPath(views, dfa, root, target, int), expected)


@pytest.mark.usefixtures("small_arrays")
@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("make", [SPath, RApq])
@pytest.mark.parametrize("seed", range(3))
def test_arrays_that_grow_and_shrink(name, make, seed):
    rng = random.Random(f"{name} {seed}")
    dfa = minimal_dfa(PATHS[name])
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=8 * step, step=step, counting=seed == 2)
    stream = random_stream(rng, events=80, vertices=rng.choice([5, 9]), deletions=rng.choice([0, 0.05, 0.2]))
    expected = expected_rows(dfa, "x", "y")
    compare(rng, stream, window, lambda views: make(views, dfa, "x", "y", int), expected)


@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="another set of kernels would be compiled for this test alone")
@pytest.mark.parametrize("name", ["a+", "(a|b)*", "(^a/b)+", "a{2,3}"])
def test_ids_that_leave_no_bits_for_the_state(name):
    # no room is kept for terms here: these ids stand for two thousand million terms
    rng = random.Random(name)
    dfa = minimal_dfa(PATHS[name])
    far = 2**31 - 20
    stream = [
        (time, [(sign, (s + far * (time > 30), p, o + far * (time > 60))) for sign, (s, p, o) in operations])
        for time, operations in random_stream(rng, events=60, vertices=6, deletions=0.1)
    ]
    expected = expected_rows(dfa, "x", "y")
    if dfa.accepts_empty:

        def expected(content):
            return Counter((pair, end) for pair, end in widest_pairs(content, dfa, int).items() if pair[0] != pair[1])

    window = PlainWindow(range=20, step=5)
    compare(rng, stream, window, lambda views: SPath(views, dfa, "x", "y", int, empty="none"), expected)


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

    expected = expected_rows(dfa, "x", "y")
    compare(random.Random(1), stream, window, lambda views: SPath(views, dfa, "x", "y", int), expected)


def edges_at(time, pairs):
    """One event of edges with predicate 1, for `WindowViews.apply`; time goes no further."""
    count = len(pairs)
    triples = np.array([(x, 1, y) for x, y in pairs], np.int32).reshape(-1, 3)
    at, end = np.array([time], np.int64), np.array([time // 10 * 10 + 100], np.int64)
    return triples, np.ones(count, np.int8), np.array([0, count], np.int64), at, at, end, time


def filled(*, removals: bool, make=SPath):
    """An operator with the pairs of a random graph, more edges at every slide, and its views."""
    rng = random.Random(5)
    views = WindowViews()
    operator = make(views, minimal_dfa(PATHS["a+"]), "x", "y", int, removals=removals, extensions=False)
    size = 40 if numba.config.DISABLE_JIT else 150
    for slide in range(10):
        pairs = [(10 + rng.randrange(size), 10 + rng.randrange(size)) for _ in range(size // 6)]
        views.apply(*edges_at(10 * slide, pairs))
        operator.process()
        views.vacuum()
    return views, operator


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="a few nodes do not fill the smallest arrays")
@pytest.mark.parametrize(("make", "most"), [(SPath, 32), (RApq, 38)])
def test_bytes_per_node(make, most):
    views, operator = filled(removals=False, make=make)
    measured = []
    for time in range(90, 190, 10):
        views.apply(*edges_at(time, []))
        operator.process()
        views.vacuum()
        # in `rapq` these grow with the rows of the views, not with the nodes; `spath` has none, and all of it counts
        of_edges = operator._trees.edge_nodes.nbytes + operator._trees.edge_slide.nbytes
        assert make is RApq or of_edges == 0
        measured.append((operator.counters["nodes"], operator.nbytes - of_edges))
    assert [size for nodes, size in measured if nodes >= 1000 and size > most * nodes] == []
    assert measured[0][0] > 5000
    assert measured[-1][0] < 200
    assert measured[-1][1] < 12_000


@pytest.mark.parametrize("make", [SPath, RApq, RSpq])
@pytest.mark.parametrize("removals", [False, True])
def test_a_slide_reads_no_node_unless_results_that_leave_are_asked_for(make, removals):
    views, operator = filled(removals=removals, make=make)
    held = operator.counters
    if numba.config.DISABLE_JIT and not removals:  # then there is nothing to be read
        trees = operator._trees
        beyond = trees.root[:0]
        operator._trees = trees._replace(root=beyond, product=beyond, slide=beyond, parent=beyond, after=beyond)
    views.apply(*edges_at(119, []))
    assert set(views.log.kind.tolist()) == {EXPIRED}
    deltas = operator.process()
    cost = {name: count - held[name] for name, count in operator.counters.items()}
    assert cost["nodes"] < 0
    assert cost["edges_probed"] == 0
    assert (len(deltas) > 0) == (cost["nodes_touched"] > 0) == removals


def test_results_that_leave_are_told_once_and_counted():
    views, operator = filled(removals=True)
    held = len(operator.current(90).rows)
    left = 0
    for time in range(100, 210, 10):
        views.apply(*edges_at(time, []))
        deltas = operator.process()
        views.vacuum()
        assert (deltas.sign == -1).all()
        assert (deltas.until == time).all()
        left += len(deltas)
        assert len(operator.current(time).rows) == held - left
    assert held == left > 100
    assert operator.counters["nodes"] == 0


def test_a_deleted_edge_that_no_tree_uses_is_not_followed():
    views = WindowViews()
    operator = SPath(views, minimal_dfa(PATHS["a+"]), "x", "y", int)
    views.apply(*edges_at(0, [(5, 6), (6, 7), (7, 8), (8, 9)]))
    operator.process()
    views.vacuum()
    views.apply(*edges_at(1, [(9, 5)]))
    operator.process()
    views.vacuum()
    before = operator.counters
    triples, sign, first, at, position, end, horizon = edges_at(2, [(6, 5)])
    views.apply(triples, sign, first, at, position, end, horizon)  # 5 is reached from 6 by way of 9 already
    operator.process()
    views.vacuum()
    middle = operator.counters
    views.apply(triples, -sign, first, at + 1, position + 1, end, horizon + 1)
    assert len(operator.process()) == 0
    assert middle["nodes"] == before["nodes"] == operator.counters["nodes"] == 25
    assert operator.counters["nodes_touched"] == middle["nodes_touched"]
