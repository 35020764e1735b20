"""The SPARQL 1.1 answer of a pattern over a dataset, written after section 18 of the recommendation.

Nothing here is incremental or clever: multisets are lists of solutions, every operator is its
definition. A bound end is used to evaluate a path from there where that cannot change the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from spectra.errors import UnsupportedError
from spectra.oracle.aggregates import aggregate
from spectra.oracle.comparison import order_key
from spectra.oracle.dataset import Dataset, TripleSet
from spectra.oracle.expressions import Scope, Solution, truths, values
from spectra.oracle.multiset import Compatible, Solutions, canonical, join, minus
from spectra.oracle.paths import ends, inverse
from spectra.oracle.simple_paths import simple_ends
from spectra.oracle.substitute import substitute
from spectra.oracle.walk import walk
from spectra.sparql.syntax import (
    Bgp,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathExpression,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Service,
    Slice,
    Term,
    TriplePattern,
    Union_,
    Values,
    Variable,
    Windowed,
)


def evaluate(
    pattern: Pattern, dataset: Dataset, *, now: int = 0, base: str | None = None, simple: bool = False
) -> Solutions:
    """The multiset of solutions, in the order that ORDER BY asks for.

    `now` is the instant of the evaluation in milliseconds, for NOW(); `base` resolves IRI().
    What has no order by the query comes, under LIMIT and OFFSET, in the order of its texts. With
    `simple`, paths repeat no vertex.
    """
    return _Evaluation(dataset, dataset.default, dataset.named, now, base, simple).solutions(pattern)


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """D(G) of the recommendation: a dataset with its active graph."""

    dataset: Dataset
    active: TripleSet
    named: Mapping[str, TripleSet]
    now: int
    base: str | None
    simple: bool
    existing: dict[tuple[Pattern, frozenset[tuple[str, str]]], bool] = field(default_factory=dict)

    def solutions(self, pattern: Pattern) -> Solutions:
        match pattern:
            case Bgp(patterns):
                return self._bgp(patterns)
            case Join(left, right):
                return join(self.solutions(left), self.solutions(right))
            case LeftJoin(left, right, condition):
                return self._left_join(self.solutions(left), self.solutions(right), condition)
            case Union_(left, right):
                return self.solutions(left) + self.solutions(right)
            case Minus(left, right):
                return minus(self.solutions(left), self.solutions(right))
            case Filter(condition, inner):
                return self._filter(condition, self.solutions(inner))
            case Graph(name, inner):
                return self._graph(name, inner)
            case Windowed(name, inner):
                return self._windowed(name, inner)
            case Extend(inner, variable, expression):
                return self._extend(self.solutions(inner), variable, expression)
            case Values(variables, rows):
                return [
                    {variable.name: term for variable, term in zip(variables, row, strict=True) if term is not None}
                    for row in rows
                ]
            case Group():
                return self._group(pattern)
            case OrderBy(inner, keys):
                return self._order_by(self.solutions(inner), keys)
            case Project(inner, variables):
                names = [variable.name for variable in variables]
                return [
                    {name: solution[name] for name in names if name in solution} for solution in self.solutions(inner)
                ]
            case Distinct(inner):
                return list({frozenset(solution.items()): solution for solution in self.solutions(inner)}.values())
            case Reduced(inner):
                return self.solutions(inner)
            case Slice(inner, offset, limit):
                rows_in_order = self.solutions(inner)
                if not _is_ordered(inner):
                    rows_in_order.sort(key=canonical)
                return rows_in_order[offset:] if limit is None else rows_in_order[offset : offset + limit]
            case Service():
                raise UnsupportedError("SERVICE is never evaluated")

    def _within(self, active: TripleSet, named: Mapping[str, TripleSet]) -> _Evaluation:
        return _Evaluation(self.dataset, active, named, self.now, self.base, self.simple)

    # --- basic graph patterns --------------------------------------------------------------

    def _bgp(self, patterns: Sequence[TriplePattern | PathPattern]) -> Solutions:
        solutions: Solutions = [{}]
        for pattern in _connected_order(patterns):
            if isinstance(pattern, TriplePattern):
                solutions = [extended for solution in solutions for extended in self._triples(pattern, solution)]
            else:
                solutions = self._paths(pattern, solutions)
            if not solutions:
                break
        return solutions

    def _triples(self, pattern: TriplePattern, solution: Solution) -> Solutions:
        terms = (pattern.subject, pattern.predicate, pattern.object)
        found = []
        for triple in self.active.match(*(_value(term, solution) for term in terms)):
            extended = dict(solution)
            for term, value in zip(terms, triple, strict=True):
                if isinstance(term, Variable) and extended.setdefault(term.name, value) != value:
                    break
            else:
                found.append(extended)
        return found

    def _paths(self, pattern: PathPattern, solutions: Solutions) -> Solutions:
        known: dict[tuple[str | None, str | None], list[tuple[str, str]]] = {}
        found = []
        for solution in solutions:
            bound = (_value(pattern.subject, solution), _value(pattern.object, solution))
            pairs = known.get(bound)
            if pairs is None:
                pairs = known[bound] = self._pairs(pattern, *bound)
            for start, end in pairs:
                extended = dict(solution)
                if isinstance(pattern.subject, Variable):
                    extended[pattern.subject.name] = start
                if isinstance(pattern.object, Variable):
                    if extended.setdefault(pattern.object.name, end) != end:
                        continue
                found.append(extended)
        return found

    def _pairs(self, pattern: PathPattern, start: str | None, end: str | None) -> list[tuple[str, str]]:
        """The pairs of the path with these ends, None for any."""
        for term, value, other in (
            (pattern.subject, start, pattern.object),
            (pattern.object, end, pattern.subject),
        ):
            # a variable ranges over the terms of the graph, whatever another pattern bound it to, and
            # over a constant at the other end, which the empty path matches
            if isinstance(term, Variable) and value is not None and value not in self.active.nodes:
                if value != other:
                    return []
        path: PathExpression = pattern.path
        follow = simple_ends if self.simple else ends
        if start is not None:
            return [(start, other) for other in follow(self.active, path, start) if end is None or other == end]
        if end is not None:
            return [(other, end) for other in follow(self.active, inverse(path), end)]
        return [(node, other) for node in self.active.nodes for other in follow(self.active, path, node)]

    # --- the other patterns ----------------------------------------------------------------

    def _left_join(self, left: Solutions, right: Solutions, condition: Expression | None) -> Solutions:
        compatible = Compatible(right)
        merged = [
            (row, {**solution, **other})
            for row, solution in enumerate(left)
            for _, found in compatible.find(solution)
            for other in found
        ]
        if condition is not None:
            verdicts = truths(condition, [solution for _, solution in merged], self._scope())
            merged = [pair for pair, verdict in zip(merged, verdicts, strict=True) if verdict]
        extended = {row for row, _ in merged}
        alone = [solution for row, solution in enumerate(left) if row not in extended]
        return [solution for _, solution in merged] + alone

    def _filter(self, condition: Expression, solutions: Solutions) -> Solutions:
        verdicts = truths(condition, solutions, self._scope())
        return [solution for solution, verdict in zip(solutions, verdicts, strict=True) if verdict]

    def _extend(self, solutions: Solutions, variable: Variable, expression: Expression) -> Solutions:
        column = values(expression, solutions, self._scope())
        return [
            solution if value is None else {**solution, variable.name: value}
            for solution, value in zip(solutions, column, strict=True)
        ]

    def _graph(self, name: Term, inner: Pattern) -> Solutions:
        if not isinstance(name, Variable):
            graph = self.named.get(name)
            return [] if graph is None else self._within(graph, self.named).solutions(inner)
        found: Solutions = []
        for other, graph in self.named.items():
            found += join(self._within(graph, self.named).solutions(inner), [{name.name: other}])
        return found

    def _windowed(self, name: Term, inner: Pattern) -> Solutions:
        """As GRAPH, over the windows; GRAPH inside ranges over the graphs of the window's events."""
        windows = self.dataset.windows
        if not isinstance(name, Variable):
            window = windows.get(name)
            return [] if window is None else self._within(window.graph, window.events).solutions(inner)
        found: Solutions = []
        for other, window in windows.items():
            found += join(self._within(window.graph, window.events).solutions(inner), [{name.name: other}])
        return found

    def _group(self, group: Group) -> Solutions:
        solutions = self.solutions(group.pattern)
        scope = self._scope()
        columns = [values(expression, solutions, scope) for _, expression in group.keys]
        members: dict[tuple[str | None, ...], Solutions] = defaultdict(list)
        for row, solution in enumerate(solutions):
            members[tuple(column[row] for column in columns)].append(solution)
        if not group.keys and not members:
            members[()] = []
        found = []
        for key, rows in members.items():
            results = [(variable, value) for (variable, _), value in zip(group.keys, key, strict=True)]
            results += [(variable, aggregate(function, rows, scope)) for variable, function in group.aggregates]
            found.append({variable.name: value for variable, value in results if value is not None})
        return found

    def _order_by(self, solutions: Solutions, keys: Sequence[tuple[Expression, bool]]) -> Solutions:
        scope = self._scope()
        ordered = sorted(solutions, key=canonical)
        # sorting is stable, so the least significant key goes first
        for expression, descending in reversed(keys):
            column = values(expression, ordered, scope)
            rows = sorted(range(len(ordered)), key=lambda row: order_key(column[row]), reverse=descending)
            ordered = [ordered[row] for row in rows]
        return ordered

    # --- EXISTS ----------------------------------------------------------------------------

    def _scope(self) -> Scope:
        return Scope(self.now, self.base, self._exists, self.dataset.event_time)

    def _exists(self, exists: Exists, solution: Solution) -> bool:
        names = _variables(exists.pattern)
        bindings = {name: value for name, value in solution.items() if name in names}
        key = (exists.pattern, frozenset(bindings.items()))
        found = self.existing.get(key)
        if found is None:
            found = self.existing[key] = bool(self.solutions(substitute(exists.pattern, bindings)))
        return found != exists.negated


def _value(term: Term, solution: Solution) -> str | None:
    return solution.get(term.name) if isinstance(term, Variable) else term


def _connected_order(patterns: Sequence[TriplePattern | PathPattern]) -> list[TriplePattern | PathPattern]:
    """The patterns, each after one that it shares a variable with where there is one; joins commute."""
    waiting = list(patterns)
    bound: set[str] = set()
    ordered = []

    def rank(pattern: TriplePattern | PathPattern) -> tuple[int, bool]:
        terms = [pattern.subject, pattern.object]
        free = sum(isinstance(term, Variable) and term.name not in bound for term in terms)
        return (free, isinstance(pattern, PathPattern))

    while waiting:
        best = min(waiting, key=rank)
        waiting.remove(best)
        ordered.append(best)
        bound |= _variables(best)
    return ordered


@lru_cache(maxsize=10_000)
def _variables(node: object) -> frozenset[str]:
    """The names of all variables that occur in a node of the syntax."""
    return frozenset(part.name for part in walk(node) if isinstance(part, Variable))


def _is_ordered(pattern: Pattern) -> bool:
    """Whether the solutions come in an order that the query asks for."""
    while isinstance(pattern, (Project, Distinct, Reduced, Extend, Filter, Slice)):
        pattern = pattern.pattern
    return isinstance(pattern, OrderBy)
