"""The pairs of several evaluations in a row as sets of roots, so that comparing two of them is comparing words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.automaton import may_be_root
from spectra.operators.kernels.bits import lowest_bit
from spectra.operators.kernels.condense import (
    ENTERED,
    LEFT,
    NEW_AT,
    NODES,
    OLD_AT,
    PHASE,
    RANK,
    ROOTS,
    STOP,
    WORDS,
    build_product,
    hand_on,
    see_changes,
    see_edges,
)

# how far an evaluation has come
BUILD, CHANGE, TELL = range(3)


class SetColumns(NamedTuple):
    """The pairs of an evaluation as sets, where edges are numbered alike for several of them.

    `root` is the vertex of each bit and `term` its term, `bit` the bit of each vertex or -1. A row of `held` has the
    roots of a vertex, and `some` tells whether it has any; `entered` and `left` are those that came and went, as far as
    they are not told, and `entered_at` and `left_at` the vertices that have some. `followed` are the nodes of roots and
    `place` their bits; for the ends of what entered these are only the roots that it has, and `named` their terms.
    """

    root: NDArray[np.int32]
    term: NDArray[np.int32]
    bit: NDArray[np.int32]
    held: NDArray[np.uint64]
    some: NDArray[np.bool_]
    entered: NDArray[np.uint64]
    left: NDArray[np.uint64]
    entered_at: NDArray[np.int32]
    left_at: NDArray[np.int32]
    followed: NDArray[np.int32]
    place: NDArray[np.int32]
    named: NDArray[np.int32]


@kernel
def roots_of_batch(edges, terms, automaton, roots, bits):
    """Give a bit to every vertex that may be a root at some position of the log; how many there are."""
    count = 0
    for vertex in range(edges.term.shape[0]):
        bits[vertex] = -1
        if may_be_root(terms, automaton, edges.term[vertex]):
            for edge in range(edges.first[vertex], edges.first[vertex + 1]):
                if automaton.moves[0, edges.label[edge]] >= 0:
                    bits[vertex], roots[count] = count, vertex
                    count += 1
                    break
    return count


@kernel
def put_into_sets(numbers, sets, pairs, held):
    """Put pairs into sets that are empty; `numbers` are those of the vertices, by term."""
    for i in range(held):
        vertex, bit = numbers[pairs.vertex[i]], sets.bit[numbers[pairs.root[i]]]
        sets.some[vertex] = True
        sets.held[vertex, bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@kernel
def take_from_sets(edges, sets, until, pairs):
    """Write the pairs of sets in order, or only count them where there is no room; how many there are."""
    count = 0
    vertices, words = sets.held.shape
    room = pairs.root.shape[0]
    for vertex in range(vertices):
        for word in range(words):
            bits = sets.held[vertex, word]
            while bits != 0:
                if count < room:
                    pairs.root[count] = sets.term[(word << 6) + lowest_bit(bits)]
                    pairs.vertex[count], pairs.until[count] = edges.term[vertex], until
                bits &= bits - np.uint64(1)
                count += 1
    return count


@kernel
def change_sets(product, parts, automaton, sets, work):
    """Put the pairs of an evaluation into the sets, and note which entered and left."""
    vertices, words = sets.held.shape
    for root in range(work[ROOTS]):
        sets.followed[root], sets.place[root] = root, sets.bit[product.vertex[root]]
    work[RANK] = 0
    hand_on(product, parts, work, sets.followed[: work[ROOTS]], sets.place[: work[ROOTS]], words)
    work[LEFT] = work[ENTERED] = 0
    for vertex in range(vertices):
        reached = 0
        now = sets.entered[vertex]
        for i in range(automaton.accepting.shape[0]):
            node = product.node_of[vertex, automaton.accepting[i]]
            if node >= 0:
                reach = parts.reach[parts.component[node]]
                if reached == 0:
                    for word in range(words):
                        now[word] = reach[word]
                else:
                    for word in range(words):
                        now[word] |= reach[word]
                reached += 1
        if reached == 0:
            if not sets.some[vertex]:
                continue
            for word in range(words):
                now[word] = np.uint64(0)
        bit = sets.bit[vertex]
        if automaton.flags[2] and bit >= 0:
            now[bit >> 6] &= ~(np.uint64(1) << np.uint64(bit & 63))
        held, gone = sets.held[vertex], sets.left[vertex]
        any_now, any_left, any_entered = np.uint64(0), np.uint64(0), np.uint64(0)
        for word in range(words):
            before, after = held[word], now[word]
            held[word] = after
            gone[word] = before & ~after
            now[word] = after & ~before
            any_now |= after
            any_left |= before & ~after
            any_entered |= after & ~before
        sets.some[vertex] = any_now != 0
        if any_left != 0:
            sets.left_at[work[LEFT]] = vertex
            work[LEFT] += 1
        if any_entered != 0:
            sets.entered_at[work[ENTERED]] = vertex
            work[ENTERED] += 1
    work[OLD_AT] = 0


@kernel
def number_entered(edges, product, sets, work):
    """Follow only the roots of what entered from now on: let them be the bits of `entered`, in the same order."""
    words = sets.held.shape[1]
    count = 0
    for word in range(words):
        bits = np.uint64(0)
        for i in range(work[ENTERED]):
            bits |= sets.entered[sets.entered_at[i], word]
        while bits != 0:
            bit = (word << 6) + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            vertex = sets.root[bit]
            sets.followed[count], sets.named[count] = product.node_of[vertex, 0], edges.term[vertex]
            sets.place[bit] = count  # by the bit that it has, for a moment
            count += 1
    for i in range(work[ENTERED]):
        entered = sets.entered[sets.entered_at[i]]
        for word in range(words):
            bits = entered[word]
            entered[word] = np.uint64(0)
            while bits != 0:
                # no place is greater than the bit, so what is overwritten has been read
                place = sets.place[(word << 6) + lowest_bit(bits)]
                bits &= bits - np.uint64(1)
                entered[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    for i in range(count):
        sets.place[i] = i
    work[ROOTS], work[WORDS] = count, (count + 63) >> 6
    work[RANK], work[NEW_AT] = product.ends.shape[0] - 1, 0


@kernel
def emit_roots(automaton, out, written, at, sign, until, names, bits, vertex, counting):
    """Deltas of the pairs of a vertex with the roots of a word; `names` are their terms."""
    first = written
    root_column = vertex_column = -1
    for column in range(automaton.projected.shape[0]):
        if automaton.projected[column] == 0:
            root_column = column
        else:
            vertex_column = column
    while bits != 0:
        if root_column >= 0:
            out.rows[written, root_column] = names[lowest_bit(bits)]
        if vertex_column >= 0:
            out.rows[written, vertex_column] = vertex
        bits &= bits - np.uint64(1)
        written += 1
    instants, ends, signs = out.at[first:written], out.until[first:written], out.sign[first:written]
    end = FOREVER if counting else until
    for i in range(instants.shape[0]):
        instants[i] = at
    for i in range(ends.shape[0]):
        ends[i] = end
    for i in range(signs.shape[0]):
        signs[i] = sign
    return written


@kernel
def tell_left(edges, automaton, sets, work, at, counting, out, written):
    """Deltas of the pairs that left; (deltas written, whether there was room for all)."""
    words = sets.held.shape[1]
    while work[OLD_AT] < work[LEFT]:
        if written + 64 * words > out.at.shape[0]:
            return written, False
        vertex = sets.left_at[work[OLD_AT]]
        work[OLD_AT] += 1
        left = sets.left[vertex]
        for word in range(words):
            if left[word] != 0:
                written = emit_roots(
                    automaton, out, written, at, -1, at, sets.term[word << 6 :], left[word], edges.term[vertex],
                    counting,
                )  # fmt: skip
    return written, True


@kernel
def tell_entered(edges, product, parts, automaton, sets, work, at, counting, out, written):
    """Deltas of the pairs that entered, from the latest end to the earliest, as far as there is a path by then.

    Returns (deltas written, whether there was room for all).
    """
    words = work[WORDS]
    while work[ENTERED] > 0:
        if product.used[work[RANK]] > 0:
            if work[NEW_AT] == 0:
                hand_on(product, parts, work, sets.followed[: work[ROOTS]], sets.place[: work[ROOTS]], words)
            until = product.ends[work[RANK]]
            while work[NEW_AT] < work[ENTERED]:
                if written + 64 * words > out.at.shape[0]:
                    return written, False
                vertex = sets.entered_at[work[NEW_AT]]
                work[NEW_AT] += 1
                entered = sets.entered[vertex]
                for i in range(automaton.accepting.shape[0]):
                    node = product.node_of[vertex, automaton.accepting[i]]
                    if node < 0 or parts.visit[node] == 0:
                        continue
                    reach = parts.reach[parts.component[node]]
                    for word in range(words):
                        reached = entered[word] & reach[word]
                        if reached != 0:
                            entered[word] &= ~reached
                            written = emit_roots(
                                automaton, out, written, at, 1, until, sets.named[word << 6 :], reached,
                                edges.term[vertex], counting,
                            )  # fmt: skip
            keep_entered(sets, work)
        work[RANK] -= 1
        work[NEW_AT] = 0
    return written, True


@kernel
def keep_entered(sets, work):
    """Leave out the vertices whose pairs are all told."""
    kept = 0
    for i in range(work[ENTERED]):
        vertex = sets.entered_at[i]
        rest = np.uint64(0)
        for word in range(work[WORDS]):
            rest |= sets.entered[vertex, word]
        if rest != 0:
            sets.entered_at[kept] = vertex
            kept += 1
    work[ENTERED] = kept


@kernel
def follow_stops(views, log, stops, edges, terms, automaton, product, parts, sets, work, counting, out):
    """Deltas of the evaluations after some log entries; (deltas written, whether all are told).

    Stops where an array is full; `work` knows how far it has come.
    """
    written = 0
    while work[STOP] < stops.shape[0]:
        stop = stops[work[STOP]]
        at = log.at[stop]
        if work[PHASE] == BUILD:
            if work[STOP] == 0:
                see_edges(views, edges, product.ends, stop + 1, counting)
            else:
                see_changes(views, log, edges, product.ends, stops[work[STOP] - 1] + 1, stop + 1, counting)
            build_product(edges, terms, automaton, product, work)
            work[PHASE] = CHANGE
        if work[PHASE] == CHANGE:
            if work[NODES] > parts.reach.shape[0]:
                return written, False
            change_sets(product, parts, automaton, sets, work)
            number_entered(edges, product, sets, work)
            work[PHASE] = TELL
        written, done = tell_left(edges, automaton, sets, work, at, counting, out, written)
        if done:
            written, done = tell_entered(edges, product, parts, automaton, sets, work, at, counting, out, written)
        if not done:
            return written, False
        work[PHASE] = BUILD
        work[STOP] += 1
    return written, True
