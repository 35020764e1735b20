"""The simple path between two vertices that lasts longest, by a search of the views.

The search goes depth first from the root and only where the target can still be reached without the vertices on
the path, by edges that last longer than the best path so far. It can take exponential time, so it counts the
states that it visits and gives up at a limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, fits, leads_to, source_of, target_of
from spectra.views.kernels.apply import end_at, visible

# what `tally` holds: states visited, how many may be, a stamp for each look back, edges of the path that was found
VISITED, LIMIT, STAMP, LENGTH = 0, 1, 2, 3

#: The row at which a frame of the search has not looked for edges yet; -1 is the end of a list.
UNSEEN = -2


class SearchColumns(NamedTuple):
    """Room for one search.

    `seen` has a stamp for each vertex and state (vertex * states + state), `on_path` for each vertex its place
    on the path, from 1. `queue` are the vertices and states of a look back. The frames of the path are
    (`vertex`, `state`, the `reach` of the path up to there, the `label` and the `row` to go on with, and the
    edge `via` which it was entered). `found` are the edges (row, label) of the best path.
    """

    seen: NDArray[np.int64]
    on_path: NDArray[np.int32]
    queue: NDArray[np.int32]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    reach: NDArray[np.int64]
    label: NDArray[np.int32]
    row: NDArray[np.int32]
    via: NDArray[np.int32]
    found: NDArray[np.int32]
    tally: NDArray[np.int64]


@kernel
def leads_on(views, automaton, search, vertex, state, target, position, best):
    """Whether the target is reached from a vertex and state without the vertices of the path, by edges after `best`.

    Looks back from the target, breadth first.
    """
    states = automaton.moves.shape[0]
    tally = search.tally
    tally[STAMP] += 1
    first, last = 0, 0
    for i in range(automaton.accepting.shape[0]):
        search.queue[last, 0] = target
        search.queue[last, 1] = automaton.accepting[i]
        last += 1
    while first < last:
        reached, reached_state = search.queue[first, 0], search.queue[first, 1]
        first += 1
        tally[VISITED] += 1
        if tally[VISITED] > tally[LIMIT]:
            return False
        for label in range(automaton.label_predicate.shape[0]):
            if not leads_to(automaton, label, reached_state):
                continue
            index, row, _ = first_edge(views, automaton, label, reached, True)
            while row >= 0:
                if (
                    visible(views, row, position)
                    and fits(views, automaton, label, row)
                    and end_at(views, row, position) > best
                ):
                    source = source_of(views, automaton, label, row)
                    for before in range(states):
                        if automaton.moves[before, label] != reached_state:
                            continue
                        if source == vertex and before == state:
                            return True
                        place = np.int64(source) * states + before
                        if source != target and search.on_path[source] == 0 and search.seen[place] != tally[STAMP]:
                            search.seen[place] = tally[STAMP]
                            search.queue[last, 0] = source
                            search.queue[last, 1] = before
                            last += 1
                row = views.lists.after[index, row]
    return False


@kernel
def enter_frame(search, depth, vertex, state, reach, via):
    search.vertex[depth] = vertex
    search.state[depth] = state
    search.reach[depth] = reach
    search.label[depth] = 0
    search.row[depth] = UNSEEN
    search.via[depth] = via
    search.on_path[vertex] = depth + 1


@kernel
def last_simple_path(views, automaton, search, root, target, position, floor, enough):
    """The latest end after `floor` of a simple path from root to target, `floor` where there is none.

    A path that lasts until `enough` is as good as any. `search` then has its edges; where it gives up,
    more states than the limit have been visited.
    """
    tally = search.tally
    labels = automaton.label_predicate.shape[0]
    best = np.int64(floor)
    tally[LENGTH] = 0
    depth = -1
    if leads_on(views, automaton, search, root, 0, target, position, best):
        depth = 0
        enter_frame(search, 0, root, 0, FOREVER, -1)
    while depth >= 0:
        label, row = search.label[depth], search.row[depth]
        if label == labels or search.reach[depth] <= best or tally[VISITED] > tally[LIMIT] or best >= enough:
            search.on_path[search.vertex[depth]] = 0
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
        if not visible(views, row, position) or not fits(views, automaton, label, row):
            continue
        reach = min(search.reach[depth], end_at(views, row, position))
        vertex = target_of(views, automaton, label, row)
        if reach <= best or search.on_path[vertex] != 0:
            continue
        tally[VISITED] += 1
        if vertex == target:
            if automaton.is_accepting[following]:
                best = reach
                tally[LENGTH] = depth + 1
                for at in range(depth):
                    search.found[at, 0] = search.via[at + 1]
                    search.found[at, 1] = search.label[at]
                search.found[depth, 0] = row
                search.found[depth, 1] = label
        elif leads_on(views, automaton, search, vertex, following, target, position, best):
            depth += 1
            enter_frame(search, depth, vertex, following, reach, row)
    return best


def new_search(terms: int, states: int, limit: int) -> SearchColumns:
    """Room for a search among vertices with ids below `terms`, that may visit so many states."""
    return SearchColumns(
        seen=np.zeros(terms * states, np.int64),
        on_path=np.zeros(terms, np.int32),
        queue=np.zeros((terms * states + states, 2), np.int32),
        vertex=np.zeros(terms + 1, np.int32),
        state=np.zeros(terms + 1, np.int32),
        reach=np.zeros(terms + 1, np.int64),
        label=np.zeros(terms + 1, np.int32),
        row=np.zeros(terms + 1, np.int32),
        via=np.zeros(terms + 1, np.int32),
        found=np.zeros((terms + 1, 2), np.int32),
        tally=np.array([0, limit, 0, 0], np.int64),
    )
