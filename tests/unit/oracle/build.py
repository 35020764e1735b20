"""Short ways to write terms, graphs, events and queries in the tests of the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from spectra.oracle import Event, OracleAnswer
from spectra.oracle.walk import walk
from spectra.sparql.query import (
    ContinuousQuery,
    Form,
    Option,
    OutputOperator,
    Policy,
    Report,
    Window,
    WindowKind,
    WindowSpec,
)
from spectra.sparql.syntax import (
    Bgp,
    Link,
    PathExpression,
    PathPattern,
    Pattern,
    Term,
    TriplePattern,
    Variable,
    Windowed,
)

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
X, Y, Z = Variable("x"), Variable("y"), Variable("z")


def iri(name: str) -> str:
    return f"<{EX}{name}>"


def short(text: str) -> str:
    """The local name of an IRI of the example; other terms as they are."""
    return text[len(EX) + 1 : -1] if text.startswith(f"<{EX}") else text


def integer(value: int | str) -> str:
    return f'"{value}"^^<{XSD}integer>'


def term(text: str) -> Term:
    """`?x` a variable, `_b` a blank node of a pattern, a number, a quoted string, else an IRI."""
    if text.startswith("?"):
        return Variable(text[1:])
    if text.startswith("_"):
        return Variable(f"_:{text[1:]}")
    if text.startswith('"'):
        return text
    return integer(text) if text.lstrip("-").isdigit() else iri(text)


def triple(text: str) -> tuple[str, str, str]:
    subject, predicate, object_ = (str(term(part)) for part in text.split())
    return subject, predicate, object_


def triples(text: str) -> set[tuple[str, str, str]]:
    """`a p b, b p c`."""
    return {triple(part) for part in text.split(",") if part.strip()}


def bgp(text: str) -> Bgp:
    """Triple patterns: `?x p ?y, ?y q b`."""
    return Bgp(tuple(TriplePattern(*map(term, part.split())) for part in text.split(",") if part.strip()))


def path(subject: str, expression: PathExpression, object_: str) -> Bgp:
    return Bgp((PathPattern(term(subject), expression, term(object_)),))


def link(name: str) -> Link:
    return Link(iri(name))


def bag(solutions: Iterable[dict[str, str]]) -> Counter[frozenset[tuple[str, str]]]:
    return Counter(frozenset(solution.items()) for solution in solutions)


def pairs(solutions: Iterable[dict[str, str]]) -> list[str]:
    """Solutions as sorted texts: the values in the order of the variables' names."""
    found = []
    for solution in solutions:
        found.append(" ".join(short(solution[name]) for name in sorted(solution)))
    return sorted(found)


def event(time: int, text: str, *, stream: str = "", graph: str = "") -> Event:
    """`a p b, -c p d`: what arrives and, with a minus, is deleted, in order."""
    operations = []
    for part in text.split(","):
        if part.strip():
            sign = -1 if part.strip().startswith("-") else 1
            operations.append((sign, triple(part.strip().removeprefix("-"))))
    return Event(time, tuple(operations), stream, graph)


def window(range_: int, step: int | None = None, *, name: str = "w", stream: str = "", **spec: object) -> Window:
    kind = spec.pop("kind", WindowKind.TIME)
    return Window(name, stream, WindowSpec(kind, range_, range_ if step is None else step, **spec))


def query(
    pattern: Pattern,
    *windows: Window,
    output: str = "CHANGES",
    policy: str | None = None,
    period: int | None = None,
    form: str = "SELECT",
    template: str = "",
    options: frozenset[Option] = frozenset(),
) -> ContinuousQuery:
    """A query whose pattern reads its first window, unless the pattern names windows itself."""
    if policy is None:
        policy = "ON_WINDOW_CLOSE" if output == "RSTREAM" else "ON_CONTENT_CHANGE"
    names_window = any(isinstance(node, Windowed) for node in walk(pattern))
    return ContinuousQuery(
        name=EX + "query",
        output=OutputOperator(output),
        form=Form(form),
        windows=windows,
        static=(),
        static_named=(),
        options=options,
        pattern=pattern if names_window else Windowed(f"<{windows[0].name}>", pattern),
        variables=(),
        template=bgp(template).patterns,
        report=Report(Policy(policy), period),
        text="",
    )


def lines(answers: Iterable[OracleAnswer]) -> list[str]:
    """`10 +ann bob` for a row that enters at 10; ` until 20` behind it where that is known."""
    found = []
    for answer in answers:
        if answer.boolean is not None:
            body = str(answer.boolean).lower()
        else:
            texts = answer.triple if answer.triple is not None else [text for _, text in answer.solution or ()]
            body = " ".join(map(short, texts))
        tail = "" if answer.until is None else f" until {answer.until}"
        found.append(f"{answer.at} {answer.op}{body}{tail}")
    return found
