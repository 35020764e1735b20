"""What standard error says of a run: that kernels are compiled, how far it is, how it ended."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from spectra.clock import FOREVER, NO_END, date_time
from spectra.jit import cache_folder, is_interpreted

if TYPE_CHECKING:
    from spectra.engine import Engine
    from spectra.streams.contract import EventSource

_SECONDS_BETWEEN_LINES = 0.2
_USED_BY_EVERY_RUN = "spectra.dictionary.kernels.table"


def announce_compilation(file: TextIO) -> None:
    """Say that kernels will be compiled, if none has been compiled here before."""
    if not is_interpreted() and not _kernels_are_cached():
        print("compiling kernels, first run only", file=file, flush=True)


def _kernels_are_cached() -> bool:
    # what is compiled for one Python is of no use to another
    pattern = f"*/*.py{sys.version_info.major}{sys.version_info.minor}.nbi"
    return next(cache_folder(_USED_BY_EVERY_RUN).glob(pattern), None) is not None


class Progress:
    """One line that is overwritten, on a terminal only."""

    def __init__(self, engine: Engine, sources: Sequence[EventSource], file: TextIO) -> None:
        self._engine = engine
        self._sources = sources
        self._file = file
        self._shown = file.isatty()
        self._started = self._last = time.monotonic()
        self._width = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def clear(self) -> None:
        """Take the line away, so that something else can be written."""
        if self._width:
            self._file.write("\r" + " " * self._width + "\r")
            self._file.flush()
            self._width = 0

    def show(self) -> None:
        """Write the line, if the last one is old enough."""
        now = time.monotonic()
        if not self._shown or now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        engine = self._engine
        rate = engine.events / max(self.seconds, 1e-9)
        reached = reached_time(engine)
        watermark = date_time(reached) if NO_END < reached < FOREVER else "none"
        batches = sum(source.micro_batches for source in self._sources)
        done = f"{counted(batches, 'batch')}  " if batches else ""
        done += f"{engine.events:,} events  {rate:,.0f} events/s"
        line = f"{done}  watermark {watermark}  state {size(engine.nbytes)}"
        self.clear()
        self._file.write(line)
        self._file.flush()
        self._width = len(line)


def reached_time(engine: Engine) -> int:
    """The time that every query has reached, `NO_END` before the first event."""
    return min((query.now for query in engine.queries), default=NO_END)


def size(count: int) -> str:
    """Bytes for people.

    Examples
    --------
    >>> size(999), size(12_300_000)
    ('999 B', '12.3 MB')
    """
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.95:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"


def summary_lines(engine: Engine, sources: Sequence[EventSource], seconds: float) -> list[str]:
    """The closing summary: what was read, told and set aside."""
    triples = sum(source.triples for source in sources)
    skipped = sum(source.skipped for source in sources)
    answers = sum(query.reported for query in engine.queries)
    reasons = engine.quarantine.reasons
    lines = [
        f"{counted(engine.events, 'event')}, {counted(triples, 'triple')} used and {skipped:,} skipped, "
        f"{counted(answers, 'answer')}, {seconds:.2f} s, state {size(engine.nbytes)}"
    ]
    if reasons:
        listed = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
        kept = engine.quarantine.path or "--quarantine FILE keeps them"
        lines.append(f"warning: set aside: {listed} ({kept})")
    return lines


def counted(count: int, noun: str) -> str:
    """`1 event`, `2 events`, `3 batches`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{'es' if noun.endswith('ch') else 's'}"
