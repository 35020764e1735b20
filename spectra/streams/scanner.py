"""The scanner's owner: gives it room, and hands over what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.streams.distinct import DistinctTerms
from spectra.streams.kernels.statements import (
    B_BEGIN,
    B_END,
    B_LINE,
    B_POSITION,
    B_REASON,
    B_SEGMENT,
    BAD,
    BAD_WIDTH,
    DONE,
    E_FIRST,
    EVENT_WIDTH,
    EVENTS,
    LINE,
    LINES,
    POSITION,
    ROOM_BAD,
    ROOM_EVENTS,
    ROOM_ROWS,
    ROOM_TEXT,
    ROWS,
    SIDE,
    SKIPPED,
    STATE_WIDTH,
    TIME_WIDTH,
    TIMES,
    TRIPLES,
    Tables,
    Text,
    scan,
)
from spectra.streams.reasons import REASONS
from spectra.views.summary import Summary


class Segment(NamedTuple):
    """Text of one file: where it ends in the buffer, its blank node scope, and how many lines came before."""

    end: int
    scope: bytes = b""
    first_line: int = 0


class BadLine(NamedTuple):
    segment: int
    line: int
    column: int
    reason: str
    text: bytes


@dataclass(slots=True)
class Scan:
    """What a piece of text holds.

    `text` is the piece with the canonical forms behind it, `tables` the rows, events and time statements
    found in it, whose columns `spectra.streams.kernels.statements` names. A piece that does not end its
    file is scanned up to `position`, the end of its last whole event, `line` lines into the file.
    """

    text: NDArray[np.uint8]
    tables: Tables
    position: int
    line: int
    lines: int
    skipped: int

    def bad_lines(self) -> list[BadLine]:
        found = []
        for row in self.tables.bad.tolist():
            before = self.octets(row[B_BEGIN], row[B_POSITION])
            found.append(
                BadLine(
                    segment=row[B_SEGMENT],
                    line=row[B_LINE],
                    column=len(before.decode(errors="replace")) + 1,
                    reason=REASONS[row[B_REASON]],
                    text=self.octets(row[B_BEGIN], row[B_END]),
                )
            )
        return found

    def octets(self, begin: int, end: int) -> bytes:
        return self.text[begin:end].tobytes()

    def span(self, begin: int, length: int) -> str:
        return self.octets(begin, begin + length).decode()


class Scanner:
    """Scans pieces of text of one form, keeping what a summary wants."""

    def __init__(
        self,
        form: int,
        summary: Summary,
        *,
        validate: bool = False,
        event_size: int = 1,
        time_predicate: str = "",
    ) -> None:
        """`form` is FILE, TRIPLES, QUADS or PATCH; `time_predicate` canonical text, "" for none."""
        self.form = form
        self._summary = summary
        self._validate = validate
        self._event_size = event_size
        self._time_predicate = np.frombuffer(time_predicate.encode(), np.uint8)

    def scan(self, buffer: NDArray[np.uint8], segments: Sequence[Segment], *, final: bool = True) -> Scan:
        """Scan the segments, which lie one behind the other from the start of `buffer` on.

        The buffer may be longer than they are: canonical forms are written behind the last of them.
        `final` says that the last segment ends its file; otherwise it must end with a line.
        """
        used = segments[-1].end if segments else 0
        text = Text(
            buffer=buffer,
            segment_end=np.array([segment.end for segment in segments], np.int64),
            first_line=np.array([segment.first_line for segment in segments], np.int64),
            scope=_scopes(segments),
            time_predicate=self._time_predicate,
            options=np.array([self.form, self._event_size, self._validate, final], np.int64),
        )
        tables = _room(used, len(segments), self.form)
        state = np.zeros(STATE_WIDTH, np.int64)
        state[SIDE] = used
        safe = state.copy()
        while (room := scan(text, self._summary.columns, tables, state, safe)) != DONE:
            if room == ROOM_TEXT:
                text = text._replace(buffer=_longer(text.buffer, int(state[SIDE])))
            else:
                tables = _more_room(tables, room)
        reached = state if final else safe
        rows, events = int(reached[ROWS]), int(reached[EVENTS])
        kept = Tables(
            start=tables.start[:rows],
            length=tables.length[:rows],
            tag=tables.tag[:rows],
            hashes=tables.hashes[:rows],
            sign=tables.sign[:rows],
            event=tables.event[:events],
            bad=tables.bad[: int(reached[BAD])],
            time=tables.time[: int(reached[TIMES])],
        )
        passing = self._summary.passing(kept.hashes, DistinctTerms(text.buffer, kept.start, kept.length, kept.hashes))
        if passing is not None:
            kept = _with_rows(kept, passing)
        return Scan(
            text=text.buffer[: int(reached[SIDE])],
            tables=kept,
            position=int(reached[POSITION]),
            line=int(reached[LINE]),
            lines=int(reached[LINES]),
            skipped=int(reached[SKIPPED]) + rows - len(kept.sign),
        )


def _with_rows(tables: Tables, rows: NDArray[np.bool_]) -> Tables:
    """These rows of the tables."""
    event = tables.event.copy()
    event[:, E_FIRST] = np.append(0, np.cumsum(rows))[event[:, E_FIRST]]
    return tables._replace(
        start=tables.start[rows],
        length=tables.length[rows],
        tag=tables.tag[rows],
        hashes=tables.hashes[rows],
        sign=tables.sign[rows],
        event=event,
    )


def _scopes(segments: Sequence[Segment]) -> NDArray[np.uint8]:
    """The scopes as rows; all have one length."""
    width = len(segments[0].scope) if segments else 0
    return np.frombuffer(b"".join(segment.scope for segment in segments), np.uint8).reshape(len(segments), width)


def _room(used: int, segments: int, form: int) -> Tables:
    """Tables for the statements that this many bytes are likely to hold."""
    rows = used // 64 + 16
    return Tables(
        start=np.empty((rows, 3), np.int64),
        length=np.empty((rows, 3), np.int32),
        tag=np.empty((rows, 3), np.int32),
        hashes=np.empty((rows, 3), np.int64),
        sign=np.empty(rows, np.int8),
        event=np.empty((segments + (rows if form == TRIPLES else 16), EVENT_WIDTH), np.int64),
        bad=np.empty((16, BAD_WIDTH), np.int64),
        time=np.empty((16, TIME_WIDTH), np.int64),
    )


def _more_room(tables: Tables, room: int) -> Tables:
    if room == ROOM_ROWS:
        return tables._replace(
            start=_twice(tables.start),
            length=_twice(tables.length),
            tag=_twice(tables.tag),
            hashes=_twice(tables.hashes),
            sign=_twice(tables.sign),
        )
    if room == ROOM_EVENTS:
        return tables._replace(event=_twice(tables.event))
    if room == ROOM_BAD:
        return tables._replace(bad=_twice(tables.bad))
    return tables._replace(time=_twice(tables.time))


def _twice(column: np.ndarray) -> np.ndarray:
    more = np.empty((2 * len(column), *column.shape[1:]), column.dtype)
    more[: len(column)] = column
    return more


def _longer(buffer: NDArray[np.uint8], used: int) -> NDArray[np.uint8]:
    longer = np.empty(2 * len(buffer) + 4096, np.uint8)
    longer[:used] = buffer[:used]
    return longer
