"""Distinct: each solution once, until its last copy leaves."""

from __future__ import annotations

import numpy as np

from spectra.errors import InternalError
from spectra.operators.contract import Deltas, Operator
from spectra.operators.kernels.distinct import Touched, distinct_deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.rows import new_table, with_room


class DistinctRows:
    """A bag of rows, and what changes in its set, where a row has the latest end of its copies."""

    def __init__(self, width: int) -> None:
        self._copies = new_table(width, list(range(width)), ordered=True)

    def __len__(self) -> int:
        return int(self._copies.size[0])

    def changes(self, deltas: Deltas) -> Deltas:
        """Change the bag; the changes of the set."""
        count, width = deltas.rows.shape
        if count == 0:
            return deltas
        self._copies = with_room(self._copies, int(np.count_nonzero(deltas.sign > 0)))
        slots = 1 << (2 * count - 1).bit_length()
        touched = Touched(np.empty((count, width), np.int32), np.empty(count, np.int64), np.zeros(slots, np.int32))
        out = new_output(2 * count, width)
        written, missing = distinct_deltas(
            self._copies, deltas.at, deltas.sign, deltas.until, deltas.rows, touched, out
        )
        if missing:
            raise InternalError("DISTINCT was told of a row that leaves and never came")
        return Deltas(out.at[:written], out.sign[:written], out.until[:written], out.rows[:written])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._copies)


class Distinct:
    """The set of the input's solutions."""

    def __init__(self, source: Operator) -> None:
        self.source = source
        self.variables = source.variables
        self._rows = DistinctRows(len(self.variables))

    @property
    def counters(self) -> dict[str, int]:
        return {"rows": len(self._rows)}

    def initial(self, at: int) -> Deltas:
        return self._rows.changes(self.source.initial(at))

    def process(self) -> Deltas:
        return self._rows.changes(self.source.process())

    def current(self, at: int) -> Deltas:
        return DistinctRows(len(self.variables)).changes(self.source.current(at))

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self._rows.nbytes
