"""PATH by columns: for every product node (vertex, state) how long each root reaches it, all roots at once.

The forest of Δ-trees, stored the other way round. An edge that arrives or lasts longer lets exactly those roots
gain that live longer at its source than at its target; one search from the target, the widest path first, takes
their gains along: each product node that it reaches is settled once, for all of them, and it stops where none
gains. What is over is known by comparing with the last expired life, so a slide changes no cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.automaton import (
    first_edge,
    fits,
    is_asked,
    label_of,
    source_of,
    target_of,
)
from spectra.operators.kernels.containers import (
    DUE_BITS,
    LIST,
    NONE,
    ROWS,
    STRIDE,
    Lives,
    let_be_least,
    life_of,
    put_entry,
    put_life,
    set_life,
    take_row,
)
from spectra.operators.kernels.hubs import hub_life, raise_lives, reach_of
from spectra.views.kernels.apply import end_at

# where the work on a log entry stands, so that it can go on after the arrays have grown
BEGIN, HOLD, RELAX, DELETE, COLLECT, REPORT, PURGE, FINISH = range(8)

# what `work` holds; BEFORE_… are the pairs that there were when hubs and columns gained last
(
    PHASE, MOVE, CURSOR, GAINED, LEAST, DENSE, EXPANDING, LEVEL, QUEUED, TOUCHED, PAIRS, LIMIT, EXPIRED_LIFE,
    FLOOR, ENDS, ROOTS, LOWEST_ROOT, EDGES_PROBED, COLUMNS_MERGED, CELLS_TAKEN_DOWN, STAGE, HELD, HUB_STEPS,
    INSTANT, WALK, BEFORE_HUBS, BEFORE_COLUMNS,
) = range(27)  # fmt: skip


class RootColumns(NamedTuple):
    """The roots by slot: their terms (0: the slot is free) and how long an edge leaves them that begins a path.

    `due` is no greater than the life of any among 64 slots. `slot` (by term) is slot + 1 of a root, 0 for none; `node`
    (by term and state) is row + 1 of a column, and `arc` (by term and group) row + 1 of the list of edges that a label
    leads along from there.
    """

    term: NDArray[np.int32]
    life: Lives
    due: Lives
    slot: NDArray[np.int32]
    node: NDArray[np.int32]
    arc: NDArray[np.int32]


class PairColumns(NamedTuple):
    """Pairs that changed: the root's slot, the vertex, and the lives before and after, 0 for none."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    before: NDArray[np.int64]
    after: NDArray[np.int64]


class EndColumns(NamedTuple):
    """What lives stand for: `end` by life in ascending order, `edge` by row of the views, `entry` by log entry.

    The first end is `NO_END` and the last one `FOREVER`.
    """

    end: NDArray[np.int64]
    edge: Lives
    entry: NDArray[np.int64]


@kernel
def ends_of_log(views, log, entries, ends):
    """The end of validity that each log entry speaks of."""
    for entry in range(entries):
        ends[entry] = end_at(views, log.row[entry], entry + 1)


# --- nodes and roots ------------------------------------------------------------------------


@kernel
def make_node(columns, roots, vertex, state, forever):
    """The column of a product node, made where there is none; -1 for want of room."""
    node = np.int64(roots.node[vertex, state] - 1)
    if node < 0:
        node = take_row(columns, vertex, state, forever)
        roots.node[vertex, state] = node + 1
    return node


@kernel
def put_arc(table, rows, vertex, group, other, life, forever):
    """Let a list of edges have one to or from another vertex for at least so long; False for want of room.

    The edges of a vertex with a group of labels are a list with the other ends in the place of roots.
    """
    arc = np.int64(rows[vertex, group] - 1)
    if arc < 0:
        arc = take_row(table, vertex, group, forever)
        if arc < 0:
            return False
        rows[vertex, group] = arc + 1
    return put_entry(table, arc, other, life)


@kernel
def set_arc(views, arcs, sources, roots, hubs, ends, automaton, row, forever):
    """Let an edge that came or lasts longer be found from its source, and if there are hubs from its target.

    False for want of room.
    """
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source, target = source_of(views, automaton, label, row), target_of(views, automaton, label, row)
        group, life = automaton.group[label], np.int64(ends.edge[row])
        if not put_arc(arcs, roots.arc, source, group, target, life, forever):
            return False
        if hubs.ahead.shape[2] > 0 and not put_arc(sources, hubs.source, target, group, source, life, forever):
            return False
    return True


@kernel
def other_life(views, ends, automaton, label, row):
    """How long an edge lasts that leads along a label where another edge led; 0 where there is none."""
    source, target = source_of(views, automaton, label, row), target_of(views, automaton, label, row)
    life = np.int64(0)
    for other in range(automaton.group.shape[0]):
        if automaton.group[other] != automaton.group[label]:
            continue
        if other == label and automaton.label_predicate[label] != 0:
            continue  # there is but this one
        index, edge, _ = first_edge(views, automaton, other, source, False)
        while edge >= 0:
            if (
                edge != row
                and target_of(views, automaton, other, edge) == target
                and fits(views, automaton, other, edge)
            ):
                life = max(life, np.int64(ends.edge[edge]))
            edge = views.lists.after[index, edge]
    return life


@kernel
def drop_arc(views, arcs, roots, ends, automaton, row):
    """Let an edge that goes no longer be found; of others that the labels of its group stand for, one stays."""
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label >= 0:
            arc = np.int64(roots.arc[source_of(views, automaton, label, row), automaton.group[label]] - 1)
            life = other_life(views, ends, automaton, label, row)
            set_life(arcs, arc, target_of(views, automaton, label, row), life)


@kernel
def let_root_live(roots, slot, life):
    roots.life[slot] = life
    if life < roots.due[slot >> DUE_BITS]:
        roots.due[slot >> DUE_BITS] = life


@kernel
def make_root(columns, roots, hubs, work, vertex, life, forever):
    """Let a vertex be a root for at least so long; False for want of room."""
    slot = roots.slot[vertex] - 1
    if slot >= 0:
        roots.life[slot] = max(np.int64(roots.life[slot]), life)
        return True
    node = make_node(columns, roots, vertex, 0, forever)
    if node < 0:
        return False
    slot = work[LOWEST_ROOT]
    while slot < work[ROOTS] and roots.term[slot] != 0:
        slot += 1
    if slot >= roots.term.shape[0]:
        return False
    width = max(work[ROOTS], slot + 1)
    # the cell of the root itself lives as long as the root
    if put_life(columns, node, slot, forever, width, work[EXPIRED_LIFE]) < 0:
        return False
    work[ROOTS] = width
    work[LOWEST_ROOT] = slot + 1
    roots.term[slot] = vertex
    let_root_live(roots, slot, life)
    roots.slot[vertex] = slot + 1
    for hub in range(hubs.root_back.shape[0]):
        hubs.root_back[hub, slot] = 0  # what it reaches by way of the hub is yet to be told
    return True


@kernel
def free_root(columns, roots, hubs, work, slot):
    """Give back the slot of a root that no edge leaves any more; all of its cells are over."""
    for hub in range(hubs.root_back.shape[0]):
        hubs.root_back[hub, slot] = 0
    vertex = roots.term[slot]
    node = roots.node[vertex, 0] - 1
    set_life(columns, node, slot, 0)
    let_be_least(columns, node, 0)  # to be looked at
    roots.term[slot] = 0
    roots.slot[vertex] = 0
    work[LOWEST_ROOT] = min(work[LOWEST_ROOT], slot)
    while work[ROOTS] > 0 and roots.term[work[ROOTS] - 1] == 0:
        work[ROOTS] -= 1


@kernel
def free_roots(columns, roots, hubs, work, forever):
    """Give back the slots of all roots that are over."""
    for part in range((work[ROOTS] + STRIDE - 1) >> DUE_BITS):
        if roots.due[part] > work[EXPIRED_LIFE]:
            continue
        due = forever
        for slot in range(part << DUE_BITS, min(work[ROOTS], (part + 1) << DUE_BITS)):
            if roots.term[slot] != 0:
                if roots.life[slot] <= work[EXPIRED_LIFE]:
                    free_root(columns, roots, hubs, work, slot)
                else:
                    due = min(due, np.int64(roots.life[slot]))
        roots.due[part] = due


@kernel
def review_root(columns, arcs, roots, hubs, work, automaton, vertex):
    """Let a root go that a deletion has left without an edge: its id may be given to a term that is no root here."""
    slot = roots.slot[vertex] - 1
    if slot < 0:
        return
    life = np.int64(0)
    for group in range(automaton.group_moves.shape[1]):
        arc = roots.arc[vertex, group] - 1
        if automaton.group_moves[0, group] >= 0 and arc >= 0:
            for entry in range(arcs.offset[arc], arcs.offset[arc] + arcs.entries[arc]):
                life = max(life, np.int64(arcs.entry_life[entry]))
    let_root_live(roots, slot, life)
    if life <= work[EXPIRED_LIFE]:
        free_root(columns, roots, hubs, work, slot)


# --- pairs ----------------------------------------------------------------------------------


@kernel
def pair_life(columns, roots, hubs, search, work, automaton, number, root, vertex, life):
    """The longest life of a pair that began in this instant and was noted with one: what gained later may tell more."""
    if number < work[BEFORE_HUBS]:
        for i in range(automaton.accepting.shape[0]):
            life = max(life, hub_life(hubs, vertex, automaton.accepting[i], root))
    if (
        number < work[BEFORE_COLUMNS]
        and search.merged[vertex] == work[INSTANT]
        and search.gained[root] == work[INSTANT]
    ):
        for i in range(automaton.accepting.shape[0]):
            node = np.int64(roots.node[vertex, automaton.accepting[i]] - 1)
            if node >= 0:
                life = max(life, life_of(columns, node, root))
    return life


@kernel
def add_pair(pairs, work, root, vertex, before, after):
    at = work[PAIRS]
    work[PAIRS] = at + 1
    pairs.root[at] = root
    pairs.vertex[at] = vertex
    pairs.before[at] = before
    pairs.after[at] = after


@kernel
def reach_beside(columns, roots, hubs, automaton, expired, root, vertex, state, longest):
    """How long a root reaches a vertex by hubs and in accepting states other than one, 0 for not at all.

    Unless the `longest` life is asked for, any that is not over will do.
    """
    life = np.int64(0)
    for i in range(automaton.accepting.shape[0]):
        life = max(life, hub_life(hubs, vertex, automaton.accepting[i], root))
    for i in range(automaton.accepting.shape[0]):
        if life > expired and not longest:
            break
        node = np.int64(roots.node[vertex, automaton.accepting[i]] - 1)
        if automaton.accepting[i] != state and node >= 0:
            life = max(life, life_of(columns, node, root))
    return life if life > expired else np.int64(0)


@kernel
def note_pairs(columns, gains, roots, hubs, pairs, work, automaton, node, changed, extensions):
    """Remember the pairs of an accepting column that a merge has just changed."""
    vertex, state = np.int64(columns.vertex[node]), columns.state[node]
    for number in range(changed):
        root = np.int64(gains.changed_root[number])
        if not is_asked(automaton, roots.term[root], vertex):
            continue
        before, after = np.int64(gains.changed_before[number]), np.int64(gains.changed_after[number])
        others = reach_beside(columns, roots, hubs, automaton, work[EXPIRED_LIFE], root, vertex, state, extensions)
        before = max(before, others)
        if before == 0 or (extensions and after > before):
            add_pair(pairs, work, root, vertex, before, after)


@kernel
def collect_ending(columns, roots, hubs, pairs, work, automaton, last):
    """Remember the pairs that live no longer than `last`, all of which columns hold; False for want of room."""
    expired = work[EXPIRED_LIFE]
    while work[CURSOR] < columns.held[ROWS]:
        node = work[CURSOR]
        if node & (STRIDE - 1) == 0 and columns.due[node >> DUE_BITS] > last:
            work[CURSOR] += STRIDE
            continue
        kind = columns.kind[node]
        if kind != NONE and automaton.is_accepting[columns.state[node]] and columns.least[node] <= last:
            if work[PAIRS] + work[ROOTS] > pairs.root.shape[0]:
                return False
            offset = columns.offset[node]
            places = columns.entries[node] if kind == LIST else min(np.int64(1) << columns.size[node], work[ROOTS])
            vertex = columns.vertex[node]
            for at in range(places):
                root = np.int64(columns.entry_root[offset + at]) if kind == LIST else np.int64(at)
                life = np.int64(columns.entry_life[offset + at] if kind == LIST else columns.cell[offset + at])
                if life <= expired or life > last or not is_asked(automaton, roots.term[root], vertex):
                    continue
                told = hub_life(hubs, vertex, columns.state[node], root) > last  # it goes on
                for i in range(automaton.accepting.shape[0]):
                    state = automaton.accepting[i]
                    if state == columns.state[node]:
                        continue
                    sibling = roots.node[vertex, state] - 1
                    other = reach_of(columns, hubs, sibling, root) if sibling >= 0 else np.int64(0)
                    if other > last or (other > expired and state < columns.state[node]):
                        told = True  # it goes on, or is told with the other state
                        break
                    life = max(life, other)
                if not told:
                    add_pair(pairs, work, root, vertex, life, 0)
        work[CURSOR] += 1
    return True


@kernel
def read_paired(columns, roots, hubs, work, automaton, vertex):
    """Say in `life` for how long each root reaches a vertex in an accepting state."""
    slots = work[ROOTS]
    for root in range(slots):
        hubs.life[root] = 0
    for i in range(automaton.accepting.shape[0]):
        state = automaton.accepting[i]
        node = np.int64(roots.node[vertex, state] - 1)
        if node >= 0:
            raise_lives(columns, hubs, node, vertex, state, slots, hubs.life)


@kernel
def collect_connected(columns, roots, hubs, pairs, work, automaton):
    """Remember all pairs that a path connects, with their lives as those before; False for want of room."""
    while work[CURSOR] < columns.held[ROWS]:
        node = work[CURSOR]
        vertex = np.int64(columns.vertex[node])
        first = np.int64(0)  # of the columns of a vertex in accepting states
        for i in range(automaton.accepting.shape[0]):
            if first == 0:
                first = np.int64(roots.node[vertex, automaton.accepting[i]])
        if first == node + 1:
            if work[PAIRS] + work[ROOTS] > pairs.root.shape[0]:
                return False
            read_paired(columns, roots, hubs, work, automaton, vertex)
            for root in range(work[ROOTS]):
                life = np.int64(hubs.life[root])
                if life > work[EXPIRED_LIFE] and is_asked(automaton, roots.term[root], vertex):
                    add_pair(pairs, work, root, vertex, life, 0)
        work[CURSOR] += 1
    return True
