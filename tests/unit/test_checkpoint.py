"""Checkpoints: an engine restored anywhere in its input goes on as if nothing had happened."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from spectra import cli
from spectra.checkpoint import Checkpoints, State, restore, saved
from spectra.cli import main
from spectra.engine import Engine
from spectra.errors import QueryError
from spectra.planner.plans import PathChoice
from spectra.position import Position
from spectra.sparql import parse_query
from spectra.sparql.query import ContinuousQuery
from spectra.streams.memory import from_triples
from spectra.views.batch import EventBatch
from tests.property.compare import Line, batch_of, lines_of_batches
from tests.property.generate import random_case

E = "http://e/"
PEOPLE = f"{E}people"
#: Operators for paths that are not chosen by themselves.
FORCED = ("columns", "condense", "landmark")

QUERIES = {
    "star": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p ?b ; :q ?c } }",
    "path": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p+ ?b } }",
    "path of zero length": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a (:p|^:q)* ?b } }",
    "new only": "REGISTER ISTREAM :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p+ ?b } }",
    "two windows": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "FROM NAMED WINDOW :v ON :s [RANGE 4s STEP 1s] WHERE { WINDOW :w { ?a :p ?b } WINDOW :v { ?b :q ?c } }",
    "distinct": "REGISTER CHANGES :q AS SELECT DISTINCT ?a FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p ?b } }",
    "computed": "REGISTER CHANGES :q AS SELECT ?x FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    'WHERE { WINDOW :w { ?a :p ?b } BIND(CONCAT(STR(?a), "!") AS ?x) }',
    "on close": "REGISTER RSTREAM :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p+ ?b } }",
    "ask": "REGISTER ISTREAM :q AS ASK FROM NAMED WINDOW :w ON :s [RANGE 3s STEP 1s] "
    "WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c } }",
    "periodic": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s REPORT PERIODIC 7s] "
    "WHERE { WINDOW :w { ?a :p ?b } }",
    "count window": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [ELEMENTS 6 STEP 2] "
    "WHERE { WINDOW :w { ?a :p+ ?b } }",
    "lateness": "REGISTER CHANGES :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s LATENESS 5s] "
    "WHERE { WINDOW :w { ?a :p+ ?b } }",
    "static": f"REGISTER RSTREAM :q AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] FROM <{PEOPLE}> "
    "WHERE { WINDOW :w { ?a :p ?b } ?b :knows ?c }",
    "simple": "REGISTER CHANGES :q WITH SIMPLE PATHS AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a (:p/:q)+ ?b } }",
    "implicit": "REGISTER CHANGES :q WITH IMPLICIT WINDOWS AS SELECT * FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p/:p ?b } }",
    "implicit on close": "REGISTER RSTREAM :q WITH IMPLICIT WINDOWS AS SELECT * "
    "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] WHERE { WINDOW :w { ?a :p/:p ?b } }",
    "implicit, periodic": "REGISTER CHANGES :q WITH IMPLICIT WINDOWS AS SELECT * "
    "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s REPORT PERIODIC 7s] WHERE { WINDOW :w { ?a :p/:p ?b } }",
    "static edges": "REGISTER CHANGES :q AS SELECT * "
    f"FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s WITH STATIC] FROM <{PEOPLE}> "
    "WHERE { WINDOW :w { ?a (:p|:knows)+ ?b } }",
    "construct": "REGISTER ISTREAM :q AS CONSTRUCT { ?b :r ?a } FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 2s] "
    "WHERE { WINDOW :w { ?a :p ?b } }",
}
STATIC = {PEOPLE: [(f"<{E}n{i}>", f"<{E}knows>", "_:someone") for i in range(3)]}


def query(name: str) -> ContinuousQuery:
    return parse_query(f"PREFIX : <{E}> {QUERIES[name]}")


def events(seed: int, count: int = 60) -> list[EventBatch]:
    """Events that come a little out of order, with deletions, and with language tags to be kept as written."""
    rng = random.Random(seed)
    batches = []
    for second in range(count):
        at = 1000 * (second - rng.choice((0, 0, 0, 2, 4)))
        added, deleted = [], []
        for _ in range(rng.randrange(4)):
            end = rng.choice([f"<{E}n{rng.randrange(6)}>"] * 4 + ['"x"@EN'])
            triple = (f"<{E}n{rng.randrange(6)}>", f"<{E}{rng.choice('ppq')}>", end)
            (deleted if rng.random() < 0.1 else added).append(triple)
        batches.append(from_triples(f"{E}s", at, added, deleted))
    return batches


def started(*queries: ContinuousQuery, static: object = STATIC, path: PathChoice = "auto") -> Engine:
    engine = Engine(path=path)
    for each in queries:
        engine.register(each, static=static)  # type: ignore[arg-type]
    return engine


def told(engine: Engine, batches: list[EventBatch], *, drain: bool = False) -> list[Line]:
    found = [change for batch in batches for change in engine.offer([batch], complete=False)]
    return lines_of_batches(found + (engine.drain() if drain else []))


def through_disk(
    folder: Path, engine: Engine, *queries: ContinuousQuery, static: object = STATIC, path: PathChoice = "auto"
) -> Engine:
    """What another process makes of this one's state."""
    Checkpoints(folder).save(saved(engine))
    state = Checkpoints(folder).latest()
    assert state is not None
    other = started(*queries, static=static, path=path)
    # ids are of one process only: here they differ from the start
    other.dictionary.constant(f"<{E}something-else>")
    restore(other, state)
    return other


@pytest.mark.parametrize(
    ("name", "path"),
    [
        *((name, "auto") for name in QUERIES),
        *((name, path) for path in FORCED for name, text in QUERIES.items() if "+ ?" in text),
    ],
)
def test_a_restored_engine_goes_on_as_if_nothing_had_happened(name: str, path: PathChoice, tmp_path: Path) -> None:
    wanted = told(started(query(name)), events(1), drain=True)
    assert len(wanted) > 5
    for cut in (0, 1, 7, 23, 40, 60):
        engine = started(query(name), path=path)
        before = told(engine, events(1)[:cut])
        other = through_disk(tmp_path, engine, query(name), path=path)
        after = told(other, events(1)[cut:], drain=True)
        assert Counter(before + after) == Counter(wanted), f"cut at {cut}"
        assert other.events == 60


def test_a_restored_engine_knows_what_the_other_knew(tmp_path: Path) -> None:
    both = [replace(query(name), name=f"{E}{number}") for number, name in enumerate(("lateness", "on close"))]
    engine = started(*both)
    told(engine, events(3)[:30])
    other = through_disk(tmp_path, engine, *both)
    for mine, its in zip(engine.queries, other.queries, strict=True):
        assert (mine.now, mine.reported) == (its.now, its.reported)
        assert Counter(map(str, mine.snapshot().rows())) == Counter(map(str, its.snapshot().rows()))
    assert other.late == engine.late > 0
    assert other.statistics()["triples"] == engine.statistics()["triples"]
    known, restored = engine.dictionary.statistics(), other.dictionary.statistics()
    assert restored["adaptive"] == known["adaptive"]


def test_nothing_is_kept_for_ever_after_a_restore(tmp_path: Path) -> None:
    kept = []
    for cut in (None, 30):
        engine = started(query("computed"))
        told(engine, events(2)[:cut])
        if cut:
            engine = through_disk(tmp_path, engine, query("computed"))
            told(engine, events(2)[cut:])
        engine.advance(10**6)
        kept.append(engine.dictionary.statistics()["adaptive"])
    assert kept[0] == kept[1]


@pytest.mark.parametrize("chunk", range(4))
def test_random_queries_cut_at_random(chunk: int, tmp_path: Path) -> None:
    for seed in range(1000 * chunk, 1000 * chunk + 40):
        case = random_case(seed)
        asked = case.query()
        batches = [batch_of(event) for event in case.events]
        wanted = told(started(asked, static=case.static), batches, drain=True)
        rng = random.Random(seed)
        engine, found, done = started(asked, static=case.static), [], 0
        for cut in sorted(rng.randrange(len(batches) + 1) for _ in range(2)):
            found += told(engine, batches[done:cut])
            engine = through_disk(tmp_path, engine, asked, static=case.static)
            done = cut
        found += told(engine, batches[done:], drain=True)
        assert Counter(found) == Counter(wanted), f"{case}"


# --- on disk --------------------------------------------------------------------------------


def test_the_last_complete_checkpoint_counts(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "deep" / "state")
    assert checkpoints.latest() is None
    for number in range(3):
        checkpoints.save(State({"number": number}, {}))
    # a process that was killed leaves what it had not finished, and perhaps an old one
    (tmp_path / "deep" / "state" / "unfinished").mkdir()
    (tmp_path / "deep" / "state" / "1").mkdir()
    found = Checkpoints(tmp_path / "deep" / "state").latest()
    assert found is not None
    assert found.facts["number"] == 2
    Checkpoints(tmp_path / "deep" / "state").save(State({"number": 3}, {}))
    assert [path.name for path in (tmp_path / "deep" / "state").iterdir()] == ["4"]


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    Checkpoints(tmp_path).save(State({}, {}))
    (tmp_path / "1" / "arrays.npz").write_bytes(b"PK nothing")
    with pytest.raises(QueryError, match="cannot read the checkpoint"):
        Checkpoints(tmp_path).latest()
    (tmp_path / "1" / "facts.json").write_text('{"version": 99}')
    with pytest.raises(QueryError, match="another version"):
        Checkpoints(tmp_path).latest()
    (tmp_path / "file").write_text("")
    with pytest.raises(QueryError, match="cannot keep checkpoints"):
        Checkpoints(tmp_path / "file")


def test_other_queries_are_refused() -> None:
    state = saved(started(query("star")))
    with pytest.raises(QueryError, match="other queries"):
        restore(started(query("path")), state)
    state.facts["timelines"][0]["lateness"] = 1
    with pytest.raises(QueryError, match="other windows"):
        restore(started(query("star")), state)


def test_a_query_that_came_later_is_refused() -> None:
    engine = started(query("star"))
    told(engine, events(1)[:5])
    engine.register(replace(query("path"), name=f"{E}later"))
    with pytest.raises(QueryError, match="registered after the first event"):
        saved(engine)


# --- the position in the input --------------------------------------------------------------


def placed(*places: tuple[str, int]) -> EventBatch:
    count = len(places)
    batch = from_triples(f"{E}s", 0, [(f"<{E}a>", f"<{E}p>", f"<{E}b>")], [])
    batch = replace(batch, event_time=batch.event_time.repeat(count), event_size=batch.event_size.repeat(count))
    batch.event_first = batch.event_first[:1].repeat(count + 1)
    return replace(batch, event_place=list(places))


def rest(position: Position, *batches: EventBatch) -> list[tuple[str, int]]:
    return [place for batch in position.rest(batches) if batch for place in batch.event_place]


@pytest.mark.parametrize("growing", [False, True])
def test_what_was_taken_is_left_out(growing: bool) -> None:
    position = Position(growing=growing)
    position.took([placed(("f", 1), ("f", 2)), placed(("f", 4), ("g", 1))])
    state = json.loads(json.dumps(position.state()))
    again = Position(growing=growing, saved=state)
    assert rest(again, placed(("f", 1), ("f", 2), ("f", 4)), placed(("g", 1), ("g", 3)), placed(("h", 1))) == [
        ("g", 3),
        ("h", 1),
    ]
    again.took([placed(("g", 3), ("h", 1))])
    third = Position(growing=growing, saved=again.state())
    assert rest(third, placed(("f", 1), ("f", 2), ("f", 4), ("g", 1), ("g", 3), ("h", 1))) == []


def test_a_changed_input_is_refused() -> None:
    position = Position()
    position.took([placed(("f", 1), ("f", 2), ("g", 1))])
    for other in (
        [("f", 1), ("f", 3), ("g", 1)],  # a line more
        [("f", 1), ("g", 1)],  # an event less
        [("e", 1), ("f", 1), ("f", 2), ("g", 1)],  # another file before
        [],
    ):
        with pytest.raises(QueryError, match="the input of <http://e/s> has changed"):
            list(Position(saved=position.state()).rest([placed(*other)] if other else [], f"{E}s"))


def test_a_watched_folder_may_lose_files_and_get_older_ones() -> None:
    position = Position(growing=True)
    position.took([placed(("f", 1), ("f", 2), ("g", 1))])
    again = Position(growing=True, saved=position.state())
    assert rest(again, placed(("e", 1), ("g", 1), ("h", 1))) == [("e", 1), ("h", 1)]


# --- the command ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with queries, and a folder of events with bad lines and late events."""
    monkeypatch.chdir(tmp_path)
    for name in ("star", "path", "lateness", "on close", "construct"):
        (tmp_path / f"{name.replace(' ', '-')}.rq").write_text(
            f"PREFIX : <{E}> " + QUERIES[name].replace(":q AS", f":{name.replace(' ', '-')} AS")
        )
    (tmp_path / "static.rq").write_text(f"PREFIX : <{E}> {QUERIES['static']}".replace(PEOPLE, "people.ttl"))
    (tmp_path / "people.ttl").write_text(f"PREFIX : <{E}> :n1 :knows [] . :n2 :knows :n1 .")
    rng = random.Random(5)
    (tmp_path / "events").mkdir()
    lines = []
    for second in range(40):
        name = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime(second))
        graph = f"<{E}g{second}>"
        triples = [
            f"<{E}n{rng.randrange(6)}> <{E}{rng.choice('ppq')}> <{E}n{rng.randrange(6)}>"
            for _ in range(rng.randrange(1, 4))
        ]
        bad = "nonsense\n" if second % 9 == 4 else ""
        (tmp_path / "events" / f"{name}.nt").write_text("".join(f"{triple} .\n" for triple in triples) + bad)
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(second - 4 * (second % 6 == 5)))
        time_of = "<http://www.w3.org/ns/prov#generatedAtTime>"
        lines.append(f'{graph} {time_of} "{moment}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n')
        lines += [f"{triple} {graph} .\n" for triple in triples] + [bad]
    (tmp_path / "events.nq").write_text("".join(lines))
    return tmp_path


class Killed(BaseException):
    """Stands for kill -9: nobody catches it."""


def killed_after(monkeypatch: pytest.MonkeyPatch, portions: int, arguments: list[str]) -> int | None:
    """The exit code of a run, None where it was ended in its course."""
    left = [portions]
    offer = Engine.offer

    def offer_or_die(self: Engine, batches: list[EventBatch], *, complete: bool) -> object:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return offer(self, batches, complete=complete)

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "offer", offer_or_die)
        try:
            return main(arguments)
        except Killed:
            return None


@pytest.mark.parametrize(
    ("queries", "options"),
    [
        (["path.rq"], ["--format=jsonl"]),
        (["path.rq", "lateness.rq"], ["--format=csv"]),
        (["star.rq", "lateness.rq", "on-close.rq"], ["--format=table"]),
        (["construct.rq"], ["--format=nq", "--no-drain"]),
        (["static.rq"], ["--format=csv"]),
    ],
)
@pytest.mark.parametrize("given", ["events", "events.nq"])
def test_ended_and_started_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, queries: list[str], options: list[str], given: str
) -> None:
    # a batch of a few lines, so that there are many portions
    monkeypatch.setattr("spectra.streams.reading.BATCH_BYTES", 300)
    monkeypatch.setattr("spectra.streams.source.BATCH_BYTES", 300)
    call = ["run", *queries, f"--input={given}", *options]
    assert main([*call, "--output=plain", "--quarantine=plain.bad"]) == 0
    kept = [*call, "--output=out", "--quarantine=out.bad", "--checkpoint=state", "--checkpoint-interval=0s"]
    rng = random.Random(1)
    starts = 1
    while killed_after(monkeypatch, rng.randrange(5) if starts > 1 else 0, kept) is None:
        with (folder / "out").open("a") as file:
            file.write("half a li")
        starts += 1
    # Spark gives a whole file of quads at once
    assert starts > (1 if cli.DEFAULT_ENGINE == "spark" and given == "events.nq" else 3)
    plain, found = ((folder / name).read_text() for name in ("plain", "out"))
    # a blank node of the static data has another label whenever the file is read for a new run
    plain, found = (re.sub(r"_:\w+", "_:", text) for text in (plain, found))
    assert Counter(plain.splitlines()) == Counter(found.splitlines())
    assert (folder / "plain.bad").read_text() == (folder / "out.bad").read_text() != ""

    before = (folder / "out").read_bytes()
    assert main(kept) == 0
    assert (folder / "out").read_bytes() == before


def test_what_cannot_be_gone_on_with(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(arguments: list[str], message: str) -> None:
        assert main(arguments) == 2
        assert capsys.readouterr().err.startswith(f"QueryError: {message}")

    call = ["run", "path.rq", "static.rq", "--input=events", "--output=out", "--checkpoint=state"]
    assert main(call) == 0
    capsys.readouterr()
    refused(["run", "path.rq", "--input=events", "--checkpoint=state"], "--checkpoint needs --output FILE")
    other_order = [call[0], call[2], call[1], *call[3:]]
    refused(other_order, "the checkpoint is of other queries\ndetail: It is of <http://e/path>, <http://e/q>.")
    refused([*call, "--start=1"], "the checkpoint is of a call with another --start\ndetail: Then: 0. Now: 1.")
    refused([*call[:3], "--input=events.nq", *call[4:]], "the checkpoint is of a call with another --input")
    (folder / "people.ttl").write_text("")
    refused(call, "the static data has changed since the checkpoint")
    Path("path.rq").write_text(Path("path.rq").read_text().replace("10s", "11s"))
    refused(call, "the checkpoint is of other queries")


def test_what_changed_since(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("spectra.streams.reading.BATCH_BYTES", 300)
    monkeypatch.setattr("spectra.streams.source.BATCH_BYTES", 300)
    call = ["run", "path.rq", "--input=events", "--output=out", "--checkpoint=state", "--checkpoint-interval=0s"]
    assert killed_after(monkeypatch, 4, call) is None
    kept = (folder / "out").read_bytes()
    (folder / "out").write_bytes(kept[:-1])
    assert main(call) == 2
    assert 'cannot go on with the file "out" of the checkpoint' in capsys.readouterr().err
    (folder / "out").write_bytes(kept)
    (folder / "events" / "1969-01-01T00-00-00Z.nt").write_text(f"<{E}a> <{E}p> <{E}b> .\n")
    assert main(call) == 2
    assert "the input of <http://e/s> has changed since the checkpoint" in capsys.readouterr().err


def spectra(*arguments: str) -> subprocess.Popen[bytes]:
    # compiled, as for users: what is tested is the moment of the end, and it should come often
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    command, *options = arguments
    call = [sys.executable, "-m", "spectra", command, f"--engine={cli.DEFAULT_ENGINE}", *options]
    return subprocess.Popen(call, stderr=subprocess.PIPE, env=environment)


def test_kill_9_at_any_moment(folder: Path) -> None:
    rng = random.Random(11)
    # long names make many portions of few triples
    nodes = [f"{E}n{i}/{'x' * 400}" for i in range(50)]
    with (folder / "long.nt").open("w") as file:
        for _ in range(20_000):
            file.write(f"<{rng.choice(nodes)}> <{E}{rng.choice('pq')}> <{rng.choice(nodes)}> .\n")
        file.write("nonsense\n")
    call = ["run", "path.rq", "on-close.rq", "--input=long.nt", "--quarantine={}.bad", "--output={}"]
    plain = spectra(*(argument.format("plain") for argument in call))
    assert plain.communicate()[1]
    assert plain.returncode == 0
    kept = [*(argument.format("out") for argument in call), "--checkpoint=state", "--checkpoint-interval=0s"]
    kills, patience = 0, 2.5
    while True:
        process = spectra(*kept)
        try:
            errors = process.communicate(timeout=rng.uniform(0.5, patience))[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            patience *= 1.3
            continue
        assert process.returncode == 0, errors
        break
    assert kills > 0
    for ending in ("", ".bad"):
        wanted, found = ((folder / f"{name}{ending}").read_bytes().splitlines() for name in ("plain", "out"))
        assert Counter(found) == Counter(wanted)


def test_following_goes_on_with_new_files(folder: Path) -> None:
    call = ["run", "path.rq", "--input=events", "--output=out", "--quarantine=bad", "--follow", "--idle=200ms"]
    call += ["--checkpoint=state", "--checkpoint-interval=0s"]

    def followed_until(text: str) -> None:
        process = spectra(*call)
        until = time.monotonic() + 60
        try:
            while not (folder / "out").exists() or text not in (folder / "out").read_text():
                assert time.monotonic() < until
                assert process.poll() is None
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()

    for number in range(3):
        node = f"new{number}"
        (folder / "events" / f"1970-01-01T00-00-4{number}Z.nt").write_text(f"<{E}{node}> <{E}p> <{E}{node}> .\n")
        followed_until(f'{E}{node}"')
        # an old file that has been taken may go
        os.remove(min((folder / "events").iterdir()))
    written = [json.loads(line) for line in (folder / "out").read_text().splitlines()]
    lines = Counter(json.dumps(line) for line in written)
    assert max(lines.values()) == 1
    entered = [line["bindings"]["a"]["value"] for line in written if line["op"] == "+"]
    assert [value for value in entered if "new" in value] == [f"{E}new{number}" for number in range(3)]
    assert len((folder / "bad").read_text().splitlines()) == 4
