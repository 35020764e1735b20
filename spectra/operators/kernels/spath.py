"""Δ-trees along the log of a window: for every root the product nodes (vertex, state) that a path reaches, until when.

Ends are exact, so that expiry needs no new derivation: whatever hangs below a node ends no later than the node itself,
and a slide takes all that its edges have derived with it. The root's own node (root, start) is implicit.
"""

from __future__ import annotations

import numpy as np

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import count_term, is_asked
from spectra.operators.kernels.delta_trees import (
    BLOCK_BITS,
    DEAD,
    ENDLESS,
    FIRST,
    SLIDES,
    drop_slide,
    find_node,
    forget_edge,
    product_of,
    slide_end,
    state_of,
    vertex_of,
)
from spectra.operators.kernels.derivations import (
    CURSOR,
    MARKED,
    NODES_TOUCHED,
    PHASE,
    drain,
    drop_lost,
    mark_subtrees,
    note_results,
    rederive,
    result_end,
    seed_edge,
)
from spectra.operators.kernels.pairs import change_pair, has_room_for
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, end_at

# where the work on a log entry stands, so that it can go on after the arrays have grown
BEGIN, REDERIVE, DRAIN, REPORT, FINISH = 0, 1, 2, 3, 4


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
def tell_slide(trees, work, automaton, pairs, out, written, at, counting):
    """Tell the results that end with the first slide; (deltas written, whether there was room for all)."""
    first, places = trees.size[FIRST], trees.slide.shape[0]
    until = slide_end(trees, first)
    while work[CURSOR] << BLOCK_BITS < places:
        block = work[CURSOR]
        if trees.earliest[block] <= first:
            begin = block << BLOCK_BITS
            behind = min(places, begin + (1 << BLOCK_BITS))
            if not has_room_for(pairs, out, written, behind - begin):
                return written, False
            work[NODES_TOUCHED] += behind - begin
            earliest = np.int64(ENDLESS)
            for node in range(begin, behind):
                slide = np.int64(trees.slide[node])
                if slide == first:
                    if ends_pair(trees, automaton, node):
                        root, vertex = trees.root[node], vertex_of(trees, trees.product[node])
                        written = change_pair(
                            automaton, pairs, out, written, at, until, np.int64(NO_END), root, vertex, counting, False
                        )
                elif first < slide < earliest:
                    earliest = slide
            trees.earliest[block] = earliest
        work[CURSOR] = block + 1
    return written, True


@kernel
def expire_slides(trees, work, automaton, pairs, out, written, limit, at, counting, removals):
    """End every slide that is over; (deltas written, whether there was room for all).

    No node is read unless the results that leave are asked for.
    """
    while trees.size[SLIDES] > 0 and slide_end(trees, trees.size[FIRST]) <= limit:
        if removals:
            written, done = tell_slide(trees, work, automaton, pairs, out, written, at, counting)
            if not done:
                return written, False
            work[CURSOR] = 0
        drop_slide(trees)
    return written, True


@kernel
def tell_marked(trees, marks, work, automaton, pairs, out, written, at, counting, extensions):
    """Tell what became of the pairs of marked nodes; (deltas written, whether there was room for all)."""
    while work[CURSOR] < work[MARKED]:
        if not has_room_for(pairs, out, written, 1):
            return written, False
        node, slide = marks.node[work[CURSOR]], marks.before[work[CURSOR]]
        work[CURSOR] += 1
        if slide != DEAD:
            root, vertex = trees.root[node], vertex_of(trees, trees.product[node])
            before, after = slide_end(trees, slide), result_end(trees, automaton, root, vertex, node)
            written = change_pair(automaton, pairs, out, written, at, before, after, root, vertex, counting, extensions)
    return written, True


@kernel
def ends_in_log(views, log, entries, ends):
    """Write the ends that edges get in a log, none twice in a row; returns how many."""
    count = 0
    for entry in range(entries):
        if log.kind[entry] >= 0:
            end = end_at(views, log.row[entry], entry + 1)
            if end < FOREVER and (count == 0 or ends[count - 1] != end):
                ends[count] = end
                count += 1
    return count


@kernel
def goes_on(log, entry, behind):
    """Whether an edge enters at the same instant as the one before it; the log ends before entry `behind`.

    The edges that enter at one instant are followed together, or a result would be told with the end of the first
    path that is found, though a wider one enters with the next edge.
    """
    following = entry + 1
    return (
        following < behind
        and log.kind[entry] == ENTERED
        and log.kind[following] == ENTERED
        and log.at[following] == log.at[entry]
    )


@kernel
def follow_log(
    views, log, first, last, behind, trees, heap, marks, arrivals, work, terms, automaton, pairs,
    counting, removals, extensions, out, written,
):  # fmt: skip
    """Deltas of the log entries [first, last) of `behind`; returns (entry to go on with, deltas written).

    Stops where an array is full; `work` knows how far the entry has come.
    """
    for entry in range(first, last):
        kind, row, at = log.kind[entry], log.row[entry], log.at[entry]
        position = entry + 1
        # What expires at this very instant is still in the trees, but nothing new is built on it. In a count
        # window, ends are no times: there what is built is taken down again at the same instant.
        floor = np.int64(NO_END) if counting else at
        if work[PHASE] == BEGIN:
            if kind == EXPIRED:
                limit = end_at(views, row, entry)
                written, done = expire_slides(
                    trees, work, automaton, pairs, out, written, limit, at, counting, removals
                )
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
                if not seed_edge(views, trees, heap, arrivals, work, terms, automaton, row, position, floor):
                    return entry, written
                work[PHASE] = FINISH if goes_on(log, entry, behind) or heap.size[0] == 0 else DRAIN
            if kind < 0:
                forget_edge(trees, row)
        if work[PHASE] == REDERIVE:
            if not rederive(views, trees, heap, marks, work, automaton, position, floor):
                return entry, written
            work[PHASE] = DRAIN
        if work[PHASE] == DRAIN:
            written, done = drain(
                views, trees, heap, arrivals, work, automaton, pairs, out, written, at, position, floor,
                counting, extensions, kind == DELETED,
            )  # fmt: skip
            if not done:
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = REPORT if kind == DELETED else FINISH
        if work[PHASE] == REPORT:
            written, done = tell_marked(trees, marks, work, automaton, pairs, out, written, at, counting, extensions)
            if not done:
                return entry, written
            drop_lost(trees, marks, work)
            work[CURSOR] = 0
            work[PHASE] = FINISH
        if automaton.flags[1]:
            if written + 4 > out.at.shape[0]:
                return entry, written
            for side in range(2):
                written = count_term(
                    views, terms, automaton, out, written, at, kind, row, side, position,
                    counting, removals, extensions,
                )  # fmt: skip
        work[PHASE] = BEGIN
    return last, written
