"""RDF Patch: a block from `TX` to `TC` is an event of additions and deletions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spectra.errors import StreamError
from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import (
    ABORTED,
    B_LINE,
    E_FATE,
    E_LINE,
    E_TIME,
    E_TIME_LENGTH,
    PATCH,
    UNTERMINATED,
)
from spectra.streams.reading import Reading, event_lines
from spectra.streams.scanner import Scan, Scanner
from spectra.streams.times import literal_time
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary


class PatchReader:
    """`H time` in a block gives its time; other headers and prefix lines say nothing; `TA` drops the block.

    Terms are those of N-Triples: prefixed names are bad lines. A graph name behind a triple is read
    and ignored.
    """

    def __init__(self, reading: Reading, summary: Summary, *, validate: bool) -> None:
        self._reading = reading
        self._scanner = Scanner(PATCH, summary, validate=validate)

    def batches(self, files: list[InputFile]) -> Iterator[EventBatch]:
        for file in files:
            for scan in self._reading.scans(file, self._scanner):
                yield self._batch(file, scan)

    def _batch(self, file: InputFile, scan: Scan) -> EventBatch:
        events = scan.tables.event.tolist()
        time = np.zeros(len(events), np.int64)
        keep = np.ones(len(events), np.bool_)
        for index, event in enumerate(events):
            reason = ""
            if event[E_FATE] == ABORTED:
                keep[index] = False
            elif event[E_FATE] == UNTERMINATED:
                reason = "block without TC"
            elif not event[E_TIME_LENGTH]:
                reason = "block without a time"
            else:
                try:
                    time[index] = literal_time(scan.span(event[E_TIME], event[E_TIME_LENGTH]))
                except StreamError:
                    reason = "unreadable time"
            if reason:
                keep[index] = False
                self._quarantine(file, scan, event, reason)
        place = [(file.name, event[E_LINE]) for event in events]
        return self._reading.batch(scan, time, place=place, keep=keep)

    def _quarantine(self, file: InputFile, scan: Scan, event: list[int], reason: str) -> None:
        """Every change of the block, or its first line where it has none."""
        others = set(scan.tables.bad[:, B_LINE].tolist())
        lines = list(event_lines(scan, event))
        changes = [
            (line, text) for line, text in lines if line not in others and text.lstrip(b" \t")[:1] in (b"A", b"D")
        ]
        for line, text in changes or lines[:1]:
            self._reading.quarantine.add(file.name, line, reason, text)
