"""PATH by columns: hubs, product nodes by way of which most roots reach most of what they reach.

A hub is known by how long each product node reaches it, and how long it reaches each. The lives that follow from
these (the shorter of the way to the hub and the way on, by the best of the hubs) are in no column: a column holds
only the lives that are longer. So an edge that comes again moves a few lives of hubs, and not those of all pairs
behind them. It is the idea of LM-SRPQ's landmarks, and that of hub labels, for columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.containers import (
    BLOCK,
    DUE_BITS,
    LIST,
    NONE,
    ROWS,
    STRIDE,
    GainColumns,
    Lives,
    free_row,
    life_of,
    lower_least,
    merge,
    purge,
    shortest,
)


class HubColumns(NamedTuple):
    """What is known of each hub, which is a `vertex` in a `state`; there may be none.

    `ahead` and `back` (by term, state and hub) are how long the hub reaches a product node, and how long that reaches
    the hub; `root_back` (by hub and slot) is the latter for roots. While roots gain, `gain_back` is theirs in their
    order, and `least_back` the shortest of each hub. `source` (by term and group) is row + 1 of the list of the edges
    that a label leads there. `covers[a, b]` is 1 where hub a is known to reach whatever b reaches, in this slide.
    `root` and `life` are room for gains that are longer than by hubs, `cover` for lives of roots, `dying` for slots.
    """

    vertex: NDArray[np.int64]
    state: NDArray[np.int64]
    ahead: Lives
    back: Lives
    root_back: Lives
    covers: NDArray[np.int8]
    gain_back: Lives
    least_back: NDArray[np.int64]
    source: NDArray[np.int32]
    root: NDArray[np.int32]
    life: Lives
    cover: Lives
    dying: NDArray[np.int32]


@kernel
def hub_life(hubs, vertex, state, root):
    """How long a root reaches a product node by way of a hub; 0 or a life that is over where it does not."""
    life = np.int64(0)
    for hub in range(hubs.ahead.shape[2]):
        life = max(life, min(np.int64(hubs.ahead[vertex, state, hub]), np.int64(hubs.root_back[hub, root])))
    return life


@kernel
def reach_of(columns, hubs, node, root):
    """How long a root reaches a product node, by way of a hub or not."""
    return max(life_of(columns, node, root), hub_life(hubs, columns.vertex[node], columns.state[node], root))


@kernel
def lives_by_hubs(hubs, backs, vertex, state, first):
    """Say in `cover` how long the roots of one stride reach a product node by way of a hub.

    `backs` are their ways to each hub. Loops over a stride are vectorised, see `containers`.
    """
    cover = hubs.cover[first : first + STRIDE]
    for at in range(STRIDE):
        cover[at] = 0
    for hub in range(hubs.ahead.shape[2]):
        ahead = hubs.ahead[vertex, state, hub]
        back = backs[hub, first : first + STRIDE]
        for at in range(STRIDE):
            cover[at] = max(cover[at], min(back[at], ahead))


@kernel
def gains_beyond(columns, gains, hubs, node, gained, level, longer_root, longer_life):
    """Note the gains that are longer at a product node than by way of a hub: (how many, the longest).

    The ways to hubs of the roots that gain are in `gain_back`.
    """
    vertex, state = columns.vertex[node], columns.state[node]
    beyond = 0
    longest = np.int64(0)
    for first in range(0, gained, STRIDE):
        lives_by_hubs(hubs, hubs.gain_back, vertex, state, first)
        for number in range(first, min(first + STRIDE, gained)):
            life = min(np.int64(gains.life[number]), level)
            if life > hubs.cover[number]:
                longer_root[beyond] = gains.root[number]
                longer_life[beyond] = life
                longest = max(longest, life)
                beyond += 1
    return beyond, longest


@kernel
def forget_covers(hubs):
    """Let it be looked at again which hubs reach what others reach."""
    for one in range(hubs.covers.shape[0]):
        for other in range(hubs.covers.shape[0]):
            hubs.covers[one, other] = 0


@kernel
def is_covered(columns, nodes, hubs, hub, root, floor):
    """Whether a root reaches another hub that reaches whatever this one reaches."""
    for other in range(hubs.covers.shape[0]):
        if other == hub or hubs.root_back[other, root] <= floor:
            continue
        if hubs.covers[other, hub] == 0:
            hubs.covers[other, hub] = 1
            for node in range(columns.held[ROWS]):
                vertex, state = columns.vertex[node], columns.state[node]
                if hubs.ahead[vertex, state, hub] > floor and hubs.ahead[vertex, state, other] <= floor:
                    hubs.covers[other, hub] = 2
                    break
        if hubs.covers[other, hub] == 1:
            return True
    return False


@kernel
def with_gains(gains, root, life):
    """The same columns with another list of gains."""
    return GainColumns(
        root, life, gains.cell, gains.level, gains.changed_root, gains.changed_before, gains.changed_after
    )


@kernel
def note_ways_back(gains, hubs, gained):
    """Let `gain_back` and `least_back` be those of the roots that gain."""
    for hub in range(hubs.least_back.shape[0]):
        least = np.int64(hubs.root_back[hub, gains.root[0]])
        for number in range(gained):
            back = hubs.root_back[hub, gains.root[number]]
            hubs.gain_back[hub, number] = back
            least = min(least, np.int64(back))
        hubs.least_back[hub] = least


@kernel
def is_no_better(hubs, vertex, state, level):
    """Whether each root that gains reaches a product node for so long by way of one hub."""
    for hub in range(hubs.least_back.shape[0]):
        if min(hubs.least_back[hub], np.int64(hubs.ahead[vertex, state, hub])) >= level:
            return True
    return False


# --- what hubs tell, and what columns hold --------------------------------------------------


@kernel
def forget_covered(columns, hubs, node, forever):
    """Let the lives in a column go that are no longer than by way of a hub, but for that of a root at itself."""
    vertex, state = columns.vertex[node], columns.state[node]
    offset = columns.offset[node]
    if columns.kind[node] == LIST:
        for at in range(offset, offset + columns.entries[node]):
            life = columns.entry_life[at]
            if life < forever and life <= hub_life(hubs, vertex, state, columns.entry_root[at]):
                columns.entry_life[at] = 0
    elif columns.kind[node] == BLOCK:
        # every life is there as its own type, and goes over slices of one stride, so that the loop is vectorised
        for hub in range(hubs.ahead.shape[2]):
            ahead = hubs.ahead[vertex, state, hub]
            if ahead == 0:
                continue
            for first in range(0, min(np.int64(1) << columns.size[node], hubs.root_back.shape[1]), STRIDE):
                cells = columns.cell[offset + first : offset + first + STRIDE]
                backs = hubs.root_back[hub, first : first + STRIDE]
                for at in range(STRIDE):
                    stays = (cells[at] > min(backs[at], ahead)) | (cells[at] >= forever)
                    cells[at] = cells[at] if stays else cells[at] & 0


@kernel
def review(columns, gains, hubs, node, expired, roots, forever):
    """Drop from a product node what is over or told by hubs; whether anything is left of it."""
    left = 0
    if columns.kind[node] == NONE:
        columns.least[node] = forever
    else:
        if hubs.ahead.shape[2] > 0:
            forget_covered(columns, hubs, node, forever)
        left = purge(columns, gains, node, expired, roots, forever)
    vertex, state = columns.vertex[node], columns.state[node]
    for hub in range(hubs.ahead.shape[2]):
        ahead, back = np.int64(hubs.ahead[vertex, state, hub]), np.int64(hubs.back[vertex, state, hub])
        if ahead > expired:
            lower_least(columns, node, ahead)
            left += 1
        else:
            hubs.ahead[vertex, state, hub] = 0
        if back > expired:
            lower_least(columns, node, back)
            left += 1
        else:
            hubs.back[vertex, state, hub] = 0
    return left > 0


@kernel
def review_all(columns, gains, nodes, hubs, expired, roots, forever):
    """Let all columns be without what hubs tell, and those go that are empty. `nodes` says which are in use."""
    for node in range(columns.held[ROWS]):
        vertex, state = columns.vertex[node], columns.state[node]
        if nodes[vertex, state] == node + 1:
            if not review(columns, gains, hubs, node, expired, roots, forever):
                nodes[vertex, state] = 0
                free_row(columns, node, forever)


@kernel
def find_dying(hubs, roots, expired, limit):
    """Note the roots that reach some hub for no longer than `limit`; how many."""
    dying = 0
    for root in range(roots):
        for hub in range(hubs.root_back.shape[0]):
            if expired < hubs.root_back[hub, root] <= limit:
                hubs.dying[dying] = root
                dying += 1
                break
    return dying


@kernel
def is_dying(columns, hubs, node, expired, limit):
    """Whether some hub reaches a product node for no longer than `limit`."""
    vertex, state = columns.vertex[node], columns.state[node]
    for hub in range(hubs.ahead.shape[2]):
        if expired < hubs.ahead[vertex, state, hub] <= limit:
            return True
    return False


@kernel
def hold(columns, gains, nodes, hubs, others, expired, limit, roots, forever):
    """Let columns hold the lives up to `limit` that hubs tell and `others` do not; False for want of room.

    Once all is held it may be called again and changes nothing.
    """
    dying = find_dying(hubs, roots, expired, limit)
    for node in range(columns.held[ROWS]):
        if dying == 0 and columns.due[node >> DUE_BITS] > limit:
            continue
        vertex, state = columns.vertex[node], columns.state[node]
        if nodes[vertex, state] != node + 1:
            continue
        everybody = is_dying(columns, hubs, node, expired, limit)
        gained = 0
        if everybody:
            for first in range(0, roots, STRIDE):
                lives_by_hubs(hubs, hubs.root_back, vertex, state, first)
                lives_by_hubs(others, others.root_back, vertex, state, first)
                for root in range(first, min(first + STRIDE, roots)):
                    life = hubs.cover[root]
                    if expired < life <= limit and life > others.cover[root]:
                        hubs.root[gained] = root
                        hubs.life[gained] = life
                        gained += 1
        else:
            for number in range(dying):
                root = hubs.dying[number]
                life = hub_life(hubs, vertex, state, root)
                if expired < life <= limit and life > hub_life(others, vertex, state, root):
                    hubs.root[gained] = root
                    hubs.life[gained] = life
                    gained += 1
        if gained > 0:
            held = with_gains(gains, hubs.root, hubs.life)
            least = shortest(held, gained)
            if merge(columns, held, node, gained, least, False, forever, roots, expired, False, False)[0] < 0:
                return False
    return True


@kernel
def let_die(columns, nodes, hubs, expired, limit, roots):
    """Let hubs tell no life up to `limit` any more; columns hold them."""
    forget_covers(hubs)
    for root in range(roots):
        for hub in range(hubs.root_back.shape[0]):
            if hubs.root_back[hub, root] <= limit:
                hubs.root_back[hub, root] = 0
    for node in range(columns.held[ROWS]):
        if columns.due[node >> DUE_BITS] > limit:
            continue
        vertex, state = columns.vertex[node], columns.state[node]
        for hub in range(hubs.ahead.shape[2]):
            if nodes[vertex, state] == node + 1 and hubs.ahead[vertex, state, hub] <= limit:
                hubs.ahead[vertex, state, hub] = 0


# --- which are hubs -------------------------------------------------------------------------


@kernel
def read_lives(columns, hubs, chosen, expired, lives):
    """The lives of all roots at some product nodes, a row for each; 0 for those that are over."""
    for number in range(chosen.shape[0]):
        node = chosen[number]
        for root in range(lives.shape[1]):
            life = reach_of(columns, hubs, node, root)
            lives[number, root] = life if life > expired else 0


@kernel
def count_since(table, row, since):
    """How many entries of a list last longer."""
    count = 0
    for at in range(table.offset[row], table.offset[row] + table.entries[row]):
        count += table.entry_life[at] > since
    return count


@kernel
def degrees(columns, arcs, sources, nodes, arc_of, source_of, group_moves, since, into, out):
    """How many edges that last longer than `since` lead into every product node, and out of it."""
    for node in range(columns.held[ROWS]):
        vertex, state = columns.vertex[node], columns.state[node]
        into[node] = 0
        out[node] = 0
        if nodes[vertex, state] != node + 1:
            continue
        for group in range(group_moves.shape[1]):
            arc, source = arc_of[vertex, group] - 1, source_of[vertex, group] - 1
            if group_moves[state, group] >= 0 and arc >= 0:
                out[node] += count_since(arcs, arc, since)
            for before in range(group_moves.shape[0]):
                if group_moves[before, group] == state and source >= 0:
                    into[node] += count_since(sources, source, since)
