"""The Spark session, in a JVM that is started directly.

pyspark's own launcher starts one JVM to find out how to start the other, and asks for a module that not
every Java runtime has. Nothing here imports pyspark before a session is asked for.
"""

from __future__ import annotations

import atexit
import logging
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from spectra.errors import ResourceError
from spectra.jit import is_interpreted
from spectra.spark.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What Spark reaches by reflection (`org.apache.spark.launcher.JavaModuleOptions`), less the incubating
#: module that it can do without and that small runtimes lack.
_OPENED = (
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.lang.reflect",
    "java.base/java.io",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/jdk.internal.ref",
    "java.base/sun.nio.ch",
    "java.base/sun.nio.cs",
    "java.base/sun.security.action",
    "java.base/sun.util.calendar",
    "java.security.jgss/sun.security.krb5",
)
_MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",  # stands first: the last two are unknown to Java 17
    *(f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED),
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)

_START_SECONDS = 180
_STOP_SECONDS = 20

_SETTINGS = {
    "spark.api.mode": "classic",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Workers fork from a process that has loaded what they need.
    "spark.python.daemon.module": "spectra.spark.daemon",
    # Over TCP a small answer waits for a delayed acknowledgement, 40 ms each way.
    "spark.python.unix.domain.socket.enabled": "true",
    # Micro-batches are small: what pays for large jobs only is waiting time here.
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0",
    # `transformWithState` needs RocksDB; a batch then writes what changed, not a snapshot.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.minBatchesToRetain": "10",
    # By default a streaming query that is told to stop is waited for without end.
    "spark.sql.streaming.stopTimeout": f"{_STOP_SECONDS}s",
    # Checkpoints on a local disk: one rename makes a file appear, with no checksum file to be renamed after it.
    # The older interface (`fs.file.impl`) stays as it is: RocksDB's files are committed through it by its class.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}

#: For a JVM that lives for seconds or minutes on this machine: quick to start rather than quick in the long run.
_LOCAL_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")

_lock = threading.RLock()
_jvm: subprocess.Popen[bytes] | None = None


def session(
    master: str = "local[*]", *, app_name: str = "spectra", config: Mapping[str, str] | None = None
) -> SparkSession:
    """The active Spark session, else a new one; `config` goes before the settings made here.

    The JVM runs in a process group of its own, out of the reach of Ctrl-C, writes nothing to the terminal,
    and ends with this process, however that ends.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    global _jvm
    with _lock:
        if _jvm is not None and _jvm.poll() is not None:
            _stop_jvm()
        active = SparkSession.getActiveSession()
        if active is not None:
            return active
        settings = {"spark.master": master, "spark.app.name": app_name, **_settings(master), **(config or {})}
        gateway: dict[str, str] = {}
        # The log has no name, so that it is gone with the last of the two processes.
        with tempfile.TemporaryFile() as log:
            if SparkContext._gateway is None:
                _jvm, gateway = _start_jvm(find_java(), settings, log)
            try:
                with _environment({**gateway, **_python()}), _own_interrupts():
                    return SparkSession.builder.config(map=dict(settings)).getOrCreate()
            except (Py4JError, PySparkException) as error:
                detail = "\n".join([*words_of(error)[:5], *_last_lines(log)])
                _stop_jvm()
                raise ResourceError(
                    "Spark could not start a session", detail=detail, hint=f'Is "{master}" the right master?'
                ) from None
            except BaseException:
                _stop_jvm()
                raise


def words_of(error: Exception) -> list[str]:
    """The lines of an error's text, for which the JVM is asked if it is still there."""
    try:
        return str(error).strip().splitlines()
    except Exception:
        return ["Spark's Java process has ended"]


def stop(spark: SparkSession) -> None:
    """End the session, and the JVM where `session` started it, which is not asked for long."""

    def ask() -> None:
        with suppress(Exception):  # the JVM may be gone already
            spark.stop()

    with _lock:
        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        asking.join(None if _jvm is None else _STOP_SECONDS)
        _stop_jvm()


def java_command(java: Java, *options: str) -> list[str]:
    """How a main class of Spark is started: class path and options; the class and its arguments come behind."""
    home = spark_environment()["SPARK_HOME"]
    configured = os.environ.get("SPARK_CONF_DIR", os.path.join(home, "conf"))
    others = [os.environ.get(name, "") for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")]
    class_path = [configured, os.path.join(home, "jars", "*"), *filter(None, others)]
    log_settings = Path(__file__).with_name("log4j2.properties")
    return [
        str(java.program),
        *_MODULE_OPTIONS,
        f"-Dlog4j2.configurationFile={log_settings}",
        *options,
        "-cp",
        os.pathsep.join(class_path),
    ]


def spark_environment() -> dict[str, str]:
    """The variables that Spark's shell scripts set for every JVM; those of this process go before them."""
    from pyspark.find_spark_home import _find_spark_home

    return {"SPARK_SCALA_VERSION": "2.13", **os.environ, "SPARK_HOME": _find_spark_home()}


def _settings(master: str) -> dict[str, str]:
    settings = dict(_SETTINGS)
    if is_interpreted():
        settings["spark.executorEnv.NUMBA_DISABLE_JIT"] = "1"
    threads = _local_threads(master)
    if threads is None:
        settings["spark.sql.shuffle.partitions"] = "8"
    else:
        settings["spark.sql.shuffle.partitions"] = str(min(threads, 8))
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    return settings


def _local_threads(master: str) -> int | None:
    """2 of `local[2]`, as many as the machine has of `local[*]`, None of a cluster's URL."""
    form = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if form is None:
        return None
    return os.cpu_count() or 1 if form[1] == "*" else int(form[1] or 1)


def _python() -> dict[str, str]:
    """Workers run this very Python, unless the user says which one a cluster has."""
    return {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}


def _start_jvm(
    java: Java, settings: Mapping[str, str], log: IO[bytes]
) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    """Spark's JVM, once it can be reached, and where: the variables that pyspark reads that from."""
    options = [f"-Xmx{settings.get('spark.driver.memory', os.environ.get('SPARK_DRIVER_MEMORY', '1g'))}"]
    if _local_threads(settings["spark.master"]) is not None:
        options += _LOCAL_OPTIONS
    options += shlex.split(settings.get("spark.driver.extraJavaOptions", ""))
    command = java_command(java, *options)
    if extra := settings.get("spark.driver.extraClassPath"):
        command[-1] = extra + os.pathsep + command[-1]
    command.append("org.apache.spark.deploy.SparkSubmit")
    for name, value in settings.items():
        command += ["--conf", f"{name}={value}"]
    command.append("pyspark-shell")
    _quieten_py4j()
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "gateway")
        jvm = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # the JVM ends when this pipe does
            stdout=log,
            stderr=log,
            env={
                **spark_environment(),
                **_python(),
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
            },
            start_new_session=True,
        )
        try:
            _await(told, jvm, log)
        except BaseException:
            _end(jvm)
            raise
        return jvm, _gateway(told)


def _quieten_py4j() -> None:
    """Let py4j log nothing of a JVM that is gone: whoever asked it gets an exception, and its own threads need none."""
    logging.getLogger("py4j").propagate = False
    logging.root.addFilter(_is_not_of_py4j)  # it also writes to the root logger


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _await(told: Path, jvm: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not told.exists():
        if jvm.poll() is not None or time.monotonic() > deadline:
            detail = "\n".join(_last_lines(log)) or "it printed nothing"
            raise ResourceError("Spark's Java process did not start", detail=detail)
        time.sleep(0.01)


def _last_lines(log: IO[bytes]) -> list[str]:
    # the JVM writes where this file is read: the place must not be moved
    return os.pread(log.fileno(), 1 << 20, 0).decode(errors="replace").strip().splitlines()[-20:]


def _gateway(told: Path) -> dict[str, str]:
    """The port and the secret in the file that Spark's gateway writes: two big-endian lengths, each with its value."""
    content = told.read_bytes()
    port, length = struct.unpack_from("!ii", content)
    return {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": content[8 : 8 + length].decode()}


def _stop_jvm() -> None:
    """End the JVM that was started here, and let pyspark forget it."""
    global _jvm
    if _jvm is None:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._gateway is not None:
        with suppress(Exception):
            SparkContext._gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None
    # Left by a session whose JVM ended before it.
    SparkContext._active_spark_context = SparkSession._instantiatedSession = SparkSession._activeSession = None
    _end(_jvm)
    _jvm = None


def _end(jvm: subprocess.Popen[bytes]) -> None:
    assert jvm.stdin is not None
    with suppress(OSError):
        jvm.stdin.close()
    try:
        jvm.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait()


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """These variables for as long as pyspark reads them: a child process must not find our JVM by them."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the caller's way to handle Ctrl-C: pyspark puts its own in place, which talks to the JVM."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _stop_at_exit() -> None:
    if _jvm is not None:
        from pyspark import SparkContext

        context = SparkContext._active_spark_context
        if context is not None:
            with suppress(Exception):
                context.stop()
        _stop_jvm()


atexit.register(_stop_at_exit)
