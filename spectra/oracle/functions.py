"""SPARQL functions of given terms: terms and numbers here, strings and dates by pyoxigraph."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from spectra.errors import UnsupportedError
from spectra.oracle import numbers
from spectra.oracle.comparison import Space, equals, less, space
from spectra.oracle.numbers import Kind, Number, number, number_text
from spectra.oracle.pyoxigraph_functions import Arguments, ask
from spectra.oracle.terms import (
    RDF_LANG_STRING,
    XSD,
    boolean_text,
    is_blank,
    is_iri,
    is_literal,
    literal,
    literal_text,
)

_COMPARISONS = ("=", "!=", "<", ">", "<=", ">=")
_BY_PYOXIGRAPH = {
    "STRLEN", "UCASE", "LCASE", "STRSTARTS", "STRENDS", "CONTAINS", "STRBEFORE", "STRAFTER",
    "ENCODE_FOR_URI", "CONCAT", "LANGMATCHES", "REGEX", "REPLACE", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES",
    "SECONDS", "TIMEZONE", "TZ", "MD5", "SHA1", "SHA256", "SHA384", "SHA512", "IRI", "URI",
    f"<{XSD}dateTime>",
}  # fmt: skip
_TAG = re.compile(r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*\Z")
_VOLATILE = {"RAND", "UUID", "STRUUID", "BNODE"}

_known: dict[tuple[str, str | None, Arguments], str | None] = {}
_KNOWN_LIMIT = 500_000


def apply(function: str, rows: Sequence[Arguments], base: str | None = None) -> list[str | None]:
    """The results of one function for many argument lists, None for an error."""
    missing = [row for row in dict.fromkeys(rows) if (function, base, row) not in _known]
    if missing:
        if len(_known) > _KNOWN_LIMIT:
            _known.clear()
            missing = list(dict.fromkeys(rows))
        for row, result in zip(missing, _compute(function, missing, base), strict=True):
            _known[function, base, row] = result
    return [_known[function, base, row] for row in rows]


def effective_boolean_value(text: str) -> bool | None:
    """Section 17.2.2; None for a type error."""
    parts = literal(text)
    if parts is None:
        return None
    if parts.datatype == XSD + "boolean":
        return parts.lexical in ("true", "1")
    if parts.datatype in (XSD + "string", RDF_LANG_STRING):
        return parts.lexical != ""
    value = number(text)
    if value is not None:
        return bool(value.value == value.value and value.value != 0)
    if parts.datatype.startswith(XSD) and numbers.is_numeric_type(parts.datatype[len(XSD) :]):
        return False
    return None


def _compute(function: str, rows: Sequence[Arguments], base: str | None) -> list[str | None]:
    if function in _COMPARISONS:
        return [_compare(function, left, right) for left, right in rows]
    if function == "SUBSTR":
        # pyoxigraph takes any integer for a value of xsd:byte
        positions = [all(number(position) is not None for position in row[1:]) for row in rows]
        answers = ask("SUBSTR({})", rows, base)
        return [answer if valid else None for answer, valid in zip(answers, positions, strict=True)]
    if function in _BY_PYOXIGRAPH:
        return ask(f"{function}({{}})", rows, base)
    if function in _OWN:
        return [_OWN[function](*row) for row in rows]
    if function in _VOLATILE:
        raise UnsupportedError(f"{function} gives another value at each call, so it cannot be recomputed")
    raise UnsupportedError(f"the oracle knows no function {function}")


# --- comparison ---------------------------------------------------------------------------


def _compare(operator: str, left: str, right: str) -> str | None:
    match operator:
        case "=":
            result = equals(left, right)
        case "!=":
            equal = equals(left, right)
            result = None if equal is None else not equal
        case "<":
            result = less(left, right)
        case ">":
            result = less(right, left)
        case "<=":
            result = less(left, right, or_equal=True)
        case _:
            result = less(right, left, or_equal=True)
    return None if result is None else boolean_text(result)


# --- terms and numbers --------------------------------------------------------------------


def _arithmetic(operator: str, left: str, right: str) -> str | None:
    a, b = number(left), number(right)
    if a is None or b is None:
        return None
    result = numbers.arithmetic(operator, a, b)
    return None if result is None else number_text(result)


def _negative(text: str) -> str | None:
    value = number(text)
    return None if value is None else number_text(numbers.negate(value))


def _positive(text: str) -> str | None:
    value = number(text)
    return None if value is None else number_text(value)


def _absolute(text: str) -> str | None:
    value = number(text)
    return None if value is None else number_text(numbers.absolute(value))


def _rounded(function: str, text: str) -> str | None:
    value = number(text)
    return None if value is None else number_text(numbers.rounded(function, value))


def string_value(text: str) -> str | None:
    """STR as a Python string; None for a blank node."""
    if is_iri(text):
        return text[1:-1]
    parts = literal(text)
    return None if parts is None else parts.lexical


def _str(text: str) -> str | None:
    value = string_value(text)
    return None if value is None else literal_text(value)


def _lang(text: str) -> str | None:
    parts = literal(text)
    return None if parts is None else literal_text(parts.language)


def _datatype(text: str) -> str | None:
    parts = literal(text)
    return None if parts is None else f"<{parts.datatype}>"


def _strdt(lexical: str, datatype: str) -> str | None:
    parts = literal(lexical)
    if parts is None or parts.datatype != XSD + "string" or not is_iri(datatype):
        return None
    return literal_text(parts.lexical, datatype[1:-1])


def _strlang(lexical: str, language: str) -> str | None:
    parts, tag = literal(lexical), literal(language)
    if parts is None or parts.datatype != XSD + "string" or tag is None or tag.datatype != XSD + "string":
        return None
    return literal_text(parts.lexical, RDF_LANG_STRING, tag.lexical) if _TAG.match(tag.lexical) else None


# --- casts (section 17.5) -----------------------------------------------------------------


def _cast_string(text: str) -> str | None:
    value = number(text)
    if value is not None:
        return literal_text(numbers.string_form(value))
    parts = literal(text)
    if parts is not None and parts.datatype == XSD + "boolean":
        truth = _boolean(parts.lexical)
        return None if truth is None else literal_text("true" if truth else "false")
    if space(text) in (Space.BLANK, Space.LANGUAGE_STRING, Space.UNKNOWN):
        return None
    return _str(text)


def _boolean(lexical: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(lexical)


def _cast_boolean(text: str) -> str | None:
    parts = literal(text)
    if parts is None:
        return None
    value = number(text)
    if value is not None:
        return boolean_text(bool(value.value == value.value and value.value != 0))
    if parts.datatype not in (XSD + "string", XSD + "boolean"):
        return None
    truth = _boolean(parts.lexical.strip())
    return None if truth is None else boolean_text(truth)


def _cast_number(name: str, text: str) -> str | None:
    parts = literal(text)
    if parts is None:
        return None
    value = number(text)
    if value is None and parts.datatype == XSD + "boolean":
        truth = _boolean(parts.lexical)
        value = None if truth is None else Number(Kind.INTEGER, int(truth))
    elif value is None and parts.datatype == XSD + "string":
        parsed = numbers.parse(parts.lexical.strip(), name)
        return None if parsed is None else literal_text(numbers.lexical_form(parsed), XSD + name)
    if value is None:
        return None
    if name in ("float", "double"):
        target = Kind.FLOAT if name == "float" else Kind.DOUBLE
        return number_text(Number(target, numbers.promote(value, target).value))
    if value.kind >= Kind.FLOAT:
        plain = float(value.value)
        if plain != plain or plain in (float("inf"), float("-inf")):
            return None
        value = Number(Kind.DECIMAL, Decimal(plain))
    if name == "decimal":
        return number_text(numbers.promote(value, Kind.DECIMAL))
    whole = numbers.parse(str(int(value.value)), name)
    return None if whole is None else literal_text(numbers.lexical_form(whole), XSD + name)


_OWN: dict[str, Callable[..., str | None]] = {
    "+": lambda left, right: _arithmetic("+", left, right),
    "-": lambda left, right: _arithmetic("-", left, right),
    "*": lambda left, right: _arithmetic("*", left, right),
    "/": lambda left, right: _arithmetic("/", left, right),
    "unary-": _negative,
    "unary+": _positive,
    "ABS": _absolute,
    "CEIL": lambda text: _rounded("CEIL", text),
    "FLOOR": lambda text: _rounded("FLOOR", text),
    "ROUND": lambda text: _rounded("ROUND", text),
    "STR": _str,
    "LANG": _lang,
    "DATATYPE": _datatype,
    "STRDT": _strdt,
    "STRLANG": _strlang,
    "SAMETERM": lambda left, right: boolean_text(left == right),
    "ISIRI": lambda text: boolean_text(is_iri(text)),
    "ISURI": lambda text: boolean_text(is_iri(text)),
    "ISBLANK": lambda text: boolean_text(is_blank(text)),
    "ISLITERAL": lambda text: boolean_text(is_literal(text)),
    "ISNUMERIC": lambda text: boolean_text(number(text) is not None),
    f"<{XSD}string>": _cast_string,
    f"<{XSD}boolean>": _cast_boolean,
    **{
        f"<{XSD}{name}>": (lambda text, name=name: _cast_number(name, text))
        for name in (*numbers.INTEGER_TYPES, "decimal", "float", "double")
    },
}
