"""Event time: integer milliseconds since the Unix epoch inside, `xsd:dateTime` outside."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from spectra.errors import QueryError, StreamError

#: The end of what never ends: static triples, and `until` of a solution that stays.
FOREVER = 2**62

#: The end of what is not there; times before 1970 are negative, so -1 will not do.
NO_END = -(2**62)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DATE_TIME = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)T(\d\d)[:-](\d\d)[:-](\d\d)(?:\.(\d+))?(Z|[+-]\d\d[:-]?\d\d)?\Z")
_DURATION = re.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9}))?S)?)?\Z",
    re.IGNORECASE,
)
_SHORT = re.compile(r"(\d+)\s*(ms|s|m|h|d)\Z", re.IGNORECASE)
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

TimeLike = str | int | datetime


def milliseconds(time: TimeLike) -> int:
    """Milliseconds since the epoch, from `xsd:dateTime` text, an integer of milliseconds or a `datetime`.

    Text without a zone is UTC; `:` in the time of day may be `-`, as in file names.

    Examples
    --------
    >>> milliseconds("1970-01-01T00:00:01.5Z")
    1500
    >>> milliseconds("1970-01-01T01-00-00+01:00")
    0
    """
    if isinstance(time, bool):
        raise StreamError(f"not a time: {time!r}")
    if isinstance(time, int):
        return int(time)
    if isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
        return (aware - _EPOCH) // timedelta(milliseconds=1)
    match = _DATE_TIME.match(time.strip())
    if match is None:
        if re.fullmatch(r"-?\d+", time.strip()):
            return int(time)
        raise StreamError(
            f'not a time: "{time}"', hint="Write xsd:dateTime (2016-07-01T10:00:00Z) or integer milliseconds."
        )
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        # xsd:dateTime knows 24:00:00 as the end of the day
        extra = 1 if (hour, minute, second) == ("24", "00", "00") else 0
        moment = datetime(
            int(year), int(month), int(day), 0 if extra else int(hour), int(minute), int(second), tzinfo=timezone.utc
        ) + timedelta(days=extra)
        offset = 0
        if zone and zone != "Z":
            digits = zone[1:].replace(":", "").replace("-", "")
            offset = (int(digits[:2]) * 60 + int(digits[2:])) * 60_000 * (1 if zone[0] == "+" else -1)
    except (ValueError, OverflowError) as error:
        raise StreamError(f'not a time: "{time}"', detail=str(error)) from None
    part = int((fraction or "0")[:3].ljust(3, "0"))
    return (moment - _EPOCH) // timedelta(milliseconds=1) + part - offset


def date_time(time: int) -> str:
    """The `xsd:dateTime` of a time in milliseconds, in UTC, always with three decimals."""
    try:
        moment = _EPOCH + timedelta(milliseconds=time)
    except OverflowError:
        raise StreamError(f"time out of range: {time} ms", hint="Times lie in the years 1 to 9999.") from None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time % 1000:03d}Z".rjust(24, "0")


def duration(text: str) -> int:
    """Milliseconds of an `xsd:duration` of fixed length (`PT10M`, `P30D`) or a short form (`10s`, `500ms`).

    Examples
    --------
    >>> duration("PT1H30M"), duration("500ms")
    (5400000, 500)
    """
    short = _SHORT.match(text.strip())
    if short:
        return int(short.group(1)) * _UNITS[short.group(2).lower()]
    match = _DURATION.match(text.strip())
    if match is None or not any(match.groups()):
        raise QueryError(f'not a duration: "{text}"', hint="Write PT10M, P30D, 10s, 5m, 24h, 30d or 500ms.")
    years, months, weeks, days, hours, minutes, seconds, fraction = match.groups()
    if int(years or 0) or int(months or 0):
        raise QueryError(f'"{text}" has no fixed length', hint="Give days instead of years and months: P30D, P365D.")
    total = int(weeks or 0) * 7 + int(days or 0)
    total = ((total * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    digits = (fraction or "").ljust(3, "0")
    if int(digits[3:] or 0):
        raise QueryError(f'"{text}" is finer than a millisecond', hint="Time is counted in milliseconds.")
    return total * 1000 + int(digits[:3])


class Instant(str):
    """A point in event time: its `xsd:dateTime` text, with `milliseconds` and `datetime` beside it."""

    __slots__ = ("milliseconds",)
    milliseconds: int

    def __new__(cls, time: int) -> Instant:
        self = super().__new__(cls, date_time(time))
        self.milliseconds = time
        return self

    @property
    def datetime(self) -> datetime:
        return _EPOCH + timedelta(milliseconds=self.milliseconds)
