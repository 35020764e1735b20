"""Computed numbers as the texts of their terms."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel

_INTEGER = np.frombuffer(b'"^^<http://www.w3.org/2001/XMLSchema#integer>', np.uint8)
_DECIMAL = np.frombuffer(b'"^^<http://www.w3.org/2001/XMLSchema#decimal>', np.uint8)
_CHUNK = 10**9
#: As `spectra.sparql.numeric` has them: digits of a quotient, of them behind the point, and of any decimal.
_QUOTIENT_DIGITS, _QUOTIENT_DECIMALS, _MAXIMUM_DIGITS = 28, 18, 4096
#: Octets that a number may need beside its digits, those of a quotient included.
MARGIN = 160
#: Octets of a number of 64 bits.
ROOM = 80


@kernel
def write_integer(number, text, at):
    """Write an integer that is not negative as a term; where it ends."""
    text[at] = 34
    size = 1
    power = np.int64(10)
    while power <= number:
        size += 1
        power *= 10
    for place in range(size, 0, -1):
        text[at + place] = 48 + number % 10
        number //= 10
    return _write_datatype(text, at + 1 + size, _INTEGER)


@kernel
def _write_datatype(text, at, datatype):
    for place in range(datatype.shape[0]):
        text[at + place] = datatype[place]
    return at + datatype.shape[0]


@kernel
def _magnitude(limbs, scratch):
    """Put the digits of a decimal sum into `scratch`, nine in each and the greatest first; whether it is negative."""
    size = limbs.shape[0]
    negative = limbs[size - 1] < 0
    borrow = np.int64(0)
    for limb in range(size):
        value = limbs[limb]
        if negative:
            value = -value - borrow
            borrow = np.int64(0)
            if value < 0:
                value += np.int64(10) ** 18
                borrow = np.int64(1)
        scratch[2 * (size - limb) - 1] = value % _CHUNK
        scratch[2 * (size - limb) - 2] = value // _CHUNK
    return negative


@kernel
def is_too_long(limbs, scratch):
    """Whether a decimal sum has more digits than a decimal may have."""
    if 18 * limbs.shape[0] <= _MAXIMUM_DIGITS:
        return False
    _magnitude(limbs, scratch)
    first, last = np.int64(-1), np.int64(-1)
    for chunk in range(2 * limbs.shape[0]):
        for place in range(9):
            if scratch[chunk] // np.int64(10) ** (8 - place) % 10 != 0:
                last = np.int64(9 * chunk + place)
                first = last if first < 0 else first
    return last - first >= _MAXIMUM_DIGITS


@kernel
def write_decimal(limbs, fraction, divisor, is_integer, scratch, digits, text, at):
    """Write a decimal sum, or its quotient by a positive `divisor` (0: none), as a term; where it ends.

    `fraction` limbs are behind the point. The quotient is rounded as `spectra.sparql.numeric` does it. `scratch` and
    `digits` have room for the digits of the sum, nine in each and one in each, and for those of a quotient.
    """
    negative = _magnitude(limbs, scratch)
    chunks = 2 * limbs.shape[0]
    point = 1 + 9 * (chunks - 2 * fraction)  # the place in `digits` of the first digit behind the point
    digits[0] = 0
    first = np.int64(-1)  # the place of the first digit that is not 0
    wanted = np.int64(-1)  # digits of the quotient, known with the first digit of the sum
    remainder = np.int64(0)
    size = 1
    chunk = 0
    while chunk < chunks or (remainder > 0 and (first < 0 or size <= first + wanted)):
        value = scratch[chunk] if chunk < chunks else np.int64(0)
        if divisor > 0:
            if wanted < 0 and value > 0:
                before = point - size - 9
                power = np.int64(1)
                while power <= value:
                    before += 1
                    power *= 10
                power = np.int64(10)
                while power <= divisor:
                    before -= 1
                    power *= 10
                wanted = np.int64(max(_QUOTIENT_DIGITS, before + _QUOTIENT_DECIMALS))
            value += remainder * _CHUNK
            remainder = value % divisor
            value //= divisor
        for place in range(size + 8, size - 1, -1):
            digits[place] = value % 10
            if digits[place] != 0 and (first < 0 or first >= size):
                first = np.int64(place)
            value //= 10
        size += 9
        chunk += 1
    if first < 0:
        negative = False
        first = np.int64(point)
    elif divisor > 0 and size > first + wanted:
        end = first + wanted  # behind the point, since `wanted` counts so many decimals
        follows = remainder > 0
        for place in range(end + 1, size):
            follows = follows or digits[place] != 0
        upward = digits[end] > 5 or (digits[end] == 5 and (follows or digits[end - 1] % 2 == 1))
        size = end
        place = end
        while upward:
            place -= 1
            upward = digits[place] == 9
            digits[place] = 0 if upward else digits[place] + 1
            first = min(first, place)
    while size > point and digits[size - 1] == 0:
        size -= 1
    text[at] = 34
    at += 1
    if negative:
        text[at] = 45
        at += 1
    for place in range(min(first, point - 1), size):
        if place == point:
            text[at] = 46
            at += 1
        text[at] = 48 + digits[place]
        at += 1
    return _write_datatype(text, at, _INTEGER if is_integer else _DECIMAL)


@kernel
def write_scaled(numbers, places, is_integer, text, ends):
    """Write whole numbers of 10**-places as terms, one after the other; `ends` says where each one ends.

    There are `ROOM` octets for each.
    """
    at = np.int64(0)
    for i in range(numbers.shape[0]):
        number = numbers[i]
        text[at] = 34
        at += 1
        if number < 0:
            text[at] = 45
            at += 1
            number = -number
        behind = places
        while behind > 0 and number % 10 == 0:
            number //= 10
            behind -= 1
        size = behind + 1
        power = np.int64(10) ** size
        while size < 19 and power <= number:
            size += 1
            power *= 10
        for place in range(size - 1, -1, -1):
            # the point comes before the last `behind` digits
            text[at + place + (behind > 0 and place >= size - behind)] = 48 + number % 10
            number //= 10
        if behind > 0:
            text[at + size - behind] = 46
            at += 1
        at = _write_datatype(text, at + size, _INTEGER if is_integer[i] else _DECIMAL)
        ends[i] = at
