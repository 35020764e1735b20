"""W3C's syntax tests of SPARQL 1.0 and 1.1 queries: what must parse, and what must not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from spectra.errors import QueryError, SpectraError, UnsupportedError
from spectra.sparql import parse_query
from tests.data import data_path

pytestmark = pytest.mark.data

SUITES = (
    "sparql11/syntax-query",
    "sparql11/aggregates",
    "sparql11/grouping",
    "sparql10/syntax-sparql1",
    "sparql10/syntax-sparql2",
    "sparql10/syntax-sparql3",
    "sparql10/syntax-sparql4",
    "sparql10/syntax-sparql5",
)

#: DESCRIBE is right and refused by design.
UNSUPPORTED = {"syntax-form-describe01.rq", "syntax-form-describe02.rq"}

#: Where we differ from the suite, by the file's name, and why. Nowhere at present.
DIFFERENT: dict[str, str] = {}


def listed(positive: bool) -> Iterator[Path]:
    from rdflib import RDF, Graph, Namespace

    manifest = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
    kind = "PositiveSyntaxTest" if positive else "NegativeSyntaxTest"
    for suite in SUITES:
        path = data_path("w3c", "sparql", *suite.split("/"), "manifest.ttl")
        graph = Graph().parse(path)
        for kind_of_version in (kind, f"{kind}11"):
            for test in sorted(graph.subjects(RDF.type, manifest[kind_of_version])):
                action = str(graph.value(test, manifest.action))
                yield path.parent / action.rsplit("/", 1)[-1]


def refusal(path: Path) -> SpectraError | None:
    try:
        parse_query(path.read_bytes().decode("utf-8", "surrogateescape"), range="PT1S")
    except SpectraError as error:
        return error
    return None


def test_what_must_parse() -> None:
    paths = list(listed(positive=True))
    assert len(paths) > 200
    refused = {path.name: refusal(path) for path in paths if path.name not in DIFFERENT}
    assert {name for name, error in refused.items() if isinstance(error, UnsupportedError)} == UNSUPPORTED
    assert {name: str(error) for name, error in refused.items() if isinstance(error, QueryError)} == {}


def test_what_must_not_parse() -> None:
    paths = list(listed(positive=False))
    assert len(paths) > 80
    for path in paths:
        error = refusal(path)
        assert (path.name in DIFFERENT) or isinstance(error, QueryError), path.name
        assert error is None or error.place is not None, path.name


def test_every_query_of_the_evaluation_tests_parses() -> None:
    bad = {path.name for path in listed(positive=False)} | {"constructwhere05.rq", "constructwhere06.rq"} | UNSUPPORTED
    paths = [path for path in data_path("w3c", "sparql").rglob("*.rq") if path.name not in bad]
    assert len(paths) > 400
    assert {path.name: str(error) for path in paths if (error := refusal(path)) is not None} == {}
