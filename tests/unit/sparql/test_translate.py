"""The algebra of SPARQL 1.1, feature by feature, against trees written by hand."""

from __future__ import annotations

import pytest

from spectra.errors import QueryError, UnsupportedError
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery, Form
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
    QuadPattern,
    Reduced,
    RepeatPath,
    SequencePath,
    Slice,
    TriplePattern,
    Union_,
    Values,
    Variable,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
A, B, C, X, Y, Z = (Variable(name) for name in "abcxyz")


def parse(text: str) -> ContinuousQuery:
    # a declared window leaves the patterns outside WINDOW as they are
    head, brace, rest = text.partition("{") if not text.startswith("CONSTRUCT") else ("", "", text)
    prologue = "PREFIX ex: <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
    if brace:
        return parse_query(
            f"{prologue}{head.removesuffix('WHERE ')} FROM NAMED WINDOW <w> ON <s> [EVENT] WHERE {{{rest}"
        )
    return parse_query(prologue + rest.replace("WHERE", "FROM NAMED WINDOW <w> ON <s> [EVENT] WHERE", 1))


def where(group: str) -> Pattern:
    query = parse("SELECT * { " + group + " }")
    assert isinstance(query.pattern, Project)
    return query.pattern.pattern


def expression(text: str) -> Expression:
    pattern = where(f"FILTER ({text})")
    assert isinstance(pattern, Filter)
    assert pattern.pattern == Bgp(())
    return pattern.condition


def path(text: str) -> PathExpression:
    pattern = where(f"?x {text} ?y")
    assert isinstance(pattern, Bgp)
    (part,) = pattern.patterns
    assert isinstance(part, PathPattern)
    assert (part.subject, part.object) == (X, Y)
    return part.path


def triple(subject: Variable | str, name: str, object_: Variable | str) -> TriplePattern:
    return TriplePattern(subject, f"<http://e/{name}>", object_)


def bgp(name: str) -> Bgp:
    return Bgp((triple(X, name, Y),))


def number(text: str, datatype: str = "integer") -> str:
    return f'"{text}"^^<{XSD}{datatype}>'


def constant(text: str, datatype: str = "integer") -> Constant:
    return Constant(number(text, datatype))


def link(name: str) -> Link:
    return Link(f"<http://e/{name}>")


P, Q, R = bgp("p"), bgp("q"), bgp("r")
p, q, r = "?x ex:p ?y", "?x ex:q ?y", "?x ex:r ?y"


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("01", number("01")),
        ("+1", number("+1")),
        ("-1", number("-1")),
        ("1.0", number("1.0", "decimal")),
        ("-.50", number("-.50", "decimal")),
        ("1e0", number("1e0", "double")),
        ("true", number("true", "boolean")),
        ("FALSE", number("false", "boolean")),
        ('"01"^^xsd:integer', number("01")),
        ('"x"^^xsd:boolean', number("x", "boolean")),
        ('"a"', '"a"'),
        ('"a"^^xsd:string', '"a"'),
        ('"a"@EN-gb', '"a"@en-gb'),
        (r"'\'\"\\\n\r\t'", '"' + r"'\"\\\n\r" + '\t"'),
        ("'''\n'''", r'"\n"'),
        ("ex:a", "<http://e/a>"),
        ("<rel>", "<rel>"),
        ("()", f"<{RDF}nil>"),
    ],
)
def test_terms_stay_as_written(text: str, term: str) -> None:
    assert where(f"?x ex:p {text}") == Bgp((triple(X, "p", term),))


def test_normalisation_of_rdflib_is_neither_used_nor_changed() -> None:
    import rdflib

    before = rdflib.NORMALIZE_LITERALS
    assert where("?x ex:p 007") == Bgp((triple(X, "p", number("007")),))
    assert before == rdflib.NORMALIZE_LITERALS


def test_triples_keep_their_order_and_abbreviations_expand() -> None:
    # rdflib's own algebra would put the constants first
    group = "?x ex:p ?y ; ex:q ?z , 1 ; . ?z a ex:C ; ; ex:r ?x ."
    assert where(group) == Bgp(
        (
            triple(X, "p", Y),
            triple(X, "q", Z),
            triple(X, "q", number("1")),
            TriplePattern(Z, f"<{RDF}type>", "<http://e/C>"),
            triple(Z, "r", X),
        )
    )


def test_blank_nodes_are_variables_nobody_can_name() -> None:
    pattern = where("_:a ex:p [ ex:q ?x ] . [] ex:p _:a . [ ex:r ?y ] ex:q ?z .")
    assert isinstance(pattern, Bgp)
    one, two, three = Variable("_:[1]"), Variable("_:[2]"), Variable("_:[3]")
    label = Variable("_:.a")
    assert pattern.patterns == (
        triple(label, "p", one),
        triple(one, "q", X),
        triple(two, "p", label),
        triple(three, "r", Y),
        triple(three, "q", Z),
    )
    assert parse("SELECT * { _:a ex:p [ ex:q ?x ] }").variables == (X,)


def test_collections() -> None:
    pattern = where("?x ex:p (1 ?y)")
    assert isinstance(pattern, Bgp)
    one, two = Variable("_:[1]"), Variable("_:[2]")
    assert set(pattern.patterns) == {
        triple(X, "p", one),
        TriplePattern(one, f"<{RDF}first>", number("1")),
        TriplePattern(one, f"<{RDF}rest>", two),
        TriplePattern(two, f"<{RDF}first>", Y),
        TriplePattern(two, f"<{RDF}rest>", f"<{RDF}nil>"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("^ex:p", InversePath(link("p"))),
        ("ex:p/ex:q", SequencePath((link("p"), link("q")))),
        ("ex:p | a", AlternativePath((link("p"), Link(f"<{RDF}type>")))),
        ("ex:p*", ZeroOrMorePath(link("p"))),
        ("ex:p +", OneOrMorePath(link("p"))),
        ("ex:p?", ZeroOrOnePath(link("p"))),
        ("(ex:p/^ex:q)+", OneOrMorePath(SequencePath((link("p"), InversePath(link("q")))))),
        ("^ex:p*", InversePath(ZeroOrMorePath(link("p")))),
        ("(^ex:p)*", ZeroOrMorePath(InversePath(link("p")))),
        ("(ex:p*)*", ZeroOrMorePath(ZeroOrMorePath(link("p")))),
        ("ex:p/ex:q|ex:r", AlternativePath((SequencePath((link("p"), link("q"))), link("r")))),
        ("!ex:p", NegatedPropertySet(("<http://e/p>",), None)),
        ("!a", NegatedPropertySet((f"<{RDF}type>",), None)),
        ("!^ex:p", NegatedPropertySet(None, ("<http://e/p>",))),
        (
            "!(ex:p|^ex:q|a|^a)",
            NegatedPropertySet(("<http://e/p>", f"<{RDF}type>"), ("<http://e/q>", f"<{RDF}type>")),
        ),
        ("!(ex:p|ex:q)", NegatedPropertySet(("<http://e/p>", "<http://e/q>"), None)),
        ("!(^ex:p)", NegatedPropertySet(None, ("<http://e/p>",))),
        ("!()", NegatedPropertySet((), None)),
        ("(!^ex:p)+", OneOrMorePath(NegatedPropertySet(None, ("<http://e/p>",)))),
        ("ex:p{2,3}", RepeatPath(link("p"), 2, 3)),
        ("a{2}", RepeatPath(Link(f"<{RDF}type>"), 2, 2)),
        ("ex:p|ex:q{2,}", AlternativePath((link("p"), RepeatPath(link("q"), 2, None)))),
        ("ex:p/ex:q{,2}/ex:r", SequencePath((link("p"), RepeatPath(link("q"), 0, 2), link("r")))),
        ("(ex:p|ex:q){2}", RepeatPath(AlternativePath((link("p"), link("q"))), 2, 2)),
        (
            "(ex:p/ex:q){2}/ex:r",
            SequencePath((RepeatPath(SequencePath((link("p"), link("q"))), 2, 2), link("r"))),
        ),
        ("^ex:p{2}", InversePath(RepeatPath(link("p"), 2, 2))),
        ("(^ex:p){2}", RepeatPath(InversePath(link("p")), 2, 2)),
        ("(ex:p{2})+", OneOrMorePath(RepeatPath(link("p"), 2, 2))),
        ("!(ex:p|^ex:q){2}", RepeatPath(NegatedPropertySet(("<http://e/p>",), ("<http://e/q>",)), 2, 2)),
    ],
)
def test_paths(text: str, expected: PathExpression) -> None:
    assert path(text) == expected


def test_a_path_of_one_predicate_is_a_triple_pattern() -> None:
    assert where("?x (ex:p) ?y") == P
    assert where("?x ?z ?y") == Bgp((TriplePattern(X, Z, Y),))


@pytest.mark.parametrize(
    "text", ["ex:p{3,2}", "ex:p{2}+", "ex:p+{2}", "ex:p{-1}", "ex:p{}", "DISTINCT(ex:p)", "^^ex:p"]
)
def test_paths_that_are_wrong(text: str) -> None:
    with pytest.raises(QueryError):
        path(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a", A),
        ("?a = 1 && ?b || ?c", Call("||", (Call("&&", (Call("=", (A, constant("1"))), B)), C))),
        ("?a || ?b || ?c", Call("||", (Call("||", (A, B)), C))),
        ("?a - ?b - ?c", Call("-", (Call("-", (A, B)), C))),
        ("?a + ?b * ?c / 2", Call("+", (A, Call("/", (Call("*", (B, C)), constant("2")))))),
        ("(?a + ?b) * ?c", Call("*", (Call("+", (A, B)), C))),
        ("?a -1", Call("-", (A, constant("1")))),
        ("?a+1", Call("+", (A, constant("1")))),
        ("?a - -1", Call("-", (A, constant("-1")))),
        ("?a -1*?b", Call("-", (A, Call("*", (constant("1"), B))))),
        ("-1 < ?a", Call("<", (constant("-1"), A))),
        ("- 1 < ?a", Call("<", (Call("unary-", (constant("1"),)), A))),
        ("-?a >= +?b", Call(">=", (Call("unary-", (A,)), Call("unary+", (B,))))),
        ("+1.50 = 1", Call("=", (constant("+1.50", "decimal"), constant("1")))),
        ("!?a != true", Call("!=", (Call("!", (A,)), constant("true", "boolean")))),
        ("!(?a)", Call("!", (A,))),
        ("!ex:f(?a)", Call("!", (Call("<http://e/f>", (A,)),))),
        ("?a IN (1, ?b)", Call("IN", (A, constant("1"), B))),
        ("?a NOT  IN ()", Call("NOT IN", (A,))),
        ("?a not in (-1)", Call("NOT IN", (A, constant("-1")))),
        ("BOUND(?a)", Call("BOUND", (A,))),
        ("isIRI(?a)", Call("ISIRI", (A,))),
        ("isURI(URI(?a))", Call("ISIRI", (Call("IRI", (A,)),))),
        ("sameTerm(?a, <b>)", Call("SAMETERM", (A, Constant("<b>")))),
        ('REGEX(?a, "b", "i")', Call("REGEX", (A, Constant('"b"'), Constant('"i"')))),
        (
            'REPLACE(?a, "b", "c", "i")',
            Call("REPLACE", (A, Constant('"b"'), Constant('"c"'), Constant('"i"'))),
        ),
        ("SUBSTR(?a, 1, 2)", Call("SUBSTR", (A, constant("1"), constant("2")))),
        ("IF(?a, ?b, ?c)", Call("IF", (A, B, C))),
        ("COALESCE(?a, ?b)", Call("COALESCE", (A, B))),
        ("COALESCE()", Call("COALESCE", ())),
        ("CONCAT(?a)", Call("CONCAT", (A,))),
        ("now() > ?a", Call(">", (Call("NOW", ()), A))),
        ("BNODE() = BNODE(?a)", Call("=", (Call("BNODE", ()), Call("BNODE", (A,))))),
        ("xsd:integer(?a)", Call(f"<{XSD}integer>", (A,))),
        ("ex:f()", Call("<http://e/f>", ())),
        ("ex:f(?a, 1)", Call("<http://e/f>", (A, constant("1")))),
        ("<urn:spectra:time>(?a)", Call("<urn:spectra:time>", (A,))),
        ("?a < ?b", Call("<", (A, B))),
        (f"EXISTS {{ {p} }}", Exists(P, False)),
        (f"NOT EXISTS {{ {p} FILTER(?x) }}", Exists(Filter(X, P), True)),
        (f"?a && NOT EXISTS {{ {p} }}", Call("&&", (A, Exists(P, True)))),
    ],
)
def test_expressions(text: str, expected: Expression) -> None:
    assert expression(text) == expected


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("", Bgp(())),
        (f"{p} . FILTER(?x) {q}", Filter(X, Bgp((*P.patterns, *Q.patterns)))),
        (f"FILTER(?x) {p} FILTER(?y)", Filter(Y, Filter(X, P))),
        (f"{{ {p} }} {{ {q} }}", Join(P, Q)),
        (f"{{ {p} }} UNION {{ {q} }} UNION {{ {r} }}", Union_(Union_(P, Q), R)),
        (f"{p} OPTIONAL {{ {q} }}", LeftJoin(P, Q, None)),
        (f"{p} OPTIONAL {{ {q} FILTER(?x) }} {r}", Join(LeftJoin(P, Q, X), R)),
        (f"{p} OPTIONAL {{ {q} FILTER(?x) FILTER(?y) }}", LeftJoin(P, Q, Call("&&", (X, Y)))),
        # a filter of an inner group is not the condition of the OPTIONAL
        (f"{p} OPTIONAL {{ {{ {q} FILTER(?x) }} }}", LeftJoin(P, Filter(X, Q), None)),
        (f"OPTIONAL {{ {p} }}", LeftJoin(Bgp(()), P, None)),
        (f"{p} OPTIONAL {{ {q} OPTIONAL {{ {r} }} }}", LeftJoin(P, LeftJoin(Q, R, None), None)),
        (f"{p} MINUS {{ {q} }} {r}", Join(Minus(P, Q), R)),
        (f"{p} BIND(?x AS ?z) {q}", Join(Extend(P, Z, X), Q)),
        ("BIND(1 AS ?z)", Extend(Bgp(()), Z, constant("1"))),
        (f"GRAPH <g> {{ {p} }}", Graph("<g>", P)),
        (f"GRAPH ?z {{ {p} }} {q}", Join(Graph(Z, P), Q)),
        (f"{p} VALUES ?x {{ 1 UNDEF <c> }}", Join(P, Values((X,), ((number("1"),), (None,), ("<c>",))))),
        (
            'VALUES (?x ?y) { (1 UNDEF) ("a"@en ex:b) }',
            Values((X, Y), ((number("1"), None), ('"a"@en', "<http://e/b>"))),
        ),
        ("VALUES () { () () }", Values((), ((), ()))),
        ("VALUES ?x { }", Values((X,), ())),
        (f"{{ SELECT ?x {{ {p} }} LIMIT 1 }} {q}", Join(Slice(Project(P, (X,)), 0, 1), Q)),
        (f"{p} FILTER EXISTS {{ {q} }} {r}", Filter(Exists(Q, False), Bgp((*P.patterns, *R.patterns)))),
    ],
)
def test_groups(group: str, expected: Pattern) -> None:
    assert where(group) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?y ?x { " + p + " }", Project(P, (Y, X))),
        ("SELECT DISTINCT ?x { " + p + " }", Distinct(Project(P, (X,)))),
        ("SELECT REDUCED ?x { " + p + " }", Reduced(Project(P, (X,)))),
        (
            "SELECT * { ?z ex:p ?y . ?x ex:q ?z }",
            Project(Bgp((triple(Z, "p", Y), triple(X, "q", Z))), (Z, Y, X)),
        ),
        ("SELECT * { " + p + " MINUS { ?x ex:q ?z } FILTER(?a) }", None),
        (
            "SELECT ?x { " + p + " } ORDER BY ?y DESC(?x) LIMIT 2 OFFSET 1",
            Slice(Project(OrderBy(P, ((Y, False), (X, True))), (X,)), 1, 2),
        ),
        ("SELECT ?x { " + p + " } OFFSET 3", Slice(Project(P, (X,)), 3, None)),
        (
            "SELECT (?x AS ?z) (?z + 1 AS ?a) { " + p + " } ORDER BY ASC(?a)",
            Project(OrderBy(Extend(Extend(P, Z, X), A, Call("+", (Z, constant("1")))), ((A, False),)), (Z, A)),
        ),
        ("SELECT ?x { " + p + " } VALUES ?y { 1 }", Project(Join(P, Values((Y,), ((number("1"),),))), (X,))),
        (
            "SELECT * { " + p + " } VALUES ?z { 1 }",
            Project(Join(P, Values((Z,), ((number("1"),),))), (X, Y, Z)),
        ),
    ],
)
def test_select_and_modifiers(text: str, expected: Pattern | None) -> None:
    query = parse(text)
    if expected is None:
        assert query.variables == (X, Y)
    else:
        assert query.pattern == expected


ONE, TWO = Variable("_:[aggregate 1]"), Variable("_:[aggregate 2]")
COUNT = Aggregate("COUNT", None, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT (COUNT(*) AS ?z) { " + p + " }",
            Project(Extend(Group(P, (), ((ONE, COUNT),)), Z, ONE), (Z,)),
        ),
        (
            "SELECT ?x (SUM(DISTINCT ?y) + COUNT(*) AS ?z) { " + p + " } GROUP BY ?x HAVING (COUNT(*) > 1) (?x)",
            Project(
                Extend(
                    Filter(
                        X,
                        Filter(
                            Call(">", (TWO, constant("1"))),
                            Group(P, ((X, X),), ((ONE, Aggregate("SUM", Y, True)), (TWO, COUNT))),
                        ),
                    ),
                    Z,
                    Call("+", (ONE, TWO)),
                ),
                (X, Z),
            ),
        ),
        (
            "SELECT ?a { " + p + " } GROUP BY (?x + 1 AS ?a) STR(?y) (?x) ORDER BY AVG(?y)",
            Project(
                OrderBy(
                    Group(
                        P,
                        (
                            (A, Call("+", (X, constant("1")))),
                            (Variable("_:[key 1]"), Call("STR", (Y,))),
                            (X, X),
                        ),
                        ((Variable("_:[aggregate 2]"), Aggregate("AVG", Y, False)),),
                    ),
                    ((Variable("_:[aggregate 2]"), False),),
                ),
                (A,),
            ),
        ),
        (
            # SAMPLE of what is not a key, as 18.2.4.1 has it
            "SELECT ?x { " + p + " } GROUP BY ?x HAVING (?y > 1)",
            Project(
                Filter(
                    Call(">", (ONE, constant("1"))),
                    Group(P, ((X, X),), ((ONE, Aggregate("SAMPLE", Y, False)),)),
                ),
                (X,),
            ),
        ),
        (
            "SELECT (GROUP_CONCAT(DISTINCT ?x ; SEPARATOR = ', ') AS ?a) (GROUP_CONCAT(?x) AS ?b) { " + p + " }",
            Project(
                Extend(
                    Extend(
                        Group(
                            P,
                            (),
                            (
                                (ONE, Aggregate("GROUP_CONCAT", X, True, ", ")),
                                (TWO, Aggregate("GROUP_CONCAT", X, False, " ")),
                            ),
                        ),
                        A,
                        ONE,
                    ),
                    B,
                    TWO,
                ),
                (A, B),
            ),
        ),
        (
            "SELECT (MIN(?x) AS ?a) (?a + 1 AS ?b) { " + p + " } ORDER BY ?b",
            Project(
                OrderBy(
                    Extend(
                        Extend(Group(P, (), ((ONE, Aggregate("MIN", X, False)),)), A, ONE),
                        B,
                        Call("+", (A, constant("1"))),
                    ),
                    ((B, False),),
                ),
                (A, B),
            ),
        ),
        (
            # the same aggregate is computed once; VALUES joins after HAVING
            "SELECT ?x (COUNT(*) AS ?a) (COUNT(*) AS ?b) { " + p + " } GROUP BY ?x VALUES ?x { 1 }",
            Project(
                Extend(
                    Extend(Join(Group(P, ((X, X),), ((ONE, COUNT),)), Values((X,), ((number("1"),),))), A, ONE),
                    B,
                    ONE,
                ),
                (X, A, B),
            ),
        ),
        (
            "SELECT (COUNT(DISTINCT *) AS ?a) { " + p + " } GROUP BY ?x",
            Project(Extend(Group(P, ((X, X),), ((ONE, Aggregate("COUNT", None, True)),)), A, ONE), (A,)),
        ),
    ],
)
def test_aggregates(text: str, expected: Pattern) -> None:
    assert parse(text).pattern == expected


def test_ask_and_construct() -> None:
    ask = parse("ASK { " + p + " }")
    assert (ask.form, ask.pattern, ask.variables) == (Form.ASK, P, ())
    construct = parse(
        "CONSTRUCT { ?x ex:new _:n ; ex:old [ ex:of ?y ] . ?z ?a 01 } WHERE { " + p + " . _:n ex:q ?x } LIMIT 1"
    )
    label, one = Variable("_:n"), Variable("_:[1]")
    assert construct.template == (
        triple(X, "new", label),
        triple(X, "old", one),
        triple(one, "of", Y),
        TriplePattern(Z, A, number("01")),
    )
    # the template's blank node is another one than the pattern's
    assert construct.pattern == Slice(Bgp((triple(X, "p", Y), triple(Variable("_:.n"), "q", X))), 0, 1)
    assert construct.variables == ()


@pytest.mark.parametrize(
    "template",
    [
        "?x ex:p ?y . GRAPH ex:g { ?x ex:p ?z ; ex:q _:n . _:n ex:p [] . } "
        "GRAPH ?y { } GRAPH ?y { ?z ex:p ?x } . _:n ex:q ?x",
        "?x ex:p ?y GRAPH ex:g { ?x ex:p ?z ; ex:q _:n . _:n ex:p [] } . GRAPH ?y { ?z ex:p ?x . } _:n ex:q ?x .",
    ],
)
def test_named_graphs_of_a_template(template: str) -> None:
    graph, label, anonymous = "<http://e/g>", Variable("_:n"), Variable("_:[1]")

    def quad(subject: Variable, name: str, object_: Variable, of: Variable | str) -> QuadPattern:
        return QuadPattern(subject, f"<http://e/{name}>", object_, of)

    assert parse(f"CONSTRUCT {{ {template} }} WHERE {{ {p} }}").template == (
        triple(X, "p", Y),
        quad(X, "p", Z, graph),
        quad(X, "q", label, graph),
        quad(label, "p", anonymous, graph),
        quad(Z, "p", X, Y),
        triple(label, "q", X),
    )


@pytest.mark.parametrize(
    ("template", "message", "column"),
    [
        ("GRAPH <g> { GRAPH <g> { ?x <p> ?y } }", "GRAPH inside GRAPH", 25),
        ("GRAPH { ?x <p> ?y }", 'unexpected "{"', 19),
        ("GRAPH <g> ?x <p> ?y", r'unexpected "\?x"', 23),
        ('GRAPH "g" { ?x <p> ?y }', "unexpected", 19),
    ],
)
def test_wrong_graphs_of_a_template(template: str, message: str, column: int) -> None:
    with pytest.raises(QueryError, match=message) as error:
        parse_query(f"CONSTRUCT {{ {template} }} WHERE {{ ?x <p> ?y }}", range="PT1S")
    assert error.value.place is not None
    assert error.value.place.column == column


def test_construct_where() -> None:
    query = parse("CONSTRUCT WHERE { ?x ex:p ?y . ?y a ex:C }")
    patterns = (triple(X, "p", Y), TriplePattern(Y, f"<{RDF}type>", "<http://e/C>"))
    assert (query.pattern, query.template) == (Bgp(patterns), patterns)
    assert parse("CONSTRUCT WHERE { }").template == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?y { " + p + " } GROUP BY ?x", r"\?y is neither in GROUP BY nor inside an aggregate"),
        ("SELECT (?y + 1 AS ?z) { " + p + " } GROUP BY ?x", r"\?y is neither in GROUP BY"),
        ("SELECT ?x (COUNT(?y) AS ?z) { " + p + " }", r"\?x is neither in GROUP BY"),
        ("SELECT * { " + p + " } GROUP BY ?x", r"SELECT \* cannot go with GROUP BY"),
        ("SELECT (1 AS ?x) { " + p + " }", r"\?x is already in use"),
        ("SELECT (1 AS ?z) (2 AS ?z) { " + p + " }", r"\?z is already in use"),
        ("SELECT * { " + p + " BIND(1 AS ?x) }", r"BIND defines \?x, which is already in use"),
        ("SELECT * { " + p + " FILTER(COUNT(?x) > 1) }", "COUNT cannot stand in a FILTER"),
        ("SELECT (SUM(COUNT(?x)) AS ?z) { " + p + " }", "COUNT cannot stand in another aggregate"),
        (
            "SELECT ?x (COUNT(*) AS ?z) { " + p + " } GROUP BY ?x HAVING (?z > 1)",
            r"\?z is not defined in HAVING",
        ),
        ("SELECT ?z { " + p + " } GROUP BY (1 AS ?y) ?z", r"\?y is already in use"),
        ("SELECT * { _:a ex:p ?x OPTIONAL { _:a ex:q ?x } }", "_:a is used in two basic graph patterns"),
        ("SELECT * { _:a ex:p ?x { } _:a ex:q ?x }", "_:a is used in two basic graph patterns"),
        ("SELECT * { VALUES (?x ?y) { (1) } }", "a row of VALUES has 1 terms for 2 variables"),
        ("SELECT * { VALUES (?x ?x) { (1 1) } }", "VALUES names a variable twice"),
        ("SELECT * { " + p + " } LIMIT 1.5", "LIMIT and OFFSET take a whole number"),
        ("SELECT * { FILTER(ex:p{2}) }", "a repetition can only follow an element"),
        (
            "SELECT (GROUP_CONCAT(?x ; SEPARATOR='a'@en) AS ?z) { " + p + " }",
            "SEPARATOR takes a plain string",
        ),
    ],
)
def test_what_the_grammar_lets_through_and_sparql_forbids(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        parse(text)
    assert caught.value.place is not None


def test_blank_node_labels_live_on_across_a_filter_but_not_into_it() -> None:
    pattern = where("_:a ex:p ?x FILTER EXISTS { ?x ex:q ?y } _:a ex:q ?x")
    assert isinstance(pattern, Filter)
    assert pattern.pattern == Bgp((triple(Variable("_:.a"), "p", X), triple(Variable("_:.a"), "q", X)))
    with pytest.raises(QueryError, match="two basic graph patterns"):
        where("_:a ex:p ?x FILTER EXISTS { _:a ex:q ?y }")


def test_bind_looks_at_its_group_up_to_there_only() -> None:
    assert where(f"{{ {p} }} UNION {{ BIND(1 AS ?x) }}") == Union_(P, Extend(Bgp(()), X, constant("1")))
    assert where(f"BIND(1 AS ?x) {p}") == Join(Extend(Bgp(()), X, constant("1")), P)
    assert where(f"{p} FILTER EXISTS {{ BIND(1 AS ?x) }}")


def test_distinct_in_an_extension_function_is_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="<http://e/f> with DISTINCT"):
        parse("SELECT (ex:f(DISTINCT ?x) AS ?z) { " + p + " }")
