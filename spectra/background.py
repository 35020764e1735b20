"""Background knowledge: a static graph of a query, in views like those of a window, kept until it is replaced."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.views.summary import Summary
from spectra.views.view import WindowViews


class StaticGraph:
    """What a query can use of one static graph: a named one, or the default graph, which several IRIs may fill.

    `replaced` are the IRIs whose triples are no longer those that the query was registered with.
    """

    def __init__(self, iris: tuple[str, ...], summary: Summary) -> None:
        """`summary` tells by hashes which triples the query can use."""
        self.iris = iris
        self.summary = summary
        self.views = WindowViews()
        self.replaced: set[str] = set()
        self.parts: dict[str, NDArray[np.int32]] = {}

    def put(self, parts: Mapping[str, NDArray[np.int32]], at: int) -> None:
        """Hold these triples (ids) of some IRIs in the place of those that were there.

        The log of the views has the difference: a triple that is there before and after is not touched.
        """
        self.replaced |= parts.keys() & self.parts.keys()
        self.parts |= parts
        views, columns = self.views, self.views.columns
        triples = np.concatenate([np.zeros((0, 3), np.int32), *self.parts.values()])
        found = views.find(triples)
        stays = np.zeros(len(columns.gone), np.bool_)
        stays[found[found >= 0]] = True
        rows = views.rows()
        leaving = rows[~stays[rows]]
        removed = np.column_stack((columns.subject[leaving], columns.predicate[leaving], columns.object[leaving]))
        added = triples[found < 0]
        views.apply(
            triples=np.concatenate((removed, added)),
            sign=np.concatenate((np.full(len(removed), -1, np.int8), np.ones(len(added), np.int8))),
            event_first=np.array([0, len(removed) + len(added)], np.int64),
            event_time=np.array([at], np.int64),
            event_position=np.array([at], np.int64),
            event_end=np.array([FOREVER], np.int64),
            horizon=at,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the views and of the triples by IRI."""
        return self.views.nbytes + sum(ids.nbytes for ids in self.parts.values())
