"""What a report tells of rows that leave and enter between two evaluations, against a reckoning by counters."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from spectra.operators.contract import Deltas
from spectra.operators.net import net_changes
from spectra.operators.relational.stateless import distinct_rows
from spectra.report import Keys

Told = Counter[tuple[int, int, int, tuple[int, ...]]]


def reckoned(deltas: Deltas, keys: Keys) -> Told:
    """Per evaluation and row: copies with equal ends cancel, and of the rest those that last longest are told."""
    copies: dict[tuple[int, tuple[int, ...]], Counter[int]] = defaultdict(Counter)
    for key, sign, until, row in zip(keys, deltas.sign, deltas.until, deltas.rows.tolist(), strict=True):
        copies[int(key), tuple(row)][int(until)] += int(sign)
    told: Told = Counter()
    for (key, row), by_end in copies.items():
        net = sum(by_end.values())
        sign = 1 if net > 0 else -1
        ends = [end for end in sorted(by_end) for _ in range(sign * by_end[end])]
        for end in ends[len(ends) - abs(net) :] if net else []:
            told[key, sign, end, row] += 1
    return told


def counted(deltas: Deltas, keys: Keys) -> Told:
    rows = map(tuple, deltas.rows.tolist())
    return Counter(zip(keys.tolist(), deltas.sign.tolist(), deltas.until.tolist(), rows, strict=True))


@pytest.mark.parametrize("seed", range(200))
def test_random_deltas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, width = int(rng.integers(0, 80)), int(rng.integers(0, 4))
    keys = rng.integers(0, rng.integers(1, 12), count)
    if seed % 2:
        keys.sort()
    deltas = Deltas(
        keys.copy(),
        rng.choice([-1, 1], count).astype(np.int8),
        rng.integers(0, 5, count),
        rng.integers(0, rng.integers(1, 6), (count, width)).astype(np.int32),
    )
    net, net_keys = net_changes(deltas, keys)
    assert counted(net, net_keys) == reckoned(deltas, keys)
    assert (np.diff(net_keys) >= 0).all()


def test_many_copies_of_one_row() -> None:
    rng = np.random.default_rng(0)
    count = 5000
    deltas = Deltas.entering(1, rng.permutation(count), np.ones((count, 2), np.int32))
    deltas.sign[: count // 2 - 1] = -1
    net, _ = net_changes(deltas, deltas.at)
    assert len(net) == 2
    assert sorted(net.until.tolist()) == sorted(deltas.until[count // 2 - 1 :].tolist())[-2:]


@pytest.mark.parametrize("width", range(4))
def test_distinct_rows(width: int) -> None:
    rows = np.random.default_rng(width).integers(0, 5, (300, width)).astype(np.int32)
    rows[:5] += 2**31 - 10
    distinct, which = distinct_rows(rows)
    assert len(distinct) == len(set(map(tuple, rows.tolist())))
    assert (distinct[which] == rows).all()
