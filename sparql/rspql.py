"""RSP-QL text -> `ContinuousQuery`: REGISTER and windows are read here, the SPARQL between them by rdflib."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace

from spectra.clock import duration
from spectra.dictionary.terms import RDF_LANG_STRING, XSD_STRING, Literal, term_text
from spectra.errors import InternalError, Place, QueryError, UnsupportedError
from spectra.sparql.iris import resolve
from spectra.sparql.keywords import KEYWORDS, OPTIONS, UPDATES, WINDOWS
from spectra.sparql.placeholders import (
    DeclarationSlot,
    InverseSlot,
    IriSlot,
    LabelSlot,
    LiteralSlot,
    NumberSlot,
    RepeatSlot,
    Rewritten,
    ServiceSlot,
    TemplateGraphSlot,
    VariableSlot,
    WindowSlot,
)
from spectra.sparql.query import ContinuousQuery, Option, OutputOperator, Policy, Report, Window, WindowKind
from spectra.sparql.syntax import Pattern, Term, Variable
from spectra.sparql.tokens import Kind, Source, Token, tokenize
from spectra.sparql.windowed import graphs_as_windows, over_window
from spectra.sparql.windows import read_window, time_window

#: The window of a plain SPARQL query, and of C-SPARQL's `FROM STREAM`: their default graph.
DEFAULT_WINDOW = "urn:spectra:window"
#: The name of a query that has none.
DEFAULT_NAME = "urn:spectra:query"

_XSD = "http://www.w3.org/2001/XMLSchema#"
_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_WELL_KNOWN = {
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
    "xsd": _XSD,
}
_OPERATORS = tuple(operator.value for operator in OutputOperator)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class _Declared:
    """A declared window; `default` for C-SPARQL's `FROM STREAM`, `graph` for its `FROM NAMED STREAM`."""

    window: Window
    default: bool
    graph: bool
    token: Token


def parse_query(
    text: str,
    *,
    range: str | int | None = None,  # noqa: A002 - the word of the language
    step: str | int | None = None,
    name: str | None = None,
    source: str | None = None,
) -> ContinuousQuery:
    """The query that a text says: RSP-QL, C-SPARQL's dialect of it, or plain SPARQL.

    Parameters
    ----------
    text
        The query.
    range, step
        The window of plain SPARQL, as durations or milliseconds; without `step` it is tumbling.
    name
        The query's name; by default the one it is registered by.
    source
        What errors call the text, usually its file.

    Raises
    ------
    QueryError
        With the place in `text`, what was expected there and, where there is one, a way out.
    UnsupportedError
        The query is right, and Spectra does not evaluate it.
    """
    # rdflib takes longer to import than everything else together
    from spectra.sparql.grammar import parse, with_deep_stack
    from spectra.sparql.translate import translate

    reader = _Reader(Source(text, source))
    reader.read()
    # people register queries that SPARQL forbids in plain form: their text is read, and registering says what is wrong
    lenient = reader.registered
    translation = with_deep_stack(
        lambda: translate(parse(reader.rewritten), reader.rewritten, lenient=lenient), reader.deepest
    )
    windows = reader.windows(range, step)
    static = translation.static
    pattern = with_deep_stack(lambda: reader.windowed(translation.pattern, windows), reader.deepest)
    if static and any(window.name == DEFAULT_WINDOW for window in windows):
        # FROM adds to the default graph, which is this window
        windows = tuple(
            replace(window, spec=replace(window.spec, with_static=True)) if window.name == DEFAULT_WINDOW else window
            for window in windows
        )
    return ContinuousQuery(
        name=name if name is not None else reader.name,
        output=reader.output,
        form=translation.form,
        windows=windows,
        static=static,
        static_named=translation.static_named,
        options=frozenset(reader.options),
        pattern=pattern,
        variables=translation.variables,
        template=translation.template,
        report=reader.report(windows),
        text=text,
        base=reader.base,
        places=reader.places(),
        forbidden=translation.forbidden,
    )


class _Reader:
    """Goes over the tokens once: prologue, REGISTER, windows; the rest is rewritten for rdflib."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.rewritten = Rewritten(source, self.tokens)
        self.position = 0
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}
        self.registered = False
        self.output = OutputOperator.ISTREAM
        self.name = DEFAULT_NAME
        self.options: set[Option] = set()
        self.deepest: Place | None = None  # the bracket with most others around it
        self.declared: list[_Declared] = []
        self._window_names: list[tuple[str, Token]] = []  # the IRIs that WINDOW patterns use
        self._template_end = 0  # the brace that closes the template, and that of a GRAPH inside it
        self._template_graph_end: int | None = None

    # --- reading ----------------------------------------------------------------------------

    def read(self) -> None:
        self._check_brackets()
        self._prologue()
        if self._word("REGISTER"):
            self._register()
            self._prologue()
        token = self.tokens[self.position]
        if token.kind is Kind.WORD and token.value in UPDATES:
            raise self.source.error(
                f"{token.value} is an update, not a query", token, hint="The stream is changed by its events."
            )
        while self.tokens[self.position].kind is not Kind.END:
            self._rewrite()

    def _check_brackets(self) -> None:
        opened: list[Token] = []
        depth = 0
        for token in self.tokens:
            if token.kind is not Kind.MARK:
                continue
            if token.text in _BRACKETS:
                opened.append(token)
                if len(opened) > depth:
                    depth = len(opened)
                    self.deepest = self.source.place(token.start)
            elif token.text in _BRACKETS.values():
                if not opened:
                    raise self.source.error(f"{token} closes nothing", token)
                opener = opened.pop()
                if _BRACKETS[opener.text] != token.text:
                    place = self.source.place(opener.start)
                    raise self.source.error(
                        f"{token} does not close {opener} of line {place.line}, column {place.column}",
                        token,
                        expected=f'"{_BRACKETS[opener.text]}"',
                    )
        if opened:
            raise self.source.error(
                f"{opened[-1]} is never closed", opened[-1], hint=f'Add "{_BRACKETS[opened[-1].text]}".'
            )

    def _prologue(self) -> None:
        while True:
            if self._word("BASE"):
                self.base = resolve(self._take(Kind.IRI, "an IRI <…> after BASE").value, self.base)
            elif self._word("PREFIX"):
                prefix = self._take(Kind.PREFIXED_NAME, "a prefix with its colon (ex:) after PREFIX")
                if prefix.value:
                    raise self.source.error(
                        f"unexpected {prefix}", prefix, expected=f'"{prefix.prefix}:" and then an IRI <…>'
                    )
                iri = self._take(Kind.IRI, f"an IRI <…> for {prefix.text}")
                self.prefixes[prefix.prefix] = resolve(iri.value, self.base)
            else:
                return

    def _register(self) -> None:
        self.registered = True
        token = self.tokens[self.position]
        if token.kind is Kind.WORD and token.value in ("QUERY", "STREAM"):
            self.output = OutputOperator.RSTREAM
        elif token.kind is Kind.WORD and token.value in _OPERATORS:
            self.output = OutputOperator(token.value)
        else:
            raise self._unexpected(
                token,
                "ISTREAM, DSTREAM, RSTREAM, CHANGES, QUERY or STREAM after REGISTER",
                (*_OPERATORS, "QUERY", "STREAM"),
            )
        self.position += 1
        named = self.tokens[self.position]
        dialect = token.value in ("QUERY", "STREAM")
        if dialect and named.kind is Kind.WORD and named.value not in ("AS", "WITH"):
            self.name = named.text
            self.position += 1
        elif named.kind in (Kind.IRI, Kind.PREFIXED_NAME):
            self.name = self._iri()
        else:
            raise self._unexpected(named, "the query's name, an IRI")
        while self._word("WITH") or (self.options and self._mark(",")):
            self._word("WITH")
            self._option()
        if not self._word("AS"):
            token = self.tokens[self.position]
            hint = None
            if token.value == "COMPUTED":
                hint = "Say when to report in the window's brackets: [RANGE 10m STEP 1m REPORT PERIODIC 1m]."
            expected = '"," or AS' if self.options else "WITH or AS"
            raise self._unexpected(token, expected, ("AS", "WITH"), hint=hint)

    def _option(self) -> None:
        start = self.tokens[self.position]
        expected = ", ".join(option.value for option in Option)
        words = [start.value]
        if start.value != "PATHS":
            words.append(self.tokens[self.position + 1].value)
        try:
            option = Option(" ".join(words))
        except ValueError:
            known = tuple(OPTIONS)
            wrong = start
            if start.value in OPTIONS and len(words) == 2:
                wrong = self.tokens[self.position + 1]
            raise self._unexpected(wrong, f"an option after WITH: {expected}", known) from None
        self.position += len(words)
        self.options.add(option)
        if {Option.SIMPLE_PATHS, Option.SHORTEST_PATHS} <= self.options:
            raise self.source.error(
                "SHORTEST PATHS is not for SIMPLE PATHS",
                start,
                hint="WITH SIMPLE PATHS, PATHS names the simple path that lasts longest.",
            )
        if {Option.PATHS, Option.SHORTEST_PATHS} <= self.options:
            raise self.source.error(
                "PATHS and SHORTEST PATHS ask for different witnesses", start, hint="Choose one of them."
            )

    # --- rewriting --------------------------------------------------------------------------

    def _rewrite(self) -> None:
        index = self.position
        token = self.tokens[index]
        self.position += 1
        add = self.rewritten.add
        if token.kind is Kind.WORD:
            self._rewrite_word(index, token)
        elif token.kind in (Kind.IRI, Kind.PREFIXED_NAME):
            add(f"<{index}>", index, IriSlot(f"<{self._resolved(token)}>"))
        elif token.kind is Kind.VARIABLE:
            add(f"?v{index}", index, VariableSlot(token.value))
        elif token.kind is Kind.LABEL:
            add(f"_:l{index}", index, LabelSlot(token.value))
        elif token.kind is Kind.STRING:
            add(f'"{index}"', index, self._literal(token))
        elif token.kind is Kind.NUMBER:
            slot = _number(token)
            add(f"{slot.sign}{index}", index, slot)
        elif token.kind is Kind.LANGUAGE:
            raise self.source.error(f"{token} does not follow a string", token)
        elif index == self._template_graph_end:
            self._end_template_graph(index)
        elif not (self._rewrite_repeat(index) or self._rewrite_negated(index)):
            # rdflib takes a modifier of a path only right after its element
            add(token.text, index, glued=token.text in ("?", "*", "+") and self._after_path(index))

    def _rewrite_word(self, index: int, token: Token) -> None:
        if token.value == "FROM" and self._declaration(index):
            return
        if token.value == "WINDOW":
            name = self.tokens[self.position]
            term = self._variable_or_iri("the window's IRI or a variable after WINDOW")
            if not isinstance(term, Variable):
                self._window_names.append((term[1:-1], name))
            self._add_graph(index, WindowSlot(term))
        elif token.value == "SERVICE":
            silent = self._word("SILENT")
            self._add_graph(index, ServiceSlot(self._variable_or_iri("an IRI or a variable after SERVICE"), silent))
        elif token.value == "GRAPH" and index < self._template_end:
            self._template_graph(index, token)
        elif token.text == "a":
            self.rewritten.add("a", index)
        elif token.value in KEYWORDS and token.value != "A":
            self.rewritten.add(token.value, index)
            if token.value == "CONSTRUCT" and self.tokens[self.position].text == "{":
                self._template_end = self._closing(self.position)
        else:
            if index > 0 and self.tokens[index - 1].value in ("NAMED", "FROM"):
                close = difflib.get_close_matches(token.value, ("WINDOW", "STREAM", "NAMED"), 1)
            else:
                close = difflib.get_close_matches(token.value, KEYWORDS, 1)
            hint = f"Did you mean {close[0]}?" if close else "Write a variable ?x, an IRI <…> or a prefixed name ex:x."
            raise self.source.error(f"unknown word {token}", token, hint=hint)

    def _template_graph(self, index: int, token: Token) -> None:
        """`GRAPH name { … }` of a template: triples between two that mark its begin and its end."""
        if self._template_graph_end is not None:
            raise self.source.error("GRAPH inside GRAPH: a triple of a template goes into one graph", token)
        name = self._variable_or_iri("the graph's IRI or a variable after GRAPH")
        opening = self.tokens[self.position]
        if opening.text != "{":
            raise self._unexpected(opening, '"{"')
        self._template_graph_end = self._closing(self.position)
        self.position += 1
        self._mark_graph(index, name)
        self.rewritten.add(".", index)

    def _end_template_graph(self, index: int) -> None:
        self._template_graph_end = None
        self._mark_graph(index, None)
        if self.tokens[self.position].text not in (".", "}"):
            self.rewritten.add(".", index)

    def _mark_graph(self, index: int, name: Term | None) -> None:
        if not self.rewritten.ends_with("{", "."):
            self.rewritten.add(".", index)
        self.rewritten.add(f"<{index}> <{index}> <{index}>", index, TemplateGraphSlot(name))

    def _closing(self, opening: int) -> int:
        """The brace that closes another one."""
        depth = 0
        for position in range(opening, len(self.tokens)):
            depth += {"{": 1, "}": -1}.get(self.tokens[position].text, 0)
            if depth == 0:
                return position
        raise InternalError("brackets were checked before")

    def _add_graph(self, index: int, slot: WindowSlot | ServiceSlot) -> None:
        opening = self.tokens[self.position]
        if opening.text != "{":
            raise self._unexpected(opening, '"{"')
        self.rewritten.add("GRAPH", index)
        self.rewritten.add(f"<{index}>", index, slot)

    def _literal(self, token: Token) -> LiteralSlot:
        following = self.tokens[self.position]
        if following.kind is Kind.LANGUAGE:
            self.position += 1
            return LiteralSlot(term_text(Literal(token.value, RDF_LANG_STRING, following.value)), None)
        if following.text == "^^":
            self.position += 1
            datatype = self._iri()
            return LiteralSlot(term_text(Literal(token.value, datatype)), None)
        return LiteralSlot(term_text(Literal(token.value, XSD_STRING)), token.value)

    def _after_path(self, index: int) -> bool:
        """Whether the token before ends a PathPrimary."""
        before = self.tokens[index - 1]
        return before.kind in (Kind.IRI, Kind.PREFIXED_NAME) or before.text in ("a", ")")

    def _rewrite_repeat(self, index: int) -> bool:
        """`{n}`, `{n,m}`, `{n,}`, `{,m}` as one more step of the path; False where it is none of them."""
        parts: list[Token] = []
        if self.tokens[index].text != "{" or not self._after_path(index):
            return False
        for token in self.tokens[index + 1 : index + 5]:
            if token.text == "}":
                break
            parts.append(token)
        low, high = 0, None
        match [part.text if part.text == "," or part.text.isdecimal() else "" for part in parts]:
            case [count] if count.isdecimal():
                low = high = int(count)
            case [count, ","] if count.isdecimal():
                low = int(count)
            case [",", count] if count.isdecimal():
                high = int(count)
            case [least, ",", most] if least.isdecimal() and most.isdecimal():
                low, high = int(least), int(most)
            case _:
                return False
        if high is not None and high < low:
            raise self.source.error(
                f"a path repeats at least {low} and at most {high} times: never",
                (self.tokens[index].start, self.tokens[index + len(parts) + 1].end),
            )
        self.rewritten.add("/", index)
        self.rewritten.add(f"<{index}>", index, RepeatSlot(low, high))
        self.position = index + len(parts) + 2
        return True

    def _rewrite_negated(self, index: int) -> bool:
        """A negated property set with inverses in it, each as one IRI; False where there is none."""
        if self.tokens[index].text != "!":
            return False
        position = index + 1
        listed = self.tokens[position].text == "("
        position += listed
        elements: list[tuple[int, int | None]] = []  # the token of the IRI, and of its ^
        while True:
            caret = position if self.tokens[position].text == "^" else None
            position += caret is not None
            token = self.tokens[position]
            if token.kind not in (Kind.IRI, Kind.PREFIXED_NAME) and token.text != "a":
                return False
            elements.append((position, caret))
            position += 1
            if not listed:
                break
            if self.tokens[position].text == ")":
                position += 1
                break
            if self.tokens[position].text != "|":
                return False
            position += 1
        if all(caret is None for _, caret in elements):
            return False
        self.rewritten.add("!", index)
        self.rewritten.add("(", index)
        for number, (at, caret) in enumerate(elements):
            if number:
                self.rewritten.add("|", at)
            token = self.tokens[at]
            iri = _RDF_TYPE if token.text == "a" else f"<{self._resolved(token)}>"
            self.rewritten.add(f"<{at}>", at, IriSlot(iri) if caret is None else InverseSlot(iri))
        self.rewritten.add(")", position - 1)
        self.position = position
        return True

    # --- windows ----------------------------------------------------------------------------

    def _declaration(self, index: int) -> bool:
        """`FROM NAMED WINDOW`, `FROM STREAM`, `FROM NAMED STREAM`; False for SPARQL's own FROM."""
        position = index + 1
        named = self._is_word(position, "NAMED")
        position += named
        if not (self._is_word(position, "STREAM") or (named and self._is_word(position, "WINDOW"))):
            if self._is_word(position, "WINDOW"):
                raise self.source.error(
                    "unexpected WINDOW after FROM",
                    self.tokens[position],
                    expected="NAMED WINDOW",
                    hint="Write FROM NAMED WINDOW.",
                )
            return False
        window = self.tokens[position].value == "WINDOW"
        self.position = position + 1
        token = self.tokens[self.position]
        name = stream = self._iri("the window's IRI" if window else "the stream's IRI")
        if window:
            if not self._word("ON"):
                raise self._unexpected(self.tokens[self.position], "ON and then the stream's IRI", ("ON",))
            self._word("STREAM")
            stream = self._iri("the stream's IRI after ON")
        opening = self.tokens[self.position]
        if opening.text != "[":
            raise self._unexpected(
                opening,
                "the window in brackets",
                hint="Write [RANGE PT1H STEP PT10M], [ELEMENTS 100 STEP 10] or [EVENT].",
            )
        spec, self.position = read_window(self.source, self.tokens, self.position)
        default = not window and not named
        name = DEFAULT_WINDOW if default else name
        self._refuse_second(name, token, default)
        place = self.source.place(token.start, token.end)
        self.declared.append(_Declared(Window(name, stream, spec, place), default, not window and named, token))
        self.rewritten.add("FROM", index)
        self.rewritten.add("NAMED", index)
        self.rewritten.add(f"<{index}>", index, DeclarationSlot())
        return True

    def _refuse_second(self, name: str, token: Token, default: bool) -> None:
        if all(declared.window.name != name for declared in self.declared):
            return
        if default:
            raise UnsupportedError(
                "several FROM STREAM clauses merge their windows, which is not supported",
                place=self.source.place(token.start, token.end),
                hint="Give each a name: FROM NAMED WINDOW <w> ON <stream> […], and use WINDOW <w> { … }.",
            )
        raise self.source.error(f"the window <{name}> is declared twice", token)

    def windows(self, range_: str | int | None, step: str | int | None) -> tuple[Window, ...]:
        """The windows of the query, after the checks that need all of them."""
        if range_ is None and step is not None:
            raise QueryError("a step is given without a range", hint="Give both: --range PT1H --step PT10M.")
        names = [declared.window.name for declared in self.declared if not declared.default]
        for name, token in self._window_names:
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = "Declare it: FROM NAMED WINDOW <w> ON <stream> [RANGE PT1H STEP PT10M]."
                if close:
                    hint = f"Did you mean <{close[0]}>?"
                listed = ", ".join(f"<{known}>" for known in names) if names else "none"
                raise self.source.error(
                    f"the window <{name}> is not declared",
                    token,
                    expected=f"one of the declared windows: {listed}",
                    hint=hint,
                )
        if self.declared:
            if range_ is not None:
                raise QueryError(
                    "a range is given for a query that has its own windows",
                    place=self.declared[0].window.place,
                    hint="Leave out the range and step of the call, or the query's windows.",
                )
            return tuple(declared.window for declared in self.declared)
        if self.registered:
            token = next(token for token in self.tokens if token.value == "REGISTER")
            raise self.source.error(
                "the query has no window",
                token,
                hint="Add FROM NAMED WINDOW <w> ON <stream> [RANGE PT1H STEP PT10M] before WHERE.",
            )
        if range_ is None:
            raise QueryError(
                "plain SPARQL needs a window",
                place=Place(1, 1, source=self.source.name),
                hint="Give --range PT1H --step PT10M (in Python range=, step=), or use FROM NAMED WINDOW.",
            )
        lengths = [
            length if length is None or isinstance(length, int) else duration(length) for length in (range_, step)
        ]
        assert lengths[0] is not None
        return (Window(DEFAULT_WINDOW, "", time_window("the window of the call", lengths[0], lengths[1])),)

    def windowed(self, pattern: Pattern, windows: tuple[Window, ...]) -> Pattern:
        """The pattern with its default graph, and C-SPARQL's stream graphs, read through their windows."""
        streams = {f"<{declared.window.name}>" for declared in self.declared if declared.graph}
        if streams:
            pattern = graphs_as_windows(pattern, frozenset(streams), self._keyword_place("GRAPH"))
        if any(window.name == DEFAULT_WINDOW for window in windows):
            pattern = over_window(pattern, f"<{DEFAULT_WINDOW}>")
        return pattern

    def report(self, windows: tuple[Window, ...]) -> Report:
        """When to evaluate: what a window's REPORT says, else what goes with the operator."""
        if self.output is OutputOperator.DSTREAM:
            self._refuse_leaving(windows)
        chosen = [(window.spec.report, window) for window in windows if window.spec.report is not None]
        for report, window in chosen[1:]:
            if report != chosen[0][0]:
                raise QueryError(
                    f"the windows <{chosen[0][1].name}> and <{window.name}> report differently",
                    place=window.place,
                    hint="The REPORT of one window holds for the whole query: write it once.",
                )
        if chosen and chosen[0][0] is not None:
            return chosen[0][0]
        rstream = self.output is OutputOperator.RSTREAM
        return Report(Policy.ON_WINDOW_CLOSE if rstream else Policy.ON_CONTENT_CHANGE)

    def _refuse_leaving(self, windows: tuple[Window, ...]) -> None:
        if any(window.spec.kind is WindowKind.EVENT for window in windows):
            token = next(token for token in self.tokens if token.value == "DSTREAM")
            raise self.source.error(
                "DSTREAM has nothing to tell where each event is matched by itself",
                token,
                hint="Nothing is kept of an event, so nothing leaves: use ISTREAM or RSTREAM.",
            )

    # --- tokens -----------------------------------------------------------------------------

    def places(self) -> dict[str, Place]:
        found: dict[str, Place] = {}
        for token in self.tokens:
            if token.kind is Kind.WORD and token.value in KEYWORDS | OPTIONS | WINDOWS:
                found.setdefault(token.value, self.source.place(token.start, token.end))
            elif token.kind is Kind.VARIABLE:
                found.setdefault(f"?{token.value}", self.source.place(token.start, token.end))
        return found

    def _keyword_place(self, word: str) -> Place | None:
        return self.places().get(word)

    def _is_word(self, position: int, word: str) -> bool:
        token = self.tokens[min(position, len(self.tokens) - 1)]
        return token.kind is Kind.WORD and token.value == word

    def _word(self, word: str) -> bool:
        """Take the word if it is next."""
        found = self._is_word(self.position, word)
        self.position += found
        return found

    def _mark(self, mark: str) -> bool:
        found = self.tokens[self.position].text == mark
        self.position += found
        return found

    def _take(self, kind: Kind, expected: str) -> Token:
        token = self.tokens[self.position]
        if token.kind is not kind:
            raise self._unexpected(token, expected)
        self.position += 1
        return token

    def _iri(self, expected: str = "an IRI") -> str:
        """Take an IRI or a prefixed name: the IRI without brackets."""
        token = self.tokens[self.position]
        if token.kind not in (Kind.IRI, Kind.PREFIXED_NAME):
            raise self._unexpected(token, expected)
        self.position += 1
        return self._resolved(token)

    def _variable_or_iri(self, expected: str) -> Term:
        token = self.tokens[self.position]
        if token.kind is Kind.VARIABLE:
            self.position += 1
            self.rewritten.slots[self.position - 1] = VariableSlot(token.value)
            return Variable(token.value)
        return f"<{self._iri(expected)}>"

    def _resolved(self, token: Token) -> str:
        if token.kind is Kind.IRI:
            return resolve(token.value, self.base)
        namespace = self.prefixes.get(token.prefix)
        if namespace is not None:
            return namespace + token.value
        close = difflib.get_close_matches(token.prefix, self.prefixes, 1)
        if token.prefix in _WELL_KNOWN:
            hint = f"Add PREFIX {token.prefix}: <{_WELL_KNOWN[token.prefix]}> at the top."
        elif close:
            hint = f"Did you mean {close[0]}:{token.value}?"
        else:
            hint = f"Add PREFIX {token.prefix}: <…> at the top."
        raise self.source.error(f'the prefix "{token.prefix}:" is not declared', token, hint=hint)

    def _unexpected(
        self, token: Token, expected: str, words: tuple[str, ...] = (), *, hint: str | None = None
    ) -> QueryError:
        close = difflib.get_close_matches(token.value, words, 1) if token.kind is Kind.WORD else []
        if hint is None and close:
            hint = f"Did you mean {close[0]}?"
        return self.source.error(f"unexpected {token}", token, expected=expected, hint=hint)


def _number(token: Token) -> NumberSlot:
    sign = token.text[0] if token.text[0] in "+-" else ""
    digits = token.text[len(sign) :]
    if "e" in digits or "E" in digits:
        return NumberSlot(sign, digits, _XSD + "double")
    return NumberSlot(sign, digits, _XSD + ("decimal" if "." in digits else "integer"))
