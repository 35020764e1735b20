"""PATH by Δ-trees with negative tuples (RAPQ): an edge that goes takes down exactly what was derived by it."""

from __future__ import annotations

from spectra.operators.path.spath import SPath


class RApq(SPath):
    """Pairs that a path connects, as deltas; parameters as of `PathPairs`.

    The trees of `SPath`, in which every node also knows the edge that it was derived by, and every edge whether a
    node hangs on it: an edge that no tree uses goes without a look at any tree.
    """

    _with_edges = True
