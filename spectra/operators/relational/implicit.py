"""Implicit windows: a solution once given stays when its triples expire, and goes when it is deleted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.operators.contract import Deltas
from spectra.operators.kernels.implicit import implicit_deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.rows import new_table, with_room
from spectra.operators.relational.distinct import Distinct
from spectra.operators.relational.stateless import distinct_rows


class Implicit:
    """Every solution that the input has had, less those that left before their time.

    The input's ends are exact: what leaves at its end has expired, what leaves before has been deleted. `hold` is told
    which term ids the solutions begin to hold, and which they no longer hold.
    """

    def __init__(self, source: Distinct, hold: Callable[[NDArray[np.int32], NDArray[np.int32]], None]) -> None:
        self.source = source
        self.variables = source.variables
        self._hold = hold
        self._given = new_table(len(self.variables), list(range(len(self.variables))))

    @property
    def counters(self) -> dict[str, int]:
        """Solutions that have been given and not taken back."""
        return {"rows": int(self._given.size[0])}

    def initial(self, at: int) -> Deltas:
        return self._kept(self.source.initial(at))

    def process(self) -> Deltas:
        return self._kept(self.source.process())

    def current(self, at: int) -> Deltas:
        return Deltas.entering(at, FOREVER, self._given.rows[self._given.copies > 0])

    def resume(self, given: NDArray[np.int32]) -> None:
        """Go on from the solutions that another process had given: these and no others."""
        nothing = np.zeros(0, np.int32)
        self._hold(nothing, self._given.rows[self._given.copies > 0].ravel())
        self._given = new_table(len(self.variables), list(range(len(self.variables))))
        self._apply(Deltas.entering(0, FOREVER, given))

    def _kept(self, deltas: Deltas) -> Deltas:
        """What changes in the solutions given; an instant at which an end only moves changes nothing."""
        if len(deltas) == 0:
            return deltas
        _, row_of = distinct_rows(deltas.rows)
        order = np.lexsort((deltas.sign, row_of, deltas.at))
        same = np.zeros(len(order), np.bool_)
        same[1:] = (row_of[order][1:] == row_of[order][:-1]) & (deltas.at[order][1:] == deltas.at[order][:-1])
        alone = order[~same & ~np.append(same[1:], False)]
        expired = (deltas.sign[alone] < 0) & (deltas.until[alone] <= deltas.at[alone])
        return self._apply(deltas.take(alone[~expired]))

    def _apply(self, deltas: Deltas) -> Deltas:
        self._given = with_room(self._given, int(np.count_nonzero(deltas.sign > 0)))
        out = new_output(len(deltas), len(self.variables))
        written = implicit_deltas(self._given, deltas.at, deltas.sign, deltas.rows, out)
        told = Deltas.written(out, int(written))
        self._hold(told.rows[told.sign > 0].ravel(), told.rows[told.sign < 0].ravel())
        return told

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + sum(array.nbytes for array in self._given)
