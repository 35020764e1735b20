"""`spectra calibrate`: what the steps of operators take on this machine.

A few queries run over random streams. The cost of an operator is a sum of prices times steps, and how many
steps of each kind there are the cost model says; the prices are those with which the sums come closest to what was
measured.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import Node, Source, children, with_children
from spectra.continuous import demand
from spectra.engine import Engine
from spectra.operators.measured import Measured
from spectra.planner.constants import Constants
from spectra.planner.cost import CostModel, Estimate, operators
from spectra.planner.physical import physical_plan
from spectra.planner.pipeline import Rule
from spectra.planner.plans import PathChoice
from spectra.planner.rules.associate_pattern import associate_pattern
from spectra.planner.rules.derive_edges import derive_edges
from spectra.sparql import parse_query
from spectra.streams.source import read

#: Seconds: of the window, of the stream until operators are in a steady state, and after that.
_WINDOW, _BEFORE, _MEASURED = 10, 15, 10

#: What is selected, edges per second of each label, vertices, the rules that make the plan, the operator of paths.
_WORKLOADS: tuple[tuple[str, int, int, tuple[Rule, ...], PathChoice], ...] = (
    ("SELECT * { ?s <urn:a> ?x . ?s <urn:b> ?y . ?s <urn:c> ?z }", 2000, 20_000, (), "spath"),
    ("SELECT * { ?x <urn:a> ?y . ?y <urn:b> ?z . ?z <urn:c> ?u }", 2000, 10_000, (), "spath"),
    ("SELECT * { ?s <urn:a> ?x . ?s <urn:b> ?y . ?s <urn:c> ?z }", 2000, 20_000, (associate_pattern,), "spath"),
    ("SELECT * { ?x <urn:a> ?y . ?y <urn:b> ?z . ?z <urn:c> ?u }", 2000, 10_000, (associate_pattern,), "spath"),
    ("SELECT DISTINCT ?x ?y { ?x (<urn:a>/<urn:b>)+ ?y }", 4000, 60_000, (), "spath"),
    ("SELECT DISTINCT ?x ?y { ?x (<urn:a>/<urn:b>)+ ?y }", 4000, 60_000, (derive_edges,), "spath"),
    (
        "SELECT DISTINCT ?x ?y { ?x (<urn:a>/<urn:b>/<urn:c>)+ ?y }",
        1000,
        20_000,
        (derive_edges,),
        "spath",
    ),
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 3000, 40_000, (), "spath"),
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 3000, 40_000, (), "columns"),
    ("SELECT DISTINCT ?x ?y { ?x (<urn:a>/<urn:b>)+ ?y }", 1500, 18_000, (), "spath"),
    ("SELECT DISTINCT ?x ?y { ?x (<urn:a>/<urn:b>)+ ?y }", 1500, 18_000, (), "columns"),
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 100, 400, (), "columns"),
    # edges that hardly ever meet
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 3000, 300_000, (), "spath"),
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 3000, 300_000, (), "columns"),
    # answers at the end of every second
    ("SELECT DISTINCT ?x ?y { ?x (<urn:a>/<urn:b>)+ ?y }", 1500, 18_000, (), "condense"),
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 100, 400, (), "condense"),
    ("SELECT ?x ?y { ?x <urn:a>+ ?y }", 100, 700, (), "condense"),
    ("SELECT DISTINCT ?x { { ?x <urn:a> ?y } UNION { ?x <urn:b> ?y } FILTER(?x != ?y) }", 2000, 10_000, (), "spath"),
)


#: How much a price of the start counts beside a measurement.
_WEIGHT_OF_START = 0.01


def calibrated() -> Constants:
    """Constants for this machine, in some seconds."""
    steps: list[list[float]] = []
    measured: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in _WORKLOADS:
            for of_operator, microseconds in _run(Path(folder), *workload):
                steps.append(of_operator)
                measured.append(microseconds)
    names = [each.name for each in fields(Constants)]
    prices = fitted(np.array(steps), np.array(measured), np.array(list(asdict(Constants()).values())))
    return Constants(**{name: round(float(price), 5) for name, price in zip(names, prices, strict=True)})


_Floats = NDArray[np.float64]


def fitted(steps: _Floats, measured: _Floats, start: _Floats) -> _Floats:
    """Prices, none below zero, with which `steps` · prices comes close to what was measured, in relative terms.

    By multiplicative updates for the divergence of Itakura and Saito, which counts too little like too much. What the
    measurements do not tell apart stays in the proportions of the start, times how fast the machine is.
    """
    speed = float(np.median(measured / (steps @ start)))
    weight = np.append(np.ones(len(steps)), np.full(len(start), _WEIGHT_OF_START))
    steps, measured = np.vstack([steps, np.diag(1 / start)]), np.append(measured, np.full(len(start), speed))
    prices: _Floats = start.copy()
    for _ in range(3000):
        too_low = steps.T @ (weight / (steps @ prices))
        too_high = steps.T @ (weight / measured)
        prices *= np.sqrt(too_low / too_high)
    return prices


def _run(
    folder: Path, text: str, rate: int, vertices: int, rules: tuple[Rule, ...], path: PathChoice
) -> Iterator[tuple[list[float], float]]:
    """For each operator of a workload: its steps of each kind, and its microseconds, per second."""
    labels = [f"<urn:{label}>" for label in "abc" if f"<urn:{label}>" in text]
    select, _, where = text.partition("{")
    report = "REPORT ON_WINDOW_CLOSE" if path == "condense" else ""
    window = f"FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE {_WINDOW}s STEP 1s {report}]"
    query = parse_query(f"REGISTER CHANGES <urn:q> AS {select} {window} {{ WINDOW <urn:w> {{{where} }}")
    node = from_sparql(query)
    for rule in rules:
        node = _rewritten(node, rule)
    engine = Engine(path=path, measure=True)
    registered = engine.register(query, plan=physical_plan(node))
    assert registered.measured is not None
    before: dict[Measured, float] = {}
    for start, seconds in ((0, _BEFORE), (_BEFORE, _MEASURED)):
        before = {each: each.seconds for each in registered.measured}
        _write(folder / "edges.nt", labels, rate * seconds, vertices, seed=start)
        size = rate * len(labels) // 100
        source = read(folder / "edges.nt", event_size=size, start=1000 * start, interval=10)
        for _ in engine.run(source, drain=False).portions():
            pass
    graphs = {Source("urn:w"): engine.label_statistics()["urn:s"]}
    removals = demand(query, registered.physical).removals
    models = [CostModel(graphs, Constants(**_unit(each.name)), 1.0 if report else 0.0) for each in fields(Constants)]
    kinds = [list(operators(model.estimate(registered.physical, removals=removals))) for model in models]
    inclusive = {id(each.plan): 1e6 * (each.seconds - before[each]) / _MEASURED for each in registered.measured}
    for at, estimate in enumerate(kinds[0]):
        own = _seconds(estimate, inclusive) - sum(_seconds(below, inclusive) for below in estimate.inputs)
        of_kind = [estimates[at].own for estimates in kinds]
        if own > 0 and sum(of_kind) > 0:
            yield of_kind, own


def _seconds(estimate: Estimate, inclusive: dict[int, float]) -> float:
    return inclusive.get(id(estimate.plan), 0.0)


def _unit(name: str) -> dict[str, float]:
    return {each.name: float(each.name == name) for each in fields(Constants)}


def _rewritten(node: Node, rule: Rule) -> Node:
    """The plan after one use of a rule, in the first place where it applies."""
    for other in rule(node):
        return other
    changed = False

    def below(child: Node) -> Node:
        nonlocal changed
        other = child if changed else _rewritten(child, rule)
        changed = changed or other != child
        return other

    return with_children(node, below) if children(node) else node


def _write(stream: Path, labels: list[str], count: int, vertices: int, seed: int) -> None:
    """So many random edges of each label, in random order."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, vertices, (count * len(labels), 2)).tolist()
    of_edge = rng.permutation(np.arange(count * len(labels)) % len(labels)).tolist()
    with stream.open("w") as file:
        file.writelines(f"<urn:v{s}> {labels[p]} <urn:v{o}> .\n" for p, (s, o) in zip(of_edge, ends, strict=True))
