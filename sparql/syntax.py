"""The SPARQL 1.1 algebra as typed, frozen nodes: what a query says, before anything streams.

Names follow section 18 of the SPARQL 1.1 recommendation. A constant term is its canonical
N-Triples text (see `spectra.dictionary.terms`); a variable is a `Variable`. Blank nodes of a
pattern are variables whose name starts with `_:`, which no projection can name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Variable:
    name: str

    def __str__(self) -> str:
        return f"?{self.name}"


#: A variable, or the canonical N-Triples text of a constant.
Term = Variable | str


# --- property paths -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """One predicate, by its canonical text."""

    predicate: str


@dataclass(frozen=True, slots=True)
class InversePath:
    path: PathExpression


@dataclass(frozen=True, slots=True)
class SequencePath:
    parts: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class AlternativePath:
    parts: tuple[PathExpression, ...]


@dataclass(frozen=True, slots=True)
class ZeroOrMorePath:
    path: PathExpression


@dataclass(frozen=True, slots=True)
class OneOrMorePath:
    path: PathExpression


@dataclass(frozen=True, slots=True)
class ZeroOrOnePath:
    path: PathExpression


@dataclass(frozen=True, slots=True)
class RepeatPath:
    """`path{low,high}`; `high` is None for no upper bound."""

    path: PathExpression
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class NegatedPropertySet:
    """`!(forward|…|^backward|…)`; `forward` is None where only inverses are listed, and the other way round."""

    forward: tuple[str, ...] | None
    backward: tuple[str, ...] | None


PathExpression = (
    Link
    | InversePath
    | SequencePath
    | AlternativePath
    | ZeroOrMorePath
    | OneOrMorePath
    | ZeroOrOnePath
    | RepeatPath
    | NegatedPropertySet
)


# --- expressions --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    term: str


@dataclass(frozen=True, slots=True)
class Call:
    """An operator, a built-in or a cast applied to arguments.

    `function` is the operator's symbol (`=`, `<`, `&&`, `||`, `!`, `+`, `-`, `*`, `/`, `unary-`,
    `unary+`), the built-in's name in upper case (`REGEX`, `IF`, `COALESCE`, `IN`, `NOT IN`,
    `BOUND`, …), or the IRI of a cast or extension function as canonical text (`<…>`).
    The first argument of IN and NOT IN is the value, the others the list.
    """

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    pattern: Pattern
    negated: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; `argument` is None for `COUNT(*)`."""

    function: str
    argument: Expression | None
    distinct: bool
    separator: str | None = None


Expression = Variable | Constant | Call | Exists | Aggregate


# --- graph patterns -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TriplePattern:
    subject: Term
    predicate: Term
    object: Term


@dataclass(frozen=True, slots=True)
class QuadPattern:
    """A triple of a CONSTRUCT template that goes into a named graph."""

    subject: Term
    predicate: Term
    object: Term
    graph: Term


#: What a CONSTRUCT template is made of.
TemplatePattern = TriplePattern | QuadPattern


def template_terms(pattern: TemplatePattern) -> tuple[Term, ...]:
    """Subject, predicate and object, then the graph if it is a named one."""
    triple = (pattern.subject, pattern.predicate, pattern.object)
    return (*triple, pattern.graph) if isinstance(pattern, QuadPattern) else triple


def template_variables(template: Iterable[TemplatePattern]) -> tuple[str, ...]:
    """The columns of what a template makes."""
    named = any(isinstance(pattern, QuadPattern) for pattern in template)
    return ("s", "p", "o", "g") if named else ("s", "p", "o")


@dataclass(frozen=True, slots=True)
class PathPattern:
    subject: Term
    path: PathExpression
    object: Term


@dataclass(frozen=True, slots=True)
class Bgp:
    """A basic graph pattern; triple patterns and path patterns in the order they were written."""

    patterns: tuple[TriplePattern | PathPattern, ...]


@dataclass(frozen=True, slots=True)
class Join:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """OPTIONAL; `condition` is None where the optional part has no filter of its own."""

    left: Pattern
    right: Pattern
    condition: Expression | None


@dataclass(frozen=True, slots=True)
class Union_:  # noqa: N801
    """UNION of two patterns (named so because `Union` is typing's)."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus:
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Filter:
    condition: Expression
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Graph:
    """`GRAPH name { … }` over the static named graphs, or inside a window over its events."""

    name: Term
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Windowed:
    """`WINDOW name { … }`; `name` is the window's IRI as canonical text, or a variable."""

    name: Term
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Extend:
    """BIND, and `(expression AS ?variable)` of a SELECT clause."""

    pattern: Pattern
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Values:
    """VALUES; an UNDEF is None."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[str | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """GROUP BY: each key, and each aggregate under a variable of its own, is a variable of the result."""

    pattern: Pattern
    keys: tuple[tuple[Variable, Expression], ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class OrderBy:
    pattern: Pattern
    keys: tuple[tuple[Expression, bool], ...]  # (expression, descending)


@dataclass(frozen=True, slots=True)
class Project:
    pattern: Pattern
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Reduced:
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Slice:
    pattern: Pattern
    offset: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Service:
    """Parsed so that it can be refused by name; Spectra never opens a connection."""

    name: Term
    silent: bool


Pattern = (
    Bgp
    | Join
    | LeftJoin
    | Union_
    | Minus
    | Filter
    | Graph
    | Windowed
    | Extend
    | Values
    | Group
    | OrderBy
    | Project
    | Distinct
    | Reduced
    | Slice
    | Service
)
