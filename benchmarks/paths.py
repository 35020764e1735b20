"""PATH on MathOverflow: the queries of the RPQ papers, window 10 days, slide 1 day, results told at once.

    python benchmarks/paths.py [--queries 'a*' abc] [--operator rapq --deletions 0.05] [--edges 100000]
    python benchmarks/paths.py --compare [--seconds 120]

An operator over the edges whose label the query has, already encoded, in portions as the engine makes them: views and
operator, one thread, rates per second of CPU time. Beside it the published C++ of S-PATH and LM-SRPQ as it was
measured elsewhere, scaled by how fast this machine is at this moment (`calibrate.py`). As there, the pair of a vertex
with itself is not told where the path may be empty. A second pass applies one edge at a time, for the median and the
99th percentile of the time per edge and for the longest slide: the calls from Python, which are most of the median,
are part of all three.
Bytes per node are those of the operator's state, all indexes and room to grow included, when it had the most nodes,
and on average. The geometric mean is over the queries that the C++ was measured with.
`--compare` runs each query by `spath`, by `rapq` with and without 5 % deletions, and by `rspq`, one after the other,
and prints how `rapq` with deletions compares with `spath`, and `rspq` with `rapq`. With `--seconds` a run that takes
longer ends there: the line then says how many edges it has seen, and rates are of those.
The stream is looked for in SPECTRA_DATA, or beside the project in shared/data, the figures and `calibrate.py` in the
folder bench beside it.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import math
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import spectra
from spectra.automata import is_conflict_free
from spectra.operators.path.rapq import RApq
from spectra.operators.path.rspq import RSpq
from spectra.operators.path.spath import SPath
from spectra.planner.plans import SPathPlan
from spectra.views.view import WindowViews

DAY = 86_400_000
RANGE, STEP = 10 * DAY, DAY
PORTION = 4096
OPERATORS: dict[str, Any] = {"spath": SPath, "rapq": RApq, "rspq": RSpq}
#: What `--compare` runs: operators, and deletions as a share of the edges.
COMPARED = (("spath", 0.0), ("rapq", 0.05), ("rapq", 0.0), ("rspq", 0.0))
PREDICATES = {"a2q": 1, "c2q": 2, "c2a": 3}
#: As SPARQL, with the letters of the papers; the labels that they stand for are in anchors.json.
QUERIES = {
    "a*": "a*",
    "ab*": "a/b*",
    "ab*c*": "a/b*/c*",
    "ab*c": "a/b*/c",
    "a*b*": "a*/b*",
    "abc*": "a/b/c*",
    "a?b*": "a?/b*",
    "(a|b|c)d*": "(a|b|c)/d*",
    "abc": "a/b/c",
    "(a|b|c)*": "(a|b|c)*",
    "(a|b|c)+": "(a|b|c)+",
}


@dataclass
class Stream:
    """Edges as ids of (subject, predicate, object), with their instants."""

    triples: NDArray[np.int32]
    times: NDArray[np.int64]
    sign: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.times)

    def portions(self, size: int) -> Iterator[Stream]:
        """Whole instants, about `size` edges together."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.times, self.times[min(first + size, len(self)) - 1], side="right"))
            yield self.take(slice(first, last))
            first = last

    def take(self, which: slice | NDArray[np.bool_]) -> Stream:
        return Stream(self.triples[which], self.times[which], self.sign[which])

    def with_deletions(self, share: float) -> Stream:
        """After so many of the edges one of the last thousand is deleted."""
        rng = np.random.default_rng(1)
        places = np.flatnonzero(rng.random(len(self)) < share)
        deleted = np.maximum(0, places - rng.integers(0, 1000, len(places)))
        return Stream(
            np.insert(self.triples, places + 1, self.triples[deleted], axis=0),
            np.insert(self.times, places + 1, self.times[places]),
            np.insert(self.sign, places + 1, -1),
        )


@dataclass
class Figures:
    """What an operator did with one query, in CPU time. The rates of the C++ are scaled, 0 where there are none."""

    query: str
    operator: str
    conflict_free: bool
    deletions: float
    edges: int
    pairs: int
    seconds: float
    edges_per_second: float
    s_path: float
    lm_srpq: float
    median_us: float
    p99_us: float
    longest_slide_ms: float
    mean_nodes: float
    most_nodes: int
    most_bytes: int
    bytes_per_node: float
    mean_bytes_per_node: float

    @property
    def times_s_path(self) -> float:
        return self.edges_per_second / self.s_path if self.s_path else math.nan


class Window:
    """The views of one window and the operator that reads them."""

    def __init__(self, name: str, labels: dict[str, str], operator: str) -> None:
        self.views = WindowViews()
        path = "".join(f"<urn:{labels[letter]}>" if letter in labels else letter for letter in QUERIES[name])
        plan: Any = spectra.Engine().register(f"SELECT DISTINCT * {{ ?x {path} ?y }}", range=RANGE, step=STEP).physical
        while not isinstance(plan, SPathPlan):
            plan = plan.input
        ids = {f"<urn:{label}>": number for label, number in PREDICATES.items()}
        self.conflict_free = is_conflict_free(plan.dfa)
        self.operator = OPERATORS[operator](
            self.views, plan.dfa, "x", "y", ids.__getitem__, empty="none", removals=False, extensions=False
        )

    def apply(self, part: Stream, upto: int) -> int:
        """Apply edges, let time pass to `upto`, and return how many pairs entered."""
        count = len(part)
        ends = part.times // STEP * STEP + RANGE
        self.views.apply(part.triples, part.sign, np.arange(count + 1), part.times, part.times, ends, upto)
        entered = int((self.operator.process().sign > 0).sum())
        self.views.vacuum()
        return entered


def measure(
    name: str,
    stream: Stream,
    labels: dict[str, str],
    anchor: dict[str, Any],
    scale: float,
    run: tuple[str, float],
    limit: float = math.inf,
) -> Figures:
    """A stream through one query, in portions and again edge by edge; `limit` is on the seconds of the former."""
    operator, deletions = run
    stream = stream.with_deletions(deletions)
    window = Window(name, labels, operator)
    pairs, seen = 0, 0
    nodes, sizes = [], []
    start = time.process_time()
    for part in stream.portions(PORTION):
        pairs += window.apply(part, int(part.times[-1]))
        nodes.append(window.operator.counters["nodes"])
        sizes.append(window.operator.nbytes)
        seen += len(part)
        if time.process_time() - start > limit:
            break
    stream = stream.take(slice(seen))
    seconds = time.process_time() - start
    most = int(np.argmax(nodes))
    median, p99, longest = latency(name, stream, labels, pairs, operator)
    return Figures(
        name,
        operator,
        window.conflict_free,
        deletions,
        len(stream),
        pairs,
        seconds,
        len(stream) / seconds,
        *(scale * anchor[peer]["relevant_edges_per_s"] if anchor else 0.0 for peer in ("S-PATH", "LM-SRPQ")),
        median_us=1e6 * median,
        p99_us=1e6 * p99,
        longest_slide_ms=1e3 * longest,
        mean_nodes=float(np.mean(nodes)),
        most_nodes=nodes[most],
        most_bytes=sizes[most],
        bytes_per_node=sizes[most] / nodes[most],
        mean_bytes_per_node=sum(sizes) / sum(nodes),
    )


def latency(name: str, stream: Stream, labels: dict[str, str], pairs: int, operator: str) -> tuple[float, float, float]:
    """(median and 99th percentile of the time per edge, longest slide), in seconds; `pairs` must enter as before."""
    window = Window(name, labels, operator)
    nothing = stream.take(slice(0))
    spent = []
    longest, slide = 0.0, 0
    for part in stream.portions(1):
        at = int(part.times[0])
        start = time.process_time()
        if at // STEP > slide:
            slide = at // STEP
            window.apply(nothing, at - 1)
            now = time.process_time()
            longest, start = max(longest, now - start), now
        pairs -= window.apply(part, at)
        spent.append(time.process_time() - start)
    assert pairs == 0, f"{name}: {pairs} pairs more in portions than edge by edge"
    median, p99 = np.percentile(spent, (50, 99)).tolist()
    return median, p99, longest


HEADER = f"{'':10}{'operator':13}{'edges':>9}{'pairs':>12}{'edges/s':>10}{'S-PATH':>11}{'LM-SRPQ':>9}{'times':>7}"
HEADER += f"{'us':>6}{'p99':>8}{'slide ms':>10}{'nodes':>9}{'most':>9}{'B/node':>8}{'mean':>6}"


def shown(row: Figures) -> str:
    """The figures of one query as a line."""
    operator = row.operator + (f" -{row.deletions:.0%}" if row.deletions else "")
    return (
        f"{row.query:10}{operator:13}{row.edges:>9,}{row.pairs:>12,}{row.edges_per_second:>10,.0f}{row.s_path:>11,.0f}"
        f"{row.lm_srpq:>9,.0f}{row.times_s_path:>7.1f}{row.median_us:>6,.0f}{row.p99_us:>8,.0f}{row.longest_slide_ms:>10.1f}"
        f"{row.mean_nodes:>9,.0f}{row.most_nodes:>9,}{row.bytes_per_node:>8.1f}{row.mean_bytes_per_node:>6.1f}"
    )


def ratios(rows: list[Figures]) -> Iterator[str]:
    """How the operators compare, a line for each query."""
    for name in dict.fromkeys(row.query for row in rows):
        spath, deleting, rapq, rspq = (
            next(row for row in rows if (row.query, row.operator, row.deletions) == (name, *run)) for run in COMPARED
        )
        kind = "free of conflicts" if rspq.conflict_free else "may conflict"
        yield (
            f"{name:10} rapq with deletions / spath {deleting.edges_per_second / spath.edges_per_second:.2f}, "
            f"rspq / rapq {rspq.edges_per_second / rapq.edges_per_second:.2f} ({kind})"
        )


def mathoverflow(data: Path, edges: int | None) -> Stream:
    """The first edges of the stream."""
    with gzip.open(data / "graphs" / "mathoverflow" / "mathoverflow-merged.tsv.gz", "rt") as file:
        rows = [line.split() for line in file][:edges]
    first = max(PREDICATES.values()) + 1
    triples = [(int(s) + first, PREDICATES[label], int(o) + first) for s, o, _, label in rows]
    times = np.array([1000 * int(row[2]) for row in rows], np.int64)
    return Stream(np.array(triples, np.int32), times, np.ones(len(rows), np.int8))


def _score(bench: Path) -> float:
    """How fast this machine is now."""
    spec = importlib.util.spec_from_file_location("calibrate", bench / "calibrate.py")
    assert spec is not None
    assert spec.loader is not None
    calibrate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(calibrate)
    return float(calibrate.score(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", nargs="+", choices=list(QUERIES), default=list(QUERIES))
    parser.add_argument("--operator", choices=["spath", "rapq", "rspq"], default="spath")
    parser.add_argument("--deletions", type=float, default=0.0, help="deletions, as a share of the edges")
    parser.add_argument("--compare", action="store_true", help="every operator, and how they compare")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end a run that takes longer")
    parser.add_argument("--edges", type=int, help="only the first edges of the stream")
    parser.add_argument("--output", type=Path, default=Path("build/paths.json"))
    arguments = parser.parse_args()
    data = Path(os.environ.get("SPECTRA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    bench = data.parent / "bench"
    if not data.exists() or not bench.exists():
        raise SystemExit("MathOverflow or the figures of the C++ are absent: set SPECTRA_DATA")
    anchors = json.loads((bench / "anchors.json").read_text(encoding="utf-8"))
    stream = mathoverflow(data, arguments.edges)
    runs = COMPARED if arguments.compare else ((arguments.operator, arguments.deletions),)
    for run in runs:  # compile
        for name in ("a*", "abc"):
            measure(name, stream.take(slice(6000)), anchors["labels"][name], {}, 1.0, run)
    rows = []
    print(HEADER)
    for name in arguments.queries:
        labels = anchors["labels"].get(name, anchors["labels"]["(a|b|c)*"])
        used = np.isin(stream.triples[:, 1], [PREDICATES[label] for label in labels.values()])
        scale = _score(bench) / anchors["calibration_score"]
        anchor = anchors["window_10d_slide_1d_whole_stream"].get(name, {})
        for run in runs:
            rows.append(measure(name, stream.take(used), labels, anchor, scale, run, arguments.seconds))
            print(shown(rows[-1]), flush=True)
    if arguments.compare:
        print("", *ratios(rows), sep="\n")
    compared = [math.log(row.times_s_path) for row in rows if row.s_path and row.operator == rows[0].operator]
    if compared:
        print(f"\n{math.exp(sum(compared) / len(compared)):.1f} times S-PATH in geometric mean")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    print(f"figures in {arguments.output}")


if __name__ == "__main__":
    main()
