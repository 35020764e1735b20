"""LM-SRPQ: the deltas of a step, each pair that may have changed told once."""

from __future__ import annotations

import numpy as np

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import emit_change, is_asked, may_be_root
from spectra.operators.kernels.delta_trees import (
    BLOCK_BITS,
    DEAD,
    ENDLESS,
    FIRST,
    LOST,
    end_of,
    first_of,
    mixed,
    move_node,
    state_of,
    vertex_of,
)
from spectra.operators.kernels.landmark import AFFECTED, CURSOR, GAINED, INNER, TOLD, landmark_of
from spectra.operators.kernels.landmark_ends import end_before, note, pair_ends


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
