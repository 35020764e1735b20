"""WITH STATIC: the static default graph is part of a window's graph."""

from __future__ import annotations

import pytest

import spectra
from spectra.checkpoint import restore, saved

TEXT = (
    "REGISTER {} <urn:q> AS SELECT ?x ?y FROM NAMED WINDOW <urn:w> ON <urn:s> [{} WITH STATIC] FROM <urn:f> "
    "WHERE {{ WINDOW <urn:w> {{ ?x <urn:p>+ ?y }} }}"
)


def edge(x, y):
    return f"<urn:{x}>", "<urn:p>", f"<urn:{y}>"


def started(*static, output="CHANGES", spec="RANGE PT10S"):
    engine = spectra.Engine()
    return engine, engine.register(TEXT.format(output, spec), static={"urn:f": list(static)})


def pairs(changes):
    return sorted(change.op + "".join(str(term)[-1] for term in change.bindings.values()) for change in changes)


def test_no_event_deletes_a_static_edge():
    engine, query = started(edge("b", "c"))
    assert pairs(engine.push([edge("a", "b")], at=1000)) == ["+ab", "+ac", "+bc"]
    assert engine.push(deleted=[edge("b", "c")], at=2000) == []
    # nor does one that came with an event as well end with it
    assert engine.push([edge("b", "c")], at=3000) == []
    assert engine.push(deleted=[edge("b", "c")], at=4000) == []
    assert pairs(engine.advance(10_000)) == ["-ab", "-ac"]
    assert len(query.snapshot()) == 1


def test_a_drain_ends_although_static_edges_do_not():
    engine, _ = started(edge("b", "c"), output="RSTREAM", spec="RANGE PT10S STEP PT5S")
    engine.push([edge("a", "b")], at=1000)
    told = [change for batch in engine.drain() for change in batch]
    assert {change.at.milliseconds for change in told} == {5000, 10_000}


def test_static_edges_are_no_content():
    engine, _ = started(edge("b", "c"), output="RSTREAM", spec="RANGE PT10S REPORT NON_EMPTY_CONTENT")
    assert pairs(engine.push([edge("a", "b")], at=1000)) == ["=ab", "=ac", "=bc"]
    assert engine.push([], at=20_000) == []


@pytest.mark.parametrize("policy", ["NON_EMPTY_CONTENT", "ON_CONTENT_CHANGE"])
def test_what_an_event_repeats_of_the_static_graph_is_content(policy):
    engine, query = started(edge("b", "c"), output="RSTREAM", spec=f"RANGE PT10S REPORT {policy}")
    assert pairs(engine.push([edge("b", "c")], at=1000)) == ["=bc"]
    # it expires: an evaluation, unless nothing is left
    told = engine.advance(15_000)
    assert [(change.at.milliseconds, change.op) for change in told] == [(10_000, "=")] * (policy == "ON_CONTENT_CHANGE")
    assert pairs(engine.push([edge("b", "c"), edge("a", "b")], at=16_000)) == ["=ab", "=ac", "=bc"]
    assert pairs(engine.push(deleted=[edge("a", "b")], at=17_000)) == ["=bc"]
    emptied = engine.push(deleted=[edge("b", "c")], at=18_000)
    assert pairs(emptied) == ["=bc"] * (policy == "ON_CONTENT_CHANGE")
    assert len(query.snapshot()) == 1


def test_what_an_event_repeats_is_saved():
    def fresh():
        return started(edge("b", "c"), output="RSTREAM", spec="RANGE PT10S REPORT NON_EMPTY_CONTENT")[0]

    engine = fresh()
    engine.push([edge("b", "c")], at=1000)
    restored = fresh()
    restore(restored, saved(engine))
    assert pairs(engine.push([], at=2000)) == pairs(restored.push([], at=2000)) == ["=bc"]
    assert pairs(engine.push([], at=11_000)) == pairs(restored.push([], at=11_000)) == []


def test_another_query_on_the_same_stream_does_not_see_them():
    engine, _ = started(edge("b", "c"))
    plain = TEXT.replace(" WITH STATIC", "").replace("FROM <urn:f> ", "").replace("urn:q", "urn:plain")
    other = engine.register(plain.format("CHANGES", "RANGE PT10S"))
    told = engine.push([edge("a", "b")], at=1000)
    assert pairs(change for change in told if change.query == other.name) == ["+ab"]


def test_a_removed_query_gives_its_terms_back():
    engine, query = started(edge("b", "c"))
    engine.push([edge("a", "b")], at=1000)
    query.remove()
    assert engine.dictionary.statistics()["adaptive"] == 0
