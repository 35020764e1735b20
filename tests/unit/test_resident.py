"""The process in which a shard lives: requests, versions, rebuilding, and its end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spectra.errors import InternalError, ResourceError
from spectra.spark import resident
from spectra.spark.resident import History, Resident, framed, parts_of
from spectra.spark.shard import PackedChanges, Specification, pack_portion
from spectra.streams.memory import from_triples

QUERY = "SELECT ?x ?y { ?x <u:p>+ ?y }"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary directory of its own, short enough for sockets."""
    path = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # the work is small, and so many processes start
    yield path
    for found in (path / f"spectra-{os.getuid()}").glob("*"):
        if found.is_socket():
            kill(found)
    shutil.rmtree(path, ignore_errors=True)


def sockets(folder: Path) -> list[Path]:
    return [path for path in (folder / f"spectra-{os.getuid()}").iterdir() if path.is_socket()]


def process_of(path: Path) -> int:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


def kill(path: Path) -> None:
    try:
        process = process_of(path)
    except OSError:
        return
    os.kill(process, signal.SIGKILL)
    # its threads may hold the socket a moment longer than the process is there
    wait_until(lambda: not alive(process) and not listened_to(path))


def listened_to(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == 0


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # nobody may bury it here
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def chunk(time: int, *edges: str) -> bytes:
    """One event: an edge is two letters."""
    batch = from_triples("", time, [(f"<u:{a}>", "<u:p>", f"<u:{b}>") for a, b in edges], ())
    batch.event_place = [("", -1)]
    return framed([pack_portion(batch, time)])


class Client:
    """What a worker does: it knows the chunks so far, and counts how often they are asked for."""

    def __init__(self, name: str = "shard", **options: object) -> None:
        limit = options.pop("state_limit", None)
        self.resident = Resident(name, os.getpid(), **options)  # type: ignore[arg-type]
        text = Specification(QUERY, 10_000, 10_000, None, {}, ("",), 1, limit)  # type: ignore[arg-type]
        self.specification = text.dumps()
        self.chunks: list[bytes] = []
        self.base = b""
        self.rebuilt = 0

    def history(self) -> History:
        self.rebuilt += 1
        return History(self.specification, 0, self.base, self.chunks)

    def version(self, chunks: int) -> str:
        return "" if not chunks else f"version {chunks}"

    def apply(self, data: bytes) -> list[tuple[str, str]]:
        """The solutions that enter when the next chunk is applied."""
        at = len(self.chunks)
        reply = self.resident.apply(self.version(at), self.version(at + 1), data, self.history)
        self.chunks.append(data)
        return solutions(reply.changes)


def solutions(changes: list[bytes]) -> list[tuple[str, str]]:
    found = []
    for data in changes:
        arrays = PackedChanges.of(data).arrays
        text, ends = arrays["text"].tobytes().decode(), arrays["length"].cumsum()
        terms = [text[end - length : end] for end, length in zip(ends, arrays["length"], strict=True)]
        found += [(terms[x][3:-1], terms[y][3:-1]) for x, y in arrays["codes"].tolist()]
    return sorted(found)


def test_parts_come_back() -> None:
    parts = [b"", b"a", bytes(range(256)) * 10]
    assert parts_of(framed(parts)) == parts
    assert parts_of(framed([])) == []


def test_an_instant_is_told_with_the_next_chunk(folder: Path) -> None:
    client = Client()
    assert client.apply(chunk(1000, "ab")) == []
    assert client.apply(chunk(2000, "bc")) == [("a", "b")]
    assert client.apply(chunk(3000)) == [("a", "c"), ("b", "c")]
    assert client.rebuilt == 1, "only at the start"
    assert len(sockets(folder)) == 1


def test_a_repeated_request_has_the_same_answer_without_a_rebuild() -> None:
    client = Client()
    client.apply(chunk(1000, "ab"))
    first = client.apply(chunk(2000, "bc"))
    last = client.chunks.pop()
    assert client.apply(last) == first
    assert client.apply(chunk(3000)) == [("a", "c"), ("b", "c")]
    assert client.rebuilt == 1


def test_another_chunk_from_the_same_version_is_not_mistaken_for_the_last() -> None:
    client = Client()
    client.apply(chunk(1000, "ab"))
    client.apply(chunk(2000, "bc"))
    # the batch was planned anew, with other content: its version is another one
    reply = client.resident.apply(client.version(1), "other", chunk(2500, "bd"), lambda: history_of(client, 1))
    assert solutions(reply.changes) == [("a", "b")]
    reply = client.resident.apply("other", "next", chunk(3000), client.history)
    assert solutions(reply.changes) == [("a", "d"), ("b", "d")]


def history_of(client: Client, chunks: int) -> History:
    known = client.history()
    return known._replace(chunks=known.chunks[:chunks])


def test_a_resident_of_another_version_is_rebuilt() -> None:
    client = Client()
    for time_, edges in ((1000, "ab"), (2000, "bc"), (3000, "cd")):
        client.apply(chunk(time_, edges))
    # from an older checkpoint
    del client.chunks[1:]
    assert client.apply(chunk(2000, "bx")) == [("a", "b")]
    assert client.apply(chunk(3000)) == [("a", "x"), ("b", "x")]
    assert client.rebuilt == 2


def test_a_killed_resident_is_replaced(folder: Path) -> None:
    client = Client()
    client.apply(chunk(1000, "ab"))
    kill(sockets(folder)[0])
    assert client.apply(chunk(2000, "bc")) == [("a", "b")]
    kill(sockets(folder)[0])
    assert client.apply(chunk(3000)) == [("a", "c"), ("b", "c")]
    assert client.rebuilt == 3


def test_a_resident_that_dies_in_mid_request_is_replaced(folder: Path) -> None:
    client = Client()
    client.apply(chunk(1000, "ab"))
    process = process_of(sockets(folder)[0])
    os.kill(process, signal.SIGSTOP)
    killer = threading.Timer(0.3, os.kill, (process, signal.SIGKILL))
    killer.start()
    assert client.apply(chunk(2000, "bc")) == [("a", "b")]
    killer.join()
    assert client.rebuilt == 2


def test_a_saved_state_stands_for_the_chunks_before_it(folder: Path) -> None:
    client = Client()
    client.apply(chunk(1000, "ab"))
    client.apply(chunk(2000, "bc"))
    base = client.resident.save(client.version(2))
    assert base is not None
    assert client.resident.save("another version") is None
    kill(sockets(folder)[0])
    known = History(client.specification, 0, base, [])
    reply = client.resident.apply(client.version(2), client.version(3), chunk(3000), lambda: known)
    assert solutions(reply.changes) == [("a", "c"), ("b", "c")], "the event of 2000 had waited"


def test_late_events_are_counted() -> None:
    client = Client()
    client.apply(chunk(5000, "ab"))
    reply = client.resident.apply(client.version(1), client.version(2), chunk(1000, "bc"), client.history)
    assert reply == ([], 1)


def test_two_clients_at_once_give_one_resident(folder: Path) -> None:
    clients = [Client(), Client()]
    answers: list[list[tuple[str, str]]] = []

    def run(client: Client) -> None:
        client.apply(chunk(1000, "ab"))
        answers.append(client.apply(chunk(2000, "bc")))

    threads = [threading.Thread(target=run, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[("a", "b")]] * 2
    assert len(sockets(folder)) == 1


def test_an_idle_resident_ends(folder: Path) -> None:
    client = Client(idle=0.2)
    client.apply(chunk(1000, "ab"))
    wait_until(lambda: not sockets(folder))
    assert [path.name for path in (folder / f"spectra-{os.getuid()}").iterdir()] == ["lock"]
    assert client.apply(chunk(2000, "bc")) == [("a", "b")]


def test_a_resident_ends_with_its_owner(folder: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client = Client()
    client.resident = Resident("shard", owner.pid)
    client.apply(chunk(1000, "ab"))
    owner.communicate()
    wait_until(lambda: not sockets(folder))


def test_an_error_of_the_query_is_raised_here() -> None:
    client = Client(state_limit=1)
    with pytest.raises(ResourceError, match="more than the limit") as raised:
        client.apply(chunk(1000, "ab"))
    assert raised.value.hint
    with pytest.raises(ResourceError):  # and so it is when tried again
        client.apply(chunk(1000, "ab"))


def test_a_failure_of_ours_says_where() -> None:
    client = Client()
    with pytest.raises(InternalError, match="a shard failed: ValueError") as raised:
        client.apply(framed([b"no portion at all"]))
    assert "Traceback" in str(raised.value)


def test_what_killed_residents_left_is_removed(folder: Path) -> None:
    Client("one").apply(chunk(1000, "ab"))
    kill(sockets(folder)[0])
    Client("two").apply(chunk(1000, "ab"))
    assert [path.name for path in sockets(folder)] == ["two"]


def test_a_folder_that_others_can_enter_is_refused(folder: Path) -> None:
    (folder / f"spectra-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(ResourceError, match="is not this user's alone"):
        Resident("shard", os.getpid())


def test_a_link_in_the_place_of_the_folder_is_refused(folder: Path) -> None:
    (folder / "elsewhere").mkdir(mode=0o700)
    (folder / f"spectra-{os.getuid()}").symlink_to(folder / "elsewhere")
    with pytest.raises(ResourceError, match="is not this user's alone"):
        Resident("shard", os.getpid())


def test_a_path_too_long_for_a_socket_is_refused() -> None:
    with pytest.raises(ResourceError, match="too long a path"):
        Resident("x" * 100, os.getpid())


def test_a_resident_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident.sys, "executable", "/bin/false")
    with pytest.raises(InternalError, match="does not start"):
        Client().apply(chunk(1000, "ab"))
