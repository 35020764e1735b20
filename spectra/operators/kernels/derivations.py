"""How Δ-trees grow, and how what is taken from them is derived again.

A node keeps the derivation that ends last. An edge that comes or lasts longer is relaxed widest first, so that each
node is settled once. An edge that goes takes what hangs on it, and all below, with it; what has another derivation
is settled again from there, in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import (
    first_edge,
    fits,
    is_asked,
    label_of,
    leads_to,
    may_be_root,
    source_of,
    target_of,
)
from spectra.operators.kernels.delta_trees import (
    DEAD,
    FIRST,
    LOST,
    SLIDES,
    end_of,
    find_node,
    first_of,
    hang_node,
    has_markings,
    has_room,
    is_unmarked,
    is_used,
    lose_node,
    move_node,
    new_node,
    product_of,
    slide_of,
    state_of,
    vertex_of,
)
from spectra.operators.kernels.heap import heap_is_full, heap_pop, heap_push
from spectra.operators.kernels.pairs import change_pair, has_room_for
from spectra.views.kernels.apply import end_at, visible

# what `work` holds: the phase of the log entry, nodes that lost their derivation, how far a list is gone through, the
# node whose edges are being followed, or -1, with the end that it had before, and two counters
PHASE, MARKED, CURSOR, OPEN, OPEN_END, EDGES_PROBED, NODES_TOUCHED = range(7)


class MarkColumns(NamedTuple):
    """Nodes that lost their derivation, and with which slide their pair ended (`DEAD`: another node tells it)."""

    node: NDArray[np.int32]
    before: NDArray[np.int32]


class ArrivalColumns(NamedTuple):
    """Steps to unmarked nodes, each from a node or the complement of the root, and until when; `size` is how many."""

    node: NDArray[np.int32]
    parent: NDArray[np.int32]
    reach: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def note_arrival(arrivals, node, parent, reach):
    """Note a step to an unmarked node; False for want of room."""
    at = arrivals.size[0]
    if at == arrivals.node.shape[0]:
        return False
    arrivals.node[at] = node
    arrivals.parent[at] = parent
    arrivals.reach[at] = reach
    arrivals.size[0] = at + 1
    return True


@kernel
def note_clashes(trees, arrivals, automaton, root, product):
    """Note a vertex that is reached in a new state where it is unmarked in a state that this one clashes with."""
    vertex, state = vertex_of(trees, product), state_of(trees, product)
    for later in range(automaton.clash.shape[0]):
        if automaton.clash[state, later]:
            node = find_node(trees, root, product_of(trees, vertex, later))
            if node >= 0 and is_unmarked(trees, node):
                note_arrival(arrivals, node, ~np.int64(root), np.int64(FOREVER))


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


# --- an edge that comes ---------------------------------------------------------------------


@kernel
def is_root(trees, automaton, root, product):
    """Whether a product node is the root's own; no simple path comes back to the root in any state."""
    return vertex_of(trees, product) == root and (automaton.flags[4] or state_of(trees, product) == 0)


@kernel
def approach(trees, heap, arrivals, automaton, root, product, reach, parent, via):
    """Let a step wait where its product node would end later by it; False for want of room.

    Where the node is unmarked, the step is noted besides. The root's own node never gains.
    """
    if is_root(trees, automaton, root, product):
        return True
    node = find_node(trees, root, product)
    if node >= 0:
        if is_unmarked(trees, node) and not note_arrival(arrivals, node, parent, reach):
            return False
        if end_of(trees, node) >= reach:
            return True
    if heap_is_full(heap):
        return False
    heap_push(heap, reach, product, parent, via)
    return True


@kernel
def seed_edge(views, trees, heap, arrivals, work, terms, automaton, row, position, floor):
    """Let what an edge leads to wait, in every tree that reaches its source; False for want of room.

    Then it is begun again, and what waits twice gains nothing the second time. Of a root itself, which has no node,
    the complement stands for the parent.
    """
    end = end_at(views, row, position)
    if end <= floor:
        return True
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
            if state == 0 and may_be_root(terms, automaton, source):
                if not approach(trees, heap, arrivals, automaton, source, product, end, ~source, row):
                    return False
            node = np.int64(first_of(trees, product_of(trees, source, state)))
            while node >= 0:
                reach = min(end, end_of(trees, node))
                if reach > floor:
                    probed += 1
                    if not approach(trees, heap, arrivals, automaton, trees.root[node], product, reach, node, row):
                        return False
                node = np.int64(trees.after[node])
    work[EDGES_PROBED] += probed
    return True


@kernel
def expand(views, trees, heap, arrivals, work, automaton, node, position, floor):
    """Let all that a node leads to wait; False for want of room, and then it is to be done again.

    Where an edge ends no later than the node did before, what it leads to has gained from it already.
    """
    least = max(floor, work[OPEN_END])
    root, product, end = trees.root[node], trees.product[node], end_of(trees, node)
    vertex, state = vertex_of(trees, product), state_of(trees, product)
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
                if reach > least and not approach(trees, heap, arrivals, automaton, root, target, reach, node, row):
                    return False
            row = views.lists.after[index, row]
    work[EDGES_PROBED] += probed
    work[OPEN] = -1
    return True


@kernel
def drain(
    views, trees, heap, arrivals, work, automaton, pairs, out, written, at, position, floor,
    counting, extensions, silent,
):  # fmt: skip
    """Settle what waits, widest first; (deltas written, whether there was room for all)."""
    while True:
        if work[OPEN] >= 0:
            if not expand(views, trees, heap, arrivals, work, automaton, work[OPEN], position, floor):
                return written, False
        if heap.size[0] == 0:
            return written, True
        if not has_room_for(pairs, out, written, 1) or not has_room(trees):
            return written, False
        if has_markings(trees) and arrivals.size[0] + automaton.clash.shape[0] > arrivals.node.shape[0]:
            return written, False
        end, product, parent, via = heap.end[0], np.int64(heap.product[0]), np.int64(heap.parent[0]), heap.via[0]
        heap_pop(heap)
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
        elif has_markings(trees) and trees.slide[node] < trees.size[FIRST]:
            trees.unmarked[node] = -1  # it was dead, and what led to it meanwhile has not been noted
        near = np.int64(trees.slide[parent]) if parent >= 0 else trees.size[FIRST] + trees.size[SLIDES] - 1
        trees.parent[node] = max(parent, -1)
        hang_node(trees, node, via, slide_of(trees, end, near))
        if had == NO_END and has_markings(trees):
            note_clashes(trees, arrivals, automaton, root, product)
        if accepted and (before < end or has_markings(trees)):
            written = change_pair(automaton, pairs, out, written, at, before, end, root, vertex, counting, extensions)
        work[OPEN], work[OPEN_END] = node, had


# --- an edge that goes ----------------------------------------------------------------------


@kernel
def hangs_on(trees, node, row, source):
    """Whether a live node's derivation uses an edge that leads to it from a product node.

    Where nodes do not know their edges, another edge between the same two may be taken for this one.
    """
    if end_of(trees, node) == NO_END:
        return False
    if trees.via.shape[0] > 0:
        return trees.via[node] == row
    parent = trees.parent[node]
    return source == (product_of(trees, trees.root[node], 0) if parent < 0 else trees.product[parent])


@kernel
def mark(trees, marks, work, node):
    """Note that a node has lost its derivation; there must be room."""
    marks.node[work[MARKED]] = node
    work[MARKED] += 1
    lose_node(trees, node)


@kernel
def mark_subtrees(views, trees, marks, work, automaton, row):
    """Mark the nodes that hang on an edge and all below them; False for want of room.

    An edge that no node hangs on costs nothing.
    """
    room = marks.node.shape[0]
    if work[MARKED] == 0 and not is_used(trees, row):
        return True
    states, labels = automaton.moves.shape
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
                work[EDGES_PROBED] += 1
                if hangs_on(trees, node, row, product_of(trees, source, state)):
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
        if heap_is_full(heap):
            return False
        node = marks.node[work[CURSOR]]
        root, product = np.int64(trees.root[node]), trees.product[node]
        vertex, state = vertex_of(trees, product), state_of(trees, product)
        best, best_parent, via = np.int64(NO_END), np.int64(-1), np.int64(-1)
        for label in range(labels):
            if not leads_to(automaton, label, state):
                continue
            index, edge, _ = first_edge(views, automaton, label, vertex, True)
            while edge >= 0:
                work[EDGES_PROBED] += 1
                if visible(views, edge, position) and fits(views, automaton, label, edge):
                    end = end_at(views, edge, position)
                    source = source_of(views, automaton, label, edge)
                    for source_state in range(states):
                        if automaton.moves[source_state, label] != state or end <= best:
                            continue
                        reach, parent = end, ~root
                        if source_state != 0 or source != root:
                            parent = find_node(trees, root, product_of(trees, source, source_state))
                            if parent < 0:
                                continue
                            reach = min(end, end_of(trees, parent))
                        if reach > best:
                            best, best_parent, via = reach, parent, np.int64(edge)
                edge = views.lists.after[index, edge]
        if best > floor:
            heap_push(heap, best, product, best_parent, via)
        work[CURSOR] += 1
    return True


@kernel
def drop_lost(trees, marks, work):
    """The marked nodes that were not derived again are dead."""
    for i in range(work[MARKED]):
        if trees.slide[marks.node[i]] >= LOST:
            move_node(trees, marks.node[i], DEAD)
    work[MARKED] = 0
