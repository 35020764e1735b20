"""Every path that a result names is looked at: its edges are in the window, its word is in the language.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Iterable

import pytest

from spectra.algebra.witnesses import WitnessedPath, witnessed_paths
from spectra.automata import OTHER, Dfa, Label, minimal_dfa
from spectra.changes import Change, Path
from spectra.clock import FOREVER
from spectra.dictionary.terms import canonical
from spectra.engine import Engine
from spectra.errors import QueryError, UnsupportedError
from spectra.oracle import Triple
from spectra.oracle.schedule import Schedule
from spectra.planner.plans import PathChoice
from spectra.sparql.query import ContinuousQuery, Option, Policy
from spectra.sparql.syntax import Variable
from tests.property.compare import fed_in_batches
from tests.property.generate import Case
from tests.property.path_cases import path_case

CHUNKS = 20
OPTIONS = ("WITH PATHS", "WITH SHORTEST PATHS", "WITH SIMPLE PATHS, PATHS")


def steps(dfa: Dfa, triples: Iterable[Triple], vertex: str) -> list[tuple[Label, str]]:
    """What leads on from a vertex."""
    found = []
    for subject, predicate, object_ in triples:
        for label in dfa.labels:
            named = predicate if predicate in dfa.mentioned else OTHER
            source, target = (object_, subject) if label.backward else (subject, object_)
            if label.predicate == named and source == vertex:
                found.append((label, target))
    return found


def accepted(dfa: Dfa, path: Path) -> bool:
    """Whether the edges lead from the start to the end of the path by a word of the language."""
    reached = {(path.start, 0)}
    for edge in path.edges:
        reached = {
            (target, dfa.moves[state][label])
            for vertex, state in reached
            for label, target in steps(dfa, [edge], vertex)
            if label in dfa.moves[state]
        }
    return any(vertex == path.end and state in dfa.accepting for vertex, state in reached)


def distance(dfa: Dfa, triples: Iterable[Triple], start: str, end: str) -> int:
    """The number of edges of a shortest path."""
    triples = list(triples)
    waiting = deque([(start, 0, 0)])
    seen = set()
    while True:
        vertex, state, length = waiting.popleft()
        if vertex == end and state in dfa.accepting:
            return length
        for label, target in steps(dfa, triples, vertex):
            following = dfa.moves[state].get(label)
            if following is not None and (target, following) not in seen:
                seen.add((target, following))
                waiting.append((target, following, length + 1))


def check(case: Case, path: PathChoice = "auto") -> int:
    """Look at the paths of all changes; how many there were."""
    query = case.query()
    asked = witnessed_paths(query)
    engine = Engine(path=path)
    engine.register(query)
    schedule = Schedule(query, [event.for_oracle() for event in case.events])
    contents = {evaluation.at: schedule.contents(evaluation)[0].triples for evaluation in schedule.evaluations()}
    before: dict[int, dict[Triple, int]] = {}
    known: dict[Triple, int] = {}
    for at in sorted(contents):
        before[at] = known
        known = contents[at]
    count = 0
    for batch in fed_in_batches(engine, case.events, random.Random(case.seed)):
        for change in batch:
            at = change.at.milliseconds
            arrived = {t for e in case.events if e.time == at for t in e.added}
            for witness in _patterns(asked, change):
                count += 1
                _look_at(query, witness, change, contents[at], set(before[at]) | arrived, case)
    return count


def _patterns(asked: tuple[WitnessedPath, ...], change: Change) -> list[tuple[Dfa, Path]]:
    """The paths with their automata; each pattern has one, unless it is not why a row left."""
    found, left = [], list(change.paths)
    for pattern in asked:
        ends = [
            canonical(change.bindings[term.name])[0] if isinstance(term, Variable) else term
            for term in (pattern.subject, pattern.object)
        ]
        dfa = minimal_dfa(pattern.path)
        if left and [left[0].start, left[0].end] == ends and (change.op != "-" or accepted(dfa, left[0])):
            found.append((dfa, left.pop(0)))
        else:
            assert change.op == "-", f"{change} does not name a path from {ends[0]} to {ends[1]}"
    assert not left
    return found


def _look_at(
    query: ContinuousQuery,
    witness: tuple[Dfa, Path],
    change: Change,
    content: dict[Triple, int],
    held: set[Triple],
    case: Case,
) -> None:
    dfa, path = witness
    told = f"{change} {path}\n{case}"
    assert accepted(dfa, path), told
    if Option.SIMPLE_PATHS in query.options:
        vertices = [path.start]
        for subject, _, object_ in path.edges:
            vertices.append(object_ if subject == vertices[-1] else subject)
        assert len(set(vertices)) == len(vertices), told
    if change.op == "-":
        assert path.broken in path.edges, told
        assert path.broken not in content, told
        assert set(path.edges) <= held, told
        return
    assert path.broken is None, told
    assert set(path.edges) <= set(content), told
    ends = [content[edge] for edge in path.edges]
    assert [end.milliseconds if end is not None else FOREVER for end in path.until] == ends, told
    if Option.SHORTEST_PATHS in query.options:
        assert len(path.edges) == distance(dfa, content, path.start, path.end), told
    elif (
        len(change.paths) == 1 and path.edges and "?u" not in query.text and query.report.policy is not Policy.PERIODIC
    ):
        if "DISTINCT" in query.text:
            assert change.until == (None if min(ends) == FOREVER else min(path.until)), told


def cases(seed: int) -> Iterable[Case]:
    for options in OPTIONS:
        case = path_case(seed, options=options)
        try:
            witnessed_paths(case.query())
        except (QueryError, UnsupportedError):  # a single predicate, or ASK
            continue
        yield case


@pytest.mark.parametrize("chunk", range(5))
def test_the_paths_of_any_query(chunk: int) -> None:
    assert sum(check(case) for seed in range(20) for case in cases(1000 * chunk + seed)) > 100


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_paths(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    while done < wanted:
        done += sum(check(case) for case in cases(seed))
        seed += 1
