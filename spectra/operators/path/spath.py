"""PATH by Δ-trees (S-PATH): partial paths are kept with the time at which they expire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.operators.kernels import delta_trees, derivations
from spectra.operators.kernels import spath as kernels
from spectra.operators.kernels.heap import grown_heap, new_heap
from spectra.operators.kernels.pairs import new_pairs
from spectra.operators.path.pairs import PathPairs

#: Numbers of slides begin anew before they come near `delta_trees.ENDLESS`.
_MOST_SLIDES = 2**29

#: Room at the beginning for steps that wait, and for nodes that lost their derivation.
_LEAST_HEAP, _LEAST_MARKS = 64, 64

#: Between two batches these may keep one place for so many nodes.
_NODES_PER_PLACE = 32


class SPath(PathPairs):
    """Pairs that a path connects, as deltas; parameters as of `PathPairs`."""

    #: Whether edges know what hangs on them.
    _with_edges = False

    def _start(self, dfa: Dfa) -> None:
        self._work = np.zeros(7, np.int64)
        self._work[derivations.OPEN] = -1
        self._trees = delta_trees.new_trees(
            dfa.states, with_edges=self._with_edges, with_markings=self._has_markings(dfa)
        )
        self._heap = new_heap(_LEAST_HEAP, self._trees.product.dtype)
        self._marks = _new_marks(_LEAST_MARKS)
        self._arrivals = _new_arrivals(_LEAST_MARKS if self._has_markings(dfa) else 0)
        self._changed = new_pairs(0)

    def _has_markings(self, dfa: Dfa) -> bool:
        """Whether simple paths have to be looked for."""
        return False

    @property
    def counters(self) -> dict[str, int]:
        """Edges probed and tree nodes set, taken down or read to be told so far, tree nodes now."""
        return {
            "edges_probed": int(self._work[derivations.EDGES_PROBED]),
            "nodes_touched": int(self._work[derivations.NODES_TOUCHED]),
            "nodes": int(self._trees.size[delta_trees.LIVE]),
        }

    def _prepare(self) -> None:
        super()._prepare()
        views, log = self._views, self._views.log
        if log.entries == 0:
            return
        bits = int(self._trees.size[delta_trees.STATE_BITS])
        if (self._largest_id() + 1) << bits > 2**31 and self._trees.product.dtype != np.int64:
            self._trees = delta_trees.renewed(self._trees, wide=True)
            self._heap = new_heap(_LEAST_HEAP, np.int64)
        if self._trees.size[delta_trees.FIRST] > _MOST_SLIDES:
            delta_trees.renumber_slides(self._trees)
        ends = np.empty(log.entries, np.int64)
        count = kernels.ends_in_log(views.columns, log.columns, log.entries, ends)
        self._trees = delta_trees.with_slides(self._trees, np.unique(ends[:count]))
        self._trees = delta_trees.with_edges(self._trees, len(views.columns.subject))

    def _follow(self, first: int, last: int) -> tuple[int, int]:
        following, written = kernels.follow_log(
            self._views.columns,
            self._views.log.columns,
            first,
            last,
            last,
            self._trees,
            self._heap,
            self._marks,
            self._arrivals,
            self._work,
            self._terms,
            self._automaton.columns,
            self._changed,
            self._views.counting,
            self._removals,
            self._extensions,
            self._out,
            0,
        )
        return following, written

    def _finish(self) -> None:
        """Give back what is much larger than its content."""
        if delta_trees.is_sparse(self._trees):
            self._renew_trees()
        most = int(self._trees.size[delta_trees.LIVE]) // _NODES_PER_PLACE
        if len(self._heap.end) > max(most, _LEAST_HEAP):
            self._heap = new_heap(_LEAST_HEAP, self._trees.product.dtype)
        if len(self._marks.node) > max(most, _LEAST_MARKS):
            self._marks = _new_marks(_LEAST_MARKS)
        if len(self._arrivals.node) > max(most, _LEAST_MARKS):
            self._arrivals = _new_arrivals(_LEAST_MARKS)

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        trees = self._trees
        bits = int(trees.size[delta_trees.STATE_BITS])
        nodes = delta_trees.live_nodes(trees)
        nodes = nodes[self._automaton.columns.is_accepting[trees.product[nodes] & ((1 << bits) - 1)]]
        pairs = np.column_stack((trees.root[nodes], (trees.product[nodes] >> bits).astype(np.int32)))
        return pairs, delta_trees.ends_of(trees, nodes)

    def _make_room(self, written: int) -> None:
        if not delta_trees.has_room(self._trees):
            self._renew_trees()
        elif self._work[derivations.MARKED] == len(self._marks.node):
            self._marks = _new_marks(2 * len(self._marks.node), self._marks)
        elif 0 < len(self._arrivals.node) < self._arrivals.size[0] + len(self._automaton.columns.clash):
            self._arrivals = _new_arrivals(2 * len(self._arrivals.node), self._arrivals)
        elif self._heap.size[0] == len(self._heap.end):
            self._heap = grown_heap(self._heap)
        elif written:
            self._more_output()

    def _renew_trees(self) -> None:
        """Leave the dead nodes behind, in a table with room for more."""
        old, work = self._trees, self._work
        self._trees = delta_trees.renewed(old)
        delta_trees.follow_moves(old, self._heap.parent, self._heap.size[0])
        delta_trees.follow_moves(old, self._marks.node, work[derivations.MARKED])
        for nodes in (self._arrivals.node, self._arrivals.parent):
            delta_trees.follow_moves(old, nodes, self._arrivals.size[0])
        delta_trees.follow_moves(old, work[derivations.OPEN : derivations.OPEN + 1], 1)

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [*self._trees, *self._heap, *self._marks, *self._arrivals, *self._terms]
        return sum(array.nbytes for array in arrays)


def _new_marks(room: int, old: derivations.MarkColumns | None = None) -> derivations.MarkColumns:
    """Room for so many nodes, with those that there are."""
    marks = derivations.MarkColumns(np.zeros(room, np.int32), np.zeros(room, np.int32))
    _keep(marks, old)
    return marks


def _new_arrivals(room: int, old: derivations.ArrivalColumns | None = None) -> derivations.ArrivalColumns:
    """Room for so many steps, with those that there are."""
    arrivals = derivations.ArrivalColumns(
        np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(1, np.int64)
    )
    _keep(arrivals, old)
    return arrivals


def _keep(columns: Iterable[NDArray[Any]], old: Iterable[NDArray[Any]] | None) -> None:
    """Copy what shorter columns hold."""
    for column, held in zip(columns, old or (), strict=old is not None):
        column[: len(held)] = held
