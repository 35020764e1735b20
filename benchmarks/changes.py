"""Changes handed out: joins and paths with many solutions, from N-Triples text to one Arrow table.

    python benchmarks/changes.py [--events N]

Prints changes per second of CPU time through `engine.run(...).to_arrow()`, reading and joining included; the best of
three runs.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

import spectra

WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT5S STEP PT0.5S]"


def write_pairs(path: Path, events: int) -> str:
    """2,000 subjects and objects that meet in 20 hubs; the pattern of their pairs."""
    rng = np.random.default_rng(1)
    ends, hubs, sides = rng.integers(0, 2000, events), rng.integers(0, 20, events), rng.integers(0, 2, events)
    path.write_text(
        "".join(
            f"<urn:x{end}> <urn:p> <urn:h{hub}> .\n" if side else f"<urn:h{hub}> <urn:q> <urn:y{end}> .\n"
            for end, hub, side in zip(ends, hubs, sides, strict=True)
        )
    )
    return "?x <urn:p> ?h . ?h <urn:q> ?y"


def write_graph(path: Path, events: int) -> str:
    """Random edges between 2,000 vertices, most of which reach each other; the pattern of what they reach."""
    ends = np.random.default_rng(1).integers(0, 2000, (events, 2)).tolist()
    path.write_text("".join(f"<urn:v{a}> <urn:p> <urn:v{b}> .\n" for a, b in ends))
    return "?x <urn:p>+ ?y"


def changes_per_second(path: Path, pattern: str, output: str) -> tuple[int, float]:
    """(changes, changes per second)."""
    engine = spectra.Engine(path="columns")
    engine.register(f"REGISTER {output} <urn:q> AS SELECT ?x ?y {WINDOW} WHERE {{ WINDOW <urn:w> {{ {pattern} }} }}")
    source = spectra.read(str(path), interval="PT0.001S", stream="urn:s")
    start = time.process_time()
    rows = engine.run(source).to_arrow().num_rows
    return rows, rows / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000, help="one triple each, a millisecond apart")
    arguments = parser.parse_args()
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("join", write_pairs), ("path", write_graph)):
            path = Path(folder) / f"{name}.nt"
            pattern = write(path, arguments.events)
            for output in ("ISTREAM", "CHANGES"):
                count, rate = max(changes_per_second(path, pattern, output) for _ in range(3))
                print(f"{name:5} {output:8} {count:12,} changes {rate / 1e6:6.1f} million/s", flush=True)
                figures.append({"pattern": name, "output": output, "changes": count, "changes_per_s": rate})
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
