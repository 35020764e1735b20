"""What an engine can run: a stream of events, wherever it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from spectra.streams.quarantine import Quarantine
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary


@runtime_checkable
class EventSource(Protocol):
    """A stream: `stream` is its IRI, "" for the only one; the counts are of the latest reading so far.

    `micro_batches` is in how many it came, 0 where it comes piece by piece.
    """

    stream: str
    micro_batches: int

    @property
    def triples(self) -> int:
        """Triples kept."""
        ...

    @property
    def skipped(self) -> int:
        """Triples that no query can use."""
        ...

    def batches(
        self,
        summary: Summary,
        quarantine: Quarantine,
        *,
        validate: bool = False,
        follow: bool = False,
        idle: float = 1.0,
        between: Callable[[], None] = lambda: None,
    ) -> Iterator[EventBatch | None]:
        """The events as batches of whole events, None when a watched stream is idle.

        `between` is called between two looks at a watched stream; what it raises ends the reading.
        """
        ...
