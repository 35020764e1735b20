"""A plan as short indented text: for people, for golden files, for debugging."""

from __future__ import annotations

from spectra.algebra import nodes
from spectra.algebra.nodes import Derived, Node, Source
from spectra.sparql import syntax
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    PathExpression,
    RepeatPath,
    SequencePath,
    Variable,
    ZeroOrMorePath,
    ZeroOrOnePath,
    template_terms,
)


def explain(node: Node) -> str:
    """The plan, one node per line, inputs indented below what they feed."""
    return "\n".join(_lines(node, 0))


def _lines(node: Node, depth: int) -> list[str]:
    lines = [f"{'  ' * depth}{label(node)}"]
    for child in nodes.children(node):
        lines += _lines(child, depth + 1)
    return lines


def label(node: Node) -> str:
    """What a node does, on one line."""
    match node:
        case nodes.WScan(source, s, p, o):
            return f"WScan[{_term(s)} {_term(p)} {_term(o)}] {_source(source)}"
        case nodes.Path(source, s, path, o):
            return f"Path[{_term(s)} {path_text(path)} {_term(o)}] {_source(source)}"
        case nodes.Filter(condition, _):
            return f"Filter[{expression_text(condition)}]"
        case nodes.Extend(variable, expression, _):
            return f"Extend[?{variable} := {expression_text(expression)}]"
        case nodes.Copy(variable, of, _):
            return f"Copy[?{variable} of ?{of}]"
        case nodes.EventGraphs(source, name, time, _):
            columns = _term(name) if time is None else f"{_term(name)} ?{time}"
            return f"EventGraphs[{columns}] {_source(source)}"
        case nodes.AntiJoin(_, _, keys):
            return f"AntiJoin[{_names(keys)}]"
        case nodes.Group(keys, aggregates, _):
            values = [f"?{name} := {expression_text(aggregate)}" for name, aggregate in aggregates]
            return f"Group[{', '.join((_names(keys) or 'all', *values))}]"
        case nodes.Slice(names, order, distinct, offset, limit, _):
            order_keys = [f"{'DESC' if descending else 'ASC'}(?{name})" for name, descending in order]
            parts = [
                f"{'DISTINCT ' if distinct else ''}{_names(names)}",
                f"ORDER BY {' '.join(order_keys)}" if order_keys else "",
                f"OFFSET {offset}" if offset else "",
                "" if limit is None else f"LIMIT {limit}",
            ]
            return f"Slice[{' '.join(part for part in parts if part)}]"
        case nodes.Fresh(labels, _):
            return f"Fresh[{' '.join(labels)}]"
        case nodes.Values(names, rows):
            return f"Values[{_names(names)}] {len(rows)} rows"
        case nodes.Now(variable, _):
            return f"Now[?{variable}]"
        case nodes.Drawn(drawn, _):
            return f"Drawn[{', '.join(f'?{name} := {function}()' for name, function in drawn)}]"
        case nodes.Project(names, _):
            return f"Project[{_names(names)}]"
        case nodes.Construct(template, _):
            return f"Construct[{' . '.join(' '.join(map(_term, template_terms(pattern))) for pattern in template)}]"
        case _:
            return type(node).__name__


def _names(names: tuple[str, ...]) -> str:
    return " ".join(f"?{name}" for name in names)


def _term(term: syntax.Term) -> str:
    return str(term) if isinstance(term, Variable) else term


def _source(source: Source | Derived) -> str:
    if isinstance(source, Derived):
        return f"over {', '.join(name for name, _ in source.edges)}"
    if source.static:
        return f"static <{source.name}>" if source.name else "static"
    return f"each event of <{source.name}>" if source.events else f"<{source.name}>"


def path_text(path: PathExpression) -> str:
    """A path in SPARQL's syntax."""
    match path:
        case Link(predicate):
            return predicate
        case InversePath(inner):
            return f"^{_element(inner)}"
        case SequencePath(parts):
            return "/".join(_element(part) for part in parts)
        case AlternativePath(parts):
            return "|".join(_element(part) for part in parts)
        case ZeroOrMorePath(inner):
            return f"{_element(inner)}*"
        case OneOrMorePath(inner):
            return f"{_element(inner)}+"
        case ZeroOrOnePath(inner):
            return f"{_element(inner)}?"
        case RepeatPath(inner, low, high):
            bounds = f"{low}" if low == high else f"{low},{'' if high is None else high}"
            return f"{_element(inner)}{{{bounds}}}"
        case NegatedPropertySet(forward, backward):
            excluded = [*(forward or ()), *(f"^{predicate}" for predicate in backward or ())]
            return f"!({'|'.join(excluded)})"


def _element(path: PathExpression) -> str:
    text = path_text(path)
    return text if isinstance(path, (Link, NegatedPropertySet)) else f"({text})"


_INFIX = {"=", "!=", "<", ">", "<=", ">=", "&&", "||", "+", "-", "*", "/"}


def expression_text(expression: syntax.Expression) -> str:
    """An expression in SPARQL's syntax, with parentheses around every operator below another."""
    match expression:
        case Variable():
            return str(expression)
        case syntax.Constant(term):
            return term
        case syntax.Call(function, arguments):
            texts = [expression_text(argument) for argument in arguments]
            inner = [
                f"({text})" if isinstance(argument, syntax.Call) and argument.function in _INFIX else text
                for text, argument in zip(texts, arguments, strict=True)
            ]
            if function in _INFIX:
                return f" {function} ".join(inner)
            if function in ("!", "unary-", "unary+"):
                return f"{function[-1]}{inner[0]}"
            if function in ("IN", "NOT IN"):
                return f"{inner[0]} {function} ({', '.join(texts[1:])})"
            return f"{function}({', '.join(texts)})"
        case syntax.Exists(_, negated):
            return "NOT EXISTS { … }" if negated else "EXISTS { … }"
        case syntax.Aggregate(function, argument, distinct, _):
            inside = "*" if argument is None else expression_text(argument)
            return f"{function}({'DISTINCT ' if distinct else ''}{inside})"
