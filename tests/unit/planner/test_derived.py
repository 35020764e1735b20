"""Paths over derived edges, with answers worked out by hand."""

from __future__ import annotations

import spectra
from spectra.algebra.nodes import OBJECT, SUBJECT, Derived, Node, Path, Project, Source, WScan
from spectra.algebra.paths import path_node
from spectra.planner.physical import physical_plan
from spectra.sparql.syntax import Link, OneOrMorePath, PathExpression, RepeatPath, SequencePath, Variable
from tests.unit.notation import STREAM, batch, deltas, events, query, shown

W = Source("urn:w")
AB = SequencePath((Link("<urn:a>"), Link("<urn:b>")))


def told(path: PathExpression, derived: Derived, stream: str, output: str = "CHANGES") -> list[str]:
    """What a path over derived edges tells, in one batch and event by event."""
    plan: Node = Project(("x", "y"), Path(derived, Variable("x"), path, Variable("y")))
    answers = []
    for one_batch in (True, False):
        engine = spectra.Engine()
        engine.register(query("RANGE 10s STEP 1s", "?x (<urn:a>/<urn:b>)+ ?y", output), plan=physical_plan(plan))
        given = events(stream)
        batches = [batch(STREAM, given)] if one_batch else [batch(STREAM, [event]) for event in given]
        answers.append(shown(engine.run(batches), until=True))
    assert answers[0] == answers[1]
    return answers[0]


def edges(path: PathExpression, label: str = "_:d") -> tuple[str, Node]:
    return label, path_node(W, SUBJECT, path, OBJECT)


def test_the_closure_of_a_derived_relation() -> None:
    stream = "1 u a v, v b w | 3 w a v | 8 v b w"
    expected = "1 +u w until 11 | 3 +w w until 11 | 11 -u w | 13 -w w"
    assert told(OneOrMorePath(Link("_:d")), Derived((edges(AB),)), stream) == deltas(expected)


def test_an_edge_that_comes_to_end_earlier() -> None:
    """From u to w by v until 11 and by z until 14, and on to x until 15; then the way by z is deleted."""
    stream = "1 u a v, v b w | 4 u a z, z b w | 5 w a t, t b x | 6 -z b w"
    expected = "1 +u w until 11 | 5 +w x until 15, +u x until 14 | 11 -u w, -u x | 15 -w x"
    assert told(OneOrMorePath(Link("_:d")), Derived((edges(AB),)), stream) == deltas(expected)


def test_derived_edges_beside_those_of_the_window() -> None:
    rest = OneOrMorePath(SequencePath((Link("_:d"), Link("<urn:c>"))))
    stream = "1 u a v, v b w | 2 w c u"
    assert told(rest, Derived((edges(AB), edges(Link("<urn:c>"), "<urn:c>"))), stream) == deltas(
        "2 +u u until 11 | 11 -u u"
    )


def test_against_the_direction_of_the_edges() -> None:
    derived = Derived((("_:d", WScan(W, OBJECT, "<urn:a>", SUBJECT)),))
    assert told(OneOrMorePath(Link("_:d")), derived, "1 u a v | 2 v a w") == deltas(
        "1 +v u until 11 | 2 +w v until 12, +w u until 11 | 11 -v u, -w u | 12 -w v"
    )


def test_a_path_that_follows_none_of_the_edges() -> None:
    """Only the empty path is left, which matches the terms of the edges."""
    path = RepeatPath(Link("_:d"), 0, 0)
    assert told(path, Derived((edges(Link("<urn:a>")),)), "1 u a v") == deltas(
        "1 +u u until 11, +v v until 11 | 11 -u u, -v v"
    )
