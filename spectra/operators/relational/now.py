"""NOW(): the instant of the evaluation, beside solutions that are others at every evaluation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END, date_time
from spectra.operators.contract import Deltas, Operator
from spectra.operators.relational.join import HashJoin
from spectra.operators.relational.stateless import Values

_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
_NOTHING: NDArray[np.int64] = np.zeros(0, np.int64)

#: The evaluations of a batch that see any of the solutions that change so, of which there were so many before: the
#: last instant of the operators that each one sees, and its own time.
Instants = Callable[[Deltas, int], tuple[NDArray[np.int64], NDArray[np.int64]]]


def _none(deltas: Deltas, held: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return _NOTHING, _NOTHING


class Evaluated:
    """The evaluations of a batch; with `each`, every one sees nothing but its own instant."""

    def __init__(self, *, each: bool = False) -> None:
        self.each = each
        self.instants: Instants = _none

    def put(self, instants: Instants) -> None:
        """Note the evaluations of the next call of the operators."""
        self.instants = instants

    def clear(self) -> None:
        self.instants = _none


class Now:
    """The input's solutions with one more variable: the time of the evaluation as an `xsd:dateTime`.

    It is a join with a relation of one row, which changes with every evaluation that sees a solution. `ids` gives the
    ids of texts; `hold` is told which ids the row begins and ceases to have.
    """

    def __init__(
        self,
        source: Operator,
        variable: str,
        evaluated: Evaluated,
        ids: Callable[[list[str]], NDArray[np.int32]],
        hold: Callable[[NDArray[np.int32], NDArray[np.int32]], None],
    ) -> None:
        self.source = source
        self.counters = {"evaluations": 0}
        self._evaluated, self._ids, self._hold = evaluated, ids, hold
        self._join = HashJoin(source, Values((variable,), np.zeros((0, 1), np.int32)), frozenset())
        self.variables = self._join.variables
        self._held = 0
        self._row = np.zeros((0, 1), np.int32)
        #: The time of the last evaluation that saw a solution.
        self.time: int | None = None

    def initial(self, at: int) -> Deltas:
        return self._joined(self.source.initial(at), Deltas.empty(1))

    def process(self) -> Deltas:
        deltas = self.source.process()
        return self._joined(deltas, self._changes(*self._evaluated.instants(deltas, self._held)))

    def resume(self, time: int) -> None:
        """Go on from the time that the solutions had before."""
        at = np.array([NO_END], np.int64)
        self._joined(Deltas.empty(len(self.source.variables)), self._changes(at, np.array([time], np.int64)))

    def _joined(self, deltas: Deltas, times: Deltas) -> Deltas:
        self._held += int(deltas.sign.sum(dtype=np.int64))
        return self._join.joined(deltas, times)

    def _changes(self, at: NDArray[np.int64], time: NDArray[np.int64]) -> Deltas:
        """How the one row changes."""
        if not self._evaluated.each and len(time):
            # a second evaluation at one instant has the same time
            fresh = np.append(self.time != time[0], time[1:] != time[:-1])
            at, time = at[fresh], time[fresh]
        self.counters["evaluations"] += len(time)
        if not len(time):
            return Deltas.empty(1)
        rows = self._ids([_text(each) for each in time.tolist()]).reshape(-1, 1)
        if self._evaluated.each:
            gone, gone_at = rows, at + 1
        else:
            gone = np.concatenate((self._row, rows[:-1]))
            gone_at = at[len(at) - len(gone) :]
            self._row, self.time = rows[-1:], int(time[-1])
        self._hold(rows.ravel(), gone.ravel())
        until = np.full(len(rows), FOREVER, np.int64)
        entering = Deltas(at, np.ones(len(rows), np.int8), until, rows)
        leaving = Deltas(gone_at, np.full(len(gone), -1, np.int8), until[: len(gone)], gone)
        return Deltas.concatenate([entering, leaving])

    def current(self, at: int) -> Deltas:
        rows = self.source.current(at)
        time = np.repeat(self._ids([_text(at)]), len(rows))
        return Deltas(rows.at, rows.sign, rows.until, np.column_stack((rows.rows, time)))

    @property
    def nbytes(self) -> int:
        return self._join.nbytes


def _text(time: int) -> str:
    return f'"{date_time(time)}"^^<{_DATE_TIME}>'
