"""PATH on MathOverflow: ten queries, results at every edge, against the published C++ of S-PATH and LM-SRPQ.

    python benchmarks/path_peers.py [--windows 10 20 60 180] [--queries 'a*' abc] [--operators columns spath]
                                    [--edges N] [--seconds N] [--runs N] [--single N] [--burst] [--per-slide]
                                    [--cores 2] [--peers FILE] [--output build/path_peers.json] [--plot build/growth]

Windows are in days and move by a day, those of 180 days by three. One thread, CPU time, the median of three runs
(`--runs`) or of as many as `--seconds` allow: `edges/s` counts the edges that a query can use, from columns of ids
through the views of the window to deltas, in portions as the engine makes them, each edge an instant of its own. In
another run the first edge of each slide and the last edges of the stream (`--single`) come one at a time: `p50`, `p99`
and `longest` are of the latter and `pause` is the longest of the former, all with what a call costs. `peak` is the
greatest size of the operator's arrays. A run is cut after `--seconds`, and marked `~`.

The peers' figures (10 days, the whole stream) are from shared/bench/anchors.json, scaled to this machine by
calibrate.py beside it, which is run before and after each; `times` compares with the better of the two, and `LM MB` is
the resident memory of LM-SRPQ. The score depends on how much of 16 MB the caches hold, so the mean is also given
as it is without scaling. Whoever has the peers at hand measures them beside this, and gives their rates, which are
taken as they are: `--peers FILE`, as JSON, `{"a*": {"S-PATH": 77000, "LM-SRPQ": 140000}, …}`. They do not count pairs
of a vertex with itself, and neither do the results here; their windows end later than ours, by a slide.

With several windows a second table says how edges/s fall and results per edge grow from one window to the next;
`--plot` draws both.

With `--burst` also a generated stream: 90,000 vertices, few components of any size, and a hub that gains 50,000
edges in an hour; window 6 hours, slide 15 minutes.

With `--per-slide` answers are asked at the end of every slide instead of at every edge: which pairs there are, which
entered and which left. `recipe` is what one would write by hand: strongly connected components by SciPy, sets of
vertices as Python's integers along their order, anew for every slide. It does not say until when a pair holds.

With `--cores N` only that: wall time for the whole stream on one core and on N, each following a part of the roots.

The data is looked for in SPECTRA_DATA, or beside the project in shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plot import log_chart

from spectra.automata import Dfa, minimal_dfa
from spectra.operators.path.by_roots import ByRoots, part_of_roots
from spectra.operators.path.columns import Columns
from spectra.operators.path.condense import Condense
from spectra.operators.path.landmark import Landmark
from spectra.operators.path.rapq import RApq
from spectra.operators.path.spath import SPath
from spectra.sparql.syntax import (
    AlternativePath,
    Link,
    OneOrMorePath,
    PathExpression,
    SequencePath,
    ZeroOrMorePath,
    ZeroOrOnePath,
)
from spectra.views.view import WindowViews

SHARED = Path(os.environ.get("SPECTRA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")).parent
OPERATORS: dict[str, Callable[..., Any]] = {
    "columns": Columns,
    "condense": Condense,
    "landmark": Landmark,
    "spath": SPath,
    "rapq": RApq,
}
PREDICATES = {"a2q": 1, "c2q": 2, "c2a": 3}
DAY, HOUR = 86_400_000, 3_600_000
PORTION = 4096
PEERS = ("S-PATH", "LM-SRPQ")


@dataclass(frozen=True, slots=True)
class Edges:
    """A stream: triples of ids, and their times in milliseconds."""

    triples: NDArray[np.int32]
    times: NDArray[np.int64]

    def of(self, dfa: Dfa) -> Edges:
        """Those that an automaton can use."""
        used = np.isin(self.triples[:, 1], [int(label.predicate) for label in dfa.labels])
        return Edges(self.triples[used], self.times[used])


@dataclass(slots=True)
class Row:
    """What one operator did with one query."""

    stream: str
    query: str
    operator: str
    edges: int
    cut: bool
    edges_per_s: float
    median_us: float
    p99_us: float
    longest_ms: float
    pause_ms: float
    peak_bytes: int
    results: int
    peers_per_s: dict[str, float]
    peer_mb: float | None
    scale: float | None
    as_measured_there: float | None
    counters: dict[str, int]

    @property
    def results_per_edge(self) -> float:
        return self.results / self.edges

    @property
    def times(self) -> float | None:
        return self.edges_per_s / max(self.peers_per_s.values()) if self.peers_per_s else None


class Run:
    """One operator over a window that moves with a stream; `options` are its own."""

    def __init__(
        self, operator: str, dfa: Dfa, edges: Edges, window: int, slide: int, cores: int = 1, **options: Any
    ) -> None:
        self.views = WindowViews()
        options = {"removals": False, "extensions": False, "empty": "none"} | options
        owners = [part_of_roots(core, cores, None) for core in range(cores)] if cores > 1 else [None]
        parts = [OPERATORS[operator](self.views, dfa, "x", "y", int, owned=owned, **options) for owned in owners]
        self.operator = ByRoots(self.views, parts) if cores > 1 else parts[0]
        self.edges = edges
        self.slide_of = edges.times // slide
        self.ends = self.slide_of * slide + window
        self.results = 0
        self.peak = 0

    def take(self, first: int, last: int) -> float:
        """CPU seconds that some edges take, each an instant of its own unless its time is that of the one before."""
        times = self.edges.times[first:last]
        count = last - first
        start = time.process_time()
        self.views.apply(
            self.edges.triples[first:last],
            np.ones(count, np.int8),
            np.arange(count + 1),
            times,
            times,
            self.ends[first:last],
            int(times[-1]),
        )
        deltas = self.deltas = self.operator.process()
        self.views.vacuum()
        seconds = time.process_time() - start
        self.results += int(np.count_nonzero(deltas.rows[:, 0] != deltas.rows[:, 1]))
        self.peak = max(self.peak, self.operator.nbytes)
        return seconds

    def net_changes(self, slide: int) -> NDArray[np.float64]:
        """For each slide and pair of two vertices in the last deltas, how often it entered less how often it left."""
        rows = self.deltas.rows.astype(np.int64)
        _, change = np.unique(np.column_stack((self.deltas.at // slide, rows)), axis=0, return_inverse=True)
        others = rows[:, 0] != rows[:, 1]
        return np.bincount(change.ravel()[others], self.deltas.sign[others])


def measure(
    stream: str,
    query: str,
    operator: str,
    dfa: Dfa,
    edges: Edges,
    window: int,
    slide: int,
    limit: float,
    single: int = 10_000,
    runs: int = 1,
) -> Row:
    """One query by one operator; `limit` is for the seconds of all `runs`, `single` edges come one at a time."""
    times: list[float] = []
    while len(times) < runs and sum(times) + max(times, default=0.0) < limit:
        run = Run(operator, dfa, edges, window, slide)
        seconds = 0.0
        taken = 0
        while taken < len(edges.times) and seconds < limit:
            last = min(taken + PORTION, len(edges.times))
            seconds += run.take(taken, last)
            taken = last
        times.append(seconds)
    again = Run(operator, dfa, edges, window, slide)
    starts = np.flatnonzero(again.slide_of[1:taken] != again.slide_of[: taken - 1]) + 1
    alone = np.union1d(np.union1d(starts, starts + 1), np.arange(max(0, taken - single), taken))
    cuts = np.union1d(np.union1d(alone, np.arange(0, taken, PORTION)), [taken])
    cuts = cuts[cuts <= taken].tolist()
    spent = np.array([again.take(first, last) for first, last in pairwise(cuts)])
    firsts = np.array(cuts[:-1])
    pauses, singles = spent[np.isin(firsts, starts)], spent[firsts >= taken - single]
    return Row(
        stream,
        query,
        operator,
        taken,
        taken < len(edges.times),
        taken / median(times),
        float(np.median(singles)) * 1e6,
        float(np.percentile(singles, 99)) * 1e6,
        float(singles.max()) * 1e3,
        float(pauses.max(initial=0)) * 1e3,
        run.peak,
        run.results,
        {},
        None,
        None,
        None,
        run.operator.counters,
    )


# --- answers per slide ----------------------------------------------------------------------


@dataclass(slots=True)
class SlideRow:
    """What one way to find the pairs of every slide took; `entered` and `left` are between slides."""

    query: str
    way: str
    slides: int
    edges_per_s: float
    ms_per_slide: float
    entered: int
    left: int


def per_slide(query: str, way: str, dfa: Dfa, edges: Edges, window: int, slide: int, limit: float) -> SlideRow:
    """The pairs at the end of every slide, those that entered and those that left, until `limit` seconds are over."""
    number = edges.times // slide
    firsts = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    cuts = np.append(firsts, len(number))
    seconds, done, entered, left = 0.0, 0, 0, 0
    recipe = Recipe(dfa, window // slide) if way == "recipe" else None
    options: dict[str, Any] = {"removals": True, "extensions": True}
    if way == "condense":
        options["extensions"] = False
        options["last_seen"] = lambda at: (at // slide + 1) * slide - 1
    run = Run(way, dfa, edges, window, slide, **options) if recipe is None else None
    held = np.zeros(0, np.int64)
    while done < len(firsts) and seconds < limit:
        # as many whole slides as the engine would take together
        last = done + 1
        while run is not None and last < len(firsts) and cuts[last + 1] - cuts[done] <= PORTION:
            last += 1
        if recipe is not None:
            start = time.process_time()
            recipe.add(edges.triples[cuts[done] : cuts[last]], int(number[cuts[done]]))
            pairs = recipe.pairs()
            entering = np.setdiff1d(pairs, held, assume_unique=True)
            leaving = np.setdiff1d(held, pairs, assume_unique=True)
            seconds += time.process_time() - start
            entered, left, held = entered + len(entering), left + len(leaving), pairs
        elif run is not None:
            seconds += run.take(int(cuts[done]), int(cuts[last]))
            net = run.net_changes(slide)
            entered, left = entered + int(np.count_nonzero(net > 0)), left + int(np.count_nonzero(net < 0))
        done = last
    return SlideRow(query, way, done, float(cuts[done]) / seconds, 1e3 * seconds / done, entered, left)


class Recipe:
    """Reachability in the product graph of a window, by components and integers as sets."""

    def __init__(self, dfa: Dfa, slides: int) -> None:
        self.dfa = dfa
        self.slides = slides
        self.arrived: dict[tuple[int, int, int], int] = {}

    def add(self, triples: NDArray[np.int32], slide: int) -> None:
        for triple in map(tuple, triples.tolist()):
            self.arrived[triple] = slide
        self.arrived = {triple: last for triple, last in self.arrived.items() if last > slide - self.slides}

    def pairs(self) -> NDArray[np.int64]:
        """Root and vertex in one number each, in order."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        states = self.dfa.states
        window = np.array(list(self.arrived), np.int64).reshape(-1, 3)
        terms, vertices = np.unique(window[:, [0, 2]], return_inverse=True)
        vertices = vertices.reshape(-1, 2)
        sources, targets = [], []
        for state, moves in enumerate(self.dfa.moves):
            for label, following in moves.items():
                of_label = vertices[window[:, 1] == int(label.predicate)]
                sources.append(of_label[:, 0] * states + state)
                targets.append(of_label[:, 1] * states + following)
        source, target = np.concatenate(sources), np.concatenate(targets)
        nodes = len(terms) * states
        graph = csr_array((np.ones(len(source), np.int8), (source, target)), shape=(nodes, nodes))
        count, component = connected_components(graph, directed=True, connection="strong")
        reached = [0] * count  # the vertices that each component reaches in an accepting state
        accepting = np.isin(np.arange(nodes) % states, list(self.dfa.accepting))
        for node in np.flatnonzero(accepting).tolist():
            reached[component[node]] |= 1 << (node // states)
        following: list[set[int]] = [set() for _ in range(count)]
        for a, b in zip(component[source].tolist(), component[target].tolist(), strict=True):
            if a != b:
                following[a].add(b)
        done = [False] * count
        for start in range(count):
            waiting = [start]
            while waiting:
                at = waiting[-1]
                ahead = [b for b in following[at] if not done[b]]
                if ahead and not done[at]:
                    waiting += ahead
                    continue
                waiting.pop()
                if not done[at]:
                    for b in following[at]:
                        reached[at] |= reached[b]
                    done[at] = True
        found = []
        size = -(-len(terms) // 8)
        for root in range(len(terms)):
            bits = reached[component[root * states]]
            if bits:
                members = np.unpackbits(np.frombuffer(bits.to_bytes(size, "little"), np.uint8), bitorder="little")
                others = np.flatnonzero(members)
                found.append((terms[root] << 32) | terms[others[others != root]])
        return np.concatenate(found) if found else np.zeros(0, np.int64)


def slide_table(rows: list[SlideRow]) -> str:
    lines = [
        f"{'query':11}{'way':10}{'slides':>8}{'edges/s':>11}{'ms/slide':>10}{'times':>7}{'entered':>13}{'left':>13}"
    ]
    for row in rows:
        recipe = next((r.edges_per_s for r in rows if r.query == row.query and r.way == "recipe"), row.edges_per_s)
        lines.append(
            f"{row.query:11}{row.way:10}{row.slides:8,}{row.edges_per_s:11,.0f}{row.ms_per_slide:10.2f}"
            f"{row.edges_per_s / recipe:7.1f}{row.entered:13,}{row.left:13,}"
        )
    return "\n".join(lines)


def path_of(query: str, labels: dict[str, str]) -> PathExpression:
    """The path of a query in the letters of the papers."""
    factors: list[PathExpression] = []
    for letters, mark in re.findall(r"(\w|\([^)]*\))([*?]?)", query):
        links = [Link(str(PREDICATES[labels[letter]])) for letter in re.findall(r"\w", letters)]
        factor: PathExpression = links[0] if len(links) == 1 else AlternativePath(tuple(links))
        factors.append({"*": ZeroOrMorePath, "?": ZeroOrOnePath}[mark](factor) if mark else factor)
    return factors[0] if len(factors) == 1 else SequencePath(tuple(factors))


def math_overflow(limit: int | None) -> Edges:
    """The stream of the peers, in time order."""
    path = SHARED / "data" / "graphs" / "mathoverflow" / "mathoverflow-merged.tsv.gz"
    if not path.exists():
        raise SystemExit("MathOverflow is absent: set SPECTRA_DATA")
    with gzip.open(path, "rt") as file:
        rows = [line.split() for line in file]
    triples = np.array([(int(s), PREDICATES[label], int(o)) for s, o, _, label in rows], np.int32)
    times = np.array([int(row[2]) for row in rows], np.int64) * 1000
    order = np.argsort(times, kind="stable")[:limit]
    # ids without gaps, as a dictionary gives them
    _, vertices = np.unique(triples[:, [0, 2]], return_inverse=True)
    triples[:, [0, 2]] = vertices.reshape(-1, 2) + 1 + len(PREDICATES)
    return Edges(triples[order], times[order])


def burst(limit: int | None) -> Edges:
    """A day of edges between vertices that hardly ever meet again, and an hour in which a hub gains 50,000."""
    rng = np.random.default_rng(1)
    vertices, background, to_hub = 90_000, 150_000, 50_000
    times = np.concatenate((rng.integers(0, 24 * HOUR, background), rng.integers(9 * HOUR, 10 * HOUR, to_hub)))
    triples = rng.integers(4, 4 + vertices, (len(times), 3))
    triples[:, 1] = 1
    triples[background:, 2] = 4
    order = np.argsort(times, kind="stable")[:limit]
    return Edges(triples[order].astype(np.int32), times[order])


def score() -> float:
    """How fast this machine is now, as calibrate.py reckons it."""
    sys.path.insert(0, str(SHARED / "bench"))
    from calibrate import score as calibrated  # type: ignore[import-not-found]

    return float(calibrated(3))


def table(rows: list[Row]) -> str:
    lines = [
        f"{'stream':10}{'query':11}{'operator':10}{'edges/s':>11}{'S-PATH':>10}{'LM-SRPQ':>10}{'times':>7}"
        f"{'p50 us':>8}{'p99 us':>9}{'longest ms':>11}{'pause ms':>10}{'peak MB':>9}{'LM MB':>7}{'results':>13}"
    ]
    for row in rows:
        peers = "".join(f"{row.peers_per_s[peer]:10,.0f}" if row.peers_per_s else f"{'':10}" for peer in PEERS)
        times = f"{row.times:7.1f}" if row.times else f"{'':7}"
        peer_mb = f"{row.peer_mb:7.0f}" if row.peer_mb else f"{'':7}"
        mark = "~" if row.cut else " "
        lines.append(
            f"{row.stream:10}{row.query:11}{row.operator:10}{mark}{row.edges_per_s:10,.0f}{peers}{times}"
            f"{row.median_us:8,.0f}{row.p99_us:9,.0f}{row.longest_ms:11.1f}{row.pause_ms:10.1f}"
            f"{row.peak_bytes / 1e6:9.1f}{peer_mb}{row.results:13,}"
        )
    for operator in dict.fromkeys(row.operator for row in rows):
        mine = [row for row in rows if row.operator == operator]
        ratios = [row.times for row in mine if row.times]
        if len(ratios) > 1:
            scale = mean([row.scale for row in mine if row.scale])
            there = mean([row.as_measured_there for row in mine if row.as_measured_there])
            lines.append(
                f"{operator}: {mean(ratios):.1f} times the better peer in geometric mean over {len(ratios)} queries; "
                f"{there:.1f} times the figures of anchors.json, {there / scale:.1f} times these scaled by {scale:.2f}"
            )
        sizes = [
            row.peak_bytes / other.peak_bytes
            for row in mine
            for other in rows
            if other.operator == "spath" and (other.stream, other.query) == (row.stream, row.query)
        ]
        if operator != "spath" and len(sizes) > 1:
            lines.append(f"{operator}: {mean(sizes):.2f} times the bytes of spath in geometric mean over {len(sizes)}")
    return "\n".join(lines)


def mean(ratios: list[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def growth(rows: list[Row]) -> dict[tuple[str, str], list[tuple[float, Row]]]:
    """The rows of each operator and query by their windows in days, as far as there are several."""
    grown: dict[tuple[str, str], list[tuple[float, Row]]] = {}
    for row in rows:
        if row.stream.endswith(" days") and row.results:
            grown.setdefault((row.operator, row.query), []).append((float(row.stream.split()[0]), row))
    return {key: sorted(line, key=lambda point: point[0]) for key, line in grown.items() if len(line) > 1}


def growth_table(rows: list[Row]) -> str:
    """How much edges/s fall from a window to the next and from the first to the last, and how much the results per
    edge grow; `~` marks cut runs.

    `fall / growth` is at most 1 where speed falls no faster than results grow.
    """
    lines = [f"{'operator':10}{'query':11}{'days':>12}{'edges/s fall':>14}{'results grow':>14}{'fall / growth':>15}"]
    for (operator, query), line in growth(rows).items():
        steps = list(pairwise(line))
        for (days, before), (more, after) in [*steps, (line[0], line[-1])] if len(steps) > 1 else steps:
            fall = before.edges_per_s / after.edges_per_s
            grow = after.results_per_edge / before.results_per_edge
            mark = "~" if before.cut or after.cut else " "
            window = f"{days:g} to {more:g}"
            lines.append(f"{operator:10}{query:11}{window:>12}{fall:13.2f}x{grow:13.2f}x{mark}{fall / grow:14.2f}")
    return "\n".join(lines)


def plot_growth(rows: list[Row], folder: Path) -> None:
    """Two charts for each operator: edges/s and results per edge over the window."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = growth(rows)
    for operator in dict.fromkeys(operator for operator, _ in lines):
        mine = {query: line for (name, query), line in lines.items() if name == operator}
        speed = {query: [(days, row.edges_per_s) for days, row in line] for query, line in mine.items()}
        results = {query: [(days, row.results_per_edge) for days, row in line] for query, line in mine.items()}
        (folder / f"{operator}-edges.svg").write_text(log_chart(f"{operator}: edges/s", "days", "edges/s", speed))
        (folder / f"{operator}-results.svg").write_text(
            log_chart(f"{operator}: results per edge", "days", "results", results)
        )


def cores_table(queries: dict[str, Dfa], operators: list[str], edges: Edges, window: int, cores: int) -> str:
    """Wall time on one core and on several; `condense` is asked at the end of every slide, of a day."""
    lines = [f"{'query':11}{'operator':10}{'one s':>9}{f'{cores} cores s':>11}{'times':>7}{'results':>13}"]
    for query, dfa in queries.items():
        for operator in operators:
            options = {"last_seen": lambda at: (at // DAY + 1) * DAY - 1} if operator == "condense" else {}
            seconds, results = [], set()
            for used in (1, cores):
                run = Run(operator, dfa, edges.of(dfa), window, DAY, used, **options)
                start = time.perf_counter()
                for first in range(0, len(run.edges.times), PORTION):
                    run.take(first, min(first + PORTION, len(run.edges.times)))
                seconds.append(time.perf_counter() - start)
                results.add(run.results)
            if len(results) > 1:
                raise SystemExit(f"{query}: {operator} gives other results on {cores} cores: {results}")
            lines.append(
                f"{query:11}{operator:10}{seconds[0]:9.2f}{seconds[1]:11.2f}{seconds[0] / seconds[1]:7.2f}"
                f"{results.pop():13,}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, nargs="+", default=[10], help="days")
    parser.add_argument("--queries", nargs="+", help="some of the ten, as in anchors.json")
    parser.add_argument("--operators", nargs="+", choices=OPERATORS, default=["columns", "spath"])
    parser.add_argument("--edges", type=int, help="only so many edges of the stream")
    parser.add_argument("--seconds", type=float, default=120, help="CPU time for all runs of a query")
    parser.add_argument("--runs", type=int, default=3, help="of which the median counts")
    parser.add_argument("--single", type=int, default=10_000, help="edges that come one at a time")
    parser.add_argument("--burst", action="store_true", help="also the generated stream")
    parser.add_argument("--per-slide", action="store_true", help="answers at the end of each slide")
    parser.add_argument("--cores", type=int, help="only compare one core with so many")
    parser.add_argument("--peers", type=Path, help="edges/s of the peers as they were measured here, as JSON")
    parser.add_argument("--output", type=Path, help="a file for the figures as JSON")
    parser.add_argument("--plot", type=Path, help="a folder for charts of the growth with the window")
    arguments = parser.parse_args()
    anchors = json.loads((SHARED / "bench" / "anchors.json").read_text())
    measured = anchors["window_10d_slide_1d_whole_stream"]
    beside = json.loads(arguments.peers.read_text()) if arguments.peers else {}
    edges = math_overflow(arguments.edges)
    if arguments.per_slide:
        slide_rows = []
        for days in arguments.windows:
            for query in arguments.queries or anchors["labels"]:
                dfa = minimal_dfa(path_of(query, anchors["labels"][query]))
                for way in ("recipe", *arguments.operators):
                    per_slide(
                        query, way, dfa, Edges(edges.triples[:3000], edges.times[:3000]), 10 * DAY, DAY, 5
                    )  # compile
                    row = per_slide(query, way, dfa, edges.of(dfa), days * DAY, DAY, arguments.seconds)
                    slide_rows.append(row)
        print(slide_table(slide_rows))
        return
    if arguments.cores:
        queries = {
            query: minimal_dfa(path_of(query, anchors["labels"][query]))
            for query in arguments.queries or anchors["labels"]
        }
        some = Edges(edges.triples[:5000], edges.times[:5000])
        cores_table(queries, arguments.operators, some, DAY, arguments.cores)  # compile
        for days in arguments.windows:
            print(f"{days} days")
            print(cores_table(queries, arguments.operators, edges, days * DAY, arguments.cores))
        return
    rows: list[Row] = []
    for operator in arguments.operators:  # compile
        some = Edges(edges.triples[:3000], edges.times[:3000])
        measure("", "", operator, minimal_dfa(OneOrMorePath(Link("1"))), some, DAY, DAY, 60)
    for query in arguments.queries or anchors["labels"]:
        dfa = minimal_dfa(path_of(query, anchors["labels"][query]))
        for operator in arguments.operators:
            for days in arguments.windows:  # one after the other, so that the growth is not that of other work here
                slide = 3 * DAY if days == 180 else DAY
                before = score()
                row = measure(
                    f"{days} days", query, operator, dfa, edges.of(dfa), days * DAY, slide, arguments.seconds,
                    arguments.single, arguments.runs,
                )  # fmt: skip
                if days == 10:
                    anchor = {peer: measured[query][peer]["relevant_edges_per_s"] for peer in PEERS}
                    row.scale = (before + score()) / 2 / anchors["calibration_score"]
                    row.peers_per_s = beside.get(query) or {peer: anchor[peer] * row.scale for peer in PEERS}
                    row.as_measured_there = row.edges_per_s / max(anchor.values())
                    row.peer_mb = measured[query]["LM-SRPQ"]["rss_mb"]
                rows.append(row)
                print(table([row]).splitlines()[1], file=sys.stderr, flush=True)
    rows.sort(key=lambda row: arguments.windows.index(int(row.stream.split()[0])))
    if arguments.burst:
        dfa = minimal_dfa(OneOrMorePath(Link("1")))
        for operator in arguments.operators:
            stream = burst(arguments.edges)
            row = measure(
                "burst", "a+", operator, dfa, stream, 6 * HOUR, HOUR // 4, arguments.seconds, arguments.single,
                arguments.runs,
            )  # fmt: skip
            rows.append(row)
    print(table(rows))
    if growth(rows):
        print(growth_table(rows))
    if arguments.plot:
        plot_growth(rows, arguments.plot)
    figures = json.dumps([asdict(row) | {"times": row.times} for row in rows])
    if arguments.output:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(figures)
    else:
        print(figures)


if __name__ == "__main__":
    main()
