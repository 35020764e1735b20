"""How Spark cuts and orders what it reads never shows: the same changes as when one process reads it all."""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import spectra
from spectra.spark import executors
from spectra.spark.delivery import Delivery
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

E = "http://e/"
QUERIES = (
    "REGISTER CHANGES <{e}path> AS SELECT ?x ?y FROM NAMED WINDOW <{e}w> ON <{e}s> [RANGE 9s STEP 3s LATENESS 2s] "
    "WHERE {{ WINDOW <{e}w> {{ ?x <{e}p>+ ?y }} }}",
    "REGISTER RSTREAM <{e}star> AS SELECT * FROM NAMED WINDOW <{e}w> ON <{e}s> [RANGE 6s STEP 2s LATENESS 2s] "
    "WHERE {{ WINDOW <{e}w> {{ ?x <{e}p> ?y . ?x <{e}q> ?z }} }}",
)


def triple(rng: random.Random) -> str:
    """A line of N-Triples; now and then one that no query uses, one that is none, or an escape."""
    nodes = [f"<{E}n{i}>" for i in range(6)] + ["_:b1", f"<{E}\\u006E1>"]
    line = f"{rng.choice(nodes)} <{E}{rng.choice('ppqqr')}> {rng.choice(nodes)} .\n"
    return line if rng.random() > 0.05 else rng.choice(["nonsense\n", "# comment\n", "\n"])


def written(rng: random.Random, form: str, folder: Path) -> Path:
    """A stream of some events in one of the forms; what to read."""
    folder.mkdir()
    times = sorted(rng.sample(range(40), 25))
    if form == "one":
        (folder / "all.nt").write_text("".join(triple(rng) for _ in range(60)))
        return folder / "all.nt"
    if form == "nt":
        for time in times:
            text = "".join(triple(rng) for _ in range(rng.randrange(6))).encode()
            packed = rng.random() < 0.3
            path = folder / f"{time * 1000}.nt{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(text) if packed else text)
    else:
        # some out of order, within the lateness
        times = [time + rng.choice((0, 0, 0, 1)) for time in times]
        for number in range(3):
            part = times[8 * number : 8 * number + 8]
            (folder / f"{number}.{form}").write_text("".join(event(rng, form, number, time) for time in part))
    changed = list(range(len(os.listdir(folder))))
    rng.shuffle(changed)
    for path, when in zip(sorted(folder.iterdir()), changed, strict=True):
        os.utime(path, (when, when))
    return folder


def event(rng: random.Random, form: str, number: int, time: int) -> str:
    at = f'"1970-01-01T00:00:{time:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    lines = [line for line in (triple(rng) for _ in range(3)) if line.startswith(("<", "_"))]
    if form == "nq":
        graph = f"<{E}g{number}-{time}-{rng.random()}>"
        stated = f"{graph} <http://www.w3.org/ns/prov#generatedAtTime> {at} .\n"
        return stated + "".join(line.replace(" .\n", f" {graph} .\n") for line in lines)
    signed = "".join(f"{rng.choice('AAAD')} {line}" for line in lines)
    return f"TX .\nH time {at} .\n{signed}TC .\n"


@pytest.mark.parametrize("form", ["nt", "one", "nq", "rdfp"])
@pytest.mark.parametrize("seed", range(3))
def test_pieces_tasks_and_jobs_never_show(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, seed: int
) -> None:
    rng = random.Random(f"{form} {seed}")
    path = written(rng, form, tmp_path / "events")
    event_size = rng.randrange(1, 5)

    def told(source: Source | Delivery) -> tuple[Counter[str], list[str]]:
        engine = spectra.Engine()
        engine.quarantine = Quarantine(tmp_path / "bad")
        for query in QUERIES:
            engine.register(query.format(e=E))
        with engine.quarantine:
            changes = Counter(f"{change.query} {change}" for change in engine.run(source))
        return changes, (tmp_path / "bad").read_text().splitlines()

    def source() -> Source:
        return Source(path, stream=f"{E}s", event_size=event_size)

    wanted = told(source())
    assert sum(wanted[0].values()) > 20
    monkeypatch.setattr(executors, "TASK_BYTES", rng.choice((1, 40, 150, 10_000)))
    monkeypatch.setattr(executors, "TASKS_OF_A_JOB", rng.choice((3, 20)))
    assert told(Delivery(source(), spark, tmp_path / "log")) == wanted
