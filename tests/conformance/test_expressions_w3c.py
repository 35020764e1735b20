"""W3C's tests of operators, functions, casts and regular expressions.

The pattern of a query is matched here, by nested loops; its filters, BINDs and SELECT expressions are
evaluated by `spectra.sparql.expressions`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyoxigraph
import pytest

from spectra.dictionary.terms import canonical
from spectra.sparql import parse_query
from spectra.sparql.expressions import Context, compile_expression
from spectra.sparql.query import Form
from spectra.sparql.syntax import (
    Bgp,
    Distinct,
    Expression,
    Extend,
    Filter,
    Join,
    LeftJoin,
    OrderBy,
    Pattern,
    Project,
    Term,
    TriplePattern,
    Union_,
    Values,
    Variable,
    Windowed,
)
from spectra.sparql.values import value_of
from tests.data import data_path

pytestmark = pytest.mark.data

SUITES = [
    ("sparql10", "boolean-effective-value"),
    ("sparql10", "cast"),
    ("sparql10", "expr-builtin"),
    ("sparql10", "expr-equals"),
    ("sparql10", "expr-ops"),
    ("sparql10", "open-world"),
    ("sparql10", "regex"),
    ("sparql10", "type-promotion"),
    ("sparql11", "cast"),
    ("sparql11", "functions"),
]

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

Triple = tuple[str, str, str]
Solution = dict[str, str]


class Case(NamedTuple):
    suite: str
    name: str
    query: Path
    data: Path | None
    result: Path


class Graph:
    """The triples of a Turtle file, as canonical texts."""

    def __init__(self, path: Path | None) -> None:
        parsed = [] if path is None else pyoxigraph.parse(path=str(path), base_iri=path.as_uri())
        self.triples: list[Triple] = [
            (canonical(quad.subject)[0], canonical(quad.predicate)[0], canonical(quad.object)[0]) for quad in parsed
        ]

    def objects(self, subject: str, predicate: str) -> list[str]:
        return [o for s, p, o in self.triples if s == subject and p == f"<{predicate}>"]

    def object(self, subject: str, predicate: str) -> str | None:
        return next(iter(self.objects(subject, predicate)), None)


def cases() -> list[Case]:
    found = []
    for version, suite in SUITES:
        folder = data_path("w3c", "sparql", version, suite)
        manifest = Graph(folder / "manifest.ttl")
        for test, predicate, kind in manifest.triples:
            if predicate != f"<{RDF}type>" or kind != f"<{MF}QueryEvaluationTest>":
                continue
            action = manifest.object(test, f"{MF}action")
            query = manifest.object(action, f"{QT}query")
            data = manifest.object(action, f"{QT}data")
            name = test.strip("<>").rpartition("#")[2]
            found.append(
                Case(
                    f"{version}/{suite}",
                    name,
                    file(query),
                    None if data is None else file(data),
                    file(manifest.object(test, f"{MF}result")),
                )
            )
    return found


def file(iri: str) -> Path:
    return Path(iri.strip("<>").removeprefix("file://"))


# --- evaluation of the patterns around the expressions ------------------------------------


def solutions(pattern: Pattern, triples: list[Triple], base: str | None) -> list[Solution]:
    match pattern:
        case Bgp(patterns):
            rows: list[Solution] = [{}]
            for triple_pattern in patterns:
                assert isinstance(triple_pattern, TriplePattern)
                rows = [
                    m for row in rows for triple in triples if (m := matched(triple_pattern, triple, row)) is not None
                ]
            return rows
        case Windowed(_, inner) | OrderBy(inner, _):
            return solutions(inner, triples, base)
        case Filter(condition, inner):
            return filtered(condition, solutions(inner, triples, base), base)
        case Extend():
            return extended(pattern, triples, base)
        case Join(left, right):
            return [
                {**a, **b}
                for a in solutions(left, triples, base)
                for b in solutions(right, triples, base)
                if agree(a, b)
            ]
        case Union_(left, right):
            return solutions(left, triples, base) + solutions(right, triples, base)
        case LeftJoin(left, right, condition):
            rows = []
            others = solutions(right, triples, base)
            for row in solutions(left, triples, base):
                joined = [{**row, **other} for other in others if agree(row, other)]
                rows += (joined if condition is None else filtered(condition, joined, base)) or [row]
            return rows
        case Values(variables, values):
            return [
                {variable.name: text for variable, text in zip(variables, row, strict=True) if text is not None}
                for row in values
            ]
        case Project(inner, variables):
            names = {variable.name for variable in variables}
            return [
                {name: text for name, text in row.items() if name in names} for row in solutions(inner, triples, base)
            ]
        case Distinct(inner):
            return [dict(row) for row in {tuple(sorted(row.items())) for row in solutions(inner, triples, base)}]
    raise AssertionError(f"no test needs {type(pattern).__name__}")


def matched(pattern: TriplePattern, triple: Triple, row: Solution) -> Solution | None:
    row = dict(row)
    terms: tuple[Term, Term, Term] = (pattern.subject, pattern.predicate, pattern.object)
    for term, text in zip(terms, triple, strict=True):
        wanted = row.setdefault(term.name, text) if isinstance(term, Variable) else term
        if wanted != text:
            return None
    return row


def agree(left: Solution, right: Solution) -> bool:
    return all(right.get(name, text) == text for name, text in left.items())


def filtered(condition: Expression, rows: list[Solution], base: str | None) -> list[Solution]:
    compiled = compile_expression(condition, base=base)
    return [row for row in rows if compiled.holds([row.get(name) for name in compiled.variables], Context())]


def extended(pattern: Pattern, triples: list[Triple], base: str | None) -> list[Solution]:
    """A chain of Extends at once: BNODE("x") is one node throughout a solution."""
    chain = []
    while isinstance(pattern, Extend):
        chain.append((pattern.variable.name, compile_expression(pattern.expression, base=base)))
        pattern = pattern.pattern
    rows = solutions(pattern, triples, base)
    for row in rows:
        context = Context()
        for variable, compiled in reversed(chain):
            text = compiled.evaluate([row.get(name) for name in compiled.variables], context)
            if text is not None:
                row[variable] = text
    return rows


# --- expected results ---------------------------------------------------------------------


def expected(path: Path) -> bool | list[Solution]:
    if path.suffix == ".srx":
        results = pyoxigraph.parse_query_results(path=str(path))
        if isinstance(results, pyoxigraph.QueryBoolean):
            return bool(results)
        names = [variable.value for variable in results.variables]
        return [{name: canonical(row[name])[0] for name in names if row[name] is not None} for row in results]
    graph = Graph(path)
    root = next(s for s, p, o in graph.triples if p == f"<{RDF}type>" and o == f"<{RS}ResultSet>")
    answer = graph.object(root, f"{RS}boolean")
    if answer is not None:
        return value_of(answer).value is True
    return [
        {
            value_of(graph.object(binding, f"{RS}variable")).value: graph.object(binding, f"{RS}value")
            for binding in graph.objects(solution, f"{RS}binding")
        }
        for solution in graph.objects(root, f"{RS}solution")
    ]


def comparable(rows: list[Solution]) -> Counter[object]:
    """The bag of rows, numbers by type and value; blank nodes are told apart within a row only."""
    bag: Counter[object] = Counter()
    for row in rows:
        nodes: dict[str, int] = {}
        bag[tuple((name, term(text, nodes)) for name, text in sorted(row.items()))] += 1
    return bag


def term(text: str, nodes: dict[str, int]) -> object:
    if text.startswith("_:"):
        return nodes.setdefault(text, len(nodes))
    value = value_of(text)
    return (value.datatype, value.value) if value.is_numeric else text


CASES = cases()


@pytest.mark.parametrize("case", CASES, ids=[f"{case.suite}:{case.name}" for case in CASES])
def test_w3c(case: Case):
    query = parse_query(case.query.read_text(encoding="utf-8"), range="PT1H")
    rows = solutions(query.pattern, Graph(case.data).triples, query.base)
    answer = expected(case.result)
    if query.form is Form.ASK:
        assert bool(rows) is answer
    else:
        assert isinstance(answer, list)
        assert comparable(rows) == comparable(answer)


def test_the_suites_are_whole():
    assert Counter(case.suite for case in CASES) == {
        "sparql10/boolean-effective-value": 7,
        "sparql10/cast": 7,
        "sparql10/expr-builtin": 25,
        "sparql10/expr-equals": 15,
        "sparql10/expr-ops": 18,
        "sparql10/open-world": 18,
        "sparql10/regex": 21,
        "sparql10/type-promotion": 30,
        "sparql11/cast": 6,
        "sparql11/functions": 75,
    }
