"""The quarantine: every record on disk at once, counted, strict on demand."""

from __future__ import annotations

import json

import pytest

from spectra.errors import StreamError
from spectra.streams.quarantine import Quarantine


def test_records_are_on_disk_as_they_come(tmp_path):
    path = tmp_path / "bad.jsonl"
    with Quarantine(path) as quarantine:
        assert path.read_text() == ""
        quarantine.add("a.nt", 3, "relative IRI", b"<\xff>")
        assert json.loads(path.read_text(encoding="utf-8")) == {
            "file": "a.nt",
            "line": 3,
            "reason": "relative IRI",
            "text": "<\ufffd>",
        }
        quarantine.add("a.nt", 4, "relative IRI", "x" * 5000)
        quarantine.add("b.nt", 0, "no time in the file name", "é\n")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [len(record["text"]) for record in records] == [3, 2000, 2]
    assert quarantine.count == 3
    assert quarantine.reasons == {"relative IRI": 2, "no time in the file name": 1}


@pytest.mark.parametrize(("append", "records"), [(False, 1), (True, 2)])
def test_an_earlier_file_is_replaced_unless_appended_to(tmp_path, append, records):
    path = tmp_path / "bad.jsonl"
    for _ in range(2):
        with Quarantine(path, append=append) as quarantine:
            quarantine.add("a.nt", 1, "late", "x")
    assert len(path.read_text().splitlines()) == records


def test_strict_raises_with_the_place_and_still_records(tmp_path):
    quarantine = Quarantine(tmp_path / "bad.jsonl", strict=True)
    with pytest.raises(StreamError) as error:
        quarantine.add("a.nt", 7, "invalid UTF-8", b"x", column=3)
    quarantine.close()
    assert str(error.value).splitlines()[:3] == ["invalid UTF-8", "  a.nt, line 7, column 3", "detail: x"]
    assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 1


def test_a_quarantine_needs_no_file():
    quarantine = Quarantine(None)
    quarantine.add("a.nt", 1, "late", "x")
    quarantine.close()
    assert quarantine.count == 1


def test_a_file_that_cannot_be_written_is_said_at_once(tmp_path):
    with pytest.raises(StreamError, match="cannot write the quarantine file") as error:
        Quarantine(tmp_path / "none" / "bad.jsonl")
    assert error.value.hint
