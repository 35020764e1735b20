"""Generated streams for the benchmarks: N-Triples files, made once per run in a temporary folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_star(path: Path, events: int, *, subjects: int = 40_000, predicates: int = 3, seed: int = 1) -> None:
    """One triple per line: a random subject, one of a few predicates, a random value."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, subjects, events).tolist()
    p = rng.integers(0, predicates, events).tolist()
    o = rng.integers(0, 1_000, events).tolist()
    with path.open("w") as file:
        file.writelines(
            f"<http://example.org/s{a}> <http://example.org/p{b}> <http://example.org/v{c}> .\n"
            for a, b, c in zip(s, p, o, strict=True)
        )


def write_chain(path: Path, events: int, *, vertices: int = 60_000, predicates: int = 3, seed: int = 2) -> None:
    """One triple per line: edges of a random graph with a few predicates."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, vertices, events).tolist()
    p = rng.integers(0, predicates, events).tolist()
    o = rng.integers(0, vertices, events).tolist()
    with path.open("w") as file:
        file.writelines(
            f"<http://example.org/n{a}> <http://example.org/p{b}> <http://example.org/n{c}> .\n"
            for a, b, c in zip(s, p, o, strict=True)
        )
