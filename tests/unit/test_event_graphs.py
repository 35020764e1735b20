"""GRAPH inside WINDOW: the graph of each event by its name, as long as the window holds the event."""

from __future__ import annotations

from pathlib import Path

import pytest

import spectra
from spectra.checkpoint import restore, saved
from spectra.cli import main
from spectra.engine import Engine
from spectra.errors import QueryError, UnsupportedError
from spectra.streams.memory import concatenate, from_triples
from tests.unit.notation import STREAM, deltas, query, seconds, shown, triple

GRAPH = "GRAPH ?e { ?x <urn:pays> ?y }"
TIMED = "?x <urn:pays> ?y . GRAPH ?e { ?x <urn:pays> ?y } BIND(<urn:spectra:time>(?e) AS ?t)"


def told(text: str, stream: str, *, until: bool = False, engine: Engine | None = None) -> list[str]:
    """What a query tells of `1 g: a pays b, -b pays c`, pushed; `g:` names the event."""
    engine = engine or Engine()
    if not engine.queries:
        engine.register(text)
    changes = []
    for part in stream.split("|"):
        time, _, rest = part.strip().partition(" ")
        name, colon, listed = rest.partition(":")
        triples = [each.strip() for each in (listed if colon else rest).split(",") if each.strip()]
        changes += engine.push(
            [triple(each) for each in triples if each[0] != "-"],
            deleted=[triple(each[1:]) for each in triples if each[0] == "-"],
            at=seconds(time),
            stream=STREAM,
            graph=f"<urn:{name.strip()}>" if colon else "",
        )
    changes += [change for batch in engine.drain() for change in batch]
    return shown(changes, until=until)


def test_events_with_the_same_triple_have_it_each():
    assert told(query("RANGE PT10S STEP PT5S", GRAPH), "1 g: a pays b | 6 h: a pays b") == deltas(
        "1 +g a b | 6 +h a b | 10 -g a b | 15 -h a b"
    )


def test_triples_of_two_events_do_not_meet_in_a_graph():
    chain = "GRAPH ?e { ?x <urn:pays>+ ?y }"
    assert told(query("RANGE PT10S", chain), "1 g: a pays b | 2 h: b pays c, c pays d") == deltas(
        "1 +g a b | 2 +h b c, +h b d, +h c d | 10 -g a b, -h b c, -h b d, -h c d"
    )


def test_events_with_one_name_have_one_graph():
    chain = "GRAPH ?e { ?x <urn:pays>/<urn:pays> ?y }"
    assert told(query("RANGE PT10S STEP PT5S", chain), "1 g: a pays b | 6 g: b pays c", until=True) == deltas(
        "6 +g a c until 10 | 10 -g a c"
    )


def test_an_event_without_a_name_is_named_after_its_stream_and_number():
    name = f"spectra:event:{STREAM}"
    assert told(query("RANGE PT10S", GRAPH), "1 a pays b | 2 | 3 b pays c") == deltas(
        f"1 +{name}:0 a b | 3 +{name}:2 b c | 10 -{name}:0 a b, -{name}:2 b c"
    )


def test_a_deletion_takes_a_triple_out_of_every_graph():
    assert told(query("RANGE PT10S", GRAPH), "1 g: a pays b | 2 h: a pays b | 3 i: -a pays b, b pays c") == deltas(
        "1 +g a b | 2 +h a b | 3 -g a b, -h a b, +i b c | 10 -i b c"
    )


def test_what_the_window_holds_of_an_event_that_has_come_again():
    stream = "1 g: a pays b | 6 g: c pays d | 11 g: a pays b"
    assert told(query("RANGE PT10S STEP PT5S", GRAPH), stream, until=True) == deltas(
        "1 +g a b until 10 | 6 +g c d until 15 | 10 -g a b | 11 +g a b until 20 | 15 -g c d | 20 -g a b"
    )


def test_a_named_event_only():
    pattern = "GRAPH <urn:g> { ?x <urn:pays> ?y }"
    assert told(query("RANGE PT10S", pattern), "1 g: a pays b | 2 h: c pays d") == deltas("1 +a b | 10 -a b")


def test_a_count_window_holds_the_graphs_of_its_last_events():
    assert told(query("ELEMENTS 2 STEP 1", GRAPH), "1 g: a pays b | 2 h: a pays b | 3 i: c pays d") == deltas(
        "1 +g a b | 2 +h a b | 3 -g a b, +i c d"
    )


def test_every_event_is_a_graph_also_one_without_a_match():
    counted = "GRAPH ?e { SELECT (IF(COUNT(*) = 0, <urn:none>, <urn:some>) AS ?n) { ?x <urn:pays> ?y } }"
    stream = "1 g: a pays b | 2 h: a knows b | 3 i:"
    assert told(query("RANGE PT10S", counted), stream) == deltas(
        "1 +g some | 2 +h none | 3 +i none | 10 -g some, -h none, -i none"
    )
    assert told(query("RANGE PT10S", "GRAPH ?e {}"), stream) == deltas("1 +g | 2 +h | 3 +i | 10 -g, -h, -i")


def test_the_default_graph_beside_the_events():
    pattern = "?x <urn:pays> ?y . GRAPH ?e { ?y <urn:pays> ?z }"
    assert told(query("RANGE PT10S", pattern), "1 g: a pays b | 2 h: b pays c") == deltas("2 +h a b c | 10 -h a b c")


def test_the_same_event_twice_and_two_events():
    same = "GRAPH ?e { ?x <urn:pays> ?y } GRAPH ?e { ?y <urn:pays> ?z }"
    other = "GRAPH ?e { ?x <urn:pays> ?y } GRAPH ?f { ?y <urn:pays> ?z } FILTER(?e != ?f)"
    stream = "1 g: a pays b | 2 h: b pays c, c pays d"
    assert told(query("RANGE PT10S", same), stream) == deltas("2 +h b c d | 10 -h b c d")
    assert told(query("RANGE PT10S", other), stream) == deltas("2 +g h a b c | 10 -g h a b c")


def test_a_graph_that_speaks_of_itself():
    assert told(query("RANGE PT10S", "GRAPH ?e { ?x <urn:in> ?e }"), "1 g: a in g, b in h") == deltas(
        "1 +g a | 10 -g a"
    )


def test_the_time_of_an_event():
    engine = Engine()
    engine.register(query("RANGE PT10S STEP PT5S", TIMED))
    changes = engine.push([triple("a pays b")], at=1000, graph="<urn:g>")
    assert [str(change.bindings["t"]) for change in changes] == ["1970-01-01T00:00:01.000Z"]
    changes = engine.push([], at=6000, graph="<urn:g>")
    assert sorted((change.op, str(change.bindings["t"])) for change in changes) == [
        ("+", "1970-01-01T00:00:06.000Z"),
        ("-", "1970-01-01T00:00:01.000Z"),
    ]


def test_what_is_no_event_has_no_time():
    pattern = "?x <urn:pays> ?y BIND(<urn:spectra:time>(?x) AS ?t)"
    assert told(query("RANGE PT10S", pattern), "1 g: a pays b") == deltas("1 +a b | 10 -a b")


def test_each_event_by_itself_has_a_name():
    assert told(query("EVENT", GRAPH, "ISTREAM"), "1 g: a pays b | 1 h: a pays b") == deltas("1 +g a b, +h a b")


def test_exists_with_an_event():
    pattern = "?x <urn:pays> ?y FILTER NOT EXISTS { GRAPH ?e { ?x <urn:pays> ?y . ?y <urn:pays> ?z } }"
    assert told(query("RANGE PT10S", pattern), "1 g: a pays b | 2 h: a pays b, b pays c") == deltas(
        "1 +a b | 2 -a b, +b c | 10 -b c"
    )


def test_nothing_is_kept_of_names():
    engine = Engine()
    told(query("RANGE PT10S", TIMED), "1 g: a pays b | 2 g: -a pays b | 3 a pays b", engine=engine)
    assert engine.statistics()["dictionary"]["adaptive"] == 0
    engine.push([triple("a pays b")], at=20_000, graph="<urn:h>")
    engine.queries[0].remove()
    assert engine.statistics()["dictionary"]["adaptive"] == 0


def test_graphs_that_no_query_reads_any_more_are_given_up():
    engine = Engine()
    named = engine.register(query("RANGE PT10S", GRAPH))
    engine.register(query("RANGE PT10S", "?x <urn:pays> ?y", "ISTREAM"))
    engine.push([triple("a pays b")], at=0, graph="<urn:g>")
    before = engine.statistics()["dictionary"]["adaptive"]
    named.remove()
    assert engine.statistics()["dictionary"]["adaptive"] == before - 1  # the name
    assert [change.op for change in engine.push([triple("b pays c")], at=1, graph="<urn:h>")] == ["+"]


@pytest.mark.parametrize("window", ["RANGE PT10S STEP PT5S", "ELEMENTS 3 STEP 2", "RANGE PT10S LATENESS PT2S"])
def test_a_restored_engine_goes_on(window):
    text = query(window, TIMED)
    whole, part, restored = Engine(), Engine(), Engine()
    for engine in (whole, part, restored):
        engine.register(text)
    for engine in (whole, part):
        engine.push([triple("a pays b"), triple("b pays c")], at=1000, graph="<urn:g>")
        engine.push([triple("a pays b")], at=3000)
        engine.push([triple("c pays d")], at=6000, graph="<urn:g>")
    restore(restored, saved(part))
    assert restored.queries[0].snapshot().rows()
    rest = "7 h: -a pays b, a pays d | 12 g: a pays b | 30 b pays c"
    assert told(text, rest, engine=restored, until=True) == told(text, rest, engine=whole, until=True)


AT = "<http://www.w3.org/ns/prov#generatedAtTime>"
NQUADS = f"""\
<urn:g> {AT} "1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<urn:a> <urn:pays> <urn:b> <urn:g> .
<urn:h> {AT} "1970-01-01T00:00:02Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<urn:a> <urn:pays> <urn:b> <urn:h> .
"""
PATCH = """\
TX .
H time "1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
A <urn:a> <urn:pays> <urn:b> .
TC .
TX .
H time "1970-01-01T00:00:02Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
D <urn:a> <urn:pays> <urn:b> .
A <urn:c> <urn:pays> <urn:d> .
TC .
"""


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"stream.nq": NQUADS}, ["urn:g", "urn:h"]),
        ({"stream.rdfp": PATCH}, [f"urn:spectra:event:{STREAM}:0", f"urn:spectra:event:{STREAM}:1"]),
        (
            {"1000.nt": "<urn:a> <urn:pays> <urn:b> .", "2000.nt": "<urn:a> <urn:pays> <urn:b> ."},
            [f"urn:spectra:event:{STREAM}:0", f"urn:spectra:event:{STREAM}:1"],
        ),
    ],
    ids=["N-Quads", "RDF Patch", "a folder"],
)
def test_the_command_line(files, names, tmp_path: Path, capsys):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    path = tmp_path / "q.rq"
    path.write_text(query("RANGE PT10S", TIMED, "ISTREAM", "SELECT ?e ?t"))
    source = str(tmp_path / next(iter(files)) if len(files) == 1 else tmp_path)
    if len(files) > 1:
        path = path.rename(tmp_path.parent / "q.rq")
    assert main(["run", str(path), "--input", source, "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.split(",")[3] for line in lines] == names
    assert [line.split(",")[4] for line in lines] == ["1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z"]
    assert main(["verify", str(path), "--input", source]) == 0


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("GRAPH ?e { GRAPH ?f { ?x <urn:pays> ?y } }", "GRAPH inside the GRAPH"),
        ("GRAPH ?e { ?x <urn:pays> ?y FILTER(<urn:spectra:time>(?x) > 1) }", "inside the GRAPH of an event"),
        ("?x <urn:pays> ?y FILTER EXISTS { GRAPH ?e { ?z <urn:pays> ?y MINUS { ?x <urn:pays> ?z } } }", "EXISTS"),
    ],
)
def test_refused(pattern, message):
    with pytest.raises(UnsupportedError, match=message) as caught:
        Engine().register(query("RANGE PT10S", pattern))
    assert caught.value.place is not None


def test_the_function_takes_one_name():
    with pytest.raises(QueryError, match="one argument"):
        Engine().register(query("RANGE PT10S", "?x <urn:pays> ?y FILTER(<urn:spectra:time>() > 1)"))


def test_the_output_of_a_query_has_no_events_with_names():
    engine = Engine()
    engine.register(query("RANGE PT10S", "?x <urn:pays> ?y", "CHANGES", "CONSTRUCT { ?x <urn:owes> ?y }"))
    with pytest.raises(UnsupportedError, match="output of a query"):
        engine.register(query("RANGE PT10S", GRAPH, "ISTREAM").replace(STREAM, "urn:changes"))


def test_a_path_of_an_event_has_no_witness():
    with pytest.raises(UnsupportedError, match="WITH PATHS in the GRAPH"):
        spectra.Engine().register(
            query("RANGE PT10S", "GRAPH ?e { ?x <urn:pays>+ ?y }").replace(" AS SELECT", " WITH PATHS AS SELECT")
        )


@pytest.mark.parametrize("names", [2, 200])
def test_versions_of_a_large_graph_do_not_come_all_at_once(names):
    engine = Engine()
    engine.register(query("RANGE PT1H", "GRAPH ?e { ?x <urn:pays> ?y }", "ISTREAM"))
    given = [from_triples(STREAM, at, [triple(f"a pays b{at}")], (), f"<urn:g{at % names}>") for at in range(200)]
    told = [*engine.offer([concatenate(given)], complete=False), *engine.finish()]
    assert sum(map(len, told)) == 200
    (window,) = (window for timeline in engine.timelines for window in timeline.windows)
    # 200 versions of graphs of up to 100 triples have 10,000 of them
    assert len(window.graphs.views.columns.gone) < 6_000


def test_a_name_that_is_not_used_again_is_matched_once():
    engine = Engine()
    registered = engine.register(query("RANGE PT10S", GRAPH))
    for at in range(50):
        engine.push([triple("a pays b")], at=at)
    operator = registered.operator
    while "graphs" not in operator.counters:
        operator = operator.source
    assert operator.counters["graphs"] == 50
