"""Operators that look at one row at a time: projection, UNION, FILTER, BIND, VALUES, copies, a shard's part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.operators.contract import UNBOUND, Deltas, Operator


class Project:
    """The input's solutions with other columns; a variable that the input lacks is unbound."""

    def __init__(self, source: Operator, variables: Sequence[str]) -> None:
        self.source = source
        self.variables = tuple(variables)
        self.counters: dict[str, int] = {}
        self._columns = [source.variables.index(name) if name in source.variables else -1 for name in self.variables]

    def initial(self, at: int) -> Deltas:
        return self._project(self.source.initial(at))

    def process(self) -> Deltas:
        return self._project(self.source.process())

    def current(self, at: int) -> Deltas:
        return self._project(self.source.current(at))

    def _project(self, deltas: Deltas) -> Deltas:
        rows = np.full((len(deltas), len(self.variables)), UNBOUND, np.int32)
        for to, column in enumerate(self._columns):
            if column >= 0:
                rows[:, to] = deltas.rows[:, column]
        return Deltas(deltas.at, deltas.sign, deltas.until, rows)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


class Union:
    """The solutions of all inputs, duplicates kept."""

    def __init__(self, sources: Sequence[Operator]) -> None:
        self.variables = tuple(dict.fromkeys(name for source in sources for name in source.variables))
        self.counters: dict[str, int] = {}
        self.sources = [Project(source, self.variables) for source in sources]

    def initial(self, at: int) -> Deltas:
        return Deltas.concatenate([source.initial(at) for source in self.sources])

    def process(self) -> Deltas:
        return Deltas.concatenate([source.process() for source in self.sources])

    def current(self, at: int) -> Deltas:
        return Deltas.concatenate([source.current(at) for source in self.sources])

    @property
    def nbytes(self) -> int:
        return sum(source.nbytes for source in self.sources)


class Filter:
    """The input's solutions for which a condition holds.

    `condition` takes the distinct combinations of the columns it reads and tells which of them pass,
    so that each is decided once per batch.
    """

    def __init__(
        self,
        source: Operator,
        reads: Sequence[str],
        condition: Callable[[NDArray[np.int32]], NDArray[np.bool_]],
    ) -> None:
        self.source = source
        self.variables = source.variables
        self.counters = {"decided": 0}
        self._condition = condition
        self._columns = [source.variables.index(name) for name in reads]

    def initial(self, at: int) -> Deltas:
        return self._filter(self.source.initial(at))

    def process(self) -> Deltas:
        return self._filter(self.source.process())

    def current(self, at: int) -> Deltas:
        return self._filter(self.source.current(at))

    def _filter(self, deltas: Deltas) -> Deltas:
        if not len(deltas):
            return deltas
        combinations, which = distinct_rows(deltas.rows[:, self._columns])
        self.counters["decided"] += len(combinations)
        return deltas.take(self._condition(combinations)[which])

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


class Owned:
    """The input's solutions that a shard owns by one variable, and those that do not bind it.

    `owned` tells for term ids whether the shard owns them.
    """

    def __init__(
        self, source: Operator, variable: str, owned: Callable[[NDArray[np.int32]], NDArray[np.bool_]]
    ) -> None:
        self.source = source
        self.variables = source.variables
        self.counters: dict[str, int] = {}
        self._column = source.variables.index(variable)
        self._owned = owned

    def initial(self, at: int) -> Deltas:
        return self._own(self.source.initial(at))

    def process(self) -> Deltas:
        return self._own(self.source.process())

    def current(self, at: int) -> Deltas:
        return self._own(self.source.current(at))

    def _own(self, deltas: Deltas) -> Deltas:
        ids = deltas.rows[:, self._column]
        kept = self._owned(ids) | (ids == UNBOUND)
        return deltas if kept.all() else deltas.take(kept)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


class Extend:
    """The input's solutions with one more variable, whose value is computed from the others.

    `compute` takes the distinct combinations of the columns it reads and returns a term id for each
    (`UNBOUND` on an error). `hold` is told which ids solutions begin and cease to have; None where no
    operator above keeps solutions, and those that expire are not told: the ids are good for this batch.
    """

    def __init__(
        self,
        source: Operator,
        variable: str,
        reads: Sequence[str],
        compute: Callable[[NDArray[np.int32]], NDArray[np.int32]],
        hold: Callable[[NDArray[np.int32], NDArray[np.int32]], None] | None,
    ) -> None:
        self.source = source
        self.variables = (*source.variables, variable)
        self.counters = {"computed": 0}
        self._compute = compute
        self._hold = hold
        self._columns = [source.variables.index(name) for name in reads]

    def initial(self, at: int) -> Deltas:
        return self._extend(self.source.initial(at), hold=True)

    def process(self) -> Deltas:
        return self._extend(self.source.process(), hold=True)

    def current(self, at: int) -> Deltas:
        return self._extend(self.source.current(at), hold=False)

    def _extend(self, deltas: Deltas, *, hold: bool) -> Deltas:
        combinations, which = distinct_rows(deltas.rows[:, self._columns])
        self.counters["computed"] += len(combinations)
        values = self._compute(combinations)[which]
        if hold and self._hold is not None:
            self._hold(values[deltas.sign > 0], values[deltas.sign < 0])
        return Deltas(deltas.at, deltas.sign, deltas.until, np.column_stack((deltas.rows, values)))

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


class Together:
    """The input's deltas, those between two evaluations at one instant: `last_seen` gives it for each.

    So that operators above look at a group, a row or a slice once per evaluation, not once per event.
    """

    def __init__(self, source: Operator, last_seen: Callable[[NDArray[np.int64]], NDArray[np.int64] | None]) -> None:
        self.source = source
        self.variables = source.variables
        self._last_seen = last_seen

    @property
    def counters(self) -> dict[str, int]:
        return self.source.counters

    def initial(self, at: int) -> Deltas:
        return self.source.initial(at)

    def process(self) -> Deltas:
        deltas = self.source.process()
        at = self._last_seen(deltas.at)
        return deltas if at is None else Deltas(at, deltas.sign, deltas.until, deltas.rows)

    def current(self, at: int) -> Deltas:
        return self.source.current(at)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


class Copy:
    """The input's solutions with one column twice."""

    def __init__(self, source: Operator, variable: str, of: str) -> None:
        self.source = source
        self.variables = (*source.variables, variable)
        self.counters: dict[str, int] = {}
        self._column = source.variables.index(of)

    def initial(self, at: int) -> Deltas:
        return self._copied(self.source.initial(at))

    def process(self) -> Deltas:
        return self._copied(self.source.process())

    def current(self, at: int) -> Deltas:
        return self._copied(self.source.current(at))

    def _copied(self, deltas: Deltas) -> Deltas:
        rows = np.column_stack((deltas.rows, deltas.rows[:, self._column]))
        return Deltas(deltas.at, deltas.sign, deltas.until, rows)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes


class Values:
    """A fixed bag of solutions, there from the start."""

    def __init__(self, variables: Sequence[str], rows: NDArray[np.int32]) -> None:
        self.variables = tuple(variables)
        self.counters: dict[str, int] = {}
        self._rows = rows

    def initial(self, at: int) -> Deltas:
        return Deltas.entering(at, FOREVER, self._rows)

    def process(self) -> Deltas:
        return Deltas.empty(len(self.variables))

    def current(self, at: int) -> Deltas:
        return self.initial(at)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes


def distinct_rows(rows: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(distinct rows, for each row the position of its equal)."""
    count, width = rows.shape
    if width == 0:
        return np.zeros((min(count, 1), 0), np.int32), np.zeros(count, np.int64)
    if width == 1:
        values, which = np.unique(rows[:, 0], return_inverse=True)
        return values.reshape(-1, 1), which.reshape(-1)
    if width == 2:  # ids are not negative, so that two of them make one number
        order = np.argsort(rows[:, 0].astype(np.int64) << 32 | rows[:, 1], kind="stable")
    else:
        order = np.lexsort(rows.T)
    ordered = rows[order]
    fresh = np.ones(count, np.bool_)
    fresh[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    which = np.empty(count, np.int64)
    which[order] = np.cumsum(fresh) - 1
    return np.ascontiguousarray(ordered[fresh]), which
