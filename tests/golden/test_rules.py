"""What each rule makes of a plan; `pytest --update-golden` writes `rules/*.txt` anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from spectra.algebra.explain import explain
from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import Node
from spectra.planner.pipeline import RULES
from spectra.sparql import parse_query
from tests.property.test_rules import rewrites

#: For each rule what is selected from what, and the rules that are used before it, in the first place where they apply.
CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "regroup_filters": ("?x", "?x :p ?y FILTER(?x = :a && ?y != :b)", ()),
    "swap_filters": ("?x", "?x :p ?y FILTER(?x = :a) FILTER(?y = :b)", ()),
    "drop_repeated_filter": ("?x", "?x :p ?y FILTER(?x = :a) FILTER(?y = :b) FILTER(?x = :a)", ()),
    "push_filter_through_union": ("?x", "{ ?x :p ?y } UNION { ?x :q ?z } FILTER(?x = :a)", ()),
    "push_filter_through_pattern": ("?x", "?x :p ?y . ?y :q ?z . ?z :r ?x FILTER(?y != ?z)", ()),
    "distribute_wscan": ("?x ?l", "?x ?l ?y FILTER(?l IN (:p, :q))", ()),
    "merge_unions": ("?x", "{ ?x :q ?y } UNION { ?x :p ?z }", ()),
    "drop_distinct": ("DISTINCT ?x", "?x :p/:q ?y", ("decompose_sequence",)),
    "merge_disjunction": ("DISTINCT ?x", "{ ?x :p ?y FILTER(?y = :a) } UNION { ?x :p ?y FILTER(?y = :b) }", ()),
    "substitute_transition": ("DISTINCT ?x", "?x :r/(:p/:q)+ ?y", ("derive_edges", "decompose_sequence")),
    "decompose_alternation": ("DISTINCT ?x", "?x :p|^:q|:r+ ?y", ()),
    "decompose_sequence": ("DISTINCT *", "?x :p/:q+/^:r :a", ()),
    "derive_edges": ("DISTINCT *", "?x (:p/:q/:r)+ ?y", ()),
    "fuse_alternation": ("DISTINCT *", "{ SELECT DISTINCT * { { ?x :p ?y } UNION { ?y :q ?x } } } ?y :r ?z", ()),
    "fuse_sequence": ("DISTINCT ?x ?z", "?x :p ?y . ?y :q+ ?z . ?z :r ?u . ?z :s ?u", ()),
    "pull_project": ("DISTINCT *", "?x :p/:q ?y . ?y :r ?z", ("decompose_sequence", "drop_distinct")),
    "associate_pattern": ("*", "?x :p ?y . ?y :q ?z . ?z :r ?u", ()),
}


def plan_of(select: str, body: str) -> Node:
    window = "FROM NAMED WINDOW :w ON :s [RANGE PT10S]"
    return from_sparql(parse_query(f"PREFIX : <> SELECT {select} {window} {{ WINDOW :w {{ {body} }} }}"))


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str, update_golden: bool) -> None:
    select, body, before = CASES[name]
    plan = plan_of(select, body)
    for earlier in before:
        plan = next(other for rule, other in rewrites(plan) if rule == earlier)
    plans = [plan, *(other for rule, other in rewrites(plan) if rule == name)]
    assert len(plans) > 1, "the rule applies"
    text = f"SELECT {select} {{ {body} }}\n\n" + "\n\n=\n\n".join(map(explain, plans)) + "\n"
    golden = Path(__file__).parent / "rules" / f"{name}.txt"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == {rule.__name__ for rule in RULES}
