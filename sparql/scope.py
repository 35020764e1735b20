"""Which variables a pattern makes visible (SPARQL 1.1, section 18.2.1)."""

from __future__ import annotations

from spectra.sparql.syntax import (
    Bgp,
    Distinct,
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
    Term,
    TriplePattern,
    Union_,
    Values,
    Variable,
    Windowed,
)


def visible(pattern: Pattern) -> frozenset[Variable]:
    """The in-scope variables of a pattern, blank nodes left out."""
    found: set[Variable] = set()
    todo: list[Pattern] = [pattern]
    while todo:
        match todo.pop():
            case Bgp(patterns):
                for part in patterns:
                    found.update(_variables(part.subject, part.object))
                    if isinstance(part, TriplePattern):
                        found.update(_variables(part.predicate))
            case Join(left, right) | Union_(left, right) | LeftJoin(left, right):
                todo += (left, right)
            case Minus(left):
                todo.append(left)
            case Graph(name, inner) | Windowed(name, inner):
                found.update(_variables(name))
                todo.append(inner)
            case Extend(inner, variable):
                found.add(variable)
                todo.append(inner)
            case Values(variables):
                found.update(variables)
            case Group(_, keys, aggregates):
                found.update(_variables(*(key for key, _ in keys), *(variable for variable, _ in aggregates)))
            case Project(_, variables):
                found.update(variables)
            case Filter(pattern=inner) | OrderBy(inner) | Distinct(inner) | Reduced(inner) | Slice(inner):
                todo.append(inner)
            case Service(name):
                found.update(_variables(name))
    return frozenset(found)


def _variables(*terms: Term) -> set[Variable]:
    return {term for term in terms if isinstance(term, Variable) and not term.name.startswith("_:")}
