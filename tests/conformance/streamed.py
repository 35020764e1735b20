"""A W3C test as a stream: its graphs as windows, its triples as events, its answer from the changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import spectra
from spectra.changes import Change
from spectra.dictionary.terms import canonical
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy, Report, Window, WindowKind, WindowSpec
from spectra.sparql.syntax import Graph, Join, Union_, Values, Variable, Windowed
from spectra.streams.memory import from_triples
from tests.conformance.manifest import Answer, Case, Solution, Triple, local, read_graph

DEFAULT = "urn:spectra:window"
HOUR = 3_600_000

#: (stream, triples) in the order in which they arrive.
Arrivals = list[tuple[str, list[Triple]]]


@dataclass(frozen=True)
class Streamed:
    """A query over windows, and the graph that goes into each by the window's stream."""

    query: ContinuousQuery
    graphs: dict[str, list[Triple]]


def rewritten(node: Any, rule: Callable[[Any], Any]) -> Any:
    """A syntax tree with `rule` applied to each node, from the leaves up."""
    if isinstance(node, tuple):
        return tuple(rewritten(part, rule) for part in node)
    if not is_dataclass(node):
        return node
    return rule(replace(node, **{f.name: rewritten(getattr(node, f.name), rule) for f in fields(node)}))


def streamed(case: Case) -> Streamed:
    """Every graph of the test in a window of its own; `GRAPH` becomes `WINDOW`.

    FROM and FROM NAMED choose from the files there are, as in the test's dataset.
    """
    query = parse_query(case.text, range=HOUR)
    default, named = list(case.data), dict(case.graph_data)
    if query.static or query.static_named:
        default = [local(iri) for iri in query.static]
        named = {iri: local(iri) for iri in query.static_named}
    graphs = {name: read_graph(path) for name, path in named.items()}

    def graph_to_window(node: Any) -> Any:
        if not isinstance(node, Graph):
            return node
        if not isinstance(node.name, Variable):
            # of a graph that is not there SPARQL asks nothing: no solution
            return Windowed(node.name, node.pattern) if node.name[1:-1] in graphs else Values((), ())
        if graphs and not default:
            return Windowed(node.name, node.pattern)
        # beside a default graph the variable ranges over the named ones only
        parts = [Join(Windowed(f"<{name}>", node.pattern), Values((node.name,), ((f"<{name}>",),))) for name in graphs]
        union: Any = Values((node.name,), ())
        for part in parts:
            union = Union_(union, part)
        return union

    pattern = rewritten(query.pattern, graph_to_window)
    if default or not graphs:
        graphs[DEFAULT] = list(dict.fromkeys(t for path in default for t in read_graph(path)))
    else:
        pattern = rewritten(pattern, lambda n: n.pattern if isinstance(n, Windowed) and n.name == f"<{DEFAULT}>" else n)
    windows = tuple(Window(name, name, WindowSpec(WindowKind.TIME, HOUR, HOUR)) for name in graphs)
    return Streamed(replace(query, pattern=pattern, windows=windows, static=(), static_named=()), graphs)


def as_static(case: Case) -> tuple[ContinuousQuery, dict[str, list[Triple]]]:
    """The test's graphs as static data, beside a window that nothing reads."""
    query = parse_query(case.text, range=HOUR)
    default, named = list(case.data), dict(case.graph_data)
    if query.static or query.static_named:
        default = [local(iri) for iri in query.static]
        named = {iri: local(iri) for iri in query.static_named}
    graphs = {name: read_graph(path) for name, path in named.items()}
    graphs["urn:default"] = [triple for path in default for triple in read_graph(path)]

    def from_window(node: Any) -> Any:
        return node.pattern if isinstance(node, Windowed) else node

    return (
        replace(
            query,
            pattern=rewritten(query.pattern, from_window),
            windows=(Window(DEFAULT, DEFAULT, WindowSpec(WindowKind.TIME, HOUR, HOUR)),),
            static=("urn:default",),
            static_named=tuple(named),
            output=OutputOperator.CHANGES,
        ),
        graphs,
    )


def one_event(graphs: dict[str, list[Triple]]) -> Arrivals:
    return list(graphs.items())


def one_triple_each(graphs: dict[str, list[Triple]]) -> Arrivals:
    return [(name, [triple]) for name, graph in graphs.items() for triple in graph] or one_event(graphs)


def backwards(graphs: dict[str, list[Triple]]) -> Arrivals:
    return one_triple_each(graphs)[::-1]


DELIVERIES = {"one event": one_event, "one triple per event": one_triple_each, "backwards": backwards}


def with_output(query: ContinuousQuery, output: OutputOperator) -> ContinuousQuery:
    policy = Policy.ON_WINDOW_CLOSE if output is OutputOperator.RSTREAM else Policy.ON_CONTENT_CHANGE
    return replace(query, output=output, report=Report(policy))


def changes(test: Streamed, output: OutputOperator, arrivals: Arrivals) -> tuple[list[Change], Answer]:
    """What the query reports, an RSTREAM when the windows close, and its snapshot after the last event."""
    engine = spectra.Engine()
    query = engine.register(with_output(test.query, output))
    told: list[Change] = []
    for time, (stream, triples) in enumerate(arrivals):
        told += engine.push(triples, at=time, stream=stream)
    found = query.snapshot()
    if output is OutputOperator.RSTREAM:
        told += engine.advance(HOUR)
    snapshot: Answer = found.boolean if test.query.form is Form.ASK else [_texts(row) for row in found.rows()]
    return told, snapshot


def changes_in_one_run(test: Streamed, output: OutputOperator, arrivals: Arrivals) -> list[Change]:
    """The same through `run`, one input per stream, without draining."""
    engine = spectra.Engine()
    engine.register(with_output(test.query, output))
    inputs: dict[str, list[Any]] = {}
    for time, (stream, triples) in enumerate(arrivals):
        inputs.setdefault(stream, []).append(from_triples(stream, time, triples, ()))
    return list(engine.run(*inputs.values(), drain=False))


def answer_of(told: list[Change], form: Form) -> Answer:
    """What changes add up to; of an RSTREAM, what the last evaluation told."""
    if form is Form.ASK:
        return bool(told) and told[-1].boolean is True
    last = max((change.at for change in told), default=None)
    bag: Counter[tuple[tuple[str, str], ...]] = Counter()
    for change in told:
        row = _row(change)
        if change.op == "=":
            bag[row] += change.at == last
        else:
            bag[row] += 1 if change.op == "+" else -1
    assert min(bag.values(), default=0) >= 0, "a row left that was not there"
    return [dict(row) for row in bag.elements()]


def _row(change: Change) -> tuple[tuple[str, str], ...]:
    if change.triple is not None:
        return tuple(zip("spo", change.triple, strict=True))
    return tuple(sorted(_texts(change.bindings).items()))


def _texts(bindings: dict[str, Any]) -> Solution:
    return {name: canonical(term)[0] for name, term in bindings.items()}
