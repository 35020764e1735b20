"""Equality and order of terms: the operators of section 17.3, and the total order of ORDER BY."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cmp_to_key, lru_cache

from spectra.oracle import numbers
from spectra.oracle.numbers import number
from spectra.oracle.pyoxigraph_functions import ask
from spectra.oracle.terms import RDF_LANG_STRING, TRUE, XSD, is_blank, is_iri, literal, literal_text


class Space(IntEnum):
    """Value spaces, disjoint up to LANGUAGE_STRING, in the order in which ORDER BY puts them."""

    BLANK = 0
    IRI = 1
    NUMBER = 2
    BOOLEAN = 3
    STRING = 4
    DATE_TIME = 5
    DATE = 6
    DURATION = 7
    LANGUAGE_STRING = 8
    UNKNOWN = 9  # an unknown datatype, or not a lexical form of a known one


_SPACES = {"dateTime": Space.DATE_TIME, "date": Space.DATE, "dayTimeDuration": Space.DURATION}
_ORDERED = range(Space.NUMBER, Space.LANGUAGE_STRING)
_TRUE_OR_FALSE = {"false": False, "0": False, "true": True, "1": True}
_ZONE = re.compile(r"(Z|[+-]\d\d:\d\d)\Z")


@lru_cache(maxsize=100_000)
def space(text: str) -> Space:
    if is_blank(text):
        return Space.BLANK
    if is_iri(text):
        return Space.IRI
    if number(text) is not None:
        return Space.NUMBER
    parts = literal(text)
    assert parts is not None
    if parts.datatype == RDF_LANG_STRING:
        return Space.LANGUAGE_STRING
    name = parts.datatype.removeprefix(XSD)
    if name == "string":
        return Space.STRING
    if name == "boolean" and parts.lexical in _TRUE_OR_FALSE:
        return Space.BOOLEAN
    # what is no lexical form of its type does not compare with itself
    if name in _SPACES and ask("({} <= {})", [(text, text)]) == [TRUE]:
        return _SPACES[name]
    return Space.UNKNOWN


def equals(left: str, right: str) -> bool | None:
    """`=`; None for an error.

    Literals whose values lie in different known spaces are unequal, where RDFterm-equal alone would
    be an error; the W3C's own tests ask for that extension.
    """
    if space(left) == Space.NUMBER and space(right) == Space.NUMBER:
        return _compare(left, right) == 0
    if left == right:
        return True
    spaces = {space(left), space(right)}
    if len(spaces) > 1:
        # whatever an unknown literal denotes, it is no IRI, no blank node and has no language
        surely_not = spaces & {Space.BLANK, Space.IRI, Space.LANGUAGE_STRING}
        return None if Space.UNKNOWN in spaces and not surely_not else False
    if spaces <= {Space.BLANK, Space.IRI, Space.LANGUAGE_STRING}:
        return False
    order = _compare(left, right)
    return None if order is None else order == 0


def less(left: str, right: str, *, or_equal: bool = False) -> bool | None:
    """`<` or `<=`; None for an error."""
    if space(left) != space(right) or space(left) not in _ORDERED:
        return None
    order = _compare(left, right)
    if order is None:
        return False if space(left) == Space.NUMBER else None
    return order <= 0 if or_equal else order < 0


def _compare(left: str, right: str) -> int | None:
    """-1, 0 or 1 for two values of one space; None where they are in no order."""
    match space(left):
        case Space.NUMBER:
            a, b = number(left), number(right)
            assert a is not None
            assert b is not None
            return numbers.compare(a, b)
        case Space.BOOLEAN:
            truths = [_TRUE_OR_FALSE[_lexical(text)] for text in (left, right)]
            return truths[0] - truths[1]
        case Space.STRING:
            return _by_text(_lexical(left), _lexical(right))
        case Space.DATE_TIME | Space.DATE | Space.DURATION:
            before, after = ask("({} < {})", [(left, right), (right, left)])
            if before is None or after is None:
                return None
            return -1 if before == TRUE else 1 if after == TRUE else 0
    return None


def _lexical(text: str) -> str:
    parts = literal(text)
    assert parts is not None
    return parts.lexical


def _by_text(left: str, right: str) -> int:
    return (left > right) - (left < right)


def compare_for_order(left: str | None, right: str | None) -> int:
    """-1, 0 or 1 as ORDER BY sorts: no value, blank nodes, IRIs, literals; 0 only for equal values.

    Where SPARQL says nothing the order is that of the value spaces and then of the texts; NaN comes
    before other numbers, and a date without a zone is as if in UTC.
    """
    if left is None or right is None:
        return int(left is not None) - int(right is not None)
    ranks = space(left), space(right)
    if ranks[0] != ranks[1]:
        return -1 if ranks[0] < ranks[1] else 1
    order = _compare(_in_utc(left), _in_utc(right))
    if order is not None:
        return order
    if ranks[0] == Space.NUMBER:
        return int(not _is_nan(left)) - int(not _is_nan(right))
    return _by_parts(left, right)


def _in_utc(text: str) -> str:
    if space(text) not in (Space.DATE_TIME, Space.DATE):
        return text
    parts = literal(text)
    assert parts is not None
    return text if _ZONE.search(parts.lexical) else literal_text(parts.lexical + "Z", parts.datatype)


def _is_nan(text: str) -> bool:
    value = number(text)
    return value is not None and value.value != value.value


def _by_parts(left: str, right: str) -> int:
    """By datatype, lexical form and language of literals, by text of other terms."""
    parts, others = literal(left), literal(right)
    if parts is None or others is None:
        return _by_text(left, right)
    a, b = (parts.datatype, parts.lexical, parts.language), (others.datatype, others.lexical, others.language)
    return (a > b) - (a < b)


#: A sort key by value alone: equal values are equal keys.
order_key = cmp_to_key(compare_for_order)


def least(values: list[str]) -> str:
    """MIN; of equal values the one with the least text."""
    return min(values, key=lambda text: (order_key(text), text))


def greatest(values: list[str]) -> str:
    """MAX; of equal values the one with the greatest text."""
    return max(values, key=lambda text: (order_key(text), text))
