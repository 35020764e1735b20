"""SPARQL 1.1 expressions: every operator, function and cast, with results worked out by hand."""

from __future__ import annotations

import itertools
import re
from decimal import Decimal, localcontext

import pytest

from spectra.errors import InternalError, QueryError, UnsupportedError
from spectra.sparql.expressions import Compiled, Context, compile_expression, variables_of
from spectra.sparql.syntax import Aggregate, Bgp, Call, Constant, Exists, Expression, Variable
from spectra.sparql.values import (
    compare,
    effective_boolean_value,
    numeric_add,
    numeric_divide,
    order_key,
    value_of,
)

XSD = "http://www.w3.org/2001/XMLSchema#"
A = "<http://example.org/a>"
B = "<http://example.org/b>"
NODE = "_:n"
TRUE = f'"true"^^<{XSD}boolean>'
FALSE = f'"false"^^<{XSD}boolean>'
ERROR = None


def typed(lexical: object, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


def integer(value: object) -> str:
    return typed(value, "integer")


def decimal(value: object) -> str:
    return typed(value, "decimal")


def double(value: object) -> str:
    return typed(value, "double")


def single(value: object) -> str:
    return typed(value, "float")


def moment(value: str) -> str:
    return typed(value, "dateTime")


def day(value: str) -> str:
    return typed(value, "date")


def boolean(value: bool | None) -> str | None:
    return None if value is None else TRUE if value else FALSE


UNKNOWN_X = '"x"^^<http://example.org/unknown>'
UNKNOWN_Y = '"y"^^<http://example.org/unknown>'
ILL_TYPED = integer("many")
NAN = double("NaN")


def call(function: str, *arguments: str | Expression | None) -> Call:
    """A call on constants; None is an expression that fails."""
    return Call(
        function,
        tuple(
            Variable("unbound") if argument is None else Constant(argument) if isinstance(argument, str) else argument
            for argument in arguments
        ),
    )


def evaluate(function: str, *arguments: str | None, base: str | None = None) -> str | None:
    """The result on constants, which must be the result on variables too."""
    constant = compile_expression(call(function, *arguments), base=base)
    result = constant.evaluate([None] * len(constant.variables), Context())
    names = [f"v{place}" for place in range(len(arguments))]
    variable = compile_expression(Call(function, tuple(map(Variable, names))), base=base)
    bound = dict(zip(names, arguments, strict=True))
    assert variable.evaluate([bound[name] for name in variable.variables], Context()) == result
    assert variable.holds([bound[name] for name in variable.variables], Context()) is (
        result is not None and effective_boolean_value(value_of(result)) is True
    )
    return result


# --- equality -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (integer(1), integer("01"), True),
        (integer(1), integer(2), False),
        (integer(1), decimal("1.0"), True),
        (integer(1), double("1e0"), True),
        (integer(1), typed(1, "byte"), True),
        (integer(16777217), single("16777216"), True),  # promoted to float, where both are the same
        (integer(16777217), double("16777216"), False),
        (decimal("0.1"), double("0.1"), True),  # promoted to double
        (decimal("0.1"), single("0.1"), True),
        (single("0.1"), double("0.1"), False),
        (decimal("0.1000000000000000000000000000001"), decimal("0.1"), False),
        (double("0.0"), double("-0.0"), True),
        (NAN, NAN, False),
        (double("INF"), single("INF"), True),
        ('"a"', '"a"', True),
        ('"a"', '"b"', False),
        ('"a"@en', '"a"@en', True),
        ('"a"@en', '"a"@fr', False),
        ('"a"@en', '"a"', False),
        ('"a"@en', UNKNOWN_X, False),
        ('"a"@en', ILL_TYPED, False),
        (TRUE, typed(1, "boolean"), True),
        (TRUE, FALSE, False),
        (A, A, True),
        (A, B, False),
        (A, '"a"', False),
        (A, UNKNOWN_X, False),
        (NODE, NODE, True),
        (NODE, "_:m", False),
        (NODE, ILL_TYPED, False),
        (UNKNOWN_X, UNKNOWN_X, True),
        (UNKNOWN_X, UNKNOWN_Y, ERROR),
        (UNKNOWN_X, integer(1), ERROR),
        (UNKNOWN_X, '"x"', ERROR),
        (UNKNOWN_X, ILL_TYPED, ERROR),
        (ILL_TYPED, ILL_TYPED, True),
        (ILL_TYPED, integer("few"), ERROR),
        (ILL_TYPED, integer(1), ERROR),
        (ILL_TYPED, '"many"', ERROR),
        (integer(1), '"1"', False),
        (integer(1), TRUE, False),
        (integer(" 1"), integer(1), ERROR),  # RDF does not collapse whitespace: the first is ill-typed
        (typed(128, "byte"), integer(128), ERROR),
        (typed(0, "positiveInteger"), integer(0), ERROR),
        (typed(-128, "byte"), integer(-128), True),
        (typed(255, "unsignedByte"), integer(255), True),
        (moment("2008-04-01T00:00:00Z"), moment("2008-04-01T00:00:00.00Z"), True),
        (moment("2002-04-02T23:00:00-04:00"), moment("2002-04-03T02:00:00-01:00"), True),
        (moment("1999-12-31T24:00:00"), moment("2000-01-01T00:00:00"), True),
        (moment("2005-04-04T24:00:00"), moment("2005-04-04T00:00:00"), False),
        (moment("2002-04-02T23:00:00"), moment("2002-04-02T23:00:00+06:00"), ERROR),
        (moment("2002-04-02T23:00:00"), moment("2002-04-05T23:00:00+06:00"), False),
        (moment("2006-08-23T00:00:00Z"), day("2006-08-23Z"), False),
        (day("2006-08-23"), day("2006-08-23"), True),
        (day("2006-08-23"), day("2006-08-23Z"), ERROR),
        (day("2006-08-23"), day("2001-01-01Z"), False),
        (typed("PT60M", "dayTimeDuration"), typed("PT1H", "dayTimeDuration"), True),
        (typed("P1D", "dayTimeDuration"), typed("-PT24H", "dayTimeDuration"), False),
        (typed("2008-04-01T00:00:00Z", "dateTimeStamp"), moment("2008-04-01T00:00:00Z"), True),
        (typed("2008-04-01T00:00:00", "dateTimeStamp"), moment("2008-04-01T00:00:00"), ERROR),
    ],
)
def test_equality(left, right, expected):
    for first, second in ((left, right), (right, left)):
        assert evaluate("=", first, second) == boolean(expected)
        assert evaluate("!=", first, second) == boolean(None if expected is None else not expected)
        assert evaluate("IN", first, second) == boolean(expected)


def test_same_term_is_about_texts():
    assert evaluate("SAMETERM", integer(1), integer(1)) == TRUE
    assert evaluate("SAMETERM", integer(1), integer("01")) == FALSE
    assert evaluate("SAMETERM", NAN, NAN) == TRUE
    assert evaluate("SAMETERM", A, None) is ERROR
    assert compile_expression(call("SAMETERM", call("+", integer(1), integer(1)), integer(2))).holds([], Context())


# --- order --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (integer(1), integer(2), -1),
        (integer(10), integer("9"), 1),
        (integer(1), decimal("1.0"), 0),
        (decimal("0.1"), double("0.2"), -1),
        (double("-INF"), integer(-(10**400)), 0),  # the integer is promoted to -INF
        (double("-INF"), integer(-(10**300)), -1),
        ('"a"', '"b"', -1),
        ('"Z"', '"a"', -1),
        ('"\U00010000"', '"\uffff"', 1),  # by code point
        ('""', '"a"', -1),
        (FALSE, TRUE, -1),
        (moment("2008-10-01T00:00:00Z"), moment("2008-10-01T01:00:00+02:00"), 1),
        (moment("2008-10-01T00:00:00"), moment("2008-10-01T14:00:00Z"), ERROR),
        (moment("2008-10-01T00:00:00"), moment("2008-10-01T14:00:00.0001Z"), -1),
        (moment("2008-10-03T00:00:00"), moment("2008-10-01T00:00:00Z"), 1),
        (moment("-0001-01-01T00:00:00Z"), moment("0001-01-01T00:00:00Z"), -1),
        (moment("12000-01-01T00:00:00Z"), moment("9999-01-01T00:00:00Z"), 1),
        (day("2006-08-23Z"), day("2006-08-22"), 1),
        (day("2006-08-23"), moment("2006-08-23T00:00:00"), ERROR),
        (typed("PT1H", "dayTimeDuration"), typed("PT61M", "dayTimeDuration"), -1),
        ('"a"@en', '"b"@en', ERROR),
        ('"a"', '"b"@en', ERROR),
        (A, B, ERROR),
        (NODE, NODE, ERROR),
        (integer(1), '"2"', ERROR),
        (integer(1), TRUE, ERROR),
        (UNKNOWN_X, UNKNOWN_X, ERROR),
        (ILL_TYPED, integer(1), ERROR),
    ],
)
def test_order(left, right, expected):
    operators = {
        "<": lambda sign: sign < 0,
        "<=": lambda sign: sign <= 0,
        ">": lambda sign: sign > 0,
        ">=": lambda sign: sign >= 0,
    }
    for operator, of in operators.items():
        assert evaluate(operator, left, right) == boolean(None if expected is None else of(expected))
        assert evaluate(operator, right, left) == boolean(None if expected is None else of(-expected))
    assert compare(left, right) == expected
    if expected is not None:
        assert (order_key(left) < order_key(right)) == (expected < 0) or expected == 0


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "="])
def test_nan_is_in_no_order_with_anything(operator):
    assert evaluate(operator, NAN, integer(1)) == FALSE
    assert evaluate(operator, integer(1), NAN) == FALSE
    assert evaluate("!=", NAN, integer(1)) == TRUE
    assert compare(NAN, NAN) is None


def test_order_by_puts_unbound_blank_iri_and_literal_in_this_order():
    ordered = [None, "_:a", "_:b", A, B, NAN, integer(-1), decimal("0.5"), double("1e1")]
    ordered += [
        TRUE,
        '"a"',
        '"b"',
        moment("2008-10-01T00:00:00Z"),
        '"a"@de',
        '"a"@en',
        '"b"@de',
        UNKNOWN_X,
        UNKNOWN_Y,
        ILL_TYPED,
    ]
    shuffled = ordered[1::2] + ordered[::2]
    assert sorted(shuffled, key=order_key) == ordered


def test_equal_values_have_equal_order_keys():
    ties = [integer(1), integer("01"), decimal("1.0"), double("1e0"), typed(1, "byte")]
    assert len({order_key(text) for text in ties}) == 1
    assert order_key(moment("2008-10-01T00:00:00Z")) == order_key(moment("2008-10-01T02:00:00+02:00"))


def test_every_pair_of_order_keys_can_be_compared():
    texts = [
        None,
        NODE,
        A,
        '"a"',
        '"a"@en',
        integer(1),
        decimal("1.5"),
        double("2e0"),
        single("INF"),
        NAN,
        TRUE,
    ]
    texts += [
        moment("2008-10-01T00:00:00"),
        day("2008-10-01Z"),
        typed("P1D", "dayTimeDuration"),
        ILL_TYPED,
        UNKNOWN_X,
    ]
    for left, right in itertools.combinations(map(order_key, texts), 2):
        assert (left < right) is not (right < left)


# --- effective boolean value and the logical forms ----------------------------------------

BOOLEAN_VALUES = [
    (TRUE, True),
    (typed(1, "boolean"), True),
    (FALSE, False),
    (typed("yes", "boolean"), False),
    ('"a"', True),
    ('""', False),
    ('"false"', True),
    ('"a"@en', True),
    ('""@en', False),
    (integer(0), False),
    (integer(-3), True),
    (decimal("0.00"), False),
    (double("0.01"), True),
    (NAN, False),
    (double("INF"), True),
    (ILL_TYPED, False),
    (typed(300, "byte"), False),
    (A, ERROR),
    (NODE, ERROR),
    (UNKNOWN_X, ERROR),
    (moment("2008-10-01T00:00:00Z"), ERROR),
    (moment("never"), ERROR),
    (None, ERROR),
]


@pytest.mark.parametrize(("text", "expected"), BOOLEAN_VALUES)
def test_effective_boolean_value(text, expected):
    if text is not None:
        assert effective_boolean_value(value_of(text)) is expected
    variable = compile_expression(Variable("x"))
    assert variable.holds([text], Context()) is (expected is True)
    assert evaluate("!", text) == boolean(None if expected is None else not expected)


# true, false, error with each other, as in the table of 17.2
@pytest.mark.parametrize(
    ("left", "right", "either", "both"),
    [
        (TRUE, TRUE, TRUE, TRUE),
        (TRUE, FALSE, TRUE, FALSE),
        (FALSE, FALSE, FALSE, FALSE),
        (TRUE, None, TRUE, ERROR),
        (FALSE, None, ERROR, FALSE),
        (None, None, ERROR, ERROR),
        (TRUE, A, TRUE, ERROR),
        (FALSE, A, ERROR, FALSE),
    ],
)
def test_logical_or_and_logical_and(left, right, either, both):
    for first, second in ((left, right), (right, left)):
        assert evaluate("||", first, second) == either
        assert evaluate("&&", first, second) == both


def test_a_long_chain_of_connectives_is_no_deep_recursion():
    chain: Expression = call("=", Variable("x"), integer(0))
    for value in range(1, 5000):
        chain = Call("||", (chain, call("=", Variable("x"), integer(value))))
    compiled = compile_expression(chain)
    assert compiled.holds([integer(4999)], Context())
    assert not compiled.holds([integer(5000)], Context())


def test_nesting_without_end_is_refused():
    nested: Expression = Variable("x")
    for _ in range(100_000):
        nested = Call("!", (nested,))
    with pytest.raises(QueryError, match="nested too deeply"):
        compile_expression(nested)


def test_if_evaluates_the_branch_it_takes():
    assert evaluate("IF", TRUE, A, None) == A
    assert evaluate("IF", '""', None, B) == B
    assert evaluate("IF", integer(1), None, B) is ERROR
    assert evaluate("IF", None, A, B) is ERROR
    assert evaluate("IF", A, A, B) is ERROR


def test_coalesce_is_the_first_without_an_error():
    assert evaluate("COALESCE", None, A, B) == A
    assert evaluate("COALESCE", None, None) is ERROR
    assert evaluate("COALESCE") is ERROR
    assert compile_expression(call("COALESCE", call("/", integer(1), integer(0)), B)).evaluate([], Context()) == B


def test_in_and_not_in():
    assert evaluate("IN", integer(2), integer(1), integer("02")) == TRUE
    assert evaluate("IN", integer(2)) == FALSE
    assert evaluate("IN", integer(2), integer(3), None) is ERROR
    assert evaluate("IN", integer(2), None, integer(2)) == TRUE
    assert evaluate("IN", UNKNOWN_X, UNKNOWN_Y) is ERROR
    assert evaluate("IN", None, integer(2)) is ERROR
    assert evaluate("NOT IN", integer(2), integer(1), integer(2)) == FALSE
    assert evaluate("NOT IN", integer(2)) == TRUE
    assert evaluate("NOT IN", integer(2), integer(3), None) is ERROR
    assert evaluate("NOT IN", integer(2), None, integer(2)) == FALSE


def test_bound():
    compiled = compile_expression(call("BOUND", Variable("x")))
    assert compiled.evaluate([A], Context()) == TRUE
    assert compiled.evaluate([None], Context()) == FALSE
    with pytest.raises(QueryError, match="BOUND takes a variable"):
        compile_expression(call("BOUND", A))


# --- arithmetic ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        (integer(2), "+", integer(3), integer(5)),
        (integer("9" * 40), "+", integer(1), integer("1" + "0" * 40)),
        (typed(1, "byte"), "+", typed(2, "short"), integer(3)),
        (integer(1), "+", decimal("0.10"), decimal("1.1")),
        (decimal("0.1"), "+", decimal("0.2"), decimal("0.3")),
        (decimal("1.5"), "+", decimal("1.5"), decimal("3")),
        (
            decimal("1" + "0" * 40),
            "+",
            decimal("0." + "0" * 39 + "1"),
            decimal("1" + "0" * 40 + "." + "0" * 39 + "1"),
        ),
        (double("0.1"), "+", double("0.2"), double("3.0000000000000004E-1")),
        (single("0.1"), "+", single("0.2"), single("3.0E-1")),
        (single("1"), "+", integer(1), single("2.0E0")),
        (single("1"), "+", double("1"), double("2.0E0")),
        (decimal("1"), "+", double("1"), double("2.0E0")),
        (double("INF"), "+", double("-INF"), double("NaN")),
        (integer(2), "-", integer(3), integer(-1)),
        (decimal("0.3"), "-", decimal("0.3"), decimal("0")),
        (integer(6), "*", decimal("0.5"), decimal("3")),
        (integer("1" + "0" * 30), "*", integer("1" + "0" * 30), integer("1" + "0" * 60)),
        (double("1e308"), "*", integer(10), double("INF")),
        (single("1e38"), "*", integer(10), single("INF")),
        (integer(6), "/", integer(3), decimal("2")),
        (integer(1), "/", integer(4), decimal("0.25")),
        (integer(2), "/", integer(3), decimal("0.6666666666666666666666666667")),
        (integer(-1), "/", integer(3), decimal("-0.3333333333333333333333333333")),
        (integer("2" + "0" * 30), "/", integer(3), decimal("6" * 30 + "." + "6" * 18 + "7")),
        (integer(0), "/", integer(5), decimal("0")),
        (integer(1), "/", integer(0), ERROR),
        (decimal("1"), "/", decimal("0.0"), ERROR),
        (double("1"), "/", integer(0), double("INF")),
        (double("-1"), "/", integer(0), double("-INF")),
        (double("1"), "/", double("-0"), double("-INF")),
        (double("0"), "/", double("0"), NAN),
        (NAN, "/", double("0"), NAN),
        (single("1"), "/", single("3"), single("3.3333334E-1")),
        ('"1"', "+", integer(1), ERROR),
        (integer(1), "+", A, ERROR),
        (integer(1), "*", ILL_TYPED, ERROR),
        (TRUE, "+", integer(1), ERROR),
        (None, "+", integer(1), ERROR),
        (integer("9" * 4000), "*", integer("9" * 4000), ERROR),  # an overflow, not a slow query
    ],
)
def test_arithmetic(left, operator, right, expected):
    assert evaluate(operator, left, right) == expected


def test_arithmetic_does_not_depend_on_the_decimal_context_of_the_caller():
    with localcontext() as context:
        context.prec = 3
        compiled = compile_expression(Call("+", (Variable("a"), Variable("b"))))
        assert compiled.evaluate([decimal("1234.5"), decimal("0.06")], Context()) == decimal("1234.56")
        assert evaluate("unary-", decimal("1234.56789")) == decimal("-1234.56789")
        assert evaluate("ROUND", decimal("123456.5")) == decimal("123457")
        assert evaluate(f"<{XSD}string>", double("123456.5")) == '"123456.5"'
        assert compare(moment("2008-04-01T00:00:00.123456Z"), moment("2008-04-01T00:00:00.123457Z")) == -1


def test_unary_operators():
    assert evaluate("unary-", integer("01")) == integer(-1)
    assert evaluate("unary-", typed(1, "byte")) == integer(-1)
    assert evaluate("unary-", decimal("0.0")) == decimal("0")
    assert evaluate("unary-", double("0")) == double("-0.0E0")
    assert evaluate("unary+", decimal("1.50")) == decimal("1.5")
    assert evaluate("unary-", '"1"') is ERROR
    assert evaluate("unary+", A) is ERROR


@pytest.mark.parametrize(
    ("number", "absolute", "ceiling", "floor", "rounded"),
    [
        (integer(-7), integer(7), integer(-7), integer(-7), integer(-7)),
        (typed(-7, "byte"), integer(7), integer(-7), integer(-7), integer(-7)),
        (decimal("2.5"), decimal("2.5"), decimal("3"), decimal("2"), decimal("3")),
        (decimal("-2.5"), decimal("2.5"), decimal("-2"), decimal("-3"), decimal("-2")),
        (decimal("-2.50001"), decimal("2.50001"), decimal("-2"), decimal("-3"), decimal("-3")),
        (decimal("-0.4"), decimal("0.4"), decimal("0"), decimal("-1"), decimal("0")),
        (double("2.5"), double("2.5E0"), double("3.0E0"), double("2.0E0"), double("3.0E0")),
        (double("-2.5"), double("2.5E0"), double("-2.0E0"), double("-3.0E0"), double("-2.0E0")),
        (double("-0.4"), double("4.0E-1"), double("-0.0E0"), double("-1.0E0"), double("-0.0E0")),
        (
            double("0.49999999999999994"),
            double("4.9999999999999994E-1"),
            double("1.0E0"),
            double("0.0E0"),
            double("0.0E0"),
        ),
        (double("1e300"), double("1.0E300"), double("1.0E300"), double("1.0E300"), double("1.0E300")),
        (single("-1.5"), single("1.5E0"), single("-1.0E0"), single("-2.0E0"), single("-1.0E0")),
        (double("-INF"), double("INF"), double("-INF"), double("-INF"), double("-INF")),
        (NAN, NAN, NAN, NAN, NAN),
        ('"1"', ERROR, ERROR, ERROR, ERROR),
        (ILL_TYPED, ERROR, ERROR, ERROR, ERROR),
    ],
)
def test_rounding(number, absolute, ceiling, floor, rounded):
    assert evaluate("ABS", number) == absolute
    assert evaluate("CEIL", number) == ceiling
    assert evaluate("FLOOR", number) == floor
    assert evaluate("ROUND", number) == rounded


def test_sums_and_quotients_of_texts():
    assert numeric_add(integer(1), decimal("0.50")) == decimal("1.5")
    assert numeric_add(integer(1), '"1"') is None
    assert numeric_divide(integer(7), integer(2)) == decimal("3.5")
    assert numeric_divide(integer(7), integer(0)) is None


# --- terms --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("term", "is_iri", "is_blank", "is_literal", "is_numeric"),
    [
        (A, TRUE, FALSE, FALSE, FALSE),
        (NODE, FALSE, TRUE, FALSE, FALSE),
        ('"a"', FALSE, FALSE, TRUE, FALSE),
        ('"1"', FALSE, FALSE, TRUE, FALSE),
        ('"a"@en', FALSE, FALSE, TRUE, FALSE),
        (integer(1), FALSE, FALSE, TRUE, TRUE),
        (typed(1, "unsignedShort"), FALSE, FALSE, TRUE, TRUE),
        (typed(-1, "unsignedShort"), FALSE, FALSE, TRUE, FALSE),
        (NAN, FALSE, FALSE, TRUE, TRUE),
        (ILL_TYPED, FALSE, FALSE, TRUE, FALSE),
        (UNKNOWN_X, FALSE, FALSE, TRUE, FALSE),
        (None, ERROR, ERROR, ERROR, ERROR),
    ],
)
def test_kinds_of_term(term, is_iri, is_blank, is_literal, is_numeric):
    assert evaluate("ISIRI", term) == evaluate("ISURI", term) == is_iri
    assert evaluate("ISBLANK", term) == is_blank
    assert evaluate("ISLITERAL", term) == is_literal
    assert evaluate("ISNUMERIC", term) == is_numeric


@pytest.mark.parametrize(
    ("term", "text", "language", "datatype"),
    [
        (A, '"http://example.org/a"', ERROR, ERROR),
        (NODE, ERROR, ERROR, ERROR),
        ('"a"', '"a"', '""', f"<{XSD}string>"),
        ('"a"@en-gb', '"a"', '"en-gb"', "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"),
        (integer("01"), '"01"', '""', f"<{XSD}integer>"),
        (typed(300, "byte"), '"300"', '""', f"<{XSD}byte>"),
        (UNKNOWN_X, '"x"', '""', "<http://example.org/unknown>"),
        (r'"\"\\\n\r"', r'"\"\\\n\r"', '""', f"<{XSD}string>"),
    ],
)
def test_str_lang_and_datatype(term, text, language, datatype):
    assert evaluate("STR", term) == text
    assert evaluate("LANG", term) == language
    assert evaluate("DATATYPE", term) == datatype


@pytest.mark.parametrize("function", ["IRI", "URI"])
def test_iri(function):
    base = "http://example.org/x/y?q#f"
    assert evaluate(function, A) == A
    assert evaluate(function, '"http://example.org/a"') == A
    assert evaluate(function, '"urn:x:y"') == "<urn:x:y>"
    assert evaluate(function, '"z"', base=base) == "<http://example.org/x/z>"
    assert evaluate(function, '"../a"', base=base) == A
    assert evaluate(function, '"/a"', base=base) == A
    assert evaluate(function, '"?r"', base=base) == "<http://example.org/x/y?r>"
    assert evaluate(function, '"#g"', base=base) == "<http://example.org/x/y?q#g>"
    assert evaluate(function, '"z"') is ERROR  # relative to nothing
    assert evaluate(function, '"a b"', base=base) is ERROR
    assert evaluate(function, '"http://example.org/<a>"') is ERROR
    assert evaluate(function, '"http://example.org/a"@en') is ERROR
    assert evaluate(function, integer(1), base=base) is ERROR
    assert evaluate(function, NODE) is ERROR


def test_strdt_and_strlang():
    assert evaluate("STRDT", '"123"', f"<{XSD}integer>") == integer(123)
    assert evaluate("STRDT", '"abc"', f"<{XSD}string>") == '"abc"'
    assert evaluate("STRDT", '"many"', f"<{XSD}integer>") == ILL_TYPED
    assert evaluate("STRDT", '"abc"@en', f"<{XSD}string>") is ERROR
    assert evaluate("STRDT", '"abc"', '"abc"') is ERROR
    assert evaluate("STRDT", integer(1), f"<{XSD}string>") is ERROR
    assert evaluate("STRDT", '"abc"', "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>") is ERROR
    assert evaluate("STRLANG", '"chat"', '"en"') == '"chat"@en'
    assert evaluate("STRLANG", '"chat"', '"EN-GB"') == '"chat"@en-gb'
    assert evaluate("STRLANG", '"chat"', '""') is ERROR
    assert evaluate("STRLANG", '"chat"', '"e n"') is ERROR
    assert evaluate("STRLANG", '"chat"@fr', '"en"') is ERROR
    assert evaluate("STRLANG", integer(1), '"en"') is ERROR


def test_bnode():
    compiled = compile_expression(Call("BNODE", (Variable("x"),)))
    context = Context()
    first = compiled.evaluate(['"a"'], context)
    assert first is not None
    assert re.fullmatch(r"_:[a-z0-9]+", first)
    assert compiled.evaluate(['"a"'], context) == first
    assert compiled.evaluate(['"b"'], context) not in (first, None)
    assert compiled.evaluate(['"a"'], Context()) != first
    assert compiled.evaluate([integer(1)], context) is ERROR
    assert compiled.evaluate([None], context) is ERROR
    fresh = compile_expression(Call("BNODE", ()))
    assert fresh.evaluate([], context) != fresh.evaluate([], context)


# --- strings ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("STRLEN", ['"chat"'], integer(4)),
        ("STRLEN", ['"chat"@en'], integer(4)),
        ("STRLEN", ['"\U0001f46a\u98df"'], integer(2)),
        ("STRLEN", [r'"\n\""'], integer(2)),
        ("STRLEN", [integer(1)], ERROR),
        ("STRLEN", [A], ERROR),
        ("SUBSTR", ['"foobar"', integer(4)], '"bar"'),
        ("SUBSTR", ['"foobar"@en', integer(4), integer(1)], '"b"@en'),
        ("SUBSTR", ['"foobar"', integer(0), integer(3)], '"fo"'),
        ("SUBSTR", ['"foobar"', integer(-5), integer(3)], '""'),
        ("SUBSTR", ['"foobar"', integer(2), integer(-1)], '""'),
        ("SUBSTR", ['"foobar"', integer(7)], '""'),
        ("SUBSTR", ['"foobar"', integer(5), integer(99)], '"ar"'),
        ("SUBSTR", ['"foobar"', '"4"'], ERROR),
        ("SUBSTR", ['"foobar"', integer(4), '"1"'], ERROR),
        ("SUBSTR", [integer(12), integer(1)], ERROR),
        ("UCASE", ['"foo"@en'], '"FOO"@en'),
        ("UCASE", ['"Straße"'], '"STRASSE"'),
        ("UCASE", [integer(1)], ERROR),
        ("LCASE", ['"BAR"'], '"bar"'),
        ("LCASE", [A], ERROR),
        ("STRSTARTS", ['"foobar"', '"foo"'], TRUE),
        ("STRSTARTS", ['"foobar"@en', '"foo"@en'], TRUE),
        ("STRSTARTS", ['"foobar"@en', '"foo"'], TRUE),
        ("STRSTARTS", ['"foobar"', '"bar"'], FALSE),
        ("STRSTARTS", ['"foobar"', '"foo"@en'], ERROR),
        ("STRSTARTS", ['"foobar"@en', '"foo"@fr'], ERROR),
        ("STRSTARTS", [integer(12), '"1"'], ERROR),
        ("STRENDS", ['"foobar"@en', '"bar"'], TRUE),
        ("STRENDS", ['"foobar"', '"foo"'], FALSE),
        ("STRENDS", ['"foobar"', '"bar"@en'], ERROR),
        ("CONTAINS", ['"foobar"', '"oba"'], TRUE),
        ("CONTAINS", ['"foobar"@en', '"xyz"@en'], FALSE),
        ("CONTAINS", ['"foobar"', '""'], TRUE),
        ("CONTAINS", ['"foobar"@en', '"oba"@fr'], ERROR),
        ("CONTAINS", ['"foobar"', integer(1)], ERROR),
        ("STRBEFORE", ['"abc"', '"b"'], '"a"'),
        ("STRBEFORE", ['"abc"@en', '"bc"'], '"a"@en'),
        ("STRBEFORE", ['"abc"@en', '"b"@cy'], ERROR),
        ("STRBEFORE", ['"abc"', '"xyz"'], '""'),
        ("STRBEFORE", ['"abc"@en', '"z"@en'], '""'),
        ("STRBEFORE", ['"abc"@en', '""@en'], '""@en'),
        ("STRBEFORE", ['"abc"@en', '""'], '""@en'),
        ("STRAFTER", ['"abc"', '"b"'], '"c"'),
        ("STRAFTER", ['"abc"@en', '"ab"'], '"c"@en'),
        ("STRAFTER", ['"abc"@en', '"b"@cy'], ERROR),
        ("STRAFTER", ['"abc"', '"xyz"'], '""'),
        ("STRAFTER", ['"abc"@en', '"z"@en'], '""'),
        ("STRAFTER", ['"abc"@en', '""'], '"abc"@en'),
        ("ENCODE_FOR_URI", ['"Los Angeles/~x_-.%é"@en'], '"Los%20Angeles%2F~x_-.%25%C3%A9"'),
        ("ENCODE_FOR_URI", [integer(1)], ERROR),
        ("CONCAT", [], '""'),
        ("CONCAT", ['"foo"@en', '"bar"@en'], '"foobar"@en'),
        ("CONCAT", ['"foo"', '"bar"', '"!"'], '"foobar!"'),
        ("CONCAT", ['"foo"@en', '"bar"'], '"foobar"'),
        ("CONCAT", ['"foo"@en', '"bar"@es'], '"foobar"'),
        ("CONCAT", ['"foo"@en'], '"foo"@en'),
        ("CONCAT", ['"foo"', integer(1)], ERROR),
        ("CONCAT", ['"foo"', None], ERROR),
        ("LANGMATCHES", ['"en-gb"', '"en"'], TRUE),
        ("LANGMATCHES", ['"en"', '"EN"'], TRUE),
        ("LANGMATCHES", ['"en"', '"en-gb"'], FALSE),
        ("LANGMATCHES", ['"english"', '"en"'], FALSE),
        ("LANGMATCHES", ['"de-latn-de"', '"de-de"'], FALSE),
        ("LANGMATCHES", ['"fr"', '"*"'], TRUE),
        ("LANGMATCHES", ['""', '"*"'], FALSE),
        ("LANGMATCHES", ['"fr"@en', '"*"'], ERROR),
        ("LANGMATCHES", ['"fr"', A], ERROR),
        ("MD5", ['"abc"'], '"900150983cd24fb0d6963f7d28e17f72"'),
        ("SHA1", ['"abc"'], '"a9993e364706816aba3e25717850c26c9cd0d89d"'),
        ("SHA256", ['"abc"'], '"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"'),
        ("MD5", ['"abc"@en'], ERROR),
        ("SHA1", [A], ERROR),
        ("SHA256", [integer(1)], ERROR),
    ],
)
def test_string_functions(function, arguments, expected):
    assert evaluate(function, *arguments) == expected


@pytest.mark.parametrize(("function", "start", "length"), [("SHA384", '"cb00753f', 98), ("SHA512", '"ddaf35a1', 130)])
def test_long_hashes(function, start, length):
    result = evaluate(function, '"abc"')
    assert result is not None
    assert result.startswith(start)
    assert len(result) == length
    assert evaluate(function, '"abc"@en') is ERROR


# --- regular expressions ------------------------------------------------------------------


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


@pytest.mark.parametrize(
    ("text", "pattern", "flags", "expected"),
    [
        ("abc", "b", "", True),
        ("abc", "^b", "", False),
        ("abc", "B", "", False),
        ("abc", "B", "i", True),
        ("abc\n", "c$", "", False),  # the end is the very end
        ("abc\n", "c$", "m", True),
        ("abc\n", "^$", "m", False),  # no line starts after the last line end
        ("a\nb\nc", "^b$", "m", True),
        ("a\nb\nc", "^b$", "", False),
        ("a\nc", "a.c", "", False),
        ("a\nc", "a.c", "s", True),
        ("a c", "a c", "x", False),
        ("ac", " a\tc\n", "x", True),
        ("a c", "a[ ]c", "x", True),
        ("a#c", "a#c", "x", True),
        ("a.c", "a.c", "q", True),
        ("abc", "a.c", "q", False),
        ("A.C", "a.c", "iq", True),
        ("abbc", "ab{2}c", "", True),
        ("abbc", "ab{3,}c", "", False),
        ("abbc", "ab{1,2}?c", "", True),
        ("abcabc", "(abc)\\1", "", True),
        ("aa1", "(a)\\11", "", True),  # group 1, then the digit 1
        ("b", "^(a)?b\\1$", "", True),  # a group that took no part is empty
        ("xbz", "[a-z-[aeiou]]z", "", True),
        ("xaz", "x[a-z-[aeiou]]z", "", False),
        ("x-y", "[-x]y", "", True),
        ("x-y", "x[a-]y", "", True),
        ("a&b", "[&&]b", "", True),
        ("a[b", "a[\\[]b", "", True),
        ("a]b", "a[\\]]b", "", True),
        ("a^b", "a[\\^]b", "", True),
        ("\u00a0", "\\s", "", False),  # XML's whitespace only
        ("\u00a0", "[\\S]", "", True),
        ("\t", "^\\s$", "", True),
        ("x1:", "^\\i\\c*$", "", True),
        ("1x", "^\\i", "", False),
        ("-", "[\\I]", "", True),
        ("\u0664", "^\\d$", "", True),
        ("Ä", "^\\p{Lu}$", "", True),
        ("ä", "^\\P{Lu}$", "", True),
        ("ä1", "^[\\p{L}\\p{Nd}]+$", "", True),
        ("a_b", "^\\w+$", "", True),
        ("foo bar", "\\bbar", "", True),
        ("a$", "a\\$", "", True),
        ("(?:", "\\(\\?:", "", True),
        ("ab", "(?:a)b", "", True),
        ("", "", "", True),
        ("abc", "a|x", "", True),
        ("\U0001f46a", "^.$", "", True),
    ],
)
def test_regex(text, pattern, flags, expected):
    arguments = [quoted(text), quoted(pattern)] + ([quoted(flags)] if flags else [])
    assert evaluate("REGEX", *arguments) == boolean(expected)


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a)",
        "[a",
        "[]",
        "[^]",
        "a**",
        "a++",
        "*",
        "a{,2}",
        "a{",
        "a}",
        "a]",
        "a{2,1}",
        "\\",
        "\\y",
        "\\Z",
        "(?i)a",
        "(?=a)",
        "(?P<x>a)",
        "(?#c)",
        "\\1",
        "(a\\1)",
        "[a[b]]",
        "[b-a]",
        "[a-\\d]",
        "\\p{Foo}",
        "\\pL",
        "\\p{IsGreek}",
        "[a-z-[aeiou]x]",
        "a{99999999999}",
        "\\u0041",
        "\\x41",
        "(" * 3000 + ")" * 3000,
    ],
)
def test_what_is_no_pattern_of_xpath_is_an_error(pattern):
    assert evaluate("REGEX", '"a"', quoted(pattern)) is ERROR
    assert evaluate("REPLACE", '"a"', quoted(pattern), '"b"') is ERROR


def test_regex_takes_strings():
    assert evaluate("REGEX", '"abc"@en', '"b"') == TRUE
    assert evaluate("REGEX", '"abc"', '"b"@en') is ERROR
    assert evaluate("REGEX", integer(1), '"1"') is ERROR
    assert evaluate("REGEX", A, '"a"') is ERROR
    assert evaluate("REGEX", '"abc"', '"b"', '"g"') is ERROR
    assert evaluate("REGEX", '"abc"', '"b"', integer(1)) is ERROR


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "((a{1,20}){1,20})b", "(?:a*,?)+b", "a" * 10_001])
def test_a_pattern_from_data_that_could_run_for_ever_is_an_error(pattern):
    computed = compile_expression(Call("REGEX", (Constant(quoted("a" * 40)), Variable("pattern"))))
    assert computed.evaluate([quoted(pattern)], Context()) is ERROR


def test_a_pattern_of_the_query_may_nest():
    written = compile_expression(Call("REGEX", (Variable("text"), Constant(quoted("^([a-z]+,)*[a-z]+$")))))
    assert written.evaluate(['"ab,c"'], Context()) == TRUE
    computed = compile_expression(Call("REGEX", (Variable("text"), call("CONCAT", Variable("start"), '".*$"'))))
    assert computed.evaluate(['"^(ab)+,?"', '"abab,c"'], Context()) == TRUE


@pytest.mark.parametrize(
    ("text", "pattern", "replacement", "flags", "expected"),
    [
        ("abcd", "b", "Z", "", "aZcd"),
        ("abab", "B", "Z", "i", "aZaZ"),
        ("abcd", "(ab)|(a)", "[1=$1][2=$2]", "", "[1=ab][2=]cd"),
        ("darted", "^(.*?)d(.*)$", "$1c$2", "", "carted"),
        ("abracadabra", "a.*?a", "*", "", "*c*bra"),
        ("abc", "b", "$0$0", "", "abbc"),
        ("abc", "(b)", "$12", "", "ab2c"),  # there is no group 12: group 1, then 2
        ("abc", "b", "$1", "", "ac"),
        ("abc", "b", "\\$1\\\\", "", "a$1\\c"),
        ("a.c", ".", "$1", "q", "a$1c"),
        ("abc", "x", "y", "", "abc"),
        ("aaa", "a{2}", "b", "", "ba"),
    ],
)
def test_replace(text, pattern, replacement, flags, expected):
    arguments = [quoted(text), quoted(pattern), quoted(replacement)] + ([quoted(flags)] if flags else [])
    assert evaluate("REPLACE", *arguments) == quoted(expected)


def test_replace_errors_and_languages():
    assert evaluate("REPLACE", '"abc"@en', '"b"', '"Z"') == '"aZc"@en'
    assert evaluate("REPLACE", '"abc"', '"x*"', '"-"') is ERROR  # matches the empty string
    assert evaluate("REPLACE", '"abc"', '"b"', '"$"') is ERROR
    assert evaluate("REPLACE", '"abc"', '"b"', '"$x"') is ERROR
    assert evaluate("REPLACE", '"abc"', '"b"', quoted("\\n")) is ERROR
    assert evaluate("REPLACE", '"abc"', '"b"', quoted("\\")) is ERROR
    assert evaluate("REPLACE", '"abc"', '"b"', '"Z"@en') is ERROR
    assert evaluate("REPLACE", integer(1), '"1"', '"2"') is ERROR
    assert evaluate("REPLACE", '"abc"', '"b"', None) is ERROR


# --- dates and times ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        ("YEAR", moment("2011-01-10T14:45:13.815-05:00"), integer(2011)),
        ("MONTH", moment("2011-01-10T14:45:13.815-05:00"), integer(1)),
        ("DAY", moment("2011-01-10T14:45:13.815-05:00"), integer(10)),
        ("HOURS", moment("2011-01-10T14:45:13.815-05:00"), integer(14)),
        ("MINUTES", moment("2011-01-10T14:45:13.815-05:00"), integer(45)),
        ("SECONDS", moment("2011-01-10T14:45:13.815-05:00"), decimal("13.815")),
        ("SECONDS", moment("2011-01-10T14:45:03Z"), decimal("3")),
        ("TIMEZONE", moment("2011-01-10T14:45:13.815-05:00"), typed("-PT5H", "dayTimeDuration")),
        ("TIMEZONE", moment("2011-01-10T14:45:13+05:30"), typed("PT5H30M", "dayTimeDuration")),
        ("TIMEZONE", moment("2011-01-10T14:45:13Z"), typed("PT0S", "dayTimeDuration")),
        ("TIMEZONE", moment("2011-01-10T14:45:13"), ERROR),
        ("TZ", moment("2011-01-10T14:45:13.815-05:00"), '"-05:00"'),
        ("TZ", moment("2011-01-10T14:45:13Z"), '"Z"'),
        ("TZ", moment("2011-01-10T14:45:13"), '""'),
        ("YEAR", moment("2011-12-31T24:00:00Z"), integer(2012)),
        ("DAY", moment("2012-02-28T24:00:00"), integer(29)),
        ("DAY", moment("2011-02-28T24:00:00"), integer(1)),
        ("YEAR", moment("-0044-03-15T12:00:00Z"), integer(-44)),
        ("YEAR", moment("12011-01-10T14:45:13Z"), integer(12011)),
        ("YEAR", day("2011-01-10"), integer(2011)),
        ("HOURS", day("2011-01-10"), ERROR),
        ("YEAR", '"2011-01-10T14:45:13Z"', ERROR),
        ("YEAR", moment("2011-13-10T14:45:13Z"), ERROR),
        ("YEAR", moment("2011-02-29T14:45:13Z"), ERROR),
        ("YEAR", moment("1900-02-29T14:45:13Z"), ERROR),
        ("DAY", moment("2000-02-29T14:45:13Z"), integer(29)),
        ("YEAR", moment("2011-01-10T14:60:13Z"), ERROR),
        ("YEAR", moment("2011-01-10T24:00:01Z"), ERROR),
        ("YEAR", moment("2011-01-10T25:00:00Z"), ERROR),
        ("YEAR", moment("2011-01-10T14:45:13+14:01"), ERROR),
        ("YEAR", moment("2011-01-10T14:45:13+05:60"), ERROR),
        ("YEAR", moment("2011-01-10 14:45:13Z"), ERROR),
        ("YEAR", moment("02011-01-10T14:45:13Z"), ERROR),
        ("YEAR", moment("٢٠١١-01-10T14:45:13Z"), ERROR),
        ("SECONDS", integer(1), ERROR),
        ("TZ", A, ERROR),
    ],
)
def test_date_functions(function, argument, expected):
    assert evaluate(function, argument) == expected


def test_now_is_the_instant_of_the_evaluation():
    compiled = compile_expression(Call("NOW", ()))
    assert compiled.evaluate([], Context(now=1467367200123)) == moment("2016-07-01T10:00:00.123Z")
    assert compiled.evaluate([], Context()) == moment("1970-01-01T00:00:00.000Z")
    recent = compile_expression(call(">", Call("NOW", ()), Variable("t")))
    assert recent.holds([moment("2016-07-01T11:59:59+02:00")], Context(now=1467367200000))


# --- what differs from call to call -------------------------------------------------------


def test_rand_is_a_double_from_0_to_1():
    compiled = compile_expression(Call("RAND", ()))
    results = {compiled.evaluate([], Context()) for _ in range(20)}
    assert len(results) > 1
    assert all(0 <= value_of(result).value < 1 for result in results if result)
    assert all(result and result.endswith(f"^^<{XSD}double>") for result in results)


def test_uuid_and_struuid():
    hexadecimal = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    uuid = compile_expression(Call("UUID", ()))
    text = compile_expression(Call("STRUUID", ()))
    assert re.fullmatch(f"<urn:uuid:{hexadecimal}>", uuid.evaluate([], Context()) or "")
    assert re.fullmatch(f'"{hexadecimal}"', text.evaluate([], Context()) or "")
    assert uuid.evaluate([], Context()) != uuid.evaluate([], Context())


@pytest.mark.parametrize("function", ["RAND", "UUID", "STRUUID", "BNODE", "NOW"])
def test_deterministic_says_whether_results_may_be_kept(function):
    inside = call("IF", Variable("x"), Call(function, ()), A)
    assert not compile_expression(inside).deterministic
    assert compile_expression(call("IF", Variable("x"), B, A)).deterministic


# --- casts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("datatype", "argument", "expected"),
    [
        ("string", A, '"http://example.org/a"'),
        ("string", '"a"', '"a"'),
        ("string", integer("007"), '"7"'),
        ("string", decimal("1.50"), '"1.5"'),
        ("string", decimal("2.0"), '"2"'),
        ("string", double("1E0"), '"1"'),
        ("string", double("-0.0"), '"-0"'),
        ("string", double("0.000001"), '"0.000001"'),
        ("string", double("0.0000001"), '"1.0E-7"'),
        ("string", double("1e6"), '"1.0E6"'),
        ("string", double("999999.5"), '"999999.5"'),
        ("string", single("-7.875"), '"-7.875"'),
        ("string", single("0.1"), '"0.1"'),
        ("string", double("INF"), '"INF"'),
        ("string", typed(0, "boolean"), '"false"'),
        ("string", moment("2002-10-10T17:00:00.50+00:00"), '"2002-10-10T17:00:00.5Z"'),
        ("string", day("2002-10-10"), '"2002-10-10"'),
        ("string", NODE, ERROR),
        ("string", '"a"@en', ERROR),
        ("string", UNKNOWN_X, ERROR),
        ("string", ILL_TYPED, ERROR),
        ("boolean", '"true"', TRUE),
        ("boolean", '" 0 "', FALSE),
        ("boolean", '"TRUE"', ERROR),
        ("boolean", '"0.0"', ERROR),
        ("boolean", integer(0), FALSE),
        ("boolean", decimal("-2.5"), TRUE),
        ("boolean", NAN, FALSE),
        ("boolean", typed(1, "boolean"), TRUE),
        ("boolean", A, ERROR),
        ("boolean", moment("2002-10-10T17:00:00Z"), ERROR),
        ("double", '"1.5"', double("1.5E0")),
        ("double", '" -10.2E3\\n"', double("-1.02E4")),
        ("double", '"INF"', double("INF")),
        ("double", '"inf"', ERROR),
        ("double", '"1_0"', ERROR),
        ("double", '""', ERROR),
        ("double", integer(13), double("1.3E1")),
        ("double", decimal("33.3300"), double("3.333E1")),
        ("double", TRUE, double("1.0E0")),
        ("double", single("0.1"), double("1.0000000149011612E-1")),
        ("double", A, ERROR),
        ("double", moment("2002-10-10T17:00:00Z"), ERROR),
        ("float", double("0.1"), single("1.0E-1")),
        ("float", double("1e300"), single("INF")),
        ("float", '"16777217"', single("1.6777216E7")),
        # halfway between two floats but for the last digit: rounding twice would go the wrong way
        ("float", '"1.00000005960464477540"', single("1.0000001E0")),
        ("float", '"1e-46"', single("0.0E0")),
        ("float", '"1e-45"', single("1.0E-45")),
        ("float", FALSE, single("0.0E0")),
        ("decimal", '"+33.3300"', decimal("33.33")),
        ("decimal", '".5"', decimal("0.5")),
        ("decimal", '"1E0"', ERROR),
        ("decimal", double("1.25"), decimal("1.25")),
        ("decimal", double("1e30"), decimal("1000000000000000019884624838656")),
        ("decimal", integer(3), decimal("3")),
        ("decimal", TRUE, decimal("1")),
        ("decimal", NAN, ERROR),
        ("decimal", double("INF"), ERROR),
        ("integer", '"13"', integer(13)),
        ("integer", '"+13"', integer(13)),
        ("integer", '"1.5"', ERROR),
        ("integer", '"1E0"', ERROR),
        ("integer", '"\u0661"', ERROR),
        ("integer", decimal("-2.9"), integer(-2)),
        ("integer", double("-7.875"), integer(-7)),
        ("integer", double("1e20"), integer("100000000000000000000")),
        ("integer", typed(5, "byte"), integer(5)),
        ("integer", TRUE, integer(1)),
        ("integer", NAN, ERROR),
        ("integer", double("-INF"), ERROR),
        ("integer", A, ERROR),
        ("integer", '"13"@en', ERROR),
        ("byte", '"127"', typed(127, "byte")),
        ("byte", integer(128), ERROR),
        ("unsignedInt", integer(-1), ERROR),
        ("dateTime", '"2002-10-10T17:00:00Z"', moment("2002-10-10T17:00:00Z")),
        ("dateTime", '"2002-10-10T07:00:05.50-08:00"', moment("2002-10-10T07:00:05.5-08:00")),
        ("dateTime", moment("2002-12-31T24:00:00"), moment("2003-01-01T00:00:00")),
        ("dateTime", day("2002-10-10Z"), moment("2002-10-10T00:00:00Z")),
        ("dateTime", '"2002-10-10"', ERROR),
        ("dateTime", integer(0), ERROR),
        ("dateTime", A, ERROR),
        ("date", moment("2002-10-10T17:00:00+01:00"), day("2002-10-10+01:00")),
        ("date", '"2002-10-10"', day("2002-10-10")),
        ("date", integer(0), ERROR),
    ],
)
def test_casts(datatype, argument, expected):
    assert evaluate(f"<{XSD}{datatype}>", argument) == expected


# --- compilation --------------------------------------------------------------------------


def test_variables_are_sorted_and_bindings_follow_them():
    expression = Call("-", (Variable("z"), Call("+", (Variable("a"), Variable("z")))))
    compiled = compile_expression(expression)
    assert compiled.variables == variables_of(expression) == ("a", "z")
    assert compiled.evaluate([integer(10), integer(1)], Context()) == integer(-10)


def test_terms_come_back_as_they_went_in():
    compiled = compile_expression(Variable("x"))
    for text in (
        A,
        NODE,
        integer("01"),
        '"a"@en',
        UNKNOWN_X,
        ILL_TYPED,
        r'"\\\""',
        moment("2002-12-31T24:00:00"),
    ):
        assert compiled.evaluate([text], Context()) == text
        assert compile_expression(Constant(text)).evaluate([], Context()) == text


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (call("STRLEN"), "STRLEN has 0 arguments\ndetail: It takes 1."),
        (call("SUBSTR", '"a"'), "SUBSTR has 1 argument\ndetail: It takes 2 to 3."),
        (call("REGEX", '"a"', '"a"', '"i"', '"i"'), "REGEX has 4 arguments\ndetail: It takes 2 to 3."),
        (call("IF", A), "IF has 1 argument\ndetail: It takes 3."),
        (call("IN"), "IN has 0 arguments\ndetail: It takes at least 1."),
        (call("NOW", A), "NOW has 1 argument\ndetail: It takes 0."),
        (call(f"<{XSD}integer>"), f"<{XSD}integer> has 0 arguments\ndetail: It takes 1."),
        (call("STRLENGTH", A), "unknown function STRLENGTH\nhint: Did you mean STRLEN?"),
    ],
)
def test_a_wrong_call_is_refused_when_compiled(expression, message):
    with pytest.raises(QueryError) as raised:
        compile_expression(expression)
    assert str(raised.value) == message


@pytest.mark.parametrize("function", ["<http://example.org/f>", "<urn:spectra:time>", f"<{XSD}gYear>"])
def test_an_unknown_function_is_named(function):
    with pytest.raises(UnsupportedError, match=re.escape(f"unknown function {function}")):
        compile_expression(call("!", Call(function, (Variable("e"),))))


def test_aggregates_are_somebody_elses():
    with pytest.raises(InternalError, match="aggregate COUNT"):
        compile_expression(call("+", Aggregate("COUNT", Variable("x"), False), integer(1)))


class Known:
    """A pattern test that holds where its variables are bound to the given terms."""

    variables = ("b", "a")

    def __init__(self, *solution: str | None) -> None:
        self.solution = list(solution)

    def __call__(self, bindings, context):
        return list(bindings) == self.solution


def test_exists_asks_the_caller():
    pattern = Exists(Bgp(()), negated=False)
    negated = Exists(Bgp(()), negated=True)
    expression = Call("||", (pattern, call("=", Variable("c"), A)))
    asked = []

    def exists(node: Exists) -> Known:
        asked.append(node)
        return Known(B, None)

    compiled: Compiled = compile_expression(expression, exists=exists)
    assert asked == [pattern]
    assert compiled.variables == ("a", "b", "c")
    assert not compiled.deterministic  # it depends on the data too
    assert compiled.holds([None, B, None], Context())
    assert not compiled.holds([A, B, None], Context())
    assert compiled.holds([A, B, A], Context())
    assert compile_expression(negated, exists=exists).holds([A, B], Context())
    with pytest.raises(InternalError, match="EXISTS"):
        compile_expression(pattern)


def test_decimals_are_exact_however_long():
    long = "0." + "123456789" * 100
    assert evaluate("+", decimal(long), decimal("0")) == decimal(long)
    assert value_of(decimal(long)).value == Decimal(long)
