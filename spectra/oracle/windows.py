"""What a window holds at an instant, from the whole history of events, by the definition alone.

A triple that arrives at `t` in a time window of range ω and step β with origin t0 is valid in
``[t, t0 + ⌊(t − t0)/β⌋·β + ω)``; in a count window of n events that moves by m, event number i
is held until event number ``⌊i/m⌋·m + n`` comes. A deletion ends what arrived before it. A window
`[EVENT]` holds the event that came last of all streams, and nothing where that is of another stream.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from spectra.clock import FOREVER
from spectra.oracle.dataset import Triple
from spectra.sparql.query import Window, WindowKind

#: What is there until an end.
_Held = TypeVar("_Held", Triple, str)

#: +1 and a triple that arrives, or -1 and one that is deleted.
Operation = tuple[int, Triple]


@dataclass(frozen=True, slots=True)
class Event:
    """Triples that arrive or are deleted, in order, at one time; `graph` is its name as text."""

    time: int
    operations: tuple[Operation, ...]
    stream: str = ""
    graph: str = ""


def in_time_order(arrivals: Iterable[Event], lateness: int) -> list[Event]:
    """The events in the order of their times, without those that came too late.

    An event is late when its time lies before the greatest time seen so far less `lateness`.
    """
    accepted: list[Event] = []
    seen: int | None = None
    for event in arrivals:
        if seen is None or event.time >= seen - lateness:
            accepted.append(event)
            seen = event.time if seen is None else max(seen, event.time)
    return sorted(accepted, key=lambda event: event.time)


@dataclass(frozen=True, slots=True)
class Content:
    """The triples of a window at an instant, each with the end of its validity if nothing more happens.

    `events` has the same for the graphs of events by name. Of each name that the window holds an event of, `times` has
    the time of the latest one, and `held` when that one is over.
    """

    triples: dict[Triple, int]
    events: dict[str, dict[Triple, int]]
    times: dict[str, int]
    held: dict[str, int]

    def signature(self) -> object:
        """What an answer can depend on: equal for contents that differ only in when they end."""
        graphs = frozenset((name, self.times[name], frozenset(graph)) for name, graph in self.events.items())
        return frozenset(self.triples), graphs

    def ends(self) -> set[int]:
        """The instants at which something of this content expires."""
        ends = [self.triples.values(), self.held.values(), *(graph.values() for graph in self.events.values())]
        return {end for each in ends for end in each if end != FOREVER}

    def later(self, instant: int) -> Content:
        """What is left of the content at a later instant when nothing arrives until then."""
        held = _after(self.held, instant)
        events = {name: _after(self.events[name], instant) for name in held}
        return Content(_after(self.triples, instant), events, {name: self.times[name] for name in held}, held)


def _after(ends: dict[_Held, int], instant: int) -> dict[_Held, int]:
    return {what: end for what, end in ends.items() if end > instant}


class WindowHistory:
    """A window and every event of its stream, those that will come later included."""

    def __init__(self, window: Window, events: Sequence[Event], *, event_graphs: bool = False) -> None:
        """`events` of all streams in time order; `event_graphs` keeps the events apart as well."""
        self.window = window
        self.positions = [position for position, event in enumerate(events) if reads(window, event)]
        self.events = [events[position] for position in self.positions]
        self.times = [event.time for event in self.events]
        self.event_graphs = event_graphs

    def end_of(self, time: int) -> int:
        """The exclusive end of the validity of what arrives at `time` in a time window."""
        spec = self.window.spec
        return spec.t0 + (time - spec.t0) // spec.step * spec.step + spec.range

    def content(self, instant: int, applied: int) -> Content:
        """The window at an instant, after the first `applied` events of all streams."""
        triples: dict[Triple, int] = {}
        graphs: dict[str, dict[Triple, int]] = {}
        times: dict[str, int] = {}
        held: dict[str, int] = {}
        for event, end in self._held(instant, applied):
            named = self.event_graphs and event.graph and end > instant
            if named:
                graphs.setdefault(event.graph, {})
                times[event.graph], held[event.graph] = event.time, end
            for sign, triple in event.operations:
                if sign < 0:
                    triples.pop(triple, None)
                    for graph in graphs.values():
                        graph.pop(triple, None)
                elif end > instant:
                    triples[triple] = max(end, triples.get(triple, end))
                    if named:
                        graph = graphs[event.graph]
                        graph[triple] = max(end, graph.get(triple, end))
        return Content(triples, graphs, times, held)

    def _held(self, instant: int, applied: int) -> Iterator[tuple[Event, int]]:
        """The events that still matter, of the first `applied` of all streams, with the end of their arrivals."""
        seen = bisect_left(self.positions, applied)
        if self.window.spec.kind is WindowKind.EVENT:
            if seen and self.positions[seen - 1] == applied - 1:
                yield self.events[seen - 1], FOREVER
            return
        if self.window.spec.kind is WindowKind.TIME:
            # what arrived a whole range ago has expired, and a deletion back then ended nothing that is here
            first = bisect_right(self.times, instant - self.window.spec.range)
            for event in self.events[first:seen]:
                yield event, self.end_of(event.time)
            return
        size, step = self.window.spec.range, self.window.spec.step
        for number in range(max(0, seen - size - step), seen):
            if seen - 1 < number // step * step + size:
                yield self.events[number], FOREVER

    def closes_at(self, number: int) -> bool:
        """Whether a count window closes with event `number` (from 0) of its stream."""
        size, step = self.window.spec.range, self.window.spec.step
        return (number + 1 - size) % step == 0


def reads(window: Window, event: Event) -> bool:
    """Whether the event belongs to the window's stream; no name stands for the only stream there is."""
    return not window.stream or not event.stream or window.stream == event.stream
