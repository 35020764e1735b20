"""EXISTS with the values of outside put in: where a variable becomes a constant, and where LIMIT is asked for each.

A constant at an end of an empty path matches itself even where the graph does not have it.
"""

from __future__ import annotations

import random

from hypothesis import given

from tests.property.compare import check
from tests.property.generate import EX, PROLOGUE, STREAMS, Case, Shape, random_events, random_triple
from tests.property.test_engine_against_oracle import SEEDS, few
from tests.property.test_engine_against_oracle import _quiet as _quiet

PATHS = (
    "ex:q*",
    "ex:q?",
    "^ex:q*",
    "(ex:q|ex:r?)",
    "ex:q{0,2}",
    "(ex:q?)+",
    "ex:q*/ex:r*",
    "(ex:q?)/ex:r",
    "(ex:q*){2}",
    "!ex:p*",
)
GRAPHS = ("WINDOW ex:w0", "WINDOW ex:w1", "WINDOW ?w", "GRAPH ex:g0", "GRAPH ?g")
OUTSIDE = (
    "WINDOW ex:w0 { ?x ex:p ?y }",
    "WINDOW ex:w0 { ?x ex:p ?u OPTIONAL { ?x ex:r ?y } }",
    "WINDOW ex:w0 { ?x ex:p ?u } WINDOW ex:w1 { ?u ex:q ?y }",
    "VALUES (?x ?y) { (ex:a UNDEF) (UNDEF ex:b) (ex:absent ex:absent) (UNDEF UNDEF) } WINDOW ex:w0 { ?s ex:p ?o }",
)


def exists_case(seed: int) -> Case:
    rng = random.Random(seed)
    ends = [rng.choice(("?x", "?x", "?y", "?y", "?z", "ex:a", "ex:absent")) for _ in range(2)]
    inner = f"{ends[0]} {rng.choice(PATHS)} {ends[1]}"
    if rng.random() < 0.3:
        inner += f" . {rng.choice(('?x', '?y', '?z'))} ex:p {rng.choice(('?x', '?y', '?z', '?v'))}"
    if rng.random() < 0.2:
        inner = f"{{ {inner} }} UNION {{ ?y ex:r ?x }}"
    kind = rng.random()
    if kind < 0.15:
        inner = f"SELECT * {{ {inner} }} LIMIT {rng.randrange(3)}"
    elif kind < 0.25:
        inner = f"{{ SELECT ?z {{ {inner} }} ORDER BY ?z LIMIT 2 }} ?z ex:p ?x"
    graph = rng.choice(("{{ {} }}", *(f"{name} {{{{ {{}} }}}}" for name in GRAPHS)))
    exists = f"{rng.choice(('', 'NOT '))}EXISTS {{ {graph.format(inner)} }}"
    test = rng.choice(("FILTER {}", "FILTER {}", "BIND({} AS ?k)", "FILTER(?x = ex:a || {})")).format(exists)
    windows = [f"FROM NAMED WINDOW ex:w{at} ON <{STREAMS[at]}> [RANGE {5 * at + 10}ms STEP 5ms]" for at in range(2)]
    text = "\n".join(
        [
            f"{PROLOGUE}REGISTER {rng.choice(('CHANGES', 'RSTREAM', 'ISTREAM'))} ex:out AS SELECT *",
            *windows,
            "FROM ex:d0",
            "FROM NAMED ex:g0",
            f"WHERE {{ {rng.choice(OUTSIDE)} {test} }}",
        ]
    )
    static = {f"{EX}{name}": tuple(random_triple(rng) for _ in range(3)) for name in ("d0", "g0")}
    return Case(seed, text, None, None, random_events(rng, Shape(10, 5, 0, 0, STREAMS)), static)


@given(seed=SEEDS)
@few(120)
def test_every_evaluation(seed: int) -> None:
    check(exists_case(seed))
