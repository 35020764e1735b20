"""GRAPH inside WINDOW: a pattern on each event's graph by itself, with the name of the graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, date_time
from spectra.operators.contract import Deltas, Operator
from spectra.operators.net import net_changes
from spectra.views.graph_views import GraphViews

_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


class EventGraphs:
    """The input's solutions over each graph of a window, with columns for the graph's name and time.

    The input matches one version of a graph at a time, at an instant of its own. What it finds there is
    kept, and leaves with the next version of that graph.
    """

    def __init__(
        self,
        source: Operator,
        views: GraphViews,
        name: str | int,
        time: str | None,
        ids: Callable[[list[str]], NDArray[np.int32]],
        hold: Callable[[NDArray[np.int32], NDArray[np.int32]], None],
    ) -> None:
        """`name` is the variable of the graph's name, or the term id of the only graph to look at.

        `ids` gives the ids of texts; `hold` is told which ids solutions begin and cease to have.
        """
        names = [column for column in (name, time) if isinstance(column, str)]
        self.source = source
        self.variables = (*source.variables, *names)
        self.counters = {"graphs": 0, "rows": 0}
        self._views = views
        self._only = name if isinstance(name, int) else None
        self._named, self._timed = isinstance(name, str), time is not None
        self._ids, self._hold = ids, hold
        self._without = Deltas.empty(len(source.variables))
        self._graph = np.zeros(0, np.int32)
        self._until = np.zeros(0, np.int64)
        self._rows = np.zeros((0, len(self.variables)), np.int32)

    def initial(self, at: int) -> Deltas:
        """Nothing: without an event there is no graph. What the input has without a triple, each graph has."""
        self._without = self.source.initial(at)
        self._hold(self._without.rows.ravel(), np.zeros(0, np.int32))
        return Deltas.empty(len(self.variables))

    def process(self) -> Deltas:
        found = self.source.process()
        versions = self._views.versions
        if not len(versions):
            return Deltas.empty(len(self.variables))
        version, until, rows = self._found(found)
        graph = np.concatenate((self._graph, versions.graph[version]))
        until = np.concatenate((self._until, until))
        rows = np.concatenate((self._rows, rows))
        # each row leaves with the next version of its graph
        names, first = np.unique(versions.graph, return_index=True)
        place = np.searchsorted(names, self._graph)
        place[place == len(names)] = 0
        changed = names[place] == self._graph
        leaves_with = np.concatenate((np.where(changed, first[place], -1), versions.following[version]))
        entering = Deltas(
            versions.at[version],
            np.ones(len(version), np.int8),
            until[len(self._graph) :],
            rows[len(self._graph) :],
        )
        gone = np.flatnonzero(leaves_with >= 0)
        gone = gone[np.argsort(leaves_with[gone], kind="stable")]
        leaving = Deltas(versions.at[leaves_with[gone]], np.full(len(gone), -1, np.int8), until[gone], rows[gone])
        self._hold(entering.rows.ravel(), leaving.rows.ravel())
        stays = leaves_with < 0
        self._graph, self._until, self._rows = graph[stays], until[stays], rows[stays]
        self.counters["graphs"] += int(versions.held.sum())
        self.counters["rows"] = len(self._rows)
        return Deltas.concatenate([entering, leaving])

    def _found(self, deltas: Deltas) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """(version, until, row) of each solution, version by version."""
        versions = self._views.versions
        version = np.searchsorted(versions.instant, deltas.at, side="right") - 1
        # what comes later is what would happen if nothing else arrived
        now = (version >= 0) & (versions.instant[version] == deltas.at)
        deltas, version = deltas.take(now), version[now]
        always = self._without.take(np.tile(np.arange(len(self._without)), len(versions)))
        deltas = Deltas(
            np.zeros(0, np.int64),
            np.concatenate((always.sign, deltas.sign)),
            np.concatenate((np.full(len(always), FOREVER, np.int64), deltas.until)),
            np.concatenate((always.rows, deltas.rows)),
        )
        version = np.concatenate((np.repeat(np.arange(len(versions)), len(self._without)), version))
        asked = versions.held & (True if self._only is None else versions.graph == self._only)
        kept = asked[version]
        version = version[kept]
        until = versions.until(version, deltas.until[kept])
        deltas = Deltas(versions.at[version], deltas.sign[kept], until, deltas.rows[kept])
        deltas, version = net_changes(deltas, version)
        columns = [deltas.rows]
        if self._named:
            columns.append(versions.graph[version].reshape(-1, 1))
        if self._timed:
            columns.append(self._times(versions.time[version]).reshape(-1, 1))
        return version, deltas.until, np.column_stack(columns)

    def _times(self, time: NDArray[np.int64]) -> NDArray[np.int32]:
        distinct, which = np.unique(time, return_inverse=True)
        texts = [f'"{date_time(each)}"^^<{_DATE_TIME}>' for each in distinct.tolist()]
        return self._ids(texts)[which.reshape(-1)]

    def current(self, at: int) -> Deltas:
        return Deltas.entering(at, self._until, self._rows)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self._graph.nbytes + self._until.nbytes + self._rows.nbytes
