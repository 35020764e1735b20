"""The operator of a path, in whose place another one can be put while the query runs."""

from __future__ import annotations

from collections.abc import Callable

from spectra.clock import NO_END
from spectra.operators.contract import Deltas, Operator
from spectra.planner.plans import PathOperator, SPathPlan
from spectra.views.view import WindowViews


class Replaceable:
    """What the present operator of a path tells; `make` makes one of another kind over the same `views`."""

    def __init__(self, plan: SPathPlan, views: WindowViews, make: Callable[[PathOperator], Operator]) -> None:
        self.plan = plan
        self.views = views
        self.kind: PathOperator = plan.operator
        self._make = make
        self._begun = False
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

    @property
    def counters(self) -> dict[str, int]:
        """Those of the present operator."""
        return self.source.counters

    def initial(self, at: int) -> Deltas:
        self._begun = True
        return self.source.initial(at)

    def process(self) -> Deltas:
        return self.source.process()

    def current(self, at: int) -> Deltas:
        return self.source.current(at)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes
