"""PATH by columns: for every product node (vertex, state) the lives of all roots that reach it, in one container."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spectra.automata import Dfa
from spectra.clock import FOREVER, NO_END
from spectra.jit import is_interpreted
from spectra.operators.kernels import columns as kernels
from spectra.operators.kernels import columns_log, hub_search
from spectra.operators.kernels import hubs as hub_kernels
from spectra.operators.kernels.columns_deletion import LANES, LaneColumns
from spectra.operators.kernels.columns_queue import SearchColumns
from spectra.operators.kernels.containers import (
    BLOCK,
    BLOCK_USED,
    CONVERTED,
    DUE_BITS,
    FREE_ROWS,
    LIST_USED,
    REVIEWED,
    ROWS,
    STRIDE,
    GainColumns,
)
from spectra.operators.kernels.hubs import HUBS, HubColumns
from spectra.operators.path.hubs import (
    WORTH,
    best_hubs,
    has_closure,
    joined,
    late_lives,
    most_travelled,
    new_hubs,
    part_told,
    ranked_hubs,
    with_another,
    with_roots,
    with_terms,
)
from spectra.operators.path.pairs import PathPairs
from spectra.operators.path.tables import grown, grown_table, is_full, new_table, ranked, repacked, shrunk, wants_room

#: So many columns are looked at when hubs are chosen, and hubs change where others tell so much more of their lives.
_SAMPLE = 96
_BETTER = 0.05

#: So much more effort than what was usual before a look may be usual after it.
_FORGOTTEN = 1.25

#: What a search knows by column.
_OF_COLUMNS: dict[str, DTypeLike] = {
    "after": np.int32,
    "before": np.int32,
    "touched": np.int32,
    "seen": np.int64,
    "stack": np.int32,
}


class Columns(PathPairs):
    """Pairs that a path connects, as deltas; parameters as of `PathPairs`.

    A life takes one byte while some 200 ends of validity are known at once, then two, and with some 50,000 four.
    """

    #: Ends for which there is room at first.
    least_ends = 256

    #: Hubs are looked for where entries of a stretch of the log merge so many columns each, and again where so many
    #: places for lives are in use beside them, once what has been done exceeds what is usual with good hubs by so many
    #: times the edges, more where nothing was found. With fewer columns there are none.
    least_merged = 24
    stretch = 1 << 12
    least_places = 1 << 16
    least_patience, most_patience = 10, 80
    least_columns = 64

    #: And where so many ends of validity lie ahead: with few, hubs cost more than they save (`benchmarks/changes.py`).
    least_ahead = 16

    def _start(self, dfa: Dfa) -> None:
        self._work = np.zeros(32, np.int64)
        self._work[kernels.EXPANDING] = -1
        lives = _lives_for(self.least_ends)
        self._ends = kernels.EndColumns(_new_ends(self.least_ends), np.zeros(0, lives), np.zeros(0, np.int64))
        self._columns = new_table(64, lives)
        self._arcs = new_table(64, lives)
        self._sources = new_table(64, lives)
        self._search = SearchColumns(
            best=np.zeros((1, dfa.states), lives),
            merged=np.zeros(1, np.int32),
            gained=np.zeros(STRIDE, np.int32),
            **{name: np.zeros(64, kind) for name, kind in _OF_COLUMNS.items()},
            **_new_queue(self.least_ends),
            found=np.zeros(STRIDE, np.int64),
        )
        self._roots = kernels.RootColumns(
            term=np.zeros(STRIDE, np.int32),
            life=np.zeros(STRIDE, lives),
            due=np.zeros(1, lives),
            slot=np.zeros(1, np.int32),
            node=np.zeros((1, dfa.states), np.int32),
            arc=np.zeros((1, self._groups), np.int32),
        )
        self._gains = _new_gains(STRIDE, lives)
        self._lanes = _new_lanes(0, lives)  # until an edge is deleted
        self._none = self._hubs = new_hubs(1, dfa.states, self._groups, STRIDE, lives)
        # extensions of pairs are told one by one, and deletions follow each
        self._hubs_allowed = has_closure(dfa) and not self._extensions
        self._patience = self.least_patience
        # since the last stretch, the last look for hubs, and the least effort for an entry since then
        self._entries = self._merged_before = self._effort_before = 0
        self._lost, self._usual = 0.0, inf
        self._pairs = _new_pairs(1024)
        if self._hubs_allowed and not is_interpreted():
            self._rehearse()

    @property
    def _hub_count(self) -> int:
        return len(self._hubs.vertex)

    @property
    def _groups(self) -> int:
        return int(self._automaton.columns.group_moves.shape[1])

    @property
    def counters(self) -> dict[str, int]:
        """Edges probed, columns merged, product nodes that hubs came to reach for longer or that came to reach them,
        cells that deletions took down, and columns and lists of edges reviewed at expiries so far; columns now,
        those that are blocks, and changes between the kinds; hubs now.
        """
        columns = self._columns
        return {
            "edges_probed": int(self._work[kernels.EDGES_PROBED]),
            "columns_merged": int(self._work[kernels.COLUMNS_MERGED]),
            "hub_steps": int(self._work[kernels.HUB_STEPS]),
            "cells_taken_down": int(self._work[kernels.CELLS_TAKEN_DOWN]),
            "reviewed": int(columns.held[REVIEWED] + self._arcs.held[REVIEWED]),
            "columns": int(columns.held[ROWS] - columns.held[FREE_ROWS]),
            "blocks": int(np.count_nonzero(columns.kind == BLOCK)),
            "conversions": int(columns.held[CONVERTED]),
            "hubs": self._hub_count,
        }

    def _prepare(self) -> None:
        super()._prepare()
        views, log = self._views, self._views.log
        if log.entries == 0:
            return
        largest = int(max(views.columns.subject[log.row].max(), views.columns.object[log.row].max()))
        if largest >= len(self._roots.slot):
            room = largest + largest // 2 + 1
            of_terms = {name: grown(getattr(self._roots, name), room) for name in ("slot", "node", "arc")}
            self._roots = self._roots._replace(**of_terms)
            search = self._search
            self._search = search._replace(best=grown(search.best, room), merged=grown(search.merged, room))
            if self._hub_count:
                self._hubs = with_terms(self._hubs, room)
        if len(self._ends.edge) < len(views.columns.subject):
            self._ends = self._ends._replace(edge=grown(self._ends.edge, len(views.columns.subject)))
        ends = np.empty(log.entries, np.int64)
        kernels.ends_of_log(views.columns, log.columns, log.entries, ends)
        lives = self._lives(ends)
        self._ends = self._ends._replace(entry=lives)

    def _lives(self, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """What lives these ends are; those that are new get one."""
        held = int(self._work[kernels.ENDS])
        lives = np.searchsorted(self._ends.end[1 : held + 1], ends) + 1
        fresh = ends[(self._ends.end[lives] != ends) & (ends < FOREVER)]
        if len(fresh):
            self._know_ends(np.unique(fresh))
            held = int(self._work[kernels.ENDS])
            lives = np.searchsorted(self._ends.end[1 : held + 1], ends) + 1
        lives[ends >= FOREVER] = len(self._ends.end) - 1
        return lives

    def _know_ends(self, fresh: NDArray[np.int64]) -> None:
        """Give ends a rank. Where they are the latest that is all; otherwise the others move to make room."""
        work, end = self._work, self._ends.end
        held = int(work[kernels.ENDS])
        if held + len(fresh) < len(end) - 1 and (held == 0 or fresh[0] > end[held]):
            end[held + 1 : held + 1 + len(fresh)] = fresh
            work[kernels.ENDS] += len(fresh)
            return
        expired = int(work[kernels.EXPIRED_LIFE])
        live = end[expired + 1 : held + 1]
        known = np.union1d(live, fresh)
        room = len(end)
        while 5 * len(known) > 4 * (room - 2):  # some are free, or the next one would come too soon
            room *= 2
        lives = _lives_for(room)
        rank = np.zeros(len(end), lives)
        rank[expired + 1 : held + 1] = np.searchsorted(known, live) + 1
        rank[-1] = room - 1
        self._ends = self._ends._replace(end=_new_ends(room), edge=rank[self._ends.edge])
        self._ends.end[1 : len(known) + 1] = known
        work[kernels.ENDS] = len(known)
        work[kernels.FLOOR] = rank[work[kernels.FLOOR]]
        work[kernels.HELD] = rank[work[kernels.HELD]]
        work[kernels.EXPIRED_LIFE] = 0
        self._columns = ranked(self._columns, rank)
        self._arcs = ranked(self._arcs, rank)
        self._sources = ranked(self._sources, rank)
        none = self._hubs is self._none
        self._none = ranked_hubs(self._none, rank)
        self._hubs = self._none if none else ranked_hubs(self._hubs, rank)
        self._roots = self._roots._replace(life=rank[self._roots.life], due=rank[self._roots.due])
        self._search = self._search._replace(
            best=np.zeros(self._search.best.shape, lives),
            **_new_queue(room),
        )
        self._gains = _new_gains(len(self._roots.term), lives)
        self._lanes = _new_lanes(0, lives)

    def _follow(self, first: int, last: int) -> tuple[int, int]:
        following, written = columns_log.follow_log(
            self._views.columns,
            self._views.log.columns,
            first,
            last,
            self._columns,
            self._arcs,
            self._sources,
            self._gains,
            self._roots,
            self._hubs,
            self._none,
            self._search,
            self._lanes,
            self._pairs,
            self._work,
            self._ends,
            self._terms,
            self._automaton.columns,
            self._views.counting,
            self._removals,
            self._extensions,
            self._out,
        )
        if following == last:
            self._columns, self._arcs = shrunk(self._columns), shrunk(self._arcs)
            self._sources = shrunk(self._sources)
        return following, written

    def _make_room(self, written: int) -> None:
        roots = len(self._roots.term)
        deleting = self._work[kernels.PHASE] == kernels.DELETE
        if wants_room(self._columns):
            self._columns = repacked(self._columns)
        elif wants_room(self._arcs):
            self._arcs = repacked(self._arcs)
        elif wants_room(self._sources):
            self._sources = repacked(self._sources)
        elif deleting and self._hub_count:
            self._drop_hubs()
            self._hubs_allowed = False
        elif deleting and len(self._lanes.known) < self._columns.held[ROWS]:
            self._lanes = _new_lanes(len(self._columns.vertex), self._roots.life.dtype.type)
        elif is_full(self._columns):
            self._columns = grown_table(self._columns)
            rows = len(self._columns.vertex)
            of_columns = {name: grown(getattr(self._search, name), rows) for name in _OF_COLUMNS}
            self._search = self._search._replace(**of_columns)
        elif is_full(self._arcs):
            self._arcs = grown_table(self._arcs)
        elif is_full(self._sources):
            self._sources = grown_table(self._sources)
        elif self._work[kernels.ROOTS] == roots and self._work[kernels.GAINED] == 0:  # gains on their way stay
            term, life = grown(self._roots.term, 2 * roots), grown(self._roots.life, 2 * roots)
            due = grown(self._roots.due, 2 * roots >> DUE_BITS)
            self._roots = self._roots._replace(term=term, life=life, due=due)
            self._gains = _new_gains(2 * roots, life.dtype.type)
            self._search = self._search._replace(gained=grown(self._search.gained, 2 * roots))
            no_hubs = self._hubs is self._none
            self._none = with_roots(self._none, 2 * roots)
            self._hubs = self._none if no_hubs else with_roots(self._hubs, 2 * roots)
        elif written + 4 > len(self._out.at):
            self._more_output()
        else:
            self._pairs = _new_pairs(2 * len(self._pairs.root), self._pairs)

    def _finish(self) -> None:
        """Look for hubs now and then, once so much has been done that better ones would have saved."""
        work, held = self._work, self._columns.held
        if self._hub_count and held[ROWS] - held[FREE_ROWS] < self.least_columns:
            self._drop_hubs()
        self._entries += self._views.log.entries
        if not self._hubs_allowed or self._entries < max(1, self.stretch):
            return
        entries, self._entries = self._entries, 0
        merged = int(work[kernels.COLUMNS_MERGED]) - self._merged_before
        self._merged_before += merged
        effort = int(work[kernels.EDGES_PROBED]) + 4 * int(work[kernels.COLUMNS_MERGED])
        spent, self._effort_before = effort - self._effort_before, effort
        if self._hub_count:
            self._usual = min(self._usual, spent / entries)
            self._lost += spent - self._usual * entries
            worth_a_look = held[LIST_USED] + held[BLOCK_USED] >= self.least_places
        else:
            self._lost += spent
            ahead = work[kernels.ENDS] - work[kernels.EXPIRED_LIFE]
            worth_a_look = merged >= self.least_merged * entries and ahead >= self.least_ahead
        if worth_a_look and self._lost >= self._patience * int(self._arcs.held[LIST_USED]):
            changed = self._choose_hubs()
            self._patience = self.least_patience if changed else min(2 * self._patience + 1, self.most_patience)
            self._usual, self._lost = self._usual * _FORGOTTEN, 0.0

    def _choose_hubs(self) -> bool:
        """Let those be hubs that tell most late lives of some columns; whether others are than before."""
        work = self._work
        if not self._hub_count:
            self._turn_arcs()
        # what has come lately is what is followed most often
        floor = int(work[kernels.FLOOR])
        since = floor + (int(work[kernels.ENDS]) - floor) // 2
        trials = [self._hub_at(vertex, state) for vertex, state in self._candidates(since)]
        columns, roots = self._columns, self._roots
        held = int(columns.held[ROWS])
        in_use = np.flatnonzero(roots.node[columns.vertex[:held], columns.state[:held]] == np.arange(held) + 1)
        some = in_use[:: max(1, len(in_use) // _SAMPLE)]
        lives = self._read_lives(some)
        least, last = late_lives(lives[lives > floor])
        at, slot = np.nonzero(lives >= least)
        lives = lives[at, slot]
        vertex, state, root = columns.vertex[some[at]], columns.state[some[at]], roots.term[slot]
        by_trial = [np.minimum(hub.ahead[vertex, state, 0], hub.back[root, 0, 0]) for hub in trials]
        chosen, part = best_hubs(lives, by_trial, last)
        before = np.zeros_like(lives)
        for hub in range(self._hub_count):
            before = np.maximum(
                before, np.minimum(self._hubs.ahead[vertex, state, hub], self._hubs.root_back[hub, slot])
            )
        if part < WORTH:
            self._drop_hubs()
            return bool(before.any())
        if part < part_told(lives, before, last) + _BETTER:
            return False
        self._exchange_hubs(joined(self._hubs, [trials[number] for number in chosen], roots.term))
        return True

    def _rehearse(self) -> None:
        """Let one product node of no vertex be both hubs for a moment.

        Once there are some, the kernels that this takes are at hand, and a stream does not wait for their compiling.
        """
        kernels.make_node(self._columns, self._roots, 0, 0, len(self._ends.end) - 1)
        self._turn_arcs()
        self._candidates(0)
        trial = self._hub_at(0, 0)
        self._read_lives(np.zeros(1, np.int64))
        self._exchange_hubs(joined(self._hubs, HUBS * [trial], self._roots.term))
        self._drop_hubs()
        self._work[kernels.HUB_STEPS] = 0

    def _turn_arcs(self) -> None:
        """Let edges be found from their targets, which takes lists that only hubs have."""
        terms, states = self._roots.node.shape
        self._hubs = new_hubs(terms, states, self._groups, len(self._roots.term), self._roots.life.dtype.type)
        self._until(
            lambda: columns_log.turn_arcs(
                self._arcs, self._sources, self._roots.arc, self._hubs.source, len(self._ends.end) - 1
            )
        )

    def _read_lives(self, nodes: NDArray[np.int64]) -> NDArray[Any]:
        """The lives of all roots at some product nodes, 0 for a root at itself, where it is for ever."""
        lives = np.zeros((len(nodes), len(self._roots.term)), self._roots.life.dtype)
        hub_kernels.read_lives(self._columns, self._hubs, nodes, int(self._work[kernels.ROOTS]), lives)
        lives[lives == len(self._ends.end) - 1] = 0
        return lives

    def _candidates(self, since: int) -> list[tuple[int, int]]:
        """Product nodes with many edges that last longer."""
        columns, held = self._columns, int(self._columns.held[ROWS])
        into, out = np.zeros(held, np.int64), np.zeros(held, np.int64)
        hub_kernels.degrees(
            columns, self._arcs, self._sources, self._roots.node, self._roots.arc, self._hubs.source,
            self._automaton.columns.group_moves, since, into, out,
        )  # fmt: skip
        nodes = most_travelled(into, out, columns.state[:held])
        return [(int(columns.vertex[node]), int(columns.state[node])) for node in nodes]

    def _hub_at(self, vertex: int, state: int) -> HubColumns:
        """A product node as the only hub, with what it reaches and what reaches it."""
        terms, states = self._roots.node.shape
        hub = with_another(new_hubs(terms, states, 0, 0, self._roots.life.dtype.type), vertex, state)
        hub = hub._replace(source=self._hubs.source)

        def search(forward: bool) -> bool:
            done: bool = hub_search.search_from_hub(
                self._columns, self._arcs, self._sources, self._roots, hub, self._search, self._pairs, self._work,
                self._automaton.columns, 0, vertex, state, forward, len(self._ends.end) - 1,
            )  # fmt: skip
            return done

        self._until(partial(search, True))
        self._until(partial(search, False))
        return hub

    def _until(self, done: Callable[[], bool]) -> None:
        """Make room until all is done."""
        while not done():
            self._make_room(0)

    def _exchange_hubs(self, others: HubColumns) -> None:
        """Let others be the hubs; what only those of before told is held in columns."""
        hubs, work, forever = self._hubs, self._work, len(self._ends.end) - 1
        self._until(
            lambda: hub_kernels.hold(
                self._columns, self._gains, self._roots.node, hubs, others, int(work[kernels.EXPIRED_LIFE]), forever,
                int(work[kernels.ROOTS]), forever,
            )
        )  # fmt: skip
        self._hubs = others
        hub_kernels.review_all(
            self._columns, self._gains, self._roots.node, others, int(work[kernels.EXPIRED_LIFE]),
            int(work[kernels.ROOTS]), forever,
        )  # fmt: skip

    def _drop_hubs(self) -> None:
        """Let there be no hubs; columns hold what they told."""
        if self._hubs is not self._none:
            if self._hub_count:
                self._exchange_hubs(self._none)
            self._hubs = self._none
            self._sources = new_table(64, self._roots.life.dtype.type)

    def _connected(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        work, roots = self._work, self._roots
        work[kernels.CURSOR] = work[kernels.PAIRS] = 0
        while not kernels.collect_connected(
            self._columns, roots, self._hubs, self._pairs, work, self._automaton.columns
        ):
            self._pairs = _new_pairs(2 * len(self._pairs.root), self._pairs)
        found = int(work[kernels.PAIRS])
        rows = np.column_stack((roots.term[self._pairs.root[:found]], self._pairs.vertex[:found]))
        until = self._ends.end[self._pairs.before[:found]]
        work[kernels.CURSOR] = work[kernels.PAIRS] = 0
        return rows, until

    @property
    def nbytes(self) -> int:
        arrays: list[NDArray[Any]] = [
            *self._columns, *self._arcs, *self._sources, *self._hubs, *self._search, *self._gains, *self._lanes,
            *self._roots, *self._pairs, *self._ends, *self._terms,
        ]  # fmt: skip
        return sum(array.nbytes for array in arrays)


def _lives_for(ends: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type for so many ranks."""
    return np.uint8 if ends <= 1 << 8 else np.uint16 if ends <= 1 << 16 else np.uint32


def _new_gains(roots: int, lives: type[np.unsignedinteger[Any]]) -> GainColumns:
    return GainColumns(
        root=np.zeros(roots, np.int32),
        life=np.zeros(roots, lives),
        cell=np.zeros(roots, lives),
        level=np.zeros(1, lives),
        changed_root=np.zeros(roots, np.int32),
        changed_before=np.zeros(roots, lives),
        changed_after=np.zeros(roots, lives),
    )


def _new_lanes(rows: int, lives: type[np.unsignedinteger[Any]]) -> LaneColumns:
    return LaneColumns(
        root=np.zeros(LANES, np.int32),
        now=np.zeros((rows, LANES), lives),
        was=np.zeros((rows, LANES), lives),
        fresh=np.zeros((rows, LANES), lives),
        known=np.zeros(rows, np.bool_),
        waits=np.zeros(rows, np.bool_),
        touched=np.zeros(rows, np.int32),
        queue=np.zeros(rows, np.int32),
        head=np.zeros(1, np.int64),
        offer=np.zeros(LANES, lives),
        level=np.zeros(2, lives),
    )


def _new_queue(ends: int) -> dict[str, NDArray[Any]]:
    return {"bucket": np.full(ends, -1, np.int32), "waiting": np.zeros((ends >> 8) + 1, np.int32)}


def _new_ends(room: int) -> NDArray[np.int64]:
    ends = np.full(room, NO_END, np.int64)
    ends[-1] = FOREVER
    return ends


def _new_pairs(room: int, old: kernels.PairColumns | None = None) -> kernels.PairColumns:
    """Room for so many pairs, with those that there are."""
    pairs = kernels.PairColumns(
        np.zeros(room, np.int32), np.zeros(room, np.int32), np.zeros(room, np.int64), np.zeros(room, np.int64)
    )
    if old is not None:
        for name in kernels.PairColumns._fields:
            getattr(pairs, name)[: len(old.root)] = getattr(old, name)
    return pairs
