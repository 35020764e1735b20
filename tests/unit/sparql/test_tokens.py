"""Tokens: what SPARQL's terminals are, where they stand, and what never fools them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectra.errors import QueryError
from spectra.sparql.tokens import Kind, Source, Token, tokenize


def tokens(text: str) -> list[tuple[Kind, str]]:
    found = tokenize(Source(text))
    assert found[-1].kind is Kind.END
    return [(token.kind, token.value) for token in found[:-1]]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("<http://e/WINDOW#FROM>", Kind.IRI, "http://e/WINDOW#FROM"),
        (r"<http://e/caf\u00e9>", Kind.IRI, "http://e/café"),
        ("<>", Kind.IRI, ""),
        ("ex:WINDOW", Kind.PREFIXED_NAME, "WINDOW"),
        (":", Kind.PREFIXED_NAME, ""),
        ("ex:", Kind.PREFIXED_NAME, ""),
        ("ex:a.b:c", Kind.PREFIXED_NAME, "a.b:c"),
        (r"ex:a\,b%20\~", Kind.PREFIXED_NAME, "a,b%20~"),
        ("e.x-y:1", Kind.PREFIXED_NAME, "1"),
        ("?range", Kind.VARIABLE, "range"),
        ("$STEP", Kind.VARIABLE, "STEP"),
        ("?1", Kind.VARIABLE, "1"),
        ("_:b.1", Kind.LABEL, "b.1"),
        ("'FROM'", Kind.STRING, "FROM"),
        ('""', Kind.STRING, ""),
        ("''''a''b\n'''", Kind.STRING, "'a''b\n"),
        ('"""a "quoted" word"""', Kind.STRING, 'a "quoted" word'),
        (r'"\t\b\n\r\f\"\'\\\u0041\U0001F600"', Kind.STRING, "\t\b\n\r\f\"'\\A😀"),
        (r'"\\u0041"', Kind.STRING, r"\u0041"),
        ('"# no comment"', Kind.STRING, "# no comment"),
        ("@en-GB", Kind.LANGUAGE, "en-gb"),
        ("01", Kind.NUMBER, "01"),
        ("-1.5", Kind.NUMBER, "-1.5"),
        (".5e-3", Kind.NUMBER, ".5e-3"),
        ("1.e0", Kind.NUMBER, "1.e0"),
        ("window", Kind.WORD, "WINDOW"),
        ("GROUP_CONCAT", Kind.WORD, "GROUP_CONCAT"),
        ("<=", Kind.MARK, "<="),
        ("^^", Kind.MARK, "^^"),
        ("?", Kind.MARK, "?"),
    ],
)
def test_one_token(text: str, kind: Kind, value: str) -> None:
    assert tokens(text) == [(kind, value)]


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("?a<?b", ["?a", "<", "?b"]),
        ("?a <b && ?c> 1", ["?a", "<", "b", "&&", "?c", ">", "1"]),
        ("ex:a.", ["ex:a", "."]),
        ("ex:a...", ["ex:a", ".", ".", "."]),
        ("1.", ["1", "."]),
        ("ex:p+", ["ex:p", "+"]),
        ("ex:p?/ex:q", ["ex:p", "?", "/", "ex:q"]),
        ("ex:p{2,4}", ["ex:p", "{", "2", ",", "4", "}"]),
        ("a.b:c", ["a.b:c"]),
        ("a.:b", ["a", ".", ":b"]),
        ("_a:b", ["_a", ":b"]),
        ("?x#y\n?z", ["?x", "?z"]),
        ("<a#b>#c\r<d>", ["<a#b>", "<d>"]),
        ("?a-1", ["?a", "-1"]),
        ("!(^ex:a|a)", ["!", "(", "^", "ex:a", "|", "a", ")"]),
        ("'a'^^ex:b", ["'a'", "^^", "ex:b"]),
        ("'a'@en", ["'a'", "@en"]),
        ("PT0.5S", ["PT0", ".5", "S"]),
    ],
)
def test_the_longest_token_wins(text: str, texts: list[str]) -> None:
    assert [token.text for token in tokenize(Source(text))[:-1]] == texts


def test_offsets_are_those_of_the_text() -> None:
    text = "SELECT ?x # c\nWHERE { 'é' <a> 1 }"
    for token in tokenize(Source(text)):
        assert text[token.start : token.end] == token.text


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ('SELECT "a', "a string is not closed", 1, 8),
        ('"a\n"', "a string is not closed", 1, 1),
        ('?x\n  """a"', "a string is not closed", 2, 3),
        (r'"a\q"', r'unknown escape "\q" in a string', 1, 3),
        (r'"\uD800"', r'"\uD800" is not a character', 1, 2),
        (r"<a\u0020b>", "an escape in", 1, 1),
        (r"?x\u0020y", "an escape in", 1, 1),
        ("?x ` ?y", 'unexpected character "`"', 1, 4),
        ("\r\n\r\n “a”", 'unexpected character "“"', 3, 2),
        ("\t~", 'unexpected character "~"', 1, 2),
    ],
)
def test_errors_name_the_place(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(QueryError) as caught:
        tokenize(Source(text, "q.rq"))
    assert message in caught.value.message
    place = caught.value.place
    assert place is not None
    assert (place.line, place.column, place.source) == (line, column, "q.rq")


def test_a_place_ends_with_its_line_and_carets_stand_below_the_text() -> None:
    source = Source("ab\n\tcde '''f\ng'''")
    place = source.place(4, 7)
    assert (place.line, place.column, place.end_column) == (2, 2, 4)
    assert source.caret(place) == "   cde '''f\n   ^^^"
    assert source.place(8, 16).end_column == 9


@given(st.text(max_size=200))
def test_any_text_is_tokens_that_cover_it_or_an_error_with_a_place(text: str) -> None:
    source = Source(text)
    place = None
    found: list[Token] = []
    try:
        found = tokenize(source)
    except QueryError as error:
        place = error.place
    assert found or place is not None
    assert all(before.end <= after.start for before, after in pairwise(found))
    assert all(token.end > token.start for token in found[:-1])


@pytest.mark.parametrize("piece", ["a.a", "a.", ":a.", "_:a.", "a-", "<", "?", "<a", r"\u0041"])
def test_time_is_linear(piece: str) -> None:
    assert len(tokenize(Source(piece * 20_000))) > 1  # quadratic would take minutes
