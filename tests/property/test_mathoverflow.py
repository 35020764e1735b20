"""All PATH operators on MathOverflow: the same pairs with the same ends after every slide, for ten queries."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spectra.automata import minimal_dfa
from spectra.operators.contract import Deltas
from spectra.operators.path.columns import Columns
from spectra.operators.path.condense import Condense
from spectra.operators.path.landmark import Landmark
from spectra.operators.path.rapq import RApq
from spectra.operators.path.spath import SPath
from spectra.sparql.syntax import AlternativePath, Link, SequencePath, ZeroOrMorePath, ZeroOrOnePath
from spectra.views.view import WindowViews
from tests.data import data_path

pytestmark = pytest.mark.data

PREDICATES = {"a2q": 1, "c2q": 2, "c2a": 3}
A, C, R = Link("1"), Link("2"), Link("3")
ANY = AlternativePath((A, C, R))
PATHS = {
    "a*": ZeroOrMorePath(A),
    "a?b*": SequencePath((ZeroOrOnePath(A), ZeroOrMorePath(R))),
    "ab*": SequencePath((A, ZeroOrMorePath(R))),
    "abc": SequencePath((C, A, R)),
    "abc*": SequencePath((C, A, ZeroOrMorePath(R))),
    "ab*c": SequencePath((R, ZeroOrMorePath(A), C)),
    "(a|b|c)d*": SequencePath((ANY, ZeroOrMorePath(A))),
    "a*b*": SequencePath((ZeroOrMorePath(A), ZeroOrMorePath(R))),
    "ab*c*": SequencePath((C, ZeroOrMorePath(A), ZeroOrMorePath(R))),
    "(a|b|c)*": ZeroOrMorePath(ANY),
}
OTHERS = {"columns": Columns, "condense": Condense, "landmark": Landmark, "rapq": RApq}
DAY = 86_400_000
WINDOW = 10 * DAY


@pytest.fixture(scope="module")
def stream() -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Triples of ids, and their times in milliseconds."""
    with gzip.open(data_path("graphs", "mathoverflow", "mathoverflow-merged.tsv.gz"), "rt") as file:
        rows = [line.split() for line in file]
    triples = np.array([(int(s) + 4, PREDICATES[label], int(o) + 4) for s, o, _, label in rows], np.int32)
    times = np.array([int(row[2]) for row in rows], np.int64) * 1000
    order = np.argsort(times, kind="stable")
    return triples[order], times[order]


def after_slides(
    make: Any, path: Any, triples: NDArray[np.int32], times: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The pairs after each slide, a number each and in order, with their ends; deltas have added up to them."""
    views = WindowViews()
    options = {"last_seen": lambda at: (at // DAY + 1) * DAY - 1} if make is Condense else {}
    operator = make(views, minimal_dfa(path), "x", "y", int, empty="none", extensions=False, **options)
    slides = times // DAY
    cuts = [0, *(np.flatnonzero(slides[1:] != slides[:-1]) + 1).tolist(), len(times)]
    held = np.zeros(0, np.int64)
    for first, last in pairwise(cuts):
        part = slice(first, last)
        count, horizon = last - first, int(slides[first] + 1) * DAY - 1
        ends = slides[part] * DAY + WINDOW
        views.apply(
            triples[part], np.ones(count, np.int8), np.arange(count + 1), times[part], times[part], ends, horizon
        )
        deltas = operator.process()
        views.vacuum()
        changed, numbers = np.unique(numbered(deltas.rows), return_inverse=True)
        net = np.bincount(numbers.ravel(), deltas.sign, len(changed))
        assert set(net.tolist()) <= {-1, 0, 1}
        assert np.isin(changed[net < 0], held).all()
        assert not np.isin(changed[net > 0], held).any()
        held = np.union1d(np.setdiff1d(held, changed[net < 0], assume_unique=True), changed[net > 0])
        now = operator.current(horizon)
        pairs = numbered(now.rows)
        order = np.argsort(pairs)
        assert np.array_equal(pairs[order], held)
        yield pairs[order], now.until[order]


def numbered(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    return (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]


def check(path: Any, triples: NDArray[np.int32], times: NDArray[np.int64]) -> int:
    """Compare every operator with `spath` after every slide; how many slides there were."""
    used = np.isin(triples[:, 1], [int(label.predicate) for label in minimal_dfa(path).labels])
    triples, times = triples[used], times[used]
    runs = {name: after_slides(make, path, triples, times) for name, make in OTHERS.items()}
    slides = 0
    for pairs, ends in after_slides(SPath, path, triples, times):
        slides += 1
        for name, run in runs.items():
            others, their_ends = next(run)
            assert np.array_equal(pairs, others), (name, slides)
            assert np.array_equal(ends, their_ends), (name, slides)
    return slides


@pytest.mark.parametrize("query", PATHS)
def test_operators_agree_after_every_slide(query: str, stream: tuple[NDArray[np.int32], NDArray[np.int64]]) -> None:
    triples, times = stream
    assert check(PATHS[query], triples[:2000], times[:2000]) > 15


@pytest.mark.long
@pytest.mark.parametrize("query", PATHS)
def test_operators_agree_on_100_000_edges(query: str, stream: tuple[NDArray[np.int32], NDArray[np.int64]]) -> None:
    triples, times = stream
    assert check(PATHS[query], triples[:100_000], times[:100_000]) > 300


class Hubs(Columns):
    """Looks for hubs while columns are short, too."""

    least_merged, stretch, least_places, least_ahead = 2, 1000, 1 << 12, 0


class NoHubs(Columns):
    least_merged = 1 << 40


def digest(deltas: Deltas) -> int:
    """A sum over the deltas in whatever order; when a pair would have ended is not told of one that goes."""
    columns = (deltas.at, deltas.sign, numbered(deltas.rows), np.where(deltas.sign > 0, deltas.until, 0))
    mixed = np.zeros(len(deltas.at), np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return int(mixed.sum(dtype=np.uint64))


def check_hubs(
    query: str, triples: NDArray[np.int32], times: NDArray[np.int64], days: int, make: type[Columns]
) -> list[Columns]:
    """Compare the deltas with those of columns without hubs; both operators, the other one last."""
    dfa = minimal_dfa(PATHS[query])
    views = WindowViews()
    operators = [operator(views, dfa, "x", "y", int, empty="none", extensions=False) for operator in (make, NoHubs)]
    most = 0
    for first in range(0, len(times), 1000):
        part = slice(first, first + 1000)
        count = len(times[part])
        views.apply(
            triples[part],
            np.ones(count, np.int8),
            np.arange(count + 1),
            times[part],
            times[part],
            times[part] // DAY * DAY + days * DAY,
            int(times[part][-1]),
        )
        told, others = (operator.process() for operator in operators)
        views.vacuum()
        assert len(told.at) == len(others.at)
        assert digest(told) == digest(others)
        most = max(most, operators[0].counters["hubs"])
    assert most > 0
    return operators


@pytest.mark.parametrize("query", ["a*", "ab*c", "a*b*", "(a|b|c)*"])
def test_hubs_change_nothing(query: str, stream: tuple[NDArray[np.int32], NDArray[np.int64]]) -> None:
    some, others = check_hubs(query, stream[0][:12_000], stream[1][:12_000], 30, Hubs)
    assert some.counters["columns_merged"] < others.counters["columns_merged"]


@pytest.mark.long
@pytest.mark.parametrize("query", [query for query in PATHS if query != "abc"])  # which has no closure, and no hubs
def test_hubs_change_nothing_in_the_whole_stream(
    query: str, stream: tuple[NDArray[np.int32], NDArray[np.int64]]
) -> None:
    check_hubs(query, *stream, 60, Columns)
