"""WITH SIMPLE PATHS from the outside: what `explain` says, and what happens beyond the budget."""

from __future__ import annotations

import pytest

import spectra
from spectra.cli import main

TEXT = (
    "REGISTER CHANGES <urn:q> WITH SIMPLE PATHS AS SELECT ?x ?y "
    "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT10S] WHERE { WINDOW <urn:w> { ?x … ?y } }"
)

EMPTY = ", empty path matches the terms of the graph"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("<urn:a>*", "free of conflicts by itself"),
        ("(<urn:a>|^<urn:b>)+", "free of conflicts by itself"),
        ("<urn:a>/<urn:b>*", "free of conflicts by itself"),
        ("(<urn:a>/<urn:b>)+", "may conflict"),
        ("<urn:a>/<urn:b>/<urn:c>", "may conflict within 3 edges, never exponential in the graph"),
        ("<urn:a>{2,3}", "may conflict within 3 edges, never exponential in the graph"),
    ],
)
def test_explain_says_whether_a_path_may_conflict(path, said):
    explained = spectra.Engine().register(TEXT.replace("…", path)).explain()
    assert "rspq(?x ?y)" in explained
    assert explained.splitlines()[-1].split(", ", 2)[2].removesuffix(EMPTY) == said


def clique(vertices):
    """Every vertex pays every other."""
    pairs = [(i, j) for i in range(vertices) for j in range(vertices) if i != j]
    return "".join(f"<urn:{i}> <urn:a> <urn:{j}> .\n" for i, j in pairs)


def test_beyond_the_budget_the_query_stops():
    engine = spectra.Engine(path_budget=1000)
    engine.register(TEXT.replace("…", "<urn:a>{8}"))
    with pytest.raises(spectra.ResourceError, match="more than 1,000 states at one event"):
        engine.push(clique(8), at=1)


def test_the_command_line_stops_with_a_code_of_its_own(tmp_path, capsys):
    (tmp_path / "q.rq").write_text(TEXT.replace("…", "<urn:a>{8}"))
    (tmp_path / "s.nt").write_text(clique(8))
    call = ["run", str(tmp_path / "q.rq"), "--input", str(tmp_path / "s.nt"), "--engine", "embedded"]
    assert main([*call, "--event-size", "100", "--path-budget", "1000"]) == 4
    error = capsys.readouterr().err
    assert "ResourceError: the simple paths of <urn:a>{8} take more than 1,000 states at one event" in error
    assert "--path-budget" in error
