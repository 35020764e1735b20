"""Events made in Python, and batches put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from spectra.dictionary.hashing import hash_text
from spectra.dictionary.terms import canonical
from spectra.errors import Place, StreamError
from spectra.streams.kernels.statements import FILE
from spectra.streams.scanner import Scanner, Segment
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

#: Canonical text of a term, and its language tag as written where that differs.
_Term = tuple[str, str]
_TRIPLE_HINT = "A triple is three terms (rdflib, pyoxigraph or N-Triples text), or one N-Triples line."


def from_triples(
    stream: str, time: int, added: str | Iterable[Any], deleted: str | Iterable[Any], graph: object = ""
) -> EventBatch:
    """One event: the deletions, then the additions.

    What is added and deleted is N-Triples text, or triples: each three terms (rdflib, pyoxigraph or
    N-Triples text), or an N-Triples line. `graph` is the event's graph name as a term, "" for none.
    Blank node labels stay as they are: a label means the same node in every event made here.
    """
    removals = _triples(deleted)
    triples = removals + _triples(added)
    terms = [term for triple in triples for term in triple]
    texts = [text.encode() for text, _ in terms]
    tags = [tag.encode() for _, tag in terms]
    ends = list(accumulate(len(text) + len(tag) for text, tag in zip(texts, tags, strict=True)))
    joined = b"".join(part for pair in zip(texts, tags, strict=True) for part in pair)
    rows = len(triples)
    return EventBatch(
        stream=stream,
        # writable as a scanned text is, so that kernels are not compiled a second time for it
        text=np.frombuffer(joined, np.uint8).copy(),
        start=np.array([0, *ends[:-1]][: len(ends)], np.int64).reshape(rows, 3),
        length=np.array([len(text) for text in texts], np.int32).reshape(rows, 3),
        tag=np.array([len(tag) for tag in tags], np.int32).reshape(rows, 3),
        hashes=np.array([hash_text(text) for text in texts], np.int64).reshape(rows, 3),
        sign=np.array([-1] * len(removals) + [1] * (rows - len(removals)), np.int8),
        event_time=np.array([time], np.int64),
        event_first=np.array([0, rows], np.int64),
        event_size=np.array([rows], np.int64),
        event_graph=[_graph(graph)] if graph else [],
    )


def concatenate(batches: Sequence[EventBatch]) -> EventBatch:
    """The events of all batches, which are of one stream, in order."""
    if not batches:
        raise StreamError("no batches to concatenate")
    streams = {batch.stream for batch in batches}
    if len(streams) > 1:
        names = ", ".join(sorted(streams))
        raise StreamError("batches of different streams", detail=f"the streams are {names}")
    if len(batches) == 1:
        return batches[0]
    text_before = [0, *accumulate(len(batch.text) for batch in batches)]
    rows_before = [0, *accumulate(batch.triples for batch in batches)]
    has_graphs = any(batch.event_graph for batch in batches)
    has_places = any(batch.event_place for batch in batches)
    return EventBatch(
        stream=batches[0].stream,
        text=np.concatenate([batch.text for batch in batches]),
        start=np.concatenate([batch.start + before for batch, before in zip(batches, text_before, strict=False)]),
        length=np.concatenate([batch.length for batch in batches]),
        tag=np.concatenate([batch.tag for batch in batches]),
        hashes=np.concatenate([batch.hashes for batch in batches]),
        sign=np.concatenate([batch.sign for batch in batches]),
        event_time=np.concatenate([batch.event_time for batch in batches]),
        event_first=np.concatenate(
            [batch.event_first[:-1] + before for batch, before in zip(batches, rows_before, strict=False)]
            + [rows_before[-1:]]
        ),
        event_size=np.concatenate([batch.event_size for batch in batches]),
        event_graph=[name for batch in batches for name in (batch.event_graph or [""] * batch.events) if has_graphs],
        event_place=[
            place for batch in batches for place in (batch.event_place or [("", 0)] * batch.events) if has_places
        ],
    )


def _triples(given: str | Iterable[Any]) -> list[Sequence[_Term]]:
    if isinstance(given, str):
        return _scanned(given)
    triples: list[Sequence[_Term]] = []
    for each in given:
        if isinstance(each, str):
            triples.extend(_scanned(each))
        else:
            triples.append(_checked(each))
    return triples


def _checked(triple: Any) -> Sequence[_Term]:
    """The three terms of a triple, each of a kind that may stand there."""
    try:
        subject, predicate, obj = triple
    except (TypeError, ValueError):
        raise StreamError(f"not a triple: {triple!r}", hint=_TRIPLE_HINT) from None
    terms = canonical(subject), canonical(predicate), canonical(obj)
    if terms[0][0].startswith('"'):
        raise StreamError(f"literal as subject: {terms[0][0]}", hint=_TRIPLE_HINT)
    if not terms[1][0].startswith("<"):
        raise StreamError(f"the predicate is not an IRI: {terms[1][0]}", hint=_TRIPLE_HINT)
    return terms


def _scanned(text: str) -> list[Sequence[_Term]]:
    """The triples of N-Triples text."""
    octets = np.frombuffer(text.encode(errors="surrogatepass"), np.uint8)
    buffer = np.empty(len(octets) + len(octets) // 8 + 64, np.uint8)
    buffer[: len(octets)] = octets
    scan = Scanner(FILE, Summary.everything()).scan(buffer, [Segment(len(octets))])
    for bad in scan.bad_lines():
        raise StreamError(
            bad.reason,
            place=Place(line=bad.line, column=bad.column),
            detail=bad.text.decode(errors="replace"),
            hint=_TRIPLE_HINT,
        )
    tables = scan.tables
    return [
        [
            (scan.span(start, length), scan.span(start + length, tag))
            for start, length, tag in zip(starts, lengths, tags, strict=True)
        ]
        for starts, lengths, tags in zip(
            tables.start.tolist(), tables.length.tolist(), tables.tag.tolist(), strict=True
        )
    ]


def _graph(graph: object) -> str:
    name, _ = canonical(graph)
    if name.startswith('"'):
        raise StreamError(f"literal as graph name: {name}", hint="A graph name is an IRI or a blank node.")
    return name
