"""When a continuous query is evaluated, and over which state: the reporting policies of SECRET."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from spectra.errors import QueryError
from spectra.oracle.dataset import Triple
from spectra.oracle.expressions import EVENT_TIME
from spectra.oracle.walk import walk
from spectra.oracle.windows import Content, Event, WindowHistory, in_time_order
from spectra.sparql.query import ContinuousQuery, Policy, WindowKind
from spectra.sparql.syntax import Call, Graph, Variable, Windowed


@dataclass(frozen=True, slots=True)
class StaticUpdate:
    """The static graphs from then on: after so many events, when time had come to `time`."""

    after: int
    time: int
    static: Mapping[str, Iterable[Triple]]


class Evaluation(NamedTuple):
    """The time of a report, and the state it reports: an instant, and how many events and static updates were applied.

    A close at `at` reports the state just before it and comes before all else that happens then
    (`after_events` is False); every other evaluation comes after the events and the expiry of its instant.
    """

    at: int
    after_events: bool
    applied: int
    instant: int
    updates: int = 0


class Schedule:
    """The evaluations of one query over a finite history of events."""

    def __init__(
        self,
        query: ContinuousQuery,
        arrivals: Sequence[Event],
        *,
        drain: bool = True,
        push: bool = False,
        updates: Sequence[StaticUpdate] = (),
    ) -> None:
        """`arrivals` in the order of arrival; `push` makes each event an instant of its own.

        `updates` in order, between events that come in time order.
        """
        if not query.windows:
            raise QueryError(f"query {query.name} has no window")
        self.query = query
        self.drain = drain
        self.push = push
        self.updates = updates
        self.events = in_time_order(arrivals, max(window.spec.lateness for window in query.windows))
        self.times = [event.time for event in self.events]
        nodes = list(walk(query.pattern))
        timed = any(isinstance(node, Call) and node.function == EVENT_TIME for node in nodes)
        named = {
            node.name
            for node in nodes
            if isinstance(node, Windowed) and any(isinstance(inner, Graph) for inner in walk(node))
        }
        every = timed or any(isinstance(name, Variable) for name in named)
        self.windows = [
            WindowHistory(window, self.events, event_graphs=every or f"<{window.name}>" in named)
            for window in query.windows
        ]
        self.time_windows = [window for window in self.windows if window.window.spec.kind is WindowKind.TIME]
        self.count_windows = [window for window in self.windows if window.window.spec.kind is WindowKind.COUNT]
        #: The events of the streams that the query reads.
        self.read = sorted({position for window in self.windows for position in window.positions})

    def contents(self, evaluation: Evaluation) -> list[Content]:
        """What each window holds in the state that the evaluation reports."""
        return [window.content(evaluation.instant, evaluation.applied) for window in self.windows]

    def evaluations(self) -> list[Evaluation]:
        """All evaluations in order."""
        if not self.read:
            return []
        if self.query.by_event:
            return [self._updated(evaluation) for evaluation in self._events()]
        match self.query.report.policy:
            case Policy.ON_CONTENT_CHANGE:
                found = self._content_changes() + self._after_updates()
            case Policy.NON_EMPTY_CONTENT:
                found = [
                    evaluation
                    for evaluation in self._content_changes() + self._after_updates()
                    if any(content.triples for content in self.contents(evaluation))
                ]
            case Policy.ON_WINDOW_CLOSE:
                found = self._closes()
            case Policy.PERIODIC:
                found = self._periods()
        return sorted({self._updated(evaluation) for evaluation in found})

    def _updated(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation with the updates that came before it: before its last event, or before its time."""
        before = [
            number
            for number, update in enumerate(self.updates, 1)
            if evaluation.applied > update.after or evaluation.at > update.time
        ]
        return evaluation._replace(updates=max([evaluation.updates, *before]))

    def _after_updates(self) -> list[Evaluation]:
        """An evaluation after each update, once the query has seen an event."""
        return [
            Evaluation(update.time, True, update.after, update.time, number)
            for number, update in enumerate(self.updates, 1)
            if self.read[0] < update.after
        ]

    def _events(self) -> list[Evaluation]:
        """An evaluation for each event, also where several come at one instant."""
        found = [self._at_event(position) for position in self.read]
        if self.query.report.policy is Policy.NON_EMPTY_CONTENT:
            found = [each for each in found if any(content.triples for content in self.contents(each))]
        return found

    @cached_property
    def _last(self) -> int:
        """The last instant of the history: that of the last event or, drained, of the last expiry."""
        last = self.times[-1]
        if not self.drain:
            return last
        held = [window.content(last, len(self.events)) for window in self.time_windows]
        return max((end for content in held for end in content.ends()), default=last)

    def _content_changes(self) -> list[Evaluation]:
        arrivals = {self.times[position] for position in self.read}
        if self.push:
            found = [self._at_event(position) for position in self.read]
        else:
            found = [self._after(time) for time in arrivals]
        for window in self.time_windows:
            for end in {window.end_of(time) for time in window.times}:
                # with arrivals at the same instant there is one evaluation for both
                if end <= self._last and end not in arrivals:
                    if end in window.content(end - 1, bisect_left(self.times, end)).ends():
                        found.append(self._after(end))
        return found

    def _closes(self) -> list[Evaluation]:
        first = self.times[self.read[0]]
        found = []
        for window in self.time_windows:
            spec = window.window.spec
            offset = spec.t0 + spec.range
            after_first = offset + ((first - offset) // spec.step + 1) * spec.step
            for close in range(after_first, self._last + 1, spec.step):
                found.append(Evaluation(close, False, bisect_left(self.times, close), close - 1))
        for window in self.count_windows:
            for number, position in enumerate(window.positions):
                if window.closes_at(number):
                    found.append(self._at_event(position) if self.push else self._after(self.times[position]))
        return found

    def _periods(self) -> list[Evaluation]:
        period, t0 = self.query.report.period, self.query.windows[0].spec.t0
        if not period:
            raise QueryError(f"query {self.query.name} reports PERIODIC without a period")

        def next_multiple(time: int) -> int:
            return t0 - (t0 - time) // period * period

        first, last = next_multiple(self.times[self.read[0]]), self._last
        if self.drain:
            last = next_multiple(last)
        return [self._after(instant) for instant in range(first, last + 1, period)]

    def _after(self, time: int) -> Evaluation:
        """The evaluation when all that happens at `time` has happened."""
        return Evaluation(time, True, bisect_right(self.times, time), time)

    def _at_event(self, position: int) -> Evaluation:
        time = self.times[position]
        return Evaluation(time, True, position + 1, time)
