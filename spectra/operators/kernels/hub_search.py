"""PATH by columns: how long hubs reach product nodes and are reached, and the pairs that begin by way of them.

An edge from `a` to `b` lets a hub reach `b` and what is behind it for longer where it reaches `a` for longer, and
lets `a` and what is before it reach the hub. Each is one widest-first search, for no roots or for one.
"""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.automaton import is_asked
from spectra.operators.kernels.columns import (
    BEFORE_HUBS,
    EDGES_PROBED,
    EXPANDING,
    EXPIRED_LIFE,
    FLOOR,
    HUB_STEPS,
    LEVEL,
    PAIRS,
    QUEUED,
    ROOTS,
    STAGE,
    WALK,
    add_pair,
    make_node,
    reach_beside,
    read_paired,
)
from spectra.operators.kernels.columns_queue import enqueue, forget_search, unqueue, widest
from spectra.operators.kernels.containers import STRIDE, life_of, lower_least
from spectra.operators.kernels.hubs import is_covered, reach_ahead


@kernel
def walk(columns, arcs, roots, hubs, search, work, automaton, root, most):
    """Let `met` be this walk's number for the vertices that a root reaches in an accepting state.

    Those that hubs reach are listed; where the root reaches a product node for longer, all on the way there have it in
    their columns. -1 where that takes more than `most` vertices and edges, or where columns hold what hubs told until
    this instant: then others on the way may be told by hubs.
    """
    expired = work[EXPIRED_LIFE]
    work[WALK] += 1
    number = work[WALK]
    for hub in range(hubs.root_back.shape[0]):
        if hubs.root_back[hub, root] <= expired:
            continue
        most -= hubs.listed[hub]
        if most < 0 or work[FLOOR] > expired:
            return np.int64(-1)
        for at in range(hubs.listed[hub]):
            vertex = hubs.reached[hub, at]
            if reach_ahead(hubs, automaton, hub, vertex) > expired:
                hubs.met[vertex] = number
    node = np.int64(roots.node[roots.term[root], 0] - 1)
    search.seen[node] = number
    search.stack[0] = node
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = np.int64(search.stack[waiting])
        vertex, state = columns.vertex[node], columns.state[node]
        if automaton.is_accepting[state]:
            hubs.met[vertex] = number
        for group in range(automaton.group_moves.shape[1]):
            following, arc = automaton.group_moves[state, group], roots.arc[vertex, group] - 1
            if following < 0 or arc < 0:
                continue
            offset, count = arcs.offset[arc], np.int64(arcs.entries[arc])
            most -= count
            if most < 0:
                return np.int64(-1)
            work[EDGES_PROBED] += count
            for entry in range(offset, offset + count):
                reached = np.int64(roots.node[arcs.entry_root[entry], following] - 1)
                if reached < 0 or search.seen[reached] == number or arcs.entry_life[entry] <= expired:
                    continue
                if life_of(columns, reached, root) > expired:
                    search.seen[reached] = number
                    search.stack[waiting] = reached
                    waiting += 1
    return number


@kernel
def is_paired(columns, roots, hubs, work, automaton, root, vertex, walked):
    """Whether a root reaches a vertex in any accepting state; `walked` is the number of a walk from it or -1."""
    if walked >= 0:
        return hubs.met[vertex] == walked
    return reach_beside(columns, roots, hubs, automaton, work[EXPIRED_LIFE], root, vertex, -1, False) > 0


@kernel
def note_reached(columns, roots, hubs, pairs, work, automaton, hub, vertex, level):
    """Remember the pairs of a vertex that the hub is about to reach in an accepting state."""
    if reach_ahead(hubs, automaton, hub, vertex) > work[FLOOR]:
        return  # whoever reaches the hub has been told
    read_paired(columns, roots, hubs, work, automaton, vertex)
    for root in range(work[ROOTS]):
        life = min(level, np.int64(hubs.root_back[hub, root]))
        if (
            life > work[FLOOR]
            and hubs.life[root] <= work[EXPIRED_LIFE]
            and is_asked(automaton, roots.term[root], vertex)
        ):
            add_pair(pairs, work, root, vertex, 0, life)


@kernel
def list_reached(hubs, work, automaton, hub, vertex):
    """Let a vertex be listed that a hub is about to reach in an accepting state."""
    if reach_ahead(hubs, automaton, hub, vertex) > work[FLOOR]:
        return
    for other in range(hubs.covers.shape[0]):
        hubs.covers[other, hub] = 0
    if not hubs.is_listed[vertex, hub]:
        hubs.is_listed[vertex, hub] = True
        hubs.reached[hub, hubs.listed[hub]] = vertex
        hubs.listed[hub] += 1


@kernel
def note_root(columns, arcs, roots, hubs, search, pairs, work, automaton, hub, root, level):
    """Let a root reach the hub for so long, and remember the pairs that begin."""
    is_new = hubs.root_back[hub, root] <= work[FLOOR]
    if is_new and not is_covered(hubs, automaton, hub, root, work[FLOOR]):
        walked = walk(columns, arcs, roots, hubs, search, work, automaton, root, 2 * hubs.listed[hub])
        kept = 0
        for number in range(hubs.listed[hub]):
            vertex = np.int64(hubs.reached[hub, number])
            ahead = reach_ahead(hubs, automaton, hub, vertex)
            if ahead <= work[FLOOR]:
                hubs.is_listed[vertex, hub] = False
                continue
            hubs.reached[hub, kept] = vertex
            kept += 1
            if is_asked(automaton, roots.term[root], vertex) and not is_paired(
                columns, roots, hubs, work, automaton, root, vertex, walked
            ):
                add_pair(pairs, work, root, vertex, 0, min(level, ahead))
        hubs.listed[hub] = kept
    hubs.root_back[hub, root] = level


@kernel
def reach_all(columns, table, row, roots, known, search, work, hub, state, level, forever):
    """Let what a list of edges leads to in a state wait where the hub gains by it; False for want of room."""
    floor = work[FLOOR]
    offset, count = table.offset[row], np.int64(table.entries[row])
    work[EDGES_PROBED] += count
    for first in range(offset, offset + count, STRIDE):
        # which of them lead on is hard to foresee, so that they are first gathered without a branch
        found = 0
        for entry in range(first, min(first + STRIDE, offset + count)):
            other = table.entry_root[entry]
            reach = min(level, np.int64(table.entry_life[entry]))
            search.found[found] = entry
            found += (reach > floor) & (reach > known[other, state, hub]) & (reach > search.best[other, state])
        for number in range(found):
            entry = search.found[number]
            other = table.entry_root[entry]
            node = make_node(columns, roots, other, state, forever)
            if node < 0:
                return False
            enqueue(search, work, node, other, state, min(level, np.int64(table.entry_life[entry])))
    return True


@kernel
def expand_hub(columns, arcs, sources, roots, hubs, search, work, automaton, hub, forward, node, level, forever):
    """Reach what the edges from a product node lead to, or those that lead there; False for want of room."""
    vertex, state = columns.vertex[node], columns.state[node]
    for group in range(automaton.group_moves.shape[1]):
        if forward:
            following = automaton.group_moves[state, group]
            row = np.int64(roots.arc[vertex, group] - 1)
            if following >= 0 and row >= 0:
                if not reach_all(
                    columns, arcs, row, roots, hubs.ahead, search, work, hub, following, level, forever
                ):  # fmt: skip
                    return False
            continue
        row = np.int64(hubs.source[vertex, group] - 1)
        for before in range(automaton.group_moves.shape[0]):
            if row >= 0 and automaton.group_moves[before, group] == state:
                if not reach_all(
                    columns, sources, row, roots, hubs.back, search, work, hub, before, level, forever
                ):  # fmt: skip
                    return False
    return True


@kernel
def settle_hub(
    columns, arcs, sources, roots, hubs, search, pairs, work, automaton, hub, forward, telling, forever
):  # fmt: skip
    """Take what a hub gains to all that waits and what that leads to; False for want of room.

    With `telling`, the pairs that begin are remembered and roots know their way to the hub.
    """
    while work[EXPANDING] >= 0 or work[QUEUED] > 0:
        if work[EXPANDING] < 0:
            node = np.int64(widest(search, work))
            level = work[LEVEL]
            vertex, state = np.int64(columns.vertex[node]), np.int64(columns.state[node])
            if forward:
                if telling and automaton.is_accepting[state]:
                    if work[PAIRS] + work[ROOTS] > pairs.root.shape[0]:
                        return False
                    note_reached(columns, roots, hubs, pairs, work, automaton, hub, vertex, level)
                if automaton.is_accepting[state]:
                    list_reached(hubs, work, automaton, hub, vertex)
                hubs.ahead[vertex, state, hub] = level
            else:
                root = np.int64(roots.slot[vertex] - 1)
                if telling and state == 0 and root >= 0:
                    if work[PAIRS] + hubs.listed[hub] > pairs.root.shape[0]:
                        return False
                    note_root(columns, arcs, roots, hubs, search, pairs, work, automaton, hub, root, level)
                hubs.back[vertex, state, hub] = level
            lower_least(columns, node, level)
            unqueue(search, work, node, level)
            work[HUB_STEPS] += 1
            work[EXPANDING] = node
        if not expand_hub(
            columns, arcs, sources, roots, hubs, search, work, automaton, hub, forward, work[EXPANDING], work[LEVEL],
            forever,
        ):  # fmt: skip
            return False
        work[EXPANDING] = -1
    return True


@kernel
def prolong_hubs(
    columns, arcs, sources, roots, hubs, search, pairs, work, automaton, source, state, target, following, edge,
    forever,
):  # fmt: skip
    """Let all hubs gain by an edge between two product nodes, one way after the other; False for want of room.

    `work[STAGE]` knows how far that is, and has to be 0 before the next edge.
    """
    hubs_count = hubs.ahead.shape[2]
    root = np.int64(roots.slot[source] - 1) if state == 0 else np.int64(-1)
    while work[STAGE] < 3 * hubs_count:
        hub, way = work[STAGE] // 3, work[STAGE] % 3
        if way == 0:  # a root that has just become one does not know its way to the hub yet
            if root >= 0 and hubs.back[source, state, hub] > max(np.int64(hubs.root_back[hub, root]), work[FLOOR]):
                if work[PAIRS] + hubs.listed[hub] > pairs.root.shape[0]:
                    return False
                level = np.int64(hubs.back[source, state, hub])
                work[BEFORE_HUBS] = work[PAIRS]
                note_root(columns, arcs, roots, hubs, search, pairs, work, automaton, hub, root, level)
            work[STAGE] += 1
            continue
        forward = way == 1
        if work[EXPANDING] < 0 and work[QUEUED] == 0:
            if forward:
                level, known = np.int64(hubs.ahead[source, state, hub]), np.int64(hubs.ahead[target, following, hub])
            else:
                level, known = np.int64(hubs.back[target, following, hub]), np.int64(hubs.back[source, state, hub])
            level = min(level, edge)
            if level <= max(known, work[FLOOR]):
                work[STAGE] += 1
                continue
            vertex, at = (target, following) if forward else (source, state)
            node = make_node(columns, roots, vertex, at, forever)
            if node < 0:
                return False
            enqueue(search, work, node, vertex, at, level)
            work[LEVEL] = level
            work[BEFORE_HUBS] = work[PAIRS]
        if not settle_hub(
            columns, arcs, sources, roots, hubs, search, pairs, work, automaton, hub, forward, True, forever
        ):  # fmt: skip
            return False
        forget_search(columns, search, work)
        work[STAGE] += 1
    return True


@kernel
def search_from_hub(
    columns, arcs, sources, roots, hubs, search, pairs, work, automaton, hub, vertex, state, forward, forever
):  # fmt: skip
    """How long a hub reaches everything, or is reached by it; nothing is told. False for want of room."""
    if work[EXPANDING] < 0 and work[QUEUED] == 0:
        enqueue(search, work, roots.node[vertex, state] - 1, vertex, state, forever)
        work[LEVEL] = forever
    if not settle_hub(
        columns, arcs, sources, roots, hubs, search, pairs, work, automaton, hub, forward, False, forever
    ):  # fmt: skip
        return False
    forget_search(columns, search, work)
    return True
