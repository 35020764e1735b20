"""A run that Spark delivers, ended at any moment and started again: the tests of checkpoints once more."""

from __future__ import annotations

import pytest

from tests.unit.test_checkpoint import (  # noqa: F401
    folder,
    test_ended_and_started_again,
    test_following_goes_on_with_new_files,
    test_kill_9_at_any_moment,
    test_what_cannot_be_gone_on_with,
    test_what_changed_since,
)

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]


@pytest.fixture(autouse=True)
def default_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`spectra run` reads with Spark, a few lines in each task."""
    monkeypatch.setattr("spectra.cli.DEFAULT_ENGINE", "spark")
    monkeypatch.setattr("spectra.spark.executors.TASK_BYTES", 300)
