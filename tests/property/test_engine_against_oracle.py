"""The engine against the oracle: every evaluation, on random queries and random streams.

A case is named by a number (see `generate.py`). `SPECTRA_LONG_CASES` sets the size of the long run;
`pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import logging
import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spectra.dictionary.terms import canonical
from spectra.engine import Engine
from spectra.oracle import Dataset, TripleSet, WindowGraphs, evaluate
from spectra.oracle.construct import construct
from spectra.oracle.multiset import canonical as canonical_solution
from spectra.oracle.schedule import Evaluation, Schedule
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy, WindowKind
from tests.property.compare import (
    batch_of,
    check,
    closed,
    differences,
    expected,
    fed_in_batches,
    lines_of_batches,
    lines_of_changes,
    may_push,
)
from tests.property.generate import Case, random_case
from tests.property.regressions import REGRESSIONS

SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
CHUNKS = 40


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The streams have ill-typed literals on purpose; rdflib logs each of them with a traceback."""
    logger = logging.getLogger("rdflib.term")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def few(cases: int) -> settings:
    return settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


@pytest.mark.parametrize("case", REGRESSIONS.values(), ids=REGRESSIONS.keys())
def test_what_once_failed(case: Case) -> None:
    check(case)


@given(seed=SEEDS)
@few(150)
def test_every_evaluation_in_every_mode(seed: int) -> None:
    check(random_case(seed))


@given(seed=SEEDS)
@few(25)
def test_several_queries_in_one_engine_answer_as_if_alone(seed: int) -> None:
    check_together(seed)


@given(seed=SEEDS)
@few(40)
def test_a_snapshot_is_the_answer_over_the_present_content(seed: int) -> None:
    check_snapshots(random_case(seed))


@given(seed=SEEDS)
@few(40)
def test_when_everything_has_expired_nothing_is_kept(seed: int) -> None:
    check_nothing_kept(random_case(seed))


@given(seed=SEEDS)
@few(25)
def test_registering_and_removing_while_others_run(seed: int) -> None:
    check_coming_and_going(seed)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_cases(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    failed: list[str] = []
    while done < wanted and len(failed) < 5:
        case = random_case(seed)
        try:
            done += check(case)
            if seed % 10 == 0:
                done += check_together(seed) + check_snapshots(case) + check_nothing_kept(case)
                done += check_coming_and_going(seed)
        except Exception as error:
            failed.append(f"seed {seed}: {error}")
        seed += 1
    assert not failed, f"{len(failed)} of {done} comparisons\n" + "\n\n".join(failed)


# --- several queries ------------------------------------------------------------------------


def check_together(seed: int) -> int:
    """Three queries over one stream share views; each must say what it says alone."""
    cases = companions(seed, 3)
    engine = Engine()
    for case, query in cases:
        engine.register(query, static=case.static)
    told = fed_in_batches(engine, cases[0][0].events, random.Random(seed), drain=False)
    for case, query in cases:
        lines = lines_of_batches(batch for batch in told if batch.query == query.name)
        found = differences(case, query, lines, expected(case, query, "run", drain=False), "run")
        assert not found, f"{query.name} among {len(cases)} differs from the oracle\n{found}\n{case}"
    return len(cases)


def companions(seed: int, count: int) -> list[tuple[Case, ContinuousQuery]]:
    """Queries of different names and one lateness, all over the events of the first, which end by themselves."""
    cases: list[tuple[Case, ContinuousQuery]] = []
    tried = 0
    while len(cases) < count:
        case = random_case(seed + tried * 7919)
        tried += 1
        query = case.query()
        if case.range is not None:
            continue
        query = replace(query, name=f"{query.name}{len(cases)}")
        if not cases:
            # the last event comes after all windows of any of them
            if not case.events:
                continue
            end = closed(case, replace_policy(query))[0].events[-1]
            case = replace(case, events=(*case.events, replace(end, time=end.time + 500)))
        else:
            case = replace(case, events=cases[0][0].events)
        if lateness(query) == lateness(cases[0][1] if cases else query):
            cases.append((case, query))
    return cases


def replace_policy(query: ContinuousQuery) -> ContinuousQuery:
    return replace(query, report=replace(query.report, policy=Policy.ON_WINDOW_CLOSE))


def lateness(query: ContinuousQuery) -> int:
    return max(window.spec.lateness for window in query.windows)


# --- the state ------------------------------------------------------------------------------


def check_snapshots(case: Case) -> int:
    """After each push, `snapshot()` is the SPARQL answer over what the windows hold."""
    query = case.query()
    if lateness(query):
        return 0
    engine = Engine()
    registered = engine.register(query, static=case.static)
    accepted: list[int] = []
    for at, event in enumerate(case.events):
        engine.push(event.added, at=event.time, deleted=event.deleted, stream=event.stream, graph=event.graph)
        if not accepted or event.time >= case.events[accepted[-1]].time:
            accepted.append(at)
        if not any(case.events[i].stream in registered.streams for i in accepted):
            continue
        shown = registered.snapshot()
        found: Counter[object] = Counter()
        for row in shown.codes.tolist():
            texts = [None if code < 0 else canonical(shown.terms[code])[0] for code in row]
            if query.form is Form.CONSTRUCT:
                found[tuple(text for text in texts if text is not None)] += 1
            else:
                pairs = zip(shown.variables, texts, strict=True)
                found[tuple(sorted((name, text) for name, text in pairs if text is not None))] += 1
        wanted = present_answer(case, query, accepted)
        if query.form is Form.ASK:
            assert shown.boolean == bool(wanted), f"snapshot after event {at}\n{case}"
        else:
            assert found == wanted, f"snapshot after event {at}: {wanted - found} {found - wanted}\n{case}"
    return 1


def present_answer(case: Case, query: ContinuousQuery, accepted: list[int]) -> Counter[object]:
    every = case.oracle_events()
    events = [every[at] for at in accepted]
    schedule = Schedule(query, events, drain=False, push=True)
    now = events[-1].time
    contents = schedule.contents(Evaluation(now, True, len(events), now))
    static = case.oracle_static(query)
    dataset = Dataset(
        TripleSet(static.pop("")),
        {name: TripleSet(triples) for name, triples in static.items()},
        {
            f"<{window.name}>": WindowGraphs(
                TripleSet(content.triples),
                {name: TripleSet(graph) for name, graph in content.events.items()},
                content.times,
            )
            for window, content in zip(query.windows, contents, strict=True)
        },
    )
    solutions = evaluate(query.pattern, dataset, now=now, base=query.base)
    if query.form is Form.CONSTRUCT:
        return Counter(construct(query.template, solutions))
    return Counter(canonical_solution(solution) for solution in solutions)


def check_nothing_kept(case: Case) -> int:
    """When all windows are empty and the report has said so, no term of the stream has an id."""
    query = case.query()
    # a count window holds its last events for ever; without content there is no evaluation to say so
    counting = any(window.spec.kind is WindowKind.COUNT for window in query.windows)
    if counting or query.report.policy is Policy.NON_EMPTY_CONTENT or not case.events:
        return 0
    end = closed(case, replace_policy(query))[0].events[-1]
    kept = []
    # what needs no triple of the stream stays: it is what is there after an empty event
    for events in (case.events, (end,)):
        engine = Engine()
        engine.register(query, static=case.static)
        fed_in_batches(engine, events, random.Random(case.seed))
        engine.advance(end.time + 2 * lateness(query) + 100)
        assert engine.statistics()["triples"] == 0, f"triples are left\n{case}"
        kept.append(engine.dictionary.statistics()["adaptive"])
    # RSTREAM keeps its last answer, and what ends it, until there is something to tell again
    if query.output is not OutputOperator.RSTREAM:
        assert kept[0] == kept[1], f"{kept[0]} terms are left instead of {kept[1]}\n{case}"
    return 1


def check_coming_and_going(seed: int) -> int:
    """A query that is registered late sees only later events; removing one leaves others undisturbed."""
    (first, stays), (second, leaves), (third, comes) = companions(seed, 3)
    events = first.events
    if lateness(stays) or not all(may_push(first, query) for query in (stays, leaves, comes)):
        return 0
    if any(a.time > b.time for a, b in pairwise(events)):
        return 0
    rng = random.Random(seed)
    removed_at, registered_at = rng.randrange(len(events)), rng.randrange(len(events))
    engine = Engine()
    engine.register(stays, static=first.static)
    leaving = engine.register(leaves, static=second.static)
    changes = []
    for at, event in enumerate(events):
        if at == removed_at:
            leaving.remove()
        if at == registered_at:
            engine.register(comes, static=third.static)
        changes += engine.push(event.added, at=event.time, deleted=event.deleted, stream=event.stream)
    ran = [
        (first, stays),
        (replace(second, events=events[:removed_at]), leaves),
        (replace(third, events=events[registered_at:]), comes),
    ]
    for case, query in ran:
        told = lines_of_changes(change for change in changes if change.query == query.name)
        found = differences(case, query, told, expected(case, query, "push", drain=False), "push")
        assert not found, f"{query.name} differs, {removed_at=} {registered_at=}\n{found}\n{case}"
    return len(ran)


def test_an_event_of_many_triples_is_one_instant() -> None:
    case = random_case(1)
    node = "<http://example.org/{}>".format
    triples = tuple((node(f"n{i}"), node("p"), node(f"n{i + 1}")) for i in range(60))
    event = replace(case.events[0], added=triples, deleted=(), stream="http://example.org/s", time=3)
    text = (
        "PREFIX ex: <http://example.org/> REGISTER CHANGES ex:out AS SELECT ?x ?y "
        "FROM NAMED WINDOW ex:w ON ex:s [RANGE 10ms STEP 5ms] WHERE { WINDOW ex:w { ?x ex:p+ ?y } }"
    )
    engine = Engine()
    engine.register(text)
    told = lines_of_batches(engine.run([batch_of(event)]).batches())
    assert Counter(line[:2] for line in told) == {(3, "+"): 1830, (10, "-"): 1830}
