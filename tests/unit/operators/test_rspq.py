"""PATH by rspq: at every instant the pairs that a simple path connects, against an enumeration of all of them."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from spectra.automata import is_conflict_free, longest_word, minimal_dfa, suffix_containment
from spectra.clock import FOREVER
from spectra.errors import ResourceError
from spectra.operators.path.rspq import RSpq
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
    ZeroOrOnePath,
)
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow, grouped_by_time, simple_pairs, terms_with_end, widest_pairs
from tests.unit.operators.harness import columns_of, compare, random_stream

A, B, C = Link("1"), Link("2"), Link("3")
FREE = {
    "a*": ZeroOrMorePath(A),
    "a+": OneOrMorePath(A),
    "(a|b)*": ZeroOrMorePath(AlternativePath((A, B))),
    "(a|^b)+": OneOrMorePath(AlternativePath((A, InversePath(B)))),
    "a": A,
    "a|^a": AlternativePath((A, InversePath(A))),
    "a*/b*": SequencePath((ZeroOrMorePath(A), ZeroOrMorePath(B))),
    "a/b*": SequencePath((A, ZeroOrMorePath(B))),
    "(!a)+": OneOrMorePath(NegatedPropertySet(("1",), None)),
}
CONFLICTING = {
    "(a/b)+": OneOrMorePath(SequencePath((A, B))),
    "(a/b)*": ZeroOrMorePath(SequencePath((A, B))),
    "a/b*/c": SequencePath((A, ZeroOrMorePath(B), C)),
    "(a/a)+": OneOrMorePath(SequencePath((A, A))),
    "a{2,3}": RepeatPath(A, 2, 3),
    "a{2,}": RepeatPath(A, 2, None),
    "a/b/c": SequencePath((A, B, C)),
    "a/b/c*": SequencePath((A, B, ZeroOrMorePath(C))),
    "(a/^a)+": OneOrMorePath(SequencePath((A, InversePath(A)))),
    "a?/b+": SequencePath((ZeroOrOnePath(A), OneOrMorePath(B))),
    "a*/b/a*": SequencePath((ZeroOrMorePath(A), B, ZeroOrMorePath(A))),
    "a+/b+/c?": SequencePath((OneOrMorePath(A), OneOrMorePath(B), ZeroOrOnePath(C))),
    "((a/b)|c)+": OneOrMorePath(AlternativePath((SequencePath((A, B)), C))),
    "(!(a|^b)/c)*": ZeroOrMorePath(SequencePath((NegatedPropertySet(("1",), ("2",)), C))),
}
PATHS = FREE | CONFLICTING
ENDS = {"variables": ("x", "y"), "one variable": ("x", "x"), "constant root": (5, "y"), "both constant": (5, 6)}


def check(name, ends, seed, vertices=5, events=40):
    rng = random.Random(f"{name} {ends} {seed}")
    dfa = minimal_dfa(PATHS[name])
    root, target = ENDS[ends]
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3, 5]), step=step, counting=seed % 4 == 3)
    deletions = rng.choice([0, 0.05, 0.3])
    predicates = rng.choice([(1,), (1, 2), (1, 2, 3)])
    stream = random_stream(rng, events=events, vertices=vertices, deletions=deletions, predicates=predicates)

    def expected(content):
        pairs = simple_pairs(content, dfa, int)
        if dfa.accepts_empty:
            pairs.update({(term, term): end for term, end in terms_with_end(content).items()})
            pairs.update({(term, term): FOREVER for term in (root, target) if isinstance(term, int)})
        rows = Counter()
        for (x, y), end in pairs.items():
            binding = {}
            for term, value in ((root, x), (target, y)):
                if (binding.setdefault(term, value) if isinstance(term, str) else term) != value:
                    break
            else:
                rows[tuple(binding.values()), end] += 1
        return rows

    compare(rng, stream, window, lambda views: RSpq(views, dfa, root, target, int), expected)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("ends", ENDS)
def test_deltas_add_up_to_the_pairs(name, ends):
    for seed in range(4):
        check(name, ends, seed)


@pytest.mark.parametrize("name", CONFLICTING)
def test_graphs_of_nine_vertices(name):
    check(name, "variables", 1, vertices=9, events=25)


def check_lasting(name, seed):
    """One edge at a time, in a window that holds many ends: pairs in conflict last long, and are extended."""
    rng = random.Random(f"{name} {seed}")
    dfa = minimal_dfa(PATHS[name])
    vertices = rng.choice((5, 6, 7, 8))
    edges = [
        (rng.randrange(10, 10 + vertices), rng.randrange(1, 4), rng.randrange(10, 10 + vertices)) for _ in range(60)
    ]
    signs = [rng.choice([1] * 19 + [-1]) if seed % 2 else 1 for _ in edges]
    stream = [(at, [(sign, rng.choice(edges[max(0, at - 9) : at + 1]) if sign < 0 else edge)])
              for at, (edge, sign) in enumerate(zip(edges, signs, strict=True))]  # fmt: skip

    def expected(content):
        return Counter((pair, end) for pair, end in simple_pairs(content, dfa, int).items())

    window = PlainWindow(range=rng.choice((12, 16, 20)), step=1)
    compare(rng, stream, window, lambda views: RSpq(views, dfa, "x", "y", int), expected)


LASTING = ("a/b*/c", "a/b/c*", "a/b/c", "a?/b+", "(a/b)+", "a{2,}", "a*/b/a*", "a+/b+/c?", "((a/b)|c)+")


@pytest.mark.parametrize("name", LASTING)
def test_conflicts_that_last(name):
    for seed in range(12):
        check_lasting(name, seed)


@pytest.mark.parametrize(("name", "seed"), [("(a/b)+", 57), ("a/b/c*", 359), ("a{2,}", 550), ("(a/b)+", 616)])
def test_extensions_that_were_once_left_out(name, seed):
    # a node that had been dead was taken for closed; so was one whose path ends before the pair does
    check_lasting(name, seed)


def check_edges(name, edges):
    """Edges (time, subject, label, object), one at a time, in a window of 20."""
    dfa = minimal_dfa(PATHS[name])
    stream = [(time, [(1, tuple(edge))]) for time, *edge in edges]

    def expected(content):
        return Counter((pair, end) for pair, end in simple_pairs(content, dfa, int).items())

    window = PlainWindow(range=20, step=1)
    compare(random.Random(1), stream, window, lambda views: RSpq(views, dfa, "x", "y", int), expected)


#: 10 -a-> 11 -b-> 12, and on to 14 by 12 -a-> 11 -b-> 13 -a-> 13 -b-> 14: no simple path, for that is twice at 13.
TWICE_AT_A_GATE = [(3, 13, 2, 14), (7, 11, 2, 12), (9, 10, 1, 11), (14, 11, 2, 13), (15, 12, 1, 11)]


@pytest.mark.parametrize(
    "more",
    [
        # the way from 12 was twice at 13, the way to it never
        [(20, 13, 1, 13), (22, 12, 1, 13)],
        # the same with a loop of three edges, to which the last edge leads before 13
        [(16, 13, 1, 15), (17, 15, 2, 16), (18, 16, 1, 13), (22, 12, 1, 15)],
    ],
)
def test_a_way_that_is_twice_at_the_gate_does_not_say_that_the_way_to_it_was_there(more):
    check_edges("(a/b)+", TWICE_AT_A_GATE + more)


@pytest.mark.usefixtures("small_arrays")
@pytest.mark.parametrize("name", CONFLICTING)
def test_arrays_that_grow_and_shrink(name):
    check(name, "variables", 1, vertices=6, events=40)
    check(name, "variables", 3, vertices=5, events=40)


def test_the_edges_of_one_event_outgrow_every_array():
    # 40 edges into a hub, then 40 out of it in one event and most of them away again: more pairs at once than there is
    # room for, and 4 reaches itself only by a loop
    dfa = minimal_dfa(CONFLICTING["a{2,}"])
    stream = [(2 * at, [(1, (10 + at, 1, 4))]) for at in range(40)]
    stream.append((80, [(1, (4, 1, 100 + at)) for at in range(40)] + [(1, (100, 1, 10))]))
    stream.append((81, [(-1, (4, 1, 100 + at)) for at in range(35)]))

    def expected(content):
        return Counter((pair, end) for pair, end in simple_pairs(content, dfa, int).items())

    window = PlainWindow(range=200, step=2)
    compare(random.Random(1), stream, window, lambda views: RSpq(views, dfa, "x", "y", int), expected)


@pytest.mark.parametrize("name", ["(a/b)+", "a{2,}"])
def test_without_removals_conflicts_of_the_past_are_left_out(name):
    # what leaves is not told: all the same the pairs that hold, and those that enter, are right
    dfa = minimal_dfa(CONFLICTING[name])
    for seed in range(10):
        rng = random.Random(seed)
        window, views = PlainWindow(range=20, step=5), WindowViews()
        operator = RSpq(views, dfa, "x", "y", int, removals=False, extensions=False)
        before = set()
        for time, events in grouped_by_time(random_stream(rng, events=60, deletions=0, predicates=(1, 2))):
            window.expire(time - 1)  # of what ends at this very instant, what arrives again goes on
            before &= simple_pairs(window.content, dfa, int).keys()
            views.apply(*columns_of([(time, ops) for ops in events], window), time)
            window.apply(time, events)
            deltas = operator.process()
            views.vacuum()
            now = simple_pairs(window.content, dfa, int)
            entered = {tuple(row) for row in deltas.rows[deltas.sign > 0].tolist()}
            assert {tuple(row) for row in operator.current(time).rows.tolist()} == now.keys()
            assert now.keys() - before == entered & now.keys()
            before = set(now)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(20))
def test_many_graphs(chunk):
    # half of them are streams in which conflicts last
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // 20
    first = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    rng = random.Random(first)
    for seed in range(first, first + wanted):
        if seed % 2:
            check_lasting(rng.choice(LASTING), seed // 2)
            continue
        check(
            rng.choice(list(PATHS)), rng.choice(list(ENDS)), seed, rng.choice((3, 4, 5, 6, 9)), rng.choice((8, 20, 30))
        )


# --- which paths cannot conflict ------------------------------------------------------------


@pytest.mark.parametrize("name", FREE)
def test_a_conflict_free_path_connects_what_any_path_connects_that_does_not_return(name):
    dfa = minimal_dfa(FREE[name])
    assert is_conflict_free(dfa)
    rng = random.Random(name)
    for _ in range(20):
        content = {t: rng.randrange(1, 9) for _, ops in random_stream(rng, events=12, deletions=0) for _, t in ops}
        assert simple_pairs(content, dfa, int) == widest_pairs(content, dfa, int, returning=False)


@pytest.mark.parametrize("name", CONFLICTING)
def test_a_path_that_may_conflict_does_so_on_some_graph(name):
    dfa = minimal_dfa(CONFLICTING[name])
    assert not is_conflict_free(dfa)
    rng = random.Random(name)
    for _ in range(300):
        content = {t: 1 for _, ops in random_stream(rng, events=12, vertices=4, deletions=0) for _, t in ops}
        if simple_pairs(content, dfa, int) != widest_pairs(content, dfa, int, returning=False):
            return
    pytest.fail("no graph with a conflict was found")


def test_suffix_languages():
    # 0 -a-> 1 -b-> 2 -a-> 1: [2] is (ab)*, [0] is (ab)+
    assert suffix_containment(minimal_dfa(PATHS["(a/b)+"])) == {(0, 0), (1, 1), (2, 2), (2, 0)}
    assert longest_word(minimal_dfa(PATHS["a{2,3}"])) == 3
    assert longest_word(minimal_dfa(PATHS["a+"])) is None


# --- what it costs --------------------------------------------------------------------------


def fed(path, events, **options):
    window, views = PlainWindow(range=100, step=1), WindowViews()
    operator = RSpq(views, minimal_dfa(path), "x", "y", int, label="the path", **options)
    for time, operations in events:
        views.apply(*columns_of([(time, operations)], window), time)
        operator.process()
        views.vacuum()
    return operator


def test_without_a_conflict_nothing_is_searched():
    # a tree: no vertex can be repeated
    events = [(at, [(1, (10 + at // 2, 1 + at % 2, 11 + at))]) for at in range(20)]
    operator = fed(CONFLICTING["(a/b)+"], events)
    assert operator.counters["searches"] == 0
    assert operator.counters["nodes"] > 15


@pytest.mark.parametrize("name", FREE)
def test_a_conflict_free_path_has_no_markings_and_no_search(name):
    rng = random.Random(name)
    stream = random_stream(rng, events=60, predicates=(1, 2), deletions=0.1)
    operator = fed(FREE[name], sorted(dict(stream).items()))
    counters = operator.counters
    assert counters["nodes_touched"] > 0
    assert [counters[name] for name in ("searches", "unmarked", "extended", "conflicts")] == [0, 0, 0, 0]
    assert len(operator._trees.unmarked) == 0


def test_no_path_comes_back_to_its_root():
    # 10 -a-> v -b-> … -b-> 10 -b-> 99, with 20 vertices that b connects in every way: all leads through 10 again
    clique = [(1, (20 + i, 2, 20 + j)) for i in range(20) for j in range(20) if i != j]
    events = [(1, [(1, (10, 1, 20)), *clique, (1, (39, 2, 10)), (1, (10, 2, 99))])]
    operator = fed(FREE["a/b*"], events)
    assert operator.counters["nodes"] == 20
    assert (10, 99) not in {tuple(row) for row in operator.current(1).rows.tolist()}


def chain_beside_a_conflict(length):
    """10 -a-> 11 -b-> 12 -c-> 11 is in conflict; a chain of b from 11 leads away from it."""
    edges = [(10, 1, 11), (11, 2, 12), (12, 3, 11), *((20 + at, 2, 21 + at) for at in range(length)), (11, 2, 20)]
    return [(1 + at, [(1, edge)]) for at, edge in enumerate(edges)]


def test_steps_to_marked_nodes_extend_nothing():
    events = chain_beside_a_conflict(10)
    operator = fed(CONFLICTING["a/b*/c"], events)
    before = operator.counters
    # (11, 2) cannot be reached but through 11 itself: it is unmarked, with the node that leads to it
    assert (before["conflicts"], before["searches"], before["unmarked"]) == (1, 1, 2)
    # more edges among marked nodes, parallel ways and loops: the trees change, and nothing is searched for
    more = [(20 + i, 2, 20 + j) for i in range(10) for j in range(10) if i != j]
    operator = fed(CONFLICTING["a/b*/c"], events + [(50 + at // 2, [(1, edge)]) for at, edge in enumerate(more)])
    after = operator.counters
    assert after["edges_probed"] == before["edges_probed"] + len(more)
    assert [after[name] for name in ("searches", "unmarked", "extended")] == [1, 2, 0]


def test_a_step_to_an_unmarked_node_extends_what_it_leads_to():
    events = [(0, [(1, (10, 1, 13))]), *chain_beside_a_conflict(2)]
    # 12 gains nothing by the path through 13, which ends before the other; but that is the only simple one to 11
    operator = fed(CONFLICTING["a/b*/c"], [*events, (50, [(1, (13, 2, 12))])])
    now = operator.current(50)
    assert dict(zip(map(tuple, now.rows.tolist()), now.until.tolist(), strict=True))[10, 11] == 100
    assert (operator.counters["extended"], operator.counters["searches"]) == (1, 2)
    # from a closed node there is nothing to extend: 12 -b-> 12 is a step from the conflict's own nodes
    operator = fed(CONFLICTING["a/b*/c"], [*events, (50, [(1, (12, 2, 12))])])
    assert (operator.counters["extended"], operator.counters["searches"]) == (1, 1)


def test_without_clashes_on_the_way_a_search_visits_each_node_once():
    # only the target can be visited twice on a path of a/b*/c: 30 vertices that b connects in every way are no trouble
    clique = [(1, (20 + i, 2, 20 + j)) for i in range(30) for j in range(30) if i != j]
    events = [(1, [(1, (10, 1, 11)), (1, (11, 2, 20)), *clique, *((1, (20 + i, 3, 11)) for i in range(30))])]
    operator = fed(CONFLICTING["a/b*/c"], events, budget=200)
    assert operator.counters["conflicts"] == 1


def test_beyond_the_budget_the_query_stops():
    clique = [(1, (20 + i, 1, 20 + j)) for i in range(14) for j in range(14) if i != j]
    with pytest.raises(ResourceError, match="the simple paths of the path take more than 500 states at one event"):
        # 15 steps of one kind among 14 vertices: there is no such path, and no end of trying
        fed(RepeatPath(A, 15, 15), [(1, clique)], budget=500)
