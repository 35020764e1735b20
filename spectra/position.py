"""How far the inputs of a run have been taken, so that another process can go on from there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from spectra.errors import QueryError
from spectra.streams.quarantine import Quarantine
from spectra.views.batch import EventBatch

#: By stream and file.
_PerFile = dict[str, dict[str, list[int]]]


class Position:
    """What was taken of each file of each stream: its events, and its lines that were set aside.

    Files are read again from their beginning, and what was taken before is left out. `growing` is for a
    watched folder: there a file may be gone, or come in another order; otherwise the events taken before
    are the first ones of the input, and anything else means that the input has changed.
    """

    def __init__(self, *, growing: bool = False, saved: dict[str, Any] | None = None) -> None:
        """`saved` is the `state` of the position to go on from."""
        self._growing = growing
        # events, and the line of the last one
        self._taken: _PerFile = _copied(saved["taken"]) if saved else {}
        # lines that were set aside
        self._aside: _PerFile = _copied(saved["aside"]) if saved else {}
        self._left_out = _copied(self._taken)

    def state(self) -> dict[str, Any]:
        """The position as JSON can hold it."""
        return {"taken": self._taken, "aside": self._aside}

    def took(self, batches: Iterable[EventBatch]) -> None:
        """Count the events of a portion."""
        for batch in batches:
            files = self._taken.setdefault(batch.stream, {})
            for file, places in groupby(_places(batch), key=lambda place: place[0]):
                lines = [line for _, line in places]
                count = files.setdefault(file, [0, 0])
                count[:] = count[0] + len(lines), lines[-1]

    def rest(self, batches: Iterable[EventBatch | None], stream: str = "") -> Iterator[EventBatch | None]:
        """The batches of a stream without the events that were taken before."""
        for batch in batches:
            if batch is None:
                yield None
                continue
            stream = batch.stream
            yield from self._not_taken(batch, self._left_out.get(stream, {}))
        self._check_complete(stream, self._left_out.get(stream, {}))

    def _not_taken(self, batch: EventBatch, left: dict[str, list[int]]) -> Iterator[EventBatch]:
        """The parts of a batch that are new; takes what is not off `left`."""
        at = 0
        for file, places in groupby(_places(batch), key=lambda place: place[0]):
            if not left:
                break
            lines = [line for _, line in places]
            count, last = left.get(file, (0, 0))
            dropped = min(count, len(lines))
            if dropped and dropped == count:
                if lines[dropped - 1] != last:
                    raise changed_input(batch.stream, file)
                del left[file]
            elif dropped:
                left[file][0] -= dropped
            if dropped < len(lines):
                self._check_complete(batch.stream, left)
                yield batch.slice(at + dropped, at + len(lines))
            at += len(lines)
        if at < batch.events:
            yield batch.slice(at, batch.events)

    def _check_complete(self, stream: str, left: dict[str, list[int]]) -> None:
        if left and not self._growing:
            raise changed_input(stream, next(iter(left)))

    def quarantine(self, stream: str, quarantine: Quarantine) -> Quarantine:
        """Takes the bad lines of a stream, and passes on those that were not set aside before."""
        aside = self._aside.setdefault(stream, {})
        return _Recorded(quarantine, aside, {file: count for file, (count,) in aside.items()})


class _Recorded(Quarantine):
    """Counts the lines of each file; the first ones are on record already."""

    def __init__(self, inner: Quarantine, aside: dict[str, list[int]], recorded: dict[str, int]) -> None:
        super().__init__()
        self._inner = inner
        self._aside = aside
        self._recorded = recorded

    def add(self, file: str, line: int, reason: str, text: str | bytes, *, column: int = 1) -> None:
        if self._recorded.get(file, 0):
            self._recorded[file] -= 1
            return
        self._aside.setdefault(file, [0])[0] += 1
        self._inner.add(file, line, reason, text, column=column)


def _places(batch: EventBatch) -> list[tuple[str, int]]:
    return batch.event_place or [("", 0)] * batch.events


def _copied(counts: _PerFile) -> _PerFile:
    return {stream: {file: list(count) for file, count in files.items()} for stream, files in counts.items()}


def changed_input(stream: str, file: str) -> QueryError:
    """What to say where the input is not the one of the checkpoint."""
    of_stream = f" of <{stream}>" if stream else ""
    return QueryError(
        f"the input{of_stream} has changed since the checkpoint",
        detail=f'The events taken before are no longer there: "{file}".' if file else None,
        hint="Start from the beginning with an empty folder for --checkpoint.",
    )
