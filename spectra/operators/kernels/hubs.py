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

#: So many hubs there are, or none: loops over any number of them cost more than what is in them.
HUBS = 2


class HubColumns(NamedTuple):
    """What is known of each hub, which is a `vertex` in a `state`; there may be none.

    `ahead` and `back` (by term, state and hub) are how long the hub reaches a product node, and how long that reaches
    the hub; `root_back` (by hub and slot) is the latter for roots. While roots gain, `gain_back` is theirs in their
    order, and `least_back` the shortest of each hub. `source` (by term and group) is row + 1 of the list of the edges
    that a label leads there.

    `reached` (by hub) lists the vertices that it reaches in an accepting state, `listed` of them, and perhaps some
    that it no longer does; `is_listed` (by term and hub) says which. `covers[a, b]` is 1 where hub a is known to reach
    all vertices that b reaches so, in this slide, and 2 where it does not. `met` (by term) says in which walk a vertex
    was met last in an accepting state.

    What a hub tells that lasts no longer than its `replaced` is told by those that are to take its place, too. `root`
    and `life` are room for gains that are longer than by hubs, `cover` for lives of roots, `dying` for slots.
    """

    vertex: NDArray[np.int64]
    state: NDArray[np.int64]
    ahead: Lives
    back: Lives
    root_back: Lives
    reached: NDArray[np.int32]
    listed: NDArray[np.int64]
    is_listed: NDArray[np.bool_]
    met: NDArray[np.int64]
    covers: NDArray[np.int8]
    gain_back: Lives
    least_back: NDArray[np.int64]
    replaced: NDArray[np.int64]
    source: NDArray[np.int32]
    root: NDArray[np.int32]
    life: Lives
    cover: Lives
    dying: NDArray[np.int32]


@kernel
def hub_life(hubs, vertex, state, root):
    """How long a root reaches a product node by way of a hub; 0 or a life that is over where it does not."""
    if hubs.ahead.shape[2] < HUBS:
        return np.int64(0)
    ahead = hubs.ahead[vertex, state]
    return np.int64(max(min(ahead[0], hubs.root_back[0, root]), min(ahead[1], hubs.root_back[1, root])))


@kernel
def reach_of(columns, hubs, node, root):
    """How long a root reaches a product node, by way of a hub or not."""
    return max(life_of(columns, node, root), hub_life(hubs, columns.vertex[node], columns.state[node], root))


@kernel
def raise_lives(columns, hubs, node, vertex, state, slots, lives):
    """Let some lives, one for each slot, be no shorter than those of the roots at a product node.

    `node` is its column, -1 for none.
    """
    if node >= 0 and columns.kind[node] == LIST:
        for at in range(columns.offset[node], columns.offset[node] + columns.entries[node]):
            root = columns.entry_root[at]
            lives[root] = max(lives[root], columns.entry_life[at])
    places = 1 << columns.size[node] if node >= 0 and columns.kind[node] == BLOCK else 0
    for first in range(0, slots, STRIDE):
        longest = lives[first : first + STRIDE]
        if first < places:
            cells = columns.cell[columns.offset[node] + first : columns.offset[node] + first + STRIDE]
            for at in range(STRIDE):
                longest[at] = max(longest[at], cells[at])
        for hub in range(hubs.ahead.shape[2]):
            ahead = hubs.ahead[vertex, state, hub]
            backs = hubs.root_back[hub, first : first + STRIDE]
            for at in range(STRIDE):
                longest[at] = max(longest[at], min(ahead, backs[at]))


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
        if ahead == 0:
            continue
        back = backs[hub, first : first + STRIDE]
        for at in range(STRIDE):
            cover[at] = max(cover[at], min(back[at], ahead))


@kernel
def span(columns, node):
    """What a column is, and where its entries or cells begin and end; nothing for -1."""
    if node < 0 or columns.kind[node] == NONE:
        return np.int64(NONE), np.int64(0), np.int64(0)
    first = np.int64(columns.offset[node])
    places = np.int64(columns.entries[node]) if columns.kind[node] == LIST else np.int64(1) << columns.size[node]
    return np.int64(columns.kind[node]), first, first + places


@kernel
def gainers(columns, gains, hubs, source, vertex, state, target, edge, floor, roots):
    """Collect the roots that live longer at a product node by an edge from `source`: (how many, the longest life).

    `target` is the column of the product node, -1 where there is none yet. Nothing is built that is not above `floor`.
    """
    if columns.kind[source] == BLOCK:
        return gainers_of_block(columns, gains, hubs, source, vertex, state, target, edge, floor, roots)
    gained = 0
    widest = np.int64(0)
    target_kind, target_from, target_to = span(columns, target)
    at = target_from
    for entry in range(columns.offset[source], columns.offset[source] + columns.entries[source]):
        root = np.int64(columns.entry_root[entry])
        offer = min(np.int64(columns.entry_life[entry]), edge)
        known = max(hub_life(hubs, vertex, state, root), floor)
        if offer <= known:
            continue
        if target_kind == BLOCK:
            if target_from + root < target_to:
                known = np.int64(columns.cell[target_from + root])
        elif target_kind == LIST:
            while at < target_to and columns.entry_root[at] < root:
                at += 1
            if at < target_to and columns.entry_root[at] == root:
                known = np.int64(columns.entry_life[at])
        if offer > known:
            gains.root[gained] = root
            gains.life[gained] = offer
            gained += 1
            widest = max(widest, offer)
    return gained, widest


@kernel
def gainers_of_block(columns, gains, hubs, source, vertex, state, target, edge, floor, roots):
    """Collect the roots that live longer by an edge from a column that is a block."""
    gained = 0
    widest = np.int64(0)
    gains.level[0] = edge
    level = gains.level[0]
    gains.level[0] = floor
    least = gains.level[0]
    source_from = columns.offset[source]
    target_kind, target_from, target_to = span(columns, target)
    at = target_from
    last = target_to if target_kind == LIST else target_from
    places = target_to - target_from if target_kind == BLOCK else np.int64(0)
    for first in range(0, min(1 << columns.size[source], roots), STRIDE):
        lives_by_hubs(hubs, hubs.root_back, vertex, state, first)
        known = hubs.cover[first : first + STRIDE]
        lives = columns.cell[source_from + first : source_from + first + STRIDE]
        if first < places:
            others = columns.cell[target_from + first : target_from + first + STRIDE]
            for at_root in range(STRIDE):
                known[at_root] = max(known[at_root], others[at_root])
        some = False
        for at_root in range(STRIDE):
            some |= min(lives[at_root], level) > max(known[at_root], least)
        if not some:
            continue
        for at_root in range(STRIDE):
            offer = min(np.int64(lives[at_root]), edge)
            if offer <= max(np.int64(known[at_root]), floor):
                continue
            root = first + at_root
            while at < last and columns.entry_root[at] < root:
                at += 1
            if at < last and columns.entry_root[at] == root and columns.entry_life[at] >= offer:
                continue
            gains.root[gained] = root
            gains.life[gained] = offer
            gained += 1
            widest = max(widest, offer)
    return gained, widest


@kernel
def gains_beyond(columns, gains, hubs, node, gained, level):
    """Note the gains that are longer at a product node than by way of a hub, in `root` and `life`; how many.

    The ways to hubs of the roots that gain are in `gain_back`.
    """
    vertex, state = columns.vertex[node], columns.state[node]
    beyond = 0
    for first in range(0, gained, STRIDE):
        lives_by_hubs(hubs, hubs.gain_back, vertex, state, first)
        for number in range(first, min(first + STRIDE, gained)):
            life = min(np.int64(gains.life[number]), level)
            hubs.root[beyond] = gains.root[number]
            hubs.life[beyond] = life
            beyond += life > hubs.cover[number]
    return beyond


@kernel
def forget_covers(hubs):
    """Let it be looked at again which hubs reach what others reach."""
    for one in range(hubs.covers.shape[0]):
        for other in range(hubs.covers.shape[0]):
            hubs.covers[one, other] = 0


@kernel
def reach_ahead(hubs, automaton, hub, vertex):
    """How long a hub reaches a vertex in any accepting state."""
    life = np.int64(0)
    for i in range(automaton.accepting.shape[0]):
        life = max(life, np.int64(hubs.ahead[vertex, automaton.accepting[i], hub]))
    return life


@kernel
def is_covered(hubs, automaton, hub, root, floor):
    """Whether a root reaches another hub that reaches all vertices that this one reaches in an accepting state."""
    for other in range(hubs.covers.shape[0]):
        if other == hub or hubs.root_back[other, root] <= floor:
            continue
        if hubs.covers[other, hub] == 0:
            hubs.covers[other, hub] = 1
            for number in range(hubs.listed[hub]):
                vertex = hubs.reached[hub, number]
                if (
                    reach_ahead(hubs, automaton, hub, vertex) > floor
                    and reach_ahead(hubs, automaton, other, vertex) <= floor
                ):
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
    if hubs.ahead.shape[2] < HUBS:
        return False
    ahead, back = hubs.ahead[vertex, state], hubs.least_back
    return max(min(np.int64(ahead[0]), back[0]), min(np.int64(ahead[1]), back[1])) >= level


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
def note_replaced(hubs, others):
    """Say in `replaced` how long each hub and the best of the others reach each other, both ways.

    What a hub tells that lasts no longer is told by that other, too.
    """
    for hub in range(hubs.vertex.shape[0]):
        hubs.replaced[hub] = 0
        for other in range(others.vertex.shape[0]):
            vertex, state = others.vertex[other], others.state[other]
            both = min(np.int64(hubs.ahead[vertex, state, hub]), np.int64(hubs.back[vertex, state, hub]))
            hubs.replaced[hub] = max(hubs.replaced[hub], both)


@kernel
def tells_more(hubs, vertex, state, limit):
    """Whether a hub may tell a life at a product node that no other hub tells."""
    for hub in range(hubs.vertex.shape[0]):
        if min(np.int64(hubs.ahead[vertex, state, hub]), limit) > hubs.replaced[hub]:
            return True
    return False


@kernel
def told_alone(gains, hubs, others, vertex, state, expired, limit, roots):
    """Note the lives up to `limit` at a product node that hubs tell and `others` do not, in `root` and `life`."""
    count = 0
    gains.level[0] = expired
    over = gains.level[0]
    for first in range(0, roots, STRIDE):
        lives_by_hubs(hubs, hubs.root_back, vertex, state, first)
        lives_by_hubs(others, others.root_back, vertex, state, first)
        lives = hubs.cover[first : first + STRIDE]
        known = others.cover[first : first + STRIDE]
        some = False
        for at in range(STRIDE):
            some |= lives[at] > max(known[at], over)
        if not some:
            continue
        for root in range(first, min(first + STRIDE, roots)):
            life = np.int64(hubs.cover[root])
            if expired < life <= limit and life > others.cover[root]:
                hubs.root[count] = root
                hubs.life[count] = life
                count += 1
    return count


@kernel
def hold(columns, gains, nodes, hubs, others, expired, limit, roots, forever):
    """Let columns hold the lives up to `limit` that hubs tell and `others` do not; False for want of room.

    Once all is held it may be called again and changes nothing.
    """
    dying = find_dying(hubs, roots, expired, limit)
    note_replaced(hubs, others)
    for node in range(columns.held[ROWS]):
        if dying == 0 and columns.due[node >> DUE_BITS] > limit:
            continue
        vertex, state = columns.vertex[node], columns.state[node]
        if nodes[vertex, state] != node + 1 or not tells_more(hubs, vertex, state, limit):
            continue
        everybody = is_dying(columns, hubs, node, expired, limit)
        gained = 0
        if everybody:
            gained = told_alone(gains, hubs, others, vertex, state, expired, limit, roots)
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
def read_lives(columns, hubs, chosen, slots, lives):
    """The lives of all roots at some product nodes, a row for each."""
    for number in range(chosen.shape[0]):
        node = chosen[number]
        raise_lives(columns, hubs, node, columns.vertex[node], columns.state[node], slots, lives[number])


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
