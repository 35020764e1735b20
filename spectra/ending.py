"""How a run that has no end of its own is told to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Ending:
    """A follower that is told to end, by Ctrl-C or SIGTERM, does so where nothing is half done.

    An interrupt that is raised wherever the program happens to be may leave a lock taken, or the connection to
    Spark in the middle of an answer. Told a second time, it ends at once.
    """

    def __init__(self) -> None:
        self._told = False

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if it was told to end."""
        if self._told:
            raise KeyboardInterrupt

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """While this lasts, the signals are noted for `check`."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._note) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.check()
        self._told = True
