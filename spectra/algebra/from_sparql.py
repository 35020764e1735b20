"""SPARQL algebra -> streaming graph algebra.

Property paths keep SPARQL's bags: `/`, `|` and negated property sets keep duplicates, `*`, `+`, `?`
do not. So a path is taken apart at its sequences and alternatives down to the operators that give
sets, unless nobody can see duplicates (DISTINCT, ASK, CONSTRUCT): then it is one automaton.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from spectra.algebra import nodes
from spectra.algebra.nodes import Node, Source, pattern_of
from spectra.errors import Place, UnsupportedError
from spectra.sparql import syntax
from spectra.sparql.query import ContinuousQuery, Form, Option, WindowKind
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    PathExpression,
    RepeatPath,
    SequencePath,
    Term,
    Variable,
)


def from_sparql(query: ContinuousQuery) -> Node:
    """The logical plan of a query; refuses what this version does not evaluate."""
    for option in query.options:
        raise _unsupported(query, f"WITH {option.value}", "WITH", _OPTION_HINTS.get(option))
    for window in query.windows:
        if window.spec.kind is WindowKind.EVENT:
            raise UnsupportedError(
                "the window [EVENT] is not evaluated yet",
                place=window.place,
                hint="[ELEMENTS 1 STEP 1] holds the latest event.",
            )
        if window.spec.with_static:
            raise UnsupportedError("WITH STATIC is not evaluated yet", place=window.place)
    translation = _Translation(query)
    bags = query.form is Form.SELECT
    root = translation.node(query.pattern, None, bags)
    if query.form is Form.CONSTRUCT:
        names = {term.name for triple in query.template for term in _terms(triple) if isinstance(term, Variable)}
        if any(name.startswith("_:") for name in names):
            raise _unsupported(query, "a blank node in a CONSTRUCT template", "CONSTRUCT", "Use an IRI or a variable.")
        return nodes.Distinct(nodes.Construct(query.template, root))
    if query.form is Form.ASK:
        return nodes.Project((), root)
    return root


_OPTION_HINTS = {
    Option.PATHS: None,
    Option.SIMPLE_PATHS: "Without it, paths may repeat vertices.",
    Option.IMPLICIT_WINDOWS: "Without it, a result leaves when its triples expire.",
}


def _terms(triple: syntax.TriplePattern) -> tuple[Term, Term, Term]:
    return triple.subject, triple.predicate, triple.object


def _unsupported(query: ContinuousQuery, what: str, keyword: str, hint: str | None = None) -> UnsupportedError:
    place: Place | None = query.places.get(keyword)
    return UnsupportedError(f"{what} is not evaluated yet", place=place, hint=hint)


class _Translation:
    """One query on its way; `source` is the active graph, None outside WINDOW and GRAPH."""

    def __init__(self, query: ContinuousQuery) -> None:
        self._query = query
        self._fresh: Iterator[int] = count()

    def node(self, pattern: syntax.Pattern, source: Source | None, bags: bool) -> Node:
        """The plan of a pattern; `bags` is false where duplicates cannot be seen."""
        query = self._query
        match pattern:
            case syntax.Bgp(patterns):
                graph = source if source is not None else Source("", static=True)
                return pattern_of(*(self._basic(part, graph, bags) for part in patterns))
            case syntax.Join(left, right):
                return pattern_of(self.node(left, source, bags), self.node(right, source, bags))
            case syntax.Union_(left, right):
                inputs: list[Node] = []
                for side in (self.node(left, source, bags), self.node(right, source, bags)):
                    inputs += side.inputs if isinstance(side, nodes.Union) else (side,)
                return nodes.Union(tuple(inputs))
            case syntax.Filter(condition, inner):
                if _has_exists(condition):
                    raise _unsupported(query, "EXISTS", "EXISTS")
                return nodes.Filter(condition, self.node(inner, source, bags))
            case syntax.Extend(inner, variable, expression):
                if _has_exists(expression):
                    raise _unsupported(query, "EXISTS", "EXISTS")
                return nodes.Extend(variable.name, expression, self.node(inner, source, bags))
            case syntax.Values(variables, rows):
                return nodes.Values(tuple(variable.name for variable in variables), rows)
            case syntax.Project(inner, variables):
                names = tuple(variable.name for variable in variables)
                return nodes.Project(names, self.node(inner, source, bags))
            case syntax.Distinct(inner) | syntax.Reduced(inner):
                return nodes.Distinct(self.node(inner, source, False))
            case syntax.OrderBy(inner, _):
                # the rows of one instant come in any order; without LIMIT the answer is the same bag
                return self.node(inner, source, bags)
            case syntax.Windowed(name, inner):
                return self._graphs(name, [window.name for window in query.windows], inner, bags, static=False)
            case syntax.Graph(name, inner):
                if source is not None and not source.static:
                    raise _unsupported(query, "GRAPH inside WINDOW (access to single events)", "GRAPH")
                return self._graphs(name, list(query.static_named), inner, bags, static=True)
            case syntax.LeftJoin():
                raise _unsupported(query, "OPTIONAL", "OPTIONAL")
            case syntax.Minus():
                raise _unsupported(query, "MINUS", "MINUS")
            case syntax.Group():
                raise _unsupported(query, "GROUP BY and aggregates", "GROUP")
            case syntax.Slice():
                raise _unsupported(query, "LIMIT and OFFSET", "LIMIT" if "LIMIT" in query.places else "OFFSET")
            case syntax.Service():
                raise UnsupportedError(
                    "SERVICE is refused: Spectra never opens a connection",
                    place=query.places.get("SERVICE"),
                    hint="Load the remote data into a file and name it with FROM.",
                )

    def _graphs(self, name: Term, names: list[str], inner: syntax.Pattern, bags: bool, *, static: bool) -> Node:
        """A pattern over one named graph, or over each of them in turn with the variable bound to its name."""
        branches: list[Node] = []
        for graph in names:
            if name == f"<{graph}>":
                return self.node(inner, Source(graph, static=static), bags)
            if isinstance(name, Variable):
                part = self.node(inner, Source(graph, static=static), bags)
                branches.append(pattern_of(part, nodes.Values((name.name,), ((f"<{graph}>",),))))
        if not branches:
            # a graph that the dataset does not have gives no solution
            part = self.node(inner, Source("", static=True), bags)
            graph_names = (name.name,) if isinstance(name, Variable) else ()
            return nodes.Values(tuple(dict.fromkeys((*graph_names, *part.variables))), ())
        return branches[0] if len(branches) == 1 else nodes.Union(tuple(branches))

    def _basic(self, part: syntax.TriplePattern | syntax.PathPattern, source: Source, bags: bool) -> Node:
        if isinstance(part, syntax.TriplePattern):
            return nodes.WScan(source, part.subject, part.predicate, part.object)
        if bags:
            return self._path_in_bags(part.subject, part.path, part.object, source)
        return self._path_as_set(part.subject, part.path, part.object, source)

    def _path_as_set(self, subject: Term, path: PathExpression, object_: Term, source: Source) -> Node:
        match path:
            case Link(predicate):
                return nodes.WScan(source, subject, predicate, object_)
            case InversePath(inner):
                return self._path_as_set(object_, inner, subject, source)
            case _:
                return nodes.Path(source, subject, path, object_)

    def _path_in_bags(self, subject: Term, path: PathExpression, object_: Term, source: Source) -> Node:
        match path:
            case Link(predicate):
                return nodes.WScan(source, subject, predicate, object_)
            case InversePath(inner):
                return self._path_in_bags(object_, inner, subject, source)
            case SequencePath(parts):
                ends: list[Term] = [subject, *(self._hidden() for _ in parts[1:]), object_]
                return pattern_of(
                    *(self._path_in_bags(ends[at], part, ends[at + 1], source) for at, part in enumerate(parts))
                )
            case RepeatPath(inner, low, high) if low == high and low >= 1:
                return self._path_in_bags(subject, SequencePath((inner,) * low), object_, source)
            case AlternativePath(parts):
                return nodes.Union(tuple(self._path_in_bags(subject, part, object_, source) for part in parts))
            case NegatedPropertySet(forward, backward):
                sides = [
                    self._negated(ends, excluded, source)
                    for ends, excluded in (((subject, object_), forward), ((object_, subject), backward))
                    if excluded is not None
                ]
                return sides[0] if len(sides) == 1 else nodes.Union(tuple(sides))
            case _:
                return nodes.Path(source, subject, path, object_)

    def _negated(self, ends: tuple[Term, Term], excluded: tuple[str, ...], source: Source) -> Node:
        """Any edge whose predicate is not excluded: once per edge, as SPARQL has it."""
        predicate = self._hidden()
        scan = nodes.WScan(source, ends[0], predicate, ends[1])
        if not excluded:
            return scan
        listed = tuple(syntax.Constant(term) for term in excluded)
        return nodes.Filter(syntax.Call("NOT IN", (predicate, *listed)), scan)

    def _hidden(self) -> Variable:
        """A variable that no query can name."""
        return Variable(f"_:path{next(self._fresh)}")


def _has_exists(expression: syntax.Expression) -> bool:
    match expression:
        case syntax.Exists():
            return True
        case syntax.Call(_, arguments):
            return any(_has_exists(argument) for argument in arguments)
        case _:
            return False
