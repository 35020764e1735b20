"""When another plan takes over from the one that a query was registered with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from spectra.algebra.nodes import Source
from spectra.planner.path_choice import Situation, with_path_operator, with_paths
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

#: A label has changed when there are so many times as many edges of it as there were, or as few.
_DRIFT = 2.0

#: Estimates are no measurements: another plan must be so much cheaper.
_MARGIN = 0.8


_Key = TypeVar("_Key")


def has_drifted(now: Mapping[_Key, float], then: Mapping[_Key, float]) -> bool:
    """Whether there is clearly more or less of anything than when the plan was made."""
    pairs = ((now.get(key, 0.0), then.get(key, 0.0)) for key in now.keys() | then.keys())
    return any(max(pair) > _DRIFT * min(pair) for pair in pairs)


def held_by(graphs: Mapping[Source, GraphStatistics]) -> dict[tuple[Source, str], float]:
    """How many edges of each label there are at an instant, as far as that is known."""
    return {
        (source, label): figures.live
        for source, graph in graphs.items()
        for label, figures in graph.items()
        if label != ALL
    }


def takes_over(
    choice: Choice,
    current: PhysicalPlan,
    situation: Situation,
    graphs: Mapping[Source, GraphStatistics],
    *,
    removals: bool,
    worth: float = 1.0,
) -> bool:
    """Whether the chosen plan is worth its while, and can be put in the place of the current one.

    It must cost less than this part of the current one, `worth`, as `worth_its_state` has it.
    """
    other = choice.best.estimate.plan
    same = is_same_but_for_paths(current, other)
    if other == current or not (same or is_replaceable(current, other)):
        return False
    model = situation.model(graphs, observed=same)
    new, old = (model.estimate(plan, removals=removals).cost for plan in (other, current))
    return new < min(worth, _MARGIN) * old


def worth_its_state(came: float, live: float) -> float:
    """What part of the present plan another one may cost at most, so that it makes up for building its state.

    That takes as long as the `live` triples of the windows take it. It has as many triples to make up for it as `came`
    so far: a stream that has been short may end soon.
    """
    return came / (came + live) if came > 0 else 0.0


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
