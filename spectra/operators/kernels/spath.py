"""S-PATH: for every root the product nodes (vertex, automaton state) that a path reaches, and until when.

A tree node keeps the derivation that expires last, so expiry needs no new derivation: whatever
hangs below a node ends no later than the node itself. The root's own node (root, start) is implicit.
An edge that arrives or lasts longer is relaxed widest first, so each node is settled once per edge.
An edge that is deleted takes its subtree with it, and what has another derivation is settled again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import (
    count_term,
    emit,
    emit_change,
    first_edge,
    fits,
    is_asked,
    label_of,
    may_be_root,
    source_of,
    target_of,
)
from spectra.operators.kernels.delta_trees import (
    BLOCK_BITS,
    DEAD,
    ENDLESS,
    FIRST,
    LOST,
    SLIDES,
    add_slide,
    drop_slide,
    end_of,
    find_node,
    first_of,
    has_room,
    move_node,
    new_node,
    product_of,
    slide_end,
    slide_of,
    state_of,
    vertex_of,
)
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, end_at, visible

# where the work on a log entry stands, so that it can go on after the arrays have grown
BEGIN, REDERIVE, DRAIN, REPORT, REMOVE, FINISH = 0, 1, 2, 3, 4, 5

# what `work` holds; OPEN is the node whose edges are being followed, or -1, and OPEN_END the end that it had before
PHASE, HEAP, MARKED, CURSOR, OPEN, OPEN_END, EDGES_PROBED, NODES_TOUCHED = range(8)


class HeapColumns(NamedTuple):
    """Relaxations that wait, the one that lasts longest first.

    Each says that `parent` reaches a product node until `end`; the complement of a root's id stands for the root.
    """

    end: NDArray[np.int64]
    product: NDArray[np.int32] | NDArray[np.int64]
    parent: NDArray[np.int32]


class MarkColumns(NamedTuple):
    """Nodes that lost their derivation, and with which slide their pair ended (`DEAD`: another node tells it)."""

    node: NDArray[np.int32]
    before: NDArray[np.int32]


@kernel
def heap_push(heap, work, end, product, parent):
    at = work[HEAP]
    work[HEAP] = at + 1
    while at > 0:
        above = (at - 1) // 2
        if heap.end[above] >= end:
            break
        heap.end[at], heap.product[at], heap.parent[at] = heap.end[above], heap.product[above], heap.parent[above]
        at = above
    heap.end[at], heap.product[at], heap.parent[at] = end, product, parent


@kernel
def heap_pop(heap, work):
    """Take the first item off."""
    last = work[HEAP] - 1
    work[HEAP] = last
    end, product, parent = heap.end[last], heap.product[last], heap.parent[last]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= last:
            break
        if below + 1 < last and heap.end[below + 1] > heap.end[below]:
            below += 1
        if end >= heap.end[below]:
            break
        heap.end[at], heap.product[at], heap.parent[at] = heap.end[below], heap.product[below], heap.parent[below]
        at = below
    heap.end[at], heap.product[at], heap.parent[at] = end, product, parent


@kernel
def result_end(trees, automaton, root, vertex, node):
    """When the pair (root, vertex) ends, `NO_END` where it is no result; `node` is one of the pair's, or -1."""
    best = np.int64(NO_END)
    for i in range(automaton.accepting.shape[0]):
        product = product_of(trees, vertex, automaton.accepting[i])
        found = node if node >= 0 and trees.product[node] == product else find_node(trees, root, product)
        if found >= 0:
            best = max(best, end_of(trees, found))
    return best


@kernel
def ends_pair(trees, automaton, node):
    """Whether a result ends with a node's slide: none of the pair's nodes lasts longer, and no other one tells it."""
    product = trees.product[node]
    if not automaton.is_accepting[state_of(trees, product)]:
        return False
    root, vertex = trees.root[node], vertex_of(trees, product)
    if not is_asked(automaton, root, vertex):
        return False
    slide = trees.slide[node]
    for i in range(automaton.accepting.shape[0]):
        other = product_of(trees, vertex, automaton.accepting[i])
        if other != product:
            sibling = find_node(trees, root, other)
            if sibling >= 0:
                if trees.slide[sibling] > slide or (trees.slide[sibling] == slide and other < product):
                    return False
    return True


@kernel
def tell_slide(trees, work, automaton, out, written, at, counting):
    """Tell the results that end with the first slide; (deltas written, whether there was room for all)."""
    first, places = trees.size[FIRST], trees.slide.shape[0]
    until = slide_end(trees, first)
    while work[CURSOR] << BLOCK_BITS < places:
        block = work[CURSOR]
        if trees.earliest[block] <= first:
            begin = block << BLOCK_BITS
            behind = min(places, begin + (1 << BLOCK_BITS))
            if written + behind - begin > out.at.shape[0]:
                return written, False
            earliest = np.int64(ENDLESS)
            for node in range(begin, behind):
                slide = np.int64(trees.slide[node])
                if slide == first:
                    if ends_pair(trees, automaton, node):
                        vertex = vertex_of(trees, trees.product[node])
                        written = emit(automaton, out, written, at, -1, until, trees.root[node], vertex, counting)
                elif first < slide < earliest:
                    earliest = slide
            trees.earliest[block] = earliest
        work[CURSOR] = block + 1
    return written, True


@kernel
def expire_slides(trees, work, automaton, out, written, limit, at, counting, removals):
    """End every slide that is over; (deltas written, whether there was room for all)."""
    while trees.size[SLIDES] > 0 and slide_end(trees, trees.size[FIRST]) <= limit:
        if removals:
            written, done = tell_slide(trees, work, automaton, out, written, at, counting)
            if not done:
                return written, False
            work[CURSOR] = 0
        drop_slide(trees)
    return written, True


@kernel
def gains(trees, root, product, end):
    """Whether a product node would end later than it does in the tree of `root`; the root's own node never."""
    if product == product_of(trees, root, 0):
        return False
    known = find_node(trees, root, product)
    return known < 0 or end_of(trees, known) < end


@kernel
def expand(views, trees, heap, work, automaton, node, position, floor):
    """Let all that a node leads to wait; False for want of room, and then it is to be done again.

    Where an edge ends no later than the node did before, what it leads to has gained from it already.
    """
    least = max(floor, work[OPEN_END])
    root, product, end = trees.root[node], trees.product[node], end_of(trees, node)
    vertex, state = vertex_of(trees, product), state_of(trees, product)
    room = heap.end.shape[0]
    probed = 0
    for label in range(automaton.label_predicate.shape[0]):
        following = automaton.moves[state, label]
        if following < 0:
            continue
        index, row, _ = first_edge(views, automaton, label, vertex, False)
        while row >= 0:
            probed += 1
            if visible(views, row, position) and fits(views, automaton, label, row):
                reach = min(end, end_at(views, row, position))
                target = product_of(trees, target_of(views, automaton, label, row), following)
                if reach > least and gains(trees, root, target, reach):
                    if work[HEAP] == room:
                        return False
                    heap_push(heap, work, reach, target, node)
            row = views.lists.after[index, row]
    work[EDGES_PROBED] += probed
    work[OPEN] = -1
    return True


@kernel
def drain(views, trees, heap, work, automaton, out, written, at, position, floor, counting, extensions, silent):
    """Settle what waits, widest first; (deltas written, whether there was room for all)."""
    room = out.at.shape[0]
    while True:
        if work[OPEN] >= 0 and not expand(views, trees, heap, work, automaton, work[OPEN], position, floor):
            return written, False
        if work[HEAP] == 0:
            return written, True
        if written + 2 > room or not has_room(trees):
            return written, False
        end, product, parent = heap.end[0], np.int64(heap.product[0]), np.int64(heap.parent[0])
        heap_pop(heap, work)
        root = np.int64(trees.root[parent]) if parent >= 0 else ~parent
        node = find_node(trees, root, product)
        had = end_of(trees, node) if node >= 0 else np.int64(NO_END)
        if had >= end:
            continue
        work[NODES_TOUCHED] += 1
        vertex = vertex_of(trees, product)
        accepted = automaton.is_accepting[state_of(trees, product)] and not silent and is_asked(automaton, root, vertex)
        before = result_end(trees, automaton, root, vertex, node) if accepted else np.int64(NO_END)
        if node < 0:
            node = new_node(trees, root, product)
        near = np.int64(trees.slide[parent]) if parent >= 0 else trees.size[FIRST] + trees.size[SLIDES] - 1
        trees.parent[node] = max(parent, -1)
        move_node(trees, node, slide_of(trees, end, near))
        if accepted:
            after = max(before, end)
            written = emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions)
        work[OPEN], work[OPEN_END] = node, had


@kernel
def seed_edge(views, trees, heap, work, terms, automaton, row, position, floor):
    """Let what an edge leads to wait, in every tree that reaches its source; False for want of room.

    Then it is begun again, and what waits twice gains nothing the second time.
    """
    end = end_at(views, row, position)
    if end <= floor:
        return True
    room = heap.end.shape[0]
    probed = 0
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source = np.int64(source_of(views, automaton, label, row))
        target = target_of(views, automaton, label, row)
        for state in range(automaton.moves.shape[0]):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            product = product_of(trees, target, following)
            if work[HEAP] == room:
                return False
            if state == 0 and may_be_root(terms, automaton, source) and gains(trees, source, product, end):
                heap_push(heap, work, end, product, ~source)
            node = np.int64(first_of(trees, product_of(trees, source, state)))
            while node >= 0:
                reach = min(end, end_of(trees, node))
                if reach > floor:
                    probed += 1
                    if gains(trees, trees.root[node], product, reach):
                        if work[HEAP] == room:
                            return False
                        heap_push(heap, work, reach, product, node)
                node = np.int64(trees.after[node])
    work[EDGES_PROBED] += probed
    return True


@kernel
def mark(trees, marks, work, node):
    """Note that a node has lost its derivation; there must be room."""
    marks.node[work[MARKED]] = node
    work[MARKED] += 1
    move_node(trees, node, trees.slide[node] | LOST)


@kernel
def mark_subtrees(views, trees, marks, work, automaton, row):
    """Mark the nodes whose derivation may use a deleted edge, and all below them; False for want of room.

    Between two vertices there may be several edges that lead to the same state: another one is found again.
    """
    states, labels = automaton.moves.shape
    room = marks.node.shape[0]
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source, target = source_of(views, automaton, label, row), target_of(views, automaton, label, row)
        for state in range(states):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            node = np.int64(first_of(trees, product_of(trees, target, following)))
            while node >= 0:
                parent = trees.parent[node]
                product = product_of(trees, trees.root[node], 0) if parent < 0 else trees.product[parent]
                if end_of(trees, node) != NO_END and product == product_of(trees, source, state):
                    if work[MARKED] == room:
                        return False
                    mark(trees, marks, work, node)
                node = np.int64(trees.after[node])
    while work[CURSOR] < work[MARKED]:  # the list grows by the children of what it holds
        node = np.int64(marks.node[work[CURSOR]])
        vertex, state = vertex_of(trees, trees.product[node]), state_of(trees, trees.product[node])
        probed = 0
        for label in range(labels):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            index, edge, _ = first_edge(views, automaton, label, vertex, False)
            while edge >= 0:
                probed += 1
                target = product_of(trees, target_of(views, automaton, label, edge), following)
                child = find_node(trees, trees.root[node], target)
                if child >= 0 and trees.parent[child] == node and end_of(trees, child) != NO_END:
                    if work[MARKED] == room:
                        return False
                    mark(trees, marks, work, child)
                edge = views.lists.after[index, edge]
        work[EDGES_PROBED] += probed
        work[NODES_TOUCHED] += 1
        work[CURSOR] += 1
    return True


@kernel
def note_results(trees, marks, work, automaton):
    """With which slide the pair of each marked node ended before the deletion; one node tells it for all."""
    for i in range(work[MARKED]):
        node = marks.node[i]
        product = trees.product[node]
        before = DEAD
        root, vertex = trees.root[node], vertex_of(trees, product)
        if automaton.is_accepting[state_of(trees, product)] and is_asked(automaton, root, vertex):
            before = trees.slide[node] & ~LOST
            for j in range(automaton.accepting.shape[0]):
                other = product_of(trees, vertex, automaton.accepting[j])
                sibling = find_node(trees, root, other) if other != product else np.int64(-1)
                if sibling >= 0 and trees.slide[sibling] >= trees.size[FIRST]:
                    if trees.slide[sibling] >= LOST and other < product:
                        before = DEAD
                        break
                    before = max(before, trees.slide[sibling] & ~LOST)
        marks.before[i] = before


@kernel
def rederive(views, trees, heap, marks, work, automaton, position, floor):
    """For each marked node the best derivation from nodes that are not marked; False for want of room."""
    states, labels = automaton.moves.shape
    while work[CURSOR] < work[MARKED]:
        if work[HEAP] == heap.end.shape[0]:
            return False
        node = marks.node[work[CURSOR]]
        root, product = np.int64(trees.root[node]), trees.product[node]
        vertex, state = vertex_of(trees, product), state_of(trees, product)
        best, best_parent = np.int64(NO_END), np.int64(-1)
        for label in range(labels):
            used = False
            for source_state in range(states):
                used = used or automaton.moves[source_state, label] == state
            if not used:
                continue
            index, edge, _ = first_edge(views, automaton, label, vertex, True)
            while edge >= 0:
                work[EDGES_PROBED] += 1
                if visible(views, edge, position) and fits(views, automaton, label, edge):
                    end = end_at(views, edge, position)
                    source = source_of(views, automaton, label, edge)
                    for source_state in range(states):
                        if automaton.moves[source_state, label] != state:
                            continue
                        reach, parent = end, ~root
                        if source_state != 0 or source != root:
                            parent = find_node(trees, root, product_of(trees, source, source_state))
                            if parent < 0:
                                continue
                            reach = min(end, end_of(trees, parent))
                        if reach > best:
                            best, best_parent = reach, parent
                edge = views.lists.after[index, edge]
        if best > floor:
            heap_push(heap, work, best, product, best_parent)
        work[CURSOR] += 1
    return True


@kernel
def add_slides(views, log, entry, last, trees):
    """Make the slides of what arrives or lasts longer at the instant of an entry; False for want of room."""
    at = log.at[entry]
    while entry < last and log.at[entry] == at:
        if log.kind[entry] >= 0 and not add_slide(trees, end_at(views, log.row[entry], entry + 1)):
            return False
        entry += 1
    return True


@kernel
def follow_log(
    views, log, first, last, trees, heap, marks, work, terms, automaton, counting, removals, extensions, out
):  # fmt: skip
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
            if (entry == 0 or log.at[entry - 1] != at) and not add_slides(views, log, entry, last, trees):
                return entry, written
            if kind == EXPIRED:
                limit = end_at(views, row, entry)
                written, done = expire_slides(trees, work, automaton, out, written, limit, at, counting, removals)
                if not done:
                    return entry, written
                work[PHASE] = FINISH
            elif kind == DELETED:
                if not mark_subtrees(views, trees, marks, work, automaton, row):
                    return entry, written
                note_results(trees, marks, work, automaton)
                work[CURSOR] = 0
                work[PHASE] = REDERIVE
            else:
                if not seed_edge(views, trees, heap, work, terms, automaton, row, position, floor):
                    return entry, written
                # The edges that enter at one instant are followed together, or a result would be told with the
                # end of the first path that is found, though a wider one enters with the next edge.
                together = (
                    kind == ENTERED and entry + 1 < last and log.kind[entry + 1] == ENTERED and log.at[entry + 1] == at
                )
                work[PHASE] = FINISH if together or work[HEAP] == 0 else DRAIN
        if work[PHASE] == REDERIVE:
            if not rederive(views, trees, heap, marks, work, automaton, position, floor):
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
                node, before = marks.node[work[CURSOR]], marks.before[work[CURSOR]]
                if before != DEAD:
                    root, vertex = trees.root[node], vertex_of(trees, trees.product[node])
                    written = emit_change(
                        automaton, out, written, at, slide_end(trees, before),
                        result_end(trees, automaton, root, vertex, node), root, vertex, counting, extensions,
                    )  # fmt: skip
                work[CURSOR] += 1
            work[CURSOR] = 0
            work[PHASE] = REMOVE
        if work[PHASE] == REMOVE:
            for i in range(work[MARKED]):
                if trees.slide[marks.node[i]] >= LOST:
                    move_node(trees, marks.node[i], DEAD)
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
