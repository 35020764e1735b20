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

from spectra.clock import FOREVER, NO_END
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
from spectra.operators.kernels.delta_trees import (
    BLOCK_BITS,
    DEAD,
    ENDLESS,
    FIRST,
    LOST,
    SLIDES,
    drop_slide,
    end_of,
    find_node,
    first_of,
    has_room,
    list_slot,
    mixed,
    move_node,
    new_node,
    product_of,
    slide_end,
    slide_of,
    state_of,
    vertex_of,
)
from spectra.operators.kernels.heap import heap_is_full, heap_pop, heap_push
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, end_at, visible

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


# --- landmarks ------------------------------------------------------------------------------


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


# --- ends -----------------------------------------------------------------------------------


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


# --- growing --------------------------------------------------------------------------------


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


# --- deletions ------------------------------------------------------------------------------


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


# --- results --------------------------------------------------------------------------------


@kernel
def told_slot(told, root, vertex):
    """The place of a pair in `slots`: its own, or the empty one that it would get."""
    size_mask = told.slots.shape[0] - 1
    at = mixed(root, vertex) & size_mask
    while told.slots[at] != 0:
        pair = told.slots[at] - 1
        if told.root[pair] == root and told.vertex[pair] == vertex:
            return at
        at = (at + 1) & size_mask
    return at


@kernel
def find_told(told, work):
    """Let the pairs that were told be found, after the table has grown."""
    told.slots[:] = 0
    for pair in range(work[TOLD]):
        slot = told_slot(told, told.root[pair], told.vertex[pair])
        told.slot[pair], told.slots[slot] = slot, pair + 1


@kernel
def tell_pair(
    trees, marks, gains, told, work, automaton, out, written, at, root, vertex, floor, counting, extensions
):  # fmt: skip
    """Deltas of a pair whose end the step may have changed; there must be room. None enters that ends by `floor`."""
    if not is_asked(automaton, root, vertex):
        return written
    slot = told_slot(told, root, vertex)
    if told.slots[slot] != 0:
        return written
    before, after = pair_ends(trees, marks, gains, automaton, root, vertex)
    if before == after or (before == NO_END and after <= floor):
        return written
    pair = work[TOLD]
    work[TOLD] = pair + 1
    told.root[pair], told.vertex[pair], told.slot[pair], told.slots[slot] = root, vertex, slot, pair + 1
    return emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions)


@kernel
def tell(trees, marks, gains, told, work, terms, automaton, out, written, at, floor, counting, extensions):
    """Tell the pairs whose ends the noted nodes change; (deltas written, whether there was room for all).

    A node in the tree of a root changes its own pair, and where it is a landmark the pairs of what that leads to;
    a node in the tree of a landmark those of the roots that depend on it for longer than the node held before.
    """
    room, most = out.at.shape[0], told.root.shape[0]
    while work[CURSOR] < work[GAINED]:
        node = np.int64(gains.node[work[CURSOR]])
        tree, product = np.int64(trees.root[node]), trees.product[node]
        accepted = automaton.is_accepting[state_of(trees, product)]
        if written + 2 > room or work[TOLD] == most:
            return written, False
        if tree >= 0:
            if accepted:
                written = tell_pair(
                    trees, marks, gains, told, work, automaton, out, written, at, tree, vertex_of(trees, product),
                    floor, counting, extensions,
                )  # fmt: skip
            landmark = np.int64(landmark_of(marks, product))
            if landmark >= 0:
                member = work[INNER] if work[INNER] >= 0 else np.int64(marks.first[landmark])
                while member >= 0:
                    if written + 2 > room or work[TOLD] == most:
                        work[INNER] = member
                        return written, False
                    vertex = vertex_of(trees, trees.product[marks.member[member]])
                    written = tell_pair(
                        trees, marks, gains, told, work, automaton, out, written, at, tree, vertex,
                        floor, counting, extensions,
                    )  # fmt: skip
                    member = np.int64(marks.member_after[member])
        elif accepted:
            origin = marks.product[~tree]
            vertex = vertex_of(trees, product)
            least = min(end_before(trees, gains, node), end_of(trees, node))
            root = np.int64(vertex_of(trees, origin))
            if state_of(trees, origin) == 0 and may_be_root(terms, automaton, root):
                written = tell_pair(
                    trees, marks, gains, told, work, automaton, out, written, at, root, vertex, floor,
                    counting, extensions,
                )  # fmt: skip
            dependent = work[INNER] if work[INNER] >= 0 else np.int64(first_of(trees, origin))
            while dependent >= 0:
                if written + 2 > room or work[TOLD] == most:
                    work[INNER] = dependent
                    return written, False
                root = np.int64(trees.root[dependent])
                # one that holds no longer than the node did at its worse gains and loses nothing by it
                if root >= 0 and max(end_before(trees, gains, dependent), end_of(trees, dependent)) > least:
                    written = tell_pair(
                        trees, marks, gains, told, work, automaton, out, written, at, root, vertex,
                        floor, counting, extensions,
                    )  # fmt: skip
                dependent = np.int64(trees.after[dependent])
        work[INNER] = -1
        work[CURSOR] += 1
    return written, True


@kernel
def forget(trees, gains, told, affected, work):
    """End a step: nodes that found no other derivation die."""
    for i in range(work[GAINED]):
        if trees.slide[gains.node[i]] >= LOST:
            move_node(trees, gains.node[i], DEAD)
        gains.slots[gains.slot[i]] = 0
    for i in range(work[TOLD]):
        told.slots[told.slot[i]] = 0
    work[GAINED] = work[TOLD] = work[CURSOR] = work[AFFECTED] = 0
    work[INNER] = -1


@kernel
def note_slide(trees, gains, work):
    """Note the nodes that end with the first slide; False for want of room."""
    first, places = trees.size[FIRST], trees.slide.shape[0]
    while work[CURSOR] << BLOCK_BITS < places:
        block = work[CURSOR]
        if trees.earliest[block] <= first:
            begin = block << BLOCK_BITS
            behind = min(places, begin + (1 << BLOCK_BITS))
            earliest = np.int64(ENDLESS)
            for node in range(begin, behind):
                slide = np.int64(trees.slide[node])
                if slide == first:
                    if work[GAINED] == gains.node.shape[0]:
                        return False
                    note(trees, gains, work, node)
                elif first < slide < earliest:
                    earliest = slide
            trees.earliest[block] = earliest
        work[CURSOR] = block + 1
    return True


# --- the log --------------------------------------------------------------------------------


@kernel
def follow_log(
    views, log, first, last, trees, marks, heap, gains, told, affected, work, terms, automaton, counting, removals,
    extensions, out,
):  # fmt: skip
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full, and where a slide is over and landmarks may be chosen anew; `work` knows how far the
    entry has come.
    """
    written = 0
    entry = first
    while entry < last:
        kind, at = log.kind[entry], log.at[entry]
        # the edges that enter at one instant are followed together, see spath
        behind = entry + 1
        while kind == ENTERED and behind < last and log.kind[behind] == ENTERED and log.at[behind] == at:
            behind += 1
        floor = np.int64(NO_END) if counting else at
        if work[PHASE] == BEGIN:
            if work[RESELECT] and kind != EXPIRED:
                return entry, written
            if kind == EXPIRED:
                limit = end_at(views, log.row[entry], entry)
                over = trees.size[SLIDES] > 0 and slide_end(trees, trees.size[FIRST]) <= limit
                if over and removals and not note_slide(trees, gains, work):
                    return entry, written
                if over:
                    drop_slide(trees)
                    work[RESELECT], work[LIMIT] = 1, limit
                work[PHASE] = TELL if over else FINISH
            else:
                work[PHASE] = MARK if kind == DELETED else SEED_LANDMARKS
            work[CURSOR] = 0
        if work[PHASE] == MARK:
            if not mark_deleted(views, trees, marks, gains, affected, work, automaton, log.row[entry]):
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = SEED_LANDMARKS
        if work[PHASE] == SEED_LANDMARKS:
            if kind == DELETED and not rederive(
                views, trees, marks, heap, gains, work, automaton, behind, floor
            ):  # fmt: skip
                return entry, written
            if kind != DELETED:
                for seeded in range(entry, behind):
                    if not seed_edge(
                        views, trees, marks, heap, work, terms, automaton, log.row[seeded], behind, floor, True
                    ):  # fmt: skip
                        return entry, written
            work[PHASE] = SETTLE_LANDMARKS
        if work[PHASE] == SETTLE_LANDMARKS:
            if not settle(views, trees, marks, heap, gains, work, automaton, behind, floor):
                return entry, written
            work[PHASE] = SEED_ROOTS
        if work[PHASE] == SEED_ROOTS:
            if kind == DELETED:
                for i in range(work[AFFECTED]):
                    if not grow(
                        views, trees, marks, heap, work, automaton, np.int64(affected[i]), behind, floor
                    ):  # fmt: skip
                        return entry, written
            else:
                for seeded in range(entry, behind):
                    if not seed_edge(
                        views, trees, marks, heap, work, terms, automaton, log.row[seeded], behind, floor, False
                    ):  # fmt: skip
                        return entry, written
            work[PHASE] = SETTLE_ROOTS
        if work[PHASE] == SETTLE_ROOTS:
            if not settle(views, trees, marks, heap, gains, work, automaton, behind, floor):
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = TELL
        if work[PHASE] == TELL:
            # what a landmark leads to may enter and end at one instant; where both are told they cancel
            least = np.int64(NO_END) if removals else floor
            written, done = tell(
                trees, marks, gains, told, work, terms, automaton, out, written, at, least, counting, extensions
            )  # fmt: skip
            if not done:
                return entry, written
            forget(trees, gains, told, affected, work)
            if kind == EXPIRED:  # more than one slide may be over
                work[PHASE] = BEGIN
                continue
            work[PHASE] = FINISH
        if automaton.flags[1]:
            for counted in range(entry, behind):
                if written + 4 > out.at.shape[0]:
                    return counted, written
                for side in range(2):
                    written = count_term(
                        views, terms, automaton, out, written, at, kind, log.row[counted], side, counted + 1,
                        counting, removals, extensions,
                    )  # fmt: skip
        work[PHASE] = BEGIN
        entry = behind
    return last, written


# --- choosing -------------------------------------------------------------------------------


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
