"""RAND, UUID, STRUUID and BNODE on random queries and random streams, by what must hold whatever is drawn."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import count

from hypothesis import given

from spectra.engine import Engine
from spectra.sparql.query import ContinuousQuery, OutputOperator
from tests.property.compare import Line, closed, expected, fed_in_batches, lines_of_batches
from tests.property.generate import Case, random_case
from tests.property.test_engine_against_oracle import SEEDS, few
from tests.property.test_engine_against_oracle import _quiet as _quiet

#: Conditions that hold for any value.
ALWAYS = (
    "RAND() >= 0 && RAND() < 1",
    "isIRI(UUID()) && UUID() != UUID()",
    "STRLEN(STRUUID()) = 36",
    "isBlank(BNODE()) && BNODE() != BNODE()",
    'BNODE("a") = BNODE("a") && BNODE("a") != BNODE("b")',
)


def told(case: Case, query: ContinuousQuery, *, drain: bool) -> list[Line]:
    engine = Engine()
    engine.register(query, static=case.static)
    return lines_of_batches(fed_in_batches(engine, case.events, random.Random(case.seed), drain=drain))


def without_until(lines: list[Line]) -> Counter[object]:
    return Counter(line[:3] for line in lines)


def net(lines: list[Line]) -> Counter[object]:
    """What enters and leaves: a solution that has left and come back between two evaluations has a new value."""
    total: Counter[object] = Counter()
    for at, op, what, _ in lines:
        total[at, what] += 1 if op == "+" else -1
    return Counter({line: change for line, change in total.items() if change})


@given(seed=SEEDS)
@few(60)
def test_conditions_that_always_hold_change_nothing(seed: int) -> None:
    case = random_case(seed)
    case, drain = closed(case, case.query())
    changed = replace(case, text=case.text.replace("WHERE {", f"WHERE {{ FILTER({ALWAYS[seed % len(ALWAYS)]}) ", 1))
    wanted = expected(case, case.query(), "run", drain=drain)
    assert without_until(told(case, changed.query(), drain=drain)) == without_until(wanted), changed


def plain_case(seed: int) -> Case:
    """The case of a seed, or of the next one, that gives all variables of its solutions, with changes both ways."""
    return next(
        replace(case, text=case.text.replace("REGISTER ISTREAM", "REGISTER CHANGES"))
        for case in map(random_case, count(seed))
        if "AS\nSELECT *\n" in case.text
        and case.text.endswith(" }")
        and case.query().output in (OutputOperator.ISTREAM, OutputOperator.CHANGES)
    )


@given(seed=SEEDS)
@few(60)
def test_a_solution_keeps_its_value_and_no_other_has_it(seed: int) -> None:
    case = plain_case(seed)
    case, drain = closed(case, case.query())
    drawn = replace(case, text=f"{case.text[:-2]} BIND(UUID() AS ?drawn) BIND(BNODE(STR(?drawn)) AS ?node) }}")
    live: Counter[object] = Counter()
    seen: set[str] = set()
    bare: list[Line] = []
    for at, op, what, until in told(case, drawn.query(), drain=drain):
        assert isinstance(what, tuple)
        values = dict(what)
        bare.append((at, op, tuple(pair for pair in what if pair[0] not in ("drawn", "node")), until))
        live[what] += 1 if op == "+" else -1
        if op == "+":
            assert values["drawn"] not in seen, f"{values['drawn']} was given twice\n{case}"
            seen |= {values["drawn"], values["node"]}
    assert set(live.values()) <= {0, 1}
    assert net(bare) == net(expected(case, case.query(), "run", drain=drain)), case
