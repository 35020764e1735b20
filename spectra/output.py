"""Changes as text: table, JSON lines, CSV, N-Quads."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Any, Protocol, TextIO

import numpy as np

from spectra.changes import OPS, ChangeBatch, Path
from spectra.clock import FOREVER, date_time
from spectra.dictionary.terms import XSD_STRING, literal_parts, to_json
from spectra.errors import QueryError
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator
from spectra.sparql.syntax import template_variables

_XSD = "http://www.w3.org/2001/XMLSchema#"
_GENERATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
#: Rows that a table waits for, so that its columns are as wide as they need to be.
_TABLE_ROWS = 500
_PREFIX = re.compile(r"^\s*PREFIX\s+([^\s:]*):\s*<([^<>\s]*)>", re.IGNORECASE | re.MULTILINE)
_LOCAL = re.compile(r"[^\W_](?:[\w.-]*[\w-])?|_[\w-]*")
_BARE = {
    f"{_XSD}integer": re.compile(r"[+-]?\d+"),
    f"{_XSD}decimal": re.compile(r"[+-]?\d*\.\d+"),
    f"{_XSD}boolean": re.compile(r"true|false"),
}


class Writer(Protocol):
    """Takes the changes of one portion of the input after the other."""

    def write(self, told: Sequence[ChangeBatch]) -> None: ...

    def flush(self) -> None:
        """Write what is held back, for whoever waits for it."""
        ...

    def state(self) -> dict[str, Any]:
        """What a writer that goes on with the same file needs to know, as JSON can hold it."""
        ...

    def resume(self, state: dict[str, Any]) -> None:
        """Go on with the file of the writer whose `state` it was."""
        ...


def writer_for(name: str, queries: Sequence[ContinuousQuery], file: TextIO) -> Writer:
    """The writer of a format; refuses queries whose answers it cannot hold."""
    match name:
        case "table":
            return TableWriter(queries, file)
        case "csv":
            return CsvWriter(queries, file)
        case "nq":
            return QuadWriter(queries, file)
        case _:
            return JsonWriter(file)


def in_order(told: Sequence[ChangeBatch]) -> Iterator[ChangeBatch]:
    """The changes of several queries, instant by instant; of one instant, query by query."""
    if len(told) <= 1:
        yield from told
        return
    pieces = []
    for number, batch in enumerate(told):
        if not len(batch):
            continue
        starts = np.concatenate(([0], np.flatnonzero(np.diff(batch.at)) + 1, [len(batch)])).tolist()
        pieces += [(int(batch.at[first]), number, first, last) for first, last in pairwise(starts)]
    for _, number, first, last in sorted(pieces):
        yield rows_of(told[number], first, last)


def rows_of(batch: ChangeBatch, first: int, last: int) -> ChangeBatch:
    """Consecutive changes of a batch."""
    chosen = slice(first, last)
    return replace(
        batch,
        at=batch.at[chosen],
        op=batch.op[chosen],
        until=batch.until[chosen],
        codes=batch.codes[chosen],
        boolean=None if batch.boolean is None else batch.boolean[chosen],
        paths=None if batch.paths is None else replace(batch.paths, first=batch.paths.first[first : last + 1]),
    )


class HoldBack:
    """Puts queries with different lateness in one order: what is ahead waits for what is behind."""

    def __init__(self) -> None:
        self._held: list[ChangeBatch] = []

    @property
    def held(self) -> Sequence[ChangeBatch]:
        """What waits."""
        return self._held

    def resume(self, held: Sequence[ChangeBatch]) -> None:
        """Let these wait, from another process."""
        self._held = list(held)

    def upto(self, told: Iterable[ChangeBatch], time: int) -> list[ChangeBatch]:
        """Of all that has been told, what lies at or before a time that every query has reached."""
        ready, held = [], []
        for batch in [*self._held, *told]:
            count = int(np.searchsorted(batch.at, time, side="right"))
            if count:
                ready.append(rows_of(batch, 0, count))
            if count < len(batch):
                held.append(rows_of(batch, count, len(batch)))
        self._held = held
        return ready


class _Times(dict[int, str]):
    """Texts of times, each made once."""

    def __missing__(self, time: int) -> str:
        if len(self) > 100_000:
            self.clear()
        text = self[time] = date_time(time)
        return text


class JsonWriter:
    """One JSON object per line, as the interface has it."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._times = _Times()

    def write(self, told: Sequence[ChangeBatch]) -> None:
        for batch in in_order(told):
            self._file.writelines(self._lines(batch))

    def flush(self) -> None:
        self._file.flush()

    def state(self) -> dict[str, Any]:
        return {}

    def resume(self, state: dict[str, Any]) -> None:
        """A line stands for itself."""

    def _lines(self, batch: ChangeBatch) -> Iterator[str]:
        times = self._times
        start = f'{{"query":{_json_text(batch.query)},"at":"'
        ops = {sign: f'","op":"{text}",' for sign, text in OPS.items()}
        if batch.form is Form.ASK:
            for at, op, _, _, boolean in batch.rows():
                yield f'{start}{times[at]}{ops[op]}"boolean":{"true" if boolean else "false"}}}\n'
            return
        used = np.unique(batch.codes)
        render = _json_text if batch.form is Form.CONSTRUCT else _json_term
        terms = {code: render(batch.terms[code]) for code in used[used >= 0].tolist()}
        names = [f"{_json_text(name)}:" for name in batch.variables]
        for number, (at, op, until, row, _) in enumerate(batch.rows()):
            if batch.form is Form.CONSTRUCT:
                what = f'"triple":[{",".join([terms[code] for code in row[:3]])}]'
                if len(row) == 4 and row[3] >= 0:
                    what += f',"graph":{terms[row[3]]}'
            else:
                bound = [name + terms[code] for name, code in zip(names, row, strict=True) if code >= 0]
                what = f'"bindings":{{{",".join(bound)}}}'
            ending = f',"until":"{times[until]}"' if until < FOREVER and op >= 0 else ""
            if batch.paths is not None:
                ending += f',"paths":[{",".join(self._path(path) for path in batch.paths_of(number))}]'
            yield f"{start}{times[at]}{ops[op]}{what}{ending}}}\n"

    def _path(self, path: Path) -> str:
        told: dict[str, Any] = {"from": path.start, "to": path.end, "edges": path.edges}
        told["until"] = [None if end is None else self._times[end.milliseconds] for end in path.until]
        if path.broken is not None:
            told["broken"] = path.broken
        return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json_term(text: str) -> str:
    return json.dumps(to_json(text), ensure_ascii=False, separators=(",", ":"))


class _Columns:
    """The columns that tables of several queries share: every variable once, in the order of the queries."""

    def __init__(self, queries: Sequence[ContinuousQuery]) -> None:
        names: dict[str, None] = {}
        for query in queries:
            match query.form:
                case Form.SELECT:
                    names |= dict.fromkeys(variable.name for variable in query.variables)
                case Form.CONSTRUCT:
                    names |= dict.fromkeys(template_variables(query.template))
                case Form.ASK:
                    names["boolean"] = None
        self.names = tuple(names)

    def values(self, batch: ChangeBatch, terms: dict[int, str], row: list[int], boolean: bool | None) -> list[str]:
        """The value of every column; "" for unbound, and for variables of other queries."""
        if boolean is not None:
            given = {"boolean": "true" if boolean else "false"}
        else:
            given = {name: terms[code] for name, code in zip(batch.variables, row, strict=True) if code >= 0}
        return [given.get(name, "") for name in self.names]


def _until(op: int, until: int, boolean: bool | None, times: _Times) -> str:
    return times[until] if boolean is None and op >= 0 and until < FOREVER else ""


class CsvWriter:
    """SPARQL 1.1 CSV, IRIs and lexical forms as they are, with at, op and query before and until behind."""

    def __init__(self, queries: Sequence[ContinuousQuery], file: TextIO) -> None:
        self._file = file
        self._columns = _Columns(queries)
        self._times = _Times()
        self._csv = csv.writer(file)
        self._has_header = False

    def write(self, told: Sequence[ChangeBatch]) -> None:
        self._write_header()
        for batch in in_order(told):
            terms = {code: _plain(text) for code, text in enumerate(batch.terms)}
            for at, op, until, row, boolean in batch.rows():
                values = self._columns.values(batch, terms, row, boolean)
                ending = _until(op, until, boolean, self._times)
                self._csv.writerow([self._times[at], OPS[op], batch.query, *values, ending])

    def flush(self) -> None:
        self._write_header()
        self._file.flush()

    def state(self) -> dict[str, Any]:
        return {"header": self._has_header}

    def resume(self, state: dict[str, Any]) -> None:
        self._has_header = state["header"]

    def _write_header(self) -> None:
        if not self._has_header:
            self._csv.writerow(["at", "op", "query", *self._columns.names, "until"])
            self._has_header = True


def _plain(text: str) -> str:
    if text[0] == "<":
        return text[1:-1]
    return text if text[0] == "_" else literal_parts(text)[0]


class TableWriter:
    """Aligned columns for people; terms shortened by the prefixes of the queries."""

    def __init__(self, queries: Sequence[ContinuousQuery], file: TextIO) -> None:
        self._file = file
        self._columns = _Columns(queries)
        self._several = len(queries) > 1
        self._shorten = Shortening(query.text for query in queries)
        self._times = _Times()
        query = ["query"] if self._several else []
        self._rows: list[list[str]] = [["at", "op", *query, *self._columns.names, "until"]]
        self._widths = [0] * len(self._rows[0])

    def write(self, told: Sequence[ChangeBatch]) -> None:
        for batch in in_order(told):
            terms = {code: self._shorten.term(text) for code, text in enumerate(batch.terms)}
            query = [self._shorten.term(f"<{batch.query}>")] if self._several else []
            rows = [
                (
                    at,
                    op,
                    self._columns.values(batch, terms, row, boolean),
                    _until(op, until, boolean, self._times),
                )
                for at, op, until, row, boolean in batch.rows()
            ]
            # people compare: what leaves comes first, and equal answers look equal from run to run
            for at, op, values, ending in sorted(rows):
                self._rows.append([self._times[at], OPS[op], *query, *values, ending])
            if len(self._rows) >= _TABLE_ROWS:
                self._print()

    def flush(self) -> None:
        self._print()
        self._file.flush()

    def state(self) -> dict[str, Any]:
        return {"rows": self._rows, "widths": self._widths}

    def resume(self, state: dict[str, Any]) -> None:
        self._rows, self._widths = state["rows"], state["widths"]

    def _print(self) -> None:
        for row in self._rows:
            self._widths = [max(width, len(cell)) for width, cell in zip(self._widths, row, strict=True)]
        for row in self._rows:
            cells = [cell.ljust(width) for cell, width in zip(row, self._widths, strict=True)]
            self._file.write("  ".join(cells).rstrip() + "\n")
        self._rows.clear()


class Shortening:
    """Terms as Turtle would write them, by the prefixes that query texts declare."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = [pair for text in texts for pair in _PREFIX.findall(text)]
        self._prefixes = {iri: prefix for prefix, iri in found if iri}
        # the longest first: one namespace may lie within another
        self._namespaces = sorted(self._prefixes, key=len, reverse=True)

    def term(self, text: str) -> str:
        """A term for the eye: nothing in it moves the cursor.

        Examples
        --------
        >>> short = Shortening(["PREFIX ex: <http://example.org/>"])
        >>> short.term("<http://example.org/ann>"), short.term("<http://example.org/a/b>")
        ('ex:ann', '<http://example.org/a/b>')
        >>> short.term('"1"^^<http://www.w3.org/2001/XMLSchema#integer>')
        '1'
        """
        shown = self._literal(text) if text[0] == '"' else self._iri(text)
        if shown.isprintable():
            return shown
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)

    def _iri(self, text: str) -> str:
        for namespace in self._namespaces:
            if text.startswith(namespace, 1) and _LOCAL.fullmatch(local := text[1 + len(namespace) : -1]):
                return f"{self._prefixes[namespace]}:{local}"
        return text

    def _literal(self, text: str) -> str:
        lexical, datatype, language = literal_parts(text)
        if language or datatype == XSD_STRING:
            return text
        if datatype in _BARE and _BARE[datatype].fullmatch(lexical):
            return lexical
        quoted = text[: text.rfind('"') + 1]
        if datatype.startswith(_XSD) and _XSD not in self._prefixes:
            return f"{quoted}^^xsd:{datatype.removeprefix(_XSD)}"
        return f"{quoted}^^{self._iri(f'<{datatype}>')}"


class QuadWriter:
    """The answers of CONSTRUCT queries as a stream: a graph per instant, its time before it.

    Triples that a template puts into named graphs are told in those.
    """

    def __init__(self, queries: Sequence[ContinuousQuery], file: TextIO) -> None:
        self._file = file
        self._latest: dict[str, tuple[int, int]] = {}
        for query in queries:
            if query.form is not Form.CONSTRUCT:
                raise QueryError(
                    f"the answers of <{query.name}> are no triples, which --format nq needs",
                    detail=f"It is a {query.form.value} query.",
                    hint="Use --format jsonl, or write a CONSTRUCT query.",
                )
            if query.output in (OutputOperator.DSTREAM, OutputOperator.CHANGES):
                raise QueryError(
                    f"--format nq cannot say that triples of <{query.name}> leave",
                    detail=f"The query is registered as {query.output.value}; a stream of N-Quads only adds.",
                    hint="Use --format jsonl, or register it as ISTREAM or RSTREAM.",
                )

    def write(self, told: Sequence[ChangeBatch]) -> None:
        for batch in in_order(told):
            rows: Iterable[tuple[int, list[int]]] = ((at, codes) for at, _, _, codes, _ in batch.rows())
            if len(batch.variables) == 4:  # an event is what is told of one graph
                rows = sorted(rows, key=lambda row: (row[0], row[1][3]))
            for (at, code), group in groupby(rows, key=lambda row: (row[0], row[1][3] if len(row[1]) == 4 else -1)):
                graph = self._graph(batch.query, at) if code < 0 else batch.terms[code]
                self._file.write(f'{graph} {_GENERATED} "{date_time(at)}"^^<{_XSD}dateTime> .\n')
                for _, (s, p, o, *_) in group:
                    self._file.write(f"{batch.terms[s]} {batch.terms[p]} {batch.terms[o]} {graph} .\n")

    def flush(self) -> None:
        self._file.flush()

    def state(self) -> dict[str, Any]:
        return {"latest": self._latest}

    def resume(self, state: dict[str, Any]) -> None:
        self._latest = {query: (at, number) for query, (at, number) in state["latest"].items()}

    def _graph(self, query: str, at: int) -> str:
        """A graph name that was not there before; an instant may be told of in more than one go."""
        latest, number = self._latest.get(query, (at, 0))
        number = number + 1 if latest == at else 1
        self._latest[query] = (at, number)
        return f"<{query}/{date_time(at)}>" if number == 1 else f"<{query}/{date_time(at)}/{number}>"
