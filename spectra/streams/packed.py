"""A batch of events as bytes: each term once, numbers as narrow as they are."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.packing import packed, unpacked
from spectra.streams.distinct import numbered
from spectra.views.batch import EventBatch

Facts = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

_TERMS = ("subject", "predicate", "object")


def pack(batch: EventBatch) -> bytes:
    """The bytes from which `unpack` gives the same events."""
    return packed(*to_columns(batch))


def unpack(data: bytes | bytearray | memoryview) -> EventBatch:
    """The events that `pack` was given; their text is another one, with each term once."""
    return from_columns(*unpacked(data))


def to_columns(batch: EventBatch) -> tuple[Facts, Arrays]:
    """What `from_columns` needs to give the same events."""
    facts: Facts = {"stream": batch.stream, "rows": batch.triples, "events": batch.events}
    arrays: Arrays = {}
    _put_terms(batch, facts, arrays)
    _put(facts, arrays, "sign", batch.sign)
    _put(facts, arrays, "time", batch.event_time)
    _put(facts, arrays, "first", batch.event_first)
    _put(facts, arrays, "size", batch.event_size)
    if batch.event_graph:
        _put_names(facts, arrays, "graph", batch.event_graph)
    if batch.event_place:
        _put_names(facts, arrays, "file", list(map(itemgetter(0), batch.event_place)))
        _put(facts, arrays, "line", np.fromiter(map(itemgetter(1), batch.event_place), np.int64, batch.events))
    return facts, arrays


def from_columns(facts: Facts, arrays: Arrays) -> EventBatch:
    """The batch that `to_columns` was given."""
    rows, events = facts["rows"], facts["events"]
    size = integers(facts["length"], arrays, "length")
    tag = integers(facts["tag"], arrays, "tag")
    ends = np.cumsum(size + tag)
    if len(ends) and ends[-1] != len(arrays["text"]):
        raise ValueError("a packed batch whose terms are not its text")
    codes = np.empty((rows, 3), np.intp)
    for column, name in enumerate(_TERMS):
        codes[:, column] = arrays[name]
    places = []
    if "file" in facts:
        lines = integers(facts["line"], arrays, "line").tolist()
        places = list(zip(_names(facts, arrays, "file"), lines, strict=True))
    batch = EventBatch(
        stream=facts["stream"],
        # writable, so that kernels are not compiled a second time for it
        text=arrays["text"].copy(),
        start=(ends - size - tag)[codes],
        length=size.astype(np.int32)[codes],
        tag=tag.astype(np.int32)[codes],
        hashes=arrays["hash"].astype(np.int64)[codes],
        sign=integers(facts["sign"], arrays, "sign").astype(np.int8),
        event_time=integers(facts["time"], arrays, "time"),
        event_first=integers(facts["first"], arrays, "first"),
        event_size=integers(facts["size"], arrays, "size"),
        event_graph=_names(facts, arrays, "graph") if "graph" in facts else [],
        event_place=places,
    )
    if not len(batch.sign) == rows or not events == batch.events == len(batch.event_size) == len(batch.event_first) - 1:
        raise ValueError("a packed batch whose columns differ in length")
    return batch


def _put_terms(batch: EventBatch, facts: Facts, arrays: Arrays) -> None:
    terms = numbered(batch.text, batch.start, batch.length, batch.tag, batch.hashes)
    arrays["text"] = terms.text
    arrays["hash"] = batch.hashes.reshape(-1)[terms.first]
    _put(facts, arrays, "length", batch.length.reshape(-1)[terms.first])
    _put(facts, arrays, "tag", batch.tag.reshape(-1)[terms.first])
    for column, name in enumerate(_TERMS):
        numbers = terms.codes[column::3]
        arrays[name] = numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))))


def _put_names(facts: Facts, arrays: Arrays, name: str, names: list[str]) -> None:
    """Each different name once, and its number wherever it occurs."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(names))}
    facts[f"{name} names"] = list(numbers)
    _put(facts, arrays, name, np.fromiter(map(numbers.__getitem__, names), np.int64, len(names)))


def _names(facts: Facts, arrays: Arrays, name: str) -> list[str]:
    names: list[str] = facts[f"{name} names"]
    if len(names) == 1:
        return names * int(facts[name][0])
    return [names[number] for number in integers(facts[name], arrays, name).tolist()]


def _put(facts: Facts, arrays: Arrays, name: str, values: NDArray[Any]) -> None:
    facts[name] = put_integers(values, arrays, name)


def put_integers(values: NDArray[Any], arrays: Arrays, name: str) -> list[int]:
    """What `integers` needs besides the array it finds under `name`; there is none for an arithmetic sequence.

    Differences that do not fit into 64 bits wrap around, and back.
    """
    if len(values) == 0:
        return [0, 0, 0]
    column = values.astype(np.int64)
    steps = np.diff(column)
    first, step = int(column[0]), int(steps[0]) if len(steps) else 0
    if (steps == step).all():
        return [len(column), first, step]
    low, least = int(column.min()), int(steps.min())
    of_values = np.min_scalar_type(int(column.max()) - low)
    of_steps = np.min_scalar_type(int(steps.max()) - least)
    if of_steps.itemsize < of_values.itemsize:
        arrays[name] = (steps - least).astype(of_steps)
        return [len(column), first, least, 1]
    arrays[name] = (column - low).astype(of_values)
    return [len(column), low, 0, 0]


def integers(fact: list[int], arrays: Arrays, name: str) -> NDArray[np.int64]:
    """The values that `put_integers` was given."""
    count, first, step, *kind = fact
    if not kind:
        return np.arange(count, dtype=np.int64) * step + first
    stored = arrays[name].astype(np.int64)
    if kind[0]:
        values = np.empty(count, np.int64)
        values[0] = first
        np.cumsum(stored + step, out=values[1:])
        values[1:] += first
        return values
    return stored + first
