"""A path's automaton as columns, and what every PATH operator knows of its two ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from spectra.automata import OTHER, Dfa, conflicts
from spectra.clock import FOREVER
from spectra.operators.contract import Deltas
from spectra.operators.kernels.automaton import AutomatonColumns, TermColumns
from spectra.views.view import OBJECT, PREDICATE, SUBJECT, WindowViews

#: What the empty path matches: nothing, the constant at an end whatever the window holds, or the window's terms.
Empty = Literal["none", "constant", "terms"]


class Automaton:
    """The automaton of a path over the views of one window.

    `root` and `target` are the two ends: a term id, or a variable's name. With `simple`, no path leads from a
    vertex back to itself.
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
        owned: bool = False,
        simple: bool = False,
    ) -> None:
        self._views = views
        ends = [end for end in (root, target) if isinstance(end, str)]
        self.variables = tuple(dict.fromkeys(ends))
        self.root_id = root if isinstance(root, int) else 0
        self.target_id = target if isinstance(target, int) else 0
        both_variable = len(ends) == 2
        if empty is None:
            empty = "none" if not dfa.accepts_empty else "terms" if both_variable else "constant"
        self.empty: Empty = empty
        needs_terms = empty == "terms"

        self._outgoing, self._incoming = [], []
        for label in dfa.labels:
            predicate = PREDICATE if label.predicate != OTHER else 0
            near, far = (OBJECT, SUBJECT) if label.backward else (SUBJECT, OBJECT)
            self._outgoing.append(predicate | near)
            self._incoming.append(predicate | far)
        views.require(self._outgoing + self._incoming + ([SUBJECT, OBJECT] if needs_terms else []))

        moves = np.full((dfa.states, len(dfa.labels)), -1, np.int32)
        for state, state_moves in enumerate(dfa.moves):
            for label, target_state in state_moves.items():
                moves[state, dfa.labels.index(label)] = target_state
        clash = np.zeros((dfa.states, dfa.states), np.bool_)
        for states in conflicts(dfa) if simple else ():
            clash[states] = True
        accepting = np.array(sorted(dfa.accepting), np.int64)
        predicates = [0 if label.predicate == OTHER else encode(label.predicate) for label in dfa.labels]
        group_moves, group = np.unique(moves, axis=1, return_inverse=True)
        self.columns = AutomatonColumns(
            moves=moves,
            group=group.astype(np.int64).reshape(-1),
            group_moves=np.ascontiguousarray(group_moves),
            label_predicate=np.array(predicates, np.int32),
            label_backward=np.array([label.backward for label in dfa.labels], np.bool_),
            outgoing=np.zeros(len(dfa.labels), np.int64),
            incoming=np.zeros(len(dfa.labels), np.int64),
            mentioned=np.array([encode(predicate) for predicate in sorted(dfa.mentioned)], np.int32),
            accepting=accepting,
            is_accepting=np.isin(np.arange(dfa.states), accepting),
            ends=np.array([self.root_id, self.target_id, 0, 0], np.int32),
            flags=np.array([both_variable and root == target, needs_terms, dfa.accepts_empty or simple, owned, simple]),
            projected=np.array([0 if name == root else 1 for name in self.variables], np.int64),
            clash=clash,
        )

    def find_indexes(self) -> None:
        """Note which indexes of the views list the edges; an operator may have added some."""
        index_of = self._views.index_of()
        self.columns.outgoing[:] = index_of[self._outgoing]
        self.columns.incoming[:] = index_of[self._incoming]
        self.columns.ends[2:] = index_of[SUBJECT], index_of[OBJECT]

    def initial(self, at: int) -> Deltas:
        """The empty path of a constant holds whatever the window holds."""
        width = len(self.variables)
        if self.empty != "constant" or (self.root_id and self.target_id and self.root_id != self.target_id):
            return Deltas.empty(width)
        return Deltas.entering(at, FOREVER, np.full((1, width), self.root_id or self.target_id, np.int32))

    def current(self, at: int, pairs: NDArray[np.int32], until: NDArray[np.int64], terms: TermColumns) -> Deltas:
        """What holds now, as rows that enter at `at`: the pairs that trees reach, as far as they are asked for, and
        those of the empty path. Of equal pairs the one that lasts longest counts.
        """
        order = np.lexsort((-until, pairs[:, 1], pairs[:, 0]))
        pairs, until = pairs[order], until[order]
        same = pairs[:, 0] == pairs[:, 1]
        keep = ~(same & self.columns.flags[2]) & (same | ~self.columns.flags[0])
        keep[1:] &= np.any(pairs[1:] != pairs[:-1], axis=1)
        if self.target_id:
            keep &= pairs[:, 1] == self.target_id
        pairs, until = pairs[keep], until[keep]
        if self.empty == "terms":
            used = np.flatnonzero(terms.uses > 0).astype(np.int32)
            for constant in (self.root_id, self.target_id):
                used = used[used == constant] if constant else used
            pairs = np.concatenate((pairs, np.column_stack((used, used))))
            until = np.concatenate((until, terms.end[used]))
        if self._views.counting:
            until = np.full(len(pairs), FOREVER, np.int64)
        found = Deltas.entering(at, until, pairs[:, self.columns.projected])
        return Deltas.concatenate([self.initial(at), found])


def new_terms(room: int, old: TermColumns | None = None) -> TermColumns:
    """Columns for terms with ids below `room`."""
    terms = TermColumns(np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.bool_))
    if old is not None:
        for name in TermColumns._fields:
            before: NDArray[np.generic] = getattr(old, name)
            getattr(terms, name)[: len(before)] = before
    return terms
