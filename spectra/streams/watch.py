"""Watching a folder: each file is handed out once, when nobody writes to it any more."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from spectra.streams.files import InputFile, Inputs

#: Seconds between two looks at the folder.
POLL = 0.1
#: Seconds that a file must be unchanged where nothing else tells that it is complete.
SETTLED = 2.0


class Watch:
    """New complete files of an input, look by look.

    A file is complete when size and time of change are the same at two looks and no process has it
    open for writing. Where the system cannot say who has it open, or the file is empty or ends
    within a line, it must have been unchanged for `SETTLED` seconds. Hidden names, `*.tmp` and
    `*.part` are not looked at: write under such a name and rename, and the file is read at once.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._taken: set[str] = set()
        self._seen: dict[str, tuple[tuple[int, int, int], float]] = {}

    def leave_out(self, names: Iterable[str]) -> None:
        """Files that were handed out in another process."""
        self._taken.update(names)

    def look(self) -> list[InputFile]:
        """The files that are complete and were not handed out before."""
        complete = []
        seen: dict[str, tuple[tuple[int, int, int], float]] = {}
        for file in self._inputs.files():
            if file.name in self._taken:
                continue
            try:
                status = file.path.stat()
            except FileNotFoundError:
                continue
            now = time.monotonic()
            signature = (status.st_size, status.st_mtime_ns, status.st_ino)
            before, since = self._seen.get(file.name, (None, now))
            if before != signature:
                seen[file.name] = (signature, now)
            elif _is_complete(file, now - since):
                self._taken.add(file.name)
                complete.append(file)
            else:
                seen[file.name] = (signature, since)
        self._seen = seen
        return complete

    def groups(self, idle: float, between: Callable[[], None] = lambda: None) -> Iterator[list[InputFile] | None]:
        """The files that became complete together, until `between` two looks something is raised.

        None when nothing came for `idle` seconds.
        """
        last = time.monotonic()
        while True:
            complete = self.look()
            if complete:
                yield complete
                last = time.monotonic()
            elif time.monotonic() - last >= idle:
                yield None
                last = time.monotonic()
            between()
            time.sleep(min(POLL, idle))


def _is_complete(file: InputFile, unchanged: float) -> bool:
    if unchanged >= SETTLED:
        return _is_open_for_writing(file.path) is not True
    return _is_open_for_writing(file.path) is False and _ends_with_line(file)


def _ends_with_line(file: InputFile) -> bool:
    if file.ending.endswith(".gz"):
        return True
    try:
        with file.path.open("rb") as octets:
            octets.seek(-1, os.SEEK_END)
            return octets.read(1) in b"\r\n"
    except OSError:  # empty: there is no last byte
        return False


def _is_open_for_writing(path: Path) -> bool | None:
    """Whether some process has the file open for writing; None where the system does not tell.

    Linux grants a read lease only on a file that nobody has open for writing. Should someone open it in the
    moment of the test, they wait until the file is closed here, and the signal is one that is ignored.
    """
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        return False
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    finally:
        os.close(descriptor)
