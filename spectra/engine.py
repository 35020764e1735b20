"""The engine: queries in, events in, changes out, in one process."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import Source as GraphSource
from spectra.changes import Change, ChangeBatch
from spectra.clock import FOREVER, NO_END, TimeLike, milliseconds
from spectra.continuous import Query
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.hashing import hash_text
from spectra.errors import QueryError, ResourceError
from spectra.planner.physical import physical_plan, sources, wanted_triples
from spectra.reorder import EncodedEvents, Reorder
from spectra.report import Progress
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy, Window, WindowKind, WindowSpec
from spectra.static import load_static
from spectra.streams.memory import from_triples
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import Source
from spectra.views.batch import EventBatch
from spectra.views.kernels.apply import EXPIRED
from spectra.views.summary import Summary
from spectra.views.view import WindowViews

if TYPE_CHECKING:
    import pyarrow

_Wanted = set[tuple[str | None, ...]]

#: How many triples go through views and operators at once: enough to make a call cheap, not more than
#: the window holds (rows that went stay linked until the portion is done) or than caches like.
_LEAST_PORTION, _MOST_PORTION = 4096, 16384


@dataclass(slots=True)
class _WindowState:
    """The views of one window, shared by the queries that were registered before its first event."""

    stream: str
    spec: WindowSpec
    views: WindowViews
    wanted: _Wanted = field(default_factory=set)
    everything: bool = False
    queries: list[Query] = field(default_factory=list)
    events: int = 0
    summary: Summary | None = None
    closes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def apply(self, events: EncodedEvents, horizon: int, dictionary: Dictionary) -> None:
        """Apply the events of a batch and let time pass to `horizon`."""
        spec = self.spec
        if self.summary is None:
            patterns = [tuple(None if t is None else dictionary.constant(t) for t in row) for row in self.wanted]
            self.summary = Summary(patterns, keep_all=self.everything)  # type: ignore[arg-type]
        count = len(events)
        triples, sign, first = events.triples, events.sign, events.event_first
        if not self.summary.keep_all and len(sign):
            usable = self.summary.usable(triples)
            if not usable.all():
                first = np.concatenate(([0], np.cumsum(usable)))[first]
                triples, sign = triples[usable], sign[usable]
        if spec.kind is WindowKind.COUNT:
            position = self.events + np.arange(count)
            end = position // spec.step * spec.step + spec.range
            reached = position + 1
            self.closes = np.unique(events.event_time[(reached - spec.range) % spec.step == 0])
        else:
            position = events.event_time
            end = spec.t0 + (position - spec.t0) // spec.step * spec.step + spec.range
        self.events += count
        self.views.apply(triples, sign, first, events.event_time, position, end, horizon)
        dictionary.retain(self.views.entered_terms())


class _Timeline:
    """Windows and queries that share one watermark."""

    def __init__(self, lateness: int) -> None:
        self.reorder = Reorder(lateness)
        self.windows: list[_WindowState] = []
        self.queries: list[Query] = []
        self.late = 0


class Engine:
    """Registers continuous queries and feeds them events.

    Parameters
    ----------
    state_limit : int, optional
        Most bytes that views and operators may take together; `ResourceError` beyond.
    """

    def __init__(self, *, state_limit: int | None = None) -> None:
        self.dictionary = Dictionary()
        self._state_limit = state_limit
        self._timelines: dict[int, _Timeline] = {}
        self._queries: dict[str, Query] = {}
        self.quarantine = Quarantine()
        self.events = 0

    # --- queries ------------------------------------------------------------------------------

    @property
    def queries(self) -> tuple[Query, ...]:
        """The registered queries."""
        return tuple(self._queries.values())

    def register(
        self,
        text: str | ContinuousQuery,
        *,
        range: str | int | None = None,  # noqa: A002 - the word of the query language
        step: str | int | None = None,
        name: str | None = None,
        static: Mapping[str, Any] | None = None,
        folder: str | Path = ".",
        source: str | None = None,
    ) -> Query:
        """Register a query; it sees the events that come from now on.

        `range` and `step` make a plain SPARQL query continuous. `static` gives the triples (or a file)
        of static graphs by IRI; other FROM clauses name files relative to `folder`. `source` names the
        text in errors.
        """
        if isinstance(text, ContinuousQuery):
            query = text
        else:
            query = parse_query(text, range=range, step=step, name=self._free_name(name, text), source=source)
        if query.name in self._queries:
            raise QueryError(
                f"a query named <{query.name}> is registered already", hint="Remove it first, or choose another name."
            )
        for window in query.windows:
            other = self._queries.get(window.stream)
            if other is not None and other.query.form is Form.CONSTRUCT:
                raise _not_composed(window)
        for other in self._queries.values():
            if query.form is Form.CONSTRUCT and query.name in other.streams:
                raise _not_composed(next(w for w in other.query.windows if w.stream == query.name))
        logical = from_sparql(query)
        physical = physical_plan(logical)
        timeline = self._timelines.setdefault(*_lateness(query))
        views: dict[GraphSource, WindowViews] = {}
        states: list[_WindowState] = []
        for window in query.windows:
            state = self._window(timeline, window)
            states.append(state)
            views[GraphSource(window.name)] = state.views
        for graph in sources(physical):
            if graph.static:
                views[graph] = WindowViews()
        registered = Query(query, logical, physical, views, self.dictionary, self._remove)
        for window, state in zip(query.windows, states, strict=True):
            patterns, everything = wanted_triples(physical, GraphSource(window.name))
            state.wanted |= patterns
            state.everything = state.everything or everything or _sees_everything(query)
            state.queries.append(registered)
            if state not in timeline.windows:
                timeline.windows.append(state)
        self._load_static(query, registered, views, static or {}, Path(folder))
        timeline.queries.append(registered)
        self._queries[query.name] = registered
        return registered

    def _free_name(self, name: str | None, text: str) -> str | None:
        """A name for a plain query: the given one, or one that is not taken."""
        if name is not None:
            return name
        number = 1
        while (candidate := f"urn:spectra:query:{number}") in self._queries:
            number += 1
        return candidate

    def _window(self, timeline: _Timeline, window: Window) -> _WindowState:
        """The shared state of a window that has seen nothing yet, or a new one."""
        spec = window.spec
        for state in timeline.windows:
            same = (state.spec.kind, state.spec.range, state.spec.step, state.spec.t0) == (
                spec.kind,
                spec.range,
                spec.step,
                spec.t0,
            )
            if same and state.stream == window.stream and state.events == 0:
                return state
        return _WindowState(window.stream, spec, WindowViews(counting=spec.kind is WindowKind.COUNT))

    def _load_static(
        self,
        query: ContinuousQuery,
        registered: Query,
        views: dict[GraphSource, WindowViews],
        given: Mapping[str, Any],
        folder: Path,
    ) -> None:
        """Read, prune and keep the static graphs that the query uses."""
        loaded = False
        for graph, graph_views in views.items():
            if not graph.static:
                continue
            names = query.static if graph.name == "" else (graph.name,)
            triples = {triple for iri in names for triple in load_static(iri, folder, given)}
            patterns, everything = wanted_triples(registered.physical, graph)
            kept = [
                triple
                for triple in sorted(triples)
                if everything
                or any(all(w is None or w == t for w, t in zip(row, triple, strict=True)) for row in patterns)
            ]
            ids = np.array([[self.dictionary.add(term) for term in triple] for triple in kept], np.int32)
            graph_views.apply(
                ids.reshape(-1, 3),
                np.ones(len(kept), np.int8),
                np.array([0, len(kept)], np.int64),
                np.zeros(1, np.int64),
                np.zeros(1, np.int64),
                np.full(1, FOREVER, np.int64),
                0,
            )
            self.dictionary.retain(graph_views.entered_terms())
            loaded = True
        if loaded:
            registered.load_static()
            for graph, graph_views in views.items():
                if graph.static:
                    graph_views.vacuum()
            self.dictionary.reclaim()

    def _remove(self, query: Query) -> None:
        del self._queries[query.name]
        for timeline in self._timelines.values():
            if query not in timeline.queries:
                continue
            timeline.queries.remove(query)
            for state in list(timeline.windows):
                if query in state.queries:
                    state.queries.remove(query)
                if not state.queries:
                    timeline.windows.remove(state)
                    rows = state.views.rows()
                    columns = state.views.columns
                    for column in (columns.subject, columns.predicate, columns.object):
                        self.dictionary.release(column[rows])
        self.dictionary.reclaim()

    def summary(self, stream: str) -> Summary:
        """Which triples of a stream some registered query can use."""
        wanted: set[tuple[int | None, ...]] = set()
        everything = False
        for timeline in self._timelines.values():
            for state in timeline.windows:
                if state.stream == stream:
                    everything = everything or state.everything
                    wanted |= {tuple(None if t is None else hash_text(t) for t in row) for row in state.wanted}
        return Summary(wanted, keep_all=everything)  # type: ignore[arg-type]

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that registered queries read."""
        return tuple(dict.fromkeys(s.stream for t in self._timelines.values() for s in t.windows))

    # --- events -------------------------------------------------------------------------------

    def push(
        self,
        triples: str | Iterable[Any] = (),
        *,
        at: TimeLike,
        deleted: str | Iterable[Any] = (),
        stream: str | None = None,
        graph: object = "",
    ) -> list[Change]:
        """Apply one event and evaluate at once; the changes it caused, those of time passing included.

        Triples are tuples of rdflib or pyoxigraph terms or N-Triples texts, or N-Triples text.
        `stream` may be left out where the queries read only one. An event older than the watermark is
        late: it is counted and changes nothing.
        """
        batch = from_triples(self._stream(stream), milliseconds(at), triples, deleted, graph)
        return list(_in_order(self.offer([batch], complete=True)))

    def advance(self, time: TimeLike) -> list[Change]:
        """Let time pass: what expired and what closed."""
        return list(_in_order(self._pass_time(milliseconds(time))))

    def run(self, *inputs: Source | Iterable[EventBatch | None], drain: bool = True, **options: Any) -> Run:
        """Read sources to their end; iterate over the changes, or take them as batches or Arrow.

        With `drain`, time then goes on until every window that holds content has closed. Options go to
        `Source.batches`: `validate`, `follow`, `idle`.
        """
        return Run(self, inputs, drain, options)

    def _stream(self, stream: str | None) -> str:
        if stream is not None:
            return stream
        known = self.streams
        if len(known) > 1:
            listed = ", ".join(f"<{name}>" for name in known)
            raise QueryError("which stream is this event of?", hint=f"Pass stream=…, one of {listed}.")
        return known[0] if known else ""

    def offer(self, batches: list[EventBatch], *, complete: bool) -> list[ChangeBatch]:
        """Take events in the order of their arrival (one batch per stream), and tell what they changed.

        With `complete`, the instant of the latest event is over; otherwise it waits for a later event.
        """
        order = _arrival(batches)
        encoded = [(batch, self._encoded(batch)) for batch in batches]
        self.events += sum(batch.events for batch in batches)
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            late = timeline.reorder.late(order.times)
            for at, (batch, events) in enumerate(encoded):
                accepted = events
                if late.any():
                    of_batch = late[order.batch == at]
                    self._set_late_aside(timeline, batch, of_batch)
                    accepted = events.take(np.flatnonzero(~of_batch))
                if len(accepted):
                    self.dictionary.retain(accepted.triples.ravel())
                    timeline.reorder.add(batch.stream, accepted)
            limit = timeline.reorder.watermark if complete else timeline.reorder.watermark - 1
            told += self._process(timeline, limit, limit if complete else None)
        self.dictionary.reclaim()
        return told

    def _encoded(self, batch: EventBatch) -> EncodedEvents:
        """The events as ids, without the triples that no query can use."""
        summary = self.summary(batch.stream)
        first, sign = batch.event_first, batch.sign
        start, length, tag, hashes = batch.start, batch.length, batch.tag, batch.hashes
        if not summary.keep_all and len(sign):
            usable = summary.usable(hashes)
            if not usable.all():
                first = np.concatenate(([0], np.cumsum(usable)))[first]
                sign, start, length = sign[usable], start[usable], length[usable]
                tag, hashes = tag[usable], hashes[usable]
        triples = self.dictionary.encode(batch.text, start, length, tag, hashes)
        return EncodedEvents(triples, sign, first, batch.event_time)

    def _set_late_aside(self, timeline: _Timeline, batch: EventBatch, late: NDArray[np.bool_]) -> None:
        for event in np.flatnonzero(late).tolist():
            timeline.late += 1
            file, line = batch.event_place[event] if batch.event_place else (batch.stream or "push", 0)
            self.quarantine.add(file, line, "late", f"event at {batch.event_time[event]} ms")

    def flush(self) -> list[ChangeBatch]:
        """Treat what has come so far as complete: the instants up to the watermark, that one included."""
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            told += self._process(timeline, timeline.reorder.watermark, None)
        self.dictionary.reclaim()
        return told

    def drain(self) -> list[ChangeBatch]:
        """End of input: apply what waits, then let time go on until every window has closed."""
        told = self.finish()
        for timeline in self._timelines.values():
            ends = [s.views.latest_end for s in timeline.windows if s.spec.kind is WindowKind.TIME]
            last = max((end for end in ends if end < FOREVER), default=NO_END)
            if last == NO_END:
                continue
            for query in timeline.queries:
                if query.query.report.policy is Policy.PERIODIC:
                    origin, period = query.query.windows[0].spec.t0, query.query.report.period or 1
                    last = max(last, origin - (origin - last) // period * period)
            timeline.reorder.greatest = max(timeline.reorder.greatest, last + timeline.reorder.lateness)
            told += self._process(timeline, last, last)
        self.dictionary.reclaim()
        return told

    def finish(self) -> list[ChangeBatch]:
        """End of input without letting time go on: apply what waits."""
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            told += self._process(timeline, FOREVER, None)
        self.dictionary.reclaim()
        return told

    def _pass_time(self, time: int) -> list[ChangeBatch]:
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            timeline.reorder.greatest = max(timeline.reorder.greatest, time)
            limit = timeline.reorder.watermark
            told += self._process(timeline, limit, limit)
        self.dictionary.reclaim()
        return told

    def _process(self, timeline: _Timeline, limit: int, upto: int | None) -> list[ChangeBatch]:
        """Apply the waiting events with times up to `limit`, then let time pass to `upto` (if given)."""
        released = timeline.reorder.release(limit)
        told: list[ChangeBatch] = []
        live = max((state.views.live for state in timeline.windows), default=0)
        for events, last in _portions(released, min(max(live, _LEAST_PORTION), _MOST_PORTION)):
            told += self._apply(timeline, events, last)
        for events in released.values():
            self.dictionary.release(events.triples.ravel())
        if upto is not None and upto != NO_END:
            told += self._apply(timeline, {}, upto)
        return told

    def _apply(self, timeline: _Timeline, events: dict[str, EncodedEvents], upto: int) -> list[ChangeBatch]:
        """One portion of events through views, operators and reports."""
        nothing = EncodedEvents.none()
        for state in timeline.windows:
            state.apply(events.get(state.stream, nothing), upto, self.dictionary)
        told = []
        for query in timeline.queries:
            batch = query.process(self._progress(timeline, query, events, upto))
            if len(batch):
                told.append(batch)
        for state in timeline.windows:
            self.dictionary.release(state.views.vacuum())
        self.dictionary.reclaim()
        if self._state_limit is not None and self.nbytes > self._state_limit:
            raise ResourceError(
                f"views and operators take {self.nbytes:,} bytes, more than the limit of {self._state_limit:,}",
                hint="Raise the limit, narrow the windows, or make the query more selective.",
            )
        return told

    def _progress(
        self, timeline: _Timeline, query: Query, events: dict[str, EncodedEvents], upto: int
    ) -> Progress:
        """What happened to the windows of one query."""
        empty = np.zeros(0, np.int64)
        states = [state for state in timeline.windows if query in state.queries]
        times = [part.event_time for stream, part in events.items() if stream in query.streams]
        expiries = [s.views.log.at[s.views.log.kind == EXPIRED] for s in states if s.spec.kind is WindowKind.TIME]
        held_at, held = empty, empty
        if query.query.report.policy is Policy.NON_EMPTY_CONTENT:
            held_at, held = _held(states)
        return Progress(
            upto=upto,
            events=np.unique(np.concatenate([empty, *times])),
            expiries=np.unique(np.concatenate([empty, *expiries])),
            count_closes=np.unique(np.concatenate([empty, *(state.closes for state in states)])),
            held_at=held_at,
            held=held,
        )

    @property
    def late(self) -> int:
        """How many events came too late."""
        return sum(timeline.late for timeline in self._timelines.values())

    @property
    def nbytes(self) -> int:
        """Bytes of views and operator state."""
        views = sum(state.views.nbytes for t in self._timelines.values() for state in t.windows)
        return views + sum(query.nbytes for query in self._queries.values())

    def statistics(self) -> dict[str, Any]:
        """Events seen, late events, triples held, sizes of the dictionary and of the state."""
        return {
            "events": self.events,
            "late": self.late,
            "triples": sum(state.views.live for t in self._timelines.values() for state in t.windows),
            "dictionary": self.dictionary.statistics(),
            "state_bytes": self.nbytes,
        }


class Run:
    """Sources on their way through an engine; iterate once."""

    def __init__(
        self, engine: Engine, inputs: tuple[Source | Iterable[EventBatch | None], ...], drain: bool, options: dict[str, Any]
    ) -> None:
        self._engine = engine
        self._inputs = inputs
        self._drain = drain
        self._options = options

    def __iter__(self) -> Iterator[Change]:
        for told in self.portions():
            yield from _in_order(told)

    def batches(self) -> Iterator[ChangeBatch]:
        """The changes as columns: a batch per query and portion of the input."""
        for told in self.portions():
            yield from told

    def to_arrow(self) -> pyarrow.Table:
        """All changes as one table."""
        import pyarrow as pa

        tables = [batch.to_arrow() for batch in self.batches()]
        return pa.concat_tables(tables, promote_options="default") if tables else pa.table({})

    def portions(self) -> Iterator[list[ChangeBatch]]:
        """The changes of each portion of the input, one batch per query."""
        engine = self._engine
        for batches in self._arriving():
            if batches is None:
                yield engine.flush()
            else:
                yield engine.offer(batches, complete=False)
        yield engine.drain() if self._drain else engine.finish()

    def _arriving(self) -> Iterator[list[EventBatch] | None]:
        """Batches in the order of arrival: of several streams, what comes up to the same time."""
        iterators = [self._open(source) for source in self._inputs]
        if len(iterators) == 1:
            for batch in iterators[0]:
                yield None if batch is None else [batch]
            return
        yield from _merged(iterators)

    def _open(self, source: Source | Iterable[EventBatch | None]) -> Iterator[EventBatch | None]:
        if not isinstance(source, Source):
            return iter(source)
        engine = self._engine
        stream = source.stream or engine._stream(None)
        batches = source.batches(engine.summary(stream), engine.quarantine, **self._options)
        return (_renamed(batch, stream) for batch in batches)


def _renamed(batch: EventBatch | None, stream: str) -> EventBatch | None:
    if batch is not None:
        batch.stream = stream
    return batch


def _merged(iterators: list[Iterator[EventBatch | None]]) -> Iterator[list[EventBatch] | None]:
    """Several streams as one arrival: each keeps its own order, and none runs ahead of the others."""
    waiting: list[EventBatch | None] = [None] * len(iterators)
    open_ = set(range(len(iterators)))
    idle: set[int] = set()
    while open_ or any(waiting):
        for at in sorted(open_ - idle):
            if waiting[at] is None:
                try:
                    waiting[at] = next(iterators[at])
                except StopIteration:
                    open_.discard(at)
                    continue
                if waiting[at] is None:
                    idle.add(at)
        held = [at for at, batch in enumerate(waiting) if batch is not None]
        if not held:
            if open_:
                yield None
                idle.clear()
            continue
        # up to here every stream that is not at its end, or idle, has been read
        reached = min(int(waiting[at].event_time.max()) for at in held)  # type: ignore[union-attr]
        portion = []
        for at in held:
            batch = waiting[at]
            assert batch is not None
            ready = int(np.searchsorted(np.maximum.accumulate(batch.event_time), reached, side="right"))
            if ready:
                portion.append(_events(batch, 0, ready))
            waiting[at] = _events(batch, ready, batch.events) if ready < batch.events else None
        idle.clear()
        yield portion


def _events(batch: EventBatch, first: int, last: int) -> EventBatch:
    """Consecutive events of a batch."""
    if first == 0 and last == batch.events:
        return batch
    rows = slice(batch.event_first[first], batch.event_first[last])
    return EventBatch(
        batch.stream,
        batch.text,
        batch.start[rows],
        batch.length[rows],
        batch.tag[rows],
        batch.hashes[rows],
        batch.sign[rows],
        batch.event_time[first:last],
        batch.event_first[first : last + 1] - batch.event_first[first],
        batch.event_size[first:last],
        batch.event_graph[first:last],
        batch.event_place[first:last],
    )


@dataclass(slots=True)
class _Arrival:
    times: NDArray[np.int64]
    batch: NDArray[np.int64]


def _arrival(batches: list[EventBatch]) -> _Arrival:
    """Times of all events in the order of their arrival, and the batch of each.

    Each stream keeps its order; between streams the one that is behind comes first.
    """
    times = np.concatenate([np.zeros(0, np.int64), *(batch.event_time for batch in batches)])
    owner = np.repeat(np.arange(len(batches)), [batch.events for batch in batches])
    if len(batches) > 1:
        reached = np.concatenate([np.maximum.accumulate(batch.event_time) for batch in batches])
        order = np.argsort(reached, kind="stable")
        times, owner = times[order], owner[order]
    return _Arrival(times, owner)


def _portions(released: dict[str, EncodedEvents], budget: int) -> Iterator[tuple[dict[str, EncodedEvents], int]]:
    """Whole instants, together about `budget` triples: (events by stream, last instant).

    Removed rows stay linked until the portion is done, so a portion should not outgrow the window.
    """
    if not released:
        return
    times = np.concatenate([events.event_time for events in released.values()])
    sizes = np.concatenate([np.diff(events.event_first) + 1 for events in released.values()])
    order = np.argsort(times, kind="stable")
    times, total = times[order], np.cumsum(sizes[order])
    done = dict.fromkeys(released, 0)
    start = 0
    while start < len(times):
        before = total[start - 1] if start else 0
        last = times[max(start, int(np.searchsorted(total, before + budget)) - 1)] if total[-1] - before > budget else times[-1]
        start = int(np.searchsorted(times, last, side="right"))
        portion = {}
        for stream, events in released.items():
            upto = int(np.searchsorted(events.event_time, last, side="right"))
            if upto > done[stream]:
                portion[stream] = events.slice(done[stream], upto)
                done[stream] = upto
        yield portion, int(last)


def _held(states: list[_WindowState]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many triples the windows held together, after each change of the last batch."""
    at = np.concatenate([state.views.log.at for state in states])
    change = np.sign(np.concatenate([state.views.log.kind for state in states])).astype(np.int64)
    order = np.argsort(at, kind="stable")
    now = sum(state.views.live for state in states)
    steps = np.cumsum(change[order])
    before = now - (int(steps[-1]) if len(steps) else 0)
    return np.concatenate(([NO_END], at[order])), np.concatenate(([before], before + steps))


def _in_order(told: list[ChangeBatch]) -> Iterator[Change]:
    """The changes of all queries, instant by instant."""
    if len(told) == 1:
        return iter(told[0])
    return heapq.merge(*told, key=lambda change: change.at.milliseconds)


def _lateness(query: ContinuousQuery) -> tuple[int, _Timeline]:
    lateness = max(window.spec.lateness for window in query.windows)
    return lateness, _Timeline(lateness)


def _sees_everything(query: ContinuousQuery) -> bool:
    """Whether it shows when a triple comes or goes that no pattern matches: then nothing may be dropped."""
    policy = query.report.policy
    return policy is Policy.NON_EMPTY_CONTENT or (
        policy is Policy.ON_CONTENT_CHANGE and query.output is OutputOperator.RSTREAM
    )


def _not_composed(window: Window) -> QueryError:
    from spectra.errors import UnsupportedError

    return UnsupportedError(  # type: ignore[return-value]
        f"a window on <{window.stream}>, the output of another query, is not evaluated yet", place=window.place
    )
