"""NOW, RAND, UUID, STRUUID and BNODE: what depends on more than data."""

from __future__ import annotations

import pytest

from spectra.checkpoint import restore, saved
from spectra.engine import Engine
from spectra.errors import UnsupportedError
from tests.unit.notation import STREAM, deltas, events, query, run, triple

PAYS = "?x <urn:pays> ?y"
SECOND = f"{PAYS} BIND(IRI(CONCAT('urn:', STR(FLOOR(SECONDS(NOW()))))) AS ?now)"


def engine_with(pattern: str, select: str = "SELECT *"):
    engine = Engine()
    return engine, engine.register(query("RANGE PT10S STEP PT5S", pattern, select=select))


def triples(text: str):
    return events(f"0 {text}")[0].added


def values(rows) -> dict[str, object]:
    return {str(row["x"]): row["v"] for row in rows}


@pytest.mark.parametrize("how", ["one batch", "a batch per event", "push"])
def test_now_is_the_instant_of_the_evaluation(how):
    told = run(query("RANGE PT10S STEP PT5S", SECOND), "1 a pays b | 3 a knows b | 6 b pays c", how=how)
    assert told == deltas(
        "1 +1 a b | 3 -1 a b, +3 a b | 6 -3 a b, +6 a b, +6 b c | 10 -6 a b, -6 b c, +10 b c | 15 -10 b c"
    )


def test_now_is_that_of_the_close():
    assert run(query("RANGE PT10S STEP PT5S", SECOND, "RSTREAM"), "1 a pays b | 7 b pays c") == deltas(
        "5 =5 a b | 10 =10 a b, =10 b c | 15 =15 b c"
    )


def test_now_is_that_of_the_period():
    told = run(query("RANGE PT10S REPORT PERIODIC PT4S", SECOND, "RSTREAM"), "1 a pays b")
    assert told == deltas("4 =4 a b | 8 =8 a b")


def test_now_is_the_time_of_each_event_by_itself():
    assert run(query("EVENT", SECOND, "ISTREAM"), "1 a pays b | 2 a pays b, b pays c") == deltas(
        "1 +1 a b | 2 +2 a b, +2 b c"
    )


def test_a_filter_by_now_lets_solutions_enter_as_time_passes():
    pattern = f"{PAYS} FILTER(SECONDS(NOW()) >= 5)"
    assert run(query("RANGE PT10S STEP PT5S", pattern), "1 a pays b | 7 b pays c") == deltas(
        "7 +a b, +b c | 10 -a b | 15 -b c"
    )


@pytest.mark.parametrize("output", ["RSTREAM", "CHANGES"])
def test_evaluations_that_see_no_solution_cost_nothing(output):
    engine = Engine()
    registered = engine.register(query("RANGE PT2S STEP PT0.001S REPORT ON_WINDOW_CLOSE", SECOND, output))
    engine.push([triple("a pays b")], at=0)
    engine.push([triple("a pays b")], at="2016-07-01T10:00:00Z")
    (now,) = registered._volatile.now
    assert 2000 <= now.counters["evaluations"] < 5000


def test_a_solution_with_now_has_no_until():
    engine, _ = engine_with(SECOND)
    (change,) = engine.push([triple("a pays b")], at=1000)
    assert change.until is None


@pytest.mark.parametrize("call", ["RAND()", "UUID()", "STRUUID()", "BNODE()", "BNODE(STR(?x))"])
def test_a_value_stays_while_the_solution_stays(call):
    engine, registered = engine_with(f"{PAYS} BIND({call} AS ?v)")
    first = values(change.bindings for change in engine.push(triples("a pays b, b pays c"), at=0))
    assert len(set(first.values())) == 2
    assert engine.push(triples("a pays b"), at=6000) == []  # lasts longer
    assert values(registered.snapshot().rows()) == first
    assert values(change.bindings for change in engine.advance(30_000)) == first
    (again, _) = engine.push(triples("a pays b, b pays c"), at=40_000)
    assert again.bindings["v"] not in first.values()
    assert engine.advance(60_000)
    assert engine.statistics()["dictionary"]["adaptive"] == 0


def test_equal_solutions_have_values_of_their_own():
    engine, registered = engine_with(f"{{ {PAYS} }} UNION {{ {PAYS} }} BIND(UUID() AS ?v)")
    told = engine.push(triples("a pays b"), at=0)
    assert len({change.bindings["v"] for change in told}) == 2
    assert {row["v"] for row in registered.snapshot().rows()} == {change.bindings["v"] for change in told}


def test_solutions_that_differ_in_what_no_query_can_name():
    engine, _ = engine_with("<urn:a> <urn:pays>/<urn:pays> ?y BIND(UUID() AS ?v)")
    told = engine.push(triples("a pays b, a pays c, b pays d, c pays d"), at=0)
    assert len(told) == len({change.bindings["v"] for change in told}) == 2


def test_each_event_by_itself_has_new_values():
    engine = Engine()
    engine.register(query("EVENT", f"{PAYS} BIND(UUID() AS ?v)", "ISTREAM"))
    told = [change for at in (1, 1, 2) for change in engine.push(triples("a pays b"), at=at)]
    assert len({change.bindings["v"] for change in told}) == 3


def test_blank_nodes_of_a_string_are_of_one_solution():
    select = "SELECT ?x (BNODE('n') AS ?a) (BNODE('n') AS ?b) (BNODE('m') AS ?c)"
    engine, _ = engine_with(PAYS, select=select)
    one, other = (change.bindings for change in engine.push(triples("a pays b, b pays c"), at=0))
    assert one["a"] == one["b"]
    assert len({one["a"], one["c"], other["a"], other["c"]}) == 4


@pytest.mark.parametrize(
    ("pattern", "tail", "select"),
    [
        (f"{PAYS} FILTER(RAND() < 2)", "", "SELECT *"),
        (f"{PAYS} FILTER EXISTS {{ ?x ?p ?o FILTER(RAND() < 2) }}", "", "SELECT *"),
        (PAYS, " GROUP BY ?x HAVING (RAND() < 2)", "SELECT ?x (COUNT(*) AS ?n)"),
        (PAYS, " GROUP BY ?x", "SELECT ?x (SUM(CEIL(RAND())) AS ?n)"),
        (PAYS, " ORDER BY RAND() LIMIT 5", "SELECT *"),
        (PAYS, "", "SELECT ?x (UUID() AS ?u)"),
        (PAYS, "", "CONSTRUCT { ?x <urn:is> _:b }"),
    ],
)
def test_anywhere(pattern, tail, select):
    engine = Engine()
    engine.register(query("RANGE PT10S", pattern, "CHANGES", select) + tail)
    assert len(engine.push(triples("a pays b, b pays c"), at=0)) == 2
    assert len(engine.advance(10_000)) == 2


def test_a_random_order_stays():
    engine = Engine()
    registered = engine.register(query("RANGE PT10S", PAYS, "CHANGES", "SELECT *") + " ORDER BY RAND() LIMIT 3")
    engine.push(triples(", ".join(f"a pays {name}" for name in "bcdefghij")), at=0)
    before = registered.snapshot().rows()
    assert len(before) == 3
    assert engine.push(triples("a knows b"), at=1000) == []
    assert registered.snapshot().rows() == before


def test_a_restored_engine_knows_the_values_and_the_last_evaluation():
    text = query("RANGE PT10S", f"{SECOND} BIND(UUID() AS ?u)")
    steady = query("RANGE PT10S", f"{PAYS} BIND(UUID() AS ?u)", "DSTREAM")
    engine, restored = Engine(), Engine()
    for each in (engine, restored):
        each.register(text)
        each.register(steady)
    told = engine.push(triples("a pays b, b pays c"), at=1000, stream=STREAM)
    assert len(told) == 2
    restore(restored, saved(engine))
    changes = {str(change) for change in engine.advance(10_000)}
    assert {str(change) for change in restored.advance(10_000)} == changes
    assert len(changes) == 4


def test_implicit_windows_keep_no_time():
    text = query("RANGE PT10S", SECOND).replace(" AS SELECT", " WITH IMPLICIT WINDOWS AS SELECT")
    with pytest.raises(UnsupportedError, match="IMPLICIT"):
        Engine().register(text)
