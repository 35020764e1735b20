"""The nodes of Δ-trees: what the table, its lists and its slides say beside a plain dictionary."""

from __future__ import annotations

import random

import numpy as np
import pytest

from spectra.clock import FOREVER, NO_END
from spectra.operators.kernels import delta_trees as kernels


class PlainTrees:
    """The twin: ends by (root, product node), what never ends included."""

    def __init__(self) -> None:
        self.ends: dict[tuple[int, int], int] = {}
        self.slides: set[int] = set()

    def drop(self, limit: int) -> None:
        self.slides = {end for end in self.slides if end > limit}
        self.ends = {key: end for key, end in self.ends.items() if end > limit}


def listed(trees, product):
    node, found = int(kernels.first_of(trees, product)), []
    while node >= 0:
        assert trees.product[node] == product
        if kernels.end_of(trees, node) != NO_END:
            found.append(int(trees.root[node]))
        node = int(trees.after[node])
    return sorted(found)


def check(trees, plain, keys):
    assert trees.size[kernels.LIVE] == len(plain.ends)
    for root, product in keys:
        node = kernels.find_node(trees, root, product)
        end = NO_END if node < 0 else kernels.end_of(trees, node)
        assert end == plain.ends.get((root, product), NO_END)
    for product in {product for _, product in keys}:
        assert listed(trees, product) == sorted(root for root, other in plain.ends if other == product)
    nodes = kernels.live_nodes(trees)
    ends = kernels.ends_of(trees, nodes).tolist()
    found = zip(trees.root[nodes].tolist(), trees.product[nodes].tolist(), ends, strict=True)
    assert {(root, product): end for root, product, end in found} == plain.ends
    for block in range(len(trees.earliest)):
        slides = trees.slide[block << kernels.BLOCK_BITS : (block + 1) << kernels.BLOCK_BITS]
        held = slides[(slides >= trees.size[kernels.FIRST]) & (slides < kernels.ENDLESS)]
        assert trees.earliest[block] <= held.min(initial=kernels.ENDLESS)
    for end in plain.slides:
        place = int(kernels.slide_of(trees, end, -1)) & (len(trees.slide_end) - 1)
        assert trees.slide_nodes[place] == sum(1 for other in plain.ends.values() if other == end)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("disorder", [0, 4])
def test_nodes_live_as_long_as_their_slides(monkeypatch, seed, disorder):
    monkeypatch.setattr(kernels, "_LEAST_PLACES", 16)
    monkeypatch.setattr(kernels, "_LEAST_SLIDES", 1)
    rng = random.Random(seed)
    trees, plain = kernels.new_trees(3), PlainTrees()
    keys = [(root, product) for root in range(6) for product in range(4, 16)]
    now = 0
    for _ in range(300):
        now += rng.choice([0, 0, 1, 3])
        end = rng.choice([FOREVER, *(now + rng.randrange(10, 11 + disorder) for _ in range(8))])
        if end != FOREVER:
            ends = {end, *rng.choices([end, end + 1, end + disorder], k=rng.randrange(3))}
            trees = kernels.with_slides(trees, np.array(sorted(ends), np.int64))
            plain.slides |= ends
        key = rng.choice(keys)
        if not kernels.has_room(trees):
            trees = kernels.renewed(trees)
        node = kernels.find_node(trees, *key)
        if node < 0:
            node = kernels.new_node(trees, *key)
        if kernels.end_of(trees, node) < end:
            kernels.move_node(trees, node, kernels.slide_of(trees, end, trees.size[kernels.FIRST]))
            plain.ends[key] = end
        if rng.random() < 0.1:
            kernels.move_node(trees, node, kernels.DEAD)
            plain.ends.pop(key)
        limit = now - rng.choice([0, 0, 5])
        while trees.size[kernels.SLIDES] and kernels.slide_end(trees, trees.size[kernels.FIRST]) <= limit:
            kernels.drop_slide(trees)
        plain.drop(limit)
        if rng.random() < 0.1:
            kernels.renumber_slides(trees)
            assert trees.size[kernels.FIRST] < len(trees.slide_end)
        if rng.random() < 0.1:
            check(trees, plain, keys)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("disorder", [0, 4])
def test_edges_know_whether_a_node_hangs_on_them(monkeypatch, seed, disorder):
    monkeypatch.setattr(kernels, "_LEAST_PLACES", 16)
    monkeypatch.setattr(kernels, "_LEAST_SLIDES", 1)
    rng = random.Random(seed)
    trees = kernels.with_edges(kernels.new_trees(3, with_edges=True), 4)
    hanging: dict[tuple[int, int], tuple[int, int]] = {}  # key -> (edge, end)
    now = 0
    for step in range(300):
        now += rng.choice([0, 0, 1, 3])
        end = now + rng.randrange(10, 11 + disorder)
        trees = kernels.with_slides(trees, np.array([end], np.int64))
        if step == 100:
            trees = kernels.with_edges(trees, 8)
        if not kernels.has_room(trees):
            trees = kernels.renewed(trees)
        key = rng.randrange(6), rng.randrange(4, 16)
        edge = rng.randrange(len(trees.edge_nodes))
        node = kernels.find_node(trees, *key)
        if node < 0:
            node = kernels.new_node(trees, *key)
        if kernels.end_of(trees, node) < end:
            kernels.hang_node(trees, node, edge, kernels.slide_of(trees, end, -1))
            hanging[key] = edge, end
        if rng.random() < 0.1:  # the edge goes, and another one gets its row
            for key in [key for key, (other, _) in hanging.items() if other == edge]:
                node = kernels.find_node(trees, *key)
                assert trees.via[node] == edge
                kernels.lose_node(trees, node)
                kernels.move_node(trees, node, kernels.DEAD)
                hanging.pop(key)
            kernels.forget_edge(trees, edge)
        while trees.size[kernels.SLIDES] and kernels.slide_end(trees, trees.size[kernels.FIRST]) <= now:
            kernels.drop_slide(trees)
        hanging = {key: (edge, end) for key, (edge, end) in hanging.items() if end > now}
        if rng.random() < 0.1:
            kernels.renumber_slides(trees)
        used = {edge for edge, _ in hanging.values()}
        assert used <= {edge for edge in range(len(trees.edge_nodes)) if kernels.is_used(trees, edge)}
        assert trees.size[kernels.LIVE] == len(hanging)
    for _ in range(20):
        if trees.size[kernels.SLIDES]:
            kernels.drop_slide(trees)
    assert not any(kernels.is_used(trees, edge) for edge in range(8))


def test_parents_and_what_waits_follow_their_nodes():
    trees = kernels.new_trees(2)
    trees = kernels.with_slides(trees, np.array([10, 20], np.int64))
    nodes = [int(kernels.new_node(trees, root, 2 * root)) for root in range(1, 201)]
    for at, node in enumerate(nodes):
        kernels.move_node(trees, node, at % 3 == 0)
        trees.parent[node] = nodes[at - 3] if at >= 3 else -1
    kernels.drop_slide(trees)
    waiting = np.array([nodes[0], ~7, nodes[99]], np.int32)
    new = kernels.renewed(trees)
    kernels.follow_moves(trees, waiting, 3)
    moved = [int(kernels.find_node(new, root, 2 * root)) for root in range(1, 201)]
    assert [at for at, node in enumerate(moved) if node >= 0] == list(range(0, 200, 3))
    assert waiting.tolist() == [moved[0], ~7, moved[99]]
    assert [int(new.parent[node]) for node in moved[::3]] == [-1, *moved[:-3:3]]
    assert new.size[kernels.USED] == new.size[kernels.LIVE] == 67


def test_a_table_follows_the_number_of_its_nodes():
    trees = kernels.new_trees(1)
    trees = kernels.with_slides(trees, np.array([10, 20], np.int64))
    for root in range(5000):
        if not kernels.has_room(trees):
            trees = kernels.renewed(trees)
        kernels.move_node(trees, kernels.new_node(trees, root, 1), root % 50 == 0)
    assert 5000 < len(trees.tags) < 7000
    assert not kernels.is_sparse(trees)
    kernels.drop_slide(trees)
    assert kernels.is_sparse(trees)
    trees = kernels.renewed(trees)
    assert trees.size[kernels.LIVE] == 100
    assert len(trees.tags) == 256


def test_wide_product_nodes():
    trees = kernels.with_slides(kernels.new_trees(4), np.array([10], np.int64))
    kernels.move_node(trees, kernels.new_node(trees, 5, 7), 0)
    trees = kernels.renewed(trees, wide=True)
    product = int(kernels.product_of(trees, np.int32(2**31 - 1), 3))
    assert (product, kernels.vertex_of(trees, product), kernels.state_of(trees, product)) == (2**33 - 1, 2**31 - 1, 3)
    kernels.move_node(trees, kernels.new_node(trees, 5, product), 0)
    assert kernels.find_node(trees, 5, 7) >= 0
    assert kernels.find_node(trees, 5, product) >= 0
    assert kernels.find_node(trees, 5, product & 0x7FFFFFFF) < 0
    assert listed(kernels.renewed(trees), product) == [5]
