"""PATTERN by re-evaluation: the baseline that incremental operators are measured against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectra.operators.contract import Deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.recompute import EVALUATIONS, rejoin_log
from spectra.operators.kernels.rows import new_table, with_room
from spectra.operators.pattern.comparisons import comparison_columns
from spectra.operators.pattern.tpjoin import (
    COUNTERS,
    EncodedPattern,
    columns_nbytes,
    constant_columns,
    pattern_columns,
    required_indexes,
)
from spectra.views.kernels.apply import ENTERED, LogColumns
from spectra.views.view import WindowViews


class Recompute:
    """Solutions of a basic graph pattern, as deltas: the joins of the whole window, done again at every instant.

    All that changed is told, asked for or not: nothing is known of a solution but that it is there. `lazy`: nothing
    is joined until every triple pattern has a row in its view.
    """

    def __init__(
        self,
        views: WindowViews,
        patterns: Sequence[EncodedPattern],
        projected: Sequence[str],
        *,
        lazy: bool = True,
    ) -> None:
        self.variables = tuple(projected)
        self._views = views
        self._lazy = lazy
        views.require([*required_indexes(patterns), *map(constant_columns, patterns)])
        self._pattern = pattern_columns(patterns, projected, comparison_columns())
        self._answer = new_table(len(projected), [])
        self._counts = np.zeros(EVALUATIONS + 1, np.int64)
        self._found = new_output(1024, len(projected))
        self._out = new_output(1024, len(projected))

    @property
    def counters(self) -> dict[str, int]:
        """What the automaton has done so far, and how often all was computed."""
        return dict(zip((*COUNTERS, "evaluations"), self._counts.tolist(), strict=True))

    def initial(self, at: int) -> Deltas:
        return Deltas.empty(len(self.variables))

    def process(self) -> Deltas:
        views = self._views
        self._pattern.index_of[:] = views.index_of()
        rows = len(views.columns.subject)
        driving = LogColumns(np.zeros(rows, np.int64), np.full(rows, ENTERED, np.int8), np.empty(rows, np.int32))
        parts = []
        first, last = 0, views.log.entries
        while first < last:
            seen = np.zeros(len(self._answer.copies), np.int64)
            following, written, held = rejoin_log(
                views.columns,
                views.log.columns,
                first,
                last,
                self._pattern,
                views.counting,
                self._lazy,
                driving,
                self._found,
                self._answer,
                seen,
                self._out,
                self._counts,
            )
            if written:
                parts.append(Deltas.written(self._out, int(written)))
            first = int(following)
            if first < last and (written == 0 or len(self._out.at) < 1 << 16):
                room = 4 * max(len(self._found.at), int(held))
                self._found = new_output(room, len(self.variables))
                self._out = new_output(2 * room, len(self.variables))
                self._answer = with_room(self._answer, room)
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    def current(self, at: int) -> Deltas:
        entries = np.flatnonzero(self._answer.copies)
        entries = np.repeat(entries, self._answer.copies[entries])
        return Deltas.entering(at, self._answer.until[entries], self._answer.rows[entries])

    @property
    def nbytes(self) -> int:
        room = (*self._answer, *self._found, *self._out)
        return columns_nbytes(self._pattern) + sum(array.nbytes for array in room)
