"""`continuous`: whatever the shards, partitions and micro-batches, what it tells is what the embedded engine tells."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import struct
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row as SparkRow

from spectra.changes import ChangeBatch
from spectra.clock import FOREVER
from spectra.engine import Engine
from spectra.errors import QueryError
from spectra.planner.division import division
from spectra.spark import continuous, scaleout
from spectra.spark.scaleout import Packer, ShardProcessor, change_rows, shard_keys
from spectra.spark.shard import Shard, Specification, pack_changes
from spectra.sparql.query import Form
from spectra.streams.memory import from_triples

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

STREAM = "u:s"
WINDOW = "FROM NAMED WINDOW <u:w> ON <u:s> [RANGE PT10S STEP PT5S]"
LATER = 10_000_000
XSD_BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"
STATIC = {"urn:people": [(f"<u:n{n}>", "<u:a>", "<u:Suspect>") for n in (1, 3)]}

PATH = f"REGISTER CHANGES <u:path> AS SELECT ?x ?y {WINDOW} WHERE {{ WINDOW <u:w> {{ ?x <u:p>+ ?y }} }}"
QUERIES = {
    "star": f"REGISTER ISTREAM <u:star> AS SELECT * {WINDOW} WHERE {{ WINDOW <u:w> {{ ?x <u:p> ?a . ?x <u:q> ?b }} }}",
    "chain": f"REGISTER CHANGES <u:chain> AS SELECT ?a ?c {WINDOW} "
    "WHERE { WINDOW <u:w> { ?a <u:p> ?b . ?b <u:q> ?c } }",
    "union": f"REGISTER CHANGES <u:union> AS SELECT ?x ?y {WINDOW} "
    "WHERE { WINDOW <u:w> { { ?x <u:p> ?y } UNION { ?y <u:q> ?x } } }",
    "filter": f"REGISTER DSTREAM <u:filter> AS SELECT ?x ?y {WINDOW} "
    "WHERE { WINDOW <u:w> { ?x <u:p>/<u:q> ?y FILTER(?x != ?y) } }",
    "distinct": f"REGISTER CHANGES <u:distinct> AS SELECT DISTINCT ?x {WINDOW} "
    "WHERE { WINDOW <u:w> { ?x (<u:p>|<u:q>)+ ?y } }",
    "close": f"REGISTER RSTREAM <u:close> AS SELECT ?x ?y {WINDOW} WHERE {{ WINDOW <u:w> {{ ?x <u:p>+ ?y }} }}",
    "construct": "REGISTER CHANGES <u:construct> AS CONSTRUCT { ?x <u:reaches> ?y } "
    f"{WINDOW} WHERE {{ WINDOW <u:w> {{ ?x <u:p>+ ?y }} }}",
    "ask": f"REGISTER CHANGES <u:ask> AS ASK {WINDOW} WHERE {{ WINDOW <u:w> {{ <u:n0> <u:p>+ <u:n1> }} }}",
    "static": f"REGISTER CHANGES <u:static> AS SELECT ?x ?y {WINDOW} FROM <urn:people> "
    "WHERE { WINDOW <u:w> { ?x <u:p>+ ?y } ?y <u:a> <u:Suspect> }",
    "count": "REGISTER CHANGES <u:count> AS SELECT ?x ?y FROM NAMED WINDOW <u:w> ON <u:s> [ELEMENTS 6 STEP 2] "
    "WHERE { WINDOW <u:w> { ?x <u:p>+ ?y } }",
    "event": "REGISTER ISTREAM <u:event> AS SELECT ?x ?z FROM NAMED WINDOW <u:w> ON <u:s> [EVENT] FROM <urn:people> "
    "WHERE { WINDOW <u:w> { ?x <u:p> ?y OPTIONAL { ?y (<u:p>|<u:q>)+ ?z } } ?y <u:a> <u:Suspect> }",
    "ask each event": "REGISTER CHANGES <u:each> AS ASK FROM NAMED WINDOW <u:w> ON <u:s> [EVENT] "
    "WHERE { WINDOW <u:w> { ?x <u:p> ?y } }",
    "lateness": PATH.replace("STEP PT5S", "STEP PT5S LATENESS PT4S"),
}

#: (instant, op, bindings, until)
Line = tuple[int, str, tuple[tuple[str, str], ...], int | None]


class Event(NamedTuple):
    time: int
    key: str
    added: list[tuple[str, str, str]]
    deleted: list[tuple[str, str, str]]

    def rows(self) -> list[dict[str, Any]]:
        about = {"time": self.time, "event": self.key}
        signed = [(triple, "+") for triple in self.added] + [(triple, "-") for triple in self.deleted]
        terms = ("subject", "predicate", "object")
        rows = [{**about, **dict(zip(terms, triple, strict=True)), "op": op} for triple, op in signed]
        return rows or [about]


def generated(seed: int, count: int = 40) -> list[Event]:
    """Events in time order, some of one instant, with deletions, repetitions and empty ones."""
    rng = random.Random(seed)

    def triples(most: int) -> list[tuple[str, str, str]]:
        predicates = ("<u:p>", "<u:p>", "<u:q>", "<u:unused>")
        return [
            (f"<u:n{rng.randrange(5)}>", rng.choice(predicates), f"<u:n{rng.randrange(5)}>")
            for _ in range(rng.randrange(most))
        ]

    events, time = [], 0
    for number in range(count):
        time += rng.choice((0, 400, 1000, 2500))
        added = triples(4)
        events.append(Event(time, f"f#{number}", added, [t for t in triples(2) if t not in added]))
    return events


EVENTS = generated(7)


def embedded(query: str, events: Sequence[Event], static: Mapping[str, Any] | None = None) -> Counter[Line]:
    engine = Engine()
    engine.register(query, static=static)
    told = []
    for event in events:
        batch = from_triples(STREAM, event.time, event.added, event.deleted)
        told += engine.offer([batch], complete=False)
    return lines_of_batches(told + engine.drain())


def lines_of_batches(batches: Iterable[ChangeBatch]) -> Counter[Line]:
    lines: Counter[Line] = Counter()
    for batch in batches:
        variables = ("subject", "predicate", "object") if batch.form is Form.CONSTRUCT else batch.variables
        for at, op, until, row, boolean in batch.rows():
            pairs = [(name, batch.terms[code]) for name, code in zip(variables, row, strict=True) if code >= 0]
            if boolean is not None:
                pairs = [("boolean", f'"{str(boolean).lower()}"^^<{XSD_BOOLEAN}>')]
            ends = op >= 0 and until < FOREVER and boolean is None
            lines[at, "-=+"[op + 1], tuple(sorted(pairs)), until if ends else None] += 1
    return lines


# --- without a session ----------------------------------------------------------------------

ROWS = pa.schema(
    [
        ("time", pa.int64()),
        ("known", pa.bool_()),
        ("deleted", pa.bool_()),
        *((name, pa.string()) for name in ("event", "subject", "predicate", "object")),
    ]
)


def packed(packer: Packer, rows: list[dict[str, Any]]) -> tuple[list[bytes], int]:
    """(a portion for each shard, bad rows)."""
    (batch,) = packer(iter([pa.RecordBatch.from_pylist(rows, schema=ROWS)]))
    return batch.column("portion").to_pylist(), sum(batch.column("bad").to_pylist())


def prepared(event: Event) -> list[dict[str, Any]]:
    return [{**row, "known": True, "deleted": row.get("op") == "-"} for row in event.rows()]


def in_shards(query: str, events: Sequence[Event], shards: int, batch_size: int, seed: int) -> Counter[Line]:
    """What shards tell, with the rows of each batch spread at random, and restored from saved states now and then."""
    rng = random.Random(seed)
    engine = Engine()
    registered = engine.register(query, static=STATIC)
    divided = division(registered.query, registered.physical)
    specification = Specification(query, None, None, None, STATIC, (STREAM,), shards, None)
    specification = Specification.loads(specification.dumps())
    living = [Shard(specification, number) for number in range(shards)]
    packer = Packer(STREAM, divided, tuple(shard_keys(shards, 2)), "ELEMENTS" in query or "EVENT" in query)
    told: list[ChangeBatch] = []
    last = {"time": LATER, "known": False, "deleted": False}
    for first in range(0, len(events) + batch_size, batch_size):
        rows = [row for event in events[first : first + batch_size] for row in prepared(event)]
        rows = rows if first < len(events) else [last]
        rng.shuffle(rows)
        partitions = [packed(packer, part)[0] for part in (rows[0::3], rows[1::3], rows[2::3]) if part]
        rng.shuffle(partitions)
        for number, shard in enumerate(living):
            told += shard.apply([partition[number] for partition in partitions])
            if rng.random() < 0.3:
                living[number] = Shard(specification, number)
                living[number].restore(shard.saved())
    return lines_of_batches(told)


@pytest.mark.parametrize("name", [*QUERIES, "path"])
def test_shards_together_tell_what_one_engine_tells(name: str) -> None:
    query = QUERIES.get(name, PATH)
    for seed, (shards, batch_size) in enumerate([(1, 1), (2, 5), (3, 40)]):
        events = generated(seed)
        wanted = embedded(query, events, STATIC)
        assert wanted
        assert in_shards(query, events, shards, batch_size, seed) == wanted, (shards, batch_size)


def test_two_streams_wait_for_each_other() -> None:
    query = (
        "REGISTER CHANGES <u:two> AS SELECT ?x ?y FROM NAMED WINDOW <u:v> ON <u:a> [RANGE PT10S STEP PT5S] "
        "FROM NAMED WINDOW <u:w> ON <u:b> [RANGE PT10S STEP PT5S] "
        "WHERE { WINDOW <u:v> { ?x <u:p> ?m } WINDOW <u:w> { ?m <u:p> ?y } }"
    )
    engine = Engine()
    registered = engine.register(query)
    divided = division(registered.query, registered.physical)
    shard = Shard(Specification(query, None, None, None, {}, ("u:a", "u:b"), 1, None), 0)

    def told(stream: str, time: int, *triples: tuple[str, str, str]) -> list[tuple[int, str]]:
        rows = prepared(Event(time, "", list(triples), []))
        lines = lines_of_batches(shard.apply(packed(Packer(stream, divided, (0,), False), rows)[0]))
        return sorted((at, op) for at, op, *_ in lines)

    assert told("u:a", 1000, ("<u:1>", "<u:p>", "<u:2>")) == []
    assert told("u:a", 9000) == []
    assert told("u:b", 2000, ("<u:2>", "<u:p>", "<u:3>")) == [], "its instant may go on"
    assert told("u:b", 30_000) == [(2000, "+")], "the other stream is at 9000"
    assert told("u:a", 30_000) == [(10_000, "-")]


def test_rows_that_are_no_triples_are_set_aside() -> None:
    engine = Engine()
    registered = engine.register(PATH)
    packer = Packer(STREAM, division(registered.query, registered.physical), (0,), True)
    good = [
        ("<u:a>", "<u:p>", "<u:b>"),
        ("_:a", "<u:p>", '"a\\nb"@EN'),
        ("<u:\\u0041>", "<u:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#string>'),
        ("<u:a>", "<u:p>", '"a # b . c"'),
    ]
    bad = [
        ('"literal"', "<u:p>", "<u:b>"),
        ("<u:a>", "_:p", "<u:b>"),
        ("<u:a>", "<u:p>", '"x" . # "'),
        ("<u:a>", "<u:p>", "<u:b> ."),
        ("<u:a> <u:b>", "<u:p>", "<u:c>"),
        ("<u:a>", "<u:p>", '"line\nend"'),
        ("<u:a>", "<u:p>", '"x" .\n<u:a> <u:p> "y"'),
        ("<u:a>", "<u:p>", ""),
        ("<u:a>", "<u:p>", "plain"),
        ("<u:a>", "<u:p>", None),
    ]
    rows = [
        {"time": 1, "known": True, "deleted": False, **dict(zip(("subject", "predicate", "object"), row, strict=True))}
        for row in good + bad
    ]
    rows.append({**rows[0], "time": None})
    rows.append({**rows[0], "deleted": None})
    rows.append({"time": 5, "known": False, "deleted": False})
    assert packed(packer, rows)[1] == len(bad) + 2
    assert packed(packer, rows[: len(good)])[1] == 0


def test_many_changes_are_unpacked_in_parts() -> None:
    count = 200_000
    batch = ChangeBatch(
        "u:q",
        Form.SELECT,
        ("x", "y"),
        at=np.arange(count),
        op=np.tile(np.array([1, -1], np.int8), count // 2),
        until=np.where(np.arange(count) % 3 == 0, FOREVER, np.arange(count) + 5),
        codes=np.stack([np.arange(count) % 3, np.arange(count) % 4 - 1], axis=1).astype(np.int32),
        terms=["<u:a>", '"é"', "<u:c>"],
    )
    column = pa.array([None, pack_changes(batch)], pa.binary())
    parts = list(change_rows(iter([pa.RecordBatch.from_arrays([column], ["changes"])])))
    assert len(parts) > 1
    table = pa.Table.from_batches(parts)
    assert table.num_rows == count
    rows = table.slice(0, 5).to_pylist()
    assert [dict(row["bindings"]) for row in rows] == [
        {"x": "<u:a>"},
        {"x": '"é"', "y": "<u:a>"},
        {"x": "<u:c>", "y": '"é"'},
        {"x": "<u:a>", "y": "<u:c>"},
        {"x": '"é"'},
    ]
    assert [row["until"] is None for row in rows] == [True, True, False, True, False]
    assert [row["op"] for row in rows] == ["+", "-", "+", "-", "+"]


def new_residents(before: set[Path]) -> list[Path]:
    return sorted(residents() - before)


def residents() -> set[Path]:
    folder = Path(tempfile.gettempdir()) / f"spectra-{os.getuid()}"
    return {path for path in folder.glob("*") if path.is_socket()}


def kill(paths: Iterable[Path]) -> None:
    for path in paths:
        # of one that was killed before, the socket is still there
        with socket.socket(socket.AF_UNIX) as connection, suppress(ConnectionRefusedError):
            connection.connect(str(path))
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            os.kill(struct.unpack("3i", credentials)[0], signal.SIGKILL)


class _Value:
    """Spark's state of one value."""

    def __init__(self) -> None:
        self.value: tuple[Any, ...] | None = None

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value


class _List:
    """Spark's state of many values."""

    def __init__(self) -> None:
        self.values: list[tuple[Any, ...]] = []

    def get(self) -> list[tuple[Any, ...]]:
        return self.values

    def appendValue(self, value: tuple[Any, ...]) -> None:
        self.values.append(value)

    def clear(self) -> None:
        self.values = []


class _Handle:
    """What the stateful operator gives a processor."""

    def __init__(self) -> None:
        self.states: dict[str, Any] = {}

    def getValueState(self, name: str, schema: str) -> _Value:
        return self.states.setdefault(name, _Value())

    def getListState(self, name: str, schema: str) -> _List:
        return self.states.setdefault(name, _List())


def test_a_saved_state_takes_the_place_of_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaleout, "_LEAST_BASE", 2000)
    monkeypatch.setattr(tempfile, "tempdir", tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    engine = Engine()
    registered = engine.register(PATH)
    packer = Packer(STREAM, division(registered.query, registered.physical), (7,), False)
    specification = Specification(PATH, None, None, None, {}, (STREAM,), 1, None).dumps()
    handle = _Handle()
    told: list[dict[str, Any]] = []
    bases, most = 0, 0
    for first in range(0, len(EVENTS) + 4, 4):
        rows = [row for event in EVENTS[first : first + 4] for row in prepared(event)]
        rows = rows or [{"time": LATER, "known": False, "deleted": False}]
        (portion,), _ = packed(packer, rows)
        processor = ShardProcessor(specification, (7,), "call")
        processor.init(handle)  # type: ignore[arg-type]
        before = handle.states["base"].value
        answer = list(processor.handleInputRows((7,), iter([SparkRow(portion=portion)]), None))
        column = pa.array([row.changes for row in answer], pa.binary())
        found = change_rows(iter([pa.RecordBatch.from_arrays([column], ["changes"])]))
        told += [row for batch in found for row in batch.to_pylist()]
        bases += handle.states["base"].value != before
        most = max(most, len(handle.states["chunks"].values))
        if first % 8 == 0:
            kill(residents())
    kill(residents())
    shutil.rmtree(tempfile.gettempdir())
    assert bases >= 2
    assert most >= 2
    lines = [(row["op"], tuple(sorted(row["bindings"]))) for row in told]
    assert Counter(lines) == Counter((op, bindings) for _, op, bindings, _ in embedded(PATH, EVENTS).elements())


# --- on Spark -------------------------------------------------------------------------------


class Source:
    """A folder that Spark reads as a stream: a JSON file for each micro-batch."""

    SCHEMA = "time bigint, event string, subject string, predicate string, object string, op string"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.count = 0

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        path = self.folder / f"{self.count:04}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        # the file source goes by times
        os.utime(path, (1_000_000 + self.count, 1_000_000 + self.count))
        self.count += 1

    def add_events(self, events: Sequence[Event], batch_size: int) -> None:
        for first in range(0, len(events), batch_size):
            self.add(row for event in events[first : first + batch_size] for row in event.rows())

    def finish(self) -> None:
        self.add([{"time": LATER}])

    def load(self, spark: SparkSession, partitions: int = 1) -> DataFrame:
        rows = spark.readStream.schema(self.SCHEMA).option("maxFilesPerTrigger", 1).json(str(self.folder))
        return rows if partitions == 1 else rows.repartition(partitions)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path / "input")


def changes_of(spark: SparkSession, changes: DataFrame, checkpoint: str) -> tuple[Counter[Line], list[Any]]:
    """All changes of what is there now, and the progress of each batch."""
    return all_changes_of(spark, {"only": changes}, checkpoint)["only"]


def all_changes_of(
    spark: SparkSession, queries: Mapping[str, DataFrame], checkpoint: str
) -> dict[str, tuple[Counter[Line], list[Any]]]:
    """The same for several queries that run beside each other."""
    running = {
        name: changes.writeStream.format("memory")
        .queryName(f"t{uuid.uuid4().hex}")
        .option("checkpointLocation", f"{checkpoint}/{name}")
        .trigger(availableNow=True)
        .start()
        for name, changes in queries.items()
    }
    found = {}
    for name, query in running.items():
        query.awaitTermination()
        assert query.name is not None
        found[name] = lines_of_rows(spark.table(query.name)), list(query.recentProgress)
        spark.sql(f"drop view {query.name}")
    return found


def lines_of_rows(rows: DataFrame) -> Counter[Line]:
    columns = ("query", "unix_millis(at) at", "op", "bindings", "unix_millis(until) until", "paths")
    found: list[Row] = rows.selectExpr(*columns).collect()
    assert all(row.query.startswith("u:") and row.paths is None for row in found)
    return Counter((row.at, row.op, tuple(sorted(row.bindings.items())), row.until) for row in found)


@pytest.mark.parametrize(("shards", "partitions", "batch_size"), [(1, 3, 40), (2, 1, 10), (5, 4, 20)], ids=str)
def test_path_on_spark(
    spark: SparkSession, source: Source, checkpoint: str, shards: int, partitions: int, batch_size: int
) -> None:
    source.add_events(EVENTS, batch_size)
    source.finish()
    changes = continuous(source.load(spark, partitions), PATH, shards=shards)
    assert changes_of(spark, changes, checkpoint)[0] == embedded(PATH, EVENTS)


@pytest.mark.parametrize("names", [("star", "close", "construct"), ("distinct", "static", "count")], ids=" ".join)
def test_queries_on_spark(spark: SparkSession, source: Source, checkpoint: str, names: tuple[str, ...]) -> None:
    source.add_events(EVENTS, 20)
    source.finish()
    queries = {
        name: continuous(source.load(spark, 2), QUERIES[name], shards=1 + at % 2, static=STATIC)
        for at, name in enumerate(names)
    }
    for name, (told, _) in all_changes_of(spark, queries, checkpoint).items():
        assert told == embedded(QUERIES[name], EVENTS, STATIC), name


def test_a_query_that_cannot_be_divided_says_why(spark: SparkSession, source: Source, checkpoint: str) -> None:
    source.add_events(EVENTS, 40)
    source.finish()
    with pytest.warns(UserWarning, match="one shard: the answer of ASK is one value"):
        changes = continuous(source.load(spark, 2), QUERIES["ask"], shards=2)
    assert changes_of(spark, changes, checkpoint)[0] == embedded(QUERIES["ask"], EVENTS)


def test_restarts_and_killed_residents_change_nothing(
    spark: SparkSession, source: Source, checkpoint: str, tmp_path: Path
) -> None:
    """Three runs from one checkpoint: the second with the same residents lost, the third with new ones."""
    sink = str(tmp_path / "output")
    before = residents()

    def run(changes: DataFrame) -> None:
        writer = changes.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        running = writer.trigger(availableNow=True).start(sink)
        running.awaitTermination()

    changes = continuous(source.load(spark), PATH, shards=2)
    source.add_events(EVENTS[:13], 7)
    run(changes)
    lost = new_residents(before)
    assert len(lost) == 2
    kill(lost)
    source.add_events(EVENTS[13:27], 7)
    run(changes)
    source.add_events(EVENTS[27:], 7)
    source.finish()
    run(continuous(source.load(spark), PATH, shards=2))
    assert lines_of_rows(spark.read.parquet(sink)) == embedded(PATH, EVENTS)
    source.finish()
    with pytest.raises(Exception, match="the checkpoint is of another query"):
        run(continuous(source.load(spark), PATH, shards=1))


def test_bad_rows_and_late_events_are_counted(spark: SparkSession, source: Source, checkpoint: str) -> None:
    triple = {"subject": "<u:1>", "predicate": "<u:p>", "object": "<u:2>"}
    source.add([{"time": 5000, **triple}, {"time": 5000, **triple, "object": "no term"}, {"time": None, **triple}])
    source.add([{"time": 1000, **triple, "object": "<u:late>"}, {"time": 6000, **triple, "op": "?"}])
    source.finish()
    told, progress = changes_of(spark, continuous(source.load(spark), PATH, shards=2), checkpoint)
    bindings = (("x", "<u:1>"), ("y", "<u:2>"))
    assert told == Counter({(5000, "+", bindings, 15_000): 1, (15_000, "-", bindings, None): 1})
    metrics = [batch["observedMetrics"] for batch in progress]
    assert [each["bad rows of <u:path>"]["count"] for each in metrics] == [2, 1, 0]
    assert [each["late events of <u:path>"]["count"] for each in metrics] == [0, 1, 0]


def test_several_streams(spark: SparkSession, tmp_path: Path, checkpoint: str) -> None:
    query = (
        "REGISTER CHANGES <u:two> AS SELECT ?x ?y FROM NAMED WINDOW <u:v> ON <u:a> [RANGE PT10S STEP PT5S] "
        "FROM NAMED WINDOW <u:w> ON <u:b> [RANGE PT10S STEP PT5S] "
        "WHERE { WINDOW <u:v> { ?x <u:p> ?m } WINDOW <u:w> { ?m <u:p> ?y } }"
    )
    one, other = Source(tmp_path / "a"), Source(tmp_path / "b")
    one.add([{"time": 1000, "subject": "<u:1>", "predicate": "<u:p>", "object": "<u:2>"}])
    one.finish()
    other.add([{"time": 2000, "subject": "<u:2>", "predicate": "<u:p>", "object": "<u:3>"}])
    other.finish()
    changes = continuous({"u:a": one.load(spark), "u:b": other.load(spark)}, query, shards=2)
    bindings = (("x", "<u:1>"), ("y", "<u:3>"))
    assert changes_of(spark, changes, checkpoint)[0] == Counter(
        {(2000, "+", bindings, 10_000): 1, (10_000, "-", bindings, None): 1}
    )
    with pytest.raises(QueryError, match="no events for the stream <u:b>"):
        continuous({"u:a": one.load(spark)}, query)
    with pytest.raises(QueryError, match="which stream"):
        continuous(one.load(spark), query)


def test_keys_go_to_partitions_of_their_own(spark: SparkSession) -> None:
    for shards, partitions in ((2, 2), (5, 8), (5, 3)):
        keys = shard_keys(shards, partitions)
        assert len(set(keys)) == shards
        rows = spark.createDataFrame([(key,) for key in keys], "key int")
        found = [row[0] for row in rows.selectExpr(f"pmod(hash(key), {partitions})").collect()]
        assert found == [shard % partitions for shard in range(shards)]
