"""`xsd:dateTime`, `xsd:date` and `xsd:dayTimeDuration`: lexical forms and the partial order of moments."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from spectra.sparql.numeric import EXACT, decimal_lexical

_DATE = r"(-?(?:[1-9][0-9]{3,8}|0[0-9]{3}))-([0-9]{2})-([0-9]{2})"
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
_DATE_TIME_FORM = re.compile(_DATE + r"T([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]{1,100})?)" + _ZONE)
_DATE_FORM = re.compile(_DATE + _ZONE)
_DURATION_FORM = re.compile(
    r"(-)?P(?=[0-9T])(?:([0-9]{1,18})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,18})H)?(?:([0-9]{1,18})M)?(?:([0-9]{1,18}(?:\.[0-9]{1,100})?)S)?)?"
)

_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

#: Zones lie within 14 hours of UTC; in minutes.
_WIDEST_ZONE = 14 * 60


class Moment(NamedTuple):
    """A date, or a date and time of day, as its zone's clocks show it.

    `minutes` count from the start of the year 0: in UTC where the zone is known, otherwise in local time.
    """

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: Decimal
    zone: str  # as written: "Z", "+01:00", or "" for none
    offset: int | None  # of the zone, in minutes
    minutes: int

    @property
    def position(self) -> tuple[int, Decimal]:
        """Where on the time line: exact, however fine the seconds are."""
        return self.minutes, self.second


def parse_date_time(lexical: str) -> Moment | None:
    match = _DATE_TIME_FORM.fullmatch(lexical)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    return _moment(int(year), int(month), int(day), int(hour), int(minute), Decimal(second), zone or "")


def parse_date(lexical: str) -> Moment | None:
    match = _DATE_FORM.fullmatch(lexical)
    if match is None:
        return None
    year, month, day, zone = match.groups()
    return _moment(int(year), int(month), int(day), 0, 0, Decimal(0), zone or "")


def date_of(moment: Moment) -> Moment:
    """The day of a moment, in its own zone."""
    date = _moment(moment.year, moment.month, moment.day, 0, 0, Decimal(0), moment.zone)
    assert date is not None
    return date


def parse_duration(lexical: str) -> Decimal | None:
    """Seconds of an `xsd:dayTimeDuration`."""
    match = _DURATION_FORM.fullmatch(lexical)
    if match is None:
        return None
    sign, days, hours, minutes, seconds = match.groups()
    whole = ((int(days or 0) * 24 + int(hours or 0)) * 60 + int(minutes or 0)) * 60
    total = EXACT.add(whole, Decimal(seconds or 0))
    return EXACT.minus(total) if sign else total


def date_time_lexical(moment: Moment) -> str:
    return f"{_date_lexical(moment)}T{_time_lexical(moment)}{_zone_lexical(moment)}"


def date_lexical(moment: Moment) -> str:
    return _date_lexical(moment) + _zone_lexical(moment)


def zone_duration(offset: int) -> str:
    """The canonical `xsd:dayTimeDuration` of a zone's offset in minutes.

    Examples
    --------
    >>> zone_duration(0), zone_duration(-480), zone_duration(330)
    ('PT0S', '-PT8H', 'PT5H30M')
    """
    hours, minutes = divmod(abs(offset), 60)
    length = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    return ("-" if offset < 0 else "") + "PT" + (length or "0S")


def compare_moments(left: Moment, right: Moment) -> int | None:
    """-1, 0 or 1; None where only one has a zone and some zone of the other would change the answer."""
    if (left.offset is None) == (right.offset is None):
        return (left.position > right.position) - (left.position < right.position)
    if left.position < (right.minutes - _WIDEST_ZONE, right.second):
        return -1
    if left.position > (right.minutes + _WIDEST_ZONE, right.second):
        return 1
    return None


def _moment(year: int, month: int, day: int, hour: int, minute: int, second: Decimal, zone: str) -> Moment | None:
    if not 1 <= month <= 12 or not 1 <= day <= _DAYS_IN_MONTH[month - 1] + (month == 2 and _is_leap(year)):
        return None
    if minute > 59 or second >= 60 or hour > 24 or (hour == 24 and (minute or second)):
        return None
    offset = _offset(zone)
    if zone and offset is None:
        return None
    if hour == 24:
        # the end of a day is the start of the next
        year, month, day = _day_after(year, month, day)
        hour = 0
    minutes = (_days(year, month, day) * 24 + hour) * 60 + minute - (offset or 0)
    return Moment(year, month, day, hour, minute, second, zone, offset, minutes)


def _offset(zone: str) -> int | None:
    if not zone:
        return None
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    if minutes > 59 or hours * 60 + minutes > 14 * 60:
        return None
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days(year: int, month: int, day: int) -> int:
    """Days since the first of January of the year 0, of the Gregorian calendar without end."""
    before = year - 1
    leap_days = before // 4 - before // 100 + before // 400 + 1
    return year * 365 + leap_days + _DAYS_BEFORE_MONTH[month - 1] + (month > 2 and _is_leap(year)) + day - 1


def _day_after(year: int, month: int, day: int) -> tuple[int, int, int]:
    if day < _DAYS_IN_MONTH[month - 1] + (month == 2 and _is_leap(year)):
        return year, month, day + 1
    return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)


def _date_lexical(moment: Moment) -> str:
    sign = "-" if moment.year < 0 else ""
    return f"{sign}{abs(moment.year):04d}-{moment.month:02d}-{moment.day:02d}"


def _time_lexical(moment: Moment) -> str:
    second = decimal_lexical(moment.second)
    # one digit before the point is not a second of the lexical form
    padded = second if moment.second >= 10 else f"0{second}"
    return f"{moment.hour:02d}:{moment.minute:02d}:{padded}"


def _zone_lexical(moment: Moment) -> str:
    return "Z" if moment.offset == 0 else moment.zone
