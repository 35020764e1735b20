"""Operators with what they took, for EXPLAIN ANALYZE."""

from __future__ import annotations

from time import process_time

import numpy as np

from spectra.operators.contract import Deltas, Operator
from spectra.planner.plans import PhysicalPlan


class Measured:
    """The operator of a plan, and the CPU time of its calls, with all below it; rows that entered and left."""

    def __init__(self, plan: PhysicalPlan, source: Operator) -> None:
        self.plan = plan
        self.source = source
        self.variables = source.variables
        self.seconds = 0.0
        self.entered = 0
        self.left = 0

    @property
    def counters(self) -> dict[str, int]:
        return self.source.counters

    def initial(self, at: int) -> Deltas:
        started = process_time()
        return self._counted(self.source.initial(at), started)

    def process(self) -> Deltas:
        started = process_time()
        return self._counted(self.source.process(), started)

    def current(self, at: int) -> Deltas:
        return self.source.current(at)

    def _counted(self, deltas: Deltas, started: float) -> Deltas:
        self.seconds += process_time() - started
        entered = int(np.count_nonzero(deltas.sign > 0))
        self.entered += entered
        self.left += len(deltas) - entered
        return deltas

    @property
    def nbytes(self) -> int:
        return self.source.nbytes
