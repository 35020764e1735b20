"""Conditions decided for many combinations of terms at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.spans import Spans
from spectra.planner.arithmetic import Comparison
from spectra.sparql.expressions import Context, compile_expression
from spectra.sparql.syntax import Call, Constant, Expression, Variable

#: Decisions that are kept for each condition.
_KEPT = 1 << 16

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Condition:
    """Whether an expression's effective boolean value is true; an error is not.

    A comparison of numbers with a constant is decided in a kernel, one of sums, differences and products by columns,
    `&&` and `||` by their parts, the rest by the expression, once for each combination of terms as long as its
    decision is kept.
    """

    def __init__(self, expression: Expression, base: str | None = None) -> None:
        compiled = compile_expression(expression, base=base)
        self.variables = compiled.variables
        self._holds = compiled.holds
        self._context = Context()
        self._known: dict[tuple[str, ...], bool] = {}
        self._comparison = _with_number(expression)
        self._arithmetic = _of_numbers(expression) if self._comparison is None else None
        self._parts: list[tuple[Condition, list[int]]] = []
        self._all = isinstance(expression, Call) and expression.function == "&&"
        if isinstance(expression, Call) and expression.function in ("&&", "||"):
            for part in expression.arguments:
                condition = Condition(part, base)
                self._parts.append((condition, [self.variables.index(name) for name in condition.variables]))

    def holds(self, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        """For each of so many rows; a column for each of `variables`."""
        if self._parts:
            return self._of_parts(columns, rows)
        if self._arithmetic is not None:
            decided, known = self._arithmetic.decide(columns)
            others = np.flatnonzero(~known)
            decided[others] = self._one_by_one([column.take(others) for column in columns], len(others))
            return decided
        if self._comparison is None:
            return self._one_by_one(columns, rows)
        compare, constant = self._comparison
        values, known = columns[0].numbers()
        holds: NDArray[np.bool_] = compare(values, constant)
        others = np.flatnonzero(~known)
        holds[others] = self._one_by_one([columns[0].take(others)], len(others))
        return holds

    def _of_parts(self, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        decided = np.full(rows, self._all)
        for part, reads in self._parts:
            open_ = np.flatnonzero(decided == self._all)
            decided[open_] = part.holds([columns[column].take(open_) for column in reads], len(open_))
        return decided

    def _one_by_one(self, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        texts = [column.texts() for column in columns]
        combinations = zip(*texts, strict=True) if texts else [()] * rows
        return np.fromiter(map(self._decided, combinations), np.bool_, rows)

    def _decided(self, texts: tuple[str, ...]) -> bool:
        known = self._known.get(texts)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            known = self._known[texts] = self._holds([text or None for text in texts], self._context)
        return known


def _of_numbers(expression: Expression) -> Comparison | None:
    """The comparison of two expressions of numbers."""
    match expression:
        case Call(function, (left, right)) if function in _COMPARISONS:
            return Comparison.of(_COMPARISONS[function], left, right)
    return None


def _with_number(expression: Expression) -> tuple[Callable[[Any, Any], Any], float] | None:
    """The comparison of a variable with a number, and the number."""
    match expression:
        case Call(function, (Variable(), Constant(term))) if function in _COMPARISONS:
            compare = _COMPARISONS[function]
        case Call(function, (Constant(term), Variable())) if function in _COMPARISONS:
            compare = _COMPARISONS[_TURNED[function]]
        case _:
            return None
    octets = np.frombuffer(bytearray(term.encode()), np.uint8)
    values, known = Spans(octets, np.zeros(1, np.int64), np.array([len(octets)], np.int32)).numbers()
    return (compare, float(values[0])) if known[0] else None
