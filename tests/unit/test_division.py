"""Division among shards: which variable is chosen, what a shard needs, and what it does not do."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from spectra.algebra.from_sparql import from_sparql
from spectra.checkpoint import Checkpoints, restore, saved
from spectra.dictionary.hashing import hash_text
from spectra.engine import Engine
from spectra.errors import QueryError
from spectra.operators.kernels.delta_trees import live_nodes
from spectra.operators.path.spath import SPath
from spectra.planner.division import Division, divided, division, owner
from spectra.planner.physical import explain_physical, physical_plan
from spectra.planner.plans import FreshPlan
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery
from spectra.streams.memory import concatenate, from_triples
from spectra.views.batch import EventBatch
from tests.property.compare import Line, lines_of_batches

E = "http://e/"
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 100ms STEP 10ms"


def query(
    body: str, *, head: str = "SELECT *", output: str = "CHANGES", brackets: str = "", tail: str = ""
) -> ContinuousQuery:
    where = body if "WINDOW" in body else f"WINDOW :w {{ {body} }}"
    return parse_query(f"PREFIX : <{E}> REGISTER {output} :q AS {head} {WINDOW}{brackets}] WHERE {{ {where} }} {tail}")


def division_of(asked: ContinuousQuery) -> Division:
    return division(asked, physical_plan(from_sparql(asked)))


def iri(name: str) -> str:
    return f"<{E}{name}>"


def hashes(*triples: str) -> np.ndarray:
    return np.array([[hash_text(iri(name)) for name in triple.split()] for triple in triples], np.int64)


def owner_of(name: str, shards: int) -> int:
    return int(owner(hashes(name)[0], shards)[0])


# --- owners ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 64])
def test_every_shard_owns_its_part_of_the_terms(shards: int) -> None:
    terms = np.array([hash_text(iri(f"n{i}")) for i in range(20_000)], np.int64)
    counts = np.bincount(owner(terms, shards), minlength=shards)
    assert len(counts) == shards
    assert counts.min() > 0.75 * len(terms) / shards
    assert counts.max() < 1.25 * len(terms) / shards


def test_owners_do_not_follow_the_bits_that_others_use() -> None:
    terms = np.array([hash_text(iri(f"n{i}")) for i in range(20_000)], np.int64)
    for chosen in (terms % 4 == 1, terms >> 62 == 1, terms & 0xFFF < 64, terms >> 32 & 7 == 3):
        counts = np.bincount(owner(terms[chosen], 4), minlength=4)
        assert counts.min() > 0.15 * chosen.sum()


# --- the choice -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "variable"),
    [
        (query("?x :p+ ?y"), "x"),
        (query("?x :p+ ?y", head="SELECT ?y"), "y"),
        (query("?x :p+ ?x"), "x"),
        (query("?x :p+ ?y . ?y :q+ ?z"), "y"),
        (query("?x :p ?a ; :q ?b ; :r ?c"), "x"),
        (query("?a :p ?x . ?b :q ?x"), "x"),
        (query("?s ?x ?o . ?x :q ?b"), "x"),
        # trees weigh more than views
        (query("?x :p ?a ; :q ?b ; :r ?c . ?a :p+ ?d"), "a"),
        # a path from a constant is one tree, wherever it grows
        (query(":c :p+ ?y . ?y :q ?z . ?x :q ?z"), "z"),
        # a bag that is told whole may be divided by what it does not show
        (query("?a :p ?x . ?x :q ?b . ?x :r ?c", head="SELECT ?a", output="RSTREAM"), "x"),
        (query("?a :p ?x . ?x :q ?b . ?x :r ?c", head="SELECT ?a", output="ISTREAM"), "a"),
        (query("?a :p ?x . ?x :q ?b . ?x :r ?c", head="SELECT DISTINCT ?a", output="RSTREAM"), "a"),
        (query("{ ?x :p ?y } UNION { ?x :q ?z }"), "x"),
        # inside, ?y is another variable: it occurs once outside, as often as ?x
        (query("?x :p ?y . { SELECT ?x { ?x :q ?y . ?y :r ?y } }"), "x"),
        (query("?x :p ?y VALUES ?y { :a :b }"), "x"),
        (query("?x :p ?y", head="CONSTRUCT { ?x :r ?y . ?x :s :c }"), "x"),
        (query("?x :p ?y . ?x :q ?z", head="CONSTRUCT { ?x :r ?y . ?z :s ?x }"), "x"),
        (query("?x :p+ ?y", head="CONSTRUCT { :c :r ?y }"), "y"),
        (query("?x :p+ ?y", brackets=" REPORT NON_EMPTY_CONTENT"), "x"),
        (query("?x :p ?y OPTIONAL { ?x :q ?z }"), "x"),
        (query("?x :p ?y OPTIONAL { ?y :q ?z OPTIONAL { ?y :r ?u } }"), "y"),
        (query("?x :p+ ?y MINUS { ?y :q ?z }"), "y"),
        (query("?x :p ?y FILTER NOT EXISTS { ?y :q ?z }"), "y"),
        (query("?x :p ?y FILTER EXISTS { ?x :q ?z FILTER(?z != ?y) }"), "x"),
        (query("?x :p ?y", head="SELECT ?x (SUM(?y) AS ?n)", tail="GROUP BY ?x HAVING(COUNT(?y) > 1)"), "x"),
        (query("?y :p ?x . ?y :q ?z", head="SELECT ?x (MAX(?z) AS ?n)", tail="GROUP BY ?x"), "x"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.text.split("WHERE")[1],
)
def test_the_variable_that_divides_most(asked: ContinuousQuery, variable: str) -> None:
    found = division_of(asked)
    assert (found.variable, found.reason) == (variable, "")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (query("?x :p ?y", head="ASK"), "ASK"),
        (query("?x :p ?y", head="CONSTRUCT { :c :r :d }"), "no variable of the answer"),
        # the same triple may come from two solutions that agree on neither variable
        (query("?x :p ?y", head="CONSTRUCT { ?x :r ?y . ?y :r ?x }"), "no variable of the answer"),
        (query("{ ?x :p ?y } UNION { ?z :p ?u }"), "no variable of the answer"),
        (query("?x :p ?y BIND(STR(?x) AS ?z)", head="SELECT ?z"), "no variable of the answer"),
        (query(":a :p :b"), "no variable of the answer"),
        (query("?x :p ?y", head="SELECT (COUNT(*) AS ?n)"), "no variable of the answer"),
        (query("?x :p ?y", head="SELECT (COUNT(?y) AS ?n)", tail="GROUP BY ?x"), "no variable of the answer"),
        (query("?x :p ?y", head="SELECT ?x", tail="ORDER BY ?x LIMIT 3"), "no variable of the answer"),
        (query(":a :p :b OPTIONAL { ?x :q ?y }"), "no variable of the answer"),
        (query("{ SELECT ?x { ?x :p ?y } } ", head="SELECT ?y"), "no variable of the answer"),
        (query(":a :p+ ?y"), "between two variables"),
        (query("?x :p+ :a", output="RSTREAM"), "between two variables"),
        (query("WINDOW :w { :a :p :b } VALUES ?x { :a :b }"), "on a stream"),
        (query("WINDOW :w { :a :p :b } ?x :p ?y"), "on a stream"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.text.split("WHERE")[1],
)
def test_what_cannot_be_divided_says_why(asked: ContinuousQuery, reason: str) -> None:
    found = division_of(asked)
    assert found.variable is None
    assert reason in found.reason


def test_both_sides_of_an_anti_join_are_divided_where_it_compares_the_variable() -> None:
    plan = physical_plan(from_sparql(query("?x :p ?y MINUS { ?y :q ?z }")))
    assert explain_physical(divided(plan, "y", 1, 3)).count("owned by ?y, shard 1 of 3") == 2
    assert explain_physical(divided(plan, "x", 1, 3)).count("owned by ?x, shard 1 of 3") == 1


def test_a_variable_inside_a_group_is_another_one() -> None:
    grouped = query("?x :p ?y . { SELECT ?x (COUNT(*) AS ?n) { ?x :q ?y } GROUP BY ?x }")
    plan = physical_plan(from_sparql(grouped))
    assert explain_physical(divided(plan, "y", 1, 3)).count("owned by ?y") == 1
    assert explain_physical(divided(plan, "x", 1, 3)).count("owned by ?x") == 2


def test_a_path_is_turned_to_start_from_the_variable() -> None:
    plan = physical_plan(from_sparql(query("?x :p/:q+ ?y", head="SELECT DISTINCT ?y")))
    assert "from the subject" in explain_physical(plan)
    part = explain_physical(divided(plan, "y", 1, 3))
    assert "from the object" in part
    assert "owned by ?y, shard 1 of 3" in part


def test_what_is_not_known_to_be_divisible_is_not() -> None:
    asked = query("?x :p ?y")
    plan = FreshPlan(("_:b",), physical_plan(from_sparql(asked)))
    assert division(asked, plan).variable is None
    assert divided(plan, "x", 0, 2) is plan


# --- what a shard needs ---------------------------------------------------------------------


def needed(asked: ContinuousQuery, *triples: str, shards: int = 3, stream: str = f"{E}s") -> list[set[int]]:
    """For each triple the shards that need it."""
    found = division_of(asked)
    of_shard = [found.usable(stream, hashes(*triples), shard, shards) for shard in range(shards)]
    return [{shard for shard in range(shards) if of_shard[shard][at]} for at in range(len(triples))]


def test_a_triple_goes_to_the_owner_of_the_variable() -> None:
    star = query("?x :p ?a . ?b :q ?x . :c ?x :d")
    a, b = {owner_of("a", 3)}, {owner_of("b", 3)}
    assert needed(star, "a p b", "a q b", "c a d", "c p d", "a r b") == [
        a,
        b,
        a,
        {owner_of("c", 3), owner_of("p", 3)},
        set(),
    ]


def test_what_has_no_variable_goes_everywhere() -> None:
    everywhere = {0, 1, 2}
    asked = query("?x :p+ ?y . ?x :q ?z . ?z :r ?u")
    assert division_of(asked).variable == "x"
    assert needed(asked, "a p b", "a q b", "a r b", "a s b") == [everywhere, {owner_of("a", 3)}, everywhere, set()]


def test_zero_length_paths_and_reports_of_any_content_need_every_triple() -> None:
    everywhere = {0, 1, 2}
    assert needed(query("?x :p* ?y"), "a r b") == [everywhere]
    assert needed(query("?x :p ?y", brackets=" REPORT NON_EMPTY_CONTENT"), "a r b") == [everywhere]
    content_change = query("?x :p ?y", output="RSTREAM", brackets=" REPORT ON_CONTENT_CHANGE")
    assert needed(content_change, "a r b") == [everywhere]


def test_what_is_not_divided_goes_to_shard_0() -> None:
    assert needed(query("?x :p ?y", head="ASK"), "a p b", "a q b") == [{0}, set()]


def test_each_stream_by_its_own_windows() -> None:
    asked = parse_query(
        f"PREFIX : <{E}> REGISTER CHANGES :q AS SELECT * {WINDOW}] FROM NAMED WINDOW :v ON :t [RANGE 10ms STEP 5ms] "
        "WHERE { WINDOW :w { ?x :p ?y } WINDOW :v { ?z :q ?x } }"
    )
    a, b = {owner_of("a", 3)}, {owner_of("b", 3)}
    assert needed(asked, "a p b", "a q b", stream=f"{E}s") == [a, set()]
    assert needed(asked, "a p b", "a q b", stream=f"{E}t") == [set(), b]
    assert needed(asked, "a p b", "a q b", stream=f"{E}unread") == [set(), set()]
    plain = parse_query(f"SELECT * {{ ?x <{E}p> ?y }}", range=10, step=5)
    assert needed(plain, "a p b", "a q b", stream=f"{E}any") == [a, set()]


def test_static_graphs_ask_nothing_of_a_stream() -> None:
    assert needed(query("WINDOW :w { ?x :p ?y } ?x :q ?z"), "a p b", "a q b") == [{owner_of("a", 3)}, set()]


# --- what a shard does ----------------------------------------------------------------------


def edges(count: int, vertices: int, seed: int = 1) -> EventBatch:
    rng = random.Random(seed)
    names = [iri(f"n{i}") for i in range(vertices)]
    return concatenate(
        [from_triples(f"{E}s", at, [(rng.choice(names), iri("p"), rng.choice(names))], ()) for at in range(count)]
    )


def shard_of(asked: ContinuousQuery, shard: tuple[int, int] | None, batch: EventBatch) -> tuple[Engine, list[Line]]:
    engine = Engine(path="spath")
    engine.register(asked, shard=shard)
    return engine, lines_of_batches(engine.offer([batch], complete=True))


def spath_of(engine: Engine) -> SPath:
    operator = engine.queries[0].operator
    while not isinstance(operator, SPath):
        operator = operator.source  # type: ignore[attr-defined]
    return operator


@pytest.mark.parametrize("body", ["?x :p+ ?y", "?x :p* ?y"])
@pytest.mark.parametrize("head", ["SELECT *", "SELECT ?y"])
@pytest.mark.parametrize("shards", [2, 3, 5])
def test_trees_are_divided(body: str, head: str, shards: int) -> None:
    asked = query(body, head=head)
    batch = edges(99, 70)
    whole, wanted = shard_of(asked, None, batch)
    told: Counter[Line] = Counter()
    counters: Counter[str] = Counter()
    nodes = []
    for shard in range(shards):
        engine, lines = shard_of(asked, (shard, shards), batch)
        told.update(lines)
        spath = spath_of(engine)
        counters.update(spath.counters)
        nodes.append(spath.counters["nodes"])
        roots = np.unique(spath._trees.root[live_nodes(spath._trees)])
        used = np.flatnonzero(spath._terms.uses)
        for ids in (roots, used):
            texts = engine.dictionary.canonical_texts(ids.astype(np.int32))
            assert {int(owner(np.array([hash_text(text)]), shards)[0]) for text in texts} <= {shard}
    assert told == Counter(wanted)
    assert sum(nodes) == spath_of(whole).counters["nodes"] > 500
    assert min(nodes) > 0.5 * sum(nodes) / shards
    assert max(nodes) < 1.6 * sum(nodes) / shards
    if head == "SELECT *":  # otherwise the trees are those of the other end: as many pairs by other ways
        assert counters["nodes_touched"] == spath_of(whole).counters["nodes_touched"]
        assert counters["edges_probed"] == spath_of(whole).counters["edges_probed"]


@pytest.mark.parametrize(
    "body",
    [
        # inside the sub-select, ?x is another variable
        "?x :p ?y ; :p ?u . { SELECT ?z { ?x :p ?z } }",
        "{ ?x :p ?y } UNION { VALUES ?x { :n1 :n2 :n3 :n4 } }",
        "{ VALUES ?x { :n1 UNDEF :n3 } } { ?x :p ?y } ",
        "?x :p* :n1 . ?x :p ?y",
    ],
)
def test_each_solution_comes_from_one_shard(body: str) -> None:
    asked = query(body)
    assert division_of(asked).variable == "x"
    batch = edges(20, 6)
    wanted = shard_of(asked, None, batch)[1]
    told = [line for shard in range(3) for line in shard_of(asked, (shard, 3), batch)[1]]
    assert len(wanted) > 3
    assert Counter(told) == Counter(wanted)


def test_views_hold_only_what_a_shard_can_use() -> None:
    asked = query("?x :p ?y . ?x :q ?z")
    triples = [f"n{i} {'pq'[i % 2]} m{i % 7}" for i in range(60)]
    found = division_of(asked)
    kept = np.array([found.usable(f"{E}s", hashes(*triples), shard, 4) for shard in range(4)])
    assert (kept.sum(axis=0) == 1).all()
    assert kept.sum(axis=1).max() < 30


def test_a_query_that_is_not_divided_is_told_by_shard_0_alone() -> None:
    asked = query("?x :p ?y", head="ASK", output="RSTREAM", brackets=" REPORT ON_CONTENT_CHANGE")
    batch = edges(5, 3)
    _, wanted = shard_of(asked, None, batch)
    assert len(wanted) == 5
    assert shard_of(asked, (0, 2), batch)[1] == wanted
    idle, told = shard_of(asked, (1, 2), batch)
    assert told == []
    assert idle.statistics()["triples"] == 0
    assert idle.queries[0].now == 4
    idle.queries[0].remove()
    assert idle.streams == ()


@pytest.mark.parametrize("shard", [(2, 2), (-1, 2), (0, 0)])
def test_a_shard_that_is_not_there(shard: tuple[int, int]) -> None:
    with pytest.raises(QueryError, match="no shard"):
        Engine().register(query("?x :p ?y"), shard=shard)


def test_a_shard_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    asked = query("?x :p* ?y . ?x :p ?z")
    batch = edges(80, 12)
    for shard in range(3):
        wanted = shard_of(asked, (shard, 3), batch)[1]
        engine, before = shard_of(asked, (shard, 3), batch.slice(0, 50))
        folder = tmp_path / str(shard)
        Checkpoints(folder).save(saved(engine))
        other = Engine(path="spath")
        other.dictionary.constant(iri("something-else"))  # other ids
        other.register(asked, shard=(shard, 3))
        state = Checkpoints(folder).latest()
        assert state is not None
        restore(other, state)
        after = lines_of_batches(other.offer([batch.slice(50, 80)], complete=True))
        assert Counter(before + after) == Counter(wanted)
        assert spath_nodes(other) == spath_nodes(shard_of(asked, (shard, 3), batch)[0])


def spath_nodes(engine: Engine) -> int:
    join = engine.queries[0].operator.source  # type: ignore[attr-defined]
    nodes = [side.counters["nodes"] for side in (join.left, join.right) if "nodes" in side.counters]
    assert nodes, "there are trees"
    return sum(nodes)


def test_an_id_that_comes_again_with_another_term_has_another_owner() -> None:
    engine = Engine()
    engine.register(query("?x :p+ ?y"), shard=(0, 2))
    told: list[Line] = []
    wanted = 0
    for round_ in range(20):
        triple = (iri(f"a{round_}"), iri("p"), iri(f"b{round_}"))
        told += lines_of_batches(engine.offer([from_triples(f"{E}s", 1000 * round_, [triple], ())], complete=True))
        wanted += owner_of(f"a{round_}", 2) == 0
    assert sum(line[1] == "+" for line in told) == wanted
    assert 0 < wanted < 20
    assert engine.dictionary.statistics()["adaptive"] <= 2
