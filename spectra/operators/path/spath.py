"""PATH by Δ-trees (S-PATH): partial paths are kept with the time at which they expire."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spectra.automata import OTHER, Dfa
from spectra.clock import FOREVER, NO_END
from spectra.operators.contract import Deltas
from spectra.operators.kernels import spath as kernels
from spectra.operators.kernels.output import new_output
from spectra.views.kernels.index import grown_index, new_index
from spectra.views.view import OBJECT, PREDICATE, SUBJECT, WindowViews

_VERTEX_AND_STATE = 2 | 4
_SMALL = ("root", "vertex", "state", "parent", "via", "earlier", "later")
_ENDS = ("end", "was")


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
        empty: Literal["none", "constant", "terms"] | None = None,
        removals: bool = True,
        extensions: bool = True,
        owned: Callable[[NDArray[np.int32]], NDArray[np.bool_]] | None = None,
    ) -> None:
        self._views = views
        self._owned = owned
        self._removals = removals
        self._extensions = extensions
        ends = [end for end in (root, target) if isinstance(end, str)]
        self.variables = tuple(dict.fromkeys(ends))
        self._root_id = root if isinstance(root, int) else 0
        self._target_id = target if isinstance(target, int) else 0
        both_variable = len(ends) == 2
        if empty is None:
            empty = "none" if not dfa.accepts_empty else "terms" if both_variable else "constant"
        self._empty = empty
        needs_terms = empty == "terms"

        outgoing_masks, incoming_masks = [], []
        for label in dfa.labels:
            predicate = PREDICATE if label.predicate != OTHER else 0
            near, far = (OBJECT, SUBJECT) if label.backward else (SUBJECT, OBJECT)
            outgoing_masks.append(predicate | near)
            incoming_masks.append(predicate | far)
        views.require(outgoing_masks + incoming_masks + ([SUBJECT, OBJECT] if needs_terms else []))
        self._outgoing_masks, self._incoming_masks = outgoing_masks, incoming_masks

        moves = np.full((dfa.states, len(dfa.labels)), -1, np.int32)
        for state, state_moves in enumerate(dfa.moves):
            for label, target_state in state_moves.items():
                moves[state, dfa.labels.index(label)] = target_state
        accepting = np.array(sorted(dfa.accepting), np.int64)
        self._automaton = kernels.AutomatonColumns(
            moves=moves,
            label_predicate=np.array(
                [0 if label.predicate == OTHER else encode(label.predicate) for label in dfa.labels], np.int32
            ),
            label_backward=np.array([label.backward for label in dfa.labels], np.bool_),
            outgoing=np.zeros(len(dfa.labels), np.int64),
            incoming=np.zeros(len(dfa.labels), np.int64),
            mentioned=np.array([encode(predicate) for predicate in sorted(dfa.mentioned)], np.int32),
            accepting=accepting,
            is_accepting=np.isin(np.arange(dfa.states), accepting),
            ends=np.array([self._root_id, self._target_id, 0, 0], np.int32),
            flags=np.array([both_variable and root == target, needs_terms, dfa.accepts_empty, owned is not None]),
            projected=np.array([0 if name == root else 1 for name in self.variables], np.int64),
        )
        self._work = np.zeros(10, np.int64)
        self._trees = _new_trees(1024)
        self._work[kernels.FREE] = 1024
        self._heap = _new_heap(1024)
        self._terms = _new_terms(1)
        self._reserve_output(1024)

    @property
    def counters(self) -> dict[str, int]:
        """Edges probed and tree nodes set so far, tree nodes now."""
        return {
            "edges_probed": int(self._work[kernels.EDGES_PROBED]),
            "nodes_touched": int(self._work[kernels.NODES_TOUCHED]),
            "nodes": int(self._work[kernels.LIVE]),
        }

    def initial(self, at: int) -> Deltas:
        """The empty path of a constant holds whatever the window holds."""
        if self._empty != "constant":
            return Deltas.empty(len(self.variables))
        if self._root_id and self._target_id and self._root_id != self._target_id:
            return Deltas.empty(len(self.variables))
        row = np.full((1, len(self.variables)), self._root_id or self._target_id, np.int32)
        return Deltas.entering(at, FOREVER, row)

    def process(self) -> Deltas:
        log = self._views.log
        index_of = self._views.index_of()
        self._automaton.outgoing[:] = index_of[self._outgoing_masks]
        self._automaton.incoming[:] = index_of[self._incoming_masks]
        self._automaton.ends[2:] = index_of[SUBJECT], index_of[OBJECT]
        if log.entries and (self._automaton.flags[1] or self._owned is not None):
            self._know_terms(
                np.concatenate((self._views.columns.subject[log.row], self._views.columns.object[log.row]))
            )
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
                self._work,
                self._terms,
                self._automaton,
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
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    def _know_terms(self, ids: NDArray[np.int32]) -> None:
        """Room for the terms of a log; an id that was given back may have come again with another owner."""
        largest = int(ids.max())
        if largest >= len(self._terms.uses):
            self._terms = _new_terms(2 * largest, self._terms)
        if self._owned is not None:
            self._terms.owned[ids] = self._owned(ids)

    def current(self, at: int) -> Deltas:
        trees, automaton = self._trees, self._automaton
        state = trees.state
        nodes = np.flatnonzero((state >= 0) & automaton.is_accepting[np.maximum(state, 0)])
        nodes = nodes[np.lexsort((-trees.end[nodes], trees.vertex[nodes], trees.root[nodes]))]
        pairs = np.column_stack((trees.root[nodes], trees.vertex[nodes]))
        keep = np.ones(len(nodes), np.bool_)
        keep[1:] = np.any(pairs[1:] != pairs[:-1], axis=1)  # of several accepting states the one that lasts longest
        if self._target_id:
            keep &= pairs[:, 1] == self._target_id
        same = pairs[:, 0] == pairs[:, 1]
        if automaton.flags[2]:
            keep &= ~same
        if automaton.flags[0]:
            keep &= same
        rows, until = pairs[keep], trees.end[nodes][keep]
        if automaton.flags[1]:
            terms = np.flatnonzero(self._terms.uses > 0).astype(np.int32)
            for constant in (self._root_id, self._target_id):
                terms = terms[terms == constant] if constant else terms
            rows = np.concatenate((rows, np.column_stack((terms, terms))))
            until = np.concatenate((until, self._terms.end[terms]))
        if self._views.counting:
            until = np.full(len(rows), FOREVER, np.int64)
        found = Deltas.entering(at, until, rows[:, automaton.projected])
        return Deltas.concatenate([self.initial(at), found])

    def _make_room(self, written: int) -> None:
        """Grow what the kernel may have run out of."""
        work = self._work
        if work[kernels.FREE] < 1:
            rows = 2 * len(self._trees.root)
            self._trees = _grown_trees(self._trees, rows, work)
        elif work[kernels.SLIDES] + 2 > len(self._trees.slide_end):
            self._trees = _more_slides(self._trees, work)
        elif written + 4 > len(self._out.at):
            self._reserve_output(min(4 * len(self._out.at), 1 << 18))
        else:
            self._heap = _new_heap(2 * len(self._heap.end), self._heap)

    def _reserve_output(self, room: int) -> None:
        self._out = new_output(room, len(self.variables))

    @property
    def nbytes(self) -> int:
        trees = [column for name, column in self._trees._asdict().items() if name != "lists"]
        arrays: list[NDArray[Any]] = [*trees, *self._trees.lists, *self._heap, *self._terms]
        return sum(array.nbytes for array in arrays)


def _new_trees(rows: int) -> kernels.TreeColumns:
    # what is read together lies together: one cache line for a node
    small = np.zeros((rows, 8), np.int32)
    ends = np.full((rows, 2), NO_END, np.int64)
    small[:, _SMALL.index("state")] = -1
    columns: dict[str, NDArray[Any]] = {
        **{name: small[:, at] for at, name in enumerate(_SMALL)},
        **{name: ends[:, at] for at, name in enumerate(_ENDS)},
    }
    return kernels.TreeColumns(
        **columns,
        free=np.arange(rows - 1, -1, -1, dtype=np.int32),
        marked=np.zeros(rows, np.int32),
        lists=new_index([1 | 2 | 4, _VERTEX_AND_STATE], rows, 2 * rows),
        slide_end=np.zeros(64, np.int64),
        slide_head=np.zeros(64, np.int32),
    )


def _grown_trees(trees: kernels.TreeColumns, rows: int, work: np.ndarray) -> kernels.TreeColumns:
    old = len(trees.root)
    grown = _new_trees(rows)
    for name in (*_SMALL, *_ENDS, "marked"):
        getattr(grown, name)[:old] = getattr(trees, name)
    held = int(work[kernels.FREE])
    grown.free[:held] = trees.free[:held]
    grown.free[held : held + rows - old] = np.arange(rows - 1, old - 1, -1, dtype=np.int32)
    work[kernels.FREE] = held + rows - old
    index = grown_index(trees.root, trees.vertex, trees.state, trees.lists, rows, 2 * rows)
    return grown._replace(lists=index, slide_end=trees.slide_end, slide_head=trees.slide_head)


def _more_slides(trees: kernels.TreeColumns, work: np.ndarray) -> kernels.TreeColumns:
    """The ring of slides, twice as large, from position 0 on."""
    held = int(work[kernels.SLIDES])
    old = (int(work[kernels.FIRST_SLIDE]) + np.arange(held)) & (len(trees.slide_end) - 1)
    slide_end = np.zeros(2 * len(trees.slide_end), np.int64)
    slide_head = np.zeros(2 * len(trees.slide_end), np.int32)
    slide_end[:held], slide_head[:held] = trees.slide_end[old], trees.slide_head[old]
    work[kernels.FIRST_SLIDE] = 0
    return trees._replace(slide_end=slide_end, slide_head=slide_head)


def _new_terms(room: int, old: kernels.TermColumns | None = None) -> kernels.TermColumns:
    terms = kernels.TermColumns(np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.bool_))
    if old is not None:
        for name in kernels.TermColumns._fields:
            before = getattr(old, name)
            getattr(terms, name)[: len(before)] = before
    return terms


def _new_heap(room: int, old: kernels.HeapColumns | None = None) -> kernels.HeapColumns:
    heap = kernels.HeapColumns(
        end=np.zeros(room, np.int64), **{name: np.zeros(room, np.int32) for name in kernels.HeapColumns._fields[1:]}
    )
    if old is not None:
        for name in kernels.HeapColumns._fields:
            getattr(heap, name)[: len(old.end)] = getattr(old, name)
    return heap
