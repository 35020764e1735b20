"""GRAPH inside WINDOW and `<urn:spectra:time>` against the oracle, on random queries and random streams.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectra.oracle.walk import walk
from spectra.planner.pattern_choice import PatternChoice
from spectra.planner.plans import PathChoice
from spectra.sparql import syntax
from spectra.sparql.query import OutputOperator, Policy
from tests.property.compare import check
from tests.property.generate import Case, random_case
from tests.property.test_division import SHARDS
from tests.property.test_division import check as check_division
from tests.property.test_engine_against_oracle import CHUNKS, SEEDS, check_nothing_kept, check_snapshots, few
from tests.property.test_engine_against_oracle import _quiet as _quiet
from tests.property.test_events import event_window

PATTERNS: tuple[PatternChoice, ...] = get_args(PatternChoice)
PATHS: tuple[PathChoice, ...] = get_args(PathChoice)


def graph_case(seed: int) -> Case:
    """The case of a seed; a few match each event by itself as well."""
    case = random_case(seed, events=True)
    return event_window(case) if seed % 7 == 0 else case


@given(seed=SEEDS, pattern=st.sampled_from(PATTERNS), path=st.sampled_from(PATHS))
@few(200)
def test_every_evaluation_in_every_mode(seed: int, pattern: PatternChoice, path: PathChoice) -> None:
    check(graph_case(seed), pattern=pattern, path=path)


@given(seed=SEEDS, shards=st.sampled_from(SHARDS))
@few(30)
def test_shards_and_restored_shards(seed: int, shards: int) -> None:
    check_division(graph_case(seed), shards, restored=seed % 2 == 0)


@given(seed=SEEDS)
@few(40)
def test_a_snapshot_is_the_answer_over_the_present_content(seed: int) -> None:
    check_snapshots(random_case(seed, events=True))


@given(seed=SEEDS)
@few(40)
def test_when_everything_has_expired_nothing_is_kept(seed: int) -> None:
    check_nothing_kept(random_case(seed, events=True))


def test_the_cases_cover_what_can_be_asked() -> None:
    found: Counter[object] = Counter()
    for seed in range(300):
        case = graph_case(seed)
        query = case.query()
        nodes = list(walk(query.pattern))
        graphs = [part for part in nodes if isinstance(part, syntax.Graph)]
        inside = [type(part) for graph in graphs for part in walk(graph.pattern)]
        found.update([query.output, query.report.policy])
        found.update({syntax.Graph} if graphs else ())
        found.update(set(inside))
        found["time"] += any(isinstance(part, syntax.Call) and part.function == "<urn:spectra:time>" for part in nodes)
        names = [event.graph for event in case.events]
        found["several of one name"] += len(set(names) - {""}) < len([name for name in names if name])
        found["without a name"] += "" in names
        found["deletions"] += any(event.deleted for event in case.events)
    wanted = (*OutputOperator, *Policy, "time", "several of one name", "without a name", "deletions")
    assert min(found[what] for what in wanted) > 20
    assert found[syntax.Graph] > 150
    parts = (syntax.PathPattern, syntax.LeftJoin, syntax.Minus, syntax.Exists, syntax.Group, syntax.Union_)
    assert min(found[part] for part in parts) > 5, found


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_cases(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    failed: list[str] = []
    while done < wanted and len(failed) < 5:
        case = graph_case(seed)
        try:
            done += check(case, pattern=PATTERNS[seed % len(PATTERNS)], path=PATHS[seed % len(PATHS)])
            if seed % 10 == 0:
                check_division(case, SHARDS[seed % 4], restored=seed % 20 == 0)
                plain = random_case(seed, events=True)
                done += check_snapshots(plain) + check_nothing_kept(plain)
        except Exception as error:
            failed.append(f"seed {seed}: {error}")
        seed += 1
    assert not failed, f"{len(failed)} of {done} comparisons\n" + "\n\n".join(failed)
