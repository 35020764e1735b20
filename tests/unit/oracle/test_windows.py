"""What windows hold and when they report: origins, odd steps, deletions, counts, lateness, policies."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spectra.errors import QueryError
from spectra.oracle import recompute
from spectra.sparql.query import Option, WindowKind
from spectra.sparql.syntax import (
    Aggregate,
    Call,
    Exists,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Project,
    Union_,
    Variable,
    Windowed,
    ZeroOrMorePath,
)
from tests.unit.oracle.build import (
    X,
    Z,
    bgp,
    event,
    integer,
    iri,
    lines,
    link,
    path,
    query,
    triples,
    window,
)

ANY = bgp("?x p ?y")


def run(pattern, *windows, events, static=None, until=False, drain=True, mode="run", **options):
    return lines(
        recompute(query(pattern, *windows, **options), events, static=static, until=until, drain=drain, mode=mode)
    )


def reported(*windows, events, pattern=ANY, drain=True, mode="run", **options):
    """The instants of all evaluations: a pattern that always has one answer, reported whole each time."""
    always = Project(Group(pattern, (), ((Z, Aggregate("COUNT", None, False)),)), (Z,))
    answers = recompute(query(always, *windows, output="RSTREAM", **options), events, drain=drain, mode=mode)
    return [(answer.at, int(answer.solution[0][1].split('"')[1])) for answer in answers]


# --- time windows -------------------------------------------------------------------------


def test_step_left_out_is_a_tumbling_window():
    #       0         10        20
    # a p b   [-------)
    # c p d             [-------)
    assert run(ANY, window(10), events=[event(2, "a p b"), event(12, "c p d")]) == [
        "2 +a b",
        "10 -a b",
        "12 +c d",
        "20 -c d",
    ]


@pytest.mark.parametrize(
    ("time", "end"),
    [(0, 7), (2, 7), (3, 10), (8, 13), (-1, 4), (-3, 4), (-4, 1)],
)
def test_a_step_that_does_not_divide_the_range(time, end):
    assert run(ANY, window(7, 3), events=[event(time, "a p b")]) == [f"{time} +a b", f"{end} -a b"]


@pytest.mark.parametrize(("time", "end"), [(2, 9), (1, 6), (4, 9), (5, 12)])
def test_an_origin_moves_the_slides(time, end):
    # t0 = 2: slides start at …, -1, 2, 5, …
    assert run(ANY, window(7, 3, t0=2), events=[event(time, "a p b")]) == [f"{time} +a b", f"{end} -a b"]


def test_a_second_arrival_extends_and_gives_no_second_result():
    events = [event(1, "a p b"), event(6, "a p b")]
    assert run(ANY, window(10, 5), events=events, until=True) == ["1 +a b until 10", "15 -a b"]


def test_an_earlier_end_never_shortens():
    # both arrive in the same slide; a repeated triple in one event is one triple
    assert run(ANY, window(10, 5), events=[event(1, "a p b, a p b"), event(3, "a p b")]) == [
        "1 +a b",
        "10 -a b",
    ]


def test_what_expires_when_it_arrives_again_was_never_away():
    assert run(ANY, window(10), events=[event(1, "a p b"), event(10, "a p b")]) == ["1 +a b", "20 -a b"]


def test_a_deletion_ends_a_triple_at_once_and_for_all_its_arrivals():
    events = [event(1, "a p b"), event(6, "a p b"), event(7, "-a p b"), event(8, "-a p b")]
    assert run(ANY, window(10, 5), events=events) == ["1 +a b", "7 -a b"]


def test_an_arrival_after_a_deletion_has_its_own_end_only():
    events = [event(6, "a p b"), event(7, "-a p b"), event(8, "c p d")]
    assert run(ANY, window(10, 5), events=[*events, event(9, "a p b")]) == [
        "6 +a b",
        "7 -a b",
        "8 +c d",
        "9 +a b",
        "15 -a b",
        "15 -c d",
    ]


def test_the_last_operation_of_an_instant_wins():
    assert run(ANY, window(10), events=[event(1, "a p b, -a p b")]) == []
    assert run(ANY, window(10), events=[event(1, "-a p b, a p b")]) == ["1 +a b", "10 -a b"]
    assert run(ANY, window(10), events=[event(1, "a p b"), event(1, "-a p b")]) == []
    assert run(ANY, window(10), events=[event(1, "a p b"), event(2, "-a p b, a p b")]) == [
        "1 +a b",
        "10 -a b",
    ]


def test_a_deletion_at_the_instant_of_expiry_changes_nothing():
    assert run(ANY, window(10), events=[event(1, "a p b"), event(10, "-a p b")]) == ["1 +a b", "10 -a b"]


def test_a_deletion_of_what_is_not_there_is_nothing():
    assert run(ANY, window(10), events=[event(1, "-a p b"), event(2, "c p d")]) == ["2 +c d", "10 -c d"]


# --- several streams, static data, event graphs -------------------------------------------


def test_each_window_reads_its_own_stream():
    pattern = Join(Windowed("<v>", ANY), Windowed("<w>", bgp("?y q ?z")))
    windows = window(10, name="v", stream="urn:s"), window(20, name="w", stream="urn:t")
    events = [
        event(1, "a p b, b q x", stream="urn:s"),
        event(2, "b q c, x p y", stream="urn:t"),
        event(3, "b q d", stream="urn:u"),
    ]
    assert run(pattern, *windows, events=events) == ["2 +a b c", "10 -a b c"]
    # time of a stream that the query does not read makes no evaluation
    assert [at for at, _ in reported(*windows, events=events, policy="ON_CONTENT_CHANGE", pattern=ANY)] == [
        1,
        2,
        10,
        20,
    ]


def test_static_data_joins_and_stays():
    pattern = Join(Windowed("<w>", ANY), bgp("?y type t"))
    static = {"": triples("b type t")}
    assert run(pattern, window(10), events=[event(1, "a p b, a p c")], static=static) == ["1 +a b", "10 -a b"]
    either = Union_(Windowed("<w>", ANY), bgp("?y type t"))
    assert run(either, window(10), events=[event(1, "a p b")], static=static, until=True) == [
        "1 +a b until 10",
        "1 +b",
        "10 -a b",
    ]


def test_static_named_graphs():
    pattern = Join(Windowed("<w>", ANY), Graph(Z, bgp("?y type t")))
    static = {iri("g"): triples("b type t"), iri("h"): triples("c type t")}
    assert run(pattern, window(10), events=[event(1, "a p b")], static=static) == ["1 +a b g", "10 -a b g"]


def test_with_static_makes_the_static_default_graph_part_of_the_window():
    static = {"": triples("s p a")}
    two_steps = bgp("?x p ?y, ?y p ?z")
    assert run(two_steps, window(10), events=[event(1, "a p b")], static=static) == []
    assert run(two_steps, window(10, with_static=True), events=[event(1, "a p b")], static=static) == [
        "1 +s a b",
        "10 -s a b",
    ]


def test_static_triples_do_not_make_a_window_non_empty():
    events = [event(1, "-a p b"), event(2, "a p b")]
    spec = {"policy": "NON_EMPTY_CONTENT", "events": events}
    assert reported(window(10, with_static=True), **spec) == [(2, 1)]


def test_graph_inside_a_window_binds_the_event_and_its_time():
    timed = Extend(Graph(Z, ANY), Variable("t"), Call("YEAR", (Call("<urn:spectra:time>", (Z,)),)))
    events = [
        event(1, "a p b", graph=iri("e1")),
        event(6, "a p b, c p d", graph=iri("e2")),
        event(7, "-c p d", graph=iri("e3")),
        event(8, "x p y"),
    ]
    year = integer(1970)
    assert run(timed, window(10, 5), events=events) == [
        f"1 +{year} a b e1",
        f"6 +{year} a b e2",
        f"6 +{year} c d e2",
        f"7 -{year} c d e2",
        f"10 -{year} a b e1",
        f"15 -{year} a b e2",
    ]


# --- count windows ------------------------------------------------------------------------


def count(size, step=None, **options):
    return window(size, step, kind=WindowKind.COUNT, **options)


EVENTS = [event(10 * number, f"a p {number}") for number in range(6)]


def held(spec, **options):
    """Numbers of the events held after each event."""
    found = {}
    for answer in recompute(query(ANY, spec, output="RSTREAM", policy="ON_CONTENT_CHANGE"), EVENTS, **options):
        found.setdefault(answer.at // 10, []).append(int(answer.solution[1][1].split('"')[1]))
    return list(found.values())


def test_the_last_three_events():
    assert held(count(3, 1)) == [[0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]


def test_a_count_window_moves_by_its_step():
    assert held(count(3, 2)) == [[0], [0, 1], [0, 1, 2], [2, 3], [2, 3, 4], [4, 5]]
    assert held(count(2)) == [[0], [0, 1], [2], [2, 3], [4], [4, 5]]


def test_each_event_by_itself():
    assert held(window(0, 0, kind=WindowKind.EVENT)) == [[0], [1], [2], [3], [4], [5]]
    joined = bgp("?x p ?y, ?y p ?z")
    events = [event(1, "a p b"), event(2, "b p c"), event(3, "a p b, b p c")]
    assert run(joined, window(0, 0, kind=WindowKind.EVENT), events=events) == ["3 +a b c"]


def test_count_windows_close_when_they_are_full():
    assert reported(count(2), events=EVENTS) == [(10, 2), (30, 2), (50, 2)]
    assert reported(count(3, 2), events=EVENTS) == [(0, 1), (20, 3), (40, 3)]


def test_events_of_one_instant_close_a_count_window_once():
    events = [event(1, f"a p {number}") for number in range(4)] + [event(2, "a p 9")]
    assert reported(count(2), events=events) == [(1, 2)]
    assert reported(count(2), events=events, mode="push") == [(1, 2), (1, 2)]


def test_deletions_in_count_windows():
    events = [event(1, "a p b"), event(2, "-a p b, c p d"), event(3, "a p b"), event(4, "e p f")]
    assert run(ANY, count(3, 1), events=events, until=True) == [
        "1 +a b",
        "2 -a b",
        "2 +c d",
        "3 +a b",
        "4 +e f",
    ]
    assert run(ANY, count(2, 1), events=events) == [
        "1 +a b",
        "2 -a b",
        "2 +c d",
        "3 +a b",
        "4 -c d",
        "4 +e f",
    ]


# --- order of arrival ---------------------------------------------------------------------


def test_late_events_never_change_an_answer():
    events = [event(5, "a p b"), event(4, "c p d"), event(5, "e p f")]
    assert run(ANY, window(10), events=events) == ["5 +a b", "5 +e f", "10 -a b", "10 -e f"]


def test_lateness_puts_events_back_in_order():
    events = [event(5, "a p b"), event(3, "c p d"), event(8, "-c p d"), event(4, "x p y"), event(5, "e p f")]
    assert run(ANY, window(10, lateness=3), events=events) == [
        "3 +c d",
        "5 +a b",
        "5 +e f",
        "8 -c d",
        "10 -a b",
        "10 -e f",
    ]


def test_the_greatest_lateness_of_a_query_counts_and_every_stream_moves_time():
    windows = window(10, name="w", stream="urn:s"), window(10, name="v", stream="urn:t", lateness=2)
    events = [
        event(5, "a p b", stream="urn:u"),
        event(3, "a p b", stream="urn:s"),
        event(2, "c p d", stream="urn:s"),
    ]
    assert run(ANY, *windows, events=events) == ["3 +a b", "10 -a b"]


# --- policies -----------------------------------------------------------------------------

TWO = [event(1, "a p b"), event(13, "c p d")]


def test_content_change_reports_events_and_expiry():
    assert reported(window(10, 5), events=TWO, policy="ON_CONTENT_CHANGE") == [
        (1, 1),
        (10, 0),
        (13, 1),
        (20, 0),
    ]
    assert reported(window(10, 5), events=TWO, policy="ON_CONTENT_CHANGE", drain=False) == [
        (1, 1),
        (10, 0),
        (13, 1),
    ]


def test_an_end_that_was_moved_is_no_instant():
    events = [event(1, "a p b"), event(6, "a p b")]
    assert reported(window(10, 5), events=events, policy="ON_CONTENT_CHANGE") == [(1, 1), (6, 1), (15, 0)]
    gone = [event(1, "a p b"), event(2, "-a p b"), event(30, "c p d")]
    assert [at for at, _ in reported(window(10, 5), events=gone, policy="ON_CONTENT_CHANGE")] == [
        1,
        2,
        30,
        40,
    ]


def test_windows_close_from_the_first_event_to_the_last_content():
    assert reported(window(10, 5), events=TWO) == [(5, 1), (10, 1), (15, 1), (20, 1)]
    assert reported(window(10, 5), events=TWO, drain=False) == [(5, 1), (10, 1)]


def test_a_close_comes_before_what_happens_then():
    events = [event(5, "a p b"), event(10, "c p d, -a p b")]
    # a close at the time of the first event lies before it
    assert reported(window(5, 5), events=events) == [(10, 1), (15, 1)]
    assert reported(window(10, 5), events=events) == [(10, 1), (15, 1), (20, 1)]


def test_windows_without_content_between_two_events_close_as_well():
    events = [event(1, "a p b"), event(31, "c p d")]
    assert reported(window(10), events=events) == [(10, 1), (20, 0), (30, 0), (40, 1)]


def test_after_everything_was_deleted_there_is_nothing_to_drain():
    events = [event(1, "a p b"), event(2, "-a p b")]
    assert reported(window(10), events=events) == []
    assert reported(window(10), events=events, policy="ON_CONTENT_CHANGE") == [(1, 1), (2, 0)]


def test_closes_of_two_windows_see_both_just_before():
    windows = window(10, name="w"), window(4, name="v")
    assert reported(*windows, events=[event(1, "a p b"), event(8, "c p d")]) == [
        (4, 1),
        (8, 1),
        (10, 2),
        (12, 0),  # the first window holds nothing since 10
    ]


def test_non_empty_content():
    assert reported(window(10, 5), events=TWO, policy="NON_EMPTY_CONTENT") == [(1, 1), (13, 1)]


def test_periodic_goes_on_to_the_first_multiple_after_the_last_expiry():
    spec = {"policy": "PERIODIC", "period": 8}
    assert reported(window(10, 5), events=TWO, **spec) == [(8, 1), (16, 1), (24, 0)]
    assert reported(window(10, 5), events=TWO, drain=False, **spec) == [(8, 1)]
    assert reported(window(10, 5, t0=5), events=TWO, **spec) == [(5, 1), (13, 1), (21, 0)]


def test_periodic_includes_the_instant_itself():
    spec = {"policy": "PERIODIC", "period": 5}
    assert reported(window(10, 5), events=[event(5, "a p b")], **spec) == [(5, 1), (10, 1), (15, 0)]


def test_periodic_without_a_period_is_an_error():
    with pytest.raises(QueryError, match="PERIODIC"):
        reported(window(10), events=TWO, policy="PERIODIC")


def test_pushed_events_of_one_time_are_evaluated_one_by_one():
    events = [event(1, "a p b"), event(10, "c p d"), event(10, "a p b")]
    assert run(ANY, window(10), events=events) == ["1 +a b", "10 +c d", "20 -a b", "20 -c d"]
    assert run(ANY, window(10), events=events, mode="push") == [
        "1 +a b",
        "10 -a b",
        "10 +c d",
        "10 +a b",
        "20 -a b",
        "20 -c d",
    ]


# --- forms --------------------------------------------------------------------------------


def test_bags_enter_and_leave_copy_by_copy():
    twice = Project(bgp("?x p _y"), (X,))
    events = [event(1, "a p b"), event(6, "a p c"), event(11, "a p b")]
    assert run(twice, window(10, 5), events=events, until=True) == [
        "1 +a until 10",
        "6 +a until 15",
        "10 -a",
        "11 +a until 20",
        "15 -a",
        "20 -a",
    ]
    assert run(twice, window(10, 5), events=[event(1, "a p b, a p c")], until=True) == [
        "1 +a until 10",
        "1 +a until 10",
        "10 -a",
        "10 -a",
    ]
    assert run(twice, window(10, 5), events=[event(1, "a p b"), event(6, "a p c")], output="RSTREAM", until=True)[
        1:3
    ] == ["10 =a until 10", "10 =a until 15"]


def test_new_copies_are_those_that_stay_longest():
    twice = Project(bgp("?x p _y"), (X,))
    events = [event(6, "a p b"), event(7, "a p c"), event(11, "a p d, -a p c")]
    assert run(twice, window(10, 5), events=events, output="ISTREAM", until=True) == [
        "6 +a until 15",
        "7 +a until 15",
    ]
    events = [event(6, "a p b"), event(11, "a p d")]
    assert run(twice, window(10, 5), events=events, output="ISTREAM", until=True)[1] == "11 +a until 20"


def test_until_is_never_for_what_does_not_depend_on_the_window():
    star = path("a", ZeroOrMorePath(link("p")), "?y")
    assert run(star, window(10), events=[event(1, "a p b")], until=True) == ["1 +a", "1 +b until 10", "10 -b"]


def test_expiry_can_make_an_answer_enter():
    alone = Filter(Exists(bgp("?x q ?z"), True), ANY)
    events = [event(1, "a q c"), event(6, "a p b")]
    assert run(alone, window(10, 5), events=events) == ["10 +a b", "15 -a b"]


def test_ask_is_given_when_it_changes_and_under_rstream_always():
    events = [event(1, "a q b"), event(2, "a p b"), event(3, "c p d")]
    assert run(ANY, window(10), events=events, form="ASK", output="ISTREAM") == [
        "1 =false",
        "2 =true",
        "10 =false",
    ]
    assert run(ANY, window(5), events=[event(1, "a p b"), event(11, "a q b")], form="ASK", output="RSTREAM") == [
        "5 =true",
        "10 =false",
        "15 =false",
    ]


def test_construct_gives_a_set_of_well_formed_triples():
    options = {"form": "CONSTRUCT", "template": "?y near ?x, ?x ?y ?x, ?x near ?nothing"}
    assert run(ANY, window(10), events=[event(1, "a p b, b p a, c p 1")], **options)[:5] == [
        "1 +a b a",
        "1 +a near b",
        "1 +b a b",
        "1 +b near a",
        "10 -a b a",
    ]
    shared = run(bgp("?x p ?y"), window(10), events=[event(1, "a p b, a p c")], form="CONSTRUCT", template="?x is x")
    assert shared == ["1 +a is x", "10 -a is x"]


def test_blank_nodes_of_a_template_are_new_for_each_solution():
    answers = recompute(
        query(ANY, window(10), form="CONSTRUCT", template="_n of ?x, _n to ?y"), [event(1, "a p b, a p c")]
    )
    entered = [answer.triple for answer in answers if answer.op == "+"]
    assert len(entered) == 4
    assert len({triple[0] for triple in entered}) == 2
    assert {answer.triple for answer in answers if answer.op == "-"} == set(entered)


# --- implicit windows ---------------------------------------------------------------------


def implicit(*events, **options):
    return run(ANY, window(10), events=events, options=frozenset({Option.IMPLICIT_WINDOWS}), **options)


def test_what_expires_stays_and_is_not_given_again():
    assert implicit(event(1, "a p b"), event(12, "c p d"), event(25, "a p b")) == ["1 +a b", "12 +c d"]


def test_a_deletion_takes_back_what_it_ends():
    assert implicit(event(1, "a p b"), event(2, "-a p b"), event(3, "a p b")) == ["1 +a b", "2 -a b", "3 +a b"]
    # what has expired is not in the window any more
    assert implicit(event(1, "a p b"), event(12, "-a p b")) == ["1 +a b"]
    # nor is what ends at that very instant in any case
    assert implicit(event(1, "a p b"), event(10, "-a p b")) == ["1 +a b"]


def test_a_close_tells_all_that_was_given():
    told = implicit(event(1, "a p b"), event(11, "c p d"), event(12, "-c p d"), output="RSTREAM")
    assert told == ["10 =a b"]


# --- what the oracle refuses --------------------------------------------------------------


def test_a_query_without_a_window_is_refused():
    with pytest.raises(QueryError, match="no window"):
        recompute(replace(query(ANY, window(10)), windows=()), [])


def test_no_events_no_evaluations():
    assert reported(window(10), events=[]) == []
    assert reported(window(10), events=[], policy="PERIODIC", period=5) == []
