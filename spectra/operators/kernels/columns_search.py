"""PATH by columns: what roots gain by an edge that comes or lasts longer, taken to all that it leads to."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.automaton import label_of, may_be_root, source_of, target_of
from spectra.operators.kernels.columns import (
    BEFORE_COLUMNS,
    COLUMNS_MERGED,
    DENSE,
    EDGES_PROBED,
    EXPANDING,
    EXPIRED_LIFE,
    FLOOR,
    GAINED,
    INSTANT,
    LEAST,
    LEVEL,
    MOVE,
    PAIRS,
    QUEUED,
    ROOTS,
    STAGE,
    make_node,
    make_root,
    note_pairs,
    set_arc,
)
from spectra.operators.kernels.columns_queue import enqueue, forget_search, unqueue, widest
from spectra.operators.kernels.containers import STRIDE, merge, note_change, put_life, shortest
from spectra.operators.kernels.hub_search import prolong_hubs
from spectra.operators.kernels.hubs import (
    gainers,
    gains_beyond,
    hub_life,
    is_no_better,
    note_ways_back,
    with_gains,
)


@kernel
def expand(columns, arcs, roots, hubs, search, work, automaton, node, level, forever):
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
                reach = min(level, np.int64(arcs.entry_life[entry]))
                if is_no_better(hubs, target, following, reach):
                    continue
                reached = make_node(columns, roots, target, following, forever)
                if reached < 0:
                    return False
                enqueue(search, work, reached, target, following, reach)
    return True


@kernel
def merge_one(columns, gains, hubs, work, automaton, node, extensions):
    """What `merge_gains` does, where a single root gains, as most often."""
    root, level = np.int64(gains.root[0]), work[LEVEL]
    vertex, state = columns.vertex[node], columns.state[node]
    if hub_life(hubs, vertex, state, root) >= level:
        return 0, 0
    before = put_life(columns, node, root, level, work[ROOTS], work[EXPIRED_LIFE])
    if before < 0:
        return -1, 0
    if before >= level:
        return 0, 0
    if not automaton.is_accepting[state]:
        return 1, 0
    return 1, note_change(gains, 0, root, before, level, work[EXPIRED_LIFE], extensions)


@kernel
def merge_gains(columns, gains, hubs, work, automaton, node, extensions):
    """Let a column that waits take over what is longer than by way of a hub: (what `merge` says, changes noted)."""
    noting = automaton.is_accepting[columns.state[node]]
    gained, least = work[GAINED], work[LEAST]
    longer = gains
    if hubs.ahead.shape[2] > 0:
        gained = gains_beyond(columns, gains, hubs, node, gained, work[LEVEL])
        if gained == 0:
            return 0, 0
        longer = with_gains(gains, hubs.root, hubs.life)
        least = shortest(longer, gained)
    return merge(
        columns, longer, node, gained, least, work[DENSE] != 0, work[LEVEL], work[ROOTS], work[EXPIRED_LIFE], noting,
        extensions,
    )  # fmt: skip


@kernel
def settle(columns, arcs, gains, roots, hubs, search, pairs, work, automaton, extensions, forever):
    """Take the gains to whatever the columns that wait lead to; False for want of room."""
    while work[EXPANDING] >= 0 or work[QUEUED] > 0:
        if work[EXPANDING] < 0:
            node = widest(search, work)
            if work[PAIRS] + work[GAINED] > pairs.root.shape[0]:
                return False
            if work[GAINED] == 1:
                result, changed = merge_one(columns, gains, hubs, work, automaton, node, extensions)
            else:
                result, changed = merge_gains(columns, gains, hubs, work, automaton, node, extensions)
            if result < 0:
                return False
            unqueue(search, work, node, work[LEVEL])
            work[COLUMNS_MERGED] += 1
            if result == 0:
                continue
            if automaton.is_accepting[columns.state[node]]:
                search.merged[columns.vertex[node]] = work[INSTANT]
            if changed > 0:
                note_pairs(columns, gains, roots, hubs, pairs, work, automaton, node, changed, extensions)
            work[EXPANDING] = node
        if not expand(columns, arcs, roots, hubs, search, work, automaton, work[EXPANDING], work[LEVEL], forever):
            return False
        work[EXPANDING] = -1
    return True


@kernel
def next_move(work):
    work[MOVE] += 1
    work[STAGE] = 0


@kernel
def relax(
    views, columns, arcs, sources, gains, roots, hubs, search, pairs, work, ends, terms, automaton, row, extensions
):  # fmt: skip
    """Let all roots gain by an edge, one move of the automaton after the other; False for want of room."""
    states = automaton.moves.shape[0]
    edge = np.int64(ends.edge[row])
    forever = np.int64(ends.end.shape[0] - 1)
    if work[MOVE] == 0 and work[STAGE] == 0 and work[GAINED] == 0:
        if not set_arc(views, arcs, sources, roots, hubs, ends, automaton, row, forever):
            return False
    while edge > work[FLOOR] and work[MOVE] < 2 * states:
        if work[GAINED] == 0:
            state = work[MOVE] % states
            label = label_of(automaton, views.predicate[row], work[MOVE] >= states)
            if label < 0:
                work[MOVE] += states - state
                continue
            following = np.int64(automaton.moves[state, label])
            if following < 0:
                work[MOVE] += 1
                continue
            source = np.int64(source_of(views, automaton, label, row))
            vertex = np.int64(target_of(views, automaton, label, row))
            if state == 0 and may_be_root(terms, automaton, source):
                if not make_root(columns, roots, hubs, work, source, edge, forever):
                    return False
            if not prolong_hubs(
                columns, arcs, sources, roots, hubs, search, pairs, work, automaton, source, state, vertex, following,
                edge, forever,
            ):  # fmt: skip
                return False
            node = np.int64(roots.node[source, state] - 1)
            gained, level = np.int64(0), np.int64(0)
            if node >= 0:
                target = np.int64(roots.node[vertex, following] - 1)
                gained, level = gainers(
                    columns, gains, hubs, node, vertex, following, target, edge, work[FLOOR], work[ROOTS]
                )
            if gained == 0:
                next_move(work)
                continue
            target = make_node(columns, roots, vertex, following, forever)
            if target < 0:
                return False
            work[GAINED] = gained
            work[LEAST] = shortest(gains, gained)
            work[DENSE] = gained > work[ROOTS] >> 3 and hubs.ahead.shape[2] == 0
            work[BEFORE_COLUMNS] = work[PAIRS]
            if work[PAIRS] > 0:
                for number in range(gained):
                    search.gained[gains.root[number]] = work[INSTANT]
            if work[DENSE]:
                for number in range(gained):
                    gains.cell[gains.root[number]] = gains.life[number]
            note_ways_back(gains, hubs, gained)
            enqueue(search, work, target, vertex, following, level)
            work[LEVEL] = level
        if not settle(columns, arcs, gains, roots, hubs, search, pairs, work, automaton, extensions, forever):
            return False
        forget_search(columns, search, work)
        if work[DENSE]:
            for number in range(work[GAINED]):
                gains.cell[gains.root[number]] = 0
        work[GAINED] = 0
        next_move(work)
    work[MOVE] = 0
    return True
