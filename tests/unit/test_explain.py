"""EXPLAIN: what is said of a plan, in each of its formats."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import spectra
from spectra.calibrate import fitted
from spectra.cli import main
from spectra.planner.statistics import statistics_from

QUERY = (
    "REGISTER ISTREAM <urn:q> AS SELECT DISTINCT ?x ?z FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT100S STEP PT1S] "
    "WHERE { WINDOW <urn:w> { ?x <urn:rare> ?y . ?y <urn:p>+ ?z } }"
)
#: Few edges lead to a large graph: following only those is cheaper than the closure of all of it.
KNOWN = {
    "urn:s": {
        "<urn:rare>": {"rate": 0.1, "validity": 100, "subjects": 10, "objects": 10},
        "<urn:p>": {"rate": 100, "validity": 100, "subjects": 8000, "objects": 8000},
    }
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.rq").write_text(QUERY)
    (tmp_path / "known.json").write_text(json.dumps(KNOWN))
    edges = "".join(f"<urn:v{at % 7}> <urn:{'rare' if at % 10 == 0 else 'p'}> <urn:v{at % 11}> .\n" for at in range(60))
    (tmp_path / "s.nt").write_text(edges)
    return tmp_path


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def test_without_statistics_there_is_nothing_to_choose_by(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, str(folder / "q.rq"))
    assert "estimated" not in text
    assert "hash_join on ?y" in text


def test_a_plan_chosen_by_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = explained(capsys, str(folder / "q.rq"), "--statistics", str(folder / "known.json"))
    assert "rewritten plan\n  Distinct\n    Project[?x ?z]\n      Path[?x <urn:rare>/(<urn:p>+) ?z] <urn:w>\n" in text
    assert "rules\n  fuse_sequence\n" in text
    physical = text.partition("physical plan\n")[2]
    assert "<urn:rare>/(<urn:p>+): 3 states" in physical
    assert "estimated: " in physical
    costs = [float(line.split()[1].replace(",", "")) for line in text.splitlines() if line.startswith("  cost ")]
    assert len(costs) > 1
    assert costs == sorted(costs)


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--statistics", str(folder / "known.json"), "--analyze", "--input", str(folder / "s.nt"))
    (found,) = json.loads(explained(capsys, str(folder / "q.rq"), *arguments, "--format", "json"))
    assert found["query"] == "urn:q"
    assert found["rules"] == ["fuse_sequence"]
    top = found["physical"]
    assert top["operator"] == "project(?x ?z)"
    (path,) = top["inputs"]
    assert set(path["estimated"]) == {"rate", "validity", "rows", "cost", "total"}
    assert {"rate", "rows", "cost", "seconds", "bytes"} < set(path["measured"])
    assert top["measured"]["rows"] == path["measured"]["rows"] > 0
    assert top["estimated"]["total"] >= path["estimated"]["total"]
    assert len(found["alternatives"]) > 1


@pytest.mark.parametrize("form", ["text", "json", "dot", "svg"])
def test_measurements_in_each_format(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = explained(capsys, str(folder / "q.rq"), "--format", form)
    assert "measured" not in plain
    analyzed = explained(capsys, str(folder / "q.rq"), "--analyze", "--input", str(folder / "s.nt"), "--format", form)
    for said in ("estimated", "measured", "columns_merged"):
        assert said in analyzed


def test_dot_and_svg(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dot = explained(capsys, str(folder / "q.rq"), "--format", "dot")
    assert dot.startswith("digraph plans {")
    assert dot.count(" -> ") == dot.count("[label=") - 1
    svg = explained(capsys, str(folder / "q.rq"), "--format", "svg")
    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "WScan[?x <urn:rare> ?y] <urn:w>" in texts
    boxes = list(root.iter("{http://www.w3.org/2000/svg}rect"))[1:]
    assert len(boxes) == dot.count("[label=")
    assert all(float(box.attrib["x"]) >= 0 for box in boxes)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"urn:s": {"<urn:p>": {}}}'])
def test_bad_statistics(folder: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.json").write_text(content)
    assert main(["explain", str(folder / "q.rq"), "--statistics", str(folder / "bad.json")]) == 2
    assert "statistics" in capsys.readouterr().err


def test_no_statistics_file(folder: Path) -> None:
    assert main(["explain", str(folder / "q.rq"), "--statistics", str(folder / "none.json")]) == 2


def test_a_query_says_its_plans() -> None:
    engine = spectra.Engine(statistics=statistics_from(KNOWN))
    text = engine.register(QUERY).explain()
    assert [line for line in text.splitlines() if not line.startswith(" ")] == [
        "logical plan",
        "rewritten plan",
        "physical plan",
    ]


def test_operators_that_were_asked_for_are_kept() -> None:
    engine = spectra.Engine(statistics=statistics_from(KNOWN), path="rapq", pattern="siblings")
    assert "rapq(?x ?z)" in engine.register(QUERY).explain()


@pytest.mark.parametrize("options", ["WITH SIMPLE PATHS", "WITH IMPLICIT WINDOWS", "WITH PATHS"])
def test_options_are_planned_as_they_are_written(options: str) -> None:
    engine = spectra.Engine(statistics=statistics_from(KNOWN))
    text = QUERY.replace("<urn:q> AS", f"<urn:q> {options} AS").replace("DISTINCT ?x ?z", "DISTINCT ?x ?y ?z")
    assert engine.register(text).choice is None


def test_prices_that_explain_what_was_measured() -> None:
    import numpy as np

    steps = np.array([[1.0, 0.0, 0.0], [1.0, 10.0, 0.0], [5.0, 1.0, 0.0]])
    prices = fitted(steps, steps @ np.array([2.0, 0.5, 0.0]), np.array([1.0, 1.0, 7.0]))
    assert prices[:2] == pytest.approx([2.0, 0.5], rel=0.02)
    # nothing tells of the third: as it was, times how much slower the machine is
    assert prices[2] == pytest.approx(7.0 * 1.75)
