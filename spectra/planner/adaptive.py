"""When another plan takes over from the one that a query was registered with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spectra.algebra.nodes import Source
from spectra.planner.cost import CostModel, ObservedPath
from spectra.planner.path_choice import with_path_operator, with_paths
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
    SPathPlan,
    inputs,
    sources,
)
from spectra.planner.search import Choice
from spectra.planner.statistics import ALL, GraphStatistics
from spectra.sparql.syntax import PathExpression, Term

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


def takes_over(choice: Choice, current: PhysicalPlan, model: CostModel, *, removals: bool) -> bool:
    """Whether the chosen plan is worth its while, and can be put in the place of the current one."""
    other = choice.best.estimate.plan
    if other == current or not (is_same_but_for_paths(current, other) or is_replaceable(current, other)):
        return False
    cost = model.estimate(current, removals=removals).cost
    return choice.best.estimate.cost < _MARGIN * cost


def is_same_but_for_paths(current: PhysicalPlan, other: PhysicalPlan) -> bool:
    """Whether two plans differ only in the operators that follow paths, from the same ends."""
    return with_path_operator(current, "spath") == with_path_operator(other, "spath")


def path_key(path: SPathPlan) -> tuple[Source, Term, Term, PathExpression, bool]:
    """What a path is, whatever follows it."""
    return path.source, path.root, path.target, path.path, path.backward


def paths_of(plan: PhysicalPlan) -> list[SPathPlan]:
    """The paths of a plan."""
    found: list[SPathPlan] = []

    def note(path: SPathPlan) -> SPathPlan:
        found.append(path)
        return path

    with_paths(plan, note)
    return found


def observed_drifts(now: Mapping[ObservedPath, float], then: Mapping[ObservedPath, float]) -> bool:
    """Whether an edge leads to clearly more or fewer pairs than when the plan was made."""
    return any(max(seen, then.get(path, 0.0)) > _DRIFT * min(seen, then.get(path, 0.0)) for path, seen in now.items())


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
