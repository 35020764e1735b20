"""`[EVENT]`: each event is matched by itself, and nothing is kept of it."""

from __future__ import annotations

import numpy as np
import pytest

import spectra
from spectra.checkpoint import restore, saved
from spectra.clock import NO_END
from spectra.engine import Engine
from spectra.planner.plans import PatternOperator
from tests.unit.notation import STREAM, batch, deltas, events, query, run, shown

HOWS = ["one batch", "a batch per event", "push"]
CHAIN = "?x <urn:pays> ?y . ?y <urn:pays> ?z"
TWO_STREAMS = (
    "REGISTER ISTREAM <urn:q> AS SELECT ?x ?y FROM NAMED WINDOW <urn:v> ON <urn:a> [EVENT] "
    "FROM NAMED WINDOW <urn:w> ON <urn:b> [EVENT] "
    "WHERE {{ {{ WINDOW <urn:v> {{ ?x <urn:pays> ?y }} }} {} {{ WINDOW <urn:w> {{ ?x <urn:pays> ?y }} }} }}"
)


@pytest.fixture(params=HOWS)
def how(request):
    return request.param


@pytest.mark.parametrize("output", ["ISTREAM", "CHANGES"])
def test_events_do_not_meet(how, output):
    told = run(query("EVENT", CHAIN, output), "1 a pays b | 2 b pays c | 3 a pays b, b pays c", how=how, until=True)
    assert told == deltas("3 +a b c")


def test_what_comes_again_is_told_again(how):
    assert run(query("EVENT", output="ISTREAM"), "1 a pays b | 2 a pays b | 2 | 3 a pays b", how=how) == deltas(
        "1 +a b | 2 +a b | 3 +a b"
    )


def test_events_of_one_instant_are_matched_one_by_one(how):
    stream = "1 a pays b | 1 b pays c | 1 a pays b"
    assert run(query("EVENT", "?x <urn:pays>+ ?y", "ISTREAM"), stream, how=how) == deltas("1 +a b, +b c, +a b")


def test_rstream_tells_the_same(how):
    for policy in ("", " REPORT ON_WINDOW_CLOSE", " REPORT ON_CONTENT_CHANGE"):
        told = run(query("EVENT" + policy, output="RSTREAM"), "1 a pays b | 2 a pays b", how=how)
        assert told == deltas("1 =a b | 2 =a b")


def test_deletions_count_within_their_event(how):
    stream = "1 a pays b | 2 -a pays b | 3 -a pays b, a pays b"
    assert run(query("EVENT"), stream, how=how) == deltas("1 +a b | 3 +a b")


@pytest.mark.parametrize("output", ["ISTREAM", "RSTREAM"])
def test_every_event_has_an_answer_of_its_own(how, output):
    sign = "=" if output == "RSTREAM" else "+"
    counted = query("EVENT", "?x <urn:pays> ?y", output, "SELECT (IF(COUNT(*) = 0, <urn:none>, <urn:some>) AS ?n)")
    stream = "1 a pays b | 2 a knows b | 3 a pays b, b pays c | 4"
    assert run(counted, stream, how=how) == deltas(f"1 {sign}some | 2 {sign}none | 3 {sign}some | 4 {sign}none")


def test_ask_tells_its_value_at_every_event(how):
    told = run(query("EVENT", output="ISTREAM", select="ASK"), "1 a pays b | 2 a pays b | 3 a knows b", how=how)
    assert told == deltas("1 =true | 2 =true | 3 =false")


def test_only_events_that_hold_anything(how):
    window = "EVENT REPORT NON_EMPTY_CONTENT"
    stream = "1 | 2 a knows b | 3 a pays b | 4 -a pays b"
    told = run(query(window, output="ISTREAM", select="ASK"), stream, how=how)
    assert told == deltas("2 =false | 3 =true")


def test_construct_answers_with_a_graph_for_each_event(how):
    text = query("EVENT", "?x <urn:pays> ?y", "ISTREAM", "CONSTRUCT { ?x <urn:is> <urn:payer> }")
    told = run(text, "1 a pays b, a pays c | 2 a pays b", how=how)
    assert told == deltas("1 +a is payer | 2 +a is payer")


def test_events_wait_for_the_watermark_and_late_ones_are_left_out():
    engine = Engine()
    engine.register(query("EVENT LATENESS PT2S"))
    told = shown(engine.run([batch(STREAM, events("3 a pays b | 2 b pays c | 5 c pays d | 2 d pays e"))]))
    assert told == deltas("2 +b c | 3 +a b | 5 +c d")
    assert engine.late == 1


def test_the_windows_of_two_streams_are_never_full_at_once():
    for between, wanted in (("UNION", ["1 +a b", "1 +a b"]), ("", [])):
        engine = Engine()
        engine.register(TWO_STREAMS.format(between))
        given = events("1 a pays b")
        assert shown(engine.run([batch("urn:a", given)], [batch("urn:b", given)])) == wanted


def test_static_triples_join_with_every_event(how):
    engine = Engine()
    text = (
        f"REGISTER ISTREAM <urn:q> AS SELECT * FROM NAMED WINDOW <urn:w> ON <{STREAM}> [EVENT] FROM <urn:static> "
        "WHERE { WINDOW <urn:w> { ?x <urn:pays> ?y } ?y <urn:is> ?z }"
    )
    engine.register(text, static={"urn:static": [("<urn:b>", "<urn:is>", "<urn:bank>")]})
    told = shown(engine.run([batch(STREAM, events("1 a pays b | 2 a pays c | 3 c pays b"))]))
    assert told == deltas("1 +a b bank | 3 +c b bank")


def test_a_static_answer_is_part_of_every_event():
    engine = Engine()
    text = (
        f"REGISTER ISTREAM <urn:q> AS SELECT ?x FROM NAMED WINDOW <urn:w> ON <{STREAM}> [EVENT] FROM <urn:static> "
        "WHERE { ?x <urn:is> <urn:bank> MINUS { WINDOW <urn:w> { ?x <urn:pays> ?y } } }"
    )
    static = [(f"<urn:{name}>", "<urn:is>", "<urn:bank>") for name in ("a", "b")]
    engine.register(text, static={"urn:static": static})
    told = shown(engine.run([batch(STREAM, events("1 a pays b | 2 | 3 b pays a"))]))
    assert told == deltas("1 +b | 2 +a, +b | 3 +a")


@pytest.mark.parametrize("pattern", ["tpjoin", "siblings", "recompute"])
def test_every_operator_forgets_the_event(pattern: PatternOperator):
    engine = Engine(pattern=pattern)
    engine.register(query("EVENT", CHAIN))
    for time in range(5):
        assert len(engine.push("<urn:a> <urn:pays> <urn:b> .\n<urn:b> <urn:pays> <urn:c> .", at=time)) == 1
        statistics = engine.statistics()
        assert statistics["triples"] == 0
        assert (statistics["dictionary"]["persistent"], statistics["dictionary"]["adaptive"]) == (1, 0)


def test_a_snapshot_is_that_of_an_empty_window():
    engine = Engine()
    registered = engine.register(query("EVENT"))
    engine.push("<urn:a> <urn:pays> <urn:b> .", at=1000)
    assert registered.snapshot().rows() == []


def test_neither_time_nor_the_end_of_the_input_tells_anything():
    engine = Engine()
    engine.register(query("EVENT"))
    engine.push("<urn:a> <urn:pays> <urn:b> .", at=1000)
    assert engine.advance(10_000) == []
    assert engine.drain() == []


def test_other_queries_on_the_stream_keep_their_windows():
    engine = Engine()
    engine.register(query("EVENT", CHAIN, "ISTREAM"))
    engine.register(query("RANGE PT10S", CHAIN, "CHANGES"))
    told = list(engine.run([batch(STREAM, events("1 a pays b | 2 b pays c"))]))
    assert [(change.query, change.op) for change in told] == [("urn:changes", "+"), ("urn:changes", "-")]


def test_a_checkpoint_goes_on():
    text = query("EVENT LATENESS PT5S", "?x <urn:pays> ?y", "ISTREAM", "SELECT (COUNT(*) > 1 AS ?n)")
    whole, first, second = Engine(), Engine(), Engine()
    for engine in (whole, first, second):
        engine.register(text)
    given = events("1 a pays b | 2 a pays b, b pays c | 7 a pays c, a pays b | 8 | 9 c pays d")
    wanted = list(whole.run([batch(STREAM, given)]))
    told = [change for each in first.offer([batch(STREAM, given[:3])], complete=False) for change in each]
    restore(second, saved(first))
    told += second.run([batch(STREAM, given[3:])])
    assert [str(change) for change in told] == [str(change) for change in wanted]
    assert len(told) == 5


def test_many_events_in_one_batch_are_told_in_order():
    given = events(" | ".join(f"{time // 3} n{time} pays m{time}" for time in range(10_000)))
    engine = Engine()
    engine.register(query("EVENT", output="ISTREAM"))
    told = list(engine.run([batch(STREAM, given)]).batches())
    at = np.concatenate([each.at for each in told])
    assert at.tolist() == [event.time for event in given]
    assert engine.queries[0].now != NO_END


def test_what_never_tells_anything_is_refused():
    with pytest.raises(spectra.QueryError, match="DSTREAM has nothing to tell") as caught:
        Engine().register(query("EVENT", output="DSTREAM"))
    assert caught.value.place is not None


# --- with what else a query can have ----------------------------------------------------------


@pytest.mark.parametrize("options", ["WITH PATHS", "WITH SHORTEST PATHS", "WITH SIMPLE PATHS, PATHS"])
def test_results_name_the_path_within_the_event(options):
    engine = Engine()
    text = query("EVENT", "?x <urn:pays>+ ?y", "ISTREAM")
    engine.register(text.replace("<urn:istream>", f"<urn:istream> {options}"))
    told = list(engine.run([batch(STREAM, events("1 a pays b, b pays c | 1 a pays d, d pays c | 2 a pays c"))]))
    found = [
        [edge[2] for edge in change.paths[0].edges]
        for change in told
        if (str(change.bindings["x"]), str(change.bindings["y"])) == ("urn:a", "urn:c")
    ]
    assert found == [["<urn:b>", "<urn:c>"], ["<urn:d>", "<urn:c>"], ["<urn:c>"]]
    assert not any(any(change.paths[0].until) for change in told)


def test_static_triples_are_part_of_the_window_of_each_event(how):
    text = (
        f"REGISTER ISTREAM <urn:q> AS SELECT * FROM NAMED WINDOW <urn:w> ON <{STREAM}> [EVENT WITH STATIC] "
        "FROM <urn:static> WHERE { WINDOW <urn:w> { ?x <urn:pays>+ <urn:c> } }"
    )
    engine = Engine()
    engine.register(text, static={"urn:static": [("<urn:b>", "<urn:pays>", "<urn:c>")]})
    told = shown(engine.run([batch(STREAM, events("1 a pays b | 2 -b pays c | 3 d pays b"))]))
    assert told == deltas("1 +a, +b | 2 +b | 3 +b, +d")


def test_what_it_constructs_is_a_stream_of_what_is_told():
    engine = Engine()
    owes = query("EVENT", "?x <urn:pays> ?y", "ISTREAM", "CONSTRUCT { ?y <urn:owes> ?x }")
    engine.register(owes.replace("<urn:istream>", "<urn:owing>"))
    engine.register(query("RANGE PT10S", "?x <urn:owes>+ ?y").replace(f"<{STREAM}>", "<urn:owing>"))
    told = list(engine.run([batch(STREAM, events("1 a pays b | 2 b pays c | 3 a pays b"))]))
    assert shown(change for change in told if change.query == "urn:changes") == deltas(
        "1 +b a | 2 +c a, +c b | 10 -b a, -c a, -c b"
    )


def test_events_of_what_a_query_tells_are_refused():
    derived = query("RANGE 10s", "?x <urn:pays> ?y", "CHANGES", "CONSTRUCT { ?y <urn:owes> ?x }")
    reader = query("EVENT", output="ISTREAM").replace(f"<{STREAM}>", "<urn:changes>")
    for first, second in ((derived, reader), (reader, derived)):
        engine = Engine()
        engine.register(first)
        with pytest.raises(spectra.UnsupportedError, match=r"\[EVENT\] on <urn:changes>"):
            engine.register(second)
