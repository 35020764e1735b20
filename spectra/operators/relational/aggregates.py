"""Set functions (SPARQL 1.1, section 18.5.1) over the members of groups, each with how long its value lasts.

Where SPARQL leaves a choice it is fixed, so that answers do not depend on the order of arrival: SAMPLE is the
least value in the order of ORDER BY, GROUP_CONCAT joins the strings in the order of their texts. Sums are exact
and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spectra.dictionary.spans import Spans
from spectra.errors import InternalError
from spectra.operators.kernels import column as kernels
from spectra.operators.kernels.column import MemberDeltas, Results, Scratch, Trees, column_deltas
from spectra.operators.kernels.digits import MARGIN
from spectra.operators.kernels.group import Evaluations
from spectra.operators.kernels.rows import new_table, with_room
from spectra.operators.kernels.totals import NumberColumns, Totals
from spectra.operators.kernels.treap import keyed
from spectra.operators.relational.live_terms import LiveTerms
from spectra.operators.relational.numbers import Numbers, with_rows
from spectra.operators.relational.value_order import ValueOrder

_NUMBERS = {
    "COUNT": kernels.COUNT,
    "SUM": kernels.SUM,
    "AVG": kernels.AVERAGE,
    "MIN": kernels.MINIMUM,
    "MAX": kernels.MAXIMUM,
    "SAMPLE": kernels.SAMPLE,
    "GROUP_CONCAT": kernels.CONCATENATION,
}


@dataclass(frozen=True, slots=True)
class SetFunction:
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; `separator` is that of GROUP_CONCAT."""

    name: str
    distinct: bool
    separator: str | None = None

    @property
    def reads(self) -> tuple[bool, str]:
        """Whether it looks at distinct values only, and the order that it needs: "", "values" or "strings"."""
        if self.name in ("MIN", "MAX", "SAMPLE"):
            return True, "values"
        return self.distinct, "strings" if self.name == "GROUP_CONCAT" else ""

    @property
    def joined_by(self) -> str:
        return " " if self.separator is None else self.separator


class Column:
    """The members of all groups by one argument, as some functions need them.

    Members are kept in buckets by group and end, with the sums of `numbers` if there are any, and one by one in
    `order` if there is one. A change costs a look-up and a step down each of the two trees.
    """

    def __init__(
        self, functions: Sequence[SetFunction], numbers: Numbers | None, order: ValueOrder | None, live: LiveTerms
    ) -> None:
        self.visited = 0  # buckets and members that evaluations looked at
        self._functions = np.array([_NUMBERS[function.name] for function in functions], np.int64)
        self._separators = np.array([len(function.joined_by) for function in functions], np.int64)
        self._numbers, self._order, self._live = numbers, order, live
        self._sums = any(function.name in ("SUM", "AVG") for function in functions)
        self._buckets = new_table(2, [0, 1])
        self._entries = new_table(2, [0, 1])
        self._trees = Trees(
            by_end=keyed(self._buckets.until),
            ends=np.zeros((0, 2), np.int32),
            values=np.zeros(0, np.int32),
            errors=np.zeros(0, np.int32),
            places=keyed(np.zeros((0, 1), np.int64))._replace(terms=np.zeros((0, 1), np.int32)),
            terms=np.zeros((0, 2), np.int32),
            roots=np.zeros(0, np.int32),
        )
        self._moved = 0
        self._shape = numbers.shape if numbers is not None else (0, 0, 0, 0)
        self._of_buckets, self._of_groups, self._scratch = (self._new_totals() for _ in range(3))

    def evaluate(
        self, deltas: MemberDeltas, evaluations: Evaluations, count: int, groups: int, is_keyed: bool, texts: Spans
    ) -> Results:
        """The values of the functions when members have come and gone; there are less than `groups` groups."""
        self._make_room(int(np.count_nonzero(deltas.sign > 0)), groups)
        self._trees = self._trees._replace(places=self._trees.places._replace(**texts._asdict()))
        number = len(self._functions)
        results = Results(
            what=np.zeros((count, number), np.int8),
            value=np.zeros((count, number), np.int64),
            until=np.zeros(count, np.int64),
            text=np.empty((64 + 96 * count) * number, np.uint8),
            starts=np.zeros((count * number, 2), np.int64),
            numbers=np.zeros(count * number, np.float64),
            listed=np.zeros(16, np.int32),
        )
        limbs = self._of_groups.exact.shape[1]
        scratch = Scratch(
            totals=with_rows_of(self._scratch, 1),
            bucket=np.zeros(2, np.int32),
            limbs=np.zeros(self._shape[2], np.int64),
            chunks=np.zeros(2 * limbs, np.int64),
            digits=np.zeros(18 * limbs + MARGIN, np.uint8),
            shape=np.array([self._shape[1], self._shape[3]], np.int64),
        )
        progress = np.zeros(kernels.PROGRESS, np.int64)
        labels = self._order.labels if self._order is not None else np.zeros(0, np.int64)
        columns = self._numbers.columns if self._numbers is not None else _PRESENCE
        while not column_deltas(
            self._buckets, self._entries, self._of_buckets, self._of_groups, self._trees, columns, labels,
            self._live.terms, self._functions, self._separators, deltas, evaluations, count, is_keyed, scratch,
            results, progress,
        ):  # fmt: skip
            results = results._replace(
                text=with_rows(results.text, 2 * len(results.text) + 40 * limbs * number + 1024),
                listed=with_rows(results.listed, 4 * len(results.listed)),
            )
        if progress[kernels.MISSING]:
            raise InternalError("a group was told of a row that leaves and never came")
        self.visited += int(progress[kernels.VISITED])
        return results

    def _make_room(self, additions: int, groups: int) -> None:
        self._buckets = with_room(self._buckets, additions)
        numbers, order, trees = self._numbers, self._order, self._trees
        if numbers is not None and numbers.shape != self._shape and self._sums:
            self._of_buckets, self._of_groups, self._scratch = (
                numbers.fit(totals, self._shape) for totals in (self._of_buckets, self._of_groups, self._scratch)
            )
            self._shape = numbers.shape
        self._of_buckets = with_rows_of(self._of_buckets, len(self._buckets.until))
        self._of_groups = with_rows_of(self._of_groups, groups)
        if order is not None:
            self._entries = with_room(self._entries, additions)
            places = trees.places
            if order.moved != self._moved:
                places = places._replace(keys=order.labels[self._entries.rows[: len(places.keys), 1:]])
                self._moved = order.moved
            entries = len(self._entries.until)
            places = places._replace(keys=with_rows(places.keys, entries), terms=with_rows(places.terms, entries))
            trees = trees._replace(terms=with_rows(trees.terms, entries), places=places)
        self._trees = trees._replace(
            by_end=keyed(self._buckets.until),
            ends=with_rows(trees.ends, len(self._buckets.until)),
            values=with_rows(trees.values, groups),
            errors=with_rows(trees.errors, groups),
            roots=with_rows(trees.roots, groups),
        )

    def _new_totals(self) -> Totals:
        exact, _, binary, _ = self._shape if self._sums else (0, 0, 0, 0)
        counts = _PRESENCE if self._numbers is None else self._numbers.columns
        widths = counts.counts.shape[1], exact, binary, binary
        return Totals(*(np.zeros((0, width), np.int64) for width in widths))

    @property
    def nbytes(self) -> int:
        trees = self._trees
        linked = (trees.ends, trees.values, trees.errors, trees.terms, trees.roots, *trees.places[:2])
        parts = (self._buckets, self._entries, self._of_buckets, self._of_groups, linked)
        return sum(array.nbytes for part in parts for array in part)


#: What a member counts as where nobody asks for more: one value, or none.
_PRESENCE = NumberColumns(np.array([[0], [1]], np.int64), *(np.zeros((2, width), np.int64) for width in (0, 3, 3)))


def with_rows_of(totals: Totals, rows: int) -> Totals:
    """Totals with more rows, those being empty bags."""
    return Totals(*(with_rows(part, rows) for part in totals))
