"""The SPARQL algebra over small graphs, with answers worked out by hand."""

from __future__ import annotations

import pytest

from spectra.errors import UnsupportedError
from spectra.oracle import Dataset, TripleSet, WindowGraphs, evaluate
from spectra.sparql.syntax import (
    Aggregate,
    Bgp,
    Call,
    Constant,
    Distinct,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    Service,
    Slice,
    Union_,
    Values,
    Variable,
    Windowed,
)
from tests.unit.oracle.build import XSD, X, Y, Z, bag, bgp, integer, iri, pairs, triples

A, B = iri("a"), iri("b")
UNIT = Bgp(())


def answer(pattern: Pattern, data: str = "") -> list[dict[str, str]]:
    return evaluate(pattern, Dataset(TripleSet(triples(data))))


def value_of(function: str, *arguments: str) -> str | None:
    call = Call(function, tuple(Constant(argument) for argument in arguments))
    return answer(Extend(UNIT, X, call))[0].get("x")


def values_of(variable: Variable, *terms: str | None) -> Values:
    return Values((variable,), tuple((term,) for term in terms))


def test_the_empty_pattern_has_one_solution_that_binds_nothing():
    assert answer(UNIT) == [{}]


def test_a_variable_twice_in_a_triple_pattern_matches_loops_only():
    assert pairs(answer(bgp("?x p ?x"), "a p a, a p b, b p b")) == ["a", "b"]


def test_blank_nodes_of_a_pattern_count_like_variables():
    found = answer(Project(bgp("?x p _b"), (X,)), "a p b, a p c")
    assert pairs(found) == ["a", "a"]


def test_join_multiplies_and_keeps_the_unbound_compatible():
    left = Values((X, Y), ((A, None), (A, B)))
    right = Values((Y, Z), ((B, A), (A, A)))
    twice, once = {"x": A, "y": B, "z": A}, {"x": A, "y": A, "z": A}
    assert bag(answer(Join(left, right))) == bag([twice, once, twice])


def test_left_join_keeps_a_solution_when_its_condition_fails_or_errs():
    data = "a p 1, b p 2, c p 3, a q 5, b q 1"
    condition = Call(">", (Z, Y))
    found = answer(LeftJoin(bgp("?x p ?y"), bgp("?x q ?z"), condition), data)
    assert pairs(without_y(found)) == ["a 5", "b", "c"]
    failing = Call(">", (Variable("nowhere"), Y))
    assert pairs(without_y(answer(LeftJoin(bgp("?x p ?y"), bgp("?x q ?z"), failing), data))) == [
        "a",
        "b",
        "c",
    ]


def without_y(found: list[dict[str, str]]) -> list[dict[str, str]]:
    return [
        {name: text.replace(f"^^<{XSD}integer>", "").strip('"') for name, text in solution.items() if name != "y"}
        for solution in found
    ]


def test_minus_needs_a_variable_in_common():
    data = "a p b, c p d, a q b"
    assert pairs(answer(Minus(bgp("?x p ?y"), bgp("?x q ?z")), data)) == ["c d"]
    assert pairs(answer(Minus(bgp("?x p ?y"), bgp("a q b")), data)) == ["a b", "c d"]


def test_minus_looks_only_at_variables_bound_on_both_sides():
    left = Values((X, Y), ((A, None), (B, A)))
    right = Values((Y, Z), ((A, A),))
    assert pairs(answer(Minus(left, right))) == ["a"]


def test_union_keeps_duplicates_and_distinct_removes_them():
    both = Union_(bgp("?x p ?y"), bgp("?x p ?y"))
    assert pairs(answer(both, "a p b")) == ["a b", "a b"]
    assert pairs(answer(Reduced(both), "a p b")) == ["a b", "a b"]
    assert pairs(answer(Distinct(both), "a p b")) == ["a b"]


def test_exists_sees_the_values_of_the_solution_in_its_filters():
    data = "a p 1, b p 2, a q 1, b q 1"
    same = Filter(Call("=", (Y, Z)), bgp("?x q ?z"))
    assert [s["x"] for s in answer(Filter(Exists(same, False), bgp("?x p ?y")), data)] == [A]
    assert [s["x"] for s in answer(Filter(Exists(same, True), bgp("?x p ?y")), data)] == [B]


def test_exists_with_a_variable_that_its_pattern_assigns():
    data = "a p b, c p d"
    assert pairs(answer(Filter(Exists(values_of(X, A), False), bgp("?x p ?y")), data)) == ["a b"]
    bound = Extend(UNIT, X, Constant(iri("c")))
    assert pairs(answer(Filter(Exists(bound, False), bgp("?x p ?y")), data)) == ["c d"]
    counted = Group(bgp("?y p ?x"), ((X, X),), ((Z, Aggregate("COUNT", None, False)),))
    assert pairs(answer(Filter(Exists(Project(counted, (X,)), False), bgp("?x q ?y")), "a p b, b q c, c q c")) == [
        "b c"
    ]


def test_a_sub_select_hides_what_it_does_not_project():
    # ?y inside is another ?y
    inner = Project(bgp("?x q ?y"), (X,))
    assert pairs(answer(Filter(Exists(inner, False), bgp("?x p ?y")), "a p b, a q c")) == ["a b"]


def test_graph_and_window_bind_their_names():
    dataset = Dataset(
        TripleSet(triples("s p s")),
        {iri("g"): TripleSet(triples("a p b")), iri("h"): TripleSet(triples("b p a"))},
        {
            iri("w"): WindowGraphs(
                TripleSet(triples("c p d")), {iri("e"): TripleSet(triples("c p d"))}, {iri("e"): 1500}
            )
        },
    )
    assert pairs(evaluate(bgp("?x p ?y"), dataset)) == ["s s"]
    assert pairs(evaluate(Graph(Z, bgp("?x p ?y")), dataset)) == ["a b g", "b a h"]
    assert pairs(evaluate(Graph(iri("g"), bgp("?x p ?y")), dataset)) == ["a b"]
    assert evaluate(Graph(iri("none"), UNIT), dataset) == []
    assert pairs(evaluate(Graph(X, bgp("?x p ?y")), dataset)) == []
    assert pairs(evaluate(Windowed(iri("w"), bgp("?x p ?y")), dataset)) == ["c d"]
    assert pairs(evaluate(Windowed(Z, bgp("?x p ?y")), dataset)) == ["c d w"]
    inside = Windowed(iri("w"), Graph(Z, bgp("?x p ?y")))
    assert pairs(evaluate(inside, dataset)) == ["c d e"]
    timed = Extend(inside, Variable("t"), Call("<urn:spectra:time>", (Z,)))
    assert evaluate(timed, dataset)[0]["t"] == f'"1970-01-01T00:00:01.500Z"^^<{XSD}dateTime>'


def test_a_failing_bind_leaves_its_variable_unbound():
    assert answer(Extend(UNIT, X, Call("/", (Constant(integer(1)), Constant(integer(0)))))) == [{}]


# --- groups -------------------------------------------------------------------------------


def grouped(function: str, *terms: str | None, distinct: bool = False, separator: str | None = None) -> str | None:
    aggregate = Aggregate(function, X, distinct, separator)
    return answer(Group(values_of(X, *terms), (), ((Y, aggregate),)))[0].get("y")


ONE, TWO = integer(1), integer(2)
HALF = f'"0.5"^^<{XSD}decimal>'


@pytest.mark.parametrize(
    ("function", "terms", "expected"),
    [
        ("COUNT", [], integer(0)),
        ("COUNT", [ONE, None, ONE], integer(2)),
        ("SUM", [], integer(0)),
        ("SUM", [ONE, HALF], f'"1.5"^^<{XSD}decimal>'),
        ("SUM", [ONE, '"a"'], None),
        ("SUM", [ONE, None], None),
        ("AVG", [], integer(0)),
        ("AVG", [ONE, TWO], f'"1.5"^^<{XSD}decimal>'),
        ("AVG", [ONE, ONE, TWO], f'"1.333333333333333333333333333"^^<{XSD}decimal>'),
        ("MIN", [TWO, ONE, integer("010")], ONE),
        ("MAX", [TWO, integer("010"), integer("9")], integer("010")),
        ("MIN", ['"b"', A, ONE], A),
        ("MIN", [], None),
        ("MIN", [ONE, None], None),
        ("SAMPLE", [None, TWO, ONE], ONE),
        ("SAMPLE", [], None),
        ("GROUP_CONCAT", ['"b"', '"a"@en', ONE], '"1 a b"'),
        ("GROUP_CONCAT", [], '""'),
        ("GROUP_CONCAT", ["_:b"], None),
    ],
)
def test_set_functions(function, terms, expected):
    assert grouped(function, *terms) == expected


def test_set_functions_over_distinct_terms():
    assert grouped("COUNT", ONE, ONE, integer("01"), distinct=True) == integer(2)
    assert grouped("SUM", ONE, ONE, integer("01"), distinct=True) == integer(2)
    assert grouped("GROUP_CONCAT", '"a"', '"a"', '"b"', distinct=True, separator="-") == '"a-b"'


def test_no_solutions_make_one_group_without_keys_and_none_with_keys():
    count = ((Y, Aggregate("COUNT", None, False)),)
    assert answer(Group(bgp("?x p ?z"), (), count)) == [{"y": integer(0)}]
    assert answer(Group(bgp("?x p ?z"), ((X, X),), count)) == []


def test_errors_in_keys_group_together_as_unbound():
    keys = ((Z, Call("/", (Constant(ONE), X))),)
    found = answer(Group(values_of(X, integer(0), integer(0), ONE), keys, ((Y, Aggregate("COUNT", None, False)),)))
    assert bag(found) == bag([{"y": integer(2)}, {"z": f'"1"^^<{XSD}decimal>', "y": integer(1)}])


def test_count_distinct_star_does_not_see_blank_nodes_of_the_pattern():
    count = Aggregate("COUNT", None, True)
    assert answer(Group(bgp("?x p _b"), (), ((Y, count),)), "a p b, a p c") == [{"y": integer(1)}]


# --- sequences ----------------------------------------------------------------------------


def test_order_by_puts_no_value_before_blank_nodes_iris_and_literals():
    terms = ['"a"', integer(10), A, None, "_:b", integer(9), '"10"^^<urn:x>']
    found = answer(OrderBy(values_of(X, *terms), ((X, False),)))
    assert [s.get("x") for s in found] == [None, "_:b", A, integer(9), integer(10), '"a"', '"10"^^<urn:x>']
    found = answer(OrderBy(values_of(X, *terms), ((X, True),)))
    assert [s.get("x") for s in found][-1] is None


def test_slices_are_taken_in_order():
    rows = values_of(X, *(integer(i) for i in (3, 1, 2)))
    assert answer(Slice(OrderBy(rows, ((X, True),)), 1, 1)) == [{"x": integer(2)}]
    assert answer(Slice(Project(OrderBy(rows, ((X, False),)), (X,)), 2, None)) == [{"x": integer(3)}]
    assert answer(Slice(rows, 0, 2)) == [{"x": integer(1)}, {"x": integer(2)}]
    assert answer(Slice(rows, 0, 0)) == []


def test_later_keys_of_order_by_decide_ties():
    rows = Values((X, Y), ((A, ONE), (B, ONE), (A, TWO)))
    found = answer(OrderBy(rows, ((Y, True), (X, True))))
    assert [(s["x"], s["y"]) for s in found] == [(A, TWO), (B, ONE), (A, ONE)]


def test_service_is_refused():
    with pytest.raises(UnsupportedError, match="SERVICE"):
        answer(Service(A, True))


# --- expressions --------------------------------------------------------------------------

TRUE, FALSE = f'"true"^^<{XSD}boolean>', f'"false"^^<{XSD}boolean>'
DOUBLE = f"^^<{XSD}double>"


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("=", [integer("01"), integer(1)], TRUE),
        ("SAMETERM", [integer("01"), integer(1)], FALSE),
        ("STR", [integer("01")], '"01"'),
        ("=", ['"a"^^<urn:t>', '"b"^^<urn:t>'], None),
        ("=", ['"a"^^<urn:t>', '"a"^^<urn:t>'], TRUE),
        ("=", [A, '"a"'], FALSE),
        ("!=", ["_:a", "_:b"], TRUE),
        ("<", [A, B], None),
        ("<", ['"a"', '"b"'], TRUE),
        ("=", [f'"NaN"{DOUBLE}', f'"NaN"{DOUBLE}'], FALSE),
        ("!=", [f'"NaN"{DOUBLE}', f'"NaN"{DOUBLE}'], TRUE),
        ("=", [f'"1.0"^^<{XSD}decimal>', f'"1e0"{DOUBLE}'], TRUE),
        ("+", [integer(2**63), integer(1)], integer(2**63 + 1)),
        ("+", [integer(1), f'"0.10"^^<{XSD}decimal>'], f'"1.1"^^<{XSD}decimal>'),
        ("+", [f'"1"^^<{XSD}byte>', f'"1"^^<{XSD}byte>'], integer(2)),
        ("+", [integer(1), '"1"'], None),
        ("/", [integer(1), integer(2)], f'"0.5"^^<{XSD}decimal>'),
        ("/", [f'"1"{DOUBLE}', integer(0)], f'"INF"{DOUBLE}'),
        ("*", [f'"1.5"{DOUBLE}', integer(2)], f'"3.0E0"{DOUBLE}'),
        ("+", [f'"0.1"^^<{XSD}float>', integer(0)], f'"1.0E-1"^^<{XSD}float>'),
        ("unary-", [integer(3)], integer(-3)),
        ("ROUND", [f'"-2.5"^^<{XSD}decimal>'], f'"-2"^^<{XSD}decimal>'),
        ("ROUND", [f'"2.5"{DOUBLE}'], f'"3.0E0"{DOUBLE}'),
        ("CEIL", [f'"2.1"^^<{XSD}decimal>'], f'"3"^^<{XSD}decimal>'),
        ("DATATYPE", ['"a"@en'], "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"),
        ("STRDT", ['"01"', f"<{XSD}integer>"], integer("01")),
        ("STRLANG", ['"a"', '"EN"'], '"a"@en'),
        ("UCASE", ['"a\\"b"@en'], '"A\\"B"@en'),
        ("CONCAT", ['"a"', '"\\n"'], '"a\\n"'),
        ("REGEX", ['"abc"', '"^A"', '"i"'], TRUE),
        ("YEAR", [f'"2016-07-01T10:00:00Z"^^<{XSD}dateTime>'], integer(2016)),
        ("ISNUMERIC", [f'"300"^^<{XSD}byte>'], FALSE),
        ("ISBLANK", ["_:a"], TRUE),
        ("IN", [integer("01"), A, integer(1)], TRUE),
        ("IN", [integer(1), '"x"^^<urn:t>', integer(2)], None),
        ("NOT IN", [A], TRUE),
        (f"<{XSD}integer>", ['"7"'], integer(7)),
        (f"<{XSD}integer>", [f'"2.9"{DOUBLE}'], integer(2)),
        (f"<{XSD}byte>", ['"300"'], None),
        (f"<{XSD}string>", [f'"1"{DOUBLE}'], '"1"'),
        (f"<{XSD}string>", [A], f'"{A[1:-1]}"'),
        (f"<{XSD}boolean>", ['"1"'], TRUE),
        (f"<{XSD}double>", [TRUE], f'"1.0E0"{DOUBLE}'),
        (f"<{XSD}dateTime>", ['"yesterday"'], None),
    ],
)
def test_functions(function, arguments, expected):
    assert value_of(function, *arguments) == expected


def test_errors_do_not_hide_what_decides():
    error = Call("/", (Constant(integer(1)), Constant(integer(0))))
    true, false = Constant(TRUE), Constant(FALSE)
    cases = {
        ("||", error, true): TRUE,
        ("||", error, false): None,
        ("&&", error, false): FALSE,
        ("&&", error, true): None,
        ("COALESCE", error, Y, true): TRUE,
        ("IF", true, false, error): FALSE,
        ("IF", error, false, true): None,
        ("!", error): None,
        ("BOUND", X): FALSE,
    }
    for (function, *arguments), expected in cases.items():
        assert answer(Extend(UNIT, Z, Call(function, tuple(arguments))))[0].get("z") == expected, function


@pytest.mark.parametrize(
    ("text", "kept"),
    [(TRUE, True), ('""', False), ('"a"', True), (integer(0), False), (f'"NaN"{DOUBLE}', False), (A, False),
     (f'"x"^^<{XSD}integer>', False), ('"a"@en', True)],
)  # fmt: skip
def test_effective_boolean_values(text, kept):
    assert bool(answer(Filter(Constant(text), UNIT))) is kept


def test_now_is_the_instant_of_the_evaluation():
    assert evaluate(Extend(UNIT, X, Call("NOW", ())), Dataset(), now=1) == [
        {"x": f'"1970-01-01T00:00:00.001Z"^^<{XSD}dateTime>'}
    ]


def test_what_cannot_be_recomputed_is_refused():
    with pytest.raises(UnsupportedError, match="RAND"):
        answer(Extend(UNIT, X, Call("RAND", ())))
    with pytest.raises(UnsupportedError, match="urn:nothing"):
        answer(Extend(UNIT, X, Call("<urn:nothing>", ())))
