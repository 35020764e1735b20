"""The usual numbers from their texts: integers, decimals and doubles of at most 15 digits."""

from __future__ import annotations

import math

import numpy as np

from spectra.dictionary.kernels.numbers import (
    DECIMAL,
    INTEGER,
    MINUS,
    NINE,
    PLUS,
    POINT,
    QUOTE,
    ZERO,
    ends_with,
    read_number,
)
from spectra.jit import kernel
from spectra.operators.kernels import totals as t
from spectra.operators.kernels.totals import BINARY_BITS, DECIMAL_BASE, as_single

_SMALLEST_FLOAT = 2.0**-126  # below, floats have fewer digits


@kernel
def _put_exact(text, begin, exact, fraction):
    """Put the digits behind a quotation mark, with a sign and a point or without, into limbs."""
    here = begin + 1
    negative = text[here] == MINUS
    if text[here] in (MINUS, PLUS):
        here += 1
    whole, behind = np.int64(0), np.int64(0)
    unit = np.int64(DECIMAL_BASE)
    seen_point = False
    while text[here] != QUOTE:
        if text[here] == POINT:
            seen_point = True
        elif seen_point:
            unit //= 10
            behind += np.int64(text[here] - ZERO) * unit
        else:
            whole = whole * 10 + np.int64(text[here] - ZERO)
        here += 1
    exact[fraction - 1] = behind
    exact[fraction] = whole
    if negative and (behind > 0 or whole > 0):
        # all digits of the complement, and the limb of the sign
        exact[fraction - 1] = (DECIMAL_BASE - behind) % DECIMAL_BASE
        whole += behind > 0
        exact[fraction] = (DECIMAL_BASE - whole) % DECIMAL_BASE
        for limb in range(fraction + 1, exact.shape[0] - 1):
            exact[limb] = DECIMAL_BASE - 1
        exact[exact.shape[0] - 1] = -1


@kernel
def _decimals(text, begin):
    """How many digits are behind the point of the number behind a quotation mark."""
    here = begin + 1
    while text[here] != QUOTE and text[here] != POINT:
        here += 1
    if text[here] == QUOTE:
        return 0
    digits = 0
    while ZERO <= text[here + 1 + digits] <= NINE:
        digits += 1
    return digits


@kernel
def put_binary(value, number, point, limbs):
    """Put a finite number as (first limb, what it adds to it and to the next one); False where limbs are too few."""
    mantissa, exponent = math.frexp(abs(value))
    bits = np.int64(math.ldexp(mantissa, 53))
    if bits == 0:
        return True
    exponent -= 53
    while bits & 1 == 0:
        bits >>= 1
        exponent += 1
    place = exponent - point
    if place < 0 or place // BINARY_BITS + 3 > limbs:
        return False
    shift = place % BINARY_BITS
    sign = 1 if value > 0 else -1
    number[0] = place // BINARY_BITS
    number[1] = sign * ((bits & ((np.int64(1) << (BINARY_BITS - shift)) - 1)) << shift)
    number[2] = sign * (bits >> (BINARY_BITS - shift))
    return True


@kernel
def learn_plain_numbers(text, start, length, slots, columns, fraction, point, limbs, value, known):
    """Fill the rows of the terms that are plain numbers, and say which are `known` now; the others stay empty.

    `value` has room for one number.
    """
    for i in range(slots.shape[0]):
        begin, end, slot = start[i], start[i] + length[i], slots[i]
        if not read_number(text, begin, end, value, 0):
            continue
        is_integer = ends_with(text, begin, end, INTEGER)
        is_exact = is_integer or ends_with(text, begin, end, DECIMAL)
        single = as_single(value[0])
        if is_exact:
            # a decimal whose double lies in the middle of two floats may be nearer to either
            bits = np.int64(math.ldexp(math.frexp(abs(value[0]))[0], 53))
            halfway = bits & 0x1FFFFFFF == 0x10000000
            if halfway or 0.0 < abs(single) < _SMALLEST_FLOAT or _decimals(text, begin) > 18:
                continue
            if not put_binary(single, columns.single[slot], point, limbs):
                continue
        if not put_binary(value[0], columns.double[slot], point, limbs):
            continue
        if is_exact:
            _put_exact(text, begin, columns.exact[slot], fraction)
        counts = columns.counts[slot]
        counts[t.VALUES] = 1
        counts[t.INTEGERS if is_integer else t.DECIMALS if is_exact else t.DOUBLES] = 1
        here = begin + 1
        while text[here] != QUOTE:
            here += 1
        counts[t.CHARACTERS] = here - begin - 1
        known[i] = True


#: What a term is whose number tells its place among its like: an integer or decimal, a double; 0 for any other.
EXACT, DOUBLE = 1, 2


@kernel
def plain_keys(text, start, length, values, keys, kinds):
    """The kind of each term, and for plain numbers an integer that is ordered as they are.

    `values` are the same octets as `keys`, as doubles.
    """
    for i in range(start.shape[0]):
        begin, end = start[i], start[i] + length[i]
        kinds[i] = 0
        if read_number(text, begin, end, values, i):
            values[i] += 0.0  # which makes -0.0 the 0.0 that it equals
            if keys[i] < 0:
                keys[i] ^= 0x7FFFFFFFFFFFFFFF
            exact = ends_with(text, begin, end, INTEGER) or ends_with(text, begin, end, DECIMAL)
            kinds[i] = EXACT if exact else DOUBLE
