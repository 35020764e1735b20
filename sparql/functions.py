"""The built-in functions and casts of SPARQL 1.1, on values.

Each takes the values of its arguments and returns a value, or None for an error. The forms that may
not evaluate all of their arguments (`||`, IF, COALESCE, IN, BOUND, …) are in
`spectra.sparql.expressions`.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Final
from urllib.parse import quote
from uuid import uuid4

from spectra.clock import date_time
from spectra.dictionary.terms import RDF_LANG_STRING, XSD_STRING
from spectra.sparql import numeric
from spectra.sparql.date_time import Moment, date_of, zone_duration
from spectra.sparql.iris import is_absolute, resolve
from spectra.sparql.numeric import DECIMAL, DOUBLE, FLOAT, INTEGER
from spectra.sparql.regex import PatternError, compile_pattern
from spectra.sparql.regex import replace as replace_matches
from spectra.sparql.values import (
    BLANK,
    BOOLEAN,
    DATE,
    DATE_TIME,
    DERIVED_INTEGERS,
    DURATION,
    ILL_TYPED,
    IRI,
    LANGUAGE_STRING,
    STRING,
    UNKNOWN,
    UNORDERED,
    XSD,
    Value,
    add,
    boolean,
    canonical_lexical,
    divide,
    effective_boolean_value,
    equal,
    in_range,
    literal,
    multiply,
    order,
    string,
    subtract,
)

_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*")
_XML_SPACE: Final = " \t\n\r"


@dataclass(slots=True)
class Context:
    """What an evaluation knows beside the bindings.

    `now` is the instant of the evaluation in milliseconds. `blank_nodes` are those that BNODE has
    made for this solution, by argument; clear it, or take a new context, for the next solution.
    """

    now: int = 0
    blank_nodes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of values with the least and greatest number of its arguments (None: no limit)."""

    apply: Callable[..., Value | None]
    least: int
    most: int | None


# --- comparison and arithmetic ------------------------------------------------------------


def equals(left: Value, right: Value) -> Value | None:
    same = equal(left, right)
    return None if same is None else boolean(same)


def _differs(left: Value, right: Value) -> Value | None:
    same = equal(left, right)
    return None if same is None else boolean(not same)


def _less(left: Value, right: Value) -> Value | None:
    comparison = order(left, right)
    return None if comparison is None else boolean(comparison == -1)


def _less_or_equal(left: Value, right: Value) -> Value | None:
    comparison = order(left, right)
    return None if comparison is None else boolean(comparison <= 0)


def _greater(left: Value, right: Value) -> Value | None:
    comparison = order(left, right)
    return None if comparison is None else boolean(comparison == 1)


def _greater_or_equal(left: Value, right: Value) -> Value | None:
    comparison = order(left, right)
    return None if comparison is None else boolean(comparison >= 0 and comparison != UNORDERED)


def _negate(value: Value) -> Value | None:
    if not value.is_numeric:
        return None
    number = value.value
    return Value(value.kind, number.copy_negate() if isinstance(number, Decimal) else -number)


def _plus(value: Value) -> Value | None:
    return Value(value.kind, value.value) if value.is_numeric else None


def _absolute(value: Value) -> Value | None:
    if not value.is_numeric:
        return None
    number = value.value
    return Value(value.kind, number.copy_abs() if isinstance(number, Decimal) else abs(number))


def _rounded(rounding: Callable[[Any], Any], value: Value) -> Value | None:
    return Value(value.kind, rounding(value.value)) if value.is_numeric else None


# --- terms --------------------------------------------------------------------------------


def _same_term(left: Value, right: Value) -> Value:
    return boolean(left.text == right.text)


def _is_iri(value: Value) -> Value:
    return boolean(value.kind == IRI)


def _is_blank(value: Value) -> Value:
    return boolean(value.kind == BLANK)


def _is_literal(value: Value) -> Value:
    return boolean(value.is_literal)


def _is_numeric(value: Value) -> Value:
    return boolean(value.is_numeric)


def _str(value: Value) -> Value | None:
    if value.kind == IRI:
        return string(value.value)
    return string(value.lexical) if value.is_literal else None


def _lang(value: Value) -> Value | None:
    return string(value.language) if value.is_literal else None


def _datatype(value: Value) -> Value | None:
    return Value(IRI, value.datatype) if value.is_literal else None


def iri(value: Value, base: str | None = None) -> Value | None:
    """An IRI from a string, resolved against the base; an IRI is itself."""
    if value.kind == IRI:
        return value
    if value.kind != STRING or _NOT_IN_IRI.search(value.value):
        return None
    absolute = resolve(value.value, base)
    return Value(IRI, absolute) if is_absolute(absolute) else None


def _str_dt(lexical: Value, datatype: Value) -> Value | None:
    # a literal of rdf:langString cannot be without a language
    if lexical.kind != STRING or datatype.kind != IRI or datatype.value == RDF_LANG_STRING:
        return None
    return literal(lexical.value, datatype.value)


def _str_lang(lexical: Value, language: Value) -> Value | None:
    if lexical.kind != STRING or language.kind != STRING or _LANGUAGE.fullmatch(language.value) is None:
        return None
    return string(lexical.value, language.value.lower())


# --- strings ------------------------------------------------------------------------------


def _str_len(text: Value) -> Value | None:
    return Value(INTEGER, len(text.value)) if text.is_string else None


def _substr(source: Value, start: Value, length: Value | None = None) -> Value | None:
    """Characters at places p, counted from 1, with start <= p < start + length."""
    if not source.is_string or start.kind != INTEGER:
        return None
    if length is None:
        return string(source.value[max(start.value - 1, 0) :], source.language)
    if length.kind != INTEGER:
        return None
    end = max(start.value + length.value - 1, 0)
    return string(source.value[max(start.value - 1, 0) : end], source.language)


def _cased(change: Callable[[str], str], text: Value) -> Value | None:
    return string(change(text.value), text.language) if text.is_string else None


def _compatible(left: Value, right: Value) -> bool:
    """Whether the two may be arguments of one string function (17.4.3.1.2)."""
    if not left.is_string:
        return False
    return right.kind == STRING or (right.kind == LANGUAGE_STRING and left.language == right.language)


def _str_starts(text: Value, start: Value) -> Value | None:
    return boolean(text.value.startswith(start.value)) if _compatible(text, start) else None


def _str_ends(text: Value, end: Value) -> Value | None:
    return boolean(text.value.endswith(end.value)) if _compatible(text, end) else None


def _contains(text: Value, part: Value) -> Value | None:
    return boolean(part.value in text.value) if _compatible(text, part) else None


def _str_before(text: Value, part: Value) -> Value | None:
    if not _compatible(text, part):
        return None
    at = text.value.find(part.value)
    return string("") if at < 0 else string(text.value[:at], text.language)


def _str_after(text: Value, part: Value) -> Value | None:
    if not _compatible(text, part):
        return None
    at = text.value.find(part.value)
    return string("") if at < 0 else string(text.value[at + len(part.value) :], text.language)


def _encode_for_uri(text: Value) -> Value | None:
    return string(quote(text.value, safe="-_.~")) if text.is_string else None


def _concat(*texts: Value) -> Value | None:
    if not all(text.is_string for text in texts):
        return None
    languages = {text.language for text in texts}
    return string("".join(text.value for text in texts), languages.pop() if len(languages) == 1 else "")


def _lang_matches(tag: Value, language_range: Value) -> Value | None:
    """Basic filtering of RFC 4647; `*` is any tag but none."""
    if tag.kind != STRING or language_range.kind != STRING:
        return None
    if not tag.value:
        return boolean(False)
    wanted = language_range.value.lower()
    return boolean(wanted == "*" or f"{tag.value.lower()}-".startswith(f"{wanted}-"))


def regex(text: Value, pattern: Value, flags: Value | None = None, *, computed: bool = False) -> Value | None:
    compiled = _pattern(text, pattern, flags, computed)
    return None if compiled is None else boolean(compiled.search(text.value) is not None)


def replace(
    text: Value, pattern: Value, replacement: Value, flags: Value | None = None, *, computed: bool = False
) -> Value | None:
    compiled = _pattern(text, pattern, flags, computed)
    if compiled is None or replacement.kind != STRING:
        return None
    literally = flags is not None and "q" in flags.value
    try:
        return string(replace_matches(compiled, text.value, replacement.value, literally=literally), text.language)
    except PatternError:
        return None


def _pattern(text: Value, pattern: Value, flags: Value | None, computed: bool) -> re.Pattern[str] | None:
    if not text.is_string or pattern.kind != STRING or (flags is not None and flags.kind != STRING):
        return None
    try:
        return compile_pattern(pattern.value, "" if flags is None else flags.value, computed=computed)
    except PatternError:
        return None


def _hash(algorithm: Callable[..., Any], text: Value) -> Value | None:
    # no use for security, so allowed where the others are not
    if text.kind != STRING:
        return None
    return string(algorithm(text.value.encode(), usedforsecurity=False).hexdigest())


# --- dates and times ----------------------------------------------------------------------


def _moment(value: Value) -> Moment | None:
    """The moment of a dateTime; a date has its year, month, day and zone too, where XPath has them."""
    if value.kind == DATE_TIME or value.kind == DATE:
        moment: Moment = value.value
        return moment
    return None


def _date_part(name: str, value: Value) -> Value | None:
    moment = _moment(value)
    return None if moment is None else Value(INTEGER, getattr(moment, name))


def _time_part(kind: int, name: str, value: Value) -> Value | None:
    return Value(kind, getattr(value.value, name)) if value.kind == DATE_TIME else None


def _timezone(value: Value) -> Value | None:
    moment = _moment(value)
    if moment is None or moment.offset is None:
        return None
    return literal(zone_duration(moment.offset), f"{XSD}dayTimeDuration")


def _tz(value: Value) -> Value | None:
    moment = _moment(value)
    return None if moment is None else string(moment.zone)


# --- what depends on more than the arguments ----------------------------------------------


def _now(context: Context) -> Value:
    return literal(date_time(context.now), f"{XSD}dateTime")


def _rand(context: Context) -> Value:
    return Value(DOUBLE, random.random())


def _uuid(context: Context) -> Value:
    return Value(IRI, f"urn:uuid:{uuid4()}")


def _str_uuid(context: Context) -> Value:
    return string(str(uuid4()))


def _bnode(context: Context, label: Value | None = None) -> Value | None:
    """A fresh blank node; within one solution the same for the same string."""
    if label is None:
        return Value(BLANK, f"b{uuid4().hex}")
    if label.kind != STRING:
        return None
    return Value(BLANK, context.blank_nodes.setdefault(label.value, f"b{uuid4().hex}"))


def _bnode_of(node: Value, label: Value) -> Value | None:
    """The blank node of a string in a solution, which has a blank node of its own."""
    if label.kind != STRING:
        return None
    digest = hashlib.blake2b(f"{node.value} {label.value}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return Value(BLANK, f"b{digest}")


# --- casts --------------------------------------------------------------------------------


def _to_string(value: Value) -> Value | None:
    kind = value.kind
    if kind in (IRI, STRING):
        return string(value.value)
    if kind in (FLOAT, DOUBLE):
        return string(numeric.double_string(value.value, kind))
    if kind == DURATION:
        return string(value.lexical)
    if kind in (BLANK, LANGUAGE_STRING, ILL_TYPED, UNKNOWN):
        return None
    return string(canonical_lexical(kind, value.value))


def _parsed(kind: int, datatype: str, value: Value) -> Value | None:
    """The cast of a string: its text, whitespace at the ends aside, must be a lexical form."""
    result = literal(value.value.strip(_XML_SPACE), datatype)
    return Value(kind, result.value) if result.kind == kind else None


def _to_boolean(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(BOOLEAN, f"{XSD}boolean", value)
    if value.kind <= BOOLEAN:
        truth = effective_boolean_value(value)
        return None if truth is None else boolean(truth)
    return None


def _to_double(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(DOUBLE, f"{XSD}double", value)
    return Value(DOUBLE, numeric.as_double(value.value)) if value.kind <= BOOLEAN else None


def _to_float(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(FLOAT, f"{XSD}float", value)
    return Value(FLOAT, numeric.as_float(value.value)) if value.kind <= BOOLEAN else None


def _to_decimal(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(DECIMAL, f"{XSD}decimal", value)
    if value.kind > BOOLEAN or not math.isfinite(value.value):
        return None
    return Value(DECIMAL, Decimal(value.value))


def _to_integer(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(INTEGER, f"{XSD}integer", value)
    if value.kind > BOOLEAN or not math.isfinite(value.value):
        return None
    return Value(INTEGER, int(value.value))


def _to_derived_integer(datatype: str, low: int | None, high: int | None, value: Value) -> Value | None:
    integer = _to_integer(value)
    if integer is None or not in_range(integer.value, low, high):
        return None
    return Value(INTEGER, integer.value, datatype=datatype)


def _to_date_time(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(DATE_TIME, f"{XSD}dateTime", value)
    return Value(DATE_TIME, value.value) if _moment(value) is not None else None


def _to_date(value: Value) -> Value | None:
    if value.kind == STRING:
        return _parsed(DATE, f"{XSD}date", value)
    moment = _moment(value)
    return None if moment is None else Value(DATE, date_of(moment))


# --- the tables ---------------------------------------------------------------------------

#: What `BNODE(string)` is: a function of a blank node that stands for the solution, and of the string.
BNODE_OF: Final = "bnode-of"

#: Functions that depend on nothing but the values of their arguments; IRI, REGEX and REPLACE are beside.
FUNCTIONS: Final[dict[str, Function]] = {
    BNODE_OF: Function(_bnode_of, 2, 2),
    "=": Function(equals, 2, 2),
    "!=": Function(_differs, 2, 2),
    "<": Function(_less, 2, 2),
    "<=": Function(_less_or_equal, 2, 2),
    ">": Function(_greater, 2, 2),
    ">=": Function(_greater_or_equal, 2, 2),
    "+": Function(add, 2, 2),
    "-": Function(subtract, 2, 2),
    "*": Function(multiply, 2, 2),
    "/": Function(divide, 2, 2),
    "unary-": Function(_negate, 1, 1),
    "unary+": Function(_plus, 1, 1),
    "ABS": Function(_absolute, 1, 1),
    "CEIL": Function(partial(_rounded, numeric.ceil), 1, 1),
    "FLOOR": Function(partial(_rounded, numeric.floor), 1, 1),
    "ROUND": Function(partial(_rounded, numeric.round_half_up), 1, 1),
    "SAMETERM": Function(_same_term, 2, 2),
    "ISIRI": Function(_is_iri, 1, 1),
    "ISURI": Function(_is_iri, 1, 1),
    "ISBLANK": Function(_is_blank, 1, 1),
    "ISLITERAL": Function(_is_literal, 1, 1),
    "ISNUMERIC": Function(_is_numeric, 1, 1),
    "STR": Function(_str, 1, 1),
    "LANG": Function(_lang, 1, 1),
    "DATATYPE": Function(_datatype, 1, 1),
    "STRDT": Function(_str_dt, 2, 2),
    "STRLANG": Function(_str_lang, 2, 2),
    "STRLEN": Function(_str_len, 1, 1),
    "SUBSTR": Function(_substr, 2, 3),
    "UCASE": Function(partial(_cased, str.upper), 1, 1),
    "LCASE": Function(partial(_cased, str.lower), 1, 1),
    "STRSTARTS": Function(_str_starts, 2, 2),
    "STRENDS": Function(_str_ends, 2, 2),
    "CONTAINS": Function(_contains, 2, 2),
    "STRBEFORE": Function(_str_before, 2, 2),
    "STRAFTER": Function(_str_after, 2, 2),
    "ENCODE_FOR_URI": Function(_encode_for_uri, 1, 1),
    "CONCAT": Function(_concat, 0, None),
    "LANGMATCHES": Function(_lang_matches, 2, 2),
    "MD5": Function(partial(_hash, hashlib.md5), 1, 1),
    "SHA1": Function(partial(_hash, hashlib.sha1), 1, 1),
    "SHA256": Function(partial(_hash, hashlib.sha256), 1, 1),
    "SHA384": Function(partial(_hash, hashlib.sha384), 1, 1),
    "SHA512": Function(partial(_hash, hashlib.sha512), 1, 1),
    "YEAR": Function(partial(_date_part, "year"), 1, 1),
    "MONTH": Function(partial(_date_part, "month"), 1, 1),
    "DAY": Function(partial(_date_part, "day"), 1, 1),
    "HOURS": Function(partial(_time_part, INTEGER, "hour"), 1, 1),
    "MINUTES": Function(partial(_time_part, INTEGER, "minute"), 1, 1),
    "SECONDS": Function(partial(_time_part, DECIMAL, "second"), 1, 1),
    "TIMEZONE": Function(_timezone, 1, 1),
    "TZ": Function(_tz, 1, 1),
    f"<{XSD_STRING}>": Function(_to_string, 1, 1),
    f"<{XSD}boolean>": Function(_to_boolean, 1, 1),
    f"<{XSD}double>": Function(_to_double, 1, 1),
    f"<{XSD}float>": Function(_to_float, 1, 1),
    f"<{XSD}decimal>": Function(_to_decimal, 1, 1),
    f"<{XSD}integer>": Function(_to_integer, 1, 1),
    f"<{XSD}dateTime>": Function(_to_date_time, 1, 1),
    f"<{XSD}date>": Function(_to_date, 1, 1),
    **{
        f"<{datatype}>": Function(partial(_to_derived_integer, datatype, low, high), 1, 1)
        for datatype, (low, high) in DERIVED_INTEGERS.items()
    },
}

#: Functions whose first argument is the context, and whose results are not the same from call to call.
CONTEXT_FUNCTIONS: Final[dict[str, Function]] = {
    "NOW": Function(_now, 0, 0),
    "RAND": Function(_rand, 0, 0),
    "UUID": Function(_uuid, 0, 0),
    "STRUUID": Function(_str_uuid, 0, 0),
    "BNODE": Function(_bnode, 0, 1),
}
