"""Patterns as text: what is written, and that reading it again asks the same question."""

from __future__ import annotations

from spectra.oracle import Dataset, WindowGraphs, evaluate, render_pattern, render_query
from spectra.oracle.render import render_expression, render_path
from spectra.sparql.rspql import parse_query
from spectra.sparql.syntax import (
    Aggregate,
    Bgp,
    Call,
    Constant,
    Distinct,
    Extend,
    Group,
    InversePath,
    NegatedPropertySet,
    OrderBy,
    Project,
    RepeatPath,
    SequencePath,
    Slice,
    TriplePattern,
    Values,
    Variable,
    Windowed,
    ZeroOrMorePath,
)
from tests.oracle.test_other_evaluators import case
from tests.unit.oracle.build import X, Y, Z, bag, iri, link

P, Q = iri("p"), iri("q")


def test_paths():
    assert render_path(SequencePath((link("p"), InversePath(link("q"))))) == f"({P})/(^({Q}))"
    assert render_path(NegatedPropertySet((P,), (Q,))) == f"!({P}|^{Q})"
    assert render_path(RepeatPath(link("p"), 2, 2)) == f"({P}){{2}}"
    assert render_path(RepeatPath(link("p"), 0, 3)) == f"({P}){{0,3}}"
    assert render_path(RepeatPath(ZeroOrMorePath(link("p")), 1, None)) == f"(({P})*){{1,}}"


def test_expressions():
    assert render_expression(Call("unary-", (X,))) == "(- ?x)"
    assert render_expression(Call("NOT IN", (X, Constant(P)))) == f"(?x NOT IN ({P}))"
    assert render_expression(Aggregate("GROUP_CONCAT", X, True, '"')) == 'GROUP_CONCAT(DISTINCT ?x; SEPARATOR = "\\"")'
    assert render_expression(Aggregate("COUNT", None, False)) == "COUNT(*)"


def test_solution_modifiers_become_one_select():
    rows = Values((X, Y), ((P, None),))
    modified = Slice(Distinct(Project(OrderBy(rows, ((X, True),)), (X,))), 1, 2)
    assert render_query(modified) == (
        f"SELECT DISTINCT ?x WHERE {{ VALUES (?x ?y) {{ ({P} UNDEF) }} }} ORDER BY DESC(?x) LIMIT 2 OFFSET 1"
    )


def test_variables_without_a_name_in_sparql():
    hidden, blank = Variable("_:[aggregate 1]"), Variable("_:b")
    counted = Group(Bgp((TriplePattern(X, P, blank),)), ((X, X),), ((hidden, Aggregate("COUNT", None, False)),))
    text = render_query(Project(Extend(counted, Z, hidden), (X, Z)))
    assert text == (
        f"SELECT ?x ?z WHERE {{ {{ {{ SELECT ?x (COUNT(*) AS ?hidden_5f__3a__5b_aggregate_20_1_5d_) "
        f"WHERE {{ ?x {P} _:hidden_5f__3a_b . }} GROUP BY ?x }} }} "
        f"BIND (?hidden_5f__3a__5b_aggregate_20_1_5d_ AS ?z) }}"
    )


def test_windows():
    assert render_pattern(Windowed("<w>", Bgp(()))) == "{ WINDOW <w> {  } }"


def test_what_is_read_again_has_the_same_answers():
    for seed in range(150):
        pattern, dataset, text = case(seed, 2)
        query = parse_query(text, range="PT1H")
        window = {f"<{query.windows[0].name}>": WindowGraphs(dataset.default)}
        again = evaluate(query.pattern, Dataset(dataset.default, dataset.named, window))
        assert bag(again) == bag(evaluate(pattern, dataset)), text
