"""The executors read: jobs over the pieces of files, whose results come back in order."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from spectra.streams.files import InputFile
from spectra.streams.ntriples import FileTime
from spectra.streams.pieces import Assembly, Recipe, Task, planned, predicate_times, read_pieces
from spectra.views.summary import Summary

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

#: Bytes of text that a task reads, unless one file has more; tasks of a job; files whose times a task finds.
TASK_BYTES, TASKS_OF_A_JOB, FILES_OF_A_TASK = 4 << 20, 16, 100


@dataclass(slots=True)
class Executors:
    """Lets the executors read: jobs of many tasks, one job ahead of what was asked for."""

    spark: SparkSession
    recipe: Recipe
    summary: Summary

    def read(self, assembly: Assembly, files: list[InputFile]) -> Iterator[bytes]:
        """What is in the files, in the order of their events, for `Assembly.add`."""
        with ThreadPoolExecutor(1) as ahead:
            files = assembly.fitting(files)
            times = ahead.submit(self._times, files).result() if self.recipe.has_times_inside else None
            tasks = planned(assembly.ordered(files, times), TASK_BYTES)
            jobs = [tasks[first : first + TASKS_OF_A_JOB] for first in range(0, len(tasks), TASKS_OF_A_JOB)]
            under_way = ahead.submit(self._read, jobs[0]) if jobs else None
            for following in [*jobs[1:], None]:
                if under_way is not None:
                    found = under_way.result()
                    under_way = ahead.submit(self._read, following) if following else None
                    yield from found

    def _read(self, tasks: list[Task]) -> list[bytes]:
        recipe, summary = self.recipe, self.summary
        return self._run(len(tasks), lambda number: read_pieces(tasks[number], recipe, summary))

    def _times(self, files: list[InputFile]) -> list[FileTime]:
        """The times that the files have inside."""
        recipe = self.recipe
        parts = [files[first : first + FILES_OF_A_TASK] for first in range(0, len(files), FILES_OF_A_TASK)]

        def found(number: int) -> Iterator[bytes]:
            yield json.dumps(predicate_times(parts[number], recipe)).encode()

        return [FileTime(*fields) for result in self._run(len(parts), found) for fields in json.loads(result)]

    def _run(self, tasks: int, work: Callable[[int], Iterator[bytes]]) -> list[bytes]:
        """What the tasks give, in order; one partition each."""

        def results(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow

            for batch in batches:
                for number in batch.column("id").to_pylist():
                    for result in work(number):
                        yield pyarrow.RecordBatch.from_pydict({"result": pyarrow.array([result], pyarrow.binary())})

        frame = self.spark.range(0, tasks, 1, max(tasks, 1)).mapInArrow(results, "result binary")
        return cast("list[bytes]", frame.toArrow().column("result").to_pylist())
