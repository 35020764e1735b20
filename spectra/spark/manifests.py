"""Manifests: which files there are, told to Spark by small files of their own.

Spark's file source takes a file as soon as it is listed, also when somebody still writes to it, and in the
order of the times of change. A manifest is written when its files are complete, all at once, and keeps
their order.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from spectra.position import changed_input
from spectra.streams.files import InputFile

#: Name, path, size and time of change of a file, as JSON has them.
_Entry = list[str | int]


class Manifests:
    """The manifests in a folder, numbered as they came."""

    def __init__(self, folder: Path, stream: str) -> None:
        self.folder = folder
        self._stream = stream
        folder.mkdir(parents=True, exist_ok=True)
        self._known = [entry for path in sorted(folder.glob("*.json")) for entry in json.loads(path.read_text("utf-8"))]
        self.count = len(list(folder.glob("*.json")))

    def files(self) -> list[InputFile]:
        """All files so far."""
        return [_file(entry) for entry in self._known]

    def add(self, files: Sequence[InputFile]) -> None:
        """One more manifest."""
        entries = [_entry(file) for file in files]
        # a name with a dot in front is not looked at
        unfinished = self.folder / f".{self.count}"
        unfinished.write_text(json.dumps(entries), "utf-8")
        unfinished.rename(self.folder / f"{self.count:012}.json")
        self._known += entries
        self.count += 1

    def hold_only(self, files: Sequence[InputFile]) -> None:
        """One manifest of these files; where there is one already, it must be of the same files."""
        if not self.count:
            self.add(files)
            return
        for before, now in zip_longest(self._known, [_entry(file) for file in files]):
            if before != now:
                raise changed_input(self._stream, str((before or now)[0]))


def listed_files(manifest: str) -> list[InputFile]:
    """The files of a manifest, from its text."""
    return [_file(entry) for entry in json.loads(manifest)]


def _file(entry: _Entry) -> InputFile:
    return InputFile(str(entry[0]), Path(str(entry[1])))


def _entry(file: InputFile) -> _Entry:
    try:
        status = file.path.stat()
        size, changed = status.st_size, status.st_mtime_ns
    except OSError:  # whoever reads it will say so
        size, changed = 0, 0
    return [file.name, os.path.abspath(file.path), size, changed]
