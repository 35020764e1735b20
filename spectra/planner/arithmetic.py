"""Sums, differences and products of numbers for many rows at once, exactly where SPARQL is exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.kernels.numbers import A_DECIMAL, A_DOUBLE, AN_INTEGER, OTHER
from spectra.dictionary.spans import Spans
from spectra.errors import InternalError
from spectra.sparql import numeric
from spectra.sparql.expressions import variables_of
from spectra.sparql.syntax import Call, Constant, Expression, Variable
from spectra.sparql.values import Value, value_of

#: Whole numbers up to here are computed with, and places behind the point up to so many.
_LARGEST = 2.0**62
_MOST_PLACES = 9

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


class Computed(NamedTuple):
    """A number for each row: `kind` says which of the others has it, OTHER that none has.

    An integer or a decimal is a whole number of 10**-`places`.
    """

    kind: NDArray[np.int8]
    scaled: NDArray[np.int64]
    places: int
    double: NDArray[np.float64]


class _Scaled(NamedTuple):
    """Whole numbers of 10**-places, and which of them are what they should be."""

    numbers: NDArray[np.int64]
    places: int
    good: NDArray[np.bool_]


class _Column(NamedTuple):
    """The values of a variable, each as its kind says."""

    kind: NDArray[np.int8]
    scaled: _Scaled
    double: NDArray[np.float64]


class _Columns(NamedTuple):
    """The values of all variables, and for which rows they are all exact, or all doubles."""

    of: dict[str, _Column]
    rows: int
    exact: NDArray[np.bool_]
    doubles: NDArray[np.bool_]

    @property
    def integers(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = np.logical_and.reduce([column.kind == AN_INTEGER for column in self.of.values()])
        return found


class Arithmetic:
    """An expression of numbers that is computed by columns, for rows whose numbers are all exact or all doubles.

    `of` makes one where the expression is such.
    """

    def __init__(self, expression: Expression) -> None:
        self.variables = variables_of(expression)
        self._expression = expression
        self._exact, self._binary = _is_exact(expression), _is_binary(expression)
        self._integral = all(number.kind == numeric.INTEGER for number in _constants(expression))

    @classmethod
    def of(cls, expression: Expression) -> Arithmetic | None:
        """The computation of an expression, None where it is not made of numbers and what is done with them."""
        made = cls(expression)
        return made if made.variables and (made._exact or made._binary) else None

    def compute(self, columns: Sequence[Spans]) -> Computed:
        """The values, a column for each of `variables`."""
        read = _read_all(self.variables, columns)
        kind = np.full(read.rows, OTHER, np.int8)
        scaled = _Scaled(np.zeros(read.rows, np.int64), 0, np.zeros(read.rows, np.bool_))
        double = np.zeros(read.rows, np.float64)
        if self._exact and read.exact.any():
            scaled = _scaled(self._expression, read)
            good = read.exact & scaled.good
            kind[good] = A_DECIMAL
            kind[good & read.integers & self._integral] = AN_INTEGER
        if self._binary and read.doubles.any():
            with np.errstate(all="ignore"):
                double = _double(self._expression, read)
            kind[read.doubles] = A_DOUBLE
        return Computed(kind, scaled.numbers, scaled.places, double)


class Comparison:
    """A comparison of two such expressions, one of which may be a constant.

    `of` makes one where they are such.
    """

    def __init__(self, compare: Callable[[Any, Any], Any], left: Expression, right: Expression) -> None:
        self.variables = tuple(sorted({*variables_of(left), *variables_of(right)}))
        self._compare, self._sides = compare, (left, right)
        self._exact = all(map(_is_exact, self._sides))
        self._binary = all(_is_binary(side) or _is_number(side) for side in self._sides)

    @classmethod
    def of(cls, compare: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Comparison | None:
        """The comparison of two expressions, None where one of them is not made of numbers."""
        made = cls(compare, left, right)
        return made if made.variables and (made._exact or made._binary) else None

    def decide(self, columns: Sequence[Spans]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether it holds, and where that is known; a column for each of `variables`."""
        read = _read_all(self.variables, columns)
        decided = np.zeros(read.rows, np.bool_)
        known = np.zeros(read.rows, np.bool_)
        if self._exact and read.exact.any():
            left, right = (_scaled(side, read) for side in self._sides)
            places = max(left.places, right.places)
            left, right = _at(left, places), _at(right, places)
            known = read.exact & left.good & right.good
            decided[known] = self._compare(left.numbers, right.numbers)[known]
        if self._binary and read.doubles.any():
            with np.errstate(all="ignore"):
                sides = [_double(side, read) for side in self._sides]
                decided[read.doubles] = self._compare(*sides)[read.doubles]
            known |= read.doubles
        return decided, known


def _constants(expression: Expression) -> list[Value]:
    match expression:
        case Constant(term):
            return [value_of(term)]
        case Call(_, arguments):
            return [number for argument in arguments for number in _constants(argument)]
    return []


def _is_exact(expression: Expression) -> bool:
    """Whether integers and decimals stay exact, and digits few."""
    match expression:
        case Variable():
            return True
        case Constant(term):
            value = value_of(term)
            return value.kind in (numeric.INTEGER, numeric.DECIMAL) and _digits_of(value) is not None
        case Call("+" | "-" | "*" | "unary-", arguments):
            return all(map(_is_exact, arguments))
    return False


def _is_binary(expression: Expression) -> bool:
    """Whether each operation has a double among its operands where all variables are doubles."""
    match expression:
        case Variable():
            return True
        case Call("+" | "-" | "*" | "/", (left, right)):
            if _is_number(left) or _is_number(right):
                return _is_binary(right if _is_number(left) else left)
            return _is_binary(left) and _is_binary(right)
        case Call("unary-", (operand,)):
            return _is_binary(operand)
    return False


def _digits_of(value: Value) -> tuple[int, int] | None:
    """A number as a whole number of 10**-places and these, None where it has many of either."""
    number = Decimal(value.value).normalize(numeric.EXACT)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    places = max(0, -exponent)
    if places > _MOST_PLACES or abs(number) > 10**15:
        return None
    return int(number.scaleb(places, numeric.EXACT)), places


def _is_number(expression: Expression) -> bool:
    return isinstance(expression, Constant) and value_of(expression.term).is_numeric


def _read_all(variables: Sequence[str], columns: Sequence[Spans]) -> _Columns:
    read = dict(zip(variables, map(_read, columns), strict=True))
    kinds = [column.kind for column in read.values()]
    exact = np.logical_and.reduce([(kind == AN_INTEGER) | (kind == A_DECIMAL) for kind in kinds])
    doubles = np.logical_and.reduce([kind == A_DOUBLE for kind in kinds])
    return _Columns(read, len(columns[0]), exact, doubles)


def _read(spans: Spans) -> _Column:
    kind, digits, places, double = spans.digits()
    good = (kind == AN_INTEGER) | ((kind == A_DECIMAL) & (places <= _MOST_PLACES))
    most = int(places[good].max(initial=0))
    missing = np.where(good, most - places, 0)
    good &= np.abs(digits.astype(np.float64)) * 10.0**missing < _LARGEST
    return _Column(kind, _Scaled(digits * 10 ** missing.astype(np.int64), most, good), double)


def _at(scaled: _Scaled, places: int) -> _Scaled:
    """The same numbers with more places, where they are not too large for that."""
    more = places - scaled.places
    if not more:
        return scaled
    if more > 18:
        return _Scaled(scaled.numbers, places, scaled.good & (scaled.numbers == 0))
    good = scaled.good & (np.abs(scaled.numbers.astype(np.float64)) * 10.0**more < _LARGEST)
    return _Scaled(scaled.numbers * 10**more, places, good)


def _scaled(expression: Expression, columns: _Columns) -> _Scaled:
    match expression:
        case Variable(name):
            return columns.of[name].scaled
        case Constant(term):
            number, places = _digits_of(value_of(term)) or (0, 0)
            return _Scaled(np.full(columns.rows, number, np.int64), places, np.ones(columns.rows, np.bool_))
        case Call("unary-", (operand,)):
            inner = _scaled(operand, columns)
            return _Scaled(-inner.numbers, inner.places, inner.good)
        case Call(operation, (first, second)):
            left, right = _scaled(first, columns), _scaled(second, columns)
            if operation != "*":
                places = max(left.places, right.places)
                left, right = _at(left, places), _at(right, places)
            else:
                places = left.places + right.places
            apply = _OPERATIONS[operation]
            size = np.abs(apply(left.numbers.astype(np.float64), right.numbers.astype(np.float64)))
            return _Scaled(apply(left.numbers, right.numbers), places, left.good & right.good & (size < _LARGEST))
    raise InternalError(f"no arithmetic: {expression}")


def _double(expression: Expression, columns: _Columns) -> Any:
    match expression:
        case Variable(name):
            return columns.of[name].double
        case Constant(term):
            return numeric.as_double(value_of(term).value)
        case Call("unary-", (operand,)):
            return -_double(operand, columns)
        case Call(operation, (first, second)):
            return _OPERATIONS[operation](_double(first, columns), _double(second, columns))
    raise InternalError(f"no arithmetic: {expression}")
