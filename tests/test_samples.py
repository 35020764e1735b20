"""Each sample runs, and gives the answer that is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spectra.cli import main

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
FORMATS = {".txt": "table", ".csv": "csv", ".jsonl": "jsonl", ".nq": "nq"}
EXPECTED = sorted((SAMPLES / "expected").iterdir())
TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda path: path.stem)
def test_sample(expected: Path, tmp_path: Path) -> None:
    query = SAMPLES / "queries" / f"{expected.stem}.rq"
    target = tmp_path / "answers"
    call = ["run", str(query), "--input", str(SAMPLES / "transfers"), "--output", str(target)]
    assert main([*call, "--format", FORMATS[expected.suffix]]) == 0
    got, shown = (path.read_text(encoding="utf-8").splitlines() for path in (target, expected))
    # the rows of one instant come in any order, the instants in theirs
    assert sorted(got) == sorted(shown)
    instants = [found.group() for found in map(TIME.search, got) if found]
    assert instants == sorted(instants)


def test_every_query_has_its_answer() -> None:
    assert {path.stem for path in EXPECTED} == {path.stem for path in (SAMPLES / "queries").glob("*.rq")}


def test_samples_are_right(capsys: pytest.CaptureFixture[str]) -> None:
    queries = [str(path) for path in sorted((SAMPLES / "queries").glob("*.rq"))]
    assert main(["verify", *queries, "--input", str(SAMPLES / "transfers")]) == 0
    assert capsys.readouterr().out.count("no difference") == len(queries)


def test_alerts_can_be_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "alerted.rq"
    query.write_text(
        """PREFIX : <http://bank.example/>
        REGISTER ISTREAM :alerted AS SELECT ?sender ?suspect
        FROM NAMED WINDOW :w ON :alerts [RANGE PT1H] WHERE { WINDOW :w { ?sender :reaches ?suspect } }"""
    )
    assert main(["run", str(query), "--input", str(SAMPLES / "expected" / "alerts.nq")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 20
