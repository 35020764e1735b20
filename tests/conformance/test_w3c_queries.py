"""The other W3C query evaluation tests through the engine; what it refuses is listed with the reason."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

import spectra
from spectra.errors import UnsupportedError
from spectra.sparql.query import Form, OutputOperator
from tests.conformance.manifest import Case, cases, expected_failures, is_answer, parameters, suites
from tests.conformance.streamed import (
    DEFAULT,
    DELIVERIES,
    answer_of,
    as_static,
    changes,
    one_event,
    streamed,
)

pytestmark = pytest.mark.data

FOLDERS = [folder for folder in suites("sparql10", "sparql11") if folder != "sparql11/property-path"]

PASSED, REFUSED = "passed", "refused"


@cache
def outcome(case: Case) -> str:
    """`passed`, `refused: why`, or what is wrong."""
    test = streamed(case)
    form = test.query.form
    try:
        spectra.Engine().register(test.query)
    except UnsupportedError as error:
        return f"{REFUSED}: {error.message}"
    for name in DELIVERIES:
        told, snapshot = changes(test, OutputOperator.CHANGES, DELIVERIES[name](test.graphs))
        if not is_answer(answer_of(told, form), case):
            return f"changes of {name}: {answer_of(told, form)}"
        if not is_answer(snapshot, case):
            return f"snapshot after {name}: {snapshot}"
    whole, _ = changes(test, OutputOperator.RSTREAM, one_event(test.graphs))
    if not is_answer(answer_of(whole, form), case):
        return f"RSTREAM: {answer_of(whole, form)}"
    return PASSED


@pytest.mark.parametrize("case", parameters(FOLDERS))
def test_streamed(case):
    assert outcome(case) == PASSED


@pytest.mark.parametrize("case", parameters(FOLDERS))
def test_static(case):
    query, graphs = as_static(case)
    engine = spectra.Engine()
    registered = engine.register(query, static=graphs)
    told = engine.push((), at=0, stream=DEFAULT)
    assert is_answer(answer_of(told, query.form), case)
    if query.form is Form.ASK:
        assert is_answer(registered.snapshot().boolean, case)


def test_every_expected_failure_is_a_test():
    known = {str(case) for folder in [*FOLDERS, "sparql11/property-path"] for case in cases(folder)}
    assert set(expected_failures()) <= known


def test_table():
    """Prints how many of each folder pass, are refused and fail; shown with `-s`, and with `-rP` afterwards."""
    lines = [f"{'':38}passed refused  failed"]
    total: Counter[str] = Counter()
    for folder in FOLDERS:
        counts = Counter(
            "failed" if got != PASSED and not got.startswith(REFUSED) else got.split(":")[0]
            for got in map(outcome, cases(folder))
        )
        total += counts
        lines.append(f"{folder:36}{counts[PASSED]:8}{counts[REFUSED]:8}{counts['failed']:8}")
    lines.append(f"{'all':36}{total[PASSED]:8}{total[REFUSED]:8}{total['failed']:8}")
    print("\n".join(lines))
    assert total["failed"] + total[REFUSED] == sum(
        not name.startswith("sparql11/property-path/") for name in expected_failures()
    )
