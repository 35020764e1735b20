"""W3C test manifests: what they ask, on which graphs, and what the answer is."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import count, permutations, product
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyoxigraph
import pytest
import rdflib
from rdflib.namespace import RDF, Namespace

from spectra.dictionary.terms import canonical
from spectra.sparql.values import value_of
from tests.data import data_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
QT = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-query#")
RS = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/result-set#")

#: CSV says less than the others: terms without their kind.
QUERY_TESTS = (MF.QueryEvaluationTest, MF.CSVResultFormatTest)

Triple = tuple[str, str, str]
Solution = dict[str, str]
Answer = bool | list[Solution]


@dataclass(frozen=True)
class Case:
    """One query evaluation test; graphs as files, the named ones by their IRIs.

    `lax`: duplicates of the answer may be left out, as REDUCED allows.
    """

    folder: str
    name: str
    query: Path
    data: tuple[Path, ...]
    graph_data: tuple[tuple[str, Path], ...]
    result: Path
    lax: bool = False

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def text(self) -> str:
        """The query under the base IRI of its folder, which the manifest's file names are relative to."""
        text = self.query.read_text(encoding="utf-8")
        return text if "BASE" in text.upper() else f"BASE <{self.query.parent.as_uri()}/>\n{text}"


def suites(*versions: str) -> list[str]:
    """The folders that have query evaluation tests, as `sparql11/property-path`."""
    root = data_path("w3c", "sparql")
    manifests = sorted(path for version in versions for path in root.glob(f"{version}/*/manifest.ttl"))
    found = [f"{path.parts[-3]}/{path.parts[-2]}" for path in manifests]
    return [folder for folder in found if cases(folder)]


@cache
def cases(folder: str) -> tuple[Case, ...]:
    """The query evaluation tests of a folder, in the manifest's order."""
    path = data_path("w3c", "sparql", *folder.split("/"))
    manifest = rdflib.Graph().parse(path / "manifest.ttl", publicID=f"{path.as_uri()}/manifest.ttl")
    found = []
    for entries in manifest.objects(None, MF.entries):
        for test in manifest.items(entries):
            if not any((test, RDF.type, kind) in manifest for kind in QUERY_TESTS):
                continue
            action = manifest.value(test, MF.action)
            found.append(
                Case(
                    folder=folder,
                    name=str(test).rpartition("#")[2],
                    query=local(manifest.value(action, QT.query)),
                    data=tuple(sorted(local(data) for data in manifest.objects(action, QT.data))),
                    graph_data=tuple(
                        sorted((str(data), local(data)) for data in manifest.objects(action, QT.graphData))
                    ),
                    result=local(manifest.value(test, MF.result)),
                    lax=(test, MF.resultCardinality, MF.LaxCardinality) in manifest,
                )
            )
    return tuple(found)


def local(iri: object) -> Path:
    """The file that a `file:` IRI names."""
    return Path(unquote(str(iri).removeprefix("file://")))


_scopes = count()


def read_graph(path: Path) -> list[Triple]:
    """The triples of a file in its order, as canonical texts; its blank nodes are nobody else's."""
    scope = next(_scopes)
    kind = pyoxigraph.RdfFormat.from_extension(path.suffix.lstrip("."))
    quads = pyoxigraph.parse(path=str(path), format=kind, base_iri=path.as_uri())

    def text(term: Any) -> str:
        name = canonical(term)[0]
        return f"{name}.{scope}" if name.startswith("_:") else name

    return list(dict.fromkeys((text(quad.subject), text(quad.predicate), text(quad.object)) for quad in quads))


# --- answers ------------------------------------------------------------------------------


def read_answer(path: Path) -> Answer:
    """The expected answer: a truth value, solutions, or a graph as solutions of ?s ?p ?o."""
    if path.suffix == ".csv":
        return _read_csv(path)
    if path.suffix in (".srx", ".srj", ".tsv"):
        return _read_results(path)
    graph = read_graph(path)
    values: dict[tuple[str, str], list[str]] = {}
    for subject, predicate, object_ in graph:
        values.setdefault((subject, predicate[1:-1].removeprefix(RS)), []).append(object_)
    root = next((s for s, _, o in graph if o == f"<{RS.ResultSet}>"), None)
    if root is None:
        return [dict(zip("spo", triple, strict=True)) for triple in graph]
    if (root, "boolean") in values:
        return value_of(values[root, "boolean"][0]).value is True
    return [
        {
            values[binding, "variable"][0].strip('"'): values[binding, "value"][0]
            for binding in values.get((solution, "binding"), ())
        }
        for solution in values.get((root, "solution"), ())
    ]


def _read_results(path: Path) -> Answer:
    kind = pyoxigraph.QueryResultsFormat.from_extension(path.suffix.lstrip("."))
    results = pyoxigraph.parse_query_results(path=str(path), format=kind)
    if isinstance(results, pyoxigraph.QueryBoolean):
        return bool(results)
    names = [variable.value for variable in results.variables]
    return [{name: canonical(row[name])[0] for name in names if row[name] is not None} for row in results]


def _read_csv(path: Path) -> list[Solution]:
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: text for name, text in row.items() if text} for row in csv.DictReader(file)]


def as_csv(solutions: Iterable[Solution]) -> list[Solution]:
    """Solutions as CSV shows them: IRIs without brackets, literals without kind."""

    def shown(text: str) -> str:
        return str(value_of(text).lexical) if text.startswith('"') else text.strip("<>")

    return [{name: shown(text) for name, text in row.items()} for row in solutions]


def is_answer(got: Answer, case: Case) -> bool:
    """Whether this is the answer that the test asks for."""
    wanted = read_answer(case.result)
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    if case.result.suffix == ".csv":
        got = as_csv(got)
    if case.lax:
        allowed = Counter(frozenset(row.items()) for row in wanted)
        found = Counter(frozenset(row.items()) for row in got)
        return found.keys() == allowed.keys() and found <= allowed
    return same_answer(got, wanted)


def same_answer(got: Answer, wanted: Answer) -> bool:
    """Whether two bags of solutions are equal up to the names of blank nodes and the spelling of numbers."""
    if isinstance(got, bool) or isinstance(wanted, bool):
        return got is wanted
    left, right = [_by_value(row) for row in got], [_by_value(row) for row in wanted]
    ours, theirs = _by_surroundings(left), _by_surroundings(right)
    if {key: len(nodes) for key, nodes in ours.items()} != {key: len(nodes) for key, nodes in theirs.items()}:
        return False
    goal = Counter(frozenset(row.items()) for row in right)
    return any(
        Counter(frozenset((name, names.get(text, text)) for name, text in row.items()) for row in left) == goal
        for names in _renamings(ours, theirs)
    )


def _renamings(ours: dict[str, list[str]], theirs: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    for orders in product(*(permutations(theirs[key]) for key in ours)):
        yield {
            node: name
            for key, order in zip(ours, orders, strict=True)
            for node, name in zip(ours[key], order, strict=True)
        }


def _by_value(row: Solution) -> Solution:
    """Numbers by type and value: expected results write the same values in many ways."""
    found = {}
    for name, text in row.items():
        value = value_of(text) if text.startswith('"') else None
        found[name] = f"{_spelled(value.value)} {value.datatype}" if value is not None and value.is_numeric else text
    return found


def _spelled(number: Any) -> str:
    return str(number.normalize() if isinstance(number, Decimal) else number)


def _by_surroundings(rows: list[Solution]) -> dict[str, list[str]]:
    """Blank nodes by the rows they are in, where every other one looks alike."""
    nodes = {text for row in rows for text in row.values() if text.startswith("_:")}
    found: dict[str, list[str]] = {}
    for node in sorted(nodes):
        seen = [
            sorted((name, "self" if text == node else "_:" if text in nodes else text) for name, text in row.items())
            for row in rows
            if node in row.values()
        ]
        found.setdefault(repr(sorted(seen)), []).append(node)
    return found


# --- expected failures --------------------------------------------------------------------


@cache
def expected_failures() -> dict[str, str]:
    """Tests that do not pass, by name, with the reason; one that starts to pass fails the build."""
    with Path(__file__).with_name("expected_failures.toml").open("rb") as file:
        return {name: entry["reason"] for name, entries in tomllib.load(file).items() for entry in entries}


def parameters(folders: Iterable[str]) -> list[Any]:
    """The cases of the folders for `pytest.mark.parametrize`, those that fail marked so."""
    failing = expected_failures()
    return [
        pytest.param(
            case,
            id=str(case),
            marks=[pytest.mark.xfail(reason=failing[str(case)], strict=True)] if str(case) in failing else [],
        )
        for folder in folders
        for case in cases(folder)
    ]
