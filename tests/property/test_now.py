"""NOW() against the oracle, on random queries and random streams.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import os
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectra.algebra.outer import reads_now
from spectra.sparql.query import Policy, WindowKind
from tests.property.compare import check
from tests.property.generate import Case, random_case
from tests.property.test_division import SHARDS
from tests.property.test_division import check as check_division
from tests.property.test_engine_against_oracle import CHUNKS, SEEDS, check_snapshots, few
from tests.property.test_engine_against_oracle import _quiet as _quiet
from tests.property.test_events import event_window


def now_case(seed: int) -> Case:
    """The case of a seed, or of the next one that reads NOW(); some read single events, or match each by itself."""
    for number in count(seed):
        case = random_case(number, events=number % 4 == 0, now=True)
        if case.range is None and number % 5 == 0:
            case = event_window(case)
        query = case.query()
        kinds = {window.spec.kind for window in query.windows}
        mixed = query.report.policy is Policy.ON_WINDOW_CLOSE and kinds > {WindowKind.COUNT}
        if reads_now(query) and not mixed:
            return case
    raise AssertionError


@given(seed=SEEDS)
@few(150)
def test_every_evaluation_in_every_mode(seed: int) -> None:
    check(now_case(seed))


@given(seed=SEEDS, shards=st.sampled_from(SHARDS))
@few(30)
def test_shards_and_restored_shards(seed: int, shards: int) -> None:
    check_division(now_case(seed), shards, restored=seed % 2 == 0)


@given(seed=SEEDS)
@few(30)
def test_a_snapshot_is_the_answer_at_the_present_time(seed: int) -> None:
    case = now_case(seed)
    if not case.query().by_event:
        check_snapshots(case)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_cases(chunk: int) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    failed: list[str] = []
    while done < wanted and len(failed) < 5:
        case = now_case(seed)
        try:
            done += check(case)
            if seed % 10 == 0:
                check_division(case, SHARDS[seed % 4], restored=seed % 20 == 0)
        except Exception as error:
            failed.append(f"seed {seed}: {error}")
        seed = case.seed + 1
    assert not failed, f"{len(failed)} of {done} comparisons\n" + "\n\n".join(failed)
