"""Files as rows of events, read on Spark's executors by the readers of the embedded engine."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import FILE, PATCH, QUADS
from spectra.streams.pieces import Recipe
from spectra.streams.quarantine import Quarantine
from spectra.streams.reading import Reading
from spectra.views.summary import Summary

if TYPE_CHECKING:
    import pyarrow

    from spectra.views.batch import EventBatch

#: Columns of events; `op` is + or -.
EVENTS = "time timestamp, event string, subject string, predicate string, object string, op string"

_LOCAL = "file:"


@dataclass(frozen=True)
class FileEvents:
    """Rows of `path`, `modified` (milliseconds) and perhaps `content` to rows of events.

    `recipe` says how N-Triples files are read; other forms go by their endings. Bad lines go to a file of their
    own for each file, in the folder `quarantine` (None: they are dropped).
    """

    recipe: Recipe
    quarantine: str | None

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            columns = batch.to_pydict()
            files = [self._named(*row) for row in zip(columns["path"], columns["modified"], strict=True)]
            contents = columns.get("content", [])
            content = {file.name: data for file, data in zip(files, contents, strict=False)}
            triples = [file for file in files if file.form == "nt"]
            if self.recipe.form == FILE and triples:  # many small ones are read at once
                yield from self._read(self.recipe, triples, content)
            for file in files:
                if file.form != "nt" or self.recipe.form != FILE:
                    form = {"nq": QUADS, "rdfp": PATCH}.get(file.form, self.recipe.form)
                    yield from self._read(replace(self.recipe, form=form), [file], content)

    def _named(self, path: str, modified: int) -> InputFile:
        if path.startswith(_LOCAL):
            name = f"/{path[len(_LOCAL) :].lstrip('/')}"
            return InputFile(name, Path(name))
        file = InputFile(path, Path(path))
        if self.recipe.time_from == "mtime":
            # what cannot be opened here has its time from the listing
            file = file._replace(path=Path(f"{modified}{file.ending}"))
        return file

    def _read(
        self, recipe: Recipe, files: list[InputFile], content: Mapping[str, bytes]
    ) -> Iterator[pyarrow.RecordBatch]:
        if content and recipe.time_from == "mtime":
            recipe = replace(recipe, time_from="name")
        aside = _Records()
        reading = Reading("", aside, content=content)
        count: Counter[str] = Counter()
        for events in recipe.reader(reading, Summary.everything()).batches(files):
            keys = []
            for name, _ in events.event_place:
                keys.append(f"{name}#{count[name]}")
                count[name] += 1
            if keys:
                yield _rows(events, keys)
        if self.quarantine is not None:
            for name, records in aside.by_file.items():
                _write(Path(self.quarantine), name, records)


class _Records(Quarantine):
    """Bad lines, kept."""

    def __init__(self) -> None:
        super().__init__()
        self.by_file: dict[str, list[dict[str, str | int]]] = {}

    def add(self, file: str, line: int, reason: str, text: str | bytes, *, column: int = 1) -> None:
        """Keep one line."""
        shown = text.decode(errors="replace") if isinstance(text, bytes) else text
        record: dict[str, str | int] = {"file": file, "line": line, "reason": reason, "text": shown}
        self.by_file.setdefault(file, []).append(record)


def _write(folder: Path, name: str, records: Sequence[dict[str, str | int]]) -> None:
    """Put the records in their place at once; a task that is tried again writes the same file again."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{blake2b(name.encode(errors='surrogateescape'), digest_size=16).hexdigest()}.jsonl"
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    unfinished.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
    )
    os.replace(unfinished, target)


def _rows(events: EventBatch, keys: list[str]) -> pyarrow.RecordBatch:
    """A row per triple, and one without terms for an event that has none; `keys` name the events.

    Where a block adds and deletes one triple, what it says last counts: rows have no order.
    """
    import pyarrow as pa

    sizes = np.diff(events.event_first)
    event = np.repeat(np.arange(events.events), sizes)
    triples = _last_said(events, event)
    event = event[triples]
    empty = np.flatnonzero(np.bincount(event, minlength=events.events) == 0)
    event = np.concatenate((event, empty))
    missing = np.arange(len(event)) >= len(triples)
    signs = np.concatenate((events.sign[triples], np.ones(len(empty), np.int8)))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(events.event_time[event] * 1000).cast(pa.timestamp("us", tz="UTC")),
            pa.array(keys, pa.string()).take(pa.array(event)),
            *(_texts(events, triples, column, missing) for column in range(3)),
            pa.array(["-", "+"]).take(pa.array((signs > 0).astype(np.int8))),
        ],
        ["time", "event", "subject", "predicate", "object", "op"],
    )


def _last_said(events: EventBatch, event: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that count: of equal triples in one event the last."""
    rows = np.arange(events.triples)
    if (events.sign > 0).all():
        return rows
    said = zip(event.tolist(), events.hashes.tolist(), strict=True)
    latest = {(at, *triple): row for row, (at, triple) in enumerate(said)}
    return np.array(sorted(latest.values()), np.int64)


def _texts(events: EventBatch, rows: NDArray[np.int64], column: int, missing: NDArray[np.bool_]) -> pyarrow.StringArray:
    """The canonical texts of one term of each triple; null behind them, where `missing`."""
    import pyarrow as pa

    length = events.length[rows, column].astype(np.int64)
    ends = np.append(0, np.cumsum(length))
    octets = np.repeat(events.start[rows, column] - ends[:-1], length) + np.arange(ends[-1])
    offsets = np.append(ends, np.full(missing.sum(), ends[-1]))
    buffers = [pa.py_buffer(part) for part in (offsets.astype(np.int32), events.text[octets])]
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), len(missing), [valid, *buffers])
