"""From files to scanned pieces, and from scanned pieces to batches: what all forms share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import E_BEGIN, E_END, E_FIRST, E_LINE, E_SIZE
from spectra.streams.octets import Octets
from spectra.streams.quarantine import Quarantine
from spectra.streams.scanner import Scan, Scanner, Segment
from spectra.views.batch import EventBatch

#: Bytes of text that go into one batch, unless one event needs more.
BATCH_BYTES = 4 << 20


@dataclass(slots=True)
class Counts:
    """What was read: lines of all kinds, triples kept, triples that no query can use."""

    lines: int = 0
    triples: int = 0
    skipped: int = 0


@dataclass(slots=True)
class Reading:
    """One pass over a source: where its events, its bad lines and its counts go.

    `content` has the bytes of files, by name, that are not to be opened.
    """

    stream: str
    quarantine: Quarantine
    counts: Counts = field(default_factory=Counts)
    content: Mapping[str, bytes] = field(default_factory=dict)

    def report(self, scan: Scan, files: list[InputFile]) -> None:
        """Count what a scan found and quarantine its bad lines; segment `i` is text of ``files[i]``."""
        self.counts.lines += scan.lines
        self.counts.triples += len(scan.tables.sign)
        self.counts.skipped += scan.skipped
        for bad in scan.bad_lines():
            self.quarantine.add(files[bad.segment].name, bad.line, bad.reason, bad.text, column=bad.column)

    def scans(self, file: InputFile, scanner: Scanner) -> Iterator[Scan]:
        """The file piece by piece, cut between events, reported."""
        octets = self.octets(file)
        if octets is None:
            return
        with octets:
            text, line, wanted, scope = b"", 0, BATCH_BYTES, file.scope
            final = False
            while not final:
                text += octets.read(wanted)
                final, rest = octets.ended, b""
                end = len(text)
                if not final or octets.damage:
                    end = text.rfind(b"\n") + 1
                    rest = text[end:]
                scan = scanner.scan(buffer_of(text, end), [Segment(end, scope, line)], final=final)
                if final or scan.position > 0:
                    self.report(scan, [file])
                    yield scan
                if octets.damage:
                    self.quarantine.add(file.name, scan.line + 1, octets.damage, rest)
                text, line = text[scan.position :], scan.line if scan.position > 0 else line
                # An event that does not fit is read with as much again, so that the work stays linear.
                wanted = max(BATCH_BYTES, len(text))

    def whole(self, file: InputFile) -> bytes | None:
        """All whole lines of a file; None where it cannot be read."""
        octets = self.octets(file)
        if octets is None:
            return None
        with octets:
            text = octets.read_all()
        if octets.damage:
            end = text.rfind(b"\n") + 1
            self.quarantine.add(file.name, len(text[:end].splitlines()) + 1, octets.damage, text[end:])
            text = text[:end]
        return text

    def octets(self, file: InputFile, begin: int = 0, end: int | None = None) -> Octets | None:
        """The bytes of a file, or of the lines that start from `begin` to `end`.

        A file that went away or may not be read is quarantined whole: the others can still be used.
        """
        try:
            return Octets(file.path, self.content.get(file.name), begin, end)
        except OSError as error:
            self.quarantine.add(file.name, 0, "unreadable file", error.strerror or str(error))
            return None

    def batch(
        self,
        scan: Scan,
        time: NDArray[np.int64],
        *,
        place: list[tuple[str, int]],
        graph: list[str] | None = None,
        keep: NDArray[np.bool_] | None = None,
    ) -> EventBatch:
        """The scan's events under these times; those that are not to be kept leave no trace in the counts."""
        tables = scan.tables
        event = tables.event
        batch = EventBatch(
            stream=self.stream,
            text=scan.text,
            start=tables.start,
            length=tables.length,
            tag=tables.tag,
            hashes=tables.hashes,
            sign=tables.sign,
            event_time=time,
            event_first=np.append(event[:, E_FIRST], len(tables.sign)),
            event_size=event[:, E_SIZE].copy(),
            event_graph=graph or [],
            event_place=place,
        )
        return batch if keep is None else self.kept(batch, keep)

    def kept(self, batch: EventBatch, keep: NDArray[np.bool_]) -> EventBatch:
        """These events of a batch; the others leave no trace in the counts."""
        if keep.all():
            return batch
        rows = np.diff(batch.event_first)
        kept_rows = np.repeat(keep, rows)
        self.counts.triples -= int(rows[~keep].sum())
        self.counts.skipped -= int((batch.event_size - rows)[~keep].sum())
        return replace(
            batch.with_rows(kept_rows),
            event_time=batch.event_time[keep],
            event_first=np.append(0, np.cumsum(rows[keep])),
            event_size=batch.event_size[keep],
            event_graph=list(compress(batch.event_graph, keep)),
            event_place=list(compress(batch.event_place, keep)),
        )


class Reader(Protocol):
    """One form of stream. Called with group after group of files, in order."""

    def batches(self, files: list[InputFile]) -> Iterator[EventBatch]: ...


def fitting(files: Iterable[InputFile], form: str, quarantine: Quarantine) -> list[InputFile]:
    """The files of a stream's form; the others go to the quarantine."""
    found = []
    for file in files:
        if file.form == form:
            found.append(file)
        else:
            quarantine.add(file.name, 0, f"not of the stream's form, .{form}", "")
    return found


def packs(
    reading: Reading, files: Iterable[InputFile]
) -> Iterator[tuple[NDArray[np.uint8], list[Segment], list[InputFile]]]:
    """Whole files, many to a buffer: (buffer, its segments, the file of each segment)."""
    texts: list[bytes] = []
    packed: list[InputFile] = []
    size = 0
    for file in files:
        text = reading.whole(file)
        if text is None:
            continue
        if packed and size + len(text) > BATCH_BYTES:
            yield _pack(texts, packed)
            texts, packed, size = [], [], 0
        texts.append(text)
        packed.append(file)
        size += len(text)
    if packed:
        yield _pack(texts, packed)


def _pack(texts: list[bytes], files: list[InputFile]) -> tuple[NDArray[np.uint8], list[Segment], list[InputFile]]:
    ends = np.cumsum([len(text) for text in texts]).tolist()
    text = b"".join(texts)
    segments = [Segment(end, file.scope) for end, file in zip(ends, files, strict=True)]
    return buffer_of(text, len(text)), segments, files


def event_lines(scan: Scan, event: list[int]) -> Iterator[tuple[int, bytes]]:
    """(number, text) of each line of an event."""
    return enumerate(scan.octets(event[E_BEGIN], event[E_END]).splitlines(), event[E_LINE])


def buffer_of(text: bytes, end: int) -> NDArray[np.uint8]:
    """The first `end` bytes, with room behind them for some canonical forms."""
    buffer = np.empty(end + end // 8 + 1024, np.uint8)
    buffer[:end] = np.frombuffer(text, np.uint8, end)
    return buffer
