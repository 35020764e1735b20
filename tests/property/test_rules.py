"""Every rule, wherever it applies in random plans: the plan that it gives tells what the oracle tells.

`SPECTRA_LONG_CASES` sets the size of the long run.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from spectra.algebra.explain import explain
from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import Node, children, with_children
from spectra.engine import Engine
from spectra.planner.physical import physical_plan
from spectra.planner.pipeline import RULES
from spectra.planner.plans import PathChoice
from tests.property.compare import closed, differences, expected, fed_in_batches, lines_of_batches
from tests.property.generate import EX, OUTPUTS, PROLOGUE, STREAMS, Case
from tests.property.path_cases import path_case, random_graph_stream

#: Patterns to which rules apply that few random queries meet.
BODIES = (
    "?x ex:p ?y . ?y ex:q ?z . ?z ex:r ?x",
    "?x ex:p ?y . ?x ex:q ?z . ?x ex:r ?u",
    "?x ex:p ?y . ?y (ex:p/ex:q)+ ?z . ?u ex:r ?z",
    "{ ?x ex:p ?y } UNION { { ?x ex:q ?y } UNION { ?y ex:r ?x } }",
    "?x ex:p ?y . ?y ex:q ?z FILTER(?x = ex:v0 && ?z != ?y)",
    "{ ?x ex:p ?y FILTER(?x = ex:v0) } UNION { ?x ex:p ?y FILTER(?y = ex:v1) }",
    "{ { ?x ex:p ?y } UNION { ?x ex:q+ ?y } } FILTER(?x != ex:v0) FILTER(?x != ex:v0)",
    "?x ?l ?y FILTER(?l IN (ex:p, ex:q))",
    "?x ?l ?y . ?y ex:r ?z FILTER(?l = ex:q)",
    "?x (ex:p/ex:q/ex:r)+ ?y",
    "?x (ex:p/ex:q/^ex:p)+ ?y",
    "ex:v0 (ex:p/ex:q)* ?y",
    "?x ((ex:p|ex:q)/ex:r)+ ?y . ?y ex:p ?z",
    "?x (ex:p+/ex:q)+ ?y",
    "?x ex:p/ex:q/ex:r ?y",
    "?x ex:p|ex:q|^ex:r ?y",
    "?x ex:p+/ex:q* ?y",
    "?x ex:r/(ex:p/ex:q)+ ?y",
    "?x ^ex:r/(ex:p/ex:q)+ ?y",
)
HEADS = ("SELECT *", "SELECT DISTINCT *", "SELECT DISTINCT ?x ?y", "SELECT ?x", "ASK", "CONSTRUCT { ?x ex:made ?y }")


def any_case(seed: int) -> Case:
    """A path query, or one of the patterns above, over a stream of graphs."""
    rng = random.Random(f"rules {seed}")
    if rng.random() < 0.4:
        return path_case(seed, distinct=rng.random() < 0.7)
    step = rng.choice((1, 2, 5, 10))
    window = f"RANGE {step * rng.choice((1, 2, 3, 7))}ms STEP {step}ms"
    if rng.random() < 0.15:
        window = f"ELEMENTS {rng.choice((3, 5, 9))}"
    text = (
        f"{PROLOGUE}REGISTER {rng.choice(OUTPUTS)} ex:out AS {rng.choice(HEADS)} "
        f"FROM NAMED WINDOW <{EX}w> ON <{STREAMS[0]}> [{window}] WHERE {{ WINDOW ex:w {{ {rng.choice(BODIES)} }} }}"
    )
    if " ?x" not in text.split("WHERE")[1]:
        text = text.replace("SELECT DISTINCT ?x ?y", "SELECT DISTINCT *").replace("?x ex:made ?y", "?y ex:made ?y")
        text = text.replace("SELECT ?x", "SELECT *")
    family = rng.choice(("sparse", "dense", "cycle", "loops", "parallel"))
    events = random_graph_stream(rng, family, rng.choice((0.0, 0.05, 0.3)), rng.choice((3, 4, 6)))
    return Case(seed, text, None, None, events)


def rewrites(node: Node) -> Iterator[tuple[str, Node]]:
    """Every plan that one use of one rule makes of a plan."""
    for rule in RULES:
        for other in rule(node):
            yield rule.__name__, other
    for at, child in enumerate(children(node)):
        for name, other in rewrites(child):
            places = iter(range(len(children(node))))
            yield name, with_children(node, lambda old, at=at, other=other, p=places: other if next(p) == at else old)


def check_rewritten(
    case: Case, used: Counter[str], path: PathChoice = "auto", wanted: Sequence[str] | None = None
) -> bool:
    """Compare a plan that a few random uses of rules, or of those wanted, make of a query's with the oracle.

    Whether any applied.
    """
    rng = random.Random(case.seed)
    query = case.query()
    case, drain = closed(case, query)
    plan = from_sparql(query)
    steps = []
    for step in range(rng.choice((1, 2, 3, 5)) if wanted is None else len(wanted)):
        found = [(name, other) for name, other in rewrites(plan) if wanted is None or name == wanted[step]]
        if not found:
            break
        # one that was used least so far, or any
        names = sorted({name for name, _ in found})
        name = rng.choice((min(names, key=used.__getitem__), rng.choice(names)))
        plan = rng.choice([other for rule, other in found if rule == name])
        steps.append(name)
        used[name] += 1
    if not steps:
        return False
    engine = Engine(path=path)
    engine.register(query, static=case.static, plan=physical_plan(plan))
    told = lines_of_batches(fed_in_batches(engine, case.events, rng, drain=drain))
    found_differences = differences(case, query, told, expected(case, query, "run", drain=drain), "run")
    assert not found_differences, f"{steps}\n{found_differences}\n{case}\n{explain(plan)}"
    return True


def test_rules_keep_what_is_told() -> None:
    used: Counter[str] = Counter()
    compared = sum(check_rewritten(any_case(seed), used) for seed in range(250))
    assert compared >= 150
    assert set(used) >= {rule.__name__ for rule in RULES} - {"substitute_transition"}, "rules have been used"


def test_a_path_over_derived_edges_is_taken_apart() -> None:
    used: Counter[str] = Counter()
    steps = ("derive_edges", "decompose_sequence", "substitute_transition")
    for seed in range(40):
        body = ("?x ex:r/(ex:p/ex:q)+ ?y", "?x ^ex:r/(ex:p/^ex:q)+ ?y")[seed % 2]
        check_rewritten(path_case(seed, body=body, distinct=True), used, wanted=steps)
    assert used["substitute_transition"] > 15


@pytest.mark.parametrize("operator", ["rapq", "columns"])
def test_rules_keep_what_other_path_operators_tell(operator: PathChoice) -> None:
    assert sum(check_rewritten(any_case(1000 + seed), Counter(), operator) for seed in range(60)) > 30


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(10))
def test_many_rewritten_plans(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // 10
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    compared = 0
    while compared < wanted:
        compared += check_rewritten(any_case(seed), Counter())
        seed += 1
