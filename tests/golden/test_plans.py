"""The plan of each `*.rq` here, as `spectra explain` prints it; `pytest --update-golden` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from spectra.cli import main

QUERIES = sorted(Path(__file__).parent.glob("*.rq"))


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_plan(query: Path, capsys: pytest.CaptureFixture[str], update_golden: bool) -> None:
    assert main(["explain", str(query)]) == 0
    plan = capsys.readouterr().out
    golden = query.with_suffix(".txt")
    if update_golden:
        golden.write_text(plan, encoding="utf-8")
    assert plan == golden.read_text(encoding="utf-8")


def test_there_are_plans() -> None:
    assert len(QUERIES) >= 8
