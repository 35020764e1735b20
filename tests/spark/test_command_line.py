"""What the command line does with its own reader it does with Spark: the same tests once more."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from spectra import cli
from tests.spark.cluster import children, command
from tests.unit.test_cli import (  # noqa: F401
    compiled_before,
    folder,
    spectra_process,
    test_a_bug_is_not_taken_for_a_difference,
    test_a_closed_pipe_ends_quietly,
    test_a_terminal_gets_a_table_and_progress,
    test_an_error_of_the_query_has_its_place,
    test_bad_lines_are_set_aside_and_told,
    test_follow_answers_as_files_come_and_ends_with_a_summary,
    test_from_is_relative_to_the_query,
    test_instants_come_in_order_across_queries_of_different_lateness,
    test_late_events_are_bad_data_under_strict,
    test_lines_that_no_query_can_use_are_read_on_demand,
    test_no_drain_stops_at_the_last_event,
    test_nq_is_a_stream_again,
    test_output_and_format,
    test_plain_sparql_takes_range_and_step_from_the_call,
    test_run_answers_in_json_lines_in_a_pipe,
    test_several_streams,
    test_state_limit,
    test_times_from_a_predicate,
    test_times_of_one_file,
    test_wrong_calls,
)
from tests.unit.test_event_graphs import test_the_command_line  # noqa: F401

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]


def test_a_follower_whose_jvm_is_killed_ends_and_says_so(folder: Path) -> None:  # noqa: F811
    process = spectra_process("run", str(folder / "reach.rq"), "--input", str(folder / "events"), "--follow")
    assert process.stdout is not None
    assert process.stdout.readline().startswith('{"query"')
    (jvm,) = (child for child in children(process.pid) if "SparkSubmit" in command(child))
    os.kill(jvm, signal.SIGKILL)
    _, error = process.communicate(timeout=180)
    assert process.returncode == cli.LIMIT
    assert "ResourceError: Spark could not go on" in error.splitlines()


@pytest.fixture(autouse=True)
def default_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`spectra run` reads with Spark."""
    monkeypatch.setattr("spectra.cli.DEFAULT_ENGINE", "spark")
