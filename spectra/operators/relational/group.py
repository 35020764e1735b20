"""GROUP BY: one solution for each group, changed when one of its members comes or goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.dictionary.spans import Spans
from spectra.errors import InternalError
from spectra.operators.contract import UNBOUND, Deltas, Operator
from spectra.operators.kernels import column as kernels
from spectra.operators.kernels.column import Results
from spectra.operators.kernels.group import Evaluations, Told, group_rows, tell_groups
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.rows import add_row, new_table, with_room
from spectra.operators.relational.aggregates import SetFunction
from spectra.operators.relational.members import Members
from spectra.operators.relational.numbers import with_rows
from spectra.sparql.numeric import DOUBLE, FLOAT
from spectra.sparql.values import Value, string

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


@dataclass(frozen=True, slots=True)
class TextColumns:
    """What kernels ask of the dictionary: the canonical texts of all ids, and ids of texts that are spans."""

    spans: Callable[[], Spans]
    ids: Callable[[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]], NDArray[np.int32]]


class Group:
    """The groups of the input's solutions by `keys`, with the values of set functions.

    Without keys there is one group, also of no solutions. At each instant only the groups that changed are looked
    at, and of those only what changed: values are kept in order, by end and as sums.
    """

    def __init__(
        self,
        source: Operator,
        keys: Sequence[str],
        aggregates: Sequence[Aggregated],
        terms: Terms,
        texts: TextColumns,
    ) -> None:
        self.source = source
        self.variables = (*keys, *(aggregated.variable for aggregated in aggregates))
        self.counters = {"groups": 0, "evaluated": 0, "changed": 0, "visited": 0}
        self._arguments = (tuple(keys), tuple(aggregates), terms, texts)
        self._terms, self._texts, self._keyed = terms, texts, bool(keys)
        self._key_columns = [source.variables.index(name) for name in keys]
        self._groups = new_table(len(keys), list(range(len(keys))))
        self._functions = [aggregated.function for aggregated in aggregates]
        # any argument says when the last solution of a group ends, since errors are members too
        arguments = list(dict.fromkeys(aggregated.argument for aggregated in aggregates)) or [None]
        self._members = [
            Members(
                _columns(source, argument),
                [(at, one.function) for at, one in enumerate(aggregates) if one.argument == argument],
                texts.spans,
            )
            for argument in arguments
        ]
        self._told = Told(np.zeros((0, len(self._functions)), np.int32), np.zeros(0, np.int64), np.zeros(0, np.bool_))

    def initial(self, at: int) -> Deltas:
        return self._group(self.source.initial(at), hold=True, begin=at)

    def process(self) -> Deltas:
        return self._group(self.source.process(), hold=True)

    def current(self, at: int) -> Deltas:
        return Group(self.source, *self._arguments)._group(self.source.current(at), hold=False, begin=at)

    def _group(self, deltas: Deltas, *, hold: bool, begin: int | None = None) -> Deltas:
        """What changes; from `begin` on the one group without keys is there, whatever it has."""
        alone = begin is not None and not self._keyed
        if alone:
            add_row(self._groups, np.zeros(0, np.int32), np.int64(0))
        if not len(deltas) and not alone:
            return Deltas.empty(len(self.variables))
        evaluations, count, group_of = self._touched(deltas)
        if alone and begin is not None and not count:
            evaluations.at[0], evaluations.alive[0], count = begin, True, 1
        self.counters["groups"] = int(self._groups.size[0])
        self.counters["evaluated"] += count
        self.counters["changed"] += len(deltas)
        values = np.full((count, len(self._functions)), UNBOUND, np.int32)
        until = np.full(count, FOREVER, np.int64)
        for members in self._members:
            for places, results in members.evaluate(
                deltas, group_of, evaluations, count, len(self._groups.until), self._keyed
            ):
                until = np.minimum(until, results.until)
                values[:, places] = self._ids(results, places, members)
            members.forget()
        self.counters["visited"] = sum(members.visited for members in self._members)
        return self._tell(evaluations, count, values, until, hold=hold)

    def _touched(self, deltas: Deltas) -> tuple[Evaluations, int, NDArray[np.int32]]:
        """Which groups change when, how many such, and the group of each row."""
        size, width = len(deltas), len(self._key_columns)
        self._groups = with_room(self._groups, int(np.count_nonzero(deltas.sign > 0)))
        evaluations = Evaluations(
            at=np.zeros(size + 1, np.int64),
            group=np.zeros(size + 1, np.int64),
            alive=np.zeros(size + 1, np.bool_),
            keys=np.zeros((size + 1, width), np.int32),
        )
        group_of = np.zeros(size, np.int32)
        keys = np.ascontiguousarray(deltas.rows[:, self._key_columns])
        touched = np.zeros(len(self._groups.until), np.int64)
        count, missing = group_rows(self._groups, deltas.at, deltas.sign, keys, touched, group_of, evaluations)
        if missing:
            raise InternalError("a group was told of a row that leaves and never came")
        return evaluations, int(count), group_of

    def _ids(self, results: Results, places: list[int], members: Members) -> NDArray[np.int32]:
        """The ids of values."""
        ids = np.full(results.what.shape, UNBOUND, np.int32)
        of_terms = results.what == kernels.TERM
        ids[of_terms] = members.live.terms[results.value[of_terms]]
        of_texts = results.what == kernels.TEXT
        spans = results.starts[results.value[of_texts]]
        ids[of_texts] = self._texts.ids(
            results.text, np.ascontiguousarray(spans[:, 0]), (spans[:, 1] - spans[:, 0]).astype(np.int32)
        )
        for what, kind in ((kernels.FLOAT, FLOAT), (kernels.DOUBLE, DOUBLE)):
            of_numbers = results.what == what
            if of_numbers.any():
                found, which = np.unique(results.numbers[results.value[of_numbers]], return_inverse=True)
                ids[of_numbers] = self._terms.ids([Value(kind, number).text for number in found.tolist()])[which]
        for at, place in enumerate(places):
            listed = np.flatnonzero(results.what[:, at] == kernels.LIST)
            spans = results.starts[results.value[listed, at]]
            texts = [
                self._functions[place].joined_by.join(members.strings(results.listed[start:end]))
                for start, end in spans.tolist()
            ]
            ids[listed, at] = self._terms.ids([string(text).text for text in texts])
        return ids

    def _tell(
        self, evaluations: Evaluations, count: int, values: NDArray[np.int32], until: NDArray[np.int64], *, hold: bool
    ) -> Deltas:
        groups = len(self._groups.until)
        self._told = Told(
            values=with_rows(self._told.values, groups),
            until=with_rows(self._told.until, groups),
            present=with_rows(self._told.present, groups),
        )
        out = new_output(2 * count, len(self.variables))
        written = tell_groups(self._told, evaluations, count, values, until, out)
        told = Deltas.written(out, written)
        if hold:
            computed = told.rows[:, len(self._key_columns) :]
            self._terms.hold(computed[told.sign > 0].ravel(), computed[told.sign < 0].ravel())
        return told

    @property
    def nbytes(self) -> int:
        held = sum(array.nbytes for array in (*self._groups, *self._told))
        return self.source.nbytes + held + sum(members.nbytes for members in self._members)


def _columns(source: Operator, argument: str | tuple[str, ...] | None) -> int | list[int] | None:
    if argument is None:
        return None
    if isinstance(argument, str):
        return source.variables.index(argument)
    return [source.variables.index(name) for name in argument]
