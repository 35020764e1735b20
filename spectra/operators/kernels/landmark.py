"""LM-SRPQ: Δ-trees that end at landmarks, each of which has a tree of its own that the others share.

A *landmark* is a product node that many trees reach. Its tree has every product node that it reaches, with the end of
the path that lasts longest: that is its time-information map. The tree of a root ends at the landmarks that it
reaches first, and has no node that lasts no longer than what a landmark already leads to. So a root reaches a
product node until the latest of its own node's end and, over the landmarks l in its tree, min(end of l there, end of
the node in the tree of l). A landmark in a tree is a *dependency*; those of a root are listed.

Trees of landmarks have negative numbers, the complements of theirs. What a step changes is noted with the ends from
before it, so that a pair's end before and after can be told once all trees have settled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.delta_trees import mixed, state_of

# where the work on a log entry stands, so that it can go on after the arrays have grown; landmarks settle before roots
BEGIN, MARK, SEED_LANDMARKS, SETTLE_LANDMARKS, SEED_ROOTS, SETTLE_ROOTS, TELL, FINISH = range(8)

# what `work` holds; OPEN is the node whose edges are being followed, or -1, and OPEN_END the end that it had before;
# AFFECTED are the roots whose trees grow anew; LIMIT is the end of the last slide that is over
PHASE, GAINED, CURSOR, INNER, OPEN, OPEN_END, AFFECTED, TOLD, RESELECT, LIMIT = range(10)
MEMBERS, DEPENDENCIES, DEPENDENTS, EDGES_PROBED, NODES_TOUCHED, WORK = range(10, 16)


class GainColumns(NamedTuple):
    """Nodes that a step changes, with their ends before it; `slots` finds them, `slot` is the place of each in it."""

    node: NDArray[np.int32]
    before: NDArray[np.int64]
    slot: NDArray[np.int32]
    slots: NDArray[np.int32]


class ToldColumns(NamedTuple):
    """Pairs that a step has told; `slots` finds them, `slot` is the place of each in it."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    slot: NDArray[np.int32]
    slots: NDArray[np.int32]


class LandmarkColumns(NamedTuple):
    """The landmarks, and what is listed of them.

    `product` is the product node of each, -1 for none; `slots` finds it. `first` begins the list of the accepting
    nodes of its tree, in `member`. `root` is a hash table of the roots that depend on landmarks and `depends` begins
    the list of these, in `landmark`. Nodes that died stay listed while they are in the table. `hit` is for deletions.
    """

    product: NDArray[np.int64]
    slots: NDArray[np.int32]
    first: NDArray[np.int32]
    hit: NDArray[np.bool_]
    member: NDArray[np.int32]
    member_after: NDArray[np.int32]
    root: NDArray[np.int32]
    depends: NDArray[np.int32]
    landmark: NDArray[np.int32]
    landmark_after: NDArray[np.int32]


# --- landmarks and what is listed of them ---------------------------------------------------


@kernel
def landmark_slot(marks, product):
    """The place of a landmark in `slots`: its own, or the empty one that it would get."""
    size_mask = marks.slots.shape[0] - 1
    at = mixed(0, product) & size_mask
    while marks.slots[at] != 0 and marks.product[marks.slots[at] - 1] != product:
        at = (at + 1) & size_mask
    return at


@kernel
def landmark_of(marks, product):
    """The landmark that a product node is, or -1."""
    return marks.slots[landmark_slot(marks, product)] - 1


@kernel
def root_slot(marks, root):
    """The place of a root in the table of those that depend on landmarks: its own, or the empty one."""
    size_mask = marks.root.shape[0] - 1
    at = mixed(root, 0) & size_mask
    while marks.root[at] != 0 and marks.root[at] != root:
        at = (at + 1) & size_mask
    return at


@kernel
def has_list_room(marks, work):
    """Whether one more node can be listed."""
    return (
        work[MEMBERS] < marks.member.shape[0]
        and work[DEPENDENCIES] < marks.landmark.shape[0]
        and 2 * work[DEPENDENTS] < marks.root.shape[0]
    )


@kernel
def list_node(trees, marks, work, automaton, node):
    """List a new node where it is an accepting one of a landmark's tree, or a landmark in a root's."""
    tree, product = np.int64(trees.root[node]), trees.product[node]
    if tree < 0:
        if automaton.is_accepting[state_of(trees, product)]:
            at = work[MEMBERS]
            work[MEMBERS] = at + 1
            marks.member[at], marks.member_after[at] = node, marks.first[~tree]
            marks.first[~tree] = at
        return
    landmark = landmark_of(marks, product)
    if landmark >= 0:
        slot = root_slot(marks, tree)
        if marks.root[slot] == 0:
            marks.root[slot], marks.depends[slot] = tree, -1
            work[DEPENDENTS] += 1
        at = work[DEPENDENCIES]
        work[DEPENDENCIES] = at + 1
        marks.landmark[at], marks.landmark_after[at] = landmark, marks.depends[slot]
        marks.depends[slot] = at


@kernel
def list_all(trees, marks, work, automaton):
    """List all nodes of the table anew; False for want of room."""
    work[MEMBERS] = work[DEPENDENCIES] = work[DEPENDENTS] = 0
    marks.first[:] = -1
    marks.root[:] = 0
    for node in range(trees.tags.shape[0]):
        if trees.tags[node] != 0:
            if not has_list_room(marks, work):
                return False
            list_node(trees, marks, work, automaton, node)
    return True
