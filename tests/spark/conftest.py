"""One Spark session for all tests of this folder, which xdist keeps in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spectra.errors import UnsupportedError
from spectra.spark.java import find_java
from spectra.spark.sessions import session, stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session", autouse=True)
def needs_spark() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    try:
        find_java()
    except UnsupportedError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with two local threads."""
    started = session("local[2]", app_name="tests")
    yield started
    stop(started)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A folder for a query's checkpoint that no other query has used."""
    return str(tmp_path / "checkpoint")
