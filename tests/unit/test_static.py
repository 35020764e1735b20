"""Static graphs: read from files, pruned by the query, replaced while it runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import spectra
from spectra.checkpoint import restore, saved
from spectra.engine import Engine
from spectra.static import load_static
from tests.unit.notation import STREAM, batch, deltas, events, shown, triple

TRIPLES = {("<http://e/a>", "<http://e/p>", '"x"@en'), ("<http://e/a>", "<http://e/q>", "<http://e/b>")}
LINES = b'<http://e/a> <http://e/p> "x"@en .\n# a comment\n<http://e/a> <http://e/q> <http://e/b> .\n'
FILES = {
    "people.nt": LINES,
    "people.nt.gz": gzip.compress(LINES, mtime=0),
    "people.nq": LINES.replace(b"<http://e/b> .", b"<http://e/b> <http://e/graph> ."),
    "people.ttl": b'@prefix : <http://e/> . :a :p "x"@en ; :q :b .',
    "people.trig": b'@prefix : <http://e/> . :a :p "x"@en . :g { :a :q :b }',
}


def query(pattern: str, output: str = "CHANGES", *, graphs: str = "FROM <urn:g>", select: str = "SELECT *") -> str:
    return (
        f"REGISTER {output} <urn:{output.lower()}> AS {select} {graphs} "
        f"FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT10S STEP PT5S] WHERE {{ {pattern} }}"
    )


def triples(text: str) -> list[tuple[str, str, str]]:
    return [triple(each) for each in text.split(", ") if each]


JOIN = "WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <urn:is> ?z"


def registered(*texts: str, static: str = "b is bank") -> Engine:
    engine = Engine()
    for text in texts:
        engine.register(text, static={"urn:g": triples(static), "urn:h": ()})
    return engine


# --- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_triples(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert set(load_static(name, tmp_path, {})) == TRIPLES
    assert set(load_static("urn:g", Path(), {"urn:g": tmp_path / name})) == TRIPLES
    assert set(load_static((tmp_path / name).as_uri(), Path(), {})) == TRIPLES


@pytest.mark.parametrize("name", FILES)
def test_only_what_the_query_can_use_is_stored(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    engine = Engine()
    text = query("WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <http://e/q> ?z", graphs=f"FROM <{name}>")
    engine.register(text, folder=tmp_path)
    statistics = engine.statistics()
    assert (statistics["static"], statistics["dictionary"]["adaptive"]) == (1, 2)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("bad.nt", b"<http://e/a> <http://e/p> <http://e/b> .\n<http://e/a> <http://e/none> .\n", 2),
        ("bad.nt.gz", gzip.compress(b"<http://e/a> <http://e/p>\n", mtime=0), 1),
        ("cut.nt.gz", gzip.compress(LINES, mtime=0)[:-12], 0),
        ("bad.ttl", b"<http://e/a> <http://e/p> .", 0),
        ("bad.nq", b"<http://e/a> <http://e/p> .\n", 0),
    ],
)
def test_a_bad_file_is_an_error_with_its_line(tmp_path: Path, name: str, content: bytes, line: int) -> None:
    (tmp_path / name).write_bytes(content)
    # no query uses the bad line: it is an error all the same
    text = query("WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <urn:is> ?z", graphs=f"FROM <{name}>")
    engine = Engine()
    with pytest.raises(spectra.StreamError, match=f"{name} is not readable") as caught:
        engine.register(text, folder=tmp_path)
    if line:
        assert caught.value.place is not None
        assert (caught.value.place.source, caught.value.place.line) == (str(tmp_path / name), line)
    assert caught.value.detail
    assert engine.queries == ()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name, message in (("none.nt", "does not exist"), ("none.ttl", "does not exist"), ("a.odd", "cannot tell")):
        (tmp_path / "a.odd").write_text("")
        with pytest.raises(spectra.QueryError, match=message):
            load_static(name, tmp_path, {})
    (tmp_path / "folder.nt").mkdir()
    with pytest.raises(spectra.QueryError, match="cannot be read"):
        load_static("folder.nt", tmp_path, {})


def test_blank_nodes_of_two_files_are_different(tmp_path: Path) -> None:
    for name in ("one.nt", "two.nt", "three.ttl"):
        (tmp_path / name).write_text("_:b <http://e/p> _:b .\n")
    found = [load_static(name, tmp_path, {}) for name in ("one.nt", "two.nt", "three.ttl")]
    assert len({subject for ((subject, _, _),) in found}) == 3
    assert all(subject == object_ for ((subject, _, object_),) in found)


def test_a_large_file_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectra.streams.reading.BATCH_BYTES", 5_000)
    monkeypatch.setattr("spectra.static._STATEMENTS", 100)
    lines = [f"<http://e/{number}> <http://e/p> <http://e/{number + 1}> ." for number in range(3000)]
    for name in ("a.nt", "a.ttl"):
        (tmp_path / name).write_text("\n".join(lines))
        assert len(set(load_static(name, tmp_path, {}))) == 3000


# --- replacing --------------------------------------------------------------------------------


def test_the_difference_is_told_at_the_present_time() -> None:
    engine = registered(query(JOIN))
    engine.push(triples("a pays b, a pays c, a pays d"), at=1000)
    engine.advance(2000)
    told = engine.update_static("urn:g", triples("b is bank, c is bank"))
    assert shown(told, until=True) == deltas("2 +a c bank until 10")
    assert shown(engine.update_static("urn:g", triples("c is bank, d is shop"))) == deltas("2 -a b bank, +a d shop")
    assert engine.update_static("urn:g", triples("d is shop, c is bank, c is bank")) == []
    assert shown(engine.push(triples("e pays d"), at=3000)) == deltas("3 +e d shop")
    assert shown(engine.update_static("urn:g", ())) == deltas("3 -a c bank, -a d shop, -e d shop")
    assert engine.statistics()["static"] == 0


def test_only_the_difference_is_applied() -> None:
    engine = registered(query(JOIN), static=", ".join(f"n{number} is bank" for number in range(500)))
    engine.push(triples("a pays n0"), at=0)
    graph = engine.queries[0].static[0]
    rows, room = graph.views.rows().tolist(), len(graph.views.columns.gone)
    engine.update_static("urn:g", triples(", ".join(f"n{number} is bank" for number in range(1, 501))))
    assert len(set(rows) & set(graph.views.rows().tolist())) >= 499
    assert len(graph.views.columns.gone) == room


def test_before_the_first_event_nothing_is_told() -> None:
    engine = registered(query("?x <urn:is> ?z"))
    assert engine.update_static("urn:g", triples("c is bank")) == []
    assert engine.update_static("urn:g", triples("d is bank, e is bank")) == []
    assert shown(engine.push("", at=1000)) == deltas("1 +d bank, +e bank")


def test_a_computed_term_of_a_static_answer_is_kept_until_the_first_event() -> None:
    engine = Engine()
    text = query("?x <urn:is> ?z BIND(IRI(CONCAT(STR(?x), '-', STR(?z))) AS ?k)", "ISTREAM")
    engine.register(text, static={"urn:g": triples("b is bank")})
    engine.register("SELECT * { ?x <urn:other> ?y }", range="10s")
    assert "1 +b-urn:bank b bank" in shown(engine.push("<urn:a> <urn:other> <urn:b> .", at=1000, stream=STREAM))


def test_a_triple_that_another_graph_has_too_stays() -> None:
    engine = registered(query(JOIN, graphs="FROM <urn:g> FROM <urn:h>"))
    engine.push(triples("a pays b"), at=1000)
    assert engine.update_static("urn:h", triples("b is bank")) == []
    assert engine.update_static("urn:g", ()) == []
    assert shown(engine.update_static("urn:h", ())) == deltas("1 -a b bank")


def test_a_named_graph_is_replaced() -> None:
    text = query("WINDOW <urn:w> { ?x <urn:pays> ?y } GRAPH <urn:g> { ?y <urn:is> ?z }", graphs="FROM NAMED <urn:g>")
    engine = registered(text)
    engine.push(triples("a pays b"), at=1000)
    assert shown(engine.update_static("urn:g", triples("b is shop"))) == deltas("1 -a b bank, +a b shop")


def test_all_queries_that_read_it_are_told() -> None:
    engine = registered(query(JOIN, "ISTREAM"), query(JOIN, "CHANGES"), query(JOIN, "DSTREAM"))
    engine.register(query(JOIN, "RSTREAM", graphs="FROM <urn:other>"), static={"urn:other": ()})
    engine.push(triples("a pays b"), at=1000)
    told = engine.update_static("urn:g", triples("b is shop"))
    assert {(change.query, change.op) for change in told} == {
        ("urn:istream", "+"),
        ("urn:changes", "+"),
        ("urn:changes", "-"),
        ("urn:dstream", "-"),
    }


def test_closes_see_it_later() -> None:
    engine = registered(query(JOIN, "RSTREAM"))
    engine.push(triples("a pays b"), at=1000)
    assert engine.update_static("urn:g", triples("b is shop")) == []
    assert shown(engine.advance(5000)) == deltas("5 =a b shop")


def test_rstream_on_content_change_is_evaluated_at_every_update() -> None:
    engine = registered(query(JOIN, "RSTREAM").replace("STEP PT5S", "STEP PT5S REPORT ON_CONTENT_CHANGE"))
    engine.push(triples("a pays b"), at=1000)
    assert shown(engine.update_static("urn:g", triples("b is bank"))) == deltas("1 =a b bank")


@pytest.mark.parametrize(
    ("pattern", "before", "after", "told"),
    [
        ("WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <urn:is>+ ?z", "b is c, c is d", "b is c, c is e", "1 -a b d, +a b e"),
        ("WINDOW <urn:w> { ?x <urn:pays> ?y } MINUS { ?y <urn:is> ?z }", "b is c", "c is d", "1 +a b"),
        ("WINDOW <urn:w> { ?x <urn:pays> ?y } OPTIONAL { ?y <urn:is> ?z }", "b is c", "c is d", "1 -a b c, +a b"),
    ],
)
def test_paths_and_anti_joins_follow(pattern: str, before: str, after: str, told: str) -> None:
    engine = registered(query(pattern), static=before)
    engine.push(triples("a pays b"), at=1000)
    assert shown(engine.update_static("urn:g", triples(after))) == deltas(told)


def test_groups_follow() -> None:
    select = "SELECT ?z (GROUP_CONCAT(STR(?x)) AS ?all)"
    engine = registered(query(JOIN, select=select).replace(JOIN + " }", JOIN + " } GROUP BY ?z"))
    engine.push(triples("a pays b, c pays d"), at=1000)
    told = engine.update_static("urn:g", triples("b is bank, d is bank"))
    assert [(change.op, str(change.bindings["all"])) for change in told] == [("-", "urn:a"), ("+", "urn:a urn:c")]


def test_each_event_by_itself_sees_the_new_triples() -> None:
    engine = registered(query(JOIN, "ISTREAM").replace("RANGE PT10S STEP PT5S", "EVENT"))
    assert shown(engine.push(triples("a pays b, a pays c"), at=1000)) == deltas("1 +a b bank")
    assert engine.update_static("urn:g", triples("c is bank")) == []
    assert shown(engine.push(triples("a pays b, a pays c"), at=1000)) == deltas("1 +a c bank")


def test_from_a_file_with_blank_nodes_that_stay(tmp_path: Path) -> None:
    path = tmp_path / "people.nt"
    path.write_text("<urn:b> <urn:is> _:x .\n")
    engine = Engine()
    engine.register(query(JOIN, graphs="FROM <people.nt>"), folder=tmp_path)
    engine.push(triples("a pays b, a pays c"), at=1000)
    path.write_text("<urn:b> <urn:is> _:x .\n<urn:c> <urn:is> _:y .\n")
    told = engine.update_static("people.nt", path)
    assert [(change.op, str(change.bindings["y"])) for change in told] == [("+", "urn:c")]


def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "people.nt"
    path.write_text("<urn:c> <urn:is> <urn:bank> .\nnonsense\n")
    engine = registered(query(JOIN), query(JOIN, "ISTREAM"))
    engine.push(triples("a pays b, a pays c"), at=1000)
    with pytest.raises(spectra.StreamError, match="not readable"):
        engine.update_static("urn:g", path)
    assert [len(each.snapshot().rows()) for each in engine.queries] == [1, 1]
    with pytest.raises(spectra.QueryError, match="no query reads the static graph <urn:none>") as caught:
        engine.update_static("urn:none", ())
    assert caught.value.hint == "They read <urn:g>."


def test_terms_are_given_back() -> None:
    engine = registered(query(JOIN), static="")
    engine.push(triples("a pays b"), at=1000)
    before = engine.statistics()["dictionary"]["adaptive"]
    for number in range(3):
        engine.update_static("urn:g", triples(f"b is n{number}, c{number} is d{number}"))
        assert engine.statistics()["dictionary"]["adaptive"] == before + 3
    engine.update_static("urn:g", ())
    assert engine.statistics()["dictionary"]["adaptive"] == before
    engine.queries[0].remove()
    assert engine.statistics()["dictionary"]["adaptive"] == 0


def test_a_checkpoint_has_what_was_replaced() -> None:
    first, second = registered(query(JOIN)), registered(query(JOIN))
    first.push(triples("a pays b, a pays c"), at=1000)
    first.update_static("urn:g", triples("c is bank, d is bank"))
    restore(second, saved(first))
    assert second.queries[0].snapshot().rows() == first.queries[0].snapshot().rows()
    for engine in (first, second):
        told = shown(engine.run([batch(STREAM, events("2 a pays d, e pays b"))], drain=False))
        assert told == deltas("2 +a d bank")
        assert shown(engine.update_static("urn:g", triples("c is bank"))) == deltas("2 -a d bank")


def test_shards_follow_together() -> None:
    told = []
    for number in range(3):
        engine = Engine()
        engine.register(query(JOIN), static={"urn:g": triples("b is bank")}, shard=(number, 3))
        engine.push(triples("a pays b, c pays d, e pays d, f pays b"), at=1000)
        told += engine.update_static("urn:g", triples("d is bank"))
    assert shown(told) == deltas("1 -a b bank, -f b bank, +c d bank, +e d bank")


def test_static_views_count_towards_the_limit() -> None:
    engine = registered(query(JOIN))
    before = engine.nbytes
    engine.update_static("urn:g", triples(", ".join(f"n{number} is bank" for number in range(5000))))
    assert engine.nbytes > before + 100_000


# --- with what else a query can have ----------------------------------------------------------


def test_queries_that_read_the_output_follow() -> None:
    engine = Engine()
    construct = query(JOIN, select="CONSTRUCT { ?x <urn:deals> ?z }").replace("<urn:changes>", "<urn:deals>")
    engine.register(construct, static={"urn:g": triples("b is bank")})
    for output in ("CHANGES", "ISTREAM"):
        text = query("WINDOW <urn:w> { ?x <urn:deals> ?z }", output, graphs="").replace(f"<{STREAM}>", "<urn:deals>")
        engine.register(text)
    assert [change.op for change in engine.push(triples("a pays b, a pays c"), at=1000)] == ["+", "+", "+"]
    told = engine.update_static("urn:g", triples("c is shop"))
    assert shown(change for change in told if change.query == "urn:changes") == deltas("1 -a bank, +a shop")
    assert shown(change for change in told if change.query == "urn:istream") == deltas("1 +a shop")
    assert engine.update_static("urn:g", triples("c is shop")) == []
    assert shown(change for change in engine.advance(20_000) if change.query == "urn:changes") == deltas("10 -a shop")


def test_an_update_can_be_the_first_event_of_a_reader() -> None:
    engine = Engine()
    construct = query(JOIN, select="CONSTRUCT { ?x <urn:deals> ?z }").replace("<urn:changes>", "<urn:deals>")
    engine.register(construct, static={"urn:g": ()})
    reader = query("WINDOW <urn:w> { ?x <urn:deals> ?z } ?z <urn:is> ?k").replace(f"<{STREAM}>", "<urn:deals>")
    engine.register(reader, static={"urn:g": ()})
    assert engine.push(triples("a pays b"), at=1000) == []
    assert engine.update_static("urn:g", triples("bank is big")) == []
    assert [each.began for each in engine.queries] == [True, False]
    told = engine.update_static("urn:g", triples("b is bank, bank is big"))
    assert shown(change for change in told if change.query == "urn:changes") == deltas("1 +big a bank")


def test_implicit_windows_take_back_what_a_static_triple_ends() -> None:
    engine = registered(query(JOIN).replace("<urn:changes>", "<urn:changes> WITH IMPLICIT WINDOWS"))
    engine.push(triples("a pays b"), at=1000)
    assert engine.advance(12_000) == []
    engine.push(triples("c pays b"), at=12_000)
    assert shown(engine.update_static("urn:g", ())) == deltas("12 -c b bank")


def test_paths_over_static_triples_are_named() -> None:
    pattern = "WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <urn:is>+ ?z"
    engine = registered(query(pattern).replace("<urn:changes>", "<urn:changes> WITH PATHS"), static="")
    engine.push(triples("a pays b"), at=1000)
    (change, other) = engine.update_static("urn:g", triples("b is c, c is d"))
    assert sorted(len(each.paths[0].edges) for each in (change, other)) == [1, 2]
    (gone,) = engine.update_static("urn:g", triples("b is c"))
    assert (gone.op, gone.paths[0].broken) == ("-", ("<urn:c>", "<urn:is>", "<urn:d>"))


def test_static_triples_inside_a_window_are_not_replaced() -> None:
    text = query("WINDOW <urn:w> { ?x <urn:is> ?y }").replace("STEP PT5S", "STEP PT5S WITH STATIC")
    engine = registered(text)
    with pytest.raises(spectra.UnsupportedError, match="is part of the window <urn:w>"):
        engine.update_static("urn:g", ())


def test_timelines_of_different_lateness_share_the_terms() -> None:
    engine = registered(query(JOIN), query(JOIN, "ISTREAM").replace("STEP PT5S", "STEP PT5S LATENESS PT1S"))
    engine.push(triples("a pays b, a pays c"), at=1000)
    engine.push("", at=3000)
    told = engine.update_static("urn:g", triples("c is new"))
    assert shown(change for change in told if change.op == "+") == deltas("2 +a c new | 3 +a c new")
