"""Which queries read the output of which."""

from __future__ import annotations

from collections.abc import Iterable

from spectra.sparql.query import ContinuousQuery, Form


def makes_stream(query: ContinuousQuery) -> bool:
    """Whether what a query tells is a stream that others can read, under its name."""
    return query.form is Form.CONSTRUCT


def producers_of(query: ContinuousQuery, others: Iterable[ContinuousQuery]) -> list[ContinuousQuery]:
    """Those of the others whose output a query reads."""
    read = {window.stream for window in query.windows}
    return [other for other in others if makes_stream(other) and other.name in read]


def in_order(queries: Iterable[ContinuousQuery]) -> list[ContinuousQuery] | None:
    """The queries, each after those whose output it reads; None where they read each other in a circle."""
    waiting = list(queries)
    ordered: list[ContinuousQuery] = []
    while waiting:
        ready = next((query for query in waiting if not producers_of(query, waiting)), None)
        if ready is None:
            return None
        ordered.append(ready)
        waiting.remove(ready)
    return ordered
