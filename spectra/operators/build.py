"""Physical plan -> operators, bound to the views of a query's graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.explain import path_text
from spectra.algebra.nodes import OBJECT, SUBJECT, Source
from spectra.automata import is_conflict_free
from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.holder import Holder
from spectra.operators.contract import UNBOUND, Operator
from spectra.operators.kernels.comparison import MAYBE, YES
from spectra.operators.measured import Measured
from spectra.operators.path.by_roots import ByRoots, OwnedRoots, part_of_roots
from spectra.operators.path.columns import Columns
from spectra.operators.path.condense import Condense
from spectra.operators.path.derived import DerivedPath
from spectra.operators.path.landmark import Landmark
from spectra.operators.path.rapq import RApq
from spectra.operators.path.rspq import PATH_BUDGET, RSpq
from spectra.operators.path.spath import SPath
from spectra.operators.pattern.recompute import Recompute
from spectra.operators.pattern.siblings import Siblings
from spectra.operators.pattern.tpjoin import TpJoin
from spectra.operators.relational.aggregates import SetFunction
from spectra.operators.relational.anti_join import AntiJoin
from spectra.operators.relational.computation import Computation
from spectra.operators.relational.construct import Construct
from spectra.operators.relational.distinct import Distinct
from spectra.operators.relational.drawn import Draw, Drawn
from spectra.operators.relational.event_graphs import EventGraphs
from spectra.operators.relational.fresh import Fresh
from spectra.operators.relational.group import Aggregated, Group, Terms, TextColumns
from spectra.operators.relational.implicit import Implicit
from spectra.operators.relational.join import HashJoin
from spectra.operators.relational.now import Evaluated, Now
from spectra.operators.relational.shared import Shared
from spectra.operators.relational.slice import Slice
from spectra.operators.relational.stateless import Copy, Extend, Filter, Owned, Project, Together, Union, Values
from spectra.planner import plans
from spectra.planner.arithmetic import Arithmetic
from spectra.planner.conditions import Condition
from spectra.planner.division import owner
from spectra.planner.plans import PhysicalPlan
from spectra.sparql import syntax
from spectra.sparql.expressions import Compiled, Context, compile_expression
from spectra.sparql.syntax import Aggregate, Expression, Term, Variable, template_terms
from spectra.views.graph_views import GraphViews
from spectra.views.view import WindowViews


@dataclass(frozen=True, slots=True)
class Demand:
    """What a consumer asks for beside the rows that enter: those that expire, and ends that move.

    `until_told`: of the ends that move, only those of rows that no evaluation has seen before.
    """

    removals: bool
    extensions: bool
    until_told: bool = False


#: For each instant the last one that the same evaluation sees, None where that may be itself.
LastSeen = Callable[[NDArray[np.int64]], "NDArray[np.int64] | None"]

_ALL = Demand(removals=True, extensions=True)


@dataclass(frozen=True, slots=True)
class Volatile:
    """What depends on more than data: the evaluations, and the operators that gave solutions their time or values."""

    evaluated: Evaluated
    now: list[Now] = field(default_factory=list)
    drawn: list[Drawn] = field(default_factory=list)


def build(
    plan: PhysicalPlan,
    views: Mapping[Source, WindowViews],
    dictionary: Dictionary,
    holder: Holder,
    demand: Demand,
    base: str | None = None,
    last_seen: LastSeen | None = None,
    path_budget: int = PATH_BUDGET,
    volatile: Volatile | None = None,
    cores: int = 1,
    measured: list[Measured] | None = None,
) -> Operator:
    """The operators of a plan. A count window's ends are no times, so there every removal is told.

    `last_seen` says which instants one evaluation sees together; `path_budget` is how many states simple paths
    may take at one instant. `volatile` gets the operators that remember what they drew. Paths between two variables are
    followed on so many `cores`. `measured` receives every operator with what it takes.
    """
    volatile = volatile or Volatile(Evaluated())
    # these have work to do for each instant, not only for each delta
    together = last_seen if _has(plan, (plans.AntiJoinPlan, plans.GroupPlan, plans.SlicePlan)) else None
    # and these must know what expired and what was deleted
    looked_at = None if _has(plan, (plans.ImplicitPlan,)) else last_seen
    if not _condenses(plan):
        demand = replace(demand, until_told=False)
    builder = _Builder(views, dictionary, holder, base, together, looked_at, path_budget, volatile, cores)
    builder.measured = measured
    return builder.build(plan, demand)


def _has(plan: PhysicalPlan, kinds: tuple[type[PhysicalPlan], ...]) -> bool:
    """Whether a plan is, or has below it, one of some kinds."""
    return isinstance(plan, kinds) or any(_has(below, kinds) for below in plans.inputs(plan))


def _condenses(plan: PhysicalPlan) -> bool:
    """Whether a path of the plan is found anew at every evaluation."""
    if isinstance(plan, plans.SPathPlan):
        return plan.operator == "condense"
    return any(map(_condenses, plans.inputs(plan)))


def _sides(comparison: syntax.Call) -> tuple[str, str, str]:
    """The names of two variables that are compared, and the operator between them."""
    left, right = comparison.arguments
    assert isinstance(left, Variable)
    assert isinstance(right, Variable)
    return left.name, comparison.function, right.name


class _Builder:
    measured: list[Measured] | None = None

    def __init__(
        self,
        views: Mapping[Source, WindowViews],
        dictionary: Dictionary,
        holder: Holder,
        base: str | None,
        together: LastSeen | None,
        looked_at: LastSeen | None,
        path_budget: int,
        volatile: Volatile,
        cores: int,
    ) -> None:
        self._volatile = volatile
        self._together = together
        self._looked_at = looked_at
        self._path_budget = path_budget
        self._cores = cores
        self._views = views
        self._dictionary = dictionary
        self._holder = holder
        self._base = base
        self._shared: list[tuple[PhysicalPlan, Shared]] = []

    def build(self, plan: PhysicalPlan, demand: Demand) -> Operator:
        """The operator of a plan; equal plans that are to tell everything are one operator with several readers."""
        if isinstance(plan, plans.DrawnPlan):  # all who read what was drawn read the same values
            demand = _ALL
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
        if self.measured is not None:
            operator = Measured(plan, operator)
            self.measured.append(operator)
        leaves = (
            plans.TpJoinPlan,
            plans.SPathPlan,
            plans.DerivedPathPlan,
            plans.OwnedPlan,
            plans.EventGraphsPlan,
        )
        if self._together is not None and isinstance(plan, leaves):
            return Together(operator, self._together)
        return operator

    def _operator(self, plan: PhysicalPlan, demand: Demand) -> Operator:
        match plan:
            case plans.TpJoinPlan():
                return self._pattern(plan, demand)
            case plans.SPathPlan():
                return self._path(plan, demand, None)
            case plans.DerivedPathPlan():
                return self._derived(plan, demand)
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
                compute = self._computation(compiled, reads)
                arithmetic = Arithmetic.of(expression)
                if arithmetic is not None and set(arithmetic.variables) <= set(reads):
                    compute = Computation(self._dictionary, arithmetic, reads, compute)
                return Extend(source_operator, variable, reads, compute, hold)
            case plans.CopyPlan(variable, of, inner):
                return Copy(self.build(inner, demand), variable, of)
            case plans.EventGraphsPlan():
                return self._event_graphs(plan)
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
                texts = TextColumns(self._dictionary.all_spans, self._dictionary.add_spans)
                return Group(source_operator, keys, functions, self._terms(), texts)
            case plans.NowPlan(variable, inner):
                ids, hold = self._dictionary.add_all, self._holder.hold
                now = Now(self.build(inner, _ALL), variable, self._volatile.evaluated, ids, hold)
                self._volatile.now.append(now)
                return now
            case plans.DrawnPlan(label, columns, inner):
                draws = {name: _draw(function) for name, function in columns}
                drawn = Drawn(self.build(inner, _ALL), label, draws, self._dictionary.add_all, self._holder.hold)
                self._volatile.drawn.append(drawn)
                return drawn
            case plans.FreshPlan(labels, inner):
                return Fresh(self.build(inner, _ALL), labels, self._terms())
            case plans.SlicePlan(sliced, inner):
                return Slice(
                    self.build(inner, _ALL),
                    sliced.names,
                    sliced.keys,
                    sliced.offset,
                    sliced.limit,
                    self._dictionary.all_spans,
                    distinct=sliced.distinct,
                )
            case plans.ConstructPlan(template, inner):
                source_operator = self.build(inner, demand)
                terms = [tuple(map(self._end, template_terms(pattern))) for pattern in template]
                return Construct(source_operator, plan.variables, terms, self._dictionary.text)

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

    def _path(self, plan: plans.SPathPlan, demand: Demand, owned: OwnedRoots | None) -> Operator:
        views = self._views[plan.source]
        make: Callable[..., Operator] = SPath
        if plan.operator == "rapq":
            make = RApq
        elif plan.operator == "columns":
            make = Columns
        elif plan.operator == "condense":
            make = partial(Condense, last_seen=self._looked_at)
            if demand.until_told and self._looked_at is not None:
                demand = replace(demand, extensions=False)
        elif plan.operator == "landmark":
            make = Landmark
        elif plan.operator == "rspq" and is_conflict_free(plan.dfa):
            make = partial(RApq, simple=True)
        elif plan.operator == "rspq":
            make = partial(RSpq, budget=self._path_budget, label=path_text(plan.path))
        make = partial(
            make,
            views,
            plan.dfa,
            self._end(plan.root),
            self._end(plan.target),
            self._dictionary.constant,
            empty=plan.empty,
            removals=demand.removals or views.counting,
            extensions=demand.extensions,
        )
        if self._cores == 1 or not isinstance(plan.root, Variable):
            return make(owned=owned)
        parts = range(self._cores)
        return ByRoots(views, [make(owned=part_of_roots(part, self._cores, owned)) for part in parts])

    def _apart(self) -> _Builder:
        """For operators that tell every instant by itself and share nothing with the others."""
        inner = copy(self)
        inner._together, inner._looked_at, inner._shared = None, None, []
        return inner

    def _event_graphs(self, plan: plans.EventGraphsPlan) -> Operator:
        views = self._views[plan.source]
        assert isinstance(views, GraphViews)
        # below it instants are those of the versions of graphs; nobody asks for what leaves after one, but a graph
        # enters triple by triple, and so ends move
        found = self._apart().build(plan.input, Demand(removals=False, extensions=True))
        return EventGraphs(found, views, self._end(plan.name), plan.time, self._dictionary.add_all, self._holder.hold)

    def _derived(self, plan: plans.DerivedPathPlan, demand: Demand) -> Operator:
        """A path over edges in views of their own."""
        # edges are told at the instants at which they change, since they expire by themselves
        inner = self._apart()
        columns = (SUBJECT.name, OBJECT.name)
        sources = [Project(inner.build(part, _ALL), columns) for part in plan.inputs]
        over = self._apart()
        over._views = {plan.path.source: WindowViews(any_order=True)}
        path = over._path(plan.path, demand, None)
        labels = [self._dictionary.constant(label) for label in plan.labels]
        return DerivedPath(sources, labels, over._views[plan.path.source], path)

    def _owned(self, shard: int, shards: int) -> OwnedRoots:
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
        return compile_expression(expression, base=self._base)

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


def _draw(function: str) -> Draw:
    """What makes new values of a function that gives another one each time."""
    compiled = compile_expression(syntax.Call(function, ()))

    def draw(count: int) -> list[str]:
        return [text for _ in range(count) if (text := compiled.evaluate((), Context())) is not None]

    return draw
