"""The choice of the operator that matches the scans of one graph together, and of what it compares while it does."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from spectra.algebra.nodes import Source, WScan
from spectra.planner.plans import (
    AntiJoinPlan,
    DistinctPlan,
    DrawnPlan,
    FilterPlan,
    FreshPlan,
    GroupPlan,
    HashJoinPlan,
    NowPlan,
    OwnedPlan,
    PatternOperator,
    PhysicalPlan,
    SlicePlan,
    TpJoinPlan,
    with_inputs,
)
from spectra.sparql import syntax
from spectra.sparql.syntax import Variable

#: An operator for all, or the one that suits each pattern.
PatternChoice = Literal["auto", "tpjoin", "siblings", "recompute"]

#: What looks at the solutions it has told before.
_LOOK_BACK = (HashJoinPlan, AntiJoinPlan, DistinctPlan, GroupPlan, SlicePlan, FreshPlan, DrawnPlan, NowPlan)

_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


def with_pattern_operators(
    plan: PhysicalPlan,
    choice: PatternChoice,
    *,
    removals: bool,
    counted: Collection[Source] = (),
    lazy: bool = True,
) -> PhysicalPlan:
    """The same plan with operators chosen for the scans that are matched together.

    `removals` says whether solutions that expire are asked for; those that look at what they have told before
    (joins, DISTINCT, groups, slices) always ask. `counted` are the graphs of count windows, whose ends are no times.
    """

    def below(inner: PhysicalPlan, *, asks: bool = False) -> PhysicalPlan:
        return with_pattern_operators(inner, choice, removals=removals or asks, counted=counted, lazy=lazy)

    match plan:
        case TpJoinPlan(source):
            operator = _suited(plan, removals=removals or source in counted) if choice == "auto" else choice
            chosen: PhysicalPlan = replace(plan, operator=operator, lazy=lazy)
            if operator != "tpjoin":
                # these compare finished matches
                chosen = replace(plan, operator=operator, lazy=lazy, comparisons=())
                for condition in plan.comparisons:
                    chosen = FilterPlan(condition, chosen)
            return chosen
        case FilterPlan(syntax.Call() as condition, inner) if (inside := _compared(condition, inner)) is not None:
            return below(inside)
        case _:
            asks = isinstance(plan, _LOOK_BACK)
            return with_inputs(plan, lambda inner: below(inner, asks=asks))


def _compared(condition: syntax.Call, plan: PhysicalPlan) -> PhysicalPlan | None:
    """The plan with a comparison of two variables inside the join that binds both, None where there is none."""
    match plan:
        case TpJoinPlan(_, scans) if condition.function in _COMPARISONS:
            bound = {name for scan in scans for name in scan.variables}
            names = [argument.name for argument in condition.arguments if isinstance(argument, Variable)]
            if len(set(names)) == 2 and bound.issuperset(names):
                return replace(plan, comparisons=(*plan.comparisons, condition))
        case FilterPlan(_, inner) | OwnedPlan(_, _, _, inner):
            inside = _compared(condition, inner)
            return None if inside is None else replace(plan, input=inside)
    return None


def _suited(plan: TpJoinPlan, *, removals: bool) -> PatternOperator:
    """`siblings` for connected patterns whose matches are withdrawn, `tpjoin` for all else.

    Matches that are kept need not be found again when they leave; where they only enter, the automaton is as fast
    and keeps nothing. It alone compares while it joins, and joins what shares no variable.
    """
    return "siblings" if removals and not plan.comparisons and is_connected(plan.scans) else "tpjoin"


def is_connected(scans: tuple[WScan, ...]) -> bool:
    """Whether there are several triple patterns, all of them connected by their variables."""
    reached = set(scans[0].variables)
    left = list(scans[1:])
    while found := [scan for scan in left if reached & set(scan.variables)]:
        reached.update(*(scan.variables for scan in found))
        left = [scan for scan in left if scan not in found]
    return len(scans) > 1 and not left
