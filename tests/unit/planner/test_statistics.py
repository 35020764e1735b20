"""What is known of a stream, counted by hand."""

from __future__ import annotations

import pytest

import spectra
from spectra.errors import QueryError
from spectra.planner.statistics import ALL, LabelStatistics, all_edges, domain, statistics_from
from tests.unit.notation import STREAM, query, triple


def engine_with(text: str, window: str, pattern: str = "?x <urn:p> ?y . ?y <urn:q> ?z") -> spectra.Engine:
    engine = spectra.Engine()
    engine.register(query(window, pattern))
    for part in text.split("|"):
        time, _, rest = part.strip().partition(" ")
        engine.push([triple(each) for each in rest.split(",")], at=int(time) * 1000)
    return engine


def test_a_full_window() -> None:
    # two p and one q per second, each for ten seconds
    stream = " | ".join(f"{at} a{at} p b, a{at} p c, b q c{at % 5}" for at in range(30))
    labels = engine_with(stream, "RANGE 10s STEP 1s").label_statistics()[STREAM]
    # of the 380 pairs of p edges 180 have the same object
    met = {"met_objects": 380 / 180}
    assert labels["<urn:p>"] == LabelStatistics(2.0, 10.0, subjects=10.0, objects=2.0, live=20.0, terms=12.0, **met)
    # q comes again every five seconds, so that the oldest is four seconds old
    assert labels["<urn:q>"] == LabelStatistics(1.25, 10.0, subjects=1.0, objects=5.0, live=5.0, terms=6.0)
    assert labels["<urn:p>"].fan_out == 2
    assert labels["<urn:p>"].fan_in == 10
    assert labels[ALL].live == 25
    assert labels[ALL].subjects == 11


def test_a_window_that_fills() -> None:
    stream = " | ".join(f"{at} a{at} p b" for at in range(5))
    labels = engine_with(stream, "RANGE 100s STEP 1s").label_statistics()[STREAM]
    assert labels["<urn:p>"].rate == 5 / 4
    assert labels["<urn:p>"].live == 5


def test_a_count_window_has_a_rate_too() -> None:
    stream = " | ".join(f"{2 * at} a{at} p b" for at in range(20))
    labels = engine_with(stream, "ELEMENTS 5").label_statistics()[STREAM]
    assert labels["<urn:p>"].live == 5
    assert labels["<urn:p>"].rate == pytest.approx(5 / 8)


def test_static_edges_have_no_rate() -> None:
    engine = spectra.Engine()
    text = "SELECT * FROM <urn:g> FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 10s] "
    text += "{ WINDOW <urn:w> { ?x <urn:p> ?y } ?y <urn:q> ?z }"
    engine.register(text, static={"urn:g": [triple("b q c"), triple("b q d")]})
    figures = engine.label_statistics()["urn:g"]["<urn:q>"]
    assert (figures.rate, figures.live, figures.subjects, figures.objects) == (0.0, 2.0, 1.0, 2.0)
    shown = engine.statistics()["labels"]
    assert "validity" not in shown["urn:g"]["<urn:q>"]
    assert statistics_from(shown)["urn:g"]["<urn:q>"] == figures
    assert shown[STREAM]["<urn:p>"]["live"] == 0


def test_statistics_are_shown() -> None:
    shown = engine_with("0 a p b | 1 c p d", "RANGE 10s").statistics()["labels"]
    assert shown[STREAM]["<urn:p>"] == {
        "rate": 2.0,
        "validity": 9.5,
        "subjects": 2.0,
        "objects": 2.0,
        "live": 2.0,
        "terms": 4.0,
        "fan_out": 1.0,
        "fan_in": 1.0,
    }
    assert statistics_from(shown)[STREAM]["<urn:p>"].live == 2


def test_statistics_by_hand() -> None:
    given = {"s": {"<p>": {"rate": 10, "validity": 60, "subjects": 1000, "objects": 50}}}
    assert statistics_from(given) == {"s": {"<p>": LabelStatistics(10.0, 60.0, 600.0, 50.0, 600.0)}}


@pytest.mark.parametrize("given", [[], {"s": 1}, {"s": {"<p>": {"rate": 1}}}, {"s": {"<p>": {"rate": "many"}}}])
def test_bad_statistics_are_refused(given: object) -> None:
    with pytest.raises(QueryError, match="statistics are rate, validity, subjects and objects"):
        statistics_from(given)


def test_all_edges_of_labels_that_share_their_vertices() -> None:
    graph = {"p": LabelStatistics.of(2, 10, 10, 5), "q": LabelStatistics.of(2, 30, 7, 8)}
    assert all_edges(graph) == LabelStatistics(rate=4.0, validity=20.0, subjects=10.0, objects=8.0, live=80.0)


def test_what_has_not_been_seen_yet() -> None:
    """Of 1000 values, 500 draws meet 393 and 5000 draws nearly all."""
    assert domain(393.5, 500) == pytest.approx(1000, rel=0.01)
    assert domain(993.3, 5000) == pytest.approx(1000, rel=0.01)
    assert domain(10, 10) == pytest.approx(40)
    assert domain(0, 0) == 1
