"""W3C N-Triples and N-Quads suites: every positive test is read whole, every negative one has a bad line."""

from __future__ import annotations

import re

import numpy as np
import pyoxigraph
import pytest

from spectra.streams.kernels.statements import E_GRAPH, E_GRAPH_LENGTH, FILE, QUADS
from spectra.streams.scanner import Scan, Scanner, Segment
from spectra.views.summary import Summary
from tests.data import data_path

pytestmark = pytest.mark.data

_TEST = re.compile(r"rdft:TestN(?:Triples|Quads)(Positive|Negative)Syntax\b.*?mf:action\s+<([^>]+)>", re.DOTALL)
# The default graph holds no event's triples: a stream refuses what it says. Here it only has to parse.
_DEFAULT_GRAPH = "default graph statement that is no time"


def _scan(octets: bytes, form: int, summary: Summary) -> Scan:
    buffer = np.frombuffer(octets + bytes(64), np.uint8).copy()
    return Scanner(form, summary).scan(buffer, [Segment(len(octets))])


@pytest.mark.parametrize(("suite", "form", "tests"), [("rdf-n-triples", FILE, 70), ("rdf-n-quads", QUADS, 87)])
def test_suite(suite, form, tests):
    folder = data_path("w3c", "rdf", suite)
    found = _TEST.findall((folder / "manifest.ttl").read_text(encoding="utf-8"))
    wrong = []
    for polarity, name in found:
        scan = _scan((folder / name).read_bytes(), form, Summary.everything())
        reasons = [bad.reason for bad in scan.bad_lines() if bad.reason != _DEFAULT_GRAPH]
        if (polarity == "Positive") == bool(reasons):
            wrong.append((name, reasons))
    positive = sum(polarity == "Positive" for polarity, _ in found)
    print(f"{suite}: {positive} positive and {len(found) - positive} negative tests, {len(wrong)} wrong")
    assert wrong == []
    assert len(found) == tests


def _judged(term: object) -> str:
    """Our canonical text, from pyoxigraph's term."""
    if not isinstance(term, pyoxigraph.Literal):
        return str(term)
    lexical = term.value.translate({92: r"\\", 34: r"\"", 10: r"\n", 13: r"\r"})
    if term.language:
        return f'"{lexical}"@{term.language}'
    if term.datatype.value == "http://www.w3.org/2001/XMLSchema#string":
        return f'"{lexical}"'
    return f'"{lexical}"^^{term.datatype}'


@pytest.mark.parametrize(
    ("suite", "form", "syntax"),
    [
        ("rdf-n-triples", FILE, pyoxigraph.RdfFormat.N_TRIPLES),
        ("rdf-n-quads", QUADS, pyoxigraph.RdfFormat.N_QUADS),
    ],
)
def test_terms_are_those_that_pyoxigraph_reads(suite, form, syntax):
    compared = 0
    for path in sorted(data_path("w3c", "rdf", suite).glob("*.n[tq]")):
        octets = path.read_bytes()
        try:
            quads = list(pyoxigraph.parse(octets, format=syntax))
        except (SyntaxError, ValueError):
            continue
        named = [quad for quad in quads if form == FILE or not isinstance(quad.graph_name, pyoxigraph.DefaultGraph)]
        scan = _scan(octets, form, Summary.everything())
        rows = [
            tuple(scan.span(start, length) for start, length in zip(starts, lengths, strict=True))
            for starts, lengths in zip(scan.tables.start.tolist(), scan.tables.length.tolist(), strict=True)
        ]
        assert rows == [(str(q.subject), str(q.predicate), _judged(q.object)) for q in named], path.name
        if form == QUADS:
            graphs = {scan.span(event[E_GRAPH], event[E_GRAPH_LENGTH]) for event in scan.tables.event.tolist()}
            assert graphs == {str(quad.graph_name) for quad in named}, path.name
        compared += len(rows)
    assert compared > 0
