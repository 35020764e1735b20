"""Patterns read through a window without saying so: plain SPARQL's default graph, C-SPARQL's streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spectra.errors import Place, UnsupportedError
from spectra.sparql.syntax import (
    Aggregate,
    Bgp,
    Call,
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
    Pattern,
    Project,
    Reduced,
    Service,
    Slice,
    Union_,
    Values,
    Variable,
    Windowed,
)


def over_window(pattern: Pattern, name: str) -> Pattern:
    """Each basic graph pattern of the default graph inside `WINDOW name`; GRAPH and WINDOW as they are."""

    def leaf(node: Pattern) -> Pattern | None:
        match node:
            case Bgp(patterns):
                return Windowed(name, node) if patterns else node
            case Graph() | Windowed():
                return node
        return None

    return _rewrite(pattern, leaf)


def graphs_as_windows(pattern: Pattern, names: frozenset[str], place: Place | None) -> Pattern:
    """`GRAPH name` as `WINDOW name` where C-SPARQL's `FROM NAMED STREAM name` declares it."""

    def leaf(node: Pattern) -> Pattern | None:
        match node:
            case Graph(Variable() as variable):
                raise UnsupportedError(
                    f"GRAPH {variable} over FROM NAMED STREAM is not supported",
                    place=place,
                    hint=f"Write FROM NAMED WINDOW, and WINDOW {variable} {{ … }}.",
                )
            case Graph(str() as name, inner) if name in names:
                return Windowed(name, inner)
            case Windowed():
                return node
        return None

    return _rewrite(pattern, leaf)


def _rewrite(pattern: Pattern, leaf: Callable[[Pattern], Pattern | None]) -> Pattern:
    """The pattern with the nodes replaced for which `leaf` returns one, those of EXISTS included."""
    done = leaf(pattern)
    if done is not None:
        return done

    def inside(inner: Pattern) -> Pattern:
        return _rewrite(inner, leaf)

    def within(expression: Expression) -> Expression:
        return _rewrite_expression(expression, leaf)

    match pattern:
        case Join(left, right) | Union_(left, right) | Minus(left, right):
            return replace(pattern, left=inside(left), right=inside(right))
        case LeftJoin(left, right, condition):
            return LeftJoin(inside(left), inside(right), None if condition is None else within(condition))
        case Filter(condition, inner):
            return Filter(within(condition), inside(inner))
        case Extend(inner, variable, expression):
            return Extend(inside(inner), variable, within(expression))
        case Group(inner, keys, aggregates):
            return Group(
                inside(inner),
                tuple((key, within(expression)) for key, expression in keys),
                tuple((name, _rewrite_aggregate(aggregate, leaf)) for name, aggregate in aggregates),
            )
        case OrderBy(inner, keys_):
            return OrderBy(inside(inner), tuple((within(expression), down) for expression, down in keys_))
        case Project() | Distinct() | Reduced() | Slice() | Graph() | Windowed():
            return replace(pattern, pattern=inside(pattern.pattern))
        case Bgp() | Values() | Service():
            return pattern


def _rewrite_expression(expression: Expression, leaf: Callable[[Pattern], Pattern | None]) -> Expression:
    match expression:
        case Exists(pattern, negated):
            return Exists(_rewrite(pattern, leaf), negated)
        case Call(function, arguments):
            return Call(function, tuple(_rewrite_expression(argument, leaf) for argument in arguments))
        case Aggregate():
            return _rewrite_aggregate(expression, leaf)
    return expression


def _rewrite_aggregate(aggregate: Aggregate, leaf: Callable[[Pattern], Pattern | None]) -> Aggregate:
    if aggregate.argument is None:
        return aggregate
    return replace(aggregate, argument=_rewrite_expression(aggregate.argument, leaf))
