"""Every operator for paths, forced, against the oracle: all of the path grammar, graphs of every kind, deletions.

`SPECTRA_LONG_CASES` sets the size of the long run; `pytest -m long -n 2` shares it out.
"""

from __future__ import annotations

import os
from typing import get_args

import pytest

from spectra.operators.path import by_roots, columns
from spectra.operators.path.columns import Columns
from spectra.planner.plans import PathChoice
from tests.property.compare import check
from tests.property.path_cases import path_case

OPERATORS: tuple[PathChoice, ...] = get_args(PathChoice)[1:]
CHUNKS = 20


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("chunk", range(5))
def test_any_path(chunk: int, operator: PathChoice) -> None:
    for number in range(20):
        check(path_case(100 * chunk + number), path=operator)


@pytest.mark.parametrize("chunk", range(5))
def test_any_simple_path(chunk: int) -> None:
    for number in range(20):
        check(path_case(100 * chunk + number, options="WITH SIMPLE PATHS"))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("options", ["", "WITH SIMPLE PATHS"])
@pytest.mark.parametrize("bounds", ["{0}", "{1}", "{3}", "{0,2}", "{1,3}", "{2,}", "{0,}", "{,2}"])
def test_bounded_repetition(bounds: str, options: str, operator: PathChoice) -> None:
    for number, element in enumerate(("ex:p", "^ex:p", "(ex:p|ex:q)", "(ex:p/^ex:q)", "(ex:p?)", "(!ex:p)")):
        case = path_case(number, options=options, body=f"?x {element}{bounds} ?y", vertices=4)
        check(case, modes=("cut",), path=operator)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("chunk", range(3))
def test_implicit_windows(chunk: int, operator: PathChoice) -> None:
    for number in range(20):
        check(path_case(100 * chunk + number, options="WITH IMPLICIT WINDOWS", counting=False), path=operator)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("options", ["", "WITH SIMPLE PATHS", "WITH IMPLICIT WINDOWS"])
def test_static_edges_in_the_window(options: str, operator: PathChoice) -> None:
    for number in range(30):
        counting = "IMPLICIT" not in options
        check(path_case(number, options=options, brackets="WITH STATIC", counting=counting), path=operator)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("options", ["", "WITH SIMPLE PATHS"])
def test_several_cores(options: str, operator: PathChoice, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(15):
        monkeypatch.setattr(by_roots, "LEAST_ENTRIES", number % 2 * 1000)  # in threads, and one after the other
        check(path_case(5000 + number, options=options), path=operator, cores=2 + number % 2)


@pytest.mark.parametrize("policy", ["NON_EMPTY_CONTENT", "ON_CONTENT_CHANGE"])
def test_events_that_repeat_static_edges(policy: str) -> None:
    # few vertices, so that most static edges come with events as well
    for number in range(25):
        brackets = f"WITH STATIC REPORT {policy}"
        check(path_case(number, brackets=brackets, outputs=("RSTREAM", "CHANGES"), vertices=3))


@pytest.fixture
def eager_hubs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`columns` looks for hubs after every batch, and any product node may be one."""
    for name in ("least_merged", "stretch", "least_places", "least_patience", "most_patience", "least_ahead"):
        monkeypatch.setattr(Columns, name, 0)
    monkeypatch.setattr(Columns, "least_columns", 2)
    monkeypatch.setattr(columns, "WORTH", 0.01)


@pytest.mark.usefixtures("eager_hubs")
@pytest.mark.parametrize("chunk", range(5))
def test_any_path_by_way_of_hubs(chunk: int) -> None:
    # in 12562 a pair begins with an edge, and lasts longer by a hub with another edge of the same instant; in 80000291
    # and 80005694 a root comes to reach a hub as it stops reaching vertices by another
    some = {0: [12562], 1: [80000291, 80005694]}
    for seed in (*range(100 * chunk, 100 * chunk + 40), *some.get(chunk, [])):
        check(path_case(seed, outputs=("ISTREAM", "CHANGES", "DSTREAM"), distinct=seed % 2 == 0), path="columns")


@pytest.mark.long
@pytest.mark.usefixtures("eager_hubs")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_paths_by_way_of_hubs(chunk: int) -> None:
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    for number in range(int(os.environ.get("SPECTRA_LONG_CASES", "20000")) // CHUNKS):
        check(
            path_case(seed + number, outputs=("ISTREAM", "CHANGES", "DSTREAM"), distinct=number % 2 == 0),
            path="columns",
        )


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_paths(chunk: int, operator: PathChoice) -> None:
    wanted = int(os.environ.get("SPECTRA_LONG_CASES", "20000")) / CHUNKS / len(OPERATORS)
    seed = int(os.environ.get("SPECTRA_LONG_SEED", "1")) * 10_000_000 + chunk * 100_000
    done = 0
    while done < wanted:
        done += check(path_case(seed), path=operator)
        done += check(path_case(seed, options="WITH SIMPLE PATHS"), path=operator)
        done += check(path_case(seed, options="WITH IMPLICIT WINDOWS", counting=False), path=operator)
        done += check(path_case(seed, brackets="WITH STATIC"), path=operator)
        seed += 1
