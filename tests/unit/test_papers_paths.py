"""The running example of the papers on regular path queries: `(follows/mentions)+` in a window of 15.

The text gives the edges (x, y), (y, u), (z, u), (v, y) and (w, u) with their times, and the trees; the times of the
others are such that those trees arise.
"""

from __future__ import annotations

import numpy as np
import pytest

import spectra
from spectra.automata import minimal_dfa
from spectra.operators.kernels import delta_trees
from spectra.operators.path.rapq import RApq
from spectra.operators.path.rspq import RSpq
from spectra.sparql.syntax import Link, OneOrMorePath, SequencePath
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow
from tests.unit.operators.harness import columns_of

FOLLOWS, MENTIONS = 1, 2
X, Y, Z, U, V, W = range(10, 16)
NAMES = dict(zip(range(10, 16), "xyzuvw", strict=True))
PATH = OneOrMorePath(SequencePath((Link(str(FOLLOWS)), Link(str(MENTIONS)))))

#: Edges by the time at which they come.
STREAM = {
    4: [(Y, MENTIONS, U), (X, FOLLOWS, Z)],
    10: [(U, MENTIONS, X)],
    11: [(U, FOLLOWS, V)],
    12: [(Z, MENTIONS, W)],
    13: [(X, FOLLOWS, Y)],
    14: [(Z, MENTIONS, U)],
    18: [(V, MENTIONS, Y)],
    19: [(W, FOLLOWS, U), (X, FOLLOWS, Z)],
}


class Fed:
    """An operator that has seen the stream up to a time."""

    def __init__(self, upto, operator=RApq):
        self.window, self.views = PlainWindow(range=15, step=1), WindowViews()
        self.operator = operator(self.views, minimal_dfa(PATH), "x", "y", int)
        for time, edges in STREAM.items():
            if time <= upto:
                self.feed(time, [(1, edge) for edge in edges])

    def feed(self, time, operations):
        self.views.apply(*columns_of([(time, operations)], self.window), time)
        self.operator.process()
        self.views.vacuum()

    def nodes(self, root):
        trees = self.operator._trees
        return [node for node in delta_trees.live_nodes(trees) if trees.root[node] == root]

    def name(self, root, node):
        """A node as the papers write it."""
        trees = self.operator._trees
        if node < 0:
            return f"{NAMES[root]}0"
        vertex, state = (
            delta_trees.vertex_of(trees, trees.product[node]),
            delta_trees.state_of(trees, trees.product[node]),
        )
        return f"{NAMES[int(vertex)]}{int(state)}"

    def tree(self, root):
        """node -> (parent, timestamp), both as the papers write them."""
        trees, nodes = self.operator._trees, self.nodes(root)
        return {
            self.name(root, node): (self.name(root, trees.parent[node]), int(end) - 15)
            for node, end in zip(nodes, delta_trees.ends_of(trees, np.array(nodes)), strict=True)
        }

    def unmarked(self, root):
        """The nodes of a tree that are not marked."""
        trees = self.operator._trees
        return {self.name(root, node) for node in self.nodes(root) if delta_trees.is_unmarked(trees, node)}

    def pairs(self):
        return {(NAMES[int(x)], NAMES[int(y)]) for x, y in self.operator.current(0).rows}


def test_the_tree_at_18():
    assert Fed(18).tree(X) == {
        "y1": ("x0", 13),
        "u2": ("y1", 4),
        "v1": ("u2", 4),
        "y2": ("v1", 4),
        "z1": ("x0", 4),
        "w2": ("z1", 4),
    }


def test_the_tree_at_19_with_the_subtree_reconnected_through_z():
    assert Fed(19).tree(X) == {
        "y1": ("x0", 13),
        "z1": ("x0", 19),
        "u2": ("z1", 14),
        "v1": ("u2", 11),
        "y2": ("v1", 11),
        "w2": ("z1", 12),
        "u1": ("w2", 12),
        "x2": ("u1", 10),
    }


def test_a_deleted_tree_edge_reconnects_the_subtree_in_the_same_way():
    fed = Fed(18)
    fed.feed(18, [(-1, (Y, MENTIONS, U))])
    tree = fed.tree(X)
    assert tree["u2"] == ("z1", 4)
    assert (tree["v1"][0], tree["y2"][0]) == ("u2", "v1")


def test_the_conflict_at_y_and_the_simple_path_through_z():
    before = Fed(14, RSpq)
    assert before.operator.counters["searches"] == 0
    assert before.unmarked(X) == set()
    fed = Fed(18, RSpq)
    assert fed.operator.counters["searches"] == 1
    assert ("x", "y") in fed.pairs()
    # without the edge to z there is only the path that comes through y twice
    fed.feed(18, [(-1, (X, FOLLOWS, Z))])
    assert ("x", "y") not in fed.pairs()
    arbitrary = Fed(18)
    arbitrary.feed(18, [(-1, (X, FOLLOWS, Z))])
    assert ("x", "y") in arbitrary.pairs()


def test_the_conflict_unmarks_its_nodes_and_the_edge_from_z_extends_them():
    fed = Fed(13, RSpq)
    fed.feed(18, [(1, (V, MENTIONS, Y))])
    assert fed.operator.counters["conflicts"] == 1
    assert fed.unmarked(X) == {"u2", "v1", "y2"}
    assert ("x", "y") not in fed.pairs()
    searches = fed.operator.counters["searches"]
    # a step to a marked node is none of the conflict's concern
    fed.feed(18, [(1, (Y, MENTIONS, W))])
    assert (fed.operator.counters["extended"], fed.operator.counters["searches"]) == (0, searches)
    # u is reached in state 2 already, and no later by z; but it is unmarked, and so extended
    fed.feed(18, [(1, (Z, MENTIONS, U))])
    assert fed.tree(X)["u2"] == ("y1", 4)
    assert (fed.operator.counters["extended"], fed.operator.counters["searches"]) == (1, searches + 1)
    assert ("x", "y") in fed.pairs()
    assert fed.operator.counters["conflicts"] == 0


@pytest.mark.parametrize("path", ["spath", "rapq"])
def test_the_answers_of_the_example(path):
    engine = spectra.Engine(path=path)
    predicates = {FOLLOWS: "<urn:follows>", MENTIONS: "<urn:mentions>"}
    text = (
        "REGISTER CHANGES <urn:q>OPTIONS AS SELECT ?a ?b FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 15ms STEP 1ms] "
        "WHERE { WINDOW <urn:w> { ?a (<urn:follows>/<urn:mentions>)+ ?b } }"
    )
    engine.register(text.replace("OPTIONS", ""))
    simple = engine.register(text.replace("OPTIONS", " WITH SIMPLE PATHS, PATHS").replace("urn:q", "urn:simple"))
    told = {}
    for time, edges in STREAM.items():
        triples = [(f"<urn:{NAMES[s]}>", predicates[p], f"<urn:{NAMES[o]}>") for s, p, o in edges]
        for change in engine.push(triples, at=time):
            pair = "".join(str(term)[-1] for term in change.bindings.values())
            told[change.query, time, change.op, pair] = change
    assert {pair for query, time, _, pair in told if (query, time) == ("urn:q", 18)} == {"xy", "uy"}
    way = told[simple.name, 18, "+", "xy"].paths[0]
    assert [edge[0][5:-1] for edge in way.edges] == ["x", "z", "u", "v"]
    assert told["urn:q", 18, "+", "xy"].until.milliseconds == 19
    assert ("urn:q", 19, "-", "xy") not in told
