"""CONSTRUCT templates with named graphs: an answer is a set of quads."""

from __future__ import annotations

from pathlib import Path

import pytest

from spectra import Engine, read
from spectra.cli import main
from spectra.errors import UnsupportedError

E = "http://e/"
HEAD = f"PREFIX : <{E}> REGISTER"
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE { WINDOW :w"
QUADS = f"{HEAD} ISTREAM :made AS CONSTRUCT {{ ?x :of :both GRAPH ?y {{ ?x :in ?y }} }} {WINDOW} {{ ?x :p ?y }} }}"


def edges(*pairs: str) -> str:
    return "".join(f"<{E}{x}> <{E}p> <{E}{y}> .\n" for x, y in map(str.split, pairs))


def test_a_triple_is_told_once_for_each_graph_it_is_in() -> None:
    engine = Engine()
    engine.register(f"{HEAD} CHANGES :made AS CONSTRUCT {{ GRAPH ?y {{ ?x :is :here }} }} {WINDOW} {{ ?x :p ?y }} }}")
    told = engine.push(edges("a g", "a h"), at=1_000)
    assert {(change.op, change.graph) for change in told} == {("+", f"<{E}g>"), ("+", f"<{E}h>")}
    assert {change.triple for change in told} == {(f"<{E}a>", f"<{E}is>", f"<{E}here>")}
    (left,) = engine.push(deleted=edges("a g"), at=2_000)
    assert (left.op, left.graph) == ("-", f"<{E}g>")
    assert str(left).endswith(f"<{E}here> <{E}g>")


def test_what_is_no_graph_name_makes_no_quad() -> None:
    engine = Engine()
    engine.register(QUADS)
    told = engine.push(f'<{E}a> <{E}p> "text" .\n<{E}b> <{E}p> _:n .', at=1_000)
    assert sorted((change.triple or ())[0] for change in told if change.graph is None) == [f"<{E}a>", f"<{E}b>"]
    (quad,) = (change for change in told if change.graph is not None)
    assert quad.graph is not None
    assert quad.graph.startswith("_:")


def test_nq_has_the_graphs_as_events_that_are_read_again(tmp_path: Path) -> None:
    (tmp_path / "made.rq").write_text(QUADS)
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1000.nt").write_text(edges("a g", "b g", "a h"))
    (tmp_path / "events" / "2000.nt").write_text(edges("c g"))
    call = ["run", str(tmp_path / "made.rq"), "--engine=embedded", "--input", str(tmp_path / "events")]
    assert main([*call, "--format", "nq", "--output", str(tmp_path / "made.nq")]) == 0
    engine = Engine()
    engine.register(
        f"{HEAD} ISTREAM :read AS SELECT ?e ?x {WINDOW} {{ GRAPH ?e {{ ?x :in ?y }} }} }}",
    )
    told = engine.run(read(tmp_path / "made.nq", stream=f"{E}s"))
    found = {(change.at.milliseconds, *(str(term)[-1] for term in change.bindings.values())) for change in told}
    assert found == {(1000, "g", "a"), (1000, "g", "b"), (1000, "h", "a"), (2000, "g", "c")}


def test_a_window_on_quads_is_refused_with_its_place() -> None:
    engine = Engine()
    engine.register(QUADS)
    reader = (
        f"{HEAD} CHANGES :r AS SELECT * FROM NAMED WINDOW :v ON :made [RANGE 5s] WHERE {{ WINDOW :v {{ ?x ?p ?y }} }}"
    )
    with pytest.raises(UnsupportedError, match="whose template names graphs") as refused:
        engine.register(reader)
    assert refused.value.place is not None
    # in the other order, too
    engine = Engine()
    engine.register(reader)
    with pytest.raises(UnsupportedError, match="whose template names graphs"):
        engine.register(QUADS)
