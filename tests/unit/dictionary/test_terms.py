"""Terms and their canonical text: equal terms, equal text, from every library people bring."""

from __future__ import annotations

import pyoxigraph
import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spectra.dictionary.terms import (
    RDF_LANG_STRING,
    XSD_STRING,
    BlankNode,
    Iri,
    Literal,
    canonical,
    literal_parts,
    parse_term,
    term_text,
    to_json,
    to_rdflib,
)
from spectra.errors import StreamError

XSD = "http://www.w3.org/2001/XMLSchema#"

# text as it may be written, its canonical text, the term
WRITTEN = [
    ("<http://example.org/a>", "<http://example.org/a>", Iri("http://example.org/a")),
    ("<urn:x>", "<urn:x>", Iri("urn:x")),
    ("<a:>", "<a:>", Iri("a:")),
    ("<http://example.org/é>", "<http://example.org/é>", Iri("http://example.org/é")),
    (r"<http://example.org/\u00E9\U0001F600>", "<http://example.org/é😀>", Iri("http://example.org/é😀")),
    ("_:b", "_:b", BlankNode("b")),
    ("_:0.a-é·", "_:0.a-é·", BlankNode("0.a-é·")),
    ('""', '""', Literal("")),
    ('"plain"', '"plain"', Literal("plain")),
    (f'"typed"^^<{XSD}string>', '"typed"', Literal("typed")),
    (rf'"typed"^^<{XSD}strin\u0067>', '"typed"', Literal("typed")),
    (f'"01"^^<{XSD}integer>', f'"01"^^<{XSD}integer>', Literal("01", XSD + "integer")),
    (r'"tab\tback\bform\fquote\'"', '"tab\tback\bform\fquote\'"', Literal("tab\tback\bform\fquote'")),
    (r'"\\ \" \n \r"', r'"\\ \" \n \r"', Literal('\\ " \n \r')),
    (r'"\u005C\u0022\u000A\u000d"', r'"\\\"\n\r"', Literal('\\"\n\r')),
    ('"raw tab\t, NUL \x00, DEL \x7f, NEL \x85"', '"raw tab\t, NUL \x00, DEL \x7f, NEL \x85"', None),
    ('"^^<a:b>"', '"^^<a:b>"', Literal("^^<a:b>")),
    ('"@en"', '"@en"', Literal("@en")),
    (r'"\"@en"', r'"\"@en"', Literal('"@en')),
    (r'"\\"@en', r'"\\"@en', Literal("\\", RDF_LANG_STRING, "en")),
    ('"chat"@en-GB-1996', '"chat"@en-gb-1996', Literal("chat", RDF_LANG_STRING, "en-gb-1996")),
    (r'"\uFFFF\U0010FFFF"', '"\uffff\U0010ffff"', Literal("\uffff\U0010ffff")),
]

REFUSED = [
    "",
    " ",
    "plain",
    "?x",
    "$x",
    "<",
    "<>",
    "<http://example.org/a",
    "<relative>",
    "<//example.org/a>",
    "<1a:b>",
    "<http://example.org/a b>",
    r"<http://example.org/\u0020>",
    r"<http://example.org/\u003E>",
    r"<http://example.org/\n>",
    r"<http://example.org/\\u0041>",
    r"<http://example.org/\u12>",
    "<http://example.org/{a}>",
    "<http://example.org/\ud800>",
    "<http://example.org/a> ",
    " <http://example.org/a>",
    "<<( <a:s> <a:p> <a:o> )>>",
    "_",
    "_:",
    "_b",
    "_:-a",
    "_:a.",
    "_:.a",
    "_:a:b",
    "_:a b",
    "_:a\n",
    "_:\ud800",
    '"',
    '"open',
    '"a"b"',
    '"a\nb"',
    '"a\rb"',
    '"a\\\nb"',
    '"a" ',
    '"a"x',
    '"a"@',
    '"a"@1',
    '"a"@en-',
    '"a"@en_GB',
    '"a"@en--ltr',
    '"a"@en\n',
    '"a"@én',
    '"a"^<a:b>',
    '"a"^^',
    '"a"^^a:b',
    '"a"^^<b>',
    '"a"^^<a:b> ',
    '"a" ^^<a:b>',
    r'"\x"',
    r'"\u12"',
    r'"\U0011FFFF"',
    r'"\uD800"',
    r'"\uD83D\uDE00"',
    '"\ud800"',
    '"open\\"',
    "'a'",
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
languages = st.from_regex(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,2}", fullmatch=True)
local_names = st.text("abcé/?=-._~😀", max_size=8)


@pytest.mark.parametrize(("text", "expected", "term"), WRITTEN)
def test_text_has_one_canonical_form(text, expected, term):
    tag = text[text.rfind("@") + 1 :] if expected.lower() == text.lower() and expected != text else ""
    assert canonical(text) == (expected, tag)
    assert canonical(expected) == (expected, "")
    assert term is None or parse_term(text) == parse_term(expected) == term
    assert term_text(parse_term(text)) == expected


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_term_is_refused_by_name(text):
    for read in (parse_term, canonical):
        with pytest.raises(StreamError) as caught:
            read(text)
        assert caught.value.message == f"not an N-Triples term: {text}"
        assert caught.value.detail
        assert caught.value.hint


def test_a_long_text_is_cut_in_the_message():
    with pytest.raises(StreamError) as caught:
        parse_term('"' + "x" * 10_000)
    assert len(caught.value.message) < 300


def test_a_tag_with_capitals_is_kept_for_printing():
    assert canonical('"a"@en-GB') == ('"a"@en-gb', "en-GB")
    assert canonical(r'"\u0061"@EN') == ('"a"@en', "EN")
    assert canonical('"a"@en') == ('"a"@en', "")


def test_a_language_needs_its_datatype():
    with pytest.raises(StreamError, match="language"):
        Literal("a", XSD_STRING, "en")


@settings(deadline=None)
@given(lexical=texts, language=languages | st.just(""), datatype=local_names | st.none())
@example(lexical='\\"\n\r\t\x00\x7f\u2028', language="", datatype=None)
@example(lexical="\\u0041", language="", datatype=None)
def test_pyoxigraph_reads_the_same_term(lexical, language, datatype):
    if language:
        term = Literal(lexical, RDF_LANG_STRING, language.lower())
    else:
        term = Literal(lexical, XSD_STRING if datatype is None else f"http://example.org/{datatype}")
    text = term_text(term)
    assert parse_term(text) == term
    assert canonical(text) == (text, "")
    try:
        (quad,) = pyoxigraph.parse(f"<a:s> <a:p> {text} .".encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    except SyntaxError:
        # BCP 47 is stricter than the grammar of N-Triples, and so is pyoxigraph
        assert language
        return
    judged = quad.object
    assert (judged.value, judged.datatype.value, judged.language or "") == (
        term.lexical,
        term.datatype,
        term.language,
    )
    # its own serialisation has other escapes and is the same term
    assert canonical(str(judged)) == canonical(judged) == (text, "")


@settings(deadline=None)
@given(text=st.text('<>"\\_:@^aAuU0.-\n é', max_size=14) | st.sampled_from(REFUSED))
def test_pyoxigraph_refuses_what_is_refused(text):
    try:
        quads = list(pyoxigraph.parse(b"<a:s> <a:p> " + text.encode() + b" .", pyoxigraph.RdfFormat.N_TRIPLES))
    except (SyntaxError, UnicodeEncodeError):
        # pyoxigraph also refuses some tags and IRIs that the grammar allows
        try:
            term = parse_term(text)
        except StreamError:
            return
        assert not isinstance(term, BlankNode)
        assert not isinstance(term, Literal) or term.language or term.datatype != XSD_STRING
        return
    if len(quads) != 1 or text != text.strip(" \n") or "<<" in text or "--" in text or '" ' in text:
        return  # blanks, comments, several statements and RDF 1.2 are the scanner's business
    assert canonical(text)[0] == canonical(quads[0].object)[0]


@settings(deadline=None)
@given(lexical=texts, language=languages | st.just(""))
def test_rdflib_terms_go_round(lexical, language):
    term = rdflib.Literal(lexical, lang=language or None)
    text, tag = canonical(term)
    assert text == term_text(Literal(lexical, RDF_LANG_STRING if language else XSD_STRING, language))
    assert tag == (language if language != language.lower() else "")
    assert to_rdflib(text[: len(text) - len(tag)] + tag) == term
    assert literal_parts(text) == (lexical, RDF_LANG_STRING if language else XSD_STRING, language.lower())


class OwnIri(rdflib.URIRef):
    """People derive from rdflib's classes."""


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (rdflib.URIRef("http://example.org/é"), "<http://example.org/é>"),
        (OwnIri("http://example.org/own"), "<http://example.org/own>"),
        (rdflib.RDF.type, "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"),
        (rdflib.BNode("b0"), "_:b0"),
        (rdflib.Literal('<a:b> "x"\n'), r'"<a:b> \"x\"\n"'),
        (rdflib.Literal("x", datatype=rdflib.XSD.string), '"x"'),
        (rdflib.Literal(5), f'"5"^^<{XSD}integer>'),
        (rdflib.Literal("01", datatype=rdflib.XSD.integer, normalize=False), f'"01"^^<{XSD}integer>'),
        (pyoxigraph.NamedNode("http://example.org/é"), "<http://example.org/é>"),
        (pyoxigraph.BlankNode("b0"), "_:b0"),
        (pyoxigraph.Literal("a\nb"), r'"a\nb"'),
        (pyoxigraph.Literal("01", datatype=pyoxigraph.NamedNode(XSD + "integer")), f'"01"^^<{XSD}integer>'),
        (Iri("http://example.org/a"), "<http://example.org/a>"),
        (BlankNode("b0"), "_:b0"),
        (Literal("a\rb"), r'"a\rb"'),
    ],
)
def test_terms_of_libraries(term, text):
    assert canonical(term) == (text, "")


def test_rdflib_text_is_a_value_not_syntax():
    # rdflib's terms are strings: one that looks like N-Triples is still only its value
    assert canonical(rdflib.Literal("<a:b>")) == ('"<a:b>"', "")
    assert canonical(rdflib.Literal('"x"@en')) == (r'"\"x\"@en"', "")
    assert canonical(Literal("x", RDF_LANG_STRING, "EN")) == ('"x"@en', "EN")


@pytest.mark.parametrize(
    "term",
    [
        None,
        5,
        b"<a:b>",
        ("<a:s>", "<a:p>", "<a:o>"),
        rdflib.Variable("x"),
        rdflib.URIRef("relative"),
        rdflib.BNode("a b"),
        rdflib.Literal("\ud800"),
        pyoxigraph.Variable("x"),
        pyoxigraph.DefaultGraph(),
        pyoxigraph.Triple(*[pyoxigraph.NamedNode("a:b")] * 3),
        Iri("a b"),
        BlankNode(""),
        Literal("x", "relative"),
        Literal("x", RDF_LANG_STRING, "not a tag"),
    ],
)
def test_what_is_not_a_term_is_refused(term):
    with pytest.raises(StreamError):
        canonical(term)


@pytest.mark.parametrize(
    ("text", "json"),
    [
        ("<http://example.org/a>", {"type": "uri", "value": "http://example.org/a"}),
        ("_:b0", {"type": "bnode", "value": "b0"}),
        ('"x"', {"type": "literal", "value": "x"}),
        (r'"\\n \"x\" \n"', {"type": "literal", "value": '\\n "x" \n'}),
        (r'"\"@en"', {"type": "literal", "value": '"@en'}),
        ('"x"@en-GB', {"type": "literal", "value": "x", "xml:lang": "en-GB"}),
        (f'"01"^^<{XSD}integer>', {"type": "literal", "value": "01", "datatype": XSD + "integer"}),
        (f'"x"^^<{XSD}string>', {"type": "literal", "value": "x"}),
    ],
)
def test_json_results_form(text, json):
    assert to_json(text) == json


def test_rdflib_keeps_the_lexical_form():
    term = to_rdflib(f'"01"^^<{XSD}integer>')
    assert isinstance(term, rdflib.Literal)
    assert (str(term), term.datatype, term.value) == ("01", rdflib.XSD.integer, 1)
    assert to_rdflib("<http://example.org/a>") == rdflib.URIRef("http://example.org/a")
    assert to_rdflib("_:b0") == rdflib.BNode("b0")
    assert to_rdflib(r'"a\nb"') == rdflib.Literal("a\nb")
    printed = to_rdflib('"x"@en-GB')
    assert isinstance(printed, rdflib.Literal)
    assert printed.language == "en-GB"


def test_subclasses_of_str_are_text():
    class Text(str):
        __slots__ = ()

    assert canonical(Text("<a:b>")) == ("<a:b>", "")
    assert type(canonical(Text("<a:b>"))[0]) is str


def test_an_ill_typed_literal_is_no_reason_to_log(caplog):
    term = to_rdflib('"next week"^^<http://www.w3.org/2001/XMLSchema#integer>')
    assert str(term) == "next week"
    assert not caplog.records
