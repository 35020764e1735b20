"""Plans chosen by cost, for random statistics, against the oracle.

`SPECTRA_LONG_CASES` sets the size of the long run.
"""

from __future__ import annotations

import os
import random

import pytest

from spectra.engine import Engine
from spectra.planner.statistics import LabelStatistics
from tests.property.compare import closed, differences, expected, fed_in_batches, lines_of_batches
from tests.property.generate import STREAMS, Case, iri
from tests.property.test_rules import any_case


def random_statistics(rng: random.Random) -> dict[str, dict[str, LabelStatistics]]:
    """Labels of which some are rare, and some lead everywhere."""
    labels = {}
    for name in ("p", "q", "r"):
        rate = 10 ** rng.uniform(-1, 4)
        vertices = rate * 10 ** rng.uniform(-2, 2)
        labels[iri(name)] = LabelStatistics.of(rate, 10, vertices, vertices)
    return {STREAMS[0]: labels}


def check_chosen(case: Case) -> bool:
    """Compare the plan that is chosen for random statistics with the oracle; whether it is not the query's own."""
    rng = random.Random(case.seed)
    query = case.query()
    case, drain = closed(case, query)
    engine = Engine(statistics=random_statistics(rng))
    registered = engine.register(query, static=case.static)
    told = lines_of_batches(fed_in_batches(engine, case.events, rng, drain=drain))
    found = differences(case, query, told, expected(case, query, "run", drain=drain), "run")
    assert not found, f"{found}\n{case}\n{registered.explain()}"
    return registered.choice is not None and registered.choice.best.node != registered.logical


def test_chosen_plans() -> None:
    assert sum(check_chosen(any_case(50_000 + seed)) for seed in range(150)) >= 15


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(10))
def test_many_chosen_plans(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // 10
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    for number in range(wanted):
        check_chosen(any_case(seed + number))
