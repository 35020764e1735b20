"""Event times in file names and in literals."""

from __future__ import annotations

import re

from spectra.clock import milliseconds
from spectra.errors import StreamError

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DATE_TIMES = ("", f"^^<{_XSD}dateTime>", f"^^<{_XSD}dateTimeStamp>")
_INTEGERS = (f"^^<{_XSD}integer>", f"^^<{_XSD}long>")
_IN_NAME = re.compile(r"(?<!\d)\d{4,}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:\.\d+)?(?:Z|[+-]\d\d[:-]?\d\d)?")
_INTEGER = re.compile(r"-?\d+")


def name_time(stem: str) -> int:
    """The time in a file's name (without folder and ending): ISO time in it, or integer milliseconds.

    Examples
    --------
    >>> name_time("1970-01-01T00-00-01Z"), name_time("1500"), name_time("part-1970-01-01T00-00-02Z")
    (1000, 1500, 2000)
    """
    try:
        return milliseconds(stem)
    except StreamError:
        found = _IN_NAME.search(stem)
        if found is None:
            raise
        return milliseconds(found.group())


def literal_time(text: str) -> int:
    """The time that a literal says by its canonical text: `xsd:dateTime`, plain, or integer milliseconds."""
    lexical, _, datatype = text[1:].rpartition('"')
    is_integer = _INTEGER.fullmatch(lexical) is not None
    if text.startswith('"') and datatype in (_INTEGERS if is_integer else _DATE_TIMES):
        return milliseconds(lexical)
    raise StreamError(f"not a time: {text}", hint="Write xsd:dateTime (2016-07-01T10:00:00Z).")
