"""The order of terms for ORDER BY, MIN and MAX (section 15.1), made total.

No value, then blank nodes, then IRIs, then literals. Among literals, those of one kind that `<`
compares go by value; kinds go by name, and what is still equal goes by text, so that every
sequence, and every slice of one, is determined by the solutions alone.
"""

from __future__ import annotations

from functools import cmp_to_key

from spectra.oracle import numbers
from spectra.oracle.functions import apply
from spectra.oracle.numbers import number
from spectra.oracle.terms import FALSE, TRUE, XSD, is_blank, is_iri, literal

_BY_VALUE = {XSD + "boolean", XSD + "dateTime"}


def _rank(text: str | None) -> tuple[int, str]:
    if text is None:
        return (0, "")
    if is_blank(text):
        return (1, "")
    if is_iri(text):
        return (2, "")
    if number(text) is not None:
        return (3, "")
    parts = literal(text)
    assert parts is not None
    if parts.datatype == XSD + "string":
        return (4, "")
    return (5, parts.datatype)


def compare_terms(left: str | None, right: str | None) -> int:
    """-1, 0 or 1 by value; 0 also where the order of the values is not determined."""
    rank, other = _rank(left), _rank(right)
    if rank != other:
        return -1 if rank < other else 1
    if left is None or right is None or left == right:
        return 0
    a, b = number(left), number(right)
    if a is not None and b is not None:
        order = numbers.compare(a, b)
        if order is None:  # NaN comes first
            return int(a.value == a.value) - int(b.value == b.value)
        return order
    if rank[0] == 5 and rank[1] in _BY_VALUE:
        less, more = apply("<", [(left, right), (right, left)])
        return -1 if less == TRUE else 1 if more == TRUE else 0 if less == FALSE else _by_text(left, right)
    if rank[0] == 4:
        parts, others = literal(left), literal(right)
        assert parts is not None
        assert others is not None
        return _by_text(parts.lexical, others.lexical)
    return _by_text(left, right)


def _by_text(left: str, right: str) -> int:
    return (left > right) - (left < right)


#: A sort key by value alone: equal values are equal keys.
term_key = cmp_to_key(compare_terms)


def least(values: list[str]) -> str:
    return min(values, key=lambda text: (term_key(text), text))


def greatest(values: list[str]) -> str:
    return max(values, key=lambda text: (term_key(text), text))
