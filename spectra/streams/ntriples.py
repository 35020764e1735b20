"""N-Triples: a file is an event, or a file is a sequence of events of equal size."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from spectra.errors import StreamError
from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import E_LINE, E_TIME, E_TIME_LENGTH, FILE, TRIPLES
from spectra.streams.quarantine import Quarantine
from spectra.streams.reading import Reading, packs
from spectra.streams.scanner import Scanner
from spectra.streams.times import literal_time, name_time
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary


class FileReader:
    """Each file is one event.

    Its time is found by `time_from`: `name`, `mtime`, or the canonical text of a predicate.
    """

    def __init__(self, reading: Reading, summary: Summary, *, validate: bool, time_from: str) -> None:
        self._reading = reading
        self._time_from = time_from
        self._scanner = Scanner(FILE, summary, validate=validate)

    def batches(self, files: list[InputFile]) -> Iterator[EventBatch]:
        """The events in the order of their times, then names."""
        timed = self._timed(files)
        timed.sort(key=lambda file: (file.time, file.name))
        for buffer, segments, packed in packs(self._reading, timed):
            scan = self._scanner.scan(buffer, segments)
            self._reading.report(scan, packed)
            yield self._reading.batch(
                scan,
                np.array([file.time for file in packed], np.int64),
                place=[(file.name, 1) for file in packed],
            )

    def _timed(self, files: list[InputFile]) -> list[InputFile]:
        if self._time_from not in ("name", "mtime"):
            return self._timed_by_predicate(files)
        timed = []
        for file in files:
            try:
                if self._time_from == "name":
                    time = name_time(file.stem)
                else:
                    time = file.path.stat().st_mtime_ns // 1_000_000
                timed.append(file._replace(time=time))
            except StreamError:
                self._reading.quarantine.add(file.name, 0, "no time in the file name", "")
            except OSError:
                self._reading.quarantine.add(file.name, 0, "unreadable file", "")
        return timed

    def _timed_by_predicate(self, files: list[InputFile]) -> list[InputFile]:
        # The order of the events is known only when every file's time is, so this looks through all
        # files before the first is used. What else is in them is reported when they are used.
        nothing = Scanner(FILE, Summary(()), time_predicate=self._time_from)
        unreported = Reading(self._reading.stream, Quarantine())
        timed = []
        unreadable = {file.name for file in files}
        for buffer, segments, packed in packs(unreported, files):
            unreadable.difference_update(file.name for file in packed)
            scan = nothing.scan(buffer, segments)
            for file, event in zip(packed, scan.tables.event.tolist(), strict=True):
                if not event[E_TIME_LENGTH]:
                    self._reading.quarantine.add(file.name, 0, "no triple that gives the time", "")
                    continue
                try:
                    time = literal_time(scan.span(event[E_TIME], event[E_TIME_LENGTH]))
                    timed.append(file._replace(time=time))
                except StreamError as error:
                    self._reading.quarantine.add(file.name, 0, "unreadable time", error.message)
        for name in sorted(unreadable):
            self._reading.quarantine.add(name, 0, "unreadable file", "")
        return timed


class TripleReader:
    """Every `event_size` triples of a file are one event, `interval` milliseconds after the one before."""

    def __init__(
        self,
        reading: Reading,
        summary: Summary,
        *,
        validate: bool,
        event_size: int,
        start: int,
        interval: int,
    ) -> None:
        self._reading = reading
        self._start = start
        self._interval = interval
        self._scanner = Scanner(TRIPLES, summary, validate=validate, event_size=event_size)

    def batches(self, files: list[InputFile]) -> Iterator[EventBatch]:
        before = 0
        for file in files:
            for scan in self._reading.scans(file, self._scanner):
                event = scan.tables.event
                time = self._start + (before + np.arange(len(event), dtype=np.int64)) * self._interval
                place = list(zip(repeat(file.name), event[:, E_LINE].tolist()))
                yield self._reading.batch(scan, time, place=place)
                before += len(event)
