"""Which operator follows the paths of a query."""

from __future__ import annotations

import gzip
from typing import get_args

import pytest

import spectra
from spectra.cli import main
from spectra.planner.plans import PathChoice

TEXT = (
    "REGISTER CHANGES <urn:q> AS SELECT ?x ?y FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT10S] "
    "WHERE { WINDOW <urn:w> { ?x <urn:p>+ ?y } }"
)
#: The same without a closure.
BOUNDED = TEXT.replace("+", "{1,2}")

EDGE = "<urn:a> <urn:p> <urn:b> .\n"
PATCH = f'TX .\nH time "1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\nA {EDGE}TC .\n'


@pytest.mark.parametrize(
    ("path", "chosen"), [("auto", "columns"), *((name, name) for name in get_args(PathChoice)[1:])]
)
def test_an_engine_takes_what_it_is_told(path, chosen):
    assert f"{chosen}(?x ?y)" in spectra.Engine(path=path).register(TEXT).explain()


def test_an_unknown_operator_is_refused():
    with pytest.raises(spectra.QueryError, match="there is no path operator 'dijkstra'"):
        spectra.Engine(path="dijkstra")


@pytest.mark.parametrize(("name", "chosen"), [("s.nt", "spath"), ("s.rdfp", "rapq"), ("s.rdfp.gz", "rapq")])
def test_trees_of_streams_that_can_delete_are_those_of_rapq(name, chosen, tmp_path, capsys, by_trees):
    (tmp_path / "q.rq").write_text(TEXT)
    content = {"s.nt": EDGE, "s.rdfp": PATCH, "s.rdfp.gz": PATCH}[name].encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert main(["explain", str(tmp_path / "q.rq"), "--analyze", "--input", str(tmp_path / name)]) == 0
    assert f"{chosen}(?x ?y)" in capsys.readouterr().out


def test_no_cores_are_refused() -> None:
    with pytest.raises(spectra.QueryError, match="cores must be 1 or more, not 0"):
        spectra.Engine(cores=0)


def test_the_first_deletion_lets_other_trees_be_kept(by_trees) -> None:
    engine = spectra.Engine()
    query = engine.register(TEXT)
    engine.push(EDGE, at=1000)
    assert "spath(?x ?y)" in query.explain()
    engine.push(deleted=EDGE, at=2000)
    assert "rapq, since trees are wanted, and edges are deleted" in query.explain()
    assert [change.op for change in engine.push(EDGE, at=3000)] == ["+"]


def test_streams_that_are_said_to_delete(by_trees) -> None:
    assert "rapq(?x ?y)" in spectra.Engine(deleting=True).register(TEXT).explain()
    assert "rapq(?x ?y)" in spectra.Engine(deleting=["urn:s"]).register(TEXT).explain()
    assert "spath(?x ?y)" in spectra.Engine(deleting=["urn:other"]).register(TEXT).explain()


@pytest.mark.parametrize("text", [TEXT, BOUNDED])
def test_columns_follow_deletions_too(text) -> None:
    engine = spectra.Engine()
    query = engine.register(text)
    engine.push(EDGE, at=1000)
    engine.push(deleted=EDGE, at=2000)
    assert "columns, since all roots are followed together" in query.explain()


def test_operators_that_were_asked_for_stay() -> None:
    engine = spectra.Engine(path="columns")
    query = engine.register(TEXT)
    engine.push(EDGE, at=1000)
    engine.push(deleted=EDGE, at=2000)
    assert "columns(?x ?y)" in query.explain()


def test_answers_that_are_asked_for_seldom() -> None:
    def explained(brackets: str, where: str = "?x <urn:p>+ ?y", **options: bool) -> str:
        window = f"FROM NAMED WINDOW <urn:w> ON <urn:s> [{brackets}]"
        text = f"REGISTER CHANGES <urn:q> AS SELECT * {window} WHERE {{ WINDOW <urn:w> {{ {where} }} }}"
        return spectra.Engine(**options).register(text).explain()

    close = "RANGE 10s STEP 1s REPORT ON_WINDOW_CLOSE"
    assert "condense, since there are 10 evaluations while an edge is valid" in explained(close)
    assert "condense(" in explained(close, deleting=True)
    assert "condense(" in explained("RANGE 10s STEP 1s REPORT PERIODIC 5s")
    assert "columns(" in explained("RANGE 10s STEP 100ms REPORT ON_WINDOW_CLOSE")
    assert "columns(" in explained(close, "<urn:a> <urn:p>+ ?y")
    assert "columns(" in explained("ELEMENTS 10 STEP 1 REPORT ON_WINDOW_CLOSE")
    assert "columns(" in explained("RANGE 10s STEP 1s")


def test_what_comes_bit_by_bit_is_not_found_anew_each_time() -> None:
    engine = spectra.Engine()
    query = engine.register(TEXT.replace("[RANGE PT10S]", "[RANGE 10s STEP 1s REPORT ON_WINDOW_CLOSE]"))
    engine.push("".join(f"<urn:v{n}> <urn:p> <urn:v{n + 1}> .\n" for n in range(40)), at=0)
    for number in range(20):
        assert "condense(" in query.explain() or number >= 15
        engine.push(f"<urn:w{number}> <urn:p> <urn:v0> .", at=1 + number)
    assert "columns(" in query.explain()
    found = engine.advance(1000)
    assert len(found) == 40 * 41 // 2 + 20 * 41


def test_paths_keep_less_before_the_limit_is_passed() -> None:
    def followed(limit: int | None) -> tuple[spectra.Engine, str, int]:
        engine = spectra.Engine(state_limit=limit, adaptive=False)
        query = engine.register(TEXT)
        told = 0
        for number in range(60):
            told += len(engine.push("".join(_edges(number)), at=number))
        return engine, query.explain(), told

    free, explained, told = followed(None)
    assert "columns(" in explained
    sparing, explained, told_sparingly = followed(free.nbytes - 1000)
    assert "landmark, since the limit for the state would be passed" in explained
    assert told == told_sparingly
    assert sparing.nbytes < free.nbytes
    with pytest.raises(spectra.ResourceError):
        followed(1000)


def _edges(number: int) -> list[str]:
    """A tree in which every vertex has ten children."""
    return [f"<urn:v{number}> <urn:p> <urn:v{10 * number + child + 1}> .\n" for child in range(10)]
