"""The terms that are in use in the order of ORDER BY, or another one, as numbers that kernels compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.spans import Spans
from spectra.operators.kernels.plain_numbers import EXACT, plain_keys
from spectra.operators.relational.live_terms import LiveTerms
from spectra.operators.relational.term_order import TermOrder
from spectra.sparql.values import order_key


class ValueOrder:
    """Labels of slots, ordered as `key` orders the terms (as ORDER BY does, if there is none); `spans` has all texts.

    In the order of ORDER BY, as long as all terms are plain numbers, either exact ones or doubles, a label is the
    number itself. Otherwise each distinct key gets one from its neighbours. `moved` counts how often all labels
    became others, in the same order.
    """

    def __init__(self, live: LiveTerms, spans: Callable[[], Spans], key: Callable[[str], Any] | None = None) -> None:
        self._live, self._spans = live, spans
        self._labels = np.zeros(1, np.int64)
        self._order = None if key is None else TermOrder(key)
        self._kind = EXACT
        self._switched = 0

    @property
    def labels(self) -> NDArray[np.int64]:
        return self._labels if self._order is None else self._order.labels

    @property
    def moved(self) -> int:
        return self._switched + (self._order.moved if self._order is not None else 0)

    def enter(self, slots: NDArray[np.int32]) -> None:
        """Learn the terms of some slots."""
        if not len(slots):
            return
        if self._order is None:
            if self._learn(slots):
                return
            slots = self._live.live
            self._order = TermOrder(order_key)
            self._switched += 1
        self._order.enter(slots.tolist(), self._texts(slots))

    def leave(self, slots: NDArray[np.int32]) -> None:
        """Forget the terms of some slots."""
        if self._order is not None:
            self._order.leave(slots.tolist(), self._texts(slots))

    def _learn(self, slots: NDArray[np.int32]) -> bool:
        """Label plain numbers; False where some are not, or not of the kind that the others are."""
        if len(self._labels) < len(self._live.terms):
            self._labels = np.append(self._labels, np.zeros(len(self._live.terms) - len(self._labels), np.int64))
        spans = self._spans().take(self._live.terms[slots])
        keys, kinds = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int8)
        plain_keys(spans.text, spans.start, spans.length, keys.view(np.float64), keys, kinds)
        if len(self._live) == len(slots):
            self._kind = int(kinds[0])
        if not self._kind or (kinds != self._kind).any():
            return False
        self._labels[slots] = keys
        return True

    def _texts(self, slots: NDArray[np.int32]) -> list[str]:
        return self._spans().take(self._live.terms[slots]).texts()

    @property
    def nbytes(self) -> int:
        return self.labels.nbytes
