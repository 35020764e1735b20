"""What `spectra explain` and `spectra check` say of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spectra.algebra.nodes import Source as GraphSource
from spectra.clock import date_time
from spectra.explanation import Explanation, text_of
from spectra.planner.physical import wanted_triples
from spectra.progress import counted, size
from spectra.sparql.query import ContinuousQuery, Form, Report, Window, WindowKind
from spectra.views.summary import WantedTriples

if TYPE_CHECKING:
    from spectra.continuous import Query
    from spectra.engine import Engine


def headline(query: ContinuousQuery) -> str:
    """Name, output operator and policy, windows and static data of a query."""
    what = query.form.value
    if query.form is Form.SELECT:
        what += "".join(f" ?{variable.name}" for variable in query.variables)
    lines = [f"query <{query.name}>", f"  {what}", f"  {query.output.value}, {report_text(query.report)}"]
    lines += [f"  window {window_text(window)}" for window in query.windows]
    lines += [f"  static <{iri}>" for iri in query.static]
    lines += [f"  static, by name <{iri}>" for iri in query.static_named]
    return "\n".join(lines)


def explained(engine: Engine, query: Query, plan: Explanation) -> str:
    """The headline, what is kept of each stream, and the plans."""
    lines = [headline(query.query), "kept of each stream"]
    for window in query.query.windows:
        sources = GraphSource(window.name), GraphSource(window.name, events=True)
        patterns = set().union(*(wanted_triples(query.physical, source)[0] for source in sources))
        stream = f"<{window.stream}>" if window.stream else "the stream"
        if engine.summary(window.stream).keep_all:
            lines.append(f"  {stream}: every triple")
            continue
        lines += sorted(f"  {stream}: {_wanted_text(wanted)}" for wanted in patterns)
    return "\n".join([*lines, text_of(plan)])


def _wanted_text(wanted: WantedTriples[str]) -> str:
    pattern = " ".join(term or "*" for term in wanted.terms)
    filters = sorted(map(str, wanted.filters))
    return f"{pattern} where {' and '.join(filters)}" if filters else pattern


def measured(engine: Engine, query: Query) -> str:
    """What a run has counted in all."""
    events, answers = counted(engine.events, "event"), counted(query.reported, "answer")
    return f"measured\n  {events}, {answers}, state {size(engine.nbytes)}"


def window_text(window: Window) -> str:
    """A window clause, durations in `xsd:duration`."""
    spec = window.spec
    match spec.kind:
        case WindowKind.TIME:
            inside = f"RANGE {duration_text(spec.range)} STEP {duration_text(spec.step)}"
        case WindowKind.COUNT:
            inside = f"ELEMENTS {spec.range} STEP {spec.step}"
        case WindowKind.EVENT:
            inside = "EVENT"
    if spec.t0:
        inside += f" T0 {date_time(spec.t0)}"
    if spec.lateness:
        inside += f" LATENESS {duration_text(spec.lateness)}"
    stream = f"<{window.stream}>" if window.stream else "the stream"
    return f"<{window.name}> on {stream} [{inside}]"


def report_text(report: Report) -> str:
    period = f" {duration_text(report.period)}" if report.period else ""
    return f"{report.policy.value}{period}"


def duration_text(milliseconds: int) -> str:
    """The `xsd:duration` of a number of milliseconds.

    Examples
    --------
    >>> duration_text(86_400_000), duration_text(90_500), duration_text(0)
    ('P1D', 'PT1M30.5S', 'PT0S')
    """
    seconds, rest = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    text = f"{days}D" if days else ""
    time = "".join(f"{count}{unit}" for count, unit in ((hours, "H"), (minutes, "M")) if count)
    if seconds or rest:
        fraction = f".{rest:03d}".rstrip("0") if rest else ""
        time += f"{seconds}{fraction}S"
    if not text and not time:
        time = "0S"
    return f"P{text}{'T' + time if time else ''}"
