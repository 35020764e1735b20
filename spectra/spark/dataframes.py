"""Streaming DataFrames: of events from files, and of the changes of a continuous query.

events = read_stream(spark, "transfers/")
changes = continuous(events, query)
changes.writeStream.format("parquet")…
"""

from __future__ import annotations

import re
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from pyspark.sql import functions as F  # noqa: N812 - the name that all users of Spark know it by
from pyspark.sql.types import IntegerType, LongType, TimestampNTZType, TimestampType

from spectra.clock import TimeLike
from spectra.engine import Engine
from spectra.errors import QueryError
from spectra.planner.division import Division, division, sees_everything
from spectra.spark.files import EVENTS, FileEvents
from spectra.spark.scaleout import PORTIONS, TOLD, Packer, ShardProcessor, change_rows, shard_keys
from spectra.spark.shard import Specification
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery, WindowKind
from spectra.static import Triple, load_static
from spectra.streams.files import FORMS, InputFile
from spectra.streams.kernels.statements import TRIPLES
from spectra.streams.source import Source
from spectra.timeline import ANY_STREAM

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Columns of changes.
CHANGES = (
    "query string, at timestamp, op string, bindings map<string,string>, until timestamp, "
    "paths array<struct<from:string,to:string,edges:array<array<string>>>>"
)

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_PACKAGE = "org.apache.spark.sql.execution.streaming.state"
_FILES = "path string, modificationTime timestamp, length bigint, content binary"


def read_stream(
    spark: SparkSession,
    path: str | Path,
    *,
    time_from: str = "name",
    event_size: int = 1,
    start: TimeLike = 0,
    interval: str | int = "PT1S",
    quarantine: str | Path | None = None,
    options: Mapping[str, str | int] | None = None,
) -> DataFrame:
    """The events of a folder or file as a streaming DataFrame, a row per triple.

    The columns are `time`, `event` (the file and the event's number in it), `subject`, `predicate`, `object` in
    canonical N-Triples, and `op`, "+" or "-". An event without triples is a row without terms. Files are parsed by the
    rules of `spectra.read`, each by itself: the time of a graph in N-Quads stands in the same file. Spark leaves out
    files of no bytes at all; one with an empty line is an event without triples.

    Parameters
    ----------
    spark
        The session.
    path
        A folder, a glob or a file: anything that Spark can read. Files must come into a folder whole.
    time_from, event_size, start, interval
        As in `spectra.read`.
    quarantine
        A folder, reachable from the executors, for bad lines: a JSON-lines file for each file that has some. Without
        it they are dropped.
    options
        Of Spark's file source, such as `maxFilesPerTrigger`. It takes files in the order of their modification: events
        that are to be in order must be so by then too, or within the query's LATENESS.
    """
    file = InputFile(str(path), Path(path))
    # the checks of `spectra.read`, for files that need not be on this machine
    source = Source("*", time_from=time_from, event_size=event_size, start=start, interval=interval)
    recipe = source.recipe([InputFile("*.nt", Path("*.nt"))])
    folder, names = str(path), f"*.{{{','.join(form + packed for form in FORMS for packed in ('', '.gz'))}}}"
    if file.form and not re.search(r"[*?\[{]", file.name):
        # Spark lists folders only
        folder, names = file.name.rpartition("/")[0] or ("/" if file.name.startswith("/") else "."), file.path.name
        recipe = replace(recipe, form=TRIPLES)
    files = (
        spark.readStream.format("binaryFile")
        .schema(_FILES)
        .options(**dict(options or {}))
        .option("pathGlobFilter", names)
        .load(folder)
    )
    columns: list[Column | str] = ["path", F.unix_millis("modificationTime").alias("modified")]
    if not _is_local(spark, folder):
        columns.append("content")
    parse = FileEvents(recipe, None if quarantine is None else str(Path(quarantine).absolute()))
    return files.select(*columns).mapInArrow(parse, EVENTS)


def _is_local(spark: SparkSession, path: str) -> bool:
    """Whether Python workers can open the files themselves; then their content need not go through the JVM."""
    scheme = urlparse(path).scheme
    if not scheme:
        scheme = urlparse(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///")).scheme
    return scheme == "file"


def continuous(
    events: DataFrame | Mapping[str, DataFrame],
    query: str,
    *,
    shards: int | None = None,
    range: str | int | None = None,  # noqa: A002 - the word of the query language
    step: str | int | None = None,
    name: str | None = None,
    static: Mapping[str, Any] | None = None,
    folder: str | Path = ".",
    state_limit: int | None = None,
) -> DataFrame:
    """The changes that a query tells of streaming DataFrames of events, as a streaming DataFrame.

    Columns of the changes: `query`, `at`, `op` (+ entered, - left, = part of the answer), `bindings` (variables to
    terms in N-Triples; of ASK `boolean`, of CONSTRUCT `subject`, `predicate`, `object` and, if it is a named one,
    `graph`), `until` (null: not by itself) and `paths`.

    Columns of the events: `time` (a timestamp or integer milliseconds), `subject`, `predicate`, `object` in
    N-Triples syntax, and optionally `op` ("-" deletes) and `event`: rows of one time with one key are one event, those
    without a key together. Keys such as `file#17` are compared by the number. A row with a time and neither key nor
    terms says that time has come so far. Rows that cannot be read are set aside and counted in the progress of
    the streaming query: `observedMetrics["bad rows of <name>"].count`, where `<name>` is the query's; events that come
    too late likewise: `observedMetrics["late events of <name>"].count`.

    An instant is told when all streams have come past it (less the query's LATENESS), so the last one waits for
    a later event. How rows are spread over partitions and micro-batches does not matter.

    Parameters
    ----------
    events
        The stream, or several by their IRIs.
    query
        In RSP-QL, or plain SPARQL with `range` and `step`.
    shards
        Among how many Python processes the work is divided (default: one for each core, at most one for each of
        `spark.sql.shuffle.partitions`); a query that cannot be divided has one. A checkpoint is of one number of
        shards.
    range, step, name, static, folder
        As in `Engine.register`. Static data is read here, once.
    state_limit
        Most bytes that views and operators of one shard may take.
    """
    given = dict(events) if isinstance(events, Mapping) else {ANY_STREAM: events}
    if not given:
        raise QueryError("no events given", hint="Pass a streaming DataFrame, or several by the IRIs of their streams.")
    parsed = parse_query(query, range=range, step=step, name=name)
    graphs = _static_graphs(parsed, static or {}, Path(folder))
    engine = Engine()
    registered = engine.register(query, range=range, step=step, name=name, static=graphs)
    frames = _by_stream(given, engine)
    spark = next(iter(frames.values())).sparkSession
    _use_rocksdb(spark)
    divided = division(registered.query, registered.physical)
    keys = tuple(_keys(spark, shards, divided))
    portions = []
    for stream, frame in frames.items():
        packer = Packer(stream, divided, keys, _shows_events(registered.query))
        portions.append(_rows(frame, _predicates(engine, stream)).mapInArrow(packer, PORTIONS))
    specification = Specification(query, range, step, name, graphs, tuple(frames), len(keys), state_limit)
    processor = ShardProcessor(specification.dumps(), keys, uuid.uuid4().hex)
    return (
        reduce(lambda one, other: one.unionAll(other), portions)
        .observe(f"bad rows of <{registered.name}>", F.sum("bad").alias("count"))
        .groupBy("shard")
        .transformWithState(processor, TOLD, "Append", "None")
        .observe(f"late events of <{registered.name}>", F.max("late").alias("count"))
        .mapInArrow(change_rows, CHANGES)
    )


def _by_stream(given: dict[str, DataFrame], engine: Engine) -> dict[str, DataFrame]:
    """The frames under the names that the query's windows have."""
    if list(given) == [ANY_STREAM]:
        return {engine.the_stream(None): given[ANY_STREAM]}
    missing = [stream for stream in engine.streams if stream not in given and stream != ANY_STREAM]
    if missing:
        listed = ", ".join(f"<{stream}>" for stream in missing)
        raise QueryError(f"no events for the stream {listed}", hint="Pass events={stream: DataFrame, …}.")
    return given


def _use_rocksdb(spark: SparkSession) -> None:
    """The stateful operator works with this store only; one that the user chose stays."""
    if spark.conf.get(_PROVIDER, "") in ("", f"{_PACKAGE}.HDFSBackedStateStoreProvider"):
        spark.conf.set(_PROVIDER, f"{_PACKAGE}.RocksDBStateStoreProvider")


def _keys(spark: SparkSession, shards: int | None, divided: Division) -> list[int]:
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    if shards is not None and shards < 1:
        raise QueryError(f"number of shards out of range: {shards}", hint="There is at least one.")
    wanted = min(partitions, spark.sparkContext.defaultParallelism) if shards is None else shards
    if wanted > 1 and divided.variable is None:
        warnings.warn(f"the query runs in one shard: {divided.reason}", stacklevel=3)
        wanted = 1
    return shard_keys(wanted, partitions)


def _static_graphs(query: ContinuousQuery, given: Mapping[str, Any], folder: Path) -> dict[str, list[Triple]]:
    """The static graphs of a query, loaded here, since executors need not have the files.

    Blank nodes of a file are numbered as they come, so that they are called the same after a restart.
    """
    graphs = {}
    for iri in (*query.static, *query.static_named):
        triples = load_static(iri, folder, given)
        if iri not in given or isinstance(given[iri], (str, Path)):
            scope = blake2b(iri.encode(), digest_size=16).hexdigest()
            blank = dict.fromkeys(term for triple in triples for term in triple if term.startswith("_:"))
            labels = {old: f"_:b{number}.{scope}" for number, old in enumerate(blank)}
            triples = [(labels.get(s, s), p, labels.get(o, o)) for s, p, o in triples]
        graphs[iri] = sorted(triples)
    return graphs


def _shows_events(query: ContinuousQuery) -> bool:
    """Whether it shows that there was an event of which no triple can be used."""
    return sees_everything(query) or any(window.spec.kind is not WindowKind.TIME for window in query.windows)


def _predicates(engine: Engine, stream: str) -> list[str] | None:
    """The predicates of all triples that the query can use; None where others may be among them."""
    windows = [window for timeline in engine.timelines for window in timeline.windows if window.reads(stream)]
    wanted = {triples.terms[1] for window in windows for triples in window.wanted}
    if any(window.everything for window in windows) or None in wanted:
        return None
    return sorted(predicate for predicate in wanted if predicate is not None)


def _rows(frame: DataFrame, predicates: list[str] | None) -> DataFrame:
    """The rows as `Packer` takes them; what has another predicate loses its terms on the way, not its time."""
    terms = ("subject", "predicate", "object")
    missing = [column for column in ("time", *terms) if column not in frame.columns]
    if missing:
        raise QueryError(
            f"the events have no column {', '.join(missing)}",
            hint="The columns are time, subject, predicate, object, and optionally event and op.",
        )
    event = F.col("event").cast("string") if "event" in frame.columns else F.lit(None).cast("string")
    op = F.coalesce(F.col("op"), F.lit("+")) if "op" in frame.columns else F.lit("+")
    known = reduce(lambda one, other: one | other, (part.isNotNull() for part in (event, *map(F.col, terms))))
    usable = F.lit(True)
    if predicates is not None:
        predicate = F.col("predicate")
        # one with an escape in it may be another way to write a predicate that is wanted
        usable = predicate.isNull() | predicate.isin(predicates) | predicate.contains("\\")
    return frame.select(
        _milliseconds(frame).alias("time"),
        known.alias("known"),
        F.when(op == "+", False).when(op == "-", True).alias("deleted"),
        event.alias("event"),
        *(F.when(usable, F.col(term)).alias(term) for term in terms),
    )


def _milliseconds(frame: DataFrame) -> Column:
    match frame.schema["time"].dataType:
        case LongType() | IntegerType():
            return F.col("time").cast("bigint")
        case TimestampType():
            return F.unix_millis("time")
        case TimestampNTZType():  # UTC, as times without a zone are everywhere
            return F.expr("timestampdiff(MILLISECOND, timestamp_ntz'1970-01-01 00:00:00', time)")
        case other:
            raise QueryError(
                f"the column time is of type {other.simpleString()}",
                hint="Give a timestamp, or integer milliseconds since 1970.",
            )
