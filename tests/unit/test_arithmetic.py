"""Arithmetic by columns, against the expression evaluated for each row."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spectra.dictionary.dictionary import Dictionary
from spectra.operators.relational.computation import Computation
from spectra.planner.arithmetic import Arithmetic, Comparison
from spectra.sparql.expressions import Context, compile_expression
from spectra.sparql.syntax import Call, Constant, Variable
from tests.unit.test_conditions import literal, random_arithmetic, random_term, spans

X, Y = Variable("x"), Variable("y")


def computed(expression, rows):
    """The texts of the values, and how many of the rows were left to the expression."""
    dictionary = Dictionary()
    arithmetic = Arithmetic.of(expression)
    assert arithmetic is not None
    compiled = compile_expression(expression)
    left = []

    def others(combinations):
        left.extend(combinations)
        texts = [[dictionary.text(term) or None for term in row] for row in combinations.tolist()]
        values = [compiled.evaluate(row, Context()) for row in texts]
        return np.array([dictionary.constant(value) if value else 0 for value in values], np.int32)

    ids = [[dictionary.constant(text) if text else 0 for text in row] for row in rows]
    computation = Computation(dictionary, arithmetic, compiled.variables, others)
    found = computation(np.array(ids, np.int32).reshape(len(rows), len(compiled.variables)))
    return [dictionary.text(term) or None for term in found.tolist()], len(left)


@pytest.mark.parametrize("seed", range(60))
def test_values_are_those_of_the_expression(seed):
    rng = random.Random(seed)
    for _ in range(20):
        expression = Call(rng.choice("+-*/"), (random_arithmetic(rng, 1), random_arithmetic(rng, 1)))
        if Arithmetic.of(expression) is None:
            continue
        compiled = compile_expression(expression)
        rows = [[random_term(rng) for _ in compiled.variables] for _ in range(12)]
        wanted = [compiled.evaluate([text or None for text in row], Context()) for row in rows]
        assert computed(expression, rows)[0] == wanted, expression


def test_plain_numbers_never_reach_the_expression():
    expression = Call("-", (Call("*", (X, Constant(literal("2", "integer")))), Y))
    rows = [
        [literal("3", "integer"), literal("7", "integer")],
        [literal("-0.5", "decimal"), literal("1", "integer")],
        [literal("1.25", "decimal"), literal("2.50", "decimal")],
        [literal("1e-1", "double"), literal("0.2", "double")],
        [literal("-999999999999999", "integer"), literal("999999999999999", "integer")],
    ]
    wanted = [
        literal("-1", "integer"),
        literal("-2", "decimal"),
        literal("0", "decimal"),
        literal("0.0E0", "double"),
        literal("-2999999999999997", "integer"),
    ]
    assert computed(expression, rows) == (wanted, 0)


def test_what_is_too_large_or_too_fine_is_left_to_the_expression():
    rows = [[literal(number, "decimal")] for number in ("999999999999999", "0.0000000001", "0.5")]
    texts, left = computed(Call("*", (X, X)), rows)
    assert texts == [
        literal(text, "decimal") for text in ("999999999999998000000000000001", "0.00000000000000000001", "0.25")
    ]
    assert left == 2


def test_an_exact_quotient_is_left_to_the_expression():
    rows = [[literal("1", "integer"), literal("3", "integer")], [literal("1", "double"), literal("4", "double")]]
    assert computed(Call("/", (X, Y)), rows) == (
        [literal("0.3333333333333333333333333333", "decimal"), literal("2.5E-1", "double")],
        1,
    )


def test_what_is_not_made_of_numbers():
    assert Arithmetic.of(Constant(literal("1", "integer"))) is None
    assert Arithmetic.of(Call("STRLEN", (X,))) is None
    assert Arithmetic.of(Call("+", (X, Constant('"a"')))) is None
    assert Comparison.of(np.less, X, Constant("<urn:a>")) is None
    assert Comparison.of(np.less, Call("+", (X, Y)), Constant(literal("1", "float"))) is not None


def test_a_comparison_knows_what_it_decides():
    comparison = Comparison.of(np.greater, Call("+", (X, Y)), Constant(literal("10", "integer")))
    assert comparison is not None
    first = [literal("9.5", "decimal"), literal("3", "double"), literal("NaN", "double"), literal("9", "float"), ""]
    second = [literal("1", "integer"), literal("8", "double"), literal("1", "double"), literal("9", "float"), "<urn:a>"]
    decided, known = comparison.decide([spans(first), spans(second)])
    assert known.tolist() == [True, True, False, False, False]
    assert decided[:2].tolist() == [True, True]
