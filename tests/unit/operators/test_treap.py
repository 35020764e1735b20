"""Ordered sets of nodes, beside sorted lists; and labels that follow an order."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spectra.dictionary.dictionary import Dictionary
from spectra.operators.kernels.treap import insert_node, keyed, neighbour, outermost, remove_node
from spectra.operators.relational.live_terms import LiveTerms
from spectra.operators.relational.term_order import TermOrder
from spectra.operators.relational.value_order import ValueOrder
from spectra.sparql.values import order_key


def in_order(links, order, root, side):
    node = outermost(links, root, side)
    found = []
    while node >= 0:
        found.append(int(node))
        node = neighbour(links, order, root, node, 1 - side)
    return found


def depth(links, root):
    return 0 if not root else 1 + max(depth(links, links[root - 1, 0]), depth(links, links[root - 1, 1]))


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_two_owners(seed):
    rng = random.Random(seed)
    keys = np.array([rng.randrange(20) for _ in range(60)], np.int64)
    order = keyed(keys)
    links, roots = np.zeros((60, 2), np.int32), np.zeros(2, np.int32)
    held: list[set[int]] = [set(), set()]
    for _ in range(300):
        node = rng.randrange(60)
        owner = next((owner for owner in range(2) if node in held[owner]), None)
        if owner is None:
            owner = rng.randrange(2)
            insert_node(links, order, roots, owner, node)
            held[owner].add(node)
        else:
            remove_node(links, order, roots, owner, node)
            held[owner].remove(node)
        for owner in range(2):
            wanted = sorted(held[owner], key=lambda node: (keys[node], node))
            assert in_order(links, order, roots[owner], 0) == wanted
            assert in_order(links, order, roots[owner], 1) == wanted[::-1]


@pytest.mark.parametrize("order", ["up", "down", "outside in"])
def test_keys_in_order_make_no_long_branches(order):
    size = 3000
    keys = np.arange(size, dtype=np.int64)
    if order == "outside in":
        keys = np.where(keys % 2, keys, -keys)
    elif order == "down":
        keys = -keys
    links, roots = np.zeros((size, 2), np.int32), np.zeros(1, np.int32)
    for node in range(size):
        insert_node(links, keyed(keys), roots, 0, node)
    assert depth(links, roots[0]) < 45


PATTERNS = {
    "random": [random.Random(1).randrange(300) for _ in range(600)],
    "up": list(range(600)),
    "down, before the first": [-1, *range(600, 0, -1)],
    "up, before the last": [10**9, *range(600)],
    "inward": [0.5 + (-1) ** i / (i + 2) for i in range(600)],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_labels_are_ordered_as_the_keys(pattern):
    rng = random.Random(pattern)
    order = TermOrder(float)
    texts = ["", *map(str, PATTERNS[pattern])]
    held: list[int] = []
    for slot in range(1, len(texts)):
        order.enter([slot], [texts[slot]])
        held.append(slot)
        if rng.random() < 0.3:
            gone = held.pop(rng.randrange(len(held)))
            order.leave([gone], [texts[gone]])
    values = np.array([float(texts[slot]) for slot in held])
    labels = order.labels[held]
    assert (np.sign(values[:, None] - values) == np.sign(labels[:, None] - labels)).all()
    # all labels are rarely given anew, since that costs as much as there are
    assert order.moved <= (100 if pattern == "inward" else 25)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_labels_of_many_keys_at_once(pattern):
    rng = random.Random(pattern)
    order = TermOrder(float)
    texts = ["", *map(str, PATTERNS[pattern])]
    held: list[int] = []
    slot = 1
    while slot < len(texts):
        fresh = list(range(slot, min(slot + rng.choice([1, 5, 9, 60]), len(texts))))
        slot = fresh[-1] + 1
        order.enter(fresh, [texts[at] for at in fresh])
        held += fresh
        rng.shuffle(held)
        gone = held[: min(rng.choice([0, 3, 20]), len(held) // 2)]
        held = held[len(gone) :]
        order.leave(gone, [texts[at] for at in gone])
        values = np.array([float(texts[at]) for at in held])
        labels = order.labels[held]
        assert (np.sign(values[:, None] - values) == np.sign(labels[:, None] - labels)).all()


def number(lexical, datatype):
    return f'"{lexical}"^^<http://www.w3.org/2001/XMLSchema#{datatype}>'


@pytest.mark.parametrize("odd", ['"a"', number("1e0", "double"), number("0.12345678901234567890", "decimal"), "_:b"])
def test_values_are_ordered_by_number_until_one_is_not_plain(odd):
    dictionary = Dictionary()
    texts = [number(lexical, "decimal") for lexical in ("1.0", "-2.5", "0", "-0", "3", "12345.6789")]
    texts += [number(lexical, "integer") for lexical in ("1", "-2", "3", "-100")]
    live = LiveTerms()
    order = ValueOrder(live, dictionary.all_spans)
    seen: list[str] = []
    for text in [*texts, odd, number("2", "integer")]:
        seen.append(text)
        ids = np.array([dictionary.constant(text)], np.int32)
        order.enter(live.enter(ids))
        live.leave(live.slots(ids), np.ones(1, np.int8))
        slots = live.slots(np.array([dictionary.constant(text) for text in seen], np.int32))
        labels = order.labels[slots]
        for one, label in zip(seen, labels, strict=True):
            for other, other_label in zip(seen, labels, strict=True):
                assert (order_key(one) < order_key(other)) == (label < other_label)
        assert (order.moved > 0) == (odd in seen)


def test_terms_keep_their_slot_while_they_are_used():
    live = LiveTerms()
    first = np.array([3, 0, 5, 3], np.int32)
    assert len(live.enter(first)) == 2
    slots = live.slots(first)
    assert live.terms[slots].tolist() == first.tolist()
    assert slots[1] == 0
    assert live.leave(slots, np.array([1, 1, 1, 1], np.int8)).tolist() == []
    assert sorted(live.live.tolist()) == sorted({slots[0], slots[2]})
    assert live.leave(slots, np.array([-1, -1, -1, -1], np.int8)).tolist() == sorted({slots[0], slots[2]})
    assert len(live) == 0
    again = np.array([7], np.int32)
    assert live.enter(again).tolist() == live.slots(again).tolist()
    assert live.terms[live.slots(again)].tolist() == [7]
    assert live.live.tolist() == live.slots(again).tolist()
