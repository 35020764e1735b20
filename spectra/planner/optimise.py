"""The plan of a query by what is known of its streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from spectra.algebra.nodes import Node, Source
from spectra.planner.path_choice import Situation, with_cheapest_paths
from spectra.planner.pattern_choice import PatternChoice, with_pattern_operators
from spectra.planner.physical import physical_plan, wanted_triples
from spectra.planner.plans import PathOperator, PhysicalPlan, sources
from spectra.planner.search import Choice, Search
from spectra.planner.statistics import GraphStatistics, LabelStatistics, Statistics
from spectra.sparql.query import ContinuousQuery, Window, WindowKind

#: Another plan than the query's own must be so much cheaper: where some vertices are frequent, joins are larger than
#: they are estimated, and paths smaller.
_MARGIN = 0.6


def graphs_of(query: ContinuousQuery, known: Statistics) -> dict[Source, GraphStatistics]:
    """The statistics of the graphs of a query, as far as they are known."""
    graphs: dict[Source, GraphStatistics] = {}
    for window in query.windows:
        stream = window.stream if window.stream or len(known) != 1 else next(iter(known))
        if stream in known:
            graphs[Source(window.name)] = _in_window(known[stream], window)
    for iri in query.static_named:
        if iri in known:
            graphs[Source(iri, static=True)] = known[iri]
    if len(query.static) == 1 and query.static[0] in known:
        graphs[Source("", static=True)] = known[query.static[0]]
    return graphs


def _in_window(graph: GraphStatistics, window: Window) -> GraphStatistics:
    """The statistics of a stream in a window of another length than that in which they were measured."""
    spec = window.spec
    if spec.kind is not WindowKind.TIME:
        return graph
    validity = (spec.range - spec.step / 2) / 1000
    return {name: _lasting(label, validity) for name, label in graph.items()}


def _lasting(label: LabelStatistics, validity: float) -> LabelStatistics:
    """The same edges, each valid for so long; those that are static stay so."""
    if label.rate == 0 or abs(label.validity - validity) <= 0.1 * validity:
        return label
    return LabelStatistics.of(label.rate, validity, label.subjects, label.objects)


def is_known(plan: PhysicalPlan, graphs: Mapping[Source, GraphStatistics]) -> bool:
    """Whether there are statistics of every graph that a plan reads, and of every predicate."""
    for source in sources(plan):
        patterns, _ = wanted_triples(plan, source)
        predicates = {pattern.terms[1] for pattern in patterns} - {None}
        if source not in graphs or not predicates <= graphs[source].keys():
            return False
    return True


def optimise(
    query: ContinuousQuery,
    logical: Node,
    known: Statistics,
    *,
    removals: bool,
    pattern: PatternChoice = "auto",
    path: PathOperator | None = None,
    situation: Situation | None = None,
    lazy: bool = True,
    rewrite: bool = True,
) -> Choice | None:
    """The cheapest plan that the search finds, None where nothing is known of a graph, or where plans are not compared.

    `pattern` and `path` are the operators that the caller insists on, `situation` is what else decides between them.
    The query's own plan stays unless another one is clearly cheaper. Plans are not compared where each event is
    matched by itself, nor for options on paths and windows. Without `rewrite` only operators are chosen.
    """
    graphs = graphs_of(query, known)
    if query.by_event or query.options or not is_known(physical_plan(logical), graphs):
        return None
    counted = [Source(window.name) for window in query.windows if window.spec.kind is WindowKind.COUNT]
    situation = situation or Situation()
    model = situation.model(graphs)

    def operators(plan: PhysicalPlan) -> PhysicalPlan:
        plan = with_pattern_operators(plan, pattern, removals=removals, counted=counted, lazy=lazy)
        return with_cheapest_paths(plan, model, situation, path)

    search = Search(situation.model(graphs, observed=False), operators)
    own = search.estimated(logical, removals=removals)
    if not rewrite:
        return Choice(own, (own,), True)
    found = search.choose(logical, removals=removals)
    if found.best.estimate.cost > _MARGIN * own.estimate.cost:
        found = replace(found, best=own)
    return found
