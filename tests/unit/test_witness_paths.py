"""WITH PATHS from the outside: what changes, JSON and Arrow say, and what is refused."""

from __future__ import annotations

import io
import json

import pytest

import spectra
from spectra.changes import Path
from spectra.clock import Instant
from spectra.output import writer_for
from spectra.streams.memory import from_triples

WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT10S STEP PT1S]"
TEXT = (
    f"REGISTER CHANGES <urn:q> WITH PATHS AS SELECT ?x ?y {WINDOW} WHERE {{ WINDOW <urn:w> {{ ?x <urn:pays>+ ?y }} }}"
)


def pays(payer, payee):
    return f"<urn:{payer}>", "<urn:pays>", f"<urn:{payee}>"


def seconds(*times):
    return tuple(Instant(1000 * time) for time in times)


def engine(text=TEXT):
    made = spectra.Engine()
    made.register(text)
    return made


def named(changes):
    return {(change.op, *(term.n3() for term in change.bindings.values())): change.paths for change in changes}


def test_a_result_names_the_path_that_lasts_longest():
    example = engine()
    example.push([pays("ann", "dan")], at=1000)
    example.push([pays("ann", "bob"), pays("bob", "cat")], at=2000)
    found = named(example.push([pays("dan", "cat"), pays("cat", "eve")], at=3000))
    way = (pays("ann", "bob"), pays("bob", "cat"), pays("cat", "eve"))
    assert found["+", "<urn:ann>", "<urn:eve>"] == (Path("<urn:ann>", "<urn:eve>", way, seconds(12, 12, 13)),)


def test_a_result_names_a_shortest_path():
    example = engine(TEXT.replace("WITH PATHS", "WITH SHORTEST PATHS"))
    example.push([pays("ann", "cat")], at=1000)
    example.push([pays("ann", "bob"), pays("bob", "cat")], at=2000)
    found = named(example.push([pays("cat", "eve")], at=3000))
    way = (pays("ann", "cat"), pays("cat", "eve"))
    assert found["+", "<urn:ann>", "<urn:eve>"] == (Path("<urn:ann>", "<urn:eve>", way, seconds(11, 13)),)


def test_a_result_that_leaves_names_the_edge_that_went():
    example = engine()
    example.push([pays("ann", "bob")], at=1000)
    example.push([pays("bob", "cat"), pays("cat", "dan")], at=2000)
    (deleted,) = named(example.push(deleted=[pays("cat", "dan")], at=3000))["-", "<urn:ann>", "<urn:dan>"]
    assert deleted.broken == pays("cat", "dan")
    (expired,) = named(example.advance(11_000))["-", "<urn:ann>", "<urn:cat>"]
    assert expired == Path(
        "<urn:ann>", "<urn:cat>", (pays("ann", "bob"), pays("bob", "cat")), seconds(11, 12), pays("ann", "bob")
    )


def test_several_paths_of_one_solution():
    text = TEXT.replace("SELECT ?x ?y", "SELECT *")
    text = text.replace("?x <urn:pays>+ ?y", "?x <urn:pays>+ ?y . ?y (<urn:likes>/^<urn:likes>) ?z")
    example = engine(text)
    (change,) = example.push([pays("ann", "bob"), ("<urn:bob>", "<urn:likes>", "<urn:tea>")], at=1000)
    assert [(path.start, path.end, len(path.edges)) for path in change.paths] == [
        ("<urn:ann>", "<urn:bob>", 1),
        ("<urn:bob>", "<urn:bob>", 2),
    ]


def test_a_path_of_length_zero_has_no_edges():
    example = engine(TEXT.replace("<urn:pays>+", "<urn:pays>*"))
    found = named(example.push([pays("ann", "bob")], at=1000))
    assert found["+", "<urn:bob>", "<urn:bob>"] == (Path("<urn:bob>", "<urn:bob>", (), ()),)


def test_a_path_of_a_count_window_has_no_times():
    example = engine(TEXT.replace("RANGE PT10S STEP PT1S", "ELEMENTS 3"))
    (change,) = example.push([pays("ann", "bob")], at=1000)
    assert change.paths == (Path("<urn:ann>", "<urn:bob>", (pays("ann", "bob"),), (None,)),)


def test_json_and_arrow():
    example = engine()
    file = io.StringIO()
    writer = writer_for("jsonl", [query.query for query in example.queries], file)
    told = example.offer([_batch(1000, [pays("ann", "bob"), pays("bob", "cat")])], complete=True)
    told += example.offer([_batch(2000, (), [pays("ann", "bob")])], complete=True)
    writer.write(told)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    entered = next(line for line in lines if line["op"] == "+" and len(line["paths"][0]["edges"]) == 2)
    ends = ["1970-01-01T00:00:11.000Z"] * 2
    edges = [list(pays("ann", "bob")), list(pays("bob", "cat"))]
    assert entered["paths"] == [{"from": "<urn:ann>", "to": "<urn:cat>", "edges": edges, "until": ends}]
    left = next(line for line in lines if line["op"] == "-" and len(line["paths"][0]["edges"]) == 2)
    assert left["paths"][0]["broken"] == edges[0]
    table = told[0].to_arrow()
    longest = max(table.column("paths").to_pylist(), key=lambda paths: len(paths[0]["edges"]))
    assert (longest[0]["from"], longest[0]["edges"], longest[0]["broken"]) == ("<urn:ann>", edges, None)


def _batch(at, added=(), deleted=()):
    return from_triples("urn:s", at, added, deleted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TEXT.replace("?x ?y FROM", "?x FROM"), "needs the ends of its paths in the answer, and ?y is not"),
        (TEXT.replace("SELECT ?x ?y", "ASK"), "WITH PATHS is of SELECT, this is ASK"),
        (TEXT.replace("<urn:pays>+", "<urn:pays>"), "WITH PATHS in a query that has no path"),
        (TEXT.replace("<urn:pays>+", "^<urn:pays>"), "WITH PATHS in a query that has no path"),
        (TEXT.replace("WINDOW <urn:w> {", "WINDOW ?w {"), "WITH PATHS in WINDOW ?w is not evaluated"),
        (TEXT.replace("WITH PATHS", "WITH PATHS, SHORTEST PATHS"), "ask for different witnesses"),
        (TEXT.replace("WITH PATHS", "WITH SIMPLE PATHS, SHORTEST PATHS"), "SHORTEST PATHS is not for SIMPLE PATHS"),
    ],
)
def test_what_is_refused(text, said):
    with pytest.raises(spectra.SpectraError) as caught:
        engine(text)
    assert said in str(caught.value)


def test_a_shard_names_no_paths():
    with pytest.raises(spectra.UnsupportedError, match="WITH PATHS is not told by shards"):
        spectra.Engine().register(TEXT, shard=(0, 2))
