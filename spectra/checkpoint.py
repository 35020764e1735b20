"""Checkpoints: the state of an engine as arrays in a folder, and the way back.

Terms are saved as texts and rows as positions among them; ids are of one process only. The state of
operators is not saved: they take the rows of the restored windows as their input.
"""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.changes import ChangeBatch, PathColumns
from spectra.continuous import QueryState
from spectra.dictionary.dictionary import Dictionary
from spectra.engine import Engine
from spectra.errors import QueryError
from spectra.operators.contract import Deltas
from spectra.reorder import EncodedEvents

#: Raised whenever older checkpoints can no longer be read.
FORMAT_VERSION = 4

_FACTS, _ARRAYS = "facts.json", "arrays.npz"
_UNFINISHED = "unfinished"
_QUERY = ("first_event", "done", "now", "reported", "count", "last", "evaluated")
_EVENTS = ("sign", "event_first", "event_time", "event_size", "arrival")


@dataclass(slots=True)
class State:
    """What is saved: facts as JSON has them, and arrays by name."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Checkpoints:
    """The checkpoints in a folder: numbered, complete once they have their number; the highest counts."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QueryError(
                f'cannot keep checkpoints in "{folder}"', detail=error.strerror, hint="Name a folder."
            ) from None
        self._number = max(self._numbers(), default=0)

    def _numbers(self) -> list[int]:
        return [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal() and path.is_dir()]

    def latest(self) -> State | None:
        """The last complete checkpoint, None where there is none."""
        if not self._number:
            return None
        folder = self._folder / str(self._number)
        try:
            facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
            version = facts["version"]
            if version == FORMAT_VERSION:
                with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
                    return State(facts, {name: arrays[name] for name in arrays.files})
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise QueryError(
                f'cannot read the checkpoint "{folder}"',
                detail=str(error),
                hint="Start from the beginning with an empty folder.",
            ) from None
        raise QueryError(
            f'the checkpoint "{folder}" is of another version of Spectra',
            detail=f"Its format is {version}, and this version reads {FORMAT_VERSION}.",
            hint="Go on with the version that wrote it, or start from the beginning with an empty folder.",
        )

    def save(self, state: State) -> None:
        """Put a checkpoint in the place of the one before, at once and for good."""
        unfinished = self._folder / _UNFINISHED
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        with (unfinished / _FACTS).open("w", encoding="utf-8") as file:
            json.dump({"version": FORMAT_VERSION, **state.facts}, file)
            file.flush()
            os.fsync(file.fileno())
        with (unfinished / _ARRAYS).open("wb") as octets:
            np.savez(octets, **state.arrays)  # type: ignore[arg-type]
            octets.flush()
            os.fsync(octets.fileno())
        _sync_folder(unfinished)
        earlier = self._numbers()
        self._number += 1
        unfinished.rename(self._folder / str(self._number))
        _sync_folder(self._folder)
        for number in earlier:
            shutil.rmtree(self._folder / str(number), ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    """A new name in a folder is on disk when the folder is."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# --- an engine ------------------------------------------------------------------------------


@dataclass(slots=True)
class _Saving:
    """Arrays on their way out; those of term ids get positions once all ids are known."""

    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    ids: dict[str, NDArray[np.int32]] = field(default_factory=dict)

    def deltas(self, name: str, deltas: Deltas) -> None:
        for column in ("at", "sign", "until"):
            self.arrays[f"{name}.{column}"] = getattr(deltas, column)
        self.ids[f"{name}.rows"] = deltas.rows

    def finished(self, dictionary: Dictionary) -> dict[str, NDArray[Any]]:
        """All arrays, with the texts of the terms; position 0 is no term."""
        none = np.zeros(1, np.int32)
        known = np.unique(np.concatenate([none, *(ids.ravel() for ids in self.ids.values())]))
        for name, ids in self.ids.items():
            self.arrays[name] = np.searchsorted(known, ids).astype(np.int32).reshape(ids.shape)
        return {**self.arrays, **_texts(dictionary, known[1:])}


def _texts(dictionary: Dictionary, terms: NDArray[np.int32]) -> dict[str, NDArray[Any]]:
    """The terms in the columns that `Dictionary.encode` takes."""
    table = dictionary.checkpoint()
    length, tag = table["length"][terms], table["tag"][terms]
    # the tag as printed stands behind the canonical text
    sizes = length.astype(np.int64) + tag
    start = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    octets = np.repeat(table["start"][terms] - start[:-1], sizes) + np.arange(start[-1])
    return {
        "terms.text": table["arena"][octets],
        "terms.start": start[:-1],
        "terms.length": length,
        "terms.tag": tag,
        "terms.hashes": table["hashes"][terms],
    }


def saved(engine: Engine) -> State:
    """The state of an engine between two portions of its input.

    Its queries must have been registered before the first event.
    """
    saving = _Saving()
    timelines = []
    for at, timeline in enumerate(engine.timelines):
        waiting = timeline.reorder.waiting_events()
        for number, events in enumerate(waiting.values()):
            for column in _EVENTS:
                saving.arrays[f"waiting.{at}.{number}.{column}"] = getattr(events, column)
            saving.ids[f"waiting.{at}.{number}.triples"] = events.triples
            saving.ids[f"waiting.{at}.{number}.graph"] = events.graph
        for number, window in enumerate(timeline.windows):
            if window.since:
                raise QueryError(
                    "a query that was registered after the first event cannot be saved",
                    hint="Register all queries first.",
                )
            triples, valid_from, valid_to = window.content()
            name = f"window.{at}.{number}"
            saving.arrays[f"{name}.valid_from"] = valid_from
            saving.arrays[f"{name}.valid_to"] = valid_to
            saving.ids[f"{name}.triples"] = triples
            if window.graphs is not None:
                numbers, terms = window.graphs.saved()
                saving.arrays |= {f"{name}.graphs.{part}": array for part, array in numbers.items()}
                saving.ids |= {f"{name}.graphs.{part}": array for part, array in terms.items()}
        timelines.append(
            {
                "lateness": timeline.reorder.lateness,
                "greatest": timeline.reorder.greatest,
                "late": timeline.late,
                "waiting": list(waiting),
                "windows": [
                    {"stream": window.stream, "events": window.events, "unused_end": window.unused_end}
                    for window in timeline.windows
                ],
            }
        )
    queries = []
    for at, query in enumerate(engine.queries):
        state = query.state()
        saving.deltas(f"pending.{at}", state.pending)
        saving.deltas(f"answer.{at}", state.answer)
        for number, drawn in enumerate(state.drawn):
            saving.ids[f"drawn.{at}.{number}"] = drawn
        static = [(number, iri) for number, graph in enumerate(query.static) for iri in sorted(graph.replaced)]
        for place, (number, iri) in enumerate(static):
            saving.ids[f"static.{at}.{place}"] = query.static[number].parts[iri]
        queries.append(
            {
                "name": query.name,
                "text": query.query.text,
                "static": static,
                **{name: getattr(state, name) for name in _QUERY},
            }
        )
    deleting = engine.planning.deleting
    facts = {
        "events": engine.events,
        "arrived": engine.arrived,
        "timelines": timelines,
        "queries": queries,
        "deleting": deleting if isinstance(deleting, bool) else sorted(deleting),
    }
    return State(facts, saving.finished(engine.dictionary))


def restore(engine: Engine, state: State) -> None:
    """Bring an engine, in which the same queries have just been registered, to a saved state."""
    facts, arrays = state.facts, state.arrays
    _check_queries(engine, facts)
    dictionary = engine.dictionary
    encoded = dictionary.encode(*(arrays[f"terms.{name}"] for name in ("text", "start", "length", "tag", "hashes")))
    ids = np.concatenate((np.zeros(1, np.int32), encoded))
    for at, (query, known) in enumerate(zip(engine.queries, facts["queries"], strict=True)):
        for place, (number, iri) in enumerate(known["static"]):
            query.put_static({query.static[number]: {iri: ids[arrays[f"static.{at}.{place}"]]}}, None)
    for at, (timeline, known) in enumerate(zip(engine.timelines, facts["timelines"], strict=True)):
        timeline.reorder.greatest, timeline.late = known["greatest"], known["late"]
        for number, stream in enumerate(known["waiting"]):
            name = f"waiting.{at}.{number}"
            columns = {column: arrays[f"{name}.{column}"] for column in _EVENTS}
            terms = {column: ids[arrays[f"{name}.{column}"]] for column in ("triples", "graph")}
            events = EncodedEvents(**columns, **terms)
            dictionary.retain(events.terms)
            timeline.reorder.add(stream, events)
        for number, (window, its) in enumerate(zip(timeline.windows, known["windows"], strict=True)):
            name = f"window.{at}.{number}"
            window.events, window.unused_end = its["events"], its["unused_end"]
            window.fill(
                ids[arrays[f"{name}.triples"]],
                arrays[f"{name}.valid_from"],
                arrays[f"{name}.valid_to"],
                dictionary,
            )
            if window.graphs is not None:
                saved_graphs = {
                    part.removeprefix(f"{name}.graphs."): array
                    for part, array in arrays.items()
                    if part.startswith(f"{name}.graphs.")
                }
                window.graphs.fill(saved_graphs, ids)
    for at, (query, known) in enumerate(zip(engine.queries, facts["queries"], strict=True)):
        query.resume(
            QueryState(
                **{name: known[name] for name in _QUERY},
                pending=_deltas(arrays, f"pending.{at}", ids),
                answer=_deltas(arrays, f"answer.{at}", ids),
                drawn=[ids[arrays[name]] for name in _numbered(arrays, f"drawn.{at}.")],
            )
        )
    for timeline in engine.timelines:
        for window in timeline.windows:
            window.vacuum()
    engine.events, engine.arrived = facts["events"], facts["arrived"]
    if not isinstance(facts["deleting"], bool):
        engine.planning.expect_deletions(engine.queries, facts["deleting"])
    dictionary.reclaim()


def _numbered(arrays: Mapping[str, NDArray[Any]], prefix: str) -> list[str]:
    """The names that are a prefix and a number, in order."""
    return sorted((name for name in arrays if name.startswith(prefix)), key=lambda name: int(name[len(prefix) :]))


def _check_queries(engine: Engine, facts: dict[str, Any]) -> None:
    registered = [(query.name, query.query.text) for query in engine.queries]
    if registered != [(known["name"], known["text"]) for known in facts["queries"]]:
        raise QueryError(
            "the checkpoint is of other queries",
            detail=f"It is of {', '.join('<{name}>'.format(**known) for known in facts['queries'])}.",
            hint="Give the same queries in the same order, or start from the beginning with an empty folder.",
        )
    windows = [
        (timeline.reorder.lateness, [window.stream for window in timeline.windows]) for timeline in engine.timelines
    ]
    if windows != [
        (known["lateness"], [window["stream"] for window in known["windows"]]) for known in facts["timelines"]
    ]:
        raise QueryError("the checkpoint is of other windows", hint="Register the queries as they were then.")


def _deltas(arrays: Mapping[str, NDArray[Any]], name: str, ids: NDArray[np.int32]) -> Deltas:
    return Deltas(arrays[f"{name}.at"], arrays[f"{name}.sign"], arrays[f"{name}.until"], ids[arrays[f"{name}.rows"]])


# --- changes that wait ----------------------------------------------------------------------


def saved_changes(batches: Sequence[ChangeBatch]) -> State:
    """Changes that have been told and not yet been written."""
    facts = [{"query": batch.query, "terms": list(batch.terms)} for batch in batches]
    arrays: dict[str, NDArray[Any]] = {}
    for at, batch in enumerate(batches):
        for column in ("at", "op", "until", "codes", "boolean"):
            values = getattr(batch, column)
            if values is not None:
                arrays[f"change.{at}.{column}"] = values
        if batch.paths is not None:
            for path_column in fields(PathColumns):
                arrays[f"change.{at}.paths.{path_column.name}"] = getattr(batch.paths, path_column.name)
    return State({"changes": facts}, arrays)


def restored_changes(engine: Engine, state: State) -> list[ChangeBatch]:
    """The changes that `saved_changes` was given."""
    queries = {query.name: query for query in engine.queries}
    batches = []
    for at, known in enumerate(state.facts["changes"]):
        query = queries[known["query"]]
        at_, op, until, codes = (state.arrays[f"change.{at}.{name}"] for name in ("at", "op", "until", "codes"))
        boolean = state.arrays.get(f"change.{at}.boolean")
        variables = () if boolean is not None else query.operator.variables
        paths: PathColumns | None = None
        if f"change.{at}.paths.first" in state.arrays:
            paths = PathColumns(*(state.arrays[f"change.{at}.paths.{one.name}"] for one in fields(PathColumns)))
        form, terms = query.query.form, known["terms"]
        batches.append(ChangeBatch(query.name, form, variables, at_, op, until, codes, terms, boolean, paths))
    return batches
