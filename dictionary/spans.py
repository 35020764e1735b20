"""Terms as spans of a text buffer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.kernels.numbers import read_digits, read_numbers


class Spans(NamedTuple):
    """Canonical texts: the `i`-th is ``length[i]`` bytes of `text` from ``start[i]`` on; empty for unbound."""

    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, which: NDArray[np.int64] | NDArray[np.int32]) -> Spans:
        return Spans(self.text, self.start[which], self.length[which])

    def texts(self) -> list[str]:
        octets = self.text.data
        spans = zip(self.start.tolist(), self.length.tolist(), strict=True)
        return [str(octets[start : start + length], "utf-8") for start, length in spans]

    def numbers(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The values of plain numeric literals (`spectra.dictionary.kernels.numbers`), and which terms are such."""
        values, known = np.zeros(len(self), np.float64), np.zeros(len(self), np.bool_)
        read_numbers(*self._columns(), values, known)
        return values, known

    def digits(self) -> tuple[NDArray[np.int8], NDArray[np.int64], NDArray[np.int8], NDArray[np.float64]]:
        """Of plain numeric literals the kinds, the digits as a whole number and how many are behind the point, and
        the values of doubles.
        """
        kinds, places = np.zeros(len(self), np.int8), np.zeros(len(self), np.int8)
        digits, values = np.zeros(len(self), np.int64), np.zeros(len(self), np.float64)
        read_digits(*self._columns(), kinds, digits, places, values)
        return kinds, digits, places, values

    def _columns(self) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int32]]:
        """As kernels take them."""
        text = np.require(self.text, np.uint8, ["C", "W"])
        return text, np.ascontiguousarray(self.start), np.ascontiguousarray(self.length)
