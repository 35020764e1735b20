"""The simple path between two vertices that lasts longest, by a search with markings.

It looks back from the target for the product nodes (vertex, state) that lead to it, and then goes depth first from the
root among these. A node whose paths have all been tried in vain is *marked* and not visited again: whatever leads from
it to the target would have been found, since a loop can be left out where the suffix language of the first state at a
vertex contains that of the later one. Where it does not there is a *conflict*: as soon as the path leaves the vertex,
the nodes that were tried below it are unmarked, and tried again on other ways. So without conflicts each node is
visited once; with them it can take exponential time, and the search gives up at a limit of nodes visited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, fits, leads_to, source_of, target_of
from spectra.operators.kernels.delta_trees import end_of, find_node, mixed, place_in, product_of
from spectra.views.kernels.apply import end_at, visible

# what `tally` holds: nodes visited, how many may be, nodes that are known, whether there was no room for more, edges of
# the path that was found, the vertex through which all nodes lead to the target that may clash on the way
# (0: there are none, -1: through several)
VISITED, LIMIT, KNOWN, FULL, LENGTH, GATE = range(6)

#: Marks: not visited (or to be visited again), and tried in vain for good. Others are places in `done`.
UNMARKED, MARKED = np.int32(-2), np.int32(-1)

#: How a node leads to the target, from the worst: see `SearchColumns.way`.
GATED, ONCE, AFTER, CLEAN = np.int8(0), np.int8(1), np.int8(2), np.int8(3)

#: The row at which a frame of the search has not looked for edges yet; -1 is the end of a list.
UNSEEN = -2


class SearchColumns(NamedTuple):
    """Room for one search.

    The product nodes that it has come to are numbered: `table` is a hash table of their numbers plus one, `slot` where
    in it, `product` vertex * states + state, `mark` the marking. `done` are the nodes whose marking is good only as
    long as the path does not leave a vertex that they come back to. `on_path` has for each vertex its place on
    the path, from 1.

    The frames of the path are: `vertex`, `state` and number (`node`), the `reach` of the path up to there, the `label`
    and the `row` to go on with, the edge `via` which it was entered, the first of `done` below it (`base`),
    whether a node below has a `conflict` with it, and the first frame that something below comes back to (`leans`).
    `found` are the edges of the best path.
    `hold` is until when a node leads to the target by a path that was found, and `way` whether that clashes with none
    (`CLEAN`), with none but for the node itself (`AFTER`), with none but for the node itself and one visit to a node
    that is `AFTER` (`ONCE`), or may clash (`GATED`).
    """

    table: NDArray[np.int32]
    slot: NDArray[np.int32]
    product: NDArray[np.int64]
    mark: NDArray[np.int32]
    done: NDArray[np.int32]
    on_path: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    node: NDArray[np.int32]
    reach: NDArray[np.int64]
    label: NDArray[np.int32]
    row: NDArray[np.int32]
    via: NDArray[np.int32]
    base: NDArray[np.int32]
    conflict: NDArray[np.bool_]
    leans: NDArray[np.int32]
    found: NDArray[np.int32]
    hold: NDArray[np.int64]
    way: NDArray[np.int8]
    tally: NDArray[np.int64]


# --- the nodes that a search knows ----------------------------------------------------------


@kernel
def slot_of(search, product):
    """The place of a product node in the hash table: its own, or the empty one that it would get."""
    size = search.table.shape[0]
    at = place_in(size, mixed(0, product))
    while search.table[at] != 0 and search.product[search.table[at] - 1] != product:
        at += 1
        if at == size:
            at = 0
    return at


@kernel
def know(search, product, hold, way):
    """Add a product node unless it is known; False for want of room.

    One that is known gains only by a way of the same kind.
    """
    slot = slot_of(search, product)
    if search.table[slot] != 0:
        number = search.table[slot] - 1
        if min(search.way[number], AFTER) == min(way, AFTER):
            search.hold[number] = max(search.hold[number], hold)
    else:
        number = search.tally[KNOWN]
        if number == search.product.shape[0]:
            search.tally[FULL] = 1
            return False
        search.table[slot] = number + 1
        search.slot[number] = slot
        search.product[number] = product
        search.mark[number] = UNMARKED
        search.done[number] = 0
        search.hold[number] = hold
        search.way[number] = way
        search.tally[KNOWN] = number + 1
    return True


@kernel
def forget_known(search):
    for number in range(search.tally[KNOWN]):
        search.table[search.slot[number]] = 0
    search.tally[KNOWN] = 0


# --- the search -----------------------------------------------------------------------------


@kernel
def may_be_passed(trees, root, vertex, state, floor):
    """Whether a path from the root reaches a product node until after `floor`; without trees each one may be."""
    if trees.size[0] == 0:
        return True
    node = find_node(trees, root, product_of(trees, vertex, state))
    return node >= 0 and end_of(trees, node) > floor


@kernel
def may_clash(trees, automaton, root, vertex, state):
    """Whether a path from the root may have been at a vertex in a state that a later visit in this one clashes with."""
    for earlier in range(automaton.clash.shape[0]):
        if automaton.clash[earlier, state] and trees.size[0] > 0:
            node = find_node(trees, root, product_of(trees, vertex, earlier))
            if node >= 0 and end_of(trees, node) != NO_END:
                return True
    return False


@kernel
def step_back(views, automaton, trees, search, root, target, position, floor, number, way):
    """Get to know what leads to a node by one edge; (whether the root does, whether there was room)."""
    states = automaton.moves.shape[0]
    reached, state = search.product[number] // states, search.product[number] % states
    found = False
    for label in range(automaton.label_predicate.shape[0]):
        if not leads_to(automaton, label, state):
            continue
        index, row, _ = first_edge(views, automaton, label, reached, True)
        while row >= 0:
            source = source_of(views, automaton, label, row)
            if source != target and visible(views, row, position) and fits(views, automaton, label, row):
                end = end_at(views, row, position)
                for before in range(states):
                    if end <= floor or automaton.moves[before, label] != state:
                        continue
                    if source == root:
                        found = found or before == 0
                    elif may_be_passed(trees, root, source, before, floor):
                        if not know(search, np.int64(source) * states + before, min(search.hold[number], end), way):
                            return found, False
            row = views.lists.after[index, row]
    return found, True


@kernel
def look_back(views, automaton, trees, search, root, target, position, floor):
    """Get to know the nodes that lead to the target by edges after `floor`; whether the root is among them.

    Neither root nor target are passed. First come the nodes from which a path leads there that cannot clash with the
    way to it, then those from which one can only at one visit to a vertex, then the others. Gives up for want of room
    or at the limit.
    """
    states = automaton.moves.shape[0]
    tally = search.tally
    found = False
    forget_known(search)
    tally[GATE] = 0
    for i in range(automaton.accepting.shape[0]):
        if may_be_passed(trees, root, target, automaton.accepting[i], floor):
            if not know(search, np.int64(target) * states + automaton.accepting[i], np.int64(FOREVER), CLEAN):
                return False
    targets = tally[KNOWN]
    for way in (CLEAN, ONCE, GATED):
        number = -1
        while number + 1 < tally[KNOWN]:
            number += 1
            if search.done[number]:
                continue
            vertex, state = search.product[number] // states, search.product[number] % states
            if way == CLEAN and number >= targets and may_clash(trees, automaton, root, vertex, state):
                search.way[number] = AFTER
                tally[GATE] = vertex if tally[GATE] in (0, vertex) else -1
                continue
            if way == ONCE and search.way[number] == ONCE:
                # what leads to the gate by way of the gate may clash there with itself
                if vertex == tally[GATE] or may_clash(trees, automaton, root, vertex, state):
                    continue
            search.done[number] = 1
            tally[VISITED] += 1
            if tally[VISITED] > tally[LIMIT]:
                return False
            from_root, room = step_back(views, automaton, trees, search, root, target, position, floor, number, way)
            found = found or from_root
            if not room:
                return False
    return found


@kernel
def enter_frame(search, depth, vertex, state, node, reach, via, done):
    search.vertex[depth] = vertex
    search.state[depth] = state
    search.node[depth] = node
    search.reach[depth] = reach
    search.label[depth] = 0
    search.row[depth] = UNSEEN
    search.via[depth] = via
    search.base[depth] = done
    search.conflict[depth] = False
    search.leans[depth] = depth
    search.on_path[vertex] = depth + 1


@kernel
def leave_frame(search, depth, best, done):
    """Mark the node of a frame that is finished as far as that is known; returns how many of `done` are left."""
    search.on_path[search.vertex[depth]] = 0
    if depth == 0:
        return done
    base, leans = search.base[depth], search.leans[depth]
    search.leans[depth - 1] = min(search.leans[depth - 1], leans)
    cut_short = search.reach[depth] <= best  # not all was tried on this way
    if cut_short or search.conflict[depth]:
        for at in range(base, done):
            search.mark[search.done[at]] = UNMARKED
        done = base
    if cut_short:
        return done
    if leans < depth:
        search.mark[search.node[depth]] = done
        search.done[done] = search.node[depth]
        return done + 1
    for at in range(base, done):
        search.mark[search.done[at]] = MARKED
    search.mark[search.node[depth]] = MARKED
    return base


@kernel
def frame_above(search, depth, mark):
    """The last frame below which a node was done that leans on a frame of the path."""
    low, high = 0, depth
    while low < high:
        middle = (low + high + 1) // 2
        if search.base[middle] <= mark:
            low = middle
        else:
            high = middle - 1
    return low


@kernel
def is_open(automaton, search, depth, vertex, state, number):
    """Whether the path can go on to a node; what hinders it is noted at its last frame."""
    place = search.on_path[vertex] - 1
    if place >= 0:
        search.leans[depth] = min(search.leans[depth], place)
        if automaton.clash[search.state[place], state]:
            search.conflict[place] = True
        return False
    mark = search.mark[number]
    if mark >= 0:
        search.leans[depth] = min(search.leans[depth], frame_above(search, depth, mark))
    return mark == UNMARKED


@kernel
def keep_path(search, depth, row):
    """Note the path up to a frame and on by an edge."""
    search.tally[LENGTH] = depth + 1
    for at in range(depth):
        search.found[at] = search.via[at + 1]
    search.found[depth] = row


@kernel
def try_paths(views, automaton, search, root, target, position, floor, enough):
    """The latest end after `floor` of a simple path among the known nodes, `floor` where there is none."""
    states, labels = automaton.moves.shape
    tally = search.tally
    best = np.int64(floor)
    depth, done = 0, 0
    enter_frame(search, 0, root, 0, -1, FOREVER, -1, 0)
    while depth >= 0:
        label, row = search.label[depth], search.row[depth]
        if label == labels or search.reach[depth] <= best or tally[VISITED] > tally[LIMIT] or best >= enough:
            done = leave_frame(search, depth, best, done)
            depth -= 1
            continue
        following = automaton.moves[search.state[depth], label]
        if row == UNSEEN:
            row = -1 if following < 0 else first_edge(views, automaton, label, search.vertex[depth], False)[1]
        if row < 0:
            search.label[depth] = label + 1
            search.row[depth] = UNSEEN
            continue
        search.row[depth] = views.lists.after[automaton.outgoing[label], row]
        vertex = target_of(views, automaton, label, row)
        if vertex == root or not visible(views, row, position) or not fits(views, automaton, label, row):
            continue
        reach = min(search.reach[depth], end_at(views, row, position))
        if reach <= best:
            continue
        if vertex == target:
            if automaton.is_accepting[following]:
                best = reach
                keep_path(search, depth, row)
            continue
        number = search.table[slot_of(search, np.int64(vertex) * states + following)] - 1
        if number >= 0 and is_open(automaton, search, depth, vertex, following, number):
            tally[VISITED] += 1
            depth += 1
            enter_frame(search, depth, vertex, following, number, reach, row, done)
    return best


@kernel
def last_simple_path(views, automaton, trees, search, root, target, position, floor, enough):
    """The latest end after `floor` of a simple path from root to target, `floor` where there is none.

    A path that lasts until `enough` is as good as any. `trees` say what paths from the root reach, or are empty.
    `search` then has the edges of the path, and knows every node by which one may come to last longer than was found;
    where it gives up, `tally` says why.
    """
    search.tally[LENGTH] = 0
    if not look_back(views, automaton, trees, search, root, target, position, floor):
        return np.int64(floor)
    return try_paths(views, automaton, search, root, target, position, floor, enough)


def new_search(room: int, terms: int, limit: int, old: SearchColumns | None = None) -> SearchColumns:
    """Room for so many product nodes, of vertices with ids below `terms`; the limit is on the nodes visited."""
    nodes = {name: np.zeros(room, np.int32) for name in ("slot", "mark", "done")}
    frames = ("vertex", "state", "node", "label", "row", "via", "base", "leans", "found")
    search = SearchColumns(
        table=np.zeros(2 * room, np.int32),
        product=np.zeros(room, np.int64),
        hold=np.zeros(room, np.int64),
        way=np.zeros(room, np.int8),
        on_path=np.zeros(terms, np.int32),
        reach=np.zeros(room + 2, np.int64),
        conflict=np.zeros(room + 2, np.bool_),
        tally=np.array([0, limit, 0, 0, 0, 0], np.int64),
        **nodes,
        **{name: np.zeros(room + 2, np.int32) for name in frames},
    )
    if old is not None:
        search.tally[VISITED] = old.tally[VISITED]
    return search
