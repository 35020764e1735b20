"""Folders, globs and single files of N-Triples."""

from __future__ import annotations

import gzip
import os
import re

import numpy as np
import pytest

from spectra.dictionary.hashing import hash_text
from spectra.errors import StreamError
from spectra.streams import reading
from spectra.streams.files import InputFile, Inputs
from spectra.streams.ntriples import FileTime, file_times
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import read
from spectra.views.summary import Summary, WantedTriples
from tests.unit.streams.conftest import read_all

A, B, C = (f"<urn:{name}> <urn:p> <urn:o> .\n" for name in "abc")


def triple(name: str) -> str:
    return f"+ <urn:{name}> <urn:p> <urn:o>"


def test_a_folder_comes_in_the_order_of_the_times_in_its_names(tmp_path, write):
    write("2016-07-01T10-00-01Z.nt", A)
    write("1467367200000.nt", B)
    write("2016-07-01T12:00:00.5+02:00.nt", C + A)
    write("README.md", "not of the stream")
    write(".1.nt", A)
    write("2.nt.tmp", A)
    write("3.nt.part", A)
    found = read_all(read(tmp_path))
    assert [(event.time, event.triples, event.size) for event in found.events] == [
        (1467367200000, [triple("b")], 1),
        (1467367200500, [triple("c"), triple("a")], 2),
        (1467367201000, [triple("a")], 1),
    ]
    assert found.bad == []
    assert len(found.batches) == 1


def test_files_of_one_time_are_events_of_one_instant_by_name(tmp_path, write):
    write("1970-01-01T00-00-01Z.nt", B)
    write("01000.nt", A)
    write("1000.nt", C)
    assert [event.triples for event in read_all(read(tmp_path)).events] == [
        [triple("a")],
        [triple("c")],
        [triple("b")],
    ]


def test_a_file_without_a_time_is_quarantined_whole(tmp_path, write):
    write("5.nt", A)
    odd = write("yesterday.nt", B)
    found = read_all(read(tmp_path))
    assert len(found.events) == 1
    assert found.bad == [(odd.as_posix(), 0, "no time in the file name", "")]


def test_times_from_mtime(tmp_path, write):
    for name, seconds in (("x.nt", 20), ("y.nt", 10.5)):
        os.utime(write(name, A), (seconds, seconds))
    assert [event.time for event in read_all(read(tmp_path, time_from="mtime")).events] == [10500, 20000]


def test_times_from_a_predicate_are_found_though_no_query_wants_it(tmp_path, write):
    stamp = '<urn:e> <urn:at> "1970-01-01T00:00:0{}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    write("a.nt", A + "nonsense\n" + stamp.format(7) + stamp.format(1))
    write("b.nt", stamp.format(3) + B)
    write("c.nt", C)
    write("d.nt", '<urn:e> <urn:at> "1970" .\n')
    for name in ("predicate:<urn:at>", "predicate:urn:at"):
        found = read_all(read(tmp_path, time_from=name), Summary([WantedTriples((None, hash_text("<urn:p>"), None))]))
        assert [(event.time, event.triples, event.size) for event in found.events] == [
            (3000, [triple("b")], 2),
            (7000, [triple("a")], 3),
        ]
        assert [(file[-4:], line, reason) for file, line, reason, _ in found.bad] == [
            ("c.nt", 0, "no triple that gives the time"),
            ("d.nt", 0, "unreadable time"),
            ("a.nt", 2, "expected a subject"),
        ]
        assert (found.source.triples, found.source.skipped) == (2, 3)
    everything = read_all(read(tmp_path, time_from="predicate:<urn:at>"))
    assert [event.size for event in everything.events] == [len(event.triples) for event in everything.events] == [2, 3]


def test_times_from_a_predicate_in_content_that_is_no_file(tmp_path):
    stamp = '<urn:e> <urn:at> "1970-01-01T00:00:0{}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    content = {"a.nt": (A + stamp.format(7)).encode(), "b.nt": stamp.format(3).encode(), "c.nt": C.encode()}
    files = [InputFile(name, tmp_path / name) for name in (*content, "gone.nt")]
    assert file_times(files, "<urn:at>", content) == [
        FileTime(7000),
        FileTime(3000),
        FileTime(None, "no triple that gives the time"),
        FileTime(None, "unreadable file"),
    ]


def test_one_file_is_events_of_equal_size(write):
    path = write("all.nt", A + "# comment\n" + B + "bad\n" + C + "\n" + A + B)
    found = read_all(read(path, event_size=2, start="1970-01-01T00:01:00Z", interval="PT10S"))
    assert [(event.time, len(event.triples), event.place[1]) for event in found.events] == [
        (60_000, 2, 1),
        (70_000, 2, 5),
        (80_000, 1, 8),
    ]
    assert found.reasons == [(4, "expected a subject")]
    single = read_all(read(str(path)))
    assert [event.time for event in single.events] == [0, 1000, 2000, 3000, 4000]
    assert single.source.lines == 8


def test_skipped_triples_still_make_events(write):
    path = write("all.nt", (A + "<urn:a> <urn:q> <urn:o> .\n") * 3)
    found = read_all(read(path), Summary([WantedTriples((None, hash_text("<urn:p>"), None))]))
    assert [(len(event.triples), event.size) for event in found.events] == [(1, 1), (0, 1)] * 3
    assert (found.source.triples, found.source.skipped, found.source.lines) == (3, 3, 6)


@pytest.mark.parametrize("event_size", [1, 7, 1000])
@pytest.mark.parametrize("packed", [False, True])
def test_a_big_file_is_cut_between_events(tmp_path, monkeypatch, event_size, packed):
    monkeypatch.setattr(reading, "BATCH_BYTES", 1000)
    text = "".join(f"<urn:s{n}> <urn:p> _:b{n % 10} .\n" + ("bad\n" if n % 50 == 0 else "") for n in range(500))
    path = tmp_path / ("all.nt.gz" if packed else "all.nt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    pieces = list(read(path, event_size=event_size)._reader("nt", *_reading()).batches([_file(path)]))
    found = read_all(read(path, event_size=event_size))
    assert sum(piece.events for piece in pieces) == len(found.events) == -(-500 // event_size)
    assert [event.size for event in found.events[:-1]] == [event_size] * (len(found.events) - 1)
    assert [line.split()[1] for event in found.events for line in event.triples] == [f"<urn:s{n}>" for n in range(500)]
    assert len({line.split()[3] for event in found.events for line in event.triples}) == 10
    assert [line for line, _ in found.reasons] == [n + n // 50 + 2 for n in range(0, 500, 50)]
    assert [event.time for event in found.events] == [1000 * n for n in range(len(found.events))]
    if event_size < 1000 and not packed:
        assert len(pieces) > 5


def _reading():
    return reading.Reading("", Quarantine()), Summary.everything(), False


def _file(path):
    return InputFile(path.as_posix(), path)


def test_many_small_files_share_a_batch_and_big_ones_do_not(tmp_path, write, monkeypatch):
    for n in range(20):
        write(f"{n}.nt", A * (50 if n == 10 else 1))
    monkeypatch.setattr(reading, "BATCH_BYTES", 200)
    pieces = list(read(tmp_path)._reader("nt", *_reading()).batches(read(tmp_path)._inputs.files()))
    assert [piece.events for piece in pieces] == [7, 3, 1, 7, 2]
    assert [event.size for event in read_all(read(tmp_path)).events] == [1] * 10 + [50] + [1] * 9


# --- blank nodes --------------------------------------------------------------------------


def test_a_label_is_one_node_in_its_file_and_another_in_the_next(tmp_path, write):
    write("1.nt", "_:a <urn:p> _:a .\n")
    write("2.nt", "_:a <urn:p> _:b .\n")
    write("sub/1.nt", "_:a <urn:p> _:b .\n")
    first, second = (
        [term for term in event.triples[0].split() if term.startswith("_:")]
        for event in read_all(read(tmp_path)).events
    )
    assert first[0] == first[1]
    assert len({*first, *second}) == 3
    assert all(re.fullmatch(r"_:[ab]\.[0-9a-f]{32}", label) for label in first + second)
    other = read_all(read(tmp_path / "sub")).events[0].triples[0].split()[1]
    assert other not in first + second
    assert [event.triples for event in read_all(read(str(tmp_path) + "/")).events] == [
        event.triples for event in read_all(read([tmp_path / "1.nt", tmp_path / "2.nt"])).events
    ]


# --- damage -------------------------------------------------------------------------------


def test_a_truncated_gzip_gives_what_is_whole(tmp_path):
    text = "".join(f"<urn:s{n * 7919 % 10007}> <urn:p> <urn:o{n * n}> .\n" for n in range(5000)).encode()
    octets = gzip.compress(text)
    for name in ("1.nt.gz", "all.nt.gz"):
        (tmp_path / name).write_bytes(octets[: len(octets) // 2])
    for source in (read(f"{tmp_path}/1*.gz"), read(tmp_path / "all.nt.gz")):
        found = read_all(source)
        rows = sum(len(event.triples) for event in found.events)
        assert 1000 < rows < 5000
        assert [(line, reason) for line, reason in found.reasons] == [(rows + 1, "truncated gzip")]
        assert text.splitlines()[rows].startswith(found.bad[0][3].encode())


def test_a_corrupt_gzip_gives_what_comes_before(tmp_path):
    octets = bytearray(gzip.compress((A * 10).encode()))
    octets[-5] ^= 0xFF
    (tmp_path / "1.nt.gz").write_bytes(octets)
    found = read_all(read(tmp_path))
    assert len(found.events[0].triples) == 10
    assert [line for line, _ in found.reasons] == [11]
    assert found.reasons[0][1].startswith("corrupt gzip")


def test_what_is_no_gzip_at_all_is_said(tmp_path):
    (tmp_path / "1.nt.gz").write_text(A)
    found = read_all(read(tmp_path))
    assert [(event.time, event.triples) for event in found.events] == [(1, [])]
    assert found.reasons[0][1].startswith("corrupt gzip")


def test_gzip_members_and_padding_are_read_through(tmp_path):
    (tmp_path / "1.nt.gz").write_bytes(gzip.compress(A.encode()) + gzip.compress(B.encode()) + bytes(512))
    found = read_all(read(tmp_path))
    assert (found.events[0].triples, found.bad) == ([triple("a"), triple("b")], [])


def test_a_byte_order_mark_and_a_missing_last_line_end(tmp_path, write):
    for name in ("1.nt", "all.nt"):
        write(name, "\ufeff" + A.replace("\n", "\r\n") + B.rstrip("\n"))
    for source in (read(f"{tmp_path}/1*"), read(tmp_path / "all.nt")):
        found = read_all(source)
        assert [line for event in found.events for line in event.triples] == [triple("a"), triple("b")]
        assert found.bad == []


@pytest.mark.parametrize("time_from", ["name", "mtime", "predicate:<urn:p>"])
def test_a_file_that_went_away_is_quarantined_whole(tmp_path, write, monkeypatch, time_from):
    write("1.nt", '<urn:e> <urn:p> "1970-01-01T00:00:01Z" .\n')
    gone = InputFile("2.nt", tmp_path / "2.nt")
    files = Inputs.files
    monkeypatch.setattr(Inputs, "files", lambda self: [*files(self), gone])
    found = read_all(read(tmp_path, time_from=time_from))
    assert [event.size for event in found.events] == [1]
    assert [(file, line, reason) for file, line, reason, _ in found.bad] == [("2.nt", 0, "unreadable file")]


def test_empty_files_are_empty_events(tmp_path, write):
    write("1.nt", "")
    write("2.nt", "# nothing\n")
    assert [(event.time, event.size) for event in read_all(read(tmp_path)).events] == [(1, 0), (2, 0)]
    assert read_all(read(write("3.nt", ""))).events == []


# --- calls --------------------------------------------------------------------------------


def test_sources_can_be_read_again(tmp_path, write):
    write("1.nt", A + "bad\n")
    source = read(tmp_path, stream="urn:s")
    for _ in range(2):
        found = read_all(source)
        assert (source.lines, source.triples, source.skipped, len(found.bad)) == (2, 1, 0, 1)
    assert found.batches[0].stream == source.stream == "urn:s"
    assert str(source) == str(tmp_path)
    assert found.batches[0].event_first.dtype == found.batches[0].event_time.dtype == np.int64


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda folder: read(folder / "none"), "no such file or folder"),
        (lambda folder: read([]), "no path given"),
        (lambda folder: read(folder / "a.ttl"), "unknown ending"),
        (lambda folder: read(folder / "1.nt", time_from="mtime"), "times of one N-Triples file"),
        (lambda folder: read(folder, time_from="clock"), "unknown origin of times"),
        (lambda folder: read(folder, time_from="predicate:<x>"), "unknown origin of times"),
        (lambda folder: read(folder, event_size=0), "event size"),
        (lambda folder: read(folder, start="noon"), "not a time"),
        (lambda folder: read(folder, interval="often"), "not a duration"),
        (lambda folder: read(folder, interval=-1), "negative interval"),
        (lambda folder: read_all(read(folder / "empty")), "no files to read"),
        (lambda folder: read_all(read(f"{folder}/*.nq")), "no files to read"),
        (lambda folder: read_all(read(folder / "mixed")), "more than one form"),
        (lambda folder: read_all(read(folder / "1.nt"), follow=True), "cannot follow one file"),
    ],
)
def test_wrong_calls(tmp_path, write, call, message):
    write("1.nt", A)
    write("a.ttl", "")
    write("mixed/1.nt", A)
    write("mixed/2.nq", "")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StreamError, match=message) as error:
        call(tmp_path)
    assert error.value.hint


def test_strict_stops_at_the_first_bad_line(tmp_path, write):
    path = write("1.nt", A + "<urn:a> <urn:p> <o> .\nbad\n")
    with pytest.raises(StreamError, match="relative IRI") as error:
        list(read(tmp_path).batches(Summary.everything(), Quarantine(strict=True)))
    assert error.value.place is not None
    assert (error.value.place.line, error.value.place.column, error.value.place.source) == (
        2,
        18,
        path.as_posix(),
    )
