"""Δ-trees: for every root the product nodes (vertex, automaton state) that a path reaches, and until when.

A tree node keeps the derivation that expires last, so expiry needs no new derivation: whatever
hangs below a node ends no later than the node itself. The root's own node (root, start) is implicit.
An edge that arrives or lasts longer is relaxed widest first, so each node is settled once per edge.
An edge that is deleted takes its subtree with it, and what has another derivation is settled again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, end_at, visible
from spectra.views.kernels.index import IndexColumns, find_slot, link, unlink

# where the work on a log entry stands, so that it can go on after the arrays have grown
BEGIN, REDERIVE, DRAIN, REPORT, REMOVE, FINISH = 0, 1, 2, 3, 4, 5

# what `work` holds
PHASE, HEAP, FREE, MARKED, CURSOR, FIRST_SLIDE, SLIDES, EDGES_PROBED, NODES_TOUCHED, LIVE = range(10)


class AutomatonColumns(NamedTuple):
    """The path for the kernel.

    `moves[state, label]` is the next state or -1. A label is a predicate's id (0: any predicate that
    the path does not mention) and a direction; `outgoing` and `incoming` are the indexes that list
    the edges along and against it. `accepting` lists the accepting states. `root` and `target` are
    constants or 0; `flags` are (both ends are one variable, the empty path is accepted by all terms,
    the pair of a term with itself comes from the empty path, only owned terms are roots). `projected`
    says which end each output column is (0 root, 1 vertex).
    """

    moves: NDArray[np.int32]
    label_predicate: NDArray[np.int32]
    label_backward: NDArray[np.bool_]
    outgoing: NDArray[np.int64]
    incoming: NDArray[np.int64]
    mentioned: NDArray[np.int32]
    accepting: NDArray[np.int64]
    is_accepting: NDArray[np.bool_]
    ends: NDArray[np.int32]
    flags: NDArray[np.bool_]
    projected: NDArray[np.int64]


class TreeColumns(NamedTuple):
    """The nodes of all trees, one per row.

    `end` is when the best derivation expires, `NO_END` while it is being derived again (then `was` is what
    it had been). `via` is the edge (a row of the views) from `parent` (-1: the root itself).
    `earlier` and `later` link the nodes with the same end; slides with their first nodes are a ring.
    """

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    end: NDArray[np.int64]
    was: NDArray[np.int64]
    parent: NDArray[np.int32]
    via: NDArray[np.int32]
    earlier: NDArray[np.int32]
    later: NDArray[np.int32]
    free: NDArray[np.int32]
    marked: NDArray[np.int32]
    lists: IndexColumns
    slide_end: NDArray[np.int64]
    slide_head: NDArray[np.int32]


class HeapColumns(NamedTuple):
    """Relaxations that wait, the one that lasts longest first."""

    end: NDArray[np.int64]
    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    parent: NDArray[np.int32]
    via: NDArray[np.int32]


class TermColumns(NamedTuple):
    """What is known of each term.

    For the empty path between two variables: how many triples of the window use a term, and until when.
    For a shard's part of the trees: whether the shard owns it.
    """

    uses: NDArray[np.int32]
    end: NDArray[np.int64]
    owned: NDArray[np.bool_]


@kernel
def heap_swap(heap, a, b):
    heap.end[a], heap.end[b] = heap.end[b], heap.end[a]
    heap.root[a], heap.root[b] = heap.root[b], heap.root[a]
    heap.vertex[a], heap.vertex[b] = heap.vertex[b], heap.vertex[a]
    heap.state[a], heap.state[b] = heap.state[b], heap.state[a]
    heap.parent[a], heap.parent[b] = heap.parent[b], heap.parent[a]
    heap.via[a], heap.via[b] = heap.via[b], heap.via[a]


@kernel
def heap_push(heap, work, end, root, vertex, state, parent, via):
    at = work[HEAP]
    work[HEAP] = at + 1
    heap.end[at] = end
    heap.root[at] = root
    heap.vertex[at] = vertex
    heap.state[at] = state
    heap.parent[at] = parent
    heap.via[at] = via
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
def find_node(trees, root, vertex, state):
    slot = find_slot(trees.root, trees.vertex, trees.state, trees.lists, 0, root, vertex, state)
    if slot < 0:
        return -1
    return trees.lists.heads[0, slot] - 1


@kernel
def slide_of(trees, work, end):
    """Position in the ring of slides of an end of validity; makes the slide where it is new."""
    size_mask = trees.slide_end.shape[0] - 1
    first = work[FIRST_SLIDE]
    low, high = first, first + work[SLIDES]
    while low < high:
        middle = (low + high) // 2
        if trees.slide_end[middle & size_mask] < end:
            low = middle + 1
        else:
            high = middle
    if low < first + work[SLIDES] and trees.slide_end[low & size_mask] == end:
        return low & size_mask
    at = first + work[SLIDES]
    while at > low:  # nearly always the newest slide: nothing moves
        trees.slide_end[at & size_mask] = trees.slide_end[(at - 1) & size_mask]
        trees.slide_head[at & size_mask] = trees.slide_head[(at - 1) & size_mask]
        at -= 1
    trees.slide_end[low & size_mask] = end
    trees.slide_head[low & size_mask] = -1
    work[SLIDES] += 1
    return low & size_mask


@kernel
def enlist_node(trees, work, node):
    """Put a node into the list of its slide."""
    trees.earlier[node] = -1
    trees.later[node] = -1
    if trees.end[node] >= FOREVER:
        return
    slide = slide_of(trees, work, trees.end[node])
    head = trees.slide_head[slide]
    trees.later[node] = head
    if head >= 0:
        trees.earlier[head] = node
    trees.slide_head[slide] = node


@kernel
def delist_node(trees, work, node):
    """Take a node out of the list of its slide."""
    if trees.end[node] >= FOREVER:
        return
    earlier, later = trees.earlier[node], trees.later[node]
    if later >= 0:
        trees.earlier[later] = earlier
    if earlier >= 0:
        trees.later[earlier] = later
    else:
        trees.slide_head[slide_of(trees, work, trees.end[node])] = later


@kernel
def free_node(trees, work, node):
    unlink(trees.root, trees.vertex, trees.state, trees.lists, node)
    trees.end[node] = NO_END
    trees.state[node] = -1
    trees.free[work[FREE]] = node
    work[FREE] += 1
    work[LIVE] -= 1


@kernel
def label_of(automaton, predicate, backward):
    """The label of an edge in one direction, -1 where the path has none."""
    is_mentioned = False
    for i in range(automaton.mentioned.shape[0]):
        if automaton.mentioned[i] == predicate:
            is_mentioned = True
            break
    wanted = predicate if is_mentioned else 0
    for label in range(automaton.label_predicate.shape[0]):
        if automaton.label_predicate[label] == wanted and automaton.label_backward[label] == backward:
            return label
    return -1


@kernel
def edges_of(views, automaton, indexes, label, vertex, backward):
    """(index, slot) of the list of edges at a vertex with a label; slot -1 where there are none."""
    predicate = automaton.label_predicate[label]
    index = indexes[label]
    if backward:
        return index, find_slot(views.subject, views.predicate, views.object, views.lists, index, 0, predicate, vertex)
    return index, find_slot(views.subject, views.predicate, views.object, views.lists, index, vertex, predicate, 0)


@kernel
def fits(views, automaton, label, row):
    """Whether an edge of the list belongs to the label: the list of "any other predicate" holds all."""
    if automaton.label_predicate[label] != 0:
        return True
    for i in range(automaton.mentioned.shape[0]):
        if automaton.mentioned[i] == views.predicate[row]:
            return False
    return True


@kernel
def result_end(trees, automaton, root, vertex, before):
    """When the pair (root, vertex) ends, `NO_END` where it is no result; `before`: as it was before the deletion."""
    best = np.int64(NO_END)
    for i in range(automaton.accepting.shape[0]):
        node = find_node(trees, root, vertex, automaton.accepting[i])
        if node >= 0:
            end = trees.end[node]
            if before and trees.was[node] > end:
                end = trees.was[node]
            if end > best:
                best = end
    return best


@kernel
def emit(automaton, out, written, at, sign, until, root, vertex, counting):
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = FOREVER if counting else until
    for column in range(automaton.projected.shape[0]):
        out.rows[written, column] = root if automaton.projected[column] == 0 else vertex
    return written + 1


@kernel
def is_asked(automaton, root, vertex):
    """Whether the pair can be a result of a non-empty path that nothing else reports."""
    if automaton.ends[1] != 0 and vertex != automaton.ends[1]:
        return False
    if root == vertex:
        return not automaton.flags[2]
    return not automaton.flags[0]


@kernel
def emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions):
    """Deltas of a pair whose end went from `before` to `after` (`NO_END`: no result)."""
    if before == after or not is_asked(automaton, root, vertex):
        return written
    if before == NO_END:
        return emit(automaton, out, written, at, 1, after, root, vertex, counting)
    if after == NO_END:
        return emit(automaton, out, written, at, -1, before, root, vertex, counting)
    if extensions and not counting:
        written = emit(automaton, out, written, at, -1, before, root, vertex, counting)
        written = emit(automaton, out, written, at, 1, after, root, vertex, counting)
    return written


@kernel
def expire_nodes(trees, work, automaton, out, written, limit, at, counting, removals):
    """End every node whose slide is over; (deltas written, whether there was room for all)."""
    size_mask = trees.slide_end.shape[0] - 1
    room = out.at.shape[0]
    while work[SLIDES] > 0:
        slide = work[FIRST_SLIDE] & size_mask
        if trees.slide_end[slide] > limit:
            break
        while trees.slide_head[slide] >= 0:
            if written + 1 > room:
                return written, False
            node = trees.slide_head[slide]
            root, vertex, end = trees.root[node], trees.vertex[node], trees.end[node]
            accepted = automaton.is_accepting[trees.state[node]]
            delist_node(trees, work, node)
            free_node(trees, work, node)
            if accepted and removals and result_end(trees, automaton, root, vertex, False) == NO_END:
                if is_asked(automaton, root, vertex):
                    written = emit(automaton, out, written, at, -1, end, root, vertex, counting)
        work[FIRST_SLIDE] += 1
        work[SLIDES] -= 1
    return written, True


@kernel
def may_be_root(terms, automaton, term):
    """Whether this operator grows a tree from a term."""
    if automaton.ends[0] != 0:
        return automaton.ends[0] == term
    return not automaton.flags[3] or terms.owned[term]


@kernel
def seed_edge(views, trees, heap, work, terms, automaton, row, position, floor):
    """Relax one edge in every tree that reaches its source; False where the heap has no room for all."""
    end = end_at(views, row, position)
    if end <= floor:
        return True
    states = automaton.moves.shape[0]
    predicate = views.predicate[row]
    for direction in range(2):
        backward = direction == 1
        label = label_of(automaton, predicate, backward)
        if label < 0:
            continue
        source = views.object[row] if backward else views.subject[row]
        target = views.subject[row] if backward else views.object[row]
        for state in range(states):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            slot = find_slot(trees.root, trees.vertex, trees.state, trees.lists, 1, 0, source, state)
            count = 0 if slot < 0 else trees.lists.counts[1, slot]
            if work[HEAP] + count + 1 > heap.end.shape[0]:
                return False
            if state == 0 and may_be_root(terms, automaton, source):
                if not (following == 0 and target == source):
                    known = find_node(trees, source, target, following)
                    if known < 0 or trees.end[known] < end:
                        heap_push(heap, work, end, source, target, following, -1, row)
            if slot < 0:
                continue
            node = trees.lists.heads[1, slot] - 1
            while node >= 0:
                work[EDGES_PROBED] += 1
                root = trees.root[node]
                reach = min(end, trees.end[node])
                if reach > floor and not (following == 0 and target == root):
                    known = find_node(trees, root, target, following)
                    if known < 0 or trees.end[known] < reach:
                        heap_push(heap, work, reach, root, target, following, node, row)
                node = trees.lists.after[1, node]
    return True


@kernel
def drain(views, trees, heap, work, automaton, out, written, at, position, floor, counting, extensions, silent):
    """Settle what waits, widest first; (deltas written, whether there was room for all)."""
    labels = automaton.label_predicate.shape[0]
    room = out.at.shape[0]
    while work[HEAP] > 0:
        if written + 2 > room or work[FREE] < 1 or work[SLIDES] + 2 > trees.slide_end.shape[0]:
            return written, False
        root, vertex, state, end = heap.root[0], heap.vertex[0], heap.state[0], heap.end[0]
        node = find_node(trees, root, vertex, state)
        if node >= 0 and trees.end[node] >= end:
            heap_pop(heap, work)
            continue
        # room for the edges that go on from here
        needed = 0
        for label in range(labels):
            if automaton.moves[state, label] >= 0:
                index, slot = edges_of(
                    views, automaton, automaton.outgoing, label, vertex, automaton.label_backward[label]
                )
                if slot >= 0:
                    needed += views.lists.counts[index, slot]
        if work[HEAP] + needed > heap.end.shape[0]:
            return written, False
        popped = heap_pop(heap, work)
        work[NODES_TOUCHED] += 1
        accepted = automaton.is_accepting[state]
        before = np.int64(NO_END)
        if accepted and not silent:
            before = result_end(trees, automaton, root, vertex, False)
        if node < 0:
            work[FREE] -= 1
            work[LIVE] += 1
            node = trees.free[work[FREE]]
            trees.root[node] = root
            trees.vertex[node] = vertex
            trees.state[node] = state
            trees.was[node] = NO_END
            link(trees.root, trees.vertex, trees.state, trees.lists, node)
        elif trees.end[node] != NO_END:
            delist_node(trees, work, node)
        trees.end[node] = end
        trees.parent[node] = heap.parent[popped]
        trees.via[node] = heap.via[popped]
        enlist_node(trees, work, node)
        if accepted and not silent:
            after = max(before, end)
            written = emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions)
        for label in range(labels):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            backward = automaton.label_backward[label]
            index, slot = edges_of(views, automaton, automaton.outgoing, label, vertex, backward)
            if slot < 0:
                continue
            row = views.lists.heads[index, slot] - 1
            while row >= 0:
                work[EDGES_PROBED] += 1
                if visible(views, row, position) and fits(views, automaton, label, row):
                    target = views.subject[row] if backward else views.object[row]
                    reach = min(end, end_at(views, row, position))
                    if reach > floor and not (following == 0 and target == root):
                        known = find_node(trees, root, target, following)
                        if known < 0 or trees.end[known] < reach:
                            heap_push(heap, work, reach, root, target, following, node, row)
                row = views.lists.after[index, row]
    return written, True


@kernel
def mark_subtrees(views, trees, work, automaton, row, position):
    """Mark the nodes whose derivation uses a deleted edge: they keep their old end in `was`."""
    states = automaton.moves.shape[0]
    labels = automaton.label_predicate.shape[0]
    marked = 0
    for direction in range(2):
        backward = direction == 1
        label = label_of(automaton, views.predicate[row], backward)
        if label < 0:
            continue
        target = views.subject[row] if backward else views.object[row]
        for state in range(states):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            slot = find_slot(trees.root, trees.vertex, trees.state, trees.lists, 1, 0, target, following)
            node = -1 if slot < 0 else trees.lists.heads[1, slot] - 1
            while node >= 0:
                if trees.via[node] == row and trees.end[node] != NO_END:
                    trees.was[node] = trees.end[node]
                    delist_node(trees, work, node)
                    trees.end[node] = NO_END
                    trees.marked[marked] = node
                    marked += 1
                node = trees.lists.after[1, node]
    at = 0
    while at < marked:  # the list grows by the children of what it holds
        node = trees.marked[at]
        at += 1
        work[NODES_TOUCHED] += 1
        for label in range(labels):
            following = automaton.moves[trees.state[node], label]
            if following < 0:
                continue
            backward = automaton.label_backward[label]
            index, slot = edges_of(views, automaton, automaton.outgoing, label, trees.vertex[node], backward)
            edge = -1 if slot < 0 else views.lists.heads[index, slot] - 1
            while edge >= 0:
                work[EDGES_PROBED] += 1
                target = views.subject[edge] if backward else views.object[edge]
                child = find_node(trees, trees.root[node], target, following)
                if child >= 0 and trees.parent[child] == node and trees.end[child] != NO_END:
                    trees.was[child] = trees.end[child]
                    delist_node(trees, work, child)
                    trees.end[child] = NO_END
                    trees.marked[marked] = child
                    marked += 1
                edge = views.lists.after[index, edge]
    work[MARKED] = marked


@kernel
def rederive(views, trees, heap, work, automaton, position, floor):
    """For each marked node the best derivation from nodes that are not marked; False for want of room."""
    states = automaton.moves.shape[0]
    labels = automaton.label_predicate.shape[0]
    while work[CURSOR] < work[MARKED]:
        if work[HEAP] + 1 > heap.end.shape[0]:
            return False
        node = trees.marked[work[CURSOR]]
        root, vertex, state = trees.root[node], trees.vertex[node], trees.state[node]
        best, best_parent, best_via = np.int64(NO_END), np.int64(-1), np.int64(-1)
        for label in range(labels):
            backward = automaton.label_backward[label]
            used = False
            for source_state in range(states):
                used = used or automaton.moves[source_state, label] == state
            if not used:
                continue
            index, slot = edges_of(views, automaton, automaton.incoming, label, vertex, not backward)
            edge = -1 if slot < 0 else views.lists.heads[index, slot] - 1
            while edge >= 0:
                work[EDGES_PROBED] += 1
                if visible(views, edge, position) and fits(views, automaton, label, edge):
                    end = end_at(views, edge, position)
                    source = views.object[edge] if backward else views.subject[edge]
                    for source_state in range(states):
                        if automaton.moves[source_state, label] != state:
                            continue
                        if source_state == 0 and source == root:
                            reach, parent = end, np.int64(-1)
                        else:
                            known = find_node(trees, root, source, source_state)
                            if known < 0:
                                continue
                            reach, parent = min(end, trees.end[known]), np.int64(known)
                        if reach > best:
                            best, best_parent, best_via = reach, parent, np.int64(edge)
                edge = views.lists.after[index, edge]
        if best > floor:
            heap_push(heap, work, best, root, vertex, state, best_parent, best_via)
        work[CURSOR] += 1
    return True


@kernel
def latest_use(views, automaton, term, position):
    """The latest end of a triple that uses a term."""
    latest = np.int64(NO_END)
    for side in range(2):
        index = automaton.ends[2 + side]
        s, o = (term, 0) if side == 0 else (0, term)
        slot = find_slot(views.subject, views.predicate, views.object, views.lists, index, s, 0, o)
        row = -1 if slot < 0 else views.lists.heads[index, slot] - 1
        while row >= 0:
            if visible(views, row, position):
                latest = max(latest, end_at(views, row, position))
            row = views.lists.after[index, row]
    return latest


@kernel
def count_term(views, terms, automaton, out, written, at, kind, row, side, position, counting, removals, extensions):
    """Keep the empty path of one end of an edge."""
    term = views.subject[row] if side == 0 else views.object[row]
    if automaton.flags[3] and not terms.owned[term]:
        return written
    before = terms.end[term] if terms.uses[term] > 0 else np.int64(NO_END)
    if kind == ENTERED:
        terms.uses[term] += 1
        terms.end[term] = max(before, end_at(views, row, position))
    elif kind < 0:
        terms.uses[term] -= 1
        if kind == DELETED and terms.uses[term] > 0:
            terms.end[term] = latest_use(views, automaton, term, position)
    else:
        terms.end[term] = max(before, end_at(views, row, position))
    after = terms.end[term] if terms.uses[term] > 0 else np.int64(NO_END)
    for end in range(2):
        if automaton.ends[end] != 0 and automaton.ends[end] != term:
            return written
    if before == NO_END and after != NO_END:
        return emit(automaton, out, written, at, 1, after, term, term, counting)
    if before != NO_END and after == NO_END:
        if removals or kind == DELETED:
            return emit(automaton, out, written, at, -1, before, term, term, counting)
    elif before != after and extensions and not counting:
        written = emit(automaton, out, written, at, -1, before, term, term, counting)
        written = emit(automaton, out, written, at, 1, after, term, term, counting)
    return written


@kernel
def follow_log(views, log, first, last, trees, heap, work, terms, automaton, counting, removals, extensions, out):
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full; `work` knows how far the entry has come.
    """
    written = 0
    room = out.at.shape[0]
    for entry in range(first, last):
        kind, row, at = log.kind[entry], log.row[entry], log.at[entry]
        position = entry + 1
        # What expires at this very instant is still in the trees, but nothing new is built on it. In a count
        # window, ends are no times: there what is built is taken down again at the same instant.
        floor = np.int64(NO_END) if counting else at
        if work[PHASE] == BEGIN:
            if kind == EXPIRED:
                limit = end_at(views, row, entry)
                written, done = expire_nodes(trees, work, automaton, out, written, limit, at, counting, removals)
                if not done:
                    return entry, written
                work[PHASE] = FINISH
            elif kind == DELETED:
                mark_subtrees(views, trees, work, automaton, row, entry)
                work[CURSOR] = 0
                work[PHASE] = REDERIVE
            else:
                # what was pushed before the heap was full is pushed again: the second time it gains nothing
                if not seed_edge(views, trees, heap, work, terms, automaton, row, position, floor):
                    return entry, written
                # The edges that enter at one instant are followed together, or a result would be told with the
                # end of the first path that is found, though a wider one enters with the next edge.
                together = (
                    kind == ENTERED and entry + 1 < last and log.kind[entry + 1] == ENTERED and log.at[entry + 1] == at
                )
                work[PHASE] = FINISH if together else DRAIN
        if work[PHASE] == REDERIVE:
            if not rederive(views, trees, heap, work, automaton, position, floor):
                return entry, written
            work[PHASE] = DRAIN
        if work[PHASE] == DRAIN:
            written, done = drain(
                views, trees, heap, work, automaton, out, written, at, position, floor,
                counting, extensions, kind == DELETED,
            )  # fmt: skip
            if not done:
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = REPORT if kind == DELETED else FINISH
        if work[PHASE] == REPORT:
            while work[CURSOR] < work[MARKED]:
                if written + 2 > room:
                    return entry, written
                node = trees.marked[work[CURSOR]]
                work[CURSOR] += 1
                if automaton.is_accepting[trees.state[node]]:
                    root, vertex = trees.root[node], trees.vertex[node]
                    before = result_end(trees, automaton, root, vertex, True)
                    after = result_end(trees, automaton, root, vertex, False)
                    written = emit_change(
                        automaton, out, written, at, before, after, root, vertex, counting, extensions
                    )
                    for i in range(automaton.accepting.shape[0]):
                        sibling = find_node(trees, root, vertex, automaton.accepting[i])
                        if sibling >= 0:
                            trees.was[sibling] = NO_END  # reported
            work[PHASE] = REMOVE
        if work[PHASE] == REMOVE:
            for i in range(work[MARKED]):
                node = trees.marked[i]
                trees.was[node] = NO_END
                if trees.end[node] == NO_END:
                    free_node(trees, work, node)
            work[MARKED] = 0
            work[PHASE] = FINISH
        if automaton.flags[1]:
            if written + 4 > room:
                return entry, written
            for side in range(2):
                written = count_term(
                    views, terms, automaton, out, written, at, kind, row, side, position,
                    counting, removals, extensions,
                )  # fmt: skip
        work[PHASE] = BEGIN
    return last, written
