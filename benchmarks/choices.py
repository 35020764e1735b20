"""The planner's choice beside every operator that could be forced, over the workloads of the other benchmarks.

    python benchmarks/choices.py [--edges N] [--runs N] [--only lubm patterns paths deletions slides burst]

The star and the chain of patterns.py, the seven queries of lubm.py, the queries of paths.py and path_peers.py at every
edge, with deletions and at the end of every slide, and the burst, all on prefixes. Every operator, and the planner
twice: as it comes (`auto`), and with statistics of the stream (`known`). All in one process, by turns, CPU time of
the whole engine from scanned events to changes, the best of some runs. `ratio` is the planner's time beside that of the
best forced operator. The answers are counted, and must be as many for all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lubm
import numpy as np
import path_peers
import paths
import patterns
from numpy.typing import NDArray

import spectra
from spectra.planner.statistics import Statistics
from spectra.views.batch import EventBatch

DAY, HOUR = path_peers.DAY, path_peers.HOUR
PATTERN = ("tpjoin", "siblings", "recompute")
PATH = ("columns", "spath", "rapq")
STREAM = "urn:s"


@dataclass
class Workload:
    """A query with its window, the operators between which it is to be chosen, and the events as they are scanned."""

    group: str
    name: str
    query: str
    kind: str
    operators: tuple[str, ...]
    batches: list[EventBatch] = field(repr=False)
    window: dict[str, int] = field(default_factory=dict)

    def run(self, operator: str, known: Statistics | None = None) -> tuple[float, int, spectra.Query, spectra.Engine]:
        """CPU seconds, answers, and the query and engine that gave them."""
        engine = spectra.Engine(**{self.kind: operator}, statistics=known, adaptive=operator == "auto")  # type: ignore[arg-type]
        query = engine.register(self.query, **self.window)  # type: ignore[arg-type]
        start = time.process_time()
        answers = sum(len(batch) for batch in engine.run(self.batches, drain=False).batches())
        return time.process_time() - start, answers, query, engine


# --- the workloads --------------------------------------------------------------------------


def scanned(file: Path, **options: Any) -> list[EventBatch]:
    """All events of a file, as those of the stream that the queries name."""
    engine = spectra.Engine()
    engine.register("SELECT * { ?s ?p ?o }", range=1)
    batches = [b for b in spectra.read(file, **options).batches(engine.summary(""), engine.quarantine) if b is not None]
    for batch in batches:
        batch.stream = STREAM
    return batches


def of_patterns(folder: Path, events: int) -> Iterator[Workload]:
    """A star and a chain, each told when it enters and, again, when it also leaves."""
    for name, (write, query) in patterns.QUERIES.items():
        write(folder / f"{name}.nt", events)
        batches = scanned(folder / f"{name}.nt", interval=1)
        window = f"FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE {events // 5}ms STEP {events // 500}ms]"
        where = query.removeprefix("SELECT * ")
        for output in ("ISTREAM", "CHANGES"):
            text = f"REGISTER {output} <urn:q> AS SELECT * {window} WHERE {{ WINDOW <urn:w> {where} }}"
            yield Workload("patterns", f"{name} {output}", text, "pattern", PATTERN[:2], batches)


def of_lubm(folder: Path, triples: int) -> Iterator[Workload]:
    """The seven queries, what passes their summaries, tumbling windows of a tenth."""
    lines = lubm.shuffled(folder).lines[:triples]
    file = folder / "prefix.nt"
    file.write_text("".join(lines), encoding="utf-8")
    for name, where in lubm.QUERIES.items():
        query = f"{lubm.PREFIX} SELECT * {{ {where} }}"
        engine = spectra.Engine()
        engine.register(query, range=1)
        source = spectra.read(file, interval=1)
        batches = [b for b in source.batches(engine.summary(""), engine.quarantine) if b is not None]
        yield Workload("lubm", name, query, "pattern", PATTERN[:2], batches, {"range": 10_000, "step": 10_000})


def events_of(
    folder: Path, triples: NDArray[np.int32], times: NDArray[np.int64], sign: NDArray[np.int8] | None = None
) -> list[EventBatch]:
    """Edges of ids as events of one triple each."""
    file = folder / "edges.nt"
    with file.open("w") as out:
        out.writelines(f"<urn:v{s}> <urn:p{p}> <urn:v{o}> .\n" for s, p, o in triples.tolist())
    batches = scanned(file, interval=1)
    first = 0
    for batch in batches:
        last = first + batch.events
        batch.event_time = times[first:last]
        if sign is not None:
            batch.sign = sign[first:last]
        first = last
    return batches


def path_text(query: str, labels: dict[str, str]) -> str:
    """A path of the papers in SPARQL."""
    return "".join(
        f"<urn:p{path_peers.PREDICATES[labels[letter]]}>" if letter in labels else letter
        for letter in paths.QUERIES[query]
    )


def register(path: str, window: int, step: int, output: str = "ISTREAM", more: str = "") -> str:
    return (
        f"REGISTER {output} <urn:q> AS SELECT DISTINCT * FROM NAMED WINDOW <urn:w> ON <{STREAM}> "
        f"[RANGE {window}ms STEP {step}ms {more}] WHERE {{ WINDOW <urn:w> {{ ?x {path} ?y }} }}"
    )


def of_paths(folder: Path, edges: int, groups: set[str]) -> Iterator[Workload]:
    """The queries of the papers on MathOverflow: every edge, some windows; with deletions; per slide."""
    anchors = paths.json.loads((path_peers.SHARED / "bench" / "anchors.json").read_text())
    stream = path_peers.math_overflow(edges)
    plain = events_of(folder, stream.triples, stream.times)
    share = paths.Stream(stream.triples, stream.times, np.ones(len(stream.times), np.int8)).with_deletions(0.05)
    deleting = events_of(folder, share.triples, share.times, share.sign)
    for name, labels in anchors["labels"].items():
        path = path_text(name, labels)
        if "paths" in groups:
            for window, step in ((10 * DAY, DAY), (60 * DAY, DAY), (10 * DAY, 1)):
                days = f"{name} {window // DAY} d by {'1 d' if step == DAY else '1 ms'}"
                yield Workload("paths", days, register(path, window, step), "path", PATH, plain)
        if "deletions" in groups:
            text = register(path, 10 * DAY, DAY)
            yield Workload("deletions", f"{name} 5 % deleted", text, "path", PATH, deleting)
        if "slides" in groups:
            for window, step in ((10 * DAY, DAY), (60 * DAY, DAY)):
                text = register(path, window, step, "CHANGES", "REPORT ON_WINDOW_CLOSE")
                operators = (*PATH, "condense")
                yield Workload("slides", f"{name} {window // DAY} d", text, "path", operators, plain)


def of_burst(folder: Path, edges: int) -> Iterator[Workload]:
    stream = path_peers.burst(None)
    # the hub gains its edges in the tenth hour
    first = int(np.searchsorted(stream.times, 8 * HOUR)) if edges < len(stream.times) else 0
    chosen = slice(first, first + edges)
    batches = events_of(folder, stream.triples[chosen], stream.times[chosen])
    yield Workload("burst", "a+", register("<urn:p1>+", 6 * HOUR, HOUR // 4), "path", PATH, batches)


# --- measuring ------------------------------------------------------------------------------


@dataclass
class Row:
    """The seconds of every operator, and of the planner's choices."""

    workload: str
    forced: dict[str, float]
    auto: float
    known: float
    chosen: str
    answers: int
    agree: bool

    @property
    def best(self) -> str:
        return min(self.forced, key=self.forced.__getitem__)

    def ratio(self, seconds: float) -> float:
        return seconds / self.forced[self.best]


def operators_of(query: spectra.Query) -> str:
    """The names of the operators of patterns and paths in a plan."""
    names = (*PATTERN, *PATH, "condense", "landmark")
    found = [word for line in query.explain().splitlines() for word in names if line.strip().startswith(f"{word}(")]
    return " ".join(found[-1:])


def measure(workload: Workload, runs: int) -> Row:
    """All operators and both choices by turns."""
    spent: dict[str, float] = {}
    answers: set[int] = set()
    known: Statistics | None = None
    chosen: dict[str, str] = {}
    for _ in range(runs):
        for way in (*workload.operators, "auto", "known"):
            seconds, count, query, engine = workload.run(
                way if way != "known" else "auto", known if way == "known" else None
            )
            known = known or engine.label_statistics()
            spent[way] = min(spent.get(way, seconds), seconds)
            answers.add(count)
            chosen[way] = operators_of(query)
    if len(answers) > 1:
        print(f"{workload.group} {workload.name}: answers differ: {answers}")
    forced = {operator: spent[operator] for operator in workload.operators}
    name = f"{workload.group:10}{workload.name}"
    return Row(
        name,
        forced,
        spent["auto"],
        spent["known"],
        f"{chosen['auto']}, {chosen['known']}",
        max(answers),
        len(answers) == 1,
    )


def main() -> None:
    groups = ("lubm", "patterns", "paths", "deletions", "slides", "burst")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=20_000, help="of each stream")
    parser.add_argument("--runs", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--only", nargs="+", choices=groups, default=groups)
    options = parser.parse_args()
    chosen = set(options.only)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: list[Iterator[Workload]] = []
        if "lubm" in chosen:
            parts.append(of_lubm(folder, 5 * options.edges))
        if "patterns" in chosen:
            parts.append(of_patterns(folder, 5 * options.edges))
        if chosen & {"paths", "deletions", "slides"}:
            parts.append(of_paths(folder, options.edges, chosen))
        if "burst" in chosen:
            parts.append(of_burst(folder, 2 * options.edges))
        compiled: set[tuple[str, str]] = set()
        for part in parts:
            for workload in part:
                if (workload.group, workload.name[-3:]) not in compiled:
                    compiled.add((workload.group, workload.name[-3:]))
                    measure(workload, 1)
                row = measure(workload, options.runs)
                rows.append(row)
                times = "  ".join(f"{operator} {seconds:.3f}" for operator, seconds in row.forced.items())
                print(
                    f"{row.workload:34}{times}  | auto {row.auto:.3f} ratio {row.ratio(row.auto):.2f}, "
                    f"known {row.known:.3f} ratio {row.ratio(row.known):.2f} ({row.chosen}) {row.answers:,} answers",
                    flush=True,
                )
    for way in ("auto", "known"):
        worst = max(rows, key=lambda row: row.ratio(getattr(row, way)))
        ratios = [row.ratio(getattr(row, way)) for row in rows]
        above = sum(ratio > 1.2 for ratio in ratios)
        print(f"{way}: worst {max(ratios):.2f} ({worst.workload.strip()}), {above} of {len(ratios)} above 1.2")
    if not all(row.agree for row in rows):
        raise SystemExit("answers differ")


if __name__ == "__main__":
    main()
