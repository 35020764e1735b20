"""Queries that read the output of others, against the oracle: random producers and readers over random streams.

`SPECTRA_LONG_CASES` sets the size of the long run.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import dataclass

import pytest

from spectra.engine import Engine
from spectra.oracle import Event, recompute
from spectra.oracle.derived import all_read, derived_events
from spectra.sparql import parse_query
from spectra.sparql.composed import in_order, makes_stream
from spectra.sparql.query import ContinuousQuery, Policy
from tests.property.compare import Line, fed_in_batches, lines_of_batches, lines_of_oracle
from tests.property.generate import EX, PROLOGUE, STREAMS, Shape, StreamEvent, random_events

#: Patterns over a stream, and what is made of their solutions.
PRODUCERS = {
    "?x ex:p ?y": "?x ex:p ?y",
    "?x ex:p ?y . ?y ex:q ?z": "?x ex:q ?z",
    "?x ex:p+ ?y": "?x ex:p ?y . ?y ex:q ?x",
    "?x ex:p ?y FILTER NOT EXISTS { ?y ex:q ?z }": "?x ex:q ?y",
    "?x ex:p ?y OPTIONAL { ?y ex:q ?z }": "?x ex:p ?z . ?x ex:q ex:a",
    "?x ex:p ?y MINUS { ?x ex:q ?y }": "?x ex:q ?y",
    "{ ?x ex:p ?y } UNION { ?y ex:q ?x }": "?x ex:p ?y",
}
READERS = (
    "?x ex:p ?y",
    "?x ex:p ?y . ?y ex:q ?z",
    "?x (ex:p|ex:q)+ ?y",
    "?x ex:q* ?y",
    "?x ex:p ?y MINUS { ?y ex:q ?x }",
)


@dataclass(frozen=True)
class Composition:
    seed: int
    queries: tuple[ContinuousQuery, ...]
    events: tuple[StreamEvent, ...]
    lateness: int

    def __str__(self) -> str:
        texts = "\n".join(query.text for query in self.queries)
        return f"seed {self.seed}\n{texts}\n" + "\n".join(map(str, self.events))


def random_window(rng: random.Random, step: int, range_: int, *, lateness: int = 0, report: str = "") -> str:
    if rng.random() < 0.15:
        spec = f"ELEMENTS {rng.choice((1, 2, 5))}"
    else:
        spec = f"RANGE {range_}ms STEP {step}ms"
    return spec + (f" LATENESS {lateness}ms" if lateness else "") + (f" REPORT {report}" if report else "")


def random_report(rng: random.Random, step: int) -> str:
    return rng.choice(("", "", "", "ON_WINDOW_CLOSE", "ON_CONTENT_CHANGE", f"PERIODIC {step}ms"))


def random_composition(seed: int) -> Composition:
    """A producer, perhaps a second one that reads it, and a reader of what they make."""
    rng = random.Random(seed)
    step = rng.choice((1, 2, 5))
    range_ = step * rng.choice((1, 2, 4))
    lateness = rng.choice((0, 0, 0, 4))
    outputs = ("ISTREAM", "CHANGES", "CHANGES", "RSTREAM", "DSTREAM")
    texts, streams = [], [STREAMS[0]]
    for number in range(rng.choice((1, 1, 2, 3))):
        pattern, template = rng.choice(list(PRODUCERS.items()))
        read = rng.choice(streams)
        late = lateness if read == STREAMS[0] else 0
        window = random_window(rng, step, range_, lateness=late, report=random_report(rng, step))
        texts.append(
            f"{PROLOGUE}REGISTER {rng.choice(outputs)} ex:made{number} AS CONSTRUCT {{ {template} }} "
            f"FROM NAMED WINDOW ex:w ON <{read}> [{window}] WHERE {{ WINDOW ex:w {{ {pattern} }} }}"
        )
        streams.append(f"{EX}made{number}")
    of_reader = rng.choice((range_, 2 * range_, 100 * range_, step))
    clauses, parts = [], []
    for number, read in enumerate(
        {streams[-1], rng.choice(streams[1:]), *([streams[0]] if rng.random() < 0.3 else [])}
    ):
        window = random_window(rng, step, of_reader, lateness=lateness if read == STREAMS[0] else 0)
        clauses.append(f"FROM NAMED WINDOW ex:w{number} ON <{read}> [{window}]")
        parts.append(f"WINDOW ex:w{number} {{ {rng.choice(READERS)} }}")
    head = f"{PROLOGUE}REGISTER {rng.choice(outputs)} ex:reader AS SELECT *"
    texts.append(f"{head} {' '.join(clauses)} WHERE {{ {' '.join(parts)} }}")
    shape = Shape(range_, step, 0, lateness, STREAMS[:1], (("?x", "ex:p", "?y"), ("?y", "ex:q", "?z")))
    queries = [parse_query(text) for text in texts]
    rng.shuffle(queries)
    return Composition(seed, tuple(queries), random_events(rng, shape), lateness)


def expected(case: Composition) -> dict[str, Counter[Line]]:
    """What the oracle tells for each query; ends aside, which it does not know of what other queries derive."""
    events = [event.for_oracle() for event in case.events]
    derived: dict[str, list[Event]] = {}
    found = {}
    for query in in_order(case.queries) or ():
        read = all_read(query, events, derived, case.lateness)
        found[query.name] = Counter((*line[:3], None) for line in lines_of_oracle(recompute(query, read)))
        if makes_stream(query):
            derived[query.name] = derived_events(query, read)
    return found


def check(case: Composition) -> None:
    wanted = expected(case)
    for cut in (None, random.Random(case.seed)):
        engine = Engine()
        for query in in_order(case.queries) or ():
            engine.register(query)
        told: dict[str, list[Line]] = {query.name: [] for query in case.queries}
        for batch in fed_in_batches(engine, case.events, cut, drain=True):
            told[batch.query] += [(*line[:3], None) for line in lines_of_batches([batch])]
        for name, lines in told.items():
            missing, extra = wanted[name] - Counter(lines), Counter(lines) - wanted[name]
            assert not missing + extra, f"{name}\nmissing {missing}\nextra {extra}\n{case}"


def drains_exactly(case: Composition) -> bool:
    """How long a drain goes on depends on triples that no pattern can use, of which deletions are not known."""
    return not any(event.deleted for event in case.events) or all(
        query.report.policy is Policy.ON_CONTENT_CHANGE for query in case.queries
    )


@pytest.mark.parametrize("chunk", range(10))
def test_random_compositions(chunk: int) -> None:
    for seed in range(30 * chunk, 30 * chunk + 30):
        case = random_composition(seed)
        if drains_exactly(case):
            check(case)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(20))
def test_many_random_compositions(chunk: int) -> None:
    count = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // 20
    for seed in range(1_000_000 + chunk * count, 1_000_000 + (chunk + 1) * count):
        case = random_composition(seed)
        if drains_exactly(case):
            check(case)
