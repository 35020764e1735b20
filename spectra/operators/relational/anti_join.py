"""Anti-join: the solutions of one input that have no partner in another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectra.errors import InternalError
from spectra.operators.contract import Deltas, Operator
from spectra.operators.kernels.anti_join import anti_join_deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.rows import new_table, with_room


class AntiJoin:
    """Solutions of `left` for which `right` has none with equal values of `keys`, unbound equal to unbound.

    `keys` are the variables of `right`, in order.
    """

    def __init__(self, left: Operator, right: Operator, keys: Sequence[str]) -> None:
        self.left, self.right, self._keys = left, right, keys
        self.variables = left.variables
        self._key_of_left = np.array([left.variables.index(name) for name in keys], np.int64)
        whole = list(range(len(keys)))
        self._left = new_table(len(left.variables), self._key_of_left.tolist())
        self._matches = new_table(len(keys), whole)
        self._covered = new_table(len(keys), whole)
        self._counts = np.zeros(2, np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """Rows told because a match came or went, and rows and matches held."""
        return {"uncovered": int(self._counts[0]), "rows": int(self._left.size[0] + self._matches.size[0])}

    def initial(self, at: int) -> Deltas:
        return self._anti_join(self.left.initial(at), self.right.initial(at))

    def process(self) -> Deltas:
        return self._anti_join(self.left.process(), self.right.process())

    def current(self, at: int) -> Deltas:
        fresh = AntiJoin(self.left, self.right, self._keys)
        return fresh._anti_join(self.left.current(at), self.right.current(at))

    def _anti_join(self, left: Deltas, right: Deltas) -> Deltas:
        self._left = with_room(self._left, int(np.count_nonzero(left.sign > 0)))
        matches = int(np.count_nonzero(right.sign > 0))
        self._matches = with_room(self._matches, matches)
        self._covered = with_room(self._covered, matches)
        progress = np.zeros(7, np.int64)
        parts = []
        room = max(1024, 2 * (len(left) + len(right)))
        done = not len(left) and not len(right)
        while not done:
            out = new_output(room, len(self.variables))
            written, done = anti_join_deltas(
                self._left,
                self._matches,
                self._covered,
                left.at,
                left.sign,
                left.until,
                left.rows,
                right.at,
                right.sign,
                right.rows,
                self._key_of_left,
                progress,
                out,
                self._counts,
            )
            if written:
                parts.append(Deltas(out.at[:written], out.sign[:written], out.until[:written], out.rows[:written]))
            if written == 0 or room < 1 << 20:
                room *= 4
        if self._counts[1]:
            raise InternalError("an anti-join was told of a row that leaves and never came")
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    @property
    def nbytes(self) -> int:
        inputs = self.left.nbytes + self.right.nbytes
        return inputs + sum(array.nbytes for array in (*self._left, *self._matches, *self._covered))
