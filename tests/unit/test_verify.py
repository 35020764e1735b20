"""`verify` finds nothing where the engine is right, and says what is wrong where it is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectra.changes import ChangeBatch
from spectra.cli import main
from spectra.continuous import Query
from spectra.oracle import Event
from spectra.report import Progress
from spectra.streams.memory import concatenate, from_triples
from spectra.streams.source import Source
from spectra.verify import all_events, events_of

QUERY = """PREFIX : <http://e/>
REGISTER {output} :q AS SELECT {select} FROM NAMED WINDOW :w ON :s [{window}] {static}
WHERE {{ WINDOW :w {{ {pattern} }} {rest} }}"""


def write_query(
    folder: Path,
    pattern: str,
    *,
    output: str = "CHANGES",
    window: str = "RANGE PT10S STEP PT5S",
    select: str = "*",
    static: str = "",
    rest: str = "",
) -> str:
    path = folder / "q.rq"
    path.write_text(
        QUERY.format(output=output, select=select, window=window, pattern=pattern, static=static, rest=rest)
    )
    return str(path)


def triple(s: str, p: str, o: str) -> str:
    term = o if o.startswith(("_", '"')) else f"<http://e/{o}>"
    return f"<http://e/{s}> <http://e/{p}> {term} .\n"


EDGES = [("a", "b"), ("b", "c"), ("a", "b"), ("c", "d"), ("d", "a"), ("b", "c"), ("d", "e")]


@pytest.fixture
def numbered(tmp_path: Path) -> str:
    path = tmp_path / "edges.nt"
    path.write_text("".join(triple(s, "p", o) for s, o in EDGES))
    return str(path)


@pytest.mark.parametrize("output", ["ISTREAM", "DSTREAM", "RSTREAM", "CHANGES"])
@pytest.mark.parametrize("window", ["RANGE PT10S STEP PT5S", "ELEMENTS 3 STEP 2"])
def test_paths_of_one_file(
    tmp_path: Path, numbered: str, capsys: pytest.CaptureFixture[str], output: str, window: str
) -> None:
    query = write_query(tmp_path, "?x :p+ ?y", output=output, window=window)
    assert main(["verify", query, "--input", numbered, "--interval", "PT2S"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("<http://e/q>: ")
    assert "answers compared, no difference" in out
    assert ", 0 answers compared" not in out


@pytest.mark.parametrize("output", ["ISTREAM", "RSTREAM", "CHANGES"])
def test_each_event_by_itself(tmp_path: Path, numbered: str, capsys: pytest.CaptureFixture[str], output: str) -> None:
    query = write_query(tmp_path, "?x :p+ ?y", output=output, window="EVENT")
    assert main(["verify", query, "--input", numbered, "--event-size", "2"]) == 0
    assert "4 evaluations, 8 answers compared, no difference" in capsys.readouterr().out


def test_a_folder_with_static_blank_nodes_and_language_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events"
    events.mkdir()
    for at, label in ((1000, '"Hi"@EN'), (2000, '"Hi"@en'), (3000, "_:x")):
        (events / f"{at}.nt").write_text(triple("a", "says", label))
    (tmp_path / "people.ttl").write_text("@prefix : <http://e/> . :a :friend [ :name 'Bo' ] .")
    query = write_query(
        tmp_path,
        "?x :says ?what",
        static="FROM <people.ttl>",
        rest="?x :friend ?friend . ?friend :name ?name",
    )
    assert main(["verify", query, "--input", str(events)]) == 0
    # one answer for both spellings of the tag; each answer comes and goes
    assert "4 answers compared, no difference" in capsys.readouterr().out


def test_deletions_of_a_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patch = tmp_path / "edges.rdfp"
    time = 'H time "1970-01-01T00:00:0{}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    blocks = [["A a b", "A b c"], ["D b c"], ["A b c", "D a b"]]
    text = ""
    for number, block in enumerate(blocks):
        text += "TX .\n" + time.format(number + 1)
        for line in block:
            sign, s, o = line.split()
            text += f"{sign} {triple(s, 'p', o)}"
        text += "TC .\n"
    patch.write_text(text)
    assert main(["verify", write_query(tmp_path, "?x :p+ ?y"), "--input", str(patch)]) == 0
    assert "no difference" in capsys.readouterr().out


def test_two_streams_one_of_them_late(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, times in (("s", (1000, 3000, 9000)), ("t", (2000, 2500, 8000))):
        (tmp_path / name).mkdir()
        for at in times:
            (tmp_path / name / f"{at}.nt").write_text(triple(f"x{at}" if name == "t" else "a", name, "b"))
    query = tmp_path / "two.rq"
    query.write_text(
        """PREFIX : <http://e/> REGISTER CHANGES :q AS SELECT *
        FROM NAMED WINDOW :w ON :s [RANGE PT4S STEP PT1S LATENESS PT1S]
        FROM NAMED WINDOW :v ON :t [RANGE PT6S STEP PT2S]
        WHERE { WINDOW :w { ?x :s ?y } WINDOW :v { ?z :t ?y } }"""
    )
    streams = [f"--stream=http://e/{name}={tmp_path / name}" for name in ("s", "t")]
    assert main(["verify", str(query), *streams]) == 0
    assert "no difference" in capsys.readouterr().out


def test_a_wrong_engine_is_found_out(
    tmp_path: Path, numbered: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Query.process

    def forgetful(self: Query, progress: Progress) -> ChangeBatch:
        """Tells every second change with the opposite sign."""
        batch = right(self, progress)
        batch.op[::2] = -batch.op[::2]
        return batch

    monkeypatch.setattr(Query, "process", forgetful)
    query = write_query(tmp_path, "?x :p+ ?y")
    assert main(["verify", query, "--input", numbered, "--interval", "PT2S"]) == 1
    out = capsys.readouterr().out
    assert "with differences" in out
    assert "  at 1970-01-01T00:00:00.000Z\n" in out
    assert "    missing: + ?x=<http://e/a> ?y=<http://e/b>\n" in out
    assert "    extra: - ?x=<http://e/a> ?y=<http://e/b>\n" in out


def test_events_of_a_batch_are_its_text() -> None:
    one = from_triples("urn:s", 5, [("<urn:a>", "<urn:p>", '"é"@FR')], [("<urn:a>", "<urn:p>", "_:x")], "<urn:g>")
    two = from_triples("urn:s", 7, (), (), "")
    deleted, added = ("<urn:a>", "<urn:p>", "_:x"), ("<urn:a>", "<urn:p>", '"é"@fr')
    expected = [Event(5, ((-1, deleted), (1, added)), "urn:s", "<urn:g>"), Event(7, (), "urn:s", "")]
    assert events_of(concatenate([one, two])) == expected


def test_streams_are_merged_by_the_time_they_have_reached() -> None:
    def source(stream: str, times: list[int]) -> Any:
        class Fixed(Source):
            def __init__(self) -> None:
                self.stream = stream

            def batches(self, *_: Any, **__: Any) -> Any:
                batch = concatenate([from_triples("", time, (), ()) for time in times])
                assert np.array_equal(batch.event_time, times)
                return iter([batch, None])

        return Fixed()

    merged = all_events([source("a", [1, 5, 2, 9]), source("b", [4, 5, 6])])
    assert [(event.stream, event.time) for event in merged] == [
        ("a", 1),
        ("b", 4),
        ("a", 5),
        ("a", 2),
        ("b", 5),
        ("b", 6),
        ("a", 9),
    ]
