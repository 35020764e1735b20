"""Which operator matches a basic graph pattern: by its shape and by what is asked for."""

from __future__ import annotations

import pytest

import spectra
from spectra.algebra.nodes import Source, WScan
from spectra.errors import QueryError
from spectra.planner.pattern_choice import is_connected
from spectra.sparql.syntax import Variable

CHAIN = "?x <urn:p> ?y . ?y <urn:q> ?z"
APART = "?x <urn:p> ?y . ?a <urn:q> ?b"
TRIANGLE = "?x <urn:p> ?y . ?y <urn:q> ?z . ?z <urn:p> ?x"


def scans(text):
    def term(word):
        return Variable(word[1:]) if word.startswith("?") else word

    return tuple(WScan(Source("w"), *map(term, part.split())) for part in text.split(" . "))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("?x <p> ?y", False),
        ("?x <p> ?x", False),
        (CHAIN, True),
        ("?x <p> ?a . ?x <q> ?b . ?x <r> ?c", True),
        ("?a <p> ?b . ?c <p> ?d . ?b <q> ?c", True),
        ("?a <p> ?b . ?c <p> ?d", False),
        ("?a <p> ?b . ?b <q> ?c . ?d <p> ?e . ?e <q> ?d", False),
        (TRIANGLE, True),
        ("?a ?p ?b . ?c ?p ?d", True),
        ("<s> <p> <o> . ?a <p> ?b", False),
    ],
)
def test_patterns_are_connected_by_variables(pattern, expected):
    assert is_connected(scans(pattern)) is expected


def chosen(body, output, window="RANGE PT10S", head="SELECT *", **options):
    text = (
        f"REGISTER {output} <urn:out> AS {head} FROM NAMED WINDOW <urn:w> ON <urn:s> [{window}] "
        f"WHERE {{ WINDOW <urn:w> {{ {body} }} }}"
    )
    plan = spectra.Engine(**options).register(text).explain().split("physical plan")[1]
    return {name for name in ("tpjoin", "siblings", "recompute") if f"{name}(" in plan}


@pytest.mark.parametrize("pattern", [TRIANGLE, CHAIN])
@pytest.mark.parametrize("output", ["CHANGES", "DSTREAM", "RSTREAM"])
def test_a_pattern_whose_matches_are_withdrawn_is_for_siblings(output, pattern):
    assert chosen(pattern, output) == {"siblings"}


@pytest.mark.parametrize("output", ["CHANGES", "DSTREAM", "RSTREAM"])
def test_patterns_that_share_no_variable_are_for_the_automaton(output):
    assert chosen(APART, output) == {"tpjoin"}


@pytest.mark.parametrize("pattern", [TRIANGLE, CHAIN])
def test_a_pattern_that_only_grows_is_for_the_automaton(pattern):
    assert chosen(pattern, "ISTREAM") == {"tpjoin"}


@pytest.mark.parametrize("head", ["SELECT DISTINCT ?x", "SELECT ?x", "SELECT (COUNT(*) AS ?n)", "ASK"])
def test_what_remembers_asks_for_withdrawals(head):
    assert chosen(TRIANGLE, "ISTREAM", head=head) == {"siblings"}


def test_a_count_window_always_withdraws():
    assert chosen(TRIANGLE, "ISTREAM", window="ELEMENTS 5 STEP 1") == {"siblings"}


def test_each_pattern_of_a_query_has_its_own():
    both = f"{{ {TRIANGLE} }} UNION {{ {APART} }}"
    assert chosen(both, "CHANGES") == {"siblings", "tpjoin"}


@pytest.mark.parametrize("forced", ["tpjoin", "siblings", "recompute"])
def test_a_forced_operator_is_used_for_all(forced):
    assert chosen(f"{{ {TRIANGLE} }} UNION {{ {CHAIN} }}", "CHANGES", pattern=forced) == {forced}


def test_there_are_no_other_operators():
    with pytest.raises(QueryError, match="no pattern operator 'hash'"):
        spectra.Engine(pattern="hash")
