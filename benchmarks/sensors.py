"""Sensors: two patterns, OPTIONAL, FILTER and GROUP BY with AVG, against pyoxigraph at every event and every slide.

    python benchmarks/sensors.py [--events N] [--window TRIPLES] [--slide TRIPLES]

Events have one triple. Prints events per second of CPU time from N-Triples text to changes, told at every event
and at every slide, the same for a window kept in a pyoxigraph store that is queried again each time, and ratios.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import deque
from pathlib import Path

import pyoxigraph

import spectra

EX = "http://example.org/"
XSD_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
SENSORS = 100
PATTERN = f"""{{
  ?observation <{EX}madeBy> ?sensor .
  ?observation <{EX}value> ?value .
  OPTIONAL {{ ?observation <{EX}note> ?note }}
  FILTER(?value > 10)
}} GROUP BY ?sensor"""
SELECT = "SELECT ?sensor (AVG(?value) AS ?mean) (COUNT(?note) AS ?notes)"


def write_observations(path: Path, triples: int) -> None:
    """Observations of two or three triples: sensor, value, and for every fourth a note."""
    rng = random.Random(1)
    written = 0
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while written < triples:
            observation = f"<{EX}o{number}>"
            lines = [
                f"{observation} <{EX}madeBy> <{EX}s{rng.randrange(SENSORS)}> .",
                f'{observation} <{EX}value> "{rng.randrange(400) / 10}"^^<{XSD_DECIMAL}> .',
            ]
            if number % 4 == 0:
                lines.append(f'{observation} <{EX}note> "checked" .')
            for line in lines[: triples - written]:
                file.write(line + "\n")
            written += len(lines)
            number += 1


def measure_spectra(path: Path, window: int, slide: int, events: int, output: str) -> dict[str, float]:
    """Events per second with one triple per millisecond."""
    engine = spectra.Engine()
    engine.register(
        f"REGISTER {output} <urn:sensors> AS {SELECT} "
        f"FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE {window}ms STEP {slide}ms] WHERE {{ WINDOW <urn:w> "
        + PATTERN.replace("} GROUP", "} } GROUP")
    )
    start = time.process_time()
    source = spectra.read(path, interval=1, stream="urn:s")
    changes = sum(len(batch) for batch in engine.run(source, drain=False).batches())
    return {"events_per_s": events / (time.process_time() - start), "changes": changes}


def measure_pyoxigraph(path: Path, window: int, every: int, samples: int) -> float:
    """Events per second when the full window is queried again after every so many events."""
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
        for _ in range(every):
            old = held.popleft()
            store.remove(old)
            store.add(old)
            held.append(old)
        sum(1 for _ in store.query(f"{SELECT} {PATTERN}"))
    return samples * every / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--window", type=int, default=100_000)
    parser.add_argument("--slide", type=int, default=1_000)
    parser.add_argument("--samples", type=int, default=5, help="evaluations measured with pyoxigraph")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "observations.nt"
        write_observations(path, 2_000)
        for told, output, every in (("event", "ISTREAM", 1), ("slide", "RSTREAM", arguments.slide)):
            write_observations(path, 2_000)
            measure_spectra(path, 1_000, 100, 2_000, output)  # compile
            write_observations(path, arguments.events)
            ours = measure_spectra(path, arguments.window, arguments.slide, arguments.events, output)
            theirs = measure_pyoxigraph(path, arguments.window, every, arguments.samples)
            rows.append(
                {"told_every": told, **ours, "pyoxigraph_events_per_s": theirs, "ratio": ours["events_per_s"] / theirs}
            )
    print(f"{'told every':12}{'events/s':>12}{'changes':>10}{'pyoxigraph/s':>14}{'ratio':>10}")
    for row in rows:
        print(
            f"{row['told_every']:12}{row['events_per_s']:12,.0f}{row['changes']:10,}"
            f"{row['pyoxigraph_events_per_s']:14.2f}{row['ratio']:10,.1f}"
        )
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
