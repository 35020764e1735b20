"""Random continuous queries, as text, and random streams for them.

Everything is drawn from one `random.Random`, so a case is named by its seed. The pools are small on
purpose: terms, times and validity collide all the time, and that is where incremental engines fail.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from spectra.arrival import event_name
from spectra.clock import date_time
from spectra.dictionary.terms import canonical
from spectra.oracle import Event, Triple
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PROLOGUE = f"PREFIX ex: <{EX}>\nPREFIX xsd: <{XSD}>\n"
PREDICATES = ("p", "q", "r")
NODES = ("a", "b", "c")
OUTPUTS = ("ISTREAM", "DSTREAM", "CHANGES", "RSTREAM")
STREAMS = (f"{EX}s", f"{EX}t")


def iri(name: str) -> str:
    return f"<{EX}{name}>"


def _typed(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


#: Literals as a stream may write them: equal terms in several spellings, equal values in several terms.
LITERALS = (
    '""',
    '"a"',
    rf'"\u0061"^^<{XSD}string>',
    '"a"@en',
    '"a"@EN',
    '"a"@en-GB',
    '"A"@de',
    '"caf\\u00E9"',
    '"café"',
    '"\U0001f600"',
    r'"line\nquote\"slash\\tab\t"',
    _typed("1", "integer"),
    _typed("01", "integer"),
    _typed("-3", "integer"),
    _typed("1.0", "decimal"),
    _typed("1e0", "double"),
    _typed("NaN", "double"),
    _typed("INF", "float"),
    _typed("many", "integer"),
    _typed("true", "boolean"),
    _typed("1", "boolean"),
    _typed("2016-07-01T10:00:00Z", "dateTime"),
    _typed("2016-07-01T12:00:00+02:00", "dateTime"),
    f'"x"^^{iri("datatype")}',
)
BLANK_NODES = ("_:b0", "_:b1")

#: Literals to compare: equal values in several types, those that fit in no key, those that compare with nothing.
VALUES = (
    *(
        _typed(form, "integer")
        for form in ("0", "1", "01", "2", "-3", "16777217", "9007199254740993", "9" * 23, "many")
    ),
    _typed("2", "int"),
    *(_typed(form, "decimal") for form in ("1.0", "1.5", "2.0000001", "-0.0", "9007199254740993.0", f"{'9' * 23}.5")),
    *(_typed(form, "double") for form in ("1e0", "1.5", "-0.0", "0", "NaN", "INF", "9007199254740992", "1e300")),
    *(_typed(form, "float") for form in ("1", "1.1", "16777216", "-INF", "NaN")),
    *(_typed(f"2016-07-01T{form}", "dateTime") for form in ("10:00:00Z", "12:00:00+02:00", "10:00:00.0000001Z")),
    *(_typed(form, "dateTime") for form in ("2016-07-01T10:00:00", "2016-07-03T10:00:00", "2016-06-01T10:00:00.5Z")),
    _typed("999999999-01-01T00:00:00Z", "dateTime"),
    *(_typed(form, "date") for form in ("2016-07-01", "2016-07-02Z")),
    *(_typed(form, "boolean") for form in ("true", "0")),
    *(_typed(form, "dayTimeDuration") for form in ("PT1S", "PT60S")),
    '"a"',
    '"b"',
    '"1"',
    '"a"@en',
    f'"x"^^{iri("datatype")}',
)

#: Literals as a query writes them.
CONSTANTS = (
    '"a"',
    '""',
    '"a"@en',
    '"a"@En',
    "1",
    "1.0",
    "1e0",
    "-3",
    '"01"^^xsd:integer',
    "true",
    '"café"',
    '"2016-07-01T10:00:00Z"^^xsd:dateTime',
)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """An event as it is fed: terms in the spelling of the stream, deletions before additions."""

    time: int
    stream: str
    deleted: tuple[Triple, ...] = ()
    added: tuple[Triple, ...] = ()
    graph: str = ""

    def for_oracle(self, number: int = 0) -> Event:
        """The event as the oracle takes it; `number` is its number in its stream."""
        operations = [(-1, _canonical(triple)) for triple in self.deleted]
        operations += [(1, _canonical(triple)) for triple in self.added]
        return Event(self.time, tuple(operations), self.stream, self.graph or event_name(self.stream, number))


def _canonical(triple: Triple) -> Triple:
    subject, predicate, object_ = (canonical(term)[0] for term in triple)
    return subject, predicate, object_


@dataclass(frozen=True, slots=True)
class Case:
    """A query, what it reads, and the seed that made both."""

    seed: int
    text: str
    range: int | None
    step: int | None
    events: tuple[StreamEvent, ...]
    static: dict[str, tuple[Triple, ...]] = field(default_factory=dict)

    def query(self, name: str | None = None) -> ContinuousQuery:
        return parse_query(self.text, range=self.range, step=self.step, name=name)

    def oracle_static(self, query: ContinuousQuery) -> dict[str, set[Triple]]:
        """The static graphs as the oracle takes them: the default graph merged under ""."""
        given = {name: {_canonical(triple) for triple in triples} for name, triples in self.static.items()}
        merged = set().union(*(given[name] for name in query.static))
        return {"": merged, **{f"<{name}>": given[name] for name in query.static_named}}

    def oracle_events(self) -> list[Event]:
        """The events as the oracle takes them."""
        numbers: dict[str, count[int]] = {}
        return [event.for_oracle(next(numbers.setdefault(event.stream, count()))) for event in self.events]

    def __str__(self) -> str:
        lines = [f"seed {self.seed}", self.text]
        if self.range is not None:
            lines.append(f"range={self.range}, step={self.step}")
        for name, triples in self.static.items():
            lines.append(f"static <{name}>: {' '.join(map(_shown, triples))}")
        for event in self.events:
            rows = [f"-{_shown(triple)}" for triple in event.deleted]
            rows += [f"+{_shown(triple)}" for triple in event.added]
            lines.append(f"{event.time:>6} {_short(event.stream)} {_short(event.graph)} {' '.join(rows)}")
        return "\n".join(lines)


def _short(text: str) -> str:
    return text.replace(f"<{EX}", "").replace(EX, "").replace(XSD, "xsd:").removesuffix(">")


def _shown(triple: Triple) -> str:
    return f"({' '.join(map(_short, triple))})"


# --- streams --------------------------------------------------------------------------------


def random_node(rng: random.Random) -> str:
    return rng.choice(BLANK_NODES) if rng.random() < 0.1 else iri(rng.choice(NODES))


def random_triple(rng: random.Random) -> Triple:
    kind = rng.random()
    if kind < 0.15:
        object_ = rng.choice(LITERALS)
    elif kind < 0.18:
        object_ = iri(rng.choice(PREDICATES))
    else:
        object_ = random_node(rng)
    subject = iri(rng.choice(PREDICATES)) if rng.random() < 0.03 else random_node(rng)
    if kind > 0.9:
        object_ = subject
    return subject, iri(rng.choice("ppqqr")), object_


@dataclass(frozen=True, slots=True)
class Shape:
    """What the times of a stream should be near: the windows that look at it."""

    range: int
    step: int
    t0: int
    lateness: int
    streams: Sequence[str]
    patterns: Sequence[tuple[str, str, str]] = ()

    def match(self, rng: random.Random) -> list[Triple]:
        """Triples that some solution of the query might be made of."""
        solution: dict[str, str] = {}
        found = []
        for subject, verb, object_ in self.patterns:
            ends = [
                iri(term[3:]) if term.startswith("ex:") else solution.setdefault(term, random_node(rng))
                for term in (subject, object_)
                if term[0] not in '"-1t'
            ]
            names = _PREDICATE.findall(verb) or ["p"]
            if verb.startswith("?") and solution.get(verb, "")[-2:-1] in PREDICATES:
                names = [solution[verb][-2:-1]]
            if len(ends) == 2:
                found.append((ends[0], iri(rng.choice(names)), ends[1]))
        return found


_PREDICATE = re.compile(r"\bex:([pqr])\b")


def random_events(rng: random.Random, shape: Shape) -> tuple[StreamEvent, ...]:
    """Events in the order of arrival."""
    count = 0 if rng.random() < 0.02 else rng.choice((1, 3, 5, 7, 8, 9, 10, 12))
    sizes = rng.choice(((0, 1, 1, 1, 2), (1, 2, 3, 4), (2, 3, 4, 5)))
    deletions = rng.choice((0.0, 0.0, 0.1, 0.3))
    repeats = rng.choice((0.0, 0.3, 0.6))
    disorder = rng.random() < (0.8 if shape.lateness else 0.15)
    time = rng.choice((shape.t0, 0, -37, 1_467_367_200_000 + rng.randrange(20))) + rng.randrange(-3, 12)
    past: list[Triple] = []
    likely = rng.choice((0.2, 0.5, 0.7))
    planned: list[Triple] = []
    events: list[StreamEvent] = []
    for _ in range(count):
        gap = rng.random()
        if gap < 0.2:
            pass
        elif gap < 0.75:
            time += rng.randrange(1, max(2, shape.step))
        elif gap < 0.88:
            # just where validity ends or a window closes
            time += shape.range - (time - shape.t0) % shape.step
        elif gap < 0.95:
            time += shape.range
        else:
            time += shape.range + rng.randrange(1, 3 * shape.range + 2)
        planned = planned[:4]
        added, deleted = [], []
        size = 9 if rng.random() < 0.05 else rng.choice(sizes)
        for _ in range(size):
            if rng.random() < likely:
                planned += shape.match(rng)
            again = past and rng.random() < repeats
            if again:
                triple = rng.choice(past)
            else:
                triple = planned.pop() if planned else random_triple(rng)
            if rng.random() < deletions:
                deleted.append(rng.choice(past) if past else triple)
            else:
                added.append(triple)
            past.append(triple)
        at = time
        if disorder and rng.random() < 0.4:
            at -= rng.randrange(0, 2 * max(shape.lateness, 2) + 1)
        events.append(StreamEvent(at, rng.choice(list(shape.streams)), tuple(deleted), tuple(added)))
    return tuple(events)


# --- queries --------------------------------------------------------------------------------


class _Grammar:
    """Group graph patterns of limited size; what BIND computes gets a variable of its own."""

    def __init__(
        self,
        rng: random.Random,
        windows: Sequence[str],
        graphs: Sequence[str],
        *,
        events: bool = False,
        now: bool = False,
    ) -> None:
        """`events`: WINDOW may have GRAPH inside, and expressions ask for the times of events; `now`: for NOW()."""
        self.rng = rng
        self.events = events
        self.now = now
        self.in_event = False
        self.windows = windows
        self.graphs = graphs
        self.variables = [f"?{name}" for name in "xyzuv"[: rng.choice((2, 3, 4, 4, 5))]]
        self.used: list[str] = []
        self.patterns: list[tuple[str, str, str]] = []
        self.computed = 0
        self.blanks = 0
        self.budget = rng.choice((1, 1, 2, 2, 3, 4, 5))
        self.in_exists = False  # there, LIMIT is refused where it depends on the outside, and in GRAPH an empty path
        self.unsteady = rng.choice((0, 0, 1, 1, 1, 2, 3))

    def variable(self) -> str:
        return self.rng.choice(self.variables)

    def bound(self) -> str:
        """A variable that some pattern so far binds, or now and then one that none does."""
        return self.rng.choice(self.used) if self.used and self.rng.random() < 0.85 else self.variable()

    def node(self) -> str:
        return f"ex:{self.rng.choice((*NODES, *NODES, 'absent'))}"

    def predicate(self) -> str:
        return f"ex:{self.rng.choice('ppqqr')}"

    def path(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            return self.predicate()
        kind = rng.randrange(11)
        if kind == 0:
            return f"^{self.primary(depth - 1)}"
        if kind in (1, 2):
            return "/".join(self.primary(depth - 1) for _ in range(rng.choice((2, 2, 3))))
        if kind in (3, 4):
            return "(" + "|".join(self.path(depth - 1) for _ in range(2)) + ")"
        if kind == 5:
            return self.negated()
        if kind == 6:
            low = rng.randrange(int(self.in_exists and self.events), 3)
            counts = (
                f"{low}",
                f"{low},{low + rng.randrange(3)}",
                f"{low},",
                f"{low},{low + 1}" if self.in_exists and self.events else f",{low + 1}",
            )
            return f"{self.primary(depth - 1)}{{{rng.choice(counts)}}}"
        return f"{self.primary(depth - 1)}{'+' if self.in_exists and self.events else rng.choice('*+?+*')}"

    def primary(self, depth: int) -> str:
        inner = self.path(depth)
        return inner if inner.startswith("ex:") and inner[3:].isalnum() else f"({inner})"

    def negated(self) -> str:
        parts = [f"{self.rng.choice(('', '', '^'))}{self.predicate()}" for _ in range(self.rng.choice((1, 2, 2)))]
        return f"!({'|'.join(parts)})"

    def subject(self) -> str:
        kind = self.rng.random()
        if kind < 0.85:
            return self.variable()
        return self.node() if kind < 0.95 else self.blank_label()

    def object(self) -> str:
        kind = self.rng.random()
        if kind < 0.8:
            return self.variable()
        if kind < 0.91:
            return self.node()
        if kind < 0.93:
            return self.rng.choice(CONSTANTS)
        return self.blank_label() if kind < 0.97 else "[]"

    def blank_label(self) -> str:
        """A blank node of the pattern; labels are not shared between basic graph patterns."""
        return f"_:n{self.blanks}"

    def basic(self) -> str:
        """A basic graph pattern of one to four parts."""
        rng = self.rng
        self.blanks += 1
        size = min(max(1, self.budget), rng.choice((1, 1, 1, 2, 2, 3, 4)))
        self.budget -= size
        shape = rng.choice(("free", "free", "star", "chain", "cycle" if size > 1 else "chain"))
        names = rng.sample(self.variables, len(self.variables)) * 3
        parts = []
        for at in range(size):
            verb = self.verb()
            subject, object_ = self.subject(), self.object()
            while object_ == subject and rng.random() < 0.85:
                object_ = self.object()
            if shape == "star":
                subject = names[0]
            elif shape == "chain":
                subject, object_ = names[at], names[at + 1]
            elif shape == "cycle":
                subject, object_ = names[at], names[(at + 1) % size]
            if rng.random() < 0.04 and not verb.startswith("?"):
                parts.append(f"{subject} ex:p [ {verb} {object_} ]")
            else:
                parts.append(f"{subject} {verb} {object_}")
            self.used += [term for term in (subject, object_) if term.startswith("?")]
            self.patterns.append((subject, verb, object_))
        return " . ".join(parts) + " ."

    def verb(self) -> str:
        kind = self.rng.random()
        if kind < 0.5:
            return self.predicate()
        if kind < 0.57:
            return self.variable()
        return self.path(self.rng.choice((1, 1, 2, 2, 3)))

    def event_time(self) -> str:
        """The time of an event, or of what is none."""
        name = self.rng.choice(("?e", "?e", self.bound(), f"ex:{self.rng.choice(('e0', 'e1', 'a'))}"))
        return f"<urn:spectra:time>({name})"

    def condition(self, depth: int = 2) -> str:
        rng = self.rng
        if self.now and not self.in_event and rng.random() < 0.4:
            other = rng.choice((f'"{date_time(rng.randrange(40))}"^^xsd:dateTime', self.bound(), self.event_time()))
            left = rng.choice(("NOW()", "NOW()", "SECONDS(NOW()) * 1000"))
            return f"{left} {rng.choice(('<', '>=', '!='))} {rng.choice((other, other, rng.randrange(60)))}"
        if self.events and not self.in_event and rng.random() < 0.3:
            other = rng.choice((f'"{date_time(rng.randrange(40))}"^^xsd:dateTime', self.event_time()))
            return f"{self.event_time()} {rng.choice(('=', '<', '>=', '!='))} {other}"
        if depth and rng.random() < 0.3:
            kind = rng.randrange(3)
            if kind == 0:
                return f"!({self.condition(depth - 1)})"
            operator = "&&" if kind == 1 else "||"
            return f"({self.condition(depth - 1)} {operator} {self.condition(depth - 1)})"
        left, right = self.bound(), rng.choice((self.bound, self.constant))()
        return rng.choice(
            (
                f"{left} = {right}",
                f"{left} != {right}",
                f"{left} < {right}",
                f"{left} >= {right}",
                f"isIRI({left})",
                f"isLiteral({left})",
                f"isBlank({left})",
                f"isNumeric({left})",
                f"BOUND({left})",
                f"sameTerm({left}, {right})",
                f"{left} IN ({self.constant()}, {right})",
                f"{left} NOT IN ({self.constant()}, {right})",
                f'CONTAINS(STR({left}), "a")',
                f'STRSTARTS(STR({left}), "{EX}")',
                f'REGEX(STR({left}), "[ab1]$", "i")',
                f"STRLEN(STR({left})) > 3",
                f'LANGMATCHES(LANG({left}), "en")',
                f'LANG({left}) = "en"',
                f"DATATYPE({left}) = xsd:{rng.choice(('integer', 'string', 'double'))}",
                f"{left} + 1 > 1",
                f"COALESCE({left}, {right}) = {right}",
                f"IF(BOUND({left}), {left}, {right}) != {right}",
            )
        )

    def constant(self) -> str:
        return self.node() if self.rng.random() < 0.7 else self.rng.choice(CONSTANTS)

    def expression(self) -> str:
        if self.now and not self.in_event and self.rng.random() < 0.4:
            return self.rng.choice(("NOW()", "SECONDS(NOW())", f"IF(NOW() = NOW(), {self.bound()}, 1 / 0)"))
        if self.events and not self.in_event and self.rng.random() < 0.3:
            return self.event_time()
        left, right = self.bound(), self.rng.choice((self.bound, self.constant))()
        return self.rng.choice(
            (
                left,
                left,
                right,
                f"STR({left})",
                f"CONCAT(STR({left}), STR({right}))",
                f"UCASE(STR({left}))",
                f"{left} + 1",
                f"{left} * {right}",
                f"ABS({left})",
                f"STRLEN(STR({left}))",
                f"COALESCE({left}, {right})",
                f"IF(isIRI({left}), {left}, {right})",
                f"DATATYPE({left})",
                f"{left} = {right}",
                f"BOUND({left})",
                f'STRLANG(STR({left}), "EN")',
                f"IRI(CONCAT(STR({left}), 'x'))",
                "1 / 0",
            )
        )

    def values(self) -> str:
        rng = self.rng
        names = rng.sample(self.variables, min(len(self.variables), rng.choice((1, 1, 2))))
        rows = []
        for _ in range(rng.choice((1, 2, 3))):
            rows.append(" ".join("UNDEF" if rng.random() < 0.3 else self.constant() for _ in names))
        if len(names) == 1:
            return f"VALUES {names[0]} {{ {' '.join(rows)} }}"
        return f"VALUES ({' '.join(names)}) {{ {' '.join(f'({row})' for row in rows)} }}"

    def sub_select(self, inner: Callable[[], str]) -> str:
        rng = self.rng
        body = inner()
        if rng.random() < 0.2:
            head, tail = self.grouped()
            return f"{{ {head} {{ {body} }}{tail} }}"
        tail = self.sliced() if rng.random() < 0.15 and not self.in_exists else ""
        modifier = rng.choice(("", "", "DISTINCT ", "REDUCED "))
        kept = rng.sample(self.variables, rng.choice((1, min(2, len(self.variables)))))
        if rng.random() < 0.2:
            self.computed += 1
            return (
                f"{{ SELECT {modifier}{' '.join(kept)} ({self.expression()} AS ?k{self.computed}) {{ {body} }}{tail} }}"
            )
        return f"{{ SELECT {modifier}{rng.choice((' '.join(kept), '*'))} {{ {body} }}{tail} }}"

    def aggregate(self) -> str:
        rng = self.rng
        name = rng.choice(("COUNT", "COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"))
        distinct = rng.choice(("", "", "DISTINCT "))
        if name == "COUNT" and rng.random() < 0.4:
            return f"COUNT({distinct}*)"
        argument = self.expression() if rng.random() < 0.3 else self.bound()
        if name in ("SUM", "AVG") and rng.random() < 0.6:
            argument = f"STRLEN(STR({self.bound()})){rng.choice(('', ' / 2', ' * 1e0'))}"
        separator = rng.choice(("", '; SEPARATOR="-"', '; SEPARATOR=""')) if name == "GROUP_CONCAT" else ""
        return f"{name}({distinct}{argument}{separator})"

    def grouped(self) -> tuple[str, str]:
        """SELECT with aggregates, and GROUP BY with HAVING."""
        rng = self.rng
        keys = rng.sample(self.variables, rng.choice((0, 1, 1, min(2, len(self.variables)))))
        shown = [key for key in keys if rng.random() < 0.8]
        clauses = list(keys)
        if rng.random() < 0.15:
            self.computed += 1
            clauses.append(f"({self.expression()} AS ?k{self.computed})")
            shown.append(f"?k{self.computed}")
        for _ in range(rng.choice((1, 1, 2))):
            self.computed += 1
            value = self.aggregate()
            value = rng.choice((value, value, value, f"{value} + 1", f"COALESCE({value}, 0)"))
            shown.append(f"({value} AS ?k{self.computed})")
        tail = f" GROUP BY {' '.join(clauses)}" if clauses else ""
        if rng.random() < 0.2:
            tail += f" HAVING (COUNT(*) {rng.choice(('>', '<', '='))} {rng.randrange(1, 4)})"
        return f"SELECT {rng.choice(('', '', 'DISTINCT '))}{' '.join(shown)}", tail

    def sliced(self, *, grouped: bool = False) -> str:
        """ORDER BY, LIMIT, OFFSET, in all combinations."""
        rng = self.rng
        clauses = []
        for _ in range(rng.choice((0, 1, 1, 2))):
            key = f"({'COUNT(*)' if grouped else self.expression()})" if rng.random() < 0.3 else self.bound()
            clauses.append(rng.choice((key, f"ASC({key})", f"DESC({key})")))
        tail = f" ORDER BY {' '.join(clauses)}" if clauses else ""
        if rng.random() < 0.8:
            tail += f" LIMIT {rng.randrange(5)}"
        if rng.random() < 0.4:
            tail += f" OFFSET {rng.randrange(4)}"
        return tail

    def group(self, depth: int, element: Callable[[int], str]) -> str:
        """The inside of a group: one to three elements, then perhaps BIND, VALUES and FILTER."""
        rng = self.rng
        parts = [element(depth)]
        while self.budget > 0 and rng.random() < 0.35:
            parts.append(element(depth))
        if rng.random() < 0.1:
            parts.insert(rng.randrange(len(parts) + 1), self.values())
        if rng.random() < 0.15:
            self.computed += 1
            name = f"?k{self.computed}"
            parts.append(f"BIND({self.expression()} AS {name})")
            if rng.random() < 0.4:
                parts.append(f"FILTER({name} {rng.choice(('=', '!=', '<'))} {self.bound()})")
            elif rng.random() < 0.4 and self.budget > 0:
                self.budget -= 1
                parts.append(element(0).replace(rng.choice(self.variables), name))
        if rng.random() < 0.18:
            parts.insert(rng.randrange(len(parts) + 1), f"FILTER({self.condition()})")
        while self.unsteady and rng.random() < 0.35:
            parts.append(self.dependent(max(0, depth - 1), element))
        return "\n  ".join(parts)

    def dependent(self, depth: int, element: Callable[[int], str]) -> str:
        """What compares the solutions so far with those of another pattern."""
        rng = self.rng
        self.unsteady -= 1
        kind = rng.randrange(8)
        outside, self.in_exists = self.in_exists, self.in_exists or kind >= 5
        inner = self.group(depth, element)
        self.in_exists = outside
        if kind < 3:
            return f"OPTIONAL {{ {inner} }}"
        if kind < 5:
            return f"MINUS {{ {inner} }}"
        exists = f"{rng.choice(('', 'NOT '))}EXISTS {{ {inner} }}"
        if kind < 7:
            return f"FILTER {exists}"
        if rng.random() < 0.5:
            return f"FILTER({self.condition(0)} {rng.choice(('||', '&&'))} {exists})"
        self.computed += 1
        return f"BIND({exists} AS ?k{self.computed})"

    def graph_element(self, depth: int) -> str:
        """What may stand where the active graph is fixed."""
        kind = self.rng.random() if depth else 1.0
        if kind < 0.15:
            return self.union(lambda: self.group(depth - 1, self.graph_element))
        if kind < 0.25:
            return self.sub_select(lambda: self.group(depth - 1, self.graph_element))
        if kind < 0.3:
            return f"{{ {self.group(depth - 1, self.graph_element)} }}"
        return self.basic()

    def union(self, branch: Callable[[], str]) -> str:
        return " UNION ".join(f"{{ {branch()} }}" for _ in range(self.rng.choice((2, 2, 3))))

    def element(self, depth: int) -> str:
        """What may stand outside WINDOW and GRAPH."""
        rng = self.rng
        kind = rng.random()
        if depth and kind < 0.1:
            return self.union(lambda: self.group(depth - 1, self.element))
        if depth and kind < 0.17:
            return self.sub_select(lambda: self.group(depth - 1, self.element))
        if self.graphs and kind < 0.35:
            which = rng.random()
            if which < 0.4:
                return self.basic()
            name = f"ex:{rng.choice(('g0', 'g1'))}" if which < 0.7 else rng.choice(("?g", self.variable()))
            return f"GRAPH {name} {{ {self.group(max(0, depth - 1), self.graph_element)} }}"
        name = f"ex:{rng.choice(self.windows)}" if rng.random() < 0.88 else rng.choice(("?w", self.variable()))
        inside = self.event_element if self.events else self.graph_element
        return f"WINDOW {name} {{ {self.group(max(0, depth - 1), inside)} }}"

    def event_element(self, depth: int) -> str:
        """What may stand inside WINDOW where events are asked for by name."""
        if self.in_event or self.rng.random() < 0.3:
            return self.graph_element(depth)
        name = self.rng.choice(("?e", "?e", "?e", "?f", self.variable(), "ex:e0", "ex:a"))
        if self.in_exists:
            return f"GRAPH {name} {{ {self.basic()} }}"
        self.in_event = True
        kind = self.rng.random()
        if kind < 0.05:
            inner = ""
        elif kind < 0.25:
            inner = self.sub_select(lambda: self.group(0, self.graph_element))
        elif kind < 0.35:
            inner = self.union(lambda: self.group(0, self.graph_element))
        else:
            inner = self.group(depth, self.graph_element)
        self.in_event = False
        self.used += [name] if name.startswith("?") else []
        return f"GRAPH {name} {{ {inner} }}"


def _head_and_tail(grammar: _Grammar, rng: random.Random) -> tuple[str, str]:
    """What comes before the clauses of the dataset, and what comes after the pattern."""
    if rng.random() < 0.25:
        head, tail = grammar.grouped()
        return head, tail + (grammar.sliced(grouped=True) if rng.random() < 0.2 else "")
    return _head(grammar, rng), grammar.sliced() if rng.random() < 0.15 else ""


def _head(grammar: _Grammar, rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.1:
        return "ASK"
    if kind < 0.2:
        terms = []
        for _ in range(rng.choice((1, 2))):
            predicate = rng.choice(("ex:made", "ex:made", grammar.bound()))
            terms.append(f"{grammar.bound()} {predicate} {rng.choice((grammar.bound(), '1'))}")
        if rng.random() < 0.3:
            terms[-1] = f"GRAPH {rng.choice(('ex:g', grammar.bound()))} {{ {terms[-1]} }}"
        return f"CONSTRUCT {{ {' . '.join(terms)} }}"
    modifier = rng.choice(("", "", "", "DISTINCT ", "DISTINCT ", "REDUCED "))
    if rng.random() < 0.4:
        return f"SELECT {modifier}*"
    kept = rng.sample(grammar.variables, rng.randrange(1, len(grammar.variables) + 1))
    kept += ["?e"] if grammar.events else []
    if rng.random() < 0.15:
        kept.append(f"({grammar.expression()} AS ?computed)")
    return f"SELECT {modifier}{' '.join(kept)}"


@dataclass(frozen=True, slots=True)
class _Brackets:
    """The windows of a query as text, and what the times of its streams should be near."""

    text: str
    names: tuple[str, ...]
    shape: Shape


def _windows(rng: random.Random) -> _Brackets:
    policy = rng.choice(("", "", "ON_CONTENT_CHANGE", "ON_WINDOW_CLOSE", "NON_EMPTY_CONTENT", "PERIODIC"))
    if policy == "PERIODIC":
        policy = f"PERIODIC {rng.choice((1, 3, 5, 8))}ms"
    report = f" REPORT {policy}" if policy else ""
    lateness = rng.choice((0, 0, 0, 0, 3, 10))
    count = rng.choice((1, 1, 1, 1, 2, 2, 3))
    clauses, names = [], []
    step, range_, t0 = 5, 10, 0
    streams: list[str] = []
    for at in range(count):
        name, stream = f"w{at}", rng.choice((STREAMS[0], *STREAMS))
        streams.append(stream)
        late = f" LATENESS {lateness}ms" if lateness and (at == 0 or rng.random() < 0.5) else ""
        if rng.random() < 0.15:
            elements = rng.choice((1, 2, 3, 5, 7))
            spec = f"ELEMENTS {elements} STEP {rng.randrange(1, elements + 1)}"
        else:
            step = rng.choice((2, 5, 5, 10))
            range_ = step * rng.choice((1, 2, 3, 5)) + rng.choice((0, 0, 0, 1, 3))
            t0 = rng.choice((0, 0, 3, -7, 1_000_003))
            spec = f"RANGE {range_}ms " + rng.choice((f"STEP {step}ms", f"SLIDE {step}ms"))
            if step == range_ and rng.random() < 0.5:
                spec = f"RANGE {range_}ms" + rng.choice(("", " TUMBLING"))
            if t0:
                spec += f' T0 "{date_time(t0)}"^^xsd:dateTime'
        clauses.append(f"FROM NAMED WINDOW ex:{name} ON <{stream}> [{spec}{late}{report if at == 0 else ''}]")
        names.append(name)
    if rng.random() < 0.05:
        streams.append(f"{EX}unread")
    return _Brackets("\n".join(clauses), tuple(names), Shape(range_, step, t0, lateness, tuple(dict.fromkeys(streams))))


def random_case(seed: int, *, events: bool = False, now: bool = False) -> Case:
    """The case of a seed: always the same. With `events` it reads single events of its windows, with `now` NOW()."""
    rng = random.Random(seed)
    if rng.random() < 0.12 and not events:
        return _plain(rng, seed, now=now)
    output = rng.choice(OUTPUTS)
    brackets = _windows(rng)
    static: dict[str, tuple[Triple, ...]] = {}
    clauses = []
    if rng.random() < 0.3:
        for graph in rng.sample(("d0", "d1"), rng.choice((0, 1, 2))):
            clauses.append(f"FROM ex:{graph}")
            static[f"{EX}{graph}"] = tuple(random_triple(rng) for _ in range(rng.randrange(6)))
        for graph in rng.sample(("g0", "g1"), rng.choice((0, 1, 2))):
            clauses.append(f"FROM NAMED ex:{graph}")
            static[f"{EX}{graph}"] = tuple(random_triple(rng) for _ in range(rng.randrange(6)))
    grammar = _Grammar(rng, brackets.names, tuple(static), events=events, now=now)
    body = grammar.group(rng.choice((0, 1, 1, 2)), grammar.element)
    head, tail = _head_and_tail(grammar, rng)
    text = "\n".join(
        [
            f"{PROLOGUE}REGISTER {output} ex:out AS",
            head,
            brackets.text,
            *clauses,
            f"WHERE {{ {body} }}{tail}",
        ]
    )
    shape = replace(brackets.shape, patterns=tuple(grammar.patterns))
    made = random_events(rng, shape)
    if events:
        names = rng.choice((("",), ("", iri("e0")), (iri("e0"), iri("e1"), iri("a"), "_:b0")))
        made = tuple(replace(event, graph=rng.choice(names)) for event in made)
    return Case(seed, text, None, None, made, static)


def _plain(rng: random.Random, seed: int, *, now: bool) -> Case:
    """Plain SPARQL, which the caller gives a range and a step."""
    grammar = _Grammar(rng, (), (), now=now)
    body = grammar.group(rng.choice((0, 1, 2)), grammar.graph_element)
    head, tail = _head_and_tail(grammar, rng)
    step = rng.choice((1, 2, 5, 10))
    range_ = step * rng.choice((1, 2, 3)) + rng.choice((0, 0, 1, 3))
    shape = Shape(range_, step, 0, 0, ("",), tuple(grammar.patterns))
    return Case(seed, f"{PROLOGUE}{head} WHERE {{ {body} }}{tail}", range_, step, random_events(rng, shape))
