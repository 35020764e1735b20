"""rdflib's parse tree -> the SPARQL algebra of `syntax`, as section 18.2 of the recommendation builds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from pyparsing import ParseResults
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, Literal, URIRef
from rdflib.term import Variable as RdflibVariable

from spectra.dictionary.terms import Literal as LiteralTerm
from spectra.dictionary.terms import term_text
from spectra.errors import InternalError, Place, QueryError, UnsupportedError
from spectra.sparql.paths import iri_text, translate_path
from spectra.sparql.placeholders import (
    DeclarationSlot,
    LabelSlot,
    LiteralSlot,
    NumberSlot,
    Rewritten,
    ServiceSlot,
    TemplateGraphSlot,
    VariableSlot,
    WindowSlot,
)
from spectra.sparql.query import Form
from spectra.sparql.scope import visible
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
    Link,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    QuadPattern,
    Reduced,
    Service,
    Slice,
    TemplatePattern,
    Term,
    TriplePattern,
    Union_,
    Values,
    Variable,
    Windowed,
)
from spectra.sparql.tokens import Kind, Token

_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
_FORMS = {"SelectQuery": Form.SELECT, "AskQuery": Form.ASK, "ConstructQuery": Form.CONSTRUCT}
_UNARY = {"UnaryNot": "!", "UnaryMinus": "unary-", "UnaryPlus": "unary+"}
_LOGICAL = {"ConditionalOrExpression": "||", "ConditionalAndExpression": "&&"}
_SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}
_EMPTY = Bgp(())


@dataclass(frozen=True, slots=True)
class Translation:
    """A query without its windows; `static` and `static_named` are IRIs without brackets."""

    form: Form
    pattern: Pattern
    variables: tuple[Variable, ...]
    template: tuple[TemplatePattern, ...]
    static: tuple[str, ...]
    static_named: tuple[str, ...]
    forbidden: QueryError | None = None


def translate(tree: Any, rewritten: Rewritten, *, lenient: bool = False) -> Translation:
    """The algebra of a parse tree; refuses what the grammar lets through and the recommendation forbids.

    `lenient`: variables that are selected beside the keys of a group are read, and are what is `forbidden`.
    """
    return _Translator(rewritten, lenient).query(tree)


class _Where:
    """An expression of a pattern: no aggregates."""

    def __init__(self, translator: _Translator, within: str = "a FILTER, a BIND or GROUP BY") -> None:
        self.translator = translator
        self.within = within

    def variable(self, variable: Variable, index: int) -> Expression:
        return variable

    def aggregate(self, aggregate: Aggregate) -> Expression:
        self.translator.refuse_aggregate(aggregate.function, self.within)


class _Grouped(_Where):
    """An expression over groups: a variable that is not `known` is sampled or refused."""

    def __init__(self, grouping: _Grouping, known: Iterable[Variable], *, sample: bool) -> None:
        super().__init__(grouping.translator)
        self.grouping = grouping
        self.known = set(known)
        self.sample = sample

    def variable(self, variable: Variable, index: int) -> Expression:
        if variable in self.known:
            return variable
        if self.sample:
            return self.grouping.collect(Aggregate("SAMPLE", variable, False))
        self.grouping.forbid(variable, index)
        return variable

    def aggregate(self, aggregate: Aggregate) -> Expression:
        return self.grouping.collect(aggregate)


class _Grouping:
    """The keys and the aggregates of one query level, each aggregate once."""

    def __init__(self, translator: _Translator) -> None:
        self.translator = translator
        self.keys: list[tuple[Variable, Expression]] = []
        self.aggregates: dict[Aggregate, Variable] = {}

    def collect(self, aggregate: Aggregate) -> Variable:
        if aggregate not in self.aggregates:
            self.aggregates[aggregate] = self.translator.internal("aggregate")
        return self.aggregates[aggregate]

    def forbid(self, variable: Variable, index: int) -> None:
        error = self.translator.rewritten.error(
            f"{variable} is neither in GROUP BY nor inside an aggregate",
            index,
            hint=f"Add {variable} to GROUP BY, or write SAMPLE({variable}).",
        )
        if not self.translator.lenient:
            raise error
        self.translator.forbidden = self.translator.forbidden or error

    def group(self, pattern: Pattern) -> Group:
        return Group(pattern, tuple(self.keys), tuple((name, what) for what, name in self.aggregates.items()))


class _Translator:
    def __init__(self, rewritten: Rewritten, lenient: bool) -> None:
        self.rewritten = rewritten
        self.lenient = lenient
        self.forbidden: QueryError | None = None
        self.where = _Where(self)
        self._anonymous: dict[BNode, Variable] = {}
        self._labels: dict[str, int] = {}  # blank node label -> the basic graph pattern it belongs to
        self._blocks = 0
        self._block = 0  # the basic graph pattern being read
        self._internal = 0
        self._first: dict[str, int] = {}  # variable -> its first token
        for index, slot in rewritten.slots.items():
            if isinstance(slot, VariableSlot):
                self._first[slot.name] = min(index, self._first.get(slot.name, index))

    # --- the query ------------------------------------------------------------------------

    def query(self, tree: CompValue) -> Translation:
        if tree.name == "DescribeQuery":
            raise UnsupportedError(
                "DESCRIBE has no fixed answer, so it cannot be continuous",
                place=self._keyword_place("DESCRIBE"),
                hint="Write a CONSTRUCT query for the triples you want.",
            )
        form = _FORMS[tree.name]
        static, named = self._dataset(tree.datasetClause or ())
        variables: tuple[Variable, ...] = ()
        template: tuple[TemplatePattern, ...] = ()
        if form is Form.SELECT:
            pattern, variables = self.select(tree)
        else:
            if form is Form.CONSTRUCT:
                template = self._template(tree)
            pattern = self._sliced(tree, self._modified(tree, (), self._body(tree))[0])
        return Translation(form, pattern, variables, template, static, named, self.forbidden)

    def _dataset(self, clauses: Iterable[CompValue]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        static: list[str] = []
        named: list[str] = []
        for clause in clauses:
            iri = clause.named if clause.named is not None else clause.default
            if isinstance(self.rewritten.slots[int(iri)], DeclarationSlot):
                continue
            (named if clause.named is not None else static).append(iri_text(iri, self.rewritten)[1:-1])
        return tuple(static), tuple(named)

    def _template(self, tree: CompValue) -> tuple[TemplatePattern, ...]:
        if tree.template is None and tree.where is not None and tree.where.name == "FakeGroupGraphPatten":
            blocks = [triples for part in tree.where.part for triples in part.triples]
        else:
            blocks = tree.template or []
        patterns: list[TemplatePattern] = []
        graph: Term | None = None
        for subject, predicate, object_ in _by_three(blocks):
            slot = self.rewritten.slots.get(int(subject)) if isinstance(subject, URIRef) and subject.isdigit() else None
            if isinstance(slot, TemplateGraphSlot):
                graph = slot.name
                continue
            s, p, o = (self._template_term(term) for term in (subject, predicate, object_))
            patterns.append(TriplePattern(s, p, o) if graph is None else QuadPattern(s, p, o, graph))
        return tuple(patterns)

    def _template_term(self, node: Any) -> Term:
        if isinstance(node, BNode):
            label = self._label(node)
            return self._anonymous_node(node) if label is None else Variable(f"_:{label[0]}")
        return self.term(node)

    def _body(self, tree: CompValue) -> Pattern:
        return _EMPTY if tree.where is None else self.group(tree.where)

    # --- SELECT and the solution modifiers, 18.2.4 and 18.2.5 -------------------------------

    def select(self, tree: CompValue) -> tuple[Pattern, tuple[Variable, ...]]:
        body = self._body(tree)
        projection = tree.projection
        pattern, aliases = self._modified(tree, projection or (), body)
        if projection is None:
            shown = visible(body) | (visible(self._values(tree.valuesClause)) if tree.valuesClause else frozenset())
            variables = tuple(sorted(shown, key=lambda variable: self._first[variable.name]))
        else:
            variables = tuple(aliases)
        pattern = Project(pattern, variables)
        if tree.modifier == "DISTINCT":
            pattern = Distinct(pattern)
        elif tree.modifier == "REDUCED":
            pattern = Reduced(pattern)
        return self._sliced(tree, pattern), variables

    def _modified(
        self, tree: CompValue, projection: Iterable[CompValue], body: Pattern
    ) -> tuple[Pattern, list[Variable]]:
        """GROUP BY, HAVING, VALUES, the expressions of SELECT and ORDER BY, in the recommendation's order."""
        grouping = self._grouping(tree, projection, body)
        keys = [key for key, _ in grouping.keys] if grouping else []
        in_scope = set(keys) if grouping else set(visible(body))
        extensions, names = self._projection(tree, projection, grouping, in_scope)
        defined = [name for name, _ in extensions]
        having = []
        if grouping:
            scope = _Grouped(grouping, keys, sample=True)
            for condition in tree.having.condition if tree.having else ():
                self._refuse_alias_in_having(condition, defined, keys)
                having.append(self.expression(condition, scope))
            order = self._order(tree, _Grouped(grouping, [*keys, *defined], sample=True))
        else:
            order = self._order(tree, self.where)
        pattern = grouping.group(body) if grouping else body
        for condition in having:
            pattern = Filter(condition, pattern)
        if tree.valuesClause is not None:
            pattern = _join(pattern, self._values(tree.valuesClause))
        for variable, expression in extensions:
            pattern = Extend(pattern, variable, expression)
        if order:
            pattern = OrderBy(pattern, order)
        return pattern, names

    def _grouping(self, tree: CompValue, projection: Iterable[CompValue], body: Pattern) -> _Grouping | None:
        implicit = (entry.expr for entry in projection)
        order = tree.orderby.condition if tree.orderby else ()
        if tree.groupby is None and tree.having is None and not any(map(_has_aggregate, (*implicit, *order))):
            return None
        if tree.name in ("SelectQuery", "SubSelect") and tree.projection is None:
            raise self.rewritten.source.error(
                "SELECT * cannot go with GROUP BY or aggregates",
                self._keyword("SELECT"),
                hint="Name the keys and the aggregates: SELECT ?key (COUNT(*) AS ?count).",
            )
        grouping = _Grouping(self)
        in_scope = visible(body)
        for condition in tree.groupby.condition if tree.groupby else ():
            name = None
            if isinstance(condition, CompValue) and condition.name == "GroupAs":
                condition, name = condition.expr, condition.var
            expression = self.expression(condition, self.where)
            if name is not None:
                variable = self._variable(name)
                if variable in in_scope or any(variable == key for key, _ in grouping.keys):
                    raise self.rewritten.error(f"{variable} is already in use", self._index(name))
            else:
                variable = expression if isinstance(expression, Variable) else self.internal("key")
            if all(variable != key for key, _ in grouping.keys):
                grouping.keys.append((variable, expression))
        return grouping

    def _projection(
        self,
        tree: CompValue,
        projection: Iterable[CompValue],
        grouping: _Grouping | None,
        in_scope: set[Variable],
    ) -> tuple[list[tuple[Variable, Expression]], list[Variable]]:
        """What SELECT defines, and the variables it lists."""
        extensions: list[tuple[Variable, Expression]] = []
        names: list[Variable] = []
        values = visible(self._values(tree.valuesClause)) if tree.valuesClause else frozenset[Variable]()
        known = set(in_scope)
        for entry in projection:
            if entry.evar is None:
                variable = self._variable(entry.var)
                if grouping is not None and variable not in known and variable not in values:
                    grouping.forbid(variable, self._index(entry.var))
                if variable not in names:
                    names.append(variable)
                continue
            variable = self._variable(entry.evar)
            if variable in known or variable in values or variable in names:
                raise self.rewritten.error(
                    f"{variable} is already in use",
                    self._index(entry.evar),
                    hint="AS defines a new variable: choose another name.",
                )
            scope = _Grouped(grouping, known, sample=False) if grouping else self.where
            extensions.append((variable, self.expression(entry.expr, scope)))
            known.add(variable)
            names.append(variable)
        return extensions, names

    def _refuse_alias_in_having(self, condition: Any, defined: list[Variable], keys: list[Variable]) -> None:
        for node in _nodes(condition):
            if isinstance(node, RdflibVariable):
                variable = self._variable(node)
                if variable in defined and variable not in keys:
                    raise self.rewritten.error(
                        f"{variable} is not defined in HAVING, which comes before SELECT",
                        self._index(node),
                        hint="Write the aggregate again: HAVING (COUNT(*) > 1).",
                    )

    def _order(self, tree: CompValue, scope: _Where) -> tuple[tuple[Expression, bool], ...]:
        if tree.orderby is None:
            return ()
        return tuple(
            (self.expression(condition.expr, scope), condition.order == "DESC") for condition in tree.orderby.condition
        )

    def _sliced(self, tree: CompValue, pattern: Pattern) -> Pattern:
        clauses = tree.limitoffset
        if clauses is None:
            return pattern
        limit = None if clauses.limit is None else self._count(clauses.limit)
        offset = 0 if clauses.offset is None else self._count(clauses.offset)
        return Slice(pattern, offset, limit)

    def _count(self, node: Literal) -> int:
        index = abs(int(node))
        slot = self.rewritten.slots[index]
        if not isinstance(slot, NumberSlot) or slot.datatype != _INTEGER or slot.sign:
            raise self.rewritten.error("LIMIT and OFFSET take a whole number", index)
        return int(slot.digits)

    # --- graph patterns, 18.2.2 -------------------------------------------------------------

    def group(self, node: CompValue) -> Pattern:
        """The pattern of a group, its filters applied to the whole of it."""
        pattern, filters = self._group(node)
        for condition in filters:
            pattern = Filter(condition, pattern)
        return pattern

    def _group(self, node: CompValue) -> tuple[Pattern, list[Expression]]:
        if node.name == "SubSelect":
            return self.select(node)[0], []
        pattern: Pattern = _EMPTY
        filters: list[Expression] = []
        triples: list[TriplePattern | PathPattern] = []
        block = None
        for part in node.part or ():
            if part.name == "TriplesBlock":
                if block is None:
                    self._blocks += 1
                    block = self._blocks
                self._block = block
                triples += self._triples(part.triples)
            elif part.name == "Filter":  # does not end a basic graph pattern
                filters.append(self.expression(part.expr, self.where))
            else:
                pattern = self._combine(_join(pattern, Bgp(tuple(triples))), part)
                triples = []
                block = None
        return _join(pattern, Bgp(tuple(triples))), filters

    def _combine(self, pattern: Pattern, part: CompValue) -> Pattern:
        if part.name == "GroupOrUnionGraphPattern":
            alternatives = [self.group(graph) for graph in part.graph]
            union = alternatives[0]
            for alternative in alternatives[1:]:
                union = Union_(union, alternative)
            return _join(pattern, union)
        if part.name == "OptionalGraphPattern":
            optional, filters = self._group(part.graph)
            return LeftJoin(pattern, optional, _conjunction(filters))
        if part.name == "MinusGraphPattern":
            return Minus(pattern, self.group(part.graph))
        if part.name == "GraphGraphPattern":
            return _join(pattern, self._graph(part))
        if part.name == "Bind":
            variable = self._variable(part.var)
            if variable in visible(pattern):
                raise self.rewritten.error(
                    f"BIND defines {variable}, which is already in use in its group",
                    self._index(part.var),
                    hint="Choose another name, or compare with FILTER.",
                )
            return Extend(pattern, variable, self.expression(part.expr, self.where))
        if part.name == "InlineData":
            return _join(pattern, self._values(part))
        raise InternalError(f"unknown pattern in the parse tree: {part.name}")

    def _graph(self, part: CompValue) -> Pattern:
        inner = self.group(part.graph)
        if isinstance(part.term, RdflibVariable):
            return Graph(self._variable(part.term), inner)
        slot = self.rewritten.slots[int(part.term)]
        if isinstance(slot, WindowSlot):
            return Windowed(slot.name, inner)
        if isinstance(slot, ServiceSlot):
            return Service(slot.name, slot.silent)
        return Graph(iri_text(part.term, self.rewritten), inner)

    def _values(self, node: CompValue) -> Values:
        nodes = node.var or []
        variables = tuple(self._variable(variable) for variable in nodes)
        if len(set(variables)) < len(variables):
            raise self.rewritten.error("VALUES names a variable twice", self._index(nodes[0]))
        rows = []
        for value in node.value or ():
            cells = list(value) if isinstance(value, ParseResults) else [value]
            if isinstance(value, ParseResults) and len(cells) == 1 and _is_nil(cells[0]):
                cells = []
            if len(cells) != len(variables):
                at = self._index(nodes[0]) if nodes else self.rewritten.tokens.index(self._keyword("VALUES"))
                raise self.rewritten.error(
                    f"a row of VALUES has {len(cells)} terms for {len(variables)} variables",
                    at,
                    hint="Write UNDEF where a row has no term for a variable.",
                )
            rows.append(tuple(None if cell == "UNDEF" else self._constant(cell) for cell in cells))
        return Values(variables, tuple(rows))

    def _triples(self, blocks: Iterable[Iterable[Any]]) -> Iterator[TriplePattern | PathPattern]:
        for subject, predicate, object_ in _by_three(blocks):
            start, end = self.term(subject), self.term(object_)
            if isinstance(predicate, RdflibVariable):
                yield TriplePattern(start, self._variable(predicate), end)
                continue
            path = translate_path(predicate, self.rewritten)
            if isinstance(path, Link):
                yield TriplePattern(start, path.predicate, end)
            else:
                yield PathPattern(start, path, end)

    # --- terms ------------------------------------------------------------------------------

    def term(self, node: Any) -> Term:
        """A term of a triple pattern."""
        if isinstance(node, RdflibVariable):
            return self._variable(node)
        if isinstance(node, BNode):
            label = self._label(node)
            if label is None:
                return self._anonymous_node(node)
            name, index = label
            if self._labels.setdefault(name, self._block) != self._block:
                raise self.rewritten.error(
                    f"the blank node _:{name} is used in two basic graph patterns",
                    index,
                    hint=f"Use a variable instead: ?{name}.",
                )
            return Variable(f"_:.{name}")
        return self._constant(node)

    def _constant(self, node: Any) -> str:
        if isinstance(node, URIRef):
            return iri_text(node, self.rewritten)
        if isinstance(node, CompValue):
            slot = self.rewritten.slots[int(node.string)]
            assert isinstance(slot, LiteralSlot)
            return slot.text
        if str(node.datatype) == _BOOLEAN:
            return term_text(LiteralTerm(str(node), _BOOLEAN))
        return self._number(node, signed=True)

    def _number(self, node: Literal, *, signed: bool) -> str:
        slot = self.rewritten.slots[abs(int(node))]
        assert isinstance(slot, NumberSlot)
        return term_text(LiteralTerm(slot.sign + slot.digits if signed else slot.digits, slot.datatype))

    def _variable(self, node: RdflibVariable) -> Variable:
        slot = self.rewritten.slots[self._index(node)]
        assert isinstance(slot, VariableSlot)
        return Variable(slot.name)

    def _index(self, node: RdflibVariable) -> int:
        return int(node[1:])

    def _label(self, node: BNode) -> tuple[str, int] | None:
        """The label of a blank node as the user wrote it, and its token; None for an anonymous one."""
        if not node.startswith("l"):
            return None
        slot = self.rewritten.slots[int(node[1:])]
        assert isinstance(slot, LabelSlot)
        return slot.label, int(node[1:])

    def _anonymous_node(self, node: BNode) -> Variable:
        if node not in self._anonymous:
            self._anonymous[node] = Variable(f"_:[{len(self._anonymous) + 1}]")
        return self._anonymous[node]

    def internal(self, kind: str) -> Variable:
        """A variable that no query can name."""
        self._internal += 1
        return Variable(f"_:[{kind} {self._internal}]")

    # --- expressions ------------------------------------------------------------------------

    def expression(self, node: Any, scope: _Where) -> Expression:
        """The expression that a node of the parse tree means."""
        while isinstance(node, CompValue) and node.name in _LEVELS and node.other is None:
            node = node.expr
        if isinstance(node, RdflibVariable):
            return scope.variable(self._variable(node), self._index(node))
        if isinstance(node, ParseResults) and len(node) == 1:
            return self.expression(node[0], scope)
        if isinstance(node, Literal) and str(node.datatype) != _BOOLEAN:
            # rdflib reads a sign as an operator, so that a sign in the number is one it has met as such
            return Constant(self._number(node, signed=int(node) < 0))
        if not isinstance(node, CompValue) or node.name == "literal":
            return Constant(self._constant(node))
        if node.name in _LOGICAL:
            return self._chain(node.expr, ((_LOGICAL[node.name], other) for other in node.other), scope)
        if node.name in ("AdditiveExpression", "MultiplicativeExpression"):
            return self._chain(node.expr, zip(map(str, node.op), node.other, strict=True), scope)
        if node.name == "RelationalExpression":
            return self._relation(node, scope)
        if node.name in _UNARY:
            return self._unary(node, scope)
        if node.name == "Function":
            return self._function(node, scope)
        if node.name.startswith("Aggregate_"):
            return self._aggregate(node, scope)
        if node.name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            return Exists(self.group(node.graph), node.name == "Builtin_NOTEXISTS")
        if node.name.startswith("Builtin_"):
            return self._builtin(node, scope)
        raise InternalError(f"unknown expression in the parse tree: {node.name}")

    def _chain(self, first: Any, others: Iterable[tuple[str, Any]], scope: _Where) -> Expression:
        result = self.expression(first, scope)
        for operator, other in others:
            result = Call(operator, (result, self.expression(other, scope)))
        return result

    def _relation(self, node: CompValue, scope: _Where) -> Expression:
        operator = " ".join(str(node.op).upper().split())
        left = self.expression(node.expr, scope)
        if operator in ("IN", "NOT IN"):
            return Call(operator, (left, *self._list(node.other, scope)))
        return Call(operator, (left, self.expression(node.other, scope)))

    def _unary(self, node: CompValue, scope: _Where) -> Expression:
        operand = node.expr
        if isinstance(operand, Literal) and str(operand.datatype) != _BOOLEAN and int(operand) > 0:
            slot = self.rewritten.slots[int(operand)]
            assert isinstance(slot, NumberSlot)
            if slot.sign == {"UnaryMinus": "-", "UnaryPlus": "+"}.get(node.name):
                return Constant(self._number(operand, signed=True))
        return Call(_UNARY[node.name], (self.expression(operand, scope),))

    def _function(self, node: CompValue, scope: _Where) -> Expression:
        name = iri_text(node.iri, self.rewritten)
        if node.distinct:
            raise UnsupportedError(
                f"{name} with DISTINCT: there are no aggregates beyond SPARQL's own",
                place=self.rewritten.place(int(node.iri)),
            )
        return Call(name, tuple(self.expression(argument, scope) for argument in node.expr or ()))

    def _builtin(self, node: CompValue, scope: _Where) -> Expression:
        name = node.name.removeprefix("Builtin_").upper()
        arguments: list[Expression] = []
        for argument in node.values():
            if name in ("CONCAT", "COALESCE"):
                arguments += self._list(argument, scope)
            else:
                arguments.append(self.expression(argument, scope))
        return Call(_SYNONYMS.get(name, name), tuple(arguments))

    def _list(self, node: Any, scope: _Where) -> list[Expression]:
        if _is_nil(node):
            return []
        return [self.expression(item, scope) for item in node]

    def _aggregate(self, node: CompValue, scope: _Where) -> Expression:
        function = {"GroupConcat": "GROUP_CONCAT"}.get(node.name[10:], node.name[10:].upper())
        argument = None
        if node.vars != "*":
            argument = self.expression(node.vars, _Where(self, "another aggregate"))
        separator = None
        if function == "GROUP_CONCAT":
            separator = " "
            if node.separator is not None:
                slot = self.rewritten.slots[int(node.separator)]
                if not isinstance(slot, LiteralSlot) or slot.plain is None:
                    raise self.rewritten.error("SEPARATOR takes a plain string", int(node.separator))
                separator = slot.plain
        return scope.aggregate(Aggregate(function, argument, bool(node.distinct), separator))

    def refuse_aggregate(self, function: str, within: str) -> NoReturn:
        raise self.rewritten.source.error(
            f"{function} cannot stand in {within}",
            self._keyword(function),
            hint="Aggregates belong in SELECT, HAVING and ORDER BY; compute it in a sub-SELECT.",
        )

    def _keyword(self, word: str) -> Token:
        for token in self.rewritten.tokens:
            if token.kind is Kind.WORD and token.value == word:
                return token
        return self.rewritten.tokens[0]

    def _keyword_place(self, word: str) -> Place:
        token = self._keyword(word)
        return self.rewritten.source.place(token.start, token.end)


_LEVELS = frozenset((*_LOGICAL, "RelationalExpression", "AdditiveExpression", "MultiplicativeExpression"))


def _by_three(blocks: Iterable[Iterable[Any]]) -> Iterator[tuple[Any, Any, Any]]:
    for block in blocks:
        terms = list(block)
        yield from zip(terms[0::3], terms[1::3], terms[2::3], strict=True)


def _join(left: Pattern, right: Pattern) -> Pattern:
    if left == _EMPTY:
        return right
    return left if right == _EMPTY else Join(left, right)


def _conjunction(conditions: list[Expression]) -> Expression | None:
    if not conditions:
        return None
    result = conditions[0]
    for condition in conditions[1:]:
        result = Call("&&", (result, condition))
    return result


def _is_nil(node: Any) -> bool:
    """Whether the grammar read `()`; the user's own rdf:nil is a placeholder."""
    return isinstance(node, URIRef) and not node.isdigit()


def _nodes(node: Any) -> Iterator[Any]:
    """The nodes of an expression outside its aggregates and patterns, itself included."""
    todo = [node]
    while todo:
        current = todo.pop()
        yield current
        if isinstance(current, CompValue):
            if not current.name.startswith("Aggregate_") and "EXISTS" not in current.name:
                todo.extend(current.values())
        elif isinstance(current, list | ParseResults):
            todo.extend(current)


def _has_aggregate(node: Any) -> bool:
    return any(isinstance(part, CompValue) and part.name.startswith("Aggregate_") for part in _nodes(node))
