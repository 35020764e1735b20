"""ORDER BY with LIMIT and OFFSET: a stretch of the ordered bag of solutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.dictionary.spans import Spans
from spectra.errors import InternalError
from spectra.operators.contract import UNBOUND, Deltas, Operator
from spectra.operators.kernels import slice as kernels
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.rows import new_table, with_room
from spectra.operators.kernels.slice import OrderedRows, Shape, Stretch, slice_deltas, stretch_deltas
from spectra.operators.kernels.treap import keyed
from spectra.operators.relational.live_terms import LiveTerms
from spectra.operators.relational.numbers import with_rows
from spectra.operators.relational.value_order import ValueOrder

#: In the place of a label: before all of them, and behind them when it is negated.
_FIRST = 1 - (1 << 63)


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
        spans: Callable[[], Spans],
        *,
        distinct: bool,
    ) -> None:
        self.source = source
        self.variables = tuple(variables)
        self._arguments = (variables, keys, offset, limit, spans)
        end = FOREVER if limit is None else offset + limit
        shown = [source.variables.index(name) if name in source.variables else -1 for name in variables]
        named = sorted(name for name in source.variables if not name.startswith("_:"))
        ties = [source.variables.index(name) for name in named]
        hidden = [at for at, name in enumerate(source.variables) if name.startswith("_:")]
        columns = [np.array(columns, np.int64) for columns in (shown, ties, hidden)]
        self._shape = Shape(columns[0], columns[1], columns[2], distinct, offset, end)
        self._descending = np.array([-1 if descending else 1 for _, descending in keys], np.int64)
        self._columns = [source.variables.index(name) for name, _ in keys]
        self._live, self._spans = LiveTerms(), spans
        self._values = ValueOrder(self._live, spans)
        self._moved = 0
        width = len(source.variables)
        self._entries = new_table(width, list(range(width)))
        self._projections = new_table(len(variables), list(range(len(variables))))
        order = keyed(np.zeros((0, len(keys)), np.int64))
        self._ordered = OrderedRows(
            order=order._replace(
                terms=np.zeros((0, len(ties)), np.int32), rest=np.zeros((0, len(hidden) + 1), np.int64)
            ),
            links=np.zeros((0, 2), np.int32),
            root=np.zeros(1, np.int32),
            of_projection=np.zeros((0, 2), np.int32),
            projection_roots=np.zeros(0, np.int32),
            told=np.zeros(0, np.int64),
            touched=np.zeros(0, np.bool_),
            changed=np.zeros(0, np.int64),
            border=np.zeros(3, np.int64),
            counters=np.zeros(2, np.int64),
        )
        self._copies = 0
        self._told = _stretch(0, len(variables))

    @property
    def counters(self) -> dict[str, int]:
        """Rows held, and those looked at to know what is shown."""
        return {"rows": int(self._entries.size[0]), "visited": int(self._ordered.counters[kernels.VISITED])}

    def initial(self, at: int) -> Deltas:
        return self._slice(self.source.initial(at))

    def process(self) -> Deltas:
        return self._slice(self.source.process())

    def current(self, at: int) -> Deltas:
        fresh = Slice(self.source, *self._arguments, distinct=self._shape.distinct)
        return fresh._slice(self.source.current(at))

    def _slice(self, deltas: Deltas) -> Deltas:
        if not len(deltas):
            return Deltas.empty(len(self.variables))
        compared = deltas.rows[:, self._columns]
        self._values.enter(self._live.enter(compared.ravel()))
        self._make_room(int(np.count_nonzero(deltas.sign > 0)))
        projected = np.zeros((len(deltas), len(self.variables)), np.int32)
        for to, column in enumerate(self._shape.shown.tolist()):
            if column >= 0:
                projected[:, to] = deltas.rows[:, column]
        given = (deltas.at, deltas.sign, deltas.until, deltas.rows, projected, self._keys(compared))
        told = self._behind_offset(*given) if self._shape.offset else self._first(*given)
        if self._ordered.counters[kernels.MISSING]:
            raise InternalError("a slice was told of a row that leaves and never came")
        slots = self._live.slots(compared.ravel())
        self._values.leave(self._live.leave(slots, np.repeat(deltas.sign, len(self._columns))))
        return told

    def _first(self, *given: NDArray[Any]) -> Deltas:
        out = new_output(4 * len(given[0]), len(self.variables))
        written = slice_deltas(self._entries, self._projections, self._ordered, self._shape, *given, out)
        return Deltas.written(out, written)

    def _behind_offset(self, *given: NDArray[Any]) -> Deltas:
        self._copies += int(given[1].sum())
        most = self._copies + int(np.count_nonzero(given[1] < 0))
        longest = min(most, self._shape.end)
        self._told = Stretch(with_rows(self._told.rows, longest), with_rows(self._told.until, longest), self._told.size)
        now = _stretch(longest, len(self.variables))
        held = with_room(new_table(len(self.variables), list(range(len(self.variables)))), len(self._told.until))
        earlier = np.zeros(longest + 1, np.int64)
        parts = []
        done = 0
        while done < len(given[0]):
            out = new_output(max(1024, 8 * longest), len(self.variables))
            written, done = stretch_deltas(
                self._entries, self._projections, self._ordered, self._shape, *given, earlier, now, self._told, held,
                done, out,
            )  # fmt: skip
            parts.append(Deltas.written(out, written))
        return Deltas.concatenate(parts)

    def _make_room(self, additions: int) -> None:
        """Room for so many more rows, and for the keys of those that are there under their present labels."""
        self._entries = with_room(self._entries, additions)
        ordered = self._ordered
        projection_roots = ordered.projection_roots
        if self._shape.distinct:
            self._projections = with_room(self._projections, additions)
            projection_roots = with_rows(projection_roots, len(self._projections.until))
        room = len(self._entries.until)
        self._ordered = ordered._replace(
            order=ordered.order._replace(
                keys=with_rows(ordered.order.keys, room),
                terms=with_rows(ordered.order.terms, room),
                rest=with_rows(ordered.order.rest, room),
                **self._spans()._asdict(),
            ),
            links=with_rows(ordered.links, room),
            of_projection=with_rows(ordered.of_projection, room),
            projection_roots=projection_roots,
            told=with_rows(ordered.told, room),
            touched=with_rows(ordered.touched, room),
            changed=with_rows(ordered.changed, room),
        )
        if self._values.moved != self._moved:
            self._moved = self._values.moved
            live = np.flatnonzero(self._entries.copies)
            self._ordered.order.keys[live] = self._keys(self._entries.rows[live][:, self._columns])

    def _keys(self, compared: NDArray[np.int32]) -> NDArray[np.int64]:
        """The places of terms in the order, a row for each row."""
        labels = self._values.labels[self._live.slots(compared)]
        labels[compared == UNBOUND] = _FIRST
        return labels * self._descending

    @property
    def nbytes(self) -> int:
        ordered = self._ordered
        arrays = (*self._entries, *self._projections, *ordered[1:], *ordered.order[:2], ordered.order.rest)
        return self.source.nbytes + sum(array.nbytes for array in arrays) + self._live.nbytes + self._values.nbytes


def _stretch(room: int, width: int) -> Stretch:
    return Stretch(np.zeros((room, width), np.int32), np.zeros(room, np.int64), np.zeros(1, np.int64))
