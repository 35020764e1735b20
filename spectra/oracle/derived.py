"""The output of a CONSTRUCT query as the events of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from spectra.oracle.dataset import Triple
from spectra.oracle.recompute import recompute
from spectra.oracle.windows import Event, Operation, in_time_order
from spectra.sparql.query import ContinuousQuery, OutputOperator


def derived_events(
    query: ContinuousQuery,
    events: Sequence[Event],
    *,
    static: Mapping[str, Iterable[Triple]] | None = None,
    drain: bool = True,
) -> list[Event]:
    """An event for each instant at which the answer changes: triples arrive as they enter it, and go as they leave.

    Of RSTREAM and DSTREAM, which tell something else, the triples told arrive.
    """
    if query.output not in (OutputOperator.RSTREAM, OutputOperator.DSTREAM):
        query = replace(query, output=OutputOperator.CHANGES)
    told: dict[int, list[Operation]] = {}
    for answer in recompute(query, events, static=static, drain=drain):
        assert answer.triple is not None
        assert len(answer.triple) == 3  # the engine refuses windows on quads
        sign = -1 if answer.op == "-" and query.output is OutputOperator.CHANGES else 1
        told.setdefault(answer.at, []).append((sign, answer.triple))
    return [Event(at, tuple(operations), query.name) for at, operations in sorted(told.items())]


def all_read(
    query: ContinuousQuery, events: Sequence[Event], derived: Mapping[str, Sequence[Event]], lateness: int
) -> list[Event]:
    """What a query may read, in time order: events of streams that are not late, and the output of queries."""
    read = {window.stream for window in query.windows}
    made = [event for stream, of_stream in derived.items() if stream in read for event in of_stream]
    return sorted([*in_time_order(events, lateness), *made], key=lambda event: event.time)
