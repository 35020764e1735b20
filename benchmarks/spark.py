"""Spark against what it is measured by: one process that parses, the embedded engine, one shard.

Ratios within one run. A session is running before any clock starts; how long that took is told by itself.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph

import spectra
from spectra.spark.delivery import Delivery
from spectra.spark.sessions import stop
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import Source

NAMESPACE = "http://example.org/"
KEPT = """PREFIX : <http://example.org/>
REGISTER ISTREAM :kept AS SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S]
WHERE { WINDOW :w { ?a :p0 ?b } }"""
STAR = """PREFIX : <http://example.org/>
REGISTER ISTREAM :star AS SELECT ?a ?b ?c ?d FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S]
WHERE { WINDOW :w { ?a :p0 ?b . ?a :p1 ?c . ?a :p2 ?d } }"""
PATH = """REGISTER ISTREAM <u:q> AS SELECT ?x ?y FROM NAMED WINDOW <u:w> ON <u:s> [RANGE P60D STEP P1D]
WHERE { WINDOW <u:w> { ?x (<u:a2q>|<u:c2q>|<u:c2a>)+ ?y } }"""


def write_files(folder: Path, files: int, triples: int, predicates: int) -> Path:
    """Files of random triples, a second from one to the next."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    for number in range(files):
        write_file(folder, number, triples, predicates, rng)
    return folder


def write_file(folder: Path, number: int, triples: int, predicates: int, rng: np.random.Generator) -> None:
    s, o = rng.integers(0, 400_000, (2, triples)).tolist()
    p = rng.integers(0, predicates, triples).tolist()
    unfinished = folder / f".{number}"
    with unfinished.open("w") as file:
        file.writelines(
            f"<{NAMESPACE}s{a}> <{NAMESPACE}p{b}> <{NAMESPACE}o{c}> .\n" for a, b, c in zip(s, p, o, strict=True)
        )
    unfinished.rename(folder / f"{number * 1000}.nt")


def parsed(folder: Path) -> float:
    """Seconds of a plain loop over pyoxigraph's parser."""
    started = time.perf_counter()
    for path in folder.iterdir():
        for _ in pyoxigraph.parse(path=path, format=pyoxigraph.RdfFormat.N_TRIPLES):
            pass
    return time.perf_counter() - started


def read(spark: Any, folder: Path, query: str) -> tuple[float, int]:
    """Seconds to read, prune and encode a folder by Spark, and the triples that are left."""
    engine = spectra.Engine()
    engine.register(query)
    with tempfile.TemporaryDirectory() as log:
        delivery = Delivery(Source(folder), spark, Path(log))
        started = time.perf_counter()
        for _ in delivery.batches(engine.summary(f"{NAMESPACE}s"), Quarantine()):
            pass
        return time.perf_counter() - started, delivery.triples


def answered(source: Source | Delivery, query: str) -> tuple[float, int]:
    """Seconds from files to changes, and the changes."""
    engine = spectra.Engine()
    engine.register(query)
    started = time.perf_counter()
    changes = sum(len(batch) for batch in engine.run(source).batches())
    return time.perf_counter() - started, changes


def micro_batches(spark: Any, folder: Path, batches: int, triples: int) -> list[float]:
    """Seconds from a file that is complete to its events in the driver, one file after the other."""
    rng = np.random.default_rng(2)
    folder.mkdir()
    seconds = []
    engine = spectra.Engine()
    engine.register(KEPT)
    with tempfile.TemporaryDirectory() as log:
        delivery = Delivery(Source(str(folder / "*.nt")), spark, Path(log))
        write_file(folder, 0, triples, 10, rng)
        arriving = delivery.batches(engine.summary(f"{NAMESPACE}s"), Quarantine(), follow=True, idle=600)
        for number in range(1, batches + 1):
            started = time.perf_counter()
            while not (batch := next(arriving)) or not batch.events:
                pass
            seconds.append(time.perf_counter() - started)
            write_file(folder, number, triples, 10, rng)
        arriving.close()  # type: ignore[attr-defined]
    return seconds


def shards(spark: Any, edges: Iterator[tuple[str, str, str, int]], count: int, folder: Path, per_batch: int) -> float:
    """Edges per second of the path query in so many shards, without the first micro-batch."""
    events = folder / f"edges-{count}"
    events.mkdir()
    lines = [
        json.dumps({"time": t * 1000, "event": f"e#{n}", "subject": s, "predicate": p, "object": o}) + "\n"
        for n, (s, p, o, t) in enumerate(edges)
    ]
    for number, first in enumerate(range(0, len(lines), per_batch)):
        path = events / f"{number:04}.json"
        path.write_text("".join(lines[first : first + per_batch]))
        os.utime(path, (number, number))
    spark.conf.set("spark.sql.shuffle.partitions", str(count))
    schema = "time bigint, event string, subject string, predicate string, object string"
    rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(events))
    changes = spectra.spark.continuous(rows, PATH, shards=count)
    writer = changes.writeStream.format("noop").option("checkpointLocation", str(folder / f"state-{count}"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    later = query.recentProgress[1:]
    return sum(batch["numInputRows"] for batch in later) / sum(b["durationMs"]["triggerExecution"] for b in later) * 1e3


def mathoverflow(path: Path, edges: int) -> Iterator[tuple[str, str, str, int]]:
    with gzip.open(path, "rt") as file:
        for _, line in zip(range(edges), file, strict=False):
            s, o, t, p = line.split()
            yield f"<u:{s}>", f"<u:{p}>", f"<u:{o}>", int(t)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--triples", type=int, default=5_000_000, help="of the reading")
    arguments.add_argument("--edges", type=int, default=60_000, help="of the path query")
    options = arguments.parse_args()
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    data = Path(os.environ.get("SPECTRA_DATA", beside)) / "graphs/mathoverflow/mathoverflow-merged.tsv.gz"
    started = time.perf_counter()
    spark = spectra.spark.session("local[2]")
    print(f"session {time.perf_counter() - started:.1f} s", end=", ")
    started = time.perf_counter()
    spark.range(2).mapInArrow(lambda batches: batches, "id long").toArrow()
    print(f"first Python job {time.perf_counter() - started:.1f} s")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        large = write_files(folder / "large", 50, options.triples // 50, 10)
        read(spark, large, KEPT)  # once before, as any session that has been running for a while
        plain, (by_spark, kept) = parsed(large), read(spark, large, KEPT)
        print(
            f"read, prune, encode {options.triples:,} triples, {kept:,} kept: "
            f"{options.triples / by_spark:,.0f} triples/s; "
            f"pyoxigraph.parse alone {options.triples / plain:,.0f}; {plain / by_spark:.2f} times"
        )
        seconds = micro_batches(spark, folder / "small", 20, 10_000)
        print(f"micro-batch of 10,000 triples, file to driver: median {statistics.median(seconds[3:]) * 1000:.0f} ms")
        million = write_files(folder / "million", 100, 10_000, 3)
        answered(Source(million), STAR)
        embedded, changes = answered(Source(million), STAR)
        delivered, same = answered(Delivery(Source(million), spark, folder / "log"), STAR)
        assert changes == same
        print(
            f"1,000,000 triples to {changes:,} changes: embedded {1e6 / embedded:,.0f} triples/s, "
            f"Spark {1e6 / delivered:,.0f}; {embedded / delivered:.2f} times"
        )
        if not data.exists():
            print(f"no {data.name}: the path query is left out", file=sys.stderr)
        else:
            one, two = (shards(spark, mathoverflow(data, options.edges), n, folder, 10_000) for n in (1, 2))
            print(
                f"(a|b|c)+, 60 days, {options.edges:,} edges: {one:,.0f} edges/s in one shard, "
                f"{two:,.0f} in two; {two / one:.2f} times"
            )
    stop(spark)


if __name__ == "__main__":
    main()
