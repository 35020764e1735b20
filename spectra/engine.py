"""The engine: queries in, events in, changes out, in one process."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import Node, event_sources
from spectra.algebra.nodes import Source as GraphSource
from spectra.arrival import arrival_order, event_name, merged
from spectra.background import StaticGraph
from spectra.changes import Change, ChangeBatch
from spectra.clock import FOREVER, TimeLike, milliseconds
from spectra.continuous import Query
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.hashing import hash_text
from spectra.errors import QueryError, ResourceError, UnsupportedError
from spectra.planner.division import sees_everything
from spectra.planner.pattern_choice import PatternChoice
from spectra.planner.physical import physical_plan, wanted_triples
from spectra.planner.plans import PathChoice, PhysicalPlan, sources
from spectra.planner.statistics import NO_EDGES, LabelStatistics, Statistics, measured
from spectra.planning import Planning
from spectra.position import Position
from spectra.reorder import EncodedEvents
from spectra.sparql import parse_query
from spectra.sparql.composed import in_order, makes_stream, producers_of
from spectra.sparql.query import ContinuousQuery, Option, WindowKind
from spectra.sparql.rspql import DEFAULT_NAME
from spectra.sparql.syntax import QuadPattern
from spectra.static import read_static
from spectra.streams.contract import EventSource
from spectra.streams.distinct import pruned
from spectra.streams.memory import from_triples
from spectra.streams.quarantine import Quarantine
from spectra.timeline import ANY_STREAM, Timeline
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

if TYPE_CHECKING:
    import pyarrow


class Engine:
    """Registers continuous queries and feeds them events.

    Parameters
    ----------
    state_limit : int, optional
        Most bytes that views and operators may take together; `ResourceError` beyond. Before that, paths are followed
        by the operator that keeps least, `landmark`.
    pattern : {"auto", "tpjoin", "siblings", "recompute"}
        The operator that matches basic graph patterns: the one that suits each, or one for all.
    lazy : bool
        Join nothing until every triple pattern of a basic graph pattern has a triple. It never changes an answer.
    path : {"auto", "spath", "rapq", "columns", "condense", "landmark"}
        The operator that follows paths, where they may repeat vertices: the one that suits each, or one for all.
    deleting : bool or collection of str
        Whether triples are deleted, or the streams of which some are. It need not be said: paths are followed by
        another operator once a triple has been deleted. It never changes an answer.
    path_budget : int, optional
        Most states that simple paths may take at one instant; `ResourceError` beyond.
    cores : int
        How many cores follow a path between two variables, each from a part of the start vertices.
    statistics : mapping, optional
        What is known of the streams, as `statistics()["labels"]` gives it: plans are chosen by their cost.
    adaptive : bool
        Let another plan take over when what the windows hold differs from what a plan was made for. It never changes
        an answer.
    measure : bool
        Let every operator note how long it takes, for EXPLAIN ANALYZE.
    """

    def __init__(
        self,
        *,
        state_limit: int | None = None,
        pattern: PatternChoice = "auto",
        lazy: bool = True,
        path: PathChoice = "auto",
        deleting: bool | Collection[str] = False,
        path_budget: int | None = None,
        cores: int = 1,
        statistics: Statistics | None = None,
        adaptive: bool = True,
        measure: bool = False,
    ) -> None:
        for kind, name, choices in (("pattern", pattern, PatternChoice), ("path", path, PathChoice)):
            if name not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise QueryError(f"there is no {kind} operator {name!r}", hint=f"Choose one of {known}.")
        self._path_budget = path_budget
        if cores < 1:
            raise QueryError(f"cores must be 1 or more, not {cores}")
        self._cores = cores
        self._measure = measure
        self.planning = Planning(
            pattern=pattern,
            path=path,
            lazy=lazy,
            adaptive=adaptive,
            known=dict(statistics or {}),
            deleting=deleting if isinstance(deleting, bool) else set(deleting),
        )
        self.dictionary = Dictionary()
        self.quarantine = Quarantine()
        self.events = 0
        # how many events of each stream there were, which is what events without a name are called after
        self.arrived: dict[str, int] = {}
        self._state_limit = state_limit
        self._timelines: dict[int, Timeline] = {}
        self._queries: dict[str, Query] = {}
        self._summaries: dict[str, Summary] = {}

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
        shard: tuple[int, int] | None = None,
        plan: PhysicalPlan | None = None,
    ) -> Query:
        """Register a query; it sees the events that come from now on.

        `range` and `step` make a plain SPARQL query continuous. `static` gives the triples (or a file)
        of static graphs by IRI; other FROM clauses name files relative to `folder`. `source` names the
        text in errors. `shard` is (number, of how many): of that many engines that get the same events each
        tells a part of the changes, together what one engine tells (see `spectra.planner.division`). `plan` is
        evaluated instead of the one that the planner would choose; that it is one of the query is not checked.
        """
        if isinstance(text, ContinuousQuery):
            query = text
        else:
            query = parse_query(text, range=range, step=step, name=name, source=source)
            if query.name == DEFAULT_NAME:
                query = replace(query, name=self._free_name())
        if query.forbidden is not None:
            raise query.forbidden
        self._check_names(query)
        if shard is not None and query.options & {Option.PATHS, Option.SHORTEST_PATHS}:
            raise UnsupportedError("WITH PATHS is not told by shards", place=query.places.get("PATHS"))
        if shard is not None and producers_of(query, [other.query for other in self.queries]):
            raise UnsupportedError("a shard has only a part of another query's output", place=query.windows[0].place)
        logical = from_sparql(query)
        self._check_graphs(query, logical)
        choice = None
        if plan is None and shard is None:
            choice = self.planning.chosen(query, logical, self.label_statistics() if self.events else {})
        if choice is not None:
            physical, idle = choice.best.estimate.plan, False
        else:
            physical, idle = self.planning.planned(query, physical_plan(logical) if plan is None else plan, shard)
        graphs = _static_graphs(query, physical)
        parts = {
            graph: {iri: self._static_ids(graph.summary, iri, static or {}, Path(folder)) for iri in graph.iris}
            for graph in graphs.values()
        }
        fixed = {
            window.name: [
                self._static_ids(_usable(physical, GraphSource(window.name)), iri, static or {}, Path(folder))
                for iri in query.static
            ]
            for window in query.windows
            if window.spec.with_static
        }
        timeline = self._timeline(query)
        states = {window.name: timeline.window(window.stream, window.spec, self.events) for window in query.windows}
        views = {GraphSource(name): state.views for name, state in states.items()}
        views |= {source: graph.views for source, graph in graphs.items()}
        for source_ in sources(physical):
            if source_.events:
                views[source_] = states[source_.name].open_graphs(self.dictionary).views
        registered = Query(
            query,
            logical,
            physical,
            views,
            self.dictionary,
            self._remove,
            choice=choice,
            static=tuple(graphs.values()),
            idle=idle,
            path_budget=self._path_budget,
            cores=self._cores,
            measure=self._measure,
        )
        registered.adapts = plan is None and shard is None
        self.planning.begin(registered)
        for window_name, state in states.items():
            for source_ in (GraphSource(window_name), GraphSource(window_name, events=True)):
                patterns, everything = wanted_triples(physical, source_)
                state.want(registered, patterns, everything or (sees_everything(query) and not idle))
            if GraphSource(window_name, events=True) in views:
                state.graph_readers.append(registered)
            if state not in timeline.windows:
                timeline.windows.append(state)
        for window_name, triples in fixed.items():
            states[window_name].fix(np.unique(np.concatenate(triples), axis=0), self.dictionary)
        registered.put_static(parts, None)
        for window_name in fixed:
            states[window_name].views.vacuum()
        self.dictionary.reclaim()
        timeline.add(registered)
        self._queries[query.name] = registered
        self._summaries.clear()
        return registered

    def _free_name(self) -> str:
        """A name for a plain query that is not taken."""
        number = 1
        while (candidate := f"urn:spectra:query:{number}") in self._queries:
            number += 1
        return candidate

    def _check_names(self, query: ContinuousQuery) -> None:
        if query.name in self._queries:
            raise QueryError(
                f"a query named <{query.name}> is registered already",
                place=query.places.get("REGISTER"),
                hint="Remove it first, or choose another name.",
            )
        if in_order([query, *(other.query for other in self.queries)]) is None:
            raise QueryError(
                f"<{query.name}> reads its own output, directly or through other queries",
                place=next((window.place for window in query.windows), None),
                hint="Let a window read another stream.",
            )
        everyone = [query, *(other.query for other in self.queries)]
        made = {each.name for each in everyone if makes_stream(each)}
        quads = {each.name for each in everyone if any(isinstance(part, QuadPattern) for part in each.template)}
        for window in (window for each in everyone for window in each.windows):
            if window.stream in quads:
                raise UnsupportedError(
                    f"a window on <{window.stream}>, whose template names graphs, is not evaluated yet",
                    place=window.place,
                    hint="A stream has triples: leave GRAPH out of the template of the query that is read.",
                )
            if window.spec.kind is WindowKind.EVENT and window.stream in made:
                raise UnsupportedError(
                    f"a window [EVENT] on <{window.stream}>, the output of a query, is not evaluated yet",
                    place=window.place,
                )

    def _check_graphs(self, query: ContinuousQuery, logical: Node) -> None:
        """The events of a stream that a query makes have no names."""
        everyone = [(query, logical), *((other.query, other.logical) for other in self.queries)]
        made = {each.name for each, _ in everyone if makes_stream(each)}
        for each, node in everyone:
            names = {source.name for source in event_sources(node)}
            for window in each.windows:
                if window.name in names and window.stream in made:
                    raise UnsupportedError(
                        f"GRAPH in a window on <{window.stream}>, the output of a query, is not evaluated yet",
                        place=each.places.get("GRAPH", window.place),
                    )

    def _timeline(self, query: ContinuousQuery) -> Timeline:
        """The timeline of a query: that of the queries whose output it reads, or else of its lateness."""
        registered = [other.query for other in self.queries]
        made = [other.name for other in producers_of(query, registered)]
        readers = [other.name for other in registered if producers_of(other, [query])]
        timelines = [t for t in self._timelines.values() if any(q.name in (*made, *readers) for q in t.queries)]
        stated = {window.spec.lateness for window in query.windows if window.stream not in made}
        lateness = max(stated, default=timelines[0].reorder.lateness if timelines else 0)
        if any(timeline.reorder.lateness != lateness for timeline in timelines):
            others = ", ".join(f"<{name}>" for name in (*made, *readers))
            raise QueryError(
                f"<{query.name}> and {others}, of which one reads the output of the other, differ in LATENESS",
                place=query.windows[0].place,
                hint="Give their windows the same LATENESS, and register the query that is read first.",
            )
        return self._timelines.setdefault(lateness, Timeline(lateness, self.dictionary, self._after_portion))

    def _static_ids(self, summary: Summary, iri: str, given: Mapping[str, Any], folder: Path) -> NDArray[np.int32]:
        """What a summary keeps of the static triples of an IRI, as ids that nobody holds yet."""
        batches = read_static(iri, folder, given, summary)
        ids = [self.dictionary.encode(each.text, each.start, each.length, each.tag, each.hashes) for each in batches]
        return np.concatenate([np.zeros((0, 3), np.int32), *ids])

    def update_static(self, iri: str, triples: str | Path | Iterable[Any]) -> list[Change]:
        """Replace the triples of a static graph of FROM or FROM NAMED; the changes this causes at the present time.

        `triples` are a file, or triples as `push` takes them. All queries that name the graph go on with the new ones;
        what the graph had before and has now is not touched. An evaluation follows at once for queries that report
        ON_CONTENT_CHANGE or NON_EMPTY_CONTENT; others see the new triples at their next one.
        """
        given = {iri: triples if isinstance(triples, (str, Path)) else list(triples)}
        known = {query.name: (*query.query.static, *query.query.static_named) for query in self.queries}
        if not any(iri in graphs for graphs in known.values()):
            listed = ", ".join(sorted({f"<{graph}>" for graphs in known.values() for graph in graphs}))
            hint = f"They read {listed}." if listed else None
            raise QueryError(f"no query reads the static graph <{iri}>", hint=hint)
        for query in self.queries:
            for window in query.query.windows:
                if window.spec.with_static and iri in query.query.static:
                    raise UnsupportedError(
                        f"the static graph <{iri}> is part of the window <{window.name}>, and is not replaced yet",
                        place=window.place,
                        hint="Leave out WITH STATIC, and match static triples outside WINDOW.",
                    )
        parts = {
            query: {
                graph: {iri: self._static_ids(graph.summary, iri, given, Path())}
                for graph in query.static
                if iri in graph.iris
            }
            for query in self.queries
            if iri in known[query.name]
        }
        # a term that one timeline gives back may be among those that another has yet to take
        ids = [
            triples.ravel() for graphs in parts.values() for of_iri in graphs.values() for triples in of_iri.values()
        ]
        held = np.concatenate([np.zeros(0, np.int32), *ids])
        self.dictionary.retain(held)
        told = [batch for timeline in self._timelines.values() for batch in timeline.put_static(parts)]
        self.dictionary.release(held)
        self.dictionary.reclaim()
        return list(_in_order(told))

    def _remove(self, query: Query) -> None:
        del self._queries[query.name]
        self._summaries.clear()
        for timeline in self._timelines.values():
            if query in timeline.queries:
                timeline.remove(query)
        self.dictionary.reclaim()

    def summary(self, stream: str) -> Summary:
        """Which triples of a stream some registered query can use."""
        if stream not in self._summaries:
            self._summaries[stream] = self._summarised(stream)
        return self._summaries[stream]

    def _summarised(self, stream: str) -> Summary:
        readers = [s for timeline in self._timelines.values() for s in timeline.windows if s.reads(stream)]
        for state in readers:
            state.alone = state.alone and len(readers) == 1
        wanted = {triples.by(hash_text) for state in readers for triples in state.wanted}
        everything = any(state.everything for state in readers)
        return Summary(wanted, keep_all=everything)

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams that registered queries read and none of them makes; "" is whatever stream there is."""
        made = {query.name for query in self.queries if makes_stream(query.query)}
        read = dict.fromkeys(state.stream for timeline in self._timelines.values() for state in timeline.windows)
        return tuple(stream for stream in read if stream not in made)

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
        `stream` may be left out where the queries read only one; `graph` names the event's graph. An event older
        than the watermark is late: it is counted and changes nothing.
        """
        batch = from_triples(self.the_stream(stream), milliseconds(at), triples, deleted, graph)
        return list(_in_order(self.offer([batch], complete=True)))

    def advance(self, time: TimeLike) -> list[Change]:
        """Let time pass: what expired and what closed."""
        return list(_in_order(self.pass_time(milliseconds(time))))

    def run(
        self,
        *inputs: EventSource | Iterable[EventBatch | None],
        drain: bool = True,
        position: Position | None = None,
        **options: Any,
    ) -> Run:
        """Read sources to their end; iterate over the changes, or take them as batches or Arrow.

        With `drain`, time then goes on until every window that holds content has closed. `position` keeps
        count of what was taken, and leaves out what was taken before. Options go to `Source.batches`:
        `validate`, `follow`, `idle`, `between`.
        """
        return Run(self, inputs, drain, position, options)

    def the_stream(self, stream: str | None) -> str:
        """The given stream, or the only one that the queries read."""
        if stream is not None:
            return stream
        known = [name for name in self.streams if name != ANY_STREAM]
        if len(known) > 1:
            listed = ", ".join(f"<{name}>" for name in known)
            raise QueryError("which stream is this event of?", hint=f"Pass stream=…, one of {listed}.")
        return known[0] if known else ANY_STREAM

    def offer(self, batches: list[EventBatch], *, complete: bool) -> list[ChangeBatch]:
        """Take events in the order of their arrival (one batch per stream), and tell what they changed.

        With `complete`, the instant of the latest event is over; otherwise it waits for a later event.
        """
        times, owner = arrival_order(batches)
        encoded = [(batch, self._encoded(batch)) for batch in batches]
        deleting = [batch.stream for batch, events in encoded if events.sign.min(initial=1) < 0]
        self.planning.expect_deletions(self.queries, deleting)
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            late = timeline.reorder.late(times)
            for at, (batch, events) in enumerate(encoded):
                accepted = events
                if late.any():
                    of_batch = late[owner == at]
                    self._set_late_aside(timeline, batch, of_batch)
                    accepted = events.take(np.flatnonzero(~of_batch))
                if len(accepted):
                    self.dictionary.retain(accepted.terms)
                    timeline.reorder.add(batch.stream, accepted)
        # only now: a term that one timeline gives back may be in events that another had yet to take
        for timeline in self._timelines.values():
            limit = timeline.reorder.watermark if complete else timeline.reorder.watermark - 1
            told += timeline.process(limit, limit if complete else None)
        self.dictionary.reclaim()
        return told

    def _encoded(self, batch: EventBatch) -> EncodedEvents:
        """The events as ids, without the triples that no query can use."""
        batch = pruned(batch, self.summary(batch.stream))
        triples = self.dictionary.encode(batch.text, batch.start, batch.length, batch.tag, batch.hashes)
        arrival = self.events + np.arange(batch.events)
        self.events += batch.events
        first = self.arrived.get(batch.stream, 0)
        self.arrived[batch.stream] = first + batch.events
        graph = np.zeros(batch.events, np.int32)
        if self._reads_graphs(batch.stream):
            given = batch.event_graph or [""] * batch.events
            names = [name or event_name(batch.stream, number) for number, name in enumerate(given, first)]
            graph = self.dictionary.add_all(names)
        return EncodedEvents(triples, batch.sign, batch.event_first, batch.event_time, batch.event_size, arrival, graph)

    def _reads_graphs(self, stream: str) -> bool:
        """Whether some query asks for the names of a stream's events."""
        return any(s.graphs is not None and s.reads(stream) for t in self._timelines.values() for s in t.windows)

    def _set_late_aside(self, timeline: Timeline, batch: EventBatch, late: NDArray[np.bool_]) -> None:
        for event in np.flatnonzero(late).tolist():
            timeline.late += 1
            file, line = batch.event_place[event] if batch.event_place else (batch.stream or "push", 0)
            self.quarantine.add(file, line, "late", f"event at {batch.event_time[event]} ms")

    def flush(self) -> list[ChangeBatch]:
        """Treat what has come so far as complete: the instants up to the watermark, that one included."""
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            told += timeline.process(timeline.reorder.watermark, None)
        return told

    def finish(self) -> list[ChangeBatch]:
        """End of input without letting time go on: apply what waits."""
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            told += timeline.process(FOREVER, None)
        return told

    def drain(self) -> list[ChangeBatch]:
        """End of input: apply what waits, then let time go on until every window has closed."""
        told = self.finish()
        for timeline in self._timelines.values():
            told += timeline.drain()
        return told

    def pass_time(self, time: int) -> list[ChangeBatch]:
        """Let time pass to `time`, in milliseconds, as `advance` does; the changes as columns."""
        told: list[ChangeBatch] = []
        for timeline in self._timelines.values():
            timeline.reorder.greatest = max(timeline.reorder.greatest, time)
            limit = timeline.reorder.watermark
            told += timeline.process(limit, limit)
        return told

    # --- checkpoints --------------------------------------------------------------------------

    @property
    def timelines(self) -> tuple[Timeline, ...]:
        """The timelines in the order in which queries opened them."""
        return tuple(self._timelines.values())

    # --- what it takes ------------------------------------------------------------------------

    def _after_portion(self, triples: int) -> None:
        windows = [state for timeline in self.timelines for state in timeline.windows]
        self.planning.review(self.queries, [state.stream for state in windows if state.views.deleted])
        self.planning.adapt(self.queries, triples, sum(state.views.live for state in windows), self.label_statistics)
        self._check_limit()

    def _check_limit(self) -> None:
        if self._state_limit is not None and self.nbytes > self._state_limit:
            self.planning.spare_memory(self.queries)
        if self._state_limit is not None and self.nbytes > self._state_limit:
            raise ResourceError(
                f"views and operators take {self.nbytes:,} bytes, more than the limit of {self._state_limit:,}",
                hint="Raise the limit, narrow the windows, or make the query more selective.",
            )

    @property
    def seconds(self) -> float:
        """How much application time has passed since the first event."""
        first = [query.evaluations.first_event for query in self.queries if query.began]
        now = [query.now for query in self.queries if query.began]
        return (max(now) - min(time for time in first if time is not None)) / 1000 if first else 0.0

    @property
    def late(self) -> int:
        """How many events came too late."""
        return sum(timeline.late for timeline in self._timelines.values())

    @property
    def nbytes(self) -> int:
        """Bytes of views and operator state."""
        views = sum(state.nbytes for t in self._timelines.values() for state in t.windows)
        views += sum(graph.nbytes for query in self.queries for graph in query.static)
        return views + sum(query.nbytes for query in self._queries.values())

    def label_statistics(self) -> dict[str, dict[str, LabelStatistics]]:
        """What the windows and static graphs hold now, by stream or static graph and predicate.

        Of several windows on a stream the fullest counts.
        """
        found: dict[str, dict[str, LabelStatistics]] = {}
        for timeline in self._timelines.values():
            for state in sorted(timeline.windows, key=lambda each: each.views.live):
                wanted = {triples.terms[1]: NO_EDGES for triples in state.wanted if triples.terms[1] is not None}
                seen = measured(state.views, timeline.reorder.greatest, self.dictionary.canonical_texts)
                found[state.stream] = wanted | seen
        for query in self.queries:
            for graph in query.static:
                of_graph = measured(graph.views, 0, self.dictionary.canonical_texts)
                found.update((iri, of_graph) for iri in graph.iris)
        return found

    def statistics(self) -> dict[str, Any]:
        """Events seen, late events, triples held in windows and in static graphs, sizes of dictionary and state.

        `labels` has, for each stream and predicate, edges per second (`rate`), seconds that one is valid (`validity`),
        edges, distinct subjects and objects in the window, and edges per subject and object (`fan_out`, `fan_in`).
        """
        labels = self.label_statistics()
        return {
            "events": self.events,
            "late": self.late,
            "triples": sum(state.views.live for t in self._timelines.values() for state in t.windows),
            "static": sum(graph.views.live for query in self.queries for graph in query.static),
            "dictionary": self.dictionary.statistics(),
            "state_bytes": self.nbytes,
            "labels": {
                stream: {label: figures.shown() for label, figures in of_stream.items()}
                for stream, of_stream in labels.items()
            },
        }


class Run:
    """Sources on their way through an engine; iterate once."""

    def __init__(
        self,
        engine: Engine,
        inputs: tuple[EventSource | Iterable[EventBatch | None], ...],
        drain: bool,
        position: Position | None,
        options: dict[str, Any],
    ) -> None:
        self._engine = engine
        self._inputs = inputs
        self._drain = drain
        self._position = position
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

    def portions(self) -> Generator[list[ChangeBatch], None, None]:
        """The changes of each portion of the input."""
        engine = self._engine
        iterators = [self._open(source) for source in self._inputs]
        arriving: Iterable[list[EventBatch] | None] = (
            ([batch] if batch is not None else None for batch in iterators[0])
            if len(iterators) == 1
            else merged(iterators)
        )
        for batches in arriving:
            told = engine.flush() if batches is None else engine.offer(batches, complete=False)
            if self._position is not None and batches is not None:
                self._position.took(batches)
            yield told
        yield engine.drain() if self._drain else engine.finish()

    def _open(self, source: EventSource | Iterable[EventBatch | None]) -> Iterator[EventBatch | None]:
        position = self._position
        if not isinstance(source, EventSource):
            return iter(source) if position is None else position.rest(source)
        engine = self._engine
        stream = source.stream or engine.the_stream(None)
        quarantine = engine.quarantine if position is None else position.quarantine(stream, engine.quarantine)
        batches = source.batches(engine.summary(stream), quarantine, **self._options)
        of_stream = (_of_stream(batch, stream) for batch in batches)
        return of_stream if position is None else position.rest(of_stream, stream)


def _of_stream(batch: EventBatch | None, stream: str) -> EventBatch | None:
    if batch is not None:
        batch.stream = stream
    return batch


def _in_order(told: list[ChangeBatch]) -> Iterator[Change]:
    """The changes of all queries, instant by instant."""
    of_query: dict[str, list[ChangeBatch]] = {}
    for batch in told:
        of_query.setdefault(batch.query, []).append(batch)
    each = [(change for batch in batches for change in batch) for batches in of_query.values()]
    return heapq.merge(*each, key=lambda change: change.at.milliseconds)


def _static_graphs(query: ContinuousQuery, physical: PhysicalPlan) -> dict[GraphSource, StaticGraph]:
    """The static graphs that a plan reads, without triples yet."""
    graphs = {}
    for source in sorted(sources(physical), key=lambda source: source.name):
        if source.static:
            iris = query.static if source.name == "" else (source.name,)
            graphs[source] = StaticGraph(iris, _usable(physical, source))
    return graphs


def _usable(physical: PhysicalPlan, source: GraphSource) -> Summary:
    """Which triples of a graph a plan can use."""
    patterns, everything = wanted_triples(physical, source)
    return Summary({triples.by(hash_text) for triples in patterns}, keep_all=everything)
