"""What the tests of streams share: a source read to its end, as Python values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from spectra.streams.quarantine import Quarantine
from spectra.streams.source import Source
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary


@dataclass
class Event:
    time: int
    triples: list[str]
    size: int
    graph: str
    place: tuple[str, int]


@dataclass
class Read:
    events: list[Event]
    bad: list[tuple[str, int, str, str]]
    batches: list[EventBatch]
    source: Source

    @property
    def reasons(self) -> list[tuple[int, str]]:
        return [(line, reason) for _, line, reason, _ in self.bad]


class Noting(Quarantine):
    """A quarantine that also keeps what it is given."""

    def __init__(self, path: Path | None = None, strict: bool = False) -> None:
        super().__init__(path, strict)
        self.bad: list[tuple[str, int, str, str]] = []

    def add(self, file: str, line: int, reason: str, text: str | bytes, *, column: int = 1) -> None:
        shown = text.decode(errors="replace") if isinstance(text, bytes) else text
        self.bad.append((file, line, reason, shown))
        super().add(file, line, reason, text, column=column)


def events_of(batch: EventBatch) -> list[Event]:
    """The events of a batch; a triple is written `+ s p o`."""
    found = []
    for event in range(batch.events):
        triples = []
        for row in range(int(batch.event_first[event]), int(batch.event_first[event + 1])):
            terms = [
                batch.text[batch.start[row, term] :][: batch.length[row, term]].tobytes().decode() for term in range(3)
            ]
            triples.append(" ".join(["-0+"[int(batch.sign[row]) + 1], *terms]))
        found.append(
            Event(
                time=int(batch.event_time[event]),
                triples=triples,
                size=int(batch.event_size[event]),
                graph=batch.event_graph[event] if batch.event_graph else "",
                place=batch.event_place[event] if batch.event_place else ("", 0),
            )
        )
    return found


def read_all(source: Source, summary: Summary | None = None, **options: Any) -> Read:
    quarantine = Noting()
    batches = [batch for batch in source.batches(summary or Summary.everything(), quarantine, **options) if batch]
    return Read([event for batch in batches for event in events_of(batch)], quarantine.bad, batches, source)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write
