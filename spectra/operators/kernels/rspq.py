"""Pairs that simple paths connect, over the Δ-trees of arbitrary ones.

The trees say until when a pair is connected by any path, which no simple path outlasts. The tree's own path,
its loops left out, is nearly always a simple one; then the pair lasts as long as the tree says. Where leaving out a
loop breaks the word there is a *conflict*: the pair is looked for among all simple paths, and its end is kept
beside the trees. It is looked for again when an edge comes that its trees can use, or one goes that it may have used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import count_term, emit_change, is_asked, label_of, source_of, target_of
from spectra.operators.kernels.rapq import (
    BEGIN,
    BY_ROOT,
    BY_VERTEX,
    CURSOR,
    PHASE,
    REPORT,
    TOUCHED,
    advance,
    collect_pair,
    find_node,
    forget_pairs,
    nodes_at,
    result_end,
)
from spectra.operators.kernels.simple_paths import LIMIT, VISITED, last_simple_path
from spectra.views.kernels.apply import DELETED, EXPIRED, end_at
from spectra.views.kernels.index import IndexColumns, find_slot, link, unlink

# what `tally` holds: free entries, entries in use, the first end among them, searches so far
FREE, USED, FIRST_END, SEARCHES = 0, 1, 2, 3

# the indexes over the conflicts
_BY_PAIR, _BY_ROOT = 0, 1


class ConflictColumns(NamedTuple):
    """Pairs whose tree path is no simple one: until when a simple path connects them, `NO_END` for not at all."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    used: NDArray[np.int32]
    end: NDArray[np.int64]
    free: NDArray[np.int32]
    tally: NDArray[np.int64]
    lists: IndexColumns


@kernel
def find_conflict(conflicts, root, vertex):
    slot = find_slot(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, _BY_PAIR, root, vertex, 0)
    if slot < 0:
        return -1
    return conflicts.lists.heads[_BY_PAIR, slot] - 1


@kernel
def keep_conflict(conflicts, entry, root, vertex, end):
    """Note the end of a pair, in its entry or (-1) in a new one."""
    if entry < 0:
        conflicts.tally[FREE] -= 1
        conflicts.tally[USED] += 1
        entry = conflicts.free[conflicts.tally[FREE]]
        conflicts.root[entry] = root
        conflicts.vertex[entry] = vertex
        conflicts.used[entry] = 1
        link(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, entry)
    conflicts.end[entry] = end
    if end != NO_END:
        conflicts.tally[FIRST_END] = min(conflicts.tally[FIRST_END], end)


@kernel
def drop_conflict(conflicts, entry):
    unlink(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, entry)
    conflicts.used[entry] = 0
    conflicts.free[conflicts.tally[FREE]] = entry
    conflicts.tally[FREE] += 1
    conflicts.tally[USED] -= 1


@kernel
def is_simple(trees, automaton, search, node):
    """Whether the tree path to a node, with its loops left out, is still a word of the language."""
    steps = 0
    while node >= 0:
        search.queue[steps, 0] = node
        steps += 1
        root = trees.root[node]
        node = trees.parent[node]
    search.vertex[0] = root
    search.state[0] = 0
    search.on_path[root] = 1
    depth = 0
    accepted = True
    while steps > 0 and accepted:
        steps -= 1
        node = search.queue[steps, 0]
        following = automaton.moves[search.state[depth], trees.label[node]]
        if following < 0:
            accepted = False
        elif search.on_path[trees.vertex[node]] > 0:
            while search.vertex[depth] != trees.vertex[node]:
                search.on_path[search.vertex[depth]] = 0
                depth -= 1
        else:
            depth += 1
            search.vertex[depth] = trees.vertex[node]
            search.state[depth] = following
            search.on_path[trees.vertex[node]] = depth + 1
    accepted = accepted and automaton.is_accepting[search.state[depth]]
    for at in range(depth + 1):
        search.on_path[search.vertex[at]] = 0
    return accepted


@kernel
def collect_conflicts(trees, pairs, work, automaton, conflicts, root, end):
    """Collect the pairs of a root that an edge with this end may improve."""
    slot = find_slot(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, _BY_ROOT, root, 0, 0)
    entry = -1 if slot < 0 else conflicts.lists.heads[_BY_ROOT, slot] - 1
    while entry >= 0:
        if conflicts.end[entry] < end:
            collect_pair(trees, pairs, work, automaton, root, conflicts.vertex[entry])
        entry = conflicts.lists.after[_BY_ROOT, entry]


@kernel
def collect_users(trees, pairs, work, automaton, conflicts, root, end):
    """Collect the pairs of a root whose path may have used an edge with this end: those that do not outlast it."""
    slot = find_slot(trees.root, trees.vertex, trees.state, trees.lists, BY_ROOT, root, 0, 0)
    node = -1 if slot < 0 else trees.lists.heads[BY_ROOT, slot] - 1
    while node >= 0:
        vertex = trees.vertex[node]
        if automaton.is_accepting[trees.state[node]] and is_asked(automaton, root, vertex):
            entry = find_conflict(conflicts, root, vertex)
            known = result_end(trees, automaton, root, vertex) if entry < 0 else conflicts.end[entry]
            if NO_END < known <= end:
                collect_pair(trees, pairs, work, automaton, root, vertex)
        node = trees.lists.after[BY_ROOT, node]


@kernel
def collect_affected(views, trees, pairs, work, automaton, conflicts, kind, row, position):
    """Collect what an edge that comes, lasts longer or is deleted may change although its tree path stays."""
    if kind != DELETED and conflicts.tally[USED] == 0:
        return
    end = end_at(views, row, position)
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source, target = source_of(views, automaton, label, row), target_of(views, automaton, label, row)
        for state in range(automaton.moves.shape[0]):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            node, _ = nodes_at(trees, source, state)
            root = source if state == 0 else np.int32(0)
            while node >= 0 or root > 0:
                if root == 0:
                    root = trees.root[node]
                    node = trees.lists.after[BY_VERTEX, node]
                if kind != DELETED:
                    collect_conflicts(trees, pairs, work, automaton, conflicts, root, end)
                elif find_node(trees, root, target, following) >= 0:
                    collect_users(trees, pairs, work, automaton, conflicts, root, end)
                root = np.int32(0)


@kernel
def collect_expired(trees, pairs, work, automaton, conflicts, limit):
    """Collect the conflicts that end by `limit`."""
    if conflicts.tally[USED] == 0 or conflicts.tally[FIRST_END] > limit:
        return
    first = np.int64(FOREVER)
    for entry in range(conflicts.root.shape[0]):
        if conflicts.used[entry] and conflicts.end[entry] != NO_END:
            if conflicts.end[entry] <= limit:
                collect_pair(trees, pairs, work, automaton, conflicts.root[entry], conflicts.vertex[entry])
            else:
                first = min(first, conflicts.end[entry])
    conflicts.tally[FIRST_END] = first


@kernel
def settle_pair(views, trees, automaton, conflicts, search, root, vertex, position, floor, expired, limit):
    """The end of a pair by simple paths, noted where there is a conflict."""
    entry = find_conflict(conflicts, root, vertex)
    end = result_end(trees, automaton, root, vertex)
    if end != NO_END and expired:
        # what is left has been found before: an edge that expires takes nothing that lasts longer
        if entry < 0 or conflicts.end[entry] > limit:
            return end if entry < 0 else conflicts.end[entry]
        conflicts.end[entry] = NO_END
        return np.int64(NO_END)
    conflict = end != NO_END
    for i in range(automaton.accepting.shape[0]):
        node = find_node(trees, root, vertex, automaton.accepting[i])
        if conflict and node >= 0 and trees.end[node] == end and is_simple(trees, automaton, search, node):
            conflict = False
    if not conflict:
        if entry >= 0:
            drop_conflict(conflicts, entry)
        return end
    conflicts.tally[SEARCHES] += 1
    found = last_simple_path(views, automaton, search, root, vertex, position, floor, end)
    end = found if found > floor else np.int64(NO_END)
    keep_conflict(conflicts, entry, root, vertex, end)
    return end


@kernel
def follow_log(
    views, log, first, last, trees, heap, pairs, work, terms, automaton, conflicts, search,
    counting, removals, extensions, out,
):  # fmt: skip
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full or a search gives up; `work` knows how far the entry has come.
    """
    written = 0
    room = out.at.shape[0]
    for entry in range(first, last):
        kind, row, at = log.kind[entry], log.row[entry], log.at[entry]
        floor = np.int64(NO_END) if counting else at
        limit = end_at(views, row, entry)
        if work[PHASE] == BEGIN:
            if entry == 0 or log.at[entry - 1] != at:
                search.tally[VISITED] = 0
            if kind == EXPIRED:
                collect_expired(trees, pairs, work, automaton, conflicts, limit)
            else:
                position = entry if kind == DELETED else entry + 1
                collect_affected(views, trees, pairs, work, automaton, conflicts, kind, row, position)
        # told or not, a pair that goes must be known, or its conflict would stay
        if not advance(views, log, entry, last, trees, heap, pairs, work, terms, automaton, counting, True):
            return entry, written
        if work[PHASE] == REPORT:
            while work[CURSOR] < work[TOUCHED]:
                if written + 2 > room or conflicts.tally[FREE] < 1:
                    return entry, written
                root, vertex = pairs.root[work[CURSOR]], pairs.vertex[work[CURSOR]]
                known = find_conflict(conflicts, root, vertex)
                before = pairs.before[work[CURSOR]] if known < 0 else conflicts.end[known]
                after = settle_pair(
                    views, trees, automaton, conflicts, search, root, vertex, entry + 1, floor, kind == EXPIRED, limit
                )
                if search.tally[VISITED] > search.tally[LIMIT]:
                    return entry, written
                work[CURSOR] += 1
                if removals or kind != EXPIRED:
                    written = emit_change(
                        automaton, out, written, at, before, after, root, vertex, counting, extensions
                    )
            forget_pairs(work)
        if automaton.flags[1]:
            if written + 4 > room:
                return entry, written
            for side in range(2):
                written = count_term(
                    views, terms, automaton, out, written, at, kind, row, side, entry + 1,
                    counting, removals, extensions,
                )  # fmt: skip
        work[PHASE] = BEGIN
    return last, written
