"""PATTERN on LUBM: seven queries, one triple per event in random order, tumbling windows.

    python benchmarks/lubm.py [--windows 10000 50000 100000] [--queries Q1 Q7] [--output build/lubm.json]

Each operator for patterns, forced, against pyoxigraph queried again at every event that passes the
summary, in one run and one thread. `triples/s` counts every triple of the stream, from N-Triples text to
changes; `passing/s` only those that pass the summary, already scanned, as a stream of their own with their
times, so that it shows what the summary does not explain, and is what the re-evaluation of a store is compared
with. Where few pass, that stream is there several times, one after the other. Times are CPU times, the best of
three runs.
Re-evaluation at every event of a large window takes hours: it is then measured at some fill levels of the
first window and reckoned up for the stream, and its figures are marked with `~`. The answers are counted,
and must be as many for all.
The data (LUBM(1, 0)) is looked for in SPECTRA_DATA, or beside the project in shared/data.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyoxigraph
from numpy.typing import NDArray
from plot import log_chart

import spectra
from spectra.planner.plans import PatternOperator
from spectra.views.batch import EventBatch

UB = "http://www.lehigh.edu/~zhp2/2004/0401/univ-bench.owl#"
PREFIX = f"PREFIX ub: <{UB}> "
DEPARTMENT, UNIVERSITY = "<http://www.Department0.University0.edu>", "<http://www.University0.edu>"
_DEGREE = "?y a ub:University . ?z a ub:Department . ?x ub:memberOf ?z . ?z ub:subOrganizationOf ?y . "
_DEGREE += "?x ub:undergraduateDegreeFrom ?y"
QUERIES = {
    "Q1": f"?x a ub:GraduateStudent . {_DEGREE}",
    "Q2": "?x a ub:Course . ?x ub:name ?y",
    "Q3": f"?x a ub:UndergraduateStudent . {_DEGREE}",
    "Q4": f"?x ub:worksFor {DEPARTMENT} . ?x a ub:FullProfessor . ?x ub:name ?a . ?x ub:emailAddress ?b . "
    "?x ub:telephone ?c",
    "Q5": f"?x ub:subOrganizationOf {DEPARTMENT} . ?x a ub:ResearchGroup",
    "Q6": f"?y ub:subOrganizationOf {UNIVERSITY} . ?y a ub:Department . ?x ub:worksFor ?y . ?x a ub:FullProfessor",
    "Q7": "?x a ub:UndergraduateStudent . ?y a ub:FullProfessor . ?z a ub:Course . ?x ub:advisor ?y . "
    "?x ub:takesCourse ?z . ?y ub:teacherOf ?z",
}
BREAK_EVEN = ("Q5", "Q7")
INCREMENTAL: tuple[PatternOperator, ...] = ("tpjoin", "siblings")
SEED = 1
#: Where re-evaluation is sampled: fill levels of the first window, and how many events at each.
LEVELS, RECOMPUTE_EVENTS, STORE_EVENTS = 5, 200, 10
#: Fewer events are too few to be measured; and the best of so many runs counts, for the store as well.
LEAST_PASSING, RUNS = 50_000, 3


@dataclass
class Figures:
    """What one engine did with one query in one window; `seconds` for the whole stream, `sampled` if reckoned up."""

    query: str
    window: int
    engine: str
    triples: int
    passing: int
    answers: int
    seconds: float
    passing_seconds: float
    sampled: bool = False
    bytes_per_triple: float = 0.0

    @property
    def triples_per_second(self) -> float:
        return self.triples / self.seconds

    @property
    def passing_per_second(self) -> float:
        return self.passing / self.passing_seconds


@dataclass
class Passing:
    """The triples that pass the summary of a query, their places in the stream, and the seconds to scan it."""

    lines: list[str]
    places: NDArray[np.int64]
    scan: float


@dataclass
class Stream:
    """The triples in their order of arrival: as text, and one file of all of them."""

    lines: list[str]
    file: Path


def measure(operator: PatternOperator, name: str, window: int, stream: Stream, passing: Passing) -> Figures:
    """The whole stream through the engine from its text, and what passes the summary, already scanned."""
    engine, registered = _engine(operator, name, window)
    source = spectra.read(stream.file, interval=1)
    start = time.process_time()
    answers, held, size = 0, 0, 0
    for portion in engine.run(source, drain=False).portions():
        answers += sum(len(batch) for batch in portion)
        triples = engine.statistics()["triples"]
        if triples > held:
            held, size = triples, engine.nbytes
    seconds = time.process_time() - start
    times = -(-LEAST_PASSING // max(len(passing.lines), 1))
    spent = []
    for _ in range(RUNS):
        engine, registered = _engine(operator, name, window)
        batches = _repeated(engine, passing, times, -(-len(stream.lines) // window) * window)
        start = time.process_time()
        again = sum(len(batch) for batch in engine.run(batches, drain=False).batches())
        spent.append((time.process_time() - start) / times)
        assert again == times * answers, f"{registered.name}: {again} answers instead of {times * answers}"
    passing_seconds = min(spent)
    return Figures(
        name, window, operator, len(stream.lines), len(passing.lines), answers, seconds, passing_seconds,
        bytes_per_triple=size / max(held, 1),
    )  # fmt: skip


def _reckoned(
    name: str, window: int, engine: str, stream: Stream, passing: Passing, answers: int, seconds: float
) -> Figures:
    """The figures of an engine that takes so many seconds for what passes; it has to scan the stream as well."""
    count = len(passing.lines)
    total = seconds + passing.scan
    return Figures(name, window, engine, len(stream.lines), count, answers, total, seconds, sampled=True)


def sample_recompute(name: str, window: int, stream: Stream, passing: Passing) -> Figures:
    """S-Rev at some fill levels of the first window."""
    spent, measured = 0.0, 0
    for fill, following in _levels(passing.lines, window, stream, RECOMPUTE_EVENTS):
        engine, _ = _engine("recompute", name, window)
        _feed(engine, _scanned(engine, passing.lines[:fill], event_size=fill, at=0))
        batches = _scanned(engine, following, event_size=1, at=1)
        start = time.process_time()
        _feed(engine, batches)
        spent += time.process_time() - start
        measured += len(following)
    answers = 0
    for content in _windows(stream, window):
        engine, registered = _engine("recompute", name, window)
        _feed(engine, _scanned(engine, content, event_size=len(content), at=0))
        answers += len(registered.snapshot())
    seconds = spent / max(measured, 1) * len(passing.lines)
    return _reckoned(name, window, "recompute", stream, passing, answers, seconds)


def sample_pyoxigraph(name: str, window: int, stream: Stream, passing: Passing) -> Figures:
    """A store that holds the window, queried at some fill levels of the first window."""
    query = f"{PREFIX} SELECT * {{ {QUERIES[name]} }}"
    spent, measured = 0.0, 0
    for fill, following in _levels(passing.lines, window, stream, STORE_EVENTS):
        store = pyoxigraph.Store()
        store.bulk_extend(_quads(passing.lines[:fill]))
        for quad in list(_quads(following)):
            seconds = []
            for _ in range(RUNS):
                store.remove(quad)
                start = time.process_time()
                store.add(quad)
                sum(1 for _ in store.query(query))
                seconds.append(time.process_time() - start)
            spent += min(seconds)
            measured += 1
    answers = 0
    for content in _windows(stream, window):
        store = pyoxigraph.Store()
        store.bulk_extend(_quads(content))
        answers += sum(1 for _ in store.query(query))
    seconds = spent / max(measured, 1) * len(passing.lines)
    return _reckoned(name, window, "pyoxigraph", stream, passing, answers, seconds)


def _engine(operator: PatternOperator, name: str, window: int) -> tuple[spectra.Engine, spectra.Query]:
    engine = spectra.Engine(pattern=operator)
    text = f"{PREFIX} SELECT * {{ {QUERIES[name]} }}"
    return engine, engine.register(text, range=window, step=window)


def _scanned(engine: spectra.Engine, lines: list[str], *, event_size: int, at: int) -> list[EventBatch]:
    """The lines as events, without what the query cannot use."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "part.nt"
        path.write_text("".join(lines), encoding="utf-8")
        source = spectra.read(path, event_size=max(event_size, 1), start=at, interval=1)
        return [batch for batch in source.batches(engine.summary(""), engine.quarantine) if batch is not None]


def _feed(engine: spectra.Engine, batches: list[EventBatch]) -> None:
    for _ in engine.run(batches, drain=False).batches():
        pass


def _repeated(engine: spectra.Engine, passing: Passing, times: int, apart: int) -> list[EventBatch]:
    """What passes, at its times, so many times."""
    batches = _scanned(engine, passing.lines * times, event_size=1, at=0)
    at = np.concatenate([passing.places + number * apart for number in range(times)])
    first = 0
    for batch in batches:
        batch.event_time = at[first : first + batch.events]
        first += batch.events
    return batches


def _windows(stream: Stream, window: int) -> Iterator[list[str]]:
    for first in range(0, len(stream.lines), window):
        yield stream.lines[first : first + window]


def _levels(passing: list[str], window: int, stream: Stream, events: int) -> Iterator[tuple[int, list[str]]]:
    """(how many triples are there, those that follow) at the middle of each of some parts of the first window."""
    first = int(len(passing) * min(1.0, window / len(stream.lines)))
    for level in range(LEVELS):
        fill = first * (2 * level + 1) // (2 * LEVELS)
        yield fill, passing[fill : fill + events]


def _quads(lines: list[str]) -> Iterator[pyoxigraph.Quad]:
    text = "".join(lines)
    return iter(pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES))


def _passing(name: str, stream: Stream) -> Passing:
    engine, _ = _engine("tpjoin", name, 1)
    source = spectra.read(stream.file, interval=1)
    start = time.process_time()
    sizes = [b.event_first for b in source.batches(engine.summary(""), engine.quarantine) if b is not None]
    scan = time.process_time() - start
    places = np.flatnonzero(np.concatenate([first[1:] > first[:-1] for first in sizes]))
    return Passing([stream.lines[place] for place in places.tolist()], places, scan)


def compare(name: str, window: int, stream: Stream, budget: float, *, store: bool = True) -> list[Figures]:
    """All engines on one query in one window; the same number of answers from each."""
    passing = _passing(name, stream)
    rows = [measure(operator, name, window, stream, passing) for operator in INCREMENTAL]
    baseline = sample_recompute(name, window, stream, passing)
    if baseline.seconds <= budget:
        baseline = measure("recompute", name, window, stream, passing)
    rows.append(baseline)
    if store:
        rows.append(sample_pyoxigraph(name, window, stream, passing))
    if len({row.answers for row in rows}) != 1:
        raise SystemExit(f"{name}, window {window}: answers differ: {[(r.engine, r.answers) for r in rows]}")
    return rows


def shown(rows: list[Figures]) -> str:
    """The figures of one query and window, a line for each engine, with how much longer it takes than the best."""
    best = min(row.passing_seconds for row in rows)
    return "\n".join(
        f"{row.query:4}{row.window:>8,}  {row.engine:11}{row.answers:>8,}{row.passing:>9,}"
        f"{'~' if row.sampled else ' '}{row.triples_per_second:>11,.0f}{row.passing_per_second:>12,.0f}"
        f"{row.bytes_per_triple:>9,.0f}{row.passing_seconds / best:>11,.1f}"
        for row in rows
    )


HEADER = f"{'':4}{'window':>8}  {'engine':11}{'answers':>8}{'passing':>9}{'triples/s':>12}{'passing/s':>12}"
HEADER += f"{'bytes/t':>9}{'times best':>11}"


def shuffled(folder: Path) -> Stream:
    """The triples of LUBM(1, 0), in random order."""
    root = Path(os.environ.get("SPECTRA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    data = root / "rdf" / "lubm" / "lubm1-seed0.nt.gz"
    if not data.exists():
        raise SystemExit("LUBM is absent: set SPECTRA_DATA")
    with gzip.open(data, "rt", encoding="utf-8") as file:
        lines = file.readlines()
    random.Random(SEED).shuffle(lines)
    path = folder / "lubm.nt"
    path.write_text("".join(lines), encoding="utf-8")
    return Stream(lines, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, nargs="+", default=[10_000, 50_000, 100_000])
    parser.add_argument("--queries", nargs="+", choices=list(QUERIES), default=list(QUERIES))
    parser.add_argument("--break-even", type=int, nargs="*", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--budget", type=float, default=5.0, help="seconds that S-Rev may take before it is sampled")
    parser.add_argument("--output", type=Path, default=Path("build/lubm.json"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stream = shuffled(Path(folder))
        few = Stream(stream.lines[:20_000], Path(folder) / "few.nt")
        few.file.write_text("".join(few.lines), encoding="utf-8")
        compare("Q1", 10_000, few, budget=60)  # compile
        figures: list[Figures] = []
        print(HEADER)
        for name, window in itertools.product(arguments.queries, arguments.windows):
            rows = compare(name, window, stream, arguments.budget)
            figures += rows
            print(shown(rows), flush=True)
        print("\nbreak-even with S-Rev")
        for name, window in itertools.product(BREAK_EVEN, arguments.break_even):
            rows = compare(name, window, stream, arguments.budget, store=False)
            figures += rows
            print(shown(rows), flush=True)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps([asdict(row) for row in figures], indent=1), encoding="utf-8")
    plot = arguments.output.with_suffix(".svg")
    plot.write_text(break_even(figures), encoding="utf-8")
    print(f"\n~ sampled; figures in {arguments.output}, break-even plotted in {plot}")


def break_even(figures: list[Figures]) -> str:
    """Seconds for the stream by window, for the better incremental operator and for S-Rev."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, engines in itertools.product(BREAK_EVEN, (INCREMENTAL, ("recompute",))):
        best: dict[int, float] = {}
        for row in figures:
            if row.query == name and row.engine in engines:
                best[row.window] = min(row.passing_seconds, best.get(row.window, row.passing_seconds))
        if best:
            lines[f"{name}, {'S-Rev' if engines == ('recompute',) else 'incremental'}"] = [
                (float(window), seconds) for window, seconds in sorted(best.items())
            ]
    title = "Break-even of incremental matching and re-evaluation"
    return log_chart(title, "window (triples of the stream)", "seconds for what passes the summary", lines)


if __name__ == "__main__":
    main()
