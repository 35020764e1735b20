"""Every answer of a continuous query, each recomputed from the history of events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from spectra.errors import QueryError
from spectra.oracle.construct import construct
from spectra.oracle.dataset import Dataset, Quad, Triple, TripleSet, WindowGraphs
from spectra.oracle.evaluate import evaluate
from spectra.oracle.multiset import canonical
from spectra.oracle.schedule import Evaluation, Schedule, StaticUpdate
from spectra.oracle.walk import walk
from spectra.oracle.windows import Content, Event
from spectra.sparql.query import ContinuousQuery, Form, Option, OutputOperator, Policy, Report
from spectra.sparql.syntax import Call

#: A solution as sorted (variable, text) pairs.
SolutionPairs = tuple[tuple[str, str], ...]

#: What an answer is a multiset of: solutions, or the triples of a CONSTRUCT.
Row = SolutionPairs | Triple | Quad

_KNOWN_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class OracleAnswer:
    """One line of output: a solution, truth value or triple that enters (+), leaves (-) or is there (=)."""

    at: int
    op: str
    solution: SolutionPairs | None = None
    boolean: bool | None = None
    triple: Triple | Quad | None = None
    until: int | None = None


def recompute(
    query: ContinuousQuery,
    events: Sequence[Event],
    *,
    static: Mapping[str, Iterable[Triple]] | None = None,
    drain: bool = True,
    mode: Literal["run", "push"] = "run",
    until: bool = False,
    updates: Sequence[StaticUpdate] = (),
) -> list[OracleAnswer]:
    """All answers of the query over the events, in the order of time.

    Parameters
    ----------
    query
        What to evaluate; its windows say which events it reads.
    events
        In the order of arrival, which need not be that of time.
    static
        Triples of the static graphs by name (canonical text), "" for the default graph.
    drain
        Whether time goes on after the last event until everything has expired.
    mode
        "run" evaluates once for all events of one time, "push" once for each event.
    until
        Whether to find out when each row that is there will leave if nothing more arrives; that
        takes an evaluation for each instant at which something expires.
    updates
        What replaces the static graphs, in order; only where events come in time order.
    """
    schedule = Schedule(query, events, drain=drain, push=mode == "push", updates=updates)
    snapshots = [_Snapshots(query, graphs) for graphs in (static or {}, *(update.static for update in updates))]
    if Option.IMPLICIT_WINDOWS in query.options:
        if updates:
            raise QueryError("the oracle does not recompute static updates of queries WITH IMPLICIT WINDOWS")
        changes = replace(query, report=Report(Policy.ON_CONTENT_CHANGE))
        given = _Given(Schedule(changes, events, drain=drain, push=mode == "push"), snapshots[0])
        return list(_given_changes(schedule, given))
    if query.form is Form.ASK:
        return list(_truth_values(schedule, snapshots))
    return list(_changes(schedule, snapshots, until))


def _changes(schedule: Schedule, updated: Sequence[_Snapshots], until: bool) -> Iterator[OracleAnswer]:
    output = schedule.query.output
    is_graph = schedule.query.form is Form.CONSTRUCT
    before: Counter[Row] = Counter()
    for evaluation in schedule.evaluations():
        contents = schedule.contents(evaluation)
        snapshots = updated[evaluation.updates]
        now = snapshots.rows(contents, evaluation.at)
        if output in (OutputOperator.DSTREAM, OutputOperator.CHANGES):
            yield from _lines(evaluation.at, "-", before - now, {}, is_graph)
        if output is not OutputOperator.DSTREAM:
            rows = now if output is OutputOperator.RSTREAM else now - before
            leaving = snapshots.leaving(contents, now, evaluation.instant) if until and rows else {}
            sign = "=" if output is OutputOperator.RSTREAM else "+"
            yield from _lines(evaluation.at, sign, rows, leaving, is_graph)
        if not schedule.query.by_event:  # where each event is matched by itself there is no previous evaluation
            before = now


class _Given:
    """Under implicit windows: the rows that have been in an answer, less those that a deletion took from one.

    A row that leaves at the instant at which it would have left in any case has expired.
    """

    def __init__(self, changes: Schedule, snapshots: _Snapshots) -> None:
        self.states: list[tuple[Evaluation, frozenset[Row]]] = []
        rows: set[Row] = set()
        before: Counter[Row] = Counter()
        leaving: dict[Row, list[int | None]] = {}
        for evaluation in changes.evaluations():
            contents = changes.contents(evaluation)
            now = snapshots.rows(contents, evaluation.at)
            for row in before.keys() - now.keys():
                end = leaving[row][-1]
                if end is None or end > evaluation.at:
                    rows.discard(row)
            rows |= now.keys()
            self.states.append((evaluation, frozenset(rows)))
            before, leaving = now, snapshots.leaving(contents, now, evaluation.instant)

    def at(self, evaluation: Evaluation) -> Counter[Row]:
        """The rows that an evaluation sees."""
        seen: frozenset[Row] = frozenset()
        for change, rows in self.states:
            if change.instant <= evaluation.instant and change.applied <= evaluation.applied:
                seen = rows
        return Counter(seen)


def _given_changes(schedule: Schedule, given: _Given) -> Iterator[OracleAnswer]:
    query = schedule.query
    before: Counter[Row] | None = None
    for evaluation in schedule.evaluations():
        now = given.at(evaluation)
        if query.form is Form.ASK:
            if query.output is OutputOperator.RSTREAM or before is None or bool(now) != bool(before):
                yield OracleAnswer(evaluation.at, "=", boolean=bool(now))
        else:
            entering, leaving = now - (before or Counter()), (before or Counter()) - now
            is_graph = query.form is Form.CONSTRUCT
            if query.output in (OutputOperator.DSTREAM, OutputOperator.CHANGES):
                yield from _lines(evaluation.at, "-", leaving, {}, is_graph)
            if query.output is OutputOperator.RSTREAM:
                yield from _lines(evaluation.at, "=", now, {}, is_graph)
            elif query.output is not OutputOperator.DSTREAM:
                yield from _lines(evaluation.at, "+", entering, {}, is_graph)
        before = now


def _lines(
    at: int, op: str, rows: Counter[Row], leaving: Mapping[Row, list[int | None]], is_graph: bool
) -> Iterator[OracleAnswer]:
    for row, count in sorted(rows.items()):
        # of several copies, those that came last are those that stay longest
        ends: list[int | None] = leaving[row][-count:] if leaving else [None] * count
        for end in ends:
            if is_graph:
                yield OracleAnswer(at, op, triple=row, until=end)  # type: ignore[arg-type]
            else:
                yield OracleAnswer(at, op, solution=row, until=end)  # type: ignore[arg-type]


def _truth_values(schedule: Schedule, updated: Sequence[_Snapshots]) -> Iterator[OracleAnswer]:
    before: bool | None = None
    for evaluation in schedule.evaluations():
        now = bool(updated[evaluation.updates].rows(schedule.contents(evaluation), evaluation.at))
        if schedule.query.output is OutputOperator.RSTREAM or now != before:
            yield OracleAnswer(evaluation.at, "=", boolean=now)
        if not schedule.query.by_event:
            before = now


class _Snapshots:
    """The SPARQL answers of a query over given contents of its windows and the static data."""

    def __init__(self, query: ContinuousQuery, static: Mapping[str, Iterable[Triple]]) -> None:
        self.query = query
        self.default = TripleSet(static.get("", ()))
        self.named = {name: TripleSet(triples) for name, triples in static.items() if name}
        self.uses_now = any(isinstance(node, Call) and node.function.upper() == "NOW" for node in walk(query.pattern))
        self._known: dict[object, Counter[Row]] = {}

    def rows(self, contents: Sequence[Content], now: int) -> Counter[Row]:
        """The answer as a multiset; for ASK the solutions it asks about."""
        key = (now if self.uses_now else None, tuple(content.signature() for content in contents))
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= _KNOWN_LIMIT:
                self._known.clear()
            found = self._known[key] = self._evaluate(contents, now)
        return found

    def leaving(self, contents: Sequence[Content], rows: Counter[Row], instant: int) -> dict[Row, list[int | None]]:
        """When the copies of each row leave if nothing arrives, in order; None for never."""
        found: dict[Row, list[int | None]] = {row: [] for row in rows}
        staying = Counter(rows)
        for end in sorted({end for content in contents for end in content.ends() if end > instant}):
            later = self.rows([content.later(end) for content in contents], end)
            for row, count in staying.items():
                if later[row] < count:
                    found[row] += [end] * (count - later[row])
                    staying[row] = later[row]
        for row, count in staying.items():
            found[row] += [None] * count
        return found

    def _evaluate(self, contents: Sequence[Content], now: int) -> Counter[Row]:
        windows = {}
        for window, content in zip(self.query.windows, contents, strict=True):
            shared = self.default.triples if window.spec.with_static else frozenset()
            windows[f"<{window.name}>"] = WindowGraphs(
                TripleSet(content.triples.keys() | shared),
                {name: TripleSet(graph) for name, graph in content.events.items()},
                content.times,
            )
        dataset = Dataset(self.default, self.named, windows)
        simple = Option.SIMPLE_PATHS in self.query.options
        solutions = evaluate(self.query.pattern, dataset, now=now, base=self.query.base, simple=simple)
        if self.query.form is Form.CONSTRUCT:
            return Counter(construct(self.query.template, solutions))
        return Counter(canonical(solution) for solution in solutions)
