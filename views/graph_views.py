"""The graphs of a window's events, one after the other in the same views.

A graph that changes is a new version of it. Each version of a batch has instants of its own, at which the
views hold this graph and no other: so operators match a graph by itself, and the versions of a batch in one call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.views.view import WindowViews


@dataclass(slots=True)
class Versions:
    """The versions of a batch, in time order.

    Attributes
    ----------
    at : int64[v]
        From when on a graph is so.
    graph : int32[v]
        Its name, as a term id.
    held : bool[v]
        Whether there is such a graph any more.
    time : int64[v]
        The time of its latest event.
    instant : int64[v]
        When the views begin to hold it. What ends at instant ``instant[v] + 1 + j`` there is valid until
        ``end[end_first[v] + j]``; with the last of these ends the graph is over.
    end_first : int64[v + 1]
    end : int64[n]
    following : int64[v]
        The next version of the same graph, -1 for none.
    """

    at: NDArray[np.int64]
    graph: NDArray[np.int32]
    held: NDArray[np.bool_]
    time: NDArray[np.int64]
    instant: NDArray[np.int64]
    end_first: NDArray[np.int64]
    end: NDArray[np.int64]
    following: NDArray[np.int64]

    @classmethod
    def none(cls) -> Versions:
        nothing = np.zeros(0, np.int64)
        return cls(
            nothing,
            np.zeros(0, np.int32),
            np.zeros(0, np.bool_),
            nothing,
            nothing,
            np.zeros(1, np.int64),
            nothing,
            nothing,
        )

    def __len__(self) -> int:
        return len(self.at)

    @property
    def last_end(self) -> NDArray[np.int64]:
        """When each graph that is held is over if nothing else arrives; 0 for the others."""
        last = np.zeros(len(self), np.int64)
        last[self.held] = self.end[self.end_first[1:][self.held] - 1]
        return last

    def until(self, version: NDArray[np.int64], instant: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ends that instants of the views stand for, in these versions."""
        step = instant - self.instant[version] - 1
        most = np.diff(self.end_first)[version] - 1
        ends: NDArray[np.int64] = self.end[self.end_first[version] + np.minimum(step, most)]
        return ends


class GraphViews(WindowViews):
    """Views that hold one graph at a time, and the versions of the last batch."""

    def __init__(self) -> None:
        super().__init__()
        self.versions = Versions.none()

    def vacuum(self) -> NDArray[np.int32]:
        self.versions = Versions.none()
        return super().vacuum()
