"""The choice of the operator that follows a path, and of the end from which it does: by a rule, or by cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf

from spectra.algebra.nodes import Source
from spectra.automata import longest_word
from spectra.planner.constants import constants
from spectra.planner.cost import CostModel, Observed, ObservedPath
from spectra.planner.physical import DERIVED, turned
from spectra.planner.plans import (
    DerivedPathPlan,
    PathOperator,
    PhysicalPlan,
    SPathPlan,
    with_inputs,
)
from spectra.planner.statistics import GraphStatistics
from spectra.sparql.syntax import Variable

#: Another one than the first must be so much cheaper.
_MARGIN = 0.8

#: So few evaluations while an edge is in the window, and the pairs are better found anew for each of them.
_FEW_EVALUATIONS = 20


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides between operators beside costs.

    Triples of the graphs in `deleting` are deleted. `evaluations` has how many evaluations there are while an edge of
    a window is valid; any number in a window that it does not have. `each`: every event is matched by itself. `wait`
    and `observed` are as in `CostModel`.
    """

    deleting: frozenset[Source] = frozenset()
    evaluations: Mapping[Source, float] = field(default_factory=dict)
    each: bool = False
    wait: float = 0.0
    observed: Mapping[ObservedPath, Observed] = field(default_factory=dict)

    def model(self, graphs: Mapping[Source, GraphStatistics], *, observed: bool = True) -> CostModel:
        """The model of what plans cost, for graphs of which these statistics are known.

        What was observed of a path is of use to compare what follows that path. It says nothing of the parts of
        another plan, which may be as wrongly estimated as the path was.
        """
        return CostModel(graphs, constants(), self.wait, self.observed if observed else {})

    def deletes(self, source: Source) -> bool:
        """Whether edges of a graph are deleted; those that are derived where any are."""
        return bool(self.deleting) if source == DERIVED else source in self.deleting


def suited(path: SPathPlan, situation: Situation) -> SPathPlan:
    """The path by the operator that a plain rule gives it, with the reason.

    `condense` finds all pairs anew, and is the fastest where answers are asked for seldom and the path has a closure:
    without one, edges lead to few pairs that could be found together. Of those that go on from
    what there was, `columns` sets all roots of a product node together and is the fastest, however many ends of
    validity edges have, and finds again what a deleted edge takes down for many roots at once.
    What is gone with its event is followed by what has least to forget, `spath`.
    """
    if situation.each or path.source.events:
        return replace(path, operator="spath", reason="each event is matched by itself")
    evaluations = situation.evaluations.get(path.source, inf)
    if evaluations <= _FEW_EVALUATIONS and len(path.variables) == 2 and longest_word(path.dfa) is None:
        reason = f"there are {evaluations:,.3g} evaluations while an edge is valid"
        return replace(path, operator="condense", reason=reason)
    return replace(path, operator="columns", reason="all roots are followed together")


def able_to_delete(path: SPathPlan, situation: Situation) -> SPathPlan:
    """The path by trees that know which edges they hang on, if trees follow it and edges are deleted."""
    if path.operator != "spath" or situation.each or path.source.events or not situation.deletes(path.source):
        return path
    return replace(path, operator="rapq", reason=f"{path.reason}, and edges are deleted")


def _trees(path: SPathPlan, situation: Situation) -> PathOperator:
    """The operator that keeps trees."""
    return "rapq" if situation.deletes(path.source) else "spath"


def with_suited_paths(plan: PhysicalPlan, situation: Situation) -> PhysicalPlan:
    """The same plan with the operators that the rule gives its paths."""
    return with_paths(plan, lambda path: suited(path, situation))


def with_paths(plan: PhysicalPlan, changed: Callable[[SPathPlan], SPathPlan]) -> PhysicalPlan:
    """The same plan with other paths for its own."""
    plan = with_inputs(plan, lambda below: with_paths(below, changed))
    match plan:
        case SPathPlan():
            return changed(plan)
        case DerivedPathPlan(path):
            return replace(plan, path=changed(path))
        case _:
            return plan


def with_path_operator(plan: PhysicalPlan, operator: PathOperator) -> PhysicalPlan:
    """The same plan with one operator for all paths, because somebody says so."""
    return with_paths(plan, lambda path: replace(path, operator=operator, reason=""))


def with_cheapest_paths(
    plan: PhysicalPlan, model: CostModel, situation: Situation, fixed: PathOperator | None
) -> PhysicalPlan:
    """The same plan with the cheapest operator and direction for each path; `fixed` is an operator for all."""
    plan = with_inputs(plan, lambda below: with_cheapest_paths(below, model, situation, fixed))
    match plan:
        case SPathPlan():
            return _cheapest([*_variants(plan, situation, fixed)], model)
        case DerivedPathPlan(path):
            return _cheapest([replace(plan, path=variant) for variant in _variants(path, situation, fixed)], model)
        case _:
            return plan


def _variants(path: SPathPlan, situation: Situation, fixed: PathOperator | None) -> list[SPathPlan]:
    """A path by all operators that may be taken, the suited one first, from both ends if it has no constant."""
    ways = [path]
    if isinstance(path.root, Variable) and isinstance(path.target, Variable):
        ways.append(turned(path))
    if fixed is not None:
        return [replace(way, operator=fixed, reason="") for way in ways]
    first = suited(path, situation)
    if first.operator != "columns":  # how often answers are asked for has decided
        return [replace(way, operator=first.operator, reason=first.reason) for way in ways]
    operators: tuple[PathOperator, ...] = ("columns", _trees(path, situation))
    return [replace(way, operator=operator, reason="it costs least") for way in ways for operator in operators]


def _cheapest(variants: list[PhysicalPlan], model: CostModel) -> PhysicalPlan:
    best, *others = variants
    cost = model.estimate(best).own
    for other in others:
        other_cost = model.estimate(other).own
        if other_cost < _MARGIN * cost:
            best, cost = other, other_cost
    return best
