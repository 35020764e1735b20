"""Keeps the checkpoints of a run with an output file, so that each change is written exactly once.

A checkpoint says how long the output and the quarantine file were. Whatever was written after it is cut
off when the run is started again, and is written once more.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from spectra.checkpoint import Checkpoints, State, restore, restored_changes, saved, saved_changes
from spectra.engine import Engine
from spectra.errors import QueryError
from spectra.output import HoldBack, Writer
from spectra.position import Position
from spectra.static import Triple

#: The static graphs of each query, by IRI.
StaticGraphs = dict[str, dict[str, list[Triple]]]

_AFRESH = "Start from the beginning with an empty folder for --checkpoint."


class Keeper:
    """The checkpoints of one call, and what the last one says.

    Parameters
    ----------
    folder
        Where the checkpoints are.
    call
        Options that must be the same as then, by the names that users know; `--output` is the output file,
        `--quarantine` that of bad lines or None.
    queries
        (name, text) of each query.
    static
        The static graphs of each query as they are now.
    seconds
        Least time between two checkpoints.
    """

    def __init__(
        self,
        folder: str,
        *,
        call: Mapping[str, Any],
        queries: Sequence[tuple[str, str]],
        static: StaticGraphs,
        seconds: float,
    ) -> None:
        self._checkpoints = Checkpoints(folder)
        self._call = dict(call)
        self._queries = [list(query) for query in queries]
        self._static = static
        self._seconds = seconds
        self._last = time.monotonic()
        self._saved: tuple[int, ...] = ()
        self._fingerprint = _fingerprint(static)
        self._state = self._checkpoints.latest()
        self._engine: Engine
        self._writer: Writer
        self._hold_back: HoldBack | None
        self._file: TextIO
        self._position: Position
        if self._state is not None:
            run = self._state.facts["run"]
            self._check(run)
            # blank nodes get new labels whenever a file is read; what was told has the old ones
            for query, graphs in run["blank"].items():
                for iri, triples in graphs.items():
                    static[query][iri] = [(s, p, o) for s, p, o in triples]
            if not self.finished:
                _cut(call["--output"], run["output"])
                if call["--quarantine"] is not None:
                    _cut(call["--quarantine"], run["quarantine"])
        self._blank = _with_blank_nodes(static)

    def _check(self, run: dict[str, Any]) -> None:
        if run["queries"] != self._queries:
            raise QueryError(
                "the checkpoint is of other queries",
                detail=f"It is of {', '.join(f'<{name}>' for name, _ in run['queries'])}.",
                hint=f"Give the same queries in the same order. {_AFRESH}",
            )
        for name, value in self._call.items():
            if run["call"].get(name) != value:
                raise QueryError(
                    f"the checkpoint is of a call with another {name}",
                    detail=f"Then: {run['call'].get(name)}. Now: {value}.",
                    hint=f"Give the same options. {_AFRESH}",
                )
        if run["static"] != self._fingerprint:
            raise QueryError("the static data has changed since the checkpoint", hint=_AFRESH)

    @property
    def resumed(self) -> bool:
        """Whether there is a checkpoint to go on from."""
        return self._state is not None

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end before."""
        return self._state is not None and bool(self._state.facts["run"]["finished"])

    def static(self, query: str) -> dict[str, list[Triple]]:
        """The static graphs to register a query with."""
        return self._static[query]

    def begin(self, engine: Engine, writer: Writer, hold_back: HoldBack | None, file: TextIO) -> Position:
        """Bring engine and writer to where the last checkpoint was; the position in the input."""
        self._engine, self._writer, self._hold_back, self._file = engine, writer, hold_back, file
        # Spark gives out again only what it has not noted as done
        growing = bool(self._call["--follow"]) or self._call["--engine"] == "spark"
        if self._state is None:
            self._position = Position(growing=growing)
            return self._position
        run = self._state.facts["run"]
        restore(engine, self._state)
        engine.quarantine.resume(run["reasons"])
        writer.resume(run["writer"])
        if hold_back is not None:
            hold_back.resume(restored_changes(engine, self._state))
        self._position = Position(growing=growing, saved=run["position"])
        # it may be large, and is of no more use
        self._state.arrays.clear()
        return self._position

    def portion_written(self) -> None:
        """Save a checkpoint, if the last one is old enough and anything has happened since."""
        if time.monotonic() - self._last >= self._seconds and self._saved != self._reached():
            self.save()

    def _reached(self) -> tuple[int, ...]:
        engine = self._engine
        return (engine.events, engine.quarantine.count, *(query.now for query in engine.queries))

    def save(self, *, finished: bool = False) -> None:
        """Save a checkpoint; all that has been written is on disk before."""
        self._file.flush()
        os.fsync(self._file.fileno())
        run = {
            "finished": finished,
            "queries": self._queries,
            "call": self._call,
            "static": self._fingerprint,
            "blank": self._blank,
            "output": os.fstat(self._file.fileno()).st_size,
            "quarantine": self._engine.quarantine.synced(),
            "reasons": dict(self._engine.quarantine.reasons),
            "writer": self._writer.state(),
            "position": self._position.state(),
        }
        state = saved(self._engine)
        waiting = saved_changes(self._hold_back.held if self._hold_back is not None else ())
        self._checkpoints.save(State({**state.facts, **waiting.facts, "run": run}, {**state.arrays, **waiting.arrays}))
        self._last, self._saved = time.monotonic(), self._reached()


def _cut(path: str, length: int) -> None:
    """Take away what was written to a file after the checkpoint."""
    try:
        held = Path(path).stat().st_size
        if held >= length:
            os.truncate(path, length)
            return
        detail = f"It has {held:,} bytes, and had {length:,}."
    except OSError as error:
        detail = error.strerror or str(error)
    raise QueryError(f'cannot go on with the file "{path}" of the checkpoint', detail=detail, hint=_AFRESH)


def _fingerprint(static: StaticGraphs) -> str:
    """The same for the same files, whatever labels their blank nodes got."""
    digest = hashlib.sha256()
    for query, graphs in static.items():
        for iri, triples in graphs.items():
            lines = sorted(" ".join("_:" if _is_blank(term) else term for term in triple) for triple in triples)
            digest.update("\n".join([query, iri, *lines, ""]).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _with_blank_nodes(static: StaticGraphs) -> StaticGraphs:
    return {
        query: {
            iri: triples
            for iri, triples in graphs.items()
            if any(_is_blank(term) for triple in triples for term in triple)
        }
        for query, graphs in static.items()
    }


def _is_blank(term: str) -> bool:
    return term.startswith("_:")
