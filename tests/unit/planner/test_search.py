"""Which plan is chosen for which streams, and how long the search takes."""

from __future__ import annotations

from spectra.algebra.explain import explain
from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import Pattern, children
from spectra.planner.characteristics import filled
from spectra.planner.optimise import optimise
from spectra.planner.physical import explain_physical
from spectra.planner.rules.associate_pattern import associate_pattern
from spectra.planner.search import Choice
from spectra.planner.statistics import ALL, LabelStatistics
from spectra.sparql import parse_query
from tests.unit.notation import STREAM, query

VERTICES = 10_000


def random_edges(rate: float) -> LabelStatistics:
    met, both = filled(100 * rate, VERTICES), filled(200 * rate, VERTICES)
    return LabelStatistics(rate, 100, subjects=met, objects=met, live=100 * rate, terms=both)


def chosen(pattern: str, select: str = "SELECT DISTINCT *", output: str = "CHANGES", **rates: float) -> Choice | None:
    """The plan for labels with these rates, over a window of 100 seconds and ten thousand vertices."""
    labels = {f"<urn:{name}>": random_edges(rate) for name, rate in rates.items()}
    known = {STREAM: {**labels, ALL: random_edges(sum(rates.values()))}}
    parsed = parse_query(query("RANGE 100s STEP 1ms", pattern, output, select))
    return optimise(parsed, from_sparql(parsed), known, removals=output != "ISTREAM")


def physical(choice: Choice | None) -> str:
    assert choice is not None
    return explain_physical(choice.best.estimate.plan)


def test_a_closure_is_followed_only_from_where_it_is_asked_for() -> None:
    choice = chosen("?x <urn:a> ?y . ?y <urn:p>+ ?z", "SELECT DISTINCT ?x ?z", a=0.01, p=90)
    assert "<urn:a>/(<urn:p>+)" in physical(choice)
    # where both ends are asked for there is nothing to fuse
    assert "<urn:a>/" not in physical(chosen("?x <urn:a> ?y . ?y <urn:p>+ ?z", a=0.01, p=90))


def test_paths_grow_from_the_end_that_has_fewer_edges() -> None:
    assert "from the subject" in physical(chosen("?x <urn:a>/<urn:p>+ ?y", a=0.1, p=50))
    assert "from the object" in physical(chosen("?x <urn:p>+/<urn:a> ?y", a=0.1, p=50))


def test_paths_are_followed_by_columns() -> None:
    assert "columns(" in physical(chosen("?x <urn:p>+ ?y", p=300))
    assert "columns(" in physical(chosen("?x <urn:p>+ ?y", p=10))


def test_a_join_below_a_closure() -> None:
    """Where few b follow an a, their pairs are few edges; one automaton would keep a tree for every a."""
    choice = chosen("?x (<urn:a>/<urn:b>)+ ?y", a=500, b=1)
    assert choice is not None
    plans = {explain(each.node) for each in choice.considered}
    assert any("over _:d" in plan for plan in plans), "hybrid plans were considered"
    costs = [each.estimate.cost for each in choice.considered]
    assert costs == sorted(costs)
    assert choice.best.estimate.cost <= 1.2 * costs[0] or choice.best.node == choice.considered[0].node


def test_copies_are_kept_where_they_are_seen() -> None:
    """Without DISTINCT the vertex between makes copies, so nothing is fused."""
    choice = chosen("?x <urn:a> ?y . ?y <urn:p>+ ?z", "SELECT ?x ?z", a=0.01, p=90)
    assert "hash_join on ?y" in physical(choice)


def test_what_is_not_known_is_not_guessed() -> None:
    assert chosen("?x <urn:a> ?y . ?y <urn:unheard> ?z", a=1) is None


def test_the_own_plan_stays_unless_another_is_clearly_cheaper() -> None:
    choice = chosen("?x <urn:a> ?y . ?y <urn:b> ?z . ?z <urn:c> ?u", a=10, b=10, c=10)
    assert choice is not None
    assert choice.best.rules == ()
    assert choice.complete


def test_a_search_ends_with_the_best_so_far() -> None:
    names = "abcdefghij"
    pattern = " . ".join(f"?v{at} <urn:{name}> ?v{at + 1}" for at, name in enumerate(names))
    choice = chosen(pattern, "SELECT DISTINCT ?v0 ?v10", **dict.fromkeys(names, 20.0))
    assert choice is not None
    assert not choice.complete
    assert len(choice.considered) < 1000
    assert choice.best.estimate.cost > 0


def test_a_chain_of_eight_is_searched_to_its_end() -> None:
    chain = " . ".join(f"?v{at} <urn:p{at}> ?v{at + 1}" for at in range(8))
    choice = chosen(chain, "SELECT *", **{f"p{at}": 0.1 * (at + 1) for at in range(8)})
    assert choice is not None
    assert choice.complete
    # 28 connected parts of two to eight patterns, each whole or cut in two: 28 + 84 plans, less those above the bound
    assert len(choice.considered) <= 112


def test_connected_parts_of_a_pattern() -> None:
    def parts(pattern: str) -> int:
        node = from_sparql(parse_query(query("RANGE 100s", pattern, "CHANGES", "SELECT *")))
        while not isinstance(node, Pattern):
            (node,) = children(node)
        return len(list(associate_pattern(node)))

    chain = " . ".join(f"?v{at} <urn:p> ?v{at + 1}" for at in range(8))
    assert parts(chain) == 7  # a chain is cut in one of seven places
    star = " . ".join(f"?s <urn:p{at}> ?v{at}" for at in range(6))
    assert parts(star) == 2**5 - 1  # any part of a star is connected
    assert parts("?a <urn:p> ?b . ?b <urn:p> ?c . ?x <urn:p> ?y") == 0 + 1  # what is apart stays apart
