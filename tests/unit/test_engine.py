"""The engine: what queries share, what is kept and given back, several streams, limits and errors."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest

import spectra
from spectra.dictionary.hashing import hash_text
from spectra.errors import (
    InternalError,
    QueryError,
    ResourceError,
    SpectraError,
    StreamError,
    UnsupportedError,
)
from spectra.operators.path.spath import SPath
from spectra.operators.pattern.tpjoin import TpJoin
from spectra.streams.memory import concatenate, from_triples
from spectra.views.batch import EventBatch
from tests.unit.notation import STREAM, batch, deltas, events, query, shown, triple

CHAIN = "?x <urn:pays> ?y . ?y <urn:owns> ?z"


def windows(engine):
    return [state for timeline in engine._timelines.values() for state in timeline.windows]


def operators(operator, kind):
    """All operators of a kind below one."""
    found = [operator] if isinstance(operator, kind) else []
    below = [getattr(operator, name) for name in ("source", "left", "right") if hasattr(operator, name)]
    for each in [*below, *getattr(operator, "sources", [])]:
        found += operators(each, kind)
    return found


def data_terms(engine):
    """How many terms the dictionary holds that are not constants of queries."""
    return engine.dictionary.statistics()["adaptive"]


# --- sharing ------------------------------------------------------------------------------


def test_queries_with_the_same_window_share_its_views():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", output="CHANGES"))
    engine.register(query("RANGE 10s STEP 5s", CHAIN, output="ISTREAM"))
    engine.register(query("RANGE 10s STEP 5s REPORT PERIODIC 3s", output="RSTREAM"))
    assert len(windows(engine)) == 1
    engine.register(query("RANGE 20s STEP 5s", output="DSTREAM"))
    assert len(windows(engine)) == 2
    engine.push([triple("a pays b"), triple("b owns c")], at=1000)
    held = {state.spec.range: state.views.live for state in windows(engine)}
    # the second window is read by a query that has no use for <urn:owns>
    assert held == {10_000: 2, 20_000: 1}


def test_shared_views_serve_each_query_as_if_alone():
    stream = [batch(STREAM, events("1 a pays b | 3 b owns c | 4 -a pays b, d pays b | 11 b owns e"))]
    texts = [query("RANGE 10s STEP 5s", output="CHANGES"), query("RANGE 10s STEP 5s", CHAIN, output="DSTREAM")]
    alone = []
    for text in texts:
        engine = spectra.Engine()
        engine.register(text)
        alone += shown(engine.run(stream))
    together = spectra.Engine()
    for text in texts:
        together.register(text)
    assert sorted(shown(together.run(stream))) == sorted(alone)


# --- pruning ------------------------------------------------------------------------------


def test_triples_that_no_query_can_use_are_not_encoded():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", "?x <urn:pays> <urn:b>"))
    before = engine.dictionary.statistics()
    engine.push([triple("p likes q"), triple("a pays x"), triple("p owns q")], at=1000)
    assert engine.dictionary.statistics() == before
    assert engine.statistics()["triples"] == 0
    engine.push([triple("p likes q"), triple("a pays b")], at=2000)
    assert engine.statistics()["triples"] == 1


def test_an_event_pruned_to_nothing_still_moves_time():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    engine.push([triple("a pays b")], at=1000)
    assert shown(engine.push([triple("p likes q")], at=12_000)) == ["10 -a b"]
    assert engine.events == 2
    assert engine.push([triple("a pays b")], at=11_000) == []
    assert engine.late == 1


def test_an_event_pruned_to_nothing_counts_in_a_count_window():
    engine = spectra.Engine()
    engine.register(query("ELEMENTS 2 STEP 1"))
    assert shown(engine.push([triple("a pays b")], at=1000)) == ["1 +a b"]
    assert engine.push([triple("p likes q")], at=2000) == []
    assert shown(engine.push([triple("p likes q")], at=3000)) == ["3 -a b"]


# --- several streams ----------------------------------------------------------------------

TWO_STREAMS = (
    "REGISTER CHANGES <urn:q> AS SELECT * FROM NAMED WINDOW <urn:v> ON <urn:s1> [RANGE 10s STEP 5s] "
    "FROM NAMED WINDOW <urn:w> ON <urn:s2> [RANGE 10s STEP 5s] "
    "WHERE { WINDOW <urn:v> { ?x <urn:pays> ?y } WINDOW <urn:w> { ?y <urn:owns> ?z } }"
)


def write(folder, files):
    folder.mkdir()
    for time, text in files.items():
        lines = [" ".join(triple(part)) + " .\n" for part in text.split(",")]
        (folder / f"{time}.nt").write_text("".join(lines))
    return folder


def test_streams_are_interleaved_by_time(tmp_path):
    #                 0    5    10   15
    # s1: a pays b    .[--------)
    # s2: b owns c    . [-------)
    # s1: d pays b    .   [-----)
    # s2: b owns e    .      [-------)
    first = write(tmp_path / "1", {1000: "a pays b", 4000: "d pays b"})
    second = write(tmp_path / "2", {2000: "b owns c", 7000: "b owns e"})
    wanted = deltas("2 +a b c | 4 +d b c | 7 +a b e, +d b e | 10 -a b c, -a b e, -d b c, -d b e")
    for sources in (
        (spectra.read(first, stream="urn:s1"), spectra.read(second, stream="urn:s2")),
        (spectra.read(second, stream="urn:s2"), spectra.read(first, stream="urn:s1")),
    ):
        engine = spectra.Engine()
        engine.register(TWO_STREAMS)
        assert shown(engine.run(*sources)) == wanted
        assert engine.late == 0


def test_interleaving_does_not_depend_on_the_batches():
    one = events("1 a pays b | 4 d pays b | 9 e pays b | 9 f pays b")
    two = events("2 b owns c | 4 b owns d | 9 -b owns d")

    def run(first, second):
        engine = spectra.Engine()
        engine.register(TWO_STREAMS)
        told = shown(engine.run(first, second))
        assert engine.late == 0
        return told

    wanted = run([batch("urn:s1", one)], [batch("urn:s2", two)])
    assert wanted[:2] == ["2 +a b c", "4 +a b d"]
    assert run([batch("urn:s1", [event]) for event in one], [batch("urn:s2", two)]) == wanted
    assert run([batch("urn:s1", one)], [batch("urn:s2", [event]) for event in two]) == wanted
    assert run([batch("urn:s1", [event]) for event in one], [batch("urn:s2", [event]) for event in two]) == wanted


def test_a_push_must_say_its_stream_where_there_are_two():
    engine = spectra.Engine()
    engine.register(TWO_STREAMS)
    with pytest.raises(QueryError, match="which stream") as raised:
        engine.push([triple("a pays b")], at=0)
    assert "<urn:s1>, <urn:s2>" in raised.value.hint
    engine.push([triple("a pays b")], at=0, stream="urn:s1")
    assert shown(engine.push([triple("b owns c")], at=0, stream="urn:s2")) == ["0 +a b c"]


def test_a_triple_of_another_stream_is_not_seen():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    assert engine.push([triple("a pays b")], at=0, stream="urn:elsewhere") == []
    assert engine.statistics()["triples"] == 0


# --- queries come and go ------------------------------------------------------------------


def test_a_query_sees_the_events_from_its_registration_on():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", output="CHANGES"))
    engine.push([triple("a pays b")], at=1000)
    late = engine.register(query("RANGE 10s STEP 5s", output="ISTREAM"))
    assert len(windows(engine)) == 2
    changes = engine.push([triple("b pays c")], at=2000)
    assert shown(c for c in changes if c.query == late.name) == ["2 +b c"]
    assert shown(c for c in changes if c.query != late.name) == deltas("2 +a c, +b c")


def test_a_removed_query_tells_no_more_and_others_go_on():
    engine = spectra.Engine()
    first = engine.register(query("RANGE 10s STEP 5s", output="CHANGES"))
    second = engine.register(query("RANGE 10s STEP 5s", CHAIN, output="ISTREAM"))
    engine.push([triple("a pays b")], at=1000)
    first.remove()
    assert engine.queries == (second,)
    assert {c.query for c in engine.push([triple("b owns c")], at=2000)} == {second.name}
    first.remove()  # a second time changes nothing
    second.remove()
    assert windows(engine) == []
    assert engine.push([triple("a pays b")], at=3000) == []
    assert engine.register(query("RANGE 10s STEP 5s", output="CHANGES")).name == first.name


def test_removal_gives_the_terms_back():
    engine = spectra.Engine()
    for _ in range(3):
        registered = engine.register(query("RANGE 1h", "?x <urn:pays> ?y"))
        engine.push([triple(f"a{n} pays b{n}") for n in range(100)], at=1000)
        assert data_terms(engine) == 200
        registered.remove()
        assert engine.statistics()["triples"] == 0
        assert data_terms(engine) == 0


def test_the_dictionary_shrinks_when_triples_expire():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    most = 0
    for second in range(100):
        engine.push([triple(f"s{second}x{n} pays o{second}x{n}") for n in range(20)], at=1000 * second)
        most = max(most, data_terms(engine))
    # at most eleven seconds of 40 terms each are held, of the 4,000 that came
    assert 5 * 40 <= most <= 11 * 40
    engine.drain()
    assert data_terms(engine) == 0


@pytest.mark.parametrize("output", ["ISTREAM", "RSTREAM", "CHANGES", "DSTREAM"])
@pytest.mark.parametrize("policy", ["ON_CONTENT_CHANGE", "ON_WINDOW_CLOSE", "PERIODIC 7s"])
def test_no_output_keeps_terms_for_ever(output, policy):
    engine = spectra.Engine()
    engine.register(query(f"RANGE 10s STEP 5s REPORT {policy}", output=output))
    for second in range(0, 60, 3):
        engine.push([triple(f"a{second} pays b{second}"), triple(f"b{second} pays c{second}")], at=1000 * second)
    engine.drain()
    engine.advance(200_000)
    assert data_terms(engine) == 0


# --- work per event -----------------------------------------------------------------------

TERMS = "<urn:n%d>"


def numbered(rows, times) -> EventBatch:
    """One event per row of (subject, predicate, object) numbers, each term `<urn:nN>`."""
    rows = np.asarray(rows)
    texts = [(TERMS % n).encode() for n in range(int(rows.max()) + 1)]
    lengths = np.array([len(text) for text in texts], np.int32)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    hashes = np.array([hash_text(text) for text in texts], np.int64)
    count = len(rows)
    return EventBatch(
        stream=STREAM,
        text=np.frombuffer(b"".join(texts), np.uint8).copy(),
        start=starts[rows].astype(np.int64),
        length=lengths[rows],
        tag=np.zeros((count, 3), np.int32),
        hashes=hashes[rows],
        sign=np.ones(count, np.int8),
        event_time=np.asarray(times, np.int64),
        event_first=np.arange(count + 1, dtype=np.int64),
        event_size=np.ones(count, np.int64),
    )


def work(pattern, kind, counters, size, make_rows):
    """What the operators count for 500 events on a window that holds `size` triples."""
    engine = spectra.Engine(lazy=False, path="spath")  # or a small window, in which a view is empty, would cost nothing
    registered = engine.register(query("RANGE 1000h", pattern, output="ISTREAM"))
    rng = random.Random(size)
    filling = numbered(make_rows(rng, size, size), np.arange(size))
    for _ in engine.run([filling], drain=False).batches():
        pass
    engine.flush()
    found = operators(registered.operator, kind)
    assert found
    before = [sum(operator.counters[name] for operator in found) for name in counters]
    for _ in engine.run([numbered(make_rows(rng, 500, size), size + np.arange(500))], drain=False).batches():
        pass
    return [sum(operator.counters[name] for operator in found) - b for name, b in zip(counters, before, strict=True)]


#: Interpreted kernels would take minutes for the largest.
SIZES = (300, 1_000) if numba.config.DISABLE_JIT else (1_000, 10_000, 100_000)


def sparse_rows(rng, count, size):
    """Edges of two predicates among as many vertices as there are edges: each has few neighbours."""
    return [(rng.randrange(10, 10 + size), rng.choice((1, 2)), rng.randrange(10, 10 + size)) for _ in range(count)]


@pytest.mark.parametrize(
    "pattern",
    [
        "?x <urn:n1> ?y . ?y <urn:n2> ?z",
        "?x <urn:n1> ?y . ?x <urn:n2> ?z . ?x <urn:n1> <urn:n15>",
        "<urn:n15> <urn:n1> ?x . ?x <urn:n2> ?y . ?y <urn:n1> ?z",
    ],
    ids=["chain", "star with a constant", "chain from a constant"],
)
def test_a_selective_pattern_does_not_search_the_window(pattern):
    smallest, *larger = (work(pattern, TpJoin, ("probes", "candidates"), size, sparse_rows) for size in SIZES)
    for probes, candidates in larger:
        assert probes <= 2 * smallest[0] + 100
        assert candidates <= 2 * smallest[1] + 100


def ladder(rng, count, size):
    """Short chains far apart: a path reaches a handful of vertices whatever the window holds."""
    found = []
    for _ in range(count):
        start = 10 + 4 * rng.randrange(size)
        step = rng.randrange(3)
        found.append((start + step, 1, start + step + 1))
    return found


def test_a_selective_path_does_not_search_the_window():
    smallest, *larger = (work("?x <urn:n1>+ ?y", SPath, ("edges_probed",), size, ladder) for size in SIZES)
    for (probed,) in larger:
        assert probed <= 2 * smallest[0] + 100


# --- limits and errors --------------------------------------------------------------------


def fill(engine):
    for second in range(40):
        engine.push([triple(f"a{second}x{n} pays b") for n in range(1000)], at=1000 * second)


def test_state_limit():
    engine = spectra.Engine(state_limit=3_000_000)
    engine.register(query("RANGE 1h", "?x <urn:pays> ?y"))
    with pytest.raises(ResourceError, match="more than the limit of 3,000,000") as raised:
        fill(engine)
    assert raised.value.hint
    roomy = spectra.Engine(state_limit=3_000_000)
    roomy.register(query("RANGE 1s", "?x <urn:pays> ?y"))
    fill(roomy)


def test_a_name_is_given_once():
    engine = spectra.Engine()
    first = engine.register(query("RANGE 10s", output="CHANGES"))
    with pytest.raises(QueryError, match="registered already"):
        engine.register(query("RANGE 20s", output="CHANGES"))
    assert engine.queries == (first,)
    names = {engine.register("SELECT * { ?s <urn:pays> ?o }", range="PT1S").name for _ in range(3)}
    assert len(names) == 3
    assert engine.register("SELECT * { ?s <urn:pays> ?o }", range="PT1S", name="urn:mine").name == "urn:mine"


def test_the_name_of_a_query_is_the_one_it_is_registered_by():
    engine = spectra.Engine()
    registered = engine.register(query("RANGE 10s", output="CHANGES"))
    assert registered.name == "urn:changes"
    assert {change.query for change in engine.push([triple("a pays b")], at=0)} == {"urn:changes"}


def test_a_refused_query_leaves_nothing_behind():
    engine = spectra.Engine()
    refused = [
        query("RANGE 10s", "?x <urn:pays> ?y . BIND (<urn:unknown>(?x) AS ?z)"),
        query("RANGE 10s", "?x <urn:pays> ?y . SERVICE <urn:z> { ?y ?p ?z }", output="ISTREAM"),
        "REGISTER CHANGES <urn:q> AS SELECT * FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s] FROM <missing.ttl> "
        "WHERE { WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <urn:owns> ?z }",
    ]
    for text in refused:
        with pytest.raises((QueryError, UnsupportedError)):
            engine.register(text)
        assert engine.queries == ()
        assert engine.streams == ()
        assert windows(engine) == []
    engine.register(query("RANGE 10s"))
    assert shown(engine.push([triple("a pays b")], at=1000)) == ["1 +a b"]


BAD_CALLS = {
    "no time": (lambda e: e.push("", at="soon"), StreamError),
    "time out of range": (lambda e: e.push("", at="9999999-01-01T00:00:00Z"), StreamError),
    "a truth value as time": (lambda e: e.advance(True), StreamError),
    "two terms": (lambda e: e.push([("<urn:a>", "<urn:b>")], at=0), StreamError),
    "no term": (lambda e: e.push([(1, 2, object())], at=0), StreamError),
    "literal as subject": (lambda e: e.push([('"a"', "<urn:p>", "<urn:b>")], at=0), StreamError),
    "half a line": (lambda e: e.push("<urn:a> <urn:p>", at=0), StreamError),
    "no query": (lambda e: e.register("hello"), QueryError),
    "no range": (lambda e: e.register("SELECT * { ?s ?p ?o }"), QueryError),
    "a wrong duration": (lambda e: e.register("SELECT * { ?s ?p ?o }", range="soon"), QueryError),
    "step beyond range": (lambda e: e.register("SELECT * { ?s ?p ?o }", range="1s", step="2s"), QueryError),
    "a file that is missing": (lambda e: list(e.run(spectra.read("missing.nt"))), StreamError),
}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_a_wrong_call_is_an_error_of_ours_and_changes_nothing(call):
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    engine.push([triple("a pays b")], at=1000)
    make, kind = BAD_CALLS[call]
    with pytest.raises(SpectraError) as raised:
        make(engine)
    assert isinstance(raised.value, kind)
    assert not isinstance(raised.value, InternalError)
    assert shown(engine.push([triple("b pays c")], at=2000)) == deltas("2 +a c, +b c")


@pytest.mark.parametrize("seed", range(6))
def test_no_input_reaches_an_internal_error(seed):
    """Deletions of what was never there, repeats, late and equal times, queries that come and go."""
    rng = random.Random(seed)
    engine = spectra.Engine()
    patterns = [
        "?x <urn:pays>+ ?y",
        CHAIN,
        "?x ?p ?y",
        "?x <urn:pays>* <urn:n3>",
        "?x !<urn:pays> ?y . ?y <urn:pays>? ?z",
    ]
    outputs = ["CHANGES", "ISTREAM", "RSTREAM", "DSTREAM"]
    brackets = ["RANGE 10s STEP 5s", "RANGE 7s STEP 3s LATENESS 4s", "ELEMENTS 5 STEP 2", "RANGE 4s REPORT PERIODIC 3s"]
    time = 0
    for _ in range(120):
        time += rng.choice([0, 0, 500, 1000, 4000, -2000])
        text = query(
            rng.choice(brackets),
            rng.choice(patterns),
            rng.choice(outputs),
            rng.choice(["SELECT *", "SELECT DISTINCT *", "ASK"]),
        )
        roll = rng.random()
        if roll < 0.15:
            try:
                engine.register(text)
            except QueryError:
                rng.choice(engine.queries).remove()
        elif roll < 0.25:
            engine.advance(time)
        else:
            made = [
                (f"<urn:n{rng.randrange(5)}>", rng.choice(["<urn:pays>", "<urn:owns>"]), f"<urn:n{rng.randrange(5)}>")
                for _ in range(rng.randrange(5))
            ]
            cut = rng.randrange(len(made) + 1)
            engine.push(made[:cut], deleted=made[cut:], at=time, stream=STREAM)
        for registered in engine.queries:
            registered.snapshot()
    engine.drain()
    while engine.queries:
        engine.queries[0].remove()
    assert engine.statistics()["triples"] == 0


def test_events_of_a_batch_that_come_together():
    parts = [from_triples(STREAM, 1000, [triple("a pays b")], ()), from_triples(STREAM, 2000, [triple("b pays c")], ())]
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", output="ISTREAM"))
    assert shown(engine.run([concatenate(parts)])) == deltas("1 +a b | 2 +a c, +b c")


def test_each_query_is_drained_for_itself():
    # the short window holds a solution that never leaves; its closes end with its own content, however long
    # the other query's window goes on
    def text(name: str, seconds: int) -> str:
        return f"""REGISTER RSTREAM <urn:{name}> AS SELECT ?x FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE {seconds}s]
                   WHERE {{ WINDOW <urn:w> {{ ?a <urn:p> ?b }} VALUES ?x {{ 1 }} }}"""

    def closes(*texts: str) -> list[str]:
        engine = spectra.Engine()
        for one in texts:
            engine.register(one)
        event = from_triples("urn:s", 1_000, "<urn:a> <urn:p> <urn:b> .", ())
        return [change.at for change in engine.run([event]) if change.query == "urn:short"]

    assert closes(text("short", 5)) == ["1970-01-01T00:00:05.000Z"]
    assert closes(text("short", 5), text("long", 50)) == ["1970-01-01T00:00:05.000Z"]


@pytest.mark.parametrize(
    "pattern", ["?a <urn:p> ?b . ?c <urn:p> ?d", "{ ?a <urn:p> ?b } { SELECT * { ?c <urn:p> ?d } }"]
)
def test_a_product_that_nobody_meant_ends_with_a_limit(pattern, monkeypatch):
    monkeypatch.setattr("spectra.operators.kernels.output.MOST_DELTAS", 50_000)
    engine = spectra.Engine()
    engine.register(f"SELECT * {{ {pattern} }}", range="PT1H")
    with pytest.raises(ResourceError, match="changes"):
        engine.push("".join(f"<urn:a{i}> <urn:p> <urn:b{i}> .\n" for i in range(300)), at=0)


@pytest.mark.parametrize("output", ["ISTREAM", "CHANGES", "RSTREAM"])
@pytest.mark.parametrize("report", ["ON_CONTENT_CHANGE", "ON_WINDOW_CLOSE"])
@pytest.mark.parametrize("more", ["", 'BIND(CONCAT(?y, "!") AS ?k)', "?z <urn:q> ?w"])
def test_a_removed_query_gives_its_terms_back(output, report, more):
    engine = spectra.Engine()
    static = {"urn:g": [(f"<urn:z{i}>", "<urn:q>", f"<urn:w{i}>") for i in range(5)]}
    text = f"""REGISTER {output} <urn:query> AS SELECT * FROM <urn:g>
               FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 5s STEP 1s REPORT {report}]
               WHERE {{ WINDOW <urn:w> {{ ?x <urn:p> ?y }} {more} }}"""
    registered = engine.register(text, static=static)
    for second in range(8):
        engine.push(f'<urn:a{second}> <urn:p> "v{second}" .', at=second * 1000 + 500)
    engine.push(deleted='<urn:a7> <urn:p> "v7" .', at=8_000)
    assert engine.dictionary.statistics()["adaptive"] > 0
    registered.remove()
    assert engine.dictionary.statistics()["adaptive"] == 0


def test_computed_terms_live_no_longer_than_their_solutions():
    # nobody asks for solutions that expire here, so nobody can tell when a computed term is done with
    engine = spectra.Engine()
    engine.register('SELECT * { ?x <urn:p> ?y BIND(CONCAT(?y, "!") AS ?k) }', range="PT1S")
    for second in range(30):
        engine.push(f'<urn:a> <urn:p> "v{second}" .', at=second * 1000)
    engine.push(deleted='<urn:a> <urn:p> "v29" .', at=29_000)
    assert engine.dictionary.statistics()["adaptive"] == 0
