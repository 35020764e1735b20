"""A registered query, parsed: what to read, through which windows, what to report and when."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from spectra.errors import Place, QueryError
from spectra.sparql.syntax import Pattern, TemplatePattern, Variable


class OutputOperator(Enum):
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"
    CHANGES = "CHANGES"


class Form(Enum):
    SELECT = "SELECT"
    ASK = "ASK"
    CONSTRUCT = "CONSTRUCT"


class Policy(Enum):
    ON_CONTENT_CHANGE = "ON_CONTENT_CHANGE"
    ON_WINDOW_CLOSE = "ON_WINDOW_CLOSE"
    NON_EMPTY_CONTENT = "NON_EMPTY_CONTENT"
    PERIODIC = "PERIODIC"


@dataclass(frozen=True, slots=True)
class Report:
    policy: Policy
    period: int | None = None  # milliseconds, with PERIODIC


class WindowKind(Enum):
    TIME = "RANGE"
    COUNT = "ELEMENTS"
    EVENT = "EVENT"


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """What stands in the brackets. Times in milliseconds; a count window counts events."""

    kind: WindowKind
    range: int = 0
    step: int = 0
    t0: int = 0
    lateness: int = 0
    report: Report | None = None
    with_static: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """`FROM NAMED WINDOW name ON stream [spec]`; both IRIs without brackets."""

    name: str
    stream: str
    spec: WindowSpec
    place: Place | None = None


class Option(Enum):
    PATHS = "PATHS"
    SHORTEST_PATHS = "SHORTEST PATHS"
    SIMPLE_PATHS = "SIMPLE PATHS"
    IMPLICIT_WINDOWS = "IMPLICIT WINDOWS"


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """One query as the frontend understood it.

    `pattern` is the whole SPARQL algebra of the query, solution modifiers and projection included.
    For CONSTRUCT it is the pattern below the template; for ASK the pattern asked for.
    `variables` are the variables of the answer in order (empty for ASK and CONSTRUCT).
    `places` names spots of the user's text by keyword or variable (`"OPTIONAL"`, `"?x"`, …: the first
    occurrence), for errors that are found after parsing. `forbidden` says why the query cannot be registered although
    its text can be read: registering it raises that.
    """

    name: str
    output: OutputOperator
    form: Form
    windows: tuple[Window, ...]
    static: tuple[str, ...]
    static_named: tuple[str, ...]
    options: frozenset[Option]
    pattern: Pattern
    variables: tuple[Variable, ...]
    template: tuple[TemplatePattern, ...]
    report: Report
    text: str
    base: str | None = None
    places: dict[str, Place] = field(default_factory=dict)
    forbidden: QueryError | None = field(default=None, compare=False)

    @property
    def by_event(self) -> bool:
        """Whether each event is matched by itself: `[EVENT]`."""
        return any(window.spec.kind is WindowKind.EVENT for window in self.windows)
