"""Every operator for patterns, forced, against the oracle: on patterns of every shape and on random queries.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from typing import get_args

import pytest

from spectra.planner.physical import PatternOperator
from tests.property.compare import check
from tests.property.generate import OUTPUTS, PROLOGUE, STREAMS, Case, Shape, random_case, random_events

OPERATORS: tuple[PatternOperator, ...] = get_args(PatternOperator)
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
}


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The streams have ill-typed literals on purpose; rdflib logs each of them with a traceback."""
    logger = logging.getLogger("rdflib.term")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def shaped_case(name: str, seed: int) -> Case:
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
    names = sorted({term for row in patterns for term in row if term.startswith("?")})
    head = "SELECT *"
    if names and rng.random() < 0.3:
        head = f"SELECT {rng.choice(('', 'DISTINCT '))}{rng.choice(names)}"
    text = (
        f"{PROLOGUE}REGISTER {rng.choice(OUTPUTS)} ex:out AS {head} "
        f"FROM NAMED WINDOW ex:w ON <{STREAMS[0]}> [{spec}] WHERE {{ WINDOW ex:w {{ {body} }} }}"
    )
    return Case(seed, text, None, None, random_events(rng, Shape(range_, step, 0, 0, STREAMS[:1], patterns)))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(shape: str, operator: PatternOperator) -> None:
    for seed in range(4):
        check(shaped_case(shape, seed), pattern=operator)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seed", range(4))
def test_any_query(seed: int, operator: PatternOperator) -> None:
    for number in range(8):
        check(random_case(1_000_000 + 8 * seed + number), pattern=operator)


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_shapes(chunk: int, operator: PatternOperator) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS / len(OPERATORS)
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    while done < wanted:
        for shape in SHAPES:
            done += check(shaped_case(shape, seed), pattern=operator)
        done += check(random_case(seed), pattern=operator)
        seed += 1
