"""LM-SRPQ: which product nodes are worth a landmark, and how one is dropped."""

from __future__ import annotations

import numpy as np

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, may_be_root
from spectra.operators.kernels.delta_trees import FIRST, end_of, first_of, list_slot, product_of, state_of, vertex_of
from spectra.operators.kernels.landmark import GAINED
from spectra.operators.kernels.landmark_deletion import lose, lose_below, lose_children


@kernel
def subtree_sizes(trees, sizes):
    """How many live nodes are at and below each node."""
    first = trees.size[FIRST]
    for node in range(trees.slide.shape[0]):
        if trees.slide[node] >= first:
            above = np.int64(node)
            while above >= 0:
                sizes[above] += 1
                above = np.int64(trees.parent[above])


@kernel
def survey(views, trees, automaton, depth, sizes, trees_at, below, largest, score):
    """For each product node, at its place among the lists: how many trees have it, how many nodes are below it in those
    of roots (with those of its own tree, where it is a root), the most in one, and the estimated size of its own tree
    as a landmark: its degree times the depth of its state.
    """
    first = trees.size[FIRST]
    for node in range(trees.slide.shape[0]):
        if trees.slide[node] < first:
            continue
        product = trees.product[node]
        slot = list_slot(trees, product)
        if trees_at[slot] == 0:
            state = state_of(trees, product)
            degree = 0
            for label in range(automaton.label_predicate.shape[0]):
                if automaton.moves[state, label] >= 0:
                    degree += first_edge(views, automaton, label, vertex_of(trees, product), False)[2]
            score[slot] = degree * depth[state]
        trees_at[slot] += 1
        root = np.int64(trees.root[node])
        if root >= 0:
            below[slot] += sizes[node] - 1
            largest[slot] = max(largest[slot], sizes[node])
            if trees.parent[node] < 0:  # a root that becomes a landmark needs no other tree
                own = list_slot(trees, product_of(trees, root, 0))
                if trees.heads[own] != 0:
                    below[own] += sizes[node]


@kernel
def dependents(trees, marks, landmark):
    """How many trees of roots have a landmark."""
    count = 0
    node = np.int64(first_of(trees, marks.product[landmark]))
    while node >= 0:
        if trees.root[node] >= 0 and end_of(trees, node) != NO_END:
            count += 1
        node = np.int64(trees.after[node])
    return count


@kernel
def lose_behind(views, trees, marks, gains, work, terms, automaton, landmark):
    """Mark what trees of roots have behind a landmark, and the tree of its own root; False for want of room."""
    product = marks.product[landmark]
    node = np.int64(first_of(trees, product))
    while node >= 0:
        tree = np.int64(trees.root[node])
        if tree >= 0 and end_of(trees, node) != NO_END:
            if not lose_children(views, trees, gains, work, automaton, tree, node, product):
                return False
        node = np.int64(trees.after[node])
    root = np.int64(vertex_of(trees, product))
    if state_of(trees, product) == 0 and may_be_root(terms, automaton, root):
        if not lose_children(views, trees, gains, work, automaton, root, -1, product):
            return False
    return lose_below(views, trees, gains, work, automaton)


@kernel
def lose_landmark(trees, gains, work, landmark):
    """Mark the tree of a landmark; False for want of room."""
    for node in range(trees.slide.shape[0]):
        if trees.root[node] == ~landmark and trees.tags[node] != 0 and end_of(trees, node) != NO_END:
            if work[GAINED] == gains.node.shape[0]:
                return False
            lose(trees, gains, work, node)
    return True
