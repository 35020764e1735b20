"""The distinct terms that an operator keeps values of, numbered densely while they are in use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectra.operators.contract import UNBOUND


class LiveTerms:
    """Slots of term ids, each for as long as some row has the term; slot 0 is that of no term.

    So what is computed for a term is computed once, and forgotten before its id can mean another term.
    """

    def __init__(self) -> None:
        self.terms = np.zeros(1, np.int32)
        self._slots = np.zeros(1, np.int32)
        self._uses = np.zeros(1, np.int64)
        self._free = np.zeros(0, np.int32)

    def enter(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give slots to the terms that have none; these slots."""
        room = int(ids.max(initial=0)) + 1
        if room > len(self._slots):
            self._slots = np.append(self._slots, np.zeros(2 * room - len(self._slots), np.int32))
        fresh = np.unique(ids[(self._slots[ids] == 0) & (ids != UNBOUND)])
        if len(fresh) > len(self._free):
            size = len(self.terms)
            more = size + len(fresh)
            self._free = np.append(np.arange(size + more - 1, size - 1, -1, dtype=np.int32), self._free)
            self.terms = np.append(self.terms, np.zeros(more, np.int32))
            self._uses = np.append(self._uses, np.zeros(more, np.int64))
        given, self._free = self._free[len(self._free) - len(fresh) :], self._free[: len(self._free) - len(fresh)]
        self._slots[fresh] = given
        self.terms[given] = fresh
        return given

    def slots(self, ids: NDArray[np.int32]) -> NDArray[np.int32]:
        """The slots of terms that have one."""
        return self._slots[ids]

    def leave(self, slots: NDArray[np.int32], sign: NDArray[np.int8]) -> NDArray[np.int32]:
        """Count the rows that came and went; the slots that no row has any more, which are free now."""
        np.add.at(self._uses, slots, sign)
        unused = np.unique(slots[(self._uses[slots] == 0) & (slots > 0)])
        self._slots[self.terms[unused]] = 0
        self._free = np.append(self._free, unused)
        return unused

    @property
    def live(self) -> NDArray[np.int32]:
        """The slots that some term has."""
        slots = np.arange(len(self.terms), dtype=np.int32)
        live: NDArray[np.int32] = slots[(self._slots[self.terms] == slots) & (slots > 0)]
        return live

    def __len__(self) -> int:
        return len(self.terms) - 1 - len(self._free)

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self._slots.nbytes + self._uses.nbytes + self._free.nbytes
