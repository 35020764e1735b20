"""Runs a case through the engine and through the oracle, and says where they differ."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from spectra.changes import Change, ChangeBatch
from spectra.clock import FOREVER
from spectra.dictionary.terms import canonical
from spectra.engine import Engine
from spectra.oracle import OracleAnswer, recompute
from spectra.oracle.walk import walk
from spectra.planner.pattern_choice import PatternChoice
from spectra.planner.plans import PathChoice
from spectra.sparql import syntax
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy
from spectra.sparql.scope import visible
from spectra.streams.memory import concatenate, from_triples
from spectra.views.batch import EventBatch
from tests.property.generate import Case, StreamEvent

Mode = Literal["run", "push"]

#: (instant, op, what, until); `what` is a truth value, a triple or sorted (variable, text) pairs.
Line = tuple[int, str, object, int | None]


def lines_of_batches(batches: Iterable[ChangeBatch]) -> list[Line]:
    """What the engine told, from the columns."""
    lines: list[Line] = []
    for batch in batches:
        texts = [canonical(text)[0] for text in batch.terms]
        for at, op, until, row, boolean in batch.rows():
            what: object = boolean
            if batch.form is Form.CONSTRUCT:
                what = tuple(texts[code] for code in row if code >= 0)
            elif batch.form is Form.SELECT:
                pairs = zip(batch.variables, row, strict=True)
                what = tuple(sorted((name, texts[code]) for name, code in pairs if code >= 0))
            ends = batch.form is not Form.ASK and op >= 0 and until < FOREVER
            lines.append((at, "-=+"[op + 1], what, until if ends else None))
    return lines


def lines_of_changes(changes: Iterable[Change]) -> list[Line]:
    """What the engine told, from the objects that users see."""
    lines: list[Line] = []
    for change in changes:
        what: object = change.boolean
        if change.triple is not None:
            named = () if change.graph is None else (change.graph,)
            what = tuple(canonical(text)[0] for text in (*change.triple, *named))
        elif change.boolean is None:
            what = tuple(sorted((name, canonical(term)[0]) for name, term in change.bindings.items()))
        until = change.until.milliseconds if change.until is not None and change.boolean is None else None
        lines.append((change.at.milliseconds, change.op, what, until))
    return lines


def lines_of_oracle(answers: Iterable[OracleAnswer]) -> list[Line]:
    lines: list[Line] = []
    for answer in answers:
        what: object = answer.boolean
        if answer.triple is not None:
            what = answer.triple
        elif answer.boolean is None:
            what = answer.solution
        lines.append((answer.at, answer.op, what, answer.until))
    return lines


def expected(case: Case, query: ContinuousQuery, mode: Mode, *, drain: bool = True) -> list[Line]:
    """What the oracle tells."""
    return lines_of_oracle(
        recompute(
            query,
            case.oracle_events(),
            static=case.oracle_static(query),
            drain=drain,
            mode=mode,
            until=True,
        )
    )


_UNSTEADY = (syntax.LeftJoin, syntax.Minus, syntax.Exists, syntax.Group, syntax.Slice)
_MERGING = (syntax.Union_, syntax.Distinct, syntax.Values, syntax.PathPattern)


def tells_until(query: ContinuousQuery) -> bool:
    """Whether each row must say exactly until when it stays.

    It must where solutions only leave as time passes. Where one may also enter because something else expires, a
    row tells when its present derivation ends. That is when it leaves if one operator at most lets solutions
    enter so, and no two of its solutions become one above it; what is below it only leaves as time passes.
    """
    nodes = list(walk(query.pattern))
    if any(isinstance(node, syntax.Call) and node.function == "NOW" for node in nodes):
        return False  # what reads the time of an evaluation may be another with the next
    unsteady = [node for node in nodes if isinstance(node, _UNSTEADY)]
    if not unsteady:
        return True
    if len(unsteady) > 1 or query.form is not Form.SELECT:
        return False
    above, top = _down_to(query.pattern, unsteady[0])
    merges = any(isinstance(node, _MERGING) for node in above) or any(
        isinstance(node, syntax.Project) and not visible(node.pattern) <= set(node.variables) for node in above
    )
    match top:
        case None:  # below a join, say: there must be nothing that could make solutions equal
            projected = [node for node in nodes if isinstance(node, syntax.Project)]
            merges = any(not visible(node.pattern) <= set(node.variables) for node in projected)
            merges |= any(isinstance(node, _MERGING) or _is_hidden(node) for node in nodes)
        case syntax.LeftJoin(left, right):
            # with a match and without it a solution is another one
            merges |= visible(right) <= visible(left) or any(isinstance(n, _MERGING) for n in walk(right))
    return not merges


def _is_hidden(node: object) -> bool:
    return isinstance(node, syntax.Variable) and node.name.startswith("_:")


def _down_to(node: syntax.Pattern, unsteady: object) -> tuple[list[syntax.Pattern], syntax.Pattern | None]:
    """The patterns over one other from the top down to the one that is unsteady or has it in its expression."""
    above: list[syntax.Pattern] = []
    while node is not unsteady:
        match node:
            case syntax.Filter(expression, below) | syntax.Extend(below, _, expression):
                if any(part is unsteady for part in walk(expression)):
                    return above, node
            case syntax.Project(below) | syntax.OrderBy(below) | syntax.Distinct(below) | syntax.Reduced(below):
                pass
            case syntax.Windowed(_, below):
                pass
            case _:
                return above, None
        above.append(node)
        node = below
    return above, node


# --- feeding --------------------------------------------------------------------------------


def batch_of(event: StreamEvent) -> EventBatch:
    return from_triples(event.stream, event.time, event.added, event.deleted, event.graph)


def fed_in_batches(
    engine: Engine, events: Sequence[StreamEvent], rng: random.Random | None, *, drain: bool = True
) -> list[ChangeBatch]:
    """The events through `run`: each stream as one batch, or cut where `rng` says.

    Where events come out of order on several streams, their arrival is one sequence for all of them:
    then each event is offered by itself.
    """
    streams = list(dict.fromkeys(event.stream for event in events))
    ordered = all(a.time <= b.time for a, b in pairwise(events))
    if len(streams) > 1 and not ordered:
        told = [batch for event in events for batch in engine.offer([batch_of(event)], complete=False)]
        return told + (engine.drain() if drain else engine.finish())
    inputs = [_cut([batch_of(event) for event in events if event.stream == name], rng) for name in streams]
    return list(engine.run(*(inputs or [iter(())]), drain=drain).batches())


def _cut(batches: Sequence[EventBatch], rng: random.Random | None) -> Iterator[EventBatch]:
    start = 0
    while start < len(batches):
        size = len(batches) if rng is None else rng.choice((1, 1, 2, 3, len(batches)))
        yield concatenate(batches[start : start + size])
        start += size


def pushed(engine: Engine, events: Sequence[StreamEvent], *, drain: bool = True) -> list[Line]:
    """The events through `push`, one by one."""
    told: list[Line] = []
    for event in events:
        told += lines_of_changes(
            engine.push(event.added, at=event.time, deleted=event.deleted, stream=event.stream, graph=event.graph)
        )
    return told + lines_of_batches(engine.drain() if drain else engine.finish())


def may_push(case: Case, query: ContinuousQuery) -> bool:
    """Whether `push` says what an evaluation is.

    It does not where several events of one instant wait together, behind a watermark or for the end of
    a period; nor where an event comes at the very instant that the watermark has just completed; nor
    where a stream that the query does not read has moved time to that instant, so that what expires
    then has been told.
    """
    times = [event.time for event in case.events]
    streams = {window.stream for window in query.windows}
    for event in case.events:
        if event.stream not in streams and streams != {""} and times.count(event.time) > 1:
            return False
    lateness = max(window.spec.lateness for window in query.windows)
    if (lateness or query.report.policy is Policy.PERIODIC) and len(set(times)) < len(times):
        return False
    return not lateness or all(time != max(times[:at]) - lateness for at, time in enumerate(times) if at)


# --- comparing ------------------------------------------------------------------------------


def differences(case: Case, query: ContinuousQuery, told: list[Line], wanted: list[Line], mode: Mode) -> str:
    """Where engine and oracle differ; empty where they agree."""
    instants = [line[0] for line in told]
    if instants != sorted(instants):
        return f"instants out of order: {instants}"
    if not tells_until(query):
        told, wanted = ([(*line[:3], None) for line in lines] for lines in (told, wanted))
    missing, extra = Counter(wanted) - Counter(told), Counter(told) - Counter(wanted)
    if not missing and not extra:
        return ""
    if Counter(line[:3] for line in told) == Counter(line[:3] for line in wanted):
        answers = expected(case, replace(query, output=OutputOperator.RSTREAM), mode)
        if _same_up_to_copies(missing, extra, answers, told):
            return ""
    shown = [f"  missing {count} x {line}" for line, count in sorted(missing.items(), key=repr)]
    shown += [f"  extra   {count} x {line}" for line, count in sorted(extra.items(), key=repr)]
    return "\n".join(shown)


def _same_up_to_copies(missing: Counter[Line], extra: Counter[Line], answers: list[Line], told: list[Line]) -> bool:
    """Whether all that differs is which of several copies of a solution is said to be the new one.

    Where a copy was there before another came, either end may be told for the newcomer, but it must
    be the end of one of the copies.
    """
    ends: dict[tuple[int, object], Counter[int | None]] = defaultdict(Counter)
    for at, _, what, until in answers:
        ends[at, what][until] += 1
    told_ends: dict[tuple[int, object], Counter[int | None]] = defaultdict(Counter)
    for at, op, what, until in told:
        if op == "+":
            told_ends[at, what][until] += 1
    for at, op, what, _ in missing + extra:
        copies, new = ends[at, what], told_ends[at, what]
        if op != "+" or new.total() >= copies.total() or new - copies:
            return False
    return True


def closed(case: Case, query: ContinuousQuery) -> tuple[Case, bool]:
    """The case in a form that ends by itself, and whether it is to be drained.

    How long a drain goes on depends on triples that no pattern can use. The engine knows their ends, and
    not which of them were deleted since. Where that shows, the case gets a last event after all windows.
    """
    deletes = any(event.deleted for event in case.events)
    if query.report.policy in (Policy.ON_CONTENT_CHANGE, Policy.NON_EMPTY_CONTENT) or not deletes:
        return case, True
    last = max(event.time for event in case.events)
    longest = max(window.spec.range + window.spec.step for window in query.windows)
    end = StreamEvent(last + 2 * longest + (query.report.period or 0), case.events[0].stream)
    return replace(case, events=(*case.events, end)), False


def check(
    case: Case,
    modes: Sequence[str] = ("run", "cut", "push"),
    pattern: PatternChoice = "auto",
    path: PathChoice = "auto",
    *,
    lazy: bool = True,
    cores: int = 1,
) -> int:
    """Compare the case in each mode of feeding, with these operators; the number of comparisons."""
    query = case.query()
    case, drain = closed(case, query)
    done = 0
    for mode in modes:
        if mode == "push" and not may_push(case, query):
            continue
        engine = Engine(pattern=pattern, path=path, lazy=lazy, cores=cores)
        engine.register(query, static=case.static)
        if mode == "push":
            told = pushed(engine, case.events, drain=drain)
        else:
            rng = random.Random(case.seed) if mode == "cut" else None
            told = lines_of_batches(fed_in_batches(engine, case.events, rng, drain=drain))
        oracle_mode: Mode = "push" if mode == "push" else "run"
        wanted = expected(case, query, oracle_mode, drain=drain)
        found = differences(case, query, told, wanted, oracle_mode)
        assert not found, f"{mode} differs from the oracle\n{found}\n{case}\n{engine.queries[0].explain()}"
        done += 1
    return done
