"""Deltas of several parts in time order."""

from __future__ import annotations

import numpy as np
import pytest

from spectra.operators.contract import Deltas


def random_part(rng: np.random.Generator, number: int, most: int, instants: int, width: int) -> Deltas:
    """Up to so many deltas in time order; their ends say which part they are of and where in it they stood."""
    at = np.sort(rng.integers(0, instants, rng.integers(0, most + 1)))
    rows = rng.integers(1, 9, (len(at), width)).astype(np.int32)
    return Deltas(at, rng.choice((-1, 1), len(at)).astype(np.int8), 1000 * number + np.arange(len(at)), rows)


def as_list(deltas: Deltas) -> list[tuple[int, int, int, tuple[int, ...]]]:
    rows = map(tuple, deltas.rows.tolist())
    return list(zip(deltas.at.tolist(), deltas.sign.tolist(), deltas.until.tolist(), rows, strict=True))


@pytest.mark.parametrize("seed", range(200))
def test_parts_are_told_in_time_order_and_at_one_instant_one_after_the_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instants, width = int(rng.choice((1, 3, 10, 1000))), int(rng.integers(0, 4))
    parts = [random_part(rng, number, 12, instants, width) for number in range(rng.integers(1, 6))]
    expected = sorted((delta for part in parts for delta in as_list(part)), key=lambda delta: delta[0])
    together = Deltas.concatenate(parts)
    assert as_list(together) == expected
    assert together.rows.shape == (len(expected), width)


def test_parts_that_follow_each_other_may_share_an_instant() -> None:
    first = Deltas.entering(5, 9, np.array([[1], [2]], np.int32))
    second = Deltas.entering(5, 7, np.array([[3]], np.int32))
    assert [row for *_, row in as_list(Deltas.concatenate([first, second]))] == [(1,), (2,), (3,)]


def test_rows_in_any_order_of_memory() -> None:
    rows = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(3, 2))
    parts = [Deltas.entering(at, 9, np.zeros((1, 2), np.int32)) for at in (4, 2)]
    parts[0].rows = rows[:1]
    assert [row for *_, row in as_list(Deltas.concatenate(parts))] == [(0, 0), (0, 1)]
