"""RDF Patch: blocks of additions and deletions."""

from __future__ import annotations

import pytest

from spectra.dictionary.hashing import hash_text
from spectra.streams import reading
from spectra.streams.source import read
from spectra.views.summary import Summary, WantedTriples
from tests.unit.streams.conftest import read_all

DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
TIME = f'H time "1970-01-01T00:00:01Z"^^<{DATE_TIME}> .\n'


def add(name: str, keyword: str = "A") -> str:
    return f"{keyword} <urn:{name}> <urn:p> <urn:o> .\n"


def brief(found):
    return [(event.time, [line[0] + line.split()[1] for line in event.triples]) for event in found.events]


def test_a_block_is_an_event_and_keeps_its_order(write):
    text = (
        "H id <uuid:1> .\nH prev <uuid:0> .\nPA foaf <http://xmlns.com/foaf/0.1/> .\n# comment\n\n"
        + "TX .\n" + TIME + "H id <uuid:2> .\n" + add("a") + add("b", "D") + add("a", "D") + "TC .\n"
        + "TX\n" + add("c") + TIME.replace("01Z", "02Z") + "TC\n"
    )  # fmt: skip
    found = read_all(read(write("s.rdfp", text)))
    assert brief(found) == [(1000, ["+<urn:a>", "-<urn:b>", "-<urn:a>"]), (2000, ["+<urn:c>"])]
    assert [event.place[1] for event in found.events] == [6, 13]
    assert found.bad == []


@pytest.mark.parametrize(
    "time",
    [
        f'"1970-01-01T00:00:01Z"^^<{DATE_TIME}> .',
        '"1970-01-01T00:00:01Z"^^xsd:dateTime .',
        '"1970-01-01T00:00:01Z"^^xsd:dateTime',
        '"1970-01-01T00:00:01Z" . # now',
        '"1000"^^<http://www.w3.org/2001/XMLSchema#long> .',
    ],
)
def test_ways_to_write_the_time(write, time):
    assert brief(read_all(read(write("s.rdfp", f"TX .\nH time {time}\n{add('a')}TC .\n")))) == [(1000, ["+<urn:a>"])]


def test_a_graph_name_is_read_and_ignored(write):
    found = read_all(read(write("s.rdfp", "TX .\n" + TIME + "A <urn:a> <urn:p> <urn:o> <urn:g> .\nTC .\n")))
    assert (brief(found), found.events[0].graph) == ([(1000, ["+<urn:a>"])], "")


def test_an_aborted_block_is_dropped_without_a_record(write):
    text = "TX .\n" + TIME + add("a") + "TA .\nTX .\n" + TIME + add("b") + "TC .\n"
    found = read_all(read(write("s.rdfp", text)))
    assert (brief(found), found.bad, found.source.triples) == ([(1000, ["+<urn:b>"])], [], 1)


@pytest.mark.parametrize(
    ("block", "records"),
    [
        ("TX .\n" + add("a") + add("b", "D") + "TC .\n", [(n, "block without a time") for n in (2, 3)]),
        ("TX .\nTC .\n", [(1, "block without a time")]),
        ('TX .\nH time "noon" .\n' + add("a") + "TC .\n", [(3, "unreadable time")]),
        ("TX .\nH time now .\n" + add("a") + "TC .\n", [(2, "bad header"), (3, "block without a time")]),
        ("TX .\n" + TIME + add("a"), [(3, "block without TC")]),
        ("TX .\n" + TIME + TIME + add("a") + "TA\n", [(3, "second time in one block")]),
        (add("a") + TIME + "TC .\nTA .\n", [(n, "line outside a block") for n in (1, 2, 3, 4)]),
        ("TX .\nA foaf:a <urn:p> <urn:o> .\nTA .\n", [(2, "prefixed name: write the full IRI")]),
        ("TX .\nA <urn:a> :p <urn:o> .\nTA .\n", [(2, "prefixed name: write the full IRI")]),
        ("TX .\nA <urn:a> <urn:p> 1 .\nTA .\n", [(2, "expected an object")]),
        ("TX .\nA <urn:a> <urn:p> <urn:o>\nTA .\n", [(2, "expected '.'")]),
        ("TX .\nADD <urn:a> <urn:p> <urn:o> .\nTA .\n", [(2, "unknown RDF Patch keyword")]),
        ("TX .\nTA x\nTA .\n", [(2, "text behind the statement")]),
    ],
)  # fmt: skip
def test_bad_blocks_and_lines(write, block, records):
    found = read_all(read(write("s.rdfp", block + "TX .\n" + TIME + add("z") + "TC .\n")))
    assert sorted(found.reasons) == records
    assert brief(found) == [(1000, ["+<urn:z>"])]
    assert (found.source.triples, found.source.skipped) == (1, 0)


def test_an_unterminated_block_at_the_end(write):
    found = read_all(read(write("s.rdfp", "TX .\n" + TIME + add("a") + "TC .\nTX .\n" + TIME + add("b"))))
    assert (brief(found), found.reasons) == ([(1000, ["+<urn:a>"])], [(7, "block without TC")])


def test_pruning_keeps_the_event_and_its_size(write):
    text = "TX .\n" + TIME + add("a") + "D <urn:a> <urn:q> unread\nTC .\n"
    found = read_all(read(write("s.rdfp", text)), Summary([WantedTriples((None, hash_text("<urn:p>"), None))]))
    assert [(event.size, len(event.triples)) for event in found.events] == [(2, 1)]
    assert found.source.skipped == 1


@pytest.mark.parametrize("size", [40, 333, 5000])
def test_the_cut_into_pieces_does_not_show(write, monkeypatch, size):
    text = "".join(
        "TX .\n" + (TIME if n % 5 else "") + "".join(add(f"s{n}-{m}", "AD"[m % 2]) for m in range(n % 7))
        + ("TC .\n" if n % 11 else "") for n in range(100)
    )  # fmt: skip
    path = write("s.rdfp", text)
    whole = read_all(read(path))
    monkeypatch.setattr(reading, "BATCH_BYTES", size)
    pieces = read_all(read(path))
    assert pieces.events == whole.events
    assert sorted(pieces.bad) == sorted(whole.bad)
    assert whole.source.lines == pieces.source.lines == len(text.splitlines())
