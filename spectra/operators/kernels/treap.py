"""Ordered sets of numbered nodes: treaps whose priorities are hashes of the node numbers.

`links` has the left and the right child of each node and `roots` the root of each owner's tree, as node + 1, 0 for
none. A change or a look-up takes a number of steps that is logarithmic in the size of the owner's tree, whatever
order nodes come in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel


class Order(NamedTuple):
    """What decides which of two nodes comes first: their keys, the texts of their terms, what is left, their numbers.

    A node has any number of keys and of terms, 0 for none. Terms are compared as if a node were the list
    of those that it has with their columns: one that ends before another comes first. `text`, `start` and `length`
    are the canonical texts by term id.
    """

    keys: NDArray[np.int64]
    terms: NDArray[np.int32]
    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    rest: NDArray[np.int64]


def keyed(keys: NDArray[np.int64]) -> Order:
    """The order by keys alone, a row or a number for each node."""
    text = np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Order(
        keys if keys.ndim == 2 else keys.reshape(-1, 1), np.zeros((0, 0), np.int32), *text, np.zeros((0, 0), np.int64)
    )


@kernel
def _compare_texts(order, term, other):
    """-1, 0 or 1 as the texts of two terms are ordered."""
    start, other_start = order.start[term], order.start[other]
    size, other_size = order.length[term], order.length[other]
    for at in range(min(size, other_size)):
        if order.text[start + at] != order.text[other_start + at]:
            return -1 if order.text[start + at] < order.text[other_start + at] else 1
    return 0 if size == other_size else -1 if size < other_size else 1


@kernel
def _compare_terms(order, node, other):
    """-1, 0 or 1 as the terms of two nodes are ordered."""
    width = order.terms.shape[1]
    for column in range(width):
        term, other_term = order.terms[node, column], order.terms[other, column]
        if term == other_term:
            continue
        if term > 0 and other_term > 0:
            return _compare_texts(order, term, other_term)
        # the one without a term here goes on with a later column, or ends
        short = node if term == 0 else other
        for later in range(column + 1, width):
            if order.terms[short, later] > 0:
                return 1 if short == node else -1
        return -1 if short == node else 1
    return 0


@kernel
def _priority(node):
    h = np.int64(node) * 2146121005
    h = (h ^ (h >> 17)) & 0x7FFFFFFF
    h = h * 1540483477
    return (h ^ (h >> 29)) & 0x7FFFFFFF


@kernel
def is_before(order, node, other):
    """Whether a node comes before another."""
    for column in range(order.keys.shape[1]):
        if order.keys[node, column] != order.keys[other, column]:
            return order.keys[node, column] < order.keys[other, column]
    compared = _compare_terms(order, node, other)
    if compared != 0:
        return compared < 0
    for column in range(order.rest.shape[1]):
        if order.rest[node, column] != order.rest[other, column]:
            return order.rest[node, column] < order.rest[other, column]
    return node < other


@kernel
def _attach(links, roots, owner, parent, side, child):
    """Make `child` the child of a node on a side, or the root where there is no `parent`."""
    if parent < 0:
        roots[owner] = child
    else:
        links[parent, side] = child


@kernel
def insert_node(links, order, roots, owner, node):
    """Put a node into the tree of an owner."""
    priority = _priority(node)
    parent, side = np.int64(-1), 0
    current = np.int64(roots[owner])
    while current > 0 and _priority(current - 1) >= priority:
        parent = current - 1
        side = 0 if is_before(order, node, parent) else 1
        current = np.int64(links[parent, side])
    _attach(links, roots, owner, parent, side, node + 1)
    # what was there is split into the nodes before and those after the new one
    low, low_side = np.int64(node), 0
    high, high_side = np.int64(node), 1
    while current > 0:
        if is_before(order, current - 1, node):
            links[low, low_side] = current
            low, low_side = current - 1, 1
            current = np.int64(links[low, 1])
        else:
            links[high, high_side] = current
            high, high_side = current - 1, 0
            current = np.int64(links[high, 0])
    links[low, low_side] = 0
    links[high, high_side] = 0


@kernel
def remove_node(links, order, roots, owner, node):
    """Take a node out of the tree of an owner."""
    parent, side = np.int64(-1), 0
    current = np.int64(roots[owner]) - 1
    while current != node:
        parent = current
        side = 0 if is_before(order, node, current) else 1
        current = np.int64(links[current, side]) - 1
    low, high = np.int64(links[node, 0]), np.int64(links[node, 1])
    while low > 0 and high > 0:
        if _priority(low - 1) >= _priority(high - 1):
            _attach(links, roots, owner, parent, side, low)
            parent, side = low - 1, 1
            low = np.int64(links[parent, 1])
        else:
            _attach(links, roots, owner, parent, side, high)
            parent, side = high - 1, 0
            high = np.int64(links[parent, 0])
    _attach(links, roots, owner, parent, side, max(low, high))


@kernel
def outermost(links, root, side):
    """The first (`side` 0) or last (1) node of the tree with this root, -1 where it is empty."""
    found = np.int64(root) - 1
    current = found
    while current >= 0:
        found = current
        current = np.int64(links[current, side]) - 1
    return found


@kernel
def neighbour(links, order, root, node, side):
    """The node after (`side` 1) or before (0) a node in the tree with this root, -1 where there is none."""
    found = np.int64(-1)
    current = np.int64(root) - 1
    while current >= 0:
        beyond = is_before(order, node, current) if side else is_before(order, current, node)
        if beyond:
            found = current
        current = np.int64(links[current, 1 - side if beyond else side]) - 1
    return found
