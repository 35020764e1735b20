"""PATH by columns: the pairs of the window at every instant, through every container and any number of ends."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from spectra.automata import minimal_dfa
from spectra.clock import FOREVER
from spectra.jit import is_interpreted
from spectra.operators.kernels.containers import (
    BLOCK,
    BLOCK_USED,
    CONVERTED,
    LIST,
    LIST_USED,
    NONE,
    life_of,
    merge,
    note_change,
    purge,
    put_life,
    shortest,
    take_row,
)
from spectra.operators.kernels.hubs import gainers
from spectra.operators.path.columns import Columns, _new_gains
from spectra.operators.path.hubs import new_hubs, with_another
from spectra.operators.path.tables import new_table, ranked, repacked, shrunk, wants_room
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
)
from spectra.views.view import WindowViews
from tests.oracle.kernels import PlainWindow, terms_with_end, widest_pairs
from tests.unit.operators.harness import columns_of, compare, random_stream

A, B, C = Link("1"), Link("2"), Link("3")
PATHS = {
    "a+": OneOrMorePath(A),
    "a*": ZeroOrMorePath(A),
    "(a/b)+": OneOrMorePath(SequencePath((A, B))),
    "(a|b)*": ZeroOrMorePath(AlternativePath((A, B))),
    "a*/b*": SequencePath((ZeroOrMorePath(A), ZeroOrMorePath(B))),
    "(a|^a)+": OneOrMorePath(AlternativePath((A, InversePath(A)))),
    "(a|^b|c)+": OneOrMorePath(AlternativePath((A, InversePath(B), C))),
    "(!a|a)+/b": SequencePath((OneOrMorePath(AlternativePath((NegatedPropertySet(("1",), None), A))), B)),
    "(!a)+": OneOrMorePath(NegatedPropertySet(("1",), None)),
    "(!(a|^b)/c)*": ZeroOrMorePath(SequencePath((NegatedPropertySet(("1",), ("2",)), C))),
    "a{2,3}": RepeatPath(A, 2, 3),
    "a|b/c*": AlternativePath((A, SequencePath((B, ZeroOrMorePath(C))))),
}
ENDS = {
    "variables": ("x", "y"),
    "one variable": ("x", "x"),
    "constant root": (5, "y"),
    "both constant": (5, 6),
    "loop at a constant": (5, 5),
}


class FewEnds(Columns):
    """With so little room for ends that they are ranked anew all the time."""

    least_ends = 4


class FourBytes(Columns):
    least_ends = 1 << 17


def expected_pairs(dfa, root="x", target="y", owned=lambda term: True):
    """What a window's content gives, as rows with their ends."""

    def expected(content):
        pairs = dict(widest_pairs(content, dfa, int))
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
                if owned(x):
                    rows[tuple(binding.values()), end] += 1
        return rows

    return expected


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("seed", range(4))
def test_deltas_add_up_to_the_pairs(name, ends, seed):
    rng = random.Random(f"{name} {ends} {seed}")
    dfa = minimal_dfa(PATHS[name])
    root, target = ENDS[ends]
    step = rng.choice([1, 2, 5])
    window = PlainWindow(range=step * rng.choice([1, 2, 3]) + rng.choice([0, 1]), step=step, counting=seed == 3)
    stream = random_stream(rng, events=40, vertices=5, deletions=rng.choice([0, 0.1, 0.3]), start=rng.choice([0, -100]))
    make = Columns if seed else FewEnds
    compare(rng, stream, window, lambda views: make(views, dfa, root, target, int), expected_pairs(dfa, root, target))


class OneByOne(random.Random):
    """Lets a stream be fed one instant at a time."""

    def choice(self, seq):
        return seq[0]


def crowd(rng, roots, *, at, deletions=0.0):
    """Many vertices lead into a cycle, some by way of others, and the cycle leads to a few; then some edges go."""
    hub = [10, 11, 12]
    edges = [(1, (hub[i], 1, hub[(i + 1) % 3])) for i in range(3)] + [(1, (hub[0], 2, 13)), (1, (13, 1, 14))]
    edges += [
        (1, (100 + i, rng.choice([1, 1, 2]), rng.choice([*hub, 100 + rng.randrange(roots)]))) for i in range(roots)
    ]
    rng.shuffle(edges)
    stream = []
    for start in range(0, len(edges), 9):
        stream.append((at + start // 9, edges[start : start + 9]))
    gone = [(-1, triple) for _, triple in edges if rng.random() < deletions]
    return [*stream, (stream[-1][0] + 1, gone)] if gone else stream


@pytest.mark.parametrize("name", ["a+", "(a|b)*", "a*/b*", "(a|^a)+"])
@pytest.mark.parametrize("deletions", [0, 0.2])
def test_columns_grow_shrink_expire_and_are_used_again(name, deletions):
    rng = random.Random(f"{name} {deletions}")
    dfa = minimal_dfa(PATHS[name])
    # a crowd, only those that it led to, and nothing; then another crowd, in the containers of the first
    stream = crowd(rng, 90, at=0, deletions=deletions) + crowd(rng, 0, at=30) + [(60, []), (200, [])]
    stream += [*crowd(rng, 70, at=300, deletions=deletions), (500, [])]
    seen, changes = [], set()

    class Watched(Columns):
        kinds = np.zeros(0, np.int8)

        def process(self):
            deltas = super().process()
            kinds = self._columns.kind.copy()
            changes.update(zip(self.kinds.tolist(), kinds.tolist(), strict=False))
            self.kinds = kinds
            used = self._columns.held[LIST_USED], self._columns.held[BLOCK_USED]
            seen.append((self.counters["columns"], self.nbytes, *map(int, used)))
            return deltas

    window = PlainWindow(range=40, step=5)
    compare(OneByOne(), stream, window, lambda views: Watched(views, dfa, "x", "y", int), expected_pairs(dfa))
    assert changes >= {(NONE, LIST), (LIST, BLOCK), (BLOCK, LIST), (LIST, NONE), (BLOCK, NONE)}
    middle = next(at for at, (columns, *_) in enumerate(seen) if columns == 0 and at > 5)
    assert seen[middle][2:] == seen[-1][2:] == (0, 0)
    assert seen[-1][0] == 0
    assert max(size for _, size, *_ in seen[middle:]) <= max(size for _, size, *_ in seen[:middle])


def test_a_hub_outgrows_every_array():
    # 300 edges into a hub with ends of their own, more than a byte can tell; then 100 edges out of it at once
    dfa = minimal_dfa(PATHS["a+"])
    hub = 4
    stream = [(2 * at, [(1, (10 + at, 1, hub))]) for at in range(300)]
    stream.append((600, [(1, (hub, 1, 1000 + at)) for at in range(100)] + [(1, (1000, 1, 10))]))
    stream.append((601, [(-1, (hub, 1, 1000 + at)) for at in range(90)]))
    window = PlainWindow(range=700, step=2)
    expected = expected_pairs(dfa)
    answers = {}

    def remembered(content):
        key = hash(frozenset(content.items()))
        if key not in answers:
            answers[key] = expected(content)
        return answers[key]

    compare(random.Random(3), stream, window, lambda views: Columns(views, dfa, "x", "y", int), remembered)


@pytest.mark.parametrize("before", range(5))
def test_what_roots_gain_is_kept_while_room_is_made(before):
    # the table of roots is exactly full while what an edge gives its root waits for room elsewhere
    edges = [(3, 1, 5_000 + at) for at in range(before)] + [(5 + 2 * at, 1, 6 + 2 * at) for at in range(1_100)]
    views = WindowViews()
    operator = Columns(views, minimal_dfa(PATHS["a+"]), "x", "y", int)
    operator.initial(1)
    views.apply(*columns_of([(1, [(1, edge)]) for edge in edges], PlainWindow(range=10, step=5)), 1)
    told = operator.process()
    assert sorted(map(tuple, told.rows.tolist())) == sorted((source, target) for source, _, target in edges)


@pytest.mark.parametrize("name", ["a+", "(a|b)*", "a*/b*"])
def test_any_number_of_ends(name):
    # the ends of a count window are not in order within an instant, so that others have to move
    rng = random.Random(name)
    dfa = minimal_dfa(PATHS[name])
    for counting in (False, True):
        stream = random_stream(rng, events=120, vertices=6, deletions=0.1)
        window = PlainWindow(range=45, step=1, counting=counting)
        compare(rng, stream, window, lambda views: FewEnds(views, dfa, "x", "y", int), expected_pairs(dfa))


@pytest.mark.skipif(not is_interpreted(), reason="compiles everything once more for a type that few streams need")
def test_lives_of_four_bytes():
    rng = random.Random(4)
    dfa = minimal_dfa(PATHS["(a|b)*"])
    stream = random_stream(rng, events=60, vertices=6, deletions=0.1)
    window = PlainWindow(range=45, step=1)
    compare(rng, stream, window, lambda views: FourBytes(views, dfa, "x", "y", int), expected_pairs(dfa))


def test_paths_grow_from_owned_roots_only():
    rng = random.Random(5)
    dfa = minimal_dfa(PATHS["(a|b)*"])
    window = PlainWindow(range=20, step=5)
    stream = random_stream(rng, events=60, vertices=6, deletions=0.1)

    def make(views):
        return Columns(views, dfa, "x", "y", int, owned=lambda ids: ids % 2 == 0)

    compare(rng, stream, window, make, expected_pairs(dfa, owned=lambda term: term % 2 == 0))


def test_an_id_may_come_again_with_another_owner():
    owned = {10, 11}
    fed = Fed(OneOrMorePath(A), owned=lambda ids: np.isin(ids, list(owned)))
    assert fed.at(1, (1, (10, 1, 11)), (1, (11, 1, 12)))[1] == [(1, 100, 10, 11), (1, 100, 10, 12), (1, 100, 11, 12)]
    assert fed.at(2, (-1, (10, 1, 11)))[1] == [(-1, 100, 10, 11), (-1, 100, 10, 12)]
    owned.remove(10)
    assert fed.at(3, (1, (10, 1, 11)))[1] == []
    assert fed.at(4, (1, (12, 1, 10)))[1] == [(1, 100, 11, 10), (1, 100, 11, 11)]


class Fed:
    """An operator over a window of 100 that moves by 10."""

    def __init__(self, path, **options):
        self.window = PlainWindow(range=100, step=10)
        self.views = WindowViews()
        self.operator = Columns(self.views, minimal_dfa(path), "x", "y", int, **options)

    def at(self, time, *operations):
        """What an event costs: the difference of the counters; and its deltas."""
        before = self.operator.counters
        self.views.apply(*columns_of([(time, list(operations))], self.window), time)
        deltas = self.operator.process()
        self.views.vacuum()
        after = self.operator.counters
        columns = (deltas.sign, deltas.until, deltas.rows)
        rows = [(int(sign), int(until), *map(int, row)) for sign, until, row in zip(*columns, strict=True)]
        return {name: after[name] - before[name] for name in after}, sorted(rows)


NOTHING = dict.fromkeys(
    (
        "edges_probed",
        "columns_merged",
        "hub_steps",
        "cells_taken_down",
        "reviewed",
        "columns",
        "blocks",
        "conversions",
        "hubs",
    ),
    0,
)


def test_what_changes_nothing_costs_nothing():
    fed = Fed(OneOrMorePath(A), removals=False, extensions=False)
    fed.at(1, (1, (10, 1, 11)), (1, (11, 1, 12)))
    assert fed.at(5, (1, (10, 1, 11))) == (NOTHING, [])  # again within the slide
    cost, told = fed.at(12, (1, (10, 1, 11)))  # longer, but for the first edge only
    assert (cost["columns_merged"], told) == (2, [])
    assert fed.at(13, (1, (20, 2, 21)))[0] == NOTHING  # of another predicate


def test_a_state_that_no_root_reaches_has_no_column():
    fed = Fed(SequencePath((A, ZeroOrMorePath(B))))
    cost, told = fed.at(1, *((1, (20 + i, 2, 21 + i)) for i in range(20)))
    assert (cost, told) == (NOTHING, [])
    cost, told = fed.at(2, (1, (10, 1, 38)))
    assert [row for _, _, *row in told] == [[10, 38], [10, 39], [10, 40]]
    assert cost["columns"] == 4


def test_the_edges_of_one_event_are_told_with_the_last_of_their_ends():
    fed = Fed(OneOrMorePath(A), removals=False, extensions=False)
    fed.at(1, (1, (10, 1, 11)))
    fed.at(21, (1, (30, 1, 11)))
    _, told = fed.at(32, (1, (11, 1, 12)), (1, (10, 1, 30)))
    # by the first edge 10 reaches 12 until 100, by both until 120
    assert told == [(1, 120, 10, 12), (1, 120, 30, 12), (1, 130, 10, 30), (1, 130, 11, 12)]


def test_expiry_probes_no_edge():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, (1, (10, 1, 11)), (1, (11, 1, 12)))
    fed.at(50, (1, (12, 1, 13)))
    cost, told = fed.at(100)
    assert told == [(-1, 100, 10, 11), (-1, 100, 10, 12), (-1, 100, 10, 13), (-1, 100, 11, 12), (-1, 100, 11, 13)]
    assert (cost["edges_probed"], cost["columns_merged"], cost["columns"]) == (0, 0, -4)


def test_an_expiry_reviews_few_columns_of_many():
    # a thousand edges, each with an end of its own, and each expiry an instant of its own
    views, window = WindowViews(), PlainWindow(range=1000, step=1)
    operator = Columns(views, minimal_dfa(OneOrMorePath(A)), "x", "y", int)
    views.apply(*columns_of([(at, [(1, (10 + 2 * at, 1, 11 + 2 * at))]) for at in range(1000)], window), 999)
    operator.process()
    views.vacuum()
    before = operator.counters
    assert (before["columns"], before["reviewed"]) == (2000, 0)
    views.apply(*columns_of([(1100, [])], window), 1100)
    assert len(operator.process()) == 101
    # of each edge the column of its source, that of its target and the list of edges, among 64 each
    assert operator.counters["reviewed"] <= 101 * 3 * 64
    assert operator.counters["columns"] == 2000 - 2 * 101


def test_a_deleted_edge_concerns_only_those_whose_lives_are_its_own():
    fed = Fed(OneOrMorePath(A))
    fed.at(1, *((1, (100 + i, 1, 11)) for i in range(50)), (1, (11, 1, 12)), (1, (12, 1, 13)))
    fed.at(21, *((1, (100 + i, 1, 12)) for i in range(50)), (1, (12, 1, 13)))  # there for longer without 11
    cost, told = fed.at(22, (-1, (11, 1, 12)))
    assert told == [(-1, 100, 11, 12), (-1, 100, 11, 13)]
    assert cost["cells_taken_down"] == 2


def test_a_deleted_edge_takes_down_what_hangs_on_it_and_no_more():
    # more roots than are looked at together lead to a hub, and by it to leaves; another crowd leads elsewhere
    fed = Fed(OneOrMorePath(A))
    fed.at(
        1, *((1, (100 + i, 1, 10)) for i in range(100)), (1, (10, 1, 11)), *((1, (11, 1, 20 + i)) for i in range(30))
    )
    fed.at(2, *((1, (300 + i, 1, 12)) for i in range(100)), *((1, (12, 1, 50 + i)) for i in range(30)))
    before = fed.operator.counters
    cost, told = fed.at(3, (-1, (10, 1, 11)))
    assert len(told) == cost["cells_taken_down"] == 101 * 31
    assert all(sign == -1 and root not in range(300, 400) for sign, _, root, _ in told)
    # for each 64 roots: forward from 11, back from 11 and the leaves for either state before, and nowhere else
    assert cost["edges_probed"] == 2 * (30 + 2 * (1 + 30))
    assert before["cells_taken_down"] == 0


def test_a_list_that_one_root_after_the_other_makes_longer_becomes_a_block():
    table, roots = new_table(8, np.uint8), 640
    row = int(take_row(table, 4, 0, 255))
    kinds = []
    for number, root in enumerate(random.Random(1).sample(range(roots), 100)):
        before = -1
        while before < 0:
            if before := put_life(table, row, root, 7, roots, 0):
                table = repacked(table)
        kinds.append(int(table.kind[row]))
        assert life_of(table, row, root) == 7
        assert put_life(table, row, root, 9 if number % 2 else 5, roots, 0) == 7
        assert life_of(table, row, root) == (9 if number % 2 else 7)
    assert kinds == [LIST] * 64 + [BLOCK] * 36  # where a list of 64 is full


@pytest.mark.parametrize("lives", [np.uint8, np.uint16])
@pytest.mark.parametrize("seed", range(3))
def test_containers_hold_what_a_dictionary_holds(lives, seed):
    rng = random.Random(seed)
    forever = int(np.iinfo(lives).max)
    most = 700
    table, gains = new_table(8, lives), _new_gains(1024, lives)
    rows = [int(take_row(table, vertex, 0, forever)) for vertex in range(3)]
    held = [{} for _ in rows]
    expired = 0
    kinds = set()
    for step in range(150):
        roots = most if step < 100 else 64
        row = rng.randrange(3)
        # few or many roots gain, fewer and fewer in the end
        chosen = sorted(rng.sample(range(roots), rng.choice([1, 2, 5, roots // 20, roots // 2])))
        level = rng.randrange(expired + 1, expired + 20)
        width = most if any(root >= roots for root in held[row]) else roots
        for at, root in enumerate(chosen):
            gains.root[at], gains.life[at] = root, rng.randrange(expired + 1, expired + 30)
        dense = len(chosen) > roots >> 3
        if dense:
            gains.cell[gains.root[: len(chosen)]] = gains.life[: len(chosen)]
        alone = len(chosen) == 1 and rng.random() < 0.5
        while True:
            if alone:
                life = min(int(gains.life[0]), level)
                result = before = put_life(table, rows[row], chosen[0], life, width, expired)
            else:
                least = shortest(gains, len(chosen))
                result, changed = merge(
                    table, gains, rows[row], len(chosen), least, dense, level, width, expired, True, True
                )
            if result >= 0:
                break
            assert wants_room(table)
            table = repacked(table)
        gains.cell[:] = 0
        if alone:
            assert (before if before > expired else 0) == held[row].get(chosen[0], 0)
            result = life > before
            changed = note_change(gains, 0, chosen[0], before, life, expired, True) if result else 0
        told = {}
        for at, root in enumerate(chosen):
            before, after = held[row].get(root, 0), min(int(gains.life[at]), level)
            if after > before:
                told[root] = (before if before > expired else 0, after)
                held[row][root] = after
        noted = zip(gains.changed_root, gains.changed_before, gains.changed_after, strict=True)
        assert {int(r): (int(b), int(a)) for r, b, a in list(noted)[:changed]} == told
        assert result == bool(told)
        if step % 4 == 3:
            expired += rng.choice([0, 1, 3, 10])
            for number, column in enumerate(held):
                held[number] = {root: life for root, life in column.items() if life > expired}
                width = most if any(root >= roots for root in held[number]) else roots
                if table.kind[rows[number]] != NONE:
                    assert purge(table, gains, rows[number], expired, width, forever) == len(held[number])
                    assert table.least[rows[number]] == min(held[number].values(), default=forever)
        if expired > forever - 60:
            rank = np.maximum(np.arange(forever + 1) - expired, 0).astype(lives)
            table = ranked(table, rank)
            held = [{root: life - expired for root, life in column.items()} for column in held]
            expired = 0
        table = shrunk(table)
        kinds |= {int(table.kind[row]) for row in rows}
        for number, column in enumerate(held):
            for root in range(0, most, 7):
                life = life_of(table, rows[number], root)
                assert (life if life > expired else 0) == column.get(root, 0)
        edge = expired + 12
        hubs = new_hubs(3, 1, 1, 1024, lives)
        by_hubs = dict.fromkeys(range(1024), 0)
        for _ in range(rng.choice([0, 2])):
            hubs = with_another(hubs, 0, 0)
        for hub in range(len(hubs.vertex)):
            hubs.ahead[1, 0, hub] = rng.choice([0, expired + rng.randrange(30)])
            hubs.root_back[hub] = [rng.choice([0, expired + rng.randrange(15)]) for _ in range(1024)]
            ways = np.minimum(hubs.root_back[hub], hubs.ahead[1, 0, hub]).tolist()
            by_hubs = {root: max(life, ways[root]) for root, life in by_hubs.items()}
        gained, widest = gainers(table, gains, hubs, rows[0], 1, 0, rows[1], edge, expired, most)
        wanted = {
            root: min(life, edge)
            for root, life in sorted(held[0].items())
            if min(life, edge) > max(held[1].get(root, 0), by_hubs[root])
        }
        assert dict(zip(gains.root[:gained].tolist(), gains.life[:gained].tolist(), strict=True)) == wanted
        assert list(wanted) == gains.root[:gained].tolist()
        assert widest == max(wanted.values(), default=0)
    assert kinds >= {LIST, BLOCK}
    assert table.held[CONVERTED] >= 4
