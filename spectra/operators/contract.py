"""What operators exchange, and what an operator is.

A *delta* says that at an instant a row entered (+1) or left (-1) a bag of solutions, and until when
the row holds if nothing else arrives. Operators are linear where they can be: a row whose end moves
leaves with the old end and enters with the new one, at the same instant, and the report at the top
cancels what did not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spectra.operators.kernels.output import OutputColumns
from spectra.operators.kernels.time_order import merge_in_time_order

#: Id of "no value" in a row.
UNBOUND = 0


@dataclass(slots=True)
class Deltas:
    """Signed rows in time order: one column per variable, term ids, `UNBOUND` for none."""

    at: NDArray[np.int64]
    sign: NDArray[np.int8]
    until: NDArray[np.int64]
    rows: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.at)

    @classmethod
    def empty(cls, width: int) -> Deltas:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int8), np.zeros(0, np.int64), np.zeros((0, width), np.int32))

    @classmethod
    def entering(cls, at: int, until: NDArray[np.int64] | int, rows: NDArray[np.int32]) -> Deltas:
        """Rows that all enter at one instant."""
        count = len(rows)
        return cls(
            np.full(count, at, np.int64),
            np.ones(count, np.int8),
            np.broadcast_to(np.asarray(until, np.int64), (count,)).copy(),
            np.ascontiguousarray(rows, np.int32),
        )

    @classmethod
    def written(cls, out: OutputColumns, count: int) -> Deltas:
        """The first deltas that a kernel wrote, as copies."""
        return cls(out.at[:count].copy(), out.sign[:count].copy(), out.until[:count].copy(), out.rows[:count].copy())

    @classmethod
    def concatenate(cls, parts: Sequence[Deltas]) -> Deltas:
        """The parts in time order; at one instant, those of the first part come first."""
        told = [part for part in parts if len(part)] or parts[:1]
        while len(told) > 1 and any(part.at[-1] > after.at[0] for part, after in pairwise(told)):
            told = [told[i].merged(told[i + 1]) if i + 1 < len(told) else told[i] for i in range(0, len(told), 2)]
        if len(told) == 1:
            return told[0]
        return cls(
            np.concatenate([part.at for part in told]),
            np.concatenate([part.sign for part in told]),
            np.concatenate([part.until for part in told]),
            np.concatenate([part.rows for part in told]),
        )

    def merged(self, other: Deltas) -> Deltas:
        """These and others in time order."""
        count, width = len(self) + len(other), self.rows.shape[1]
        together = Deltas(
            np.empty(count, np.int64),
            np.empty(count, np.int8),
            np.empty(count, np.int64),
            np.empty((count, width), np.int32),
        )
        merge_in_time_order(self._columns, other._columns, together._columns)
        return together

    @property
    def _columns(self) -> OutputColumns:
        return OutputColumns(self.at, self.sign, self.until, np.ascontiguousarray(self.rows))

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> Deltas:
        """The deltas at these positions."""
        return Deltas(self.at[chosen], self.sign[chosen], self.until[chosen], self.rows[chosen])


class Operator(Protocol):
    """A physical operator of one query.

    `process` is called once per batch, after the views of the batch are applied; it returns the
    deltas of all instants of the batch, in time order. `initial` returns, once, what holds before
    any triple has come (VALUES, static data, zero-length paths of a constant).
    """

    @property
    def variables(self) -> tuple[str, ...]:
        """Variables of its rows, in column order."""
        ...

    @property
    def counters(self) -> dict[str, int]:
        """What it has done so far: probes, rows, … for EXPLAIN ANALYZE and for tests of complexity."""
        ...

    def initial(self, at: int) -> Deltas: ...

    def process(self) -> Deltas: ...

    def current(self, at: int) -> Deltas:
        """What holds now, as rows that enter at `at`."""
        ...

    @property
    def nbytes(self) -> int: ...
