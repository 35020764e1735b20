"""Logical nodes. Frozen, comparable, and they refuse to be built wrong.

Every node has `variables` (what its solutions may bind, in order) and `certain` (what every solution
binds). WSCAN, FILTER, UNION, PATTERN and PATH are the streaming graph algebra; the others are what
SPARQL has on top of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from spectra.errors import InternalError
from spectra.sparql.syntax import (
    Aggregate,
    Expression,
    PathExpression,
    TemplatePattern,
    Term,
    Variable,
    template_variables,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A graph to match: a window by its IRI, or a static graph ("" is the default graph).

    With `events`, each of the graphs of the window's events by itself, below an `EventGraphs`.
    """

    name: str
    static: bool = False
    events: bool = False


#: The variables of derived edges, in any order.
SUBJECT, OBJECT = Variable("_:s"), Variable("_:o")


@dataclass(frozen=True, slots=True)
class Derived:
    """A graph whose edges are the solutions of other plans: for each label one, over `SUBJECT` and `OBJECT`."""

    edges: tuple[tuple[str, Node], ...]

    def __post_init__(self) -> None:
        if any(set(node.variables) != {SUBJECT.name, OBJECT.name} for _, node in self.edges):
            raise InternalError("an edge has a subject and an object")


def _names(*terms: Term) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term.name for term in terms if isinstance(term, Variable)))


@dataclass(frozen=True, slots=True)
class WScan:
    """WSCAN: the triples of one graph that match a triple pattern."""

    source: Source
    subject: Term
    predicate: Term
    object: Term

    @property
    def variables(self) -> tuple[str, ...]:
        return _names(self.subject, self.predicate, self.object)

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.variables)


@dataclass(frozen=True, slots=True)
class Path:
    """PATH: the pairs of terms that a path of one graph connects, each pair once."""

    source: Source | Derived
    subject: Term
    path: PathExpression
    object: Term

    @property
    def variables(self) -> tuple[str, ...]:
        return _names(self.subject, self.object)

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(self.variables)


@dataclass(frozen=True, slots=True)
class Pattern:
    """PATTERN: the compatible combinations of all inputs; of none, the one empty solution.

    A PATTERN below another says what is joined first; a query's own plan has none.
    """

    inputs: tuple[Node, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for node in self.inputs for name in node.variables))

    @property
    def certain(self) -> frozenset[str]:
        return frozenset().union(*(node.certain for node in self.inputs))


@dataclass(frozen=True, slots=True)
class Filter:
    """FILTER: the solutions for which a condition holds."""

    condition: Expression
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return self.input.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain


@dataclass(frozen=True, slots=True)
class Union:
    """UNION: the solutions of all inputs, duplicates kept."""

    inputs: tuple[Node, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for node in self.inputs for name in node.variables))

    @property
    def certain(self) -> frozenset[str]:
        if not self.inputs:
            return frozenset()
        return frozenset.intersection(*(node.certain for node in self.inputs))


@dataclass(frozen=True, slots=True)
class Extend:
    """BIND: one more variable, computed from the others; unbound on an error."""

    variable: str
    expression: Expression
    input: Node

    def __post_init__(self) -> None:
        if self.variable in self.input.variables:
            raise InternalError(f"?{self.variable} is bound already")

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, self.variable)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain


@dataclass(frozen=True, slots=True)
class Copy:
    """One more column with the value of another, bound or not.

    It is an identity, not a variable: joins compare it as it is, unbound equal to unbound, so it counts as certain.
    """

    variable: str
    of: str
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, self.variable)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain | {self.variable}


@dataclass(frozen=True, slots=True)
class EventGraphs:
    """GRAPH inside WINDOW: the solutions over each graph of a window's events, with its name and its time.

    `name` is a variable, or the IRI of the only graph to look at; `time` is a variable, None where nobody asks.
    """

    source: Source
    name: Term
    time: str | None
    input: Node

    def __post_init__(self) -> None:
        if set(self._own) & set(self.input.variables):
            raise InternalError("a graph's name or time is bound in it already")

    @property
    def _own(self) -> tuple[str, ...]:
        return _names(self.name, *(() if self.time is None else (Variable(self.time),)))

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, *self._own)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain | frozenset(self._own)


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """The solutions of `left` for which `right` has none with the same `keys`; MINUS, NOT EXISTS, OPTIONAL."""

    left: Node
    right: Node
    keys: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.left.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.left.certain


@dataclass(frozen=True, slots=True)
class Values:
    """VALUES: a fixed bag of solutions; None is unbound."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(name for at, name in enumerate(self.names) if all(row[at] is not None for row in self.rows))


@dataclass(frozen=True, slots=True)
class Now:
    """NOW(): one more variable, the time of the evaluation."""

    variable: str
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, self.variable)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain | {self.variable}


@dataclass(frozen=True, slots=True)
class Drawn:
    """The solutions with values of their own: `columns` are (variable, RAND, UUID, STRUUID or BNODE)."""

    columns: tuple[tuple[str, str], ...]
    input: Node

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, *self.names)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain | frozenset(self.names)


@dataclass(frozen=True, slots=True)
class Project:
    """The solutions restricted to some variables, duplicates kept."""

    names: tuple[str, ...]
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.names)


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each solution once."""

    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return self.input.variables

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY: a solution for each combination of `keys`, with set functions of variables; none is `COUNT(*)`."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.keys, *(name for name, _ in self.aggregates))

    @property
    def certain(self) -> frozenset[str]:
        counts = frozenset(name for name, aggregate in self.aggregates if aggregate.function == "COUNT")
        return (self.input.certain & frozenset(self.keys)) | counts


@dataclass(frozen=True, slots=True)
class Slice:
    """ORDER BY, LIMIT, OFFSET: a stretch of the solutions in order, restricted to some variables.

    `keys` are variables with whether they count in descending order. With `distinct`, solutions that the
    restriction makes equal count once, at the place of the first.
    """

    names: tuple[str, ...]
    keys: tuple[tuple[str, bool], ...]
    distinct: bool
    offset: int
    limit: int | None
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return self.names

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain & frozenset(self.names)


@dataclass(frozen=True, slots=True)
class Fresh:
    """The solutions with new blank nodes, one for each label and each copy of a solution."""

    labels: tuple[str, ...]
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return (*self.input.variables, *self.labels)

    @property
    def certain(self) -> frozenset[str]:
        return self.input.certain | frozenset(self.labels)


@dataclass(frozen=True, slots=True)
class Construct:
    """The triples of a template, over the variables s, p, o, duplicates kept.

    A template with named graphs has the variable g too, which is unbound for triples of the default graph.
    """

    template: tuple[TemplatePattern, ...]
    input: Node

    @property
    def variables(self) -> tuple[str, ...]:
        return template_variables(self.template)

    @property
    def certain(self) -> frozenset[str]:
        return frozenset(("s", "p", "o"))


Node = (
    WScan
    | Path
    | Pattern
    | Filter
    | Union
    | Extend
    | Copy
    | EventGraphs
    | AntiJoin
    | Values
    | Now
    | Drawn
    | Project
    | Distinct
    | Group
    | Slice
    | Fresh
    | Construct
)


def children(node: Node) -> tuple[Node, ...]:
    """The inputs of a node."""
    match node:
        case Pattern(inputs) | Union(inputs):
            return inputs
        case AntiJoin(left, right):
            return left, right
        case Path(Derived(edges)):
            return tuple(edge for _, edge in edges)
        case WScan() | Path() | Values():
            return ()
        case _:
            return (node.input,)


def event_sources(node: Node) -> set[Source]:
    """The windows that are read event by event."""
    own = {node.source} if isinstance(node, EventGraphs) else set[Source]()
    return own.union(*(event_sources(child) for child in children(node)))


def with_children(node: Node, changed: Callable[[Node], Node]) -> Node:
    """The same node over other inputs: what `changed` makes of each."""
    match node:
        case Pattern(inputs) | Union(inputs):
            return replace(node, inputs=tuple(map(changed, inputs)))
        case AntiJoin(left, right):
            return replace(node, left=changed(left), right=changed(right))
        case Path(Derived(edges)):
            return replace(node, source=Derived(tuple((label, changed(edge)) for label, edge in edges)))
        case WScan() | Path() | Values():
            return node
        case _:
            return replace(node, input=changed(node.input))


def pattern_of(*nodes: Node) -> Node:
    """The PATTERN of several nodes, flattened; a single node stands for itself."""
    inputs: list[Node] = []
    for node in nodes:
        inputs += node.inputs if isinstance(node, Pattern) else (node,)
    return inputs[0] if len(inputs) == 1 else Pattern(tuple(inputs))
