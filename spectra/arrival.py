"""Several streams as one arrival: each keeps its own order, and none runs ahead of the others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spectra.views.batch import EventBatch


def arrival_order(batches: list[EventBatch]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(times of all events in the order of their arrival, the number of each one's batch).

    Between streams the one that is behind comes first.
    """
    times = np.concatenate([np.zeros(0, np.int64), *(batch.event_time for batch in batches)])
    owner = np.repeat(np.arange(len(batches)), [batch.events for batch in batches])
    if len(batches) > 1:
        reached = np.concatenate([np.maximum.accumulate(batch.event_time) for batch in batches])
        order = np.argsort(reached, kind="stable")
        times, owner = times[order], owner[order]
    return times, owner


def event_name(stream: str, number: int) -> str:
    """The graph name of an event that comes without one: after its stream, and its number there from 0."""
    return f"<urn:spectra:event:{stream}:{number}>" if stream else f"<urn:spectra:event:{number}>"


def merged(iterators: list[Iterator[EventBatch | None]]) -> Iterator[list[EventBatch] | None]:
    """Events of several streams up to the same time, portion by portion; None when all are idle."""
    waiting: dict[int, EventBatch] = {}
    open_ = set(range(len(iterators)))
    while open_ or waiting:
        for at in sorted(open_ - set(waiting)):
            try:
                batch = next(iterators[at])
            except StopIteration:
                open_.discard(at)
                continue
            if batch is not None and batch.events:
                waiting[at] = batch
        if not waiting:
            if open_:
                yield None
            continue
        # up to here every stream that is neither idle nor at its end has been read
        reached = min(int(batch.event_time.max()) for batch in waiting.values())
        portion = []
        for at, batch in list(waiting.items()):
            ready = int(np.searchsorted(np.maximum.accumulate(batch.event_time), reached, side="right"))
            if ready:
                portion.append(batch.slice(0, ready))
            del waiting[at]
            if ready < batch.events:
                waiting[at] = batch.slice(ready, batch.events)
        yield portion
