"""Conditions decided for many rows, against the expression evaluated for each."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spectra.dictionary.spans import Spans
from spectra.planner.conditions import Condition
from spectra.sparql.expressions import Context, compile_expression
from spectra.sparql.syntax import Call, Constant, Expression, Variable

XSD = "http://www.w3.org/2001/XMLSchema#"
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def spans(texts: list[str]) -> Spans:
    octets = [text.encode() for text in texts]
    length = np.array([len(o) for o in octets], np.int32)
    return Spans(
        np.frombuffer(bytearray(b"".join(octets)), np.uint8), np.cumsum(length, dtype=np.int64) - length, length
    )


def literal(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


def random_literal(rng: random.Random) -> str:
    """Numbers that are close to each other, of all types and sizes, and what is no number."""
    digits = "".join(rng.choice("01259") for _ in range(rng.choice((1, 2, 3, 14, 15, 16, 17, 30))))
    if rng.random() < 0.7:
        digits = rng.choice(("1", "10", "0.1", "1.0", "100000000000000", "999999999999999", "0.30000000000000", digits))
    if rng.random() < 0.5 and "." not in digits:
        at = rng.randrange(len(digits) + 1)
        digits = f"{digits[:at]}.{digits[at:]}"
    sign = rng.choice(("", "", "", "-", "+"))
    exponent = rng.choice(("", "", "E0", "e1", "E-1", "E+5", "E-22", "E22", "E23", "E300", "E-400", "E"))
    datatype = rng.choice(("integer", "decimal", "double", "double", "float", "int", "byte"))
    odd = rng.choice(("", "NaN", "INF", "-", ".", "+", " 1", "1 ", "0x1", "1.2.3", "1e5"))
    lexical = f"{sign}{digits}{exponent if datatype in ('double', 'float') else ''}"
    return literal(odd if rng.random() < 0.1 else lexical, datatype)


def random_term(rng: random.Random) -> str:
    others = ["<urn:a>", "_:b", '"a"', '"a"@en', "", literal("2024-01-01", "date"), literal("true", "boolean")]
    return rng.choice(others) if rng.random() < 0.15 else random_literal(rng)


def random_arithmetic(rng: random.Random, depth: int) -> Expression:
    if depth and rng.random() < 0.7:
        operands = tuple(random_arithmetic(rng, depth - 1) for _ in range(2))
        return Call("unary-", operands[:1]) if rng.random() < 0.1 else Call(rng.choice("++--**/"), operands)
    return Variable(rng.choice("xy")) if rng.random() < 0.7 else Constant(random_literal(rng))


def random_condition(rng: random.Random, depth: int) -> Expression:
    if depth and rng.random() < 0.5:
        parts = tuple(random_condition(rng, depth - 1) for _ in range(2))
        return Call("!", parts[:1]) if rng.random() < 0.2 else Call(rng.choice(("&&", "||")), parts)
    ends: list[Expression] = [Variable(rng.choice("xy")), Constant(random_literal(rng))]
    if rng.random() < 0.2:
        ends[1] = Variable("y")
    if rng.random() < 0.4:
        ends = [random_arithmetic(rng, 2), random_arithmetic(rng, 1)]
    rng.shuffle(ends)
    return Call(rng.choice(OPERATORS), tuple(ends))


@pytest.mark.parametrize("seed", range(40))
def test_the_decisions_are_those_of_the_expression(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(25):
        expression = random_condition(rng, 2)
        condition, compiled = Condition(expression), compile_expression(expression)
        assert condition.variables == compiled.variables
        rows = [[random_term(rng) for _ in compiled.variables] for _ in range(12)]
        columns = [spans([row[at] for row in rows]) for at in range(len(compiled.variables))]
        wanted = [compiled.holds([text or None for text in row], Context()) for row in rows]
        assert condition.holds(columns, len(rows)).tolist() == wanted, expression


def test_comparisons_of_plain_numbers_never_reach_the_expression() -> None:
    condition = Condition(Call("<", (Variable("x"), Constant(literal("2.5", "decimal")))))
    condition._decided = None  # type: ignore[method-assign, assignment]
    numbers = [
        literal("2", "integer"),
        literal("2.49", "decimal"),
        literal("2.5", "decimal"),
        literal("25E-1", "double"),
    ]
    assert condition.holds([spans(numbers)], 4).tolist() == [True, True, False, False]


def test_no_more_decisions_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectra.planner.conditions._KEPT", 10)
    condition = Condition(Call("ISIRI", (Variable("x"),)))
    for number in range(100):
        assert condition.holds([spans([f"<urn:{number}>", '"a"'])], 2).tolist() == [True, False]
        assert len(condition._known) <= 10


def test_a_condition_without_variables_holds_for_all_rows_or_none() -> None:
    for number, holds in (("1", True), ("2", False)):
        condition = Condition(Call("=", (Constant(literal("1", "integer")), Constant(literal(number, "integer")))))
        assert condition.holds([], 3).tolist() == [holds] * 3
