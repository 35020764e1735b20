"""Blank nodes of a CONSTRUCT template: new ones for each solution, the same ones while it holds."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from spectra.errors import InternalError
from spectra.operators.contract import UNBOUND, Deltas, Operator
from spectra.operators.relational.group import Terms

Row = tuple[int, ...]


class Fresh:
    """The input's solutions with a blank node in each of the columns `labels`.

    A node is named after the solution, the number of its copy and the label, so that the same solutions
    give the same nodes again, in any run. Of several copies the first is the one that lasts longest.
    """

    def __init__(self, source: Operator, labels: Sequence[str], terms: Terms) -> None:
        self.source = source
        self.variables = (*source.variables, *labels)
        self.counters = {"rows": 0}
        self._labels, self._terms = tuple(labels), terms
        self._ends: dict[Row, Counter[int]] = {}

    def initial(self, at: int) -> Deltas:
        return self._named(self.source.initial(at), hold=True)

    def process(self) -> Deltas:
        return self._named(self.source.process(), hold=True)

    def current(self, at: int) -> Deltas:
        return Fresh(self.source, self._labels, self._terms)._named(self.source.current(at), hold=False)

    def _named(self, deltas: Deltas, *, hold: bool) -> Deltas:
        told: list[tuple[int, int, int, Row, int]] = []
        before: dict[Row, Counter[tuple[int, int]]] = {}
        rows = [tuple(row) for row in deltas.rows.tolist()]
        at = deltas.at.tolist()
        for i, (sign, until) in enumerate(zip(deltas.sign.tolist(), deltas.until.tolist(), strict=True)):
            row = rows[i]
            if row not in before:
                before[row] = self._copies(row)
            ends = self._ends.setdefault(row, Counter())
            ends[until] += sign
            if ends[until] < 0:
                raise InternalError("a template was told of a row that leaves and never came")
            if i + 1 == len(at) or at[i + 1] != at[i]:
                for changed, old in before.items():
                    new = self._copies(changed)
                    told += [(at[i], -1, end, changed, number) for number, end in (old - new).elements()]
                    told += [(at[i], 1, end, changed, number) for number, end in (new - old).elements()]
                before.clear()
        self.counters["rows"] = len(self._ends)
        return self._deltas(told, hold=hold)

    def _copies(self, row: Row) -> Counter[tuple[int, int]]:
        """(number, end) of each copy of a row."""
        ends = +self._ends.get(row, Counter())
        if not ends:
            self._ends.pop(row, None)
        return Counter(enumerate(sorted(ends.elements(), reverse=True)))

    def _deltas(self, told: list[tuple[int, int, int, Row, int]], *, hold: bool) -> Deltas:
        count, width = len(told), len(self.source.variables)
        rows = np.zeros((count, len(self.variables)), np.int32)
        rows[:, :width] = np.array([change[3] for change in told], np.int32).reshape(count, width)
        ids = np.unique(rows[:, :width])
        text = dict(zip(ids.tolist(), self._terms.texts(ids), strict=True))
        names = [self._name(row, number, text) for _, _, _, row, number in told]
        for place, label in enumerate(self._labels, width):
            rows[:, place] = self._terms.ids([f"_:b{_digest(f'{name} {label}')}" for name in names])
        sign = np.array([change[1] for change in told], np.int8)
        if hold:
            self._terms.hold(rows[sign > 0, width:].ravel(), rows[sign < 0, width:].ravel())
        at, until = (np.array([change[place] for change in told], np.int64) for place in (0, 2))
        return Deltas(at, sign, until, rows)

    def _name(self, row: Row, number: int, text: dict[int, str]) -> str:
        pairs = zip(self.source.variables, row, strict=True)
        shown = sorted((name, text[term]) for name, term in pairs if term != UNBOUND and not name.startswith("_:"))
        return f"{shown} {number}"

    @property
    def nbytes(self) -> int:
        """About what the rows and their ends take."""
        return self.source.nbytes + 500 * len(self._ends)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
