"""PATH by columns: what a deleted edge takes down, and what is derived again, for many roots at once.

A deleted edge may have been the best way of some roots. Of each, the cells that have just the life that the edge gave
them are taken down, and those that have it from these; then all are derived again from cells that were not. That is
done for 64 roots together, a lane each, so that a column is visited once for all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, fits, is_asked, label_of, source_of, target_of
from spectra.operators.kernels.columns import (
    CELLS_TAKEN_DOWN,
    CURSOR,
    EDGES_PROBED,
    EXPIRED_LIFE,
    FLOOR,
    PAIRS,
    QUEUED,
    ROOTS,
    TOUCHED,
    add_pair,
    drop_arc,
)
from spectra.operators.kernels.containers import BLOCK, LIST, ROWS, Lives, entry_at, life_of, set_life

#: Roots that are looked at together.
LANES = 64

# no slot of a root is that large
_NOBODY = np.int32(1 << 30)


class LaneColumns(NamedTuple):
    """Some roots, a lane each, at the columns that a deletion concerns.

    `root` are their slots, in order. For a column that is `known`: `now` are their lives as they become, `was` those of
    the cells that were taken down (0: not), and `fresh` those that were and have not been followed yet. `touched` are
    the columns known, `queue` is a ring of those that wait from `head` on, and `waits` says which these are. `offer`
    and `level` are room for a row of lives and for two of the right type.
    """

    root: NDArray[np.int32]
    now: Lives
    was: Lives
    fresh: Lives
    known: NDArray[np.bool_]
    waits: NDArray[np.bool_]
    touched: NDArray[np.int32]
    queue: NDArray[np.int32]
    head: NDArray[np.int64]
    offer: Lives
    level: Lives


@kernel
def read_lanes(columns, lanes, work, node):
    """Let a column be known."""
    if lanes.known[node]:
        return
    lanes.known[node] = True
    lanes.touched[work[TOUCHED]] = node
    work[TOUCHED] += 1
    now = lanes.now[node]
    now[:] = 0
    lanes.was[node, :] = 0
    lanes.fresh[node, :] = 0
    first = columns.offset[node]
    if columns.kind[node] == BLOCK:
        for lane in range(LANES):
            if lanes.root[lane] < 1 << columns.size[node]:
                now[lane] = columns.cell[first + lanes.root[lane]]
    elif columns.kind[node] == LIST:
        last = first + columns.entries[node]
        at = entry_at(columns, node, lanes.root[0])
        for lane in range(LANES):
            while at < last and columns.entry_root[at] < lanes.root[lane]:
                at += 1
            if at < last and columns.entry_root[at] == lanes.root[lane]:
                now[lane] = columns.entry_life[at]


@kernel
def let_wait(lanes, work, node):
    if not lanes.waits[node]:
        lanes.waits[node] = True
        lanes.queue[(lanes.head[0] + work[QUEUED]) % lanes.queue.shape[0]] = node
        work[QUEUED] += 1


@kernel
def next_waiting(lanes, work):
    node = np.int64(lanes.queue[lanes.head[0]])
    lanes.head[0] = (lanes.head[0] + 1) % lanes.queue.shape[0]
    work[QUEUED] -= 1
    lanes.waits[node] = False
    return node


@kernel
def take_down(columns, roots, lanes, work, node, edge):
    """Take down the cells of a column that have just the life that an edge gives them, from lives in `offer`."""
    read_lanes(columns, lanes, work, node)
    lanes.level[0], lanes.level[1] = edge, work[EXPIRED_LIFE]
    limit, over = lanes.level[0], lanes.level[1]
    now = lanes.now[node]
    some = False
    for lane in range(LANES):
        life = min(lanes.offer[lane], limit)
        some |= (life > over) & (life == now[lane])
    if not some:
        return
    itself = np.int32(-1)  # a root is where it begins as long as it is one
    if columns.state[node] == 0:
        itself = roots.slot[columns.vertex[node]] - 1
    for lane in range(LANES):
        life = min(lanes.offer[lane], limit)
        if life > over and life == now[lane] and lanes.root[lane] != itself:
            lanes.was[node, lane] = lanes.fresh[node, lane] = life
            now[lane] = 0
            work[CELLS_TAKEN_DOWN] += 1
            let_wait(lanes, work, node)


@kernel
def take_down_by(views, columns, arcs, roots, lanes, work, ends, automaton, row):
    """Take down the cells that may depend on an edge, which is no longer among the arcs."""
    states = automaton.moves.shape[0]
    for move in range(2 * states):
        label = label_of(automaton, views.predicate[row], move >= states)
        following = automaton.moves[move % states, label] if label >= 0 else -1
        if following < 0:
            continue
        source = roots.node[source_of(views, automaton, label, row), move % states] - 1
        reached = roots.node[target_of(views, automaton, label, row), following] - 1
        if source >= 0 and reached >= 0:
            read_lanes(columns, lanes, work, source)
            for lane in range(LANES):  # what the source had before another move took it down
                lanes.offer[lane] = max(lanes.now[source, lane], lanes.was[source, lane])
            take_down(columns, roots, lanes, work, reached, np.int64(ends.edge[row]))
    while work[QUEUED] > 0:
        node = next_waiting(lanes, work)
        for lane in range(LANES):
            lanes.offer[lane] = lanes.fresh[node, lane]
            lanes.fresh[node, lane] = 0
        for group in range(automaton.group_moves.shape[1]):
            following = automaton.group_moves[columns.state[node], group]
            arc = roots.arc[columns.vertex[node], group] - 1
            if following < 0 or arc < 0:
                continue
            work[EDGES_PROBED] += arcs.entries[arc]
            for entry in range(arcs.offset[arc], arcs.offset[arc] + arcs.entries[arc]):
                reached = roots.node[arcs.entry_root[entry], following] - 1
                if reached >= 0:
                    take_down(columns, roots, lanes, work, reached, np.int64(arcs.entry_life[entry]))


@kernel
def gain_again(lanes, work, node, lives, edge):
    """Let the cells that were taken down have the lives that an edge gives them."""
    lanes.level[0], lanes.level[1] = edge, work[FLOOR]
    limit, floor = lanes.level[0], lanes.level[1]
    now, was = lanes.now[node], lanes.was[node]
    gained = False
    for lane in range(LANES):
        life = min(lives[lane], limit)
        longer = (was[lane] != 0) & (life > now[lane]) & (life > floor)
        gained |= longer
        now[lane] = life if longer else now[lane]
    return gained


@kernel
def derive_again(views, columns, arcs, roots, lanes, work, ends, automaton, deleted):
    """Derive what was taken down from what was not, and then from what was derived."""
    for i in range(work[TOUCHED]):
        node = np.int64(lanes.touched[i])
        down = False
        for lane in range(LANES):
            down |= lanes.was[node, lane] != 0
        if not down:
            continue
        vertex, state = columns.vertex[node], columns.state[node]
        gained = False
        for label in range(automaton.label_predicate.shape[0]):
            for source_state in range(automaton.moves.shape[0]):
                if automaton.moves[source_state, label] != state:
                    continue
                index, row, _ = first_edge(views, automaton, label, vertex, True)
                while row >= 0:
                    work[EDGES_PROBED] += 1
                    if row != deleted and ends.edge[row] > work[FLOOR] and fits(views, automaton, label, row):
                        source = roots.node[source_of(views, automaton, label, row), source_state] - 1
                        if source >= 0:
                            read_lanes(columns, lanes, work, source)
                            if gain_again(lanes, work, node, lanes.now[source], np.int64(ends.edge[row])):
                                gained = True
                    row = views.lists.after[index, row]
        if gained:
            let_wait(lanes, work, node)
    while work[QUEUED] > 0:
        node = next_waiting(lanes, work)
        for group in range(automaton.group_moves.shape[1]):
            following = automaton.group_moves[columns.state[node], group]
            arc = roots.arc[columns.vertex[node], group] - 1
            if following < 0 or arc < 0:
                continue
            work[EDGES_PROBED] += arcs.entries[arc]
            for entry in range(arcs.offset[arc], arcs.offset[arc] + arcs.entries[arc]):
                reached = roots.node[arcs.entry_root[entry], following] - 1
                if reached >= 0 and lanes.known[reached]:
                    if gain_again(lanes, work, reached, lanes.now[node], np.int64(arcs.entry_life[entry])):
                        let_wait(lanes, work, reached)


@kernel
def note_taken_down(columns, roots, lanes, pairs, work, automaton):
    """Remember the pairs that end earlier now; False for want of room."""
    for i in range(work[TOUCHED]):
        node = np.int64(lanes.touched[i])
        vertex, state = columns.vertex[node], columns.state[node]
        if not automaton.is_accepting[state]:
            continue
        for lane in range(LANES):
            if lanes.was[node, lane] == 0:
                continue
            root = np.int64(lanes.root[lane])
            before, after = np.int64(0), np.int64(0)
            first = is_asked(automaton, roots.term[root], vertex)
            for j in range(automaton.accepting.shape[0]):
                sibling = np.int64(roots.node[vertex, automaton.accepting[j]] - 1)
                if sibling < 0:
                    continue
                life, was = life_of(columns, sibling, root), np.int64(0)
                if lanes.known[sibling]:
                    life, was = np.int64(lanes.now[sibling, lane]), np.int64(lanes.was[sibling, lane])
                if was != 0 and automaton.accepting[j] < state:
                    first = False  # it is remembered there
                after = max(after, life)
                before = max(before, life, was)
            if after <= work[EXPIRED_LIFE]:
                after = np.int64(0)
            if first and before != after:
                if work[PAIRS] == pairs.root.shape[0]:
                    return False
                add_pair(pairs, work, root, vertex, before, after)
    return True


@kernel
def write_lanes(columns, lanes, work):
    """Let the cells that were taken down have the lives that they have now."""
    for i in range(work[TOUCHED]):
        node = np.int64(lanes.touched[i])
        for lane in range(LANES):
            if lanes.was[node, lane] != lanes.now[node, lane] and lanes.was[node, lane] != 0:
                set_life(columns, node, lanes.root[lane], np.int64(lanes.now[node, lane]))


@kernel
def is_concerned(views, columns, roots, work, ends, automaton, row, root):
    """Whether a deleted edge may have given a root the life that it has at the edge's target."""
    states = automaton.moves.shape[0]
    for move in range(2 * states):
        label = label_of(automaton, views.predicate[row], move >= states)
        following = automaton.moves[move % states, label] if label >= 0 else -1
        if following < 0:
            continue
        source = roots.node[source_of(views, automaton, label, row), move % states] - 1
        reached = roots.node[target_of(views, automaton, label, row), following] - 1
        if source >= 0 and reached >= 0:
            life = min(life_of(columns, source, root), np.int64(ends.edge[row]))
            if life > work[EXPIRED_LIFE] and life_of(columns, reached, root) == life:
                return True
    return False


@kernel
def delete_edge(views, columns, arcs, roots, lanes, pairs, work, ends, automaton, row):
    """Derive again what may depend on a deleted edge; False for want of room."""
    if lanes.known.shape[0] < columns.held[ROWS]:
        return False
    if work[CURSOR] == 0:
        drop_arc(views, arcs, roots, ends, automaton, row)
    while work[CURSOR] < work[ROOTS]:
        root, count = work[CURSOR], 0
        while root < work[ROOTS] and count < LANES:
            if roots.term[root] != 0 and is_concerned(views, columns, roots, work, ends, automaton, row, root):
                lanes.root[count] = root
                count += 1
            root += 1
        lanes.root[count:] = _NOBODY
        known_pairs = work[PAIRS]
        done = True
        if count > 0:
            take_down_by(views, columns, arcs, roots, lanes, work, ends, automaton, row)
            derive_again(views, columns, arcs, roots, lanes, work, ends, automaton, row)
            done = note_taken_down(columns, roots, lanes, pairs, work, automaton)
            if done:
                write_lanes(columns, lanes, work)
            else:
                work[PAIRS] = known_pairs  # these roots are looked at again
            for i in range(work[TOUCHED]):
                lanes.known[lanes.touched[i]] = False
            work[TOUCHED] = 0
        if not done:
            return False
        work[CURSOR] = root
    work[CURSOR] = 0
    ends.edge[row] = 0
    return True
