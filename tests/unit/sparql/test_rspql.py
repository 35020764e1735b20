"""RSP-QL and its dialects: what REGISTER, windows, options and the caller's range come to."""

from __future__ import annotations

import pytest

from spectra.errors import QueryError, UnsupportedError
from spectra.sparql import parse_query
from spectra.sparql.query import (
    ContinuousQuery,
    Form,
    Option,
    OutputOperator,
    Policy,
    Report,
    WindowKind,
    WindowSpec,
)
from spectra.sparql.syntax import (
    Bgp,
    Call,
    Exists,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    PathPattern,
    Project,
    RepeatPath,
    Service,
    TriplePattern,
    Variable,
    Windowed,
)

PREFIX = "PREFIX ex: <http://e/>\n"


def window(brackets: str) -> WindowSpec:
    declaration = f"FROM NAMED WINDOW <w> ON <s> [{brackets}]"
    (found,) = parse_query(f"REGISTER ISTREAM <q> AS SELECT * {declaration} {{ WINDOW <w> {{ ?a ?b ?c }} }}").windows
    assert (found.name, found.stream) == ("w", "s")
    return found.spec


def body(query: ContinuousQuery) -> object:
    assert isinstance(query.pattern, Project)
    return query.pattern.pattern


def triple(name: str) -> Bgp:
    return Bgp((TriplePattern(Variable("a"), f"<http://e/{name}>", Variable("b")),))


def test_the_example_of_the_interface() -> None:
    query = parse_query(
        """PREFIX ex: <http://example.org/>
        REGISTER ISTREAM ex:reach AS
        SELECT ?a ?b
        FROM NAMED WINDOW ex:w ON ex:transfers [RANGE PT24H STEP PT1H]
        FROM <people.ttl>
        WHERE { WINDOW ex:w { ?a ex:pays+ ?b } ?b a ex:Suspect }"""
    )
    assert query.name == "http://example.org/reach"
    assert (query.output, query.form) == (OutputOperator.ISTREAM, Form.SELECT)
    assert [(w.name, w.stream) for w in query.windows] == [("http://example.org/w", "http://example.org/transfers")]
    assert query.windows[0].spec == WindowSpec(WindowKind.TIME, 86_400_000, 3_600_000)
    assert (query.static, query.static_named) == (("people.ttl",), ())
    assert query.variables == (Variable("a"), Variable("b"))
    pattern = body(query)
    assert isinstance(pattern, Join)
    assert isinstance(pattern.left, Windowed)
    assert pattern.left.name == "<http://example.org/w>"
    assert isinstance(pattern.right, Bgp)
    assert query.report == Report(Policy.ON_CONTENT_CHANGE)


@pytest.mark.parametrize(
    ("brackets", "spec"),
    [
        ("RANGE PT10M STEP PT1M", WindowSpec(WindowKind.TIME, 600_000, 60_000)),
        ("range 10m slide 1m", WindowSpec(WindowKind.TIME, 600_000, 60_000)),
        ("RANGE 10s TUMBLING", WindowSpec(WindowKind.TIME, 10_000, 10_000)),
        ("RANGE P30D", WindowSpec(WindowKind.TIME, 2_592_000_000, 2_592_000_000)),
        ("RANGE PT5S STEP PT0.5S", WindowSpec(WindowKind.TIME, 5000, 500)),
        ("RANGE 10 s STEP 500 ms", WindowSpec(WindowKind.TIME, 10_000, 500)),
        ("RANGE \"PT10M\"^^xsd:duration STEP 'PT1M'", WindowSpec(WindowKind.TIME, 600_000, 60_000)),
        ("ELEMENTS 100 STEP 10", WindowSpec(WindowKind.COUNT, 100, 10)),
        ("ELEMENTS 100", WindowSpec(WindowKind.COUNT, 100, 100)),
        ("EVENT", WindowSpec(WindowKind.EVENT)),
        ("EVENT LATENESS 2s WITH STATIC", WindowSpec(WindowKind.EVENT, lateness=2000, with_static=True)),
        (
            "RANGE 1h LATENESS 5s STEP 1m",
            WindowSpec(WindowKind.TIME, 3_600_000, 60_000, lateness=5000),
        ),
        (
            "RANGE 1h REPORT ON_WINDOW_CLOSE",
            WindowSpec(WindowKind.TIME, 3_600_000, 3_600_000, report=Report(Policy.ON_WINDOW_CLOSE)),
        ),
        (
            "RANGE 1h report periodic 10s with static",
            WindowSpec(
                WindowKind.TIME,
                3_600_000,
                3_600_000,
                report=Report(Policy.PERIODIC, 10_000),
                with_static=True,
            ),
        ),
        ("RANGE 1s T0 1970-01-01T00:00:01.5Z STEP 1s", WindowSpec(WindowKind.TIME, 1000, 1000, t0=1500)),
        ("RANGE 1s T0 1970-01-01T01:00:00+01:00", WindowSpec(WindowKind.TIME, 1000, 1000)),
        (
            'RANGE 1s T0 "1970-01-01T00:00:02Z"^^xsd:dateTime',
            WindowSpec(WindowKind.TIME, 1000, 1000, t0=2000),
        ),
    ],
)
def test_brackets(brackets: str, spec: WindowSpec) -> None:
    assert window(brackets) == spec


@pytest.mark.parametrize(
    ("brackets", "message"),
    [
        ("RANGE 1s STEP 2s", "STEP is greater than RANGE"),
        ("RANGE 0s", "RANGE must be greater than zero"),
        ("RANGE 1s STEP PT0S", "STEP must be greater than zero"),
        ("ELEMENTS 0", "ELEMENTS must be greater than zero"),
        ("ELEMENTS 5 STEP 6", "STEP is greater than ELEMENTS"),
        ("ELEMENTS 5s", 'unexpected "5s"'),
        ("RANGE 10", "without a unit"),
        ("RANGE P1M", "no fixed length"),
        ("RANGE soon", "not a duration"),
        ("RANGE", "ends too early"),
        ("", "ends too early"),
        ("STEP 1s", 'unexpected "STEP"'),
        ("RANGE 1s STEP 1s SLIDE 1s", "says again"),
        ("RANGE 1s STEP 1s TUMBLING", "says again"),
        ("EVENT STEP 1", "an EVENT window has no STEP"),
        ("EVENT REPORT PERIODIC 1s", "reports at each event"),
        ("ELEMENTS 5 T0 1970-01-01T00:00:00Z", "has no T0"),
        ("RANGE 1s T0 tomorrow", "not a time"),
        ("RANGE 1s REPORT PERIODIC 0s", "period must be greater"),
        ("RANGE 1s WITH DYNAMIC", 'unexpected "DYNAMIC"'),
    ],
)
def test_brackets_that_are_wrong(brackets: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        window(brackets)
    assert caught.value.place is not None
    assert caught.value.place.line == 1


@pytest.mark.parametrize(
    ("brackets", "hint"),
    [
        ("RAGNE 1s", "RANGE"),
        ("RANGE 1s SLIED 1s", "SLIDE"),
        ("RANGE 1s REPORT ON_WINDOW_CLOSED", "ON_WINDOW_CLOSE"),
    ],
)
def test_a_misspelt_word_of_a_window_is_recognised(brackets: str, hint: str) -> None:
    with pytest.raises(QueryError) as caught:
        window(brackets)
    assert caught.value.hint == f"Did you mean {hint}?"


def test_windows_that_count_triples_are_refused_with_a_way_out() -> None:
    with pytest.raises(UnsupportedError) as caught:
        window("TRIPLES 100 STEP 10")
    assert "ELEMENTS" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("head", "output", "policy"),
    [
        ("ISTREAM", OutputOperator.ISTREAM, Policy.ON_CONTENT_CHANGE),
        ("dstream", OutputOperator.DSTREAM, Policy.ON_CONTENT_CHANGE),
        ("Changes", OutputOperator.CHANGES, Policy.ON_CONTENT_CHANGE),
        ("RSTREAM", OutputOperator.RSTREAM, Policy.ON_WINDOW_CLOSE),
        ("QUERY", OutputOperator.RSTREAM, Policy.ON_WINDOW_CLOSE),
        ("STREAM", OutputOperator.RSTREAM, Policy.ON_WINDOW_CLOSE),
    ],
)
def test_operators_and_their_default_policies(head: str, output: OutputOperator, policy: Policy) -> None:
    query = parse_query(f"REGISTER {head} <q> AS SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 1s] {{ }}")
    assert (query.name, query.output, query.report) == ("q", output, Report(policy))


def test_report_of_a_window_holds_for_the_query_and_two_must_agree() -> None:
    text = """REGISTER RSTREAM <q> AS SELECT *
    FROM NAMED WINDOW <v> ON <s> [RANGE 1s]
    FROM NAMED WINDOW <w> ON STREAM <s> [RANGE 1s REPORT NON_EMPTY_CONTENT]
    FROM NAMED WINDOW <x> ON <s> [RANGE 2s REPORT %s] {}"""
    assert parse_query(text % "NON_EMPTY_CONTENT").report == Report(Policy.NON_EMPTY_CONTENT)
    with pytest.raises(QueryError, match="<w> and <x> report differently") as caught:
        parse_query(text % "PERIODIC 1s")
    assert caught.value.place is not None
    assert caught.value.place.line == 4


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", set()),
        ("WITH PATHS", {Option.PATHS}),
        ("with shortest paths, implicit windows", {Option.SHORTEST_PATHS, Option.IMPLICIT_WINDOWS}),
        ("WITH SIMPLE PATHS, PATHS", {Option.SIMPLE_PATHS, Option.PATHS}),
        ("WITH PATHS WITH IMPLICIT WINDOWS", {Option.PATHS, Option.IMPLICIT_WINDOWS}),
        ("WITH PATHS, WITH SIMPLE PATHS", {Option.PATHS, Option.SIMPLE_PATHS}),
    ],
)
def test_options(options: str, expected: set[Option]) -> None:
    query = parse_query(f"REGISTER ISTREAM <q> {options} AS SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT] {{}}")
    assert query.options == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("WITH PATH", 'unexpected "PATH"'),
        ("WITH SIMPLE WINDOWS", 'unexpected "WINDOWS"'),
        ("WITH PATHS, SHORTEST PATHS", "different witnesses"),
        ("COMPUTED EVERY 1s", 'unexpected "COMPUTED"'),
        ("WITH PATHS,", 'unexpected "AS"'),
    ],
)
def test_options_that_are_wrong(options: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        parse_query(f"REGISTER ISTREAM <q> {options} AS SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT] {{}}")


def test_names_and_bases() -> None:
    text = "BASE <http://b/x/> REGISTER ISTREAM <q> AS "
    text += "SELECT * FROM NAMED WINDOW <../w> ON <#s> [EVENT] FROM <f.ttl> {}"
    query = parse_query(text)
    assert (query.name, query.base) == ("http://b/x/q", "http://b/x/")
    assert (query.windows[0].name, query.windows[0].stream) == ("http://b/w", "http://b/x/#s")
    assert query.static == ("http://b/x/f.ttl",)
    assert parse_query(text, name="mine").name == "mine"
    assert query.text == text


def test_prologue_may_follow_register_as_in_csparql() -> None:
    query = parse_query(
        """REGISTER QUERY carPark AS
        PREFIX ex: <http://e/>
        SELECT ?a (COUNT(*) AS ?n)
        FROM STREAM <http://e/stream> [RANGE 10s STEP 1s]
        FROM <static.ttl>
        FROM NAMED <named.ttl>
        WHERE { ?a ex:p ?b OPTIONAL { ?a ex:q ?b } GRAPH <named.ttl> { ?a ex:r ?b } } GROUP BY ?a"""
    )
    assert (query.name, query.output) == ("carPark", OutputOperator.RSTREAM)
    (found,) = query.windows
    assert (found.name, found.stream) == ("urn:spectra:window", "http://e/stream")
    # the static default graph and the stream are one default graph in C-SPARQL
    assert found.spec == WindowSpec(WindowKind.TIME, 10_000, 1000, with_static=True)
    assert query.static_named == ("named.ttl",)


def test_from_stream_is_the_default_graph() -> None:
    query = parse_query(
        PREFIX + "REGISTER STREAM <q> AS CONSTRUCT { ?a ex:new ?b } FROM STREAM <s> [RANGE 1s TUMBLING]"
        "WHERE { ?a ex:p ?b GRAPH <g> { ?a ex:r ?b } }"
    )
    assert query.form is Form.CONSTRUCT
    assert query.pattern == Join(Windowed("<urn:spectra:window>", triple("p")), Graph("<g>", triple("r")))


def test_from_named_stream_is_read_by_graph_or_window() -> None:
    text = PREFIX + "REGISTER QUERY q AS SELECT * FROM NAMED STREAM <s> [RANGE 1s] WHERE {{ {} {{ ?a ex:p ?b }} }}"
    for name in ("GRAPH <s>", "WINDOW <s>"):
        query = parse_query(text.format(name))
        assert [(w.name, w.stream) for w in query.windows] == [("s", "s")]
        assert body(query) == Windowed("<s>", triple("p"))
    assert body(parse_query(text.format("GRAPH <t>"))) == Graph("<t>", triple("p"))
    with pytest.raises(UnsupportedError, match="GRAPH \\?g over FROM NAMED STREAM"):
        parse_query(text.format("GRAPH ?g"))


def test_several_from_stream_are_refused_with_a_way_out() -> None:
    with pytest.raises(UnsupportedError, match="several FROM STREAM") as caught:
        parse_query("REGISTER QUERY q AS SELECT * FROM STREAM <s> [RANGE 1s]\nFROM STREAM <t> [RANGE 1s] {}")
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 13)


def test_plain_sparql_reads_the_callers_window() -> None:
    query = parse_query(PREFIX + "SELECT * { ?a ex:p ?b }", range="PT1H", step="PT1M")
    assert (query.name, query.output) == ("urn:spectra:query", OutputOperator.ISTREAM)
    (found,) = query.windows
    assert (found.name, found.stream) == ("urn:spectra:window", "")
    assert found.spec == WindowSpec(WindowKind.TIME, 3_600_000, 60_000)
    assert body(query) == Windowed("<urn:spectra:window>", triple("p"))
    tumbling = parse_query(PREFIX + "ASK { ?a ex:p ?b }", range=5000).windows[0].spec
    assert (tumbling.range, tumbling.step, tumbling.with_static) == (5000, 5000, False)
    assert parse_query("SELECT * FROM <f.ttl> {}", range=1).windows[0].spec.with_static


def test_the_window_of_plain_sparql_goes_everywhere_but_into_graph() -> None:
    query = parse_query(
        PREFIX
        + """SELECT ?a FROM NAMED <g> {
            ?a ex:p ?b
            OPTIONAL { ?a ex:q ?b FILTER NOT EXISTS { ?a ex:r ?b } }
            MINUS { { SELECT * { ?a ex:s ?b } } }
            GRAPH ?g { ?a ex:t ?b FILTER EXISTS { ?a ex:u ?b } }
            FILTER (!EXISTS { ?a ex:v ?b })
        }""",
        range=1,
    )

    def windowed(name: str) -> Windowed:
        return Windowed("<urn:spectra:window>", triple(name))

    both = (Variable("a"), Variable("b"))
    optional = LeftJoin(windowed("p"), windowed("q"), Exists(windowed("r"), True))
    graph = Graph(Variable("g"), Filter(Exists(triple("u"), False), triple("t")))
    expected = Join(Minus(optional, Project(windowed("s"), both)), graph)
    assert body(query) == Filter(Call("!", (Exists(windowed("v"), False),)), expected)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("SELECT * {}", {}, "plain SPARQL needs a window"),
        ("SELECT * {}", {"step": 1}, "step is given without a range"),
        ("SELECT * {}", {"range": "1s", "step": "2s"}, "step is greater than range"),
        ("SELECT * {}", {"range": 0}, "range must be greater than zero"),
        ("SELECT * {}", {"range": "soon"}, "not a duration"),
        ("SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT] {}", {"range": 1}, "has its own windows"),
        ("REGISTER ISTREAM <q> AS SELECT * {}", {}, "the query has no window"),
        ("REGISTER ISTREAM <q> AS SELECT * {}", {"range": 1}, "the query has no window"),
        ("SELECT * { WINDOW <w> { ?a ?b ?c } }", {"range": 1}, "the window <w> is not declared"),
    ],
)
def test_windows_that_do_not_fit_the_call(text: str, arguments: dict[str, int | str], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        parse_query(text, **arguments)  # type: ignore[arg-type]


def test_a_query_with_windows_needs_no_register() -> None:
    query = parse_query("SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT] { WINDOW <w> { ?a <p> ?b } }")
    assert (query.name, query.output) == ("urn:spectra:query", OutputOperator.ISTREAM)


def test_window_names_are_checked() -> None:
    text = PREFIX + "REGISTER ISTREAM <q> AS SELECT *\nFROM NAMED WINDOW ex:wind ON <s> [EVENT]\n{}"
    with pytest.raises(QueryError, match="<http://e/wnd> is not declared") as caught:
        parse_query(text.format("{ WINDOW ex:wnd { ?a ?b ?c } }"))
    assert caught.value.hint == "Did you mean <http://e/wind>?"
    assert "<http://e/wind>" in (caught.value.detail or "")
    with pytest.raises(QueryError, match="<http://e/wind> is declared twice"):
        parse_query(text.format("FROM NAMED WINDOW ex:wind ON <t> [EVENT] {}"))
    unused = parse_query(text.format("{ ?a ex:p ?b }"))
    assert body(unused) == triple("p")


def test_a_window_may_be_a_variable_and_hold_graphs() -> None:
    query = parse_query(
        PREFIX + "REGISTER RSTREAM <q> AS SELECT * FROM NAMED WINDOW <w> ON <s> [EVENT]"
        "{ WINDOW ?w { GRAPH ?e { ?a ex:p ?b } } }"
    )
    assert body(query) == Windowed(Variable("w"), Graph(Variable("e"), triple("p")))
    assert query.variables == (Variable("w"), Variable("e"), Variable("a"), Variable("b"))


def test_nothing_fools_the_words_of_the_language() -> None:
    query = parse_query(
        """# REGISTER RSTREAM <no> AS SELECT * FROM NAMED WINDOW <no> ON <no> [RANGE 1s]
        PREFIX WINDOW: <http://e/WINDOW#>  # FROM STREAM <s> [RANGE 1s]
        PREFIX from: <http://e/from/>
        SELECT ?window ?range ?FROM ?register # WHERE {
        WHERE { ?window from:WINDOW ?range ; WINDOW:FROM "WINDOW <w> {" , '''FROM STREAM
            <s> [RANGE 1s]''' , <http://e/#WINDOW{> . ?FROM WINDOW:REGISTER ?register, "}"@en }""".replace("{>", ">"),
        range=1,
    )
    pattern = body(query)
    assert isinstance(pattern, Windowed)
    assert isinstance(pattern.pattern, Bgp)
    objects = [part.object for part in pattern.pattern.patterns]
    assert objects == [
        Variable("range"),
        '"WINDOW <w> {"',
        '"FROM STREAM\\n            <s> [RANGE 1s]"',
        "<http://e/#WINDOW>",
        Variable("register"),
        '"}"@en',
    ]
    assert [str(variable) for variable in query.variables] == ["?window", "?range", "?FROM", "?register"]


def test_keywords_in_any_case() -> None:
    query = parse_query(
        "prefix ex: <http://e/> Register iStream <q> With Paths As select *"
        " From Named Window <w> On Stream <s> [Range 1S Step 1s]"
        " where { window <w> { ?a ex:p ?b } }"
    )
    assert body(query) == Windowed("<w>", triple("p"))
    assert query.options == {Option.PATHS}


@pytest.mark.parametrize(
    ("text", "repeat"),
    [("{2}", (2, 2)), ("{2,4}", (2, 4)), ("{ 2 , }", (2, None)), ("{,4}", (0, 4)), ("{0}", (0, 0))],
)
def test_bounded_repetition(text: str, repeat: tuple[int, int | None]) -> None:
    query = parse_query(f"SELECT * {{ ?a <p>{text} ?b }}", range=1)
    pattern = body(query)
    assert isinstance(pattern, Windowed)
    assert isinstance(pattern.pattern, Bgp)
    (part,) = pattern.pattern.patterns
    assert isinstance(part, PathPattern)
    assert isinstance(part.path, RepeatPath)
    assert (part.path.low, part.path.high) == repeat


def test_braces_after_an_iri_or_parenthesis_are_groups_unless_they_hold_numbers() -> None:
    text = "SELECT * { GRAPH <g> { 1 <p> 2 } FILTER (?a > 1) { ?a <p> ?b } VALUES (?a) { (2) } VALUES ?b { 2 } }"
    assert parse_query(text, range=1).variables == (Variable("a"), Variable("b"))


def test_service_is_kept_by_name() -> None:
    query = parse_query("SELECT * { SERVICE SILENT <http://x/> { ?a ?b ?c } }", range=1)
    assert body(query) == Service("<http://x/>", True)


def test_places_are_the_first_of_each_word_and_variable() -> None:
    query = parse_query("SELECT ?x\n{ ?x <p> ?y OPTIONAL { ?y <q> ?x } optional { } }", range=1, source="a.rq")
    assert str(query.places["OPTIONAL"]) == "a.rq, line 2, columns 13-20"
    assert str(query.places["?y"]) == "a.rq, line 2, columns 10-11"
    assert str(query.places["?x"]) == "a.rq, line 1, columns 8-9"


@pytest.mark.parametrize("text", ["INSERT DATA { <a> <b> 1 }", "PREFIX x: <y> delete where { ?a ?b ?c }", "CLEAR ALL"])
def test_updates_are_refused(text: str) -> None:
    with pytest.raises(QueryError, match="is an update, not a query"):
        parse_query(text, range=1)


def test_describe_is_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="DESCRIBE") as caught:
        parse_query("DESCRIBE <x>", range=1)
    assert caught.value.place is not None
