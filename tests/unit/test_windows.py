"""Windows: what is told, and when, as triples arrive, arrive again, expire and are deleted."""

from __future__ import annotations

import json

import pytest

import spectra
from spectra.report import Evaluations
from spectra.streams.quarantine import Quarantine
from tests.unit.notation import STREAM, batch, deltas, events, query, run, shown

HOWS = ["one batch", "a batch per event", "push"]


@pytest.fixture(params=HOWS)
def how(request):
    return request.param


# --- the worked example of the interface --------------------------------------------------

#               0    5    10   15   20
# ann pays bob  .[--------)              arrives at 1
#               . .   [--------)         again at 6: its end moves from 10 to 15
# bob pays cat  .  [------)              3
# cat pays dan  .           [-------)    12
# dan pays ann  .           [-------)    12
EXAMPLE = "1 ann pays bob | 3 bob pays cat | 6 ann pays bob | 12 cat pays dan, dan pays ann"


def test_worked_example_changes(how):
    assert run(query("RANGE PT10S STEP PT5S"), EXAMPLE, how=how) == deltas(
        "1 +ann bob | 3 +ann cat, +bob cat | 10 -ann cat, -bob cat"
        "| 12 +cat dan, +cat ann, +cat bob, +dan ann, +dan bob"
        "| 15 -ann bob, -cat bob, -dan bob | 20 -cat ann, -cat dan, -dan ann"
    )


def test_worked_example_istream(how):
    assert run(query("RANGE PT10S STEP PT5S", output="ISTREAM"), EXAMPLE, how=how) == deltas(
        "1 +ann bob | 3 +ann cat, +bob cat | 12 +cat dan, +cat ann, +cat bob, +dan ann, +dan bob"
    )


def test_worked_example_dstream(how):
    assert run(query("RANGE PT10S STEP PT5S", output="DSTREAM"), EXAMPLE, how=how) == deltas(
        "10 -ann cat, -bob cat | 15 -ann bob, -cat bob, -dan bob | 20 -cat ann, -cat dan, -dan ann"
    )


def test_worked_example_rstream(how):
    assert run(query("RANGE PT10S STEP PT5S", output="RSTREAM"), EXAMPLE, how=how) == deltas(
        "5 =ann bob, =ann cat, =bob cat | 10 =ann bob, =ann cat, =bob cat"
        "| 15 =ann bob, =cat ann, =cat bob, =cat dan, =dan ann, =dan bob"
        "| 20 =cat ann, =cat dan, =dan ann"
    )


def test_worked_example_until(how):
    assert run(query("RANGE PT10S STEP PT5S", output="ISTREAM"), EXAMPLE, how=how, until=True) == deltas(
        "1 +ann bob until 10 | 3 +ann cat until 10, +bob cat until 10"
        "| 12 +cat dan until 20, +cat ann until 20, +cat bob until 15, +dan ann until 20, +dan bob until 15"
    )


def test_until_of_an_rstream_knows_of_later_arrivals(how):
    assert run(query("RANGE PT10S STEP PT5S", output="RSTREAM"), EXAMPLE, how=how, until=True)[3:6] == deltas(
        "10 =ann bob until 15, =ann cat until 10, =bob cat until 10"
    )


@pytest.mark.parametrize(
    ("output", "policy", "expected"),
    [
        # changes between the contents of [-5, 5), [0, 10), [5, 15), [10, 20)
        (
            "CHANGES",
            "ON_WINDOW_CLOSE",
            "5 +ann bob, +ann cat, +bob cat"
            "| 15 -ann cat, -bob cat, +cat ann, +cat bob, +cat dan, +dan ann, +dan bob"
            "| 20 -ann bob, -cat bob, -dan bob",
        ),
        (
            "RSTREAM",
            "ON_CONTENT_CHANGE",
            "1 =ann bob | 3 =ann bob, =ann cat, =bob cat | 6 =ann bob, =ann cat, =bob cat | 10 =ann bob"
            "| 12 =ann bob, =cat dan, =cat ann, =cat bob, =dan ann, =dan bob | 15 =cat dan, =cat ann, =dan ann",
        ),
    ],
)
def test_worked_example_with_the_other_policy(output, policy, expected, how):
    assert run(query(f"RANGE PT10S STEP PT5S REPORT {policy}", output=output), EXAMPLE, how=how) == deltas(expected)


# --- range, step, origin ------------------------------------------------------------------


@pytest.mark.parametrize("window", ["RANGE 10s", "RANGE 10s STEP 10s", "RANGE 10s TUMBLING", "RANGE 10s SLIDE 10s"])
def test_tumbling(window, how):
    #              0         10        20        30
    # a pays b     .[--------)                          1
    # b pays c     .        [)                          9.999
    # c pays d     .         [---------)                10
    stream = "1 a pays b | 9.999 b pays c | 10 c pays d"
    assert run(query(window), stream, how=how) == deltas(
        "1 +a b | 9.999 +a c, +b c | 10 -a b, -a c, -b c, +c d | 20 -c d"
    )
    assert run(query(window, output="RSTREAM"), stream, how=how) == deltas("10 =a b, =a c, =b c | 20 =c d")


def test_step_does_not_divide_range(how):
    #              0   4   8   12  16
    # a pays b     .[--------)           1: [1, 0 + 10)
    # b pays c     .    [--------)       5: [5, 4 + 10)
    # c pays d     .        [--------)   9: [9, 8 + 10)
    stream = "1 a pays b | 5 b pays c | 9 c pays d"
    assert run(query("RANGE 10s STEP 4s"), stream, how=how) == deltas(
        "1 +a b | 5 +a c, +b c | 9 +a d, +b d, +c d | 10 -a b, -a c, -a d | 14 -b c, -b d | 18 -c d"
    )
    # closes at 10 + 4i: 2, 6, 10, 14, 18
    assert run(query("RANGE 10s STEP 4s", output="RSTREAM"), stream, how=how) == deltas(
        "2 =a b | 6 =a b, =a c, =b c | 10 =a b, =a c, =b c, =a d, =b d, =c d | 14 =b c, =b d, =c d | 18 =c d"
    )


def test_origin(how):
    #              0 2    7    12   17
    # a pays b      [-----)                1: in [-3, 2) + 10
    # b pays c        [--------)           3: in [2, 7) + 10
    window = "RANGE 10s STEP 5s T0 1970-01-01T00:00:02Z"
    stream = "1 a pays b | 3 b pays c"
    assert run(query(window), stream, how=how) == deltas("1 +a b | 3 +a c, +b c | 7 -a b, -a c | 12 -b c")
    assert run(query(window, output="RSTREAM"), stream, how=how) == deltas("2 =a b | 7 =a b, =a c, =b c | 12 =b c")


def test_origin_after_the_events_and_times_before_1970(how):
    #             -9   -4    1    6
    # a pays b       [------)            -7: T0 + ⌊(-7 - 6)/5⌋·5 + 10 = 1
    window = "RANGE 10s STEP 5s T0 1970-01-01T00:00:06Z"
    assert run(query(window), "-7 a pays b", how=how) == deltas("-7 +a b | 1 -a b")
    assert run(query(window, output="RSTREAM"), "-7 a pays b", how=how) == deltas("-4 =a b | 1 =a b")


def test_an_event_at_a_close_belongs_to_the_next_window(how):
    #              0    5    10   15
    # a pays b     .    [---------)     5: not in [-5, 5), which closes at 5
    assert run(query("RANGE 10s STEP 5s", output="RSTREAM"), "5 a pays b", how=how) == deltas("10 =a b | 15 =a b")


# --- arrival again, deletion --------------------------------------------------------------


def test_arrival_again_at_the_instant_of_expiry(how):
    #              0    5    10   15   20
    # a pays b     .[--------)
    # a pays b     .         [---------)     at 10, when the first would leave: nothing leaves, nothing enters
    stream = "1 a pays b | 10 a pays b"
    assert run(query("RANGE 10s STEP 5s"), stream, how=how) == deltas("1 +a b | 20 -a b")
    assert run(query("RANGE 10s STEP 5s", output="RSTREAM"), stream, how=how) == deltas(
        "5 =a b | 10 =a b | 15 =a b | 20 =a b"
    )


def test_arrival_again_just_after_expiry(how):
    #              0    5    10   15   20
    # a pays b     .[--------)
    # a pays b     .          [--------)     at 10.001
    assert run(query("RANGE 10s STEP 5s"), "1 a pays b | 10.001 a pays b", how=how) == deltas(
        "1 +a b | 10 -a b | 10.001 +a b | 20 -a b"
    )


def test_an_earlier_end_never_counts(how):
    #              0    5    10   15
    # a pays b     .    [---------)     5
    # a pays b     .     [--------)     6, 9: the same end
    assert run(query("RANGE 10s STEP 5s"), "5 a pays b | 6 a pays b | 9 a pays b", how=how) == deltas(
        "5 +a b | 15 -a b"
    )


def test_deletion_ends_a_triple_at_once(how):
    #              0    5    10
    # a pays b     .[-x               deleted at 3
    # b pays c     .[--------)
    stream = "1 a pays b, b pays c | 3 -a pays b"
    assert run(query("RANGE 10s STEP 5s"), stream, how=how) == deltas("1 +a b, +a c, +b c | 3 -a b, -a c | 10 -b c")
    assert run(query("RANGE 10s STEP 5s", output="RSTREAM"), stream, how=how) == deltas("5 =b c | 10 =b c")


def test_deletion_ends_every_arrival_before_it(how):
    #              0    5    10   15
    # a pays b     .[--------)
    # a pays b     .     [x              again at 6, deleted at 7: not there until 10 either
    assert run(query("RANGE 10s STEP 5s"), "1 a pays b | 6 a pays b | 7 -a pays b", how=how) == deltas(
        "1 +a b | 7 -a b"
    )


def test_deletion_and_insertion_in_one_event_is_an_arrival_again(how):
    #              0    5    10   15
    # a pays b     .[--------)
    #              .     x[-------)     deleted and inserted at 6: it never left
    assert run(query("RANGE 10s STEP 5s"), "1 a pays b | 6 -a pays b, a pays b", how=how) == deltas("1 +a b | 15 -a b")


def test_in_one_instant_the_last_operation_wins():
    #              0    5    10   15
    # a pays b     .[--------)
    #              .     x              6: deleted, inserted, deleted, in three events
    one = "1 a pays b | 6 -a pays b | 6 a pays b | 6 -a pays b"
    for how in HOWS[:2]:
        assert run(query("RANGE 10s STEP 5s"), one, how=how) == deltas("1 +a b | 6 -a b")
    assert run(query("RANGE 10s STEP 5s"), "6 a pays b | 6 -a pays b") == []


def test_deletion_of_what_is_not_there_is_nothing(how):
    assert run(query("RANGE 10s STEP 5s"), "1 -a pays b | 2 a pays b | 10 -a pays b", how=how) == deltas(
        "2 +a b | 10 -a b"
    )


# --- count windows ------------------------------------------------------------------------


def test_count_window_of_the_last_events(how):
    # event        0  1  2  3  4
    # a pays b     [--------)          three events, moved by each
    # b pays c        [--------)
    # -            .     [--------)    an event without a triple counts
    # c pays d              [-------
    stream = "1 a pays b | 2 b pays c | 3 | 4 c pays d | 5"
    assert run(query("ELEMENTS 3 STEP 1"), stream, how=how) == deltas(
        "1 +a b | 2 +a c, +b c | 4 -a b, -a c, +b d, +c d | 5 -b c, -b d"
    )


def test_count_window_that_moves_by_two(how):
    # event        0  1  2  3  4  5
    # e0, e1       [-----------)           held until event 4
    # e2, e3             [-----------)     until event 6
    stream = "1 a pays b | 2 b pays c | 3 c pays d | 4 d pays e | 5 e pays f | 6 f pays g"
    assert run(query("ELEMENTS 4 STEP 2", "?x <urn:pays> ?y"), stream, how=how) == deltas(
        "1 +a b | 2 +b c | 3 +c d | 4 +d e | 5 -a b, -b c, +e f | 6 +f g"
    )
    # it closes with events 1, 3, 5, over what it holds then
    assert run(query("ELEMENTS 4 STEP 2", "?x <urn:pays> ?y", output="RSTREAM"), stream, how=how) == deltas(
        "2 =a b, =b c | 4 =a b, =b c, =c d, =d e | 6 =c d, =d e, =e f, =f g"
    )


def test_count_window_tumbling(how):
    stream = "1 a pays b | 2 b pays c | 3 c pays d"
    assert run(query("ELEMENTS 2", "?x <urn:pays> ?y"), stream, how=how) == deltas(
        "1 +a b | 2 +b c | 3 -a b, -b c, +c d"
    )
    assert run(query("ELEMENTS 2", "?x <urn:pays> ?y", output="RSTREAM"), stream, how=how) == deltas("2 =a b, =b c")


def test_count_window_with_several_events_in_one_instant():
    # event        0  1  2  3
    # e0 at 1      [-----)
    # e1 at 2         [--.-)     e1, e2, e3 come at 2: evaluated once, when the last two are held
    # e2 at 2            [-----
    # e3 at 2               [--
    stream = "1 a pays b | 2 b pays c | 2 c pays d | 2 d pays e"
    for how in HOWS[:2]:
        assert run(query("ELEMENTS 2 STEP 1"), stream, how=how) == deltas("1 +a b | 2 -a b, +c d, +c e, +d e")
        assert run(query("ELEMENTS 2 STEP 1", output="RSTREAM"), stream, how=how) == deltas(
            "1 =a b | 2 =c d, =c e, =d e"
        )
    assert run(query("ELEMENTS 2 STEP 1"), stream, how="push") == [
        "1 +a b", "2 +a c", "2 +b c", "2 +b d", "2 +c d", "2 +c e", "2 +d e", "2 -a b", "2 -a c", "2 -b c", "2 -b d",
    ]  # fmt: skip


def test_count_window_arrival_again(how):
    # event        0  1  2  3
    # a pays b     [-----)
    # a pays b        [-----)     extended: leaves with event 3
    assert run(query("ELEMENTS 2 STEP 1"), "1 a pays b | 2 a pays b | 3 | 4", how=how) == deltas("1 +a b | 4 -a b")


# --- when answers are reported ------------------------------------------------------------


def test_periodic(how):
    #              0   4   8   12
    # a pays b     .[--------)
    # b pays c     .    [----)
    # reports          4   8   12
    window = "RANGE 10s STEP 10s REPORT PERIODIC 4s"
    stream = "1 a pays b | 5 b pays c"
    assert run(query(window), stream, how=how) == deltas("4 +a b | 8 +a c, +b c | 12 -a b, -a c, -b c")
    assert run(query(window, output="RSTREAM"), stream, how=how) == deltas("4 =a b | 8 =a b, =a c, =b c")


def test_periodic_sees_the_events_of_its_instant(how):
    assert run(query("RANGE 10s REPORT PERIODIC 4s"), "4 a pays b", how=how) == deltas("4 +a b | 12 -a b")


def test_periodic_never_sees_what_comes_and_goes_in_between(how):
    stream = "1 a pays b | 2 -a pays b | 3 c pays d"
    assert run(query("RANGE 10s REPORT PERIODIC 5s"), stream, how=how) == deltas("5 +c d | 10 -c d")


def test_non_empty_content(how):
    #              0    5    10
    # a pays b     .[--------)
    # reports       1  3           at 3 only because the window holds something; at 10 it is empty
    window = "RANGE 10s STEP 5s REPORT NON_EMPTY_CONTENT"
    stream = "1 a pays b | 3"
    assert run(query(window, output="RSTREAM"), stream, how=how) == deltas("1 =a b | 3 =a b")
    assert run(query(window), stream, how=how) == deltas("1 +a b")
    # the difference is to the previous evaluation: what left when the window was empty is told with the next
    assert run(query(window), "1 a pays b | 12 c pays d", how=how) == deltas("1 +a b | 12 -a b, +c d")


def test_content_change_reports_an_event_that_changes_nothing(how):
    stream = "1 a pays b | 3 x likes y | 4"
    window = "RANGE 10s REPORT ON_CONTENT_CHANGE"
    assert run(query(window, output="RSTREAM"), stream, how=how) == deltas("1 =a b | 3 =a b | 4 =a b")


def test_ask_tells_its_value_when_it_changes(how):
    ask = query("RANGE 10s STEP 5s", select="ASK")
    assert run(ask, "1 x likes y | 3 a pays b | 4 b pays c", how=how) == deltas("1 =false | 3 =true | 10 =false")
    whole = query("RANGE 10s STEP 5s", select="ASK", output="RSTREAM")
    assert run(whole, "1 x likes y | 6 a pays b", how=how) == deltas("5 =false | 10 =true | 15 =true")


# --- out of order and late ----------------------------------------------------------------


def test_lateness_holds_events_back_and_puts_them_in_order():
    # arrival      1   6   4   11          with LATENESS 5s the watermark is at -4, 1, 1, 6
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s LATENESS 5s"))
    assert engine.push([("<urn:a>", "<urn:pays>", "<urn:b>")], at=1000) == []
    assert shown(engine.push([("<urn:b>", "<urn:pays>", "<urn:c>")], at=6000)) == ["1 +a b"]
    assert engine.push([("<urn:c>", "<urn:pays>", "<urn:d>")], at=4000) == []
    assert shown(engine.push((), at=11_000)) == deltas("4 +c d | 6 +a c, +a d, +b c, +b d")
    assert [text for told in engine.drain() for text in shown(told)] == deltas(
        "10 -a b, -a c, -a d, -c d, -b d | 15 -b c"
    )
    assert engine.late == 0


@pytest.mark.parametrize("how", HOWS[:2])
def test_late_events_change_nothing_and_are_quarantined(how, tmp_path):
    # arrival      1   8   2   3   20      watermark 1, 3, 3, 3, 15 with LATENESS 5s: 2 is late, 3 is not
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s LATENESS 5s"))
    given = events("1 a pays b | 8 c pays d | 2 x pays y | 3 e pays f | 20")
    batches = [batch(STREAM, given)] if how == "one batch" else [batch(STREAM, [event]) for event in given]
    with Quarantine(tmp_path / "bad.jsonl") as engine.quarantine:
        told = shown(engine.run(batches))
    assert told == deltas("1 +a b | 3 +e f | 8 +c d | 10 -a b, -e f | 15 -c d")
    assert engine.late == 1
    assert engine.statistics()["late"] == 1
    records = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert [(record["reason"], record["file"]) for record in records] == [("late", STREAM)]
    assert engine.quarantine.reasons == {"late": 1}


def test_without_lateness_any_step_back_is_late():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    assert shown(engine.push([("<urn:a>", "<urn:pays>", "<urn:b>")], at=5000)) == ["5 +a b"]
    assert engine.push([("<urn:b>", "<urn:pays>", "<urn:c>")], at=4999) == []
    assert engine.late == 1
    assert shown(engine.push([("<urn:b>", "<urn:pays>", "<urn:c>")], at=5000)) == deltas("5 +a c, +b c")
    assert engine.late == 1


def test_queries_with_different_lateness_each_have_their_own_watermark():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", output="ISTREAM"))
    engine.register(query("RANGE 10s STEP 5s LATENESS 5s", output="CHANGES"))
    changes = list(engine.run([batch(STREAM, events("1 a pays b | 6 b pays c | 4 c pays d"))], drain=False))
    by_name = {name: [c for c in changes if c.query == name] for name in ("urn:istream", "urn:changes")}
    assert shown(by_name["urn:istream"]) == deltas("1 +a b | 6 +a c, +b c")
    assert shown(by_name["urn:changes"]) == deltas("1 +a b | 4 +c d | 6 +a c, +a d, +b c, +b d")
    assert engine.late == 1


# --- several windows, several calls -------------------------------------------------------


def test_two_windows_with_different_ranges_on_one_stream(how):
    #                   0    5    10   15
    # a pays b in long  .[-------------)
    # a pays b in short .[---)               payments of the last seconds by people paid in the last long while
    # b pays c in short .      [--)
    text = (
        f"REGISTER CHANGES <urn:q> AS SELECT * FROM NAMED WINDOW <urn:long> ON <{STREAM}> [RANGE 15s STEP 5s] "
        f"FROM NAMED WINDOW <urn:short> ON <{STREAM}> [RANGE 5s STEP 5s] "
        "WHERE { WINDOW <urn:long> { ?x <urn:pays> ?y } WINDOW <urn:short> { ?y <urn:pays> ?z } }"
    )
    assert run(text, "1 a pays b | 7 b pays c | 12 b pays d", how=how) == deltas(
        "7 +a b c | 10 -a b c | 12 +a b d | 15 -a b d"
    )


def test_two_pushes_at_one_time_are_two_evaluations():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    first = engine.push([("<urn:a>", "<urn:pays>", "<urn:b>")], at=1000)
    second = engine.push(
        [("<urn:b>", "<urn:pays>", "<urn:c>")], deleted=[("<urn:a>", "<urn:pays>", "<urn:b>")], at=1000
    )
    assert shown(first) == ["1 +a b"]
    assert shown(second) == deltas("1 +b c, -a b")


def test_events_of_one_time_are_one_evaluation_in_a_run():
    stream = "1 a pays b | 1 -a pays b, b pays c | 1 c pays d"
    for how in HOWS[:2]:
        assert run(query("RANGE 10s STEP 5s"), stream, how=how) == deltas("1 +b c, +b d, +c d | 10 -b c, -b d, -c d")


def test_advance_tells_what_expired_and_what_closed():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", output="CHANGES"))
    engine.register(query("RANGE 10s STEP 5s", output="RSTREAM"))
    engine.push([("<urn:a>", "<urn:pays>", "<urn:b>")], at=1000)
    assert engine.advance(4999) == []
    assert shown(engine.advance("1970-01-01T00:00:05Z")) == ["5 =a b"]
    assert engine.advance(5000) == []
    assert engine.advance(9999) == []
    assert sorted(shown(engine.advance(10_000))) == ["10 -a b", "10 =a b"]
    assert engine.advance(100_000) == []
    # what is older than the time that has passed is late
    assert engine.push([("<urn:a>", "<urn:pays>", "<urn:b>")], at=99_999) == []
    assert engine.late == 1


def test_nothing_is_reported_before_the_first_event():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s", output="RSTREAM", select="ASK"))
    assert engine.advance(20_000) == []
    assert shown(engine.push((), at=21_000)) == []
    assert shown(engine.advance(25_000)) == ["25 =false"]


def test_no_drain_stops_at_the_last_event(how):
    assert run(query("RANGE 10s STEP 5s"), EXAMPLE, how=how, drain=False) == deltas(
        "1 +ann bob | 3 +ann cat, +bob cat | 10 -ann cat, -bob cat| 12 +cat dan, +cat ann, +cat bob, +dan ann, +dan bob"
    )
    assert run(query("RANGE 10s STEP 5s", output="RSTREAM"), EXAMPLE, how=how, drain=False) == deltas(
        "5 =ann bob, =ann cat, =bob cat | 10 =ann bob, =ann cat, =bob cat"
    )


def test_an_empty_input_tells_nothing():
    engine = spectra.Engine()
    engine.register(query("RANGE 10s STEP 5s"))
    engine.register(query("RANGE 10s STEP 5s", output="RSTREAM", select="ASK"))
    assert list(engine.run([])) == []


YEAR = 366 * 86_400


@pytest.mark.parametrize("output", ["ISTREAM", "CHANGES", "RSTREAM"])
def test_a_gap_of_a_year_is_no_work(output, how, monkeypatch):
    # thirty million slides pass between the two events; only those with content have anything to tell
    window = "RANGE 2s STEP 1s"
    stream = f"1 a pays b | {YEAR} b pays c"
    visited = []
    keys = Evaluations.keys

    def counted(self, *arguments):
        found = keys(self, *arguments)
        visited.append(len(found))
        return found

    monkeypatch.setattr(Evaluations, "keys", counted)
    told = run(query(window, output=output), stream, how=how)
    assert sum(visited) < 100
    expected = {
        "ISTREAM": f"1 +a b | {YEAR} +b c",
        "CHANGES": f"1 +a b | 3 -a b | {YEAR} +b c | {YEAR + 2} -b c",
        "RSTREAM": f"2 =a b | 3 =a b | {YEAR + 1} =b c | {YEAR + 2} =b c",
    }[output]
    assert [line.split(" ", 1)[1] for line in told] == [line.split(" ", 1)[1] for line in deltas(expected)]


def test_a_gap_of_a_year_of_an_ask_that_changes_is_no_work(how):
    ask = query("RANGE 2s STEP 1s", select="ASK")
    assert [line.split(" ")[1] for line in run(ask, f"1 a pays b | {YEAR} b pays c", how=how)] == [
        "=true", "=false", "=true", "=false",
    ]  # fmt: skip


def test_a_gap_of_a_year_with_a_period_is_no_work(how):
    periodic = query("RANGE 2s STEP 1s REPORT PERIODIC 1s")
    assert [line.split(" ")[1] for line in run(periodic, f"1 a pays b | {YEAR} b pays c", how=how)] == [
        "+a", "-a", "+b", "-b",
    ]  # fmt: skip
