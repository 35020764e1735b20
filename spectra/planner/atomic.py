"""Atomic filters (CGPM): the conditions that one triple decides, so that a triple that fails is never stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.explain import expression_text
from spectra.algebra.nodes import WScan
from spectra.dictionary.spans import Spans
from spectra.planner.conditions import Condition
from spectra.sparql.expressions import compile_expression, variables_of
from spectra.sparql.syntax import Aggregate, Call, Exists, Expression, Variable
from spectra.views.summary import AtomicFilter


@dataclass(frozen=True)
class TermFilter:
    """A condition on the terms at some places of a triple, which its variables have in this order."""

    condition: Expression
    places: tuple[int, ...]

    def holds(self, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        return _condition(self.condition).holds(columns, rows)

    def __str__(self) -> str:
        return expression_text(self.condition)


@lru_cache(maxsize=64)
def _condition(expression: Expression) -> Condition:
    """Beside the filter and not in it, so that filters can be sent to other processes."""
    return Condition(expression)


def atomic_filters(scan: WScan, conditions: Iterable[Expression]) -> frozenset[AtomicFilter]:
    """Those of the conditions that a triple of the scan decides by itself."""
    terms = (scan.subject, scan.predicate, scan.object)
    found: set[AtomicFilter] = set()
    for condition in conditions:
        names = variables_of(condition)
        if names and set(names) <= set(scan.variables):
            found.add(TermFilter(condition, tuple(terms.index(Variable(name)) for name in names)))
    return frozenset(found)


def decidable_conditions(condition: Expression) -> frozenset[Expression]:
    """The conditions that must all hold for this one to hold, as far as values of variables alone decide them."""
    if isinstance(condition, Call) and condition.function == "&&":
        # where one side is an error the solution does not pass, whatever the other side is
        return frozenset().union(*map(decidable_conditions, condition.arguments))
    return frozenset({condition} if _is_decidable(condition) else ())


def _is_decidable(condition: Expression) -> bool:
    parts = [condition]
    while parts:
        part = parts.pop()
        # an IRI is resolved against the base of the query
        if isinstance(part, (Exists, Aggregate)) or (isinstance(part, Call) and part.function in ("IRI", "URI")):
            return False
        if isinstance(part, Call):
            parts.extend(part.arguments)
    return compile_expression(condition).deterministic
