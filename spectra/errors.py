"""What can go wrong, by whose hand: the query, the data, a limit, or us."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the user's own text: 1-based line and columns, the last one included."""

    line: int
    column: int
    end_column: int | None = None
    source: str | None = None

    def __str__(self) -> str:
        columns = f"column {self.column}"
        if self.end_column is not None and self.end_column > self.column:
            columns = f"columns {self.column}-{self.end_column}"
        prefix = f"{self.source}, " if self.source else ""
        return f"{prefix}line {self.line}, {columns}"


class SpectraError(Exception):
    """The base of all errors: a primary message, and optionally a place, a detail and a hint."""

    def __init__(
        self, message: str, *, place: Place | None = None, detail: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        if self.place is not None:
            lines.append(f"  {self.place}")
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class QueryError(SpectraError, ValueError):
    """The query, or the call that registers it, is wrong."""


class UnsupportedError(SpectraError, NotImplementedError):
    """The query is right, and this version does not evaluate it."""


class StreamError(SpectraError, ValueError):
    """The data is wrong: a bad line under `--strict`, a missing file, an unreadable time."""


class ResourceError(SpectraError, RuntimeError):
    """A limit was reached."""


class InternalError(SpectraError, RuntimeError):
    """A bug in Spectra; please report it with the query and the data."""
