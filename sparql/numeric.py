"""The four numeric types of SPARQL as Python numbers: lexical forms, promotion, arithmetic, rounding.

`xsd:integer` is `int`, `xsd:decimal` is `Decimal`, `xsd:float` and `xsd:double` are `float`
(a float holds only values that fit in 32 bits). A kind is one of the constants below; their
order is the order of promotion, so the kind of a result is the greater of its operands' kinds.
None stands for an error of XPath: a division by zero, an overflow.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DecimalException,
    Inexact,
    InvalidOperation,
)
from fractions import Fraction
from typing import Any, Final

INTEGER: Final = 0
DECIMAL: Final = 1
FLOAT: Final = 2
DOUBLE: Final = 3

Number = int | Decimal | float

#: Integers and decimals are exact up to this many digits; what is longer is an overflow (err:FOAR0002).
MAXIMUM_DIGITS: Final = 4096
_MAXIMUM_BITS: Final = math.floor(MAXIMUM_DIGITS * math.log2(10))

#: Arithmetic that does not round; what would have to be rounded raises.
EXACT = Context(prec=MAXIMUM_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation])
#: A quotient keeps 28 digits, and never fewer than 18 behind the point, the least that XPath allows.
_QUOTIENT_DIGITS: Final = 28
_QUOTIENT_DECIMALS: Final = 18

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}


# --- lexical forms to numbers -------------------------------------------------------------


def parse_integer(lexical: str) -> int | None:
    if _INTEGER.fullmatch(lexical) is None or len(lexical) > MAXIMUM_DIGITS:
        return None
    return int(lexical)


def parse_decimal(lexical: str) -> Decimal | None:
    if _DECIMAL.fullmatch(lexical) is None or len(lexical) > MAXIMUM_DIGITS:
        return None
    return Decimal(lexical)


def parse_double(lexical: str) -> float | None:
    if _DOUBLE.fullmatch(lexical) is None:
        return _SPECIAL.get(lexical)
    return float(lexical)


def parse_float(lexical: str) -> float | None:
    if _DOUBLE.fullmatch(lexical) is None:
        return _SPECIAL.get(lexical)
    nearest = float(lexical)
    # the exponent is small where the double is finite, so the exact value is at hand
    return as_float(Decimal(lexical)) if math.isfinite(nearest) and nearest else nearest


# --- numbers to lexical forms -------------------------------------------------------------


def decimal_lexical(value: Decimal) -> str:
    """The canonical form of XSD 1.1: no exponent, no trailing zeros, no point before nothing.

    Examples
    --------
    >>> decimal_lexical(Decimal("2.50")), decimal_lexical(Decimal("3.0")), decimal_lexical(Decimal("-0.0"))
    ('2.5', '3', '0')
    """
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def double_lexical(value: float, kind: int = DOUBLE) -> str:
    """The canonical form of a double or float: one digit before the point, and an exponent.

    Examples
    --------
    >>> double_lexical(1.0), double_lexical(-1234.5), double_lexical(0.25, FLOAT)
    ('1.0E0', '-1.2345E3', '2.5E-1')
    """
    if not math.isfinite(value):
        return _special_lexical(value)
    sign, digits, exponent = _shortest(value, kind)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def double_string(value: float, kind: int = DOUBLE) -> str:
    """What XPath's cast to `xs:string` makes of a double or float: no exponent from 1e-6 up to 1e6.

    Examples
    --------
    >>> double_string(1.0), double_string(2.5e-3), double_string(1e6)
    ('1', '0.0025', '1.0E6')
    """
    if not math.isfinite(value):
        return _special_lexical(value)
    if value == 0:
        return "-0" if math.copysign(1.0, value) < 0 else "0"
    if not 1e-6 <= abs(value) < 1e6:
        return double_lexical(value, kind)
    sign, digits, exponent = _shortest(value, kind)
    return sign + decimal_lexical(Decimal(digits).scaleb(exponent - len(digits) + 1, EXACT))


def _special_lexical(value: float) -> str:
    return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"


def _shortest(value: float, kind: int) -> tuple[str, str, int]:
    """Sign, digits and exponent of the shortest decimal that reads back as `value`."""
    if kind == DOUBLE:
        text = repr(value)
    else:
        text = next(text for digits in range(9) if _single(float(text := f"{value:.{digits}e}")) == value)
    number = Decimal(text)
    sign, places, exponent = number.as_tuple()
    digits = "".join(map(str, places)).rstrip("0") or "0"
    assert isinstance(exponent, int)
    return "-" if sign else "", digits, exponent + len(places) - 1 if number else 0


# --- promotion ----------------------------------------------------------------------------


def as_double(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def as_float(value: Number) -> float:
    """The nearest 32-bit float, rounded once.

    Rounding to 64 bits first could round a tie twice, so the double in between is rounded to odd.
    """
    nearest = as_double(value)
    if isinstance(value, float) or not math.isfinite(nearest):
        return _single(nearest)
    exact = Fraction(value)
    if exact != Fraction(nearest) and struct.unpack("<q", struct.pack("<d", nearest))[0] % 2 == 0:
        nearest = math.nextafter(nearest, math.inf if exact > Fraction(nearest) else -math.inf)
    return _single(nearest)


def _single(value: float) -> float:
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


def promote(value: Number, kind: int) -> Number:
    """`value`, of this kind or a lesser one, as a number of this kind."""
    if kind == DOUBLE:
        return as_double(value)
    if kind == FLOAT:
        return as_float(value)
    if kind == DECIMAL and isinstance(value, int):
        return Decimal(value)
    return value


# --- arithmetic: both operands promoted to `kind`, which is the kind of the result ---------


def add(kind: int, left: Any, right: Any) -> Number | None:
    if kind == INTEGER:
        return _bounded(left + right)
    if kind == DECIMAL:
        return _exact(EXACT.add, left, right)
    return _rounded(kind, left + right)


def subtract(kind: int, left: Any, right: Any) -> Number | None:
    if kind == INTEGER:
        return _bounded(left - right)
    if kind == DECIMAL:
        return _exact(EXACT.subtract, left, right)
    return _rounded(kind, left - right)


def multiply(kind: int, left: Any, right: Any) -> Number | None:
    if kind == INTEGER:
        return _bounded(left * right)
    if kind == DECIMAL:
        return _exact(EXACT.multiply, left, right)
    return _rounded(kind, left * right)


def divide(kind: int, left: Any, right: Any) -> Number | None:
    """The quotient; of two integers it is a decimal, so `kind` is never INTEGER."""
    if kind == DECIMAL:
        return _quotient(left, right)
    if right == 0:
        if left == 0 or math.isnan(left):
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)
    return _rounded(kind, left / right)


def _bounded(value: int) -> int | None:
    return value if value.bit_length() <= _MAXIMUM_BITS else None


def _exact(operation: Callable[[Decimal, Decimal], Decimal], left: Decimal, right: Decimal) -> Decimal | None:
    try:
        return operation(left, right)
    except DecimalException:
        return None


def _quotient(left: Decimal, right: Decimal) -> Decimal | None:
    if not right:
        return None
    whole_digits = left.adjusted() - right.adjusted() + 1
    context = Context(
        prec=max(_QUOTIENT_DIGITS, whole_digits + _QUOTIENT_DECIMALS),
        rounding=ROUND_HALF_EVEN,
        Emax=MAX_EMAX,
        Emin=MIN_EMIN,
        traps=[],
    )
    return context.divide(left, right)


def _rounded(kind: int, value: float) -> float:
    return _single(value) if kind == FLOAT else value


# --- rounding to a whole number of the same kind ------------------------------------------


def floor(value: Number) -> Number:
    return _whole(value, ROUND_FLOOR, math.floor)


def ceil(value: Number) -> Number:
    return _whole(value, ROUND_CEILING, math.ceil)


def round_half_up(value: Number) -> Number:
    """The nearest whole number, the greater of two as near: 2.5 is 3, and -2.5 is -2."""
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        below = value.to_integral_value(ROUND_FLOOR)
        return EXACT.add(below, 1) if EXACT.subtract(value, below) >= Decimal("0.5") else below
    if not math.isfinite(value):
        return value
    whole = math.floor(value)
    # the difference of a double and its floor is exact
    return math.copysign(float(whole + 1 if value - whole >= 0.5 else whole), value)


def _whole(value: Number, rounding: str, function: Callable[[float], int]) -> Number:
    if isinstance(value, int):
        return value
    if isinstance(value, Decimal):
        return value.to_integral_value(rounding)
    # XPath keeps the sign of a zero: ceil(-0.5) is -0
    return math.copysign(float(function(value)), value) if math.isfinite(value) else value
