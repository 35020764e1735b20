"""BIND of sums, differences and products, for many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.kernels.numbers import A_DECIMAL, A_DOUBLE, AN_INTEGER, OTHER
from spectra.operators.kernels.digits import ROOM, write_scaled
from spectra.planner.arithmetic import Arithmetic
from spectra.sparql.numeric import DOUBLE
from spectra.sparql.values import Value


class Computation:
    """Term ids of the values of an expression, for combinations of the terms that it `reads`.

    What is not computed by columns is left to `others`.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        arithmetic: Arithmetic,
        reads: Sequence[str],
        others: Callable[[NDArray[np.int32]], NDArray[np.int32]],
    ) -> None:
        self._dictionary, self._arithmetic, self._others = dictionary, arithmetic, others
        self._columns = [list(reads).index(name) for name in arithmetic.variables]

    def __call__(self, combinations: NDArray[np.int32]) -> NDArray[np.int32]:
        columns = [self._dictionary.spans(combinations[:, column]) for column in self._columns]
        kind, scaled, places, double = self._arithmetic.compute(columns)
        ids = np.zeros(len(combinations), np.int32)
        exact = (kind == AN_INTEGER) | (kind == A_DECIMAL)
        text, ends = np.empty(ROOM * np.count_nonzero(exact), np.uint8), np.zeros(np.count_nonzero(exact), np.int64)
        write_scaled(scaled[exact], places, kind[exact] == AN_INTEGER, text, ends)
        starts = np.append(0, ends)[:-1]
        ids[exact] = self._dictionary.add_spans(text, starts, (ends - starts).astype(np.int32))
        # by their bits: 0.0 and -0.0 are two terms
        bits, which = np.unique(double[kind == A_DOUBLE].view(np.int64), return_inverse=True)
        texts = [Value(DOUBLE, number).text for number in bits.view(np.float64).tolist()]
        ids[kind == A_DOUBLE] = self._dictionary.add_all(texts)[which]
        ids[kind == OTHER] = self._others(combinations[kind == OTHER])
        return ids
