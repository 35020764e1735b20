"""One registered query at work: its plan, its operators, its report."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.explain import explain
from spectra.algebra.nodes import Node, Source
from spectra.algebra.outer import reads_now
from spectra.background import StaticGraph
from spectra.changes import Change, ChangeBatch, PathColumns, Snapshot
from spectra.clock import FOREVER, NO_END, Instant
from spectra.composition import DerivedTriples, derived_triples
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.holder import Holder
from spectra.operators.build import Demand, Volatile, build
from spectra.operators.contract import Deltas, Operator
from spectra.operators.measured import Measured
from spectra.operators.path.replaceable import Replaceable
from spectra.operators.path.rspq import PATH_BUDGET
from spectra.operators.relational.implicit import Implicit
from spectra.operators.relational.now import Evaluated
from spectra.planner.adaptive import is_same_but_for_paths, path_key, paths_of
from spectra.planner.cost import Observed, ObservedPath
from spectra.planner.path_choice import Situation, with_paths
from spectra.planner.physical import explain_physical
from spectra.planner.plans import PhysicalPlan, SPathPlan
from spectra.planner.search import Choice
from spectra.planner.statistics import edges_by_label
from spectra.report import AnswerReport, AskReport, ChangeReport, Evaluations, EventReport, Progress, Told, report_for
from spectra.sparql.composed import makes_stream
from spectra.sparql.query import ContinuousQuery, Form, Option, OutputOperator, Policy
from spectra.witnesses import Witnesses

if TYPE_CHECKING:
    from spectra.views.view import WindowViews


#: Triples (ids) to put into static graphs, by IRI.
StaticParts = Mapping[StaticGraph, Mapping[str, NDArray[np.int32]]]

_NO_TERMS = np.zeros(0, np.int32)


@dataclass(slots=True)
class QueryState:
    """What a query knows beside the content of its windows.

    `answer` is that of RSTREAM, `count` and `last` are of ASK, `evaluated` has the times of evaluations that NOW() gave
    solutions, `drawn` the values that they were given.
    """

    first_event: int | None
    done: int | None
    now: int
    reported: int
    pending: Deltas
    answer: Deltas
    count: int = 0
    last: bool | None = None
    evaluated: list[int | None] = field(default_factory=list)
    drawn: list[NDArray[np.int32]] = field(default_factory=list)


class Query:
    """A registered query. `remove()` unregisters it; `snapshot()` is its answer now."""

    def __init__(
        self,
        query: ContinuousQuery,
        logical: Node,
        physical: PhysicalPlan,
        views: dict[Source, WindowViews],
        dictionary: Dictionary,
        on_remove: Callable[[Query], None],
        *,
        static: Sequence[StaticGraph] = (),
        idle: bool = False,
        path_budget: int | None = None,
        cores: int = 1,
        measure: bool = False,
        choice: Choice | None = None,
    ) -> None:
        """`static` are its static graphs, whose views are among `views`.

        `idle`: another shard tells all changes, and this one none, not even that an ASK is false. `path_budget` is
        how many states simple paths may take at one instant. Paths are followed on so many `cores`. With `measure`,
        `measured` has every operator with what it takes. `choice` is how the planner came to the plan, None where there
        was nothing to choose by.
        """
        self.query = query
        self.name = query.name
        self.streams = frozenset(window.stream for window in query.windows)
        self.static = tuple(static)
        self.logical, self.physical = logical, physical
        self.choice = choice
        self._dictionary = dictionary
        self._on_remove = on_remove
        self._idle = idle
        self.holder = Holder(dictionary)
        self._views = views
        self._budget = PATH_BUDGET if path_budget is None else path_budget
        self._cores = cores
        self._reads_now = reads_now(query)
        self._volatile = Volatile(Evaluated(each=query.by_event))
        self.measured: list[Measured] | None = [] if measure else None
        self._paths: list[Replaceable] = []
        self.operator = self._built(physical)
        self._report = report_for(query, len(self.operator.variables), self.holder.hold, keyed=physical.keyed)
        self._witnesses: Witnesses | None = None
        if query.options & {Option.PATHS, Option.SHORTEST_PATHS}:
            self._witnesses = Witnesses(query, views, dictionary, self.operator.variables, self._budget)
        self._begun: Deltas | None = None
        self._last = _nothing(len(self.operator.variables))
        self.now = NO_END
        self._listeners: list[tuple[asyncio.AbstractEventLoop, asyncio.Queue[Change | None]]] = []
        self.removed = False
        self.reported = 0
        # whether another plan may take over, also one that rules have rewritten, and what there was when the present
        # one was made
        self.adapts, self.rewritable = False, False
        self.planned_with: Mapping[tuple[Source, str], float] = {}
        self.expected_pairs: Mapping[ObservedPath, float] = {}
        self.situation = Situation()

    def _built(self, physical: PhysicalPlan) -> Operator:
        if self.measured is not None:
            self.measured.clear()
        self._paths.clear()
        return build(
            physical,
            self._views,
            self._dictionary,
            self.holder,
            demand(self.query, physical),
            self.query.base,
            Evaluations(self.query).last_seen,
            self._budget,
            self._volatile,
            self._cores,
            measured=self.measured,
            paths=None if self.query.by_event else self._paths,
        )

    def replan(self, choice: Choice) -> None:
        """Go on with another plan, between two batches: its operators learn from the views what is there.

        What they tell of that has been told before.
        """
        physical = choice.best.estimate.plan
        if is_same_but_for_paths(self.physical, physical):
            chosen = {path_key(path): path for path in paths_of(physical)}
            self.follow_paths(lambda path: chosen[path_key(path)])
            self.choice = choice
            return
        operator = self._built(physical)
        for views in self._views.values():
            views.replay()
        if self.began:
            operator.initial(NO_END)
        operator.process()
        for views in self._views.values():
            views.vacuum()
        self.operator, self.physical, self.choice = operator, physical, choice
        if isinstance(self._report, ChangeReport):
            self._report.keyed = physical.keyed

    @property
    def has_paths(self) -> bool:
        """Whether it has operators for paths that others could replace."""
        return bool(self._paths)

    @property
    def trickles(self) -> bool:
        """Whether there is a path whose pairs are found anew for every batch although little has changed."""
        return any(path.kind == "condense" and path.plan.reason and path.trickles for path in self._paths)

    def edges_held(self) -> dict[tuple[Source, str], float]:
        """How many edges of each label its windows hold."""
        texts = self._dictionary.canonical_texts
        found = {source: edges_by_label(views, texts) for source, views in self._views.items() if not source.static}
        return {(source, label): count for source, labels in found.items() for label, count in labels.items()}

    def observe(self) -> dict[ObservedPath, Observed]:
        """What an edge led to, for each of the paths of which that can be said again."""
        seen = {(path.plan.source, path.plan.path): path.observed() for path in self._paths}
        return {path: found for path, found in seen.items() if found is not None}

    def follow_paths(self, chosen: Callable[[SPathPlan], SPathPlan]) -> None:
        """Go on with other operators for paths, between two batches; `chosen` gives a path with its operator.

        All above them goes on as it was, since they tell what those before would have told.
        """
        for path in self._paths:
            path.plan = chosen(path.plan)
            if path.plan.operator != path.kind:
                path.become(path.plan.operator)
        self.physical = with_paths(self.physical, chosen)
        for measured in self.measured or ():
            measured.plan = with_paths(measured.plan, chosen)

    @property
    def evaluations(self) -> Evaluations:
        return self._report.evaluations

    def put_static(self, parts: StaticParts, progress: Progress | None) -> ChangeBatch:
        """Hold triples in static graphs in the place of those of the same IRIs; what is told of that.

        `progress` is that of its windows up to the present. Without it nothing is told: what holds before any
        event changes.
        """
        for graph, of_iri in parts.items():
            graph.put(of_iri, 0 if progress is None else self.now)
            self.holder.hold(graph.views.entered_terms(), _NO_TERMS)
        if progress is not None:
            batch = self.process(progress)
        else:
            batch = self._decoded(_nothing(len(self.operator.variables))[1])
            self._change_begun(self.operator.process())
        for graph in parts:
            self.holder.hold(_NO_TERMS, graph.views.vacuum())
        return batch

    def _change_begun(self, deltas: Deltas) -> None:
        """Note what changes in what holds before any event."""
        if isinstance(self._report, EventReport) and self.began:
            self._report.settle([deltas])
            return
        # they may have terms that nobody else holds
        self.holder.hold(deltas.rows.ravel(), _NO_TERMS)
        self._begun = deltas if self._begun is None else Deltas.concatenate([self._begun, deltas])

    @property
    def began(self) -> bool:
        """Whether it has seen an event."""
        return self.evaluations.first_event is not None

    def process(self, progress: Progress) -> ChangeBatch:
        """What the last batch changed, as far as it is to be told now."""
        if self._idle:
            self.now = progress.upto
            return self._decoded(_nothing(len(self.operator.variables))[1])
        before = self._report.pending.rows.ravel()
        begun = self._begin(progress.first) if self._is_first(progress) else []
        if isinstance(self._report, EventReport):
            self._report.settle(begun)
            begun = []
        if self._reads_now:
            self._volatile.evaluated.put(partial(self.evaluations.instants, progress))
        deltas = Deltas.concatenate([*begun, self.operator.process()])
        self._volatile.evaluated.clear()
        told = self._report.tell(deltas, progress)
        if self._reads_now:  # what was computed from the time of an evaluation may be another with the next
            told.until[:] = FOREVER
        self.holder.hold(self._report.pending.rows.ravel(), before)
        self.now = progress.upto
        self._last = deltas, told
        batch = self._decoded(told)
        self.reported += len(batch)
        self._publish(batch)
        return batch

    def derived(self) -> DerivedTriples:
        """What the last batch adds to the stream that a CONSTRUCT query makes."""
        deltas, told = self._last
        net = self._report.net if isinstance(self._report, ChangeReport) else told
        return derived_triples(self.query, deltas, net, told)

    def _is_first(self, progress: Progress) -> bool:
        return not self.began and len(progress.events) > 0

    def _begin(self, at: int) -> list[Deltas]:
        """What holds before any event, told with the first one.

        A join must know it before it sees that event's batch, or it would find partners at `at` that
        come later in the batch.
        """
        begun = []
        if self._begun is not None:  # it came first: what `initial` tells may take some of it back
            self._begun.at[:] = at
            begun.append(self._begun)
            self.holder.hold(_NO_TERMS, self._begun.rows.ravel())
            self._begun = None
        return [*begun, self.operator.initial(at)]

    def state(self) -> QueryState:
        """What `resume` needs."""
        report = self._report
        width = report.pending.rows.shape[1]
        state = QueryState(
            first_event=self.evaluations.first_event,
            done=self.evaluations.done,
            now=self.now,
            reported=self.reported,
            pending=report.pending,
            answer=Deltas.empty(width),
            evaluated=[now.time for now in self._volatile.now],
            drawn=[drawn.kept() for drawn in self._volatile.drawn],
        )
        if isinstance(report, AnswerReport):
            state.answer = report.answer()
        elif isinstance(self.operator, Implicit):
            state.answer = self.operator.current(self.now)
        if isinstance(report, AskReport):
            state.count, state.last = report.value
        return state

    def resume(self, state: QueryState) -> None:
        """Go on from a saved state; the logs of the windows say that all they hold has just entered.

        The operators take that as their input, and what follows from it has been told before.
        """
        for drawn, kept in zip(self._volatile.drawn, state.drawn, strict=True):
            drawn.resume(kept)
        for now, time in zip(self._volatile.now, state.evaluated, strict=True):
            if time is not None:
                now.resume(time)
        if state.first_event is not None:
            begun = self._begin(NO_END)
            if isinstance(self._report, EventReport):
                self._report.settle(begun)
        self.operator.process()
        self.evaluations.resume(state.first_event, state.done)
        self.now, self.reported = state.now, state.reported
        report = self._report
        report.pending = state.pending
        self.holder.hold(state.pending.rows.ravel(), _NO_TERMS)
        if isinstance(self.operator, Implicit):
            self.operator.resume(_rows_after(state.answer, state.pending))
        if isinstance(report, AnswerReport):
            report.resume(state.answer)
        elif isinstance(report, AskReport):
            report.resume(state.count, state.last)

    def _decoded(self, told: Told) -> ChangeBatch:
        paths: PathColumns | None = None
        also = np.zeros(0, np.int32)
        if self._witnesses is not None:
            paths, also = self._witnesses.of(told)
        terms, codes = _with_texts(np.append(told.rows.ravel(), also), self._dictionary)
        if paths is not None and len(also):
            of_ids = codes[-len(also) :]
            paths = replace(
                paths, ends=of_ids[np.searchsorted(also, paths.ends)], edges=of_ids[np.searchsorted(also, paths.edges)]
            )
        codes = codes[: told.rows.size].reshape(told.rows.shape)
        variables = () if self.query.form is Form.ASK else self.operator.variables
        return ChangeBatch(
            self.name, self.query.form, variables, told.at, told.op, told.until, codes, terms, told.boolean, paths
        )

    def snapshot(self) -> Snapshot:
        """The answer over what the windows hold now."""
        found = self.operator.current(self.now)
        terms, codes = _with_texts(found.rows, self._dictionary)
        at = Instant(self.now) if self.now != NO_END else Instant(0)
        return Snapshot(at, self.operator.variables, codes, terms, found.until)

    async def changes(self) -> AsyncIterator[Change]:
        """The changes from now on, as they come; ends when the query is removed."""
        waiting: asyncio.Queue[Change | None] = asyncio.Queue()
        listener = (asyncio.get_running_loop(), waiting)
        self._listeners.append(listener)
        try:
            while not self.removed or not waiting.empty():
                change = await waiting.get()
                if change is None:
                    return
                yield change
        finally:
            self._listeners.remove(listener)

    def _publish(self, batch: ChangeBatch) -> None:
        if self._listeners and len(batch):
            for change in batch:
                self._send(change)

    def _send(self, change: Change | None) -> None:
        for loop, waiting in self._listeners:
            loop.call_soon_threadsafe(waiting.put_nowait, change)

    def remove(self) -> None:
        """Unregister; other queries go on."""
        if not self.removed:
            self.removed = True
            self.holder.release()
            self._on_remove(self)
            self._send(None)

    def explain(self) -> str:
        """The logical and the physical plan as text, and between them what the planner has made of the logical one."""
        plans = {"logical plan": explain(self.logical)}
        if self.choice is not None and self.choice.best.node != self.logical:
            plans["rewritten plan"] = explain(self.choice.best.node)
        plans["physical plan"] = explain_physical(self.physical)
        return "\n".join(f"{name}\n{_indented(plan)}" for name, plan in plans.items())

    @property
    def nbytes(self) -> int:
        """Bytes of operator state, views not included."""
        return self.operator.nbytes

    @property
    def counters(self) -> dict[str, int]:
        """What the top operator has counted."""
        return self.operator.counters


def _rows_after(answer: Deltas, pending: Deltas) -> NDArray[np.int32]:
    """The set of rows of an answer after what an evaluation has not seen yet."""
    rows = dict.fromkeys(map(tuple, answer.rows.tolist()))
    for sign, row in zip(pending.sign.tolist(), map(tuple, pending.rows.tolist()), strict=True):
        if sign > 0:
            rows[row] = None
        else:
            rows.pop(row, None)
    return np.array(list(rows), np.int32).reshape(len(rows), answer.rows.shape[1])


def _nothing(width: int) -> tuple[Deltas, Told]:
    deltas = Deltas.empty(width)
    return deltas, Told(deltas.at, deltas.sign, deltas.until, deltas.rows)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def demand(query: ContinuousQuery, plan: PhysicalPlan) -> Demand:
    """What the report needs: rows that expire unless only new rows are told and none can come twice.

    Where each event is matched by itself, nobody asks for what leaves after it.
    """
    if query.by_event:
        return Demand(removals=False, extensions=False)
    immediate = query.report.policy is Policy.ON_CONTENT_CHANGE and query.output is not OutputOperator.RSTREAM
    only_new = immediate and query.output is OutputOperator.ISTREAM and query.form is Form.SELECT
    # whoever reads the stream of a CONSTRUCT query is told when its triples come to last longer
    extensions = not immediate or makes_stream(query)
    until_told = not immediate and query.output is not OutputOperator.RSTREAM
    return Demand(removals=not (only_new and plan.keyed), extensions=extensions, until_told=until_told)


def _with_texts(rows: NDArray[np.int32], dictionary: Dictionary) -> tuple[list[str], NDArray[np.int32]]:
    """(texts, rows as positions in them); an unbound value is -1."""
    if rows.size == 0:
        return [], np.zeros(rows.shape, np.int32)
    largest = int(rows.max())
    if largest < 8 * rows.size:  # a mark for every id is cheaper than sorting those that there are
        marks = np.zeros(largest + 1, np.bool_)
        marks[rows] = True
        ids = np.flatnonzero(marks).astype(np.int32)
        codes: NDArray[np.int32] = (np.cumsum(marks, dtype=np.int32) - 1)[rows]
    else:
        ids, positions = np.unique(rows, return_inverse=True)
        codes = positions.reshape(rows.shape).astype(np.int32)
    if ids[0] == 0:
        return dictionary.texts(ids[1:]), codes - 1
    return dictionary.texts(ids), codes
