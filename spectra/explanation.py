"""EXPLAIN: the plan of a query as a tree of steps, with what was estimated and what was measured of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from spectra.algebra.explain import explain
from spectra.continuous import Query, demand
from spectra.operators.measured import Measured
from spectra.planner.cost import Estimate
from spectra.planner.optimise import graphs_of, is_known, optimise
from spectra.planner.physical import explain_physical, operator_lines
from spectra.planner.plans import PhysicalPlan, inputs
from spectra.planner.search import Choice
from spectra.planner.statistics import Statistics
from spectra.progress import size

#: How many of the plans that were considered are shown.
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Step:
    """An operator, what it reads, and the figures that are known of it."""

    operator: str
    reads: tuple[str, ...]
    estimated: dict[str, float] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    inputs: tuple[Step, ...] = ()

    def shown(self) -> dict[str, Any]:
        """The step and all below it for JSON."""
        found: dict[str, Any] = {"operator": self.operator, "reads": list(self.reads)}
        found |= {name: figures for name in ("estimated", "measured") if (figures := getattr(self, name))}
        return {**found, "inputs": [below.shown() for below in self.inputs]}

    def figures(self) -> list[str]:
        """What is known of the step, a line for estimates and one for measurements."""
        named = (("estimated", self.estimated), ("measured", self.measured))
        return [f"{name}: {', '.join(_figure(*each) for each in of.items())}" for name, of in named if of]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a query and how it was come by."""

    query: str
    logical: str
    rewritten: str
    rules: tuple[str, ...]
    plan: Step
    alternatives: tuple[tuple[float, str], ...]

    def shown(self) -> dict[str, Any]:
        """The explanation for JSON."""
        return {
            "query": self.query,
            "logical": self.logical.splitlines(),
            "rewritten": self.rewritten.splitlines(),
            "rules": list(self.rules),
            "physical": self.plan.shown(),
            "alternatives": [{"cost": round(cost, 1), "plan": plan.splitlines()} for cost, plan in self.alternatives],
        }


def explanation(query: Query, known: Statistics, seconds: float | None = None) -> Explanation:
    """How a query is evaluated; `known` is what estimates rest on, `seconds` how long a measured stream has lasted."""
    graphs = graphs_of(query.query, known)
    removals = demand(query.query, query.physical).removals
    estimate: Estimate | None = None
    choice = query.choice
    if is_known(query.physical, graphs):
        estimate = query.situation.model(graphs).estimate(query.physical, removals=removals)
        choice = choice or optimise(query.query, query.logical, known, removals=removals, situation=query.situation)
    chosen = query.choice.best if query.choice is not None else None
    return Explanation(
        query=query.name,
        logical=explain(query.logical),
        rewritten=explain(chosen.node) if chosen is not None and chosen.node != query.logical else "",
        rules=() if chosen is None else chosen.rules,
        plan=_step(query.physical, estimate, query.measured or (), seconds),
        alternatives=() if choice is None else tuple(_alternatives(choice)),
    )


def _alternatives(choice: Choice) -> Iterator[tuple[float, str]]:
    """The cheapest plans that were considered for the same part as the chosen one."""
    seen: set[str] = set()
    whole = [each for each in choice.considered if each.estimate.plan.variables == choice.best.estimate.plan.variables]
    for each in (choice.best, *whole):
        text = explain_physical(each.estimate.plan)
        if text not in seen and len(seen) < _SHOWN:
            seen.add(text)
            yield each.estimate.cost, text


def _step(plan: PhysicalPlan, estimate: Estimate | None, measured: Sequence[Measured], seconds: float | None) -> Step:
    below = inputs(plan)
    of_inputs = estimate.inputs if estimate is not None else (None,) * len(below)
    operator, *reads = operator_lines(plan)
    found = next((each for each in measured if each.plan == plan), None)
    figures: dict[str, float] = {}
    if found is not None and seconds is not None:
        inside = [each for inner in below for each in measured if each.plan == inner]
        own = found.seconds - sum({id(each): each.seconds for each in inside}.values())
        figures = {
            "rate": found.entered / max(seconds, 1e-3),
            "rows": float(found.entered - found.left),
            "cost": 1e6 * own / max(seconds, 1e-3),
            "seconds": own,
            "bytes": float(found.nbytes - sum({id(each): each.nbytes for each in inside}.values())),
        }
        figures = {name: _rounded(value) for name, value in figures.items()} | found.counters
    return Step(
        operator,
        tuple(reads),
        {} if estimate is None else _estimated(estimate),
        figures,
        tuple(_step(*each, measured, seconds) for each in zip(below, of_inputs, strict=True)),
    )


def _estimated(estimate: Estimate) -> dict[str, float]:
    out = estimate.out
    figures = {
        "rate": out.rate,
        "validity": out.validity,
        "rows": out.live,
        "cost": estimate.own,
        "total": estimate.cost,
    }
    return {name: _rounded(value) for name, value in figures.items() if isfinite(value)}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _figure(name: str, value: float) -> str:
    match name:
        case "rate":
            return f"{value:,.4g} rows/s"
        case "validity":
            return f"valid {value:,.4g} s"
        case "rows":
            return f"{value:,.4g} rows"
        case "cost":
            return f"cost {value:,.4g} us/s"
        case "total":
            return f"with inputs {value:,.4g} us/s"
        case "seconds":
            return f"{1000 * value:,.4g} ms"
        case "bytes":
            return size(int(value))
        case _:
            return f"{name} {value:,}"


def text_of(explained: Explanation) -> str:
    """The explanation for people."""
    lines = ["logical plan", *_indented(explained.logical)]
    if explained.rewritten:
        lines += ["rewritten plan", *_indented(explained.rewritten)]
    if explained.rules:
        lines += ["rules", f"  {', '.join(explained.rules)}"]
    lines += ["physical plan", *(f"  {line}" for line in _step_lines(explained.plan, 0))]
    if len(explained.alternatives) > 1:
        lines.append("alternatives")
        for cost, plan in explained.alternatives:
            lines += [f"  cost {cost:,.4g} us/s", *_indented(plan, 2)]
    return "\n".join(lines)


def _indented(text: str, depth: int = 1) -> list[str]:
    return [f"{'  ' * depth}{line}" for line in text.splitlines()]


def _step_lines(step: Step, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{step.operator}"
    for line in (*step.reads, *step.figures()):
        yield f"{'  ' * (depth + 1)}{line}"
    for below in step.inputs:
        yield from _step_lines(below, depth + 1)
