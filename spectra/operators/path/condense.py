"""PATH anew at every evaluation, by components of the product graph: for answers that are asked seldom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.clock import NO_END
from spectra.operators.contract import Deltas
from spectra.operators.kernels import condense as kernels
from spectra.operators.kernels import condense_sets
from spectra.operators.path.pairs import PathPairs

#: Roots that are followed together: so many words of 64 bits for every component.
_MOST_WORDS = 64

#: So many evaluations in a batch let sets be worth more than lists. The last one, and the first where it goes on with
#: one of the batch before, are by lists in any case.
_LEAST_STOPS = 4

_OF_NODES = ("visit", "low", "component", "stack", "order", "frame")


class Condense(PathPairs):
    """Pairs that a path connects, as deltas; parameters as of `PathPairs`.

    `last_seen` gives for each instant the last one that the same evaluation sees, None where that may be itself: what
    happens between two evaluations is looked at once.
    """

    def __init__(
        self,
        *place: Any,
        last_seen: Callable[[NDArray[np.int64]], NDArray[np.int64] | None] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*place, **options)
        self._last_seen = last_seen

    def _start(self, dfa: Dfa) -> None:
        self._states = dfa.states
        self._work = np.zeros(kernels.EVALUATIONS + 1, np.int64)
        self._parts = kernels.ComponentColumns(
            **dict.fromkeys(_OF_NODES, np.zeros(0, np.int32)),
            edge=np.zeros(0, np.int64),
            reach=np.zeros((0, 1), np.uint64),
            seen=np.zeros((0, 1), np.uint64),
        )
        self._numbers = np.zeros(0, np.int32)  # of the terms of a batch
        self._reach, self._seen = np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        self._found, self._between = _new_found(1024), _new_found(0)
        self._pairs = _new_pairs(1024)
        self._others = _new_pairs(1024)  # those of the evaluation in work
        self._held = 0
        self._evaluation = NO_END
        # where the ends of pairs that stay are not asked for, only those of pairs that enter are found
        self._needs_ends = self._extensions or not self._removals

    @property
    def counters(self) -> dict[str, int]:
        """Evaluations, edges probed and components found so far, pairs now."""
        return {
            "evaluations": int(self._work[kernels.EVALUATIONS]),
            "edges_probed": int(self._work[kernels.EDGES_PROBED]),
            "components": int(self._work[kernels.COMPONENTS]),
            "pairs": self._held,
        }

    def process(self) -> Deltas:
        parts = [super().process()]
        stops, evaluations = self._stops()
        if len(stops):
            edges, product = self._seen_edges()
            # what is told only now may have been found in the batch before, with another end
            again = self._last_seen is not None and bool(evaluations[0] == self._evaluation)
            self._evaluation = int(evaluations[-1])
            by_sets = stops[int(again) : -1] if len(stops) >= _LEAST_STOPS else stops[:0]
            sets = self._new_sets(edges) if len(by_sets) else None
            for stop in stops.tolist():
                if sets is None or stop not in by_sets:
                    parts += self._by_lists(edges, product, stop, again=again)
                elif stop == by_sets[0]:
                    parts += self._by_sets(edges, product, sets, by_sets)
                again = False
        return Deltas.concatenate(parts)

    def _by_lists(
        self, edges: kernels.EdgeColumns, product: kernels.ProductColumns, stop: int, *, again: bool
    ) -> Iterator[Deltas]:
        """What an evaluation changes, by comparing lists of pairs."""
        at = int(self._views.log.at[stop])
        ends = again or self._needs_ends
        self._find_pairs(edges, product, stop + 1, ends=ends)
        if ends:
            yield from self._compare(at, extensions=again or self._extensions)
        else:
            yield from self._changes(edges, product, at)
        self._pairs, self._others, self._held = self._others, self._pairs, int(self._work[kernels.FOUND])

    def _new_sets(self, edges: kernels.EdgeColumns) -> condense_sets.SetColumns | None:
        """Sets for the pairs of a batch, None where lists are to be compared.

        They do not know until when a pair that is there holds.
        """
        automaton = self._automaton.columns
        if self._needs_ends or automaton.ends[1] or automaton.flags[0]:
            return None
        vertices = len(edges.term)
        roots, bits = np.empty(vertices, np.int32), np.empty(vertices, np.int32)
        count = int(condense_sets.roots_of_batch(edges, self._terms, automaton, roots, bits))
        words = max(-(-count // 64), 1)
        if words > _MOST_WORDS:
            return None
        held, entered, left = (np.zeros((vertices, words), np.uint64) for _ in range(3))
        of_vertices = {
            name: np.empty(vertices, np.int32) for name in ("entered_at", "left_at", "followed", "place", "named")
        }
        some = np.zeros(vertices, np.bool_)
        term = edges.term[roots[:count]]
        return condense_sets.SetColumns(roots, term, bits, held, some, entered, left, **of_vertices)

    def _by_sets(
        self,
        edges: kernels.EdgeColumns,
        product: kernels.ProductColumns,
        sets: condense_sets.SetColumns,
        stops: NDArray[np.int64],
    ) -> Iterator[Deltas]:
        """What evaluations change, by comparing sets."""
        work, views = self._work, self._views
        condense_sets.put_into_sets(self._numbers, sets, self._pairs, self._held)
        vertices, words = sets.held.shape
        work[kernels.STOP] = work[kernels.PHASE] = work[kernels.NODES] = 0
        done = False
        while not done:
            parts = self._room_for(vertices, words)
            written, done = condense_sets.follow_stops(
                views.columns, views.log.columns, stops, edges, self._terms, self._automaton.columns, product, parts,
                sets, work, views.counting, self._out,
            )  # fmt: skip
            if written:
                yield self._take_output(int(written))
            if not done and work[kernels.PHASE] == condense_sets.TELL:
                self._more_output()
        at = int(views.log.at[stops[-1]])
        count = int(condense_sets.take_from_sets(edges, sets, at, self._pairs))
        if count > len(self._pairs.root):
            self._pairs = _new_pairs(count * 5 // 4)
            condense_sets.take_from_sets(edges, sets, at, self._pairs)
        self._held = count

    def _follow(self, first: int, last: int) -> tuple[int, int]:
        """The empty path is followed entry by entry, the others at each of `_stops`."""
        if not self._automaton.columns.flags[1]:
            return last, 0
        extensions = self._extensions or self._last_seen is not None  # what is told later may last longer by then
        following, written = kernels.count_terms(
            self._views.columns, self._views.log.columns, first, last, self._terms, self._automaton.columns,
            self._views.counting, self._removals, extensions, self._out,
        )  # fmt: skip
        return following, written

    def _make_room(self, written: int) -> None:
        self._more_output()

    def _stops(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The log entries after which the pairs are found anew, and the evaluations that see them.

        They are the last ones before an evaluation of edges that the path can follow.
        """
        log = self._views.log
        followed = np.zeros(log.entries, np.bool_)
        kernels.followed_entries(self._views.columns, log.columns, log.entries, self._automaton.columns, followed)
        entries = np.flatnonzero(followed)
        at = log.at[entries]
        together = self._last_seen(at) if self._last_seen is not None else None
        if together is None:
            together = at
        last = np.append(together[1:] != together[:-1], True)[: len(entries)]
        return entries[last], together[last]

    def _seen_edges(self) -> tuple[kernels.EdgeColumns, kernels.ProductColumns]:
        """The edges that the batch can see, and room for their product with the automaton."""
        views, automaton = self._views.columns, self._automaton.columns
        room = 2 * len(views.subject)
        drawn = kernels.DrawnColumns(*(np.empty(room, np.int32) for _ in range(4)))
        largest = int(max(views.subject.max(initial=0), views.object.max(initial=0)))
        if largest >= len(self._numbers):
            self._numbers = np.zeros(largest * 5 // 4 + 1, np.int32)
        terms = np.empty(2 * room, np.int32)
        count, found = map(int, kernels.edges_of_batch(views, automaton, drawn, self._numbers, terms))
        term = np.sort(terms[:found])
        place = np.full((len(views.subject), 2), -1, np.int32)
        edges = kernels.EdgeColumns(
            row=np.empty(count, np.int32),
            label=np.empty(count, np.int32),
            target=np.empty(count, np.int32),
            first=np.empty(found + 1, np.int64),
            term=term,
            place=place,
            rank=np.empty(count, np.int32),
        )
        kernels.order_edges(automaton, drawn, count, self._numbers, edges)
        ends = np.zeros(1, np.int64)
        if not self._views.counting:
            ends = np.concatenate((views.valid_to, views.history_end))
            ends = np.unique(ends[np.append(True, ends[1:] != ends[:-1])[: len(ends)]])  # most are in order by row
        nodes, arcs = len(term) * self._states, count * self._states
        product = kernels.ProductColumns(
            node_of=np.empty((len(term), self._states), np.int32),
            vertex=np.empty(nodes, np.int32),
            state=np.empty(nodes, np.int32),
            first=np.empty(nodes + 1, np.int64),
            target=np.empty(arcs, np.int32),
            rank=np.empty(arcs, np.int32),
            ends=ends,
            used=np.zeros(len(ends), np.int64),
            drawn_source=np.empty(arcs, np.int32),
            drawn_target=np.empty(arcs, np.int32),
            drawn_rank=np.empty(arcs, np.int32),
            by_rank=np.empty(arcs, np.int32),
            put=np.empty(max(nodes, len(ends)), np.int64),
        )
        return edges, product

    def _find_pairs(
        self, edges: kernels.EdgeColumns, product: kernels.ProductColumns, position: int, *, ends: bool
    ) -> None:
        """Find the pairs of a log position, in order; with `ends`, put them into `_others`."""
        work, automaton, counting = self._work, self._automaton.columns, self._views.counting
        kernels.see_edges(self._views.columns, edges, product.ends, position, counting)
        kernels.build_product(edges, self._terms, automaton, product, work)
        vertices, words = len(edges.term), self._words()
        parts = self._room_for(vertices, words)
        work[kernels.FOUND] = 0
        for roots, bits in self._blocks():
            parts.seen[:] = 0
            work[kernels.RANK] = len(product.ends) - 1 if ends else np.argmax(product.used > 0)
            work[kernels.CURSOR] = -1
            while not kernels.find_pairs(edges, product, parts, automaton, self._found, work, roots, bits):
                self._found = _new_found(2 * len(self._found.root) + 64 * words, self._found)
        if ends or len(self._blocks()) > 1:
            if len(self._between.root) < len(self._found.root):
                self._between = _new_found(len(self._found.root))
            counts = np.empty(max(vertices, int(work[kernels.ROOTS])) + 1, np.int64)
            kernels.sort_found(self._found, self._between, counts, work)
        if work[kernels.FOUND] > len(self._others.root):
            self._others = _new_pairs(int(work[kernels.FOUND]) * 5 // 4)
        if ends:
            kernels.write_pairs(edges, product, self._found, work, counting, self._others)

    def _blocks(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """The roots that are followed together, and which bit each is."""
        roots = np.arange(int(self._work[kernels.ROOTS]), dtype=np.int32)
        size = 64 * _MOST_WORDS
        return [(roots[first : first + size], roots[: len(roots) - first]) for first in range(0, len(roots), size)]

    def _words(self) -> int:
        """How many words a set of roots takes."""
        return min(-(-int(self._work[kernels.ROOTS]) // 64), _MOST_WORDS)

    def _changes(self, edges: kernels.EdgeColumns, product: kernels.ProductColumns, at: int) -> Iterator[Deltas]:
        """What the pairs found change, with ends for those that enter."""
        work = self._work
        entered, left = np.empty(int(work[kernels.FOUND]), np.int32), np.empty(self._held, np.int32)
        kernels.find_changes(edges, product, self._found, self._pairs, self._held, self._others, entered, left, work)
        parts = self._room_for(len(edges.term), self._words())
        for roots, bits in self._blocks():
            kernels.find_ends(
                product, parts, self._automaton.columns, self._found, entered, work, roots, bits, self._others
            )
        work[kernels.OLD_AT] = work[kernels.NEW_AT] = 0
        done = False
        while not done:
            written, done = kernels.tell_changes(
                self._pairs, self._others, entered, left, work, self._automaton.columns, at, self._views.counting,
                self._out,
            )  # fmt: skip
            if written:
                yield Deltas.written(self._out, int(written))
            if not done:
                self._more_output()

    def _room_for(self, vertices: int, words: int) -> kernels.ComponentColumns:
        """Room for the components of an evaluation."""
        nodes = int(self._work[kernels.NODES])
        if nodes > len(self._parts.visit):
            room = nodes * 5 // 4
            of_nodes: dict[str, Any] = {name: np.empty(room, np.int32) for name in _OF_NODES}
            self._parts = self._parts._replace(**of_nodes, edge=np.empty(room, np.int64))
        if nodes * words > len(self._reach):
            self._reach = np.empty(nodes * words * 5 // 4, np.uint64)
        if vertices * words > len(self._seen):
            self._seen = np.empty(vertices * words * 5 // 4, np.uint64)
        room = min(len(self._reach) // max(words, 1), len(self._parts.visit))
        return self._parts._replace(
            reach=self._reach[: room * words].reshape(room, words),
            seen=self._seen[: vertices * words].reshape(vertices, words),
        )

    def _compare(self, at: int, *, extensions: bool) -> Iterator[Deltas]:
        """What the pairs of an evaluation change, with their ends."""
        work = self._work
        work[kernels.OLD_AT] = work[kernels.NEW_AT] = 0
        done = False
        while not done:
            written, done = kernels.compare_pairs(
                self._pairs, self._held, self._others, work, self._automaton.columns, at,
                self._views.counting, self._removals, extensions, self._out,
            )  # fmt: skip
            if written:
                yield Deltas.written(self._out, int(written))
            if not done:
                self._more_output()

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        self._find_pairs(*self._seen_edges(), self._views.log.entries, ends=True)
        found, others = int(self._work[kernels.FOUND]), self._others
        return np.column_stack((others.root[:found], others.vertex[:found])), others.until[:found]

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [
            *self._parts, self._reach, self._seen, *self._found, *self._between, *self._pairs, *self._others,
            *self._terms, self._numbers,
        ]  # fmt: skip
        return sum(array.nbytes for array in arrays)


def _new_found(room: int, old: kernels.FoundColumns | None = None) -> kernels.FoundColumns:
    """Room for pairs in no order, with those that there are."""
    found = kernels.FoundColumns(*(np.empty(room, np.int32) for _ in range(3)))
    if old is not None:
        for column, before in zip(found, old, strict=True):
            column[: len(before)] = before
    return found


def _new_pairs(room: int) -> kernels.PairColumns:
    return kernels.PairColumns(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64))
