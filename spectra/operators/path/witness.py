"""One path that holds, edge by edge, for a pair that a path connects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.clock import NO_END
from spectra.errors import ResourceError
from spectra.operators.kernels import witness as kernels
from spectra.operators.kernels.delta_trees import new_trees
from spectra.operators.kernels.heap import new_heap
from spectra.operators.kernels.simple_paths import (
    FULL,
    LENGTH,
    LIMIT,
    VISITED,
    SearchColumns,
    last_simple_path,
    new_search,
)
from spectra.operators.path.automaton import Automaton
from spectra.views.view import WindowViews

#: Which path is named: the one that lasts longest, one with the fewest edges, the simple one that lasts longest.
Which = Literal["longest-lived", "shortest", "simple"]


class Witness:
    """Finds paths in the views of one window, as they were at any position of the last log.

    `budget` limits the states that a search for simple paths visits.
    """

    def __init__(
        self, views: WindowViews, dfa: Dfa, encode: Callable[[str], int], which: Which, budget: int, label: str
    ) -> None:
        self.views = views
        self._automaton = Automaton(views, dfa, "x", "y", encode, empty="none", simple=which == "simple")
        self._states = dfa.states
        self._accepts_empty = dfa.accepts_empty
        self._which = which
        self._label = label
        self._budget = budget
        self._stamp = 0
        self._heap = new_heap(1024, np.int64)
        self._reached = _new_reached(1024, 1, dfa.states)
        self._no_trees = new_trees(dfa.states)
        self._search: SearchColumns = new_search(64, 1, budget)

    def prepare(self) -> None:
        """To be called after the views have changed, before any path is asked for."""
        self._automaton.find_indexes()
        columns = self.views.columns
        self._know(int(max(columns.subject.max(), columns.object.max())))

    def path(self, start: int, end: int, position: int) -> NDArray[np.int32] | None:
        """The rows of the views along a path from `start` to `end`; None where there is none."""
        if start == end and self._accepts_empty:
            return np.zeros(0, np.int32)
        self._know(max(start, end))
        return self._simple(start, end, position) if self._which == "simple" else self._any(start, end, position)

    def _know(self, largest: int) -> None:
        """Room for vertices with ids up to `largest`."""
        if self._which == "simple":
            if largest >= len(self._search.on_path):
                self._search = new_search(len(self._search.product), 2 * largest + 1, self._budget)
        elif largest * self._states + self._states > len(self._reached.seen):
            self._reached = _new_reached(len(self._reached.vertex), 2 * largest + 1, self._states)

    def _any(self, start: int, end: int, position: int) -> NDArray[np.int32] | None:
        while True:
            self._stamp += 1
            length = kernels.find_path(
                self.views.columns,
                self._automaton.columns,
                self._heap,
                self._reached,
                self._stamp,
                start,
                end,
                position,
                self._which == "shortest",
            )
            if length != kernels.NO_ROOM:
                return self._reached.found[:length].copy() if length != kernels.NO_PATH else None
            self._heap = new_heap(2 * len(self._heap.end), np.int64)
            terms = len(self._reached.seen) // self._states
            self._reached = _new_reached(2 * len(self._reached.vertex), terms, self._states)

    def _simple(self, start: int, end: int, position: int) -> NDArray[np.int32] | None:
        if start == end:
            return None
        while True:
            search = self._search
            search.tally[VISITED] = search.tally[FULL] = 0
            last_simple_path(
                self.views.columns,
                self._automaton.columns,
                self._no_trees,
                search,
                start,
                end,
                position,
                NO_END,
                -NO_END,
            )
            if not search.tally[FULL]:
                break
            self._search = new_search(2 * len(search.product), len(search.on_path), self._budget)
        if search.tally[VISITED] > search.tally[LIMIT]:
            raise ResourceError(
                f"a simple path of {self._label} takes more than {self._budget:,} states to be found",
                hint="Raise the limit (--path-budget, Engine(path_budget=…)), or leave out PATHS.",
            )
        length = int(search.tally[LENGTH])
        return search.found[:length].copy() if length else None


def _new_reached(room: int, terms: int, states: int) -> kernels.ReachedColumns:
    return kernels.ReachedColumns(
        np.zeros(terms * states, np.int64), *(np.zeros(room, np.int32) for _ in kernels.ReachedColumns._fields[1:])
    )
