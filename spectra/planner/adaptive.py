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

#: So few edges say nothing of how frequent their label is.
_FEW = 10

#: Estimates are no measurements: another plan must be so much cheaper.
MARGIN = 0.8

#: What building a state may cost, as a part of all that was done before.
_LOST = 0.2


_Key = TypeVar("_Key")


def has_drifted(now: Mapping[_Key, float], then: Mapping[_Key, float]) -> bool:
    """Whether there is clearly more or less of anything than when the plan was made."""
    pairs = ((now.get(key, 0.0), then.get(key, 0.0)) for key in now.keys() | then.keys())
    return any(max(pair) > _DRIFT * min(pair) for pair in pairs)


def labels_have_drifted(held: Mapping[_Key, float], planned: Mapping[_Key, float]) -> bool:
    """Whether there are clearly more edges of a label than the plan was made for, or fewer beside the others.

    A window that fills has fewer of all, which is no reason for another plan.
    """
    if not planned:
        return bool(held)
    part = min(sum(held.values()) / max(sum(planned.values()), 1.0), 1.0)
    labels = held.keys() | planned.keys()
    found = {label: max(held.get(label, 0.0), _FEW) for label in labels}
    return has_drifted(found, {label: max(part * planned.get(label, 0.0), _FEW) for label in labels})


def held_by(graphs: Mapping[Source, GraphStatistics]) -> dict[tuple[Source, str], float]:
    """How many edges of each label there are at an instant, as far as that is known."""
    return {
        (source, label): figures.live
        for source, graph in graphs.items()
        for label, figures in graph.items()
        if label != ALL
    }


def part_of_cost(
    choice: Choice,
    current: PhysicalPlan,
    situation: Situation,
    graphs: Mapping[Source, GraphStatistics],
    *,
    removals: bool,
) -> float:
    """What part of the current plan's cost the chosen one has; all of it where it cannot be put in its place."""
    other = choice.best.estimate.plan
    same = is_same_but_for_paths(current, other)
    if other == current or not (same or is_replaceable(current, other)):
        return 1.0
    model = situation.model(graphs, observed=same)
    new, old = (model.estimate(plan, removals=removals).cost for plan in (other, current))
    return new / old if old > 0 else 1.0


def worth_its_state(came: float, live: float) -> float:
    """What part of the present plan another one may cost at most, so that building its state does not cost too much.

    That takes as long as the `live` triples of the windows take it. It must not be more than a small part of what the
    `came` triples took so far: if the stream ends then, little is lost.
    """
    return _LOST * came / max(live, 1.0)


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
