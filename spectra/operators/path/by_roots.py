"""A path followed on several cores: each follows it from a part of the roots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from spectra.operators.contract import Deltas, Operator
from spectra.views.view import WindowViews

#: Which of some term ids are the roots of an operator.
OwnedRoots = Callable[[NDArray[np.int32]], NDArray[np.bool_]]

#: Batches with fewer changes of the window are followed by one core after the other: threads would cost more.
LEAST_ENTRIES = 256


class ByRoots:
    """What operators for parts of the roots of one path tell together.

    Kernels run without the interpreter's lock and only read the views, so threads are enough.
    """

    def __init__(self, views: WindowViews, parts: Sequence[Operator]) -> None:
        self._views = views
        self._parts = parts
        self._threads = ThreadPoolExecutor(len(parts), thread_name_prefix="spectra-path")
        self.variables = parts[0].variables

    @property
    def counters(self) -> dict[str, int]:
        """Those of the parts, added up."""
        total: Counter[str] = Counter()
        for part in self._parts:
            total.update(part.counters)
        return dict(total)

    def initial(self, at: int) -> Deltas:
        return Deltas.concatenate([part.initial(at) for part in self._parts])

    def process(self) -> Deltas:
        if self._views.log.entries < LEAST_ENTRIES:
            return Deltas.concatenate([part.process() for part in self._parts])
        return Deltas.concatenate(list(self._threads.map(lambda part: part.process(), self._parts)))

    def current(self, at: int) -> Deltas:
        return Deltas.concatenate([part.current(at) for part in self._parts])

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)


def part_of_roots(part: int, parts: int, owned: OwnedRoots | None) -> OwnedRoots:
    """Every so manieth of the roots, of those that `owned` leaves."""

    def chosen(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
        mine: NDArray[np.bool_] = ids % parts == part
        return mine if owned is None else mine & owned(ids)

    return chosen
