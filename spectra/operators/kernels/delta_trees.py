"""The nodes of Δ-trees in little memory: a hash table by root and product node, with lists by product node.

A *product node* is a vertex and a state of the automaton, packed into one number. A node's end of
validity is the number of its *slide*: the distinct ends that edges have, in order, are a ring. So a
slide that is over takes its nodes with it and none of them is touched: a node whose slide comes before
the first of the ring is dead. Dead nodes stay where they are, to be derived again or to be left behind when
the table is full and the others move to a new one. Nothing is ever taken out, so links go one way and no
place is marked as left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel

# what `size` holds: places used (by dead nodes too), live nodes, lists, number of the first slide, slides, and how many
# bits of a product node are its state
USED, LIVE, LISTS, FIRST, SLIDES, STATE_BITS = range(6)

#: Slide of a node that never ends.
ENDLESS = np.int32(2**30 - 1)

#: Added to the slide of a node whose derivation is lost, while another one is looked for.
LOST = np.int32(2**30)

#: Slide of a node that is dead whatever the first slide is.
DEAD = np.int32(-1)

#: The slides of so many places have one entry in `earliest`: a power of two, given as its logarithm.
BLOCK_BITS = 8

#: How full a new table is, and how full it may become; the tags make searching a nearly full one cheap.
_NEW_LOAD, _MOST_LOAD = 0.72, 0.9
_LEAST_PLACES, _LEAST_SLIDES = 256, 16


class TreeColumns(NamedTuple):
    """The nodes of all trees, each at its place in a hash table.

    `tags` has a byte of the hash of each place's node (0: none), so that few places are read in vain. `slide` is
    the number of the slide at whose end the best derivation expires. `parent` is the node before this one in that
    derivation, -1 for the root itself. `after` links the nodes with the same product node; `heads` is a table of
    the first of them, plus one. `earliest` is a lower bound of the slides of a block of places, dead nodes left
    out. `slide_end` and `slide_nodes` are the ring of slides: when each ends, and how many nodes end with it.
    """

    root: NDArray[np.int32]
    product: NDArray[np.int32] | NDArray[np.int64]
    slide: NDArray[np.int32]
    parent: NDArray[np.int32]
    after: NDArray[np.int32]
    tags: NDArray[np.uint8]
    heads: NDArray[np.int32]
    earliest: NDArray[np.int32]
    slide_end: NDArray[np.int64]
    slide_nodes: NDArray[np.int32]
    size: NDArray[np.int64]


@kernel
def product_of(trees, vertex, state):
    """The product node of a vertex and a state."""
    return (np.int64(vertex) << trees.size[STATE_BITS]) | state


@kernel
def vertex_of(trees, product):
    return product >> trees.size[STATE_BITS]


@kernel
def state_of(trees, product):
    return product & ((1 << trees.size[STATE_BITS]) - 1)


@kernel
def mixed(root, product):
    """A hash of 45 bits. The masks keep every product below 2**63, compiled or not."""
    folded = (np.int64(product) ^ (np.int64(product) >> 31)) & 0x7FFFFFFF
    h = (np.int64(root) * 0x9E3779B1) ^ (folded * 0x85EBCA6B)
    h = (h ^ (h >> 31)) & 0x7FFFFFFF
    return (h * 1540483477) & 0x1FFFFFFFFFFF


@kernel
def place_in(size, h):
    """Where in a table of any size the search for a hash begins; places are in the order of the hashes."""
    return ((h >> 14) * size) >> 31


@kernel
def find_node(trees, root, product):
    """The node of a tree, dead or not, or -1."""
    h = mixed(root, product)
    tag = max(h & 0xFF, 1)
    size = trees.tags.shape[0]
    at = place_in(size, h)
    while True:
        found = trees.tags[at]
        if found == 0:
            return -1
        if found == tag and trees.root[at] == root and trees.product[at] == product:
            return at
        at += 1
        if at == size:
            at = 0


@kernel
def list_slot(trees, product):
    """The place of a product node's list in `heads`: its own, or the empty one that it would get."""
    size = trees.heads.shape[0]
    at = place_in(size, mixed(0, product))
    while trees.heads[at] != 0 and trees.product[trees.heads[at] - 1] != product:
        at += 1
        if at == size:
            at = 0
    return at


@kernel
def first_of(trees, product):
    """The first node with a product node, or -1; `after` leads to the others, dead ones among them."""
    return trees.heads[list_slot(trees, product)] - 1


@kernel
def has_room(trees):
    """Whether one more node can be made."""
    return trees.size[USED] < _MOST_LOAD * trees.tags.shape[0] and 3 * trees.size[LISTS] < 2 * trees.heads.shape[0]


@kernel
def new_node(trees, root, product):
    """A node that is dead so far; there must be room."""
    h = mixed(root, product)
    size = trees.tags.shape[0]
    at = place_in(size, h)
    while trees.tags[at] != 0:
        at += 1
        if at == size:
            at = 0
    trees.tags[at] = max(h & 0xFF, 1)
    trees.root[at] = root
    trees.product[at] = product
    trees.slide[at] = DEAD
    trees.parent[at] = -1
    slot = list_slot(trees, product)
    head = trees.heads[slot] - 1
    if head < 0:
        trees.heads[slot] = at + 1
        trees.after[at] = -1
        trees.size[LISTS] += 1
    else:  # the first one stays the first: it has just been read
        trees.after[at] = trees.after[head]
        trees.after[head] = at
    trees.size[USED] += 1
    return at


@kernel
def in_ring(trees, slide):
    first = trees.size[FIRST]
    return first <= slide < first + trees.size[SLIDES]


@kernel
def slide_end(trees, slide):
    """When a slide ends, `NO_END` where it is over or not known."""
    if in_ring(trees, slide):
        return trees.slide_end[slide & (trees.slide_end.shape[0] - 1)]
    return np.int64(FOREVER) if slide == ENDLESS else np.int64(NO_END)


@kernel
def end_of(trees, node):
    """When a node ends, `NO_END` where it is dead or its derivation is lost."""
    return slide_end(trees, trees.slide[node])


@kernel
def slide_position(trees, end):
    """The number of the first slide that does not end before `end`."""
    ring = trees.slide_end.shape[0] - 1
    low = trees.size[FIRST]
    high = low + trees.size[SLIDES]
    while low < high:
        middle = (low + high) // 2
        if trees.slide_end[middle & ring] < end:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def slide_of(trees, end, near):
    """The number of the slide with an end that was added; `near` is tried first."""
    if end >= FOREVER:
        return np.int64(ENDLESS)
    if slide_end(trees, near) == end:
        return np.int64(near)
    return slide_position(trees, end)


@kernel
def add_slide(trees, end):
    """Make sure that there is a slide with this end; False for want of room.

    Edges come in the order of their ends, so that it is nearly always the last one. Where it is not, the
    slides after it, and with them their nodes, are numbered anew.
    """
    if end >= FOREVER:
        return True
    ring = trees.slide_end.shape[0] - 1
    last = trees.size[FIRST] + trees.size[SLIDES]
    if trees.size[SLIDES] > 0 and trees.slide_end[(last - 1) & ring] == end:
        return True
    slide = slide_position(trees, end)
    if slide < last and trees.slide_end[slide & ring] == end:
        return True
    if trees.size[SLIDES] > ring:
        return False
    moved = 0
    for at in range(last, slide, -1):
        trees.slide_end[at & ring] = trees.slide_end[(at - 1) & ring]
        trees.slide_nodes[at & ring] = trees.slide_nodes[(at - 1) & ring]
        moved += trees.slide_nodes[at & ring]
    trees.slide_end[slide & ring] = end
    trees.slide_nodes[slide & ring] = 0
    trees.size[SLIDES] += 1
    if moved > 0:
        for node in range(trees.slide.shape[0]):
            if slide <= trees.slide[node] < last:
                trees.slide[node] += 1
    return True


@kernel
def move_node(trees, node, slide):
    """Give a node another slide, or `DEAD`, or its own with `LOST` added."""
    ring = trees.slide_end.shape[0] - 1
    before = trees.slide[node]
    if in_ring(trees, before):
        trees.slide_nodes[before & ring] -= 1
    if in_ring(trees, slide):
        trees.slide_nodes[slide & ring] += 1
        if slide < trees.earliest[node >> BLOCK_BITS]:
            trees.earliest[node >> BLOCK_BITS] = slide
    trees.slide[node] = slide
    if before < trees.size[FIRST]:
        trees.size[LIVE] += 1
    if slide < trees.size[FIRST]:
        trees.size[LIVE] -= 1


@kernel
def drop_slide(trees):
    """End the first slide, and with it its nodes."""
    trees.size[LIVE] -= trees.slide_nodes[trees.size[FIRST] & (trees.slide_end.shape[0] - 1)]
    trees.size[FIRST] += 1
    trees.size[SLIDES] -= 1


@kernel
def move_live(old, new):
    """Put the live nodes into an empty table; `after` of an old place then says where its node has come to.

    Both tables are in the order of the hashes, so it goes through both once. A live node's parent lives: it ends no
    earlier.
    """
    first = new.size[FIRST]
    for node in range(old.slide.shape[0]):
        slide = old.slide[node]
        if slide >= first:
            at = new_node(new, old.root[node], old.product[node])
            new.slide[at] = slide
            new.parent[at] = old.parent[node]
            if slide < new.earliest[at >> BLOCK_BITS]:
                new.earliest[at >> BLOCK_BITS] = slide
            old.after[node] = at
    for node in range(new.slide.shape[0]):
        if new.slide[node] >= first and new.parent[node] >= 0:
            new.parent[node] = old.after[new.parent[node]]


@kernel
def follow_moves(old, nodes, count):
    """Replace nodes of an old table by where they have come to; negative numbers stay."""
    for i in range(count):
        if nodes[i] >= 0:
            nodes[i] = old.after[nodes[i]]


def new_trees(states: int) -> TreeColumns:
    """No trees, for an automaton with so many states."""
    size = np.zeros(6, np.int64)
    size[STATE_BITS] = (states - 1).bit_length()
    slide_end, slide_nodes = np.zeros(_LEAST_SLIDES, np.int64), np.zeros(_LEAST_SLIDES, np.int32)
    return _empty(_LEAST_PLACES, _LEAST_PLACES, False, slide_end, slide_nodes, size)


def renewed(trees: TreeColumns, *, wide: bool | None = None) -> TreeColumns:
    """The live nodes in a table of the right size; the old one is for `follow_moves` only.

    `wide`: product nodes may take more than 31 bits; by default as before.
    """
    if wide is None:
        wide = trees.product.dtype == np.int64
    places = max(int(trees.size[LIVE] / _NEW_LOAD), _LEAST_PLACES)
    lists = max(2 * int(trees.size[LISTS]), _LEAST_PLACES)
    trees.size[USED] = trees.size[LISTS] = 0
    made = _empty(places, lists, wide, trees.slide_end, trees.slide_nodes, trees.size)
    move_live(trees, made)
    return made


def is_sparse(trees: TreeColumns) -> bool:
    """Whether the table is much larger than its live nodes need."""
    places = len(trees.tags)
    return places > _LEAST_PLACES and int(trees.size[LIVE]) < (_NEW_LOAD - 0.05) * places


def with_more_slides(trees: TreeColumns) -> TreeColumns:
    """The same trees with twice the room for slides."""
    numbers = trees.size[FIRST] + np.arange(trees.size[SLIDES])
    old, room = numbers & (len(trees.slide_end) - 1), 2 * len(trees.slide_end)
    slide_end, slide_nodes = np.zeros(room, np.int64), np.zeros(room, np.int32)
    slide_end[numbers & (room - 1)] = trees.slide_end[old]
    slide_nodes[numbers & (room - 1)] = trees.slide_nodes[old]
    return trees._replace(slide_end=slide_end, slide_nodes=slide_nodes)


def renumber_slides(trees: TreeColumns) -> None:
    """Begin the numbers of slides anew, before they become too large."""
    shift = int(trees.size[FIRST]) // len(trees.slide_end) * len(trees.slide_end)  # places in the ring stay
    slides = trees.slide
    slides[slides < trees.size[FIRST]] = DEAD
    slides[(slides >= 0) & (slides < ENDLESS)] -= shift
    trees.size[FIRST] -= shift
    known = trees.earliest < ENDLESS
    trees.earliest[known] = np.maximum(trees.earliest[known] - shift, 0)


def ends_of(trees: TreeColumns, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """When live nodes end."""
    slides = trees.slide[nodes]
    return np.where(slides == ENDLESS, FOREVER, trees.slide_end[slides & (len(trees.slide_end) - 1)])


def live_nodes(trees: TreeColumns) -> NDArray[np.int64]:
    """The nodes that hold."""
    return np.flatnonzero(trees.slide >= trees.size[FIRST])


def _empty(
    places: int,
    lists: int,
    wide: bool,
    slide_end: NDArray[np.int64],
    slide_nodes: NDArray[np.int32],
    size: NDArray[np.int64],
) -> TreeColumns:
    # what is read together lies together; in wide trees the product nodes are apart
    block = np.empty((places, 4 if wide else 5), np.int32)
    block[:, 1] = DEAD
    return TreeColumns(
        root=block[:, 0],
        slide=block[:, 1],
        parent=block[:, 2],
        after=block[:, 3],
        product=np.empty(places, np.int64) if wide else block[:, 4],
        tags=np.zeros(places, np.uint8),
        heads=np.zeros(lists, np.int32),
        earliest=np.full((places >> BLOCK_BITS) + 1, ENDLESS, np.int32),
        slide_end=slide_end,
        slide_nodes=slide_nodes,
        size=size,
    )
