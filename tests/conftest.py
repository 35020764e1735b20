"""Options of the whole suite."""

from __future__ import annotations

import pytest

import spectra.engine  # noqa: F401 - before a test of the command line chooses, for all, to interpret kernels


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
