"""LM-SRPQ: how trees of landmarks and of roots grow along an edge that comes, the path that lasts longest first."""

from __future__ import annotations

import numpy as np

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, fits, label_of, may_be_root, source_of, target_of
from spectra.operators.kernels.delta_trees import (
    FIRST,
    SLIDES,
    end_of,
    find_node,
    first_of,
    has_room,
    move_node,
    new_node,
    product_of,
    slide_of,
    state_of,
    vertex_of,
)
from spectra.operators.kernels.heap import heap_is_full, heap_pop, heap_push
from spectra.operators.kernels.landmark import (
    EDGES_PROBED,
    GAINED,
    NODES_TOUCHED,
    OPEN,
    OPEN_END,
    has_list_room,
    landmark_of,
    list_node,
)
from spectra.operators.kernels.landmark_ends import end_in_tree, note
from spectra.views.kernels.apply import end_at, visible


@kernel
def root_product(trees, marks, tree):
    """The product node from which a tree grows."""
    return marks.product[~tree] if tree < 0 else product_of(trees, tree, 0)


@kernel
def wait(trees, marks, heap, end, product, tree, parent):
    """Let a product node wait where it would end later than it does, the root's own never; False for want of room.

    What waits leads from a node of a tree (-1: its root); `via` is the tree.
    """
    if product == root_product(trees, marks, tree) or end_in_tree(trees, marks, tree, product) >= end:
        return True
    if heap_is_full(heap):
        return False
    heap_push(heap, end, product, parent, tree)
    return True


@kernel
def expand(views, trees, marks, heap, work, automaton, tree, node, product, end, least, position):
    """Let all that a product node leads to wait in a tree, from `node` (-1: its root) that holds until `end`; False
    for want of room, and then it is to be done again.
    """
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
                if reach > least and not wait(trees, marks, heap, reach, target, tree, node):
                    return False
            row = views.lists.after[index, row]
    work[EDGES_PROBED] += probed
    return True


@kernel
def grow(views, trees, marks, heap, work, automaton, tree, position, floor):
    """Let all that the root of a tree leads to wait; False for want of room."""
    return expand(
        views, trees, marks, heap, work, automaton, tree, -1, root_product(trees, marks, tree), np.int64(FOREVER),
        floor, position,
    )  # fmt: skip


@kernel
def settle(views, trees, marks, heap, gains, work, automaton, position, floor):
    """Settle what waits, widest first; False for want of room. Trees of roots end at landmarks.

    Where an edge ends no later than its node did before, what it leads to has gained from it already.
    """
    while True:
        if work[OPEN] >= 0:
            node = work[OPEN]
            if not expand(
                views, trees, marks, heap, work, automaton, np.int64(trees.root[node]), node, trees.product[node],
                end_of(trees, node), max(floor, work[OPEN_END]), position,
            ):  # fmt: skip
                return False
            work[OPEN] = -1
        if heap.size[0] == 0:
            return True
        if not has_room(trees) or work[GAINED] == gains.node.shape[0] or not has_list_room(marks, work):
            return False
        end, product = heap.end[0], heap.product[0]
        tree, parent = np.int64(heap.via[0]), np.int64(heap.parent[0])
        heap_pop(heap)
        if end_in_tree(trees, marks, tree, product) >= end:
            continue
        work[NODES_TOUCHED] += 1
        node = np.int64(find_node(trees, tree, product))
        if node < 0:
            node = np.int64(new_node(trees, tree, product))
            list_node(trees, marks, work, automaton, node)
        had = end_of(trees, node)
        note(trees, gains, work, node)
        near = np.int64(trees.slide[parent]) if parent >= 0 else trees.size[FIRST] + trees.size[SLIDES] - 1
        trees.parent[node] = parent
        move_node(trees, node, slide_of(trees, end, near))
        if tree < 0 or landmark_of(marks, product) < 0:
            work[OPEN], work[OPEN_END] = node, had


@kernel
def seed_edge(views, trees, marks, heap, work, terms, automaton, row, position, floor, of_landmarks):
    """Let what an edge leads to wait, in every tree of landmarks or of roots that reaches its source; False for want
    of room. Then it is begun again, and what waits twice gains nothing the second time.
    """
    end = end_at(views, row, position)
    if end <= floor:
        return True
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
            from_product, product = product_of(trees, source, state), product_of(trees, target, following)
            landmark = np.int64(landmark_of(marks, from_product))
            if of_landmarks and landmark >= 0:
                if not wait(trees, marks, heap, end, product, ~landmark, -1):
                    return False
            if not of_landmarks and landmark >= 0:
                continue  # what is behind a landmark is in its own tree
            if not of_landmarks and state == 0 and may_be_root(terms, automaton, source):
                if not wait(trees, marks, heap, end, product, source, -1):
                    return False
            node = np.int64(first_of(trees, from_product))
            while node >= 0:
                tree = np.int64(trees.root[node])
                reach = min(end, end_of(trees, node))
                if (tree < 0) == of_landmarks and reach > floor:
                    work[EDGES_PROBED] += 1
                    if not wait(trees, marks, heap, reach, product, tree, node):
                        return False
                node = np.int64(trees.after[node])
    return True
