"""Streams whose first deletion comes late: paths are then followed by another operator, and no answer shows it.

`SPECTRA_LONG_CASES` sets the size of the long run.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

from spectra.checkpoint import restore, saved
from spectra.engine import Engine
from tests.property.compare import batch_of, check, closed, differences, expected, lines_of_batches
from tests.property.generate import Case
from tests.property.path_cases import path_case

OPTIONS = ("", "", "WITH IMPLICIT WINDOWS")


def late(seed: int) -> Case:
    """Edges, and after some of them events that delete edges that are there."""
    options = OPTIONS[seed % len(OPTIONS)]
    case = path_case(seed, options=options, counting="IMPLICIT" not in options)
    rng = random.Random(f"late {seed}")
    first = rng.randrange(1, len(case.events))
    events, seen = [], []
    for number, event in enumerate(case.events):
        deleted = tuple(rng.choice(seen) for _ in range(rng.randrange(3))) if number >= first and seen else ()
        seen += event.added
        events.append(replace(event, deleted=deleted))
    return replace(case, events=tuple(events))


def operators(engine: Engine) -> set[str]:
    """The operators of the paths of an engine's query."""
    text = engine.queries[0].explain()
    return {name for name in ("spath", "rapq", "columns", "condense", "landmark") if f" {name}(" in text}


def check_cut(case: Case) -> str:
    """Compare a case whose engine is saved and restored in another one between events; what followed its paths."""
    rng = random.Random(f"cut {case.seed}")
    query = case.query()
    case, drain = closed(case, query)
    engine = Engine()
    engine.register(query, static=case.static)
    told = []
    found = operators(engine)
    for event in case.events:
        told += engine.offer([batch_of(event)], complete=False)
        found |= operators(engine)
        if rng.random() < 0.3:
            before, state = operators(engine), saved(engine)
            engine = Engine()
            engine.register(query, static=case.static)
            restore(engine, state)
            assert operators(engine) == before
    told += engine.drain() if drain else engine.finish()
    wrong = differences(case, query, lines_of_batches(told), expected(case, query, "run", drain=drain), "run")
    assert not wrong, f"{wrong}\n{case}\n{engine.queries[0].explain()}"
    return " ".join(sorted(found))


def test_the_first_deletion_comes_late(by_trees: None) -> None:
    for seed in range(60):
        check(late(seed))


def test_the_first_deletion_between_checkpoints(by_trees: None) -> None:
    found = [check_cut(late(1000 + seed)) for seed in range(100)]
    assert sum("rapq" in each and "spath" in each for each in found) > 20


def test_columns_stay_at_the_first_deletion() -> None:
    for seed in range(60):
        check(late(seed))
    found = [check_cut(late(1000 + seed)) for seed in range(100)]
    assert found.count("columns") > 20
    assert not any("rapq" in each for each in found)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(10))
def test_many_first_deletions(chunk: int, request: pytest.FixtureRequest) -> None:
    if chunk % 2:
        request.getfixturevalue("by_trees")
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // 20
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    for number in range(wanted):
        check(late(seed + number))
        check_cut(late(seed + number))
