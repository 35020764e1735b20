"""Shards against one engine: together they tell the same changes, on random queries and random streams.

Each shard gets all events, once with the triples that `Division.usable` leaves it and once with all of them.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectra.algebra.from_sparql import from_sparql
from spectra.checkpoint import restore, saved
from spectra.engine import Engine
from spectra.planner.division import Division, division
from spectra.planner.physical import physical_plan
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy, WindowKind
from spectra.streams.memory import concatenate
from spectra.views.batch import EventBatch
from tests.property.compare import Line, batch_of, closed, lines_of_batches
from tests.property.generate import Case, random_case
from tests.property.regressions import REGRESSIONS
from tests.property.test_engine_against_oracle import CHUNKS, SEEDS, few

SHARDS = (1, 2, 3, 5)


def division_of(query: ContinuousQuery) -> Division:
    return division(query, physical_plan(from_sparql(query)))


@pytest.mark.parametrize("case", REGRESSIONS.values(), ids=REGRESSIONS.keys())
def test_what_once_failed(case: Case) -> None:
    check(case, 2)


@given(seed=SEEDS, shards=st.sampled_from(SHARDS))
@few(100)
def test_shards_tell_together_what_one_engine_tells(seed: int, shards: int) -> None:
    check(random_case(seed), shards)


@given(seed=SEEDS)
@few(25)
def test_shards_that_were_restored_go_on(seed: int) -> None:
    check(random_case(seed), 3, restored=True)


def test_the_cases_cover_what_can_be_divided_and_what_cannot() -> None:
    found: Counter[object] = Counter()
    for seed in range(600):
        query = random_case(seed).query()
        if division_of(query).variable is None:
            found["whole"] += 1
            continue
        found["divided"] += 1
        found[query.form] += 1
        found[query.output] += 1
        found[query.report.policy] += 1
        found["count window"] += any(window.spec.kind is WindowKind.COUNT for window in query.windows)
    assert found["divided"] > 100
    assert found["whole"] > 30
    assert found[Form.CONSTRUCT] > 2
    assert found["count window"] > 5
    assert all(found[output] > 10 for output in OutputOperator)
    assert all(found[policy] > 5 for policy in Policy)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_cases(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // CHUNKS
    first = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    failed: list[str] = []
    for seed in range(first, first + wanted):
        try:
            check(random_case(seed), SHARDS[seed % 4], restored=seed % 5 == 0)
        except Exception as error:
            failed.append(f"seed {seed}: {error}")
    assert not failed, f"{len(failed)} of {wanted}\n" + "\n\n".join(failed[:5])


def check(case: Case, shards: int, *, restored: bool = False) -> None:
    """Compare the union of the shards' changes with those of one engine."""
    query = case.query()
    case, drain = closed(case, query)
    batches = list(_cut([batch_of(event) for event in case.events], random.Random(case.seed)))
    wanted = Counter(_told(_engines(case, query, None), batches, drain=drain))
    parts = division_of(query)
    for pruned in (True, False):
        told: Counter[Line] = Counter()
        for shard in range(shards):
            fed = [_left_to(parts, batch, shard, shards) for batch in batches] if pruned else batches
            engines = _engines(case, query, (shard, shards))
            lines = _told(engines, fed, drain=drain, restore_at=len(fed) // 2 if restored else None)
            assert [line[0] for line in lines] == sorted(line[0] for line in lines)
            told.update(lines)
        differing = [f"missing {wanted - told}", f"extra {told - wanted}"] if told != wanted else []
        assert not differing, "\n".join([f"{shards} shards by {parts.variable}, {pruned=}", *differing, str(case)])


def _engines(case: Case, query: ContinuousQuery, shard: tuple[int, int] | None) -> Iterator[Engine]:
    while True:
        engine = Engine()
        engine.register(query, static=case.static, shard=shard)
        yield engine


def _told(
    engines: Iterator[Engine], batches: Sequence[EventBatch], *, drain: bool, restore_at: int | None = None
) -> list[Line]:
    engine = next(engines)
    told = []
    for at, batch in enumerate(batches):
        if at == restore_at:
            state = saved(engine)
            engine = next(engines)
            restore(engine, state)
        told += engine.offer([batch], complete=False)
    told += engine.drain() if drain else engine.finish()
    return lines_of_batches(told)


def _cut(batches: Sequence[EventBatch], rng: random.Random) -> Iterator[EventBatch]:
    """The events in portions of one stream each."""
    start = 0
    while start < len(batches):
        last = start + 1
        while last < len(batches) and batches[last].stream == batches[start].stream and rng.random() < 0.6:
            last += 1
        yield concatenate(batches[start:last])
        start = last


def _left_to(parts: Division, batch: EventBatch, shard: int, shards: int) -> EventBatch:
    """All events of a batch with the triples that a shard needs."""
    kept = parts.usable(batch.stream, batch.hashes, shard, shards)
    columns = {name: getattr(batch, name)[kept] for name in ("start", "length", "tag", "hashes", "sign")}
    first = np.append(0, np.cumsum(kept))[batch.event_first]
    return replace(batch, event_first=first, **columns)
