"""`read_stream`: files as rows of events, by the rules of the embedded engine; and what `continuous` makes of them."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import spectra
from spectra.errors import QueryError, StreamError
from spectra.spark import continuous, read_stream
from spectra.spark.files import FileEvents
from spectra.streams.kernels.statements import FILE, TRIPLES
from spectra.streams.pieces import Recipe
from spectra.streams.quarantine import Quarantine
from spectra.views.summary import Summary
from tests.spark.test_scaleout import changes_of, lines_of_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GENERATED = "<http://www.w3.org/ns/prov#generatedAtTime>"
DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"

#: (time, key, subject, predicate, object, op)
Rows = list[tuple[Any, ...]]


def rows_of(files: list[Path], recipe: Recipe, *, content: bool = False, quarantine: Path | None = None) -> Rows:
    """What a task makes of the files, with no session about."""
    columns: dict[str, list[Any]] = {
        "path": [f"hdfs://host{path}" if content else f"file:{path}" for path in files],
        "modified": [int(path.stat().st_mtime * 1000) for path in files],
    }
    if content:
        columns["content"] = [path.read_bytes() for path in files]
    parse = FileEvents(recipe, None if quarantine is None else str(quarantine))
    found = parse(iter([pa.RecordBatch.from_pydict(columns)]))
    return [tuple(row.values()) for batch in found for row in _with_milliseconds(batch)]


def _with_milliseconds(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    for row, time in zip(batch.to_pylist(), batch.column("time").cast(pa.int64()).to_pylist(), strict=True):
        yield {**row, "time": time // 1000}


def test_a_file_of_triples_is_one_event(tmp_path: Path) -> None:
    full, empty = tmp_path / "1970-01-01T00-00-01Z.nt", tmp_path / "2000.nt"
    full.write_text('<u:a> <u:p> "caf\\u00E9"@FR .\nnonsense\n<u:a> <u:p> _:b .\n')
    empty.write_text("# nothing\n")
    recipe = Recipe(FILE)
    text, blank, nothing = rows_of([full, empty], recipe)
    assert text == (1000, f"{full}#0", "<u:a>", "<u:p>", '"café"@fr', "+")
    assert blank[:4] == (1000, f"{full}#0", "<u:a>", "<u:p>")
    assert blank[4].startswith("_:b.")
    assert nothing == (2000, f"{empty}#0", None, None, None, "+")


def test_blank_nodes_are_those_of_the_embedded_engine(tmp_path: Path) -> None:
    file = tmp_path / "1000.nt"
    file.write_text("_:b <u:p> _:b .\n")
    (batch,) = spectra.read(tmp_path).batches(Summary.everything(), Quarantine())
    assert batch is not None
    text = batch.text[batch.start[0, 0] :][: batch.length[0, 0]].tobytes().decode()
    assert [row[2] for row in rows_of([file], Recipe(FILE))] == [text]


def test_times_of_files_that_cannot_be_opened(tmp_path: Path) -> None:
    file = tmp_path / "x.nt"
    file.write_text("<u:a> <u:p> <u:b> .\n")
    os.utime(file, (5, 5))
    for content in (False, True):
        assert [row[0] for row in rows_of([file], Recipe(FILE, time_from="mtime"), content=content)] == [5000]
    compressed = tmp_path / "7000.nt.gz"
    compressed.write_bytes(gzip.compress(file.read_bytes()))
    assert [row[0] for row in rows_of([compressed], Recipe(FILE), content=True)] == [7000]


def test_one_file_is_numbered(tmp_path: Path) -> None:
    file = tmp_path / "x.nt"
    file.write_text("".join(f"<u:a> <u:p> <u:b{n}> .\n" for n in range(3)))
    rows = rows_of([file], Recipe(TRIPLES, event_size=2, start=500, interval=10))
    assert [(row[0], row[1], row[4]) for row in rows] == [
        (500, f"{file}#0", "<u:b0>"),
        (500, f"{file}#0", "<u:b1>"),
        (510, f"{file}#1", "<u:b2>"),
    ]


def test_quads_are_timed_in_their_own_file(tmp_path: Path) -> None:
    one, two = tmp_path / "1.nq", tmp_path / "2.nq"
    time = f'<u:g> {GENERATED} "1970-01-01T00:00:01Z"^^{DATE_TIME} .\n'
    one.write_text(time + "<u:a> <u:p> <u:b> <u:g> .\n")
    two.write_text("<u:a> <u:p> <u:c> <u:g> .\n")
    quarantine = tmp_path / "aside"
    assert [row[4] for row in rows_of([one, two], Recipe(FILE), quarantine=quarantine)] == ["<u:b>"]
    (kept,) = quarantine.iterdir()
    record = {"file": str(two), "line": 1, "reason": "graph without a time", "text": "<u:a> <u:p> <u:c> <u:g> ."}
    assert json.loads(kept.read_text()) == record


def test_what_a_patch_says_last_counts(tmp_path: Path) -> None:
    file = tmp_path / "x.rdfp"
    changes = ("A <u:1>", "D <u:1>", "D <u:2>", "A <u:2>", "A <u:3>", "D <u:4>")
    lines = [f"{change} <u:p> <u:o> .\n" for change in changes]
    file.write_text(f'TX .\nH time "1970-01-01T00:00:01Z"^^{DATE_TIME} .\n{"".join(lines)}TC .\n')
    rows = rows_of([file], Recipe(FILE))
    assert [(row[2], row[5]) for row in rows] == [("<u:1>", "-"), ("<u:2>", "+"), ("<u:3>", "+"), ("<u:4>", "-")]


def test_a_task_that_is_tried_again_sets_the_same_lines_aside(tmp_path: Path) -> None:
    file, quarantine = tmp_path / "1000.nt", tmp_path / "aside" / "lines"
    file.write_text("nonsense\n<u:a> <u:p> <u:b> .\nmore\n")
    for _ in range(2):
        assert len(rows_of([file], Recipe(FILE), quarantine=quarantine)) == 1
    (kept,) = quarantine.iterdir()
    assert [json.loads(line)["line"] for line in kept.read_text().splitlines()] == [1, 3]


# --- on Spark -------------------------------------------------------------------------------


def transfers(folder: Path) -> None:
    folder.mkdir()
    for time, text in (
        (1000, "<u:ann> <u:pays> <u:bob> .\n"),
        (3000, "<u:bob> <u:pays> <u:cat> .\n<u:bob> <u:knows> <u:cat> .\n"),
        (6000, "<u:ann> <u:pays> <u:bob> .\nnonsense\n"),
        (12000, "<u:cat> <u:pays> <u:dan> .\n<u:dan> <u:pays> <u:ann> .\n"),
        (20000, "# nothing\n"),
        (90000, "# nothing\n"),
    ):
        path = folder / f"{time}.nt"
        path.write_text(text)
        os.utime(path, (time, time))


def test_a_folder_to_changes(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    transfers(tmp_path / "in")
    query = "REGISTER CHANGES <u:q> AS SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE PT10S STEP PT5S] "
    query += "WHERE { WINDOW <u:w> { ?x <u:pays>+ ?y } }"
    aside = tmp_path / "aside"
    events = read_stream(spark, tmp_path / "in", quarantine=aside, options={"maxFilesPerTrigger": 4})
    assert events.isStreaming
    told, progress = changes_of(spark, continuous(events, query, shards=2), checkpoint)
    engine = spectra.Engine()
    engine.register(query)
    assert told == lines_of_batches(engine.run(spectra.read(tmp_path / "in")).batches())
    assert len(progress) == 2
    assert [json.loads(file.read_text())["text"] for file in aside.iterdir()] == ["nonsense"]


def test_one_file_by_its_name(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    for name in ("a b.nt", "other.nt"):
        (tmp_path / name).write_text("".join(f"<u:{n}> <u:pays> <u:{n + 1}> .\n" for n in range(3)))
    events = read_stream(spark, tmp_path / "a b.nt", start=1000, interval="PT2S")
    rows = collected(spark, events, checkpoint)
    assert rows == [
        (1000 + 2000 * n, f"{tmp_path}/a b.nt#{n}", f"<u:{n}>", "<u:pays>", f"<u:{n + 1}>") for n in range(3)
    ]


def collected(spark: SparkSession, events: DataFrame, checkpoint: str) -> Rows:
    running = (
        events.writeStream.format("memory")
        .queryName("events")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    columns = ("unix_millis(time)", "event", "subject", "predicate", "object")
    found = [tuple(row) for row in spark.table("events").selectExpr(*columns).collect()]
    spark.sql("drop view events")
    return sorted(found)


def test_events_of_any_shape(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    """No `event`, no `op`, times as timestamps; rows of one time are one event."""
    folder = tmp_path / "in"
    folder.mkdir()
    rows = [
        {"time": "1970-01-01T00:00:01Z", "subject": "<u:a>", "predicate": "<u:p>", "object": "<u:b>"},
        {"time": "1970-01-01T00:00:01Z", "subject": "<u:b>", "predicate": "<u:\\u0070>", "object": "<u:c>"},
        {"time": "1970-01-01T01:00:00Z"},
    ]
    (folder / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    schema = "time timestamp, subject string, predicate string, object string"
    events = spark.readStream.schema(schema).json(str(folder))
    changes = continuous(events, "SELECT ?x ?y { ?x <u:p>+ ?y }", range="PT10S", step="PT5S", name="u:q", shards=1)
    told, _ = changes_of(spark, changes, checkpoint)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    assert told == Counter((1000, "+", (("x", f"<u:{x}>"), ("y", f"<u:{y}>")), 10_000) for x, y in pairs)


def test_wrong_calls(spark: SparkSession, tmp_path: Path) -> None:
    query = "SELECT * { ?x <u:p> ?y }"
    good = "time bigint, subject string, predicate string, object string"
    events = spark.readStream.schema(good).json(str(tmp_path))
    with pytest.raises(QueryError, match="no column object"):
        continuous(events.drop("object"), query, range="PT1S")
    with pytest.raises(QueryError, match="the column time is of type string"):
        continuous(events.selectExpr("string(time) time", "subject", "predicate", "object"), query, range="PT1S")
    with pytest.raises(QueryError, match="number of shards out of range: 0"):
        continuous(events, query, range="PT1S", shards=0)
    with pytest.raises(QueryError, match="no events given"):
        continuous({}, query, range="PT1S")
    with pytest.raises(QueryError):
        continuous(events, "SELECT nonsense", range="PT1S")
    with pytest.raises(StreamError, match="unknown origin of times"):
        read_stream(spark, tmp_path, time_from="nowhere")
    assert continuous(events, query, range="PT1S").columns == ["query", "at", "op", "bindings", "until", "paths"]


def test_blank_nodes_of_static_files_keep_their_names(spark: SparkSession, tmp_path: Path) -> None:
    from spectra.spark.dataframes import _static_graphs
    from spectra.sparql import parse_query

    (tmp_path / "people.ttl").write_text("[] <u:p> [] . <u:a> <u:p> <u:b> .")
    query = parse_query(
        "SELECT * FROM <people.ttl> FROM NAMED WINDOW <u:w> ON <u:s> [RANGE PT1S] WHERE { ?x <u:p> ?y }",
        range=None,
        step=None,
        name=None,
    )
    once, again = (_static_graphs(query, {}, tmp_path) for _ in range(2))
    assert once == again
    assert len({term for triple in once["people.ttl"] for term in triple if term.startswith("_:")}) == 2
