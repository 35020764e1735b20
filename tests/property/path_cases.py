"""Random path queries over streams of graphs of every kind: sparse, dense, cyclic, bipartite, with parallel labels."""

from __future__ import annotations

import random

from spectra.oracle import Triple
from tests.property.generate import EX, OUTPUTS, PROLOGUE, STREAMS, Case, StreamEvent, iri

LABELS = ("p", "q", "r")
FAMILIES = ("sparse", "dense", "cycle", "bipartite", "loops", "parallel")
DELETIONS = (0.0, 0.05, 0.3)
STATIC = f"{EX}static"


def random_path(rng: random.Random, depth: int = 3) -> str:
    """A path expression that uses every operator of the grammar sooner or later."""
    if depth == 0 or rng.random() < 0.2:
        label = f"ex:{rng.choice(LABELS)}"
        kind = rng.random()
        if kind < 0.75:
            return label
        if kind < 0.9:
            return f"^{label}"
        return rng.choice((f"!{label}", f"!(ex:p|^{label})", f"!^{label}"))
    inner = random_path(rng, depth - 1)
    choice = rng.random()
    if choice < 0.25:
        return f"({inner}/{random_path(rng, depth - 1)})"
    if choice < 0.45:
        return f"({inner}|{random_path(rng, depth - 1)})"
    if choice < 0.85:
        return f"({inner}){rng.choice('*++?')}"
    return f"({inner})" + rng.choice(("{2}", "{1,2}", "{2,}", "{,2}", "{0,1}", "{0}", "{3}", "{1,}"))


def _edge(rng: random.Random, family: str, vertices: int) -> Triple:
    source, target = rng.randrange(vertices), rng.randrange(vertices)
    label = rng.choice(LABELS)
    if family == "cycle" and rng.random() < 0.7:
        target = (source + 1) % vertices
    elif family == "bipartite":
        source, target = 2 * (source // 2), (2 * (target // 2) + 1) % vertices
    elif family == "loops" and rng.random() < 0.4:
        target = source
    elif family == "parallel":
        target = (source + rng.choice((1, 2))) % vertices
    return iri(f"v{source}"), iri(label), iri(f"v{target}")


def random_graph_stream(rng: random.Random, family: str, deletions: float, vertices: int) -> tuple[StreamEvent, ...]:
    """Events with repeats, gaps, equal times and deletions of what has come."""
    time = rng.choice((0, 3, -50))
    events = []
    seen: list[Triple] = []
    for _ in range(rng.randrange(6, 30)):
        time += rng.choice((0, 1, 1, 2, 3, 6, 12))
        added, deleted = [], []
        for _ in range(rng.choice((1, 1, 2, 4) if family == "dense" else (0, 1, 1, 2))):
            if seen and rng.random() < deletions:
                deleted.append(rng.choice(seen))
            else:
                added.append(_edge(rng, family, vertices))
                if family == "parallel":
                    added.append((added[-1][0], iri(rng.choice(LABELS)), added[-1][2]))
        seen += added
        events.append(StreamEvent(time, STREAMS[0], tuple(deleted), tuple(added)))
    return tuple(events)


def path_case(
    seed: int,
    *,
    options: str = "",
    outputs: tuple[str, ...] = OUTPUTS,
    vertices: int | None = None,
    body: str | None = None,
    counting: bool = True,
    brackets: str = "",
    distinct: bool = False,
) -> Case:
    """A query of one or two paths over one window, and a stream of graphs for it."""
    rng = random.Random(f"path {seed}")
    family = rng.choice(FAMILIES)
    vertices = vertices or rng.choice((3, 4, 6, 9))
    if family == "bipartite":
        vertices += vertices % 2
    ends = rng.choice((("?x", "?y"),) * 6 + (("ex:v0", "?y"), ("?x", "ex:v1"), ("?x", "?x"), ("ex:v0", "ex:v1")))
    if body is None:
        body = f"{ends[0]} {random_path(rng)} {ends[1]}"
        if rng.random() < 0.15:
            body += f" . ?y {random_path(rng, 2)} ?z"
        if rng.random() < 0.15:
            body += " . ?x ex:p ?u"
    step = rng.choice((1, 2, 5, 10))
    spec = f"RANGE {step * rng.choice((1, 2, 3, 7))}ms STEP {step}ms"
    if counting and rng.random() < 0.15:
        elements = rng.choice((2, 3, 5, 9))
        spec = f"ELEMENTS {elements} STEP {rng.randrange(1, elements + 1)}"
    head = "SELECT DISTINCT *" if distinct or rng.random() < 0.5 else "SELECT *"
    if "?" not in body.replace(")?", ""):
        head = "ASK"
    from_ = f"FROM <{STATIC}>" if "STATIC" in brackets else ""
    text = (
        f"{PROLOGUE}REGISTER {rng.choice(outputs)} ex:out {options} AS {head} "
        f"FROM NAMED WINDOW ex:w ON <{STREAMS[0]}> [{spec} {brackets}] {from_} WHERE {{ WINDOW ex:w {{ {body} }} }}"
    )
    events = random_graph_stream(rng, family, rng.choice(DELETIONS), vertices)
    static = {STATIC: tuple(_edge(rng, family, vertices) for _ in range(rng.randrange(4)))} if from_ else {}
    return Case(seed, text, None, None, events, static)
