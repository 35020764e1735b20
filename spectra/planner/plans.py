"""Physical plans: which operator takes whose solutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from spectra.algebra import nodes
from spectra.algebra.nodes import Source
from spectra.automata import Dfa
from spectra.sparql import syntax
from spectra.sparql.syntax import Expression, PathExpression, Term, Variable

#: The operators that match the scans of one graph together.
PatternOperator = Literal["tpjoin", "siblings", "recompute"]

#: The operators that find the pairs of a path.
PathOperator = Literal["spath", "rapq", "rspq", "columns", "condense", "landmark"]

#: What a caller may ask for where paths may repeat vertices.
PathChoice = Literal["auto", "spath", "rapq", "columns", "condense", "landmark"]


class _AsBelow:
    """A plan whose solutions have the variables of its input."""

    __slots__ = ()
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return self.input.variables


class _KeyedAsBelow:
    """A plan that gives no two equal solutions where its input does not."""

    __slots__ = ()
    input: PhysicalPlan

    @property
    def keyed(self) -> bool:
        return self.input.keyed


class _WithCopies:
    """A plan that may give equal solutions."""

    __slots__ = ()

    @property
    def keyed(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class TpJoinPlan:
    """Scans of one graph, matched together by an operator; `keyed` where no two solutions are equal.

    `lazy`: nothing is joined until every scan has a triple. `comparisons` are conditions between two of their variables
    that are evaluated inside the join.
    """

    source: Source
    scans: tuple[nodes.WScan, ...]
    variables: tuple[str, ...]
    operator: PatternOperator = "tpjoin"
    lazy: bool = True
    comparisons: tuple[syntax.Call, ...] = ()

    @property
    def keyed(self) -> bool:
        return set(self.variables) == {name for scan in self.scans for name in scan.variables}


@dataclass(frozen=True, slots=True)
class SPathPlan:
    """A path as Δ-trees that grow from `root` by `dfa`; `backward` where that is the path's object.

    `empty` says which terms the empty path matches: those of the graph, the constant at an end, none.
    """

    source: Source
    root: Term
    target: Term
    dfa: Dfa
    empty: Literal["none", "constant", "terms"]
    backward: bool
    path: PathExpression
    operator: PathOperator = "spath"

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(end.name for end in (self.root, self.target) if isinstance(end, Variable)))

    @property
    def keyed(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class DerivedPathPlan:
    """A path over the solutions of other plans: `inputs` has for each of `labels` its edges, each once."""

    path: SPathPlan
    labels: tuple[str, ...]
    inputs: tuple[PhysicalPlan, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.path.variables

    @property
    def keyed(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class HashJoinPlan(_WithCopies):
    left: PhysicalPlan
    right: PhysicalPlan
    certain: frozenset[str]

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.left.variables + self.right.variables))


@dataclass(frozen=True, slots=True)
class FilterPlan(_AsBelow, _KeyedAsBelow):
    condition: Expression
    input: PhysicalPlan


@dataclass(frozen=True, slots=True)
class ExtendPlan(_KeyedAsBelow):
    variable: str
    expression: Expression
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, self.variable)


@dataclass(frozen=True, slots=True)
class CopyPlan(_WithCopies):
    variable: str
    of: str
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, self.variable)


@dataclass(frozen=True, slots=True)
class EventGraphsPlan(_WithCopies):
    """The input's solutions over each graph of a window's events; `name` is a variable or the only graph's IRI."""

    source: Source
    name: Term
    time: str | None
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        name = (self.name.name,) if isinstance(self.name, Variable) else ()
        return (*self.input.variables, *name, *(() if self.time is None else (self.time,)))


@dataclass(frozen=True, slots=True)
class AntiJoinPlan(_WithCopies):
    left: PhysicalPlan
    right: PhysicalPlan
    keys: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.left.variables


@dataclass(frozen=True, slots=True)
class UnionPlan(_WithCopies):
    inputs: tuple[PhysicalPlan, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for plan in self.inputs for name in plan.variables))


@dataclass(frozen=True, slots=True)
class ValuesPlan(_WithCopies):
    values: nodes.Values

    @property
    def variables(self) -> tuple[str, ...]:
        return self.values.names


@dataclass(frozen=True, slots=True)
class NowPlan(_WithCopies):
    """The input's solutions with the time of the evaluation."""

    variable: str
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, self.variable)


@dataclass(frozen=True, slots=True)
class DrawnPlan(_WithCopies):
    """The input's solutions, told apart by their `label`, with values that each keeps while it is there."""

    label: str
    columns: tuple[tuple[str, str], ...]
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, *(name for name, _ in self.columns))


@dataclass(frozen=True, slots=True)
class OwnedPlan(_AsBelow, _KeyedAsBelow):
    """The input's solutions whose `variable` one of several shards owns, or that do not bind it."""

    variable: str
    shard: int
    shards: int
    input: PhysicalPlan


@dataclass(frozen=True, slots=True)
class ProjectPlan:
    variables: tuple[str, ...]
    input: PhysicalPlan

    @property
    def keyed(self) -> bool:
        return self.input.keyed and set(self.variables) >= set(self.input.variables)


@dataclass(frozen=True, slots=True)
class DistinctPlan(_AsBelow, _WithCopies):
    input: PhysicalPlan


@dataclass(frozen=True, slots=True)
class GroupPlan(_WithCopies):
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, syntax.Aggregate], ...]
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.keys, *(name for name, _ in self.aggregates))


@dataclass(frozen=True, slots=True)
class SlicePlan(_WithCopies):
    slice: nodes.Slice
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return self.slice.names


@dataclass(frozen=True, slots=True)
class FreshPlan(_WithCopies):
    labels: tuple[str, ...]
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, *self.labels)


@dataclass(frozen=True, slots=True)
class ConstructPlan(_WithCopies):
    template: tuple[syntax.TemplatePattern, ...]
    input: PhysicalPlan

    @property
    def variables(self) -> tuple[str, ...]:
        return syntax.template_variables(self.template)


@dataclass(frozen=True, slots=True)
class ImplicitPlan(_AsBelow, _WithCopies):
    """The set of all solutions that the input has had, less those that were deleted."""

    input: PhysicalPlan


PhysicalPlan = (
    TpJoinPlan
    | SPathPlan
    | DerivedPathPlan
    | HashJoinPlan
    | FilterPlan
    | ExtendPlan
    | CopyPlan
    | EventGraphsPlan
    | AntiJoinPlan
    | UnionPlan
    | ValuesPlan
    | NowPlan
    | DrawnPlan
    | OwnedPlan
    | ProjectPlan
    | DistinctPlan
    | GroupPlan
    | SlicePlan
    | FreshPlan
    | ConstructPlan
    | ImplicitPlan
)


def inputs(plan: PhysicalPlan) -> tuple[PhysicalPlan, ...]:
    """The plans below a plan."""
    match plan:
        case HashJoinPlan(left, right, _) | AntiJoinPlan(left, right, _):
            return left, right
        case UnionPlan(parts) | DerivedPathPlan(_, _, parts):
            return parts
        case TpJoinPlan() | SPathPlan() | ValuesPlan():
            return ()
        case _:
            return (plan.input,)


def with_inputs(plan: PhysicalPlan, changed: Callable[[PhysicalPlan], PhysicalPlan]) -> PhysicalPlan:
    """The same plan over other plans: what `changed` makes of those below it."""
    match plan:
        case HashJoinPlan(left, right, _) | AntiJoinPlan(left, right, _):
            return replace(plan, left=changed(left), right=changed(right))
        case UnionPlan(parts) | DerivedPathPlan(_, _, parts):
            return replace(plan, inputs=tuple(map(changed, parts)))
        case TpJoinPlan() | SPathPlan() | ValuesPlan():
            return plan
        case _:
            return replace(plan, input=changed(plan.input))


def sources(plan: PhysicalPlan) -> set[Source]:
    """The graphs that a plan reads."""
    match plan:
        case TpJoinPlan() | SPathPlan():
            return {plan.source}
        case EventGraphsPlan():
            return {plan.source, *sources(plan.input)}
        case _:
            return set().union(*(sources(below) for below in inputs(plan)))
