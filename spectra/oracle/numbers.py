"""The numeric types of SPARQL: parsing, promotion, arithmetic and canonical lexical forms."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from spectra.oracle.terms import XSD, literal, literal_text


class Kind(IntEnum):
    """The numeric types in the order of promotion."""

    INTEGER = 0
    DECIMAL = 1
    FLOAT = 2
    DOUBLE = 3


class Number(NamedTuple):
    kind: Kind
    value: int | Decimal | np.float32 | np.float64


_BOUNDS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?\Z")
_SPECIAL = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
_NAMES = {Kind.INTEGER: "integer", Kind.DECIMAL: "decimal", Kind.FLOAT: "float", Kind.DOUBLE: "double"}
_EXACT = Context(prec=1000, Emax=10**6, Emin=-(10**6))

#: A quotient of decimals keeps 28 digits, and never fewer than 18 after the point.
_QUOTIENT_DIGITS = 28
_QUOTIENT_PLACES = 18


#: Local names of xsd:integer and the types derived from it.
INTEGER_TYPES = tuple(_BOUNDS)


def is_numeric_type(name: str) -> bool:
    return name in _BOUNDS or name in ("decimal", "float", "double")


def parse(lexical: str, name: str) -> Number | None:
    """The value of a lexical form of the XSD type `name`, None where it is ill-typed or not numeric."""
    if name in _BOUNDS:
        if not _INTEGER.match(lexical):
            return None
        value = int(lexical)
        low, high = _BOUNDS[name]
        if (low is not None and value < low) or (high is not None and value > high):
            return None
        return Number(Kind.INTEGER, value)
    if name == "decimal":
        return Number(Kind.DECIMAL, Decimal(lexical)) if _DECIMAL.match(lexical) else None
    if name in ("float", "double"):
        if lexical in _SPECIAL:
            parsed = _SPECIAL[lexical]
        elif _DOUBLE.match(lexical):
            parsed = float(lexical)
        else:
            return None
        return _floating(Kind.FLOAT if name == "float" else Kind.DOUBLE, parsed)
    return None


@lru_cache(maxsize=100_000)
def number(text: str) -> Number | None:
    """The numeric value of a term, None where it has none."""
    parts = literal(text)
    if parts is None or not parts.datatype.startswith(XSD):
        return None
    return parse(parts.lexical, parts.datatype[len(XSD) :])


def number_text(value: Number) -> str:
    """Canonical text of the literal with this value."""
    return literal_text(lexical_form(value), XSD + _NAMES[value.kind])


def lexical_form(value: Number) -> str:
    if value.kind == Kind.INTEGER:
        return str(value.value)
    if value.kind == Kind.DECIMAL:
        assert isinstance(value.value, Decimal)
        plain = format(value.value, "f")
        if "." in plain:
            plain = plain.rstrip("0").rstrip(".")
        return "0" if plain in ("-0", "") else plain
    assert isinstance(value.value, (np.float32, np.float64))
    if np.isnan(value.value):
        return "NaN"
    if np.isinf(value.value):
        return "INF" if value.value > 0 else "-INF"
    mantissa, exponent = np.format_float_scientific(value.value, unique=True, trim="0").split("e")
    return f"{mantissa}E{int(exponent)}"


def string_form(value: Number) -> str:
    """What a cast to `xsd:string` gives: doubles from 1e-6 up to 1e6 are written without an exponent."""
    if value.kind < Kind.FLOAT or not np.isfinite(float(value.value)):
        return lexical_form(value)
    if value.value == 0:
        return "-0" if math.copysign(1, float(value.value)) < 0 else "0"
    if 1e-6 <= abs(value.value) < 1e6:
        return lexical_form(Number(Kind.DECIMAL, Decimal(lexical_form(value))))
    return lexical_form(value)


def _floating(kind: Kind, value: float) -> Number:
    with np.errstate(all="ignore"):
        return Number(kind, np.float32(value) if kind == Kind.FLOAT else np.float64(value))


def promote(value: Number, kind: Kind) -> Number:
    """The same value as another type, further on in the order of promotion."""
    if value.kind == kind:
        return value
    if kind == Kind.DECIMAL:
        return Number(kind, Decimal(int(value.value)))
    try:
        return _floating(kind, float(value.value))
    except OverflowError:
        return _floating(kind, math.inf if value.value > 0 else -math.inf)


def compare(left: Number, right: Number) -> int | None:
    """-1, 0 or 1; None where one of them is NaN."""
    kind = max(left.kind, right.kind)
    a, b = promote(left, kind).value, promote(right, kind).value
    if kind >= Kind.FLOAT and (np.isnan(float(a)) or np.isnan(float(b))):
        return None
    return int(a > b) - int(a < b)


def arithmetic(operator: str, left: Number, right: Number) -> Number | None:
    """The result of `+`, `-`, `*` or `/`; None on division of exact numbers by zero."""
    kind = max(left.kind, right.kind)
    if operator == "/" and kind == Kind.INTEGER:
        kind = Kind.DECIMAL
    a, b = promote(left, kind).value, promote(right, kind).value
    if kind == Kind.INTEGER:
        x, y = int(a), int(b)
        return Number(kind, x + y if operator == "+" else x - y if operator == "-" else x * y)
    if kind == Kind.DECIMAL:
        assert isinstance(a, Decimal)
        assert isinstance(b, Decimal)
        if operator == "/":
            return _quotient(a, b)
        exact = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply}[operator]
        return Number(kind, exact(a, b))
    assert isinstance(a, (np.float32, np.float64))
    assert isinstance(b, (np.float32, np.float64))
    with np.errstate(all="ignore"):
        operation = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[operator]
        return Number(kind, operation(a, b))


def _quotient(a: Decimal, b: Decimal) -> Number | None:
    if b == 0:
        return None
    exact = _EXACT.divide(a, b)
    places = max(_QUOTIENT_DIGITS - 1 - exact.adjusted(), _QUOTIENT_PLACES)
    unit = Decimal(1).scaleb(-places)
    return Number(Kind.DECIMAL, exact.quantize(unit, rounding=ROUND_HALF_EVEN, context=_EXACT))


def negate(value: Number) -> Number:
    if isinstance(value.value, Decimal):
        return Number(value.kind, value.value.copy_negate())
    return Number(value.kind, -value.value)


def absolute(value: Number) -> Number:
    if isinstance(value.value, Decimal):
        return Number(value.kind, value.value.copy_abs())
    return Number(value.kind, abs(value.value))


def rounded(function: str, value: Number) -> Number:
    """CEIL, FLOOR or ROUND (halves go up), in the type of the value."""
    if value.kind == Kind.INTEGER:
        return value
    if isinstance(value.value, Decimal):
        if function == "ROUND":
            half_more = _EXACT.add(value.value, Decimal("0.5"))
            return Number(value.kind, half_more.to_integral_value(ROUND_FLOOR, _EXACT))
        mode = ROUND_CEILING if function == "CEIL" else ROUND_FLOOR
        return Number(value.kind, value.value.to_integral_value(mode, _EXACT))
    plain = float(value.value)
    if not math.isfinite(plain):
        return value
    if function == "ROUND":
        # adding a half in binary would round 0.49999999999999994 up
        whole = math.floor(plain)
        whole += plain - whole >= 0.5
    else:
        whole = math.ceil(plain) if function == "CEIL" else math.floor(plain)
    return _floating(value.kind, math.copysign(whole, plain))


def total(values: list[Number]) -> Number:
    """The sum, 0 for none; floating-point sums are rounded once, so that no order of adding is preferred."""
    kind = max((value.kind for value in values), default=Kind.INTEGER)
    if kind == Kind.INTEGER:
        return Number(kind, sum(int(value.value) for value in values))
    if kind == Kind.DECIMAL:
        result = Decimal(0)
        for value in values:
            promoted = promote(value, kind).value
            assert isinstance(promoted, Decimal)
            result = _EXACT.add(result, promoted)
        return Number(kind, result)
    plain = [float(promote(value, kind).value) for value in values]
    if all(math.isfinite(value) for value in plain):
        try:
            return _floating(kind, math.fsum(plain))
        except OverflowError:
            return _floating(kind, math.inf if math.fsum(value / 2**60 for value in plain) > 0 else -math.inf)
    return _floating(kind, sum(plain))
