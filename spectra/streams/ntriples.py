"""N-Triples: a file is an event, or a file is a sequence of events of equal size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

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

_UNREADABLE = "unreadable file"


class FileTime(NamedTuple):
    """The event time of a file; None where it has none, with the reason and more about it."""

    time: int | None
    reason: str = ""
    text: str = ""


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
        timed = in_order(files, file_times(files, self._time_from), self._reading.quarantine)
        for buffer, segments, packed in packs(self._reading, timed):
            scan = self._scanner.scan(buffer, segments)
            self._reading.report(scan, packed)
            yield self._reading.batch(
                scan,
                np.array([file.time for file in packed], np.int64),
                place=[(file.name, 1) for file in packed],
            )


def file_times(
    files: Sequence[InputFile], time_from: str, content: Mapping[str, bytes] | None = None
) -> list[FileTime]:
    """The event time of each file; `content` has the bytes of files, by name, that are not to be opened."""
    if time_from == "name":
        return [_name_time(file) for file in files]
    if time_from == "mtime":
        return [_change_time(file) for file in files]
    return _predicate_times(files, time_from, content or {})


def in_order(files: Sequence[InputFile], times: Sequence[FileTime], quarantine: Quarantine) -> list[InputFile]:
    """The files in the order of their times, then names; those without a time go to the quarantine."""
    timed = []
    unreadable = []
    for file, found in zip(files, times, strict=True):
        if found.time is not None:
            timed.append(file._replace(time=found.time))
        elif found.reason == _UNREADABLE:
            unreadable.append(file.name)
        else:
            quarantine.add(file.name, 0, found.reason, found.text)
    for name in sorted(unreadable):
        quarantine.add(name, 0, _UNREADABLE, "")
    return sorted(timed, key=lambda file: (file.time, file.name))


def _name_time(file: InputFile) -> FileTime:
    try:
        return FileTime(name_time(file.stem))
    except StreamError:
        return FileTime(None, "no time in the file name")


def _change_time(file: InputFile) -> FileTime:
    try:
        return FileTime(file.path.stat().st_mtime_ns // 1_000_000)
    except OSError:
        return FileTime(None, _UNREADABLE)


def _predicate_times(files: Sequence[InputFile], predicate: str, content: Mapping[str, bytes]) -> list[FileTime]:
    # The order of the events is known only when every file's time is, so this looks through all
    # files before the first is used. What else is in them is reported when they are used.
    nothing = Scanner(FILE, Summary(()), time_predicate=predicate)
    times = {file.name: FileTime(None, _UNREADABLE) for file in files}
    for buffer, segments, packed in packs(Reading("", Quarantine(), content=content), files):
        scan = nothing.scan(buffer, segments)
        for file, event in zip(packed, scan.tables.event.tolist(), strict=True):
            if not event[E_TIME_LENGTH]:
                times[file.name] = FileTime(None, "no triple that gives the time")
                continue
            try:
                times[file.name] = FileTime(literal_time(scan.span(event[E_TIME], event[E_TIME_LENGTH])))
            except StreamError as error:
                times[file.name] = FileTime(None, "unreadable time", error.message)
    return [times[file.name] for file in files]


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
