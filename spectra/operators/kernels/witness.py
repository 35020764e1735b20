"""One path between two vertices as a window was at a position of its log: the one that lasts longest, or a shortest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.automaton import first_edge, fits, target_of
from spectra.operators.kernels.heap import heap_is_full, heap_pop, heap_push
from spectra.views.kernels.apply import end_at, visible

#: What is returned instead of a length.
NO_PATH, NO_ROOM = -1, -2


class ReachedColumns(NamedTuple):
    """What a search has reached: `seen` has a stamp for each vertex and state; the rest are the nodes in order.

    A node has its vertex and state, the length of the path to it, and the edge `via` from its `parent`.
    """

    seen: NDArray[np.int64]
    vertex: NDArray[np.int32]
    state: NDArray[np.int32]
    length: NDArray[np.int32]
    parent: NDArray[np.int32]
    via: NDArray[np.int32]
    found: NDArray[np.int32]


@kernel
def find_path(views, automaton, heap, reached, stamp, root, target, position, shortest):
    """The number of edges of a path from root to target; `found` has its rows, in order.

    What lasts longest comes first, or what has the fewest edges.
    """
    states = automaton.moves.shape[0]
    heap.size[0] = 0
    reached.vertex[0] = root
    reached.state[0] = 0
    reached.length[0] = 0
    reached.parent[0] = -1
    if root == target and automaton.is_accepting[0]:
        return 0
    count = 1
    node = 0
    reach = np.int64(FOREVER)
    while True:
        # go on from the node that came last
        for label in range(automaton.label_predicate.shape[0]):
            following = automaton.moves[reached.state[node], label]
            if following < 0:
                continue
            index, row, _ = first_edge(views, automaton, label, reached.vertex[node], False)
            while row >= 0:
                if visible(views, row, position) and fits(views, automaton, label, row):
                    if heap_is_full(heap):
                        return NO_ROOM
                    first = min(reach, end_at(views, row, position))
                    if shortest:
                        first = -np.int64(reached.length[node])
                    product = np.int64(target_of(views, automaton, label, row)) * states + following
                    heap_push(heap, first, product, node, row)
                row = views.lists.after[index, row]
        # the next that is new
        while True:
            if heap.size[0] == 0:
                return NO_PATH
            reach, product, parent, via = heap.end[0], heap.product[0], heap.parent[0], heap.via[0]
            heap_pop(heap)
            if reached.seen[product] != stamp:
                break
        if count == reached.vertex.shape[0]:
            return NO_ROOM
        reached.seen[product] = stamp
        vertex, state = product // states, product % states
        node = count
        count += 1
        reached.vertex[node] = vertex
        reached.state[node] = state
        reached.length[node] = reached.length[parent] + 1
        reached.parent[node] = parent
        reached.via[node] = via
        if vertex == target and automaton.is_accepting[state]:
            length = reached.length[node]
            while node > 0:
                reached.found[reached.length[node] - 1] = reached.via[node]
                node = reached.parent[node]
            return length
