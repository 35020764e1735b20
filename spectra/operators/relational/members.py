"""The members of groups by one argument, in a column for each way in which set functions look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.spans import Spans
from spectra.operators.contract import UNBOUND, Deltas
from spectra.operators.kernels.column import MemberDeltas, Results
from spectra.operators.kernels.group import Evaluations
from spectra.operators.relational.aggregates import Column, SetFunction
from spectra.operators.relational.distinct import DistinctRows
from spectra.operators.relational.live_terms import LiveTerms
from spectra.operators.relational.numbers import Numbers, string_of
from spectra.operators.relational.value_order import ValueOrder


class _Reading(NamedTuple):
    """A column, whether it has distinct members only, and the places of its functions among all of a group's."""

    column: Column
    distinct: bool
    places: list[int]


class Members:
    """The members that all groups have by one argument.

    `argument` is a column of the input's rows, several ones for their distinct combinations, or None where every row
    counts. `functions` are those over this argument, with their places among all functions of the group.
    """

    def __init__(
        self,
        argument: int | list[int] | None,
        functions: Sequence[tuple[int, SetFunction]],
        spans: Callable[[], Spans],
    ) -> None:
        self.live = LiveTerms()
        self._spans = spans
        self._argument = argument
        self._numbers: Numbers | None = None
        self._orders: dict[str, ValueOrder] = {}
        self._columns: list[_Reading] = []
        self._leaving = np.zeros(0, np.int32), np.zeros(0, np.int8)
        width = len(argument) if isinstance(argument, list) else 1
        self._distinct = DistinctRows(1 + width)
        for reads in dict.fromkeys(function.reads for _, function in functions):
            distinct, order = reads
            wanted = [(place, function) for place, function in functions if function.reads == reads]
            if order:
                key = None if order == "values" else _string_order
                self._orders[order] = ValueOrder(self.live, spans, key)
            numbers = None
            if any(function.name in ("SUM", "AVG", "GROUP_CONCAT") for _, function in wanted):
                numbers = self._numbers = self._numbers or Numbers()
            column = Column([function for _, function in wanted], numbers, self._orders.get(order), self.live)
            self._columns.append(_Reading(column, distinct, [place for place, _ in wanted]))
        if not functions:
            self._columns.append(_Reading(Column([], None, None, self.live), False, []))

    def evaluate(
        self,
        deltas: Deltas,
        group_of: NDArray[np.int32],
        evaluations: Evaluations,
        count: int,
        groups: int,
        keyed: bool,
    ) -> Iterator[tuple[list[int], Results]]:
        """The values of the functions at each evaluation, and their places among those of the group."""
        members = self._members(deltas, group_of)
        plain = Deltas(deltas.at, deltas.sign, deltas.until, members)
        distinct = self._distinct.changes(plain) if any(reading.distinct for reading in self._columns) else plain
        for column, once, places in self._columns:
            read = distinct if once else plain
            rows = read.rows
            if isinstance(self._argument, list):
                rows = np.column_stack((rows[:, 0], np.ones(len(rows), np.int32)))
            given = MemberDeltas(read.at, read.sign, read.until, rows)
            yield places, column.evaluate(given, evaluations, count, groups, keyed, self._spans())

    def _members(self, deltas: Deltas, group_of: NDArray[np.int32]) -> NDArray[np.int32]:
        """The group and the member of each row: the slot of its term, 0 for none, or all of it."""
        if self._argument is None:
            return np.column_stack((group_of, np.ones(len(group_of), np.int32)))
        if isinstance(self._argument, list):
            return np.column_stack((group_of, deltas.rows[:, self._argument]))
        ids = deltas.rows[:, self._argument]
        if self._numbers is None and not self._orders and not any(reading.distinct for reading in self._columns):
            return np.column_stack((group_of, (ids != UNBOUND).astype(np.int32)))
        entered = self.live.enter(ids)
        if self._numbers is not None:
            self._numbers.enter(entered, self._spans().take(self.live.terms[entered]))
        for order in self._orders.values():
            order.enter(entered)
        slots = self.live.slots(ids)
        self._leaving = slots, deltas.sign
        return np.column_stack((group_of, slots))

    def forget(self) -> None:
        """Forget the terms that no member has any more."""
        left = self.live.leave(*self._leaving)
        for order in self._orders.values():
            order.leave(left)
        self._leaving = np.zeros(0, np.int32), np.zeros(0, np.int8)

    def strings(self, slots: NDArray[np.int32]) -> list[str]:
        """STR of the terms of slots that have one."""
        distinct, which = np.unique(slots, return_inverse=True)
        found = [string_of(text) or "" for text in self._spans().take(self.live.terms[distinct]).texts()]
        return [found[at] for at in which.tolist()]

    @property
    def visited(self) -> int:
        """Ends and members that evaluations have looked at."""
        return sum(reading.column.visited for reading in self._columns)

    @property
    def nbytes(self) -> int:
        values = self._numbers.nbytes if self._numbers is not None else 0
        return (
            values + self.live.nbytes + self._distinct.nbytes + sum(reading.column.nbytes for reading in self._columns)
        )


def _string_order(text: str) -> str:
    return string_of(text) or ""
