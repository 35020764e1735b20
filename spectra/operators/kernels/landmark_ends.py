"""LM-SRPQ: until when a root reaches a product node or a vertex, and what a step has changed of it."""

from __future__ import annotations

import numpy as np

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.delta_trees import end_of, find_node, product_of
from spectra.operators.kernels.landmark import GAINED, landmark_of, root_slot


@kernel
def gain_slot(gains, node):
    size_mask = gains.slots.shape[0] - 1
    at = (np.int64(node) * 40503) & size_mask
    while gains.slots[at] != 0 and gains.node[gains.slots[at] - 1] != node:
        at = (at + 1) & size_mask
    return at


@kernel
def note(trees, gains, work, node):
    """Note a node that is about to change; there must be room."""
    slot = gain_slot(gains, node)
    if gains.slots[slot] == 0:
        at = work[GAINED]
        work[GAINED] = at + 1
        gains.node[at], gains.before[at], gains.slot[at] = node, end_of(trees, node), slot
        gains.slots[slot] = at + 1


@kernel
def find_gains(gains, work):
    """Let the noted nodes be found, after they or the table have moved."""
    gains.slots[:] = 0
    for at in range(work[GAINED]):
        slot = gain_slot(gains, gains.node[at])
        gains.slot[at], gains.slots[slot] = slot, at + 1


@kernel
def end_before(trees, gains, node):
    """When a node ended before the step."""
    at = gains.slots[gain_slot(gains, node)] - 1
    return gains.before[at] if at >= 0 else end_of(trees, node)


@kernel
def end_in_map(trees, marks, landmark, product):
    """Until when a landmark reaches a product node."""
    if marks.product[landmark] == product:
        return np.int64(FOREVER)
    node = find_node(trees, ~landmark, product)
    return end_of(trees, node) if node >= 0 else np.int64(NO_END)


@kernel
def end_in_tree(trees, marks, tree, product):
    """Until when a tree's root reaches a product node, by its own nodes or by landmarks."""
    node = find_node(trees, tree, product)
    best = end_of(trees, node) if node >= 0 else np.int64(NO_END)
    if tree < 0:
        return best
    itself = landmark_of(marks, product_of(trees, tree, 0))
    if itself >= 0:
        best = max(best, end_in_map(trees, marks, itself, product))
    slot = root_slot(marks, tree)
    at = marks.depends[slot] if marks.root[slot] != 0 else -1
    while at >= 0:
        landmark = np.int64(marks.landmark[at])
        node = find_node(trees, tree, marks.product[landmark])
        end = end_of(trees, node) if node >= 0 else np.int64(NO_END)
        if end > best:
            best = max(best, min(end, end_in_map(trees, marks, landmark, product)))
        at = marks.landmark_after[at]
    return best


@kernel
def ends_by_landmark(trees, marks, gains, landmark, product, before, after):
    """When a product node ends by way of a landmark that ended `before` and ends `after` the step."""
    node = find_node(trees, ~landmark, product)
    if node < 0:
        return np.int64(NO_END), np.int64(NO_END)
    return min(before, end_before(trees, gains, node)), min(after, end_of(trees, node))


@kernel
def pair_ends(trees, marks, gains, automaton, root, vertex):
    """When the pair (root, vertex) ended before the step and ends after it, `NO_END` where it is no result."""
    before = after = np.int64(NO_END)
    itself = np.int64(landmark_of(marks, product_of(trees, root, 0)))
    slot = root_slot(marks, root)
    depends = marks.depends[slot] if marks.root[slot] != 0 else -1
    for i in range(automaton.accepting.shape[0]):
        product = product_of(trees, vertex, automaton.accepting[i])
        node = find_node(trees, root, product)
        if node >= 0:
            before, after = max(before, end_before(trees, gains, node)), max(after, end_of(trees, node))
        if itself >= 0:
            ends = ends_by_landmark(trees, marks, gains, itself, product, np.int64(FOREVER), np.int64(FOREVER))
            before, after = max(before, ends[0]), max(after, ends[1])
        at = depends
        while at >= 0:
            landmark = np.int64(marks.landmark[at])
            node = find_node(trees, root, marks.product[landmark])
            if node >= 0:
                was, now = end_before(trees, gains, node), end_of(trees, node)
                if was > before or now > after:
                    ends = ends_by_landmark(trees, marks, gains, landmark, product, was, now)
                    before, after = max(before, ends[0]), max(after, ends[1])
            at = marks.landmark_after[at]
    return before, after
