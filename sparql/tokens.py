"""Query text -> tokens of SPARQL's terminals, each with its place; linear in the length of the text."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from enum import Enum

from spectra.errors import Place, QueryError

_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040"  # PN_CHARS without the hyphen: what a VARNAME goes on with
_CODE_POINT = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"

_VARIABLE = rf"(?:[{_BASE}_0-9]|{_CODE_POINT})(?:[{_NAME}]|{_CODE_POINT})*"
_LABEL = rf"(?:[{_BASE}_0-9]|{_CODE_POINT})(?:(?:[{_NAME}.\-]|{_CODE_POINT})*(?:[{_NAME}\-]|{_CODE_POINT}))?"
_LOCAL = (
    rf"(?:[{_BASE}_:0-9]|{_ESCAPED}|{_CODE_POINT})"
    rf"(?:(?:[{_NAME}.:\-]|{_ESCAPED}|{_CODE_POINT})*(?:[{_NAME}:\-]|{_ESCAPED}|{_CODE_POINT}))?"
)
_IRI = rf"(?:[^<>\"{{}}|^`\\\x00-\x20]|{_CODE_POINT})*"

_TOKEN = re.compile(
    rf"""
      (?P<space>[ \t\r\n]+|\#[^\r\n]*)
    | (?P<variable>[?$]{_VARIABLE})
    | (?P<iri><{_IRI}>)
    | (?P<string>\"\"\"(?:\"{{0,2}}(?:[^\"\\]|\\[\s\S]))*\"\"\"|'''(?:'{{0,2}}(?:[^'\\]|\\[\s\S]))*'''
        |\"\"(?!\")|''(?!')|\"(?:[^\"\\\n\r]|\\[^\n\r])+\"|'(?:[^'\\\n\r]|\\[^\n\r])+')
    | (?P<label>_:{_LABEL})
    | (?P<local>:(?:{_LOCAL})?)
    | (?P<name>[{_BASE}_]|{_CODE_POINT})
    | (?P<number>[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+))
    | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<mark>\^\^|<=|>=|!=|&&|\|\||[{{}}()\[\].,;*/+\-|^!?=<>])
    """,
    re.VERBOSE,
)
_RUN = re.compile(rf"(?:[{_NAME}.\-]|{_CODE_POINT})*")
_WORD = re.compile(rf"(?:[{_NAME}]|{_CODE_POINT})*")
_AFTER_PREFIX = re.compile(rf":(?:{_LOCAL})?")
_DECODE = re.compile(_CODE_POINT)
_STRING_ESCAPE = re.compile(rf"{_CODE_POINT}|\\[\s\S]")
_STRICT = {
    "variable": re.compile(rf"[?$][{_BASE}_0-9][{_NAME}]*\Z"),
    "iri": re.compile(r"<[^<>\"{}|^`\\\x00-\x20]*>\Z"),
    "label": re.compile(rf"_:[{_BASE}_0-9](?:[{_NAME}.\-]*[{_NAME}\-])?\Z"),
    "prefixed name": re.compile(
        rf"(?:[{_BASE}](?:[{_NAME}.\-]*[{_NAME}\-])?)?:"
        rf"(?:(?:[{_BASE}_:0-9]|{_ESCAPED})(?:(?:[{_NAME}.:\-]|{_ESCAPED})*(?:[{_NAME}:\-]|{_ESCAPED}))?)?\Z"
    ),
    "word": re.compile(rf"[{_BASE}_][{_NAME}]*\Z"),
}
_ECHAR = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


class Kind(Enum):
    IRI = "IRI"
    PREFIXED_NAME = "prefixed name"
    VARIABLE = "variable"
    LABEL = "blank node label"
    STRING = "string"
    LANGUAGE = "language tag"
    NUMBER = "number"
    WORD = "word"
    MARK = "mark"
    END = "end of the query"


@dataclass(frozen=True, slots=True)
class Token:
    """One terminal.

    `value` is what it stands for: the IRI without brackets, the variable's or label's name, the local
    part of a prefixed name, the string without quotes and escapes, the word in upper case, else the text.
    """

    kind: Kind
    text: str
    value: str
    start: int
    end: int
    prefix: str = ""

    def __str__(self) -> str:
        return "the end of the query" if self.kind is Kind.END else f'"{self.text}"'


class Source:
    """The user's text: turns offsets into places and errors."""

    def __init__(self, text: str, name: str | None = None) -> None:
        self.text = text
        self.name = name
        self._lines = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]

    def place(self, start: int, end: int | None = None) -> Place:
        """Line and columns of `text[start:end]`; of its first line where it has several."""
        line = bisect.bisect_right(self._lines, start) - 1
        first = self._lines[line]
        last = self._line_end(line)
        stop = min(start + 1 if end is None else end, max(last, start + 1))
        return Place(line + 1, start - first + 1, stop - first if stop - start > 1 else None, self.name)

    def error(
        self,
        message: str,
        at: Token | tuple[int, int],
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> QueryError:
        """A `QueryError` at a token or span, whose detail ends in the line with carets below it."""
        start, end = (at.start, at.end) if isinstance(at, Token) else at
        place = self.place(start, end)
        detail = f"expected {expected}" if expected else "in this line"
        return QueryError(message, place=place, detail=f"{detail}:\n{self.caret(place)}", hint=hint)

    def caret(self, place: Place) -> str:
        """The line of a place, at most about 100 characters of it, with carets below."""
        first = self._lines[place.line - 1]
        line = self.text[first : self._line_end(place.line - 1)].replace("\t", " ")
        column = place.column - 1
        width = (place.end_column or place.column) - column
        cut = max(0, column - 70)
        shown = line[cut : cut + 100]
        return f"  {shown}\n  {' ' * (column - cut)}{'^' * max(1, min(width, len(shown) - (column - cut)))}"

    def _line_end(self, line: int) -> int:
        end = self._lines[line + 1] if line + 1 < len(self._lines) else len(self.text)
        while end > self._lines[line] and self.text[end - 1] in "\r\n":
            end -= 1
        return end


def tokenize(source: Source) -> list[Token]:
    """The tokens of a query, comments and white space left out, ended by one of kind END.

    Examples
    --------
    >>> [token.text for token in tokenize(Source("?x ex:WINDOW 'FROM' # AS"))]
    ['?x', 'ex:WINDOW', "'FROM'", '']
    """
    text = source.text
    tokens: list[Token] = []
    position = 0
    settled = 0  # no prefixed name starts with a name before this offset: it has been looked at
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unknown(source, position)
        group = match.lastgroup
        end = match.end()
        if group == "name":
            local = None
            if position >= settled:
                run = _RUN.match(text, position)
                assert run is not None
                settled = run.end()
                # PN_PREFIX starts with a letter and does not end in a full stop
                if text[settled : settled + 1] == ":" and text[settled - 1] != "." and text[position] != "_":
                    local = _AFTER_PREFIX.match(text, settled)
            if local is not None:
                end = local.end()
                tokens.append(_prefixed_name(source, position, end))
            else:
                word = _WORD.match(text, position)
                assert word is not None
                end = word.end()
                tokens.append(_word(source, position, end))
        elif group == "local":
            tokens.append(_prefixed_name(source, position, end))
        elif group != "space":
            tokens.append(_simple(source, group or "", position, end))
        position = end
    tokens.append(Token(Kind.END, "", "", len(text.rstrip()), len(text.rstrip())))
    return tokens


def _simple(source: Source, group: str, start: int, end: int) -> Token:
    text = source.text[start:end]
    if group == "variable":
        return Token(Kind.VARIABLE, text, _decode(source, "variable", start, end)[1:], start, end)
    if group == "iri":
        return Token(Kind.IRI, text, _decode(source, "iri", start, end)[1:-1], start, end)
    if group == "label":
        return Token(Kind.LABEL, text, _decode(source, "label", start, end)[2:], start, end)
    if group == "string":
        return Token(Kind.STRING, text, _string_value(source, start, end), start, end)
    kind = {"number": Kind.NUMBER, "language": Kind.LANGUAGE, "mark": Kind.MARK}[group]
    return Token(kind, text, text[1:].lower() if kind is Kind.LANGUAGE else text, start, end)


def _prefixed_name(source: Source, start: int, end: int) -> Token:
    prefix, _, local = _decode(source, "prefixed name", start, end).partition(":")
    value = re.sub(r"\\(.)", r"\1", local)
    return Token(Kind.PREFIXED_NAME, source.text[start:end], value, start, end, prefix)


def _word(source: Source, start: int, end: int) -> Token:
    return Token(Kind.WORD, source.text[start:end], _decode(source, "word", start, end).upper(), start, end)


def _decode(source: Source, kind: str, start: int, end: int) -> str:
    """The text with its code point escapes replaced; they may only stand for what is legal there."""
    text = source.text[start:end]
    if "\\" not in text:
        return text
    decoded = _DECODE.sub(lambda match: _character(source, start + match.start(), match.group()), text)
    if not _STRICT[kind].match(decoded):
        raise source.error(f'an escape in "{text}" stands for a character that cannot be there', (start, end))
    return decoded


def _string_value(source: Source, start: int, end: int) -> str:
    text = source.text[start:end]
    quotes = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1

    def replace(match: re.Match[str]) -> str:
        escape = match.group()
        at = start + quotes + match.start()
        if len(escape) > 2:
            return _character(source, at, escape)
        if escape[1] not in _ECHAR:
            hint = "Write \\\\ for a backslash."
            raise source.error(f'unknown escape "{escape}" in a string', (at, at + 2), hint=hint)
        return _ECHAR[escape[1]]

    value = text[quotes:-quotes]
    if "\\" in value:
        value = _STRING_ESCAPE.sub(replace, value)
    for index, character in enumerate(value):
        if "\ud800" <= character <= "\udfff":
            at = min(start + quotes + index, end - 1)
            raise source.error("a surrogate is not a character", (at, at + 1))
    return value


def _character(source: Source, at: int, escape: str) -> str:
    code = int(escape[2:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise source.error(f'"{escape}" is not a character', (at, at + len(escape)))
    return chr(code)


def _unknown(source: Source, position: int) -> QueryError:
    text = source.text
    character = text[position]
    span = (position, position + 1)
    if character in "\"'":
        long = text.startswith(character * 3, position)
        hint = f"End it with {character * (3 if long else 1)}"
        if not long:
            hint += f", or use {character * 3} for a string of several lines"
        return source.error("a string is not closed", (position, position + (3 if long else 1)), hint=hint + ".")
    advice: str | None = None
    if character in "“”„‘’":
        advice = "Use the straight quotes \" or '."
    elif character == "\u00a0":
        advice = "This is a no-break space: type an ordinary one."
    return source.error(f'unexpected character "{character}" (U+{ord(character):04X})', span, hint=advice)
