"""PATH by simple paths (RSPQ): Δ-trees with markings, and a search where the tree's path has a conflict."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa, is_conflict_free
from spectra.clock import FOREVER, NO_END
from spectra.errors import ResourceError
from spectra.operators.kernels import conflicts as table
from spectra.operators.kernels import rspq as kernels
from spectra.operators.kernels.conflicts import count_links, move_links, new_links
from spectra.operators.kernels.delta_trees import BLOCK_BITS
from spectra.operators.kernels.pairs import COLLECTED, grown_pairs, new_pairs
from spectra.operators.kernels.simple_paths import FULL, KNOWN, VISITED, SearchColumns, new_search
from spectra.operators.path.rapq import RApq
from spectra.views.kernels.index import grown_index, new_index

#: Room at the beginning for pairs that changed, twice what a block of nodes may tell at once, for conflicts, and for
#: product nodes that a search knows.
_LEAST_PAIRS, _LEAST_CONFLICTS, _LEAST_KNOWN = 2 << BLOCK_BITS, 64, 64

#: States that the search for simple paths may visit at one instant, unless told otherwise.
PATH_BUDGET = 10_000_000


class RSpq(RApq):
    """Pairs that a path without a repeated vertex connects, as deltas; parameters as of `PathPairs`.

    `budget` limits the states that are visited at one instant where paths must be searched for; `label` is the
    path for the error beyond it.
    """

    def __init__(self, *path: Any, budget: int = PATH_BUDGET, label: str = "", **options: Any) -> None:
        self._budget = budget
        self._label = label
        super().__init__(*path, simple=True, **options)

    def _start(self, dfa: Dfa) -> None:
        self._conflict_free = is_conflict_free(dfa)
        super()._start(dfa)
        if not self._conflict_free:
            self._changed = new_pairs(_LEAST_PAIRS)
        self._conflicts = _new_conflicts(_LEAST_CONFLICTS)
        self._links = new_links(_LEAST_KNOWN)
        self._crowded = False
        self._search: SearchColumns = new_search(_LEAST_KNOWN, 1, self._budget)

    def _has_markings(self, dfa: Dfa) -> bool:
        return not is_conflict_free(dfa)

    @property
    def counters(self) -> dict[str, int]:
        """Beside those of the trees: pairs with a conflict now; searches, nodes unmarked and extensions so far."""
        tally = self._conflicts.tally
        names = {
            "conflicts": table.USED,
            "searches": table.SEARCHES,
            "unmarked": table.UNMARKED,
            "extended": table.EXTENDED,
        }
        return {**super().counters, **{name: int(tally[place]) for name, place in names.items()}}

    def _prepare(self) -> None:
        super()._prepare()
        if self._views.log.entries and not self._conflict_free and self._largest_id() >= len(self._search.on_path):
            self._search = self._larger_search(terms=self._largest_id() * 5 // 4 + 1)

    def _larger_search(self, *, room: int | None = None, terms: int | None = None) -> SearchColumns:
        old = self._search
        return new_search(room or len(old.product), terms or len(old.on_path), self._budget, old)

    def _follow(self, first: int, last: int) -> tuple[int, int]:
        if self._conflict_free:
            return super()._follow(first, last)
        following, written = kernels.follow_log(
            self._views.columns,
            self._views.log.columns,
            first,
            last,
            self._trees,
            self._heap,
            self._marks,
            self._arrivals,
            self._work,
            self._terms,
            self._automaton.columns,
            self._changed,
            self._conflicts,
            self._links,
            self._search,
            self._views.counting,
            self._removals,
            self._extensions,
            self._out,
        )
        if self._search.tally[VISITED] > self._budget:
            raise ResourceError(
                f"the simple paths of {self._label} take more than {self._budget:,} states at one event",
                detail="Where leaving out a loop breaks the path, simple paths have to be tried one by one.",
                hint="Raise the limit (--path-budget, Engine(path_budget=…)), narrow the window, "
                "or leave out SIMPLE PATHS.",
            )
        return following, written

    def _finish(self) -> None:
        super()._finish()
        if self._crowded:
            kernels.drop_unconnected(self._trees, self._automaton.columns, self._conflicts)
            self._crowded = False

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        rows, until = super()._connected()
        conflicts = self._conflicts
        entries = np.flatnonzero(conflicts.used)
        pairs = zip(conflicts.root[entries].tolist(), conflicts.vertex[entries].tolist(), strict=True)
        ends = np.where(conflicts.end > conflicts.tally[table.OVER], conflicts.end, NO_END)
        known = dict(zip(pairs, ends[entries].tolist(), strict=True))
        for at, (root, vertex) in enumerate(rows.tolist()):
            until[at] = known.get((root, vertex), until[at])
        return rows[until != NO_END], until[until != NO_END]

    def _make_room(self, written: int) -> None:
        conflicts, changed = self._conflicts, self._changed
        if self._conflict_free:
            super()._make_room(written)
        elif self._search.tally[FULL]:
            self._search = self._larger_search(room=2 * len(self._search.product))
        elif conflicts.tally[table.FULL_LINKS]:
            self._renew_links(int(self._search.tally[KNOWN]))
        elif conflicts.tally[table.FREE] < 1:
            self._conflicts = _new_conflicts(2 * len(conflicts.root), conflicts)
            self._crowded = True
        elif changed.size[COLLECTED] + _LEAST_PAIRS // 2 > len(changed.before):
            self._changed = grown_pairs(changed)
        else:
            super()._make_room(written)

    def _renew_links(self, more: int) -> None:
        """Leave void links behind, in a table with room for so many more."""
        count = int(count_links(self._trees, self._conflicts, self._links))
        links = new_links(2 * count + more + _LEAST_KNOWN)
        move_links(self._trees, self._links, links)
        self._links = links
        self._conflicts.tally[table.FULL_LINKS] = 0

    @property
    def nbytes(self) -> int:
        columns: list[NDArray[Any]] = [*self._search]
        columns += self._links
        for pairs in (self._conflicts, self._changed):
            columns += [*pairs[:-1], *pairs.lists]
        return super().nbytes + sum(column.nbytes for column in columns)


def _new_conflicts(room: int, old: table.ConflictColumns | None = None) -> table.ConflictColumns:
    """Room for so many conflicts, with those that there are (then none is free)."""
    conflicts = table.ConflictColumns(
        root=np.zeros(room, np.int32),
        vertex=np.zeros(room, np.int32),
        used=np.zeros(room, np.int32),
        end=np.full(room, NO_END, np.int64),
        stamp=np.zeros(room, np.int64),
        closed=np.zeros(room, np.int64),
        inside=np.zeros(room, np.int64),
        gated=np.zeros(room, np.bool_),
        open=np.zeros(room, np.bool_),
        free=np.arange(room - 1, -1, -1, dtype=np.int32),
        tally=np.array([room, 0, FOREVER, NO_END, 0, 0, 0, 0, 0, 0], np.int64),
        lists=new_index([1 | 2, 1], room, 2 * room),
    )
    if old is None:
        return conflicts
    held = len(old.root)
    for name in ("root", "vertex", "used", "end", "stamp", "closed", "inside", "gated", "open"):
        getattr(conflicts, name)[:held] = getattr(old, name)
    conflicts.free[: room - held] = np.arange(room - 1, held - 1, -1, dtype=np.int32)
    conflicts.tally[:] = old.tally
    conflicts.tally[table.FREE] = room - held
    index = grown_index(old.root, old.vertex, old.used, old.lists, room, 2 * room)
    return conflicts._replace(lists=index)
