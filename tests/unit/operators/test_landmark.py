"""PATH by landmarks: the pairs of the window at every instant, whatever is a landmark and when."""

from __future__ import annotations

import random

import pytest

from spectra.automata import minimal_dfa
from spectra.jit import is_interpreted
from spectra.operators.path import landmark
from spectra.operators.path.landmark import Landmark, depths
from spectra.operators.path.spath import SPath
from spectra.sparql.syntax import SequencePath, ZeroOrMorePath
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow
from tests.unit.operators.harness import columns_of, compare, random_stream
from tests.unit.operators.test_columns import ENDS, PATHS, A, B, C, OneByOne, crowd, expected_pairs


class Restless(Landmark):
    """With landmarks that come and go by chance, at every slide and batch."""

    made = dropped = 0

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.rng = random.Random(1)

    def _select(self, position):
        self._work[landmark.kernels.RESELECT] = 0
        held = [mark for mark in self._landmarks() if self.rng.random() < 0.4]
        if held:
            self._drop(held, position)
            Restless.dropped += len(held)
        for product in self._survey().products.tolist():
            if product not in self._marks.product and self.rng.random() < 0.5:
                Restless.made += self._try(product, 10**9, position)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(4))
def test_deltas_add_up_to_the_pairs(name, ends, seed):
    rng = random.Random(f"{name} {ends} {seed}")
    dfa = minimal_dfa(PATHS[name])
    root, target = ENDS[ends]
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=seed == 3)
    stream = random_stream(rng, events=40, vertices=5, deletions=rng.choice([0, 0.1, 0.3]), start=rng.choice([0, -100]))
    make = Restless if seed else Landmark
    compare(rng, stream, window, lambda views: make(views, dfa, root, target, int), expected_pairs(dfa, root, target))


@pytest.mark.parametrize("name", ["a+", "(a|b)*", "a*/b*", "(!a)+"])
@pytest.mark.parametrize("deletions", [0, 0.2])
def test_landmarks_come_and_go(name, deletions):
    rng = random.Random(f"{name} {deletions}")
    dfa = minimal_dfa(PATHS[name])
    stream = random_stream(rng, events=120, vertices=9, deletions=deletions)
    before = Restless.made, Restless.dropped
    compare(rng, stream, PlainWindow(20, 5), lambda views: Restless(views, dfa, "x", "y", int), expected_pairs(dfa))
    assert Restless.made > before[0]
    assert Restless.dropped > before[1]


def test_a_shard_has_the_pairs_of_its_roots():
    dfa = minimal_dfa(PATHS["(a|b)*"])
    for seed in range(10):
        rng = random.Random(seed)

        def owned(ids, shard=seed % 2):
            return ids % 2 == shard

        compare(
            rng,
            random_stream(rng, events=30, vertices=6, deletions=0.1),
            PlainWindow(range=12, step=3),
            lambda views: Restless(views, dfa, "x", "y", int, owned=owned),
            expected_pairs(dfa, owned=owned),
        )


def test_many_roots_share_the_trees_of_landmarks():
    # a crowd leads into cycles: their vertices are landmarks, behind which only one tree is kept, and all is right
    dfa = minimal_dfa(PATHS["a+"])
    rng = random.Random(3)
    stream = crowd(rng, 90, at=0) + [(30 + at, [(1, (10, 1, 300 + at))]) for at in range(30)] + [(90, [])]
    seen = []

    class Watched(Landmark):
        def process(self):
            deltas = super().process()
            seen.append(self.counters)
            return deltas

    compare(
        OneByOne(), stream, PlainWindow(80, 5), lambda views: Watched(views, dfa, "x", "y", int), expected_pairs(dfa)
    )
    assert max(counters["landmarks"] for counters in seen) > 0
    views = WindowViews()
    spath, shared = SPath(views, dfa, "x", "y", int), Landmark(views, dfa, "x", "y", int)
    for events in (stream[:12], stream[12:-1]):
        views.apply(*columns_of(events, PlainWindow(80, 5)), events[-1][0])
        spath.process()
        shared.process()
        views.vacuum()
    assert 4 * shared.counters["nodes"] < spath.counters["nodes"]
    assert shared.nbytes < spath.nbytes


@pytest.mark.parametrize("make", [Landmark, Restless])
def test_results_of_one_edge_outgrow_every_array(make):
    dfa = minimal_dfa(PATHS["a+"])
    stream = [(at, [(1, (100 + at, 1, 4)), (1, (5, 1, 300 + at))]) for at in range(90)]
    stream += [(95, [(1, (4, 1, 5)), (1, (300, 1, 100))]), (96, [(-1, (4, 1, 5))]), (97, [(1, (4, 1, 5))]), (99, [])]
    expected = expected_pairs(dfa)
    answers = {}

    def remembered(content):
        key = hash(frozenset(content.items()))
        if key not in answers:
            answers[key] = expected(content)
        return answers[key]

    window = PlainWindow(range=95, step=5)
    compare(random.Random(4), stream, window, lambda views: make(views, dfa, "x", "y", int), remembered)


@pytest.mark.parametrize("seed", range(4))
def test_slides_that_end_one_after_the_other(seed):
    # more ends with a slide than there is room for, and no edge comes before the next one ends
    dfa = minimal_dfa(PATHS["(a|b)*"])
    rng = random.Random(seed)
    stream = [*crowd(rng, 30, at=0), *crowd(rng, 30, at=9), (200, [])]
    window = PlainWindow(range=30, step=3)
    compare(rng, stream, window, lambda views: Restless(views, dfa, "x", "y", int), expected_pairs(dfa))


def test_what_is_not_asked_for_is_not_told():
    # without removals and extensions: what enters, and what is deleted
    dfa = minimal_dfa(PATHS["(a|b)*"])
    for seed in range(20):
        rng = random.Random(seed)
        stream = random_stream(rng, events=60, vertices=6, deletions=rng.choice([0, 0.2]))
        told = []
        for make in (SPath, Restless):
            views = WindowViews()
            operator = make(views, dfa, "x", "y", int, removals=False, extensions=False)
            window = PlainWindow(20, 5)
            views.apply(*columns_of(stream, window), stream[-1][0])
            deltas = operator.process()
            net = {}
            for at, sign, row in zip(deltas.at.tolist(), deltas.sign.tolist(), map(tuple, deltas.rows), strict=True):
                net[at, row] = net.get((at, row), 0) + sign
            told.append({key: count for key, count in net.items() if count})
        assert told[0] == told[1]


@pytest.mark.skipif(not is_interpreted(), reason="compiles everything once more for ids that few streams have")
def test_ids_that_leave_no_room_for_states():
    rng = random.Random(9)
    dfa = minimal_dfa(PATHS["(a/b)+"])
    shift = 2**30

    def shifted(stream):
        return [(at, [(sign, (s + shift, p, o + shift)) for sign, (s, p, o) in edges]) for at, edges in stream]

    small = random_stream(rng, events=20, vertices=5, predicates=(1, 2))
    large = [(at + small[-1][0], edges) for at, edges in shifted(random_stream(rng, events=40, predicates=(1, 2)))]
    stream = small + large
    compare(rng, stream, PlainWindow(20, 5), lambda views: Restless(views, dfa, "x", "y", int), expected_pairs(dfa))


def test_depths():
    # a*/b/c: a cycle counts six times, then two more edges
    dfa = minimal_dfa(SequencePath((ZeroOrMorePath(A), B, C)))
    assert sorted(depths(dfa)) == [0, 1, 8]
    assert depths(minimal_dfa(PATHS["a+"])) == [7, 6]
    assert sorted(depths(minimal_dfa(PATHS["(a/b)+"]))) == [12, 12, 13]
