"""The pairs in conflict, and for each node of the trees the conflicts for which it is unmarked.

The nodes of a conflict are those that lead to its vertex by edges that last longer than the pair does. A node is
*closed* for it as long as it leads there by a path that clashes with none and lasts longer than the pair: then no
simple path that does so comes to the node, or the pair would last longer, and a new edge that leaves the node changes
nothing. Where the other nodes all lead there through one vertex, the *gate*, and one of them does so by a path that
passes the gate once and can clash nowhere else, a simple path to this node has been at the gate, or it could go on: a
new edge from it to another node from which all leads through the gate changes nothing either. A path that passes the
gate twice may clash there with itself, and says nothing of the way to the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.delta_trees import DEAD, FIRST, find_node, is_unmarked, product_of, slide_of
from spectra.operators.kernels.simple_paths import AFTER, CLEAN, GATE, KNOWN, ONCE
from spectra.views.kernels.index import IndexColumns, find_slot, link, unlink

# what `tally` holds: free entries, entries in use, the first end among them, the end up to which all is over, whether
# the trees have come to a log entry and its pairs are being told, searches, nodes unmarked, extensions, a stamp for
# each search that failed and for each extension, and whether there was no room for links
FREE, USED, FIRST_END, OVER, TELLING, SEARCHES, UNMARKED, EXTENDED, STAMP, FULL_LINKS = range(10)

# the indexes over the conflicts
_BY_PAIR, _BY_ROOT = 0, 1


class ConflictColumns(NamedTuple):
    """Pairs whose tree path is no simple one: until when a simple path connects them, `NO_END` for not at all.

    Where nobody asks for what leaves, ends that are over and pairs that no path connects any more stay until room is
    needed.

    `stamp` is that of the last search, which unmarked nodes for the pair; `closed` is the stamp of the last extension
    that came from a node which is closed for it, `inside` of the last one from a node that is closed or passes the gate
    once. `open` is set where an edge was deleted that made nodes so. `gated` says that there is a gate.
    """

    root: NDArray[np.int32]
    vertex: NDArray[np.int32]
    used: NDArray[np.int32]
    end: NDArray[np.int64]
    stamp: NDArray[np.int64]
    closed: NDArray[np.int64]
    inside: NDArray[np.int64]
    gated: NDArray[np.bool_]
    open: NDArray[np.bool_]
    free: NDArray[np.int32]
    tally: NDArray[np.int64]
    lists: IndexColumns


@kernel
def find_conflict(conflicts, root, vertex):
    slot = find_slot(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, _BY_PAIR, root, vertex, 0)
    if slot < 0:
        return -1
    return conflicts.lists.heads[_BY_PAIR, slot] - 1


@kernel
def conflict_end(conflicts, entry):
    """Until when a simple path connects a pair with a conflict, `NO_END` for not at all."""
    end = conflicts.end[entry]
    return end if end > conflicts.tally[OVER] else np.int64(NO_END)


@kernel
def keep_conflict(conflicts, entry, root, vertex, end):
    """Note the end of a pair, in its entry or (-1) in a new one; returns the entry."""
    if entry < 0:
        conflicts.tally[FREE] -= 1
        conflicts.tally[USED] += 1
        entry = conflicts.free[conflicts.tally[FREE]]
        conflicts.root[entry] = root
        conflicts.vertex[entry] = vertex
        conflicts.used[entry] = 1
        link(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, entry)
    conflicts.end[entry] = end
    if end != NO_END:
        conflicts.tally[FIRST_END] = min(conflicts.tally[FIRST_END], end)
    return entry


@kernel
def drop_conflict(conflicts, entry):
    unlink(conflicts.root, conflicts.vertex, conflicts.used, conflicts.lists, entry)
    conflicts.used[entry] = 0
    conflicts.free[conflicts.tally[FREE]] = entry
    conflicts.tally[FREE] += 1
    conflicts.tally[USED] -= 1


# --- for which conflicts a node is unmarked -------------------------------------------------


class LinkColumns(NamedTuple):
    """The nodes of conflicts: `trees.unmarked` is the first link of a node, `after` leads to the next.

    A link is void when its stamp is not the conflict's any more. `slide` is the last for which its node is known to
    lead to the conflict's vertex, by a path that lasts longer than the pair, and `way` how. `size` is how many there
    are.
    """

    conflict: NDArray[np.int32]
    stamp: NDArray[np.int64]
    slide: NDArray[np.int32]
    way: NDArray[np.int8]
    after: NDArray[np.int32]
    size: NDArray[np.int64]


@kernel
def is_futile(conflicts, links, at):
    """Whether the step of the last extension to a node cannot improve a conflict that the node is linked to."""
    conflict, stamp = links.conflict[at], conflicts.tally[STAMP]
    if conflicts.closed[conflict] == stamp:
        return True
    return conflicts.gated[conflict] and conflicts.inside[conflict] == stamp and links.way[at] != CLEAN


@kernel
def holds(conflicts, links, at):
    conflict = links.conflict[at]
    return conflicts.used[conflict] and conflicts.stamp[conflict] == links.stamp[at]


@kernel
def first_link(trees, conflicts, links, node):
    """The first link of a node that is not void, or -1; void ones before it are left out."""
    at = trees.unmarked[node]
    while at >= 0 and not holds(conflicts, links, at):
        at = links.after[at]
    trees.unmarked[node] = at
    return at


@kernel
def next_link(conflicts, links, at):
    """The link after one, or -1; void ones between are left out."""
    after = links.after[at]
    while after >= 0 and not holds(conflicts, links, after):
        after = links.after[after]
    links.after[at] = after
    return after


@kernel
def unmark_known(trees, automaton, conflicts, links, search, conflict, root):
    """Unmark the nodes that a search has come to for a conflict; there must be room."""
    states = automaton.moves.shape[0]
    conflicts.tally[STAMP] += 1
    conflicts.stamp[conflict] = conflicts.tally[STAMP]
    conflicts.open[conflict] = False
    conflicts.gated[conflict] = search.tally[GATE] > 0
    for number in range(search.tally[KNOWN]):
        product = product_of(trees, search.product[number] // states, search.product[number] % states)
        node = find_node(trees, root, product)
        if not is_unmarked(trees, node):
            conflicts.tally[UNMARKED] += 1
        hold = search.hold[number]
        at = links.size[0]
        links.size[0] = at + 1
        links.conflict[at] = conflict
        links.stamp[at] = conflicts.stamp[conflict]
        lasts_longer = hold > conflicts.end[conflict]
        links.slide[at] = slide_of(trees, hold, trees.size[FIRST]) if lasts_longer else np.int64(DEAD)
        links.way[at] = search.way[number]
        links.after[at] = trees.unmarked[node]
        trees.unmarked[node] = at


@kernel
def close_conflicts(trees, conflicts, links, node):
    """Give the conflicts for which a node is closed or passes the gate once the stamp of an extension."""
    at = first_link(trees, conflicts, links, node)
    while at >= 0:
        conflict = links.conflict[at]
        if links.slide[at] >= trees.size[FIRST] and not conflicts.open[conflict]:
            if links.way[at] >= ONCE:
                conflicts.inside[conflict] = conflicts.tally[STAMP]
            if links.way[at] >= AFTER:
                conflicts.closed[conflict] = conflicts.tally[STAMP]
        at = next_link(conflicts, links, at)


@kernel
def open_conflicts(trees, conflicts, links, node):
    """An edge to a node is deleted: no node is known to be closed any more for its conflicts."""
    at = first_link(trees, conflicts, links, node)
    while at >= 0:
        conflicts.open[links.conflict[at]] = True
        at = next_link(conflicts, links, at)


@kernel
def count_links(trees, conflicts, links):
    """How many links live nodes have, void ones left out; dead nodes are marked again."""
    count = 0
    for node in range(trees.slide.shape[0]):
        if trees.slide[node] < trees.size[FIRST]:
            trees.unmarked[node] = -1
            continue
        at = first_link(trees, conflicts, links, node)
        while at >= 0:
            count += 1
            at = next_link(conflicts, links, at)
    return count


@kernel
def move_links(trees, old, new):
    """Copy the links, void ones having been left out, to an empty table with room for them."""
    for node in range(trees.slide.shape[0]):
        at, head = trees.unmarked[node], np.int32(-1)
        while at >= 0:
            to = new.size[0]
            new.size[0] = to + 1
            new.conflict[to] = old.conflict[at]
            new.stamp[to] = old.stamp[at]
            new.slide[to] = old.slide[at]
            new.way[to] = old.way[at]
            new.after[to] = head
            head = np.int32(to)
            at = old.after[at]
        trees.unmarked[node] = head


def new_links(room: int) -> LinkColumns:
    return LinkColumns(
        conflict=np.zeros(room, np.int32),
        stamp=np.zeros(room, np.int64),
        slide=np.zeros(room, np.int32),
        way=np.zeros(room, np.int8),
        after=np.zeros(room, np.int32),
        size=np.zeros(1, np.int64),
    )
