"""The cost of a physical plan: microseconds of work per second of application time, in a steady state.

Every operator has a formula over what comes in and what goes out: how many steps of which kind it makes
per second. A step's price is one of the `Constants`. A row that enters is taken back later, so that whatever
keeps rows, or tells those that leave, does its work twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import exp, inf, sqrt
from typing import NamedTuple

from spectra.algebra.nodes import Source, WScan
from spectra.planner import plans
from spectra.planner.characteristics import (
    Characteristics,
    Values,
    as_graph,
    distinct,
    ends,
    joined,
    scanned,
    selectivity,
    some,
    united,
)
from spectra.planner.constants import Constants
from spectra.planner.path_estimates import PathEstimate, estimate_path
from spectra.planner.plans import PhysicalPlan
from spectra.planner.statistics import NO_EDGES, GraphStatistics
from spectra.sparql.syntax import PathExpression, Variable

#: A path by its graph and what it is there.
ObservedPath = tuple[Source, PathExpression]


class Observed(NamedTuple):
    """What each edge was seen to lead to: pairs that came in, and tree nodes that were set, between two bounds."""

    pairs: float
    least_nodes: float = 0.0
    most_nodes: float = inf


@dataclass(frozen=True, slots=True)
class Estimate:
    """A plan with what comes out of it, its own cost per second, and the estimates of its inputs."""

    plan: PhysicalPlan
    out: Characteristics
    own: float
    inputs: tuple[Estimate, ...] = field(default=())

    @property
    def cost(self) -> float:
        """The cost of the plan with all below it."""
        return self.own + sum(below.cost for below in self.inputs)


@dataclass(frozen=True, slots=True)
class CostModel:
    """What estimates rest on: the statistics of the graphs, and what a step takes.

    `wait` is how many seconds there are between evaluations, 0 where there is one at every event. `observed` has for
    paths what the edges that came in led to, where that has been seen.
    """

    graphs: Mapping[Source, GraphStatistics]
    prices: Constants
    wait: float = 0.0
    observed: Mapping[ObservedPath, Observed] = field(default_factory=dict)
    # the same scans, patterns and paths are parts of many plans
    _scans: dict[WScan, Characteristics] = field(default_factory=dict, compare=False, repr=False)
    _patterns: dict[tuple[plans.TpJoinPlan, float], tuple[Characteristics, float]] = field(
        default_factory=dict, compare=False, repr=False
    )
    _paths: dict[tuple[object, ...], PathEstimate] = field(default_factory=dict, compare=False, repr=False)

    def estimate(self, plan: PhysicalPlan, *, removals: bool = True) -> Estimate:
        """The estimate of a plan; `removals` says whether rows that expire are asked for."""
        asks = removals or isinstance(plan, _LOOK_BACK)
        below = tuple(self.estimate(each, removals=asks) for each in plans.inputs(plan))
        out, own = self._of(plan, [each.out for each in below], 2.0 if removals else 1.0)
        return Estimate(plan, out, own, below)

    def _of(self, plan: PhysicalPlan, parts: list[Characteristics], times: float) -> tuple[Characteristics, float]:
        """(what comes out, own cost); `times` is 2 where rows that leave are told."""
        prices = self.prices
        match plan:
            case plans.TpJoinPlan():
                key = plan, times
                if key not in self._patterns:
                    self._patterns[key] = self._pattern(plan, times)
                return self._patterns[key]
            case plans.SPathPlan():
                return self._path(plan, self.graphs.get(plan.source, {}), times)
            case plans.DerivedPathPlan(path, labels, _):
                graph = as_graph(dict(zip(labels, parts, strict=True)))
                out, own = self._path(path, graph, times)
                return out, own + 2 * prices.derive * sum(part.rate for part in parts)
            case plans.HashJoinPlan():
                out = joined(*parts)
                kept = 2 * sum(part.rate for part in parts) * (prices.insert + prices.probe)
                return out, kept + 2 * out.rate * prices.row
            case plans.FilterPlan(condition, _):
                return parts[0].scaled(selectivity(condition, parts[0])), times * parts[0].rate * prices.decide
            case plans.UnionPlan():
                return united(parts), times * sum(part.rate for part in parts) * prices.delta
            case plans.ProjectPlan(names, _) | plans.SlicePlan(variables=names):
                kept_values = {name: parts[0].of(name) for name in names}
                price = prices.delta if isinstance(plan, plans.ProjectPlan) else prices.insert
                out = Characteristics(parts[0].rate, parts[0].live, kept_values)
                return out, times * parts[0].rate * price
            case plans.DistinctPlan() | plans.ImplicitPlan():
                return distinct(parts[0]), 2 * parts[0].rate * prices.insert
            case plans.GroupPlan(keys, _, _):
                groups = Characteristics(parts[0].rate, parts[0].live, {key: parts[0].of(key) for key in keys})
                return distinct(groups), 2 * parts[0].rate * prices.insert
            case plans.AntiJoinPlan(_, _, keys):
                left, right = parts
                met = joined(left, Characteristics(right.rate, right.live, {key: right.of(key) for key in keys}))
                share = exp(-met.live / left.live) if left.live else 1.0
                return left.scaled(share), 2 * (left.rate + right.rate) * (prices.insert + prices.probe)
            case plans.ValuesPlan(values):
                rows = float(len(values.rows))
                return Characteristics(0.0, rows, dict.fromkeys(values.names, some(rows))), 0.0
            case plans.ExtendPlan(variable) | plans.CopyPlan(variable) | plans.NowPlan(variable):
                values_of = {**parts[0].values, variable: some(parts[0].live)}
                price = prices.decide if isinstance(plan, plans.ExtendPlan) else prices.delta
                return Characteristics(parts[0].rate, parts[0].live, values_of), times * parts[0].rate * price
            case plans.OwnedPlan(_, _, shards, _):
                return parts[0].scaled(1 / shards), times * parts[0].rate * prices.delta
            case _:
                return parts[0], times * parts[0].rate * prices.delta

    def _pattern(self, plan: plans.TpJoinPlan, times: float) -> tuple[Characteristics, float]:
        """Scans matched together: from each triple that comes, by look-ups for the other scans."""
        prices = self.prices
        parts = [self._scanned(scan) for scan in plan.scans]
        out = parts[0]
        for part in parts[1:]:
            out = joined(out, part)
        cost = 0.0
        for start, part in enumerate(parts):
            probes, rows = _search(plan.scans, parts, start)
            cost += part.rate * (prices.entry + prices.probe * probes + prices.row * rows)
        for condition in plan.comparisons:
            out = out.scaled(selectivity(condition, out))
        if plan.operator == "siblings":
            # matches are kept, so that those that leave are not searched for
            own = cost + sum(part.rate for part in parts) * prices.insert + (times - 1) * out.rate * prices.row
        elif plan.operator == "recompute":
            live = sum(part.live for part in parts)
            own = sum(part.rate for part in parts) * (live * prices.probe + out.live * prices.row)
        else:
            own = times * cost
        carried = Characteristics(out.rate, out.live, {name: out.of(name) for name in plan.variables})
        return carried, own

    def _scanned(self, scan: WScan) -> Characteristics:
        if scan not in self._scans:
            self._scans[scan] = scanned(scan, self.graphs.get(scan.source, {}))
        return self._scans[scan]

    def _path(self, plan: plans.SPathPlan, graph: GraphStatistics, times: float) -> tuple[Characteristics, float]:
        prices = self.prices
        found = self._corrected(plan, self._connected(plan, graph))
        near, far = reversed(ends(NO_EDGES, graph)) if plan.backward else ends(NO_EDGES, graph)
        values = {
            end.name: replace(vertices, distinct=distinct_terms)
            for end, vertices, distinct_terms in ((plan.root, near, found.roots), (plan.target, far, found.targets))
            if isinstance(end, Variable)
        }
        out = Characteristics(found.pair_rate, found.pairs, values)
        if plan.root == plan.target:
            out = out.scaled(1 / max(found.targets, 1.0))
        told = times * (found.edge_rate * prices.entry + out.rate * prices.delta)
        return out, told + self._followed(plan, found)

    def _connected(self, plan: plans.SPathPlan, graph: GraphStatistics) -> PathEstimate:
        rooted, ended = not isinstance(plan.root, Variable), not isinstance(plan.target, Variable)
        key = (plan.source, plan.path, plan.backward, rooted, ended, tuple(graph.items()))
        if key not in self._paths:
            self._paths[key] = estimate_path(plan.dfa, graph, rooted=rooted, ended=ended)
        return self._paths[key]

    def pairs_per_edge(self, plan: plans.SPathPlan) -> float | None:
        """How many pairs of a path should come in for each edge, None where nothing is known of its edges."""
        found = self._connected(plan, self.graphs.get(plan.source, {}))
        return found.pair_rate / found.edge_rate if found.edge_rate > 0 else None

    def _corrected(self, plan: plans.SPathPlan, found: PathEstimate) -> PathEstimate:
        """The estimate as far as it was seen to be right; where more pairs come in, there are more of all."""
        seen = self.observed.get((plan.source, plan.path))
        if seen is None or found.pair_rate <= 0:
            return found
        found = found.scaled(seen.pairs * found.edge_rate / found.pair_rate)
        nodes = min(max(found.node_rate / found.edge_rate, seen.least_nodes), seen.most_nodes)
        share = nodes * found.edge_rate / found.node_rate if found.node_rate else 1.0
        return replace(found, node_rate=nodes * found.edge_rate, probe_rate=share * found.probe_rate)

    def _followed(self, plan: plans.SPathPlan, found: PathEstimate) -> float:
        """What it costs to follow a path, without what is told of it."""
        prices = self.prices
        match plan.operator:
            case "columns":
                # all roots of a vertex set out together, and get fewer on their way
                merged = found.node_rate / sqrt(max(found.nodes_at_vertex, 1.0))
                return by_columns(prices, found.edge_rate, merged, found.node_rate)
            case "condense" if self.wait > 0:
                return (found.edges * prices.arc + found.pairs * prices.pair) / self.wait
            case "condense":
                return found.edge_rate * (found.edges * prices.arc + found.pairs * prices.pair)
            case _:
                trees = by_trees(prices, found.node_rate, found.probe_rate)
                # nodes hang on edges too, or belong to several trees
                return trees * {"spath": 1.0, "rapq": 1.05, "landmark": 4.0}.get(plan.operator, 2.0)


def by_columns(prices: Constants, edges: float, merged: float, nodes: float) -> float:
    """What `columns` takes for so many edges that arrive, columns that are merged, and tree nodes that are set."""
    return edges * prices.arrival + merged * prices.merge + nodes * prices.cell


def by_trees(prices: Constants, nodes: float, probes: float) -> float:
    """What `spath` takes for so many tree nodes that are set, and edges that are looked at for that."""
    return nodes * prices.node + probes * prices.edge


_LOOK_BACK = (
    plans.HashJoinPlan,
    plans.AntiJoinPlan,
    plans.DistinctPlan,
    plans.DerivedPathPlan,
    plans.GroupPlan,
    plans.SlicePlan,
    plans.FreshPlan,
    plans.ImplicitPlan,
)


def _search(scans: tuple[WScan, ...], parts: list[Characteristics], start: int) -> tuple[float, float]:
    """(look-ups, rows) of the search from one triple of a scan: what is bound is looked up, fewest rows first.

    A look-up that finds nothing ends it.
    """
    bound = parts[start].values
    rest = [at for at in range(len(scans)) if at != start]
    probes, rows, matches = 0.0, 0.0, 1.0
    while rest:
        found = {at: _matches(parts[at], bound) for at in rest}
        at = min(rest, key=lambda each: (not bound.keys() & parts[each].values.keys(), found[each]))
        probes += matches
        matches *= found[at]
        rows += matches
        bound = {**parts[at].values, **bound}
        rest.remove(at)
    return probes, rows


def _matches(part: Characteristics, bound: Mapping[str, Values]) -> float:
    """How many rows of a scan agree with the values of what is bound."""
    rows = part.live
    for name in part.values.keys() & bound.keys():
        rows /= part.of(name).room(bound[name])
    return rows


def operators(estimate: Estimate) -> Iterator[Estimate]:
    """The estimates of a plan and of all below it."""
    yield estimate
    for below in estimate.inputs:
        yield from operators(below)
