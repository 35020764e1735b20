"""The thesis's experiments on plans: a star in four orders, `(a/b/c)+` by seven plans, measured and estimated.

    python benchmarks/plans.py [--scale S] [--vertices N] [--rates A B C D] [--seconds N] [--only star|path]

Streams of four labels with 2000, 4000, 6000 and 8000 edges per second over a window of 100 s, edges of a random
graph; rates and vertices times the scale. For every plan the time that its operators take per second of
application time, once the window is full, beside what the cost model says, and the plan that the planner chooses.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import spectra
from spectra.algebra.from_sparql import from_sparql
from spectra.algebra.nodes import OBJECT as O
from spectra.algebra.nodes import SUBJECT as S
from spectra.algebra.nodes import Derived, Node, Pattern, Project, Source, WScan, with_children
from spectra.algebra.nodes import Path as PathNode
from spectra.algebra.paths import path_node
from spectra.continuous import demand
from spectra.planner.constants import constants
from spectra.planner.cost import CostModel
from spectra.planner.optimise import graphs_of
from spectra.planner.physical import explain_physical, operator_lines, physical_plan
from spectra.planner.statistics import Statistics
from spectra.sparql import parse_query
from spectra.sparql.syntax import Link, OneOrMorePath, PathExpression, SequencePath, Term, Variable

WINDOW = 100  # seconds
RATES = {"a": 2000, "b": 4000, "c": 6000, "d": 8000}
STAR = "SELECT ?s ?t WHERE { WINDOW <w> { ?s <a> ?v1 . ?s <b> ?v2 . ?s <c> ?v3 . ?s <d> ?t } }"
PATH = "SELECT DISTINCT ?x ?y WHERE { WINDOW <w> { ?x (<a>/<b>/<c>)+ ?y } }"
EX = "http://example.org/"

X, Y = Variable("x"), Variable("y")
W = Source(f"{EX}w")


def query_of(text: str) -> str:
    """The query as text, with its window."""
    select, _, where = text.partition("WHERE")
    window = f"FROM NAMED WINDOW <w> ON <s> [RANGE {WINDOW}s STEP 1s]"
    return f"BASE <{EX}> REGISTER ISTREAM <q> AS {select} {window} WHERE {where}"


def write_stream(path: Path, rates: dict[str, int], vertices: int, seconds: int, seed: int) -> int:
    """A file with the edges of every tenth of a second in random order; edges per tenth."""
    rng = np.random.default_rng(seed)
    tenth = np.concatenate([[label] * (rate // 10) for label, rate in rates.items()])
    with path.open("w") as file:
        for _ in range(10 * seconds):
            labels = rng.permutation(tenth).tolist()
            ends = rng.integers(0, vertices, (len(labels), 2)).tolist()
            file.writelines(f"<{EX}v{s}> <{EX}{p}> <{EX}v{o}> .\n" for p, (s, o) in zip(labels, ends, strict=True))
    return len(tenth)


# --- the plans ------------------------------------------------------------------------------


def star_plans() -> Iterator[tuple[str, Node]]:
    """The four join orders of the thesis, and all scans matched together."""
    scans = {
        label: WScan(W, Variable("s"), f"<{EX}{label}>", Variable(name))
        for label, name in zip("abcd", ("v1", "v2", "v3", "t"), strict=True)
    }
    a, b, c, d = scans.values()
    for name, tree in {
        "Q1 a(c(bd))": Pattern((a, Pattern((c, Pattern((b, d)))))),
        "Q2 a(b(cd))": Pattern((a, Pattern((b, Pattern((c, d)))))),
        "Q3 ((ba)c)d": Pattern((Pattern((c, Pattern((b, a)))), d)),
        "Q4 ((ca)b)d": Pattern((Pattern((b, Pattern((c, a)))), d)),
        "together": Pattern((a, b, c, d)),
    }.items():
        yield name, Project(("s", "t"), tree)


def path_plans() -> Iterator[tuple[str, Node]]:
    """By one automaton, by joins below a closure, and by both."""
    base = from_sparql(parse_query(query_of(PATH)))

    def chain(*steps: Node | PathExpression) -> Node:
        """Steps one after the other, each joined by itself; a node is a chain that is joined before."""
        return Project((S.name, O.name), Pattern(tuple(steps)))  # type: ignore[arg-type]

    def step(start: Term, path: PathExpression, end: Term) -> Node:
        return path_node(W, start, path, end)

    a, b, c = (Link(f"<{EX}{label}>") for label in "abc")
    m, n = Variable("_:m"), Variable("_:n")
    ab, bc = SequencePath((a, b)), SequencePath((b, c))
    d = Link("_:d")

    def over(path: PathExpression, *edges: tuple[str, Node]) -> Node:
        return PathNode(Derived(edges), X, path, Y)

    def edge(label: Link) -> tuple[str, Node]:
        return label.predicate, step(S, label, O)

    together = chain(step(S, a, m), step(m, b, n), step(n, c, O))
    plus = OneOrMorePath(d)
    found = {
        "Q1 automaton": PathNode(W, X, OneOrMorePath(SequencePath((a, b, c))), Y),
        "Q2 ((ab)c)+": over(plus, ("_:d", chain(Pattern((step(S, a, m), step(m, b, n))), step(n, c, O)))),
        "Q3 (a(bc))+": over(plus, ("_:d", chain(step(S, a, m), Pattern((step(m, b, n), step(n, c, O)))))),
        "Q4 (d/c)+ d=ab": over(
            OneOrMorePath(SequencePath((d, c))), ("_:d", chain(step(S, a, m), step(m, b, O))), edge(c)
        ),
        "Q5 (a/d)+ d=bc": over(
            OneOrMorePath(SequencePath((a, d))), ("_:d", chain(step(S, b, m), step(m, c, O))), edge(a)
        ),
        "Q6 (P(ab)c)+": over(plus, ("_:d", chain(step(S, ab, n), step(n, c, O)))),
        "Q7 (aP(bc))+": over(plus, ("_:d", chain(step(S, a, m), step(m, bc, O)))),
        "Q8 (abc)+": over(plus, ("_:d", together)),
    }
    for name, node in found.items():
        yield name, _with_path(base, node)


def _with_path(plan: Node, path: Node) -> Node:
    return path if isinstance(plan, PathNode) else with_children(plan, lambda below: _with_path(below, path))


# --- measuring ------------------------------------------------------------------------------


@dataclass
class Stream:
    """Edges to fill the window, and those that follow; how many there are in a tenth of a second."""

    before: Path
    after: Path
    per_event: int
    seconds: int


def measure(query: str, plan: Node | None, stream: Stream, known: Statistics | None = None) -> dict[str, Any]:
    """Microseconds in the operators per second of application time, after the window has filled.

    Without a plan, that which the planner chooses by what is known of the stream.
    """
    engine = spectra.Engine(measure=True, statistics=known)
    registered = engine.register(query, plan=None if plan is None else physical_plan(plan))
    assert registered.measured is not None
    top, begun, changes = registered.measured[-1], 0.0, 0
    for path, start in ((stream.before, 0), (stream.after, WINDOW + 10)):
        begun = top.seconds
        source = spectra.read(path, event_size=stream.per_event, start=1000 * start, interval=100)
        for batches in engine.run(source, drain=False).portions():
            changes += sum(map(len, batches))
    statistics = engine.label_statistics()
    model = CostModel(graphs_of(registered.query, statistics), constants())
    estimate = model.estimate(registered.physical, removals=demand(registered.query, registered.physical).removals)
    return {
        "measured": (top.seconds - begun) / stream.seconds * 1e6,
        "estimated": estimate.cost,
        "changes": changes,
        "megabytes": registered.nbytes / 1e6,
        "statistics": statistics,
        "plan": explain_physical(registered.physical),
        "operators": [
            (operator_lines(each.plan)[0], f"{each.seconds:.3f} s", each.entered, each.left, each.counters)
            for each in registered.measured
        ],
    }


def rank_correlation(one: list[float], other: list[float]) -> float:
    """Spearman's."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def compare(
    name: str, text: str, plans: Iterator[tuple[str, Node]], stream: Stream, *, verbose: bool
) -> dict[str, Any]:
    """Measure all plans and the one that is chosen, and print them; what is to be true of them."""
    rows: list[tuple[str, dict[str, Any]]] = []
    known: Statistics | None = None
    for plan_name, plan in (*plans, ("chosen", None)):
        found = measure(query_of(text), plan, stream, known)
        known = known or found["statistics"]
        rows.append((plan_name, found))
        print(
            f"{name} {plan_name:16} measured {found['measured']:10,.0f} us/s  estimated {found['estimated']:10,.0f}  "
            f"changes {found['changes']:,}  {found['megabytes']:.1f} MB",
            flush=True,
        )
        for each in found["operators"] if verbose else ():
            print("    ", *each)
    assert len({found["changes"] for _, found in rows}) == 1, "all plans tell the same"
    *others, (_, chosen) = rows
    measured, estimated = ([found[key] for _, found in others] for key in ("measured", "estimated"))
    summary = {
        "rank_correlation": round(rank_correlation(measured, estimated), 2),
        "chosen_beside_best": round(chosen["measured"] / min(measured), 2),
        "best": others[int(np.argmin(measured))][0],
    }
    print(f"{name}: {summary}\nchosen:\n{chosen['plan']}\n", flush=True)
    return summary


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--vertices", type=int, default=1_000_000, help="times the scale")
    parser.add_argument("--rates", type=int, nargs=4, default=list(RATES.values()), help="times the scale")
    parser.add_argument("--seconds", type=int, default=30, help="of the stream once the window is full")
    parser.add_argument("--only", choices=("star", "path"))
    parser.add_argument("--verbose", action="store_true", help="every operator")
    options = parser.parse_args()
    rates = {label: max(10, int(rate * options.scale)) for label, rate in zip("abcd", options.rates, strict=True)}
    vertices = int(options.vertices * options.scale)
    with tempfile.TemporaryDirectory() as folder:
        for name, text, plans, labels in (("star", STAR, star_plans, "abcd"), ("path", PATH, path_plans, "abc")):
            if options.only not in (None, name):
                continue
            used = {label: rates[label] for label in labels}
            before, after = Path(folder) / "before.nt", Path(folder) / "after.nt"
            per_event = write_stream(before, used, vertices, WINDOW + 10, seed=1)
            write_stream(after, used, vertices, options.seconds, seed=2)
            stream = Stream(before, after, per_event, options.seconds)
            compare(name, text, plans(), stream, verbose=options.verbose)


if __name__ == "__main__":
    main()
