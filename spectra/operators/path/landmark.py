"""PATH by landmarks (LM-SRPQ): Δ-trees share the trees of product nodes that many of them reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.clock import FOREVER, NO_END
from spectra.operators.kernels import (
    delta_trees,
    landmark_choice,
    landmark_deletion,
    landmark_ends,
    landmark_log,
    landmark_results,
    landmark_search,
)
from spectra.operators.kernels import landmark as kernels
from spectra.operators.kernels.automaton import may_be_root
from spectra.operators.kernels.delta_trees import FIRST, LIVE, STATE_BITS
from spectra.operators.kernels.heap import grown_heap, new_heap
from spectra.operators.kernels.spath import ends_in_log
from spectra.operators.path.pairs import PathPairs

#: Numbers of slides begin anew before they come near `delta_trees.ENDLESS`.
_MOST_SLIDES = 2**29

#: Which part of the product nodes that several trees have may become landmarks, those with the largest estimated trees.
#: A landmark stays one while it is in a part twice as large.
_CANDIDATES = 0.2

#: How many nodes a landmark must save for each node of its own tree.
_BENEFIT = 1.5

#: How often a cycle of the automaton is thought to be followed.
_ROUNDS = 6

#: Landmarks that are taken in one selection, and those that are tried in vain before it ends.
_MOST_TAKEN, _MOST_REFUSED = 8, 3

_LEAST = 64


class Landmark(PathPairs):
    """Pairs that a path connects, as deltas; parameters as of `PathPairs`."""

    def _start(self, dfa: Dfa) -> None:
        self._depth = np.array(depths(dfa), np.int64)
        self._work = np.zeros(kernels.WORK, np.int64)
        self._work[kernels.OPEN] = self._work[kernels.INNER] = -1
        self._work[kernels.LIMIT] = NO_END
        self._trees = delta_trees.new_trees(dfa.states)
        self._empty_step()
        self._marks = _new_marks(8, _LEAST, _LEAST, _LEAST)
        self._selected = 0  # nodes touched when landmarks were chosen last

    @property
    def counters(self) -> dict[str, int]:
        """Edges probed and tree nodes set so far; tree nodes now, those of landmarks, and landmarks."""
        live = delta_trees.live_nodes(self._trees)
        return {
            "edges_probed": int(self._work[kernels.EDGES_PROBED]),
            "nodes_touched": int(self._work[kernels.NODES_TOUCHED]),
            "nodes": int(self._trees.size[LIVE]),
            "landmark_nodes": int(np.count_nonzero(self._trees.root[live] < 0)),
            "landmarks": int(np.count_nonzero(self._marks.product >= 0)),
        }

    def _prepare(self) -> None:
        super()._prepare()
        views, log = self._views.columns, self._views.log
        if not log.entries:
            return
        largest = int(max(views.subject[log.row].max(), views.object[log.row].max()))
        if (largest + 1) << int(self._trees.size[STATE_BITS]) > 2**31 and self._trees.product.dtype != np.int64:
            self._trees = delta_trees.renewed(self._trees, wide=True)
            self._list_all()
        if self._trees.size[FIRST] > _MOST_SLIDES:
            delta_trees.renumber_slides(self._trees)
        ends = np.empty(log.entries, np.int64)
        count = ends_in_log(views, log.columns, log.entries, ends)
        self._trees = delta_trees.with_slides(self._trees, np.unique(ends[:count]))

    def _empty_step(self) -> None:
        """Room for a small step, while there is none."""
        ids, ends = np.zeros(_LEAST, np.int32), np.zeros(_LEAST, np.int64)
        slots = np.zeros(2 * _LEAST, np.int32)
        self._heap = new_heap(_LEAST, np.int64)
        self._gains = kernels.GainColumns(ids.copy(), ends.copy(), ids.copy(), slots.copy())
        self._told = kernels.ToldColumns(ids.copy(), ids.copy(), ids.copy(), slots.copy())
        self._affected = ids

    def _follow(self, first: int, last: int) -> tuple[int, int]:
        following, written = landmark_log.follow_log(
            self._views.columns,
            self._views.log.columns,
            first,
            last,
            self._trees,
            self._marks,
            self._heap,
            self._gains,
            self._told,
            self._affected,
            self._work,
            self._terms,
            self._automaton.columns,
            self._views.counting,
            self._removals,
            self._extensions,
            self._out,
        )
        between = self._work[kernels.PHASE] == kernels.BEGIN and self._work[kernels.GAINED] == 0
        if between and (self._work[kernels.RESELECT] or following == last):
            self._select(int(following))
            if following == last:
                self._empty_step()
                if delta_trees.is_sparse(self._trees):
                    self._renew_trees()
        return following, written

    def _make_room(self, written: int) -> None:
        work = self._work
        if work[kernels.PHASE] not in (kernels.BEGIN, kernels.TELL, kernels.FINISH):
            self._make_room_for_trees()
        elif work[kernels.TOLD] == len(self._told.root):
            self._told = kernels.ToldColumns(*_doubled(*self._told))
            landmark_results.find_told(self._told, work)
        elif written + 4 > len(self._out.at):
            self._more_output()
        elif work[kernels.GAINED] == len(self._gains.node):
            self._more_gains()

    def _make_room_for_trees(self) -> None:
        work = self._work
        if not delta_trees.has_room(self._trees):
            self._renew_trees()
        elif self._heap.size[0] == len(self._heap.end):
            self._heap = grown_heap(self._heap)
        elif work[kernels.AFFECTED] == len(self._affected):
            (self._affected,) = _doubled(self._affected)
        elif not kernels.has_list_room(self._marks, work):
            self._list_all()
        else:
            self._more_gains()

    def _more_gains(self) -> None:
        self._gains = kernels.GainColumns(*_doubled(*self._gains))
        landmark_ends.find_gains(self._gains, self._work)

    def _renew_trees(self) -> None:
        """Leave the dead nodes behind, in a table with room for more."""
        old, work = self._trees, self._work
        self._trees = delta_trees.renewed(old)
        delta_trees.follow_moves(old, self._heap.parent, self._heap.size[0])
        delta_trees.follow_moves(old, self._gains.node, work[kernels.GAINED])
        delta_trees.follow_moves(old, work[kernels.OPEN : kernels.OPEN + 1], 1)
        landmark_ends.find_gains(self._gains, work)
        self._list_all()

    def _list_all(self) -> None:
        """List the nodes of landmarks and the dependencies of roots anew, with room for more."""
        work = self._work
        while True:
            listed = kernels.list_all(self._trees, self._marks, work, self._automaton.columns)
            members, landmarks, roots = len(self._marks.member), len(self._marks.landmark), len(self._marks.root)
            members += members // 2 * (10 * int(work[kernels.MEMBERS]) > 9 * members)
            landmarks += landmarks // 2 * (10 * int(work[kernels.DEPENDENCIES]) > 9 * landmarks)
            roots <<= 5 * int(work[kernels.DEPENDENTS]) > 2 * roots
            if listed and (members, landmarks, roots) == (
                len(self._marks.member),
                len(self._marks.landmark),
                len(self._marks.root),
            ):
                return
            self._marks = _new_marks(len(self._marks.product), members, landmarks, roots, self._marks)

    # --- landmarks ------------------------------------------------------------------------------

    def _select(self, position: int) -> None:
        """Choose the landmarks anew, where enough has changed since it was done last."""
        work = self._work
        work[kernels.RESELECT] = 0
        if work[kernels.NODES_TOUCHED] - self._selected < self._trees.size[LIVE] // 4 + _LEAST:
            return
        survey = self._survey()
        dropped = [mark for mark in self._landmarks() if not self._stays(mark, survey)]
        if dropped:
            self._drop(dropped, position)
            survey = self._survey()
        refused: set[int] = set()
        taken = 0
        while taken < _MOST_TAKEN and len(refused) < _MOST_REFUSED:
            candidate = survey.next_candidate(refused)
            if candidate is None:
                break
            if self._try(*candidate, position):
                taken += 1
                survey = self._survey()
            else:
                refused.add(candidate[0])
        self._selected = int(work[kernels.NODES_TOUCHED])

    def _landmarks(self) -> list[int]:
        return [int(landmark) for landmark in np.flatnonzero(self._marks.product >= 0)]

    def _survey(self) -> _Survey:
        trees = self._trees
        sizes = np.zeros(len(trees.tags), np.int32)
        landmark_choice.subtree_sizes(trees, sizes)
        trees_at, below, largest, score = (np.zeros(len(trees.heads), np.int64) for _ in range(4))
        landmark_choice.survey(
            self._views.columns, trees, self._automaton.columns, self._depth, sizes, trees_at, below, largest, score
        )
        listed = np.flatnonzero(trees_at >= 2)
        order = np.argsort(-score[listed], kind="stable")
        listed = listed[order]
        products = trees.product[trees.heads[listed] - 1].astype(np.int64)
        known = set(self._marks.product.tolist())
        return _Survey(products, below[listed], largest[listed], known)

    def _stays(self, landmark: int, survey: _Survey) -> bool:
        """Whether a landmark is still among those with large trees, and saves more nodes than it has."""
        place = survey.place_of(int(self._marks.product[landmark]))
        return (
            place < 2 * _CANDIDATES * len(survey.products)
            and landmark_choice.dependents(self._trees, self._marks, landmark) >= _BENEFIT
        )

    def _drop(self, landmarks: list[int], position: int) -> None:
        """Let product nodes be landmarks no longer; the trees that had them grow anew."""
        work = self._work
        for landmark in landmarks:
            self._affect_dependents(landmark)
            self._lose_landmark(landmark)
        self._repeat(
            lambda: landmark_deletion.lose_trees(
                self._views.columns, self._trees, self._gains, self._affected, work, self._automaton.columns
            )
        )
        self._marks.product[landmarks] = -1
        self._find_landmarks()
        affected = np.unique(self._affected[: int(work[kernels.AFFECTED])])
        self._forget()
        self._list_all()
        for root in affected.tolist():
            self._grow(root, position)
        self._forget()

    def _affect_dependents(self, landmark: int) -> None:
        """Note the roots whose trees end at a landmark, and the one that it is itself."""
        work = self._work
        self._repeat(
            lambda: landmark_deletion.affect_dependents(self._trees, self._marks, self._affected, work, landmark)
        )
        root = self._root_of(landmark)
        if root:
            self._repeat(lambda: landmark_deletion.affect(self._affected, work, root))

    def _root_of(self, landmark: int) -> int:
        """The root that a landmark is itself, 0 where it is none."""
        bits = int(self._trees.size[STATE_BITS])
        vertex, state = divmod(int(self._marks.product[landmark]), 1 << bits)
        return vertex if state == 0 and may_be_root(self._terms, self._automaton.columns, vertex) else 0

    def _lose_landmark(self, landmark: int) -> None:
        self._repeat(lambda: landmark_choice.lose_landmark(self._trees, self._gains, self._work, landmark))

    def _try(self, product: int, benefit: int, position: int) -> bool:
        """Make a product node a landmark where that saves nodes."""
        landmark = self._new_landmark(product)
        self._grow(~landmark, position)
        size = int(self._work[kernels.GAINED])
        if benefit < _BENEFIT * size:
            self._lose_landmark(landmark)
            self._marks.product[landmark] = -1
            self._find_landmarks()
            self._forget()
            return False
        self._forget()
        self._repeat(
            lambda: landmark_choice.lose_behind(
                self._views.columns, self._trees, self._marks, self._gains, self._work, self._terms,
                self._automaton.columns, landmark,
            )
        )  # fmt: skip
        self._forget()
        self._list_all()
        return True

    def _grow(self, tree: int, position: int) -> None:
        """Grow a tree from its root."""
        work, automaton = self._work, self._automaton.columns
        limit = int(work[kernels.LIMIT])
        self._repeat(
            lambda: landmark_search.grow(
                self._views.columns, self._trees, self._marks, self._heap, work, automaton, tree, position, limit
            )
        )
        self._repeat(
            lambda: landmark_search.settle(
                self._views.columns, self._trees, self._marks, self._heap, self._gains, work, automaton, position, limit
            )
        )

    def _repeat(self, step: Callable[[], bool]) -> None:
        """Do a step until there is room for all of it."""
        while not step():
            self._make_room_for_trees()

    def _forget(self) -> None:
        landmark_results.forget(self._trees, self._gains, self._told, self._affected, self._work)

    def _new_landmark(self, product: int) -> int:
        """The number of a new landmark."""
        free = np.flatnonzero(self._marks.product < 0)
        if not len(free):
            marks = self._marks
            count = len(marks.product)
            self._marks = _new_marks(2 * count, len(marks.member), len(marks.landmark), len(marks.root), marks)
            self._find_landmarks()
            self._list_all()
            free = np.array([count])
        self._marks.product[free[0]] = product
        self._find_landmarks()
        return int(free[0])

    def _find_landmarks(self) -> None:
        """Let landmarks be found by their product nodes."""
        marks = self._marks
        marks.slots[:] = 0
        for landmark in self._landmarks():
            marks.slots[kernels.landmark_slot(marks, marks.product[landmark])] = landmark + 1

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Every root's accepting nodes, and those of the landmarks that it depends on."""
        trees, marks = self._trees, self._marks
        bits = int(trees.size[STATE_BITS])
        nodes = delta_trees.live_nodes(trees)
        ends, product, tree = (
            delta_trees.ends_of(trees, nodes),
            trees.product[nodes].astype(np.int64),
            trees.root[nodes],
        )
        accepted = self._automaton.columns.is_accepting[product & ((1 << bits) - 1)]
        vertex = (product >> bits).astype(np.int32)
        own = accepted & (tree >= 0)
        pairs, until = [np.column_stack((tree[own], vertex[own]))], [ends[own]]
        for landmark in self._landmarks():
            of_map = accepted & (tree == ~landmark)
            depends = (product == marks.product[landmark]) & (tree >= 0)
            roots, held = tree[depends], ends[depends]
            itself = self._root_of(landmark)
            if itself:
                roots, held = np.append(roots, np.int32(itself)), np.append(held, FOREVER)
            pairs.append(np.column_stack((np.repeat(roots, of_map.sum()), np.tile(vertex[of_map], len(roots)))))
            until.append(np.minimum.outer(held, ends[of_map]).ravel())
        return np.concatenate(pairs), np.concatenate(until)

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [
            *self._trees, *self._heap, *self._gains, *self._told, self._affected, *self._marks, *self._terms,
        ]  # fmt: skip
        return sum(array.nbytes for array in arrays)


class _Survey(NamedTuple):
    """Product nodes that several trees have, those with the largest estimated trees first.

    `below` is how many nodes trees have behind each, `largest` the most in one of them; `known` are landmarks already.
    """

    products: NDArray[np.int64]
    below: NDArray[np.int64]
    largest: NDArray[np.int64]
    known: set[int]

    def place_of(self, product: int) -> int:
        found = np.flatnonzero(self.products == product)
        return int(found[0]) if len(found) else len(self.products)

    def next_candidate(self, refused: set[int]) -> tuple[int, int] | None:
        """The first product node that may save enough, with what it saves; its tree has all that any subtree has."""
        count = int(np.ceil(_CANDIDATES * len(self.products)))
        for place in np.flatnonzero(self.below[:count] >= _BENEFIT * self.largest[:count]).tolist():
            product = int(self.products[place])
            if product not in refused and product not in self.known and self.below[place]:
                return product, int(self.below[place])
        return None


def depths(dfa: Dfa) -> list[int]:
    """How long paths from each state are thought to be, a cycle being followed a few times.

    With the states that reach one another as one, it is the longest way, where those on a cycle count so many
    times over.
    """
    reach = [{state} for state in range(dfa.states)]
    changed = True
    while changed:
        changed = False
        for state, moves in enumerate(dfa.moves):
            found = reach[state].union(*(reach[following] for following in moves.values()))
            changed = changed or found != reach[state]
            reach[state] = found
    cyclic = [{other for other in reach[state] if state in reach[other]} for state in range(dfa.states)]
    known: dict[int, int] = {}

    def depth(state: int) -> int:
        if state not in known:
            together = cyclic[state]
            loops = len(together) > 1 or state in dfa.moves[state].values()
            leaving = [f for other in together for f in dfa.moves[other].values() if f not in together]
            known[state] = _ROUNDS * len(together) * loops + max((1 + depth(f) for f in leaving), default=0)
        return known[state]

    return [depth(state) for state in range(dfa.states)]


def _new_marks(
    landmarks: int, members: int, dependencies: int, roots: int, old: kernels.LandmarkColumns | None = None
) -> kernels.LandmarkColumns:
    """Room for so many landmarks and lists, with the landmarks that there are."""
    product = np.full(landmarks, -1, np.int64)
    slots = np.zeros(4 * landmarks, np.int32)
    if old is not None:
        product[: len(old.product)] = old.product
        if len(slots) == len(old.slots):
            slots = old.slots
    return kernels.LandmarkColumns(
        product=product,
        slots=slots,
        first=np.full(landmarks, -1, np.int32),
        hit=np.zeros(landmarks, np.bool_),
        member=np.zeros(members, np.int32),
        member_after=np.zeros(members, np.int32),
        root=np.zeros(roots, np.int32),
        depends=np.zeros(roots, np.int32),
        landmark=np.zeros(dependencies, np.int32),
        landmark_after=np.zeros(dependencies, np.int32),
    )


def _doubled(*columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Columns with twice the room, the new part zero."""
    return [np.concatenate((column, np.zeros(len(column), column.dtype))) for column in columns]
