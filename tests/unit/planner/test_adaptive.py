"""A plan that was made for another stream than the one that came."""

from __future__ import annotations

import random

import spectra
from spectra.algebra.nodes import Source
from spectra.planner.adaptive import has_drifted, held_by
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
    monkeypatch.setattr("spectra.planning._LEAST_FRESH", 20)
    monkeypatch.setattr("spectra.planning._TRIPLES_PER_PLAN", 0)
    made_for = known(rare=1000, p=0.01)
    steady, (only,) = told(spectra.Engine(statistics=made_for, adaptive=False))
    adapted, plans = told(spectra.Engine(statistics=made_for))
    assert steady == adapted
    assert plans[0] == only
    assert "from the object" in plans[0]
    assert "from the subject" in plans[-1]


def test_a_plan_that_fits_stays(monkeypatch) -> None:
    monkeypatch.setattr("spectra.planning._LEAST_FRESH", 20)
    monkeypatch.setattr("spectra.planning._TRIPLES_PER_PLAN", 0)
    _, plans = told(spectra.Engine(statistics=known(rare=0.1, p=1)))
    assert len(plans) == 1


def test_drift() -> None:
    assert not has_drifted({"p": 10}, {"p": 19})
    assert has_drifted({"p": 10}, {"p": 21})
    assert has_drifted({"p": 21}, {"p": 10})
    assert has_drifted({"p": 10, "q": 10}, {"p": 10})
    assert has_drifted({"p": 10}, {"p": 10, "q": 10})
    assert has_drifted({"p": 10}, {})


def test_edges_that_are_held() -> None:
    engine = spectra.Engine()
    query = engine.register(TEXT)
    engine.push([triple("a p b"), triple("b p c"), triple("a rare c")], at=0)
    window = Source(query.query.windows[0].name)
    assert query.edges_held() == {(window, "<urn:p>"): 2, (window, "<urn:rare>"): 1}
    assert held_by({window: measured_labels(engine)}) == query.edges_held()


def measured_labels(engine: spectra.Engine) -> dict[str, LabelStatistics]:
    return engine.label_statistics()[STREAM]
