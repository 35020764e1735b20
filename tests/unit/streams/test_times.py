"""Times in file names and literals."""

from __future__ import annotations

import pytest

from spectra.errors import StreamError
from spectra.streams.times import literal_time, name_time

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("stem", "time"),
    [
        ("2016-07-01T10-00-00Z", 1467367200000),
        ("2016-07-01T10:00:00.250Z", 1467367200250),
        ("2016-07-01T12-00-00+02-00", 1467367200000),
        ("1467367200000", 1467367200000),
        ("-5", -5),
        ("transfers_2016-07-01T10-00-00Z_2", 1467367200000),
    ],
)
def test_names(stem, time):
    assert name_time(stem) == time


@pytest.mark.parametrize("stem", ["", "events", "part-17", "2016-07-01", "2016-13-01T10-00-00Z"])
def test_names_without_a_time(stem):
    with pytest.raises(StreamError):
        name_time(stem)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (f'"1970-01-01T00:00:01Z"^^<{XSD}dateTime>', 1000),
        (f'"1970-01-01T00:00:01+00:00"^^<{XSD}dateTimeStamp>', 1000),
        ('"1970-01-01T00:00:01"', 1000),
        (f'"1500"^^<{XSD}integer>', 1500),
    ],
)
def test_literals(text, time):
    assert literal_time(text) == time


@pytest.mark.parametrize(
    "text", ["<urn:x>", "_:b", '"1500"', f'"1970"^^<{XSD}gYear>', '"1970-01-01T00:00:01Z"@en', '"x"']
)
def test_literals_that_are_no_time(text):
    with pytest.raises(StreamError):
        literal_time(text)
