"""Events as columns, on their way from a stream to the views."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Which rows: a stretch, numbers, or a mark for each.
_Rows: TypeAlias = "slice[Any, Any, Any] | NDArray[Any]"


@dataclass(slots=True)
class EventBatch:
    """Consecutive events of one stream; their triples are spans of one text buffer.

    Term `c` (0 subject, 1 predicate, 2 object) of triple row `i` is the canonical N-Triples text
    ``text[start[i, c] : start[i, c] + length[i, c]]`` with xxh64 (seed 42) `hashes[i, c]`. Where a
    language tag was written with capitals, the `tag[i, c]` bytes behind the span are the tag as written.
    Triples that no registered query can use are not in the batch; their events are.

    Attributes
    ----------
    stream : str
        IRI of the stream ("" for the only stream of an engine).
    event_time : int64[m]
        Milliseconds since the epoch.
    event_first : int64[m + 1]
        Triples of event `e` are the rows ``event_first[e] : event_first[e + 1]``.
    event_size : int64[m]
        How many triples the event had before any were dropped.
    sign : int8[n]
        +1 a triple that arrives, -1 one that is deleted.
    event_graph : list of str
        Canonical text of each event's graph name, "" where it has none. Empty list: no event has one.
    event_place : list of (file, line)
        Where each event came from, for reports of late events. Empty list: unknown.
    """

    stream: str
    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    tag: NDArray[np.int32]
    hashes: NDArray[np.int64]
    sign: NDArray[np.int8]
    event_time: NDArray[np.int64]
    event_first: NDArray[np.int64]
    event_size: NDArray[np.int64]
    event_graph: list[str] = field(default_factory=list)
    event_place: list[tuple[str, int]] = field(default_factory=list)

    @property
    def events(self) -> int:
        return len(self.event_time)

    @property
    def triples(self) -> int:
        return len(self.sign)

    def slice(self, first: int, last: int) -> EventBatch:
        """Consecutive events, without copying their text."""
        if first == 0 and last == self.events:
            return self
        rows = slice(self.event_first[first], self.event_first[last])
        return replace(
            self.with_rows(rows),
            event_time=self.event_time[first:last],
            event_first=self.event_first[first : last + 1] - self.event_first[first],
            event_size=self.event_size[first:last],
            event_graph=self.event_graph[first:last],
            event_place=self.event_place[first:last],
        )

    def without(self, dropped: NDArray[np.bool_]) -> EventBatch:
        """The events without some of their triples."""
        if not dropped.any():
            return self
        kept = ~dropped
        return replace(self.with_rows(kept), event_first=np.append(0, np.cumsum(kept))[self.event_first])

    def with_rows(self, rows: _Rows) -> EventBatch:
        """These triples in the place of all; whoever asks says which events they are of."""
        return replace(
            self,
            start=self.start[rows],
            length=self.length[rows],
            tag=self.tag[rows],
            hashes=self.hashes[rows],
            sign=self.sign[rows],
        )
