"""Plans that take over while a query runs, against the oracle: nothing is lost, doubled or late.

`SPECTRA_LONG_CASES` sets the size of the long run.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest

from spectra.algebra.from_sparql import from_sparql
from spectra.changes import ChangeBatch
from spectra.continuous import Query, demand
from spectra.engine import Engine
from spectra.planner.adaptive import is_replaceable
from spectra.planner.constants import Constants
from spectra.planner.cost import CostModel
from spectra.planner.path_choice import with_path_operator
from spectra.planner.pattern_choice import with_pattern_operators
from spectra.planner.physical import physical_plan
from spectra.planner.plans import PathOperator
from spectra.planner.search import Alternative, Choice
from tests.property.compare import batch_of, closed, differences, expected, lines_of_batches
from tests.property.generate import Case
from tests.property.path_cases import path_case
from tests.property.test_rules import any_case, rewrites


def other_plan(query: Query, rng: random.Random) -> Choice:
    """What a few rules and other operators make of a query's plan."""
    node = from_sparql(query.query)
    for _ in range(rng.randrange(4)):
        found = [other for _, other in rewrites(node)]
        node = rng.choice(found) if found else node
    plan = physical_plan(node)
    operator = rng.choice(("tpjoin", "siblings"))
    plan = with_pattern_operators(plan, operator, removals=demand(query.query, plan).removals)
    plan = with_path_operator(plan, rng.choice(("spath", "rapq", "columns", "landmark")))
    return Choice(Alternative(node, CostModel({}, Constants()).estimate(plan), ()), (), True)


def check_switching(case: Case) -> int:
    """Run a case with plans that change between events; how often they did."""
    rng = random.Random(case.seed)
    query = case.query()
    case, drain = closed(case, query)
    engine = Engine()
    registered = engine.register(query, static=case.static)
    told: list[ChangeBatch] = []
    switched = 0
    for event in case.events:
        told += engine.offer([batch_of(event)], complete=False)
        choice = other_plan(registered, rng)
        if rng.random() < 0.4 and is_replaceable(registered.physical, choice.best.estimate.plan):
            registered.replan(choice)
            switched += 1
    told += engine.drain() if drain else engine.finish()
    found = differences(case, query, lines_of_batches(told), expected(case, query, "run", drain=drain), "run")
    assert not found, f"{found}\n{case}\n{registered.explain()}"
    return switched


def test_plans_take_over() -> None:
    assert sum(check_switching(any_case(90_000 + seed)) for seed in range(100)) > 200


def check_operators_that_change(case: Case) -> int:
    """Run a case with operators of paths that change between events, whatever is above them; how often they did."""
    rng = random.Random(case.seed)
    query = case.query()
    case, drain = closed(case, query)
    engine = Engine()
    registered = engine.register(query, static=case.static)
    told: list[ChangeBatch] = []
    switched = 0
    for event in case.events:
        told += engine.offer([batch_of(event)], complete=False)
        if rng.random() < 0.4:
            kind: PathOperator = rng.choice(("spath", "rapq", "columns", "landmark", "condense"))
            before = registered.physical
            registered.follow_paths(lambda path, kind=kind: replace(path, operator=kind))  # type: ignore[misc]
            switched += registered.physical != before
    told += engine.drain() if drain else engine.finish()
    found = differences(case, query, lines_of_batches(told), expected(case, query, "run", drain=drain), "run")
    assert not found, f"{found}\n{case}\n{registered.explain()}"
    return switched


def test_operators_of_paths_change() -> None:
    assert sum(check_operators_that_change(path_case(70_000 + seed)) for seed in range(60)) > 200
    brackets = "REPORT ON_WINDOW_CLOSE"
    cases = [path_case(71_000 + seed, brackets=brackets) for seed in range(40)]
    assert sum(map(check_operators_that_change, cases)) > 100
    assert sum(check_operators_that_change(any_case(72_000 + seed)) for seed in range(60)) > 20


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(10))
def test_many_plans_take_over(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // 10
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    for number in range(wanted):
        check_switching(any_case(seed + number))
        check_operators_that_change(path_case(seed + number))
