"""The process in which a shard lives on an executor's host, and the way to it.

A Python worker of Spark is not the same from batch to batch and ends when idle, so what a shard has
built cannot live in it. It lives in a process of its own, to which whichever worker gets the task attaches
through a Unix socket. Compared with state in files that workers map into memory: operators need no
file-backed arrays, nothing is copied or flushed, and one process is the only one that writes. What
matters is the same: any worker of the host can attach, the state has a version, and it is rebuilt from what Spark
keeps where it is missing or of another version.

A version names all that a shard has been given, from the first portion on. So a task that is tried
again, a second attempt beside the first, a restart from an older checkpoint are all told apart from the
batch that is due, without knowing why they came.

A resident ends by itself: when nobody has asked for some minutes, or when the process it belongs to (the
executor's daemon of Python workers) is gone.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spectra import errors
from spectra.errors import InternalError, ResourceError, SpectraError

if TYPE_CHECKING:
    from spectra.spark.shard import Shard

#: Seconds without a request after which a resident ends.
IDLE = 300.0
_POLL = 1.0
_START_SECONDS = 60.0
_ATTEMPTS = 3
_LENGTH = struct.Struct(">Q")
_LONGEST_PATH = 100  # of a socket, where systems allow 104 to 108 bytes

#: Header and parts of a message.
Message = tuple[dict[str, Any], list[bytes]]


class History(NamedTuple):
    """From what a shard is rebuilt: its specification, a saved state (empty: none), and the chunks since."""

    specification: bytes
    number: int
    base: bytes
    chunks: Sequence[bytes]


class Reply(NamedTuple):
    """Packed changes, and how many events have come too late so far."""

    changes: list[bytes]
    late: int


# --- messages -------------------------------------------------------------------------------


def framed(parts: Sequence[bytes]) -> bytes:
    """Several parts as one, each behind its length."""
    return b"".join(piece for part in parts for piece in (_LENGTH.pack(len(part)), part))


def parts_of(data: bytes) -> list[bytes]:
    """What `framed` was given."""
    parts, at = [], 0
    while at < len(data):
        (size,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size + size
        parts.append(data[at - size : at])
    return parts


def _send(connection: socket.socket, header: dict[str, Any], parts: Sequence[bytes] = ()) -> None:
    text = json.dumps({**header, "sizes": [len(part) for part in parts]}).encode()
    connection.sendall(_LENGTH.pack(len(text)) + text)
    for part in parts:
        connection.sendall(part)


def _receive(connection: socket.socket) -> Message:
    """The next message; EOFError where the other side has closed."""
    (size,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    header = json.loads(_exactly(connection, size))
    return header, [_exactly(connection, size) for size in header["sizes"]]


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray(size)
    view, have = memoryview(data), 0
    while have < size:
        count = connection.recv_into(view[have:])
        if not count:
            raise EOFError("the other side has closed")
        have += count
    return bytes(data)


# --- the resident ---------------------------------------------------------------------------


class _Server:
    """Answers one connection after the other; the shard is at `version`, None where it is of no use."""

    def __init__(self) -> None:
        self._shard: Shard | None = None
        self._version: str | None = None
        self._last: tuple[str, str, Reply] | None = None

    def serve(self, connection: socket.socket) -> None:
        with suppress(EOFError, OSError):  # a worker may be killed at any moment
            while True:
                header, parts = _receive(connection)
                try:
                    answer = self._answered(header, parts)
                except Exception as error:  # whatever it is, the worker is to say it
                    self._shard, self._version, self._last = None, None, None
                    answer = {"error": _described(error)}, []
                _send(connection, *answer)

    def _answered(self, header: dict[str, Any], parts: list[bytes]) -> Message:
        match header["do"]:
            case "rebuild":
                self._rebuild(header["version"], header["number"], parts)
                return {}, []
            case "apply":
                return self._apply(header["from"], header["to"], parts[0])
            case "save":
                if self._shard is None or self._version != header["version"]:
                    return {"wrong_version": True}, []
                return {}, [self._shard.saved()]
            case other:
                raise InternalError(f'unknown request "{other}"')

    def _rebuild(self, version: str, number: int, parts: list[bytes]) -> None:
        from spectra.spark.shard import Shard, Specification

        self._shard, self._version, self._last = None, None, None
        specification, base, *chunks = parts
        shard = Shard(Specification.loads(specification), number)
        if base:
            shard.restore(base)
        for chunk in chunks:
            shard.apply(parts_of(chunk))
        self._shard, self._version = shard, version

    def _apply(self, before: str, after: str, chunk: bytes) -> Message:
        from spectra.spark.shard import pack_changes

        if self._last is not None and self._last[:2] == (before, after) and self._version == after:
            reply = self._last[2]
        elif self._shard is None or self._version != before:
            return {"wrong_version": True}, []
        else:
            told = self._shard.apply(parts_of(chunk))
            reply = Reply([pack_changes(batch) for batch in told if len(batch)], self._shard.late)
            self._version, self._last = after, (before, after, reply)
        return {"late": reply.late}, reply.changes


def _described(error: Exception) -> dict[str, str | None]:
    if isinstance(error, SpectraError):
        place = str(error.place) if error.place is not None else None
        return {
            "kind": type(error).__name__,
            "message": error.message,
            "detail": " ".join(filter(None, (place, error.detail))) or None,
            "hint": error.hint,
        }
    import traceback

    return {
        "kind": "InternalError",
        "message": f"a shard failed: {type(error).__name__}: {error}",
        "detail": "".join(traceback.format_exception(error)),
        "hint": None,
    }


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def serve(path: str, owner: int, idle: float = IDLE) -> None:
    """Be a resident at a socket until idle or until the owner is gone."""
    unfinished = f"{path}.{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(unfinished)
        listener.listen(16)
        own = os.stat(unfinished).st_ino
        # there under its name only once it listens
        os.replace(unfinished, path)
        listener.settimeout(min(_POLL, idle))
        server, last = _Server(), time.monotonic()
        while _is_alive(owner) and time.monotonic() - last < idle:
            with suppress(TimeoutError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(None)
                    server.serve(connection)
                last = time.monotonic()
        with suppress(OSError):
            if os.stat(path).st_ino == own:
                os.unlink(path)
                os.unlink(_log(path))


def _log(path: str) -> str:
    return f"{path}.log"


# --- the way to it --------------------------------------------------------------------------


def _folder() -> Path:
    """Where the sockets are: nobody else can enter it."""
    folder = Path(tempfile.gettempdir()) / f"spectra-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ResourceError(
            f'the folder "{folder}" is not this user\'s alone', hint="Remove it, or name another folder by TMPDIR."
        )
    return folder


class Resident:
    """The resident of one name, started where there is none; it belongs to the process `owner`."""

    def __init__(self, name: str, owner: int, idle: float = IDLE) -> None:
        folder = _folder()
        self._path = str(folder / name)
        if len(os.fsencode(self._path)) > _LONGEST_PATH:
            raise ResourceError(
                f'"{self._path}" is too long a path for a socket', hint="Name a shorter folder by TMPDIR."
            )
        self._lock = folder / "lock"
        self._owner = owner
        self._idle = idle

    def apply(self, before: str, after: str, chunk: bytes, history: Callable[[], History]) -> Reply:
        """What the shard tells when a chunk takes it from one version to the next.

        `history` is asked where the resident has another version, or was lost.
        """

        def ask(connection: socket.socket) -> Reply:
            request = {"do": "apply", "from": before, "to": after}
            header, changes = _answer(connection, request, [chunk])
            if header.get("wrong_version"):
                known = history()
                rebuild = {"do": "rebuild", "version": before, "number": known.number}
                _answer(connection, rebuild, [known.specification, known.base, *known.chunks])
                header, changes = _answer(connection, request, [chunk])
            return Reply(changes, header["late"])

        for _ in range(_ATTEMPTS):
            # it may end, or be killed, at any moment
            with suppress(OSError, EOFError), self._connection() as connection:
                return ask(connection)
        raise InternalError("the process of a shard ends again and again", detail=self._last_words())

    def save(self, version: str) -> bytes | None:
        """The state of the shard; None where it is not at this version."""
        with suppress(OSError, EOFError), self._connection() as connection:
            header, parts = _answer(connection, {"do": "save", "version": version})
            if not header.get("wrong_version"):
                return parts[0]
        return None

    @contextmanager
    def _connection(self) -> Iterator[socket.socket]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(self._path)
            except (FileNotFoundError, ConnectionRefusedError):
                self._start(connection)
            yield connection

    def _start(self, connection: socket.socket) -> None:
        """Start the process, unless another worker is quicker, and connect to it."""
        import fcntl

        with self._lock.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with suppress(FileNotFoundError, ConnectionRefusedError):
                connection.connect(self._path)
                return
            _sweep(self._lock.parent)
            with open(_log(self._path), "wb") as log:
                # it is not to be a child of the worker, which may live on and would have to bury it
                starter = subprocess.Popen(
                    [sys.executable, "-m", "spectra.spark.resident", self._path, str(self._owner), str(self._idle)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
            starter.wait()
            until = time.monotonic() + _START_SECONDS
            while time.monotonic() < until and starter.returncode == 0:
                with suppress(FileNotFoundError, ConnectionRefusedError):
                    connection.connect(self._path)
                    return
                time.sleep(0.01)
        raise InternalError("the process of a shard does not start", detail=self._last_words())

    def _last_words(self) -> str:
        with suppress(OSError):
            return Path(_log(self._path)).read_text(errors="replace")[-4000:]
        return ""


def _answer(connection: socket.socket, header: dict[str, Any], parts: Sequence[bytes] = ()) -> Message:
    """The answer to a request; an error of the shard is raised here."""
    _send(connection, header, parts)
    answer, changes = _receive(connection)
    if "error" in answer:
        error = answer["error"]
        kind = getattr(errors, error["kind"])
        raise kind(error["message"], detail=error["detail"], hint=error["hint"])
    return answer, changes


def _sweep(folder: Path) -> None:
    """Remove what residents that were killed have left."""
    for path in folder.iterdir():
        if path.is_socket():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
                probe.setblocking(False)  # one that is busy need not answer
                try:
                    probe.connect(str(path))
                except ConnectionRefusedError:
                    path.unlink()
                    os.unlink(_log(str(path)))


def main(path: str, owner: str, idle: str) -> None:
    """Leave the process that started this one, and be a resident."""
    if os.fork():
        return
    serve(path, int(owner), float(idle))


if __name__ == "__main__":
    main(*sys.argv[1:])
