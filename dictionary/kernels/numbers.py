"""The value of a numeric literal from its canonical text, as a double.

Only where the double says all that a comparison needs: integers, decimals and doubles of at most 15
significant digits with a small exponent. Such a number and its double determine each other, and one
multiplication or division of exact doubles rounds to it, so that doubles compare as the numbers do.
"""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel

_DATATYPE = np.frombuffer(b'"^^<http://www.w3.org/2001/XMLSchema#', np.uint8)
INTEGER = np.frombuffer(b"integer>", np.uint8)
DECIMAL = np.frombuffer(b"decimal>", np.uint8)
_DOUBLE = np.frombuffer(b"double>", np.uint8)
#: The powers of ten that are doubles.
_POWERS = np.array([10.0**exponent for exponent in range(23)])
_MOST_DIGITS = 15

QUOTE, PLUS, MINUS, POINT, ZERO, NINE, LARGE_E, SMALL_E = 34, 43, 45, 46, 48, 57, 69, 101


@kernel
def ends_with(text, begin, end, what):
    size = what.shape[0]
    if end - begin < size:
        return False
    for at in range(size):
        if text[end - size + at] != what[at]:
            return False
    return True


@kernel
def read_number(text, begin, end, values, at):
    """Put the value of the literal `text[begin:end]` at `values[at]`; False where it is not one of those."""
    if end - begin < 40 or text[begin] != QUOTE:
        return False
    fraction = True
    exponent_allowed = False
    if ends_with(text, begin, end, INTEGER):
        fraction = False
        stop = end - INTEGER.shape[0]
    elif ends_with(text, begin, end, DECIMAL):
        stop = end - DECIMAL.shape[0]
    elif ends_with(text, begin, end, _DOUBLE):
        exponent_allowed = True
        stop = end - _DOUBLE.shape[0]
    else:
        return False
    if not ends_with(text, begin, stop, _DATATYPE):
        return False
    stop -= _DATATYPE.shape[0]
    here = begin + 1
    negative = here < stop and text[here] == MINUS
    if here < stop and (text[here] == MINUS or text[here] == PLUS):
        here += 1
    mantissa = np.int64(0)
    digits = 0  # significant ones
    read = 0
    behind = 0  # the point
    seen_point = False
    while here < stop:
        octet = text[here]
        if ZERO <= octet <= NINE:
            read += 1
            if digits or octet != ZERO:
                digits += 1
            if digits > _MOST_DIGITS:
                return False
            mantissa = mantissa * 10 + np.int64(octet - ZERO)
            if seen_point:
                behind += 1
        elif octet == POINT and fraction and not seen_point:
            seen_point = True
        else:
            break
        here += 1
    if read == 0:
        return False
    exponent = -behind
    if here < stop:
        if not exponent_allowed or (text[here] != LARGE_E and text[here] != SMALL_E):
            return False
        here += 1
        below = here < stop and text[here] == MINUS
        if here < stop and (text[here] == MINUS or text[here] == PLUS):
            here += 1
        if here >= stop or stop - here > 3:
            return False
        written = np.int64(0)
        while here < stop:
            if not ZERO <= text[here] <= NINE:
                return False
            written = written * 10 + np.int64(text[here] - ZERO)
            here += 1
        exponent += -written if below else written
    if not -22 <= exponent <= 22:
        return False
    value = np.float64(mantissa)
    value = value / _POWERS[-exponent] if exponent < 0 else value * _POWERS[exponent]
    values[at] = -value if negative else value
    return True


@kernel
def read_numbers(text, start, length, values, known):
    """The values of the spans that are such literals, and which are."""
    for span in range(start.shape[0]):
        known[span] = read_number(text, start[span], start[span] + length[span], values, span)


#: What a literal is: none of these, an integer, a decimal or a double.
OTHER, AN_INTEGER, A_DECIMAL, A_DOUBLE = 0, 1, 2, 3


@kernel
def read_digits(text, start, length, kinds, digits, places, values):
    """What each span is; an integer or decimal as its digits and how many of them are behind the point, and the value.

    `values` are doubles, as `read_numbers` has them.
    """
    for span in range(start.shape[0]):
        begin, end = start[span], start[span] + length[span]
        kinds[span] = OTHER
        if not read_number(text, begin, end, values, span):
            continue
        if not ends_with(text, begin, end, INTEGER) and not ends_with(text, begin, end, DECIMAL):
            kinds[span] = A_DOUBLE
            continue
        kinds[span] = AN_INTEGER if ends_with(text, begin, end, INTEGER) else A_DECIMAL
        number, behind = np.int64(0), 0
        seen_point = False
        here = begin + 1
        while text[here] != QUOTE:
            if text[here] == POINT:
                seen_point = True
            elif ZERO <= text[here] <= NINE:
                number = number * 10 + np.int64(text[here] - ZERO)
                behind += seen_point
            here += 1
        digits[span] = -number if text[begin + 1] == MINUS else number
        places[span] = behind
