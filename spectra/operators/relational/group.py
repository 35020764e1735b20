"""GROUP BY: one solution for each group, changed when one of its members comes or goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.operators.contract import UNBOUND, Deltas, Operator
from spectra.operators.relational.aggregates import Members, Result, SetFunction, evaluate

#: Told which ids solutions begin and cease to have.
Hold = Callable[[NDArray[np.int32], NDArray[np.int32]], None]


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A set function over a variable of a group, over its solutions (None), or over their distinct rows."""

    variable: str
    function: SetFunction
    argument: str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a group asks of the dictionary: texts of ids, ids of texts, and to keep computed ones."""

    texts: Callable[[NDArray[np.int32]], list[str]]
    ids: Callable[[list[str]], NDArray[np.int32]]
    hold: Hold


class _Group:
    """The members of a group by argument, and what is told of it at present: values and their end."""

    __slots__ = ("columns", "size", "told")

    def __init__(self, functions: list[list[SetFunction]]) -> None:
        self.columns = [Members(of_argument) for of_argument in functions]
        self.size = 0
        self.told: tuple[list[Result], int] | None = None


class Group:
    """The groups of the input's solutions by `keys`, with the values of set functions.

    Without keys there is one group, also of no solutions. At each instant only the groups that changed are looked
    at, and of those only what changed: values are kept in order, by end and as sums.
    """

    def __init__(self, source: Operator, keys: Sequence[str], aggregates: Sequence[Aggregated], terms: Terms) -> None:
        self.source = source
        self.variables = (*keys, *(aggregated.variable for aggregated in aggregates))
        self.counters = {"groups": 0, "evaluated": 0, "changed": 0}
        self._keys, self._aggregates, self._terms = tuple(keys), tuple(aggregates), terms
        self._key_columns = [source.variables.index(name) for name in keys]
        # any argument says when the last solution of a group ends, since errors are members too
        arguments = list(dict.fromkeys(aggregated.argument for aggregated in aggregates)) or [None]
        self._arguments = [_columns(source, argument) for argument in arguments]
        self._places = [arguments.index(aggregated.argument) for aggregated in aggregates]
        self._functions = [
            [aggregated.function for aggregated in aggregates if aggregated.argument == argument]
            for argument in arguments
        ]
        self._groups: dict[tuple[int, ...], _Group] = {}

    def initial(self, at: int) -> Deltas:
        return self._group(self.source.initial(at), hold=True, begin=at)

    def process(self) -> Deltas:
        return self._group(self.source.process(), hold=True)

    def current(self, at: int) -> Deltas:
        fresh = Group(self.source, self._keys, self._aggregates, self._terms)
        return fresh._group(self.source.current(at), hold=False, begin=at)

    def _group(self, deltas: Deltas, *, hold: bool, begin: int | None = None) -> Deltas:
        """What changes; at `begin` the one group without keys is there, whatever it has."""
        told: list[tuple[int, int, int, tuple[int, ...], list[Result]]] = []
        text = self._texts_of(deltas)
        touched: dict[tuple[int, ...], _Group] = {}
        now = begin
        if begin is not None and not self._keys:
            touched[()] = self._groups.setdefault((), _Group(self._functions))
        for at, sign, until, row in zip(
            deltas.at.tolist(), deltas.sign.tolist(), deltas.until.tolist(), deltas.rows.tolist(), strict=True
        ):
            if at != now:
                if now is not None:
                    self._tell(now, touched, told)
                touched.clear()
                now = at
            key = tuple([row[column] for column in self._key_columns])
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group(self._functions)
            touched[key] = group
            group.size += sign
            for members, columns in zip(group.columns, self._arguments, strict=True):
                if columns is None:
                    members.change(True, None, until, sign)
                elif isinstance(columns, int):
                    members.change(row[columns], text[row[columns]], until, sign)
                else:
                    members.change(tuple([row[column] for column in columns]), None, until, sign)
            self.counters["changed"] += 1
        if now is not None:
            self._tell(now, touched, told)
        self.counters["groups"] = len(self._groups)
        return self._deltas(told, hold=hold)

    def _tell(
        self,
        at: int,
        touched: dict[tuple[int, ...], _Group],
        told: list[tuple[int, int, int, tuple[int, ...], list[Result]]],
    ) -> None:
        """The old and the new solution of each group that changed."""
        for key, group in touched.items():
            before, group.told = group.told, None
            if group.size or not self._keys:
                group.told = self._evaluate(group)
            else:
                del self._groups[key]
            if before != group.told:
                if before is not None:
                    told.append((at, -1, before[1], key, before[0]))
                if group.told is not None:
                    told.append((at, 1, group.told[1], key, group.told[0]))

    def _evaluate(self, group: _Group) -> tuple[list[Result], int]:
        self.counters["evaluated"] += 1
        until = group.columns[0].ends[-1] if self._keys else FOREVER
        values: list[Result] = []
        for aggregated, place in zip(self._aggregates, self._places, strict=True):
            value, end = evaluate(aggregated.function, group.columns[place])
            values.append(value)
            until = min(until, end)
        return values, until

    def _texts_of(self, deltas: Deltas) -> dict[int, str | None]:
        """The texts of the members that come or go."""
        columns = [columns for columns in self._arguments if isinstance(columns, int)]
        ids = np.unique(deltas.rows[:, columns]) if columns else np.zeros(0, np.int32)
        text: dict[int, str | None] = dict(zip(ids.tolist(), self._terms.texts(ids), strict=True))
        text[UNBOUND] = None
        return text

    def _deltas(self, told: list[tuple[int, int, int, tuple[int, ...], list[Result]]], *, hold: bool) -> Deltas:
        """The changes as columns, with ids for what was computed."""
        if not told:
            return Deltas.empty(len(self.variables))
        texts = list(dict.fromkeys(value for *_, values in told for value in values if isinstance(value, str)))
        ids: dict[Result, int] = dict(zip(texts, self._terms.ids(texts).tolist(), strict=True))
        ids[None] = UNBOUND
        rows = np.array(
            [[*key, *(v if isinstance(v, int) else ids[v] for v in values)] for *_, key, values in told], np.int32
        ).reshape(len(told), len(self.variables))
        at = np.array([change[0] for change in told], np.int64)
        sign = np.array([change[1] for change in told], np.int8)
        until = np.array([change[2] for change in told], np.int64)
        if hold:
            computed = rows[:, len(self._keys) :]
            self._terms.hold(computed[sign > 0].ravel(), computed[sign < 0].ravel())
        return Deltas(at, sign, until, rows)

    @property
    def nbytes(self) -> int:
        """About what the members take: an entry by value and one by end for each."""
        held = sum(len(members.values) for group in self._groups.values() for members in group.columns)
        return self.source.nbytes + 600 * held


def _columns(source: Operator, argument: str | tuple[str, ...] | None) -> int | list[int] | None:
    if argument is None:
        return None
    if isinstance(argument, str):
        return source.variables.index(argument)
    return [source.variables.index(name) for name in argument]
