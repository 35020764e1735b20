"""PATH by columns with hubs: the same pairs, and no work for those behind a hub when an edge comes again."""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from spectra.automata import minimal_dfa
from spectra.jit import is_interpreted
from spectra.operators.kernels import columns as kernels
from spectra.operators.kernels.containers import BLOCK_USED, LIST_USED
from spectra.operators.path import columns as module
from spectra.operators.path.columns import Columns
from spectra.operators.path.hubs import best_hubs, has_closure, joined, late_lives, most_travelled, part_told
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    OneOrMorePath,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
)
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow, widest_pairs
from tests.unit.operators.harness import columns_of, compare_changes, random_stream

A, B, C = Link("1"), Link("2"), Link("3")
PATHS = {
    "a+": OneOrMorePath(A),
    "(a/b)+": OneOrMorePath(SequencePath((A, B))),
    "(a|b)+": OneOrMorePath(AlternativePath((A, B))),
    "(a|^a)+": OneOrMorePath(AlternativePath((A, InversePath(A)))),
    "a+/b*": SequencePath((OneOrMorePath(A), ZeroOrMorePath(B))),
    "a/(b|c)*": SequencePath((A, ZeroOrMorePath(AlternativePath((B, C))))),
    "a|b/c*": AlternativePath((A, SequencePath((B, ZeroOrMorePath(C))))),
}


class Eager(Columns):
    """Looks for hubs after every batch, however few columns there are."""

    least_merged = stretch = least_places = least_patience = most_patience = least_ahead = 0
    least_columns = 2


class EagerWithFewEnds(Eager):
    least_ends = 4


@pytest.fixture
def worthwhile(monkeypatch):
    """Any product node may be a hub."""
    monkeypatch.setattr(module, "WORTH", 0.01)


def pairs_of(dfa):
    return lambda content: dict(widest_pairs(content, dfa, int))


@pytest.mark.parametrize("removals", [False, True])
@pytest.mark.parametrize("name", PATHS)
def test_the_same_changes_by_way_of_hubs(name, removals, worthwhile):
    dfa = minimal_dfa(PATHS[name])
    seen = set()
    for seed in range(12):
        rng = random.Random(f"{name} {seed}")
        step = rng.choice([1, 2, 5])
        window = PlainWindow(range=step * rng.choice([2, 4, 8]) + rng.choice([0, 1]), step=step)
        # deletions end the use of hubs, so that most streams have none; they are told also without removals
        deletions = 0.02 if removals and seed % 3 == 2 else 0
        stream = random_stream(rng, events=60, vertices=rng.choice([4, 7]), deletions=deletions)
        make = EagerWithFewEnds if seed % 4 == 3 else Eager

        class Watched(make):
            def process(self):
                deltas = super().process()
                seen.add(self.counters["hubs"])
                return deltas

        def operator(views, kind=Watched):
            return kind(views, dfa, "x", "y", int, removals=removals, extensions=False)

        compare_changes(rng, stream, window, operator, pairs_of(dfa), removals=removals)
    assert seen >= {0, 2}


class Fed:
    """An operator over a window of 100 that moves by 10, and looks for hubs only when told to."""

    def __init__(self, path, kind=Columns, **options):
        self.window = PlainWindow(range=100, step=10)
        self.views = WindowViews()
        options = {"removals": False, "extensions": False} | options
        self.operator = kind(self.views, minimal_dfa(path), "x", "y", int, **options)

    def at(self, time, edges):
        before = self.operator.counters
        operations = [edge if len(edge) == 2 else (1, edge) for edge in edges]
        self.views.apply(*columns_of([(time, operations)], self.window), time)
        deltas = self.operator.process()
        self.views.vacuum()
        after = self.operator.counters
        rows = sorted(
            (int(sign), int(until), *map(int, row))
            for sign, until, row in zip(deltas.sign, deltas.until, deltas.rows, strict=True)
        )
        return {name: after[name] - before[name] for name in after}, rows


def star(roots, leaves):
    """Roots that lead to a hub, which leads to leaves by way of one vertex."""
    return [(100 + i, 1, 10) for i in range(roots)] + [(10, 1, 11)] + [(11, 1, 5000 + i) for i in range(leaves)]


def kernels_in_use():
    """How many signatures of each kernel this process has compiled or loaded."""
    modules = [module for name, module in sys.modules.items() if name.startswith("spectra.")]
    kernels = {value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    return {kernel.py_func.__qualname__: len(kernel.signatures) for kernel in kernels}


def kernels_that_a_stream_waits_for():
    """Those that are compiled or loaded while hubs are chosen and dropped, after the first edges."""
    fed = Fed(OneOrMorePath(A))
    fed.at(1, star(40, 40))
    before = kernels_in_use()
    assert fed.operator._choose_hubs()
    fed.operator._drop_hubs()
    return [name for name, signatures in kernels_in_use().items() if signatures > before[name]]


@pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")
def test_no_stream_waits_for_kernels_when_hubs_are_looked_for():
    # in a process of its own: in this one they may be at hand already
    script = f"from {__name__} import kernels_that_a_stream_waits_for as waited; print(waited())"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def test_an_edge_that_comes_again_moves_hubs_and_not_the_pairs_behind_them():
    cost = {}
    for size in (40, 80):
        fed = Fed(OneOrMorePath(A))
        edges = star(size, size)
        fed.at(1, edges)
        assert fed.operator._choose_hubs()
        work, told = fed.at(20, [(10, 1, 11)])
        assert told == []
        cost[size] = work["hub_steps"], work["columns_merged"]
    # the vertex behind it: its edges end no later than before
    assert cost[40] == cost[80]
    assert sum(cost[40]) <= 8


def test_pairs_that_begin_by_way_of_a_hub_are_told_once_and_with_their_ends():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, star(5, 3))
    assert fed.operator._choose_hubs()
    _, told = fed.at(12, [(90, 1, 10)])
    assert told == [(1, 100, 90, 11), (1, 100, 90, 5000), (1, 100, 90, 5001), (1, 100, 90, 5002), (1, 110, 90, 10)]
    _, told = fed.at(25, [(11, 1, 5003)])
    reached = [10, 11, 90, *range(100, 105)]
    assert sorted((root, vertex) for _, _, root, vertex in told) == sorted((root, 5003) for root in reached)
    ends = {root: until for _, until, root, _ in told}
    assert ends == {root: 120 if root == 11 else 100 for root in reached}
    assert fed.at(26, [(90, 1, 11)])[1] == []  # another way


def test_what_a_root_reaches_is_looked_up_once_when_it_comes_to_reach_a_hub():
    cost = {}
    for size in (40, 80):
        fed = Fed(OneOrMorePath(A))
        # a root that reaches a few vertices, one of them by another way than the hub
        fed.at(1, [*star(size, size), (90, 1, 91), (91, 1, 92), (90, 1, 5001)])
        assert fed.operator._choose_hubs()
        work, told = fed.at(20, [(90, 1, 10)])
        assert sorted(row[3] for row in told) == [10, 11, *(5000 + i for i in range(size) if i != 1)]
        cost[size] = work["edges_probed"], work["columns_merged"]
    assert cost[40] == cost[80]
    assert sum(cost[40]) <= 12


def test_a_root_with_more_edges_than_the_hub_has_vertices_tells_the_same(worthwhile):
    fed = Fed(OneOrMorePath(A), WithFewColumns)
    ways = [(90, 1, 200 + i) for i in range(30)] + [(200 + i, 1, 5000 + i % 2) for i in range(30)]
    fed.at(1, [*star(20, 4), *ways])
    assert fed.operator._choose_hubs()
    work, told = fed.at(20, [(90, 1, 10)])
    assert sorted(row[3] for row in told) == [10, 11, 5002, 5003]
    assert work["edges_probed"] <= 12  # and not the ways


def test_walks_are_told_apart_however_many_there_have_been():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, star(40, 40))
    assert fed.operator._choose_hubs()
    fed.operator._work[kernels.WALK] = (1 << 31) - 1
    told = fed.at(20, [(90, 1, 10)])[1]
    assert sorted(row[3] for row in told) == [10, 11, *(5000 + i for i in range(40))]


class WithFewColumns(Columns):
    """Keeps its hubs however few columns there are."""

    least_columns = 0


def let_be_hubs(operator, *nodes):
    """Let two product nodes be the hubs, after others have been."""
    trials = [operator._hub_at(vertex, state) for vertex, state in nodes]
    operator._exchange_hubs(joined(operator._hubs, trials, operator._roots.term))


def test_what_a_hub_has_just_come_to_reach_is_told_though_another_reached_all_before(worthwhile):
    fed = Fed(PATHS["(a/b)+"], WithFewColumns)
    fed.at(1, [(90, 1, 20), (91, 1, 20), (92, 1, 10), (10, 2, 11), (20, 2, 11)])
    fed.operator._choose_hubs()
    let_be_hubs(fed.operator, (10, 1), (20, 1))  # between a and b
    assert fed.at(2, [(90, 1, 10)])[1] == []
    assert [row[2:] for row in fed.at(3, [(10, 2, 12)])[1]] == [(90, 12), (92, 12)]
    assert [row[2:] for row in fed.at(4, [(91, 1, 10)])[1]] == [(91, 12)]


@pytest.mark.parametrize("name", PATHS)
def test_whichever_product_nodes_are_hubs_the_pairs_are_the_same(name, worthwhile):
    dfa = minimal_dfa(PATHS[name])
    rng = random.Random(name)
    looked_at = 0
    for _ in range(4):
        fed = Fed(PATHS[name])
        content = {}
        for time in range(0, 100, 20):
            edges = [(rng.randrange(4, 14), rng.choice([1, 2, 3]), rng.randrange(4, 14)) for _ in range(5)]
            fed.at(time, edges)
            content |= dict.fromkeys(edges, time + 100)
        operator = fed.operator
        wanted = widest_pairs({edge: end for edge, end in content.items() if end > 80}, dfa, int)
        operator._choose_hubs()
        for _ in range(4 * operator.counters["hubs"]):
            columns = operator._columns
            in_use = [
                (int(vertex), int(state))
                for vertex, state in zip(columns.vertex, columns.state, strict=True)
                if operator._roots.node[vertex, state]
            ]
            let_be_hubs(operator, *rng.choices(in_use, k=2))
            rows, until = operator._connected()
            assert {tuple(row): end for row, end in zip(rows.tolist(), until.tolist(), strict=True)} == wanted
            assert len(rows) == len(wanted)
            assert operator.counters["hubs"] == 2
            looked_at += len(rows)
    assert looked_at > 100


def test_hubs_take_less_room_than_the_pairs():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, star(200, 200))
    before = fed.operator._columns.held[[LIST_USED, BLOCK_USED]].sum()
    assert fed.operator._choose_hubs()
    after = fed.operator._columns.held[[LIST_USED, BLOCK_USED]].sum()
    assert after < before / 20


def test_a_deletion_ends_the_use_of_hubs_and_tells_what_leaves(worthwhile):
    fed = Fed(OneOrMorePath(A), Eager, removals=True)
    fed.at(1, star(5, 3))
    assert fed.operator.counters["hubs"] > 0
    _, told = fed.at(2, [(-1, (10, 1, 11))])
    assert {(sign, root) for sign, _, root, _ in told} == {(-1, root) for root in (10, *range(100, 105))}
    assert len(told) == 6 * 4
    assert fed.operator.counters["hubs"] == 0
    fed.at(3, star(50, 3))
    assert fed.operator.counters["hubs"] == 0


def test_nothing_is_left_of_hubs_when_all_is_over(worthwhile):
    fed = Fed(OneOrMorePath(A), Eager)
    fed.at(1, star(30, 30))
    assert fed.operator.counters["hubs"] > 0
    fed.at(300, [])
    assert (fed.operator.counters["hubs"], fed.operator.counters["columns"]) == (0, 0)
    # ids come again as other vertices
    _, told = fed.at(310, [(10, 1, 101), (101, 1, 10)])
    assert [row for _, _, *row in told] == [[10, 10], [10, 101], [101, 10], [101, 101]]


def test_what_holds_now_is_told_with_hubs_too(worthwhile):
    fed = Fed(OneOrMorePath(A), Eager)
    fed.at(1, star(6, 4))
    now = fed.operator.current(1)
    wanted = widest_pairs(dict.fromkeys(star(6, 4), 100), minimal_dfa(OneOrMorePath(A)), int)
    assert {tuple(row): until for row, until in zip(now.rows.tolist(), now.until.tolist(), strict=True)} == wanted


@pytest.mark.skipif(is_interpreted(), reason="takes long without the compiler")
@pytest.mark.parametrize(("vertices", "step", "some"), [(3000, 5, True), (12_000, 5, False), (3000, 10, False)])
def test_hubs_are_found_where_edges_prolong_many_pairs(vertices, step, some):
    # six thousand edges at a time: most vertices reach most others, or hardly any; and 20 ends ahead, or 10
    rng = random.Random(1)
    fed = Fed(OneOrMorePath(A))
    fed.window = PlainWindow(range=100, step=step)
    for time in range(200):
        fed.at(time, [(rng.randrange(4, vertices), 1, rng.randrange(4, vertices)) for _ in range(60)])
    assert (fed.operator.counters["hubs"] > 0) is some


def test_paths_of_bounded_length_have_none():
    assert not has_closure(minimal_dfa(RepeatPath(A, 1, 3)))
    assert not has_closure(minimal_dfa(SequencePath((A, B, C))))
    for path in PATHS.values():
        assert has_closure(minimal_dfa(path))


def test_the_best_hubs_tell_most_together():
    lives = np.array([3, 3, 2, 2, 5], np.uint8)
    some, more, rest = (np.array(told, np.uint8) for told in ([3, 0, 2, 0, 0], [3, 3, 2, 1, 0], [0, 0, 0, 2, 5]))
    assert part_told(lives, some, last=9) == 2 / 5
    assert best_hubs(lives, [some, more, rest], last=9) == ([1, 2], 1.0)
    assert best_hubs(lives, [], last=9) == ([], 0.0)


def test_lives_that_end_last_count_most_where_hubs_are_chosen():
    lives = np.array([5, 9, 9, 5, 5, 5, 5], np.uint8)
    early, late = np.array([5, 0, 0, 5, 5, 5, 5], np.uint8), np.array([0, 9, 9, 0, 0, 0, 0], np.uint8)
    assert part_told(lives, early, last=10) == 5 / 7
    assert part_told(lives, late, last=9) == 8 / 13
    assert best_hubs(lives, [early, late], last=10)[0][0] == 0
    assert best_hubs(lives, [early, late], last=9)[0][0] == 1
    assert late_lives(np.arange(1, 101, dtype=np.uint8)) == (75, 95)
    assert late_lives(lives) == (9, 9)


def test_candidates_are_between_many_edges():
    into, out = np.array([9, 3, 0, 1]), np.array([1, 4, 9, 1])
    assert most_travelled(into, out, np.array([1, 1, 1, 2])) == [1, 0, 3]
