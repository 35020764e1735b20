"""Errors of the frontend: the user's own line and column, what was expected, a way out."""

from __future__ import annotations

import sys
import threading

import pytest

from spectra.errors import QueryError
from spectra.sparql import parse_query


def refused(text: str) -> QueryError:
    with pytest.raises(QueryError) as caught:
        parse_query(text, range=1, source="q.rq")
    assert caught.value.message[0] == caught.value.message[0].lower() or caught.value.message[0].isupper()
    assert not caught.value.message.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "line", "column", "end_column"),
    [
        ("", "the query ends too early", 1, 1, None),
        ("SELECT ?x", "the query ends too early", 1, 10, None),
        ("SELECT ?x\nWHERE {\n  ?x <p> ; }", 'unexpected ";"', 3, 10, None),
        ("# c\nSELECT ?x # c {\nWHERE { ?x <p> FILTER(?x) }", 'unexpected "FILTER"', 3, 16, 21),
        ("SELECT ?x { ?x <p> ?y FILTER ?y > 3 }", 'unexpected "?y"', 1, 30, 31),
        ("SELECT ?x { ?x 'p' ?y }", "unexpected \"'p'\"", 1, 16, 18),
        ("SELECT (COUNT(?x) ?y) {}", 'unexpected "?y"', 1, 19, 20),
        ("SELECT ?x {} LIMIT ?x", 'unexpected "?x"', 1, 20, 21),
        ("SELECT ?x {} GROUP ?x", 'unexpected "?x"', 1, 20, 21),
        ("SELECT ?x { ?x <p>+{2} ?y }", 'unexpected "{"', 1, 20, None),
        ("SELECT ?x { ?x <p> ?y{2} }", 'unexpected "}"', 1, 24, None),
        ("SELECT ?x { ?x <p> <o>{2} }", 'unexpected "{"', 1, 23, None),
        ("SELECT ?x {} SELECT ?y {}", 'unexpected "SELECT"', 1, 14, 19),
        ("SELECT ?x {} FROM <a>", 'unexpected "FROM"', 1, 14, 17),
        ("SELECT ?x {} FROM NAMED WINDOW <w> ON <s> [EVENT]", 'unexpected "FROM"', 1, 14, 17),
        ("SELECT ?x { { SELECT ?x FROM <a> {} } }", 'unexpected "FROM"', 1, 25, 28),
        ("SELECT ?x {\n  ?x <p> ?y\n", '"{" is never closed', 1, 11, None),
        ("SELECT ?x { } }", '"}" closes nothing', 1, 15, None),
        ("SELECT ?x { FILTER(?x } )", '"}" does not close "(" of line 1, column 19', 1, 23, None),
        ("SELCT ?x {}", 'unknown word "SELCT"', 1, 1, 5),
        ("SELECT ?x {\r\n FILTER(CONTAIN(?x, 'a')) }", 'unknown word "CONTAIN"', 2, 9, 15),
        ("SELECT ?x { ?x A ?y }", 'unknown word "A"', 1, 16, None),
        ("SELECT ?x { ?x ex:p 1 }", 'the prefix "ex:" is not declared', 1, 16, 19),
        ("SELECT ?x { ?x <p> 'a'^^xsd:int }", 'the prefix "xsd:" is not declared', 1, 25, 31),
        ("SELECT ?x { ?x <p> @en }", '"@en" does not follow a string', 1, 20, 22),
        ("PREFIX ex <http://e/> SELECT * {}", 'unexpected "ex"', 1, 8, 9),
        ("PREFIX ex:a <http://e/> SELECT * {}", 'unexpected "ex:a"', 1, 8, 11),
        ("PREFIX ex: e SELECT * {}", 'unexpected "e"', 1, 12, None),
        ("BASE ex: SELECT * {}", 'unexpected "ex:"', 1, 6, 8),
        ("REGISTER SELECT * {}", 'unexpected "SELECT"', 1, 10, 15),
        ("REGISTER ISTREAM AS SELECT * {}", 'unexpected "AS"', 1, 18, 19),
        ("REGISTER ISTREAM <q> SELECT * {}", 'unexpected "SELECT"', 1, 22, 27),
        ("SELECT * FROM WINDOW <w> ON <s> [EVENT] {}", "unexpected WINDOW after FROM", 1, 15, 20),
        ("SELECT * FROM NAMED WINDOW <w> <s> [EVENT] {}", 'unexpected "<s>"', 1, 32, 34),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> {}", 'unexpected "{"', 1, 39, None),
        ("SELECT * FROM NAMED WINDOW ?w ON <s> [EVENT] {}", 'unexpected "?w"', 1, 28, 29),
        (
            "SELECT * FROM NAMED WINDOW <w> ON <s>\n[RANGE 1s STEP 2s] {}",
            "STEP is greater than RANGE",
            2,
            16,
            17,
        ),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> [RAGNE 1s] {}", 'unexpected "RAGNE" in a window', 1, 40, 44),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT] { WINDOW { } }", 'unexpected "{"', 1, 56, None),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT] { WINDOW <w> ?x }", 'unexpected "?x"', 1, 60, 61),
        (
            "SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT]\n{ WINDOW <v> { } }",
            "the window <v> is not declared",
            2,
            10,
            12,
        ),
        ("SELECT * { ?x <p>{4,2} ?y }", "a path repeats at least 4 and at most 2 times: never", 1, 18, 22),
        (
            "SELECT *\n{ ?x <p> ?y BIND(1 AS ?x) }",
            "BIND defines ?x, which is already in use in its group",
            2,
            23,
            24,
        ),
    ],
)
def test_places(text: str, message: str, line: int, column: int, end_column: int | None) -> None:
    error = refused(text)
    place = error.place
    assert message in error.message
    assert place is not None
    assert (place.line, place.column, place.end_column, place.source) == (line, column, end_column, "q.rq")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected SELECT, CONSTRUCT or ASK:"),
        ("SELECT ?x {} LIMIT ?x", "expected a number:"),
        ("SELECT ?x {} GROUP ?x", "expected BY:"),
        ("SELECT (?x AS 1) {}", "expected a variable:"),
        ("SELECT ?x { ?x <p> ?y FILTER ?y > 3 }", 'expected an IRI, "(" or EXISTS:'),
        ("SELECT ?x { } extra:", None),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> {}", "expected the window in brackets:"),
        ("REGISTER ISTREAM <q> SELECT * {}", "expected WITH or AS:"),
    ],
)
def test_what_was_expected(text: str, expected: str | None) -> None:
    detail = refused(text).detail or ""
    if expected is not None:
        assert detail.startswith(expected)


def test_the_line_is_shown_with_carets() -> None:
    error = refused("SELECT *\n\t{ ?x <p> FILTER(1) }")
    assert error.detail is not None
    assert error.detail.splitlines()[-2:] == ["   { ?x <p> FILTER(1) }", "            ^^^^^^"]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELCT ?x {}", "Did you mean SELECT?"),
        ("SELECT ?x { FILTER(STRLENGTH(?x)) }", "Did you mean STRLEN?"),
        ("SELECT ?x FROM NAMED WINDO <w> ON <s> [EVENT] {}", "Did you mean WINDOW?"),
        ("REGISTER ISTRAEM <q> AS SELECT * {}", "Did you mean ISTREAM?"),
        ("PREFIX foaf: <http://f/> SELECT * { ?x foa:name ?y }", "Did you mean foaf:name?"),
        (
            "SELECT * { ?x rdf:type ?y }",
            "Add PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> at the top.",
        ),
        ("SELECT * { ?x ex:type ?y }", "Add PREFIX ex: <…> at the top."),
        ("SELECT * {", 'Add "}".'),
    ],
)
def test_hints(text: str, hint: str) -> None:
    assert refused(text).hint == hint


def test_long_texts_are_not_probed_but_still_have_a_place() -> None:
    error = refused("SELECT * { " + "?a <p> ?b . " * 60 + "?a <q> ?c ; ?d }" + " " + "# c" * 2000)
    assert error.place is not None
    assert error.message == 'unexpected "}"'


DEEP = {
    "triples": "SELECT * { " + " . ".join(["?a <u:p> ?b"] * 300) + " }",
    "parentheses": "SELECT * { FILTER (" + "(" * 60 + "?a" + ")" * 60 + ") }",
    "groups": "SELECT * " + "{" * 100 + "?a <u:p> ?b" + "}" * 100,
    "paths": "SELECT * { ?a " + "(" * 100 + "<u:p>" + ")" * 100 + " ?b }",
    "services": "SELECT * " + "{ SERVICE <u:x> " * 20 + "{ ?a <u:p> ?b }" + " }" * 20,
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_queries_parse_and_the_recursion_limit_is_put_back(name: str) -> None:
    limit, stack = sys.getrecursionlimit(), threading.stack_size()
    assert parse_query(DEEP[name], range=1).windows
    assert (sys.getrecursionlimit(), threading.stack_size()) == (limit, stack)


def test_a_query_that_nests_without_end_is_an_error_with_a_place() -> None:
    error = refused("SELECT * { FILTER (" + "(" * 3000 + "?a" + ")" * 3000 + ") }")
    assert error.message == "the query is nested too deeply"
    assert error.place is not None


def test_threads_do_not_disturb_each_other() -> None:
    texts = ["SELECT * { ?a <u:p> 01 }", DEEP["groups"], DEEP["triples"], "ASK { ?a <u:p>{2} ?b }"]
    alone = [parse_query(text, range=1).pattern for text in texts]
    failed: list[object] = []

    def work(index: int) -> None:
        try:
            assert parse_query(texts[index], range=1).pattern == alone[index]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number % len(texts),)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
