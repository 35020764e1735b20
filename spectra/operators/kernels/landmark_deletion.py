"""LM-SRPQ: what hangs on a deleted edge goes and is derived again; roots that lose a landmark get a new tree."""

from __future__ import annotations

import numpy as np

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, fits, label_of, source_of, target_of
from spectra.operators.kernels.delta_trees import (
    LOST,
    end_of,
    find_node,
    first_of,
    move_node,
    product_of,
    state_of,
    vertex_of,
)
from spectra.operators.kernels.heap import heap_is_full, heap_push
from spectra.operators.kernels.landmark import AFFECTED, CURSOR, EDGES_PROBED, GAINED
from spectra.operators.kernels.landmark_ends import note
from spectra.operators.kernels.landmark_search import root_product
from spectra.views.kernels.apply import end_at, visible


@kernel
def lose(trees, gains, work, node):
    """Note that a node has lost its derivation; there must be room."""
    note(trees, gains, work, node)
    move_node(trees, node, trees.slide[node] | LOST)


@kernel
def lose_children(views, trees, gains, work, automaton, tree, node, product):
    """Mark the nodes that are derived from one (-1: from the root of the tree); False for want of room."""
    vertex, state = vertex_of(trees, product), state_of(trees, product)
    for label in range(automaton.label_predicate.shape[0]):
        following = automaton.moves[state, label]
        if following < 0:
            continue
        index, edge, _ = first_edge(views, automaton, label, vertex, False)
        while edge >= 0:
            work[EDGES_PROBED] += 1
            child = find_node(trees, tree, product_of(trees, target_of(views, automaton, label, edge), following))
            if child >= 0 and trees.parent[child] == node and end_of(trees, child) != NO_END:
                if work[GAINED] == gains.node.shape[0]:
                    return False
                lose(trees, gains, work, child)
            edge = views.lists.after[index, edge]
    return True


@kernel
def lose_below(views, trees, gains, work, automaton):
    """Mark all that is derived from marked nodes, from the cursor on; False for want of room."""
    while work[CURSOR] < work[GAINED]:
        node = np.int64(gains.node[work[CURSOR]])
        tree = np.int64(trees.root[node])
        if not lose_children(views, trees, gains, work, automaton, tree, node, trees.product[node]):
            return False
        work[CURSOR] += 1
    return True


@kernel
def affect(affected, work, root):
    """Note a root whose tree must grow anew; False for want of room."""
    if work[AFFECTED] > 0 and affected[work[AFFECTED] - 1] == root:
        return True
    if work[AFFECTED] == affected.shape[0]:
        return False
    affected[work[AFFECTED]] = root
    work[AFFECTED] += 1
    return True


@kernel
def affect_dependents(trees, marks, affected, work, landmark):
    """Note the roots whose trees have a landmark; False for want of room."""
    node = np.int64(first_of(trees, marks.product[landmark]))
    while node >= 0:
        if trees.root[node] >= 0 and end_of(trees, node) != NO_END:
            if not affect(affected, work, np.int64(trees.root[node])):
                return False
        node = np.int64(trees.after[node])
    return True


@kernel
def mark_deleted(views, trees, marks, gains, affected, work, automaton, row):
    """Mark what may be derived by a deleted edge: False for want of room, and then it is to be done again.

    In trees of landmarks these are subtrees. The tree of a root that has it, or a landmark whose tree has it, grows
    anew: it lacks what a landmark led to for longer.
    """
    for direction in range(2):
        label = label_of(automaton, views.predicate[row], direction == 1)
        if label < 0:
            continue
        source, target = source_of(views, automaton, label, row), target_of(views, automaton, label, row)
        for state in range(automaton.moves.shape[0]):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            node = np.int64(first_of(trees, product_of(trees, target, following)))
            while node >= 0:
                tree, parent = np.int64(trees.root[node]), trees.parent[node]
                product = root_product(trees, marks, tree) if parent < 0 else trees.product[parent]
                if end_of(trees, node) != NO_END and product == product_of(trees, source, state):
                    if tree >= 0 and not affect(affected, work, tree):
                        return False
                    if tree < 0:
                        if work[GAINED] == gains.node.shape[0]:
                            return False
                        lose(trees, gains, work, node)
                node = np.int64(trees.after[node])
    if not lose_below(views, trees, gains, work, automaton):
        return False
    for i in range(work[GAINED]):
        tree = np.int64(trees.root[gains.node[i]])
        if tree < 0:
            marks.hit[~tree] = True
    for landmark in range(marks.product.shape[0]):
        if marks.hit[landmark] and not affect_dependents(trees, marks, affected, work, landmark):
            return False
    marks.hit[:] = False
    return lose_trees(views, trees, gains, affected, work, automaton)


@kernel
def lose_trees(views, trees, gains, affected, work, automaton):
    """Mark the whole trees of affected roots; False for want of room."""
    for i in range(work[AFFECTED]):
        root = np.int64(affected[i])
        if not lose_children(views, trees, gains, work, automaton, root, -1, product_of(trees, root, 0)):
            return False
        if not lose_below(views, trees, gains, work, automaton):
            return False
    return True


@kernel
def rederive(views, trees, marks, heap, gains, work, automaton, position, floor):
    """For each marked node of a landmark's tree the best derivation from nodes that are not marked; False for want of
    room.
    """
    states, labels = automaton.moves.shape
    while work[CURSOR] < work[GAINED]:
        if heap_is_full(heap):
            return False
        node = gains.node[work[CURSOR]]
        work[CURSOR] += 1
        tree, product = np.int64(trees.root[node]), trees.product[node]
        if tree >= 0:
            continue
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
                        reach, parent = end, np.int64(-1)
                        from_product = product_of(trees, source, source_state)
                        if from_product != marks.product[~tree]:
                            parent = np.int64(find_node(trees, tree, from_product))
                            if parent < 0:
                                continue
                            reach = min(end, end_of(trees, parent))
                        if reach > best:
                            best, best_parent = reach, parent
                edge = views.lists.after[index, edge]
        if best > floor:
            heap_push(heap, best, product, best_parent, tree)
    return True
