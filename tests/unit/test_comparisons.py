"""Comparisons between two variables inside the join: keys decide as values do, and prune before the join goes on."""

from __future__ import annotations

import itertools
import operator as python_operator

import numpy as np
import pytest

import spectra
from spectra.dictionary.terms import canonical
from spectra.operators.kernels import comparison as kernels
from spectra.operators.pattern.comparisons import OPERATORS, term_key
from spectra.operators.pattern.tpjoin import TpJoin
from spectra.sparql import values
from tests.property.generate import VALUES

TERMS = [canonical(text)[0] for text in (*VALUES, "<urn:a>", "<urn:b>", "_:a", "_:b", '"b"@en', '"A"@de')]
HOLDS = {
    "<": python_operator.lt,
    "<=": python_operator.le,
    ">": python_operator.gt,
    ">=": python_operator.ge,
}


def by_value(left, sign, right):
    """Whether a comparison holds of two terms, by SPARQL's operators on their values; an error is no."""
    a, b = values.value_of(left), values.value_of(right)
    if sign in ("=", "!="):
        equal = values.equal(a, b)
        return equal is not None and equal == (sign == "=")
    order = values.order(a, b)
    return order not in (None, values.UNORDERED) and HOLDS[sign](order, 0)


def columns(terms):
    """Kind and key by id; ids are places among the terms."""
    found = [term_key(text) for text in terms]
    named = (kernels.STRING, kernels.NODE)
    keys = [at if kind in named else key for at, (kind, key) in enumerate(found)]
    return np.array([kind for kind, _ in found], np.int8), np.array(keys, np.int64)


@pytest.mark.parametrize("sign", OPERATORS)
def test_keys_decide_as_values_do_or_leave_it_open(sign):
    terms = list(dict.fromkeys(TERMS))
    kind, key = columns(terms)
    decided = 0
    for left, right in itertools.product(range(len(terms)), repeat=2):
        verdict = kernels.verdict(kind, key, left, OPERATORS[sign], right)
        if verdict != kernels.MAYBE:
            decided += 1
            assert bool(verdict) == by_value(terms[left], sign, terms[right]), (terms[left], sign, terms[right])
    assert decided > len(terms) ** 2 // 4


def typed(datatype, *forms):
    return [f'"{form}"^^<{values.XSD}{datatype}>' for form in forms]


@pytest.mark.parametrize(
    ("kind", "ordered"),
    [
        (
            kernels.DECIMAL,
            [
                *typed("integer", "-9223372036854"),
                *typed("decimal", "-0.000001"),
                *typed("byte", "0"),
                *typed("decimal", "0.5"),
                *typed("integer", "3", "9223372036854"),
            ],
        ),
        (kernels.DOUBLE, typed("double", "-INF", "-1e300", "-1e-300", "-0.0", "1e-300", "1", "1e300", "INF")),
        (kernels.FLOAT, typed("float", "-INF", "-1.5", "0", "1.1", "16777216", "INF")),
        (
            kernels.MOMENT,
            typed(
                "dateTime",
                "-0044-03-15T12:00:00Z",
                "1969-12-31T23:59:59.999999Z",
                "2016-07-01T12:00:00+03:00",
                "2016-07-01T10:00:00Z",
                "2016-07-01T10:00:00.000001Z",
                "292000-01-01T00:00:00Z",
            ),
        ),
    ],
)
def test_keys_are_ordered_as_values_are(kind, ordered):
    found = [term_key(text) for text in ordered]
    assert {found_kind for found_kind, _ in found} == {kind}
    keys = [key for _, key in found]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize(
    "text",
    [
        *typed("integer", "9223372036855", "many"),
        *typed("decimal", "0.0000001"),
        *typed("double", "NaN"),
        *typed("float", "NaN"),
        *typed("dateTime", "2016-07-01T10:00:00", "2016-07-01T10:00:00.0000001Z", "999999999-01-01T00:00:00Z"),
        *typed("date", "2016-07-01Z"),
        *typed("boolean", "true"),
        '"x"^^<urn:type>',
    ],
)
def test_what_has_no_exact_key_stays_open(text):
    assert term_key(text) == (kernels.OPEN, 0)


# --- inside the join ------------------------------------------------------------------------


def number(value):
    return f'"{value}"^^<{values.XSD}integer>'


class Priced:
    """A query over prices, the events it is fed, and the automaton's counters."""

    def __init__(self, body, output="CHANGES", operator="tpjoin"):
        self.engine = spectra.Engine(pattern=operator)
        self.query = self.engine.register(
            f"REGISTER {output} <urn:q> AS SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT100S] "
            f"WHERE {{ WINDOW <urn:w> {{ {body} }} }}"
        )
        self.time = 0

    def push(self, *triples, deleted=()):
        self.time += 1
        return self.engine.push(list(triples), deleted=list(deleted), at=1000 * self.time, stream="urn:s")

    @property
    def counters(self):
        operator = self.query.operator
        while hasattr(operator, "source"):
            operator = operator.source
        assert isinstance(operator, TpJoin)
        return operator.counters


def offers(predicate, values_):
    return [(f"<urn:{predicate}{value}>", f"<urn:{predicate}>", number(value)) for value in values_]


ASK_BELOW_BID = "?a <urn:ask> ?x . ?b <urn:bid> ?y FILTER(?x {} ?y)"


@pytest.mark.parametrize(("sign", "expected"), [("<", 3), ("<=", 4), (">", 96), (">=", 97), ("=", 1), ("!=", 99)])
def test_only_the_values_that_compare_so_are_looked_at(sign, expected):
    market = Priced(ASK_BELOW_BID.format(sign))
    market.push(*offers("ask", range(100)))
    before = market.counters["candidates"]
    assert len(market.push(*offers("bid", [3]))) == expected
    looked_at = market.counters["candidates"] - before
    # the order of the values serves the ordered comparisons: nothing else is looked at
    assert looked_at == (expected if sign in "<=>=" and sign != "=" else 100)


def test_a_comparison_stops_the_join_before_it_goes_on():
    body = "?x <urn:low> ?a . ?x <urn:high> ?b . ?x <urn:tag> ?t {}"
    inside, outside = Priced(body.format("FILTER(?a > ?b)")), Priced(body.format("FILTER(?a > ?b || !BOUND(?a))"))
    for market in (inside, outside):
        for part in (
            [(f"<urn:x{n}>", "<urn:low>", number(n % 7)) for n in range(50)],
            [(f"<urn:x{n}>", "<urn:tag>", f"<urn:t{m}>") for n in range(50) for m in range(10)],
        ):
            market.push(*part)
        told = market.push(*[(f"<urn:x{n}>", "<urn:high>", number(5)) for n in range(50)])
        assert len(told) == 70
    assert inside.counters["pruned"] == 43
    assert inside.counters["candidates"] < outside.counters["candidates"] // 4
    assert "compare[?a > ?b]" in inside.query.explain()
    assert "compare" not in outside.query.explain()


def test_a_value_that_no_key_decides_is_compared_after_the_join():
    market = Priced(ASK_BELOW_BID.format("<"))
    large = 10**30
    market.push(*offers("ask", [1, large]), ("<urn:z>", "<urn:ask>", '"z"'))
    told = market.push(*offers("bid", [2, large + 1]))
    assert sorted((str(c.bindings["a"]), str(c.bindings["b"])) for c in told) == [
        ("urn:ask1", "urn:bid1000000000000000000000000000001"),
        ("urn:ask1", "urn:bid2"),
        (f"urn:ask{large}", "urn:bid1000000000000000000000000000001"),
    ]


def test_matches_are_withdrawn_by_the_same_comparison():
    market = Priced(ASK_BELOW_BID.format("<"))
    market.push(*offers("ask", range(10)))
    market.push(*offers("bid", [5]))
    assert [change.op for change in market.push(deleted=offers("ask", range(3)))] == ["-"] * 3
    assert [change.op for change in market.push(deleted=offers("bid", [5]))] == ["-"] * 2
    assert len(market.query.snapshot()) == 0


def test_an_id_that_comes_to_mean_another_term_gets_its_key():
    market = Priced(ASK_BELOW_BID.format("<"))
    market.push(("<urn:x>", "<urn:bid>", number(50)))
    ids = set()
    for value in (10, 90, 20, 80):  # each takes the id that the one before has given back
        ask = ("<urn:x>", "<urn:ask>", number(value))
        assert len(market.push(ask)) == (value < 50)
        ids.add(market.engine.dictionary.find(number(value)))
        market.push(deleted=[ask])
    assert len(ids) < 4


@pytest.mark.parametrize("operator", ["siblings", "recompute"])
def test_other_operators_compare_finished_matches(operator):
    market = Priced(ASK_BELOW_BID.format("<"), operator=operator)
    assert "filter[?x < ?y]" in market.query.explain()
    market.push(*offers("ask", range(10)))
    assert len(market.push(*offers("bid", [3]))) == 3


def test_a_cycle_with_a_comparison_is_for_the_automaton():
    triangle = "?x <urn:p> ?y . ?y <urn:p> ?z . ?z <urn:p> ?x FILTER(?x != ?y)"
    assert "tpjoin(" in Priced(triangle, operator="auto").query.explain()
