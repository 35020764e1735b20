"""A plan that was made for another stream than the one that came."""

from __future__ import annotations

import random

import pytest

import spectra
from spectra import planning
from spectra.algebra.nodes import Source
from spectra.planner.adaptive import has_drifted, held_by, labels_have_drifted, worth_its_state
from spectra.planner.constants import Constants
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
    for second in range(300):
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


CLOSURE = query("RANGE 60s STEP 1s", "?x <urn:p>+ ?y", "CHANGES")


def lonely(count: int) -> list[tuple[str, str, str]]:
    """Edges of which none meets another one."""
    return [triple(f"s{number} p o{number}") for number in range(count)]


def crowded(count: int) -> list[tuple[str, str, str]]:
    """Edges between few vertices."""
    rng = random.Random(3)
    return [triple(f"v{rng.randrange(200)} p v{rng.randrange(200)}") for _ in range(count)]


def test_the_cheaper_operator_takes_over_and_back(monkeypatch) -> None:
    """As on a machine on which an edge costs much in columns."""
    monkeypatch.setattr("spectra.planner.path_choice.constants", lambda: Constants(arrival=5.0))
    monkeypatch.setattr("spectra.planning._LEAST_FRESH", 500)
    engine = spectra.Engine()
    registered = engine.register(CLOSURE)
    assert "columns, since all roots are followed together" in registered.explain()
    for second in range(10):
        engine.push(lonely(4000)[400 * second : 400 * (second + 1)], at=300 * second)
    assert "spath, since it costs least" in registered.explain()
    engine.push(deleted=lonely(1), at=3000)
    assert "rapq, since it costs least, and edges are deleted" in registered.explain()
    edges = crowded(20_000)
    for second in range(80):
        engine.push(edges[250 * second : 250 * (second + 1)], at=3000 * (second + 1))
    assert "columns, since it costs least" in registered.explain()


def test_a_state_costs_a_small_part_of_what_was_done_before() -> None:
    assert worth_its_state(0, 0) == 0
    assert worth_its_state(4000, 4000) == pytest.approx(0.2)
    assert worth_its_state(16_000, 4000) == pytest.approx(0.8)


def test_pairs_that_were_expected_are_no_reason_to_plan_again(monkeypatch) -> None:
    monkeypatch.setattr("spectra.planning._LEAST_FRESH", 600)
    monkeypatch.setattr("spectra.planning._TRIPLES_PER_PLAN", 0)
    planned = []
    optimise = planning.optimise
    monkeypatch.setattr("spectra.planning.optimise", lambda *a, **k: (planned.append(a), optimise(*a, **k))[1])

    def planned_again(met_terms: float) -> int:
        figures = {"rate": 100, "validity": 60, "subjects": 6000, "objects": 6000, "live": 6000, "met_terms": met_terms}
        engine = spectra.Engine(statistics=statistics_from({STREAM: {"<urn:p>": figures}}))
        engine.register(CLOSURE)
        planned.clear()
        for second in range(20):
            engine.push(lonely(2000)[100 * second : 100 * (second + 1)], at=1000 * second)
        return len(planned)

    assert planned_again(1e6) == 0
    assert planned_again(1e3) > 0


def test_drift() -> None:
    assert not has_drifted({"p": 10}, {"p": 19})
    assert has_drifted({"p": 10}, {"p": 21})
    assert has_drifted({"p": 21}, {"p": 10})
    assert has_drifted({"p": 10, "q": 10}, {"p": 10})
    assert has_drifted({"p": 10}, {"p": 10, "q": 10})
    assert has_drifted({"p": 10}, {})


def test_a_window_that_fills_has_not_drifted() -> None:
    planned = {"p": 1000, "q": 200}
    assert not labels_have_drifted({"p": 1500, "q": 250}, planned)
    assert not labels_have_drifted({"p": 100, "q": 21}, planned)
    assert not labels_have_drifted({"p": 20}, planned)
    assert not labels_have_drifted({}, planned)
    assert not labels_have_drifted({"p": 1000, "q": 200, "r": 9}, planned)
    assert labels_have_drifted({"p": 100, "q": 100}, planned)
    assert labels_have_drifted({"p": 1000}, planned)
    assert labels_have_drifted({"p": 2500, "q": 500}, planned)
    assert labels_have_drifted({"p": 1000, "q": 200, "r": 90}, planned)
    assert labels_have_drifted({"p": 5}, {})


def test_edges_that_are_held() -> None:
    engine = spectra.Engine()
    query = engine.register(TEXT)
    engine.push([triple("a p b"), triple("b p c"), triple("a rare c")], at=0)
    window = Source(query.query.windows[0].name)
    assert query.edges_held() == {(window, "<urn:p>"): 2, (window, "<urn:rare>"): 1}
    assert held_by({window: measured_labels(engine)}) == query.edges_held()


def measured_labels(engine: spectra.Engine) -> dict[str, LabelStatistics]:
    return engine.label_statistics()[STREAM]
