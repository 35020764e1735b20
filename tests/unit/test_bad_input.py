"""Bad input of every kind: set aside with a reason, and the answers are those of the stream without it."""

from __future__ import annotations

import gzip
import json
from typing import NamedTuple

import numba
import pytest

import spectra
from spectra.errors import StreamError
from spectra.streams.quarantine import Quarantine
from tests.unit.notation import deltas, query, shown

GOOD = b"<urn:a> <urn:pays> <urn:b> .\n"
ALSO_GOOD = b"<urn:b> <urn:pays> <urn:c> .\n"
GENERATED = b"<http://www.w3.org/ns/prov#generatedAtTime>"
DATE_TIME = b"^^<http://www.w3.org/2001/XMLSchema#dateTime>"

#: More than is read at once, unless interpreted kernels have to read it.
LONG = 50_000 if numba.config.DISABLE_JIT else 5_000_000

#: What the query tells of GOOD and ALSO_GOOD in the first second.
BOTH = deltas("0 +a b, +a c, +b c")


class Told(NamedTuple):
    changes: list[str]
    bad: list[tuple[str, int, str]]


def told(path, quarantine_file, *, strict=False, options=None, **how) -> Told:
    """The changes of a run over files, and what was set aside: (file, line, reason)."""
    engine = spectra.Engine()
    engine.register(query("RANGE PT10S"))
    with Quarantine(quarantine_file, strict=strict) as engine.quarantine:
        changes = shown(engine.run(spectra.read(path, **how), drain=False, **(options or {})))
    records = [json.loads(line) for line in quarantine_file.read_text(encoding="utf-8").splitlines()]
    assert all(set(record) == {"file", "line", "reason", "text"} for record in records)
    assert engine.quarantine.count == len(records)
    return Told(changes, [(record["file"].rpartition("/")[2], record["line"], record["reason"]) for record in records])


@pytest.fixture
def stream(tmp_path):
    """Writes files of a folder, reads it, and checks that strict reading stops at the first bad line."""

    def run(files: dict[str, bytes], *, one: bool = False, **how) -> Told:
        folder = tmp_path / "stream"
        folder.mkdir(exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        path = folder / next(iter(files)) if one else folder
        found = told(path, tmp_path / "bad.jsonl", **how)
        if found.bad:
            with pytest.raises(StreamError) as raised:
                told(path, tmp_path / "strict.jsonl", strict=True, **how)
            assert raised.value.place is not None
            file, line, reason = found.bad[0]
            assert raised.value.place.source.rpartition("/")[2] == file
            assert raised.value.place.line == line
            assert raised.value.message == reason
        else:
            assert told(path, tmp_path / "strict.jsonl", strict=True, **how) == found
        return found

    return run


# --- lines --------------------------------------------------------------------------------

BAD_LINES = {
    "half a line": (b"<urn:x> <urn:pays> <urn:\n", "unterminated IRI"),
    "no full stop": (b"<urn:x> <urn:pays> <urn:y>\n", "expected '.'"),
    "invalid UTF-8": (b"<urn:x> <urn:pays> <urn:\xff\xfe> .\n", "invalid UTF-8"),
    "overlong UTF-8": (b'<urn:x> <urn:pays> "\xc0\xaf" .\n', "invalid UTF-8"),
    "half a character": (b'<urn:x> <urn:pays> "\xe2\x82" .\n', "invalid UTF-8"),
    "NUL in an IRI": (b"<urn:x\x00> <urn:pays> <urn:y> .\n", "character not allowed in an IRI"),
    "NUL between terms": (b"<urn:x>\x00<urn:pays> <urn:y> .\n", "expected a predicate"),
    "a line of NULs": (b"\x00\x00\x00\x00\n", "expected a subject"),
    "literal as subject": (b'"x" <urn:pays> <urn:y> .\n', "literal as subject"),
    "blank node as predicate": (b"<urn:x> _:p <urn:y> .\n", "expected a predicate"),
    "relative IRI": (b"<urn:x> <urn:pays> <y> .\n", "relative IRI"),
    "surrogate": (rb'<urn:x> <urn:pays> "\uD800" .' + b"\n", "escape of a surrogate or beyond U+10FFFF"),
    "bad escape": (rb'<urn:x> <urn:pays> "\q" .' + b"\n", "bad escape"),
    "unterminated literal": (b'<urn:x> <urn:pays> "y .\n', "unterminated literal"),
    "text behind": (b"<urn:x> <urn:pays> <urn:y> . rest\n", "text behind the statement"),
    "two statements": (
        b"<urn:x> <urn:pays> <urn:y> . <urn:x> <urn:pays> <urn:z> .\n",
        "more than one statement in a line",
    ),
    "Turtle": (b"@prefix ex: <urn:> .\n", "expected a subject"),
    "N-Quads": (b"<urn:x> <urn:pays> <urn:y> <urn:g> .\n", "expected '.'"),
    "something else": (b'{"x": "pays"}\n', "expected a subject"),
    "very long": (b"<urn:x> <urn:pays> <urn:" + b"y" * LONG + b"\n", "unterminated IRI"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_bad_line_of_ntriples(kind, stream):
    line, reason = BAD_LINES[kind]
    found = stream({"0.nt": GOOD + line + ALSO_GOOD}, options={"validate": True})
    assert found.bad == [("0.nt", 2, reason)]
    assert found.changes == BOTH


@pytest.mark.parametrize("kind", BAD_LINES)
def test_bad_line_takes_no_place_in_a_file_of_events(kind, stream):
    line, reason = BAD_LINES[kind]
    found = stream({"all.nt": GOOD + line + ALSO_GOOD}, one=True, options={"validate": True})
    assert found.bad == [("all.nt", 2, reason)]
    assert found.changes == deltas("0 +a b | 1 +a c, +b c")


def test_a_line_that_no_query_can_use_may_be_skipped_unread(stream):
    line = b"<urn:x> <urn:likes> <urn:y> and more\n"
    assert stream({"0.nt": GOOD + line + ALSO_GOOD}).changes == BOTH
    assert stream({"0.nt": GOOD + line + ALSO_GOOD}, options={"validate": True}).bad == [("0.nt", 2, "expected '.'")]


def test_text_of_a_bad_line_is_kept_in_part(tmp_path):
    (tmp_path / "all.nt").write_bytes(b"<urn:x> <urn:pays> \xff" + b"y" * 5000 + b"\n")
    told(tmp_path / "all.nt", tmp_path / "bad.jsonl")
    record = json.loads((tmp_path / "bad.jsonl").read_text(encoding="utf-8"))
    assert record["text"].startswith("<urn:x> <urn:pays> \N{REPLACEMENT CHARACTER}yyy")
    assert len(record["text"]) <= 2000


# --- files --------------------------------------------------------------------------------


def test_last_line_without_line_end(stream):
    assert stream({"0.nt": GOOD + ALSO_GOOD.rstrip()}) == Told(BOTH, [])
    assert stream({"0.nt": GOOD + ALSO_GOOD + b"<urn:c> <urn:pa"}).bad == [("0.nt", 3, "unterminated IRI")]


@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_line_ends_of_other_systems(end, stream):
    assert stream({"0.nt": (GOOD + ALSO_GOOD).replace(b"\n", end)}) == Told(BOTH, [])


def test_byte_order_mark(stream):
    assert stream({"0.nt": b"\xef\xbb\xbf" + GOOD + ALSO_GOOD}) == Told(BOTH, [])
    # inside the text it is no mark
    found = stream({"0.nt": GOOD + b"\xef\xbb\xbf" + ALSO_GOOD})
    assert found == Told(deltas("0 +a b"), [("0.nt", 2, "expected a subject")])


def test_utf16_is_no_ntriples(stream):
    found = stream({"0.nt": (GOOD + ALSO_GOOD).decode().encode("utf-16"), "1000.nt": GOOD})
    assert found.changes == deltas("1 +a b")
    assert found.bad
    assert {file for file, _, _ in found.bad} == {"0.nt"}


def test_empty_files(stream):
    assert stream({"0.nt": b"", "1.nt": b"\n\n# nothing\n", "2.nt.gz": gzip.compress(b"")}) == Told([], [])
    assert stream({"0.nq": b""}, one=True) == Told([], [])
    assert stream({"0.rdfp": b""}, one=True) == Told([], [])


def test_truncated_gzip(stream):
    lines = b"".join(b"<urn:n%d> <urn:pays> <urn:m%d> .\n" % (i * 7919, i) for i in range(3000))
    packed = gzip.compress(GOOD + ALSO_GOOD + lines, 1)
    found = stream({"0.nt.gz": packed[: len(packed) // 2]})
    assert set(found.changes) >= set(BOTH)
    assert len(found.bad) == 1
    file, line, reason = found.bad[0]
    assert file == "0.nt.gz"
    assert "gzip" in reason
    # every whole line before the damage is used, and none after it
    whole = {f"0 +n{i * 7919} m{i}" for i in range(line - 3)}
    assert set(found.changes) == whole | set(BOTH)


def test_damaged_gzip(stream):
    packed = bytearray(gzip.compress(GOOD + ALSO_GOOD))
    packed[-6] ^= 0xFF  # the checksum
    found = stream({"0.nt.gz": bytes(packed), "1000.nt.gz": gzip.compress(GOOD)})
    assert [file for file, _, _ in found.bad] == ["0.nt.gz"]
    found = stream({"0.nt.gz": b"no gzip at all", "1000.nt.gz": gzip.compress(GOOD)})
    assert found.changes == deltas("1 +a b")
    assert [file for file, _, _ in found.bad] == ["0.nt.gz"]


def test_folder_with_foreign_files(stream):
    found = stream(
        {"0.nt": GOOD, "README.md": b"x", ".0.nt.swp": b"x", "5.nt.tmp": b"half", "6.nt.part": b"half", "1.ttl": b""}
    )
    assert found == Told(deltas("0 +a b"), [])


def test_folder_with_two_forms_is_refused(stream):
    with pytest.raises(StreamError, match="more than one form of stream") as raised:
        stream({"0.nt": GOOD, "1.nq": b""})
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing", "no such file or folder"), ("notes.txt", "unknown ending"), (".", "no files to read")],
)
def test_what_cannot_be_read_at_all(name, message, tmp_path):
    (tmp_path / "stream").mkdir()
    (tmp_path / "stream" / "notes.txt").write_text("x")
    with pytest.raises(StreamError, match=message):
        told(tmp_path / "stream" / name, tmp_path / "bad.jsonl")


# --- times --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["yesterday.nt", "2016-13-01T10-00-00Z.nt", "2016-07-01.nt", "2016-07-01T25-00-00Z.nt"]
)
def test_file_name_without_a_time(name, stream):
    found = stream({"0.nt": GOOD + ALSO_GOOD, name: b"<urn:x> <urn:pays> <urn:y> .\n"})
    assert found == Told(BOTH, [(name, 0, "no time in the file name")])


@pytest.mark.parametrize(
    ("triple", "reason"),
    [
        (b'<urn:e> <urn:time> "2016-07-01T25:00:00Z"' + DATE_TIME + b" .\n", "unreadable time"),
        (b'<urn:e> <urn:time> "soon" .\n', "unreadable time"),
        (b"<urn:e> <urn:time> <urn:now> .\n", "unreadable time"),
        (b'<urn:e> <urn:hour> "2016-07-01T10:00:00Z"' + DATE_TIME + b" .\n", "no triple that gives the time"),
    ],
)
def test_time_by_predicate(triple, reason, stream):
    right = b'<urn:e> <urn:time> "1970-01-01T00:00:00Z"' + DATE_TIME + b" .\n"
    found = stream({"a.nt": right + GOOD + ALSO_GOOD, "b.nt": triple + GOOD}, time_from="predicate:<urn:time>")
    assert found == Told(BOTH, [("b.nt", 0, reason)])


def quad(line: bytes, graph: bytes) -> bytes:
    return line.rstrip(b" .\n") + b" <urn:" + graph + b"> .\n"


def time_of(graph: bytes, time: bytes) -> bytes:
    return b"<urn:" + graph + b"> " + GENERATED + b' "' + time + b'"' + DATE_TIME + b" .\n"


def test_graph_without_a_time(stream):
    text = time_of(b"g", b"1970-01-01T00:00:00Z") + quad(GOOD, b"g") + quad(b"<urn:x> <urn:pays> <urn:y> .", b"h")
    found = stream({"s.nq": text + time_of(b"h", b"1970-01-01T00:00:01Z")}, one=True)
    assert found == Told(deltas("0 +a b"), [("s.nq", 3, "graph without a time")])


def test_graph_with_a_wrong_time(stream):
    text = time_of(b"g", b"1970-01-01T00:00:00Z") + quad(GOOD, b"g")
    text += time_of(b"h", b"1970-02-30T00:00:00Z") + quad(ALSO_GOOD, b"h")
    found = stream({"s.nq": text}, one=True)
    assert found.changes == deltas("0 +a b")
    assert found.bad == [("s.nq", 3, "unreadable time"), ("s.nq", 4, "graph without a time")]


def test_statement_of_the_default_graph_that_is_no_time(stream):
    text = time_of(b"g", b"1970-01-01T00:00:00Z") + GOOD + quad(GOOD, b"g")
    assert stream({"s.nq": text}, one=True) == Told(
        deltas("0 +a b"), [("s.nq", 2, "default graph statement that is no time")]
    )


def test_time_that_goes_backwards_is_late(stream):
    text = time_of(b"g", b"1970-01-01T00:00:05Z") + quad(GOOD, b"g")
    text += time_of(b"h", b"1970-01-01T00:00:04Z") + quad(b"<urn:x> <urn:pays> <urn:y> .", b"h")
    text += time_of(b"i", b"1970-01-01T00:00:06Z") + quad(ALSO_GOOD, b"i")
    found = stream({"s.nq": text}, one=True)
    assert found.changes == deltas("5 +a b | 6 +a c, +b c")
    assert found.bad == [("s.nq", 4, "late")]


# --- RDF Patch ----------------------------------------------------------------------------


def block(time: bytes, *lines: bytes, end: bytes = b"TC .\n") -> bytes:
    header = b'H time "' + time + b'"' + DATE_TIME + b" .\n" if time else b""
    return b"TX .\n" + header + b"".join(lines) + end


PATCH = block(b"1970-01-01T00:00:00Z", b"A " + GOOD, b"A " + ALSO_GOOD)
LATER = block(b"1970-01-01T00:00:02Z", b"D " + GOOD)
AFTER = BOTH + deltas("2 -a b, -a c")

BAD_BLOCKS = {
    "no time": (block(b"", b"A <urn:x> <urn:pays> <urn:y> .\n"), [(7, "block without a time")]),
    "wrong time": (block(b"1970-01-01", b"A <urn:x> <urn:pays> <urn:y> .\n"), [(8, "unreadable time")]),
    "unknown keyword": (
        block(b"1970-01-01T00:00:01Z", b"X <urn:x> <urn:pays> <urn:y> .\n"),
        [(8, "unknown RDF Patch keyword")],
    ),
    "outside a block": (b"A <urn:x> <urn:pays> <urn:y> .\n", [(6, "line outside a block")]),
    "prefixed name": (
        block(b"1970-01-01T00:00:01Z", b"A ex:x <urn:pays> <urn:y> .\n"),
        [(8, "prefixed name: write the full IRI")],
    ),
    "two times": (
        block(b"1970-01-01T00:00:01Z", b'H time "1970-01-01T00:00:09Z"' + DATE_TIME + b" .\n"),
        [(8, "second time in one block")],
    ),
    "aborted": (block(b"1970-01-01T00:00:01Z", b"A <urn:x> <urn:pays> <urn:y> .\n", end=b"TA .\n"), []),
}


@pytest.mark.parametrize("kind", BAD_BLOCKS)
def test_bad_block_of_rdf_patch(kind, stream):
    text, bad = BAD_BLOCKS[kind]
    found = stream({"s.rdfp": PATCH + text + LATER}, one=True)
    assert found.bad == [("s.rdfp", line, reason) for line, reason in bad]
    assert found.changes == AFTER


def test_unterminated_patch(stream):
    found = stream(
        {"s.rdfp": PATCH + block(b"1970-01-01T00:00:01Z", b"A <urn:x> <urn:pays> <urn:y> .\n", end=b"")}, one=True
    )
    assert found == Told(BOTH, [("s.rdfp", 8, "block without TC")])


def test_block_that_begins_in_another(stream):
    inner = block(b"1970-01-01T00:00:01Z", b"A <urn:x> <urn:pays> <urn:y> .\n", end=b"")
    found = stream(
        {"s.rdfp": PATCH + inner + block(b"1970-01-01T00:00:02Z", b"A <urn:c> <urn:pays> <urn:d> .\n")}, one=True
    )
    assert found.changes == BOTH + deltas("2 +a d, +b d, +c d")
    assert found.bad == [("s.rdfp", 8, "block without TC")]
