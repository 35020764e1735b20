"""The scanner: canonical text, exact refusals, pruning, and room that runs out."""

from __future__ import annotations

import random
import re

import numpy as np
import pyoxigraph
import pytest

from spectra.dictionary.hashing import hash_text
from spectra.streams import scanner as scanner_module
from spectra.streams.kernels.statements import E_GRAPH, E_GRAPH_LENGTH, E_SIZE, FILE, PATCH, QUADS, TRIPLES
from spectra.streams.scanner import Scan, Scanner, Segment
from spectra.views.summary import Summary, WantedTriples

XSD = "http://www.w3.org/2001/XMLSchema#"


def scan(text: bytes | str, form: int = FILE, *, summary: Summary | None = None, scope: bytes = b"", **options) -> Scan:
    octets = text.encode() if isinstance(text, str) else text
    buffer = np.frombuffer(octets, np.uint8).copy()
    scanner = Scanner(form, summary or Summary.everything(), **options)
    return scanner.scan(buffer, [Segment(len(octets), scope)])


def rows(found: Scan) -> list[tuple[str, ...]]:
    spans = zip(found.tables.start.tolist(), found.tables.length.tolist(), strict=True)
    return [tuple(found.span(*span) for span in zip(*row, strict=True)) for row in spans]


def reasons(found: Scan) -> list[str]:
    return [bad.reason for bad in found.bad_lines()]


def object_of(written: str) -> str:
    found = scan(f"<urn:s> <urn:p> {written} .\n")
    assert reasons(found) == []
    return rows(found)[0][2]


# --- canonical text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        (r"<urn:\u00e9\U0001F600>", "<urn:é😀>"),
        (r"<\u0075rn:x>", "<urn:x>"),
        (r'"a\tb\bc\fd\'e"', '"a\tb\bc\fd\'e"'),
        (r'"\u000A\u000d\u0022\u005C"', r'"\n\r\"\\"'),
        (r'"\n\r\"\\"', r'"\n\r\"\\"'),
        (r'"\u0000"', '"\0"'),
        ('"tab\tand é"', '"tab\tand é"'),
        (f'"x"^^<{XSD}string>', '"x"'),
        (rf'"\u0078"^^<{XSD}strin\u0067>', '"x"'),
        (rf'"\u0031"^^<{XSD}integer>', f'"1"^^<{XSD}integer>'),
        (f'"01" ^^\t<{XSD}integer>', f'"01"^^<{XSD}integer>'),
        ('"x" @en', '"x"@en'),
        ('"x"@en-gb', '"x"@en-gb'),
        ('""', '""'),
    ],
)
def test_canonical_text(written, canonical):
    assert object_of(written) == canonical


def test_canonical_terms_are_not_copied():
    line = f'<urn:s> <urn:p> "x\\n"^^<{XSD}string> .\n'
    found = scan(line)
    assert len(found.text) == len(line)
    assert rows(found) == [("<urn:s>", "<urn:p>", r'"x\n"')]


def test_a_tag_with_capitals_stands_behind_its_canonical_span():
    found = scan('<urn:s> <urn:p> "x"@en-GB .\n')
    start, length, tag = (int(column[0, 2]) for column in (found.tables.start, found.tables.length, found.tables.tag))
    assert found.span(start, length) == '"x"@en-gb'
    assert found.span(start + length, tag) == "en-GB"
    assert found.tables.tag[0, :2].tolist() == [0, 0]


def test_hashes_are_those_of_the_canonical_text():
    found = scan('_:a <urn:p> "\\u0041"@EN .\n<urn:s> <urn:p> _:b.\n', scope=b"0" * 8)
    assert [[hash_text(term) for term in row] for row in rows(found)] == found.tables.hashes.tolist()


def test_labels_get_their_scope():
    found = scan("_:a <urn:p> _:a.b.\n", scope=b"f00d")
    assert rows(found) == [("_:a.f00d", "<urn:p>", "_:a.b.f00d")]
    assert rows(scan("_:a <urn:p> _:a.b.\n")) == [("_:a", "<urn:p>", "_:a.b")]


# --- lines --------------------------------------------------------------------------------


def test_line_ends():
    one, two, three = (b"<urn:s> <urn:p> <urn:%d> ." % n for n in (1, 2, 3))
    found = scan(one + b"\r\n" + two + b"\r\n\r\n<urn:s> <urn:p> .\n" + three)
    assert [row[2] for row in rows(found)] == ["<urn:1>", "<urn:2>", "<urn:3>"]
    assert found.lines == 5
    assert [(bad.line, bad.text) for bad in found.bad_lines()] == [(4, b"<urn:s> <urn:p> .")]


def test_a_lone_carriage_return_ends_a_line():
    found = scan(b"<urn:s> <urn:p> <urn:1> .\r<urn:s> <urn:p> <urn:2> .\r# x\r")
    assert (found.lines, len(rows(found)), reasons(found)) == (3, 2, [])


@pytest.mark.parametrize(
    ("line", "reason", "column"),
    [
        (b"<urn:s> <urn:p> <urn:\xff> .", "invalid UTF-8", 22),
        (b'<urn:s> <urn:p> "\xc0\x80" .', "invalid UTF-8", 18),
        (b'<urn:s> <urn:p> "\xed\xa0\x80" .', "invalid UTF-8", 18),
        (b'<urn:s> <urn:p> "\xf4\x90\x80\x80" .', "invalid UTF-8", 18),
        (b'<urn:s> <urn:p> "\xc3', "invalid UTF-8", 18),
        (b"_:a\xff <urn:p> <urn:o> .", "invalid UTF-8", 4),
        ('<urn:é> <urn:p> "\\x" .'.encode(), "bad escape", 18),
        (b'<urn:s> <urn:p> "\\u12G4" .', "bad escape", 18),
        (b"<urn:\\n> <urn:p> <urn:o> .", "bad escape", 6),
        (b'<urn:s> <urn:p> "\\uD800" .', "escape of a surrogate or beyond U+10FFFF", 18),
        (b'<urn:s> <urn:p> "\\U00110000" .', "escape of a surrogate or beyond U+10FFFF", 18),
        (b"<urn: s> <urn:p> <urn:o> .", "character not allowed in an IRI", 6),
        (b"<urn:\x01> <urn:p> <urn:o> .", "character not allowed in an IRI", 6),
        (b"<urn:\\u0020> <urn:p> <urn:o> .", "character not allowed in an IRI", 6),
        (b"<urn:\\u003e> <urn:p> <urn:o> .", "character not allowed in an IRI", 6),
        (b"<urn:s", "unterminated IRI", 7),
        (b"<s> <urn:p> <urn:o> .", "relative IRI", 2),
        (b"<> <urn:p> <urn:o> .", "relative IRI", 2),
        (b"<1a:b> <urn:p> <urn:o> .", "relative IRI", 2),
        (b"<\\u0061> <urn:p> <urn:o> .", "relative IRI", 2),
        (b'<urn:s> <urn:p> "1"^^<a> .', "relative IRI", 23),
        (b'<urn:s> <urn:p> "1"^^<\\u0061> .', "relative IRI", 23),
        (b'<urn:s> <urn:p> "abc .', "unterminated literal", 23),
        (b'"s" <urn:p> <urn:o> .', "literal as subject", 1),
        (b'<urn:s> <urn:p> "a"@ .', "bad language tag", 21),
        (b'<urn:s> <urn:p> "a"@1a .', "bad language tag", 21),
        (b'<urn:s> <urn:p> "a"@en- .', "bad language tag", 24),
        (b'<urn:s> <urn:p> "a"^^xsd:int .', "expected a datatype IRI", 22),
        (b'<urn:s> <urn:p> "a"^<urn:t> .', "expected a datatype IRI", 20),
        (
            b'<urn:s> <urn:p> "a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> .',
            "rdf:langString without a language tag",
            22,
        ),
        (b"_: <urn:p> <urn:o> .", "bad blank node label", 3),
        (b"_:-a <urn:p> <urn:o> .", "bad blank node label", 3),
        (b"_a <urn:p> <urn:o> .", "bad blank node label", 1),
        (b"_", "bad blank node label", 1),
        (b"x <urn:p> <urn:o> .", "expected a subject", 1),
        (b"<urn:s> _:p <urn:o> .", "expected a predicate", 9),
        (b"_:a:b <urn:p> <urn:o> .", "expected a predicate", 4),
        (b"<urn:s>", "expected a predicate", 8),
        (b"<urn:s> <urn:p> .", "expected an object", 17),
        (b"<urn:s> <urn:p> 1 .", "expected an object", 17),
        (b"<urn:s> <urn:p> <urn:o>", "expected '.'", 24),
        (b"<urn:s> <urn:p> <urn:o> <urn:g> .", "expected '.'", 25),
        (b"<urn:s> <urn:p> <urn:o> . <urn:s> <urn:p> <urn:o> .", "more than one statement in a line", 27),
        (b"<urn:s> <urn:p> <urn:o> . x", "text behind the statement", 27),
        (b"<urn:s> <urn:p> <urn:o> ..", "text behind the statement", 26),
    ],
)
def test_bad_lines(line, reason, column):
    for text in (line, line + b"\n", b"# before\n" + line + b"\r\n<urn:s> <urn:p> <urn:o> .\n"):
        found = scan(text)
        bad = found.bad_lines()
        assert [(each.reason, each.column, each.text) for each in bad] == [(reason, column, line)]
        assert found.lines == len(text.splitlines())
    assert bad[0].line == 2
    assert rows(found) == [("<urn:s>", "<urn:p>", "<urn:o>")]


def test_quads_refuse_a_literal_graph_name_and_a_fifth_term():
    found = scan('<urn:s> <urn:p> <urn:o> "g" .\n<urn:s> <urn:p> <urn:o> <urn:g> <urn:h> .\n', QUADS)
    assert reasons(found) == ["expected a graph name", "expected '.'"]


# --- against pyoxigraph -------------------------------------------------------------------

_TERMS = {
    "iri": ["<urn:a>", "<http://example.org/x#y>", r"<urn:\u00e9>", "<urn:é>", "<a+b.c-d:e>"],
    "label": ["_:a", "_:a.b", "_:0", "_:_", "_:é", "_:a-b", "_:a·", "_:x..y"],
    "literal": [
        '"a"', '""', '"é😀"', r'"\t\b\n\r\f\"\'\\"', r'"\u0041\U0001F600"', '"a"@en', '"a"@EN-gb', '"a" @fr',
        '"1"^^<urn:t>', f'"x"^^<{XSD}string>', rf'"\u0022"^^<{XSD}\u0073tring>', '"\t\0"', '"a" ^^ <urn:t>',
    ],
}  # fmt: skip
_SPACES = ["", " ", "  ", "\t", " \t "]
_ENDS = ["", " ", "# comment", " # . <urn:x>", "\r"]
_ALPHABET = [byte.encode() for byte in '<>_:."\\@^#- \tuUtn0aZ{é\r\n'] + [
    b"\xff",
    b"\xc3",
    b"\x00",
    b"\xed\xa0\x80",
]


def _line(chance: random.Random, quads: bool) -> bytes:
    node = _TERMS["iri"] + _TERMS["label"]
    parts = [chance.choice(node), chance.choice(_TERMS["iri"]), chance.choice(node + _TERMS["literal"])]
    if quads:
        parts.append(chance.choice(node))
    line = (
        chance.choice(_SPACES) + "".join(part + chance.choice(_SPACES) for part in parts) + "." + chance.choice(_ENDS)
    )
    octets = line.encode()
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        at = chance.randrange(len(octets) + 1)
        action = chance.randrange(3)
        new = chance.choice(_ALPHABET) if action < 2 else b""
        octets = octets[:at] + new + octets[at + (action > 0) :]
    return octets


# pyoxigraph also holds IRIs against the whole of RFC 3987 (ports, percent encoding, private characters)
# and tags against BCP 47, unless it is told to be lenient; it knows base directions and triple terms of
# RDF 1.2. The scanner keeps to the grammar of RDF 1.1.
_RDF_12 = re.compile(rb"@[A-Za-z0-9-]*--|<<")


def _text(term: object) -> str:
    if not isinstance(term, pyoxigraph.Literal):
        return str(term)
    lexical = term.value.translate({92: r"\\", 34: r"\"", 10: r"\n", 13: r"\r"})
    if term.language:
        return f'"{lexical}"@{term.language}'
    return f'"{lexical}"' + ("" if term.datatype.value == f"{XSD}string" else f"^^{term.datatype}")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", [FILE, QUADS])
def test_random_lines_are_judged_as_by_pyoxigraph(form, seed):
    chance = random.Random(seed)
    syntax = pyoxigraph.RdfFormat.N_QUADS if form == QUADS else pyoxigraph.RdfFormat.N_TRIPLES
    accepted = refused = 0
    for _ in range(500):
        line = _line(chance, form == QUADS)
        found = scan(line, form)
        ours = [reason for reason in reasons(found) if not reason.startswith("default graph")]
        try:
            quads, complaint = list(pyoxigraph.parse(line, format=syntax)), ""
        except (SyntaxError, ValueError) as error:
            quads, complaint = [], str(error)
        if complaint and not ours:
            assert list(pyoxigraph.parse(line, format=syntax, lenient=True)), (line, complaint)
        elif ours and not complaint:
            assert _RDF_12.search(line), (line, ours)
        elif not ours:
            accepted += 1
            named = [q for q in quads if form == FILE or not isinstance(q.graph_name, pyoxigraph.DefaultGraph)]
            assert rows(found) == [(str(q.subject), str(q.predicate), _text(q.object)) for q in named], line
            graphs = [found.span(event[E_GRAPH], event[E_GRAPH_LENGTH]) for event in found.tables.event.tolist()]
            if form == QUADS and len(named) == 1:
                assert graphs == [str(named[0].graph_name)], line
        else:
            refused += 1
    assert accepted > 100
    assert refused > 50


@pytest.mark.parametrize("form", [FILE, TRIPLES, QUADS, PATCH])
def test_any_bytes_give_each_line_one_fate(form):
    chance = random.Random(form)
    for _ in range(100):
        octets = b"\n".join(
            chance.choice([b"", b"A ", b"D ", b"TX", b"TC .", b"H time ", b"PA "])
            + _line(chance, chance.random() < 0.5)
            for _ in range(5)
        )
        found = scan(octets, form, summary=Summary([WantedTriples((None, hash_text("<urn:a>"), None))]))
        assert found.lines == len(octets.splitlines())
        triples = len(found.tables.sign) + found.skipped
        assert triples == int(found.tables.event[:, E_SIZE].sum())
        assert triples + len(found.tables.bad) + len(found.tables.time) <= found.lines


# --- pruning ------------------------------------------------------------------------------


def test_an_unwanted_predicate_leaves_the_rest_unread():
    text = "<urn:s> <urn:q> nonsense\n<urn:s> <urn:p> <urn:o> .\n"
    summary = Summary([WantedTriples((None, hash_text("<urn:p>"), None))])
    found = scan(text, summary=summary)
    assert (rows(found), found.skipped, reasons(found)) == ([("<urn:s>", "<urn:p>", "<urn:o>")], 1, [])
    assert found.tables.event[:, E_SIZE].tolist() == [2]
    validated = scan(text, summary=summary, validate=True)
    assert (validated.skipped, reasons(validated)) == (0, ["expected an object"])


def test_constants_prune_after_the_whole_triple():
    text = "".join(f"<urn:s{s}> <urn:p> <urn:o{o}> .\n" for s in range(3) for o in range(3))
    wanted = (hash_text("<urn:s1>"), hash_text("<urn:p>"), None), (None, None, hash_text("<urn:o2>"))
    summary = Summary(map(WantedTriples, wanted))
    found = scan(text, summary=summary)
    assert {(row[0][-2], row[2][-2]) for row in rows(found)} == {
        ("1", "0"),
        ("1", "1"),
        ("1", "2"),
        ("0", "2"),
        ("2", "2"),
    }
    assert found.skipped == 4


def test_what_is_pruned_leaves_no_text_behind():
    text = "_:a <urn:p> <urn:o> .\n" * 50
    found = scan(text, summary=Summary([WantedTriples((None, hash_text("<urn:p>"), 1))]), scope=b"0" * 32)
    assert len(found.text) == len(text)


# --- room ---------------------------------------------------------------------------------


def _everything() -> dict[int, str]:
    bad = "nonsense\n"
    triple = '_:s{0} <urn:p\\u0041> "{0}"@EN .\n'
    time = '<urn:g{0}> <urn:time> "1970-01-01T00:00:00Z" .\n'
    quad = '_:s{0} <urn:p\\u0041> "{0}"@EN <urn:g{0}> .\n'
    block = 'TX .\nH time "\\u0031" .\nA {0}{1}TC .\n'
    return {
        FILE: "".join(triple.format(n) + bad for n in range(100)),
        TRIPLES: "".join(triple.format(n) + bad for n in range(100)),
        QUADS: "".join(time.format(n) + quad.format(n) + bad for n in range(100)),
        PATCH: "".join(block.format(triple.format(n), bad) for n in range(100)),
    }  # fmt: skip


@pytest.mark.parametrize("form", [FILE, TRIPLES, QUADS, PATCH])
def test_running_out_of_room_changes_nothing(form, monkeypatch):
    text = _everything()[form]
    options = {"time_predicate": "<urn:time>", "scope": b"0123456789abcdef"}
    ample = scan(text, form, **options)
    small = scanner_module._room(0, 1, form)
    monkeypatch.setattr(
        scanner_module,
        "_room",
        lambda *_: small._replace(**{name: column[:1] for name, column in small._asdict().items()}),
    )
    tight = scan(text, form, **options)
    assert len(ample.tables.sign) == 100
    assert len(ample.tables.bad) == 100
    assert rows(tight) == rows(ample)
    assert tight.bad_lines() == ample.bad_lines()
    assert tight.tables.event.tolist() == ample.tables.event.tolist()
    assert tight.tables.time.tolist() == ample.tables.time.tolist()
    assert (tight.lines, tight.skipped) == (ample.lines, ample.skipped)


# --- pieces -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [TRIPLES, QUADS, PATCH])
def test_a_piece_is_cut_between_events(form):
    text = _everything()[form].encode()
    scanner = Scanner(form, Summary.everything(), event_size=3, time_predicate="<urn:time>")
    whole = scanner.scan(np.frombuffer(text + bytes(9000), np.uint8).copy(), [Segment(len(text))])
    for cut in range(0, 2000, 37):
        end = text.rfind(b"\n", 0, cut) + 1
        head = scanner.scan(np.frombuffer(text[:end] + bytes(9000), np.uint8).copy(), [Segment(end)], final=False)
        rest = text[head.position :]
        tail = scanner.scan(
            np.frombuffer(rest + bytes(9000), np.uint8).copy(), [Segment(len(rest), first_line=head.line)]
        )
        assert rows(head) + rows(tail) == rows(whole)
        assert head.lines + tail.lines == whole.lines
        assert [bad.line for bad in head.bad_lines() + tail.bad_lines()] == [bad.line for bad in whole.bad_lines()]
        sizes = [*head.tables.event[:, E_SIZE].tolist(), *tail.tables.event[:, E_SIZE].tolist()]
        assert sizes == whole.tables.event[:, E_SIZE].tolist()


def test_segments_are_separate_texts():
    texts = [b"<urn:s> <urn:p> _:a .", b"", b"# nothing\n", b"x\n_:a <urn:p> <urn:o> ."]
    ends = np.cumsum([len(text) for text in texts]).tolist()
    segments = [Segment(end, b"%04d" % index) for index, end in enumerate(ends)]
    buffer = np.frombuffer(b"".join(texts), np.uint8).copy()
    found = Scanner(FILE, Summary.everything()).scan(buffer, segments)
    assert rows(found) == [("<urn:s>", "<urn:p>", "_:a.0000"), ("_:a.0003", "<urn:p>", "<urn:o>")]
    assert found.tables.event[:, E_SIZE].tolist() == [1, 0, 0, 1]
    assert [(bad.segment, bad.line) for bad in found.bad_lines()] == [(3, 1)]
