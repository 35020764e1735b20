"""Late and out of order: events wait until the watermark passes them, and then go on in time order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.clock import NO_END


@dataclass(slots=True)
class EncodedEvents:
    """Events of one stream as term ids; the same columns as an `EventBatch`, without the texts.

    `event_size` is how many triples an event had before any were dropped; `arrival` numbers the events
    in the order in which the engine took them. `graph` is the name of each one's graph, 0 where nobody asks for it.
    """

    triples: NDArray[np.int32]
    sign: NDArray[np.int8]
    event_first: NDArray[np.int64]
    event_time: NDArray[np.int64]
    event_size: NDArray[np.int64]
    arrival: NDArray[np.int64]
    graph: NDArray[np.int32]

    @classmethod
    def none(cls) -> EncodedEvents:
        nothing = np.zeros(0, np.int64)
        return cls(
            np.zeros((0, 3), np.int32),
            np.zeros(0, np.int8),
            np.zeros(1, np.int64),
            nothing,
            nothing,
            nothing,
            np.zeros(0, np.int32),
        )

    def __len__(self) -> int:
        return len(self.event_time)

    @property
    def terms(self) -> NDArray[np.int32]:
        """The terms of all triples and the names of the graphs, each as often as it occurs."""
        return np.concatenate((self.triples.ravel(), self.graph[self.graph > 0]))

    def take(self, order: NDArray[np.int64]) -> EncodedEvents:
        """These events, in this order."""
        sizes = np.diff(self.event_first)[order]
        first = np.concatenate(([0], np.cumsum(sizes)))
        rows = np.repeat(self.event_first[:-1][order] - first[:-1], sizes) + np.arange(first[-1])
        return EncodedEvents(
            self.triples[rows],
            self.sign[rows],
            first,
            self.event_time[order],
            self.event_size[order],
            self.arrival[order],
            self.graph[order],
        )

    def slice(self, first: int, last: int) -> EncodedEvents:
        """Consecutive events, without copying."""
        rows = slice(self.event_first[first], self.event_first[last])
        return EncodedEvents(
            self.triples[rows],
            self.sign[rows],
            self.event_first[first : last + 1] - self.event_first[first],
            self.event_time[first:last],
            self.event_size[first:last],
            self.arrival[first:last],
            self.graph[first:last],
        )

    def arrived_since(self, arrival: int) -> EncodedEvents:
        """The events that the engine took from then on."""
        later = self.arrival >= arrival
        return self if later.all() else self.take(np.flatnonzero(later))

    def in_time_order(self) -> EncodedEvents:
        if (self.event_time[1:] >= self.event_time[:-1]).all():
            return self
        return self.take(np.argsort(self.event_time, kind="stable"))

    def followed_by(self, other: EncodedEvents) -> EncodedEvents:
        if not len(self):
            return other
        return EncodedEvents(
            np.concatenate((self.triples, other.triples)),
            np.concatenate((self.sign, other.sign)),
            np.concatenate((self.event_first, other.event_first[1:] + self.event_first[-1])),
            np.concatenate((self.event_time, other.event_time)),
            np.concatenate((self.event_size, other.event_size)),
            np.concatenate((self.arrival, other.arrival)),
            np.concatenate((self.graph, other.graph)),
        )


class Reorder:
    """Events of several streams that wait for the watermark: the greatest time seen less the lateness."""

    def __init__(self, lateness: int) -> None:
        self.lateness = lateness
        self.greatest = NO_END
        self._waiting: dict[str, EncodedEvents] = {}

    @property
    def watermark(self) -> int:
        return self.greatest - self.lateness if self.greatest != NO_END else NO_END

    def late(self, event_time: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the events, in the order of their arrival, are older than the watermark; moves it on."""
        if not len(event_time):
            return np.zeros(0, np.bool_)
        seen = np.maximum(np.maximum.accumulate(event_time), self.greatest)
        before = np.concatenate(([self.greatest], seen[:-1]))
        self.greatest = int(seen[-1])
        return event_time < before - self.lateness

    def add(self, stream: str, events: EncodedEvents) -> None:
        self._waiting[stream] = self._waiting.get(stream, EncodedEvents.none()).followed_by(events)

    def release(self, limit: int) -> dict[str, EncodedEvents]:
        """The waiting events with times up to `limit`, by stream, in time order."""
        released = {}
        for stream, events in list(self._waiting.items()):
            ready = events.event_time <= limit
            if not ready.any():
                continue
            if ready.all():
                chosen, rest = events, EncodedEvents.none()
            else:
                chosen = events.take(np.flatnonzero(ready))
                rest = events.take(np.flatnonzero(~ready))
            released[stream] = chosen.in_time_order()
            self._waiting[stream] = rest
        return released

    def waiting_events(self) -> dict[str, EncodedEvents]:
        """The events that wait, by stream."""
        return {stream: events for stream, events in self._waiting.items() if len(events)}

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return sum(len(events) for events in self._waiting.values())
