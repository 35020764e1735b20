"""Exact sums of numbers that come and go.

A sum is kept three times, since SPARQL promotes each number by itself where types are mixed: of the integers and
decimals as they are, of all numbers as doubles, and of all as floats. Limbs hold digits: those of exact numbers are to
the base 10**18, those of binary ones to the base 2**56. The least limb comes first, and all but the last are
kept between 0 and the base; how many limbs there are, and where the point is, follows from the numbers that
were met. So nothing is rounded, and what was added can be taken away again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel

DECIMAL_BASE = 10**18
BINARY_BITS = 56
#: From here on a float is infinite.
_FLOAT_OVERFLOW = 2.0**128 - 2.0**103

#: Columns of `counts`: copies with a value, copies without a number, numbers by type; numbers that are infinite as a
#: double and as a float; NaN; the characters of strings, and copies that have none.
VALUES, BAD, INTEGERS, DECIMALS, FLOATS, DOUBLES = 0, 1, 2, 3, 4, 5
DOUBLE_INF, DOUBLE_MINUS_INF, FLOAT_INF, FLOAT_MINUS_INF, NANS = 6, 7, 8, 9, 10
CHARACTERS, WITHOUT_STRING = 11, 12
COUNTS = 13


class Totals(NamedTuple):
    """One row for each bag: what it has how often, and its sums. Without sums there are no limbs."""

    counts: NDArray[np.int64]
    exact: NDArray[np.int64]
    double: NDArray[np.int64]
    single: NDArray[np.int64]


class NumberColumns(NamedTuple):
    """What a term adds to `Totals`, by its slot: slot 0 is no value.

    `counts` and `exact` are as there. A binary number is (first limb, what it adds to it and to the next one).
    """

    counts: NDArray[np.int64]
    exact: NDArray[np.int64]
    double: NDArray[np.int64]
    single: NDArray[np.int64]


@kernel
def _carry_decimal(row):
    last = row.shape[0] - 1
    for limb in range(last):
        if row[limb] < 0:
            row[limb] += DECIMAL_BASE
            row[limb + 1] -= 1
        elif row[limb] >= DECIMAL_BASE:
            row[limb] -= DECIMAL_BASE
            row[limb + 1] += 1


@kernel
def _carry_binary(row, limb):
    last = row.shape[0] - 1
    while limb < last:
        carry = row[limb] >> BINARY_BITS
        if carry == 0:
            break
        row[limb] -= carry << BINARY_BITS
        row[limb + 1] += carry
        limb += 1


@kernel
def _add_binary(row, number, sign):
    limb = number[0]
    row[limb] += sign * number[1]
    row[limb + 1] += sign * number[2]
    _carry_binary(row, limb)
    _carry_binary(row, limb + 1)


@kernel
def add_term(totals, row, numbers, slot, sign):
    """Add a term (1) to a bag, or take it away (-1)."""
    for column in range(totals.counts.shape[1]):
        totals.counts[row, column] += sign * numbers.counts[slot, column]
    if totals.exact.shape[1] == 0:
        return
    for limb in range(totals.exact.shape[1]):
        totals.exact[row, limb] += sign * numbers.exact[slot, limb]
    _carry_decimal(totals.exact[row])
    _add_binary(totals.double[row], numbers.double[slot], sign)
    _add_binary(totals.single[row], numbers.single[slot], sign)


@kernel
def clear_total(totals, row):
    """Make a bag empty."""
    for part in totals:
        for column in range(part.shape[1]):
            part[row, column] = 0


@kernel
def copy_total(totals, row, scratch):
    """Put a copy of a bag into row 0 of `scratch`."""
    for at in range(4):
        part = totals[at]
        to = scratch[at]
        for column in range(part.shape[1]):
            to[0, column] = part[row, column]


@kernel
def subtract_total(scratch, totals, row):
    """Take a bag away from the one in row 0 of `scratch`."""
    for at in range(4):
        part = totals[at]
        to = scratch[at]
        for column in range(part.shape[1]):
            to[0, column] -= part[row, column]
    _carry_decimal(scratch.exact[0])
    for at in range(2, 4):
        to = scratch[at]
        for limb in range(to.shape[1]):
            _carry_binary(to[0], limb)


@kernel
def as_single(value):
    """The nearest 32-bit float."""
    if abs(value) >= _FLOAT_OVERFLOW:
        return math.copysign(np.inf, value)
    return float(np.float32(value))


@kernel
def binary_value(limbs, point, scratch):
    """The double nearest to a binary sum whose first limb counts 2**point; of two the even one."""
    size = limbs.shape[0]
    sign = 1.0 if limbs[size - 1] >= 0 else -1.0
    borrow = np.int64(0)
    for limb in range(size):
        scratch[limb] = limbs[limb] if sign > 0 else -limbs[limb] - borrow
        borrow = np.int64(0)
        if scratch[limb] < 0 and limb + 1 < size:
            scratch[limb] += np.int64(1) << BINARY_BITS
            borrow = np.int64(1)
    top = size - 1
    while top > 0 and scratch[top] == 0:
        top -= 1
    bits = scratch[top]
    width = 0
    while bits >> width:
        width += 1
    # at most 61 bits from the first one on, and whether any bit follows
    surplus = max(width - 61, 0)
    follows = (bits & ((np.int64(1) << surplus) - 1)) != 0
    bits >>= surplus
    width -= surplus
    exponent = point + top * BINARY_BITS + surplus
    for limb in range(top - 1, -1, -1):
        taken = min(61 - width, BINARY_BITS)
        left = BINARY_BITS - taken
        bits = (bits << taken) | (scratch[limb] >> left)
        follows = follows or (scratch[limb] & ((np.int64(1) << left) - 1)) != 0
        width += taken
        exponent -= taken
    # a double keeps 53 bits, fewer where it is very small
    drop = max(width - 53, -1074 - exponent)
    if drop > 62:
        return 0.0 * sign
    if drop > 0:
        half = np.int64(1) << (drop - 1)
        tail = bits & ((np.int64(1) << drop) - 1)
        bits >>= drop
        exponent += drop
        if tail > half or (tail == half and (follows or bits & 1)):
            bits += 1
    if exponent + 53 > 1024 and (bits >> max(0, 1024 - exponent)) > 0:
        return sign * np.inf
    return sign * math.ldexp(float(bits), int(exponent))
