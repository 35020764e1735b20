"""Windows and queries that share one watermark: portions of events through views, operators and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spectra.changes import ChangeBatch
from spectra.clock import FOREVER, NO_END
from spectra.composition import DerivedTriples
from spectra.continuous import Query, StaticParts
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.spans import Spans
from spectra.event_graphs import EventGraphs, NamedEvents
from spectra.operators.coalesce import ENTER
from spectra.operators.relational.stateless import distinct_rows
from spectra.reorder import EncodedEvents, Reorder
from spectra.report import Progress
from spectra.sparql.composed import in_order, makes_stream
from spectra.sparql.query import Policy, WindowKind, WindowSpec
from spectra.views.kernels.apply import ENTERED, EXPIRED, PROLONG
from spectra.views.summary import Summary, Wanted
from spectra.views.view import Log, WindowViews

#: How many triples go through views and operators at once: enough to make a call cheap, not more than a
#: part of what the window holds (rows that went stay linked until the portion is done) or than caches like.
_LEAST_PORTION, _MOST_PORTION = 4096, 16384

#: Reads whatever stream there is: the window of plain SPARQL.
ANY_STREAM = ""


@dataclass(slots=True)
class WindowState:
    """The views of one window, shared by the queries that were registered with nothing in between.

    `since` is how many events the engine had taken when the window was opened; it sees later ones.
    """

    stream: str
    spec: WindowSpec
    since: int
    views: WindowViews
    # the graphs of its events, where queries read them by name
    graphs: EventGraphs | None = None
    graph_readers: list[Query] = field(default_factory=list)
    wanted: Wanted[str] = field(default_factory=set)
    everything: bool = False
    # no other window reads the stream, so that what arrives has passed all the tests of this one
    alone: bool = True
    queries: list[Query] = field(default_factory=list)
    events: int = 0
    # triples of the static graph that are part of this window for ever, and those of them that events hold as well:
    # they change no answer and are content all the same
    fixed: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    repeated: WindowViews | None = None
    # the latest end of content that was dropped because no query can use it
    unused_end: int = NO_END
    # of the last portion: times of the events, and of those with which a count window closed; where each event is
    # matched by itself, the instants that the events have for the operators
    event_time: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    instants: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    closes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _summary: Summary | None = None

    def reads(self, stream: str) -> bool:
        return self.stream in (stream, ANY_STREAM)

    def want(self, query: Query, patterns: Wanted[str], everything: bool) -> None:
        """Keep what one more query can use."""
        self.wanted |= patterns
        self.everything = self.everything or everything
        if query not in self.queries:
            self.queries.append(query)
        self._summary = None

    def open_graphs(self, dictionary: Dictionary) -> EventGraphs:
        """Keep the graphs of its events apart as well."""
        if self.graphs is None:
            self.graphs = EventGraphs(dictionary, counting=self.spec.kind is WindowKind.COUNT)
        return self.graphs

    def apply_each(self, events: EncodedEvents, order: ArrivalOrder, dictionary: Dictionary) -> None:
        """Apply the events of a portion one by one: each enters at its own instant and is gone at the next."""
        events = events.arrived_since(self.since)
        instants = order.instants(events.arrival)
        if (instants[1:] < instants[:-1]).any():
            by_instant = np.argsort(instants)
            events, instants = events.take(by_instant), instants[by_instant]
        self.event_time, self.instants = events.event_time, instants
        self.events += len(events)
        self._put(events, instants, instants, instants + 1, order.end, dictionary)

    def apply(self, events: EncodedEvents, horizon: int, dictionary: Dictionary) -> None:
        """Apply the events of a portion and let time pass to `horizon`."""
        events = events.arrived_since(self.since)
        self.event_time = events.event_time
        self._apply(events, None, horizon, dictionary)

    def apply_derived(self, derived: DerivedTriples, horizon: int, dictionary: Dictionary) -> int:
        """Apply what a query adds to its stream, and let time pass to `horizon`; when the last of it is over.

        The instants at which triples enter or leave its answer are the events of the stream.
        """
        self.alone = False  # no scanner has tested anything
        told = derived.take(derived.change < PROLONG)
        self.event_time = _instants([told.at])
        if self.spec.kind is not WindowKind.TIME:
            # an end is a number of events here: what leaves is deleted
            self._apply(_events(told, self.event_time), None, horizon, dictionary)
            return int(self.event_time[-1]) if len(told) else NO_END
        # what leaves when its derivation ends expires by itself
        derived = derived.take((derived.change > 0) | (derived.until > derived.at))
        end = np.minimum(self._end(self._arrivals(derived)), derived.until)
        self._apply(_events(derived, derived.at), end, horizon, dictionary)
        # of a triple that leaves again only that counts
        _, triple = distinct_rows(derived.triples)
        last = np.zeros(triple.max(initial=-1) + 1, np.int64)
        last[triple] = np.arange(len(derived))
        staying = last[derived.change[last] > 0]
        return int(max(self.event_time.max(initial=NO_END), end[staying].max(initial=NO_END)))

    def _arrivals(self, derived: DerivedTriples) -> NDArray[np.int64]:
        """When each triple entered: where it only gets another end, that was before, in this portion or earlier."""
        arrived: NDArray[np.int64] = derived.at.copy()
        if not (derived.change >= PROLONG).any():
            return arrived
        _, triple = distinct_rows(derived.triples)
        order = np.lexsort((np.arange(len(derived)), triple))
        change, triple = derived.change[order], triple[order]
        entered = np.maximum.accumulate(np.where(change == ENTER, np.arange(len(order)), 0))
        here = (change[entered] == ENTER) & (triple[entered] == triple)
        longer = change >= PROLONG
        arrived[order[longer & here]] = derived.at[order[entered[longer & here]]]
        earlier = order[longer & ~here]
        arrived[earlier] = self.views.arrival_times(derived.triples[earlier])
        return arrived

    def _end(self, time: NDArray[np.int64]) -> NDArray[np.int64]:
        """The exclusive end of validity of what arrives at these times."""
        spec = self.spec
        end: NDArray[np.int64] = spec.t0 + (time - spec.t0) // spec.step * spec.step + spec.range
        return end

    def _apply(
        self, events: EncodedEvents, end: NDArray[np.int64] | None, horizon: int, dictionary: Dictionary
    ) -> None:
        """Apply events; `end` is that of the validity of each one's triples, None for what the window says."""
        spec = self.spec
        position = events.event_time
        if spec.kind is WindowKind.COUNT:
            position = self.events + np.arange(len(events))
            end = position // spec.step * spec.step + spec.range
            self.closes = np.unique(events.event_time[(position + 1 - spec.range) % spec.step == 0])
        elif end is None:
            end = self._end(position)
        first = self._put(events, events.event_time, position, end, horizon, dictionary)
        self.events += len(events)
        unused = end[events.event_size > np.diff(first)]
        if len(unused):
            self.unused_end = max(self.unused_end, int(unused.max()))

    def _put_named(
        self,
        events: EncodedEvents,
        triples: NDArray[np.int32],
        sign: NDArray[np.int8],
        first: NDArray[np.int64],
        at: NDArray[np.int64],
        end: NDArray[np.int64],
        horizon: int,
    ) -> None:
        """Let the graphs of events see them."""
        assert self.graphs is not None
        number = self.events if self.spec.kind is WindowKind.COUNT else None
        named = NamedEvents(triples, sign, first, at, end, events.event_time, events.graph, number)
        self.graphs.apply(named, horizon)

    def _put(
        self,
        events: EncodedEvents,
        at: NDArray[np.int64],
        position: NDArray[np.int64],
        end: NDArray[np.int64],
        horizon: int,
        dictionary: Dictionary,
    ) -> NDArray[np.int64]:
        """Put into the views what is usable of the events; where in that each event begins."""
        usable = self._usable(events, dictionary)
        if self.graphs is not None:
            self._put_named(events, *_operations(events, usable), at, end, horizon)
        if self.repeated is not None:  # what is static is there in any case: no event adds or deletes it
            fixed = _among(events.triples, self.fixed)
            self.repeated.apply(*_operations(events, usable & fixed), at, position, end, horizon)
            usable &= ~fixed
        triples, sign, first = _operations(events, usable)
        self.views.apply(triples, sign, first, at, position, end, horizon)
        dictionary.retain(self.views.entered_terms())
        return first

    def _usable(self, events: EncodedEvents, dictionary: Dictionary) -> NDArray[np.bool_]:
        """Which triples are not only for other windows of the stream."""
        if self._summary is None:
            wanted = {triples.by(dictionary.constant) for triples in self.wanted}
            self._summary = Summary(wanted, keep_all=self.everything)
        usable = self._summary.usable(events.triples)
        if not self.alone:
            usable[usable] = self._passing(events.triples[usable], dictionary)
        return usable

    def _passing(self, triples: NDArray[np.int32], dictionary: Dictionary) -> NDArray[np.bool_]:
        """Which of the triples pass the filters of this window's own queries."""

        def terms(rows: NDArray[np.int64], place: int) -> tuple[NDArray[np.int64], Spans]:
            ids, numbers = np.unique(triples[rows, place], return_inverse=True)
            return numbers, dictionary.spans(ids)

        assert self._summary is not None
        passing = self._summary.passing(triples, terms)
        return np.ones(len(triples), np.bool_) if passing is None else passing

    def fix(self, triples: NDArray[np.int32], dictionary: Dictionary) -> None:
        """Hold static triples for ever."""
        self.fixed = triples
        self.repeated = self.views.like() if len(triples) else None
        self.views.fill_static(triples)
        dictionary.retain(self.views.entered_terms())

    def fill(
        self,
        triples: NDArray[np.int32],
        valid_from: NDArray[np.int64],
        valid_to: NDArray[np.int64],
        dictionary: Dictionary,
    ) -> None:
        """Hold the rows of a saved window."""
        fixed = np.zeros(len(triples), np.bool_)
        if self.repeated is not None:
            fixed = _among(triples, self.fixed)
            self.repeated.fill(triples[fixed], valid_from[fixed], valid_to[fixed])
        self.views.fill(triples[~fixed], valid_from[~fixed], valid_to[~fixed])
        dictionary.retain(self.views.entered_terms())

    def content(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """What events have put into the window, as `fill` takes it."""
        parts = []
        for views in self._all_views:
            rows, columns = views.rows(), views.columns
            rows = rows[columns.valid_to[rows] < FOREVER]  # what is static is there again with the query
            triples = np.column_stack((columns.subject[rows], columns.predicate[rows], columns.object[rows]))
            parts.append((triples, columns.valid_from[rows], columns.valid_to[rows]))
        triples, valid_from, valid_to = map(np.concatenate, zip(*parts, strict=True))
        return triples, valid_from, valid_to

    @property
    def _all_views(self) -> list[WindowViews]:
        return [self.views] if self.repeated is None else [self.views, self.repeated]

    @property
    def logs(self) -> list[Log]:
        """What the last portion changed in the content."""
        return [views.log for views in self._all_views]

    @property
    def held(self) -> int:
        """How many triples events have put into the window."""
        return sum(views.live for views in self._all_views) - len(self.fixed)

    @property
    def last_end(self) -> int:
        """When the last content of a time window is over, `NO_END` if there is none."""
        if self.spec.kind is not WindowKind.TIME:
            return NO_END
        named = NO_END if self.graphs is None else self.graphs.latest_end
        return max(self.unused_end, named, *(views.latest_end for views in self._all_views))

    def held_terms(self) -> NDArray[np.int32]:
        """The terms of all triples in the views, three for each, and the names of graphs."""
        rows, columns = self.views.rows(), self.views.columns
        names = np.zeros(0, np.int32) if self.graphs is None else self.graphs.held_terms()
        return np.concatenate([columns.subject[rows], columns.predicate[rows], columns.object[rows], names])

    def vacuum(self) -> NDArray[np.int32]:
        """Forget the last portion; the terms of the triples that went, three for each."""
        if self.graphs is not None:
            self.graphs.vacuum()
        if self.repeated is not None:
            self.repeated.vacuum()
        return self.views.vacuum()

    @property
    def nbytes(self) -> int:
        return self.views.nbytes + (0 if self.graphs is None else self.graphs.nbytes)


def _among(triples: NDArray[np.int32], others: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which of the triples are among others."""
    whole = np.dtype((np.void, 3 * triples.itemsize))
    held, wanted = (np.ascontiguousarray(each).view(whole).ravel() for each in (triples, others))
    return np.isin(held, wanted)


def _operations(
    events: EncodedEvents, which: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]:
    """Triples, signs and where each event begins, of some of the triples."""
    if which.all():
        return events.triples, events.sign, events.event_first
    return events.triples[which], events.sign[which], np.append(0, np.cumsum(which))[events.event_first]


class ArrivalOrder:
    """The instants that the events of a portion have for the operators where each is matched by itself.

    Event number `i` in the order of time, then of arrival, has the instant ``first + 2·i``; at the instant
    after it the window is empty again. Times would not do: two events may have the same.
    """

    def __init__(self, events: Iterable[EncodedEvents], first: int) -> None:
        parts = [EncodedEvents.none(), *events]
        arrival = np.concatenate([part.arrival for part in parts])
        order = np.lexsort((arrival, np.concatenate([part.event_time for part in parts])))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        by_arrival = np.argsort(arrival)
        self._arrival = arrival[by_arrival]
        self._instant = first + 2 * rank[by_arrival]
        self.end = first + 2 * len(order)

    def instants(self, arrival: NDArray[np.int64]) -> NDArray[np.int64]:
        """The instants of the events with these numbers of arrival."""
        return self._instant[np.searchsorted(self._arrival, arrival)]


class Timeline:
    """The windows and queries of one lateness."""

    def __init__(self, lateness: int, dictionary: Dictionary, after_portion: Callable[[int], None]) -> None:
        """`after_portion` is called after every portion of so many triples, between two batches, and may raise."""
        self.reorder = Reorder(lateness)
        self.windows: list[WindowState] = []
        self.queries: list[Query] = []
        self.late = 0
        self._dictionary = dictionary
        self._after_portion = after_portion
        self._next_instant = 0

    def window(self, stream: str, spec: WindowSpec, since: int) -> WindowState:
        """A window that has seen nothing yet: one that is there already, or a new one.

        What has static triples of a query in it is of that query alone.
        """
        for state in self.windows:
            if spec.with_static or state.spec.with_static:
                continue
            same = (state.spec.kind, state.spec.range, state.spec.step, state.spec.t0) == (
                spec.kind,
                spec.range,
                spec.step,
                spec.t0,
            )
            if same and state.stream == stream and state.since == since:
                return state
        made = any(query.name == stream and makes_stream(query.query) for query in self.queries)
        return WindowState(stream, spec, since, WindowViews(counting=spec.kind is WindowKind.COUNT, any_order=made))

    def add(self, query: Query) -> None:
        """Take a query, after those whose output it reads and before those that read its own."""
        self.queries.append(query)
        names = [other.name for other in in_order(each.query for each in self.queries) or ()]
        self.queries.sort(key=lambda each: names.index(each.name))

    def remove(self, query: Query) -> None:
        """Forget a query, and the windows that no other query reads."""
        self.queries.remove(query)
        for state in list(self.windows):
            if query in state.queries:
                state.queries.remove(query)
                state.graph_readers = [reader for reader in state.graph_readers if reader is not query]
                if not state.graph_readers and state.graphs is not None:
                    self._dictionary.release(state.graphs.held_terms())
                    state.graphs = None
                if not state.queries:
                    self.windows.remove(state)
                    self._dictionary.release(state.held_terms())

    def process(self, limit: int, upto: int | None) -> Iterator[ChangeBatch]:
        """Apply the waiting events with times up to `limit`, then let time pass to `upto` (if given)."""
        released = self.reorder.release(limit)
        live = max((state.views.live for state in self.windows), default=0)
        budget = min(max(live // 8, _LEAST_PORTION), _MOST_PORTION)
        for state in self.windows:
            if state.graphs is not None and released:
                waiting = _events_for(state, released)
                budget = min(budget, state.graphs.portion(waiting.graph, np.diff(waiting.event_first)))
        reached = NO_END
        for events, last in _portions(released, budget):
            yield from self._apply(events, last)
            reached = last
        for events_of_stream in released.values():
            self._dictionary.release(events_of_stream.terms)
        self._dictionary.reclaim()
        if upto is not None and upto not in (NO_END, reached):
            yield from self._apply({}, upto)

    def _apply(
        self, events: dict[str, EncodedEvents], upto: int, horizons: dict[str, int] | None = None
    ) -> Iterator[ChangeBatch]:
        """One portion of events through views, operators and reports; `horizons` are where queries stop earlier."""
        read = {state.stream for state in self.windows}
        made = {query.name for query in self.queries if makes_stream(query.query)}
        order = ArrivalOrder(events.values(), self._next_instant)
        self._next_instant = order.end
        for state in self.windows:
            if state.spec.kind is WindowKind.EVENT:
                state.apply_each(_events_for(state, events), order, self._dictionary)
            elif state.stream not in made:
                state.apply(_events_for(state, events), upto, self._dictionary)
        for query in self.queries:
            reached = upto if horizons is None else max(query.now, min(upto, horizons[query.name]))
            batch = query.process(self._progress(query, reached))
            if query.name in made & read:
                self._add_to_stream(query, upto, horizons)
            if len(batch):
                yield batch
        self._forget_portion(sum(len(each.triples) for each in events.values()))

    def _forget_portion(self, triples: int = 0) -> None:
        """Give back the rows and the terms of what went."""
        for state in self.windows:
            self._dictionary.release(state.vacuum())
        self._dictionary.reclaim()
        self._after_portion(triples)

    def _add_to_stream(self, query: Query, upto: int, horizons: dict[str, int] | None) -> None:
        """Let the windows on the output of a query see what it has just told."""
        derived = query.derived()
        for state in self.windows:
            if state.stream == query.name:
                last = state.apply_derived(derived, upto, self._dictionary)
                if horizons is not None and last != NO_END:
                    for reader in state.queries:
                        horizons[reader.name] = max(horizons[reader.name], _reported(reader, last))

    def _progress(self, query: Query, upto: int) -> Progress:
        """What happened to the windows of one query."""
        empty = np.zeros(0, np.int64)
        states = [state for state in self.windows if query in state.queries]
        if query.query.by_event:
            instants, events = _each_event(states, filled=query.query.report.policy is Policy.NON_EMPTY_CONTENT)
            return Progress(upto, events, empty, empty, empty, empty, instants)
        logs = [log for state in states if state.spec.kind is WindowKind.TIME for log in state.logs]
        # what another event has too expires only in a graph
        graphs = [state.graphs for state in states if query in state.graph_readers]
        named = [each.views.versions.at for each in graphs if each is not None]
        held_at, held = empty, empty
        if query.query.report.policy is Policy.NON_EMPTY_CONTENT:
            held_at, held = _held(states)
        return Progress(
            upto=upto,
            events=_instants([state.event_time for state in states]),
            expiries=_instants([*(log.at[log.kind == EXPIRED] for log in logs), *named]),
            count_closes=_instants([state.closes for state in states]),
            held_at=held_at,
            held=held,
            instants=empty,
        )

    def put_static(self, parts: Mapping[Query, StaticParts]) -> Iterator[ChangeBatch]:
        """Put triples into static graphs of queries; what that changes at the present time.

        It changes the answers of other queries where they read the output of these.
        """
        for state in self.windows:
            state.event_time = state.instants = state.closes = np.zeros(0, np.int64)
        fed: set[str] = set()
        for query in self.queries:
            if query not in parts and not fed & query.streams:
                continue
            progress = self._progress(query, query.now)
            if query.began and query in parts:
                progress.events = np.union1d(progress.events, [query.now])
            evaluated = len(progress.events) > 0 and not query.query.by_event
            if query in parts:
                batch = query.put_static(parts[query], progress if evaluated else None)
            else:
                batch = query.process(progress)
            if evaluated and makes_stream(query.query):
                self._add_to_stream(query, query.now, None)
                fed.add(query.name)
            if len(batch):
                yield batch
        self._forget_portion()

    def drain(self) -> Iterator[ChangeBatch]:
        """Let time go on, for each query until its last content has expired and been reported.

        What expires may let triples enter the output of a query, which its readers then hold for longer.
        """
        horizons = {query.name: self._horizon(query) for query in self.queries}
        for query in self.queries:
            if query.query.report.policy is Policy.PERIODIC and self.reorder.greatest != NO_END:
                last = max(horizons[query.name], self.reorder.greatest)
                horizons[query.name] = _reported(query, last)
        while (last := max(horizons.values(), default=NO_END)) != NO_END:
            self.reorder.greatest = max(self.reorder.greatest, last + self.reorder.lateness)
            yield from self._apply({}, last, horizons)
            for query in self.queries:
                horizon = max(horizons[query.name], self._horizon(query))
                horizons[query.name] = horizon if horizon > query.now else NO_END

    def _horizon(self, query: Query) -> int:
        """When the last content of a query's windows is over and reported, `NO_END` if there is none."""
        last = max((state.last_end for state in self.windows if query in state.queries), default=NO_END)
        return last if last == NO_END else _reported(query, last)


def _reported(query: Query, last: int) -> int:
    """When what happens at an instant has been reported: at once, or with the next period."""
    if query.query.report.policy is not Policy.PERIODIC:
        return last
    origin, period = query.query.windows[0].spec.t0, query.query.report.period or 1
    return origin - (origin - last) // period * period


def _events_for(state: WindowState, events: dict[str, EncodedEvents]) -> EncodedEvents:
    """The events that a window reads."""
    if state.stream != ANY_STREAM:
        return events.get(state.stream, EncodedEvents.none())
    merged = EncodedEvents.none()
    for part in events.values():
        merged = merged.followed_by(part)
    return merged.in_time_order() if len(events) > 1 else merged


def _events(derived: DerivedTriples, times: NDArray[np.int64]) -> EncodedEvents:
    """Derived triples as events: one for each of these times, or for each triple where these are theirs."""
    count = len(derived)
    first = np.arange(count + 1) if len(times) == count else np.append(np.searchsorted(derived.at, times), count)
    nameless = np.zeros(len(times), np.int32)
    return EncodedEvents(derived.triples, derived.change, first, times, np.diff(first), np.arange(len(times)), nameless)


def _portions(released: dict[str, EncodedEvents], budget: int) -> Iterator[tuple[dict[str, EncodedEvents], int]]:
    """Whole instants, together about `budget` triples: (events by stream, last instant)."""
    if not released:
        return
    times = np.concatenate([events.event_time for events in released.values()])
    sizes = np.concatenate([np.maximum(np.diff(events.event_first), 1) for events in released.values()])
    order = np.argsort(times, kind="stable")
    times, total = times[order], np.cumsum(sizes[order])
    done = dict.fromkeys(released, 0)
    start = 0
    while start < len(times):
        before = total[start - 1] if start else 0
        within = int(np.searchsorted(total, before + budget, side="right")) - 1
        last = int(times[max(start, within)])
        start = int(np.searchsorted(times, last, side="right"))
        portion = {}
        for stream, events in released.items():
            upto = int(np.searchsorted(events.event_time, last, side="right"))
            if upto > done[stream]:
                portion[stream] = events.slice(done[stream], upto)
                done[stream] = upto
        yield portion, last


def _instants(columns: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The distinct instants of columns that are each in order."""
    columns = [column for column in columns if len(column)]
    if len(columns) == 1:
        times = columns[0]
        distinct: NDArray[np.int64] = times[np.append(True, times[1:] != times[:-1])]
        return distinct
    return np.unique(np.concatenate(columns)) if columns else np.zeros(0, np.int64)


def _each_event(states: list[WindowState], *, filled: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(instants, times) of the events that some of the windows read; with `filled`, of those that hold anything."""
    instants, first = np.unique(np.concatenate([state.instants for state in states]), return_index=True)
    times = np.concatenate([state.event_time for state in states])[first]
    if filled:
        entered = [log.at[log.kind == ENTERED] for state in states for log in state.logs]
        holding = np.isin(instants, np.concatenate(entered))
        instants, times = instants[holding], times[holding]
    return instants, times


def _held(states: list[WindowState]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many triples the windows held together, after each change of the last portion."""
    logs = [log for state in states for log in state.logs]
    at = np.concatenate([log.at for log in logs])
    change = np.sign(np.concatenate([log.kind for log in logs])).astype(np.int64)
    order = np.argsort(at, kind="stable")
    now = sum(state.held for state in states)
    steps = np.cumsum(change[order])
    before = now - (int(steps[-1]) if len(steps) else 0)
    return np.concatenate(([NO_END], at[order])), np.concatenate(([before], before + steps))
