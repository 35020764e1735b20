"""Delivery: executors read, parse and prune; the driver's engine gets the events in order.

Which files there are goes to Spark as manifests, which a streaming file source watches: Spark's log says
which files belong to which micro-batch, also after a crash. The executors read pieces of the files and
send back what the queries can use; while the engine applies what one job found, the next job reads.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spectra.errors import ResourceError
from spectra.spark.executors import Executors
from spectra.spark.manifests import Manifests, listed_files
from spectra.spark.saved_times import SavedTimes
from spectra.streams.files import InputFile
from spectra.streams.pieces import Assembly
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import Source
from spectra.streams.watch import POLL, Watch
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: How often Spark looks for a new manifest, and Spectra at Spark.
_LOOK_MILLISECONDS = 50


@dataclass(slots=True)
class _MicroBatch:
    """Files that Spark gave out together; it commits them when they are `taken`."""

    number: int
    manifests: list[str]
    taken: threading.Event = field(default_factory=threading.Event)

    def files(self) -> list[InputFile]:
        return [file for text in self.manifests for file in listed_files(text)]


class Delivery:
    """A stream on disk that Spark reads; to an engine it is a `Source`.

    Parameters
    ----------
    source
        What is to be read.
    spark
        The session whose executors read.
    folder
        For manifests and Spark's log; a delivery that was stopped goes on from what is there.
    before_commit
        Called when all events of a micro-batch have been taken, before Spark notes that it is done.
    """

    def __init__(
        self, source: Source, spark: SparkSession, folder: Path, before_commit: Callable[[], None] = lambda: None
    ) -> None:
        self.stream = source.stream
        self.micro_batches = 0
        self._source = source
        self._spark = spark
        self._folder = folder.absolute()  # the JVM may be in another working directory
        self._before_commit = before_commit
        self._assembly: Assembly | None = None
        self._given_out: queue.Queue[_MicroBatch | BaseException | None] = queue.Queue()
        # at the start Spark may have to give out again what an earlier process did not come to take
        self._waits = threading.Event()
        self._stopped = threading.Event()

    def __str__(self) -> str:
        return str(self._source)

    @property
    def lines(self) -> int:
        return self._assembly.counts.lines if self._assembly else 0

    @property
    def triples(self) -> int:
        return self._assembly.counts.triples if self._assembly else 0

    @property
    def skipped(self) -> int:
        return self._assembly.counts.skipped if self._assembly else 0

    def batches(
        self,
        summary: Summary,
        quarantine: Quarantine,
        *,
        validate: bool = False,
        follow: bool = False,
        idle: float = 1.0,
        between: Callable[[], None] = lambda: None,
    ) -> Iterator[EventBatch | None]:
        """The events in the order of the input, as `Source.batches` gives them."""
        manifests = Manifests(self._folder / "manifests", self.stream)
        watch = None
        if follow:
            watch = self._source.watch()
            watch.leave_out(file.name for file in manifests.files())
        else:
            files = self._source.files()
            self._source.recipe(files)  # or says why they cannot be read
            manifests.hold_only(files)
        given = self._given(manifests, watch, idle, between)
        return self._batches(manifests, given, summary, quarantine, follow=follow, validate=validate)

    def _batches(
        self,
        manifests: Manifests,
        given_out: Iterator[_MicroBatch | None],
        summary: Summary,
        quarantine: Quarantine,
        *,
        follow: bool,
        validate: bool,
    ) -> Iterator[EventBatch | None]:
        saved_times = SavedTimes(self._folder / "times")
        executors: Executors | None = None
        watcher = self._start(manifests, follow=follow)
        try:
            for given in given_out:
                if given is None:
                    yield None
                    continue
                if executors is None or self._assembly is None:
                    recipe = self._source.recipe(manifests.files()[:1], validate=validate)
                    executors = Executors(self._spark, recipe, summary)
                    self._assembly = Assembly(recipe, quarantine)
                    self._assembly.times.update(saved_times.before(given.number))
                for result in executors.read(self._assembly, given.files()):
                    yield from self._assembly.add(result)
                yield from self._assembly.finish()
                saved_times.save(given.number, self._assembly.times)
                self._before_commit()
                self.micro_batches += 1
                given.taken.set()
        finally:
            self._stopped.set()
            watcher.join()

    def _given(
        self, manifests: Manifests, watch: Watch | None, idle: float, between: Callable[[], None]
    ) -> Iterator[_MicroBatch | None]:
        """What Spark gives out; None when nothing came, and nothing was on its way, for `idle` seconds."""
        on_the_way = 0
        quiet = 0.0
        while True:
            if watch is not None and (complete := watch.look()):
                manifests.add(complete)
                on_the_way += 1
            try:
                given = self._given_out.get(timeout=None if watch is None else POLL)
            except queue.Empty:
                between()
                quiet = 0.0 if on_the_way else quiet + POLL
                if quiet >= idle and self._waits.is_set():
                    quiet = 0.0
                    yield None
                continue
            if given is None:
                return
            if isinstance(given, BaseException):
                raise given
            quiet = 0.0
            on_the_way = max(0, on_the_way - len(given.manifests))
            yield given

    def _start(self, given: Manifests, *, follow: bool) -> threading.Thread:
        """Start the streaming query over the manifests; the thread that watches it ends with it.

        What the query gives out goes to `_given_out`. Only threads of their own wait for the JVM: an interrupt
        would leave the main thread's connection to it in the middle of an answer.
        """

        def give_out(frame: DataFrame, number: int) -> None:
            manifests = sorted(frame.collect(), key=lambda row: row.name)  # Spark would run a job more to sort them
            micro_batch = _MicroBatch(number, [row.value for row in manifests])
            self._given_out.put(micro_batch)
            while not micro_batch.taken.wait(0.1):
                if self._stopped.is_set():
                    raise RuntimeError("stopped")

        def watch() -> None:
            try:
                while query.isActive:
                    if self._stopped.is_set():
                        query.stop()
                    elif query.status["message"].startswith("Waiting"):
                        self._waits.set()
                    time.sleep(_LOOK_MILLISECONDS / 1000)
                self._given_out.put(query.exception())
            except Exception as error:  # the JVM is gone, or takes too long to stop: whoever waits must know
                self._given_out.put(error)

        stream = self._spark.readStream.format("text").option("wholetext", True).load(str(given.folder))
        writer = stream.selectExpr("value", "_metadata.file_name AS name").writeStream.foreachBatch(give_out)
        writer = writer.option("checkpointLocation", str(self._folder / "log"))
        if follow:
            writer = writer.trigger(processingTime=f"{_LOOK_MILLISECONDS} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        query = writer.start()
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        return watcher


@contextmanager
def delivered(
    sources: Sequence[Source], master: str, folder: Path | None, before_commit: Callable[[], None] | None
) -> Iterator[list[Delivery]]:
    """The sources as Spark delivers them, in the active session or in one of its own.

    `folder` keeps what is needed to go on after a stop; without it, all is forgotten at the end.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from spectra.spark.sessions import session, stop, words_of

    own = SparkSession.getActiveSession() is None
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="spectra-")))
        try:
            spark = session(master)
            if own:
                stack.callback(stop, spark)
            yield [
                Delivery(source, spark, folder / str(number), before_commit or (lambda: None))
                for number, source in enumerate(sources)
            ]
        except (PySparkException, Py4JError, ConnectionRefusedError, ConnectionResetError) as error:
            hint = f'Is "{master}" the right --master? --engine embedded runs without Spark.'
            raise ResourceError("Spark could not go on", detail="\n".join(words_of(error)[:5]), hint=hint) from None
