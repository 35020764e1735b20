"""FILTER, BIND and SELECT expressions, compiled to functions on terms.

An expression becomes a tree of closures over parsed values; what function a node calls is decided
once, when it is compiled. Inside, and in `Compiled.evaluate`, None is an error of SPARQL's.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NoReturn, Protocol

from spectra.errors import InternalError, QueryError, UnsupportedError
from spectra.sparql.functions import CONTEXT_FUNCTIONS, FUNCTIONS, Context, Function, iri, regex, replace
from spectra.sparql.syntax import Aggregate, Call, Constant, Exists, Expression, Variable
from spectra.sparql.values import FALSE, TRUE, Value, boolean, effective_boolean_value, equal, value_of

__all__ = ["Compiled", "Context", "PatternTest", "compile_expression", "variables_of"]

#: Canonical texts in the order of `Compiled.variables`, None where unbound.
Bindings = Sequence["str | None"]

_Node = Callable[[Bindings, Context], "Value | None"]

#: The forms whose arguments are not all evaluated first: least and greatest number of arguments.
_FORMS: dict[str, tuple[int, int | None]] = {
    "&&": (2, None),
    "||": (2, None),
    "!": (1, 1),
    "IF": (3, 3),
    "COALESCE": (0, None),
    "IN": (1, None),
    "NOT IN": (1, None),
    "BOUND": (1, 1),
}
#: The functions that are built for each use: with the query's base, or for a pattern known beforehand.
_BUILT: dict[str, tuple[int, int | None]] = {
    "IRI": (1, 1),
    "URI": (1, 1),
    "REGEX": (2, 3),
    "REPLACE": (3, 4),
}


class PatternTest(Protocol):
    """Whether a pattern has a solution that agrees with these bindings of `variables`."""

    @property
    def variables(self) -> tuple[str, ...]: ...

    def __call__(self, bindings: Bindings, context: Context, /) -> bool: ...


class Compiled:
    """An expression, ready to be evaluated.

    Attributes
    ----------
    variables
        The names it reads, sorted; bindings are given in this order.
    deterministic
        Whether the result depends on the bindings alone, so that it may be kept for each.
    """

    __slots__ = ("_node", "deterministic", "variables")

    def __init__(self, node: _Node, variables: tuple[str, ...], deterministic: bool) -> None:
        self._node = node
        self.variables = variables
        self.deterministic = deterministic

    def evaluate(self, bindings: Bindings, context: Context) -> str | None:
        """The canonical text of the result, None on an error."""
        value = self._node(bindings, context)
        return None if value is None else value.text

    def holds(self, bindings: Bindings, context: Context) -> bool:
        """Whether the effective boolean value is true; an error is not."""
        value = self._node(bindings, context)
        return value is not None and effective_boolean_value(value) is True


def compile_expression(
    expression: Expression,
    *,
    base: str | None = None,
    exists: Callable[[Exists], PatternTest] | None = None,
) -> Compiled:
    """The expression as a function of its variables' bindings.

    Parameters
    ----------
    expression
        Aggregates are to be replaced by variables before.
    base
        What IRI and URI resolve against.
    exists
        Makes the test of an EXISTS; `NOT` is applied to its result here.
    """
    tests: dict[int, PatternTest] = {}
    names: set[str] = set()
    try:
        for part in _parts(expression):
            if isinstance(part, Variable):
                names.add(part.name)
            elif isinstance(part, Exists):
                if exists is None:
                    raise InternalError("EXISTS has no evaluator here")
                tests[id(part)] = exists(part)
                names.update(tests[id(part)].variables)
        variables = tuple(sorted(names))
        compiler = _Compiler({name: place for place, name in enumerate(variables)}, base, tests)
        node, _ = compiler.node(expression)
    except RecursionError:
        raise QueryError("expression is nested too deeply") from None
    return Compiled(node, variables, compiler.deterministic)


def variables_of(expression: Expression) -> tuple[str, ...]:
    """The names of the variables that an expression mentions outside of EXISTS, sorted."""
    return tuple(sorted({part.name for part in _parts(expression) if isinstance(part, Variable)}))


def _parts(expression: Expression) -> Iterator[Expression]:
    """The expression and all in it, patterns of EXISTS aside."""
    rest: list[Expression] = [expression]
    while rest:
        part = rest.pop()
        yield part
        if isinstance(part, Call):
            rest.extend(part.arguments)
        elif isinstance(part, Aggregate) and part.argument is not None:
            rest.append(part.argument)


class _Compiler:
    def __init__(self, places: dict[str, int], base: str | None, tests: dict[int, PatternTest]) -> None:
        self.places = places
        self.base = base
        self.tests = tests
        self.deterministic = True

    def node(self, expression: Expression) -> tuple[_Node, bool]:
        """The closure of an expression, and whether it is constant."""
        match expression:
            case Variable(name):
                return _variable(self.places[name]), False
            case Constant(term):
                return _constant(value_of(term)), True
            case Call(function, arguments):
                return self._call(function, arguments)
            case Exists():
                self.deterministic = False
                return self._exists(expression), False
            case Aggregate(function):
                raise InternalError(f"aggregate {function} reached an expression")

    def _call(self, name: str, arguments: tuple[Expression, ...]) -> tuple[_Node, bool]:
        if name in _FORMS:
            _check_count(name, len(arguments), *_FORMS[name])
            return self._form(name, arguments)
        if name in _BUILT:
            _check_count(name, len(arguments), *_BUILT[name])
            function = self._built(name, arguments)
        elif name in FUNCTIONS:
            function = FUNCTIONS[name].apply
            _check_count(name, len(arguments), FUNCTIONS[name].least, FUNCTIONS[name].most)
        elif name in CONTEXT_FUNCTIONS:
            return self._context_call(CONTEXT_FUNCTIONS[name], name, arguments), False
        else:
            _refuse(name)
        nodes, constant = self._nodes(arguments)
        return _folded(_strict(function, nodes), constant)

    def _nodes(self, arguments: Sequence[Expression]) -> tuple[tuple[_Node, ...], bool]:
        compiled = [self.node(argument) for argument in arguments]
        return tuple(node for node, _ in compiled), all(constant for _, constant in compiled)

    def _built(self, name: str, arguments: tuple[Expression, ...]) -> Callable[..., Value | None]:
        if name in ("IRI", "URI"):
            return partial(iri, base=self.base)
        # a pattern that the query's author did not write may come from anyone
        computed = not isinstance(arguments[1], Constant)
        return partial(regex if name == "REGEX" else replace, computed=computed)

    def _context_call(self, function: Function, name: str, arguments: tuple[Expression, ...]) -> _Node:
        _check_count(name, len(arguments), function.least, function.most)
        self.deterministic = False
        nodes, _ = self._nodes(arguments)
        return _in_context(function.apply, nodes)

    def _exists(self, expression: Exists) -> _Node:
        test = self.tests[id(expression)]
        places = tuple(self.places[name] for name in test.variables)
        negated = expression.negated

        def run(bindings: Bindings, context: Context) -> Value:
            return boolean(test([bindings[place] for place in places], context) is not negated)

        return run

    def _form(self, name: str, arguments: tuple[Expression, ...]) -> tuple[_Node, bool]:
        if name == "BOUND":
            return self._bound(arguments[0]), False
        if name in ("&&", "||"):
            arguments = _operands(name, arguments)
        nodes, constant = self._nodes(arguments)
        match name:
            case "&&":
                node = _connective(nodes, decisive=False)
            case "||":
                node = _connective(nodes, decisive=True)
            case "!":
                node = _not(nodes[0])
            case "IF":
                node = _if(*nodes)
            case "COALESCE":
                node = _coalesce(nodes)
            case "IN":
                node = _in(nodes[0], nodes[1:])
            case _:
                node = _not(_in(nodes[0], nodes[1:]))
        return _folded(node, constant)

    def _bound(self, argument: Expression) -> _Node:
        if not isinstance(argument, Variable):
            raise QueryError("BOUND takes a variable")
        place = self.places[argument.name]

        def run(bindings: Bindings, context: Context) -> Value:
            return boolean(bindings[place] is not None)

        return run


# --- what can be wrong with a call --------------------------------------------------------


def _check_count(name: str, count: int, least: int, most: int | None) -> None:
    if count >= least and (most is None or count <= most):
        return
    if most is None:
        expected = f"at least {least}"
    else:
        expected = str(least) if least == most else f"{least} to {most}"
    shown = name.removeprefix("unary")
    raise QueryError(f"{shown} has {count} argument{'' if count == 1 else 's'}", detail=f"It takes {expected}.")


def _refuse(name: str) -> NoReturn:
    if name.startswith("<"):
        raise UnsupportedError(
            f"unknown function {name}",
            hint="Use the built-in functions of SPARQL 1.1 and the casts of XML Schema.",
        )
    known = [*_FORMS, *_BUILT, *FUNCTIONS, *CONTEXT_FUNCTIONS]
    close = difflib.get_close_matches(name, known, 1)
    raise QueryError(f"unknown function {name}", hint=f"Did you mean {close[0]}?" if close else None)


# --- closures -----------------------------------------------------------------------------


def _variable(place: int) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        text = bindings[place]
        return None if text is None else value_of(text)

    return run


def _constant(value: Value | None) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        return value

    return run


def _folded(node: _Node, constant: bool) -> tuple[_Node, bool]:
    """What depends on nothing is evaluated here and now."""
    return (_constant(node((), Context())), True) if constant else (node, False)


def _strict(function: Callable[..., Value | None], nodes: tuple[_Node, ...]) -> _Node:
    """A function of all its arguments: an error in one is its error."""
    if len(nodes) == 1:
        return _unary(function, nodes[0])
    if len(nodes) == 2:
        return _binary(function, nodes[0], nodes[1])

    def run(bindings: Bindings, context: Context) -> Value | None:
        values = []
        for node in nodes:
            value = node(bindings, context)
            if value is None:
                return None
            values.append(value)
        return function(*values)

    return run


def _unary(function: Callable[[Value], Value | None], node: _Node) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        value = node(bindings, context)
        return None if value is None else function(value)

    return run


def _binary(function: Callable[[Value, Value], Value | None], left: _Node, right: _Node) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        first = left(bindings, context)
        if first is None:
            return None
        second = right(bindings, context)
        return None if second is None else function(first, second)

    return run


def _in_context(function: Callable[..., Value | None], nodes: tuple[_Node, ...]) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        values = [node(bindings, context) for node in nodes]
        return None if None in values else function(context, *values)

    return run


def _operands(name: str, arguments: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """The operands of a chain of one connective, in order; both are associative, errors included."""
    operands: list[Expression] = []
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if isinstance(argument, Call) and argument.function == name and len(argument.arguments) >= 2:
            rest.extend(reversed(argument.arguments))
        else:
            operands.append(argument)
    return tuple(operands)


def _connective(nodes: tuple[_Node, ...], *, decisive: bool) -> _Node:
    """`||` (true decides) and `&&` (false decides): one that decides outweighs an error."""
    decided = boolean(decisive)
    otherwise = boolean(not decisive)

    def run(bindings: Bindings, context: Context) -> Value | None:
        failed = False
        for node in nodes:
            value = node(bindings, context)
            truth = None if value is None else effective_boolean_value(value)
            if truth is decisive:
                return decided
            if truth is None:
                failed = True
        return None if failed else otherwise

    return run


def _not(node: _Node) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        value = node(bindings, context)
        truth = None if value is None else effective_boolean_value(value)
        return None if truth is None else boolean(not truth)

    return run


def _if(condition: _Node, then: _Node, otherwise: _Node) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        value = condition(bindings, context)
        truth = None if value is None else effective_boolean_value(value)
        if truth is None:
            return None
        return then(bindings, context) if truth else otherwise(bindings, context)

    return run


def _coalesce(nodes: tuple[_Node, ...]) -> _Node:
    def run(bindings: Bindings, context: Context) -> Value | None:
        for node in nodes:
            value = node(bindings, context)
            if value is not None:
                return value
        return None

    return run


def _in(node: _Node, members: tuple[_Node, ...]) -> _Node:
    """A member that is equal outweighs those that cannot be compared."""

    def run(bindings: Bindings, context: Context) -> Value | None:
        value = node(bindings, context)
        failed = False
        for member_node in members:
            member = member_node(bindings, context)
            same = None if value is None or member is None else equal(value, member)
            if same:
                return TRUE
            if same is None:
                failed = True
        return None if failed else FALSE

    return run
