"""PATTERN by siblings: what the query conductor holds, what it tells, and what it looks at."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import spectra
from spectra.errors import QueryError, ResourceError
from spectra.operators.kernels.siblings import MATCHES, ORDINALS, PAIRS
from spectra.operators.pattern.siblings import Siblings
from spectra.operators.pattern.tpjoin import TpJoin
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow
from tests.unit.notation import STREAM, batch, deltas, events, query, shown
from tests.unit.operators.harness import columns_of, random_stream
from tests.unit.operators.shapes import SHAPES, check_shape, names_of

OPERATORS = ["tpjoin", "siblings", "recompute"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("counting", [False, True], ids=["time", "count"])
@pytest.mark.parametrize("seed", range(4))
def test_deltas_add_up_to_the_matches(shape, counting, seed):
    check_shape(Siblings, shape, counting, seed)


@pytest.mark.parametrize("shape", ["star", "triangle", "self-join", "twice the same", "disconnected", "all constant"])
@pytest.mark.parametrize("counting", [False, True], ids=["time", "count"])
@pytest.mark.parametrize("removals", [False, True])
@pytest.mark.parametrize("extensions", [False, True])
def test_what_nobody_asks_for_is_not_told(shape, counting, removals, extensions):
    """Delta by delta the same as tpjoin, whatever is asked for."""
    rng = random.Random(f"{shape} {counting} {removals} {extensions}")
    patterns = SHAPES[shape]
    names = names_of(patterns)
    window = PlainWindow(range=7, step=2, counting=counting)
    views = WindowViews(counting=counting)
    demand = {"removals": removals or counting, "extensions": extensions}
    operators = [kind(views, patterns, names, **demand) for kind in (TpJoin, Siblings)]
    stream = random_stream(rng, events=120, vertices=4, deletions=0.15)
    while stream:
        portion, stream = stream[:10], stream[10:]
        while stream and stream[0][0] == portion[-1][0]:
            portion.append(stream.pop(0))
        views.apply(*columns_of(portion, window), portion[-1][0])
        window.events += len(portion)
        told = [operator.process() for operator in operators]
        views.vacuum()
        assert told_by(told[0]) == told_by(told[1])
        now = portion[-1][0]
        assert told_by(operators[0].current(now)) == told_by(operators[1].current(now))
    assert operators[1].keeps_matches == (demand["removals"] or extensions)


def told_by(found):
    rows = [tuple(row) for row in found.rows.tolist()]
    return Counter(zip(found.at.tolist(), found.sign.tolist(), found.until.tolist(), rows, strict=True))


# --- the papers' examples -----------------------------------------------------------------

# SPECTRA, Query 1: the appliances that are on, of the houses near the house of id 2
HOUSES = (
    "?house <urn:has_appliance> ?app . ?app <urn:status> <urn:ON> . "
    "?house <urn:near_by> ?nbhouse . ?nbhouse <urn:id> <urn:2>"
)
EVENT_I = "H1 has_appliance H1App1, H1 near_by H2, H1App1 power_usage 50, H1App1 status ON, H2 id 2"
EVENT_J = "H1 has_appliance H1App2, H1App2 status ON"


@pytest.mark.parametrize("pattern", OPERATORS)
def test_an_event_that_matches_in_part_joins_with_what_the_window_holds(pattern):
    engine = spectra.Engine(pattern=pattern)
    engine.register(query("RANGE 10s STEP 1s", HOUSES, select="SELECT ?house ?app ?nbhouse"))
    told = engine.run([batch(STREAM, events(f"1 {EVENT_I} | 5 {EVENT_J}"))])
    # the second match loses the triples of the first event with which it was made
    assert shown(told, until=True) == deltas(
        "1 +H1App1 H1 H2 until 11 | 5 +H1App2 H1 H2 until 11 | 11 -H1App1 H1 H2, -H1App2 H1 H2"
    )


@pytest.mark.parametrize("pattern", OPERATORS)
def test_the_other_order_of_the_two_events(pattern):
    engine = spectra.Engine(pattern=pattern)
    engine.register(query("RANGE 10s STEP 1s", HOUSES, select="SELECT ?house ?app ?nbhouse"))
    told = engine.run([batch(STREAM, events(f"1 {EVENT_J} | 5 {EVENT_I}"))])
    assert shown(told, until=True) == deltas(
        "5 +H1App1 H1 H2 until 15, +H1App2 H1 H2 until 11 | 11 -H1App2 H1 H2 | 15 -H1App1 H1 H2"
    )


@pytest.mark.parametrize("pattern", OPERATORS)
def test_an_update_of_a_person_joins_with_the_matches_there_are(pattern):
    # CGPM, example 4: no join before (p1, pic, pic1) has come; (p1, ps, ps2) then joins with what matched
    engine = spectra.Engine(pattern=pattern)
    engine.register(query("RANGE 10s", "?p <urn:ps> ?post . ?p <urn:pic> ?pic"))
    told = engine.run([batch(STREAM, events("1 p1 ps ps1 | 2 p1 pic pic1 | 3 p1 ps ps2"))], drain=False)
    assert shown(told) == deltas("2 +p1 pic1 ps1 | 3 +p1 pic1 ps2")


class Window:
    """A conductor and the window it reads, fed by hand: every triple is there until `end`."""

    def __init__(self, patterns, projected=None, **demand):
        self.views = WindowViews()
        names = names_of(patterns) if projected is None else projected
        self.operator = Siblings(self.views, patterns, names, **demand)

    def apply(self, time, added=(), deleted=(), end=100):
        triples = np.array([*deleted, *added], np.int32).reshape(-1, 3)
        sign = np.array([-1] * len(deleted) + [1] * len(added), np.int8)
        one = np.array([time], np.int64)
        self.views.apply(triples, sign, np.array([0, len(sign)], np.int64), one, one, np.array([end], np.int64), time)
        found = self.operator.process()
        self.views.vacuum()
        return sorted(zip(found.sign.tolist(), map(tuple, found.rows.tolist()), strict=True))

    def used(self, table):
        conductor = self.operator._conductor
        room = (conductor.free_pairs, conductor.free_ordinals, conductor.free_matches)[table]
        return len(room) - int(conductor.free[table])


def test_siblings_have_the_ordinal_number_of_the_value_they_are_joined_on():
    # SPECTRA, example 2: three pairs of the one view join with two, one and two pairs of the other
    window = Window([("x", 1, "y"), ("y", 2, "z")])
    first = [(10, 1, 20), (11, 1, 21), (12, 1, 22)]
    second = [(20, 2, 30), (20, 2, 31), (21, 2, 32), (22, 2, 33), (22, 2, 34)]
    assert len(window.apply(1, [*first, *second])) == 5
    conductor = window.operator._conductor
    lists = {
        int(conductor.value[ordinal]): conductor.counts[ordinal].tolist()
        for ordinal in np.flatnonzero(conductor.variable >= 0)
    }
    assert lists == {20: [1, 2], 21: [1, 1], 22: [1, 2]}
    assert (window.used(PAIRS), window.used(ORDINALS), window.used(MATCHES)) == (8, 3, 5)


def test_a_cycle_is_closed_by_the_ordinal_number_of_its_first_pair():
    window = Window([("x", 1, "y"), ("y", 2, "z"), ("z", 3, "x")])
    assert window.apply(1, [(10, 1, 20), (20, 2, 30), (20, 2, 31), (30, 3, 11), (31, 3, 12)]) == []
    assert window.apply(2, [(30, 3, 10)]) == [(1, (10, 20, 30))]
    assert window.apply(3, deleted=[(20, 2, 30)]) == [(-1, (10, 20, 30))]


def test_nothing_is_left_when_everything_has_gone():
    window = Window(SHAPES["snowflake"])
    rng = random.Random(3)
    triples = {(rng.randrange(4, 8), rng.choice([1, 2, 3]), rng.randrange(4, 8)) for _ in range(25)}
    assert window.apply(1, triples, end=10)
    assert window.used(MATCHES) > 0
    window.apply(10)
    assert [window.used(table) for table in (PAIRS, ORDINALS, MATCHES)] == [0, 0, 0]
    assert not window.operator._conductor.slots.any()


# --- work ---------------------------------------------------------------------------------


def test_expiry_touches_exactly_the_matches_that_lose_a_triple():
    window = Window([("x", 1, "y"), ("y", 2, "z")])
    window.apply(1, [(10 + n, 1, 50) for n in range(100)], end=30)
    window.apply(2, [(7, 1, 50), (8, 1, 50), (9, 1, 51)], end=20)
    assert len(window.apply(3, [(50, 2, 60), (50, 2, 61)], end=40)) == 204
    before = window.operator.counters
    assert window.apply(20) == sorted((-1, (x, 50, z)) for x in (7, 8) for z in (60, 61))
    after = window.operator.counters
    assert after["expired"] - before["expired"] == 4
    assert (after["candidates"], after["probes"]) == (before["candidates"], before["probes"])
    assert after["matches"] == 200


def test_a_triple_without_siblings_ends_the_search_at_once():
    window = Window([("x", 1, "y"), ("y", 2, "z"), ("z", 3, "w")])
    window.apply(1, [(10 + n, 1, 50) for n in range(100)])
    # joins with a hundred, but what would follow it is not there
    assert window.apply(2, [(50, 2, 60)]) == []
    assert window.operator.counters["candidates"] == 0
    assert len(window.apply(3, [(60, 3, 70)])) == 100


def test_the_fewest_siblings_come_first():
    window = Window([("x", 1, "y"), ("x", 2, "z"), ("z", 3, "w")], removals=False, extensions=False)
    window.apply(1, [(10, 1, 100 + n) for n in range(500)])
    window.apply(2, [(60, 3, 70)])
    before = window.operator.counters["candidates"]
    assert len(window.apply(3, [(10, 2, 60)])) == 500
    # the one triple at z before the five hundred at x
    assert window.operator.counters["candidates"] - before == 501


@pytest.mark.parametrize("demand", [{}, {"removals": False, "extensions": False}], ids=["kept", "not kept"])
def test_an_event_with_more_matches_than_there_is_room_for(demand):
    window = Window([("a", 1, "x"), ("b", 2, "x")], **demand)
    window.apply(1, [(100 + n, 1, 5) for n in range(60)])
    assert len(window.apply(2, [(1000 + n, 2, 5) for n in range(60)])) == 3600
    assert len(window.apply(3, deleted=[(100 + n, 1, 5) for n in range(60)])) == 3600
    assert len(window.operator.current(4)) == 0


def test_tables_grow_with_the_window():
    window = Window([("a", 1, "b"), ("b", 2, "c")])
    size = 3000
    assert len(window.apply(1, [(10_000 + n, 1, 20_000 + n) for n in range(size)])) == 0
    assert len(window.apply(2, [(20_000 + n, 2, 7) for n in range(size)])) == size
    assert (window.used(PAIRS), window.used(ORDINALS), window.used(MATCHES)) == (2 * size, size, size)
    # three tables of ten, seven and six numbers a row, a list of what is free of each, and the slots
    assert window.operator.nbytes < 2 * size * 200
    assert len(window.apply(100)) == size
    assert window.used(PAIRS) == window.used(ORDINALS) == window.used(MATCHES) == 0


def test_the_final_views_are_kept_only_for_those_who_ask():
    window = Window([("a", 1, "b"), ("b", 2, "c")], removals=False, extensions=False)
    assert len(window.apply(1, [(10, 1, 20), (20, 2, 30)])) == 1
    assert window.used(MATCHES) == 0
    # a deletion is told all the same
    assert window.apply(2, deleted=[(10, 1, 20)]) == [(-1, (10, 20, 30))]


def test_a_pattern_of_too_many_variables_is_refused():
    patterns = [(f"x{n}", 1, f"x{n + 1}") for n in range(61)]
    with pytest.raises(ResourceError, match="too large"):
        Siblings(WindowViews(), patterns, [])


# --- the setting --------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", OPERATORS)
def test_the_plan_names_the_operator(pattern):
    engine = spectra.Engine(pattern=pattern)
    text = "{ ?x <urn:p> ?y } UNION { ?x <urn:q> ?w . ?w <urn:p>+ ?y FILTER(?x != ?y) BIND(STR(?y) AS ?z) }"
    registered = engine.register(query("RANGE 10s", text, select="SELECT DISTINCT *"))
    plan = registered.explain()
    assert plan.count(f"{pattern}(") == 2
    assert not any(f"{other}(" in plan for other in OPERATORS if other != pattern)


def test_an_operator_that_is_not_there():
    with pytest.raises(QueryError, match="no pattern operator 'hash'") as error:
        spectra.Engine(pattern="hash")
    assert "siblings" in str(error.value.hint)
