"""SPARQL expressions over many solutions at once, errors included (section 17)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spectra.clock import date_time
from spectra.errors import InternalError
from spectra.oracle.functions import apply, effective_boolean_value
from spectra.oracle.terms import TRUE, XSD, boolean_text, literal_text
from spectra.sparql.syntax import Aggregate, Call, Constant, Exists, Expression, Variable

#: Variable names to canonical texts; an unbound variable is absent.
Solution = dict[str, str]

#: The IRI of the extension function that gives the time of an event's graph.
EVENT_TIME = "<urn:spectra:time>"


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may look at besides its solution."""

    now: int
    base: str | None
    exists: Callable[[Exists, Solution], bool]
    event_time: Callable[[str], int | None]


def values(expression: Expression, solutions: Sequence[Solution], scope: Scope) -> list[str | None]:
    """The value of the expression for each solution, None for an error or an unbound variable."""
    match expression:
        case Variable(name):
            return [solution.get(name) for solution in solutions]
        case Constant(term):
            return [term] * len(solutions)
        case Exists():
            return [boolean_text(scope.exists(expression, solution)) for solution in solutions]
        case Call():
            return _call(expression, solutions, scope)
        case Aggregate():
            raise InternalError(f"{expression.function} outside of a group")


def truths(expression: Expression, solutions: Sequence[Solution], scope: Scope) -> list[bool | None]:
    """The effective boolean value for each solution, None for an error."""
    return [None if value is None else effective_boolean_value(value) for value in values(expression, solutions, scope)]


def _call(call: Call, solutions: Sequence[Solution], scope: Scope) -> list[str | None]:
    function = call.function if call.function.startswith("<") else call.function.upper()
    arguments = call.arguments
    match function:
        case "UNARY-" | "UNARY+":
            function = function.lower()
        case "BOUND":
            return [boolean_text(value is not None) for value in values(arguments[0], solutions, scope)]
        case "!":
            return [
                None if truth is None else boolean_text(not truth) for truth in truths(arguments[0], solutions, scope)
            ]
        case "&&" | "||":
            return _connective(function == "||", arguments, solutions, scope)
        case "IF":
            condition = truths(arguments[0], solutions, scope)
            yes, no = (values(argument, solutions, scope) for argument in arguments[1:])
            return [
                None if truth is None else yes[index] if truth else no[index] for index, truth in enumerate(condition)
            ]
        case "COALESCE":
            columns = [values(argument, solutions, scope) for argument in arguments]
            return [
                next((column[index] for column in columns if column[index] is not None), None)
                for index in range(len(solutions))
            ]
        case "IN" | "NOT IN":
            return _membership(function == "IN", arguments, solutions, scope)
        case "NOW":
            return [literal_text(date_time(scope.now), XSD + "dateTime")] * len(solutions)
        case "CONCAT" if not arguments:
            return ['""'] * len(solutions)
    columns = [values(argument, solutions, scope) for argument in arguments]
    if function == EVENT_TIME:
        return [None if name is None else _event_time(name, scope) for name in columns[0]]
    rows: dict[int, tuple[str, ...]] = {}
    for index in range(len(solutions)):
        row = tuple(value for column in columns if (value := column[index]) is not None)
        if len(row) == len(columns):
            rows[index] = row
    results: list[str | None] = [None] * len(solutions)
    for index, result in zip(rows, apply(function, list(rows.values()), scope.base), strict=True):
        results[index] = result
    return results


def _connective(
    decisive: bool, arguments: Sequence[Expression], solutions: Sequence[Solution], scope: Scope
) -> list[str | None]:
    """`||` (true decides) and `&&` (false decides): what decides wins over an error."""
    columns = [truths(argument, solutions, scope) for argument in arguments]
    results: list[str | None] = []
    for index in range(len(solutions)):
        row = [column[index] for column in columns]
        if decisive in row:
            results.append(boolean_text(decisive))
        else:
            results.append(None if None in row else boolean_text(not decisive))
    return results


def _membership(
    positive: bool, arguments: Sequence[Expression], solutions: Sequence[Solution], scope: Scope
) -> list[str | None]:
    member: list[str | None] = values(arguments[0], solutions, scope)
    results: list[str | None] = [None if value is None else boolean_text(not positive) for value in member]
    equals = [values(Call("=", (arguments[0], other)), solutions, scope) for other in arguments[1:]]
    for index in range(len(solutions)):
        row = [column[index] for column in equals]
        if TRUE in row:
            results[index] = boolean_text(positive)
        elif None in row:
            results[index] = None
    return results


def _event_time(name: str, scope: Scope) -> str | None:
    time = scope.event_time(name)
    return None if time is None else literal_text(date_time(time), XSD + "dateTime")
