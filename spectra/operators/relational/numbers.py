"""The numbers that terms add to sums, as limbs (`kernels/totals.py`)."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.spans import Spans
from spectra.operators.kernels import totals as kernels
from spectra.operators.kernels.plain_numbers import learn_plain_numbers, put_binary
from spectra.operators.kernels.totals import BINARY_BITS, DECIMAL_BASE, NumberColumns, Totals
from spectra.sparql import numeric
from spectra.sparql.numeric import DECIMAL, DOUBLE, FLOAT, INTEGER, Number
from spectra.sparql.values import BLANK, IRI, Value, value_of

_DIGITS = 18  # of a limb
_KINDS = {
    INTEGER: kernels.INTEGERS,
    DECIMAL: kernels.DECIMALS,
    FLOAT: kernels.FLOATS,
    DOUBLE: kernels.DOUBLES,
}


def string_of(text: str) -> str | None:
    """STR of a term, None where it has none."""
    value = value_of(text)
    if value.kind == BLANK:
        return None
    return str(value.value) if value.kind == IRI else value.lexical


class Numbers:
    """What the term of each slot (`LiveTerms`) counts as, and adds to sums.

    `fraction` limbs of an exact number are behind its point, and the first limb of a binary one counts
    2**`point`. There are as many limbs as the numbers met so far need, and one more for their sums.
    """

    def __init__(self) -> None:
        self.fraction = 1
        self.point = -2 * BINARY_BITS
        self.columns = NumberColumns(
            counts=np.zeros((1, kernels.COUNTS), np.int64),
            exact=np.zeros((1, 3), np.int64),
            double=np.zeros((1, 3), np.int64),
            single=np.zeros((1, 3), np.int64),
        )
        self._binary = 5
        self.columns.counts[0, [kernels.BAD, kernels.WITHOUT_STRING]] = 1

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Limbs of exact numbers and those behind the point; limbs of binary numbers and what the first one counts."""
        return self.columns.exact.shape[1], self.fraction, self._binary, self.point

    def enter(self, slots: NDArray[np.int32], spans: Spans) -> None:
        """Learn the terms of some slots, whose texts these are."""
        room = int(slots.max(initial=0)) + 1
        if room > len(self.columns.counts):
            self.columns = NumberColumns(*(with_rows(column, 2 * room) for column in self.columns))
        for column in self.columns:
            column[slots] = 0
        known = np.zeros(len(slots), np.bool_)
        learn_plain_numbers(
            spans.text, spans.start, spans.length, slots, self.columns, self.fraction, self.point, self._binary,
            np.zeros(1, np.float64), known,
        )  # fmt: skip
        others = np.flatnonzero(~known)
        for slot, text in zip(slots[others].tolist(), spans.take(others).texts(), strict=True):
            self._learn(slot, text)

    def _learn(self, slot: int, text: str) -> None:
        value = value_of(text)
        counts = self.columns.counts[slot]
        counts[kernels.VALUES] = 1
        written = string_of(text)
        if written is None:
            counts[kernels.WITHOUT_STRING] = 1
        else:
            counts[kernels.CHARACTERS] = len(written)
        if not value.is_numeric:
            counts[kernels.BAD] = 1
            return
        counts[_KINDS[value.kind]] = 1
        if value.kind in (INTEGER, DECIMAL):
            self._learn_exact(slot, value)
        if _is_nan(value.value):
            counts[kernels.NANS] = 1
            return
        self._learn_binary(slot, numeric.as_double(value.value), self.columns.double, kernels.DOUBLE_INF)
        if value.kind != DOUBLE:
            self._learn_binary(slot, numeric.as_float(value.value), self.columns.single, kernels.FLOAT_INF)

    def _learn_exact(self, slot: int, value: Value) -> None:
        places = 0
        if isinstance(value.value, Decimal):
            exponent = value.value.normalize(numeric.EXACT).as_tuple().exponent
            assert isinstance(exponent, int)
            places = max(0, -exponent)
        if places > self.fraction * _DIGITS:
            more = -(-places // _DIGITS) - self.fraction
            self.fraction += more
            exact = _widened(self.columns.exact, more, 0, DECIMAL_BASE)
            self.columns = self.columns._replace(exact=exact)
        scaled = (
            value.value * 10 ** (self.fraction * _DIGITS) if value.kind == INTEGER else _scaled(value, self.fraction)
        )
        limbs = []
        while scaled not in (0, -1):
            scaled, limb = divmod(scaled, DECIMAL_BASE)
            limbs.append(limb)
        if len(limbs) >= self.columns.exact.shape[1]:
            more = len(limbs) + 1 - self.columns.exact.shape[1]
            self.columns = self.columns._replace(exact=_widened(self.columns.exact, 0, more, DECIMAL_BASE))
        row = self.columns.exact[slot]
        row[: len(limbs)] = limbs
        if scaled < 0:
            row[len(limbs) : -1] = DECIMAL_BASE - 1
            row[-1] = -1

    def _learn_binary(self, slot: int, value: float, column: NDArray[np.int64], infinite: int) -> None:
        if math.isinf(value):
            self.columns.counts[slot, infinite if value > 0 else infinite + 1] = 1
            return
        if put_binary(value, column[slot], self.point, self._binary):
            return
        # the least bit of the number and what its sums may reach say which limbs are missing
        numerator, denominator = value.as_integer_ratio()
        least = (numerator & -numerator).bit_length() - denominator.bit_length()
        lower = max(0, -((least - self.point) // BINARY_BITS))
        self.point -= lower * BINARY_BITS
        self.columns.double[:, 0] += lower
        self.columns.single[:, 0] += lower
        greatest = math.frexp(value)[1] - self.point
        self._binary = max(self._binary + lower, greatest // BINARY_BITS + 3)
        put_binary(value, column[slot], self.point, self._binary)

    def fit(self, totals: Totals, old: tuple[int, int, int, int]) -> Totals:
        """Totals of an earlier `shape` with the limbs of the present one."""
        exact, fraction, binary, point = self.shape
        below = fraction - old[1]
        lower = (old[3] - point) // BINARY_BITS
        base = 1 << BINARY_BITS
        return Totals(
            counts=totals.counts,
            exact=_widened(totals.exact, below, exact - old[0] - below, DECIMAL_BASE),
            double=_widened(totals.double, lower, binary - old[2] - lower, base),
            single=_widened(totals.single, lower, binary - old[2] - lower, base),
        )

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)


_Scalar = TypeVar("_Scalar", bound=np.generic)


def with_rows(array: NDArray[_Scalar], rows: int) -> NDArray[_Scalar]:
    """The array itself, or one with more rows, those being 0."""
    if rows <= len(array):
        return array
    grown = np.zeros((rows, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def _widened(limbs: NDArray[np.int64], below: int, above: int, base: int) -> NDArray[np.int64]:
    """Sums with more limbs, so many before the first and behind the last one."""
    rows, size = limbs.shape
    if below == above == 0:
        return limbs
    wider = np.zeros((rows, size + below + above), np.int64)
    wider[:, below : below + size] = limbs
    for last in range(below + size - 1, below + size + above - 1):
        carry = wider[:, last] // base
        wider[:, last] -= carry * base
        wider[:, last + 1] += carry
    return wider


def _scaled(value: Value, fraction: int) -> int:
    return int(value.value.scaleb(fraction * _DIGITS, numeric.EXACT))


def _is_nan(value: Number) -> bool:
    return isinstance(value, float) and math.isnan(value)
