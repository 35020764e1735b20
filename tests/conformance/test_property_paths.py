"""The W3C property path tests, streamed in several orders, told in several ways: always the same answer."""

from __future__ import annotations

import pytest

from spectra.sparql.query import Form, OutputOperator
from tests.conformance.manifest import cases, is_answer, parameters
from tests.conformance.streamed import DELIVERIES, answer_of, changes, changes_in_one_run, streamed

pytestmark = pytest.mark.data

FOLDER = "sparql11/property-path"


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("case", parameters([FOLDER]))
def test_answer(case, delivery):
    test = streamed(case)
    arrivals = DELIVERIES[delivery](test.graphs)
    form = test.query.form

    entering, snapshot = changes(test, OutputOperator.ISTREAM, arrivals)
    assert is_answer(answer_of(entering, form), case), "ISTREAM accumulated"
    assert is_answer(snapshot, case), "snapshot"
    whole, _ = changes(test, OutputOperator.RSTREAM, arrivals)
    assert is_answer(answer_of(whole, form), case), "RSTREAM when the window closes"
    in_one_run = changes_in_one_run(test, OutputOperator.ISTREAM, arrivals)
    assert is_answer(answer_of(in_one_run, form), case), "ISTREAM of one run"


def test_the_suite_is_whole():
    assert len(cases(FOLDER)) == 33
    assert {streamed(case).query.form for case in cases(FOLDER)} == {Form.SELECT, Form.ASK}
