"""RDF terms as values: what they are equal to, how they compare, and whether they are true.

After section 17 of the SPARQL 1.1 recommendation. A result that may be None is an error of
SPARQL's where it is None, as in a comparison of a number with an IRI.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from spectra.dictionary.terms import RDF_LANG_STRING, XSD_STRING, Literal, literal_parts, term_text
from spectra.sparql import numeric
from spectra.sparql.date_time import (
    Moment,
    compare_moments,
    date_lexical,
    date_time_lexical,
    parse_date,
    parse_date_time,
    parse_duration,
)
from spectra.sparql.numeric import DECIMAL, DOUBLE, FLOAT, INTEGER, Number

XSD: Final = "http://www.w3.org/2001/XMLSchema#"

# A value's kind, after the four numeric ones. Those up to LANGUAGE_STRING have value spaces that
# are known and disjoint (the numeric ones together are one); of the last two nothing is known.
BOOLEAN: Final = 4
STRING: Final = 5
DATE_TIME: Final = 6
DATE: Final = 7
DURATION: Final = 8
LANGUAGE_STRING: Final = 9
IRI: Final = 10
BLANK: Final = 11
ILL_TYPED: Final = 12  # a datatype that is known, and not a lexical form of it
UNKNOWN: Final = 13  # a datatype that is not known

STRINGS: Final = (STRING, LANGUAGE_STRING)
_BINARY: Final = (FLOAT, DOUBLE)
_MOMENTS: Final = (DATE_TIME, DATE)
_ORDERED: Final = (STRING, BOOLEAN, DURATION)

_DATATYPES: Final = {
    INTEGER: f"{XSD}integer",
    DECIMAL: f"{XSD}decimal",
    FLOAT: f"{XSD}float",
    DOUBLE: f"{XSD}double",
    BOOLEAN: f"{XSD}boolean",
    STRING: XSD_STRING,
    DATE_TIME: f"{XSD}dateTime",
    DATE: f"{XSD}date",
    DURATION: f"{XSD}dayTimeDuration",
    LANGUAGE_STRING: RDF_LANG_STRING,
}

#: Derived types of xsd:integer with their least and greatest values, None for no bound.
DERIVED_INTEGERS: Final[dict[str, tuple[int | None, int | None]]] = {
    f"{XSD}nonPositiveInteger": (None, 0),
    f"{XSD}negativeInteger": (None, -1),
    f"{XSD}long": (-(2**63), 2**63 - 1),
    f"{XSD}int": (-(2**31), 2**31 - 1),
    f"{XSD}short": (-(2**15), 2**15 - 1),
    f"{XSD}byte": (-(2**7), 2**7 - 1),
    f"{XSD}nonNegativeInteger": (0, None),
    f"{XSD}unsignedLong": (0, 2**64 - 1),
    f"{XSD}unsignedInt": (0, 2**32 - 1),
    f"{XSD}unsignedShort": (0, 2**16 - 1),
    f"{XSD}unsignedByte": (0, 2**8 - 1),
    f"{XSD}positiveInteger": (1, None),
}


class Value:
    """A term, parsed: `value` is an `int`, `Decimal`, `float`, `bool`, `str` or `Moment`, by `kind`.

    `value` of a duration is its seconds, of an IRI or blank node its text without the marks, and of a
    literal that is ill-typed or of an unknown datatype its lexical form.
    """

    __slots__ = ("_lexical", "_text", "datatype", "kind", "language", "value")

    def __init__(
        self,
        kind: int,
        value: Any,
        *,
        datatype: str | None = None,
        language: str = "",
        lexical: str | None = None,
        text: str | None = None,
    ) -> None:
        self.kind = kind
        self.value = value
        self.datatype: str = _DATATYPES.get(kind, "") if datatype is None else datatype
        self.language = language
        self._lexical = lexical
        self._text = text

    def __repr__(self) -> str:
        return f"Value({self.text})"

    @property
    def is_numeric(self) -> bool:
        return self.kind <= DOUBLE

    @property
    def is_string(self) -> bool:
        """A string literal of the recommendation's sections on functions: with a language or without."""
        return self.kind in STRINGS

    @property
    def is_literal(self) -> bool:
        return self.kind != IRI and self.kind != BLANK

    @property
    def lexical(self) -> str:
        """The lexical form of a literal, the canonical one where the value was computed."""
        if self._lexical is None:
            self._lexical = canonical_lexical(self.kind, self.value)
        return self._lexical

    @property
    def text(self) -> str:
        """The canonical N-Triples text."""
        if self._text is None:
            if self.kind == IRI:
                self._text = f"<{self.value}>"
            elif self.kind == BLANK:
                self._text = f"_:{self.value}"
            else:
                self._text = term_text(Literal(self.lexical, self.datatype, self.language))
        return self._text


def canonical_lexical(kind: int, value: Any) -> str:
    if kind == DECIMAL:
        return numeric.decimal_lexical(value)
    if kind in _BINARY:
        return numeric.double_lexical(value, kind)
    if kind == BOOLEAN:
        return "true" if value else "false"
    if kind == DATE_TIME:
        return date_time_lexical(value)
    if kind == DATE:
        return date_lexical(value)
    return str(value)


TRUE: Final = Value(BOOLEAN, True)
FALSE: Final = Value(BOOLEAN, False)


def boolean(value: bool) -> Value:
    return TRUE if value else FALSE


def string(value: str, language: str = "") -> Value:
    """A plain string, or one in a language."""
    if language:
        return Value(LANGUAGE_STRING, value, language=language, lexical=value)
    return Value(STRING, value, lexical=value)


# --- from text ----------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def value_of(text: str) -> Value:
    """The value of a term's canonical text."""
    first = text[0]
    if first == "<":
        return Value(IRI, text[1:-1], text=text)
    if first == "_":
        return Value(BLANK, text[2:], text=text)
    lexical, datatype, language = literal_parts(text)
    if language:
        return Value(LANGUAGE_STRING, lexical, language=language, lexical=lexical, text=text)
    return literal(lexical, datatype, text)


def literal(lexical: str, datatype: str, text: str | None = None) -> Value:
    """The value of a literal without a language."""
    if datatype == XSD_STRING:
        return Value(STRING, lexical, lexical=lexical, text=text)
    known = _KNOWN.get(datatype)
    if known is None:
        return Value(UNKNOWN, lexical, datatype=datatype, lexical=lexical, text=text)
    kind, parse = known
    value = parse(lexical)
    if value is None:
        return Value(ILL_TYPED, lexical, datatype=datatype, lexical=lexical, text=text)
    return Value(kind, value, datatype=datatype, lexical=lexical, text=text)


_Parser = Callable[[str], Number | bool | Moment | None]


def _parse_boolean(lexical: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(lexical)


def in_range(value: int, low: int | None, high: int | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _derived(low: int | None, high: int | None) -> _Parser:
    def parse(lexical: str) -> int | None:
        value = numeric.parse_integer(lexical)
        return value if value is not None and in_range(value, low, high) else None

    return parse


def _parse_date_time_stamp(lexical: str) -> Moment | None:
    moment = parse_date_time(lexical)
    return moment if moment is not None and moment.zone else None


_KNOWN: Final[dict[str, tuple[int, _Parser]]] = {
    f"{XSD}integer": (INTEGER, numeric.parse_integer),
    f"{XSD}decimal": (DECIMAL, numeric.parse_decimal),
    f"{XSD}float": (FLOAT, numeric.parse_float),
    f"{XSD}double": (DOUBLE, numeric.parse_double),
    f"{XSD}boolean": (BOOLEAN, _parse_boolean),
    f"{XSD}dateTime": (DATE_TIME, parse_date_time),
    f"{XSD}dateTimeStamp": (DATE_TIME, _parse_date_time_stamp),
    f"{XSD}date": (DATE, parse_date),
    f"{XSD}dayTimeDuration": (DURATION, parse_duration),
    **{datatype: (INTEGER, _derived(*bounds)) for datatype, bounds in DERIVED_INTEGERS.items()},
}


# --- operators on values ------------------------------------------------------------------

#: What `order` says of a pair with NaN in it: neither less, nor equal, nor greater, and no error.
UNORDERED: Final = 2


def order(left: Value, right: Value) -> int | None:
    """-1, 0, 1 or UNORDERED as the operators `<` and `>` have it, None where they give an error."""
    kind = left.kind
    if kind <= DOUBLE:
        return _numeric_order(left, right) if right.kind <= DOUBLE else None
    if kind != right.kind:
        return None
    if kind in _MOMENTS:
        return compare_moments(left.value, right.value)
    if kind in _ORDERED:
        return int(left.value > right.value) - int(left.value < right.value)
    return None


def equal(left: Value, right: Value) -> bool | None:
    """Whether `left = right`; None where it cannot be known.

    Beyond the operators of section 17.3 two literals of known types whose value spaces are disjoint
    are unequal, where RDFterm-equal alone gives an error (17.3.1 allows that, and the W3C tests
    `open-eq-08` and `date-2` expect it).
    """
    kind = left.kind
    if kind <= DOUBLE and right.kind <= DOUBLE:
        return _numeric_order(left, right) == 0
    if kind != right.kind:
        if kind < ILL_TYPED and right.kind < ILL_TYPED:
            return False
        # whatever it denotes, it is no IRI, no blank node and has no language
        known = min(kind, right.kind)
        return False if LANGUAGE_STRING <= known <= BLANK else None
    if kind in _MOMENTS:
        comparison = compare_moments(left.value, right.value)
        return None if comparison is None else comparison == 0
    if kind >= ILL_TYPED:
        return True if left.text == right.text else None
    same: bool = left.value == right.value and left.language == right.language
    return same


def effective_boolean_value(value: Value) -> bool | None:
    """The effective boolean value (17.2.2), None where there is none."""
    kind = value.kind
    if kind == BOOLEAN:
        return bool(value.value)
    if kind <= DOUBLE:
        return bool(value.value) and value.value == value.value
    if kind in STRINGS:
        return bool(value.value)
    if kind == ILL_TYPED and _KNOWN[value.datatype][0] <= BOOLEAN:
        return False
    return None


def add(left: Value, right: Value) -> Value | None:
    return _arithmetic(numeric.add, INTEGER, left, right)


def subtract(left: Value, right: Value) -> Value | None:
    return _arithmetic(numeric.subtract, INTEGER, left, right)


def multiply(left: Value, right: Value) -> Value | None:
    return _arithmetic(numeric.multiply, INTEGER, left, right)


def divide(left: Value, right: Value) -> Value | None:
    return _arithmetic(numeric.divide, DECIMAL, left, right)


def _arithmetic(
    operation: Callable[[int, Any, Any], Number | None], least: int, left: Value, right: Value
) -> Value | None:
    kind = max(left.kind, right.kind, least)
    if kind > DOUBLE:
        return None
    result = operation(kind, numeric.promote(left.value, kind), numeric.promote(right.value, kind))
    return None if result is None else Value(kind, result)


def _numeric_order(left: Value, right: Value) -> int:
    kind = max(left.kind, right.kind)
    first: Any = left.value
    second: Any = right.value
    if left.kind != right.kind and kind > DECIMAL:
        first, second = numeric.promote(first, kind), numeric.promote(second, kind)
    if first < second:
        return -1
    if first > second:
        return 1
    return 0 if first == second else UNORDERED


# --- the same on texts --------------------------------------------------------------------


def compare(left: str, right: str) -> int | None:
    """-1, 0 or 1 for two terms that the operators `<` and `=` put in order, otherwise None."""
    comparison = order(value_of(left), value_of(right))
    return None if comparison == UNORDERED else comparison


def numeric_add(left: str, right: str) -> str | None:
    """The sum of two numbers as text, None unless both are numbers."""
    return _text(add(value_of(left), value_of(right)))


def numeric_divide(left: str, right: str) -> str | None:
    """The quotient of two numbers as text, None unless there is one."""
    return _text(divide(value_of(left), value_of(right)))


def _text(value: Value | None) -> str | None:
    return None if value is None else value.text


# --- the order of ORDER BY, MIN and MAX ---------------------------------------------------

OrderKey = tuple[Any, ...]

_UNBOUND_KEY: Final[OrderKey] = (0,)


def order_key(text: str | None) -> OrderKey:
    """A key that sorts solutions as ORDER BY does: unbound, blank nodes, IRIs, literals.

    Literals that `<` puts in order are sorted so, and those that are equal have equal keys, so that the
    next condition decides. Where `<` is silent the order is fixed and ours: by type, then by value or
    lexical form; NaN before other numbers; a dateTime without a zone as if in UTC.
    """
    return _UNBOUND_KEY if text is None else _order_key(text)


@lru_cache(maxsize=1 << 16)
def _order_key(text: str) -> OrderKey:
    value = value_of(text)
    kind = value.kind
    if kind == BLANK:
        return (1, value.value)
    if kind == IRI:
        return (2, value.value)
    if kind <= DOUBLE:
        # Python compares int, Decimal and float by their exact values
        return (3, INTEGER, 0) if _is_nan(value.value) else (3, INTEGER, 1, value.value)
    if kind in _MOMENTS:
        return (3, kind, value.value.position)
    if kind == LANGUAGE_STRING:
        return (3, kind, value.value, value.language)
    if kind >= ILL_TYPED:
        return (3, ILL_TYPED, value.datatype, value.value)
    return (3, kind, value.value)


def _is_nan(value: int | Decimal | float) -> bool:
    return isinstance(value, float) and math.isnan(value)
