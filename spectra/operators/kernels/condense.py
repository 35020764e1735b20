"""Paths of a whole window at once: components of the product graph, and sets of roots along their order.

The product graph has a node for each vertex and state that a root reaches. What lasts at least until some end is a
part of it; from the latest end to the earliest the part grows, and the first one in which a root reaches a vertex
tells when their pair ends. In each part, nodes that reach one another are one *component*, and the roots of a
component, a bit each, are handed to the components that it leads to, those before it first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import (
    count_term,
    emit,
    emit_change,
    is_asked,
    label_of,
    may_be_root,
    source_of,
    target_of,
)
from spectra.views.kernels.apply import end_at, visible

# what `work` holds: nodes, product edges and roots of an evaluation; the rank in work, how many nodes its components
# have, and the vertex whose pairs come next (-1: the components are not found yet); pairs found, those of them that
# enter, and those that leave; where telling stands in the old and in the new ones; counters
NODES, ARCS, ROOTS, RANK, ORDERED, CURSOR, FOUND, ENTERED, LEFT, OLD_AT, NEW_AT = range(11)
EDGES_PROBED, COMPONENTS, EVALUATIONS = range(11, 14)


class EdgeColumns(NamedTuple):
    """The edges that a batch can see, once for each way the path may follow them, by their source.

    `first` is where the edges of a vertex begin. Vertices are numbered in the order of their `term`.
    """

    row: NDArray[np.int32]
    label: NDArray[np.int32]
    target: NDArray[np.int32]
    first: NDArray[np.int64]
    term: NDArray[np.int32]


class ProductColumns(NamedTuple):
    """The product graph of an evaluation, roots first.

    `node_of` is the node of a vertex and a state, -1 where no root reaches it; `vertex` and `accepting` are of nodes.
    `first`, `target` and `rank` are the edges by their source; an edge's rank is that of its end in `ends`, the
    ends that a batch can see, and `used` tells which of them an edge has.
    """

    node_of: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    first: NDArray[np.int64]
    target: NDArray[np.int32]
    rank: NDArray[np.int32]
    ends: NDArray[np.int64]
    used: NDArray[np.bool_]


class ComponentColumns(NamedTuple):
    """Components of what is left of the product graph at some rank.

    `visit` and `low` are those of Tarjan's algorithm (0: not seen), `component` is -1 for a node on the stack.
    `order` lists the nodes, those of a component together, no component before one that it leads to. `frame` and
    `edge` are the path of the search. `reach` has the roots of each component, `seen` those of each vertex at
    later ends, a bit each.
    """

    visit: NDArray[np.int32]
    low: NDArray[np.int32]
    component: NDArray[np.int32]
    stack: NDArray[np.int32]
    order: NDArray[np.int32]
    frame: NDArray[np.int32]
    edge: NDArray[np.int64]
    reach: NDArray[np.uint64]
    seen: NDArray[np.uint64]


class SetColumns(NamedTuple):
    """The pairs of an evaluation as sets, where edges are numbered alike for several of them.

    `root` is the vertex of each bit, `bit` the bit of each vertex or -1. A row of `held` has the roots of a vertex;
    `entered` and `left` are those that came and went, as far as they are not told, and `entered_at` and `left_at` the
    vertices that have some.
    """

    root: NDArray[np.int32]
    bit: NDArray[np.int32]
    held: NDArray[np.uint64]
    entered: NDArray[np.uint64]
    left: NDArray[np.uint64]
    entered_at: NDArray[np.int32]
    left_at: NDArray[np.int32]


class FoundColumns(NamedTuple):
    """Pairs as they are found: numbers of root and vertex, rank of the end."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    rank: NDArray[np.int32]


class PairColumns(NamedTuple):
    """Pairs in order, with their ends."""

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    until: NDArray[np.int64]


# --- the graph ------------------------------------------------------------------------------


@kernel
def is_followed(views, automaton, row):
    """Whether the path can follow an edge, either way."""
    predicate = views.predicate[row]
    return label_of(automaton, predicate, False) >= 0 or label_of(automaton, predicate, True) >= 0


@kernel
def followed_entries(views, log, entries, automaton, followed):
    """Mark the log entries of edges that the path can follow."""
    for entry in range(entries):
        followed[entry] = is_followed(views, automaton, log.row[entry])


@kernel
def edges_of_batch(views, automaton, rows, labels, sources, targets):
    """The edges that are there at any position of the log, with labels and the terms they lead from and to."""
    count = 0
    for row in range(views.subject.shape[0]):
        if views.valid_to[row] == NO_END:
            continue
        for direction in range(2):
            label = label_of(automaton, views.predicate[row], direction == 1)
            if label >= 0:
                rows[count], labels[count] = row, label
                sources[count] = source_of(views, automaton, label, row)
                targets[count] = target_of(views, automaton, label, row)
                count += 1
    return count


@kernel
def rank_of(ends, end):
    """The place of an end among those that there are, in order."""
    low, high = 0, ends.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if ends[middle] < end:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def reached_node(product, work, vertex, state):
    """The node of a vertex and a state, a new one where there was none."""
    node = product.node_of[vertex, state]
    if node < 0:
        node = work[NODES]
        work[NODES] = node + 1
        product.node_of[vertex, state] = node
        product.vertex[node] = vertex
        product.state[node] = state
    return node


@kernel
def build_product(views, edges, terms, automaton, position, counting, product, work):
    """The part of the product graph that roots reach at a log position.

    In a count window ends are no times and nobody is told them: there all have the same rank.
    """
    work[NODES] = work[ARCS] = 0
    product.node_of[:] = -1
    product.used[:] = False
    for vertex in range(edges.term.shape[0]):
        if may_be_root(terms, automaton, edges.term[vertex]):
            for edge in range(edges.first[vertex], edges.first[vertex + 1]):
                if automaton.moves[0, edges.label[edge]] >= 0 and visible(views, edges.row[edge], position):
                    reached_node(product, work, vertex, 0)
                    break
    work[ROOTS] = work[NODES]
    node = 0
    while node < work[NODES]:
        product.first[node] = work[ARCS]
        vertex, state = product.vertex[node], product.state[node]
        for edge in range(edges.first[vertex], edges.first[vertex + 1]):
            following = automaton.moves[state, edges.label[edge]]
            if following >= 0 and visible(views, edges.row[edge], position):
                arc = work[ARCS]
                work[ARCS] = arc + 1
                product.target[arc] = reached_node(product, work, edges.target[edge], following)
                rank = 0 if counting else rank_of(product.ends, end_at(views, edges.row[edge], position))
                product.rank[arc] = rank
                product.used[rank] = True
        work[EDGES_PROBED] += edges.first[vertex + 1] - edges.first[vertex]
        node += 1
    product.first[node] = work[ARCS]
    work[EVALUATIONS] += 1


# --- components -----------------------------------------------------------------------------


@kernel
def find_components(product, parts, work, first_root, last_root):
    """The components that some roots reach by edges of at least the rank in work, by Tarjan's algorithm."""
    rank = work[RANK]
    parts.visit[: work[NODES]] = 0
    counter = ordered = components = waiting = 0
    for root in range(first_root, last_root):
        depth = 0
        if parts.visit[root] == 0:
            parts.frame[0], depth = root, 1
        while depth > 0:
            node = parts.frame[depth - 1]
            if parts.visit[node] == 0:
                counter += 1
                parts.visit[node] = parts.low[node] = counter
                parts.component[node] = -1
                parts.edge[depth - 1] = product.first[node]
                parts.stack[waiting] = node
                waiting += 1
            arc = parts.edge[depth - 1]
            last = product.first[node + 1]
            below = -1
            while arc < last and below < 0:
                if product.rank[arc] >= rank:
                    target = product.target[arc]
                    if parts.visit[target] == 0:
                        below = target
                    elif parts.component[target] < 0:
                        parts.low[node] = min(parts.low[node], parts.visit[target])
                arc += 1
            parts.edge[depth - 1] = arc
            if below >= 0:
                parts.frame[depth] = below
                depth += 1
                continue
            if parts.low[node] == parts.visit[node]:
                member = -1
                while member != node:
                    waiting -= 1
                    member = parts.stack[waiting]
                    parts.component[member] = components
                    parts.order[ordered] = member
                    ordered += 1
                components += 1
            depth -= 1
            if depth > 0:
                above = parts.frame[depth - 1]
                parts.low[above] = min(parts.low[above], parts.low[node])
    work[ORDERED] = ordered
    work[COMPONENTS] += components
    return components


@kernel
def hand_on(product, parts, work, components, first_root, last_root, bits):
    """Give every component the roots that reach it; `bits` says which bit each root is."""
    words = parts.reach.shape[1]
    rank = work[RANK]
    for component in range(components):
        for word in range(words):
            parts.reach[component, word] = np.uint64(0)
    for root in range(first_root, last_root):
        bit = bits[root]
        parts.reach[parts.component[root], bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
    for i in range(work[ORDERED] - 1, -1, -1):
        node = parts.order[i]
        component = parts.component[node]
        for arc in range(product.first[node], product.first[node + 1]):
            if product.rank[arc] >= rank:
                target = parts.component[product.target[arc]]
                if target != component:
                    for word in range(words):
                        parts.reach[target, word] |= parts.reach[component, word]


@kernel
def lowest_bit(bits):
    """The place of the lowest bit that is set: the number of those below it."""
    below = (bits & (~bits + np.uint64(1))) - np.uint64(1)
    below -= (below >> np.uint64(1)) & np.uint64(0x5555555555555555)
    below = (below & np.uint64(0x3333333333333333)) + ((below >> np.uint64(2)) & np.uint64(0x3333333333333333))
    below = (below + (below >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    below += below >> np.uint64(8)
    below += below >> np.uint64(16)
    below += below >> np.uint64(32)
    return np.int64(below & np.uint64(127))


@kernel
def list_new(edges, product, parts, automaton, found, work, first_root):
    """List the pairs that no part of later ends has; False for want of room."""
    words = parts.reach.shape[1]
    room = found.root.shape[0] - 64 * words
    some = automaton.ends[1] != 0 or automaton.flags[0]
    while work[CURSOR] < edges.term.shape[0]:
        if work[FOUND] > room:
            return False
        vertex, count = work[CURSOR], work[FOUND]
        for word in range(words):
            bits = np.uint64(0)
            for i in range(automaton.accepting.shape[0]):
                node = product.node_of[vertex, automaton.accepting[i]]
                if node >= 0 and parts.visit[node] != 0:
                    bits |= parts.reach[parts.component[node], word]
            bits &= ~parts.seen[vertex, word]
            parts.seen[vertex, word] |= bits
            while bits != 0:
                root = first_root + (word << 6) + lowest_bit(bits)
                bits &= bits - np.uint64(1)
                itself = product.vertex[root] == vertex
                if not (some or itself) or is_asked(automaton, edges.term[product.vertex[root]], edges.term[vertex]):
                    found.root[count], found.vertex[count], found.rank[count] = root, vertex, work[RANK]
                    count += 1
        work[FOUND] = count
        work[CURSOR] += 1
    return True


@kernel
def find_pairs(edges, product, parts, automaton, found, work, first_root, last_root, bits):
    """The pairs of some roots, from the rank in work down; False for want of room, to go on with more."""
    while work[RANK] >= 0:
        if product.used[work[RANK]]:
            if work[CURSOR] < 0:
                components = find_components(product, parts, work, first_root, last_root)
                hand_on(product, parts, work, components, first_root, last_root, bits)
                work[CURSOR] = 0
            if not list_new(edges, product, parts, automaton, found, work, first_root):
                return False
        work[RANK] -= 1
        work[CURSOR] = -1
    return True


@kernel
def find_ends(product, parts, automaton, found, entered, work, first_root, last_root, bits, pairs):
    """Write when pairs end that have entered: the first `ENTERED` numbers in `entered`, those of some roots."""
    waiting = 0
    for i in range(work[ENTERED]):
        if first_root <= found.root[entered[i]] < last_root:
            entered[waiting], entered[i] = entered[i], entered[waiting]
            waiting += 1
    work[RANK] = product.ends.shape[0] - 1
    while waiting > 0:
        if product.used[work[RANK]]:
            components = find_components(product, parts, work, first_root, last_root)
            hand_on(product, parts, work, components, first_root, last_root, bits)
            kept = 0
            for i in range(waiting):
                pair = entered[i]
                bit = found.root[pair] - first_root
                reached = False
                for j in range(automaton.accepting.shape[0]):
                    node = product.node_of[found.vertex[pair], automaton.accepting[j]]
                    if node >= 0 and parts.visit[node] != 0:
                        others = parts.reach[parts.component[node], bit >> 6] >> np.uint64(bit & 63)
                        reached = reached or others & np.uint64(1) != 0
                if reached:
                    pairs.until[pair] = product.ends[work[RANK]]
                else:
                    entered[kept], entered[i] = pair, entered[kept]
                    kept += 1
            waiting = kept
        work[RANK] -= 1


# --- pairs ----------------------------------------------------------------------------------


@kernel
def sort_found(found, between, counts, work):
    """Put the pairs found in order, by vertex and then by root."""
    count = work[FOUND]
    counts[:] = 0
    for i in range(count):
        counts[found.root[i] + 1] += 1
    for root in range(counts.shape[0] - 1):
        counts[root + 1] += counts[root]
    for i in range(count):
        place = counts[found.root[i]]
        counts[found.root[i]] = place + 1
        between.root[place], between.vertex[place], between.rank[place] = found.root[i], found.vertex[i], found.rank[i]
    counts[:] = 0
    for i in range(count):
        counts[between.vertex[i] + 1] += 1
    for vertex in range(counts.shape[0] - 1):
        counts[vertex + 1] += counts[vertex]
    for i in range(count):
        place = counts[between.vertex[i]]
        counts[between.vertex[i]] = place + 1
        found.root[place], found.vertex[place], found.rank[place] = between.root[i], between.vertex[i], between.rank[i]


@kernel
def write_pairs(edges, product, found, work, counting, pairs):
    """Write the pairs found as terms with ends."""
    for i in range(work[FOUND]):
        pairs.root[i] = edges.term[product.vertex[found.root[i]]]
        pairs.vertex[i] = edges.term[found.vertex[i]]
        pairs.until[i] = FOREVER if counting else product.ends[found.rank[i]]


@kernel
def order_of(old, held, before, new, count, after):
    """-1 where a pair of `old` comes first, 1 where one of `new` does, 0 where both have it."""
    if before == held:
        return 1
    if after == count:
        return -1
    if old.vertex[before] != new.vertex[after]:
        return -1 if old.vertex[before] < new.vertex[after] else 1
    if old.root[before] != new.root[after]:
        return -1 if old.root[before] < new.root[after] else 1
    return 0


@kernel
def find_changes(edges, product, found, old, held, new, entered, left, work):
    """Write the pairs found as terms, and number those of them that enter and the old ones that leave.

    Those that were there keep the ends that were told.
    """
    before = after = entering = leaving = 0
    count = work[FOUND]
    while before < held or after < count:
        if after < count:
            new.root[after] = edges.term[product.vertex[found.root[after]]]
            new.vertex[after] = edges.term[found.vertex[after]]
        order = order_of(old, held, before, new, count, after)
        if order == 0:
            new.until[after] = old.until[before]
        elif order > 0:
            entered[entering] = after
            entering += 1
        else:
            left[leaving] = before
            leaving += 1
        if order <= 0:
            before += 1
        if order >= 0:
            after += 1
    work[ENTERED], work[LEFT] = entering, leaving


@kernel
def tell_changes(old, new, entered, left, work, automaton, at, counting, out):
    """Deltas of the pairs that leave and enter; (deltas written, whether there was room for all)."""
    written = 0
    room = out.at.shape[0]
    while work[OLD_AT] < work[LEFT] and written < room:
        pair = left[work[OLD_AT]]
        written = emit(automaton, out, written, at, -1, old.until[pair], old.root[pair], old.vertex[pair], counting)
        work[OLD_AT] += 1
    while work[NEW_AT] < work[ENTERED] and written < room:
        pair = entered[work[NEW_AT]]
        written = emit(automaton, out, written, at, 1, new.until[pair], new.root[pair], new.vertex[pair], counting)
        work[NEW_AT] += 1
    return written, work[OLD_AT] == work[LEFT] and work[NEW_AT] == work[ENTERED]


@kernel
def compare_pairs(old, held, new, work, automaton, at, counting, removals, extensions, out):
    """Deltas from `held` pairs to those found, both in order; (deltas written, whether there was room for all).

    Ends are exact, so what leaves at its end has expired and what leaves before has been deleted.
    """
    written = 0
    room = out.at.shape[0] - 1
    count = work[FOUND]
    before, after = work[OLD_AT], work[NEW_AT]
    while (before < held or after < count) and written < room:
        order = order_of(old, held, before, new, count, after)
        if order < 0:
            if removals or old.until[before] > at:
                root, vertex = old.root[before], old.vertex[before]
                written = emit(automaton, out, written, at, -1, old.until[before], root, vertex, counting)
        elif order > 0:
            root, vertex = new.root[after], new.vertex[after]
            written = emit(automaton, out, written, at, 1, new.until[after], root, vertex, counting)
        elif extensions and old.until[before] != new.until[after]:
            written = emit_change(
                automaton, out, written, at, old.until[before], new.until[after], new.root[after], new.vertex[after],
                counting, extensions,
            )  # fmt: skip
        if order <= 0:
            before += 1
        if order >= 0:
            after += 1
    work[OLD_AT], work[NEW_AT] = before, after
    return written, before == held and after == count


# --- pairs as sets --------------------------------------------------------------------------


@kernel
def number_of(edges, term):
    """The number of a vertex."""
    low, high = 0, edges.term.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if edges.term[middle] < term:
            low = middle + 1
        else:
            high = middle
    return low


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
def put_into_sets(edges, sets, pairs, held):
    """Put pairs into sets that are empty."""
    vertex = root = np.int64(-1)
    for i in range(held):
        if i == 0 or pairs.vertex[i] != pairs.vertex[i - 1]:
            vertex = number_of(edges, pairs.vertex[i])
        root = number_of(edges, pairs.root[i])
        bit = sets.bit[root]
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
                    pairs.root[count] = edges.term[sets.root[(word << 6) + lowest_bit(bits)]]
                    pairs.vertex[count], pairs.until[count] = edges.term[vertex], until
                bits &= bits - np.uint64(1)
                count += 1
    return count


@kernel
def change_sets(product, parts, automaton, sets, work, bits):
    """Put the pairs of an evaluation into the sets, and note which entered and left."""
    vertices, words = sets.held.shape
    components = find_components(product, parts, work, 0, work[ROOTS])
    hand_on(product, parts, work, components, 0, work[ROOTS], bits)
    work[LEFT] = work[ENTERED] = 0
    for vertex in range(vertices):
        for word in range(words):
            sets.entered[vertex, word] = np.uint64(0)
        for i in range(automaton.accepting.shape[0]):
            node = product.node_of[vertex, automaton.accepting[i]]
            if node >= 0:
                component = parts.component[node]
                for word in range(words):
                    sets.entered[vertex, word] |= parts.reach[component, word]
        bit = sets.bit[vertex]
        if automaton.flags[2] and bit >= 0:
            sets.entered[vertex, bit >> 6] &= ~(np.uint64(1) << np.uint64(bit & 63))
        left, entered = np.uint64(0), np.uint64(0)
        for word in range(words):
            held, now = sets.held[vertex, word], sets.entered[vertex, word]
            sets.held[vertex, word] = now
            sets.left[vertex, word], sets.entered[vertex, word] = held & ~now, now & ~held
            left |= held & ~now
            entered |= now & ~held
        if left != 0:
            sets.left_at[work[LEFT]] = vertex
            work[LEFT] += 1
        if entered != 0:
            sets.entered_at[work[ENTERED]] = vertex
            work[ENTERED] += 1
    work[RANK], work[OLD_AT], work[NEW_AT] = product.ends.shape[0] - 1, 0, 0


@kernel
def tell_sets(edges, product, parts, automaton, sets, work, at, counting, bits, out):
    """Deltas of what changed in the sets; (deltas written, whether there was room for all).

    First what left. Then, from the latest end to the earliest, what entered as far as there is a path by then.
    """
    written = 0
    words = sets.held.shape[1]
    room = out.at.shape[0] - 64
    while work[OLD_AT] < work[LEFT] * words:
        if written > room:
            return written, False
        vertex, word = sets.left_at[work[OLD_AT] // words], work[OLD_AT] % words
        left = sets.left[vertex, word]
        written = emit_bits(edges, automaton, sets, out, written, at, -1, at, vertex, word, left, counting)
        work[OLD_AT] += 1
    while work[ENTERED] > 0:
        if product.used[work[RANK]]:
            if work[NEW_AT] == 0:
                components = find_components(product, parts, work, 0, work[ROOTS])
                hand_on(product, parts, work, components, 0, work[ROOTS], bits)
            while work[NEW_AT] < work[ENTERED] * words:
                if written > room:
                    return written, False
                vertex, word = sets.entered_at[work[NEW_AT] // words], work[NEW_AT] % words
                work[NEW_AT] += 1
                entered = sets.entered[vertex, word]
                if entered == 0:
                    continue
                reached = np.uint64(0)
                for i in range(automaton.accepting.shape[0]):
                    node = product.node_of[vertex, automaton.accepting[i]]
                    if node >= 0 and parts.visit[node] != 0:
                        reached |= parts.reach[parts.component[node], word]
                sets.entered[vertex, word] = entered & ~reached
                written = emit_bits(
                    edges, automaton, sets, out, written, at, 1, product.ends[work[RANK]], vertex, word,
                    entered & reached, counting,
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
        for word in range(sets.entered.shape[1]):
            rest |= sets.entered[vertex, word]
        if rest != 0:
            sets.entered_at[kept] = vertex
            kept += 1
    work[ENTERED] = kept


@kernel
def emit_bits(edges, automaton, sets, out, written, at, sign, until, vertex, word, bits, counting):
    """Deltas of the pairs of a vertex with some of its roots."""
    while bits != 0:
        root = edges.term[sets.root[(word << 6) + lowest_bit(bits)]]
        bits &= bits - np.uint64(1)
        written = emit(automaton, out, written, at, sign, until, root, edges.term[vertex], counting)
    return written


@kernel
def count_terms(views, log, first, last, terms, automaton, counting, removals, extensions, out):
    """Deltas of the empty path in the log entries [first, last): (entry to go on with, deltas written)."""
    written = 0
    for entry in range(first, last):
        if written + 4 > out.at.shape[0]:
            return entry, written
        for side in range(2):
            written = count_term(
                views, terms, automaton, out, written, log.at[entry], log.kind[entry], log.row[entry], side, entry + 1,
                counting, removals, extensions,
            )  # fmt: skip
    return last, written
