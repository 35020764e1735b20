"""Which plan a query is evaluated by: when it is registered, and while the streams change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from spectra.algebra.nodes import Node, Values
from spectra.algebra.nodes import Source as GraphSource
from spectra.clock import FOREVER
from spectra.continuous import Query, demand
from spectra.errors import QueryError
from spectra.planner.adaptive import (
    MARGIN,
    has_drifted,
    held_by,
    labels_have_drifted,
    part_of_cost,
    paths_of,
    worth_its_state,
)
from spectra.planner.cost import ObservedPath
from spectra.planner.division import divided, division
from spectra.planner.optimise import graphs_of, optimise
from spectra.planner.path_choice import Situation, able_to_delete, suited, with_path_operator, with_suited_paths
from spectra.planner.pattern_choice import PatternChoice, with_pattern_operators
from spectra.planner.physical import physical_plan, with_implicit_windows
from spectra.planner.plans import PathChoice, PhysicalPlan, SPathPlan, ValuesPlan
from spectra.planner.search import Choice
from spectra.planner.statistics import GraphStatistics, Statistics
from spectra.report import Evaluations
from spectra.sparql.query import ContinuousQuery, Option, WindowKind
from spectra.timeline import ANY_STREAM

#: Plans are looked at anew after so many triples at least, and after so many times as many as the windows hold at most.
_LEAST_FRESH, _MOST_PATIENCE = 8000, 16

#: A plan that is looked at takes as long as so many triples do in a simple query, many times over.
_TRIPLES_PER_PLAN = 15_000


@dataclass(slots=True)
class Planning:
    """What an engine was told about plans, and what it has learnt since; the parameters are those of `Engine`.

    `deleting` are the streams of which triples are deleted; True is all of them.
    """

    pattern: PatternChoice
    path: PathChoice
    lazy: bool
    adaptive: bool
    known: Statistics
    deleting: bool | set[str]
    # queries that get their events bit by bit
    _trickling: set[str] = field(default_factory=set)
    # triples that have come, and those since plans were looked at
    _came: int = 0
    _fresh: int = 0
    _patience: int = 1

    # --- when a query is registered -------------------------------------------------------------

    def chosen(self, query: ContinuousQuery, logical: Node, seen: Statistics) -> Choice | None:
        """The plan by what is known of the streams; what was given counts more than what was seen."""
        known = {**seen, **self.known}
        return self._optimised(query, logical, known, self._situation(query)) if known else None

    def planned(
        self, query: ContinuousQuery, physical: PhysicalPlan, shard: tuple[int, int] | None
    ) -> tuple[PhysicalPlan, bool]:
        """A plan with its operators, as far as a shard evaluates it, and whether that is idle."""
        physical, idle = _part(query, physical, shard)
        physical = with_pattern_operators(
            physical,
            self.pattern,
            removals=demand(query, physical).removals,
            counted=[GraphSource(w.name) for w in query.windows if w.spec.kind is WindowKind.COUNT],
            lazy=self.lazy,
        )
        if Option.SIMPLE_PATHS in query.options:
            physical = with_path_operator(physical, "rspq")
        elif self.path != "auto":
            physical = with_path_operator(physical, self.path)
        else:
            physical = with_suited_paths(physical, self._situation(query))
        if Option.IMPLICIT_WINDOWS in query.options:
            physical = with_implicit_windows(physical)
        return physical, idle

    def begin(self, query: Query) -> None:
        """Note what the plan of a query that is registered was made for."""
        query.rewritable = query.choice is not None
        if query.choice is not None:
            self._rest_after(query.choice)
        graphs = graphs_of(query.query, self.known)
        query.planned_with = held_by(graphs)
        query.situation = self._situation(query.query)
        query.expected_pairs = _pairs_expected(query.physical, query.situation, graphs)

    def _optimised(
        self,
        query: ContinuousQuery,
        logical: Node,
        known: Statistics,
        situation: Situation,
        *,
        rewrite: bool = True,
    ) -> Choice | None:
        return optimise(
            query,
            logical,
            known,
            removals=demand(query, physical_plan(logical)).removals,
            pattern=self.pattern,
            path=None if self.path == "auto" else self.path,
            situation=situation,
            lazy=self.lazy,
            rewrite=rewrite,
        )

    def _situation(self, query: ContinuousQuery) -> Situation:
        """What decides between path operators."""
        times = query.windows if all(window.spec.kind is WindowKind.TIME for window in query.windows) else ()
        wait = Evaluations(query).shortest_wait
        seldom = wait < FOREVER and not query.options and query.name not in self._trickling
        return Situation(
            frozenset(GraphSource(window.name) for window in query.windows if self._deletes(window.stream)),
            {GraphSource(window.name): window.spec.range / wait for window in times if seldom},
            each=query.by_event,
            wait=wait / 1000 if seldom and times else 0.0,
        )

    def _deletes(self, stream: str) -> bool:
        if isinstance(self.deleting, bool):
            return self.deleting
        return stream in self.deleting or (stream == ANY_STREAM and bool(self.deleting))

    # --- between two batches ----------------------------------------------------------------------

    def expect_deletions(self, queries: Iterable[Query], streams: Collection[str]) -> None:
        """Triples of these streams are deleted from now on."""
        if self.deleting is True or self.path != "auto":
            return
        met = set(streams) - (self.deleting or set())
        if met:
            self.deleting = {*(self.deleting or ()), *met}
            for query in queries:
                if not met.isdisjoint(query.streams) or ANY_STREAM in query.streams:
                    self._follow(query, able_to_delete)

    def review(self, queries: Collection[Query], deleted: Collection[str]) -> None:
        """Let other operators follow paths where streams are not as they were taken to be.

        `deleted` are the streams of which triples have been deleted.
        """
        self.expect_deletions(queries, deleted)
        for query in queries:
            if query.trickles:
                self._trickling.add(query.name)
                self._follow(query, suited)

    def spare_memory(self, queries: Iterable[Query]) -> None:
        """Let paths be followed by the operator that keeps least of them."""
        if self.path == "auto":
            for query in queries:
                query.follow_paths(_sparingly)

    def adapt(self, queries: Iterable[Query], triples: int, live: int, seen: Callable[[], Statistics]) -> None:
        """Look at the plans anew, once as many triples have come as are live in the windows; `triples` more have.

        While no other plan takes over, it is done more and more seldom; but again whenever half as many more have come
        as before. In windows that fill, edges meet more and more others.
        """
        if not self.adaptive:
            return
        self._came += triples
        self._fresh += triples
        if self._fresh < max(min(self._patience * max(live, _LEAST_FRESH), self._came / 3), _LEAST_FRESH):
            return
        self._fresh = 0
        self._patience = min(2 * self._patience, _MOST_PATIENCE)
        for query in queries:
            if query.adapts and query.began and (query.rewritable or query.has_paths):
                self._adapt_query(query, worth_its_state(self._came, live), seen)

    def _adapt_query(self, query: Query, worth: float, seen: Callable[[], Statistics]) -> None:
        """Let another plan take over if what there is differs from what the present one was made for.

        It must cost less than this part of the present one, `worth`, as `worth_its_state` has it.
        """
        observed, before = query.observe(), dict(query.situation.observed)
        held = query.planned_with
        if query.rewritable or not observed:  # otherwise only paths are chosen for, and their pairs say all
            held = query.edges_held()
        pairs = {path: found.pairs for path, found in observed.items()}
        drifted = labels_have_drifted(held, query.planned_with)
        if not (drifted or has_drifted({**query.expected_pairs, **pairs}, query.expected_pairs)):
            return
        known = seen()
        situation = replace(self._situation(query.query), observed=before | observed)
        # what was planned by rule, for want of statistics, is rewritten by nothing less than statistics that are given
        choice = self._optimised(query.query, query.logical, known, situation, rewrite=query.rewritable)
        if choice is not None and query.rewritable:
            self._rest_after(choice)
        graphs, removals = graphs_of(query.query, known), demand(query.query, query.physical).removals
        part = 1.0
        if choice is not None:
            part = part_of_cost(choice, query.physical, situation, graphs, removals=removals)
        if worth <= part < MARGIN:  # to be looked at again, when more has come
            return
        query.situation = situation
        query.planned_with = held if drifted else query.planned_with
        query.expected_pairs = {**query.expected_pairs, **pairs}
        if choice is not None and part < MARGIN:
            query.replan(choice)
            self._patience = 1

    def _rest_after(self, choice: Choice) -> None:
        """Let more triples come before plans are looked at again, the more of them were looked at now."""
        self._fresh -= _TRIPLES_PER_PLAN * max(1, len(choice.considered))

    def _follow(self, query: Query, chosen: Callable[[SPathPlan, Situation], SPathPlan]) -> None:
        """Let the paths of a query be followed by what is chosen now, unless somebody said which operator to take."""
        if Option.SIMPLE_PATHS not in query.query.options:
            situation = self._situation(query.query)
            query.follow_paths(lambda path: chosen(path, situation) if path.reason else path)


def _pairs_expected(
    plan: PhysicalPlan, situation: Situation, graphs: Mapping[GraphSource, GraphStatistics]
) -> dict[ObservedPath, float]:
    """How many pairs each edge should lead to, for the paths of a plan of whose edges something is known."""
    model = situation.model(graphs)
    found = {(path.source, path.path): model.pairs_per_edge(path) for path in paths_of(plan)}
    return {path: pairs for path, pairs in found.items() if pairs is not None}


def _sparingly(path: SPathPlan) -> SPathPlan:
    """A path by the operator that keeps least of it."""
    if not path.reason or path.operator in ("condense", "landmark"):
        return path
    return replace(path, operator="landmark", reason="the limit for the state would be passed")


def _part(query: ContinuousQuery, physical: PhysicalPlan, shard: tuple[int, int] | None) -> tuple[PhysicalPlan, bool]:
    """The plan of a shard, and whether it is idle: what cannot be divided is left to shard 0."""
    number, shards = shard or (0, 1)
    if not 0 <= number < shards:
        raise QueryError(f"there is no shard {number} of {shards}", hint="Shards are numbered from 0.")
    if shards == 1:
        return physical, False
    variable = division(query, physical).variable
    if variable is not None:
        return divided(physical, variable, number, shards), False
    if number == 0:
        return physical, False
    return ValuesPlan(Values(physical.variables, ())), True
