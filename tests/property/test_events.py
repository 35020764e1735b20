"""`[EVENT]`: each event by itself, against the oracle, on random queries and random streams.

The cases are those of `generate.py` with `[EVENT]` in the place of their windows. `SPECTRA_LONG_CASES` sets the
size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import count
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectra.engine import Engine
from spectra.planner.pattern_choice import PatternChoice
from spectra.planner.plans import PathChoice
from spectra.sparql.query import Form, OutputOperator, Policy
from tests.property.compare import check, fed_in_batches
from tests.property.generate import Case, random_case
from tests.property.test_division import SHARDS
from tests.property.test_division import check as check_division
from tests.property.test_engine_against_oracle import CHUNKS, SEEDS, few
from tests.property.test_engine_against_oracle import _quiet as _quiet

PATTERNS: tuple[PatternChoice, ...] = get_args(PatternChoice)
PATHS: tuple[PathChoice, ...] = get_args(PathChoice)


def event_case(seed: int) -> Case:
    """The case of a seed, or of the next one that has windows of its own, with `[EVENT]` for each of them."""
    return event_window(next(case for case in map(random_case, count(seed)) if case.range is None))


def event_window(case: Case) -> Case:
    """The case with `[EVENT]` for each of its windows."""
    text = re.sub(r"\[(RANGE|ELEMENTS)[^\]]*\]", _event_brackets, case.text)
    if case.seed % 3 == 0 and "FROM ex:" in text:
        text = text.replace("[EVENT", "[EVENT WITH STATIC")
    return replace(case, text=text.replace("REGISTER DSTREAM", "REGISTER CHANGES"))


def _event_brackets(found: re.Match[str]) -> str:
    kept = re.findall(r" LATENESS \w+| REPORT (?!PERIODIC)\w+", found.group())
    return f"[EVENT{''.join(kept)}]"


@given(seed=SEEDS, pattern=st.sampled_from(PATTERNS), path=st.sampled_from(PATHS))
@few(120)
def test_every_event_in_every_mode(seed: int, pattern: PatternChoice, path: PathChoice) -> None:
    check(event_case(seed), pattern=pattern, path=path)


@given(seed=SEEDS, shards=st.sampled_from(SHARDS))
@few(30)
def test_shards_and_restored_shards(seed: int, shards: int) -> None:
    check_division(event_case(seed), shards, restored=seed % 2 == 0)


@given(seed=SEEDS)
@few(40)
def test_nothing_is_kept_of_an_event(seed: int) -> None:
    check_nothing_kept(event_case(seed))


def check_nothing_kept(case: Case) -> None:
    """After any events windows and dictionary have what they have after an empty one."""
    kept = []
    query = case.query()
    streams = {window.stream for window in query.windows}
    nothing = [replace(event, added=(), deleted=()) for event in case.events if event.stream in streams]
    for events in (case.events, nothing[:1]):
        engine = Engine()
        engine.register(query, static=case.static)
        fed_in_batches(engine, events, random.Random(case.seed))
        statistics = engine.statistics()
        kept.append((statistics["triples"], *(statistics["dictionary"][part] for part in ("adaptive", "persistent"))))
    # without an evaluation it is not known what holds without any event
    if query.report.policy is not Policy.NON_EMPTY_CONTENT:
        assert kept[0] == kept[1], f"{kept[0]} triples and terms are left instead of {kept[1]}\n{case}"


def test_the_cases_cover_what_can_be_asked() -> None:
    found: Counter[object] = Counter()
    for seed in range(300):
        case = event_case(seed)
        query = case.query()
        times = [event.time for event in case.events]
        found.update([query.form, query.output, query.report.policy])
        found["several streams"] += len({window.stream for window in query.windows}) > 1
        found["several at an instant"] += len(set(times)) < len(times)
        found["late"] += any(window.spec.lateness for window in query.windows)
        found["static"] += bool(case.static)
        found["static in a window"] += any(window.spec.with_static for window in query.windows)
    assert all(found[form] > 10 for form in Form)
    assert all(found[output] > 10 for output in OutputOperator if output is not OutputOperator.DSTREAM)
    assert all(found[policy] > 10 for policy in Policy if policy is not Policy.PERIODIC)
    assert min(found[what] for what in ("several streams", "several at an instant", "late", "static")) > 20
    assert found["static in a window"] > 5


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_cases(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    failed: list[str] = []
    while done < wanted and len(failed) < 5:
        case = event_case(seed)
        try:
            done += check(case, pattern=PATTERNS[seed % len(PATTERNS)], path=PATHS[seed % len(PATHS)])
            if seed % 10 == 0:
                check_division(case, SHARDS[seed % 4], restored=seed % 20 == 0)
                check_nothing_kept(case)
        except Exception as error:
            failed.append(f"seed {seed}: {error}")
        seed += 1
    assert not failed, f"{len(failed)} of {done} comparisons\n" + "\n\n".join(failed)
