"""Δ-trees with negative tuples: every node hangs on the edge and on the parent that it is derived by.

For every root the product nodes (vertex, automaton state) that a path reaches, each with the derivation
that expires last, as in `spath`. Here a node is also in the list of its edge and in that of its parent's
children, so that an edge that goes, deleted or expired, takes down exactly what is derived by it: an edge
that no tree uses costs nothing. What a deleted edge takes down is derived again where there is another way;
what an expired edge takes down has none, since ends are exact.

The pairs that a log entry may have changed are collected with their ends before it, and told when the trees
are as they should be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import (
    count_term,
    emit_change,
    first_edge,
    fits,
    is_asked,
    label_of,
    may_be_root,
    source_of,
    target_of,
)
from spectra.views.kernels.apply import DELETED, EXPIRED, end_at, visible
from spectra.views.kernels.index import IndexColumns, find_slot, link, unlink

# where the work on a log entry stands, so that it can go on after the arrays have grown
BEGIN, REDERIVE, DRAIN, REPORT, FINISH = 0, 1, 2, 3, 4

# what `work` holds
PHASE, HEAP, FREE, CUT, CURSOR, TOUCHED, STAMP, EDGES_PROBED, NODES_TOUCHED, LIVE = range(10)

# the indexes over the nodes
BY_NODE, BY_VERTEX, BY_ROOT = 0, 1, 2


class TreeColumns(NamedTuple):
    """The nodes of all trees, one per row.

    `end` is when the best derivation expires, `NO_END` while it is being derived again. `via` is the edge
    (a row of the views) along which `label` leads here from `parent` (-1: the root itself, which has no node).
    `child`, `next` and `previous` are the list of a node's children, `via_head` (row of the views -> node + 1),
    `via_next` and `via_previous` that of an edge's nodes. `stamp` says when a node's pair was last collected;
    `cut` are the nodes that an edge took down.
    """

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    label: NDArray[np.int32]
    parent: NDArray[np.int32]
    via: NDArray[np.int32]
    child: NDArray[np.int32]
    next: NDArray[np.int32]
    previous: NDArray[np.int32]
    via_next: NDArray[np.int32]
    via_previous: NDArray[np.int32]
    end: NDArray[np.int64]
    stamp: NDArray[np.int64]
    free: NDArray[np.int32]
    cut: NDArray[np.int32]
    via_head: NDArray[np.int32]
    lists: IndexColumns


class PairColumns(NamedTuple):
    """Pairs that changed, with their ends before."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    before: NDArray[np.int64]


class HeapColumns(NamedTuple):
    """Relaxations that wait, the one that lasts longest first; `parent` is -1 where the edge leaves the root."""

    end: NDArray[np.int64]
    parent: NDArray[np.int32]
    via: NDArray[np.int32]
    label: NDArray[np.int32]


@kernel
def heap_swap(heap, a, b):
    heap.end[a], heap.end[b] = heap.end[b], heap.end[a]
    heap.parent[a], heap.parent[b] = heap.parent[b], heap.parent[a]
    heap.via[a], heap.via[b] = heap.via[b], heap.via[a]
    heap.label[a], heap.label[b] = heap.label[b], heap.label[a]


@kernel
def heap_push(heap, work, end, parent, via, label):
    at = work[HEAP]
    work[HEAP] = at + 1
    heap.end[at] = end
    heap.parent[at] = parent
    heap.via[at] = via
    heap.label[at] = label
    while at > 0:
        above = (at - 1) // 2
        if heap.end[above] >= heap.end[at]:
            break
        heap_swap(heap, above, at)
        at = above


@kernel
def heap_pop(heap, work):
    """Move the first item behind the heap's end, where it can be read until the next push."""
    last = work[HEAP] - 1
    work[HEAP] = last
    heap_swap(heap, 0, last)
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            return last
        if below + 1 < last and heap.end[below + 1] > heap.end[below]:
            below += 1
        if heap.end[at] >= heap.end[below]:
            return last
        heap_swap(heap, at, below)
        at = below


@kernel
def nodes_at(trees, vertex, state):
    """(first node, how many) of all trees at a vertex in a state; linked by the index."""
    slot = find_slot(trees.root, trees.vertex, trees.state, trees.lists, BY_VERTEX, 0, vertex, state)
    if slot < 0:
        return -1, 0
    return trees.lists.heads[BY_VERTEX, slot] - 1, trees.lists.counts[BY_VERTEX, slot]


@kernel
def find_node(trees, root, vertex, state):
    slot = find_slot(trees.root, trees.vertex, trees.state, trees.lists, BY_NODE, root, vertex, state)
    if slot < 0:
        return -1
    return trees.lists.heads[BY_NODE, slot] - 1


@kernel
def result_end(trees, automaton, root, vertex):
    """When the pair (root, vertex) ends, `NO_END` where it is no result."""
    best = np.int64(NO_END)
    for i in range(automaton.accepting.shape[0]):
        node = find_node(trees, root, vertex, automaton.accepting[i])
        if node >= 0 and trees.end[node] > best:
            best = trees.end[node]
    return best


@kernel
def collect_pair(trees, pairs, work, automaton, root, vertex):
    """Remember a pair and its end once, before the first change to it."""
    if not is_asked(automaton, root, vertex):
        return
    best = np.int64(NO_END)
    known = False
    for i in range(automaton.accepting.shape[0]):
        node = find_node(trees, root, vertex, automaton.accepting[i])
        if node >= 0:
            known = known or trees.stamp[node] == work[STAMP]
            trees.stamp[node] = work[STAMP]
            best = max(best, trees.end[node])
    if known:
        return
    at = work[TOUCHED]
    work[TOUCHED] = at + 1
    pairs.root[at] = root
    pairs.vertex[at] = vertex
    pairs.before[at] = best


@kernel
def attach(trees, node, parent, via):
    """Hang a node on its parent and on its edge."""
    trees.parent[node] = parent
    trees.via[node] = via
    trees.previous[node] = -1
    trees.next[node] = -1
    if parent >= 0:
        following = trees.child[parent]
        trees.next[node] = following
        if following >= 0:
            trees.previous[following] = node
        trees.child[parent] = node
    following = trees.via_head[via] - 1
    trees.via_previous[node] = -1
    trees.via_next[node] = following
    if following >= 0:
        trees.via_previous[following] = node
    trees.via_head[via] = node + 1


@kernel
def detach(trees, node):
    """Take a node from its parent and from its edge; its children stay with it."""
    previous, following = trees.previous[node], trees.next[node]
    if following >= 0:
        trees.previous[following] = previous
    if previous >= 0:
        trees.next[previous] = following
    elif trees.parent[node] >= 0:
        trees.child[trees.parent[node]] = following
    previous, following = trees.via_previous[node], trees.via_next[node]
    if following >= 0:
        trees.via_previous[following] = previous
    if previous >= 0:
        trees.via_next[previous] = following
    else:
        trees.via_head[trees.via[node]] = following + 1


@kernel
def free_node(trees, work, node):
    unlink(trees.root, trees.vertex, trees.state, trees.lists, node)
    trees.end[node] = NO_END
    trees.state[node] = -1
    trees.free[work[FREE]] = node
    work[FREE] += 1
    work[LIVE] -= 1


@kernel
def cut_edge(trees, pairs, work, automaton, row, telling):
    """Take down what is derived by an edge, and collect the pairs of it where they are to be told."""
    count = 0
    while trees.via_head[row] > 0:
        node = trees.via_head[row] - 1
        detach(trees, node)
        trees.cut[count] = node
        count += 1
    at = 0
    while at < count:  # the list grows by the children of what it holds
        node = trees.cut[at]
        at += 1
        while trees.child[node] >= 0:
            child = trees.child[node]
            detach(trees, child)
            trees.cut[count] = child
            count += 1
    work[NODES_TOUCHED] += count
    if telling:
        for at in range(count):
            node = trees.cut[at]
            if automaton.is_accepting[trees.state[node]]:
                collect_pair(trees, pairs, work, automaton, trees.root[node], trees.vertex[node])
    for at in range(count):
        trees.end[trees.cut[at]] = NO_END
    work[CUT] = count


@kernel
def free_cut(trees, work):
    """Free what was taken down and has no other derivation."""
    for at in range(work[CUT]):
        if trees.end[trees.cut[at]] == NO_END:
            free_node(trees, work, trees.cut[at])
    work[CUT] = 0


@kernel
def seed_edge(views, trees, heap, work, terms, automaton, row, position, floor):
    """Relax one edge in every tree that reaches its source; False where the heap has no room for all."""
    end = end_at(views, row, position)
    if end <= floor:
        return True
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source, target = source_of(views, automaton, label, row), target_of(views, automaton, label, row)
        for state in range(automaton.moves.shape[0]):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            node, count = nodes_at(trees, source, state)
            if work[HEAP] + count + 1 > heap.end.shape[0]:
                return False
            if state == 0 and may_be_root(terms, automaton, source):
                relax(trees, heap, work, end, source, target, following, -1, row, label)
            while node >= 0:
                work[EDGES_PROBED] += 1
                reach = min(end, trees.end[node])
                if reach > floor:
                    relax(trees, heap, work, reach, trees.root[node], target, following, node, row, label)
                node = trees.lists.after[BY_VERTEX, node]
    return True


@kernel
def relax(trees, heap, work, reach, root, target, following, parent, row, label):
    """Let a derivation wait if it lasts longer than the one that is known."""
    if following == 0 and target == root:
        return  # back at the beginning: nothing that the root does not reach without it
    known = find_node(trees, root, target, following)
    if known < 0 or trees.end[known] < reach:
        heap_push(heap, work, reach, parent, row, label)


@kernel
def drain(views, trees, heap, pairs, work, automaton, position, floor):
    """Settle what waits, the one that lasts longest first; False where there is no room for all."""
    labels = automaton.label_predicate.shape[0]
    while work[HEAP] > 0:
        end, parent, via, label = heap.end[0], heap.parent[0], heap.via[0], heap.label[0]
        root = trees.root[parent] if parent >= 0 else source_of(views, automaton, label, via)
        state = automaton.moves[trees.state[parent] if parent >= 0 else 0, label]
        vertex = target_of(views, automaton, label, via)
        node = find_node(trees, root, vertex, state)
        if node >= 0 and trees.end[node] >= end:
            heap_pop(heap, work)
            continue
        # room for the edges that go on from here
        needed = 0
        for onward in range(labels):
            if automaton.moves[state, onward] >= 0:
                needed += first_edge(views, automaton, onward, vertex, False)[2]
        if work[FREE] < 1 or work[HEAP] + needed > heap.end.shape[0]:
            return False
        heap_pop(heap, work)
        work[NODES_TOUCHED] += 1
        if node < 0:
            work[FREE] -= 1
            work[LIVE] += 1
            node = trees.free[work[FREE]]
            trees.root[node] = root
            trees.vertex[node] = vertex
            trees.state[node] = state
            trees.child[node] = -1
            trees.stamp[node] = 0
            trees.end[node] = NO_END
            link(trees.root, trees.vertex, trees.state, trees.lists, node)
        elif trees.end[node] != NO_END:
            detach(trees, node)
        if automaton.is_accepting[state]:
            collect_pair(trees, pairs, work, automaton, root, vertex)
        trees.end[node] = end
        trees.label[node] = label
        attach(trees, node, parent, via)
        for onward in range(labels):
            following = automaton.moves[state, onward]
            if following < 0:
                continue
            index, row, _ = first_edge(views, automaton, onward, vertex, False)
            while row >= 0:
                work[EDGES_PROBED] += 1
                if visible(views, row, position) and fits(views, automaton, onward, row):
                    reach = min(end, end_at(views, row, position))
                    if reach > floor:
                        target = target_of(views, automaton, onward, row)
                        relax(trees, heap, work, reach, root, target, following, node, row, onward)
                row = views.lists.after[index, row]
    return True


@kernel
def rederive(views, trees, heap, work, automaton, position, floor):
    """For each node that was taken down the best derivation from nodes that were not; False for want of room."""
    states = automaton.moves.shape[0]
    while work[CURSOR] < work[CUT]:
        if work[HEAP] + 1 > heap.end.shape[0]:
            return False
        node = trees.cut[work[CURSOR]]
        work[CURSOR] += 1
        root, vertex, state = trees.root[node], trees.vertex[node], trees.state[node]
        best, best_parent, best_via, best_label = np.int64(floor), np.int64(-1), np.int64(-1), np.int64(-1)
        for label in range(automaton.label_predicate.shape[0]):
            used = False
            for source_state in range(states):
                used = used or automaton.moves[source_state, label] == state
            if not used:
                continue
            index, row, _ = first_edge(views, automaton, label, vertex, True)
            while row >= 0:
                work[EDGES_PROBED] += 1
                if visible(views, row, position) and fits(views, automaton, label, row):
                    end = end_at(views, row, position)
                    source = source_of(views, automaton, label, row)
                    for source_state in range(states):
                        if automaton.moves[source_state, label] != state:
                            continue
                        reach, parent = end, np.int64(-1)
                        if source_state != 0 or source != root:
                            parent = np.int64(find_node(trees, root, source, source_state))
                            if parent < 0:
                                continue
                            reach = min(end, trees.end[parent])
                        if reach > best:
                            best, best_parent, best_via, best_label = reach, parent, np.int64(row), np.int64(label)
                row = views.lists.after[index, row]
        if best_via >= 0:
            heap_push(heap, work, best, best_parent, best_via, best_label)
    return True


@kernel
def advance(views, log, entry, last, trees, heap, pairs, work, terms, automaton, counting, removals):
    """Bring the trees up to a log entry and collect the pairs that may have changed; False for want of room.

    `work` then stands at REPORT, or at FINISH where the following entry is to be told together with this one.
    """
    kind, row, at = log.kind[entry], log.row[entry], log.at[entry]
    # What expires at this very instant is still in the trees, but nothing new is built on it. In a count
    # window, ends are no times: there what is built is taken down again at the same instant.
    floor = np.int64(NO_END) if counting else at
    if work[PHASE] == BEGIN:
        if kind < 0:
            cut_edge(trees, pairs, work, automaton, row, removals or kind == DELETED)
            work[CURSOR] = 0
            if kind == EXPIRED:
                free_cut(trees, work)
            work[PHASE] = REPORT if kind == EXPIRED else REDERIVE
        else:
            # what was pushed before the heap was full is pushed again: the second time it gains nothing
            if not seed_edge(views, trees, heap, work, terms, automaton, row, entry + 1, floor):
                return False
            # The edges that enter at one instant are followed together, or a result would be told with the
            # end of the first path that is found, though a wider one enters with the next edge.
            together = entry + 1 < last and log.kind[entry + 1] == kind and log.at[entry + 1] == at
            work[PHASE] = FINISH if together else DRAIN
    if work[PHASE] == REDERIVE:
        if not rederive(views, trees, heap, work, automaton, entry + 1, floor):
            return False
        work[PHASE] = DRAIN
    if work[PHASE] == DRAIN:
        if not drain(views, trees, heap, pairs, work, automaton, entry + 1, floor):
            return False
        free_cut(trees, work)
        work[CURSOR] = 0
        work[PHASE] = REPORT
    return True


@kernel
def forget_pairs(work):
    """The collected pairs are told."""
    work[TOUCHED] = 0
    work[STAMP] += 1
    work[PHASE] = FINISH


@kernel
def follow_log(
    views, log, first, last, trees, heap, pairs, work, terms, automaton, counting, removals, extensions, out
):
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full; `work` knows how far the entry has come.
    """
    written = 0
    room = out.at.shape[0]
    for entry in range(first, last):
        if not advance(views, log, entry, last, trees, heap, pairs, work, terms, automaton, counting, removals):
            return entry, written
        kind, row, at = log.kind[entry], log.row[entry], log.at[entry]
        if work[PHASE] == REPORT:
            while work[CURSOR] < work[TOUCHED]:
                if written + 2 > room:
                    return entry, written
                root, vertex = pairs.root[work[CURSOR]], pairs.vertex[work[CURSOR]]
                before, after = pairs.before[work[CURSOR]], result_end(trees, automaton, root, vertex)
                work[CURSOR] += 1
                written = emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions)
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
