"""One shard of a continuous query: portions of events in any order in, its part of the changes out.

What a shard tells does not depend on how events were spread over partitions and micro-batches: it
applies an instant when every stream has come past it (less the lateness of the query), with the events
of that instant in the order of their keys, and with the parts of an event put together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.changes import ChangeBatch
from spectra.checkpoint import State, restore, saved
from spectra.clock import NO_END
from spectra.engine import Engine
from spectra.packing import packed, unpacked
from spectra.sparql.query import Form
from spectra.streams.memory import concatenate
from spectra.streams.packed import from_columns, pack, to_columns, unpack
from spectra.views.batch import EventBatch


class Specification(NamedTuple):
    """What is needed to set up a shard anywhere; JSON, since it goes to another process."""

    text: str
    range: str | int | None
    step: str | int | None
    name: str | None
    static: dict[str, list[tuple[str, str, str]]]
    streams: tuple[str, ...]
    shards: int
    state_limit: int | None
    deleting: tuple[str, ...] = ()

    def dumps(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @classmethod
    def loads(cls, data: bytes) -> Specification:
        return cls(**json.loads(data))


# --- portions of events ---------------------------------------------------------------------


def pack_portion(batch: EventBatch, reached: int) -> bytes:
    """The events of one stream in one partition, and the time that the stream has reached there.

    `event_place` is the key of each event: a name and a number.
    """
    facts, arrays = to_columns(batch)
    return packed({**facts, "reached": reached}, arrays)


def unpack_portion(data: bytes) -> tuple[EventBatch, int]:
    """What `pack_portion` was given."""
    facts, arrays = unpacked(data)
    return from_columns(facts, arrays), facts["reached"]


def in_order(batches: Sequence[EventBatch]) -> EventBatch:
    """The events of all batches, which are of one stream, by time and key; parts of one event are one event.

    Within an event deletions come first, then by the terms: where a row stood does not matter.
    """
    batch = concatenate(batches)
    if not batch.events:
        return batch
    time, (name, number) = batch.event_time, _keys(batch)
    order = np.lexsort((number, name, time))
    time, name, number = time[order], name[order], number[order]
    begins = np.append(True, (np.diff(time) != 0) | (np.diff(name) != 0) | (np.diff(number) != 0))
    firsts = order[begins]
    event = np.empty(batch.events, np.int64)  # the new number of each old event
    event[order] = np.cumsum(begins) - 1
    event_of_row = np.repeat(event, np.diff(batch.event_first))
    sizes = np.bincount(event_of_row, minlength=len(firsts))
    if sizes.max(initial=0) > 1:
        subject, predicate, object_ = batch.hashes.T
        rows = np.lexsort((object_, predicate, subject, batch.sign, event_of_row))
    else:
        rows = np.argsort(event_of_row, kind="stable")
    return replace(
        batch.with_rows(rows),
        event_time=batch.event_time[firsts],
        event_first=np.append(0, np.cumsum(sizes)),
        event_size=np.bincount(event, weights=batch.event_size, minlength=len(firsts)).astype(np.int64),
        event_place=[batch.event_place[at] for at in firsts.tolist()],
    )


def _keys(batch: EventBatch) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(rank of the name, number) of each event."""
    names, numbers = zip(*batch.event_place, strict=True)
    rank = {name: at for at, name in enumerate(sorted(set(names)))}
    return (
        np.fromiter(map(rank.__getitem__, names), np.int64, len(names)),
        np.array(numbers, np.int64),
    )


# --- the shard ------------------------------------------------------------------------------


class Shard:
    """An engine with one shard of one query, and the events that wait for their instant to be over."""

    def __init__(self, specification: Specification, number: int) -> None:
        self._engine = Engine(state_limit=specification.state_limit, deleting=specification.deleting)
        query = self._engine.register(
            specification.text,
            range=specification.range,
            step=specification.step,
            name=specification.name,
            static=specification.static,
            shard=(number, specification.shards) if specification.shards > 1 else None,
        )
        self._lateness = max(window.spec.lateness for window in query.query.windows)
        self._reached = dict.fromkeys(specification.streams, NO_END)
        self._done = NO_END  # instants before it are over
        self._waiting: dict[str, bytes] = {}
        self.late = 0

    def apply(self, portions: Sequence[bytes]) -> list[ChangeBatch]:
        """Take the portions of one micro-batch; the changes of the instants that are over now."""
        arrived = {stream: [unpack(waiting)] for stream, waiting in self._waiting.items()}
        for portion in portions:
            batch, reached = unpack_portion(portion)
            self._reached[batch.stream] = max(self._reached[batch.stream], reached)
            arrived.setdefault(batch.stream, []).append(batch)
        over = min(self._reached.values())
        over = max(over - self._lateness, self._done) if over != NO_END else NO_END
        offered = []
        self._waiting = {}
        for stream, batches in arrived.items():
            batch = in_order(batches)
            late, ready = np.searchsorted(batch.event_time, (self._done, over)).tolist()
            self.late += late
            if ready > late:
                offered.append(batch.slice(late, ready))
            if ready < batch.events:
                self._waiting[stream] = pack(batch.slice(ready, batch.events))
        if over == self._done:
            return []
        self._done = over
        told = self._engine.offer(offered, complete=False) if offered else []
        return told + self._engine.pass_time(over - 1 + self._lateness)

    def saved(self) -> bytes:
        """All that the shard knows."""
        state = saved(self._engine)
        own = {"reached": self._reached, "done": self._done, "late": self.late, "waiting": list(self._waiting)}
        waiting = {f"waiting.{at}": np.frombuffer(data, np.uint8) for at, data in enumerate(self._waiting.values())}
        return packed({"engine": state.facts, "shard": own}, state.arrays | waiting)

    def restore(self, data: bytes) -> None:
        """Bring a shard that has just been set up to a saved state."""
        facts, views = unpacked(data)
        # kernels write to some of them, and are compiled for arrays that may be written
        arrays = {name: array.copy() for name, array in views.items()}
        own = facts["shard"]
        self._reached, self._done, self.late = own["reached"], own["done"], own["late"]
        self._waiting = {stream: arrays.pop(f"waiting.{at}").tobytes() for at, stream in enumerate(own["waiting"])}
        restore(self._engine, State(facts["engine"], arrays))


# --- changes --------------------------------------------------------------------------------


def pack_changes(batch: ChangeBatch) -> bytes:
    """The changes as bytes, each term once."""
    texts = [text.encode() for text in batch.terms]
    arrays: dict[str, NDArray[Any]] = {
        "at": batch.at,
        "op": batch.op,
        "until": batch.until,
        "codes": batch.codes,
        "text": np.frombuffer(b"".join(texts), np.uint8),
        "length": np.fromiter(map(len, texts), np.int32, len(texts)),
    }
    if batch.boolean is not None:
        arrays["boolean"] = batch.boolean
    return packed({"query": batch.query, "form": batch.form.value, "variables": batch.variables}, arrays)


class PackedChanges(NamedTuple):
    """A `ChangeBatch` whose terms are spans of one text, as `pack_changes` had it."""

    query: str
    form: Form
    variables: tuple[str, ...]
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, data: bytes) -> PackedChanges:
        facts, arrays = unpacked(data)
        return cls(facts["query"], Form(facts["form"]), tuple(facts["variables"]), arrays)
