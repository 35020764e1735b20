"""What each format makes of changes."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

from spectra.changes import OPS, ChangeBatch
from spectra.clock import FOREVER, Instant
from spectra.dictionary.terms import to_json
from spectra.errors import QueryError
from spectra.output import CsvWriter, HoldBack, JsonWriter, QuadWriter, Shortening, TableWriter, in_order
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery, Form

XSD = "http://www.w3.org/2001/XMLSchema#"
TERMS = [
    "<http://example.org/ann>",
    '"Ann \\"the\\" first, née O\\n"@fr-CA',
    "_:b1",
    f'"01"^^<{XSD}integer>',
    '""',
    '"\x1b[31mred"',
]


def change_json(
    batch: ChangeBatch, at: int, op: int, until: int, row: list[int], boolean: bool | None
) -> dict[str, Any]:
    """One change as the JSON object of the interface: the plain twin of the writer."""
    line: dict[str, Any] = {"query": batch.query, "at": Instant(at), "op": OPS[op]}
    if boolean is not None:
        line["boolean"] = boolean
        return line
    if batch.form is Form.CONSTRUCT:
        line["triple"] = [batch.terms[code] for code in row]
    else:
        line["bindings"] = {
            name: to_json(batch.terms[code]) for name, code in zip(batch.variables, row, strict=True) if code >= 0
        }
    if until < FOREVER and op >= 0:
        line["until"] = Instant(until)
    return line


def query(text: str) -> ContinuousQuery:
    window = "FROM NAMED WINDOW ex:w ON ex:s [RANGE PT10S STEP PT5S] WHERE { WINDOW ex:w { ?x ex:p ?y } }"
    return parse_query(f"PREFIX ex: <http://example.org/> REGISTER {text} {window}")


SELECT = query("CHANGES ex:pairs AS SELECT ?x ?y")
ASK = query("ISTREAM ex:ask AS ASK")
CONSTRUCT = query("ISTREAM ex:made AS CONSTRUCT { ?x ex:q ?y }")


def pairs(rows: list[tuple[int, int, int, int, int]], name: str = SELECT.name) -> ChangeBatch:
    """(at, op, until, x, y) as a batch."""
    at, op, until, x, y = (np.array(column) for column in zip(*rows, strict=True))
    return ChangeBatch(
        name,
        Form.SELECT,
        ("x", "y"),
        at,
        op.astype(np.int8),
        until,
        np.stack((x, y), 1).astype(np.int32),
        TERMS,
    )


def asked(at: list[int], values: list[bool]) -> ChangeBatch:
    none = np.zeros(len(at), np.int64)
    return ChangeBatch(
        ASK.name,
        Form.ASK,
        (),
        np.array(at),
        none.astype(np.int8),
        none,
        np.zeros((len(at), 0), np.int32),
        [],
        np.array(values),
    )


def triples(rows: list[tuple[int, int, int, int, int, int]]) -> ChangeBatch:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    codes = np.stack(columns[3:], 1).astype(np.int32)
    return ChangeBatch(
        CONSTRUCT.name,
        Form.CONSTRUCT,
        ("s", "p", "o"),
        columns[0],
        columns[1].astype(np.int8),
        columns[2],
        codes,
        TERMS,
    )


PAIRS = pairs([(1000, 1, 10_000, 0, 1), (1000, 0, FOREVER, 2, -1), (2500, -1, 0, 3, 4)])


def test_json_lines_are_those_of_the_interface() -> None:
    file = io.StringIO()
    batches = [PAIRS, asked([1500], [True]), triples([(3000, 1, 9000, 0, 0, 1)])]
    JsonWriter(file).write(batches)
    lines = file.getvalue().splitlines()
    expected = [
        json.dumps(change_json(batch, *row), ensure_ascii=False, separators=(",", ":"))
        for batch in batches
        for row in batch.rows()
    ]
    assert sorted(lines) == sorted(expected)
    first = json.loads(lines[0])
    assert list(first) == ["query", "at", "op", "bindings", "until"]
    assert first["bindings"]["y"] == {
        "type": "literal",
        "value": 'Ann "the" first, née O\n',
        "xml:lang": "fr-CA",
    }
    assert first["until"] == "1970-01-01T00:00:10.000Z"
    assert "y" not in json.loads(lines[1])["bindings"]
    assert "until" not in json.loads(lines[1])


def test_instants_of_several_queries_come_in_order() -> None:
    one = pairs([(1, 1, 9, 0, 0), (1, 1, 9, 1, 1), (4, 1, 9, 2, 2)])
    other = pairs([(1, 1, 9, 3, 3), (2, 1, 9, 4, 4)], "urn:other")
    told = [(batch.query, at, row[0]) for batch in in_order([one, other]) for at, _, _, row, _ in batch.rows()]
    ours = SELECT.name
    assert told == [(ours, 1, 0), (ours, 1, 1), ("urn:other", 1, 3), ("urn:other", 2, 4), (ours, 4, 2)]


def test_what_is_ahead_waits_for_what_is_behind() -> None:
    hold_back = HoldBack()
    assert hold_back.upto([pairs([(5, 1, 9, 0, 0), (7, 1, 9, 0, 0)])], 4) == []
    ready = hold_back.upto([pairs([(3, 1, 9, 1, 1), (6, 1, 9, 1, 1)], "urn:other")], 6)
    assert [batch.at.tolist() for batch in ready] == [[5], [3, 6]]
    assert [batch.at.tolist() for batch in hold_back.upto([], FOREVER)] == [[7]]


def test_csv_follows_sparql_1_1() -> None:
    file = io.StringIO()
    writer = CsvWriter([SELECT, ASK], file)
    writer.write([PAIRS, asked([1500], [False])])
    assert file.getvalue().count("\r\n") == 5
    rows = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    assert rows == [
        ["at", "op", "query", "x", "y", "boolean", "until"],
        [
            "1970-01-01T00:00:01.000Z",
            "+",
            SELECT.name,
            "http://example.org/ann",
            'Ann "the" first, née O\n',
            "",
            "1970-01-01T00:00:10.000Z",
        ],
        ["1970-01-01T00:00:01.000Z", "=", SELECT.name, "_:b1", "", "", ""],
        ["1970-01-01T00:00:01.500Z", "=", ASK.name, "", "", "false", ""],
        ["1970-01-01T00:00:02.500Z", "-", SELECT.name, "01", "", "", ""],
    ]


def test_table_is_aligned_and_shortened() -> None:
    file = io.StringIO()
    writer = TableWriter([SELECT], file)
    writer.write([pairs([(1000, 1, 10_000, 0, 3), (1000, -1, 0, 2, -1), (1000, 1, FOREVER, 5, 0)])])
    assert file.getvalue() == ""
    writer.flush()
    assert file.getvalue().splitlines() == [
        "at                        op  x              y       until",
        "1970-01-01T00:00:01.000Z  -   _:b1",
        '1970-01-01T00:00:01.000Z  +   "\\x1b[31mred"  ex:ann',
        "1970-01-01T00:00:01.000Z  +   ex:ann         01      1970-01-01T00:00:10.000Z",
    ]


def test_table_of_several_queries_says_which() -> None:
    file = io.StringIO()
    writer = TableWriter([SELECT, ASK], file)
    writer.write([PAIRS, asked([1500], [True])])
    writer.flush()
    header, *rows = file.getvalue().splitlines()
    assert header.split() == ["at", "op", "query", "x", "y", "boolean", "until"]
    assert rows[2].split() == ["1970-01-01T00:00:01.500Z", "=", "ex:ask", "true"]


@pytest.mark.parametrize(
    ("term", "shown"),
    [
        ("<http://example.org/ann>", "ex:ann"),
        ("<http://example.org/deep/er>", "deep:er"),
        ("<http://example.org/>", "<http://example.org/>"),
        ("<http://example.org/ann.>", "<http://example.org/ann.>"),
        ("<http://elsewhere.org/ann>", "<http://elsewhere.org/ann>"),
        (f'"-7"^^<{XSD}integer>', "-7"),
        (f'"seven"^^<{XSD}integer>', '"seven"^^xsd:integer'),
        (f'"1.50"^^<{XSD}decimal>', "1.50"),
        (f'"true"^^<{XSD}boolean>', "true"),
        ('"x"^^<http://example.org/unit>', '"x"^^ex:unit'),
        ('"x"@en', '"x"@en'),
        ("_:b1", "_:b1"),
    ],
)
def test_terms_are_shortened_as_in_turtle(term: str, shown: str) -> None:
    text = "PREFIX ex: <http://example.org/>\n prefix deep:<http://example.org/deep/>\nSELECT"
    assert Shortening([text]).term(term) == shown


def test_quads_have_a_graph_per_instant_with_its_time_before() -> None:
    file = io.StringIO()
    writer = QuadWriter([CONSTRUCT], file)
    writer.write([triples([(1000, 1, 9000, 0, 0, 1), (1000, 1, 9000, 0, 0, 2), (2000, 1, 9000, 0, 0, 3)])])
    writer.write([triples([(2000, 1, 9000, 0, 0, 4)])])
    writer.write([triples([(3000, 1, 9000, 0, 0, 4)])])
    graphs = [line.rsplit(" ", 2)[1] for line in file.getvalue().splitlines()]
    time = "<http://www.w3.org/ns/prov#generatedAtTime>"
    lines = file.getvalue().splitlines()
    assert lines[0] == (
        f'<http://example.org/made/1970-01-01T00:00:01.000Z> {time} "1970-01-01T00:00:01.000Z"^^<{XSD}dateTime> .'
    )
    assert graphs[1] == graphs[2] == "<http://example.org/made/1970-01-01T00:00:01.000Z>"
    assert graphs[4] == "<http://example.org/made/1970-01-01T00:00:02.000Z>"
    assert graphs[6] == "<http://example.org/made/1970-01-01T00:00:02.000Z/2>"
    assert graphs[8] == "<http://example.org/made/1970-01-01T00:00:03.000Z>"
    assert [at for at, line in enumerate(lines) if time in line] == [0, 3, 5, 7]


@pytest.mark.parametrize(
    "text",
    [
        "ISTREAM ex:s AS SELECT ?x",
        "ISTREAM ex:a AS ASK",
        "CHANGES ex:c AS CONSTRUCT { ?x ex:q ?y }",
        "DSTREAM ex:d AS CONSTRUCT { ?x ex:q ?y }",
    ],
)
def test_quads_refuse_what_they_cannot_say(text: str) -> None:
    with pytest.raises(QueryError, match="--format nq"):
        QuadWriter([query(text)], io.StringIO())
