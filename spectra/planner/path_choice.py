"""The choice of the operator that follows a path, and of the end from which it does, by cost."""

from __future__ import annotations

from dataclasses import replace

from spectra.planner.cost import CostModel
from spectra.planner.physical import turned
from spectra.planner.plans import (
    DerivedPathPlan,
    PathOperator,
    PhysicalPlan,
    SPathPlan,
    with_inputs,
)
from spectra.sparql.syntax import Variable

#: The operators between which costs decide.
_OPERATORS: tuple[PathOperator, ...] = ("spath", "columns")

#: Another one than the first must be so much cheaper.
_MARGIN = 0.8


def with_path_operators(plan: PhysicalPlan, model: CostModel, fixed: PathOperator | None) -> PhysicalPlan:
    """The same plan with the operator and the direction chosen for each path; `fixed` is an operator for all."""
    plan = with_inputs(plan, lambda below: with_path_operators(below, model, fixed))
    match plan:
        case SPathPlan():
            return _cheapest([*_variants(plan, fixed)], model)
        case DerivedPathPlan(path):
            return _cheapest([replace(plan, path=variant) for variant in _variants(path, fixed)], model)
        case _:
            return plan


def _variants(path: SPathPlan, fixed: PathOperator | None) -> list[SPathPlan]:
    ways = [path]
    if isinstance(path.root, Variable) and isinstance(path.target, Variable):
        ways.append(turned(path))
    return [replace(way, operator=operator) for way in ways for operator in ([fixed] if fixed else _OPERATORS)]


def _cheapest(variants: list[PhysicalPlan], model: CostModel) -> PhysicalPlan:
    best, *others = variants
    cost = model.estimate(best).own
    for other in others:
        other_cost = model.estimate(other).own
        if other_cost < _MARGIN * cost:
            best, cost = other, other_cost
    return best
