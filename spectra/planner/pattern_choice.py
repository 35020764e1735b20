"""The choice of the operator that matches the scans of one graph together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from spectra.algebra.nodes import Source, WScan
from spectra.planner.physical import (
    AntiJoinPlan,
    ConstructPlan,
    CopyPlan,
    DistinctPlan,
    ExtendPlan,
    FilterPlan,
    FreshPlan,
    GroupPlan,
    HashJoinPlan,
    OwnedPlan,
    PatternOperator,
    PhysicalPlan,
    ProjectPlan,
    SlicePlan,
    TpJoinPlan,
    UnionPlan,
)

#: An operator for all, or the one that suits each pattern.
PatternChoice = Literal["auto", "tpjoin", "siblings", "recompute"]


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
        case TpJoinPlan(source, scans):
            operator = choice
            if operator == "auto":
                operator = _suited(scans, removals=removals or source in counted)
            return replace(plan, operator=operator, lazy=lazy)
        case HashJoinPlan(left, right, _) | AntiJoinPlan(left, right, _):
            return replace(plan, left=below(left, asks=True), right=below(right, asks=True))
        case UnionPlan(parts):
            return UnionPlan(tuple(map(below, parts)))
        case FilterPlan() | ExtendPlan() | CopyPlan() | OwnedPlan() | ProjectPlan() | ConstructPlan():
            return replace(plan, input=below(plan.input))
        case DistinctPlan() | GroupPlan() | SlicePlan() | FreshPlan():
            return replace(plan, input=below(plan.input, asks=True))
        case _:
            return plan


def _suited(scans: tuple[WScan, ...], *, removals: bool) -> PatternOperator:
    """`siblings` for a cycle whose matches are withdrawn, `tpjoin` for all else.

    Siblings close a cycle by comparing numbers, and matches that are kept need not be found again when they
    leave; elsewhere the automaton is as fast and keeps nothing.
    """
    return "siblings" if removals and is_cyclic(scans) else "tpjoin"


def is_cyclic(scans: tuple[WScan, ...]) -> bool:
    """Whether two triple patterns are connected by their variables in more than one way."""
    parts: list[set[str]] = []
    for scan in scans:
        names = set(scan.variables)
        joined = [part for part in parts if part & names]
        if any(len(part & names) > 1 for part in joined):
            return True
        parts = [part for part in parts if not part & names]
        parts.append(names.union(*joined))
    return False
