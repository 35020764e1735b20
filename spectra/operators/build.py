"""Physical plan -> operators, bound to the views of a query's graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.nodes import Source
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.holder import Holder
from spectra.errors import UnsupportedError
from spectra.operators.contract import UNBOUND, Operator
from spectra.operators.path.spath import SPath
from spectra.operators.pattern.recompute import Recompute
from spectra.operators.pattern.siblings import Siblings
from spectra.operators.pattern.tpjoin import TpJoin
from spectra.operators.relational.construct import Construct
from spectra.operators.relational.distinct import Distinct
from spectra.operators.relational.join import HashJoin
from spectra.operators.relational.stateless import Extend, Filter, Owned, Project, Union, Values
from spectra.planner import physical
from spectra.planner.division import owner
from spectra.planner.physical import PatternOperator, PhysicalPlan
from spectra.sparql.expressions import Compiled, Context, compile_expression
from spectra.sparql.syntax import Expression, Term, Variable
from spectra.views.view import WindowViews

#: Which of some term ids a shard owns.
_Owned = Callable[[NDArray[np.int32]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a consumer asks for beside the rows that enter: those that expire, and ends that move."""

    removals: bool
    extensions: bool


_ALL = Demand(removals=True, extensions=True)

_PATTERN: dict[PatternOperator, type[TpJoin] | type[Siblings] | type[Recompute]] = {
    "tpjoin": TpJoin,
    "siblings": Siblings,
    "recompute": Recompute,
}


def build(
    plan: PhysicalPlan,
    views: Mapping[Source, WindowViews],
    dictionary: Dictionary,
    holder: Holder,
    demand: Demand,
    base: str | None = None,
) -> Operator:
    """The operators of a plan. A count window's ends are no times, so there every removal is told."""
    return _Builder(views, dictionary, holder, base).build(plan, demand)


class _Builder:
    def __init__(
        self, views: Mapping[Source, WindowViews], dictionary: Dictionary, holder: Holder, base: str | None
    ) -> None:
        self._views = views
        self._dictionary = dictionary
        self._holder = holder
        self._base = base

    def build(self, plan: PhysicalPlan, demand: Demand) -> Operator:
        match plan:
            case physical.TpJoinPlan(source, scans, projected):
                views = self._views[source]
                return _PATTERN[plan.operator](
                    views,
                    [(self._end(s.subject), self._end(s.predicate), self._end(s.object)) for s in scans],
                    projected,
                    removals=demand.removals or views.counting,
                    extensions=demand.extensions,
                )
            case physical.SPathPlan():
                return self._spath(plan, demand, None)
            case physical.OwnedPlan(variable, shard, shards, physical.SPathPlan(root=Variable(root)) as path) if (
                root == variable
            ):
                return self._spath(path, demand, self._owned(shard, shards))
            case physical.OwnedPlan(variable, shard, shards, inner):
                return Owned(self.build(inner, demand), variable, self._owned(shard, shards))
            case physical.HashJoinPlan(left, right, certain):
                return HashJoin(self.build(left, _ALL), self.build(right, _ALL), certain)
            case physical.FilterPlan(condition, inner):
                source_operator = self.build(inner, demand)
                compiled = self._compiled(condition, "FILTER")
                reads = [name for name in compiled.variables if name in source_operator.variables]
                return Filter(source_operator, reads, self._condition(compiled, reads))
            case physical.ExtendPlan(variable, expression, inner):
                source_operator = self.build(inner, demand)
                compiled = self._compiled(expression, "BIND")
                reads = [name for name in compiled.variables if name in source_operator.variables]
                hold = self._holder.hold if demand.removals else None
                return Extend(source_operator, variable, reads, self._computation(compiled, reads), hold)
            case physical.UnionPlan(parts):
                return Union([self.build(part, demand) for part in parts])
            case physical.ValuesPlan(values):
                rows = [
                    [UNBOUND if term is None else self._dictionary.constant(term) for term in row]
                    for row in values.rows
                ]
                return Values(values.names, np.array(rows, np.int32).reshape(len(rows), len(values.names)))
            case physical.ProjectPlan(names, inner):
                return Project(self.build(inner, demand), names)
            case physical.DistinctPlan(inner):
                return Distinct(self.build(inner, _ALL))
            case physical.ConstructPlan(template, inner):
                source_operator = self.build(inner, demand)
                terms = [
                    (self._end(triple.subject), self._end(triple.predicate), self._end(triple.object))
                    for triple in template
                ]
                return Construct(source_operator, terms, self._dictionary.text)

    def _spath(self, plan: physical.SPathPlan, demand: Demand, owned: _Owned | None) -> SPath:
        views = self._views[plan.source]
        return SPath(
            views,
            plan.dfa,
            self._end(plan.root),
            self._end(plan.target),
            self._dictionary.constant,
            empty=plan.empty,
            removals=demand.removals or views.counting,
            extensions=demand.extensions,
            owned=owned,
        )

    def _owned(self, shard: int, shards: int) -> _Owned:
        def owned(ids: NDArray[np.int32]) -> NDArray[np.bool_]:
            kept: NDArray[np.bool_] = owner(self._dictionary.hashes(ids), shards) == shard
            return kept

        return owned

    def _end(self, term: Term) -> int | str:
        return term.name if isinstance(term, Variable) else self._dictionary.constant(term)

    def _compiled(self, expression: Expression, clause: str) -> Compiled:
        compiled = compile_expression(expression, base=self._base)
        if not compiled.deterministic:
            raise UnsupportedError(
                f"{clause} with a value that changes by itself is not evaluated yet",
                detail="NOW, RAND, UUID, STRUUID and BNODE give another value at every evaluation.",
            )
        return compiled

    def _bindings(
        self, compiled: Compiled, reads: list[str], combinations: NDArray[np.int32]
    ) -> list[list[str | None]]:
        """The bindings of each combination, in the order in which the expression reads them."""
        ids = np.unique(combinations)
        # canonical, not as printed: "a"@EN and "a"@en are one term and must be equal in any expression
        texts = self._dictionary.canonical_texts(ids)
        text: dict[int, str | None] = dict(zip(ids.tolist(), texts, strict=True))
        text[UNBOUND] = None
        columns = [reads.index(name) if name in reads else -1 for name in compiled.variables]
        return [[text[row[column]] if column >= 0 else None for column in columns] for row in combinations.tolist()]

    def _condition(self, compiled: Compiled, reads: list[str]) -> Callable[[NDArray[np.int32]], NDArray[np.bool_]]:
        context = Context()

        def decide(combinations: NDArray[np.int32]) -> NDArray[np.bool_]:
            bindings = self._bindings(compiled, reads, combinations)
            return np.array([compiled.holds(row, context) for row in bindings], np.bool_)

        return decide

    def _computation(self, compiled: Compiled, reads: list[str]) -> Callable[[NDArray[np.int32]], NDArray[np.int32]]:
        context = Context()

        def compute(combinations: NDArray[np.int32]) -> NDArray[np.int32]:
            texts = [compiled.evaluate(row, context) for row in self._bindings(compiled, reads, combinations)]
            ids = [UNBOUND if text is None else self._dictionary.add(text) for text in texts]
            return np.array(ids, np.int32)

        return compute
