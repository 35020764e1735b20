"""rdflib's SPARQL 1.1 grammar over a rewritten query: its parse tree, or an error at the user's own token."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from pyparsing import ParseBaseException
from rdflib.plugins.sparql import parser

from spectra.errors import Place, QueryError
from spectra.sparql.placeholders import Rewritten
from spectra.sparql.tokens import Kind

Result = TypeVar("Result")

#: What may be tried at the place of an error, to say what was expected there: text for rdflib, and its name.
#: A word comes with what follows it, because the grammar reads past any word in search of a prefix's colon.
_PROBES = (
    ("SELECT ?v0", "SELECT"),
    ("CONSTRUCT {", "CONSTRUCT"),
    ("ASK {", "ASK"),
    ("WHERE {", "WHERE"),
    ("?v0", "a variable"),
    ("<0>", "an IRI"),
    ('"0"', "a literal"),
    ("0", "a number"),
    ("{", '"{"'),
    ("}", '"}"'),
    ("(", '"("'),
    (")", '")"'),
    ("[", '"["'),
    ("]", '"]"'),
    (".", '"."'),
    (";", '";"'),
    (",", '","'),
    ("*", '"*"'),
    ("|", '"|"'),
    ("=", "an operator"),
    ("AS ?v0", "AS"),
    ("BY ?v0", "BY"),
    ("FILTER (", "FILTER"),
    ("EXISTS {", "EXISTS"),
    ("IN (", "IN"),
    ("NAMED <0>", "NAMED"),
    ("GROUP BY ?v0", "GROUP BY"),
    ("ORDER BY ?v0", "ORDER BY"),
    ("LIMIT 0", "LIMIT"),
)
_PROBED_LENGTH = 4_000  # a longer text is not parsed again for every probe
_DEEP_LIMIT = 20_000
_DEEP_STACK = 128 * 1024 * 1024
_one_at_a_time = threading.Lock()


def parse(rewritten: Rewritten) -> Any:
    """The parse tree of a query: a `CompValue` named after its form."""
    text = rewritten.text
    try:
        return parser.parseQuery(text)[1]
    except ParseBaseException as error:
        raise _syntax_error(rewritten, text, error.loc) from None


def with_deep_stack(call: Callable[[], Result], place: Place | None) -> Result:
    """What `call` returns; where it nests too deeply, it runs once more with a larger stack.

    Where that is not enough either, the error names `place`.

    rdflib's grammar takes about 30 calls for each pair of parentheses and 9 for each triple pattern of a
    group, so that Python's limit of 1,000 is met at about 100 triple patterns. The limit is one for all
    threads: it is raised for the deep query only and put back. One query is read at a time, because a
    thread with an ordinary stack must not recurse under the raised limit.
    """
    with _one_at_a_time:
        try:
            return call()
        except RecursionError:
            return _call_deeply(call, place)


def _call_deeply(call: Callable[[], Result], place: Place | None) -> Result:
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            failure.append(error)

    limit, stack = sys.getrecursionlimit(), threading.stack_size(_DEEP_STACK)
    try:
        sys.setrecursionlimit(max(limit, _DEEP_LIMIT))
        thread = threading.Thread(target=run, name="spectra-deep-query")
        thread.start()
        threading.stack_size(stack)
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(limit)
    if not failure:
        return outcome[0]
    if isinstance(failure[0], RecursionError):
        hint = "Split it, or write fewer parentheses."
        raise QueryError("the query is nested too deeply", place=place, hint=hint)
    raise failure[0]


class _Watched(str):
    """Text that remembers the furthest character the grammar looked at.

    An exception of pyparsing tells where its last alternative failed, which may be the start of the
    group; a grammar of one token of look-ahead fails at the furthest token it looked at.
    """

    furthest: int = 0

    def __getitem__(self, key: Any) -> str:
        if isinstance(key, int) and key > self.furthest:
            self.furthest = key
        return str.__getitem__(self, key)

    def expandtabs(self, tabsize: Any = 8) -> str:
        return self


def _furthest(text: str) -> tuple[int, bool]:
    """The furthest offset the grammar looks at, and whether it takes the whole text."""
    watched = _Watched(text)
    try:
        parser.Query.parse_string(watched, parse_all=True)
    except ParseBaseException as error:
        return max(watched.furthest, error.loc), False
    return len(text), True


def _syntax_error(rewritten: Rewritten, text: str, loc: int) -> QueryError:
    piece = rewritten.piece_at(max(loc, _furthest(text)[0]))
    expected = None
    if len(text) <= _PROBED_LENGTH:
        if piece > 0 and rewritten.is_word(piece - 1) and not _goes_on(rewritten.before(piece)):
            piece -= 1
        expected = _expected(rewritten.before(piece))
    token = rewritten.token_of(piece)
    message = f"unexpected {token}" if token.kind is not Kind.END else "the query ends too early"
    return rewritten.source.error(message, token, expected=expected)


def _passes(before: str, probe: str) -> bool:
    """Whether the grammar takes `probe` after `before`; SPARQL needs one token to decide."""
    attempt = f"{before} {probe} ~"
    return _furthest(attempt)[0] >= len(attempt) - 1


def _goes_on(before: str) -> bool:
    """Whether anything at all can follow, or the query may end."""
    return any(_passes(before, probe) for probe, _ in _PROBES) or _furthest(before)[1]


def _expected(before: str) -> str | None:
    """What the grammar would go on with, found by trying."""
    names = [name for probe, name in _PROBES if _passes(before, probe)]
    if before and _furthest(before)[1]:
        names.append("the end of the query")
    if not names:
        return None
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
