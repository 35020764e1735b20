"""The times that quads have stated so far, kept from one process to the next."""

from __future__ import annotations

import json
from pathlib import Path


class SavedTimes:
    """Graph names and their times as they were after each of the last micro-batches.

    A graph may come in a later file than the statement of its time. Spark does not give out again what it
    has noted as done, so what was stated there is kept here.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, micro_batch: int, times: dict[str, int]) -> None:
        """Keep the times as they are after a micro-batch."""
        if not times:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = self._folder / "unfinished"
        unfinished.write_text(json.dumps(times), "utf-8")
        unfinished.rename(self._folder / str(micro_batch))
        # the one before is needed if this micro-batch has to be read again
        for number in self._numbers():
            if number < micro_batch - 1:
                (self._folder / str(number)).unlink()

    def before(self, micro_batch: int) -> dict[str, int]:
        """The times as they were when this micro-batch was first given out."""
        number = max((number for number in self._numbers() if number < micro_batch), default=None)
        if number is None:
            return {}
        times: dict[str, int] = json.loads((self._folder / str(number)).read_text("utf-8"))
        return times

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return [int(path.name) for path in self._folder.iterdir() if path.name.isdecimal()]
