"""A real cluster of several processes, whose executors are killed in mid-stream: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from spectra.cli import main
from tests.spark.cluster import Cluster, cluster

E = "http://e/"
QUERY = f"""PREFIX : <{E}>
REGISTER CHANGES :reach AS SELECT ?x ?y
FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S]
WHERE {{ WINDOW :w {{ ?x :p+ ?y }} }}"""

#: `continuous` over a folder, a file for each micro-batch, into files of JSON.
CONTINUOUS = """
import sys
import spectra
query, events, out, state, master = sys.argv[1:]
spark = spectra.spark.session(master, config={"spark.sql.shuffle.partitions": "2"})
rows = spectra.spark.read_stream(spark, events, options={"maxFilesPerTrigger": 10})
changes = spectra.spark.continuous(rows, open(query).read(), shards=2)
running = changes.writeStream.format("json").option("checkpointLocation", state).trigger(availableNow=True).start(out)
running.awaitTermination()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = random.Random(5)
    (tmp_path / "reach.rq").write_text(QUERY)
    (tmp_path / "events").mkdir()
    for second in range(150):
        triples = [f"<{E}n{rng.randrange(12)}> <{E}p> <{E}n{rng.randrange(12)}> .\n" for _ in range(2)]
        path = tmp_path / "events" / f"{second * 1000}.nt"
        path.write_text("".join(triples))
        os.utime(path, (second, second))
    return tmp_path


def run_while_executors_are_killed(machines: Cluster, folder: Path, begun: Callable[[], bool], *arguments: str) -> None:
    """Run Python to its end, and once it has begun kill an executor now and then."""
    kills, until, next_kill = 0, time.monotonic() + 240, 0.0
    with (folder / "errors").open("w") as errors:
        # the driver is found at the loopback address, too, whatever the machine's name stands for
        here = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        process = subprocess.Popen([sys.executable, *arguments], stderr=errors, env=here)
        try:
            while process.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
                ready = kills < 3 and time.monotonic() >= next_kill and begun()
                if ready and process.poll() is None and machines.executors():
                    machines.kill_executor()
                    kills += 1
                    next_kill = time.monotonic() + 4
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0, (folder / "errors").read_text()
    assert kills > 0


def test_delivery_goes_on_without_its_executors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    call = ["run", "reach.rq", "--input=events"]
    assert main([*call, "--output=plain"]) == 0
    # tasks of a few lines, so that there are many jobs
    script = (
        "import sys; from spectra.spark import executors; executors.TASK_BYTES = 200; executors.TASKS_OF_A_JOB = 1\n"
        "from spectra.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    with cluster(folder) as machines:
        spark = ["--engine=spark", f"--master={machines.master}", "--output=out"]
        out = folder / "out"
        run_while_executors_are_killed(
            machines, folder, lambda: out.exists() and out.stat().st_size > 0, "-c", script, *call, *spark
        )
    assert Counter((folder / "out").read_text().splitlines()) == Counter((folder / "plain").read_text().splitlines())


def test_shards_go_on_without_their_executors(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    # time goes on, so that everything is told and over
    end = folder / "events" / f"{10**7}.nt"
    end.write_text("# Spark leaves out files without a byte\n")
    os.utime(end, (10**7, 10**7))
    assert main(["run", "reach.rq", "--input=events", "--output=plain"]) == 0
    with cluster(folder) as machines:
        arguments = ["reach.rq", str(folder / "events"), str(folder / "out"), str(folder / "state"), machines.master]
        commits = folder / "state" / "commits"
        run_while_executors_are_killed(machines, folder, lambda: any(commits.glob("*")), "-c", CONTINUOUS, *arguments)
    found = Counter(
        (line["op"], line["at"], line["bindings"]["x"], line["bindings"]["y"])
        for path in (folder / "out").glob("*.json")
        for line in map(json.loads, path.read_text().splitlines())
    )
    wanted = Counter(
        (line["op"], line["at"], *(f"<{line['bindings'][name]['value']}>" for name in ("x", "y")))
        for line in map(json.loads, (folder / "plain").read_text().splitlines())
    )
    assert found == wanted
