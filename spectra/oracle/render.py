"""Patterns back to SPARQL text, so that other evaluators can be asked the same question.

Every pattern becomes a group of its own, `{ … }`, so that the text is translated to the same
algebra whatever stands around it. `WINDOW` and `p{n,m}` are the only things in it that are not SPARQL 1.1.
"""

from __future__ import annotations

from spectra.errors import InternalError
from spectra.oracle.terms import literal_text
from spectra.sparql.syntax import (
    Aggregate,
    AlternativePath,
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
    InversePath,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedPropertySet,
    OneOrMorePath,
    OrderBy,
    PathExpression,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    RepeatPath,
    SequencePath,
    Service,
    Slice,
    Term,
    TriplePattern,
    Union_,
    Values,
    Variable,
    Windowed,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

_INFIX = {"=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/"}


def render_query(pattern: Pattern) -> str:
    """A SELECT query with the solutions of the pattern."""
    return _select(pattern) or f"SELECT * WHERE {render_pattern(pattern)}"


def render_pattern(pattern: Pattern) -> str:
    """The pattern as a group: text in braces."""
    return f"{{ {_inside(pattern)} }}"


def render_term(term: Term) -> str:
    """A term of a triple pattern; a variable that no projection can name is a blank node there."""
    if isinstance(term, Variable):
        return f"_:{_hidden(term)}" if term.name.startswith("_:") else str(term)
    return term


def _variable(variable: Variable) -> str:
    """A variable outside of triple patterns, where no blank node can stand."""
    return f"?{_hidden(variable)}" if variable.name.startswith("_:") else str(variable)


def _hidden(variable: Variable) -> str:
    letters = (letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):x}_" for letter in variable.name)
    return "hidden" + "".join(letters)


def render_path(path: PathExpression) -> str:
    """The path with every part in brackets, so that no precedence is needed."""
    match path:
        case Link(predicate):
            return predicate
        case InversePath(inner):
            return f"^({render_path(inner)})"
        case SequencePath(parts):
            return "/".join(f"({render_path(part)})" for part in parts)
        case AlternativePath(parts):
            return "|".join(f"({render_path(part)})" for part in parts)
        case ZeroOrMorePath(inner):
            return f"({render_path(inner)})*"
        case OneOrMorePath(inner):
            return f"({render_path(inner)})+"
        case ZeroOrOnePath(inner):
            return f"({render_path(inner)})?"
        case RepeatPath(inner, low, high):
            bounds = str(low) if low == high else f"{low},{'' if high is None else high}"
            return f"({render_path(inner)}){{{bounds}}}"
        case NegatedPropertySet(forward, backward):
            return f"!({'|'.join([*(forward or ()), *(f'^{predicate}' for predicate in backward or ())])})"


def render_expression(expression: Expression) -> str:
    match expression:
        case Variable():
            return _variable(expression)
        case Constant(term):
            return term
        case Exists(pattern, negated):
            return f"{'NOT ' if negated else ''}EXISTS {render_pattern(pattern)}"
        case Aggregate(function, argument, distinct, separator):
            inner = "*" if argument is None else render_expression(argument)
            scalar = "" if separator is None else f"; SEPARATOR = {literal_text(separator)}"
            return f"{function}({'DISTINCT ' if distinct else ''}{inner}{scalar})"
        case Call(function, arguments):
            texts = [render_expression(argument) for argument in arguments]
            if function in _INFIX:
                return f"({f' {function} '.join(texts)})"
            if function in ("!", "unary-", "unary+"):
                return f"({function[-1]} {texts[0]})"
            if function in ("IN", "NOT IN"):
                return f"({texts[0]} {function} ({', '.join(texts[1:])}))"
            return f"{function}({', '.join(texts)})"


def _inside(pattern: Pattern) -> str:
    match pattern:
        case Bgp(patterns):
            return " ".join(f"{_statement(statement)} ." for statement in patterns)
        case Join(left, right):
            return f"{render_pattern(left)} {render_pattern(right)}"
        case LeftJoin(left, right, condition):
            own_filter = "" if condition is None else f" FILTER ({render_expression(condition)})"
            return f"{render_pattern(left)} OPTIONAL {{ {render_pattern(right)}{own_filter} }}"
        case Union_(left, right):
            return f"{render_pattern(left)} UNION {render_pattern(right)}"
        case Minus(left, right):
            return f"{render_pattern(left)} MINUS {render_pattern(right)}"
        case Filter(condition, inner):
            return f"{render_pattern(inner)} FILTER ({render_expression(condition)})"
        case Graph(name, inner):
            return f"GRAPH {render_term(name)} {render_pattern(inner)}"
        case Windowed(name, inner):
            return f"WINDOW {render_term(name)} {render_pattern(inner)}"
        case Extend(inner, variable, expression):
            return f"{render_pattern(inner)} BIND ({render_expression(expression)} AS {_variable(variable)})"
        case Values(variables, rows):
            lines = " ".join(f"({' '.join('UNDEF' if term is None else term for term in row)})" for row in rows)
            return f"VALUES ({' '.join(map(_variable, variables))}) {{ {lines} }}"
        case Service():
            raise InternalError("SERVICE has no text to ask another evaluator")
        case _:
            return f"{{ {_select(pattern)} }}"


def _statement(statement: TriplePattern | PathPattern) -> str:
    verb = render_path(statement.path) if isinstance(statement, PathPattern) else render_term(statement.predicate)
    return f"{render_term(statement.subject)} {verb} {render_term(statement.object)}"


def _select(pattern: Pattern) -> str | None:
    """The query of a solution modifier with the modifiers below it that one SELECT can hold."""
    after = ""
    modifier = ""
    projection = "*"
    below = pattern
    if isinstance(below, Slice):
        limit = "" if below.limit is None else f" LIMIT {below.limit}"
        after = f"{limit} OFFSET {below.offset}"
        below = below.pattern
    if isinstance(below, (Distinct, Reduced)):
        modifier = "DISTINCT " if isinstance(below, Distinct) else "REDUCED "
        below = below.pattern
    if isinstance(below, Project):
        projection = " ".join(map(_variable, below.variables)) or "*"
        below = below.pattern
    if isinstance(below, OrderBy):
        keys = " ".join(
            f"{'DESC' if descending else 'ASC'}({render_expression(key)})" for key, descending in below.keys
        )
        after = f" ORDER BY {keys}{after}"
        below = below.pattern
    if below is pattern:
        return _grouped(below) if isinstance(below, Group) else None
    return f"SELECT {modifier}{projection} WHERE {render_pattern(below)}{after}"


def _grouped(group: Group) -> str:
    results = [_variable(variable) for variable, _ in group.keys]
    results += [_named(function, variable) for variable, function in group.aggregates]
    keys = " ".join(_variable(variable) if variable == key else _named(key, variable) for variable, key in group.keys)
    grouping = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {' '.join(results)} WHERE {render_pattern(group.pattern)}{grouping}"


def _named(expression: Expression, variable: Variable) -> str:
    return f"({render_expression(expression)} AS {_variable(variable)})"
