"""Pairs that simple paths connect, over the Δ-trees of paths that do not come back to their root.

The trees say until when a pair is connected by any such path, which no simple path outlasts. The tree's own path,
its loops left out, is nearly always a simple one; then the pair lasts as long as the tree says. Where leaving out a
loop breaks the word there is a *conflict*: the pair is looked for among simple paths (`kernels/simple_paths.py`), and
its end is kept beside the trees.

Nodes of the trees have *markings*. All are marked but those that lead to a pair in conflict by edges that last longer
than the pair does: the search that could not find a longer path has *unmarked* these. A step to a marked node
that gains nothing by it is forgotten, as in trees of arbitrary paths: every path through it has an equal one. A step to
an unmarked node is an *extension*: the pairs for which it is unmarked are looked for again, unless the step cannot help
them (`kernels/conflicts.py`). A node is marked again when no pair in conflict needs it.
"""

from __future__ import annotations

import numpy as np

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import (
    emit_change,
    first_edge,
    fits,
    is_asked,
    label_of,
    source_of,
    target_of,
)
from spectra.operators.kernels.conflicts import (
    EXTENDED,
    FIRST_END,
    FREE,
    FULL_LINKS,
    OVER,
    SEARCHES,
    STAMP,
    TELLING,
    USED,
    close_conflicts,
    conflict_end,
    drop_conflict,
    find_conflict,
    first_link,
    is_futile,
    keep_conflict,
    next_link,
    open_conflicts,
    unmark_known,
)
from spectra.operators.kernels.delta_trees import end_of, find_node, first_of, product_of, state_of, vertex_of
from spectra.operators.kernels.derivations import PHASE, result_end
from spectra.operators.kernels.pairs import COLLECTED, TOLD, collect_pair, forget_pairs
from spectra.operators.kernels.simple_paths import (
    FULL,
    GATED,
    KNOWN,
    LIMIT,
    VISITED,
    forget_known,
    know,
    last_simple_path,
)
from spectra.operators.kernels.spath import BEGIN, goes_on
from spectra.operators.kernels.spath import follow_log as follow_trees
from spectra.views.kernels.apply import DELETED, EXPIRED, end_at


@kernel
def drop_unconnected(trees, automaton, conflicts):
    """Drop the conflicts of pairs that no path connects any more."""
    for entry in range(conflicts.root.shape[0]):
        if conflicts.used[entry]:
            root, vertex = conflicts.root[entry], conflicts.vertex[entry]
            if result_end(trees, automaton, root, vertex, np.int64(-1)) == NO_END:
                drop_conflict(conflicts, entry)


@kernel
def known_end(trees, automaton, conflicts, root, vertex):
    """Until when a pair is known to be connected, `NO_END` where it is not."""
    entry = find_conflict(conflicts, root, vertex)
    if entry >= 0:
        return conflict_end(conflicts, entry)
    return result_end(trees, automaton, root, vertex, np.int64(-1))


@kernel
def label_along(views, trees, automaton, node):
    """The label of the edge that a node was derived by."""
    row, parent = trees.via[node], trees.parent[node]
    source = np.int64(trees.root[node]) if parent < 0 else np.int64(vertex_of(trees, trees.product[parent]))
    state = np.int64(0) if parent < 0 else np.int64(state_of(trees, trees.product[parent]))
    forward = label_of(automaton, views.predicate[row], False)
    if (
        forward >= 0
        and views.subject[row] == source
        and views.object[row] == vertex_of(trees, trees.product[node])
        and automaton.moves[state, forward] == state_of(trees, trees.product[node])
    ):
        return forward
    return label_of(automaton, views.predicate[row], True)


@kernel
def is_simple(views, trees, automaton, search, node):
    """Whether the tree path to a node, with its loops left out, is still a word of the language.

    False also for want of room, which `search` then says.
    """
    steps = 0
    root = trees.root[node]
    while node >= 0:
        if steps == search.done.shape[0]:
            search.tally[FULL] = 1
            return False
        search.done[steps] = node
        steps += 1
        node = trees.parent[node]
    search.vertex[0] = root
    search.state[0] = 0
    search.on_path[root] = 1
    depth = 0
    accepted = True
    while steps > 0 and accepted:
        steps -= 1
        node = search.done[steps]
        vertex = vertex_of(trees, trees.product[node])
        following = automaton.moves[search.state[depth], label_along(views, trees, automaton, node)]
        if following < 0:
            accepted = False
        elif search.on_path[vertex] > 0:
            while search.vertex[depth] != vertex:
                search.on_path[search.vertex[depth]] = 0
                depth -= 1
        else:
            depth += 1
            search.vertex[depth] = vertex
            search.state[depth] = following
            search.on_path[vertex] = depth + 1
    accepted = accepted and automaton.is_accepting[search.state[depth]]
    for at in range(depth + 1):
        search.on_path[search.vertex[at]] = 0
    return accepted


# --- which pairs a log entry may change -----------------------------------------------------


@kernel
def collect_extensions(trees, conflicts, links, pairs, arrivals):
    """Collect the conflicts that steps to unmarked nodes may improve; False for want of room.

    Those for which the step is futile are left out.
    """
    while arrivals.size[0] > 0:
        last = arrivals.size[0] - 1
        node, parent, reach = arrivals.node[last], arrivals.parent[last], arrivals.reach[last]
        conflicts.tally[EXTENDED] += 1
        conflicts.tally[STAMP] += 1
        if parent >= 0:
            close_conflicts(trees, conflicts, links, parent)
        at = first_link(trees, conflicts, links, node)
        while at >= 0:
            conflict = links.conflict[at]
            known = conflict_end(conflicts, conflict)
            if known < reach and not is_futile(conflicts, links, at):
                if pairs.size[COLLECTED] == pairs.before.shape[0]:
                    return False
                collect_pair(pairs, conflicts.root[conflict], conflicts.vertex[conflict], known)
            at = next_link(conflicts, links, at)
        arrivals.size[0] = last
    return True


@kernel
def reach_from(views, automaton, search, vertex, state, position):
    """Get to know the vertices and states that paths from one lead to; False for want of room.

    Edges that come after the position count as well: several are told together.
    """
    states = automaton.moves.shape[0]
    forget_known(search)
    if not know(search, np.int64(vertex) * states + state, np.int64(NO_END), GATED):
        return False
    first = 0
    while first < search.tally[KNOWN]:
        vertex, state = search.product[first] // states, search.product[first] % states
        first += 1
        for label in range(automaton.label_predicate.shape[0]):
            following = automaton.moves[state, label]
            if following < 0:
                continue
            index, row, _ = first_edge(views, automaton, label, vertex, False)
            while row >= 0:
                if views.gone[row] > position and fits(views, automaton, label, row):
                    product = np.int64(target_of(views, automaton, label, row)) * states + following
                    if not know(search, product, np.int64(NO_END), GATED):
                        return False
                row = views.lists.after[index, row]
    return True


@kernel
def collect_users(trees, pairs, automaton, conflicts, search, root, end):
    """Collect the pairs of a root whose path may have used a deleted edge: those that it leads to, and that do not
    outlast it; False for want of room.
    """
    states = automaton.moves.shape[0]
    for number in range(search.tally[KNOWN]):
        vertex, state = search.product[number] // states, search.product[number] % states
        if automaton.is_accepting[state] and is_asked(automaton, root, vertex):
            if pairs.size[COLLECTED] == pairs.before.shape[0]:
                return False
            known = known_end(trees, automaton, conflicts, root, vertex)
            if NO_END < known <= end:
                collect_pair(pairs, root, vertex, known)
    return True


@kernel
def collect_deleted(views, trees, pairs, automaton, conflicts, links, search, row, position):
    """Collect what the deletion of an edge may change although its tree path stays.

    False for want of room; then it is done again, and what is known stays as it is.
    """
    end = end_at(views, row, position)
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
                open_conflicts(trees, conflicts, links, node)
                node = np.int64(trees.after[node])
            node = np.int64(first_of(trees, product_of(trees, source, state)))
            if node < 0 and state != 0:
                continue
            if not reach_from(views, automaton, search, target, following, position):
                return False
            if state == 0 and not collect_users(trees, pairs, automaton, conflicts, search, source, end):
                return False
            while node >= 0:
                if end_of(trees, node) != NO_END:
                    if not collect_users(trees, pairs, automaton, conflicts, search, trees.root[node], end):
                        return False
                node = np.int64(trees.after[node])
    return True


@kernel
def collect_expired(pairs, conflicts, limit):
    """Collect the conflicts that end by `limit`; False for want of room."""
    if conflicts.tally[USED] == 0 or conflicts.tally[FIRST_END] > limit:
        return True
    first = np.int64(FOREVER)
    for entry in range(conflicts.root.shape[0]):
        end = conflict_end(conflicts, entry) if conflicts.used[entry] else np.int64(NO_END)
        if end > limit:
            first = min(first, end)
        elif end != NO_END:
            if pairs.size[COLLECTED] == pairs.before.shape[0]:
                return False
            collect_pair(pairs, conflicts.root[entry], conflicts.vertex[entry], end)
    conflicts.tally[FIRST_END] = first
    return True


@kernel
def collect_first(views, log, entry, trees, pairs, automaton, conflicts, links, search, removals):
    """Collect what an edge that goes changes beside the trees; False for want of room."""
    kind, row = log.kind[entry], log.row[entry]
    if entry == 0 or log.at[entry - 1] != log.at[entry]:
        search.tally[VISITED] = 0
    if kind == DELETED:
        return collect_deleted(views, trees, pairs, automaton, conflicts, links, search, row, entry)
    return kind != EXPIRED or not removals or collect_expired(pairs, conflicts, end_at(views, row, entry))


# --- what they come to ----------------------------------------------------------------------


@kernel
def settle_pair(views, trees, automaton, conflicts, links, search, root, vertex, position, floor, known, over):
    """The end of a pair by simple paths, noted where there is a conflict.

    `known` is an end that it has at least, or `NO_END`; `over` are ends that expire, or `NO_END`.
    """
    entry = find_conflict(conflicts, root, vertex)
    end = result_end(trees, automaton, root, vertex, np.int64(-1))
    if end != NO_END and over != NO_END:
        # what is left has been found before: an edge that expires takes nothing that lasts longer
        if entry < 0:
            return end
        return conflicts.end[entry] if conflicts.end[entry] > over else np.int64(NO_END)
    conflict = end > known
    for i in range(automaton.accepting.shape[0]):
        node = find_node(trees, root, product_of(trees, vertex, automaton.accepting[i]))
        if conflict and node >= 0 and end_of(trees, node) == end:
            conflict = not is_simple(views, trees, automaton, search, node)
    if search.tally[FULL]:
        return end
    if not conflict:
        if entry >= 0:
            drop_conflict(conflicts, entry)
        return end
    conflicts.tally[SEARCHES] += 1
    least = max(floor, known)
    found = last_simple_path(views, automaton, trees, search, root, vertex, position, least, end)
    if search.tally[FULL] or search.tally[VISITED] > search.tally[LIMIT]:
        return end
    if found > least and found == end:
        if entry >= 0:
            drop_conflict(conflicts, entry)
        return end
    if links.size[0] + search.tally[KNOWN] > links.after.shape[0]:
        conflicts.tally[FULL_LINKS] = 1
        return end
    end = found if found > least else known
    entry = keep_conflict(conflicts, entry, root, vertex, end)
    unmark_known(trees, automaton, conflicts, links, search, entry, root)
    return end


@kernel
def gave_up(conflicts, search):
    """Whether a pair could not be settled, for want of room or at the limit."""
    return search.tally[FULL] or search.tally[VISITED] > search.tally[LIMIT] or conflicts.tally[FULL_LINKS]


@kernel
def tell_pairs(
    views, log, entry, trees, automaton, pairs, conflicts, links, search, out, written, counting, extensions
):  # fmt: skip
    """Settle and tell the pairs that are collected; (deltas written, whether there was room and the budget for all)."""
    at, kind = log.at[entry], log.kind[entry]
    floor = np.int64(NO_END) if counting else at
    over = end_at(views, log.row[entry], entry) if kind == EXPIRED else np.int64(NO_END)
    while pairs.size[TOLD] < pairs.size[COLLECTED]:
        if written + 2 > out.at.shape[0] or conflicts.tally[FREE] < 1:
            return written, False
        root, vertex = pairs.root[pairs.size[TOLD]], pairs.vertex[pairs.size[TOLD]]
        held = find_conflict(conflicts, root, vertex)
        before = pairs.before[pairs.size[TOLD]] if held < 0 else conflict_end(conflicts, held)
        known = np.int64(NO_END) if kind == DELETED else before
        after = settle_pair(
            views, trees, automaton, conflicts, links, search, root, vertex, entry + 1, floor, known, over
        )
        if gave_up(conflicts, search):
            return written, False
        pairs.size[TOLD] += 1
        written = emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions)
    forget_pairs(pairs)
    conflicts.tally[OVER] = max(conflicts.tally[OVER], over)
    return written, True


@kernel
def follow_log(
    views, log, first, last, trees, heap, marks, arrivals, work, terms, automaton, pairs, conflicts, links, search,
    counting, removals, extensions, out,
):  # fmt: skip
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full or a search gives up.
    """
    written = 0
    for entry in range(first, last):
        if not conflicts.tally[TELLING]:
            if work[PHASE] == BEGIN:
                if not collect_first(views, log, entry, trees, pairs, automaton, conflicts, links, search, removals):
                    return entry, written
            following, written = follow_trees(
                views, log, entry, entry + 1, last, trees, heap, marks, arrivals, work, terms, automaton, pairs,
                counting, removals, extensions, out, written,
            )  # fmt: skip
            if following == entry:
                return entry, written
            conflicts.tally[TELLING] = 1
        if not goes_on(log, entry, last):
            if log.kind[entry] == DELETED:  # what is derived again is nothing new
                arrivals.size[0] = 0
            if not collect_extensions(trees, conflicts, links, pairs, arrivals):
                return entry, written
            written, done = tell_pairs(
                views, log, entry, trees, automaton, pairs, conflicts, links, search, out, written, counting, extensions
            )
            if not done:
                return entry, written
        conflicts.tally[TELLING] = 0
    return last, written
