"""Run queries, and compare every evaluation with a recomputation from the events alone."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from spectra.arrival import event_name
from spectra.changes import OPS, ChangeBatch
from spectra.dictionary.terms import canonical
from spectra.oracle import Event, OracleAnswer, Triple, recompute
from spectra.oracle.derived import all_read, derived_events
from spectra.oracle.schedule import Schedule
from spectra.sparql.composed import producers_of
from spectra.sparql.query import Form
from spectra.streams.quarantine import Quarantine
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

if TYPE_CHECKING:
    from spectra.continuous import Query
    from spectra.engine import Engine
    from spectra.streams.source import Source

#: What is compared: op, and the solution, triple or truth value as text.
Answer = tuple[str, str]


@dataclass(slots=True)
class Difference:
    """What an evaluation should have told and did not, and the other way round."""

    at: int
    missing: Counter[Answer]
    extra: Counter[Answer]


@dataclass(slots=True)
class Verification:
    """The comparison of one query: how much was compared, and every instant that differs."""

    query: str
    evaluations: int
    answers: int
    differences: list[Difference] = field(default_factory=list)


def verify(
    engine: Engine,
    sources: Sequence[Source],
    static: dict[str, dict[str, list[Triple]]],
    *,
    drain: bool = True,
    validate: bool = False,
) -> list[Verification]:
    """Run the queries of an engine over the sources, and compare; one result per query.

    `static` has, for each query by name, the triples of its static graphs by IRI, "" for the default
    graph: those that the query was registered with, so that blank nodes are the same ones.
    """
    told: dict[str, dict[int, Counter[Answer]]] = {query.name: {} for query in engine.queries}
    for batch in engine.run(*sources, drain=drain, validate=validate).batches():
        by_time = told[batch.query]
        for at, answer in _answers(batch):
            by_time.setdefault(at, Counter())[answer] += 1
    only = "" if all(source.stream for source in sources) else engine.the_stream(None)
    events = all_events(sources, only, validate=validate)
    derived: dict[str, list[Event]] = {}
    found = {}
    for timeline in engine.timelines:
        for query in timeline.queries:
            graphs = {f"<{iri}>" if iri else "": triples for iri, triples in static.get(query.name, {}).items()}
            read = all_read(query.query, events, derived, timeline.reorder.lateness)
            found[query.name] = _compared(query, told[query.name], read, graphs, drain)
            if any(producers_of(other.query, [query.query]) for other in engine.queries):
                derived[query.name] = derived_events(query.query, read, static=graphs, drain=drain)
    return [found[query.name] for query in engine.queries]


def _compared(
    query: Query,
    told: dict[int, Counter[Answer]],
    events: list[Event],
    graphs: dict[str, list[Triple]],
    drain: bool,
) -> Verification:
    expected: dict[int, Counter[Answer]] = {}
    count = 0
    for answer in recompute(query.query, events, static=graphs, drain=drain):
        expected.setdefault(answer.at, Counter())[_expected(answer)] += 1
        count += 1
    nothing: Counter[Answer] = Counter()
    differences = []
    for at in sorted(told.keys() | expected.keys()):
        right, ours = expected.get(at, nothing), told.get(at, nothing)
        if right != ours:
            differences.append(Difference(at, right - ours, ours - right))
    evaluations = len(Schedule(query.query, events, drain=drain).evaluations())
    return Verification(query.name, evaluations, count, differences)


def _expected(answer: OracleAnswer) -> Answer:
    if answer.boolean is not None:
        return answer.op, str(answer.boolean).lower()
    if answer.triple is not None:
        return answer.op, " ".join(answer.triple)
    return answer.op, " ".join(f"?{name}={text}" for name, text in answer.solution or ())


def _answers(batch: ChangeBatch) -> Iterator[tuple[int, Answer]]:
    # language tags are printed as first seen, and compared in lower case
    terms = [canonical(text)[0] for text in batch.terms]
    order = sorted(range(len(batch.variables)), key=lambda column: batch.variables[column])
    for at, op, _, row, boolean in batch.rows():
        if boolean is not None:
            what = str(boolean).lower()
        elif batch.form is Form.CONSTRUCT:
            what = " ".join(terms[code] for code in row if code >= 0)
        else:
            bound = [(batch.variables[column], row[column]) for column in order if row[column] >= 0]
            what = " ".join(f"?{name}={terms[code]}" for name, code in bound)
        yield at, (OPS[op], what)


def all_events(sources: Sequence[Source], only: str = "", *, validate: bool = False) -> list[Event]:
    """The events of all sources in the order in which an engine sees them; `only` is the stream of one that says none.

    Each stream keeps its order; between streams the one that is behind comes first.
    """
    streams = []
    for source in sources:
        batches = source.batches(Summary.everything(), Quarantine(), validate=validate)
        stream = source.stream or only
        events = [event for batch in batches if batch is not None for event in events_of(batch, stream)]
        events = [
            replace(event, graph=event.graph or event_name(stream, number)) for number, event in enumerate(events)
        ]
        reached = accumulate((event.time for event in events), max)
        streams.append(list(zip(reached, events, strict=True)))
    return [event for _, event in heapq.merge(*streams, key=_reached)]


def _reached(entry: tuple[int, Any]) -> int:
    return entry[0]


def events_of(batch: EventBatch, stream: str | None = None) -> list[Event]:
    """The events of a batch as text; `stream` is their stream where the batch does not say."""
    octets = batch.text.tobytes()
    texts = [
        octets[start : start + length].decode()
        for start, length in zip(batch.start.ravel().tolist(), batch.length.ravel().tolist(), strict=True)
    ]
    triples = list(zip(texts[0::3], texts[1::3], texts[2::3], strict=True))
    operations = list(zip(batch.sign.tolist(), triples, strict=True))
    first = batch.event_first.tolist()
    graphs = batch.event_graph or [""] * batch.events
    return [
        Event(time, tuple(operations[first[number] : first[number + 1]]), batch.stream or stream or "", graph)
        for number, (time, graph) in enumerate(zip(batch.event_time.tolist(), graphs, strict=True))
    ]
