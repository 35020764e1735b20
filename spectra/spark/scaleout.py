"""A query in shards on Spark: rows to packed portions, portions to shards, packed changes to rows.

Rows are dear where they cross between Spark and Python, so each partition's events become one binary value
per shard before the stateful operator, and changes are spread out to rows behind it.

What Spark keeps of a shard is its version, the portions of each batch since the last saved state, and that state,
renewed when the portions outgrow it. The shard itself lives in a resident process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spectra.checkpoint import FORMAT_VERSION
from spectra.clock import FOREVER
from spectra.dictionary.terms import canonical
from spectra.errors import QueryError, StreamError
from spectra.spark.resident import History, Resident, framed
from spectra.spark.shard import PackedChanges, pack_portion
from spectra.sparql.query import Form
from spectra.streams.kernels.statements import TRIPLES
from spectra.streams.scanner import Scanner, Segment
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

if TYPE_CHECKING:
    import pyarrow

    from spectra.planner.division import Division

#: Portions of a partition; `bad` counts the rows that were set aside.
PORTIONS = "shard int, portion binary, bad bigint"

#: What the stateful operator gives; `late` counts the events of this batch that came too late.
TOLD = "changes binary, late bigint"

#: So many bytes of portions are kept before the first state is saved.
_LEAST_BASE = 1 << 20
_ROWS_AT_ONCE = 1 << 16
_XSD_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"
_KEY = r"^(?P<name>.*)#(?P<number>0|[1-9][0-9]{0,8})$"


# --- keys -----------------------------------------------------------------------------------


def shard_keys(shards: int, partitions: int) -> list[int]:
    """A key for each shard, such that Spark's hash partitioning spreads the shards over the partitions evenly."""
    keys: list[int] = []
    for shard in range(shards):
        key = 0
        while _spark_hash(key) % partitions != shard % partitions or key in keys:
            key += 1
        keys.append(key)
    return keys


def _spark_hash(key: int) -> int:
    """What Spark SQL's `hash` gives for an int: MurmurHash3 (32 bits, seed 42) of its four bytes."""
    mask = 0xFFFFFFFF

    def turned(bits: int, by: int) -> int:
        return (bits << by | bits >> (32 - by)) & mask

    block = turned(key * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    mixed = (turned(42 ^ block, 13) * 5 + 0xE6546B64 & mask) ^ 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ mixed >> shift) * factor & mask
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


# --- rows to portions -----------------------------------------------------------------------


@dataclass(frozen=True)
class Packer:
    """Packs the rows of a partition into one portion per shard.

    The rows have the columns `time` (milliseconds), `known` (whether there is an event at all), `deleted` (null:
    neither + nor -), `event`, `subject`, `predicate` and `object`; rows that no query can use may have lost their
    terms. With `every_event`, all events go to all shards; otherwise those that a shard can use, and the first.
    """

    stream: str
    division: Division
    keys: tuple[int, ...]
    every_event: bool

    def __call__(self, batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        read = list(batches)
        table = pa.Table.from_batches(read) if read else None
        if table is None or not len(table):
            return
        events = _Events(table, self.stream)
        portions = []
        for shard in range(len(self.keys)):
            usable = self.division.usable(self.stream, events.batch.hashes, shard, len(self.keys))
            portions.append(pack_portion(self._part(events.batch, usable), events.reached))
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(self.keys, pa.int32()),
                pa.array(portions, pa.binary()),
                pa.array([events.bad, *[0] * (len(self.keys) - 1)], pa.int64()),
            ],
            ["shard", "portion", "bad"],
        )

    def _part(self, batch: EventBatch, usable: NDArray[np.bool_]) -> EventBatch:
        """The events with the triples that are usable."""
        first = np.append(0, np.cumsum(usable))[batch.event_first]
        kept = np.ones(batch.events, np.bool_)
        if not self.every_event:
            kept = np.diff(first) > 0
            kept[:1] = True
        places = batch.event_place
        return replace(
            batch.with_rows(usable),
            event_time=batch.event_time[kept],
            # events that are left out have no rows, so those before end where those behind them begin
            event_first=np.append(first[:-1][kept], first[-1]),
            event_size=batch.event_size[kept],
            event_place=[places[at] for at in np.flatnonzero(kept).tolist()],
        )


class _Events:
    """The events of a table of rows in the order of their times: `batch`; the latest time; how many rows are bad."""

    def __init__(self, table: pyarrow.Table, stream: str) -> None:
        import pyarrow.compute as pc

        terms = _Terms([table.column(name).combine_chunks() for name in ("subject", "predicate", "object")])
        timed = _flags(table.column("time").is_valid())
        time = _integers(table.column("time"), 0)
        deleted = _integers(table.column("deleted"), -1)
        # no term at all is a row that says of its event only that there is one
        without = (terms.codes < 0).all(axis=1)
        good = timed & (deleted >= 0) & terms.good
        self.bad = int((~good & ~(timed & without & (deleted >= 0))).sum())
        self.reached = int(time[timed].max(initial=np.iinfo(np.int64).min))

        names, name, number = _event_keys(table.column("event"))
        rows = np.flatnonzero(timed & _flags(pc.fill_null(table.column("known"), True)))
        rows = rows[np.lexsort((deleted[rows] == 0, number[rows], name[rows], time[rows]))]
        time, name, number = time[rows], name[rows], number[rows]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = (np.diff(time) != 0) | (np.diff(name) != 0) | (np.diff(number) != 0)
        firsts = np.flatnonzero(begins)
        triples = good[rows]
        before = np.append(0, np.cumsum(triples))
        codes = terms.codes[rows[triples]]
        self.batch = EventBatch(
            stream=stream,
            text=terms.text,
            start=terms.start[codes],
            length=terms.length[codes],
            tag=terms.tag[codes],
            hashes=terms.hashes[codes],
            sign=np.where(deleted[rows[triples]] == 1, -1, 1).astype(np.int8),
            event_time=time[begins],
            event_first=before[np.append(firsts, len(rows))],
            event_size=np.diff(np.append(firsts, len(rows))),
            event_place=list(zip([names[at] for at in name[begins].tolist()], number[begins].tolist(), strict=True)),
        )


class _Terms:
    """The terms of three columns of texts: spans of one canonical text.

    `codes` has a row per triple, -1 where there is none; `good` says which rows are triples.
    """

    def __init__(self, columns: Sequence[pyarrow.Array]) -> None:
        import pyarrow as pa

        encoded = [column.dictionary_encode() for column in columns]
        before = np.cumsum([0, *(len(column.dictionary) for column in encoded)])
        self.codes = np.stack(
            [
                _integers(column.indices, -1 - int(first)) + int(first)
                for column, first in zip(encoded, before, strict=False)
            ],
            axis=1,
        )
        texts = pa.concat_arrays([column.dictionary.cast(pa.large_string()) for column in encoded])
        scanned = self._scan(texts)
        kind = np.zeros(len(texts), np.uint8)
        kind[scanned] = self.text[self.start[scanned]]
        of_row = np.where(self.codes >= 0, kind[self.codes] if len(kind) else 0, 0)
        literal, iri = ord('"'), ord("<")
        self.good = (of_row != 0).all(axis=1) & (of_row[:, 0] != literal) & (of_row[:, 1] == iri)

    def _scan(self, texts: pyarrow.Array) -> NDArray[np.bool_]:
        """Scan each text as the object of a triple; which of them are terms."""
        import pyarrow as pa
        import pyarrow.compute as pc

        broken = pc.match_substring_regex(texts, "[\n\r]")
        before, behind, nothing = (pa.scalar(part, pa.large_string()) for part in ("<u:> <u:> ", " .\n", ""))
        lines = pc.binary_join_element_wise(before, pc.if_else(broken, nothing, texts), behind, nothing)
        sizes = _integers(pc.binary_length(texts), 0)
        ends = np.cumsum(_integers(pc.binary_length(lines), 0))
        octets = np.frombuffer(lines.buffers()[2] or b"", np.uint8)[: ends[-1] if len(ends) else 0]
        buffer = np.empty(len(octets) + len(octets) // 8 + 1024, np.uint8)
        buffer[: len(octets)] = octets
        scan = Scanner(TRIPLES, Summary.everything()).scan(buffer, [Segment(len(octets))])
        row = np.searchsorted(ends, scan.tables.start[:, 0], side="right")
        self.text = scan.text
        self.start, self.length, self.tag, self.hashes = (
            _spread(column[:, 2], row, len(texts))
            for column in (scan.tables.start, scan.tables.length, scan.tables.tag, scan.tables.hashes)
        )
        found = np.zeros(len(texts), np.bool_)
        found[row] = True
        # a text of which the scanner did not take all as it stands has another canonical form, or more than a term
        whole = (self.length == sizes) & (self.start + self.length == ends - 3)
        for at in np.flatnonzero(found & ~whole).tolist():
            try:
                canonical(texts[at].as_py())
            except StreamError:
                found[at] = False
        return found


def _spread(values: NDArray[Any], rows: NDArray[np.int64], size: int) -> NDArray[Any]:
    spread = np.zeros(size, values.dtype)
    spread[rows] = values
    return spread


def _integers(column: Any, missing: int) -> NDArray[np.int64]:
    """A column of integers or truth values, with a number for null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values: NDArray[np.int64] = np.asarray(pc.fill_null(column.cast(pa.int64()), missing))
    return values


def _flags(column: Any) -> NDArray[np.bool_]:
    return _integers(column, 0).astype(np.bool_)


def _event_keys(column: pyarrow.ChunkedArray) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Keys of events as a name and a number: (names, position of each row's name, number).

    The number is what stands behind the last # of a key, -1 where nothing does.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    split = pc.extract_regex(column, _KEY)
    numbered = pc.is_valid(split)
    name = pc.fill_null(pc.if_else(numbered, pc.struct_field(split, "name"), column), "")
    number = pc.if_else(numbered, pc.struct_field(split, "number"), "-1").cast(pa.int64())
    encoded = pa.chunked_array([name] if isinstance(name, pa.Array) else name).combine_chunks().dictionary_encode()
    return encoded.dictionary.to_pylist(), _integers(encoded.indices, 0), _integers(number, -1)


# --- portions to changes --------------------------------------------------------------------


class ShardProcessor(StatefulProcessor):
    """Hands the portions of a batch to the shard's resident, and keeps in Spark's state what it is rebuilt from."""

    def __init__(self, specification: bytes, keys: tuple[int, ...], call: str) -> None:
        """`call` tells this query apart from others on the same executors."""
        self._specification = specification
        self._digest = blake2b(f"{FORMAT_VERSION} ".encode() + specification, digest_size=16).hexdigest()
        self._keys = keys
        self._call = call

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", "of string, version string, base bigint, chunks bigint, late bigint")
        self._base = handle.getValueState("base", "state binary")
        self._chunks = handle.getListState("chunks", "portions binary")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        """Rows of packed changes."""
        number = self._keys.index(key[0])
        of, version, base_size, chunks_size, late = self._head.get() or (self._digest, "", 0, 0, 0)
        if of != self._digest:
            raise QueryError(
                "the checkpoint is of another query, or was made by another version of Spectra",
                detail="The text of the query, its static data and the number of shards must be the same.",
                hint="Start from the beginning with an empty checkpoint folder.",
            )
        # partitions come in any order, and the same ones may come again in another
        chunk = framed(sorted(bytes(row.portion) for row in rows))
        after = blake2b(version.encode() + chunk, digest_size=16).hexdigest()
        resident = Resident(_resident_name(self._call, number), os.getppid())
        reply = resident.apply(version, after, chunk, lambda: self._history(number))
        chunks_size += len(chunk)
        base = resident.save(after) if chunks_size > max(base_size, _LEAST_BASE) else None
        if base is None:
            self._chunks.appendValue((chunk,))
        else:
            self._base.update((base,))
            self._chunks.clear()
            base_size, chunks_size = len(base), 0
        self._head.update((self._digest, after, base_size, chunks_size, reply.late))
        for at, changes in enumerate(reply.changes or [None]):
            yield Row(changes=changes, late=reply.late - late if at == 0 else 0)

    def _history(self, number: int) -> History:
        base = self._base.get()
        chunks = [bytes(portions) for (portions,) in self._chunks.get()]
        return History(self._specification, number, bytes(base[0]) if base else b"", chunks)

    def close(self) -> None:
        """Nothing is open."""


def _resident_name(call: str, number: int) -> str:
    from pyspark import TaskContext

    context = TaskContext.get()
    query = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
    return blake2b(f"{call} {query} {number} {os.getppid()}".encode(), digest_size=12).hexdigest()


# --- changes to rows ------------------------------------------------------------------------


def change_rows(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """Packed changes as rows of `spectra.spark.dataframes.CHANGES`."""
    for batch in batches:
        for value in batch.column("changes"):
            if value.is_valid:
                yield from _rows(PackedChanges.of(value.as_buffer()))


def _rows(changes: PackedChanges) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow as pa

    arrays = changes.arrays
    at, op, until, codes = (arrays[name] for name in ("at", "op", "until", "codes"))
    variables = changes.variables
    if changes.form is Form.ASK:
        variables, codes = ("boolean",), arrays["boolean"].astype(np.int32).reshape(-1, 1)
        terms = pa.array([f'"{value}"^^<{_XSD_BOOLEAN}>' for value in ("false", "true")])
    else:
        offsets = np.append(0, np.cumsum(arrays["length"], dtype=np.int64)).astype(np.int32)
        terms = pa.StringArray.from_buffers(
            len(arrays["length"]), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(arrays["text"]))
        )
        if changes.form is Form.CONSTRUCT:
            variables = ("subject", "predicate", "object", "graph")[: len(variables)]
    time = pa.timestamp("us", tz="UTC")
    ops = pa.array(["-", "=", "+"])
    paths = pa.list_(
        pa.struct([("from", pa.string()), ("to", pa.string()), ("edges", pa.list_(pa.list_(pa.string())))])
    )
    ends = (until < FOREVER) & (op >= 0) & (changes.form is not Form.ASK)
    for first in range(0, len(at), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        count = len(at[part])
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([changes.query]).take(pa.array(np.zeros(count, np.int32))),
                pa.array(at[part] * 1000).cast(time),
                ops.take(pa.array(op[part] + 1)),
                _bindings(variables, codes[part], terms),
                pa.array(np.where(ends[part], until[part], 0) * 1000, mask=~ends[part]).cast(time),
                pa.nulls(count, paths),
            ],
            ["query", "at", "op", "bindings", "until", "paths"],
        )


def _bindings(variables: tuple[str, ...], codes: NDArray[np.int32], terms: pyarrow.Array) -> pyarrow.MapArray:
    """A map from the bound variables to terms for each row of codes."""
    import pyarrow as pa

    bound = codes >= 0
    ends = np.append(0, np.cumsum(bound.sum(axis=1))).astype(np.int32)
    names = np.broadcast_to(np.arange(len(variables), dtype=np.int32), codes.shape)[bound]
    keys = pa.array(variables, pa.string()).take(pa.array(names))
    return pa.MapArray.from_arrays(pa.array(ends), keys, terms.take(pa.array(codes[bound])))
