"""A plan that was made for another stream than the one that came."""

from __future__ import annotations

import random

import spectra
from spectra.algebra.nodes import Source
from spectra.planner.adaptive import has_drifted
from spectra.planner.statistics import LabelStatistics, Statistics, statistics_from
from spectra.streams.memory import from_triples
from tests.property.compare import lines_of_batches
from tests.unit.notation import STREAM, query, triple

TEXT = query("RANGE 60s STEP 1s", "?x <urn:rare> ?y . ?y <urn:p>+ ?z", "CHANGES", "SELECT DISTINCT ?x ?z")


def known(rare: float, p: float) -> Statistics:
    """Rates of the two labels, between a thousand vertices."""
    figures = {"validity": 60, "subjects": 1000, "objects": 1000}
    return statistics_from({STREAM: {"<urn:rare>": {"rate": rare, **figures}, "<urn:p>": {"rate": p, **figures}}})


def told(engine: spectra.Engine) -> tuple[list[object], list[str]]:
    """What is told of a stream with few rare edges, and the plans that told it."""
    rng = random.Random(5)
    registered = engine.register(TEXT)
    plans = [registered.explain()]
    found = []
    for second in range(120):
        edges = [triple(f"v{rng.randrange(60)} p v{rng.randrange(60)}") for _ in range(1)]
        if second % 10 == 0:
            edges.append(triple(f"u{second} rare v{rng.randrange(60)}"))
        found += engine.offer([from_triples(STREAM, 1000 * second, edges, ())], complete=False)
        if registered.explain() != plans[-1]:
            plans.append(registered.explain())
    return sorted(lines_of_batches([*found, *engine.drain()]), key=repr), plans


def test_another_plan_takes_over(monkeypatch) -> None:
    monkeypatch.setattr("spectra.engine._LEAST_FRESH", 20)
    made_for = known(rare=1000, p=0.01)
    steady, (only,) = told(spectra.Engine(statistics=made_for))
    adapted, plans = told(spectra.Engine(statistics=made_for, adaptive=True))
    assert steady == adapted
    assert plans[0] == only
    assert "from the object" in plans[0]
    assert "from the subject" in plans[-1]


def test_a_plan_that_fits_stays(monkeypatch) -> None:
    monkeypatch.setattr("spectra.engine._LEAST_FRESH", 20)
    _, plans = told(spectra.Engine(statistics=known(rare=0.1, p=1), adaptive=True))
    assert len(plans) == 1


def test_drift() -> None:
    def graphs(rate: float, *more: str) -> dict[Source, dict[str, LabelStatistics]]:
        labels = {name: LabelStatistics.of(rate, 10, 5, 5) for name in ("<p>", *more)}
        return {Source("w"): labels}

    assert not has_drifted(graphs(10), graphs(19))
    assert has_drifted(graphs(10), graphs(21))
    assert has_drifted(graphs(21), graphs(10))
    assert has_drifted(graphs(10, "<q>"), graphs(10))
    assert has_drifted(graphs(10), graphs(10, "<q>"))
    assert has_drifted(graphs(10), {})
