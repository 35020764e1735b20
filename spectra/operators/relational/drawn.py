"""RAND, UUID, STRUUID, BNODE: a value that a solution is given when it enters, and keeps until it leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from spectra.operators.coalesce import runs
from spectra.operators.contract import Deltas, Operator

#: So many new values, as texts.
Draw = Callable[[int], list[str]]


class Drawn:
    """The input's solutions with values of their own.

    The column `label` of the input has a term for each copy of a solution, the same as long as it is there, that no
    other has (`Fresh`). `draws` make the values of each new column; `ids` gives the ids of texts, and `hold` is told
    which ids solutions begin and cease to have.
    """

    def __init__(
        self,
        source: Operator,
        label: str,
        draws: Mapping[str, Draw],
        ids: Callable[[list[str]], NDArray[np.int32]],
        hold: Callable[[NDArray[np.int32], NDArray[np.int32]], None],
    ) -> None:
        self.source = source
        self.variables = (*source.variables, *draws)
        self.counters = {"drawn": 0}
        self._label = source.variables.index(label)
        self._draws, self._ids, self._hold = list(draws.values()), ids, hold
        # by the id of the label: how many deltas say that it is there, and its values (0 where it has none)
        self._count = np.zeros(1024, np.int32)
        self._values = np.zeros((1024, len(draws)), np.int32)

    def initial(self, at: int) -> Deltas:
        return self._given(self.source.initial(at))

    def process(self) -> Deltas:
        return self._given(self.source.process())

    def current(self, at: int) -> Deltas:
        deltas = self.source.current(at)
        labels = deltas.rows[:, self._label]
        self._make_room(labels)
        return self._extended(deltas, self._values[labels])

    def _given(self, deltas: Deltas) -> Deltas:
        if not len(deltas):
            return Deltas.empty(len(self.variables))
        labels = deltas.rows[:, self._label]
        self._make_room(labels)
        order = np.lexsort((deltas.at, labels))
        # the deltas of one label at one instant belong together: there its end may move
        starts = runs(labels[order].astype(np.int64), deltas.at[order])
        label = labels[order][starts]
        change = np.add.reduceat(deltas.sign[order].astype(np.int64), starts)
        first = np.append(True, label[1:] != label[:-1])
        total = np.cumsum(change)
        of_label = np.cumsum(first) - 1
        base = (total - change)[first][of_label]
        after = self._count[label] + total - base
        before = after - change
        # a label that is not there comes with new values, unless some were kept for it
        new = (before == 0) & ~(first & (self._values[label] > 0).all(axis=1))
        values = self._drawn(int(new.sum()))
        number = np.cumsum(new) - 1
        # others go on with those of the stay that they belong to
        stay = np.maximum.accumulate(np.where(first | new, np.arange(len(new)), 0))
        given = self._values[label]
        drawn_now = new[stay]
        given[drawn_now] = values[number[stay[drawn_now]]]
        last = np.append(first[1:], True)
        self._count[label[last]] = after[last]
        self._values[label[last]] = np.where((after[last] > 0)[:, None], given[last], 0)
        columns = np.empty((len(deltas), len(self._draws)), np.int32)
        columns[order] = np.repeat(given, np.diff(np.append(starts, len(order))), axis=0)
        self._hold(columns[deltas.sign > 0].ravel(), columns[deltas.sign < 0].ravel())
        return self._extended(deltas, columns)

    def _drawn(self, count: int) -> NDArray[np.int32]:
        self.counters["drawn"] += count
        return np.column_stack([self._ids(draw(count)) for draw in self._draws])

    def _extended(self, deltas: Deltas, values: NDArray[np.int32]) -> Deltas:
        return Deltas(deltas.at, deltas.sign, deltas.until, np.column_stack((deltas.rows, values)))

    def _make_room(self, labels: NDArray[np.int32]) -> None:
        missing = int(labels.max(initial=0)) + 1 - len(self._count)
        if missing > 0:
            room = missing + len(self._count)
            self._count = np.concatenate((self._count, np.zeros(room, np.int32)))
            self._values = np.concatenate((self._values, np.zeros((room, len(self._draws)), np.int32)))

    def kept(self) -> NDArray[np.int32]:
        """The labels that are there, with their values: what `resume` takes."""
        labels = np.flatnonzero(self._count).astype(np.int32)
        return np.column_stack((labels, self._values[labels]))

    def resume(self, kept: NDArray[np.int32]) -> None:
        """Give these labels, when they come, the values that they had."""
        self._make_room(kept[:, 0])
        self._values[kept[:, 0]] = kept[:, 1:]

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self._count.nbytes + self._values.nbytes
