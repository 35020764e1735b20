"""What stands in a window's brackets -> `WindowSpec`."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from spectra.clock import duration, milliseconds
from spectra.errors import QueryError, SpectraError, UnsupportedError
from spectra.sparql.keywords import WINDOWS
from spectra.sparql.query import Policy, Report, WindowKind, WindowSpec
from spectra.sparql.tokens import Kind, Source, Token

_UNITS = ("ms", "s", "m", "h", "d")
_EXAMPLE = "Write [RANGE PT1H STEP PT10M], [ELEMENTS 100 STEP 10] or [EVENT]."


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What is written between two spaces, or a string; `value` is a string's value, else the text."""

    text: str
    value: str
    start: int
    end: int

    @property
    def word(self) -> str:
        return self.text.upper()

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


def read_window(source: Source, tokens: list[Token], index: int) -> tuple[WindowSpec, int]:
    """The window whose `[` is the token `index`, and the index of the token after its `]`."""
    end = index + 1
    while tokens[end].text != "]":
        if tokens[end].kind is Kind.END or tokens[end].text == "[":
            raise source.error('a window is not closed: "[" without "]"', tokens[index])
        end += 1
    return _Reader(source, _chunks(source, tokens[index + 1 : end]), tokens[end]).spec(), end + 1


def time_window(source_name: str, range_: int, step: int | None) -> WindowSpec:
    """A time window from numbers of milliseconds; `source_name` is what an error calls it."""
    step = range_ if step is None else step
    wrong = _wrong_step(range_, step, "range", "step")
    if wrong:
        raise QueryError(f"{source_name}: {wrong}")
    return WindowSpec(WindowKind.TIME, range_, step)


def _wrong_step(range_: int, step: int, range_name: str, step_name: str) -> str | None:
    if range_ <= 0:
        return f"{range_name} must be greater than zero"
    if step <= 0:
        return f"{step_name} must be greater than zero"
    if step > range_:
        return f"{step_name} is greater than {range_name}, so that data between two windows would never be seen"
    return None


def _chunks(source: Source, tokens: list[Token]) -> list[_Chunk]:
    """Tokens that touch, put together again: `2016-07-01T10:00:00Z` is one thing here."""
    chunks: list[_Chunk] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if token.kind is Kind.STRING:
            end = token.end
            if position + 1 < len(tokens) and tokens[position].text == "^^":
                end = tokens[position + 1].end
                position += 2
            chunks.append(_Chunk(source.text[token.start : end], token.value, token.start, end))
            continue
        end = token.end
        while position < len(tokens) and tokens[position].start == end and tokens[position].kind is not Kind.STRING:
            end = tokens[position].end
            position += 1
        text = source.text[token.start : end]
        chunks.append(_Chunk(text, text, token.start, end))
    return chunks


class _Reader:
    def __init__(self, source: Source, chunks: list[_Chunk], closing: Token) -> None:
        self.source = source
        self.chunks = chunks
        self.closing = closing
        self.position = 0

    def spec(self) -> WindowSpec:
        first = self._next("RANGE, ELEMENTS or EVENT")
        kind = {"RANGE": WindowKind.TIME, "ELEMENTS": WindowKind.COUNT, "EVENT": WindowKind.EVENT}.get(first.word)
        if first.word == "TRIPLES":
            raise UnsupportedError(
                "a window that counts triples is not supported",
                place=self.source.place(*first.span),
                hint="Count events instead: [ELEMENTS 100 STEP 10].",
            )
        if kind is None:
            raise self._unknown(first, "RANGE, ELEMENTS or EVENT", ("RANGE", "ELEMENTS", "EVENT"))
        range_ = step = t0 = lateness = 0
        size = first
        if kind is WindowKind.TIME:
            size, range_ = self._duration("a duration after RANGE")
        elif kind is WindowKind.COUNT:
            size, range_ = self._count("a number of events after ELEMENTS")
        step = range_
        step_at = size
        report: Report | None = None
        with_static = False
        seen: dict[str, _Chunk] = {}
        while self.position < len(self.chunks):
            chunk = self._next("")
            word = "STEP" if chunk.word in ("SLIDE", "TUMBLING") else chunk.word
            if word in seen:
                raise self.source.error(f'"{chunk.text}" says again what "{seen[word].text}" said', chunk.span)
            seen[word] = chunk
            if word in ("STEP", "T0") and kind is WindowKind.EVENT:
                raise self.source.error(f"an EVENT window has no {word}", chunk.span)
            if chunk.word == "TUMBLING":
                continue
            if word == "STEP" and kind is WindowKind.TIME:
                step_at, step = self._duration(f"a duration after {chunk.text}")
            elif word == "STEP":
                step_at, step = self._count(f"a number of events after {chunk.text}")
            elif word == "LATENESS":
                lateness = self._duration("a duration after LATENESS")[1]
            elif word == "T0":
                if kind is WindowKind.COUNT:
                    raise self.source.error("a window of ELEMENTS has no T0", chunk.span)
                t0 = self._time()
            elif word == "REPORT":
                report = self._report()
                if kind is WindowKind.EVENT and report.policy is Policy.PERIODIC:
                    raise self.source.error("an EVENT window reports at each event, not PERIODIC", chunk.span)
            elif word == "WITH":
                static = self._next("STATIC after WITH")
                if static.word != "STATIC":
                    raise self._unknown(static, "STATIC", ("STATIC",))
                with_static = True
            else:
                raise self._unknown(chunk, 'STEP, TUMBLING, LATENESS, REPORT, T0, WITH STATIC or "]"', tuple(WINDOWS))
        if kind is not WindowKind.EVENT:
            name = "RANGE" if kind is WindowKind.TIME else "ELEMENTS"
            wrong = _wrong_step(range_, step, name, "STEP")
            if wrong:
                raise self.source.error(wrong, size.span if range_ <= 0 else step_at.span)
        return WindowSpec(kind, range_, step, t0, lateness, report, with_static)

    def _next(self, expected: str) -> _Chunk:
        if self.position == len(self.chunks):
            raise self.source.error("the window ends too early", self.closing, expected=expected, hint=_EXAMPLE)
        self.position += 1
        return self.chunks[self.position - 1]

    def _duration(self, expected: str) -> tuple[_Chunk, int]:
        chunk = self._next(expected)
        if chunk.text.isdecimal():
            if self.position < len(self.chunks) and self.chunks[self.position].text.lower() in _UNITS:
                unit = self._next("")
                chunk = _Chunk(chunk.text + unit.text, chunk.text + unit.text, chunk.start, unit.end)
            else:
                hint = f"Write {chunk.text}s, {chunk.text}m or {chunk.text}ms."
                raise self.source.error(f'"{chunk.text}" is a duration without a unit', chunk.span, hint=hint)
        try:
            return chunk, duration(chunk.value)
        except QueryError as error:
            raise self.source.error(error.message, chunk.span, expected=expected, hint=error.hint) from None

    def _count(self, expected: str) -> tuple[_Chunk, int]:
        chunk = self._next(expected)
        if not re.fullmatch("[0-9]+", chunk.text):
            raise self.source.error(f'unexpected "{chunk.text}"', chunk.span, expected=expected, hint=_EXAMPLE)
        return chunk, int(chunk.text)

    def _time(self) -> int:
        chunk = self._next("a dateTime after T0")
        try:
            return milliseconds(chunk.value)
        except SpectraError as error:
            raise self.source.error(
                error.message, chunk.span, expected="a dateTime after T0", hint=error.hint
            ) from None

    def _report(self) -> Report:
        policies = tuple(policy.value for policy in Policy)
        chunk = self._next(", ".join(policies[:-1]) + f" or {policies[-1]}")
        if chunk.word not in policies:
            raise self._unknown(chunk, ", ".join(policies[:-1]) + f" or {policies[-1]}", policies)
        policy = Policy(chunk.word)
        if policy is not Policy.PERIODIC:
            return Report(policy)
        at, period = self._duration("a duration after PERIODIC")
        if period <= 0:
            raise self.source.error("the period must be greater than zero", at.span)
        return Report(policy, period)

    def _unknown(self, chunk: _Chunk, expected: str, words: tuple[str, ...]) -> QueryError:
        close = difflib.get_close_matches(chunk.word, words, 1)
        hint = f"Did you mean {close[0]}?" if close else _EXAMPLE
        return self.source.error(f'unexpected "{chunk.text}" in a window', chunk.span, expected=expected, hint=hint)
