"""PATH by Δ-trees (S-PATH): partial paths are kept with the time at which they expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.operators.contract import Deltas
from spectra.operators.kernels import delta_trees
from spectra.operators.kernels import spath as kernels
from spectra.operators.kernels.output import new_output
from spectra.operators.path.automaton import Automaton, Empty, new_terms
from spectra.views.view import WindowViews

#: Numbers of slides begin anew before they come near `delta_trees.ENDLESS`.
_MOST_SLIDES = 2**29

#: Room at the beginning for relaxations that wait, and for nodes that lost their derivation.
_LEAST_HEAP, _LEAST_MARKS = 64, 64


class SPath:
    """Pairs that a path connects, as deltas.

    `root` and `target` are the two ends: a term id, or a variable's name. The trees grow from
    `root`; the planner gives the constant end as root and the automaton in that direction.
    `empty` says what the empty path matches where the automaton accepts it: the constant at an end
    whatever the window holds, or the terms of the window. By default, the constant where there is one.
    `owned` tells for term ids whether trees grow from them, and is asked in every batch; None: from all.
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
    ) -> None:
        self._views = views
        self._owned = owned
        self._removals = removals
        self._extensions = extensions
        self._automaton = Automaton(views, dfa, root, target, encode, empty=empty, owned=owned is not None)
        self.variables = self._automaton.variables
        self._work = np.zeros(8, np.int64)
        self._work[kernels.OPEN] = -1
        self._trees = delta_trees.new_trees(dfa.states)
        self._heap = _new_heap(self._trees)
        self._marks = kernels.MarkColumns(np.zeros(_LEAST_MARKS, np.int32), np.zeros(_LEAST_MARKS, np.int32))
        self._terms = new_terms(0)
        self._reserve_output(1024)

    @property
    def counters(self) -> dict[str, int]:
        """Edges probed and tree nodes set so far, tree nodes now."""
        return {
            "edges_probed": int(self._work[kernels.EDGES_PROBED]),
            "nodes_touched": int(self._work[kernels.NODES_TOUCHED]),
            "nodes": int(self._trees.size[delta_trees.LIVE]),
        }

    def initial(self, at: int) -> Deltas:
        return self._automaton.initial(at)

    def process(self) -> Deltas:
        log = self._views.log
        self._automaton.find_indexes()
        if log.entries:
            columns = self._views.columns
            self._know_terms(np.concatenate((columns.subject[log.row], columns.object[log.row])))
            if self._trees.size[delta_trees.FIRST] > _MOST_SLIDES:
                delta_trees.renumber_slides(self._trees)
        parts = []
        first = 0
        while first < log.entries:
            following, written = kernels.follow_log(
                self._views.columns,
                log.columns,
                first,
                log.entries,
                self._trees,
                self._heap,
                self._marks,
                self._work,
                self._terms,
                self._automaton.columns,
                self._views.counting,
                self._removals,
                self._extensions,
                self._out,
            )
            if written:
                parts.append(Deltas.written(self._out, int(written)))
            first = int(following)
            if first < log.entries:
                self._make_room(int(written))
        if delta_trees.is_sparse(self._trees):
            self._renew_trees()
            self._heap = _new_heap(self._trees)
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    def _know_terms(self, ids: NDArray[np.int32]) -> None:
        """Room for the terms of a log; an id that was given back may have come again with another owner."""
        largest = int(ids.max())
        if (largest + 1) << int(self._trees.size[delta_trees.STATE_BITS]) > 2**31:
            self._widen()
        if self._automaton.columns.flags[1] or self._owned is not None:
            if largest >= len(self._terms.uses):
                self._terms = new_terms(largest + largest // 4 + 1, self._terms)
            if self._owned is not None:
                self._terms.owned[ids] = self._owned(ids)

    def _widen(self) -> None:
        """Let product nodes take more than 31 bits; nothing waits in the heap between two batches."""
        if self._trees.product.dtype != np.int64:
            self._trees = delta_trees.renewed(self._trees, wide=True)
            self._heap = _new_heap(self._trees)

    def current(self, at: int) -> Deltas:
        trees = self._trees
        bits = int(trees.size[delta_trees.STATE_BITS])
        nodes = delta_trees.live_nodes(trees)
        nodes = nodes[self._automaton.columns.is_accepting[trees.product[nodes] & ((1 << bits) - 1)]]
        pairs = np.column_stack((trees.root[nodes], (trees.product[nodes] >> bits).astype(np.int32)))
        return self._automaton.current(at, pairs, delta_trees.ends_of(trees, nodes), self._terms)

    def _make_room(self, written: int) -> None:
        """Grow what the kernel has run out of."""
        trees, work = self._trees, self._work
        if not delta_trees.has_room(trees):
            self._renew_trees()
        elif trees.size[delta_trees.SLIDES] == len(trees.slide_end):
            self._trees = delta_trees.with_more_slides(trees)
        elif work[kernels.MARKED] == len(self._marks.node):
            self._marks = kernels.MarkColumns(*map(_doubled, self._marks))
        elif work[kernels.HEAP] == len(self._heap.end):
            self._heap = kernels.HeapColumns(*map(_doubled, self._heap))
        elif written:
            self._reserve_output(min(4 * len(self._out.at), 1 << 18))

    def _renew_trees(self) -> None:
        """Leave the dead nodes behind, in a table with room for more."""
        old, work = self._trees, self._work
        self._trees = delta_trees.renewed(old)
        delta_trees.follow_moves(old, self._heap.parent, work[kernels.HEAP])
        delta_trees.follow_moves(old, self._marks.node, work[kernels.MARKED])
        delta_trees.follow_moves(old, work[kernels.OPEN : kernels.OPEN + 1], 1)

    def _reserve_output(self, room: int) -> None:
        self._out = new_output(room, len(self.variables))

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [*self._trees, *self._heap, *self._marks, *self._terms]
        return sum(array.nbytes for array in arrays)


def _extended(column: NDArray[Any], room: int) -> NDArray[Any]:
    """The column with room for so many, the new ones zero."""
    longer = np.zeros(room, column.dtype)
    longer[: len(column)] = column
    return longer


def _doubled(column: NDArray[Any]) -> NDArray[Any]:
    return _extended(column, 2 * len(column))


def _new_heap(trees: delta_trees.TreeColumns) -> kernels.HeapColumns:
    """An empty heap, for product nodes of the width that the trees have."""
    room = _LEAST_HEAP
    return kernels.HeapColumns(np.zeros(room, np.int64), np.zeros(room, trees.product.dtype), np.zeros(room, np.int32))
