"""The engine as a Python user has it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pyoxigraph
import pytest
from rdflib import Literal, URIRef

import spectra

REACH = """PREFIX : <http://e/>
REGISTER CHANGES :reach AS SELECT ?x ?y
FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE { WINDOW :w { ?x :p+ ?y } }"""


def texts(changes: list[spectra.Change]) -> list[str]:
    return sorted(str(change).replace("http://e/", "").replace("1970-01-01T00:00:", "") for change in changes)


@pytest.fixture
def engine() -> spectra.Engine:
    return spectra.Engine()


def test_terms_of_rdflib_pyoxigraph_and_text_are_the_same_terms(engine: spectra.Engine) -> None:
    engine.register(REACH)
    a, p, b = (URIRef(f"http://e/{name}") for name in "apb")
    assert texts(engine.push([(a, p, b)], at="1970-01-01T00:00:01Z")) == ["01.000Z + ?x=<a> ?y=<b> until 10.000Z"]
    oxigraph = tuple(pyoxigraph.NamedNode(f"http://e/{name}") for name in "apb")
    assert engine.push([oxigraph], at="1970-01-01T00:00:02Z") == []
    assert engine.push([("<http://e/a>", "<http://e/p>", "<http://e/b>")], at=3000) == []
    assert engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=4000) == []
    found = engine.push("<http://e/b> <http://e/p> <http://e/c> .", at=4000)
    assert texts(found) == ["04.000Z + ?x=<a> ?y=<c> until 10.000Z", "04.000Z + ?x=<b> ?y=<c> until 10.000Z"]


def test_literals_keep_their_lexical_form(engine: spectra.Engine) -> None:
    engine.register("SELECT ?y { <urn:a> <urn:p> ?y }", range="10s", step="5s")
    number = Literal("01", datatype=URIRef("http://www.w3.org/2001/XMLSchema#integer"), normalize=False)
    (change,) = engine.push([(URIRef("urn:a"), URIRef("urn:p"), number)], at=0)
    assert change.bindings["y"] == number
    assert str(change.bindings["y"]) == "01"


def test_deletion_and_time(engine: spectra.Engine) -> None:
    engine.register(REACH)
    engine.push("<http://e/a> <http://e/p> <http://e/b> . \n<http://e/b> <http://e/p> <http://e/c> .", at=1000)
    gone = engine.push(deleted="<http://e/b> <http://e/p> <http://e/c> .", at=2000)
    assert texts(gone) == ["02.000Z - ?x=<a> ?y=<c>", "02.000Z - ?x=<b> ?y=<c>"]
    assert engine.advance(9999) == []
    assert texts(engine.advance("1970-01-01T00:00:10Z")) == ["10.000Z - ?x=<a> ?y=<b>"]


def test_a_registered_name_is_the_name_of_the_changes(engine: spectra.Engine) -> None:
    query = engine.register(REACH)
    assert query.name == "http://e/reach"
    (change,) = engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0)
    assert change.query == "http://e/reach"


def test_run_over_a_folder(engine: spectra.Engine, tmp_path: Path) -> None:
    for second, edge in ((1, "a b"), (3, "b c")):
        s, o = edge.split()
        (tmp_path / f"1970-01-01T00-00-0{second}Z.nt").write_text(f"<http://e/{s}> <http://e/p> <http://e/{o}> .\n")
    engine.register(REACH)
    changes = list(engine.run(spectra.read(tmp_path)))
    assert [(change.at.milliseconds, change.op) for change in changes] == [
        (1000, "+"),
        (3000, "+"),
        (3000, "+"),
        (10_000, "-"),
        (10_000, "-"),
        (10_000, "-"),
    ]
    assert isinstance(changes[0].at, str)
    assert changes[0].until is not None
    assert changes[0].until.datetime.second == 10


def test_a_run_as_one_table(engine: spectra.Engine, tmp_path: Path) -> None:
    (tmp_path / "1000.nt").write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    engine.register(REACH)
    table = engine.run(spectra.read(tmp_path), drain=False).to_arrow()
    assert table.column_names == ["query", "at", "op", "until", "x", "y"]
    assert table.to_pylist()[0]["x"] == "<http://e/a>"


def test_snapshot(engine: spectra.Engine) -> None:
    query = engine.register(REACH)
    assert len(query.snapshot()) == 0
    engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0)
    snapshot = query.snapshot()
    assert snapshot.rows() == [{"x": URIRef("http://e/a"), "y": URIRef("http://e/b")}]
    assert snapshot.to_arrow().to_pylist() == [{"x": "<http://e/a>", "y": "<http://e/b>"}]
    assert snapshot.to_pandas().shape == (1, 2)
    engine.advance(10_000)
    assert query.snapshot().rows() == []


def test_changes_as_they_come(engine: spectra.Engine) -> None:
    query = engine.register(REACH)

    async def listen() -> list[spectra.Change]:
        return [change async for change in query.changes()]

    async def scenario() -> list[spectra.Change]:
        listening = asyncio.create_task(listen())
        await asyncio.sleep(0)
        engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0)
        engine.advance(10_000)
        query.remove()
        return await asyncio.wait_for(listening, 10)

    assert [change.op for change in asyncio.run(scenario())] == ["+", "-"]


def test_a_removed_query_is_silent_while_others_go_on(engine: spectra.Engine) -> None:
    reach = engine.register(REACH)
    plain = engine.register("SELECT ?x { ?x <http://e/p> ?y }", range="PT1H", step="PT1M", name="urn:plain")
    assert plain.name == "urn:plain"
    stream = {"stream": "http://e/s"}
    assert len(engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0, **stream)) >= 1
    reach.remove()
    reach.remove()
    assert engine.queries == (plain,)
    assert engine.advance(20_000) == []
    again = engine.register(REACH)
    # it sees what comes from now on
    assert again.snapshot().rows() == []


def test_the_only_stream_needs_no_name(engine: spectra.Engine) -> None:
    engine.register(REACH)
    engine.register(REACH.replace(":reach", ":other").replace("ON :s", "ON :t"))
    with pytest.raises(spectra.QueryError, match="which stream"):
        engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0)
    (change,) = engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0, stream="http://e/t")
    assert change.query == "http://e/other"


def test_ask_and_construct(engine: spectra.Engine) -> None:
    window = "FROM NAMED WINDOW :w ON :s [RANGE PT10S] WHERE { WINDOW :w { ?x :p ?y } }"
    engine.register(f"PREFIX : <http://e/> REGISTER ISTREAM :ask AS ASK {window}", name="urn:ask")
    engine.register(
        f"PREFIX : <http://e/> REGISTER ISTREAM :made AS CONSTRUCT {{ ?y :q ?x }} {window}", name="urn:made"
    )
    found = {change.query: change for change in engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0)}
    assert found["urn:ask"].boolean is True
    assert found["urn:ask"].until is None
    assert found["urn:made"].triple == ("<http://e/b>", "<http://e/q>", "<http://e/a>")
    assert str(found["urn:ask"]) == "1970-01-01T00:00:00.000Z = true"


def test_static_triples_of_the_caller(engine: spectra.Engine) -> None:
    text = REACH.replace("WHERE {", "FROM <urn:people> WHERE { ?y a :Suspect .")
    kind = URIRef("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    with pytest.raises(spectra.QueryError, match="no data for the static graph"):
        engine.register(text)
    engine.register(text, static={"urn:people": [(URIRef("http://e/b"), kind, URIRef("http://e/Suspect"))]})
    assert len(engine.push("<http://e/a> <http://e/p> <http://e/b> .", at=0)) == 1
    assert engine.push("<http://e/a> <http://e/p> <http://e/c> .", at=0) == []
