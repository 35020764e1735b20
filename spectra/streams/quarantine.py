"""Where bad lines go: counted by reason, written as JSON lines, never lost."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from types import TracebackType

from spectra.errors import Place, StreamError

_LONGEST_TEXT = 2000


class Quarantine:
    """Takes the lines that cannot be used.

    With a path, each becomes a line ``{"file", "line", "reason", "text"}`` there as soon as it comes.
    With `strict` the first one raises instead. `append` goes on with the records of an earlier run.
    """

    def __init__(self, path: str | Path | None = None, strict: bool = False, *, append: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.strict = strict
        self.reasons: Counter[str] = Counter()
        self.count = 0
        self._file = None
        if self.path is not None:
            try:
                self._file = self.path.open("a" if append else "w", buffering=1, encoding="utf-8")
            except OSError as error:
                raise StreamError(
                    f'cannot write the quarantine file "{path}"',
                    detail=error.strerror,
                    hint="Name a file in a folder that exists.",
                ) from None

    def __enter__(self) -> Quarantine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add(self, file: str, line: int, reason: str, text: str | bytes, *, column: int = 1) -> None:
        """Take one line; `line` 0 is the whole file."""
        shown = (text.decode(errors="replace") if isinstance(text, bytes) else text)[:_LONGEST_TEXT]
        self.count += 1
        self.reasons[reason] += 1
        if self._file is not None:
            record = {"file": file, "line": line, "reason": reason, "text": shown}
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        if self.strict:
            raise StreamError(
                reason,
                place=Place(line=line, column=column, source=file),
                detail=shown or None,
                hint="Without strict reading such lines are set aside, and the rest is used.",
            )

    def resume(self, reasons: dict[str, int]) -> None:
        """Count what was set aside before."""
        self.reasons.update(reasons)
        self.count += sum(reasons.values())

    def synced(self) -> int:
        """How many bytes of records are safe on disk: all there are; 0 without a file."""
        if self._file is None:
            return 0
        self._file.flush()
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
