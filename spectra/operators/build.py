"""Physical plan -> operators, bound to the views of a query's graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.explain import path_text
from spectra.algebra.nodes import Source
from spectra.automata import is_conflict_free
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.holder import Holder
from spectra.errors import UnsupportedError
from spectra.operators.contract import UNBOUND, Operator
from spectra.operators.kernels.comparison import MAYBE, YES
from spectra.operators.path.rapq import RApq
from spectra.operators.path.rspq import PATH_BUDGET, RSpq
from spectra.operators.path.spath import SPath
from spectra.operators.pattern.recompute import Recompute
from spectra.operators.pattern.siblings import Siblings
from spectra.operators.pattern.tpjoin import TpJoin
from spectra.operators.relational.aggregates import SetFunction
from spectra.operators.relational.anti_join import AntiJoin
from spectra.operators.relational.construct import Construct
from spectra.operators.relational.distinct import Distinct
from spectra.operators.relational.fresh import Fresh
from spectra.operators.relational.group import Aggregated, Group, Terms
from spectra.operators.relational.implicit import Implicit
from spectra.operators.relational.join import HashJoin
from spectra.operators.relational.shared import Shared
from spectra.operators.relational.slice import Slice
from spectra.operators.relational.stateless import Copy, Extend, Filter, Owned, Project, Together, Union, Values
from spectra.planner import plans
from spectra.planner.conditions import Condition
from spectra.planner.division import owner
from spectra.planner.plans import PhysicalPlan
from spectra.sparql import syntax
from spectra.sparql.expressions import Compiled, Context, compile_expression
from spectra.sparql.syntax import Aggregate, Expression, Term, Variable
from spectra.views.view import WindowViews

#: Which of some term ids a shard owns.
_Owned = Callable[[NDArray[np.int32]], NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a consumer asks for beside the rows that enter: those that expire, and ends that move."""

    removals: bool
    extensions: bool


#: For each instant the last one that the same evaluation sees, None where that may be itself.
LastSeen = Callable[[NDArray[np.int64]], "NDArray[np.int64] | None"]

_ALL = Demand(removals=True, extensions=True)


def build(
    plan: PhysicalPlan,
    views: Mapping[Source, WindowViews],
    dictionary: Dictionary,
    holder: Holder,
    demand: Demand,
    base: str | None = None,
    last_seen: LastSeen | None = None,
    path_budget: int = PATH_BUDGET,
) -> Operator:
    """The operators of a plan. A count window's ends are no times, so there every removal is told.

    `last_seen` says which instants one evaluation sees together; `path_budget` is how many states simple paths
    may take at one instant.
    """
    if not _looks_at_instants(plan):
        last_seen = None
    return _Builder(views, dictionary, holder, base, last_seen, path_budget).build(plan, demand)


def _looks_at_instants(plan: PhysicalPlan) -> bool:
    """Whether an operator of the plan has work to do for each instant, not only for each delta."""
    costly = (plans.AntiJoinPlan, plans.GroupPlan, plans.SlicePlan)
    return isinstance(plan, costly) or any(_looks_at_instants(below) for below in plans.inputs(plan))


def _sides(comparison: syntax.Call) -> tuple[str, str, str]:
    """The names of two variables that are compared, and the operator between them."""
    left, right = comparison.arguments
    assert isinstance(left, Variable)
    assert isinstance(right, Variable)
    return left.name, comparison.function, right.name


class _Builder:
    def __init__(
        self,
        views: Mapping[Source, WindowViews],
        dictionary: Dictionary,
        holder: Holder,
        base: str | None,
        last_seen: LastSeen | None,
        path_budget: int,
    ) -> None:
        self._last_seen = last_seen
        self._path_budget = path_budget
        self._views = views
        self._dictionary = dictionary
        self._holder = holder
        self._base = base
        self._shared: list[tuple[PhysicalPlan, Shared]] = []

    def build(self, plan: PhysicalPlan, demand: Demand) -> Operator:
        """The operator of a plan; equal plans that are to tell everything are one operator with several readers."""
        alone = (plans.ProjectPlan, plans.CopyPlan, plans.ValuesPlan, plans.ImplicitPlan)
        if demand != _ALL or isinstance(plan, alone):
            return self._built(plan, demand)
        for known, shared in self._shared:
            if known == plan:
                return shared.reader()
        shared = Shared(self._built(plan, demand))
        self._shared.append((plan, shared))
        return shared.reader()

    def _built(self, plan: PhysicalPlan, demand: Demand) -> Operator:
        operator = self._operator(plan, demand)
        leaves = (plans.TpJoinPlan, plans.SPathPlan, plans.OwnedPlan)
        if self._last_seen is not None and isinstance(plan, leaves):
            return Together(operator, self._last_seen)
        return operator

    def _operator(self, plan: PhysicalPlan, demand: Demand) -> Operator:
        match plan:
            case plans.TpJoinPlan():
                return self._pattern(plan, demand)
            case plans.SPathPlan():
                return self._path(plan, demand, None)
            case plans.OwnedPlan(variable, shard, shards, plans.SPathPlan(root=Variable(root)) as path) if (
                root == variable
            ):
                return self._path(path, demand, self._owned(shard, shards))
            case plans.OwnedPlan(variable, shard, shards, inner):
                return Owned(self.build(inner, demand), variable, self._owned(shard, shards))
            case plans.HashJoinPlan(left, right, certain):
                return HashJoin(self.build(left, _ALL), self.build(right, _ALL), certain)
            case plans.FilterPlan(condition, inner):
                return self._filter(self.build(inner, demand), condition)
            case plans.ExtendPlan(variable, Variable(name), inner) if name in inner.variables:
                return Copy(self.build(inner, demand), variable, name)
            case plans.ExtendPlan(variable, expression, inner):
                source_operator = self.build(inner, demand)
                compiled = self._compiled(expression)
                reads = [name for name in compiled.variables if name in source_operator.variables]
                hold = self._holder.hold if demand.removals else None
                return Extend(source_operator, variable, reads, self._computation(compiled, reads), hold)
            case plans.CopyPlan(variable, of, inner):
                return Copy(self.build(inner, demand), variable, of)
            case plans.AntiJoinPlan(left, right, keys):
                return AntiJoin(self.build(left, _ALL), self.build(right, _ALL), keys)
            case plans.UnionPlan(parts):
                return Union([self.build(part, demand) for part in parts])
            case plans.ValuesPlan(values):
                rows = [
                    [UNBOUND if term is None else self._dictionary.constant(term) for term in row]
                    for row in values.rows
                ]
                return Values(values.names, np.array(rows, np.int32).reshape(len(rows), len(values.names)))
            case plans.ProjectPlan(names, inner):
                return Project(self.build(inner, demand), names)
            case plans.DistinctPlan(inner):
                return Distinct(self.build(inner, _ALL))
            case plans.ImplicitPlan(inner):
                return Implicit(Distinct(self.build(inner, _ALL)), self._holder.hold)
            case plans.GroupPlan(keys, aggregates, inner):
                source_operator = self.build(inner, _ALL)
                functions = [self._aggregated(name, aggregate, source_operator) for name, aggregate in aggregates]
                return Group(source_operator, keys, functions, self._terms())
            case plans.FreshPlan(labels, inner):
                return Fresh(self.build(inner, _ALL), labels, self._terms())
            case plans.SlicePlan(sliced, inner):
                return Slice(
                    self.build(inner, _ALL),
                    sliced.names,
                    sliced.keys,
                    sliced.offset,
                    sliced.limit,
                    self._dictionary.canonical_texts,
                    distinct=sliced.distinct,
                )
            case plans.ConstructPlan(template, inner):
                source_operator = self.build(inner, demand)
                terms = [
                    (self._end(triple.subject), self._end(triple.predicate), self._end(triple.object))
                    for triple in template
                ]
                return Construct(source_operator, terms, self._dictionary.text)

    def _pattern(self, plan: plans.TpJoinPlan, demand: Demand) -> Operator:
        views = self._views[plan.source]
        patterns = [(self._end(s.subject), self._end(s.predicate), self._end(s.object)) for s in plan.scans]
        removals, extensions = demand.removals or views.counting, demand.extensions
        match plan.operator:
            case "tpjoin":
                join = TpJoin(
                    views,
                    patterns,
                    plan.variables,
                    removals=removals,
                    extensions=extensions,
                    lazy=plan.lazy,
                    comparisons=[_sides(comparison) for comparison in plan.comparisons],
                    texts=self._dictionary.canonical_texts,
                )
                operator: Operator = join
                for comparison in plan.comparisons:
                    operator = Filter(operator, *self._comparison(comparison, join))
                return operator
            case "siblings":
                # it links every triple as it comes, and a value that some pattern lacks stops its search at once
                return Siblings(views, patterns, plan.variables, removals=removals, extensions=extensions)
            case "recompute":
                return Recompute(views, patterns, plan.variables, lazy=plan.lazy)

    def _path(self, plan: plans.SPathPlan, demand: Demand, owned: _Owned | None) -> Operator:
        views = self._views[plan.source]
        make: Callable[..., Operator] = SPath
        if plan.operator == "rapq":
            make = RApq
        elif plan.operator == "rspq" and is_conflict_free(plan.dfa):
            make = partial(RApq, simple=True)
        elif plan.operator == "rspq":
            make = partial(RSpq, budget=self._path_budget, label=path_text(plan.path))
        return make(
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

    def _terms(self) -> Terms:
        return Terms(self._dictionary.canonical_texts, self._dictionary.add_all, self._holder.hold)

    def _aggregated(self, name: str, aggregate: Aggregate, source: Operator) -> Aggregated:
        function = SetFunction(aggregate.function, aggregate.distinct, aggregate.separator)
        argument: str | tuple[str, ...] | None = None
        if isinstance(aggregate.argument, Variable):
            argument = aggregate.argument.name
        elif aggregate.distinct:
            argument = tuple(variable for variable in source.variables if not variable.startswith("_:"))
        return Aggregated(name, function, argument)

    def _compiled(self, expression: Expression) -> Compiled:
        compiled = compile_expression(expression, base=self._base)
        _check_steady(compiled, "BIND")
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

    def _filter(self, source: Operator, expression: Expression) -> Filter:
        condition = Condition(expression, self._base)
        _check_steady(condition, "FILTER")
        reads = [name for name in condition.variables if name in source.variables]

        def decide(combinations: NDArray[np.int32]) -> NDArray[np.bool_]:
            # canonical, not as printed: "a"@EN and "a"@en are one term and must be equal in any expression
            unbound = np.full(len(combinations), UNBOUND, np.int32)
            columns = [combinations[:, reads.index(name)] if name in reads else unbound for name in condition.variables]
            return condition.holds([self._dictionary.spans(column) for column in columns], len(combinations))

        return Filter(source, reads, decide)

    def _comparison(
        self, comparison: syntax.Call, join: TpJoin
    ) -> tuple[list[str], Callable[[NDArray[np.int32]], NDArray[np.bool_]]]:
        """The variables of a comparison, and what decides it for solutions of the join that has evaluated it."""
        left, function, right = _sides(comparison)
        condition = Condition(comparison, self._base)

        def decide(combinations: NDArray[np.int32]) -> NDArray[np.bool_]:
            verdicts = join.verdicts(combinations[:, 0], function, combinations[:, 1])
            held: NDArray[np.bool_] = verdicts == YES
            open_ = verdicts == MAYBE
            if open_.any():
                places = [(left, right).index(name) for name in condition.variables]
                columns = [self._dictionary.spans(combinations[open_, place]) for place in places]
                held[open_] = condition.holds(columns, int(open_.sum()))
            return held

        return [left, right], decide

    def _computation(self, compiled: Compiled, reads: list[str]) -> Callable[[NDArray[np.int32]], NDArray[np.int32]]:
        context = Context()

        def compute(combinations: NDArray[np.int32]) -> NDArray[np.int32]:
            texts = [compiled.evaluate(row, context) for row in self._bindings(compiled, reads, combinations)]
            ids = np.full(len(texts), UNBOUND, np.int32)
            known = [text is not None for text in texts]
            ids[known] = self._dictionary.add_all([text for text in texts if text is not None])
            return ids

        return compute


def _check_steady(expression: Compiled | Condition, clause: str) -> None:
    if not expression.deterministic:
        raise UnsupportedError(
            f"{clause} with a value that changes by itself is not evaluated yet",
            detail="NOW, RAND, UUID, STRUUID and BNODE give another value at every evaluation.",
        )
