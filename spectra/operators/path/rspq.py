"""PATH by simple paths (RSPQ): Δ-trees of arbitrary paths, and a search where the tree's path repeats a vertex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.clock import FOREVER, NO_END
from spectra.errors import ResourceError
from spectra.operators.kernels import rspq as kernels
from spectra.operators.kernels.simple_paths import LIMIT, VISITED, SearchColumns, new_search
from spectra.operators.path.automaton import Empty
from spectra.operators.path.rapq import RApq
from spectra.views.kernels.index import grown_index, new_index
from spectra.views.view import WindowViews

#: States that the search for simple paths may visit at one instant, unless told otherwise.
PATH_BUDGET = 10_000_000


class RSpq(RApq):
    """Pairs that a path without a repeated vertex connects, as deltas; parameters as of `RApq`.

    `budget` limits the states that are visited at one instant where paths must be searched for; `label` is the
    path for the error beyond it.
    """

    _masks = (1 | 2 | 4, 2 | 4, 1)

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
        budget: int = PATH_BUDGET,
        label: str = "",
    ) -> None:
        super().__init__(
            views,
            dfa,
            root,
            target,
            encode,
            empty=empty,
            removals=removals,
            extensions=extensions,
            owned=owned,
            simple=True,
        )
        self._label = label
        self._states = dfa.states
        self._conflicts = _new_conflicts(64)
        self._search: SearchColumns = new_search(1, dfa.states, budget)

    @property
    def counters(self) -> dict[str, int]:
        """Beside those of the trees: pairs with a conflict now, searches so far."""
        tally = self._conflicts.tally
        return {**super().counters, "conflicts": int(tally[kernels.USED]), "searches": int(tally[kernels.SEARCHES])}

    def _prepare(self) -> None:
        super()._prepare()
        log, columns = self._views.log, self._views.columns
        if log.entries == 0:
            return
        largest = int(max(columns.subject[log.row].max(), columns.object[log.row].max()))
        if largest >= len(self._search.on_path):
            self._search = new_search(2 * largest, self._states, int(self._search.tally[LIMIT]))

    def _follow(self, first: int, last: int) -> tuple[int, int]:
        following, written = kernels.follow_log(
            self._views.columns,
            self._views.log.columns,
            first,
            last,
            self._trees,
            self._heap,
            self._pairs,
            self._work,
            self._terms,
            self._automaton.columns,
            self._conflicts,
            self._search,
            self._views.counting,
            self._removals,
            self._extensions,
            self._out,
        )
        limit = int(self._search.tally[LIMIT])
        if self._search.tally[VISITED] > limit:
            raise ResourceError(
                f"the simple paths of {self._label} take more than {limit:,} states at one event",
                detail="Where leaving out a loop breaks the path, simple paths have to be tried one by one.",
                hint="Raise the limit (--path-budget, Engine(path_budget=…)), narrow the window, "
                "or leave out SIMPLE PATHS.",
            )
        return following, written

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        rows, until = super()._connected()
        entries = np.flatnonzero(self._conflicts.used)
        pairs = zip(self._conflicts.root[entries].tolist(), self._conflicts.vertex[entries].tolist(), strict=True)
        known = dict(zip(pairs, self._conflicts.end[entries].tolist(), strict=True))
        for at, (root, vertex) in enumerate(rows.tolist()):
            until[at] = known.get((root, vertex), until[at])
        return rows[until != NO_END], until[until != NO_END]

    def _make_room(self, written: int) -> None:
        if self._conflicts.tally[kernels.FREE] < 1:
            self._conflicts = _new_conflicts(2 * len(self._conflicts.root), self._conflicts)
        else:
            super()._make_room(written)

    @property
    def nbytes(self) -> int:
        conflicts: list[NDArray[Any]] = [*self._conflicts[:-1], *self._conflicts.lists]
        return super().nbytes + sum(array.nbytes for array in [*conflicts, *self._search])


def _new_conflicts(room: int, old: kernels.ConflictColumns | None = None) -> kernels.ConflictColumns:
    """Room for so many conflicts, with those that there are (then none is free)."""
    conflicts = kernels.ConflictColumns(
        root=np.zeros(room, np.int32),
        vertex=np.zeros(room, np.int32),
        used=np.zeros(room, np.int32),
        end=np.full(room, NO_END, np.int64),
        free=np.arange(room - 1, -1, -1, dtype=np.int32),
        tally=np.array([room, 0, FOREVER, 0], np.int64),
        lists=new_index([1 | 2, 1], room, 2 * room),
    )
    if old is None:
        return conflicts
    held = len(old.root)
    for name in ("root", "vertex", "used", "end"):
        getattr(conflicts, name)[:held] = getattr(old, name)
    conflicts.free[: room - held] = np.arange(room - 1, held - 1, -1, dtype=np.int32)
    conflicts.tally[:] = old.tally
    conflicts.tally[kernels.FREE] = room - held
    index = grown_index(old.root, old.vertex, old.used, old.lists, room, 2 * room)
    return conflicts._replace(lists=index)
