"""PATH over derived edges: what other operators tell is a graph of its own, and a path operator follows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectra.operators.coalesce import coalesced
from spectra.operators.contract import Deltas, Operator
from spectra.views.view import WindowViews


class DerivedPath:
    """The pairs that `path` finds in `views`, which hold the rows of `sources` as edges.

    `labels` has for each source the id of its edges' label. Sources tell sets of (subject, object), with all that
    leaves and all ends that move; an edge is valid as long as its row.
    """

    def __init__(self, sources: Sequence[Operator], labels: Sequence[int], views: WindowViews, path: Operator) -> None:
        self.sources = list(sources)
        self.path = path
        self.variables = path.variables
        self._labels = labels
        self._views = views

    @property
    def counters(self) -> dict[str, int]:
        """What the path operator has counted, and the edges that are there."""
        return {**self.path.counters, "derived_edges": self._views.live}

    def initial(self, at: int) -> Deltas:
        held = self._follow([source.initial(at) for source in self.sources])
        return Deltas.concatenate([self.path.initial(at), held])

    def process(self) -> Deltas:
        return self._follow([source.process() for source in self.sources])

    def current(self, at: int) -> Deltas:
        return self.path.current(at)

    def _follow(self, parts: list[Deltas]) -> Deltas:
        """What the path gains and loses when its edges change so."""
        edges = [
            Deltas(part.at, part.sign, part.until, np.insert(part.rows, 1, label, axis=1))
            for part, label in zip(parts, self._labels, strict=True)
        ]
        change, last = coalesced(Deltas.concatenate(edges))
        if not len(last):
            return Deltas.empty(len(self.variables))
        # whatever expires up to here has told so; it leaves by itself
        horizon = int(last.at[-1])
        told = (change > 0) | (last.until > last.at)
        change, last = change[told], last.take(told)
        first = np.arange(len(last) + 1)
        self._views.apply(last.rows, change, first, last.at, last.at, last.until, horizon)
        deltas = self.path.process()
        self._views.vacuum()
        return deltas

    @property
    def nbytes(self) -> int:
        return self.path.nbytes + self._views.nbytes + sum(source.nbytes for source in self.sources)
