"""PATH by rapq: the pairs of the window at every instant, and what a negative tuple costs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from spectra.automata import minimal_dfa
from spectra.clock import FOREVER
from spectra.operators.kernels.delta_trees import BLOCK_BITS
from spectra.operators.path.rapq import RApq
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    SequencePath,
    ZeroOrMorePath,
)
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow, terms_with_end, widest_pairs
from tests.unit.operators.harness import columns_of, compare, random_stream

A, B, C = Link("1"), Link("2"), Link("3")
PATHS = {
    "a+": OneOrMorePath(A),
    "a*": ZeroOrMorePath(A),
    "(a/b)+": OneOrMorePath(SequencePath((A, B))),
    "a*/b*": SequencePath((ZeroOrMorePath(A), ZeroOrMorePath(B))),
    "(a|^b)+": OneOrMorePath(AlternativePath((A, InversePath(B)))),
    "(!(a|^b)/c)*": ZeroOrMorePath(SequencePath((NegatedPropertySet(("1",), ("2",)), C))),
}
ENDS = {"variables": ("x", "y"), "one variable": ("x", "x"), "constant root": (5, "y"), "both constant": (5, 6)}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(4))
def test_deltas_add_up_to_the_pairs(name, ends, seed):
    rng = random.Random(f"{name} {ends} {seed}")
    dfa = minimal_dfa(PATHS[name])
    root, target = ENDS[ends]
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]), step=step, counting=seed == 3)
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

    compare(rng, stream, window, lambda views: RApq(views, dfa, root, target, int), expected)


def test_the_edges_of_one_event_outgrow_every_array():
    # 60 edges into a hub with ends of their own, then 100 edges out of it in one event: thousands of relaxations
    # wait at once, and everything grows while they do
    dfa = minimal_dfa(PATHS["a+"])
    hub = 4
    stream = [(2 * at, [(1, (10 + at, 1, hub))]) for at in range(60)]
    stream.append((120, [(1, (hub, 1, 100 + at)) for at in range(100)] + [(1, (100, 1, 10))]))
    stream.append((121, [(-1, (hub, 1, 100 + at)) for at in range(90)]))
    window = PlainWindow(range=500, step=2)

    def expected(content):
        return Counter((pair, end) for pair, end in widest_pairs(content, dfa, int).items())

    compare(random.Random(1), stream, window, lambda views: RApq(views, dfa, "x", "y", int), expected)


class Fed:
    """An operator over a window of 100 that moves with every tick."""

    def __init__(self, path):
        self.window = PlainWindow(range=100, step=1)
        self.views = WindowViews()
        self.operator = RApq(self.views, minimal_dfa(path), "x", "y", int)

    def at(self, time, *operations):
        """What an event costs: the difference of the counters; and its deltas."""
        before = self.operator.counters
        self.views.apply(*columns_of([(time, list(operations))], self.window), time)
        deltas = self.operator.process()
        self.views.vacuum()
        after = self.operator.counters
        rows = [(int(sign), *map(int, row)) for sign, row in zip(deltas.sign, deltas.rows, strict=True)]
        return {name: after[name] - before[name] for name in after}, sorted(rows)


def test_a_deleted_edge_that_no_tree_uses_costs_nothing():
    fed = Fed(OneOrMorePath(AlternativePath((A, B))))
    fed.at(1, (1, (10, 1, 11)), (1, (11, 1, 12)))
    fed.at(1, (1, (10, 2, 11)), (1, (11, 2, 12)))
    cost, told = fed.at(2, (-1, (10, 2, 11)), (-1, (11, 2, 12)))
    assert (cost, told) == ({"edges_probed": 0, "nodes_touched": 0, "nodes": 0}, [])
    cost, told = fed.at(3, (-1, (11, 1, 12)))
    assert told == [(-1, 10, 12), (-1, 11, 12)]
    assert cost["nodes"] == -2


def test_a_deleted_edge_that_trees_no_longer_use_costs_nothing():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, (1, (10, 1, 11)))
    fed.at(2, (1, (10, 1, 12)), (1, (12, 1, 11)))  # a path that lasts longer
    assert fed.at(3, (-1, (10, 1, 11))) == ({"edges_probed": 0, "nodes_touched": 0, "nodes": 0}, [])
    _, told = fed.at(4, (-1, (12, 1, 11)))
    assert told == [(-1, 10, 11), (-1, 12, 11)]


def test_a_deleted_edge_whose_nodes_have_expired_costs_nothing():
    fed = Fed(SequencePath((A, B)))
    fed.at(1, (1, (10, 1, 11)))
    fed.at(50, (1, (11, 2, 12)))
    fed.at(101)
    assert fed.at(110, (-1, (11, 2, 12))) == ({"edges_probed": 0, "nodes_touched": 0, "nodes": 0}, [])
    # the row of the edge that is gone is another edge's now, and that one is used
    fed.at(111, (1, (20, 1, 21)), (1, (21, 2, 22)))
    assert fed.at(112, (-1, (21, 2, 22)))[1] == [(-1, 20, 22)]


def test_of_two_edges_between_the_same_vertices_only_the_used_one_takes_anything_down():
    fed = Fed(OneOrMorePath(AlternativePath((A, B))))
    fed.at(1, (1, (10, 1, 11)))
    fed.at(2, (1, (10, 2, 11)))  # the one that lasts longer
    assert fed.at(3, (-1, (10, 1, 11))) == ({"edges_probed": 0, "nodes_touched": 0, "nodes": 0}, [])
    fed.at(4, (1, (10, 1, 11)))
    fed.at(4, (1, (11, 1, 12)))
    cost, told = fed.at(5, (-1, (10, 1, 11)))
    assert told == [(-1, 10, 11), (-1, 10, 12), (1, 10, 11), (1, 10, 12)]  # by the other one, which ends earlier
    assert cost["nodes"] == 0


def test_what_a_deleted_tree_edge_takes_down_is_derived_again():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, (1, (10, 1, 11)), (1, (11, 1, 12)), (1, (12, 1, 13)))
    fed.at(2, (1, (10, 1, 12)))
    cost, told = fed.at(3, (-1, (11, 1, 12)))
    assert told == [(-1, 11, 12), (-1, 11, 13)]  # 10 still reaches both
    assert cost["nodes"] == -2


def test_expiry_probes_no_edge():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, (1, (10, 1, 11)), (1, (11, 1, 12)))
    fed.at(50, (1, (12, 1, 13)))
    cost, told = fed.at(101)
    assert told == [(-1, 10, 11), (-1, 10, 12), (-1, 10, 13), (-1, 11, 12), (-1, 11, 13)]
    # all of the one block that has nodes of the slide
    assert cost == {"edges_probed": 0, "nodes_touched": 1 << BLOCK_BITS, "nodes": -5}
