"""PATTERN: a star and a chain over one-triple events, against pyoxigraph at every event; lazy evaluation and none.

    python benchmarks/patterns.py [--events N] [--window TRIPLES] [--overhead RUNS]

Prints events per second of CPU time from N-Triples text to changes, the same for a window kept in a
pyoxigraph store and queried again at every event, and their ratio, in one run. Then a chain whose last
predicate comes only with the last tenth of the stream, joined lazily and not: the same answers, and what
the joins that could not succeed took. With `--overhead` only what adapting costs: each query by turns with plans
that may be replaced and with those of the start, without statistics and with those of the stream.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import deque
from pathlib import Path
from statistics import median
from typing import Any

import pyoxigraph
import streams

import spectra
from spectra.planner.statistics import Statistics

EX = "http://example.org/"
QUERIES = {
    "star": (streams.write_star, f"SELECT * {{ ?x <{EX}p0> ?a . ?x <{EX}p1> ?b . ?x <{EX}p2> ?c }}"),
    "chain": (streams.write_chain, f"SELECT * {{ ?a <{EX}p0> ?b . ?b <{EX}p1> ?c . ?c <{EX}p2> ?d }}"),
}


#: A chain over a graph so dense that each vertex has several successors by each predicate.
LATE = f"SELECT ?a ?e {{ ?a <{EX}p0> ?b . ?b <{EX}p1> ?c . ?c <{EX}p2> ?d . ?d <{EX}late> ?e }}"
_DENSITY = 12


def measure_spectra(
    query: str,
    path: Path,
    window: int,
    events: int,
    *,
    lazy: bool = True,
    adaptive: bool = True,
    known: Statistics | None = None,
) -> dict[str, float]:
    """Events per second with `window` one-triple events, one per millisecond, in the window."""
    engine = spectra.Engine(lazy=lazy, adaptive=adaptive, statistics=known)
    registered = engine.register(query, range=window, step=max(1, window // 100))
    start = time.process_time()
    changes = sum(len(b) for b in engine.run(spectra.read(path, interval=1), drain=False).batches())
    seconds = time.process_time() - start
    held = engine.statistics()["triples"]
    return {
        "events_per_s": events / seconds,
        "changes": changes,
        "bytes_per_triple": engine.nbytes / max(held, 1),
        **_leaf_counters(registered.operator),
    }


def _leaf_counters(operator: Any) -> dict[str, int]:
    """The counters of the operator that reads the window, below projections."""
    while hasattr(operator, "source"):
        operator = operator.source
    counters: dict[str, int] = operator.counters
    return counters


def write_late(path: Path, events: int, window: int) -> None:
    """A random graph of three predicates, and every hundredth triple of the last tenth one of the fourth."""
    vertices = max(1, window // (3 * _DENSITY))
    streams.write_chain(path, events, vertices=vertices)
    lines = path.read_text().splitlines(keepends=True)
    for at in range(events - events // 10, events, 100):
        subject, _, rest = lines[at].split(" ", 2)
        lines[at] = f"{subject} <{EX}late> {rest}"
    path.write_text("".join(lines))


def measure_pyoxigraph(query: str, path: Path, window: int, samples: int) -> float:
    """Events per second when the window is queried again at every event (the first fills do not count)."""
    store = pyoxigraph.Store()
    held: deque[pyoxigraph.Quad] = deque()
    with path.open("rb") as file:
        for number, triple in enumerate(pyoxigraph.parse(file, format=pyoxigraph.RdfFormat.N_TRIPLES)):
            if number == window:
                break
            held.append(pyoxigraph.Quad(triple.subject, triple.predicate, triple.object))
    store.bulk_extend(held)
    start = time.process_time()
    for _ in range(samples):
        old = held.popleft()
        store.remove(old)
        store.add(old)
        held.append(old)
        sum(1 for _ in store.query(query))
    return samples / (time.process_time() - start)


def measure_overhead(name: str, path: Path, window: int, events: int, runs: int) -> None:
    """Print how much longer a query takes that adapts: of both ways the best run, and the median of the ratios."""
    query = QUERIES[name][1]
    engine = spectra.Engine()
    engine.register(query, range=window, step=max(1, window // 100))
    for _ in engine.run(spectra.read(path, interval=1), drain=False).batches():
        pass
    for known in (None, engine.label_statistics()):
        ratios, best = [], {True: 0.0, False: 0.0}
        for number in range(runs):
            speed = {}
            for adaptive in (True, False) if number % 2 else (False, True):  # neither is always the first
                found = measure_spectra(query, path, window, events, adaptive=adaptive, known=known)
                speed[adaptive] = found["events_per_s"]
                best[adaptive] = max(best[adaptive], speed[adaptive])
            ratios.append(speed[False] / speed[True])
        print(
            f"{name:8}{'known' if known else 'not known':12}adaptive {best[True]:,.0f} events/s, "
            f"not {best[False]:,.0f}; overhead of the best {best[False] / best[True] - 1:+.1%}, "
            f"median {median(ratios) - 1:+.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=500_000)
    parser.add_argument("--window", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=5, help="events measured with pyoxigraph")
    parser.add_argument("--overhead", type=int, metavar="RUNS", help="measure what adapting costs, and nothing else")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, query) in QUERIES.items():
            path = Path(folder) / f"{name}.nt"
            write(path, 2_000)
            measure_spectra(query, path, 1_000, 2_000)  # compile
            write(path, arguments.events)
            if arguments.overhead:
                measure_overhead(name, path, arguments.window, arguments.events, arguments.overhead)
                continue
            ours = measure_spectra(query, path, arguments.window, arguments.events)
            theirs = measure_pyoxigraph(query, path, arguments.window, arguments.samples)
            rows.append(
                {"query": name, **ours, "pyoxigraph_events_per_s": theirs, "ratio": ours["events_per_s"] / theirs}
            )
        if arguments.overhead:
            return
        path = Path(folder) / "late.nt"
        events, window = arguments.events // 5, arguments.window // 5
        write_late(path, events, window)
        lazy = [{"lazy": lazy, **measure_spectra(LATE, path, window, events, lazy=lazy)} for lazy in (True, False)]
    print(f"{'query':8}{'events/s':>12}{'changes':>10}{'bytes/triple':>14}{'pyoxigraph/s':>14}{'ratio':>10}")
    for row in rows:
        print(
            f"{row['query']:8}{row['events_per_s']:12,.0f}{row['changes']:10,}{row['bytes_per_triple']:14.0f}"
            f"{row['pyoxigraph_events_per_s']:14.2f}{row['ratio']:10,.0f}"
        )
    print(f"\n{'lazy':8}{'events/s':>12}{'changes':>10}{'skipped':>14}{'probes':>14}{'candidates':>14}")
    for row in lazy:
        print(
            f"{row['lazy']!s:8}{row['events_per_s']:12,.0f}{row['changes']:10,}{row['skipped']:14,}"
            f"{row['probes']:14,}{row['candidates']:14,}"
        )
    print(json.dumps({"patterns": rows, "lazy": lazy}))


if __name__ == "__main__":
    main()
