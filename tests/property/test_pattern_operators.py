"""Every operator for patterns, forced, lazy and not, against the oracle: on patterns of every shape, random queries.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import get_args

import pytest

from spectra.engine import Engine
from spectra.oracle import Triple
from spectra.planner.pattern_choice import PatternChoice
from tests.property.compare import check, closed, differences, expected, fed_in_batches, lines_of_batches
from tests.property.generate import (
    OUTPUTS,
    PROLOGUE,
    STREAMS,
    VALUES,
    Case,
    Shape,
    StreamEvent,
    random_case,
    random_events,
)

OPERATORS: tuple[PatternChoice, ...] = get_args(PatternChoice)
CHUNKS = 20

#: Triple patterns of a basic graph pattern, and what may stand behind them.
SHAPES = {
    "star": "?x ex:p ?y . ?x ex:q ?z . ?x ex:r ?u",
    "star into a hub": "?y ex:p ?x . ?z ex:q ?x . ?u ex:p ?x",
    "chain": "?x ex:p ?y . ?y ex:q ?z . ?z ex:p ?u",
    "tree": "?x ex:p ?y . ?y ex:q ?z . ?y ex:r ?u . ?x ex:q ?v",
    "snowflake": "?x ex:p ?y . ?x ex:q ?z . ?y ex:r ?u . ?y ex:p ?v . ?z ex:q ?w",
    "triangle": "?x ex:p ?y . ?y ex:q ?z . ?z ex:p ?x",
    "4-cycle": "?x ex:p ?y . ?y ex:q ?z . ?z ex:p ?u . ?u ex:q ?x",
    "clique": "?x ex:p ?y . ?x ex:p ?z . ?y ex:p ?z . ?x ex:p ?u . ?y ex:p ?u . ?z ex:p ?u",
    "self-join": "?x ex:p ?y . ?y ex:p ?z",
    "constants": "?x ex:p ex:a . ?x ex:q ?y . ex:b ex:q ?y",
    "constants only": "ex:a ex:p ex:b . ex:b ex:q ex:c",
    "repeated variable": "?x ex:p ?x . ?x ex:q ?y",
    "disconnected": "?x ex:p ?y . ?z ex:q ?u",
    "atomic filter": "?x ex:p ?y . ?y ex:q ?z FILTER(?z != ex:a)",
    "filter of two variables": "?x ex:p ?y . ?y ex:q ?z FILTER(?x != ?z)",
    "atomic filter of a value": "?x ex:p ?y . ?x ex:q ?z FILTER(?z > 1)",
    **{
        f"star with {operator}": f"?x ex:p ?y . ?x ex:q ?z FILTER(?y {operator} ?z)"
        for operator in ("=", "!=", "<", "<=", ">", ">=")
    },
    "self-join with <": "?x ex:p ?y . ?z ex:p ?y . ?x ex:q ?u . ?z ex:q ?v FILTER(?u < ?v)",
    "disconnected with <=": "?x ex:p ?y . ?z ex:q ?u FILTER(?y <= ?u)",
    "disconnected with =": "?x ex:p ?y . ?z ex:q ?u FILTER(?y = ?u)",
    "between": "?x ex:p ?y . ?z ex:q ?u . ?x ex:r ?v FILTER(?y < ?u && ?u <= ?v)",
    "triangle with >": "?x ex:p ?y . ?y ex:q ?z . ?z ex:p ?x . ?x ex:r ?u . ?y ex:r ?v FILTER(?u > ?v)",
    "one pattern with <": "?y ex:p ?z FILTER(?y < ?z)",
    "comparison and another filter": "?x ex:p ?y . ?x ex:q ?z FILTER(?y < ?z) FILTER(isLiteral(?y) || ?z != ex:a)",
}


def with_values(rng: random.Random, events: Sequence[StreamEvent]) -> tuple[StreamEvent, ...]:
    """The events with values in place of some objects, the same for the same triple."""
    pool = rng.sample(VALUES, rng.choice((2, 4, 8, len(VALUES))))
    other: dict[Triple, Triple] = {}

    def changed(triples: Sequence[Triple]) -> tuple[Triple, ...]:
        for triple in triples:
            if triple not in other:
                other[triple] = (*triple[:2], rng.choice(pool)) if rng.random() < 0.7 else triple
        return tuple(other[triple] for triple in triples)

    return tuple(replace(event, deleted=changed(event.deleted), added=changed(event.added)) for event in events)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The streams have ill-typed literals on purpose; rdflib logs each of them with a traceback."""
    logger = logging.getLogger("rdflib.term")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def shaped_case(name: str, seed: int, output: str | None = None) -> Case:
    """A query of one shape over one window, and a stream in which it is likely to match."""
    rng = random.Random(f"{name} {seed}")
    body = SHAPES[name]
    rows = [part.split(" FILTER")[0].split(" ") for part in body.split(" . ")]
    patterns = tuple((subject, verb, object_) for subject, verb, object_ in rows)
    step = rng.choice((2, 5, 10))
    range_ = step * rng.choice((1, 2, 3))
    if rng.random() < 0.2:
        elements = rng.choice((2, 3, 5, 7))
        spec = f"ELEMENTS {elements} STEP {rng.randrange(1, elements + 1)}"
    else:
        spec = f"RANGE {range_}ms STEP {step}ms"
    lateness = rng.choice((0, 0, 0, 4))
    spec += f" LATENESS {lateness}ms" if lateness else ""
    names = sorted({term for row in patterns for term in row if term.startswith("?")})
    chosen = rng.choice(OUTPUTS)
    head = "SELECT *"
    if names and rng.random() < 0.3:
        head = f"SELECT {rng.choice(('', 'DISTINCT '))}{rng.choice(names)}"
    text = (
        f"{PROLOGUE}REGISTER {output or chosen} ex:{output or 'out'} AS {head} "
        f"FROM NAMED WINDOW ex:w ON <{STREAMS[0]}> [{spec}] WHERE {{ WINDOW ex:w {{ {body} }} }}"
    )
    events = random_events(rng, Shape(range_, step, 0, lateness, STREAMS[:1], patterns))
    if any(sign in body for sign in "<=>") and "ex:a)" not in body[-5:]:
        events = with_values(rng, events)
    return Case(seed, text, None, None, events)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(shape: str, operator: PatternChoice) -> None:
    for seed in range(4):
        check(shaped_case(shape, seed), pattern=operator, lazy=seed % 2 == 0)


@pytest.mark.parametrize("operator", OPERATORS)
def test_several_outputs_of_one_pattern_side_by_side(operator: PatternChoice) -> None:
    for seed, shape in enumerate(SHAPES):
        cases = [shaped_case(shape, seed, output) for output in OUTPUTS]
        queries = [case.query() for case in cases]
        # the last event of a case that is closed by one must come for all
        closing, drain = max(
            (closed(c, q) for c, q in zip(cases, queries, strict=True)), key=lambda c: len(c[0].events)
        )
        engine = Engine(pattern=operator)
        for query in queries:
            engine.register(query)
        told = fed_in_batches(engine, closing.events, None, drain=drain)
        for query in queries:
            wanted = expected(closing, query, "run", drain=drain)
            lines = lines_of_batches(batch for batch in told if batch.query == query.name)
            found = differences(closing, query, lines, wanted, "run")
            assert not found, f"{query.output} differs from the oracle\n{found}\n{closing}"


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(4))
def test_any_query(seed: int, operator: PatternChoice) -> None:
    for number in range(8):
        check(random_case(1_000_000 + 8 * seed + number), pattern=operator, lazy=seed % 2 == 0)


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_shapes(chunk: int, operator: PatternChoice) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS / len(OPERATORS)
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    while done < wanted:
        for shape in SHAPES:
            done += check(shaped_case(shape, seed), pattern=operator, lazy=seed % 2 == 0)
        done += check(random_case(seed), pattern=operator, lazy=seed % 2 == 0)
        seed += 1
