"""Which paths of a query its results can name: those whose ends a solution says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from spectra.algebra.nodes import Source
from spectra.errors import QueryError, UnsupportedError
from spectra.sparql import syntax
from spectra.sparql.query import ContinuousQuery, Form
from spectra.sparql.syntax import InversePath, Link, PathExpression, Term, Variable


class WitnessedPath(NamedTuple):
    """A path pattern of the query and the graph that it is matched in."""

    source: Source
    subject: Term
    path: PathExpression
    object: Term


def witnessed_paths(query: ContinuousQuery) -> tuple[WitnessedPath, ...]:
    """The path patterns in the order of the query; refuses those whose ends its solutions do not tell."""
    place = query.places.get("PATHS")
    if query.form is not Form.SELECT:
        raise UnsupportedError(f"WITH PATHS is of SELECT, this is {query.form.value}", place=place)
    found = tuple(_paths(query, query.pattern, Source("", static=True)))
    if not found:
        raise QueryError("WITH PATHS in a query that has no path", place=place, hint="Leave it out.")
    return found


def _is_edge(path: PathExpression) -> bool:
    """Whether a path is a single predicate, either way: that is a triple pattern."""
    return isinstance(path, Link) or (isinstance(path, InversePath) and _is_edge(path.path))


def _check_ends(query: ContinuousQuery, path: WitnessedPath, told: tuple[Variable, ...]) -> None:
    for term in (path.subject, path.object):
        if isinstance(term, Variable) and term not in told:
            name = "a blank node" if term.name.startswith("_:") else f"?{term.name}"
            raise QueryError(
                f"WITH PATHS needs the ends of its paths in the answer, and {name} is not",
                place=query.places.get(f"?{term.name}", query.places.get("PATHS")),
                hint="Name it after SELECT.",
            )


def _paths(query: ContinuousQuery, pattern: syntax.Pattern, source: Source) -> Iterator[WitnessedPath]:
    match pattern:
        case syntax.Bgp(patterns):
            for part in patterns:
                if isinstance(part, syntax.PathPattern) and not _is_edge(part.path):
                    yield WitnessedPath(source, part.subject, part.path, part.object)
        case syntax.Join(left, right) | syntax.Union_(left, right) | syntax.LeftJoin(left, right):
            yield from _paths(query, left, source)
            yield from _paths(query, right, source)
        case syntax.Minus(left, _):
            yield from _paths(query, left, source)
        case syntax.Graph() if not source.static and any(_paths(query, pattern.pattern, source)):
            raise UnsupportedError(
                "WITH PATHS in the GRAPH of an event is not evaluated yet",
                place=query.places.get("GRAPH"),
                hint="Match the path in WINDOW, without GRAPH.",
            )
        case syntax.Windowed(name, inner) | syntax.Graph(name, inner):
            static = isinstance(pattern, syntax.Graph)
            if not isinstance(name, Variable):
                yield from _paths(query, inner, Source(name[1:-1], static=static))
            elif any(_paths(query, inner, source)):
                keyword = "GRAPH" if static else "WINDOW"
                raise UnsupportedError(
                    f"WITH PATHS in {keyword} ?{name.name} is not evaluated",
                    place=query.places.get(f"?{name.name}"),
                    hint="Name the graph by its IRI.",
                )
        case syntax.Project(inner, variables):
            for path in _paths(query, inner, source):
                _check_ends(query, path, variables)
                yield path
        case syntax.Service() | syntax.Values():
            return
        case _:
            yield from _paths(query, pattern.pattern, source)
