"""A stream on disk: what `spectra.read` gives and engines run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from spectra.clock import TimeLike, duration, milliseconds
from spectra.errors import QueryError, StreamError
from spectra.streams.files import InputFile, Inputs, PathLike
from spectra.streams.kernels.statements import FILE, PATCH, QUADS, TRIPLES
from spectra.streams.memory import concatenate
from spectra.streams.pieces import Recipe
from spectra.streams.quarantine import Quarantine
from spectra.streams.reading import BATCH_BYTES, Reader, Reading, fitting
from spectra.streams.watch import Watch
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

_PREDICATE = re.compile(r"predicate:<?([A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*)>?\Z")


def read(
    path: PathLike | Sequence[PathLike],
    *,
    stream: str = "",
    time_from: str = "name",
    event_size: int = 1,
    start: TimeLike = 0,
    interval: str | int = "PT1S",
) -> Source:
    """The stream of events that a folder, a glob or a file holds.

    Parameters
    ----------
    path
        A folder, a glob, a file, or several of them: `.nt`, `.nq`, `.rdfp`, each also with `.gz`.
    stream
        Its IRI; "" for the only stream of an engine.
    time_from
        Where a folder or glob of N-Triples files has its times: `name`, `mtime` or `predicate:<iri>`.
    event_size, start, interval
        Of one N-Triples file: how many triples are an event, the time of the first event, and
        from one to the next.
    """
    return Source(path, stream=stream, time_from=time_from, event_size=event_size, start=start, interval=interval)


class Source:
    """Events on disk; each call of `batches` reads them from the start.

    Attributes
    ----------
    stream : str
    lines, triples, skipped : int
        Of the latest reading so far: lines of all kinds, triples kept, triples that no query can use.
    """

    def __init__(
        self,
        path: PathLike | Sequence[PathLike],
        *,
        stream: str = "",
        time_from: str = "name",
        event_size: int = 1,
        start: TimeLike = 0,
        interval: str | int = "PT1S",
    ) -> None:
        self.stream = stream
        self.micro_batches = 0
        self._inputs = Inputs(path)
        self._time_from = _time_from(time_from)
        if event_size < 1:
            raise StreamError(f"event size out of range: {event_size}", hint="An event has at least one triple.")
        self._event_size = event_size
        self._start = milliseconds(start)
        self._interval = _interval(interval)
        self._reading = Reading(stream, Quarantine())
        only = self._inputs.only_file
        if only is not None and only.form == "nt" and self._time_from != "name":
            raise StreamError(
                f'times of one N-Triples file do not come from "{time_from}"',
                hint="Its events are numbered from start by interval. Or give the folder, or a glob.",
            )

    def __str__(self) -> str:
        return str(self._inputs)

    def __repr__(self) -> str:
        return f"Source({str(self)!r}, stream={self.stream!r})"

    @property
    def lines(self) -> int:
        return self._reading.counts.lines

    @property
    def triples(self) -> int:
        return self._reading.counts.triples

    @property
    def skipped(self) -> int:
        return self._reading.counts.skipped

    def files(self) -> list[InputFile]:
        """All files there are now, each input's in the order of their names."""
        return self._inputs.files()

    def watch(self) -> Watch:
        """Finds files as they are added."""
        if self._inputs.only_file is not None:
            raise StreamError(f'cannot follow one file: "{self}"', hint="Follow its folder, or a glob.")
        return Watch(self._inputs)

    def recipe(self, files: Sequence[InputFile], *, validate: bool = False) -> Recipe:
        """How `files`, the first ones of this source, and all that follow are read."""
        return self._recipe(self._inputs.form_of(files), validate)

    def _recipe(self, form: str, validate: bool) -> Recipe:
        triples = FILE if self._inputs.only_file is None else TRIPLES
        return Recipe(
            form={"nt": triples, "nq": QUADS, "rdfp": PATCH}[form],
            stream=self.stream,
            time_from=self._time_from,
            event_size=self._event_size,
            start=self._start,
            interval=self._interval,
            validate=validate,
        )

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
        """The events in the order of the input, as batches of whole events.

        A folder or glob of N-Triples files comes in the order of the event times, then names.

        Parameters
        ----------
        summary
            Which triples the batches hold.
        quarantine
            Takes the bad lines.
        validate
            Read every line to its end, also those that no query can use.
        follow
            Go on with files as they are added, for ever.
        idle
            Seconds without anything new after which a follower gets None.
        between
            Called between two looks of a follower; what it raises ends the reading.
        """
        groups: Iterable[list[InputFile] | None]
        if follow:
            groups = self.watch().groups(idle, between)
        else:
            files = self.files()
            self._inputs.form_of(files)
            groups = [files]
        self._reading = Reading(self.stream, quarantine)
        return self._batches(groups, self._reading, summary, validate)

    def _batches(
        self, groups: Iterable[list[InputFile] | None], reading: Reading, summary: Summary, validate: bool
    ) -> Iterator[EventBatch | None]:
        reader: Reader | None = None
        form = ""
        for group in groups:
            if group is None:
                yield None
                continue
            if reader is None:
                form = self._inputs.form_of(group)
                reader = self._reader(form, reading, summary, validate)
            yield from _packed(reader.batches(fitting(group, form, reading.quarantine)))

    def _reader(self, form: str, reading: Reading, summary: Summary, validate: bool) -> Reader:
        return self._recipe(form, validate).reader(reading, summary)


def _packed(batches: Iterable[EventBatch]) -> Iterator[EventBatch]:
    """The same events, small batches put together and empty ones left out."""
    held: list[EventBatch] = []
    size = 0
    for batch in batches:
        if not batch.events:
            continue
        if held and size + len(batch.text) > BATCH_BYTES:
            yield concatenate(held)
            held, size = [], 0
        held.append(batch)
        size += len(batch.text)
    if held:
        yield concatenate(held)


def _time_from(text: str) -> str:
    """`name`, `mtime`, or the canonical text of the predicate."""
    if text in ("name", "mtime"):
        return text
    found = _PREDICATE.match(text)
    if found is None:
        raise StreamError(f'unknown origin of times: "{text}"', hint="Times come from name, mtime or predicate:<iri>.")
    return f"<{found.group(1)}>"


def _interval(interval: str | int) -> int:
    try:
        length = duration(interval) if isinstance(interval, str) else int(interval)
    except QueryError as error:
        raise StreamError(error.message, hint=error.hint) from None
    if length < 0:
        raise StreamError(f"negative interval: {interval}", hint="Events come in the order of their times.")
    return length
