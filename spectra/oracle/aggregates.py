"""Set functions (section 18.5.1). The freedom SPARQL leaves is used up, so that answers compare.

SAMPLE is the least of the values in the order of ORDER BY; GROUP_CONCAT joins the strings in
the order of their texts. A value that is an error makes every function but COUNT and SAMPLE an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from spectra.errors import InternalError
from spectra.oracle import numbers
from spectra.oracle.comparison import greatest, least
from spectra.oracle.expressions import Scope, Solution, values
from spectra.oracle.functions import string_value
from spectra.oracle.numbers import Kind, Number, number, number_text
from spectra.oracle.terms import is_blank, literal_text
from spectra.sparql.syntax import Aggregate


def aggregate(function: Aggregate, solutions: Sequence[Solution], scope: Scope) -> str | None:
    """The value of a set function over one group, None for an error."""
    if function.argument is None:
        return _count_solutions(function.distinct, solutions)
    column = values(function.argument, solutions, scope)
    bound = [value for value in column if value is not None]
    if function.distinct:
        bound = list(dict.fromkeys(bound))
    name = function.function.upper()
    if name == "COUNT":
        return _integer(len(bound))
    if name == "SAMPLE":
        return least(bound) if bound else None
    if None in column:
        return None
    match name:
        case "SUM":
            return _sum(bound)
        case "AVG":
            return _average(bound)
        case "MIN":
            return least(bound) if bound else None
        case "MAX":
            return greatest(bound) if bound else None
        case "GROUP_CONCAT":
            return _group_concat(bound, " " if function.separator is None else function.separator)
    raise InternalError(f"no such set function: {function.function}")


def _integer(value: int) -> str:
    return number_text(Number(Kind.INTEGER, value))


def _count_solutions(distinct: bool, solutions: Sequence[Solution]) -> str:
    if not distinct:
        return _integer(len(solutions))
    # blank nodes of the pattern are no part of a solution
    visible = {frozenset(item for item in solution.items() if not is_blank(item[0])) for solution in solutions}
    return _integer(len(visible))


def _numbers(texts: list[str]) -> list[Number] | None:
    found = [number(text) for text in texts]
    kept = [value for value in found if value is not None]
    return kept if len(kept) == len(found) else None


def _sum(texts: list[str]) -> str | None:
    terms = _numbers(texts)
    return None if terms is None else number_text(numbers.total(terms))


def _average(texts: list[str]) -> str | None:
    terms = _numbers(texts)
    if terms is None:
        return None
    if not terms:
        return _integer(0)
    mean = numbers.arithmetic("/", numbers.total(terms), Number(Kind.INTEGER, len(terms)))
    return None if mean is None else number_text(mean)


def _group_concat(texts: list[str], separator: str) -> str | None:
    strings = [string_value(text) for text in texts]
    kept = [string for string in strings if string is not None]
    return literal_text(separator.join(sorted(kept))) if len(kept) == len(strings) else None
