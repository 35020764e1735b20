"""Options of the whole suite."""

from __future__ import annotations

from dataclasses import replace

import pytest

import spectra.engine  # noqa: F401 - before a test of the command line chooses, for all, to interpret kernels
from spectra.planner import path_choice
from spectra.planner.plans import SPathPlan


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the texts that golden tests compare with, instead"
    )


@pytest.fixture(autouse=True)
def default_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """`spectra run` without Spark; the tests of Spark choose otherwise."""
    monkeypatch.setattr("spectra.cli.DEFAULT_ENGINE", "embedded")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def by_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule gives every path to trees, as it does to none of itself."""

    def to_trees(path: SPathPlan, situation: path_choice.Situation) -> SPathPlan:
        return path_choice.able_to_delete(replace(path, operator="spath", reason="trees are wanted"), situation)

    monkeypatch.setattr(path_choice, "suited", to_trees)
