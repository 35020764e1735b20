"""Comparisons between two variables of a basic graph pattern: keys of the window's terms, columns sorted by them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from spectra.operators.kernels import comparison as kernels
from spectra.operators.kernels.comparison import ComparisonColumns
from spectra.sparql import numeric, values
from spectra.views.kernels.apply import ENTERED, NEVER
from spectra.views.view import WindowViews

#: The comparisons that are evaluated inside a join, and their numbers.
OPERATORS: Mapping[str, int] = {
    "=": kernels.EQUAL,
    "!=": kernels.UNEQUAL,
    "<": kernels.LESS,
    "<=": kernels.LESS_EQUAL,
    ">": kernels.GREATER,
    ">=": kernels.GREATER_EQUAL,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}

#: Keys of decimals and of seconds count millionths, so that those of usual size have one.
_PLACES = 6
_MILLION = 10**_PLACES
_LARGEST = 2**63 - 1

#: (left variable, operator, right variable)
Comparison = tuple[str, str, str]


def term_key(text: str) -> tuple[int, int]:
    """(kind, key) of a term, by which `verdict` decides as SPARQL's operators do; (OPEN, 0) where no key is exact.

    The key of strings and nodes is 0: their ids are as good.
    """
    value = values.value_of(text)
    if value.kind in (values.IRI, values.BLANK):
        return kernels.NODE, 0
    if value.kind == values.STRING:
        return kernels.STRING, 0
    found: tuple[int, int | None] = kernels.OPEN, None
    if value.kind == numeric.INTEGER:
        found = kernels.DECIMAL, value.value * _MILLION
    elif value.kind == numeric.DECIMAL:
        found = kernels.DECIMAL, _millionths(value.value)
    elif value.kind in (numeric.FLOAT, numeric.DOUBLE) and value.value == value.value:
        found = kernels.FLOAT if value.kind == numeric.FLOAT else kernels.DOUBLE, _double_key(value.value)
    elif value.kind == values.DATE_TIME and value.value.offset is not None:
        second = _millionths(value.value.second)
        found = kernels.MOMENT, None if second is None else value.value.minutes * 60 * _MILLION + second
    kind, key = found
    return (kernels.OPEN, 0) if key is None or abs(key) > _LARGEST else (kind, key)


def _millionths(value: Decimal) -> int | None:
    """The number of millionths, None where it is no whole number or has very many digits."""
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_PLACES or abs(value) > _LARGEST:
        return None
    return int(value.scaleb(_PLACES))


def _double_key(value: float) -> int:
    """An integer that is ordered as floating-point numbers are."""
    bits: int = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]  # adding makes -0.0 the 0.0 that it equals
    return bits if bits >= 0 else bits ^ _LARGEST


class Comparisons:
    """What decides the comparisons of a basic graph pattern for the terms that a window holds.

    `texts` gives the canonical texts of term ids. A term keeps its key while some row of a triple pattern has it
    where a compared variable stands: for so long its id means the same term.
    """

    def __init__(
        self,
        views: WindowViews,
        patterns: Sequence[tuple[int | str, int | str, int | str]],
        number: Mapping[str, int],
        comparisons: Sequence[Comparison],
        texts: Callable[[NDArray[np.int32]], list[str]],
    ) -> None:
        self._views = views
        self._texts = texts
        self._patterns = patterns
        compared = {name for left, _, right in comparisons for name in (left, right)}
        self._places = [
            (which, column)
            for which, pattern in enumerate(patterns)
            for column, term in enumerate(pattern)
            if term in compared
        ]
        ordered = [
            (which, column, operator, other)
            for left, operator, right in comparisons
            if operator in _TURNED
            for name, operator, other in ((left, operator, right), (right, _TURNED[operator], left))
            for which, column in self._places
            if patterns[which][column] == name and other not in patterns[which]
        ]
        self._sorted = [_SortedColumn(*place) for place in dict.fromkeys((w, c) for w, c, _, _ in ordered)]
        at = [(column.which, column.column) for column in self._sorted]
        self._uses = np.zeros(0, np.int64)
        self._leaving = np.zeros(0, np.int32)
        self.columns = comparison_columns(
            [(number[left], OPERATORS[operator], number[right]) for left, operator, right in comparisons],
            [(w, OPERATORS[operator], number[other], at.index((w, c))) for w, c, operator, other in ordered],
            len(self._sorted),
        )

    def enter(self) -> None:
        """Take what the last batch brought into the window."""
        if not self._places:
            return
        np.subtract.at(self._uses, self._leaving, 1)
        log = self._views.log
        entered = log.row[log.kind == ENTERED]
        rows = {which: self._matching(which, entered) for which, _ in self._places}
        self._learn(np.concatenate([self._terms(rows[which], column) for which, column in self._places]))
        for column in self._sorted:
            terms = self._terms(rows[column.which], column.column)
            column.insert(rows[column.which], self.columns.kind[terms], self.columns.key[terms])
        starts = np.array([column.starts for column in self._sorted], np.int64).reshape(self.columns.starts.shape)
        lengths = starts[:, -1]
        self.columns = self.columns._replace(
            rows=np.concatenate([np.zeros(0, np.int32), *(column.rows for column in self._sorted)]),
            keys=np.concatenate([np.zeros(0, np.int64), *(column.keys for column in self._sorted)]),
            starts=starts + (np.cumsum(lengths) - lengths)[:, np.newaxis],
        )

    def leave(self) -> None:
        """Forget what went with the last batch; the keys of its terms only when the next one comes."""
        if not self._places:
            return
        log = self._views.log
        gone = log.row[log.kind < 0]
        self._leaving = np.concatenate(
            [self._terms(self._matching(which, gone), column) for which, column in self._places]
        )
        if len(gone):
            for column in self._sorted:
                column.keep(self._views.columns.gone[column.rows] == NEVER)

    def verdicts(self, left: NDArray[np.int32], operator: str, right: NDArray[np.int32]) -> NDArray[np.int8]:
        """NO, YES or MAYBE for each pair of terms that the window holds, or held before the last batch."""
        found = np.empty(len(left), np.int8)
        columns = self.columns
        sides = np.ascontiguousarray(left), np.ascontiguousarray(right)
        kernels.decide(columns.kind, columns.key, sides[0], OPERATORS[operator], sides[1], found)
        return found

    def _matching(self, which: int, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """The rows that have the constants of a triple pattern."""
        columns = self._views.columns
        for term, column in zip(
            self._patterns[which], (columns.subject, columns.predicate, columns.object), strict=True
        ):
            if not isinstance(term, str):
                rows = rows[column[rows] == term]
        return rows

    def _terms(self, rows: NDArray[np.int32], column: int) -> NDArray[np.int32]:
        columns = self._views.columns
        return (columns.subject, columns.predicate, columns.object)[column][rows]

    def _learn(self, terms: NDArray[np.int32]) -> None:
        """Count uses of terms, and find the keys of those that were not used."""
        room = int(terms.max(initial=0)) + 1
        if room > len(self._uses):
            more = 2 * room - len(self._uses)
            self._uses = np.append(self._uses, np.zeros(more, np.int64))
            self.columns = self.columns._replace(
                kind=np.append(self.columns.kind, np.zeros(more, np.int8)),
                key=np.append(self.columns.key, np.zeros(more, np.int64)),
            )
        fresh = np.unique(terms[self._uses[terms] == 0])
        np.add.at(self._uses, terms, 1)
        for term, text in zip(fresh.tolist(), self._texts(fresh), strict=True):
            kind, key = term_key(text)
            self.columns.kind[term] = kind
            self.columns.key[term] = term if kind in (kernels.STRING, kernels.NODE) else key

    @property
    def nbytes(self) -> int:
        held = sum(array.nbytes for column in self._sorted for array in (column.rows, column.keys))
        return sum(array.nbytes for array in self.columns) + self._uses.nbytes + held


def comparison_columns(
    pairs: Sequence[tuple[int, int, int]] = (), ranges: Sequence[tuple[int, int, int, int]] = (), columns: int = 0
) -> ComparisonColumns:
    """Comparisons for the kernels, before any term is known."""
    return ComparisonColumns(
        kind=np.zeros(0, np.int8),
        key=np.zeros(0, np.int64),
        pairs=np.array(pairs, np.int64).reshape(len(pairs), 3),
        ranges=np.array(ranges, np.int64).reshape(len(ranges), 4),
        rows=np.zeros(0, np.int32),
        keys=np.zeros(0, np.int64),
        starts=np.zeros((columns, kernels.KINDS + 1), np.int64),
    )


class _SortedColumn:
    """Rows of one triple pattern, by the kind and key of the term in one of their columns."""

    def __init__(self, which: int, column: int) -> None:
        self.which = which
        self.column = column
        self.rows = np.zeros(0, np.int32)
        self.keys = np.zeros(0, np.int64)
        self.starts = np.zeros(kernels.KINDS + 1, np.int64)

    def insert(self, rows: NDArray[np.int32], kinds: NDArray[np.int8], keys: NDArray[np.int64]) -> None:
        if not len(rows):
            return
        order = np.lexsort((keys, kinds))
        rows, kinds, keys = rows[order], kinds[order], keys[order]
        first = np.searchsorted(kinds, np.arange(kernels.KINDS + 1))
        at = np.empty(len(rows), np.int64)
        for kind in range(kernels.KINDS):
            low, high = self.starts[kind], self.starts[kind + 1]
            new = slice(first[kind], first[kind + 1])
            at[new] = low + np.searchsorted(self.keys[low:high], keys[new])
        self.rows = np.insert(self.rows, at, rows)
        self.keys = np.insert(self.keys, at, keys)
        self.starts = self.starts + first

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self.starts = np.append(0, np.cumsum(kept))[self.starts]
        self.rows, self.keys = self.rows[kept], self.keys[kept]
