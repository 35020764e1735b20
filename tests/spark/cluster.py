"""A standalone Spark cluster on this machine: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from spectra.spark.java import find_java
from spectra.spark.sessions import java_command, spark_environment

_T = TypeVar("_T")
_EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(frozen=True, slots=True)
class Cluster:
    """`master` is the URL for a session; `workers` are the process ids of the workers."""

    master: str
    workers: tuple[int, ...]

    def executors(self) -> list[int]:
        """The process ids of the executors that run now."""
        return [child for worker in self.workers for child in children(worker) if _EXECUTOR in command(child)]

    def kill_executor(self) -> int:
        """Kill one executor with signal 9, and say which; waits for the first to be there."""
        victim = eventually(self.executors)[0]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: not running(victim))
        return victim


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a master and workers with one core and 1 GB each, whose files go below `folder`; end them all."""
    java = find_java()
    release = java.program.resolve().parents[1] / "release"
    if release.exists() and "jdk.incubator.vector" not in release.read_text():
        pytest.skip(f"Spark starts executors with a module that {java} lacks")
    environment = {**spark_environment(), "JAVA_HOME": str(release.parent)}
    options = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dspark.port.maxRetries=0")
    start = java_command(java, *options)
    port = _free_port()
    master = f"spark://127.0.0.1:{port}"
    address = ["--host", "127.0.0.1", "--webui-port", "0"]
    with ExitStack() as ending:
        log = ending.enter_context((folder / "cluster.log").open("wb"))

        def run(main: str, *arguments: str) -> int:
            process = subprocess.Popen(
                [*start, f"org.apache.spark.deploy.{main}", *address, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
            ending.callback(_end, process)
            return process.pid

        run("master.Master", "--port", str(port))
        eventually(lambda: _answers(port))
        scratch = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work")]
        yield Cluster(master, tuple(run("worker.Worker", *scratch, master) for _ in range(workers)))


def children(parent: int) -> list[int]:
    """The process ids of a process's children."""
    found: list[int] = []
    for tasks in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, tasks.read_text().split())
    return found


def descendants(parent: int) -> list[int]:
    """The process ids of a process's children, and of theirs."""
    return [each for child in children(parent) for each in (child, *descendants(child))]


def command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    return ""


def running(process: int) -> bool:
    """Whether there is such a process that has not ended."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def eventually(ask: Callable[[], _T], seconds: float = 90) -> _T:
    """The first answer that is true; fails when none is for this long."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return answer


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _free_port() -> int:
    """A port below those that the system gives out by itself, so that nobody takes it before the master does."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(10_000, lowest)
        with suppress(OSError), socket.socket() as listener:
            listener.bind(("127.0.0.1", port))
            return port


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, which ends its executors; then whatever is left of its group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
