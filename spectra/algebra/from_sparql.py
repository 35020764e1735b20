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
from spectra.algebra.outer import Outer, graph_terms, mentioned, reads_now
from spectra.algebra.paths import matches_itself, may_be_empty, path_node
from spectra.errors import Place, QueryError, UnsupportedError
from spectra.sparql import syntax
from spectra.sparql.functions import BNODE_OF
from spectra.sparql.query import ContinuousQuery, Form, Option, Policy, WindowKind
from spectra.sparql.scope import visible
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
    template_terms,
)

_TRUE = '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'
_FALSE = '"false"^^<http://www.w3.org/2001/XMLSchema#boolean>'

#: The functions that give each solution another value, which it keeps.
_DRAWN = ("RAND", "UUID", "STRUUID", "BNODE")

#: The column of the time of the evaluation, and how those begin that have a blank node for each solution.
_NOW, _BNODES = "_:now", "_:bnodes"

#: The function that gives the time of the event whose graph has a name.
EVENT_TIME = "<urn:spectra:time>"


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
    kinds = {window.spec.kind for window in query.windows}
    if reads_now(query) and query.report.policy is Policy.ON_WINDOW_CLOSE and len(kinds) > 1:
        raise UnsupportedError(
            "NOW() is not evaluated yet where windows that count events and others close",
            place=query.windows[0].place,
            hint="Report PERIODIC or ON_CONTENT_CHANGE.",
        )
    translation = _Translation(query)
    if query.form is Form.CONSTRUCT:
        used = dict.fromkeys(
            t.name for pattern in query.template for t in template_terms(pattern) if isinstance(t, Variable)
        )
        labels = tuple(name for name in used if name.startswith("_:"))
        root = translation.node(query.pattern, None, bool(labels))
        if labels:
            root = nodes.Fresh(labels, root)
        return nodes.Distinct(nodes.Construct(query.template, root))
    root = translation.node(query.pattern, None, query.form is Form.SELECT)
    if query.form is Form.ASK:
        return nodes.Project((), root)
    return root


_BESIDE = "Write the two beside each other."


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
                parts = [self._basic(part, graph, bags) for part in patterns]
                if outer is None:
                    return pattern_of(*parts)
                for at, part in enumerate(patterns):
                    if isinstance(part, syntax.PathPattern):
                        parts[at] = self._with_empty_path(part, parts[at], graph, outer)
                node = pattern_of(*parts)
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
            case syntax.Windowed() if source is not None and source.events:
                raise _unsupported(query, "WINDOW inside the GRAPH of an event", "WINDOW", _BESIDE)
            case syntax.Windowed(name, inner):
                return self._graphs(name, [window.name for window in query.windows], inner, bags, outer, static=False)
            case syntax.Graph(name, inner):
                if source is not None and not source.static:
                    return self._event_graphs(name, inner, source, bags, outer)
                return self._graphs(name, list(query.static_named), inner, bags, outer, static=True)
            case syntax.Group():
                return self._group(pattern, source)
            case syntax.Slice():
                seen = {variable.name for variable in visible(pattern)}
                if outer is None or outer.only(seen) is None:
                    return self._slice(pattern, source)
                if pattern.limit == 0:
                    return nodes.Values(tuple(sorted(seen)), ())
                if not pattern.offset and seen <= set(outer.names) & outer.node.certain:
                    # for each solution of outside all of these are equal
                    return self.node(pattern.pattern, source, False, outer)
                raise _unsupported(
                    query,
                    "EXISTS with LIMIT or OFFSET inside of it, on variables of outside,",
                    "LIMIT" if "LIMIT" in query.places else "OFFSET",
                )
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
        marked, expression = self._marked(expression, node, source)
        variables = (*_kept(node, marked), variable.name)
        node = nodes.Extend(variable.name, expression, marked)
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
        if condition is not None and _draws(condition):
            raise _unsupported(
                self._query,
                "RAND, UUID, STRUUID or BNODE in the FILTER of OPTIONAL",
                "OPTIONAL",
                "Give it to a variable by BIND before the FILTER.",
            )
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
                syntax.Call("&&", (_bound(of_left.identity(name)), _bound(other)))
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
            if not _needs_columns(part):
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
                node = nodes.Project(_kept(node, marked), nodes.Filter(replaced, marked))
        return node

    def _marked(
        self, expression: syntax.Expression, node: Node, source: Source | None
    ) -> tuple[Node, syntax.Expression]:
        """The solutions with columns for what depends on more than arguments, and the expression that reads those."""
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
            case syntax.Call(function, arguments) if _needs_columns(expression):
                replaced = []
                for argument in arguments:
                    node, part = self._marked(argument, node, source)
                    replaced.append(part)
                if function in (EVENT_TIME, "NOW", *_DRAWN):
                    self._check_outside_of_events(function, source)
                if function == EVENT_TIME:
                    return self._event_time(replaced, node, source)
                if function == "NOW":
                    with_now = node if _NOW in node.variables else nodes.Now(_NOW, node)
                    return with_now, Variable(_NOW)
                if function in _DRAWN:
                    return self._drawn(function, replaced, node)
                return node, syntax.Call(function, tuple(replaced))
            case _:
                return node, expression

    def _found(self, pattern: syntax.Pattern, node: Node, source: Source | None) -> tuple[Outer, Node]:
        """What EXISTS depends on in the solutions of a node, and for which of those values it holds."""
        pattern = _unlimited(pattern)
        names = mentioned(pattern)
        outer = Outer(node, tuple(name for name in node.variables if name in names))
        found = outer.joined(self.node(pattern, source, False, outer), names)
        return outer, found

    def _with_empty_path(self, part: syntax.PathPattern, node: Node, source: Source, outer: Outer) -> Node:
        """With its value put in, a variable is a constant: an empty path matches it even outside the graph."""
        ends = [end.name for end in (part.subject, part.object) if isinstance(end, Variable)]
        names = [name for name in dict.fromkeys(ends) if name in outer.names]
        # beside a constant that is there already only this constant matches
        if len(ends) < 2 or not matches_itself(part.path) or graph_terms(outer.node, source).issuperset(names):
            return node
        values = outer.values(names)
        empty: list[Node] = []
        if len(set(ends)) == 1:
            empty.append(nodes.Filter(_bound(ends[0]), values))
        elif len(names) == 2:
            same = syntax.Call("SAMETERM", (Variable(ends[0]), Variable(ends[1])))
            empty.append(nodes.Filter(same, values))
        for name, other in (ends, reversed(ends)):
            if name in names and name != other and other not in outer.node.certain:
                alone: Node = nodes.Filter(_bound(name), values)
                if other in names:  # where it has no value it is a variable still
                    alone = nodes.Filter(syntax.Call("!", (_bound(other),)), alone)
                    alone = nodes.Project(tuple(column for column in values.variables if column != other), alone)
                empty.append(nodes.Copy(other, name, alone))
        return nodes.Union((outer.joined(node, names), *empty))

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

    def _event_graphs(self, name: Term, inner: syntax.Pattern, source: Source, bags: bool, outer: Outer | None) -> Node:
        """A pattern over each graph of a window's events."""
        if source.events:
            raise _unsupported(self._query, "GRAPH inside the GRAPH of an event", "GRAPH", _BESIDE)
        within = Source(source.name, events=True)
        found = self.node(inner, within, bags)
        if outer is not None and not _is_join(inner, frozenset(outer.names)):
            raise _unsupported(
                self._query,
                "EXISTS that puts variables of outside into OPTIONAL, MINUS, FILTER or SELECT in the GRAPH of an event",
                "EXISTS",
            )
        if not isinstance(name, Variable) or name.name not in found.variables:
            node: Node = nodes.EventGraphs(within, name, None, found)
        else:
            # the pattern has a variable of that name too: where both are bound they are equal
            graph = self._hidden("graph")
            names = nodes.Copy(name.name, graph.name, nodes.EventGraphs(within, graph, None, nodes.Pattern(())))
            both = pattern_of(nodes.EventGraphs(within, graph, None, found), names)
            node = nodes.Project(found.variables, both)
        return node if outer is None else outer.joined(node, mentioned((name, inner)))

    def _check_outside_of_events(self, function: str, source: Source | None) -> None:
        if source is not None and source.events:
            raise UnsupportedError(
                f"{function} inside the GRAPH of an event is not evaluated",
                place=self._query.places.get("GRAPH"),
                detail="There, values depend on the triples of the event alone.",
                hint="Write it behind the braces of GRAPH.",
            )

    def _drawn(self, function: str, arguments: list[syntax.Expression], node: Node) -> tuple[Node, syntax.Expression]:
        """The solutions with a value of their own, and the expression that gives it.

        `BNODE(string)` is a function of the string and of a blank node that the solution has, one for all its strings.
        """
        if not arguments:
            column = self._hidden("drawn").name
            return _with_drawn(node, column, function), Variable(column)
        of_solution = next((name for name in node.variables if name.startswith(_BNODES)), None)
        if of_solution is None:
            of_solution = self._hidden("bnodes").name
            node = _with_drawn(node, of_solution, function)
        return node, syntax.Call(BNODE_OF, (Variable(of_solution), *arguments))

    def _event_time(
        self, arguments: list[syntax.Expression], node: Node, source: Source | None
    ) -> tuple[Node, syntax.Expression]:
        """The solutions with the time of the event whose graph has the name that the argument gives."""
        if len(arguments) != 1:
            raise QueryError(f"{EVENT_TIME} takes one argument, the name of an event's graph")
        name, time = arguments[0], self._hidden("time")
        if isinstance(name, Variable) and len(self._query.windows) == 1:
            timed = _with_time(node, name, time)
            if timed is not None:
                return timed
        if not isinstance(name, Variable) or name.name not in node.variables:
            column = self._hidden("name")
            node = nodes.Extend(column.name, name, node)
            name = column
        if name.name not in node.certain:  # what is unbound has no time, and is not bound by that of any event
            column = self._hidden("name")
            node = nodes.Copy(column.name, name.name, node)
            name = column
        events = [
            nodes.EventGraphs(Source(window.name, events=True), name, time.name, nodes.Pattern(()))
            for window in self._query.windows
        ]
        times: Node = events[0]
        if len(events) > 1:  # of events with one name in several windows the latest
            every = self._hidden("time")
            events = [replace(each, time=every.name) for each in events]
            latest = (time.name, syntax.Aggregate("MAX", every, False))
            times = nodes.Group((name.name,), (latest,), nodes.Union(tuple(events)))
        return self._left_join(node, times, None, source), time

    def _basic(self, part: syntax.TriplePattern | syntax.PathPattern, source: Source, bags: bool) -> Node:
        if isinstance(part, syntax.TriplePattern):
            return nodes.WScan(source, part.subject, part.predicate, part.object)
        # a simple path is one as a whole, so it cannot be put together from its parts
        if bags and Option.SIMPLE_PATHS not in self._query.options:
            return self._path_in_bags(part.subject, part.path, part.object, source)
        return path_node(source, part.subject, part.path, part.object)

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


def _needs_columns(expression: syntax.Expression) -> bool:
    """Whether a value depends on more than the values of variables."""
    match expression:
        case syntax.Exists():
            return True
        case syntax.Call(function, arguments):
            return function in (EVENT_TIME, "NOW", *_DRAWN) or any(_needs_columns(argument) for argument in arguments)
        case _:
            return False


def _draws(expression: syntax.Expression) -> bool:
    """Whether an expression gives each solution a value of its own."""
    match expression:
        case syntax.Call(function, arguments):
            return function in _DRAWN or any(_draws(argument) for argument in arguments)
        case _:
            return False


def _with_drawn(node: Node, column: str, function: str) -> Node:
    if isinstance(node, nodes.Drawn):
        return nodes.Drawn((*node.columns, (column, function)), node.input)
    return nodes.Drawn(((column, function),), node)


def _kept(node: Node, marked: Node) -> tuple[str, ...]:
    """The columns of a node, and of those that were added to it the blank nodes of its solutions."""
    added = [name for name in marked.variables if name.startswith(_BNODES) and name not in node.variables]
    return (*node.variables, *added)


def _is_join(pattern: syntax.Pattern, names: frozenset[str]) -> bool:
    """Whether putting values for these variables into a pattern is the same as joining it with them."""
    match pattern:
        case syntax.Bgp(patterns):
            empty = [part for part in patterns if isinstance(part, syntax.PathPattern) and may_be_empty(part.path)]
            return not mentioned(tuple(empty)) & names
        case syntax.Join(left, right) | syntax.Union_(left, right):
            return _is_join(left, names) and _is_join(right, names)
        case syntax.Filter(condition, syntax.Bgp() as inner) if not _needs_columns(condition):
            return _is_join(inner, names) and mentioned(condition) & names <= mentioned(inner)
        case _:
            return not mentioned(pattern) & names


def _with_time(node: Node, name: Variable, time: Variable) -> tuple[Node, Variable] | None:
    """The node with a column for the time of the event that a variable names, where GRAPH binds it; and that column."""
    match node:
        case nodes.EventGraphs(_, of) if of == name:
            return (replace(node, time=time.name), time) if node.time is None else (node, Variable(node.time))
        case nodes.Pattern(inputs):
            for at, part in enumerate(inputs):
                if (timed := _with_time(part, name, time)) is not None:
                    return pattern_of(*inputs[:at], timed[0], *inputs[at + 1 :]), timed[1]
        case nodes.Filter() | nodes.Extend():
            if (timed := _with_time(node.input, name, time)) is not None:
                return replace(node, input=timed[0]), timed[1]
        case nodes.Project(names, inner) if name.name in names:
            if (timed := _with_time(inner, name, time)) is not None:
                return nodes.Project(tuple(dict.fromkeys((*names, timed[1].name))), timed[0]), timed[1]
    return None


def _conjuncts(condition: syntax.Expression) -> Iterator[syntax.Expression]:
    """The parts of a condition that must all hold, in order."""
    rest = [condition]
    while rest:
        part = rest.pop()
        if isinstance(part, syntax.Call) and part.function == "&&":
            rest.extend(reversed(part.arguments))
        else:
            yield part


def _unlimited(pattern: syntax.Pattern) -> syntax.Pattern:
    """A pattern that has a solution where this one has: some of the first so many are there if any are."""
    match pattern:
        case syntax.Slice(inner, 0, limit) if limit != 0:
            return _unlimited(inner)
        case syntax.Windowed() | syntax.Graph() | syntax.Project() | syntax.Distinct() | syntax.Reduced():
            return replace(pattern, pattern=_unlimited(pattern.pattern))
        case _:
            return pattern


def _bound(name: str) -> syntax.Call:
    return syntax.Call("BOUND", (Variable(name),))


def _nameable(node: Node) -> tuple[str, ...]:
    """The variables that a query can name."""
    return tuple(name for name in node.variables if not name.startswith("_:"))


def _restored(node: Node, original: Node) -> Node:
    """The node with the columns that it had."""
    return node if node.variables == original.variables else nodes.Project(original.variables, node)
