"""Join: compatible solutions of two inputs."""

from __future__ import annotations

import numpy as np

from spectra.errors import InternalError
from spectra.operators.contract import Deltas, Operator
from spectra.operators.kernels.hash_join import join_deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.rows import new_table, with_room


class HashJoin:
    """Solutions of both inputs that agree on what both bind.

    `certain` are the shared variables that are bound in every row of both sides: the hash key. Other
    shared variables may be unbound on one side and are compared row by row.
    """

    def __init__(self, left: Operator, right: Operator, certain: frozenset[str]) -> None:
        self.left, self.right, self._certain = left, right, certain
        shared = [name for name in left.variables if name in right.variables]
        key = [name for name in shared if name in certain]
        self.variables = tuple(dict.fromkeys(left.variables + right.variables))
        self._key_of_left = np.array([left.variables.index(name) for name in key], np.int64)
        self._key_of_right = np.array([right.variables.index(name) for name in key], np.int64)
        self._loose = np.array(
            [(left.variables.index(n), right.variables.index(n)) for n in shared if n not in certain], np.int64
        ).reshape(-1, 2)
        self._columns = np.array(
            [
                (
                    left.variables.index(name) if name in left.variables else -1,
                    right.variables.index(name) if name in right.variables else -1,
                )
                for name in self.variables
            ],
            np.int64,
        ).reshape(-1, 2)
        self._left = new_table(len(left.variables), self._key_of_left.tolist())
        self._right = new_table(len(right.variables), self._key_of_right.tolist())
        self._counts = np.zeros(2, np.int64)

    @property
    def counters(self) -> dict[str, int]:
        """Candidate pairs looked at, and rows held on both sides."""
        return {"candidates": int(self._counts[0]), "rows": int(self._left.size[0] + self._right.size[0])}

    def initial(self, at: int) -> Deltas:
        return self.joined(self.left.initial(at), self.right.initial(at))

    def process(self) -> Deltas:
        return self.joined(self.left.process(), self.right.process())

    def current(self, at: int) -> Deltas:
        fresh = HashJoin(self.left, self.right, self._certain)
        return fresh.joined(self.left.current(at), self.right.current(at))

    def joined(self, left: Deltas, right: Deltas) -> Deltas:
        """What these changes to the two inputs change in the join."""
        self._left = with_room(self._left, int(np.count_nonzero(left.sign > 0)))
        self._right = with_room(self._right, int(np.count_nonzero(right.sign > 0)))
        progress = np.zeros(4, np.int64)
        parts = []
        room = max(1024, 2 * (len(left) + len(right)))
        done = not len(left) and not len(right)
        while not done:
            out = new_output(room, len(self.variables))
            written, done = join_deltas(
                self._left,
                self._right,
                left.at,
                left.sign,
                left.until,
                left.rows,
                right.at,
                right.sign,
                right.until,
                right.rows,
                self._key_of_left,
                self._key_of_right,
                self._loose,
                self._columns,
                progress,
                out,
                self._counts,
            )
            if written:
                parts.append(Deltas(out.at[:written], out.sign[:written], out.until[:written], out.rows[:written]))
            if written == 0 or room < 1 << 20:
                room *= 4
        if self._counts[1]:
            raise InternalError("a join was told of a row that leaves and never came")
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    @property
    def nbytes(self) -> int:
        inputs = self.left.nbytes + self.right.nbytes
        return inputs + sum(array.nbytes for array in (*self._left, *self._right))
