"""N-Quads: events by graph name, times in the default graph."""

from __future__ import annotations

import pytest

from spectra.dictionary.hashing import hash_text
from spectra.streams import reading
from spectra.streams.source import read
from spectra.views.summary import Summary, WantedTriples
from tests.unit.streams.conftest import read_all

DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def at(graph: str, second: int) -> str:
    time = f'"1970-01-01T00:00:{second:02}Z"^^<{DATE_TIME}>'
    return f"<urn:{graph}> <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n"


def quad(name: str, graph: str) -> str:
    return f"<urn:{name}> <urn:p> <urn:o> <urn:{graph}> .\n"


def brief(found):
    return [(event.time, event.graph, [line.split()[1] for line in event.triples]) for event in found.events]


def test_consecutive_quads_of_one_graph_are_an_event(write):
    found = read_all(read(write("s.nq", at("g", 1) + quad("a", "g") + quad("b", "g") + at("h", 2) + quad("c", "h"))))
    assert brief(found) == [
        (1000, "<urn:g>", ["<urn:a>", "<urn:b>"]),
        (2000, "<urn:h>", ["<urn:c>"]),
    ]
    assert [event.place[1] for event in found.events] == [2, 5]
    assert (found.bad, found.source.lines, found.source.triples) == ([], 5, 3)


def test_times_may_all_come_first(write):
    found = read_all(read(write("s.nq", at("g", 1) + at("h", 2) + quad("a", "g") + quad("b", "h"))))
    assert brief(found) == [(1000, "<urn:g>", ["<urn:a>"]), (2000, "<urn:h>", ["<urn:b>"])]


def test_a_graph_that_comes_back_is_a_new_event_with_the_latest_time(write):
    text = at("g", 1) + quad("a", "g") + at("h", 2) + quad("b", "h") + quad("c", "g") + at("g", 3) + quad("d", "g")
    assert brief(read_all(read(write("s.nq", text)))) == [
        (1000, "<urn:g>", ["<urn:a>"]),
        (2000, "<urn:h>", ["<urn:b>"]),
        (1000, "<urn:g>", ["<urn:c>"]),
        (3000, "<urn:g>", ["<urn:d>"]),
    ]


def test_every_quad_of_a_graph_without_a_time_is_quarantined(write):
    text = "# x\n" + quad("a", "g") + "\nbad\n" + at("h", 9) + quad("b", "g") + at("g", 1) + quad("c", "g")
    path = write("s.nq", text)
    found = read_all(read(path))
    assert brief(found) == [(1000, "<urn:g>", ["<urn:c>"])]
    assert sorted(found.bad) == [
        (path.as_posix(), 2, "graph without a time", quad("a", "g").strip()),
        (path.as_posix(), 4, "expected a subject", "bad"),
        (path.as_posix(), 6, "graph without a time", quad("b", "g").strip()),
    ]
    assert (found.source.triples, found.source.skipped) == (1, 0)


def test_default_graph_statements_that_are_no_times_are_bad_lines(write):
    text = at("g", 1) + "<urn:x> <urn:p> <urn:o> .\n" + quad("a", "g") + "<urn:x> <urn:p> 'o' .\n" + quad("b", "g")
    found = read_all(read(write("s.nq", text)))
    assert found.reasons == [(2, "default graph statement that is no time"), (4, "expected an object")]
    assert brief(found) == [(1000, "<urn:g>", ["<urn:a>", "<urn:b>"])]


@pytest.mark.parametrize("value", ['"noon"', "<urn:noon>", '"1970"^^<http://www.w3.org/2001/XMLSchema#gYear>'])
def test_an_unreadable_time_is_a_bad_line_and_changes_nothing(write, value):
    line = f"<urn:g> <http://www.w3.org/ns/prov#generatedAtTime> {value} ."
    found = read_all(read(write("s.nq", at("g", 1) + line + "\n" + quad("a", "g"))))
    assert brief(found) == [(1000, "<urn:g>", ["<urn:a>"])]
    assert [(number, reason, text) for _, number, reason, text in found.bad] == [(2, "unreadable time", line)]


def test_time_statements_inside_named_graphs_are_data(write):
    inside = at("g", 5).replace(" .\n", " <urn:g> .\n")
    found = read_all(read(write("s.nq", at("g", 1) + inside)))
    assert [(event.time, event.size) for event in found.events] == [(1000, 1)]


def test_pruning_keeps_events_and_blank_graph_names_their_scope(write):
    text = at("g", 1).replace("<urn:g>", "_:g") + "<urn:a> <urn:q> <urn:o> _:g .\n"
    found = read_all(read(write("s.nq", text)), Summary([WantedTriples((None, hash_text("<urn:p>"), None))]))
    assert [(event.time, event.size, event.triples, event.graph[:4]) for event in found.events] == [
        (1000, 1, [], "_:g.")
    ]
    assert found.source.skipped == 1


@pytest.mark.parametrize("size", [50, 333, 5000])
def test_the_cut_into_pieces_does_not_show(write, monkeypatch, size):
    text = "".join(
        at(f"g{n}", n % 60)
        + "".join(quad(f"s{n}-{m}", f"g{n}") for m in range(n % 7))
        + ("bad\n" if n % 9 == 0 else "")
        for n in range(100)
    )
    path = write("s.nq", text)
    whole = read_all(read(path))
    monkeypatch.setattr(reading, "BATCH_BYTES", size)
    pieces = read_all(read(path))
    assert pieces.events == whole.events
    assert sorted(pieces.bad) == sorted(whole.bad)
    assert pieces.source.lines == whole.source.lines == len(text.splitlines())


def test_a_folder_of_quads_comes_in_the_order_of_names(tmp_path, write):
    write("b.nq", quad("a", "g") + at("h", 2) + quad("b", "h"))
    write("a.nq", at("g", 1) + quad("c", "g"))
    found = read_all(read(tmp_path))
    assert brief(found) == [
        (1000, "<urn:g>", ["<urn:c>"]),
        (1000, "<urn:g>", ["<urn:a>"]),
        (2000, "<urn:h>", ["<urn:b>"]),
    ]
    assert len(found.batches) == 1
    assert [event.place[0][-4:] for event in found.events] == ["a.nq", "b.nq", "b.nq"]
