"""Static graphs that are replaced between events, against the oracle, on random queries and random streams.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import get_args

import pytest
from hypothesis import given

from spectra.checkpoint import restore, saved
from spectra.engine import Engine
from spectra.oracle import StaticUpdate, Triple, recompute
from spectra.planner.pattern_choice import PatternChoice
from spectra.planner.plans import PathChoice
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy
from tests.property.compare import (
    Line,
    closed,
    differences,
    lines_of_batches,
    lines_of_changes,
    lines_of_oracle,
    may_push,
)
from tests.property.generate import (
    EX,
    NODES,
    PROLOGUE,
    STREAMS,
    Case,
    StreamEvent,
    iri,
    random_case,
    random_triple,
)
from tests.property.test_engine_against_oracle import CHUNKS, SEEDS, few
from tests.property.test_engine_against_oracle import _quiet as _quiet
from tests.property.test_events import event_case

PATTERNS: tuple[PatternChoice, ...] = get_args(PatternChoice)
PATHS: tuple[PathChoice, ...] = get_args(PathChoice)

#: Patterns whose solutions come once each, and leave only when a triple of theirs does.
STEADY = (
    "WINDOW ex:w { ?x ex:p ?y } ?y ex:q ?z",
    "WINDOW ex:w { ?x ex:p ?y } ?y ex:q ?z . ?z ex:r ?x",
    "WINDOW ex:w { ?x ex:p ?y } ?y ex:q+ ?z",
    "WINDOW ex:w { ?x ex:p+ ?y } GRAPH ex:g0 { ?y ex:q ?z }",
    "?x ex:q ?y . ?y ex:r ?z",
)
BODIES = (
    *STEADY,
    "WINDOW ex:w { ?x ex:p ?y } ?y (ex:q|^ex:r)* ?z",
    "WINDOW ex:w { ?x ex:p ?y } ?y !ex:q ?z",
    "WINDOW ex:w { ?x ex:p ?y } OPTIONAL { ?y ex:q ?z }",
    "WINDOW ex:w { ?x ex:p ?y } MINUS { ?y ex:q ?z }",
    "WINDOW ex:w { ?x ex:p ?y } FILTER NOT EXISTS { ?y ex:q ?x }",
    "?x ex:q ?y MINUS { WINDOW ex:w { ?x ex:p ?z } }",
    "{ WINDOW ex:w { ?x ex:p ?y } } UNION { ?x ex:q ?y } UNION { GRAPH ex:g0 { ?x ex:q ?y } }",
    "?x ex:q ?y . GRAPH ex:g0 { ?y ex:r+ ?z } FILTER(?x != ?z)",
)
HEADS = (
    ("SELECT *", ""),
    ("SELECT *", ""),
    ("SELECT DISTINCT ?x", ""),
    ("SELECT (COUNT(*) AS ?n)", ""),
    ("SELECT ?x (COUNT(DISTINCT ?y) AS ?n) (MAX(?y) AS ?m)", "GROUP BY ?x"),
    ("SELECT ?x (CONCAT(STR(?y), '!') AS ?s)", "ORDER BY ?y ?x LIMIT 2"),
    ("ASK", ""),
    ("CONSTRUCT { ?x ex:r ?y }", ""),
)


@dataclass(frozen=True, slots=True)
class Update:
    """After so many events, a static graph gets other triples."""

    after: int
    graph: str
    case: Case


def updated_case(seed: int) -> tuple[Case, list[Update]]:
    """A case of `generate.py` with static graphs and events in time order, and what becomes of the graphs."""
    for case in map(event_case if seed % 4 == 0 else random_case, count(seed)):
        query = case.query()
        ordered = all(a.time <= b.time for a, b in pairwise(case.events))
        others = any(window.spec.lateness or window.spec.with_static for window in query.windows)
        if case.static and case.events and ordered and not others and may_push(case, query):
            break
    case, _ = closed(case, query)
    return case, random_updates(case, random.Random(seed))


def shaped_case(seed: int) -> tuple[Case, list[Update]]:
    """A query whose answer is likely to depend on the static graphs."""
    rng = random.Random(seed)
    body, (head, tail) = rng.choice(BODIES), rng.choice(HEADS)
    window = rng.choice(("RANGE 10ms STEP 5ms", "RANGE 20ms STEP 2ms", "ELEMENTS 3 STEP 2", "EVENT"))
    policies = ["", "", "ON_CONTENT_CHANGE", "ON_WINDOW_CLOSE", "NON_EMPTY_CONTENT"]
    policy = rng.choice(policies if window == "EVENT" else [*policies, "PERIODIC 3ms"])
    report = f" REPORT {policy}" if policy else ""
    output = rng.choice(("ISTREAM", "CHANGES", "RSTREAM", "CHANGES" if window == "EVENT" else "DSTREAM"))
    text = f"""{PROLOGUE}REGISTER {output} ex:out AS {head}
        FROM NAMED WINDOW ex:w ON ex:s [{window}{report}] FROM ex:d0 FROM ex:d1 FROM NAMED ex:g0
        WHERE {{ {body} }} {tail}"""
    time = 0
    events = []
    for _ in range(rng.randrange(1, 12)):
        time += rng.choice((0, 1, 2, 5)) if "PERIODIC" not in policy else rng.choice((1, 2, 5))
        added = tuple(edge(rng, "p") for _ in range(rng.randrange(3)))
        deleted = tuple(edge(rng, "p") for _ in range(rng.randrange(2)))
        events.append(StreamEvent(time, STREAMS[0], deleted, added))
    static = {f"{EX}{graph}": edges(rng) for graph in ("d0", "d1", "g0")}
    case, _ = closed(Case(seed, text, None, None, tuple(events), static), parse_query(text))
    return case, random_updates(case, rng)


def edge(rng: random.Random, predicates: str) -> Triple:
    return iri(rng.choice(NODES)), iri(rng.choice(predicates)), iri(rng.choice(NODES))


def edges(rng: random.Random) -> tuple[Triple, ...]:
    return tuple(edge(rng, "qr") for _ in range(rng.randrange(6)))


def random_updates(case: Case, rng: random.Random) -> list[Update]:
    updates: list[Update] = []
    present = case
    for after in sorted(rng.choices(range(len(case.events) + 1), k=rng.choice((1, 2, 4, 8)))):
        graph = rng.choice(sorted(case.static))
        kept = [triple for triple in present.static[graph] if rng.random() < 0.6]
        new = tuple(kept + [rng.choice((random_triple(rng), edge(rng, "qr"))) for _ in range(rng.randrange(4))])
        present = replace(present, static={**present.static, graph: new})
        updates.append(Update(after, graph, present))
    return updates


def started(case: Case, query: ContinuousQuery) -> Engine:
    """An engine with the query, and operators by the number of the case."""
    engine = Engine(pattern=PATTERNS[case.seed % len(PATTERNS)], path=PATHS[case.seed % len(PATHS)])
    engine.register(query, static=case.static)
    return engine


def told_by_engine(case: Case, updates: list[Update], query: ContinuousQuery) -> list[Line]:
    """What is told when the updates come between the events, with a checkpoint in between."""
    engine = started(case, query)
    rng = random.Random(case.seed)
    told: list[Line] = []
    for at in range(len(case.events) + 1):
        for update in updates:
            if update.after == at:
                told += lines_of_changes(engine.update_static(update.graph, update.case.static[update.graph]))
        if rng.random() < 0.1:
            state = saved(engine)
            engine = started(case, query)
            restore(engine, state)
        if at < len(case.events):
            event = case.events[at]
            changes = engine.push(event.added, at=event.time, deleted=event.deleted, stream=event.stream)
            told += lines_of_changes(changes)
    return told + lines_of_batches(engine.drain())


def told_by_oracle(case: Case, updates: list[Update], query: ContinuousQuery) -> list[Line]:
    return lines_of_oracle(
        recompute(
            query,
            [event.for_oracle() for event in case.events],
            static=case.oracle_static(query),
            mode="push",
            until=True,
            updates=[
                StaticUpdate(
                    update.after,
                    case.events[max(update.after - 1, 0)].time,
                    update.case.oracle_static(query),
                )
                for update in updates
            ],
        )
    )


def check(case: Case, updates: list[Update]) -> None:
    query = case.query()
    told, wanted = told_by_engine(case, updates, query), told_by_oracle(case, updates, query)
    if not any(f"WHERE {{ {body} }}" in case.text for body in STEADY) or "SELECT *" not in case.text:
        # which of several copies of a solution is the new one is not settled, and with it `until`
        told, wanted = ([(*line[:3], None) for line in lines] for lines in (told, wanted))
    found = differences(case, query, told, wanted, "push")
    shown = "\n".join(f"  after {each.after} {each.graph}: {each.case.static[each.graph]}" for each in updates)
    assert not found, f"differs from the oracle\n{found}\n{case}\nstatic {case.static}\n{shown}"


@given(seed=SEEDS)
@few(150)
def test_shaped_queries(seed: int) -> None:
    check(*shaped_case(seed))


@given(seed=SEEDS)
@few(40)
def test_random_queries(seed: int) -> None:
    check(*updated_case(seed))


def test_the_cases_show_the_updates() -> None:
    found: Counter[object] = Counter()
    for seed in range(100):
        case, updates = shaped_case(seed)
        query = case.query()
        found.update([query.form, query.output, query.report.policy])
        found["seen"] += told_by_oracle(case, updates, query) != told_by_oracle(case, [], query)
    assert all(found[kind] > 5 for kind in (*OutputOperator, *Policy, *Form))
    assert found["seen"] > 40


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_cases(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // CHUNKS
    first = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    failed: list[str] = []
    for seed in range(first, first + wanted):
        try:
            case, updates = updated_case(13 * seed) if seed % 4 == 0 else shaped_case(seed)
            check(case, updates)
        except Exception as error:
            failed.append(f"seed {seed}: {error}")
    assert not failed, f"{len(failed)} of {wanted}\n" + "\n\n".join(failed[:5])
