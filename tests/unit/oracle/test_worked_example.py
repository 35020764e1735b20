"""Section 6 of the interface: `[RANGE PT10S STEP PT5S]`, pattern `?x ex:pays+ ?y`, line by line."""

from __future__ import annotations

from spectra.oracle import recompute
from spectra.sparql.syntax import OneOrMorePath
from tests.unit.oracle.build import event, lines, link, path, query, window

REACH = path("?x", OneOrMorePath(link("pays")), "?y")
EVENTS = [
    event(1000, "ann pays bob"),
    event(3000, "bob pays cat"),
    event(6000, "ann pays bob"),
    event(12000, "cat pays dan, dan pays ann"),
]


def at(time: int, op: str, *rows: str) -> list[str]:
    return [f"{time} {op}{row}" for row in rows]


def test_changes_as_content_changes():
    assert lines(recompute(query(REACH, window(10_000, 5_000)), EVENTS)) == [
        *at(1000, "+", "ann bob"),
        *at(3000, "+", "ann cat", "bob cat"),
        *at(10_000, "-", "ann cat", "bob cat"),
        *at(12_000, "+", "cat ann", "cat bob", "cat dan", "dan ann", "dan bob"),
        *at(15_000, "-", "ann bob", "cat bob", "dan bob"),
        *at(20_000, "-", "cat ann", "cat dan", "dan ann"),
    ]


def test_whole_answers_as_windows_close():
    assert lines(recompute(query(REACH, window(10_000, 5_000), output="RSTREAM"), EVENTS)) == [
        *at(5_000, "=", "ann bob", "ann cat", "bob cat"),
        *at(10_000, "=", "ann bob", "ann cat", "bob cat"),
        *at(15_000, "=", "ann bob", "cat ann", "cat bob", "cat dan", "dan ann", "dan bob"),
        *at(20_000, "=", "cat ann", "cat dan", "dan ann"),
    ]


def test_until_is_the_end_of_the_first_triple_to_expire():
    rows = recompute(query(REACH, window(10_000, 5_000), output="ISTREAM"), EVENTS, until=True)
    assert lines(rows) == [
        "1000 +ann bob until 10000",
        "3000 +ann cat until 10000",
        "3000 +bob cat until 10000",
        "12000 +cat ann until 20000",
        "12000 +cat bob until 15000",
        "12000 +cat dan until 20000",
        "12000 +dan ann until 20000",
        "12000 +dan bob until 15000",
    ]


def test_istream_and_dstream_are_the_two_halves_of_changes():
    both = recompute(query(REACH, window(10_000, 5_000)), EVENTS)
    for output, op in (("ISTREAM", "+"), ("DSTREAM", "-")):
        half = recompute(query(REACH, window(10_000, 5_000), output=output), EVENTS)
        assert half == [answer for answer in both if answer.op == op]


def test_without_drain_nothing_happens_after_the_last_event():
    window_ = window(10_000, 5_000)
    assert [a.at for a in recompute(query(REACH, window_), EVENTS, drain=False)][-1] == 12_000
    closes = recompute(query(REACH, window_, output="RSTREAM"), EVENTS, drain=False)
    assert sorted({a.at for a in closes}) == [5_000, 10_000]
