"""What a query reports: changes as columns, and one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, Instant
from spectra.dictionary.terms import to_rdflib
from spectra.sparql.query import Form

if TYPE_CHECKING:
    import pandas
    import pyarrow

#: What `op` says: a solution left, is part of an RSTREAM answer, entered.
OPS = {-1: "-", 0: "=", 1: "+"}


@dataclass(frozen=True, slots=True)
class PathColumns:
    """Paths of the changes of a batch: change `i` has the paths `first[i]` to `first[i + 1]`, exclusive.

    `ends` are where a path begins and ends, `edge_first` its first edge, as `first` of changes; `edges` are
    triples, `until` their ends of validity. `broken` says which of its edges ended a path that is no more, or -1.
    Terms are codes, as in the batch.
    """

    first: NDArray[np.int64]
    ends: NDArray[np.int32]
    edge_first: NDArray[np.int64]
    edges: NDArray[np.int32]
    until: NDArray[np.int64]
    broken: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Path:
    """A path that a result names, edge by edge as N-Triples texts, and until when each edge is valid.

    `broken` is the edge whose expiry or deletion ended it, where the result has left.
    """

    start: str
    end: str
    edges: tuple[tuple[str, str, str], ...]
    until: tuple[Instant | None, ...]
    broken: tuple[str, str, str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One solution that entered (`+`), left (`-`) or is part of the answer (`=`) at an instant.

    `bindings` maps variable names to rdflib terms; unbound variables are absent. `until` is when the
    solution will leave if nothing else arrives (None: not by itself). `paths` are there where the query asks
    for them. An ASK query has `boolean`, a CONSTRUCT query `triple` (N-Triples texts) instead of bindings, and `graph`
    where the template puts it into a named one.
    """

    query: str
    at: Instant
    op: str
    bindings: dict[str, Any]
    until: Instant | None = None
    paths: tuple[Path, ...] = ()
    boolean: bool | None = None
    triple: tuple[str, str, str] | None = None
    graph: str | None = None

    def __str__(self) -> str:
        if self.boolean is not None:
            what = str(self.boolean).lower()
        elif self.triple is not None:
            what = " ".join(self.triple if self.graph is None else (*self.triple, self.graph))
        else:
            what = " ".join(f"?{name}={term.n3()}" for name, term in self.bindings.items())
        ending = f" until {self.until}" if self.until is not None else ""
        return f"{self.at} {self.op} {what}{ending}"


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Changes of one query in the order of their instants, as columns.

    `codes` has a row per change and a column per variable: positions in `terms` (N-Triples texts), -1
    for unbound. ASK has no columns and a truth value for each row; CONSTRUCT has the columns s, p, o, and g
    where its template names graphs.
    """

    query: str
    form: Form
    variables: tuple[str, ...]
    at: NDArray[np.int64]
    op: NDArray[np.int8]
    until: NDArray[np.int64]
    codes: NDArray[np.int32]
    terms: Sequence[str]
    boolean: NDArray[np.bool_] | None = None
    paths: PathColumns | None = None

    def __len__(self) -> int:
        return len(self.at)

    def __iter__(self) -> Iterator[Change]:
        for number, (at, op, until, row, boolean) in enumerate(self.rows()):
            bindings: dict[str, Any] = {}
            triple: tuple[str, str, str] | None = None
            graph: str | None = None
            if self.form is Form.CONSTRUCT:
                triple = (self.terms[row[0]], self.terms[row[1]], self.terms[row[2]])
                if len(row) == 4 and row[3] >= 0:
                    graph = self.terms[row[3]]
            else:
                for name, code in zip(self.variables, row, strict=True):
                    if code >= 0:
                        bindings[name] = to_rdflib(self.terms[code])
            yield Change(
                self.query,
                Instant(at),
                OPS[op],
                bindings,
                Instant(until) if until < FOREVER and op >= 0 else None,
                paths=self.paths_of(number),
                boolean=boolean,
                triple=triple,
                graph=graph,
            )

    def paths_of(self, number: int) -> tuple[Path, ...]:
        """The paths of one change."""
        if self.paths is None:
            return ()
        columns, terms = self.paths, self.terms
        found = []
        for path in range(int(columns.first[number]), int(columns.first[number + 1])):
            chosen = slice(int(columns.edge_first[path]), int(columns.edge_first[path + 1]))
            edges = tuple((terms[s], terms[p], terms[o]) for s, p, o in columns.edges[chosen].tolist())
            until = tuple(Instant(end) if end < FOREVER else None for end in columns.until[chosen].tolist())
            start, end = columns.ends[path].tolist()
            broken = int(columns.broken[path])
            found.append(Path(terms[start], terms[end], edges, until, edges[broken] if broken >= 0 else None))
        return tuple(found)

    def rows(self) -> Iterator[tuple[int, int, int, list[int], bool | None]]:
        """(at, op, until, codes, boolean) of each change, as plain Python values."""
        booleans: Sequence[bool | None] = self.boolean.tolist() if self.boolean is not None else [None] * len(self.at)
        return zip(self.at.tolist(), self.op.tolist(), self.until.tolist(), self.codes.tolist(), booleans, strict=True)

    def to_arrow(self) -> pyarrow.Table:
        """A table: query, at, op, until, and a column of N-Triples texts per variable (dictionary encoded).

        Where the query asks for paths, a column of lists of them: from, to, edges, until, broken.
        """
        import pyarrow as pa

        time = pa.timestamp("ms", tz="UTC")
        columns: dict[str, pa.Array] = {
            "query": pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(self), np.int32)), pa.array([self.query])),
            "at": pa.array(self.at).cast(time),
            "op": pa.DictionaryArray.from_arrays(
                pa.array(self.op.astype(np.int32) + 1), pa.array([OPS[-1], OPS[0], OPS[1]])
            ),
            "until": pa.array(self.until, mask=(self.until >= FOREVER) | (self.op < 0)).cast(time),
        }
        if self.boolean is not None:
            columns["boolean"] = pa.array(self.boolean)
        if self.paths is not None:
            columns["paths"] = self._arrow_paths(time)
        return pa.table(columns | _term_columns(self.variables, self.codes, self.terms))

    def _arrow_paths(self, time: pyarrow.DataType) -> pyarrow.Array:
        import pyarrow as pa

        edge = pa.list_(pa.string(), 3)
        path = [("from", pa.string()), ("to", pa.string()), ("edges", pa.list_(edge)), ("until", pa.list_(time))]
        rows = [
            [
                {
                    "from": path.start,
                    "to": path.end,
                    "edges": path.edges,
                    "until": [None if end is None else end.milliseconds for end in path.until],
                    "broken": path.broken,
                }
                for path in self.paths_of(number)
            ]
            for number in range(len(self))
        ]
        return pa.array(rows, pa.list_(pa.struct([*path, ("broken", edge)])))


def _term_columns(
    variables: tuple[str, ...], codes: NDArray[np.int32], terms: Sequence[str]
) -> dict[str, pyarrow.Array]:
    import pyarrow as pa

    texts = pa.array(terms, pa.string())
    columns = {name: np.ascontiguousarray(codes[:, at]) for at, name in enumerate(variables)}
    return {
        name: pa.DictionaryArray.from_arrays(pa.array(column, mask=column < 0), texts)
        for name, column in columns.items()
    }


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The answer of a query at one instant."""

    at: Instant
    variables: tuple[str, ...]
    codes: NDArray[np.int32]
    terms: Sequence[str]
    until: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def boolean(self) -> bool:
        """Whether there is any solution: the answer of an ASK query."""
        return len(self.codes) > 0

    def rows(self) -> list[dict[str, Any]]:
        """A dict of rdflib terms per solution; unbound variables are absent."""
        terms = [to_rdflib(text) for text in self.terms]
        return [
            {name: terms[code] for name, code in zip(self.variables, row, strict=True) if code >= 0}
            for row in self.codes.tolist()
        ]

    def to_arrow(self) -> pyarrow.Table:
        """A column of N-Triples texts per variable (dictionary encoded)."""
        import pyarrow as pa

        columns = _term_columns(self.variables, self.codes, self.terms)
        return pa.table(columns) if columns else pa.table({"boolean": pa.array([self.boolean])})

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame; needs pandas."""
        return self.to_arrow().to_pandas()
