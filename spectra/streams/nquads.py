"""N-Quads: consecutive quads of one graph name are an event, whose time the default graph says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from spectra.errors import StreamError
from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import (
    B_LINE,
    E_GRAPH,
    E_GRAPH_LENGTH,
    E_LINE,
    QUADS,
    T_BEGIN,
    T_END,
    T_EVENT,
    T_GRAPH,
    T_GRAPH_LENGTH,
    T_LINE,
    T_TIME,
    T_TIME_LENGTH,
)
from spectra.streams.reading import Reading, event_lines
from spectra.streams.scanner import Scan, Scanner
from spectra.streams.times import literal_time
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

#: Why the quads of an event are set aside whose graph has no time.
TIMELESS = "graph without a time"
GENERATED_AT_TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"


class QuadReader:
    """A graph name that comes back after another one is a new event.

    The latest time stated for the graph so far counts. Time statements are no part of an event; one
    about the graph of the present event ends it. Other statements of the default graph belong to no
    event and are bad lines.

    Attributes
    ----------
    times : dict
        The time of each graph name, as stated last so far.
    """

    def __init__(self, reading: Reading, summary: Summary, *, validate: bool) -> None:
        self.times: dict[str, int] = {}
        self.scanner = Scanner(QUADS, summary, validate=validate, time_predicate=GENERATED_AT_TIME)
        self._reading = reading

    def batches(self, files: list[InputFile]) -> Iterator[EventBatch]:
        for file in files:
            for scan in self._reading.scans(file, self.scanner):
                yield self._batch(file, scan)

    def _batch(self, file: InputFile, scan: Scan) -> EventBatch:
        time, keep, graph = self.timed(file, scan)
        place = [(file.name, line) for line in scan.tables.event[:, E_LINE].tolist()]
        return self._reading.batch(scan, time, place=place, graph=graph, keep=keep)

    def timed(self, file: InputFile, scan: Scan) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[str]]:
        """Of each event: its time, whether it has one, its graph name. The quads of those without go aside."""
        events = scan.tables.event.tolist()
        statements = scan.tables.time.tolist()
        time = np.zeros(len(events), np.int64)
        keep = np.ones(len(events), np.bool_)
        graphs = []
        used = 0
        for index, event in enumerate(events):
            while used < len(statements) and statements[used][T_EVENT] <= index:
                self._learn(file, scan, statements[used])
                used += 1
            graph = scan.span(event[E_GRAPH], event[E_GRAPH_LENGTH])
            graphs.append(graph)
            if graph in self.times:
                time[index] = self.times[graph]
            else:
                keep[index] = False
                self._quarantine(file, scan, event)
        for statement in statements[used:]:
            self._learn(file, scan, statement)
        return time, keep, graphs

    def stated(self, scan: Scan) -> dict[str, int]:
        """The times of the graph names that a scan has statements about, after it."""
        columns = (T_GRAPH, T_GRAPH_LENGTH)
        graphs = {scan.span(begin, length) for begin, length in scan.tables.time[:, columns].tolist()}
        return {graph: self.times[graph] for graph in graphs if graph in self.times}

    def _learn(self, file: InputFile, scan: Scan, statement: list[int]) -> None:
        graph = scan.span(statement[T_GRAPH], statement[T_GRAPH_LENGTH])
        try:
            self.times[graph] = literal_time(scan.span(statement[T_TIME], statement[T_TIME_LENGTH]))
        except StreamError:
            text = scan.octets(statement[T_BEGIN], statement[T_END]).rstrip(b"\r\n")
            self._reading.quarantine.add(file.name, statement[T_LINE], "unreadable time", text)

    def _quarantine(self, file: InputFile, scan: Scan, event: list[int]) -> None:
        others = {*scan.tables.bad[:, B_LINE].tolist(), *scan.tables.time[:, T_LINE].tolist()}
        for line, text in event_lines(scan, event):
            if line not in others and text.strip(b" \t") and not text.lstrip(b" \t").startswith(b"#"):
                self._reading.quarantine.add(file.name, line, TIMELESS, text)
