"""Events made in Python, and batches put together."""

from __future__ import annotations

import pyoxigraph
import pytest
import rdflib

from spectra.dictionary.hashing import hash_text
from spectra.errors import StreamError
from spectra.streams.memory import concatenate, from_triples
from spectra.streams.source import read
from tests.unit.streams.conftest import events_of, read_all

A, P, X = "<urn:a>", "<urn:p>", '"é"@en'
ROW = f"{A} {P} {X}"


@pytest.mark.parametrize(
    "added",
    [
        [(A, P, X)],
        [[A, P, r'"\u00e9"@EN']],
        [f"{A} {P} {X} ."],
        f"# one\n{A} {P} {X} .\n\n",
        [(rdflib.URIRef("urn:a"), rdflib.URIRef("urn:p"), rdflib.Literal("é", lang="en"))],
        [
            (
                pyoxigraph.NamedNode("urn:a"),
                pyoxigraph.NamedNode("urn:p"),
                pyoxigraph.Literal("é", language="en"),
            )
        ],
        [
            pyoxigraph.Triple(
                pyoxigraph.NamedNode("urn:a"),
                pyoxigraph.NamedNode("urn:p"),
                pyoxigraph.Literal("é", language="en"),
            )
        ],
        ((A, P, X) for _ in range(1)),
    ],
)
def test_ways_to_write_a_triple(added):
    batch = from_triples("urn:s", 5, added, [])
    (event,) = events_of(batch)
    assert (event.time, event.triples, event.size, batch.stream) == (5, [f"+ {ROW}"], 1, "urn:s")
    assert batch.hashes.tolist() == [[hash_text(term) for term in (A, P, X)]]


def test_deletions_come_first():
    (event,) = events_of(from_triples("", 0, [(A, P, A), (A, P, X)], f"{A} {P} _:x ."))
    assert event.triples == [f"- {A} {P} _:x", f"+ {A} {P} {A}", f"+ {A} {P} {X}"]


def test_tags_as_written_are_kept():
    for added in ([(A, P, '"x"@EN-gb')], f'{A} {P} "x"@EN-gb .'):
        batch = from_triples("", 0, added, [])
        behind = int(batch.start[0, 2] + batch.length[0, 2])
        assert batch.text[behind : behind + int(batch.tag[0, 2])].tobytes() == b"EN-gb"
        assert events_of(batch)[0].triples == [f'+ {A} {P} "x"@en-gb']


def test_an_event_without_triples():
    (event,) = events_of(from_triples("", 7, [], []))
    assert (event.time, event.triples, event.size) == (7, [], 0)


def test_a_graph_name():
    assert from_triples("", 0, [(A, P, X)], [], graph=r"<urn:\u0067>").event_graph == ["<urn:g>"]
    with pytest.raises(StreamError, match="literal as graph name"):
        from_triples("", 0, [], [], graph='"g"')


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ([(A, P)], "not a triple"),
        ([7], "not a triple"),
        ([('"a"', P, X)], "literal as subject"),
        ([(A, "_:p", X)], "predicate is not an IRI"),
        ([(A, P, "<o>")], "relative|IRI"),
        (f"{A} {P} {X} .\n{A} {P} .", "expected an object"),
        ([f"{A} {P} \ud800 ."], "expected an object|UTF-8"),
    ],
)
def test_what_is_no_triple_is_refused(added, message):
    with pytest.raises(StreamError, match=message):
        from_triples("", 0, added, [])


def test_columns_have_the_types_of_scanned_ones(write):
    scanned = read_all(read(write("s.nt", f"{A} {P} {X} .\n"))).batches[0]
    for made in (from_triples("", 0, [(A, P, X)], []), concatenate([scanned, scanned])):
        for name in (
            "text",
            "start",
            "length",
            "tag",
            "hashes",
            "sign",
            "event_time",
            "event_first",
            "event_size",
        ):
            ours, theirs = getattr(made, name), getattr(scanned, name)
            assert (ours.dtype, ours.ndim) == (theirs.dtype, theirs.ndim), name
            assert ours.flags.writeable, name
            assert ours.flags.c_contiguous, name


def test_concatenate(write):
    file = read_all(read(write("s.nt", '_:a <urn:p> "x"@EN .\n<urn:b> <urn:p> <urn:o> .\n'))).batches[0]
    made = from_triples("", 9, [(A, P, X)], [(A, P, A)], graph="<urn:g>")
    empty = from_triples("", 10, [], [])
    joined = concatenate([file, made, empty, file])
    parts = [event for batch in (file, made, empty, file) for event in events_of(batch)]
    assert events_of(joined) == parts
    assert joined.event_graph == ["", "", "<urn:g>", "", "", ""]
    assert joined.event_first.tolist() == [0, 1, 2, 4, 4, 5, 6]
    assert joined.hashes.tolist() == [row for batch in (file, made, file) for row in batch.hashes.tolist()]
    assert concatenate([file]) is file
    for wrong in ([], [file, from_triples("urn:other", 0, [], [])]):
        with pytest.raises(StreamError):
            concatenate(wrong)
