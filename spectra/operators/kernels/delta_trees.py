"""The nodes of Δ-trees in little memory: a hash table by root and product node, with lists by product node.

A *product node* is a vertex and a state of the automaton, packed into one number. A node's end of
validity is the number of its *slide*: the distinct ends that edges have, in order, are a ring. So a
slide that is over takes its nodes with it and none of them is touched: a node whose slide comes before
the first of the ring is dead. Dead nodes stay where they are, to be derived again or to be left behind when
the table is full and the others move to a new one. Nothing is ever taken out, so links go one way and no
place is marked as left.

Where paths are to be simple, nodes have markings: see `kernels/rspq.py`.

Where edges can be deleted, a node also knows its edge, and an edge how many nodes hang on it and until which slide at
most: so an edge that no tree uses is known without a look at any tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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

#: How full the tables of nodes and of lists may become; the tags make searching a nearly full one cheap.
_MOST_NODES, _MOST_LISTS = 0.9, 0.8

#: Bytes of a place, and those that a node may take in a new table, lists included.
_PLACE_BYTES, _NODE_BYTES = 21, 30
_LEAST_PLACES, _LEAST_SLIDES = 256, 16


class TreeColumns(NamedTuple):
    """The nodes of all trees, each at its place in a hash table.

    `tags` has a byte of the hash of each place's node (0: none), so that few places are read in vain. `slide` is
    the number of the slide at whose end the best derivation expires. `parent` is the node before this one in that
    derivation, -1 for the root itself. `after` links the nodes with the same product node; `heads` is a table of
    the first of them, plus one. `earliest` is a lower bound of the slides of a block of places, dead nodes left
    out. `slide_end` and `slide_nodes` are the ring of slides: when each ends, and how many nodes end with it.

    `via` is the edge (a row of the views) by which a node was derived; for each edge `edge_nodes` counts the nodes
    that hang on it, those that have expired included until `edge_slide`, the last slide of any of them, is over. These
    three are empty where edges are not deleted.

    `unmarked` is the first of the conflicts for which a node is unmarked, -1 where it is marked; it is empty where
    there are no markings.
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
    via: NDArray[np.int32]
    edge_nodes: NDArray[np.int32]
    edge_slide: NDArray[np.int32]
    unmarked: NDArray[np.int32]


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
    return (
        trees.size[USED] < _MOST_NODES * trees.tags.shape[0] and trees.size[LISTS] < _MOST_LISTS * trees.heads.shape[0]
    )


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
    if has_markings(trees):
        trees.unmarked[at] = -1
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
def slide_of(trees, end, near):
    """The number of the slide with an end that was added; `near` is tried first."""
    if end >= FOREVER:
        return np.int64(ENDLESS)
    if slide_end(trees, near) == end:
        return np.int64(near)
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
def hang_node(trees, node, via, slide):
    """Derive a node by an edge, until the end of a slide."""
    if trees.via.shape[0] > 0:
        if end_of(trees, node) != NO_END:
            trees.edge_nodes[trees.via[node]] -= 1
        if trees.edge_slide[via] < trees.size[FIRST]:
            trees.edge_nodes[via] = 0
        trees.via[node] = via
        trees.edge_nodes[via] += 1
        trees.edge_slide[via] = max(trees.edge_slide[via], slide)
    move_node(trees, node, slide)


@kernel
def lose_node(trees, node):
    """Note that a live node has lost its derivation."""
    if trees.via.shape[0] > 0:
        trees.edge_nodes[trees.via[node]] -= 1
    move_node(trees, node, trees.slide[node] | LOST)


@kernel
def is_used(trees, row):
    """Whether a node may hang on an edge."""
    return trees.via.shape[0] == 0 or (trees.edge_nodes[row] > 0 and trees.edge_slide[row] >= trees.size[FIRST])


@kernel
def forget_edge(trees, row):
    """The edge is gone, and its row may become another one."""
    if trees.via.shape[0] > 0:
        trees.edge_nodes[row] = 0
        trees.edge_slide[row] = DEAD


@kernel
def has_markings(trees):
    return trees.unmarked.shape[0] > 0


@kernel
def is_unmarked(trees, node):
    """Whether a live node is unmarked."""
    return has_markings(trees) and trees.unmarked[node] >= 0 and end_of(trees, node) != NO_END


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
            if old.via.shape[0] > 0:
                new.via[at] = old.via[node]
            if has_markings(old):
                new.unmarked[at] = old.unmarked[node]
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


def new_trees(states: int, *, with_edges: bool = False, with_markings: bool = False) -> TreeColumns:
    """No trees, for an automaton with so many states; `with_edges` to know what hangs on each edge."""
    size = np.zeros(6, np.int64)
    size[STATE_BITS] = (states - 1).bit_length()
    slide_end, slide_nodes = np.zeros(_LEAST_SLIDES, np.int64), np.zeros(_LEAST_SLIDES, np.int32)
    edges = np.zeros((2, 0), np.int32)
    return TreeColumns(
        **_places(_LEAST_PLACES, _LEAST_PLACES, wide=False, with_edges=with_edges, with_markings=with_markings),
        slide_end=slide_end,
        slide_nodes=slide_nodes,
        size=size,
        edge_nodes=edges[0],
        edge_slide=edges[1],
    )


def renewed(trees: TreeColumns, *, wide: bool | None = None) -> TreeColumns:
    """The live nodes in a table of the right size; the old one is for `follow_moves` only.

    `wide`: product nodes may take more than 31 bits; by default as before.
    """
    if wide is None:
        wide = trees.product.dtype == np.int64
    places, lists = _room(trees)
    trees.size[USED] = trees.size[LISTS] = 0
    kept = {"with_edges": len(trees.via) > 0, "with_markings": len(trees.unmarked) > 0}
    made = trees._replace(**_places(places, lists, wide=wide, **kept))
    move_live(trees, made)
    return made


def with_edges(trees: TreeColumns, rows: int) -> TreeColumns:
    """The same trees with room for so many edges, where they are to be known."""
    held = len(trees.edge_nodes)
    if len(trees.via) == 0 or held >= rows:
        return trees
    nodes, slides = np.zeros(rows, np.int32), np.full(rows, DEAD, np.int32)
    nodes[:held], slides[:held] = trees.edge_nodes, trees.edge_slide
    return trees._replace(edge_nodes=nodes, edge_slide=slides)


def is_sparse(trees: TreeColumns) -> bool:
    """Whether the table is much larger than its live nodes need."""
    return _room(trees)[0] < 0.93 * len(trees.tags)


def _room(trees: TreeColumns) -> tuple[int, int]:
    """(places, lists) of a new table: the more lists there are, the less room is left for more nodes."""
    live = int(trees.size[LIVE])
    lists = 1.25 * min(int(trees.size[LISTS]), live) / _MOST_LISTS
    places = (_NODE_BYTES * live - 4 * lists) / _PLACE_BYTES
    places = min(max(places, 1.25 * live), 1.4 * live)
    return max(int(places), _LEAST_PLACES), max(int(lists), _LEAST_PLACES)


def with_slides(trees: TreeColumns, ends: NDArray[np.int64]) -> TreeColumns:
    """The same trees with slides that have these ends, which are in order, beside those that there are.

    Edges come in the order of their ends, except from the output of a query or together in a count window: nearly
    always they are the last ones. Where they are not, the slides after them, and with them their nodes, get other
    numbers.
    """
    first, count = int(trees.size[FIRST]), int(trees.size[SLIDES])
    numbers = first + np.arange(count + len(ends))
    places = numbers & (len(trees.slide_end) - 1)
    if count:
        ends = ends[ends != trees.slide_end[places[count - 1]]]
    if not len(ends):
        return trees
    after_all = not count or ends[0] > trees.slide_end[places[count - 1]]
    if after_all and count + len(ends) <= len(trees.slide_end):
        places = places[count : count + len(ends)]
        trees.slide_end[places], trees.slide_nodes[places] = ends, 0
        trees.size[SLIDES] += len(ends)
        return trees
    held = trees.slide_end[places[:count]]
    merged = np.union1d(held, ends)
    moved = np.searchsorted(merged, held)
    for slides in (trees.slide, trees.edge_slide):
        numbered = (slides >= first) & (slides < first + count)
        slides[numbered] = first + moved[slides[numbered] - first]
    room = max(1 << (len(merged) - 1).bit_length(), _LEAST_SLIDES)
    slide_end, slide_nodes = np.zeros(room, np.int64), np.zeros(room, np.int32)
    slide_end[(first + np.arange(len(merged))) & (room - 1)] = merged
    slide_nodes[(first + moved) & (room - 1)] = trees.slide_nodes[places[:count]]
    trees.size[SLIDES] = len(merged)
    return trees._replace(slide_end=slide_end, slide_nodes=slide_nodes)


def renumber_slides(trees: TreeColumns) -> None:
    """Begin the numbers of slides anew, before they become too large."""
    shift = int(trees.size[FIRST]) // len(trees.slide_end) * len(trees.slide_end)  # places in the ring stay
    for slides in (trees.slide, trees.edge_slide):
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


def _places(places: int, lists: int, *, wide: bool, with_edges: bool, with_markings: bool) -> dict[str, NDArray[Any]]:
    """The columns of an empty table."""
    # what is read together lies together; in wide trees the product nodes are apart
    block = np.empty((places, 4 if wide else 5), np.int32)
    block[:, 1] = DEAD
    return {
        "root": block[:, 0],
        "slide": block[:, 1],
        "parent": block[:, 2],
        "after": block[:, 3],
        "product": np.empty(places, np.int64) if wide else block[:, 4],
        "tags": np.zeros(places, np.uint8),
        "heads": np.zeros(lists, np.int32),
        "earliest": np.full((places >> BLOCK_BITS) + 1, ENDLESS, np.int32),
        "via": np.empty(places if with_edges else 0, np.int32),
        "unmarked": np.full(places if with_markings else 0, -1, np.int32),
    }
