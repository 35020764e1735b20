"""GROUP BY and set functions: values, how long they last, and what a change costs."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from spectra.clock import FOREVER
from spectra.dictionary.dictionary import Dictionary
from spectra.errors import InternalError
from spectra.operators.relational.aggregates import SetFunction
from spectra.operators.relational.group import Aggregated, Group, Terms, TextColumns
from spectra.oracle.aggregates import aggregate
from spectra.oracle.expressions import Scope
from spectra.sparql.syntax import Aggregate, Variable
from tests.unit.operators.test_distinct import told_rows
from tests.unit.operators.test_join import Given

XSD = "http://www.w3.org/2001/XMLSchema#"


def number(lexical, kind="integer"):
    return f'"{lexical}"^^<{XSD}{kind}>'


TEXTS = [
    None,
    number(1),
    number(-2),
    number(2),
    number("0.1", "decimal"),
    number("0.2", "decimal"),
    number("1e16", "double"),
    number("1", "double"),
    number("0.1", "float"),
    number("16777217"),
    '"a"',
    "<urn:a>",
    "_:b",
    number("INF", "double"),
]
WIDE = [
    number("-0." + "0" * 25 + "7", "decimal"),
    number("12345678901234567890123456789012345678901234"),
    number("-99999999999999999999.999999999999999999", "decimal"),
    number("0.000000000000000001", "decimal"),
    number("-1"),
    number(3),
]
BINARY = [
    number("1e300", "double"),
    number("-1e300", "double"),
    number("5e-324", "double"),
    number("-1.5", "double"),
    number("3.4e38", "float"),
    number("1e-45", "float"),
    number("0.3", "decimal"),
    number("NaN", "double"),
    number("-INF", "float"),
]
FUNCTIONS = [
    SetFunction(name, distinct, "-" if name == "GROUP_CONCAT" else None)
    for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT")
    for distinct in (False, True)
]


def texts_of(dictionary):
    return TextColumns(dictionary.all_spans, dictionary.add_spans)


def oracle_value(function, bag):
    solutions = [{} if text is None else {"x": text} for text in bag]
    scope = Scope(0, None, lambda *_: False, lambda _: None)
    return aggregate(Aggregate(function.name, Variable("x"), function.distinct, function.separator), solutions, scope)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"{f.name}{' DISTINCT' * f.distinct}")
@pytest.mark.parametrize("pool", [TEXTS[1:4], TEXTS[1:6], TEXTS[6:9], TEXTS[1:10], TEXTS[10:12], WIDE, BINARY, TEXTS])
def test_values_and_when_they_change(function, pool):
    if function.name == "AVG" and pool is WIDE:
        pool = pool[3:]  # the oracle rounds quotients of more than ten digits before the point by one digit less
    rng = random.Random(f"{function} {pool}")
    dictionary = Dictionary()
    ids = {text: dictionary.constant(text) if text else 0 for text in pool}
    terms = Terms(dictionary.canonical_texts, dictionary.add_all, lambda *_: None)
    held: Counter = Counter()
    batches, bags = [], []
    for at in range(60):
        if held and rng.random() < 0.45:
            text, end = rng.choice(list(held.elements()))
            held = held - Counter({(text, end): 1})
            batches.append([(at, -1, end, (ids[text],))])
        else:
            text, end = rng.choice(pool), rng.choice([100, 110, 120, 130])
            held = held + Counter({(text, end): 1})
            batches.append([(at, 1, end, (ids[text],))])
        bags.append(held)
    group = Group(Given("x", batches), [], [Aggregated("n", function, "x")], terms, texts_of(dictionary))
    told = {row[2:] for row in told_rows(group.initial(0))}
    for held in bags:
        now = oracle_value(function, [text for text, _ in held.elements()])
        changes = (
            end
            for end in (100, 110, 120, 130)
            if oracle_value(function, [text for text, last in held.elements() if last > end]) != now
        )
        for _, sign, end, row in told_rows(group.process()):
            (told.add if sign > 0 else told.remove)((end, row))
        [(until, (value,))] = told
        assert (dictionary.text(value) or None, until) == (now, next(changes, FOREVER))


def operator(batches, functions, keys="a"):
    dictionary = Dictionary()
    ids = [dictionary.constant(number(value)) for value in range(50)]
    held: Counter = Counter()

    def hold(entering, leaving):
        held.update(entering.tolist())
        held.subtract(leaving.tolist())

    given = [[(at, sign, until, (key, ids[v])) for at, sign, until, key, v in batch] for batch in batches]
    terms = Terms(dictionary.canonical_texts, dictionary.add_all, hold)
    aggregated = [Aggregated(f"n{at}", SetFunction(name, False), "x") for at, name in enumerate(functions)]
    return Group(Given("ax", given), list(keys), aggregated, terms, texts_of(dictionary)), dictionary, held


def told_texts(group, dictionary, deltas, keys=1):
    return [
        (at, sign, until, row[:keys], [dictionary.text(term) for term in row[keys:]])
        for at, sign, until, row in told_rows(deltas)
    ]


def test_a_change_touches_its_group_only():
    filled = [(1, 1, 100 + i % 5, 1 + i % 10, i % 50) for i in range(1000)]
    group, _, _ = operator([filled, [(2, 1, 200, 3, 49)]], ["SUM"])
    group.process()
    before = dict(group.counters)
    told = group.process()
    assert [row[3][0] for row in told_rows(told)] == [3, 3]
    assert group.counters["evaluated"] - before["evaluated"] == 1
    assert group.counters["changed"] - before["changed"] == 1
    assert group.counters["groups"] == 10


def test_the_next_minimum_is_at_hand_when_one_expires():
    filled = [(1, 1, 10 + value, 1, value) for value in range(50)]
    expiry = [[(10 + value, -1, 10 + value, 1, value)] for value in range(49)]
    group, dictionary, _ = operator([filled, *expiry], ["MIN", "MAX"])
    group.process()
    for value in range(49):
        before = dict(group.counters)
        told = told_texts(group, dictionary, group.process())
        assert told == [
            (10 + value, -1, 10 + value, (1,), [number(value), number(49)]),
            (10 + value, 1, 11 + value, (1,), [number(value + 1), number(49)]),
        ]
        assert group.counters["changed"] - before["changed"] == 1
        assert group.counters["visited"] - before["visited"] == 2  # one member for each function


@pytest.mark.parametrize("function", ["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE"])
def test_what_a_change_costs_does_not_grow_with_the_group(function):
    filled = [(1, 1, 100 + i, 1, i % 50) for i in range(1000)]
    steps = [[(100 + i, -1, 100 + i, 1, i % 50), (100 + i, 1, 2000 + i, 1, i % 50)] for i in range(20)]
    group, _, _ = operator([filled, *steps], [function])
    group.process()
    for _ in steps:
        before = dict(group.counters)
        group.process()
        assert group.counters["evaluated"] - before["evaluated"] == 1
        # a sum of nothing but zeros goes on, so the next end is looked at as well
        assert group.counters["visited"] - before["visited"] <= 2


def test_computed_terms_are_held_while_they_are_told():
    group, dictionary, held = operator(
        [[(1, 1, 5, 1, 7), (1, 1, 9, 1, 8)], [(5, -1, 5, 1, 7)], [(9, -1, 9, 1, 8)]], ["SUM"]
    )
    for total in (number(15), number(8), None):
        group.process()
        assert [dictionary.text(term) for term in (+held)] == ([total] if total else [])
    assert group.counters["groups"] == 0


def test_without_keys_there_is_one_solution_of_nothing():
    group, dictionary, _ = operator([[(3, 1, 9, 1, 7)], [(9, -1, 9, 1, 7)]], ["COUNT", "SUM", "MIN"], keys="")
    nothing = [number(0), number(0), ""]
    assert told_texts(group, dictionary, group.initial(1), 0) == [(1, 1, FOREVER, (), nothing)]
    one = [number(1), number(7), number(7)]
    assert told_texts(group, dictionary, group.process(), 0) == [(3, -1, FOREVER, (), nothing), (3, 1, 9, (), one)]
    assert told_texts(group, dictionary, group.process(), 0) == [(9, -1, 9, (), one), (9, 1, FOREVER, (), nothing)]
    assert len(group.current(9)) == 1


def test_what_comes_and_goes_in_one_instant_is_not_told():
    group, _, _ = operator([[(1, 1, 5, 1, 7)], [(2, 1, 6, 2, 8), (2, -1, 6, 2, 8)]], ["COUNT"])
    group.process()
    assert told_rows(group.process()) == []


def test_a_row_that_leaves_and_never_came_is_our_fault():
    group, _, _ = operator([[(1, 1, 5, 1, 7), (2, -1, 6, 1, 7)]], ["COUNT"])
    with pytest.raises(InternalError, match="never came"):
        group.process()


def test_ids_of_no_texts():
    assert Dictionary().add_all([]).dtype == np.int32
