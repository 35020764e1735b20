"""PATH by Δ-trees with negative tuples (RAPQ): an edge that goes takes down exactly what was derived by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.clock import NO_END
from spectra.operators.contract import Deltas
from spectra.operators.kernels import rapq as kernels
from spectra.operators.kernels.output import new_output
from spectra.operators.path.automaton import Automaton, Empty, new_terms
from spectra.views.kernels.index import grown_index, new_index
from spectra.views.view import WindowViews

_SMALL = (
    "root",
    "vertex",
    "state",
    "label",
    "parent",
    "via",
    "child",
    "next",
    "previous",
    "via_next",
    "via_previous",
)
_LARGE = ("end", "stamp")


class RApq:
    """Pairs that a path connects, as deltas.

    `root` and `target` are the two ends: a term id, or a variable's name. The trees grow from
    `root`; the planner gives the constant end as root and the automaton in that direction.
    `empty` says what the empty path matches where the automaton accepts it: the constant at an end
    whatever the window holds, or the terms of the window. By default, the constant where there is one.
    `owned` tells for term ids whether trees grow from them, and is asked in every batch; None: from all.
    With `simple`, no path leads from a vertex back to itself.
    """

    _masks: tuple[int, ...] = (1 | 2 | 4, 2 | 4)

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
        self._work = np.zeros(16, np.int64)
        self._work[kernels.STAMP] = 1
        self._work[kernels.FREE] = 1024
        self._trees, self._pairs = self._new_trees(1024)
        self._heap = new_heap(1024)
        self._terms = new_terms(1)
        self._out = new_output(1024, len(self.variables))

    @property
    def counters(self) -> dict[str, int]:
        """Edges probed and tree nodes set or taken down so far, tree nodes now."""
        return {
            "edges_probed": int(self._work[kernels.EDGES_PROBED]),
            "nodes_touched": int(self._work[kernels.NODES_TOUCHED]),
            "nodes": int(self._work[kernels.LIVE]),
        }

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
                parts.append(Deltas.written(self._out, int(written)))
            first = int(following)
            if first < log.entries:
                self._make_room(int(written))
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    def _prepare(self) -> None:
        """Room for the rows and terms of a log; an id that was given back may have come again with another owner."""
        rows = len(self._views.columns.subject)
        if len(self._trees.via_head) < rows:
            via_head = np.zeros(rows, np.int32)
            via_head[: len(self._trees.via_head)] = self._trees.via_head
            self._trees = self._trees._replace(via_head=via_head)
        log = self._views.log
        if log.entries and (self._automaton.columns.flags[1] or self._owned is not None):
            columns = self._views.columns
            ids = np.concatenate((columns.subject[log.row], columns.object[log.row]))
            largest = int(ids.max())
            if largest >= len(self._terms.uses):
                self._terms = new_terms(2 * largest, self._terms)
            if self._owned is not None:
                self._terms.owned[ids] = self._owned(ids)

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
            self._views.counting,
            self._removals,
            self._extensions,
            self._out,
        )
        return following, written

    def current(self, at: int) -> Deltas:
        return self._automaton.current(at, *self._connected(), self._terms)

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The pairs (root, vertex) of accepting nodes, with their ends."""
        trees = self._trees
        nodes = np.flatnonzero((trees.state >= 0) & self._automaton.columns.is_accepting[np.maximum(trees.state, 0)])
        return np.column_stack((trees.root[nodes], trees.vertex[nodes])), trees.end[nodes]

    def _make_room(self, written: int) -> None:
        """Grow what the kernel may have run out of."""
        if self._work[kernels.FREE] < 1:
            self._trees, self._pairs = self._new_trees(2 * len(self._trees.root), self._trees, self._pairs)
        elif written + 4 > len(self._out.at):
            self._out = new_output(min(4 * len(self._out.at), 1 << 18), len(self.variables))
        else:
            self._heap = new_heap(2 * len(self._heap.end), self._heap)

    def _new_trees(
        self, rows: int, old: kernels.TreeColumns | None = None, old_pairs: kernels.PairColumns | None = None
    ) -> tuple[kernels.TreeColumns, kernels.PairColumns]:
        """Room for `rows` nodes, and for as many pairs, with what there is."""
        # what is read together lies together
        small = np.zeros((rows, 12), np.int32)
        large = np.full((rows, len(_LARGE)), NO_END, np.int64)
        small[:, _SMALL.index("state")] = -1
        columns: dict[str, NDArray[Any]] = {
            **{name: small[:, at] for at, name in enumerate(_SMALL)},
            **{name: large[:, at] for at, name in enumerate(_LARGE)},
        }
        pairs = kernels.PairColumns(np.zeros(rows, np.int32), np.zeros(rows, np.int32), np.zeros(rows, np.int64))
        free, cut = np.arange(rows - 1, -1, -1, dtype=np.int32), np.zeros(rows, np.int32)
        if old is None or old_pairs is None:
            index = new_index(list(self._masks), rows, 2 * rows)
            return kernels.TreeColumns(
                **columns, free=free, cut=cut, via_head=np.zeros(0, np.int32), lists=index
            ), pairs
        held, fresh = len(old.root), rows - len(old.root)
        for name, column in columns.items():
            column[:held] = getattr(old, name)
        for name in kernels.PairColumns._fields:
            getattr(pairs, name)[:held] = getattr(old_pairs, name)
        cut[:held] = old.cut
        # only when none is free
        free[:fresh] = np.arange(rows - 1, held - 1, -1, dtype=np.int32)
        self._work[kernels.FREE] = fresh
        index = grown_index(old.root, old.vertex, old.state, old.lists, rows, 2 * rows)
        return kernels.TreeColumns(**columns, free=free, cut=cut, via_head=old.via_head, lists=index), pairs

    @property
    def nbytes(self) -> int:
        trees = [column for name, column in self._trees._asdict().items() if name != "lists"]
        arrays: list[NDArray[Any]] = [*trees, *self._trees.lists, *self._pairs, *self._heap, *self._terms]
        return sum(array.nbytes for array in arrays)


def new_heap(room: int, old: kernels.HeapColumns | None = None) -> kernels.HeapColumns:
    """Room for so many relaxations, with those that wait."""
    heap = kernels.HeapColumns(
        end=np.zeros(room, np.int64), **{name: np.zeros(room, np.int32) for name in kernels.HeapColumns._fields[1:]}
    )
    if old is not None:
        for name in kernels.HeapColumns._fields:
            getattr(heap, name)[: len(old.end)] = getattr(old, name)
    return heap
