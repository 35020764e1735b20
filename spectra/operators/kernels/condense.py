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
from spectra.operators.kernels.bits import lowest_bit
from spectra.views.kernels.apply import end_at, visible

# what `work` holds: nodes, product edges and roots of an evaluation; the rank in work, how many nodes its components
# have, and the vertex whose pairs come next (-1: the components are not found yet); pairs found, those of them that
# enter, and those that leave; where telling stands in the old and in the new ones; which of several evaluations is in
# work, how far it has come, and how many words its sets take; counters
NODES, ARCS, ROOTS, RANK, ORDERED, CURSOR, FOUND, ENTERED, LEFT, OLD_AT, NEW_AT, STOP, PHASE, WORDS = range(14)
EDGES_PROBED, COMPONENTS, EVALUATIONS = range(14, 17)


class DrawnColumns(NamedTuple):
    """The edges that a batch can see, as they are found: row, label, and the terms that it leads from and to."""

    row: NDArray[np.int32]
    label: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]


class EdgeColumns(NamedTuple):
    """The edges that a batch can see, once for each way the path may follow them, by their source.

    `first` is where the edges of a vertex begin, and `place` where that of a row is, forward and backward, or -1.
    Vertices are numbered in the order of their `term`. `rank` is that of the end that an edge has at the evaluation in
    work, -1 where it is not there.
    """

    row: NDArray[np.int32]
    label: NDArray[np.int32]
    target: NDArray[np.int32]
    first: NDArray[np.int64]
    term: NDArray[np.int32]
    place: NDArray[np.int32]
    rank: NDArray[np.int32]


class ProductColumns(NamedTuple):
    """The product graph of an evaluation, roots first.

    `node_of` is the node of a vertex and a state, -1 where no root reaches it; `vertex` and `state` are of nodes.
    `first`, `target` and `rank` are the edges by their source, those that last longest first; an edge's rank is that of
    its end in `ends`, the ends that a batch can see, and `used` counts the edges of each. `drawn_…` are the edges as
    they were found, `by_rank` their order, and `put` is where the next one of a rank or of a node goes.
    """

    node_of: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    first: NDArray[np.int64]
    target: NDArray[np.int32]
    rank: NDArray[np.int32]
    ends: NDArray[np.int64]
    used: NDArray[np.int64]
    drawn_source: NDArray[np.int32]
    drawn_target: NDArray[np.int32]
    drawn_rank: NDArray[np.int32]
    by_rank: NDArray[np.int32]
    put: NDArray[np.int64]


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
def edges_of_batch(views, automaton, drawn, numbers, terms):
    """Draw the edges that are there at any position of the log, and list the terms between which they lead.

    Returns how many of both there are. `numbers` is -1 for the terms listed.
    """
    count = found = 0
    for row in range(views.subject.shape[0]):
        if views.valid_to[row] == NO_END:
            continue
        for direction in range(2):
            label = label_of(automaton, views.predicate[row], direction == 1)
            if label >= 0:
                drawn.row[count], drawn.label[count] = row, label
                drawn.source[count] = source_of(views, automaton, label, row)
                drawn.target[count] = target_of(views, automaton, label, row)
                for term in (drawn.source[count], drawn.target[count]):
                    if numbers[term] >= 0:
                        numbers[term] = -1
                        terms[found] = term
                        found += 1
                count += 1
    return count, found


@kernel
def order_edges(automaton, drawn, count, numbers, edges):
    """Put the edges in the order of their sources; the terms are in order."""
    edges.first[:] = 0
    for vertex in range(edges.term.shape[0]):
        numbers[edges.term[vertex]] = vertex
    for i in range(count):
        edges.first[numbers[drawn.source[i]] + 1] += 1
    for vertex in range(edges.term.shape[0]):
        edges.first[vertex + 1] += edges.first[vertex]
    for i in range(count - 1, -1, -1):
        # from the last one on: `first` is where the next source begins, until all edges of this one are there
        source = numbers[drawn.source[i]]
        edges.first[source + 1] -= 1
        put = edges.first[source + 1]
        edges.row[put], edges.label[put] = drawn.row[i], drawn.label[i]
        edges.target[put] = numbers[drawn.target[i]]
        edges.place[drawn.row[i], np.int64(automaton.label_backward[drawn.label[i]])] = put
    for vertex in range(edges.term.shape[0]):
        edges.first[vertex] = edges.first[vertex + 1]
    edges.first[edges.term.shape[0]] = count


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
def see_edge(views, edges, ends, edge, position, counting):
    """Let an edge be as it is at a log position.

    In a count window ends are no times and nobody is told them: there all have the same rank.
    """
    row = edges.row[edge]
    rank = -1
    if visible(views, row, position):
        rank = 0 if counting else rank_of(ends, end_at(views, row, position))
    edges.rank[edge] = rank


@kernel
def see_edges(views, edges, ends, position, counting):
    """Let all edges be as they are at a log position."""
    for edge in range(edges.row.shape[0]):
        see_edge(views, edges, ends, edge, position, counting)


@kernel
def see_changes(views, log, edges, ends, first, last, counting):
    """Let the edges of the log entries [first, last) be as they are after these."""
    for entry in range(first, last):
        for direction in range(2):
            edge = edges.place[log.row[entry], direction]
            if edge >= 0:
                see_edge(views, edges, ends, edge, last, counting)


@kernel
def build_product(edges, terms, automaton, product, work):
    """The part of the product graph that roots reach by edges that are there."""
    work[NODES] = work[ARCS] = 0
    product.node_of[:] = -1
    product.used[:] = 0
    for vertex in range(edges.term.shape[0]):
        if may_be_root(terms, automaton, edges.term[vertex]):
            for edge in range(edges.first[vertex], edges.first[vertex + 1]):
                if edges.rank[edge] >= 0 and automaton.moves[0, edges.label[edge]] >= 0:
                    reached_node(product, work, vertex, 0)
                    break
    work[ROOTS] = work[NODES]
    node = 0
    while node < work[NODES]:
        product.first[node] = work[ARCS]
        vertex, state = product.vertex[node], product.state[node]
        for edge in range(edges.first[vertex], edges.first[vertex + 1]):
            following = automaton.moves[state, edges.label[edge]]
            rank = edges.rank[edge]
            if following >= 0 and rank >= 0:
                arc = work[ARCS]
                work[ARCS] = arc + 1
                product.drawn_source[arc] = node
                product.drawn_target[arc] = reached_node(product, work, edges.target[edge], following)
                product.drawn_rank[arc] = rank
                product.used[rank] += 1
        work[EDGES_PROBED] += edges.first[vertex + 1] - edges.first[vertex]
        node += 1
    product.first[node] = work[ARCS]
    work[EVALUATIONS] += 1
    sort_arcs(product, work)


@kernel
def sort_arcs(product, work):
    """Put the edges of every node in order, the greatest rank first."""
    before = np.int64(0)
    for rank in range(product.ends.shape[0] - 1, -1, -1):
        product.put[rank] = before
        before += product.used[rank]
    for arc in range(work[ARCS]):
        rank = product.drawn_rank[arc]
        product.by_rank[product.put[rank]] = arc
        product.put[rank] += 1
    for node in range(work[NODES]):
        product.put[node] = product.first[node]
    for i in range(work[ARCS]):
        arc = product.by_rank[i]
        source = product.drawn_source[arc]
        put = product.put[source]
        product.put[source] = put + 1
        product.target[put] = product.drawn_target[arc]
        product.rank[put] = product.drawn_rank[arc]


# --- components -----------------------------------------------------------------------------


@kernel
def find_components(product, parts, work, roots):
    """The components that some roots reach by edges of at least the rank in work, by Tarjan's algorithm.

    A root that no such edge leaves is left out, unless another one reaches it.
    """
    rank = work[RANK]
    parts.visit[: work[NODES]] = 0
    counter = ordered = components = waiting = 0
    for i in range(roots.shape[0]):
        root = roots[i]
        first = product.first[root]
        depth = 0
        if parts.visit[root] == 0 and first < product.first[root + 1] and product.rank[first] >= rank:
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
            while arc < last and below < 0 and product.rank[arc] >= rank:
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
def hand_on(product, parts, work, roots, bits, words):
    """Find components and give every one the roots that reach it; `bits` says which bit each root is."""
    components = find_components(product, parts, work, roots)
    rank = work[RANK]
    for component in range(components):
        reach = parts.reach[component]
        for word in range(words):
            reach[word] = np.uint64(0)
    for i in range(roots.shape[0]):
        if parts.visit[roots[i]] != 0:
            parts.reach[parts.component[roots[i]], bits[i] >> 6] |= np.uint64(1) << np.uint64(bits[i] & 63)
    for i in range(work[ORDERED] - 1, -1, -1):
        node = parts.order[i]
        component = parts.component[node]
        reach = parts.reach[component]
        for arc in range(product.first[node], product.first[node + 1]):
            if product.rank[arc] < rank:
                break
            target = parts.component[product.target[arc]]
            if target != component:
                onward = parts.reach[target]
                for word in range(words):
                    onward[word] |= reach[word]


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
def find_pairs(edges, product, parts, automaton, found, work, roots, bits):
    """The pairs of some roots, from the rank in work down; False for want of room, to go on with more."""
    while work[RANK] >= 0:
        if product.used[work[RANK]] > 0:
            if work[CURSOR] < 0:
                hand_on(product, parts, work, roots, bits, parts.reach.shape[1])
                work[CURSOR] = 0
            if not list_new(edges, product, parts, automaton, found, work, roots[0]):
                return False
        work[RANK] -= 1
        work[CURSOR] = -1
    return True


@kernel
def find_ends(product, parts, automaton, found, entered, work, roots, bits, pairs):
    """Write when pairs end that have entered: the first `ENTERED` numbers in `entered`, those of some roots."""
    waiting = 0
    first_root, last_root = roots[0], roots[-1] + 1
    for i in range(work[ENTERED]):
        if first_root <= found.root[entered[i]] < last_root:
            entered[waiting], entered[i] = entered[i], entered[waiting]
            waiting += 1
    work[RANK] = product.ends.shape[0] - 1
    while waiting > 0:
        if product.used[work[RANK]] > 0:
            hand_on(product, parts, work, roots, bits, parts.reach.shape[1])
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
