"""The paths that the results of a query name, found when the results are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.explain import path_text
from spectra.algebra.nodes import Source
from spectra.algebra.witnesses import witnessed_paths
from spectra.automata import minimal_dfa
from spectra.changes import PathColumns
from spectra.clock import FOREVER
from spectra.dictionary.dictionary import Dictionary
from spectra.operators.path.witness import Which, Witness
from spectra.report import Told
from spectra.sparql.query import ContinuousQuery, Option, Policy, WindowKind
from spectra.sparql.syntax import Term, Variable
from spectra.views.kernels.apply import DELETED, EXPIRED, end_at

if TYPE_CHECKING:
    from spectra.views.view import WindowViews

#: The rows of a path, the position of the log at which it was found, and which of its edges went (-1: none).
_Found = tuple[NDArray[np.int32], int, int]


class Witnesses:
    """Finds, for each change that is told, a path for every path pattern of the query that the solution has.

    It looks at the windows as they were at the instant of the change: their logs must not be forgotten yet.
    """

    def __init__(
        self,
        query: ContinuousQuery,
        views: Mapping[Source, WindowViews],
        dictionary: Dictionary,
        variables: tuple[str, ...],
        budget: int,
    ) -> None:
        which: Which = "shortest" if Option.SHORTEST_PATHS in query.options else "longest-lived"
        if Option.SIMPLE_PATHS in query.options:
            which = "simple"
        self._dictionary = dictionary
        self._columns = {name: at for at, name in enumerate(variables)}
        self._at_every_change = query.report.policy is Policy.ON_CONTENT_CHANGE
        timed = any(window.spec.kind is WindowKind.TIME for window in query.windows)
        #: A close sees what was there before what happens at its instant.
        self._before = query.report.policy is Policy.ON_WINDOW_CLOSE and timed
        self._paths = [
            (path, Witness(views[path.source], minimal_dfa(path.path), dictionary.constant, which, budget, text))
            for path in witnessed_paths(query)
            for text in [path_text(path.path)]
        ]

    def of(self, told: Told) -> tuple[PathColumns, NDArray[np.int32]]:
        """The paths of the changes, with term ids for codes; and those ids."""
        first, ends, edge_first, broken = [0], [], [0], []
        edges: list[NDArray[np.int32]] = [np.zeros((0, 3), np.int32)]
        until: list[int] = []
        if len(told.rows):
            for _, witness in self._paths:
                witness.prepare()
        instants = told.at if told.instants is None else told.instants
        for row, at, op in zip(told.rows.tolist(), instants.tolist(), told.op.tolist(), strict=True):
            for path, witness in self._paths:
                start, end = self._end(path.subject, row), self._end(path.object, row)
                if not start or not end:
                    continue
                found = self._holding(witness, start, end, at) if op >= 0 else self._broken(witness, start, end, at)
                if found is None:
                    continue
                rows, position, gone = found
                columns = witness.views.columns
                edges.append(np.column_stack((columns.subject[rows], columns.predicate[rows], columns.object[rows])))
                until += [
                    FOREVER
                    if witness.views.counting or told.instants is not None
                    else int(end_at(columns, edge, position))
                    for edge in rows.tolist()
                ]
                ends.append((start, end))
                edge_first.append(edge_first[-1] + len(rows))
                broken.append(gone)
            first.append(len(ends))
        columns_of = PathColumns(
            np.array(first, np.int64),
            np.array(ends, np.int32).reshape(-1, 2),
            np.array(edge_first, np.int64),
            np.concatenate(edges),
            np.array(until, np.int64),
            np.array(broken, np.int64),
        )
        return columns_of, np.unique(np.concatenate((columns_of.ends.ravel(), columns_of.edges.ravel())))

    def _end(self, term: Term, row: list[int]) -> int:
        """The id of an end of a path in a solution, 0 where it is unbound."""
        return row[self._columns[term.name]] if isinstance(term, Variable) else self._dictionary.constant(term)

    def _holding(self, witness: Witness, start: int, end: int, at: int) -> _Found | None:
        """A path at an instant."""
        position = int(np.searchsorted(witness.views.log.at, at, side="left" if self._before else "right"))
        rows = witness.path(start, end, position)
        return None if rows is None else (rows, position, -1)

    def _broken(self, witness: Witness, start: int, end: int, at: int) -> _Found | None:
        """The last path before an instant at which there is none any more, and which of its edges went.

        Within an instant, what is deleted goes before what enters and what expires last.
        """
        log = witness.views.log
        first = int(np.searchsorted(log.at, at, side="left"))
        last = int(np.searchsorted(log.at, at, side="right"))
        if not self._at_every_change or witness.path(start, end, last) is not None:
            return None
        for kind in (EXPIRED, DELETED):
            went = np.flatnonzero(log.kind[first:last] == kind)
            if len(went):
                position = first + int(went[0])
                rows = witness.path(start, end, position)
                if rows is not None:
                    return rows, position, int(np.argmax(witness.views.columns.gone[rows] <= last))
        return None
