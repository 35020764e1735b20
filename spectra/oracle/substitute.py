"""`substitute` of section 18.6: a pattern of EXISTS with the values of the solution put in."""

from __future__ import annotations

from spectra.sparql.syntax import (
    Aggregate,
    Bgp,
    Call,
    Constant,
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

Bindings = dict[str, str]


def substitute(pattern: Pattern, bindings: Bindings) -> Pattern:
    """The pattern with each bound variable replaced by its value.

    A variable that the pattern itself assigns (VALUES, BIND, a group's result) cannot be replaced;
    there the result is joined with its value. A sub-SELECT only knows the variables it projects.
    """
    if not bindings:
        return pattern

    def inside(part: Pattern) -> Pattern:
        return substitute(part, bindings)

    match pattern:
        case Bgp(patterns):
            return Bgp(tuple(_statement(statement, bindings) for statement in patterns))
        case Join(left, right):
            return Join(inside(left), inside(right))
        case LeftJoin(left, right, condition):
            replaced = None if condition is None else _expression(condition, bindings)
            return LeftJoin(inside(left), inside(right), replaced)
        case Union_(left, right):
            return Union_(inside(left), inside(right))
        case Minus(left, right):
            return Minus(inside(left), inside(right))
        case Filter(condition, inner):
            return Filter(_expression(condition, bindings), inside(inner))
        case Graph(name, inner):
            return Graph(_term(name, bindings), inside(inner))
        case Windowed(name, inner):
            return Windowed(_term(name, bindings), inside(inner))
        case Extend(inner, variable, expression):
            others = {name: value for name, value in bindings.items() if name != variable.name}
            extended = Extend(substitute(inner, others), variable, _expression(expression, others))
            return _joined(extended, (variable,), bindings)
        case Values(variables, _):
            return _joined(pattern, variables, bindings)
        case Group(_, keys, aggregates):
            results = tuple(variable for variable, _ in keys) + tuple(variable for variable, _ in aggregates)
            return _joined(pattern, results, bindings)
        case OrderBy(inner, keys):
            return OrderBy(inside(inner), tuple((_expression(key, bindings), down) for key, down in keys))
        case Project(inner, variables):
            names = {variable.name for variable in variables}
            return Project(
                substitute(inner, {name: value for name, value in bindings.items() if name in names}),
                variables,
            )
        case Distinct(inner):
            return Distinct(inside(inner))
        case Reduced(inner):
            return Reduced(inside(inner))
        case Slice(inner, offset, limit):
            return Slice(inside(inner), offset, limit)
        case Service():
            return pattern


def _joined(pattern: Pattern, variables: tuple[Variable, ...], bindings: Bindings) -> Pattern:
    bound = tuple(dict.fromkeys(variable for variable in variables if variable.name in bindings))
    if not bound:
        return pattern
    return Join(pattern, Values(bound, (tuple(bindings[variable.name] for variable in bound),)))


def _statement(statement: TriplePattern | PathPattern, bindings: Bindings) -> TriplePattern | PathPattern:
    subject, object_ = _term(statement.subject, bindings), _term(statement.object, bindings)
    if isinstance(statement, PathPattern):
        return PathPattern(subject, statement.path, object_)
    return TriplePattern(subject, _term(statement.predicate, bindings), object_)


def _term(term: Term, bindings: Bindings) -> Term:
    return bindings.get(term.name, term) if isinstance(term, Variable) else term


def _expression(expression: Expression, bindings: Bindings) -> Expression:
    match expression:
        case Variable(name):
            return Constant(bindings[name]) if name in bindings else expression
        case Call(function, arguments):
            return Call(function, tuple(_expression(argument, bindings) for argument in arguments))
        case Exists(pattern, negated):
            return Exists(substitute(pattern, bindings), negated)
        case Constant() | Aggregate():
            return expression
