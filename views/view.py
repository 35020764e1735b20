"""The vertically partitioned views of one window, shared by all queries that read it.

Logically there is one view per predicate: a bidirectional multimap of (subject, object) with
validity. Physically all views of a window are slices of one table, so that a kernel can move from
one predicate to another without leaving it: an index by (predicate, subject) and one by
(predicate, object) are what a pair of multimaps per predicate would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.views.kernels.apply import (
    DELETED,
    ENTERED,
    NEVER,
    LogColumns,
    Timelist,
    ViewColumns,
    apply_events,
    arrival_times,
    vacuum,
)
from spectra.views.kernels.index import grown_index, new_index
from spectra.views.kernels.lookup import find_rows
from spectra.views.kernels.relink import link_rows

SUBJECT, PREDICATE, OBJECT = 1, 2, 4
WHOLE = SUBJECT | PREDICATE | OBJECT

_SMALL = ("subject", "predicate", "object", "born", "gone", "history")
_ENDS = ("valid_from", "valid_to")


@dataclass(slots=True)
class Log:
    """What a batch changed in a window, in order."""

    columns: LogColumns
    entries: int

    @property
    def at(self) -> NDArray[np.int64]:
        return self.columns.at[: self.entries]

    @property
    def kind(self) -> NDArray[np.int8]:
        return self.columns.kind[: self.entries]

    @property
    def row(self) -> NDArray[np.int32]:
        return self.columns.row[: self.entries]


def _empty_log(room: int) -> Log:
    return Log(LogColumns(np.zeros(room, np.int64), np.zeros(room, np.int8), np.zeros(room, np.int32)), 0)


class WindowViews:
    """What one window holds, as columns with indexes, a timelist and a log of the last batch.

    `counting` is true for a count window, whose ends are numbers of events. `any_order`: ends do not grow with
    the times of arrival, so that the timelist is a heap.
    """

    def __init__(self, *, counting: bool = False, any_order: bool = False) -> None:
        self.counting = counting
        self._any_order = any_order
        self.live = 0
        self.deleted = 0  # triples that did not stay to their end
        self._masks = [WHOLE]
        self._rows = 0
        self.columns: ViewColumns
        self.timelist: Timelist
        self.log = _empty_log(1024)
        self._allocate(1024)

    def like(self) -> WindowViews:
        """Views of a window of the same kind that holds nothing."""
        return WindowViews(counting=self.counting, any_order=self._any_order)

    def _allocate(self, rows: int) -> None:
        """Make room for `rows` rows."""
        old_rows = self._rows
        slots = 1 << (4 * rows // 3).bit_length()

        if old_rows == 0:
            index = new_index(self._masks, rows, slots)
            previous: ViewColumns | None = None
        else:
            previous = self.columns
            index = grown_index(previous.subject, previous.predicate, previous.object, previous.lists, rows, slots)
        # What is read together lies together: a row is a part of one cache line, not six places in memory.
        small = np.zeros((rows, len(_SMALL)), np.int32)
        ends = np.full((rows, 2), NO_END, np.int64)
        columns: dict[str, NDArray[Any]] = {
            **{name: small[:, at] for at, name in enumerate(_SMALL)},
            **{name: ends[:, at] for at, name in enumerate(_ENDS)},
        }
        columns["history"][:] = -1
        if previous is not None:
            for name, column in columns.items():
                column[:old_rows] = getattr(previous, name)
        self.columns = ViewColumns(
            **columns,
            history_position=previous.history_position if previous else np.zeros(0, np.int32),
            history_end=previous.history_end if previous else np.zeros(0, np.int64),
            history_next=previous.history_next if previous else np.zeros(0, np.int32),
            lists=index,
        )
        bounds = np.array([0, 0, 0, self._any_order], np.int64) if previous is None else self.timelist.bounds
        free = np.empty(rows, np.int32)
        free_count = int(bounds[2])
        if previous is not None:
            free[:free_count] = self.timelist.free[:free_count]
        fresh = rows - old_rows
        free[free_count : free_count + fresh] = np.arange(rows - 1, old_rows - 1, -1, dtype=np.int32)
        bounds[2] = free_count + fresh
        mark = np.zeros(rows, np.int8)
        if previous is None:
            ring = (np.zeros(rows, np.int32), np.zeros(rows, np.int64))
            self.timelist = Timelist(*ring, bounds, free, mark, np.zeros(0, np.int32))
        else:
            self.timelist = self.timelist._replace(free=free, mark=mark)
        self._rows = rows

    def require(self, masks: Iterable[int]) -> None:
        """Add indexes by these sets of columns (bits SUBJECT, PREDICATE, OBJECT) for an operator to use.

        Between two batches only: rows that went are not put into new indexes.
        """
        missing = [mask for mask in dict.fromkeys(masks) if mask not in self._masks]
        if not missing:
            return
        self._masks += missing
        if self.live:
            index = new_index(self._masks, self._rows, self.columns.lists.heads.shape[1])
            link_rows(self.columns, index, self.rows())
            self.columns = self.columns._replace(lists=index)
        else:
            self._rows = 0
            self._allocate(1024)

    def index_of(self) -> NDArray[np.int64]:
        """For each set of bound columns the index to use: the largest one within that set, -1 for none."""
        best = np.full(8, -1, np.int64)
        for bound in range(8):
            for at, mask in enumerate(self._masks):
                if mask & bound == mask and (
                    best[bound] < 0 or bin(mask).count("1") > bin(self._masks[best[bound]]).count("1")
                ):
                    best[bound] = at
        return best

    def apply(
        self,
        triples: NDArray[np.int32],
        sign: NDArray[np.int8],
        event_first: NDArray[np.int64],
        event_time: NDArray[np.int64],
        event_position: NDArray[np.int64],
        event_end: NDArray[np.int64],
        horizon: int,
    ) -> Log:
        """Apply events (in time order) and let time pass to `horizon`; what changed, in order.

        The log and the rows that went stay readable until `vacuum`.
        """
        operations = len(sign)
        self._reserve(operations)
        entries, _ = apply_events(
            self.columns,
            self.log.columns,
            self.timelist,
            triples,
            sign,
            event_first,
            event_time,
            event_position,
            event_end,
            np.int64(horizon),
            self.counting,
        )
        self.log.entries = int(entries)
        kinds = self.log.kind
        self.live += int(np.count_nonzero(kinds > 0)) - int(np.count_nonzero(kinds < 0))
        self.deleted += int(np.count_nonzero(kinds == DELETED))
        return self.log

    def arrival_times(self, triples: NDArray[np.int32]) -> NDArray[np.int64]:
        """When each of the triples arrived, `NO_END` for those that are not there."""
        times = np.full(len(triples), NO_END, np.int64)
        arrival_times(self.columns, np.ascontiguousarray(triples), times)
        return times

    def fill_static(self, triples: NDArray[np.int32]) -> None:
        """Put triples into these views for ever, as one event at time 0."""
        self.apply(
            triples,
            np.ones(len(triples), np.int8),
            np.array([0, len(triples)], np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.full(1, FOREVER, np.int64),
            0,
        )

    def fill(self, triples: NDArray[np.int32], valid_from: NDArray[np.int64], valid_to: NDArray[np.int64]) -> None:
        """Put the rows of a saved window into this empty one; its log then says that they entered.

        They enter before all time, so that nothing of them expires, and in the order of their ends, which
        the timelist keeps.
        """
        order = np.argsort(valid_to, kind="stable")
        ends, first = np.unique(valid_to[order], return_index=True)
        before = np.full(len(ends), NO_END, np.int64)
        self.apply(
            triples[order],
            np.ones(len(order), np.int8),
            np.append(first, len(order)).astype(np.int64),
            before,
            before.copy(),
            ends,
            NO_END,
        )
        self.columns.valid_from[self.log.row] = valid_from[order]

    def replay(self) -> None:
        """Let the log say that all that is there has entered, before all time; until `vacuum`."""
        rows = self.rows()
        rows = rows[np.argsort(self.columns.valid_to[rows], kind="stable")]
        if len(self.log.columns.at) < len(rows):
            self.log = _empty_log(len(rows) + len(rows) // 2)
        self.log.entries = len(rows)
        self.log.at[:], self.log.kind[:], self.log.row[:] = NO_END, ENTERED, rows
        self.columns.born[rows] = np.arange(1, len(rows) + 1)

    def _reserve(self, operations: int) -> None:
        """Room for the worst case of a batch, so that the kernel never runs out."""
        free = int(self.timelist.bounds[2])
        if free < operations:
            needed = self._rows - free + operations
            self._allocate(needed + needed // 8)
        first, last = self.timelist.bounds[0], self.timelist.bounds[1]
        if last - first + operations > len(self.timelist.rows):
            size = len(self.timelist.rows)
            while last - first + operations > size:
                size *= 2
            held = np.arange(first, last) & (len(self.timelist.rows) - 1)
            ring_rows, ring_ends = np.zeros(size, np.int32), np.zeros(size, np.int64)
            ring_rows[: last - first] = self.timelist.rows[held]
            ring_ends[: last - first] = self.timelist.ends[held]
            self.timelist.bounds[0], self.timelist.bounds[1] = 0, last - first
            self.timelist = self.timelist._replace(rows=ring_rows, ends=ring_ends)
        if len(self.timelist.touched) < 2 * operations:
            room = max(1024, 4 * operations)
            self.timelist = self.timelist._replace(touched=np.zeros(room, np.int32))
            self.columns = self.columns._replace(
                history_position=np.zeros(room, np.int32),
                history_end=np.zeros(room, np.int64),
                history_next=np.zeros(room, np.int32),
            )
        most = self.live + 3 * operations
        if len(self.log.columns.at) < most:
            self.log = _empty_log(most + most // 2)

    def vacuum(self) -> NDArray[np.int32]:
        """Forget the last batch; the terms of the triples that went, three for each."""
        removed = int(np.count_nonzero(self.log.kind < 0))
        released = np.empty(3 * removed, np.int32)
        vacuum(self.columns, self.log.columns, self.timelist, self.log.entries, released)
        self.log.entries = 0
        return released

    def entered_terms(self) -> NDArray[np.int32]:
        """The terms of the triples that came in the last batch, three for each."""
        rows = self.log.row[self.log.kind > 0]
        columns = self.columns
        return np.concatenate((columns.subject[rows], columns.predicate[rows], columns.object[rows]))

    def find(self, triples: NDArray[np.int32]) -> NDArray[np.int64]:
        """The rows that hold these triples now, -1 where there is none."""
        rows = np.empty(len(triples), np.int64)
        find_rows(self.columns, np.ascontiguousarray(triples), rows)
        return rows

    def rows(self) -> NDArray[np.int64]:
        """The rows that are there now, in no particular order."""
        return np.flatnonzero(self.columns.gone == NEVER)

    @property
    def latest_end(self) -> int:
        """The greatest end of validity of anything held that has one, `NO_END` where nothing has."""
        ends = self.columns.valid_to[self.rows()]
        return int(ends[ends < FOREVER].max(initial=NO_END))

    @property
    def nbytes(self) -> int:
        """Bytes of all columns, indexes and lists."""
        arrays: list[NDArray[np.generic]] = [*self.columns[:-1], *self.columns.lists, *self.timelist]
        return sum(array.nbytes for array in arrays)
