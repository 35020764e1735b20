"""SPARQL algebra -> streaming graph algebra.

Property paths keep SPARQL's bags: `/`, `|` and negated property sets keep duplicates, `*`, `+`, `?`
do not. So a path is taken apart at its sequences and alternatives down to the operators that give
sets, unless nobody can see duplicates (DISTINCT, ASK, CONSTRUCT) or no vertex may be repeated: then it
is one automaton.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from spectra.algebra import nodes
from spectra.algebra.nodes import Node, Source, pattern_of
from spectra.algebra.outer import Outer, graph_terms, mentioned
from spectra.errors import Place, UnsupportedError
from spectra.sparql import syntax
from spectra.sparql.query import ContinuousQuery, Form, Option, WindowKind
from spectra.sparql.scope import visible
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    PathExpression,
    RepeatPath,
    SequencePath,
    Term,
    Variable,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

_TRUE = '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
_FALSE = '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'


def from_sparql(query: ContinuousQuery) -> Node:
    """The logical plan of a query; refuses what this version does not evaluate."""
    for window in query.windows:
        if Option.IMPLICIT_WINDOWS in query.options and window.spec.kind is not WindowKind.TIME:
            raise UnsupportedError(
                "WITH IMPLICIT WINDOWS is for time windows",
                place=window.place,
                detail="In other windows nothing tells what expires from what is deleted.",
            )
        if query.by_event and window.spec.kind is not WindowKind.EVENT:
            raise UnsupportedError(
                f"the window <{window.name}> beside a window [EVENT] is not evaluated yet",
                place=window.place,
                hint="[ELEMENTS 1 STEP 1] holds the latest event, beside any other window.",
            )
    translation = _Translation(query)
    if query.form is Form.CONSTRUCT:
        used = dict.fromkeys(t.name for triple in query.template for t in _terms(triple) if isinstance(t, Variable))
        labels = tuple(name for name in used if name.startswith("_:"))
        root = translation.node(query.pattern, None, bool(labels))
        if labels:
            root = nodes.Fresh(labels, root)
        return nodes.Distinct(nodes.Construct(query.template, root))
    root = translation.node(query.pattern, None, query.form is Form.SELECT)
    if query.form is Form.ASK:
        return nodes.Project((), root)
    return root


def _terms(triple: syntax.TriplePattern) -> tuple[Term, Term, Term]:
    return triple.subject, triple.predicate, triple.object


def _unsupported(query: ContinuousQuery, what: str, keyword: str, hint: str | None = None) -> UnsupportedError:
    place: Place | None = query.places.get(keyword)
    return UnsupportedError(f"{what} is not evaluated yet", place=place, hint=hint)


class _Translation:
    """One query on its way; `source` is the active graph, None outside WINDOW and GRAPH.

    `outer` are the solutions for which a pattern of EXISTS is matched, None in any other pattern.
    """

    def __init__(self, query: ContinuousQuery) -> None:
        self._query = query
        self._fresh: Iterator[int] = count()

    def node(self, pattern: syntax.Pattern, source: Source | None, bags: bool, outer: Outer | None = None) -> Node:
        """The plan of a pattern; `bags` is false where duplicates cannot be seen."""
        query = self._query
        match pattern:
            case syntax.Bgp(patterns):
                graph = source if source is not None else Source("", static=True)
                node = pattern_of(*(self._basic(part, graph, bags) for part in patterns))
                if outer is None:
                    return node
                self._refuse_empty_path(patterns, graph, outer)
                unsure = mentioned(patterns) - outer.node.certain
                return outer.joined(node, unsure)
            case syntax.Join(left, right):
                return pattern_of(self.node(left, source, bags, outer), self.node(right, source, bags, outer))
            case syntax.Union_(left, right):
                inputs: list[Node] = []
                for side in self._sides(pattern, source, (bags, bags), outer):
                    inputs += side.inputs if isinstance(side, nodes.Union) else (side,)
                return nodes.Union(tuple(inputs))
            case syntax.LeftJoin(left, right, condition):
                both = self._sides(pattern, source, (bags, bags), outer)
                return self._left_join(*both, condition, source)
            case syntax.Minus(left, right):
                both = self._sides(pattern, source, (bags, False), outer)
                constant = frozenset[str]() if outer is None else frozenset(outer.names)
                return self._minus(*both, constant)
            case syntax.Filter(condition, inner):
                node = self.node(inner, source, bags, outer)
                if outer is not None:
                    node = outer.joined(node, mentioned(condition))
                return self._filter(condition, node, source)
            case syntax.Extend(inner, variable, expression):
                below = None if outer is None else outer.only(set(outer.names) - {variable.name})
                node = self.node(inner, source, bags, below)
                if below is not None:
                    node = below.joined(node, mentioned(expression))
                return self._column(variable, expression, node, source)
            case syntax.Values(variables, rows):
                return nodes.Values(tuple(variable.name for variable in variables), rows)
            case syntax.Project(inner, variables):
                names = tuple(variable.name for variable in variables)
                if outer is None or (below := outer.only(names)) is None:
                    return nodes.Project(names, self.node(inner, source, bags))
                node = self.node(inner, source, bags, below)
                keys = [key for key in below.keys if key in node.variables]
                return nodes.Project(tuple(dict.fromkeys((*names, *keys))), node)
            case syntax.Distinct(inner):
                return nodes.Distinct(self.node(inner, source, False, outer))
            case syntax.Reduced(inner) | syntax.OrderBy(inner, _):
                # REDUCED may keep all; the rows of one instant come in any order, without LIMIT it is the same bag
                return self.node(inner, source, bags, outer)
            case syntax.Windowed(name, inner):
                return self._graphs(name, [window.name for window in query.windows], inner, bags, outer, static=False)
            case syntax.Graph(name, inner):
                if source is not None and not source.static:
                    raise _unsupported(query, "GRAPH inside WINDOW (access to single events)", "GRAPH")
                return self._graphs(name, list(query.static_named), inner, bags, outer, static=True)
            case syntax.Group():
                return self._group(pattern, source)
            case syntax.Slice():
                if outer is not None and outer.only({variable.name for variable in visible(pattern)}) is not None:
                    keyword = "LIMIT" if "LIMIT" in query.places else "OFFSET"
                    raise _unsupported(query, "EXISTS with LIMIT or OFFSET on variables of outside", keyword)
                return self._slice(pattern, source)
            case syntax.Service():
                raise UnsupportedError(
                    "SERVICE is refused: Spectra never opens a connection",
                    place=query.places.get("SERVICE"),
                    hint="Load the remote data into a file and name it with FROM.",
                )

    # --- ORDER BY, LIMIT, OFFSET ----------------------------------------------------------------

    def _slice(self, sliced: syntax.Slice, source: Source | None) -> Node:
        """A stretch of the solutions: in the order of ORDER BY where there is one, otherwise in that of their texts."""
        inner = sliced.pattern
        distinct = isinstance(inner, syntax.Distinct)
        if isinstance(inner, syntax.Distinct | syntax.Reduced):
            inner = inner.pattern
        names = None
        if isinstance(inner, syntax.Project):
            names = tuple(variable.name for variable in inner.variables)
            inner = inner.pattern
        if not isinstance(inner, syntax.OrderBy):
            node = self.node(sliced.pattern, source, True)
            return nodes.Slice(_nameable(node), (), False, sliced.offset, sliced.limit, node)
        node = self.node(inner.pattern, source, True)
        if names is None:
            names = _nameable(node)
        keys = []
        for expression, descending in inner.keys:
            column = expression if isinstance(expression, Variable) else self._hidden("key")
            node = self._column(column, expression, node, source)
            keys.append((column.name, descending))
        return nodes.Slice(names, tuple(keys), distinct, sliced.offset, sliced.limit, node)

    # --- GROUP BY -----------------------------------------------------------------------------

    def _group(self, group: syntax.Group, source: Source | None) -> Node:
        """Keys and arguments that are expressions are columns before the solutions are grouped."""
        node = self.node(group.pattern, source, True)
        keys: list[str] = []
        for variable, expression in group.keys:
            node = self._column(variable, expression, node, source)
            keys.append(variable.name)
        aggregates: list[tuple[str, syntax.Aggregate]] = []
        for variable, aggregate in group.aggregates:
            argument = aggregate.argument
            if argument is not None:
                column = argument if isinstance(argument, Variable) else self._hidden("argument")
                node = self._column(column, argument, node, source)
                argument = column
            aggregates.append((variable.name, replace(aggregate, argument=argument)))
        return nodes.Group(tuple(keys), tuple(aggregates), node)

    def _column(self, variable: Variable, expression: syntax.Expression, node: Node, source: Source | None) -> Node:
        """The node with a column for a variable; what no pattern binds is unbound."""
        if variable.name in node.variables:
            return node
        if variable == expression:
            return nodes.Project((*node.variables, variable.name), node)
        variables = (*node.variables, variable.name)
        node, expression = self._marked(expression, node, source)
        node = nodes.Extend(variable.name, expression, node)
        return node if node.variables == variables else nodes.Project(variables, node)

    # --- OPTIONAL, MINUS, EXISTS --------------------------------------------------------------

    def _sides(
        self,
        pattern: syntax.Union_ | syntax.LeftJoin | syntax.Minus,
        source: Source | None,
        bags: tuple[bool, bool],
        outer: Outer | None,
    ) -> tuple[Node, Node]:
        """Both sides; each says for which outer solution it holds, as far as either depends on it."""
        left = self.node(pattern.left, source, bags[0], outer)
        right = self.node(pattern.right, source, bags[1], outer)
        if outer is None:
            return left, right
        names = mentioned(pattern)
        return outer.joined(left, names), outer.joined(right, names)

    def _left_join(self, left: Node, right: Node, condition: syntax.Expression | None, source: Source | None) -> Node:
        """LeftJoin(a, b, c) = Filter(c, Join(a, b)) + those of a that no such pair is made of."""
        matched = self._filter(condition, pattern_of(left, right), source)
        shared = frozenset(left.variables) & frozenset(right.variables)
        if condition is None and shared <= left.certain & right.certain:
            alone: Node = nodes.AntiJoin(left, right, tuple(name for name in left.variables if name in shared))
        else:
            read = frozenset() if condition is None else mentioned(condition)
            of_left = Outer(left, tuple(n for n in left.variables if n in shared | read))
            pairs = pattern_of(of_left.values(of_left.names), right)
            alone = self._without(of_left, self._filter(condition, pairs, source))
        return nodes.Union((matched, alone))

    def _minus(self, left: Node, right: Node, constant: frozenset[str]) -> Node:
        """MINUS: a solution stays unless a compatible one of the right side shares a bound variable with it.

        `constant` are variables whose values EXISTS has put in; those are not shared any more.
        """
        shared = tuple(name for name in left.variables if name in right.variables)
        free = [name for name in shared if name not in constant and not name.startswith("_:outer ")]
        if not free:
            return left
        if frozenset(shared) <= left.certain & right.certain:
            return nodes.AntiJoin(left, right, shared)
        of_left = Outer(left, shared)
        if not frozenset(free) & left.certain & right.certain:
            for name in free:
                right = nodes.Copy(f"_:right {name}", name, right)
            pairs = pattern_of(of_left.values(shared), right)
            both = [
                syntax.Call("&&", tuple(syntax.Call("BOUND", (Variable(n),)) for n in (of_left.identity(name), other)))
                for name in free
                for other in (f"_:right {name}",)
            ]
            overlap = both[0] if len(both) == 1 else syntax.Call("||", tuple(both))
            return self._without(of_left, nodes.Filter(overlap, pairs))
        return self._without(of_left, pattern_of(of_left.values(shared), right))

    def _without(self, outer: Outer, found: Node) -> Node:
        """The solutions for which nothing was found."""
        return _restored(nodes.AntiJoin(outer.copied(), found, outer.keys), outer.node)

    def _with(self, outer: Outer, found: Node) -> Node:
        """The solutions for which something was found."""
        keys = nodes.Distinct(nodes.Project(outer.keys, found))
        return _restored(pattern_of(outer.copied(), keys), outer.node)

    def _filter(self, condition: syntax.Expression | None, node: Node, source: Source | None) -> Node:
        """FILTER: an EXISTS that must hold, or must not, is a join; one inside an expression becomes a value."""
        if condition is None:
            return node
        for part in _conjuncts(condition):
            if not _has_exists(part):
                node = nodes.Filter(part, node)
                continue
            negated = False
            test = part
            while isinstance(test, syntax.Call) and test.function == "!":
                negated, test = not negated, test.arguments[0]
            if isinstance(test, syntax.Exists):
                outer, found = self._found(test.pattern, node, source)
                node = self._without(outer, found) if negated != test.negated else self._with(outer, found)
            else:
                marked, replaced = self._marked(part, node, source)
                node = nodes.Project(node.variables, nodes.Filter(replaced, marked))
        return node

    def _marked(
        self, expression: syntax.Expression, node: Node, source: Source | None
    ) -> tuple[Node, syntax.Expression]:
        """The solutions with the value of each EXISTS in a column, and the expression that reads those."""
        match expression:
            case syntax.Exists(pattern, negated):
                outer, found = self._found(pattern, node, source)
                mark = self._hidden("exists")
                yes, no = (_FALSE, _TRUE) if negated else (_TRUE, _FALSE)
                sides = (
                    nodes.Extend(mark.name, syntax.Constant(yes), self._with(outer, found)),
                    nodes.Extend(mark.name, syntax.Constant(no), self._without(outer, found)),
                )
                return nodes.Union(sides), mark
            case syntax.Call(function, arguments) if _has_exists(expression):
                replaced = []
                for argument in arguments:
                    node, part = self._marked(argument, node, source)
                    replaced.append(part)
                return node, syntax.Call(function, tuple(replaced))
            case _:
                return node, expression

    def _found(self, pattern: syntax.Pattern, node: Node, source: Source | None) -> tuple[Outer, Node]:
        """What EXISTS depends on in the solutions of a node, and for which of those values it holds."""
        names = mentioned(pattern)
        outer = Outer(node, tuple(name for name in node.variables if name in names))
        found = outer.joined(self.node(pattern, source, False, outer), names)
        return outer, found

    def _refuse_empty_path(
        self, patterns: tuple[syntax.TriplePattern | syntax.PathPattern, ...], source: Source, outer: Outer
    ) -> None:
        """With its value put in, a variable is a constant: an empty path matches it even outside the graph."""
        known = graph_terms(outer.node, source)
        for part in patterns:
            if isinstance(part, syntax.PathPattern) and _may_be_empty(part.path):
                if (mentioned((part.subject, part.object)) & set(outer.names)) - known:
                    raise _unsupported(
                        self._query,
                        "a path that may be empty in EXISTS, from a variable that may be outside of its graph,",
                        "EXISTS",
                        "Use a path of at least one step, or match the variable in the same graph before.",
                    )

    # --- graphs and paths ---------------------------------------------------------------------

    def _graphs(
        self, name: Term, names: list[str], inner: syntax.Pattern, bags: bool, outer: Outer | None, *, static: bool
    ) -> Node:
        """A pattern over one named graph, or over each of them in turn with the variable bound to its name."""
        branches: list[Node] = []
        for graph in names:
            if name == f"<{graph}>":
                return self.node(inner, Source(graph, static=static), bags, outer)
            if isinstance(name, Variable):
                part = self.node(inner, Source(graph, static=static), bags, outer)
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
        # a simple path is one as a whole, so it cannot be put together from its parts
        if bags and Option.SIMPLE_PATHS not in self._query.options:
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

    def _hidden(self, kind: str = "path") -> Variable:
        """A variable that no query can name."""
        return Variable(f"_:{kind}{next(self._fresh)}")


def _has_exists(expression: syntax.Expression) -> bool:
    match expression:
        case syntax.Exists():
            return True
        case syntax.Call(_, arguments):
            return any(_has_exists(argument) for argument in arguments)
        case _:
            return False


def _conjuncts(condition: syntax.Expression) -> Iterator[syntax.Expression]:
    """The parts of a condition that must all hold, in order."""
    rest = [condition]
    while rest:
        part = rest.pop()
        if isinstance(part, syntax.Call) and part.function == "&&":
            rest.extend(reversed(part.arguments))
        else:
            yield part


def _nameable(node: Node) -> tuple[str, ...]:
    """The variables that a query can name."""
    return tuple(name for name in node.variables if not name.startswith("_:"))


def _restored(node: Node, original: Node) -> Node:
    """The node with the columns that it had."""
    return node if node.variables == original.variables else nodes.Project(original.variables, node)


def _may_be_empty(path: PathExpression) -> bool:
    match path:
        case ZeroOrMorePath() | ZeroOrOnePath():
            return True
        case RepeatPath(inner, low, _):
            return low == 0 or _may_be_empty(inner)
        case OneOrMorePath(inner) | InversePath(inner):
            return _may_be_empty(inner)
        case SequencePath(parts):
            return all(_may_be_empty(part) for part in parts)
        case AlternativePath(parts):
            return any(_may_be_empty(part) for part in parts)
        case _:
            return False
