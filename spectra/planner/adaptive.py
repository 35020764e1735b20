"""When another plan takes over from the one that a query was registered with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spectra.algebra.nodes import Source
from spectra.planner.constants import constants
from spectra.planner.cost import CostModel
from spectra.planner.physical import wanted_triples
from spectra.planner.plans import (
    DrawnPlan,
    EventGraphsPlan,
    ExtendPlan,
    FreshPlan,
    GroupPlan,
    ImplicitPlan,
    NowPlan,
    PhysicalPlan,
    SlicePlan,
    inputs,
    sources,
)
from spectra.planner.search import Choice
from spectra.planner.statistics import ALL, GraphStatistics

#: A label has changed when it is there, or arrives, so many times as often as it did, or as seldom.
_DRIFT = 2.0

#: To build the state of another plan takes time, too: it must be so much cheaper.
_MARGIN = 0.8


def has_drifted(now: Mapping[Source, GraphStatistics], then: Mapping[Source, GraphStatistics]) -> bool:
    """Whether a label arrives, or is there, clearly more or less often than when the plan was made."""
    return any(_graph_has_drifted(graph, then.get(source, {})) for source, graph in now.items())


def _graph_has_drifted(now: GraphStatistics, then: GraphStatistics) -> bool:
    for label in (now.keys() | then.keys()) - {ALL}:
        if label not in now or label not in then:
            return True
        for new, old in ((now[label].rate, then[label].rate), (now[label].live, then[label].live)):
            if max(new, old) > _DRIFT * min(new, old):
                return True
    return False


def takes_over(
    choice: Choice, current: PhysicalPlan, graphs: Mapping[Source, GraphStatistics], *, removals: bool
) -> bool:
    """Whether the chosen plan is worth its while, and can be put in the place of the current one."""
    other = choice.best.estimate.plan
    if other == current or not is_replaceable(current, other):
        return False
    cost = CostModel(graphs, constants()).estimate(current, removals=removals).cost
    return choice.best.estimate.cost < _MARGIN * cost


def is_replaceable(current: PhysicalPlan, other: PhysicalPlan) -> bool:
    """Whether another plan of the same query can go on from what the windows hold.

    It must read the same triples, since no others are kept. Neither may make terms, which only the operator that
    made them can give back.
    """
    if _makes_terms(other) or _makes_terms(current):
        return False
    return all(wanted_triples(other, source) == wanted_triples(current, source) for source in sources(current))


def _makes_terms(plan: PhysicalPlan) -> bool:
    makers = (ExtendPlan, GroupPlan, FreshPlan, DrawnPlan, NowPlan, EventGraphsPlan, SlicePlan, ImplicitPlan)
    return any(isinstance(each, makers) for each in _plans(plan))


def _plans(plan: PhysicalPlan) -> Iterator[PhysicalPlan]:
    yield plan
    for below in inputs(plan):
        yield from _plans(below)
