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
    may_be_root,
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
    gainers,
    let_be_least,
    life_of,
    merge,
    put_entry,
    set_life,
    shortest,
    take_row,
)
from spectra.views.kernels.apply import end_at

# where the work on a log entry stands, so that it can go on after the arrays have grown
BEGIN, RELAX, DELETE, COLLECT, REPORT, PURGE, FINISH = range(7)

# what `work` holds
(
    PHASE, MOVE, CURSOR, GAINED, LEAST, DENSE, EXPANDING, LEVEL, QUEUED, TOUCHED, PAIRS, SEARCHES, LIMIT, EXPIRED_LIFE,
    FLOOR, ENDS, ROOTS, LOWEST_ROOT, EDGES_PROBED, COLUMNS_MERGED, CELLS_TAKEN_DOWN,
) = range(21)  # fmt: skip


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


class SearchColumns(NamedTuple):
    """A widest-first search over the columns.

    `best` (by term and state) is the level at which a column is reached. `bucket` heads the list of the columns that
    wait at a level, linked by `after` and `before`, and `waiting` counts them by 256 levels. `touched` are the
    columns with a level, and `found` is room for some edges that lead on.
    """

    best: Lives
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    touched: NDArray[np.int32]
    bucket: NDArray[np.int32]
    waiting: NDArray[np.int32]
    found: NDArray[np.int64]


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
def set_arc(views, arcs, roots, ends, automaton, row, forever):
    """Let an edge that came or lasts longer be found from its source; False for want of room.

    The arcs of a vertex with a group of labels are a list with the targets in the place of roots.
    """
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source, group = source_of(views, automaton, label, row), automaton.group[label]
        arc = np.int64(roots.arc[source, group] - 1)
        if arc < 0:
            arc = take_row(arcs, source, group, forever)
            if arc < 0:
                return False
            roots.arc[source, group] = arc + 1
        if not put_entry(arcs, arc, target_of(views, automaton, label, row), np.int64(ends.edge[row])):
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
def make_root(columns, gains, roots, work, vertex, life, forever):
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
    gains.root[0] = slot
    gains.life[0] = forever
    width = max(work[ROOTS], slot + 1)
    # the cell of the root itself lives as long as the root
    if merge(columns, gains, node, 1, forever, False, forever, width, work[EXPIRED_LIFE], False, False)[0] < 0:
        return False
    work[ROOTS] = width
    work[LOWEST_ROOT] = slot + 1
    roots.term[slot] = vertex
    let_root_live(roots, slot, life)
    roots.slot[vertex] = slot + 1
    return True


@kernel
def free_root(columns, roots, work, slot):
    """Give back the slot of a root that no edge leaves any more; all of its cells are over."""
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
def free_roots(columns, roots, work, forever):
    """Give back the slots of all roots that are over."""
    for part in range((work[ROOTS] + STRIDE - 1) >> DUE_BITS):
        if roots.due[part] > work[EXPIRED_LIFE]:
            continue
        due = forever
        for slot in range(part << DUE_BITS, min(work[ROOTS], (part + 1) << DUE_BITS)):
            if roots.term[slot] != 0:
                if roots.life[slot] <= work[EXPIRED_LIFE]:
                    free_root(columns, roots, work, slot)
                else:
                    due = min(due, np.int64(roots.life[slot]))
        roots.due[part] = due


@kernel
def review_root(columns, arcs, roots, work, automaton, vertex):
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
        free_root(columns, roots, work, slot)


# --- pairs ----------------------------------------------------------------------------------


@kernel
def pair_life(columns, roots, automaton, root, vertex):
    """The longest life of a root at a vertex in any accepting state."""
    life = np.int64(0)
    for i in range(automaton.accepting.shape[0]):
        node = roots.node[vertex, automaton.accepting[i]] - 1
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
def note_pairs(columns, gains, roots, pairs, work, automaton, node, changed, extensions):
    """Remember the pairs of an accepting column that a merge has just changed."""
    vertex = columns.vertex[node]
    state = columns.state[node]
    expired = work[EXPIRED_LIFE]
    for number in range(changed):
        root = gains.changed_root[number]
        if not is_asked(automaton, roots.term[root], vertex):
            continue
        before, after = np.int64(gains.changed_before[number]), np.int64(gains.changed_after[number])
        for i in range(automaton.accepting.shape[0]):
            sibling = roots.node[vertex, automaton.accepting[i]] - 1
            if automaton.accepting[i] != state and sibling >= 0:
                other = life_of(columns, sibling, root)
                if other > expired:
                    before = max(before, other)
        if before == 0 or (extensions and after > before):
            add_pair(pairs, work, root, vertex, before, after)


@kernel
def collect_ending(columns, roots, pairs, work, automaton, last):
    """Remember the pairs that live no longer than `last`; False for want of room."""
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
                told = False
                for i in range(automaton.accepting.shape[0]):
                    state = automaton.accepting[i]
                    if state == columns.state[node]:
                        continue
                    sibling = roots.node[vertex, state] - 1
                    other = life_of(columns, sibling, root) if sibling >= 0 else np.int64(0)
                    if other > last or (other > expired and state < columns.state[node]):
                        told = True  # it goes on, or is told with the other state
                        break
                    life = max(life, other)
                if not told:
                    add_pair(pairs, work, root, vertex, life, 0)
        work[CURSOR] += 1
    return True


# --- the search -----------------------------------------------------------------------------


@kernel
def unqueue(search, work, node, level):
    """Take a column that waits at a level."""
    after, before = search.after[node], search.before[node]
    if after >= 0:
        search.before[after] = before
    if before >= 0:
        search.after[before] = after
    else:
        search.bucket[level] = after
    search.waiting[level >> 8] -= 1
    work[QUEUED] -= 1


@kernel
def enqueue(search, work, node, vertex, state, level):
    """Let a column wait at a level that is greater than the one it has."""
    known = np.int64(search.best[vertex, state])
    if known != 0:
        unqueue(search, work, node, known)
    else:
        search.touched[work[TOUCHED]] = node
        work[TOUCHED] += 1
    search.best[vertex, state] = level
    head = search.bucket[level]
    search.after[node] = head
    search.before[node] = -1
    if head >= 0:
        search.before[head] = node
    search.bucket[level] = node
    search.waiting[level >> 8] += 1
    work[QUEUED] += 1


@kernel
def widest(search, work):
    """The column that waits at the highest level."""
    level = work[LEVEL]
    while search.bucket[level] < 0:
        if search.waiting[level >> 8] == 0:
            level = (level >> 8 << 8) - 1
        else:
            level -= 1
    work[LEVEL] = level
    return search.bucket[level]


@kernel
def forget_search(columns, search, work):
    for at in range(work[TOUCHED]):
        node = search.touched[at]
        search.best[columns.vertex[node], columns.state[node]] = 0
    work[TOUCHED] = 0
    work[LEVEL] = 0


@kernel
def expand(columns, arcs, roots, search, work, automaton, node, level, forever):
    """Reach what the edges of a column lead to; False for want of room."""
    vertex, state = columns.vertex[node], columns.state[node]
    floor = work[FLOOR]
    for group in range(automaton.group_moves.shape[1]):
        following = automaton.group_moves[state, group]
        arc = roots.arc[vertex, group] - 1
        if following < 0 or arc < 0:
            continue
        offset, count = arcs.offset[arc], np.int64(arcs.entries[arc])
        work[EDGES_PROBED] += count
        for first in range(offset, offset + count, STRIDE):
            # which of them lead on is hard to foresee, so that they are first gathered without a branch
            found = 0
            for entry in range(first, min(first + STRIDE, offset + count)):
                reach = min(level, np.int64(arcs.entry_life[entry]))
                search.found[found] = entry
                found += (reach > floor) & (reach > search.best[arcs.entry_root[entry], following])
            for number in range(found):
                entry = search.found[number]
                target = arcs.entry_root[entry]
                reached = make_node(columns, roots, target, following, forever)
                if reached < 0:
                    return False
                enqueue(search, work, reached, target, following, min(level, np.int64(arcs.entry_life[entry])))
    return True


@kernel
def settle(columns, arcs, gains, roots, search, pairs, work, automaton, extensions, forever):
    """Take the gains to whatever the columns that wait lead to; False for want of room."""
    while work[EXPANDING] >= 0 or work[QUEUED] > 0:
        if work[EXPANDING] < 0:
            node = widest(search, work)
            if work[PAIRS] + work[GAINED] > pairs.root.shape[0]:
                return False
            noting = automaton.is_accepting[columns.state[node]]
            result, changed = merge(
                columns, gains, node, work[GAINED], work[LEAST], work[DENSE] != 0, work[LEVEL], work[ROOTS],
                work[EXPIRED_LIFE], noting, extensions,
            )  # fmt: skip
            if result < 0:
                return False
            unqueue(search, work, node, work[LEVEL])
            work[COLUMNS_MERGED] += 1
            if result == 0:
                continue
            if changed > 0:
                note_pairs(columns, gains, roots, pairs, work, automaton, node, changed, extensions)
            work[EXPANDING] = node
        if not expand(columns, arcs, roots, search, work, automaton, work[EXPANDING], work[LEVEL], forever):
            return False
        work[EXPANDING] = -1
    return True


@kernel
def relax(views, columns, arcs, gains, roots, search, pairs, work, ends, terms, automaton, row, extensions):
    """Let all roots gain by an edge, one move of the automaton after the other; False for want of room."""
    states = automaton.moves.shape[0]
    edge = np.int64(ends.edge[row])
    forever = np.int64(ends.end.shape[0] - 1)
    if work[MOVE] == 0 and work[GAINED] == 0:
        if not set_arc(views, arcs, roots, ends, automaton, row, forever):
            return False
    while edge > work[FLOOR] and work[MOVE] < 2 * states:
        if work[GAINED] == 0:
            state = work[MOVE] % states
            label = label_of(automaton, views.predicate[row], work[MOVE] >= states)
            if label < 0:
                work[MOVE] += states - state
                continue
            following = automaton.moves[state, label]
            source = source_of(views, automaton, label, row)
            if following >= 0 and state == 0 and may_be_root(terms, automaton, source):
                if not make_root(columns, gains, roots, work, source, edge, forever):
                    return False
            node = np.int64(roots.node[source, state] - 1)
            if following < 0 or node < 0:
                work[MOVE] += 1
                continue
            vertex = target_of(views, automaton, label, row)
            target = np.int64(roots.node[vertex, following] - 1)
            gained, level = gainers(columns, gains, node, target, edge, work[FLOOR], work[ROOTS])
            if gained == 0:
                work[MOVE] += 1
                continue
            target = make_node(columns, roots, vertex, following, forever)
            if target < 0:
                return False
            work[GAINED] = gained
            work[LEAST] = shortest(gains, gained)
            work[DENSE] = gained > work[ROOTS] >> 3
            work[SEARCHES] += 1
            if work[DENSE]:
                for number in range(gained):
                    gains.cell[gains.root[number]] = gains.life[number]
            enqueue(search, work, target, vertex, following, level)
            work[LEVEL] = level
        if not settle(columns, arcs, gains, roots, search, pairs, work, automaton, extensions, forever):
            return False
        forget_search(columns, search, work)
        if work[DENSE]:
            for number in range(work[GAINED]):
                gains.cell[gains.root[number]] = 0
        work[GAINED] = 0
        work[MOVE] += 1
    work[MOVE] = 0
    return True
