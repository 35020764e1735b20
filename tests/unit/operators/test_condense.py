"""PATH anew at every evaluation: the pairs of the window at every instant, and between evaluations nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spectra.automata import minimal_dfa
from spectra.operators.contract import Deltas
from spectra.operators.kernels.bits import lowest_bit
from spectra.operators.path import condense
from spectra.operators.path.condense import Condense
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow
from tests.unit.operators.harness import columns_of, compare, random_stream
from tests.unit.operators.test_columns import ENDS, PATHS, expected_pairs


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
    compare(
        rng, stream, window, lambda views: Condense(views, dfa, root, target, int), expected_pairs(dfa, root, target)
    )


@pytest.mark.parametrize("words", [1, 2, 64])
def test_more_roots_than_a_word_has_bits(words, monkeypatch):
    # a crowd of vertices leads into two cycles that are joined later, by a bridge that is deleted again
    monkeypatch.setattr(condense, "_MOST_WORDS", words)
    dfa = minimal_dfa(PATHS["a+"])
    cycles = [(c + i, 1, c + (i + 1) % 3) for c in (10, 20) for i in range(3)]
    crowd = [(100 + i, 1, (10, 11, 20, 22)[i % 4]) for i in range(150)]
    stream = [
        (0, [(1, triple) for triple in cycles]),
        (1, [(1, triple) for triple in crowd[:75]]),
        (5, [(1, (12, 1, 20)), *((1, triple) for triple in crowd[75:])]),
        (6, [(-1, (12, 1, 20))]),
        (40, []),
    ]
    window = PlainWindow(range=20, step=5)
    compare(random.Random(1), stream, window, lambda views: Condense(views, dfa, "x", "y", int), expected_pairs(dfa))


def test_more_roots_at_once_than_there_is_room_to_tell_at_first():
    views, window = WindowViews(), PlainWindow(range=100, step=10)
    operator = Condense(views, minimal_dfa(PATHS["a+"]), "x", "y", int, extensions=False)
    crowd = [(1, (100 + i, 1, 10)) for i in range(1100)]
    events = [crowd, [(1, (10, 1, 11))], [(1, (10, 1, 12))], [(-1, (10, 1, 11))], [(1, (12, 1, 13))]]
    views.apply(*columns_of(list(enumerate(events)), window), 4)
    deltas = operator.process()
    told = {at: int(deltas.sign[deltas.at == at].sum()) for at in range(5)}
    assert told == {0: 1100, 1: 1101, 2: 1101, 3: -1101, 4: 1102}
    assert len(deltas) == 5505
    assert set(deltas.until[deltas.sign > 0].tolist()) == {100}


@pytest.mark.parametrize("shard", [0, 1])
def test_a_shard_has_the_pairs_of_its_roots(shard):
    rng = random.Random(shard)
    dfa = minimal_dfa(PATHS["(a|b)*"])

    def owned(ids):
        return ids % 2 == shard

    for _ in range(5):
        stream = random_stream(rng, events=30, vertices=6, deletions=0.1)
        compare(
            rng,
            stream,
            PlainWindow(range=12, step=3),
            lambda views: Condense(views, dfa, "x", "y", int, owned=owned),
            expected_pairs(dfa, owned=owned),
        )


@pytest.mark.parametrize("counting", [False, True])
def test_what_happens_between_two_evaluations_is_looked_at_once(counting):
    rng = random.Random(5)
    dfa = minimal_dfa(PATHS["a*/b*"])
    stream = random_stream(rng, events=60, vertices=6, deletions=0.1)
    window, period = PlainWindow(range=30, step=5, counting=counting), 50
    views = WindowViews(counting=counting)
    operator = Condense(views, dfa, "x", "y", int, last_seen=lambda at: -(-at // period) * period)
    views.apply(*columns_of(stream, window), -(-stream[-1][0] // period) * period)
    deltas = operator.process()
    assert operator.counters["evaluations"] <= stream[-1][0] // period + 1
    expected = expected_pairs(dfa)
    held, cursor = {}, 0
    times = sorted({time for time, _ in stream})
    for at, time in enumerate(times):
        for expiry in window.expiries_before(time):
            window.expire(expiry)
        window.apply(time, [operations for when, operations in stream if when == time])
        following = times[at + 1] if at + 1 < len(times) else time + period
        evaluated = -(-time // period) * period
        if following > evaluated:
            for expiry in window.expiries_before(evaluated + 1):
                window.expire(expiry)
            while cursor < len(deltas) and deltas.at[cursor] <= evaluated:
                row = tuple(deltas.rows[cursor].tolist())
                held[row] = held.get(row, 0) + int(deltas.sign[cursor])
                cursor += 1
            assert {row for row, count in held.items() if count} == {row for row, _ in expected(window.content)}
    assert cursor == len(deltas)


def test_edges_that_the_path_does_not_follow_cost_nothing():
    views = WindowViews()
    operator = Condense(views, minimal_dfa(PATHS["a+"]), "x", "y", int)
    window = PlainWindow(range=10, step=1)
    views.apply(*columns_of([(at, [(1, (4, 2, 5 + at))]) for at in range(20)], window), 40)
    assert len(operator.process()) == 0
    assert operator.counters == {"evaluations": 0, "edges_probed": 0, "components": 0, "pairs": 0}


@pytest.mark.parametrize("place", range(64))
def test_lowest_bit(place):
    for above in (0, 1 << 63, (1 << 64) - 1):
        assert lowest_bit(np.uint64((1 << place) | (above >> place << place))) == place


@pytest.mark.parametrize("period", [1, 7, 40])
@pytest.mark.parametrize("size", [1, 12, 60])
@pytest.mark.parametrize("name", ["(a|b)*", "a+", "a*/b*"])
def test_without_extensions_pairs_enter_with_their_ends(name, size, period):
    # between two evaluations the stream is cut anywhere: what has entered then and lasts longer now is told anew
    dfa = minimal_dfa(PATHS[name])
    for seed in range(4):
        rng = random.Random(seed)
        stream = random_stream(rng, events=60, vertices=6, deletions=rng.choice([0, 0.2]))
        told = []
        for extensions in (False, True):
            views, window = WindowViews(), PlainWindow(range=30, step=5)
            operator = Condense(
                views,
                dfa,
                "x",
                "y",
                int,
                extensions=extensions,
                last_seen=lambda at: at // period * period + period - 1,
            )
            held, entered, parts = {}, {}, []
            for first in range(0, len(stream), size):
                part, behind = stream[first : first + size], stream[first + size : first + size + 1]
                upto = max(behind[0][0] - 1, part[-1][0]) if behind else part[-1][0] + 100
                views.apply(*columns_of(part, window), upto)
                parts.append(operator.process())
                views.vacuum()
            assert len(operator.current(0)) == 0
            deltas = Deltas.concatenate(parts)
            for at, sign, until, row in zip(deltas.at, deltas.sign, deltas.until, deltas.rows.tolist(), strict=True):
                key = (int(at) // period, *row)
                held[key] = held.get(key, 0) + int(sign)
                if sign > 0:
                    entered[key] = int(until)
            told.append({(key, count, entered[key] if count > 0 else 0) for key, count in held.items() if count})
        assert told[0] == told[1]
        assert told[0]
