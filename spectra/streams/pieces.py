"""Files read in pieces, by many at once, and what they found put together again in order.

Whoever has the files plans tasks of pieces; each task is read anywhere, alone, and gives results; an
assembly takes the results in the order of the tasks. What comes out, events and bad lines and counts,
is what `Source.batches` gives.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.packing import packed, unpacked
from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import E_LINE, FILE, PATCH, QUADS, TRIPLES
from spectra.streams.memory import concatenate
from spectra.streams.nquads import TIMELESS, QuadReader
from spectra.streams.ntriples import FileReader, FileTime, TripleReader, file_times, in_order
from spectra.streams.packed import Arrays, Facts, from_columns, integers, put_integers, to_columns
from spectra.streams.quarantine import Quarantine
from spectra.streams.rdf_patch import PatchReader
from spectra.streams.reading import BATCH_BYTES, Counts, Reader, Reading, buffer_of, fitting
from spectra.streams.scanner import Scanner, Segment
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

_ENDINGS = {FILE: "nt", TRIPLES: "nt", QUADS: "nq", PATCH: "rdfp"}


class _Record(NamedTuple):
    """A bad line, as `Quarantine.add` takes it."""

    file: str
    line: int
    reason: str
    text: str
    column: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the files of a source are read.

    `form` is FILE, TRIPLES, QUADS or PATCH; TRIPLES is one file. The others are as in `Source`, with
    `time_from` the canonical text of a predicate where it is one.
    """

    form: int
    stream: str = ""
    time_from: str = "name"
    event_size: int = 1
    start: int = 0
    interval: int = 1000
    validate: bool = False

    @property
    def has_times_inside(self) -> bool:
        """Whether files must be looked through for their times before their order is known."""
        return self.form == FILE and self.time_from not in ("name", "mtime")

    def reader(self, reading: Reading, summary: Summary) -> Reader:
        """Reads whole files."""
        if self.form == QUADS:
            return QuadReader(reading, summary, validate=self.validate)
        if self.form == PATCH:
            return PatchReader(reading, summary, validate=self.validate)
        if self.form == FILE:
            return FileReader(reading, summary, validate=self.validate, time_from=self.time_from)
        return TripleReader(
            reading,
            summary,
            validate=self.validate,
            event_size=self.event_size,
            start=self.start,
            interval=self.interval,
        )


# --- the plan -------------------------------------------------------------------------------


class Piece(NamedTuple):
    """The lines that start in the bytes from `begin` to `end` of a file; in its last piece, all from `begin` on."""

    file: InputFile
    begin: int
    end: int
    is_last: bool = True


#: Consecutive pieces.
Task = tuple[Piece, ...]


def planned(files: Iterable[InputFile], piece_bytes: int, task_bytes: int | None = None) -> list[Task]:
    """The files in pieces, in order; those of one task have at most `task_bytes` (`piece_bytes`) together.

    Only `.nt` is cut: elsewhere what a line means depends on those before it, or the text is compressed.
    """
    tasks: list[Task] = []
    task: list[Piece] = []
    size = 0
    for piece in (piece for file in files for piece in _cut(file, piece_bytes)):
        if task and size + piece.end - piece.begin > (task_bytes or piece_bytes):
            tasks.append(tuple(task))
            task, size = [], 0
        task.append(piece)
        size += piece.end - piece.begin
    return [*tasks, tuple(task)] if task else tasks


def _cut(file: InputFile, piece_bytes: int) -> Iterator[Piece]:
    try:
        size = file.path.stat().st_size
    except OSError:  # whoever reads it will say so
        size = 0
    step = piece_bytes if file.ending == ".nt" else max(size, 1)
    for begin in range(0, max(size, 1), step):
        yield Piece(file, begin, min(begin + step, size), begin + step >= size)


def predicate_times(
    files: Sequence[InputFile], recipe: Recipe, content: Mapping[str, bytes] | None = None
) -> list[FileTime]:
    """The time in each file, for `Assembly.ordered`; `content` as in `read_pieces`."""
    return file_times(files, recipe.time_from, content)


# --- reading --------------------------------------------------------------------------------


def read_pieces(
    task: Task, recipe: Recipe, summary: Summary, content: Mapping[str, bytes] | None = None
) -> Iterator[bytes]:
    """What a task finds, in results of about `BATCH_BYTES` of text, for `Assembly.add`.

    `content` has the bytes of whole files, by name, that cannot be opened here.
    """
    records = _Records()
    reading = Reading(recipe.stream, records, content=content or {})
    if recipe.form in (FILE, TRIPLES):
        return _LineReader(recipe, reading, records, summary).results(task)
    return _WholeReader(recipe, reading, records, summary).results(task)


class _Records(Quarantine):
    """Keeps what it is given, to be sent."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[_Record] = []

    def add(self, file: str, line: int, reason: str, text: str | bytes, *, column: int = 1) -> None:
        shown = text.decode(errors="replace") if isinstance(text, bytes) else text
        self._kept.append(_Record(file, line, reason, shown, column))

    def taken(self) -> list[_Record]:
        """What it was given since the last time."""
        taken, self._kept = self._kept, []
        return taken


def _result(reading: Reading, records: _Records, facts: Facts, arrays: Arrays) -> bytes:
    """Facts and arrays, and what was counted and set aside since the result before."""
    counts, reading.counts = reading.counts, Counts()
    facts["counts"] = [counts.lines, counts.triples, counts.skipped]
    facts["records"] = records.taken()
    return packed(facts, arrays)


class _WholeReader:
    """Reads files that are never cut.

    Of N-Quads all events are sent: one whose graph has no time here may have one from a file before.
    """

    def __init__(self, recipe: Recipe, reading: Reading, records: _Records, summary: Summary) -> None:
        self._reader = recipe.reader(reading, summary)
        self._reading = reading
        self._records = records

    def results(self, task: Task) -> Iterator[bytes]:
        held: list[EventBatch] = []
        facts: Facts = {"undecided": [], "stated": {}}
        events = size = 0
        for batch, undecided, stated in (found for piece in task for found in self._found(piece.file)):
            held.append(batch)
            facts["undecided"] += (undecided + events).tolist()
            facts["stated"].update(stated)
            events += batch.events
            size += len(batch.text)
            # checked afterwards: the bad lines of this batch are among the records already
            if size >= BATCH_BYTES:
                yield self._result(held, facts)
                held, facts, events, size = [], {"undecided": [], "stated": {}}, 0, 0
        yield self._result(held, facts)

    def _found(self, file: InputFile) -> Iterator[tuple[EventBatch, NDArray[np.intp], dict[str, int]]]:
        """Batches, with the events whose graph has no time, and the times that were stated."""
        if not isinstance(self._reader, QuadReader):
            for batch in self._reader.batches([file]):
                yield batch, np.empty(0, np.intp), {}
            return
        for scan in self._reading.scans(file, self._reader.scanner):
            time, has_time, graphs = self._reader.timed(file, scan)
            place = [(file.name, line) for line in scan.tables.event[:, E_LINE].tolist()]
            batch = self._reading.batch(scan, time, place=place, graph=graphs)
            yield batch, np.flatnonzero(~has_time), self._reader.stated(scan)

    def _result(self, held: list[EventBatch], facts: Facts) -> bytes:
        arrays: Arrays = {}
        if held:
            facts["batch"], arrays = to_columns(concatenate(held))
        return _result(self._reading, self._records, facts, arrays)


class _Stretch(NamedTuple):
    """Whole lines of a file, or, without a text, that it cannot be read.

    `records` are about the file: that it cannot be read, or is damaged behind these lines.
    """

    file: InputFile
    text: bytes | None
    is_first: bool
    is_last: bool
    records: list[_Record]

    @property
    def is_whole(self) -> bool:
        return self.text is not None and self.is_first and self.is_last


class _LineReader:
    """Reads pieces of N-Triples files.

    Lines are numbered from the beginning of each result on, and every triple of a TRIPLES file is an event:
    what came before a piece is not known here.
    """

    def __init__(self, recipe: Recipe, reading: Reading, records: _Records, summary: Summary) -> None:
        self._form = recipe.form
        self._reading = reading
        self._records = records
        self._scanner = Scanner(recipe.form, summary, validate=recipe.validate, event_size=1)

    def results(self, task: Task) -> Iterator[bytes]:
        """Whole files together, parts of files each by itself."""
        together: list[_Stretch] = []
        size = 0
        for stretch in (stretch for piece in task for stretch in self._stretches(piece)):
            length = len(stretch.text or b"")
            if together and not (stretch.is_whole and together[-1].is_whole and size + length <= BATCH_BYTES):
                yield self._result(together)
                together, size = [], 0
            together.append(stretch)
            size += length
        if together:
            yield self._result(together)

    def _stretches(self, piece: Piece) -> Iterator[_Stretch]:
        file = piece.file
        octets = self._reading.octets(file, piece.begin, None if piece.is_last else piece.end)
        is_first = piece.begin == 0
        if octets is None:
            yield _Stretch(file, None, is_first, piece.is_last, self._records.taken())
            return
        with octets:
            rest, ended = b"", False
            while not ended:
                text = rest + octets.read(max(BATCH_BYTES, len(rest)))
                ended = octets.ended
                end = len(text) if ended and not octets.damage else text.rfind(b"\n") + 1
                text, rest = text[:end], text[end:]
                if octets.damage:
                    self._records.add(file.name, len(text.splitlines()) + 1, octets.damage, rest)
                if end > 0 or ended:
                    yield _Stretch(file, text, is_first, piece.is_last and ended, self._records.taken())
                    is_first = False

    def _result(self, stretches: list[_Stretch]) -> bytes:
        files = [stretch.file for stretch in stretches]
        texts = [stretch.text or b"" for stretch in stretches]
        sizes = [len(text) for text in texts]
        facts: Facts = {
            "files": [file.name for file in files],
            "sizes": sizes,
            "about": [record for stretch in stretches for record in stretch.records],
            "first": stretches[0].is_first,
            "last": stretches[0].is_last,
        }
        if stretches[0].text is None:
            return _result(self._reading, self._records, facts, {})
        segments = [Segment(int(end), file.scope) for end, file in zip(np.cumsum(sizes), files, strict=True)]
        scan = self._scanner.scan(buffer_of(b"".join(texts), sum(sizes)), segments)
        self._reading.report(scan, files)
        if self._form == FILE:
            time = np.array([file.time for file in files], np.int64)
            batch = self._reading.batch(scan, time, place=[(file.name, 1) for file in files])
            facts["batch"], arrays = to_columns(batch)
        else:
            event = scan.tables.event
            batch = self._reading.batch(scan, np.zeros(len(event), np.int64), place=[])
            facts["batch"], arrays = to_columns(batch)
            facts["lines"] = put_integers(event[:, E_LINE], arrays, "lines")
        return _result(self._reading, self._records, facts, arrays)


# --- putting together -----------------------------------------------------------------------


class Assembly:
    """Takes the results of all tasks in order, and gives their events.

    After `finish` it can take the results of further files, as a watched folder has them.

    Attributes
    ----------
    times : dict
        The time of each graph name of N-Quads, as stated last so far; what another run needs to go on.
    """

    def __init__(self, recipe: Recipe, quarantine: Quarantine) -> None:
        self.times: dict[str, int] = {}
        self._recipe = recipe
        self._reading = Reading(recipe.stream, quarantine)
        self._lost = ""
        self._parts: _Files | _Triples = (_Files if recipe.form == FILE else _Triples)(recipe, quarantine)

    @property
    def counts(self) -> Counts:
        """What was read so far."""
        return self._reading.counts

    def fitting(self, files: Iterable[InputFile]) -> list[InputFile]:
        """The files of the stream's form; the others go to the quarantine."""
        return fitting(files, _ENDINGS[self._recipe.form], self._reading.quarantine)

    def ordered(self, files: Sequence[InputFile], times: Sequence[FileTime] | None = None) -> list[InputFile]:
        """The files in the order of their events; those without a time go to the quarantine.

        `times` are the `predicate_times` of the files; where they are not given they are looked up here.
        """
        if self._recipe.form != FILE:
            return list(files)
        if times is None:
            times = file_times(files, self._recipe.time_from)
        return in_order(files, times, self._reading.quarantine)

    def add(self, result: bytes | memoryview) -> Iterator[EventBatch]:
        """The events that are complete with the next result of `read_pieces`."""
        facts, arrays = unpacked(result)
        batch = from_columns(facts["batch"], arrays) if "batch" in facts else None
        if self._recipe.form in (QUADS, PATCH):
            self._count(facts)
            yield from self._decided(facts, batch)
            return
        name = facts["files"][0]
        if name == self._lost:
            return
        if batch is None:
            # A file that went away while it was read ends there: how many lines and triples are missing
            # is not known, so nothing behind them could be numbered.
            self._lost = name
        self._count(facts)
        yield from self._parts.add(facts, arrays, batch)

    def finish(self) -> Iterator[EventBatch]:
        """The events that wait for more."""
        yield from self._parts.finish()

    def _count(self, facts: Facts) -> None:
        lines, triples, skipped = facts["counts"]
        self.counts.lines += lines
        self.counts.triples += triples
        self.counts.skipped += skipped

    def _decided(self, facts: Facts, batch: EventBatch | None) -> Iterator[EventBatch]:
        """The events that have a time, stated in their own file or in one before."""
        if batch is None:
            _set_aside(_records(facts["records"]), self._reading.quarantine)
            return
        undecided = facts["undecided"]
        keep = np.ones(batch.events, np.bool_)
        for event in undecided:
            time = self.times.get(batch.event_graph[event])
            if time is None:
                keep[event] = False
            else:
                batch.event_time[event] = time
        records = _records(facts["records"])
        _set_aside(_without_times(batch, keep, records) if undecided else records, self._reading.quarantine)
        self.times.update(facts["stated"])
        batch = self._reading.kept(batch, keep)
        if batch.events:
            yield batch


def _without_times(batch: EventBatch, keep: NDArray[np.bool_], records: list[_Record]) -> list[_Record]:
    """The records without the lines of events that are kept."""
    order = {file: number for number, file in enumerate(dict.fromkeys(file for file, _ in batch.event_place))}
    begins = [(order[file], line) for file, line in batch.event_place]
    return [
        record
        for record in records
        if record.reason != TIMELESS or not keep[bisect_right(begins, (order[record.file], record.line)) - 1]
    ]


class _Triples:
    """Every `event_size` triples are an event, `interval` after the one before, wherever the file was cut."""

    def __init__(self, recipe: Recipe, quarantine: Quarantine) -> None:
        self._recipe = recipe
        self._quarantine = quarantine
        self._lines = 0
        self._events = 0
        # triples, each an event, and their lines, that are not numbered yet
        self._held: list[EventBatch] = []
        self._held_lines: list[NDArray[np.int64]] = []

    def add(self, facts: Facts, arrays: Arrays, batch: EventBatch | None) -> Iterator[EventBatch]:
        _set_aside(_records(facts["records"], self._lines), self._quarantine)
        if batch is not None:
            self._held.append(batch)
            self._held_lines.append(integers(facts["lines"], arrays, "lines") + self._lines)
        yield from self._numbered(facts["files"][0], is_last=facts["last"] or batch is None)
        _set_aside(_records(facts["about"], self._lines), self._quarantine)
        self._lines += facts["counts"][0]

    def finish(self) -> Iterator[EventBatch]:
        self._lines = self._events = 0
        yield from ()

    def _numbered(self, name: str, *, is_last: bool) -> Iterator[EventBatch]:
        """The held triples as events, except those of an event that goes on."""
        size = self._recipe.event_size
        triples = sum(batch.events for batch in self._held)
        whole = triples if is_last else triples // size * size
        if whole == 0:
            return
        held, lines = concatenate(self._held), np.concatenate(self._held_lines)
        self._held, self._held_lines = [], []
        if whole < triples:
            # in columns and back, so that what is held has no text but its own
            self._held = [from_columns(*to_columns(held.slice(whole, triples)))]
            self._held_lines = [lines[whole:]]
        bounds = np.append(np.arange(0, whole, size), whole)
        numbers = self._events + np.arange(len(bounds) - 1, dtype=np.int64)
        self._events += len(numbers)
        batch = held.slice(0, whole)
        yield replace(
            batch,
            event_time=self._recipe.start + numbers * self._recipe.interval,
            event_first=batch.event_first[bounds],
            event_size=np.diff(bounds),
            event_place=list(zip(repeat(name), lines[bounds[:-1]].tolist())),
        )


class _Files:
    """Each file is an event, wherever it was cut.

    Files wait until there are as many as `FileReader` scans together, which decides where the bad lines of
    one come between those of others.
    """

    def __init__(self, recipe: Recipe, quarantine: Quarantine) -> None:
        self._quarantine = quarantine
        # of the files that are being read
        self._read: list[EventBatch] = []
        self._read_records: list[_Record] = []
        self._read_size = 0
        self._lines = 0
        # of those that were read and wait
        self._waiting: list[EventBatch] = []
        self._waiting_records: list[_Record] = []
        self._waiting_size = 0

    def add(self, facts: Facts, arrays: Arrays, batch: EventBatch | None) -> Iterator[EventBatch]:
        about = _records(facts["about"], self._lines)
        if batch is not None:
            self._read.append(batch)
            self._read_records += _records(facts["records"], self._lines)
            self._read_size += sum(facts["sizes"])
            self._lines += facts["counts"][0]
            if not facts["last"]:
                return
        elif not self._read:
            _set_aside(about, self._quarantine)
            return
        whole = self._read[0] if len(self._read) == 1 else _one_event(self._read)
        sizes = facts["sizes"] if len(facts["files"]) > 1 else [self._read_size]
        records = self._read_records
        self._read, self._read_records, self._read_size, self._lines = [], [], 0, 0
        yield from self._wait(facts["files"], sizes, whole, about, records)

    def finish(self) -> Iterator[EventBatch]:
        _set_aside(self._waiting_records, self._quarantine)
        waiting = self._waiting
        self._waiting, self._waiting_records, self._waiting_size = [], [], 0
        yield from waiting

    def _wait(
        self, names: list[str], sizes: list[int], batch: EventBatch, about: list[_Record], records: list[_Record]
    ) -> Iterator[EventBatch]:
        """Let files wait, after those that must not wait for them; `batch` has one event of each."""
        about_file, bad_lines = _by_file(about), _by_file(records)
        begin = 0
        for index, (name, size) in enumerate(zip(names, sizes, strict=True)):
            _set_aside(about_file.get(name, ()), self._quarantine)
            if (self._waiting or index > begin) and self._waiting_size + size > BATCH_BYTES:
                if index > begin:
                    self._waiting.append(batch.slice(begin, index))
                yield from self.finish()
                begin = index
            self._waiting_records += bad_lines.get(name, ())
            self._waiting_size += size
        self._waiting.append(batch.slice(begin, len(names)))


def _records(sent: Iterable[Sequence[Any]], lines_before: int = 0) -> list[_Record]:
    """Records as they were sent; line 0 is the whole file."""
    records = [_Record(*fields) for fields in sent]
    if lines_before == 0:
        return records
    return [record._replace(line=record.line + lines_before) if record.line else record for record in records]


def _by_file(records: Iterable[_Record]) -> dict[str, list[_Record]]:
    found: dict[str, list[_Record]] = {}
    for record in records:
        found.setdefault(record.file, []).append(record)
    return found


def _set_aside(records: Iterable[_Record], quarantine: Quarantine) -> None:
    for file, line, reason, text, column in records:
        quarantine.add(file, line, reason, text, column=column)


def _one_event(parts: list[EventBatch]) -> EventBatch:
    """The parts of an event as one batch."""
    batch = concatenate(parts)
    return replace(
        batch,
        event_time=batch.event_time[:1],
        event_first=batch.event_first[[0, -1]],
        event_size=batch.event_size.sum(keepdims=True),
        event_place=batch.event_place[:1],
    )
