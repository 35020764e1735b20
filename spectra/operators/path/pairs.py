"""What the PATH operators have in common: the pairs of a window that a path connects, told as deltas."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.operators.contract import Deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.path.automaton import Automaton, Empty, new_terms
from spectra.views.view import WindowViews


class PathPairs:
    """Pairs that a path connects, as deltas.

    `root` and `target` are the two ends: a term id, or a variable's name. Paths grow from `root`; the planner
    gives the constant end as root and the automaton in that direction. `empty` says what the empty path matches
    where the automaton accepts it: the constant at an end whatever the window holds, or the terms of the window.
    By default, the constant where there is one. `owned` tells for term ids whether paths grow from them, and is
    asked in every batch; None: from all. With `simple`, no path leads from a vertex back to itself.
    """

    def __init__(
        self,
        views: WindowViews,
        dfa: Dfa,
        root: int | str,
        target: int | str,
        encode: Callable[[str], int],
        *,
        empty: Empty | None = None,
        removals: bool = True,
        extensions: bool = True,
        owned: Callable[[NDArray[np.int32]], NDArray[np.bool_]] | None = None,
        simple: bool = False,
    ) -> None:
        self._views = views
        self._owned = owned
        self._removals = removals
        self._extensions = extensions
        self._automaton = Automaton(
            views, dfa, root, target, encode, empty=empty, owned=owned is not None, simple=simple
        )
        self.variables = self._automaton.variables
        self._terms = new_terms(0)
        self._out = new_output(1024, len(self.variables))
        self._start(dfa)

    def _start(self, dfa: Dfa) -> None:
        """Make the state of the operator."""

    def initial(self, at: int) -> Deltas:
        return self._automaton.initial(at)

    def process(self) -> Deltas:
        log = self._views.log
        self._automaton.find_indexes()
        self._prepare()
        parts = []
        first = 0
        while first < log.entries:
            following, written = self._follow(first, log.entries)
            if written:
                parts.append(self._take_output(int(written)))
            first = int(following)
            if first < log.entries:
                self._make_room(int(written))
        self._finish()
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    def current(self, at: int) -> Deltas:
        return self._automaton.current(at, *self._connected(), self._terms)

    def _prepare(self) -> None:
        """Room for the terms of a log; an id that was given back may have come again with another owner."""
        if self._views.log.entries and (self._automaton.columns.flags[1] or self._owned is not None):
            largest = self._largest_id()
            if largest >= len(self._terms.uses):
                self._terms = new_terms(largest + largest // 4 + 1, self._terms)
            if self._owned is not None:
                ids = self._ids()
                self._terms.owned[ids] = self._owned(ids)

    def _ids(self) -> NDArray[np.int32]:
        """The vertices of a log's edges."""
        columns, rows = self._views.columns, self._views.log.row
        return np.concatenate((columns.subject[rows], columns.object[rows]))

    def _largest_id(self) -> int:
        return int(self._ids().max())

    def _finish(self) -> None:
        """What is to be done when a log has been followed."""

    @abstractmethod
    def _follow(self, first: int, last: int) -> tuple[int, int]:
        """Write the deltas of some log entries: (the entry to go on with, deltas written)."""

    @abstractmethod
    def _make_room(self, written: int) -> None:
        """Grow what the kernel may have run out of."""

    @abstractmethod
    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The pairs (root, vertex) that a path connects, with their ends; of equal ones the latest counts."""

    def _more_output(self) -> None:
        self._out = new_output(min(4 * len(self._out.at), 1 << 20), len(self.variables))

    def _take_output(self, written: int) -> Deltas:
        """The deltas that were written; where they fill most of the room it is given away with them."""
        out = self._out
        if 2 * written <= len(out.at):
            return Deltas.written(out, written)
        self._out = new_output(len(out.at), len(self.variables))
        return Deltas(out.at[:written], out.sign[:written], out.until[:written], out.rows[:written])
