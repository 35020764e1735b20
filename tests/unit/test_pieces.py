"""Files read in pieces give what `Source.batches` gives: events, bad lines, counts, in the same order."""

from __future__ import annotations

import gzip
import os
import pickle
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spectra.dictionary.hashing import hash_text
from spectra.dictionary.spans import Spans
from spectra.errors import StreamError
from spectra.streams import octets, pieces, reading, source
from spectra.streams.files import InputFile
from spectra.streams.pieces import Assembly, Piece, Recipe, planned, predicate_times, read_pieces
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import Source, read
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary, WantedTriples

XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class Shorter:
    """Passes where the term at a place is shorter than so many characters."""

    place: int
    size: int

    @property
    def places(self) -> tuple[int, ...]:
        return (self.place,)

    def holds(self, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        return columns[0].length < self.size


SUMMARIES = {
    "all": Summary.everything(),
    "some": Summary(
        [
            WantedTriples((None, hash_text("<urn:p1>"), None)),
            WantedTriples((hash_text("<urn:s1>"), hash_text("<urn:p2>"), None)),
        ]
    ),
    "filtered": Summary(
        [
            WantedTriples((None, hash_text("<urn:p1>"), None), frozenset({Shorter(2, 8)})),
            WantedTriples((None, hash_text("<urn:p2>"), None), frozenset({Shorter(0, 7), Shorter(2, 9)})),
        ]
    ),
    "none": Summary(()),
}


class Noting(Quarantine):
    """Keeps what it is given, columns too."""

    def __init__(self, strict: bool = False) -> None:
        super().__init__(strict=strict)
        self.records: list[Any] = []

    def add(self, file: str, line: int, reason: str, text: str | bytes, *, column: int = 1) -> None:
        self.records.append(
            (file, line, reason, text.decode(errors="replace") if isinstance(text, bytes) else text, column)
        )
        super().add(file, line, reason, text, column=column)


def told(batches: Sequence[EventBatch]) -> list[Any]:
    """Each event as Python values."""
    events = []
    for batch in batches:
        octets = batch.text.tobytes()
        for event in range(batch.events):
            rows = range(int(batch.event_first[event]), int(batch.event_first[event + 1]))
            triples = []
            for row in rows:
                columns = zip(
                    batch.start[row].tolist(), batch.length[row].tolist(), batch.tag[row].tolist(), strict=True
                )
                terms = [
                    (octets[at : at + length], octets[at + length : at + length + tag]) for at, length, tag in columns
                ]
                triples.append((int(batch.sign[row]), terms, batch.hashes[row].tolist()))
            graph = batch.event_graph[event] if batch.event_graph else ""
            events.append(
                (int(batch.event_time[event]), int(batch.event_size[event]), graph, batch.event_place[event], triples)
            )
    return events


def directly(
    given: Source, summary: Summary, validate: bool = False, meanwhile: Callable[[], None] | None = None
) -> Any:
    quarantine = Noting()
    batches = given.batches(summary, quarantine, validate=validate)
    if meanwhile:
        meanwhile()
    events = told([batch for batch in batches if batch])
    return events, quarantine.records, (given.lines, given.triples, given.skipped)


def in_pieces(
    given: Source,
    summary: Summary,
    piece_bytes: int,
    task_bytes: int,
    validate: bool = False,
    meanwhile: Callable[[], None] | None = None,
    content: Mapping[str, bytes] | None = None,
) -> Any:
    quarantine = Noting()
    files = given.files()
    recipe = given.recipe(files, validate=validate)
    assembly = Assembly(recipe, quarantine)
    files = assembly.fitting(files)
    times = predicate_times(files, recipe, content) if recipe.has_times_inside else None
    tasks = planned(assembly.ordered(files, times), piece_bytes, task_bytes)
    if meanwhile:
        meanwhile()
    # the last task first: none may need another
    results = [list(read_pieces(task, recipe, summary, content)) for task in reversed(tasks)][::-1]
    batches = [batch for found in results for result in found for batch in assembly.add(result)]
    batches += assembly.finish()
    assert all(batch.events for batch in batches)
    counts = assembly.counts
    return told(batches), quarantine.records, (counts.lines, counts.triples, counts.skipped)


def assert_same(found: Any, expected: Any) -> None:
    for left, right in zip(found, expected, strict=True):
        assert left == right


# --- random text ----------------------------------------------------------------------------


class Chance(random.Random):
    def line_end(self) -> str:
        return self.choices(["\n", "\r\n", "\r"], [20, 4, 1])[0]

    def subject(self) -> str:
        return self.choice(["<urn:s1>", "<urn:s2>", "<urn:\\u00E9>", "<urn:é>", "_:b1", "_:b2"])

    def object(self) -> str:
        literals = [
            '"x"',
            '"é\\n"',
            '"x"@EN-gb',
            '"x"@en-GB',
            f'"1"^^<{XSD}integer>',
            f'"a"^^<{XSD}string>',
            '"\\u0041"',
        ]
        return self.choice([self.subject(), *literals])

    def triple(self) -> str:
        return f"{self.subject()} <urn:p{self.randrange(4)}> {self.object()}"

    def other_line(self) -> str:
        """A bad line, or one that says nothing."""
        bad = [
            "<urn:s> <urn:p1> ",
            '"s" <urn:p1> <urn:o> .',
            "é é .",
            "<urn:s> <urn:p1> <urn:o> . <urn:s>",
            "\xa0",
            "\ufeff# behind a byte order mark",
            "x y",
        ]
        return self.choice([*bad, "", "  ", "# é", "\t# <urn:s> <urn:p1> <urn:o> ."])

    def text(self, lines: Sequence[str]) -> bytes:
        text = "".join(line + self.line_end() for line in lines).encode()
        if self.random() < 0.2:
            text = text[: len(text) - len(text.splitlines(keepends=True)[-1]) + 8] if text else text
        if self.random() < 0.2:
            text = text.rstrip(b"\r\n")
        if self.random() < 0.1:
            at = self.randrange(len(text) + 1)
            text = text[:at] + b"\xff" + text[at:]
        if self.random() < 0.2:
            text = b"\xef\xbb\xbf" + text
        return text

    def ntriples(self) -> bytes:
        lines = [
            self.other_line() if self.random() < 0.3 else f"{self.triple()} ."
            for _ in range(self.choice([0, 1, 2, 9, 15]))
        ]
        return self.text(lines)

    def nquads(self) -> bytes:
        lines = []
        for _ in range(self.choice([0, 1, 4, 12])):
            graph = self.choice(["<urn:g1>", "<urn:g2>", "<urn:g3>", "_:b1"])
            kind = self.random()
            if kind < 0.3:
                time = self.choice([f"1970-01-01T00:00:0{self.randrange(10)}Z", "noon"])
                lines.append(f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<{XSD}dateTime> .')
            elif kind < 0.45:
                lines.append(self.other_line())
            else:
                lines += [f"{self.triple()} {graph} ." for _ in range(self.randrange(1, 4))]
        return self.text(lines)

    def patch(self) -> bytes:
        lines = []
        for _ in range(self.choice([0, 1, 3, 5])):
            lines += ["TX ."]
            time = self.choice([f'"1970-01-01T00:00:0{self.randrange(10)}Z"^^<{XSD}dateTime>', '"noon"'])
            lines += [f"H time {time} ."] if self.random() < 0.8 else []
            for _ in range(self.randrange(4)):
                lines.append(self.other_line() if self.random() < 0.2 else f"{self.choice('AD')} {self.triple()} .")
            lines += self.choices([["TC ."], ["TA ."], []], [8, 1, 1])[0]
        return self.text(lines)

    def write(self, path: Path, text: bytes) -> None:
        """The text, maybe compressed, and then maybe damaged."""
        if self.random() < 0.3:
            path = path.with_name(path.name + ".gz")
            text = gzip.compress(text)
            if self.random() < 0.3:
                text = text[: self.randrange(12, len(text))]
        path.write_bytes(text)


@pytest.fixture(params=range(20))
def chance(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Chance:
    """Random choices; among them how many bytes make a batch."""
    chance = Chance(request.param)
    batch_bytes = chance.choice([20, 150, 1000, reading.BATCH_BYTES])
    for module in (reading, source, pieces):
        monkeypatch.setattr(module, "BATCH_BYTES", batch_bytes)
    monkeypatch.setattr(octets, "_BLOCK", min(batch_bytes, octets._BLOCK))
    return chance


def assert_pieces_change_nothing(chance: Chance, given: Source) -> None:
    summary = SUMMARIES[chance.choice(["all", "all", "some", "filtered", "none"])]
    validate = chance.random() < 0.5
    expected = directly(given, summary, validate)
    for _ in range(2):
        piece_bytes = chance.choice([1, 3, 10, 40, 40, 200, 200, 1 << 20])
        task_bytes = chance.choice([1, 100, 1 << 20])
        assert_same(in_pieces(given, summary, piece_bytes, task_bytes, validate), expected)


def test_one_ntriples_file(chance, tmp_path):
    chance.write(tmp_path / "s.nt", chance.ntriples())
    (path,) = tmp_path.iterdir()
    size = chance.randrange(1, 8)
    given = read(path, stream="urn:s", event_size=size, start="2020-01-01T00:00:00Z", interval=chance.choice([0, 7]))
    assert_pieces_change_nothing(chance, given)


@pytest.mark.parametrize("time_from", ["name", "mtime", "predicate:urn:p1"])
def test_a_folder_of_ntriples_files(chance, tmp_path, time_from):
    for number in range(chance.randrange(1, 6)):
        name = chance.choice([f"{chance.randrange(3)}000", "1970-01-01T00-00-01Z", f"untimed{number}"])
        text = chance.ntriples()
        if time_from.startswith("predicate"):
            text += chance.choice([b'\n<urn:s1> <urn:p1> "%d"^^<%sinteger> .\n' % (number % 3, XSD.encode()), b""])
        (tmp_path / str(number)).mkdir()
        chance.write(tmp_path / str(number) / f"{name}.nt", text)
    for path in tmp_path.rglob("*.nt*"):
        os.utime(path, (chance.randrange(3), chance.randrange(3)))
    assert_pieces_change_nothing(chance, read(f"{tmp_path}/**/*.nt*", time_from=time_from))


def test_a_folder_of_nquads_files(chance, tmp_path):
    for number in range(chance.randrange(1, 5)):
        chance.write(tmp_path / f"{number}.nq", chance.nquads())
    assert_pieces_change_nothing(chance, read(tmp_path))


def test_a_folder_of_patch_files(chance, tmp_path):
    for number in range(chance.randrange(1, 4)):
        chance.write(tmp_path / f"{number}.rdfp", chance.patch())
    assert_pieces_change_nothing(chance, read(tmp_path))


# --- one thing at a time --------------------------------------------------------------------


def triples(count: int) -> bytes:
    return b"".join(b"<urn:s%d> <urn:p1> <urn:o> .\n" % at for at in range(count))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_an_event_that_spans_pieces_comes_once(tmp_path, size):
    (tmp_path / "s.nt").write_bytes(triples(20))
    given = read(tmp_path / "s.nt", event_size=size)
    expected = directly(given, SUMMARIES["all"])
    assert len(expected[0]) == -(-20 // size)
    for piece_bytes in (1, 13, 29, 50):
        assert_same(in_pieces(given, SUMMARIES["all"], piece_bytes, 1), expected)


def test_an_event_is_handed_out_as_soon_as_it_is_complete(tmp_path):
    (tmp_path / "s.nt").write_bytes(triples(6))
    given = read(tmp_path / "s.nt", event_size=2)
    recipe = given.recipe(given.files())
    assembly = Assembly(recipe, Quarantine())
    length = len(triples(1))
    tasks = planned(given.files(), length)
    batches = [[*assembly.add(result)] for task in tasks for result in read_pieces(task, recipe, SUMMARIES["all"])]
    assert [sum(batch.events for batch in found) for found in batches] == [0, 1, 0, 1, 0, 1]
    assert [*assembly.finish()] == []


def test_what_an_unfinished_event_holds_is_its_own_text(tmp_path):
    (tmp_path / "s.nt").write_bytes(triples(2000))
    given = read(tmp_path / "s.nt", event_size=7)
    recipe = given.recipe(given.files())
    assembly = Assembly(recipe, Quarantine())
    sizes = []
    for task in planned(given.files(), 1000):
        for result in read_pieces(task, recipe, SUMMARIES["all"]):
            sizes += [len(batch.text) for batch in assembly.add(result)]
    assert max(sizes) < 2000


def test_a_large_file_comes_in_several_results(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "BATCH_BYTES", 1000)
    path = tmp_path / "1.nt"
    path.write_bytes(triples(200))
    task = (Piece(InputFile("1.nt", path), 0, path.stat().st_size),)
    for form in (pieces.FILE, pieces.TRIPLES):
        assert 6 <= len([*read_pieces(task, Recipe(form), SUMMARIES["all"])]) <= 7


@pytest.mark.parametrize("is_one_file", [True, False])
def test_damage_behind_several_results_is_told_with_its_line(tmp_path, monkeypatch, is_one_file):
    text = gzip.compress(bytes(random.Random(0).choices(b"abcdefgh\n", k=4000)))
    (tmp_path / "1.nt.gz").write_bytes(text[:1500])
    monkeypatch.setattr(octets, "_BLOCK", 100)
    for module in (reading, source, pieces):
        monkeypatch.setattr(module, "BATCH_BYTES", 300)
    given = read(tmp_path / "1.nt.gz" if is_one_file else tmp_path)
    expected = directly(given, SUMMARIES["all"])
    (damage,) = (record for record in expected[1] if record[2] == "truncated gzip")
    assert damage[1] > 100
    assert_same(in_pieces(given, SUMMARIES["all"], 1000, 1000), expected)


def test_small_files_come_in_one_result(tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.nt").write_bytes(triples(2))
        (tmp_path / f"{number}.nq").write_bytes(b"<urn:s> <urn:p> <urn:o> <urn:g> .\n")
    for form, pattern in ((pieces.FILE, "*.nt"), (pieces.QUADS, "*.nq")):
        (task,) = planned(read(f"{tmp_path}/{pattern}").files(), 1 << 20)
        assert len(task) == 20
        assert len([*read_pieces(task, Recipe(form), SUMMARIES["all"])]) == 1


def nquads_time(graph: str, second: int) -> str:
    time = f'"1970-01-01T00:00:{second:02}Z"^^<{XSD}dateTime>'
    return f"<urn:{graph}> <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n"


def test_times_of_graphs_come_from_files_before(tmp_path):
    quad = "<urn:s> <urn:p1> <urn:o> <urn:{}> .\n"
    (tmp_path / "1.nq").write_text(nquads_time("g", 1) + nquads_time("h", 2))
    (tmp_path / "2.nq").write_text(quad.format("g") + quad.format("i") + nquads_time("g", 3) + nquads_time("i", 4))
    (tmp_path / "3.nq").write_text(quad.format("g") + quad.format("h") + quad.format("i") + quad.format("j"))
    given = read(tmp_path)
    expected = directly(given, SUMMARIES["all"])
    assert [event[0] for event in expected[0]] == [1000, 3000, 2000, 4000]
    assert len(expected[1]) == 2
    for task_bytes in (1, 1 << 20):
        assert_same(in_pieces(given, SUMMARIES["all"], 1 << 20, task_bytes), expected)


def test_quads_are_told_apart_by_file_and_line(tmp_path):
    # what file 2 says of <urn:g> on its first line is known from file 1, what file 3 says of <urn:i> is not
    quad = "<urn:s> <urn:p3> <urn:o> <urn:{}> .\n"
    (tmp_path / "1.nq").write_text(nquads_time("g", 1))
    (tmp_path / "2.nq").write_text(quad.format("g") + quad.format("h"))
    (tmp_path / "3.nq").write_text(quad.format("i") + quad.format("g"))
    one, two, three = (Piece(file, 0, 0) for file in read(tmp_path).files())
    recipe = Recipe(pieces.QUADS)
    quarantine = Noting()
    assembly = Assembly(recipe, quarantine)
    batches = [
        batch
        for task in ((one,), (two, three))
        for result in read_pieces(task, recipe, SUMMARIES["some"])
        for batch in assembly.add(result)
    ]
    assert [event[:4] for event in told(batches)] == [
        (1000, 1, "<urn:g>", (two.file.name, 1)),
        (1000, 1, "<urn:g>", (three.file.name, 2)),
    ]
    assert [record[:3] for record in quarantine.records] == [
        (two.file.name, 2, "graph without a time"),
        (three.file.name, 1, "graph without a time"),
    ]
    assert (assembly.counts.lines, assembly.counts.triples, assembly.counts.skipped) == (5, 0, 2)


def test_an_assembly_goes_on_with_the_times_of_another(tmp_path):
    (tmp_path / "1.nq").write_text(nquads_time("g", 7))
    (tmp_path / "2.nq").write_text("<urn:s> <urn:p1> <urn:o> <urn:g> .\n")
    first, second = read(tmp_path).files()
    recipe = Recipe(pieces.QUADS)
    found = []
    before = Assembly(recipe, Quarantine())
    for file in (first, second):
        assembly = Assembly(recipe, Quarantine(strict=True))
        assembly.times.update(before.times)
        for task in planned([file], 1 << 20):
            for result in read_pieces(task, recipe, SUMMARIES["all"]):
                found += assembly.add(result)
        before = assembly
    assert [event[0] for event in told(found)] == [7000]


def test_an_assembly_takes_group_after_group(tmp_path):
    (tmp_path / "2.nt").write_bytes(triples(3))
    (tmp_path / "1.nt").write_bytes(triples(2) + b"bad\n")
    (tmp_path / "3.nq").write_bytes(b"")
    one, two, other = read([tmp_path / "1.nt", tmp_path / "2.nt", tmp_path / "3.nq"]).files()
    recipe = Recipe(pieces.FILE)
    quarantine = Noting()
    assembly = Assembly(recipe, quarantine)
    found = []
    for group in ([two], [other, one]):
        batches = []
        for task in planned(assembly.ordered(assembly.fitting(group)), 10):
            for result in read_pieces(task, recipe, SUMMARIES["all"]):
                batches += assembly.add(result)
        found.append(told([*batches, *assembly.finish()]))
    assert [[(event[0], event[1]) for event in events] for events in found] == [[(2, 3)], [(1, 2)]]
    assert [record[:3] for record in quarantine.records] == [
        (other.name, 0, "not of the stream's form, .nt"),
        (one.name, 3, "expected a subject"),
    ]
    assert (assembly.counts.lines, assembly.counts.triples) == (6, 5)


# --- files that go away ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["nt", "nt.gz", "nq", "rdfp"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_file_that_is_gone_is_told_once(tmp_path, ending, count):
    for number in range(count):
        (tmp_path / f"{number}.{ending}").write_bytes(gzip.compress(triples(9)) if "gz" in ending else triples(9))
    gone = tmp_path / f"{count // 2}.{ending}"
    content = gone.read_bytes()
    for path in (tmp_path, gone):
        gone.write_bytes(content)
        given = read(path)
        expected = directly(given, SUMMARIES["all"], meanwhile=gone.unlink)
        assert [record[:3] for record in expected[1] if record[1] == 0] == [(gone.as_posix(), 0, "unreadable file")]
        gone.write_bytes(content)
        assert_same(in_pieces(given, SUMMARIES["all"], 50, 50, meanwhile=gone.unlink), expected)


@pytest.mark.parametrize("is_file_event", [True, False])
def test_a_file_that_goes_away_while_it_is_read_ends_there(tmp_path, is_file_event):
    path = tmp_path / "5.nt"
    path.write_bytes(b"bad\n" + triples(8))
    recipe = Recipe(pieces.FILE) if is_file_event else Recipe(pieces.TRIPLES, event_size=3)
    quarantine = Noting()
    assembly = Assembly(recipe, quarantine)
    file = InputFile("5.nt", path, time=5)
    tasks = planned([file], 32)
    results = [list(read_pieces(task, recipe, SUMMARIES["all"])) for task in tasks]
    content = path.read_bytes()
    path.unlink()
    for lost in (3, 5):
        results[lost] = list(read_pieces(tasks[lost], recipe, SUMMARIES["all"]))
    path.write_bytes(content)
    events = told([batch for found in results for result in found for batch in assembly.add(result)])
    events += told([*assembly.finish()])
    assert assembly.counts.triples == 4
    assert [event[1] for event in events] == ([4] if is_file_event else [3, 1])
    # bad lines wait for their file, and what is wrong with a file does not
    assert sorted(record[:3] for record in quarantine.records) == [
        ("5.nt", 0, "unreadable file"),
        ("5.nt", 1, "expected a subject"),
    ]


def test_a_file_without_a_time_in_it_that_is_gone(tmp_path):
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_bytes(triples(1))
    files = read(tmp_path, time_from="predicate:urn:t").files()
    (tmp_path / "a.nt").unlink()
    recipe = Recipe(pieces.FILE, time_from="<urn:t>")
    quarantine = Noting()
    assert Assembly(recipe, quarantine).ordered(files, predicate_times(files, recipe)) == []
    assert [record[:3] for record in quarantine.records] == [
        (files[1].name, 0, "no triple that gives the time"),
        (files[0].name, 0, "unreadable file"),
    ]


# --- the rest -------------------------------------------------------------------------------


@pytest.mark.parametrize("time_from", ["name", "predicate:urn:t"])
def test_content_is_read_instead_of_files(tmp_path, time_from):
    texts = {
        "3.nt": triples(4) + b'bad\n<urn:a> <urn:t> "1970-01-01T00:00:09Z" .',
        "1.nt.gz": gzip.compress(triples(3) + b'<urn:a> <urn:t> "1970-01-01T00:00:10Z" .\n'),
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    given = read(tmp_path, time_from=time_from)
    expected = directly(given, SUMMARIES["all"])
    content = {(tmp_path / name).as_posix(): text for name, text in texts.items()}

    def empty_files() -> None:
        for name in texts:
            (tmp_path / name).write_bytes(b"")

    found = in_pieces(given, SUMMARIES["all"], 30, 60, meanwhile=empty_files, content=content)
    assert_same(found, expected)


@pytest.mark.parametrize("name", ["s.nt", "s.nq", "s.rdfp"])
def test_strict_reading_stops_at_the_same_line(tmp_path, name):
    (tmp_path / name).write_bytes(b"# c\n\n  <urn:s> \xff\nbad\n")
    given = read(tmp_path / name)
    with pytest.raises(StreamError) as expected:
        list(given.batches(SUMMARIES["all"], Quarantine(strict=True)))
    recipe = given.recipe(given.files())
    assembly = Assembly(recipe, Quarantine(strict=True))
    results = [result for task in planned(given.files(), 1) for result in read_pieces(task, recipe, SUMMARIES["all"])]
    with pytest.raises(StreamError) as found:
        [batch for result in results for batch in assembly.add(result)]
    assert (found.value.message, found.value.place) == (expected.value.message, expected.value.place)


def test_a_recipe_is_small_and_can_be_sent(tmp_path):
    (tmp_path / "1.nt").write_bytes(b"")
    recipe = read(tmp_path, stream="urn:s", time_from="predicate:urn:t").recipe(read(tmp_path).files(), validate=True)
    sent = pickle.dumps(recipe)
    assert pickle.loads(sent) == recipe == Recipe(pieces.FILE, "urn:s", "<urn:t>", validate=True)
    assert len(sent) < 400


def test_the_plan_covers_every_byte_once(tmp_path):
    sizes = {"1.nt": 95, "2.nt": 0, "3.nt": 30, "4.nt.gz": 500, "5.nt": 1}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    files = [InputFile(name, tmp_path / name) for name in sizes] + [InputFile("gone.nt", tmp_path / "gone.nt")]
    tasks = planned(files, 30, 60)
    spans = [(piece.file.name, piece.begin, piece.end, piece.is_last) for task in tasks for piece in task]
    assert spans == [
        ("1.nt", 0, 30, False),
        ("1.nt", 30, 60, False),
        ("1.nt", 60, 90, False),
        ("1.nt", 90, 95, True),
        ("2.nt", 0, 0, True),
        ("3.nt", 0, 30, True),
        ("4.nt.gz", 0, 500, True),
        ("5.nt", 0, 1, True),
        ("gone.nt", 0, 0, True),
    ]
    assert [len(task) for task in tasks] == [2, 3, 1, 1, 2]
    assert planned([], 30) == []


def test_one_file_is_not_watched_and_a_folder_is(tmp_path):
    (tmp_path / "1.nt").write_bytes(b"")
    with pytest.raises(StreamError, match="cannot follow one file"):
        read(tmp_path / "1.nt").watch()
    assert read(tmp_path).watch().look() == []
