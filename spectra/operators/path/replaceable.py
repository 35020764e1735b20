"""The operator of a path, in whose place another one can be put while the query runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spectra.clock import NO_END
from spectra.operators.contract import Deltas, Operator
from spectra.planner.cost import Observed
from spectra.planner.plans import PathOperator, SPathPlan
from spectra.views.view import WindowViews

#: Batches of which on average less than one in so many edges of the window changes are small, once there were some.
_LITTLE, _LEAST_BATCHES = 16, 16

#: Edges after which the pairs that they led to say something.
_LEAST_EDGES = 500

#: Operators that count the tree nodes that they touch.
_TREES = ("spath", "rapq")


class Replaceable:
    """What the present operator of a path tells; `make` makes one of another kind over the same `views`."""

    def __init__(self, plan: SPathPlan, views: WindowViews, make: Callable[[PathOperator], Operator]) -> None:
        self.plan = plan
        self.views = views
        self.kind: PathOperator = plan.operator
        self._make = make
        self._begun = False
        # what the present operator has been given
        self._batches, self._entries = 0, 0
        # edges that have come in since somebody asked, and pairs that did
        self._edges, self._pairs, self._worked = 0, 0, 0
        self.source = make(plan.operator)
        self.variables = self.source.variables

    def become(self, kind: PathOperator) -> None:
        """Go on with another operator, between two batches.

        It learns from the views what is there; what it tells of that has been told before, by the one that it replaces.
        """
        other = self._make(kind)
        self.views.replay()
        if self._begun:
            other.initial(NO_END)
        other.process()
        self.views.vacuum()
        self.source, self.kind = other, kind
        self._batches, self._entries = 0, 0
        self._forget_edges()

    @property
    def counters(self) -> dict[str, int]:
        """Those of the present operator."""
        return self.source.counters

    def initial(self, at: int) -> Deltas:
        self._begun = True
        return self.source.initial(at)

    def process(self) -> Deltas:
        log = self.views.log
        self._batches += 1
        self._entries += log.entries
        deltas = self.source.process()
        self._edges += int(np.count_nonzero(log.kind > 0))
        self._pairs += int(np.count_nonzero(deltas.sign > 0))
        return deltas

    def observed(self) -> Observed | None:
        """What each edge led to since this was asked last, None where too few came.

        `condense` does not know of pairs that come and go between evaluations. A merged column sets a tree node at
        least. Trees also touch nodes to take them down; but where all pairs are there already and only last longer,
        what is touched is all that says so.
        """
        if self._edges < _LEAST_EDGES or self.kind == "condense":
            return None
        pairs, steps = self._pairs / self._edges, (self._work() - self._worked) / self._edges
        self._forget_edges()
        if self.kind == "columns":
            return Observed(pairs, least_nodes=max(pairs, steps))
        if self.kind in _TREES:
            return Observed(pairs, least_nodes=max(pairs, steps / 4), most_nodes=max(pairs, steps))
        return Observed(pairs, least_nodes=pairs)

    def _forget_edges(self) -> None:
        self._edges = self._pairs = 0
        self._worked = self._work()

    def _work(self) -> int:
        """Columns that were merged so far, or tree nodes that were touched."""
        counters = self.counters
        return counters.get("columns_merged", 0) + counters.get("nodes_touched", 0)

    @property
    def trickles(self) -> bool:
        """Whether the window changes little from batch to batch, so that nothing should be found anew for each."""
        return self._batches >= _LEAST_BATCHES and _LITTLE * self._entries < self._batches * self.views.live

    def current(self, at: int) -> Deltas:
        return self.source.current(at)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes
