"""ORDER BY with LIMIT and OFFSET: a stretch of the ordered bag of solutions."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.errors import InternalError
from spectra.operators.contract import UNBOUND, Deltas, Operator
from spectra.sparql.values import OrderKey, order_key

Row = tuple[int, ...]


class _Descending:
    """A key that sorts the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: OrderKey) -> None:
        self.key = key

    def __lt__(self, other: _Descending) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class _Place:
    """A solution at its place in the order, with how many copies have which end."""

    __slots__ = ("ends", "key", "row")

    def __init__(self, row: Row, key: tuple[Any, ...]) -> None:
        self.row = row
        self.key = key
        self.ends: Counter[int] = Counter()

    def __lt__(self, other: _Place) -> bool:
        return self.key < other.key


class Slice:
    """The solutions from `offset` on, at most `limit`, in the order of `keys` (variable, whether descending).

    Solutions that are equal by their keys are in the order of their texts, variable by variable in
    alphabetical order, so that the slice is always the same. The answer has the columns `variables`; with
    `distinct`, a solution that is equal to an earlier one in these is passed over.
    """

    def __init__(
        self,
        source: Operator,
        variables: Sequence[str],
        keys: Sequence[tuple[str, bool]],
        offset: int,
        limit: int | None,
        texts: Callable[[NDArray[np.int32]], list[str]],
        *,
        distinct: bool,
    ) -> None:
        self.source = source
        self.variables = tuple(variables)
        self.counters = {"rows": 0, "visited": 0}
        self._arguments = (variables, keys, offset, limit, texts)
        self._distinct = distinct
        self._offset, self._limit, self._texts = offset, limit, texts
        self._keys = [(source.variables.index(name), descending) for name, descending in keys]
        self._shown = [source.variables.index(name) if name in source.variables else -1 for name in variables]
        names = sorted(name for name in source.variables if not name.startswith("_:"))
        self._ties = [(name, source.variables.index(name)) for name in names]
        self._places: dict[Row, _Place] = {}
        self._ordered: list[_Place] = []
        self._told: Counter[tuple[Row, int]] = Counter()

    def initial(self, at: int) -> Deltas:
        return self._slice(self.source.initial(at))

    def process(self) -> Deltas:
        return self._slice(self.source.process())

    def current(self, at: int) -> Deltas:
        fresh = Slice(self.source, *self._arguments, distinct=self._distinct)
        return fresh._slice(self.source.current(at))

    def _slice(self, deltas: Deltas) -> Deltas:
        told: list[tuple[int, int, int, Row]] = []
        ids = np.unique(deltas.rows)
        text: dict[int, str | None] = dict(zip(ids.tolist(), self._texts(ids), strict=True))
        text[UNBOUND] = None
        rows = [tuple(row) for row in deltas.rows.tolist()]
        at = deltas.at.tolist()
        for i, (sign, until) in enumerate(zip(deltas.sign.tolist(), deltas.until.tolist(), strict=True)):
            self._change(rows[i], sign, until, text)
            if i + 1 == len(at) or at[i + 1] != at[i]:
                now = Counter(self._present())
                for sign_told, changes in ((-1, self._told - now), (1, now - self._told)):
                    told += [(at[i], sign_told, end, row) for row, end in changes.elements()]
                self._told = now
        self.counters["rows"] = len(self._ordered)
        return Deltas(
            np.array([change[0] for change in told], np.int64),
            np.array([change[1] for change in told], np.int8),
            np.array([change[2] for change in told], np.int64),
            np.array([change[3] for change in told], np.int32).reshape(len(told), len(self.variables)),
        )

    def _change(self, row: Row, sign: int, until: int, text: dict[int, str | None]) -> None:
        place = self._places.get(row)
        if place is None:
            place = self._places[row] = _Place(row, self._key(row, text))
            insort(self._ordered, place)
        place.ends[until] += sign
        if place.ends[until] < 0:
            raise InternalError("a slice was told of a row that leaves and never came")
        if not place.ends[until]:
            del place.ends[until]
            if not place.ends:
                del self._places[row]
                del self._ordered[bisect_left(self._ordered, place)]

    def _key(self, row: Row, text: dict[int, str | None]) -> tuple[Any, ...]:
        keys: list[Any] = []
        for column, descending in self._keys:
            key = order_key(text[row[column]])
            keys.append(_Descending(key) if descending else key)
        keys.append(tuple((name, text[row[column]]) for name, column in self._ties if row[column] != UNBOUND))
        keys.append(row)  # equal in all that can be named, and yet two rows
        return tuple(keys)

    def _present(self) -> Iterator[tuple[Row, int]]:
        """The rows of the slice, each with its end: its own, or that of what keeps it behind the offset."""
        earlier: list[int] = []
        last = None if self._limit is None else self._offset + self._limit
        for position, (row, end) in enumerate(self._sequence()):
            if last is not None and position >= last:
                return
            if position >= self._offset:
                yield row, min(end, earlier[position - self._offset]) if self._offset else end
            if self._offset:
                insort(earlier, end)

    def _sequence(self) -> Iterator[tuple[Row, int]]:
        """The rows in order, as they are shown; of copies, those that last longest first."""
        seen: set[Row] = set()
        for place in self._ordered:
            self.counters["visited"] += 1
            row = tuple([place.row[column] if column >= 0 else UNBOUND for column in self._shown])
            if not self._distinct:
                for end in sorted(place.ends.elements(), reverse=True):
                    yield row, end
            elif row not in seen:
                seen.add(row)
                yield row, max(place.ends)

    @property
    def nbytes(self) -> int:
        """About what the rows take in the order and beside it."""
        return self.source.nbytes + 800 * len(self._ordered)
