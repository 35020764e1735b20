"""Queries that read the output of CONSTRUCT queries, with answers worked out by hand."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import spectra
from spectra.checkpoint import Checkpoints, restore, saved
from spectra.cli import main
from spectra.errors import QueryError, UnsupportedError
from tests.property.compare import lines_of_batches
from tests.unit.notation import STREAM, batch, deltas, events, shown

TWO_STEPS = "CONSTRUCT { ?x <urn:two> ?z } FROM NAMED WINDOW <urn:w> ON <urn:stream> [WINDOW] "
TWO_STEPS += "WHERE { WINDOW <urn:w> { ?x <urn:p> ?y . ?y <urn:p> ?z } }"


def producer(window: str = "RANGE 10s STEP 1s", output: str = "CHANGES", name: str = "made") -> str:
    return f"REGISTER {output} <urn:{name}> AS {TWO_STEPS.replace('WINDOW]', window + ']')}"


def reader(
    pattern: str, window: str = "RANGE 1h", output: str = "CHANGES", name: str = "reader", on: str = "made"
) -> str:
    return (
        f"REGISTER {output} <urn:{name}> AS SELECT * FROM NAMED WINDOW <urn:w> ON <urn:{on}> [{window}] "
        f"WHERE {{ WINDOW <urn:w> {{ {pattern} }} }}"
    )


def told(texts: list[str], stream: str, *, until: bool = True, name: str = "urn:reader") -> list[str]:
    """What one of the queries tells, the stream given in one batch, in several, and pushed: the same each time."""
    given = events(stream)
    answers = []
    for how in ("one batch", "batches", "push"):
        engine = spectra.Engine()
        for text in texts:
            engine.register(text)
        if how == "push":
            changes = [c for event in given for c in engine.push(event.added, deleted=event.deleted, at=event.time)]
            changes += [change for part in engine.drain() for change in part]
        else:
            batches = [batch(STREAM, given)] if how == "one batch" else [batch(STREAM, [event]) for event in given]
            changes = list(engine.run(batches))
        answers.append(shown((change for change in changes if change.query == name), until=until))
    assert answers[0] == answers[1] == answers[2]
    return answers[0]


def test_a_derivation_that_comes_to_end_earlier() -> None:
    """a reaches b by m until 11 and by n until 14; when the way by n is deleted, the end moves back."""
    stream = "1 a p m, m p b | 4 a p n, n p b | 5 -n p b"
    assert told([producer(), reader("?x <urn:two> ?y")], stream) == deltas("1 +a b until 11 | 11 -a b")


def test_recent_likers_and_the_paths_over_them() -> None:
    """The thesis's Examples 1, 11 and 12: a window of 24 over likes, posts and follows, and the intervals it gives."""
    likers = """REGISTER CHANGES <urn:RL> AS CONSTRUCT { ?u1 <urn:RL> ?u2 }
    FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 24s STEP 1s]
    WHERE { WINDOW <urn:w> { ?u1 <urn:likes> ?m . ?u1 <urn:follows>+ ?u2 . ?u2 <urn:posts> ?m } }"""
    # u likes b and then c, both of v; that u follows v since 7 ends first
    stream = "7 u follows v | 13 y follows u, u posts a | 17 v posts b | 20 v posts c | 28 y likes a | 29 u likes b | "
    stream += "30 u likes c"
    derived = "28 +y RL u until 37 | 29 +u RL v until 31 | 31 -u RL v | 37 -y RL u"
    assert told([likers], stream, name="urn:RL") == deltas(derived)
    paths = "28 +y u until 37 | 29 +u v until 31, +y v until 31 | 31 -u v, -y v | 37 -y u"
    assert told([likers, reader("?x <urn:RL>+ ?y", on="RL")], stream) == deltas(paths)


def test_a_derivation_that_comes_to_last_longer_is_known_to_the_reader() -> None:
    stream = "0 a p b, b p c | 3 c p d | 4 a p b | 5 b p c | 8 b p c"
    # a-c is made of a-b and b-c: until 10, 10, 14 and 14
    assert told([producer(), reader("?x <urn:two> ?z")], stream) == deltas(
        "0 +a c until 10 | 3 +b d until 10 | 13 -b d | 14 -a c"
    )


def test_the_window_of_the_reader_counts_from_when_a_triple_entered() -> None:
    stream = "0 a p b, b p c | 4 a p b, b p c | 9 a p b, b p c | 30 c p d"
    assert told([producer(), reader("?x <urn:two> ?z", "RANGE 6s STEP 1s")], stream) == deltas(
        "0 +a c until 6 | 6 -a c"
    )


def test_a_triple_that_enters_again_arrives_again() -> None:
    stream = "0 a p b, b p c | 2 -b p c | 5 b p c"
    window = "RANGE 6s STEP 1s"
    assert told([producer(), reader("?x <urn:two> ?z", window)], stream) == deltas(
        "0 +a c until 6 | 2 -a c | 5 +a c until 10 | 10 -a c"
    )


@pytest.mark.parametrize("output", ["ISTREAM", "CHANGES"])
def test_what_leaves_the_answer_leaves_the_stream_whatever_is_told(output: str) -> None:
    stream = "0 a p b, b p c, c p d | 3 -b p c"
    texts = [producer(output=output), reader("?x <urn:two>+ ?z")]
    assert told(texts, stream) == deltas("0 +a c until 10, +b d until 10 | 3 -a c, -b d")


def test_dstream_and_rstream_are_streams_of_what_they_tell() -> None:
    stream = "0 a p b, b p c | 3 -b p c"
    pattern = "?x <urn:two> ?z"
    assert told([producer(output="DSTREAM"), reader(pattern, "RANGE 5s STEP 1s")], stream) == deltas(
        "3 +a c until 8 | 8 -a c"
    )
    # tumbling windows of 10 s close at 10, with nothing, and at 20
    rstream = producer("RANGE 10s", "RSTREAM")
    assert told([rstream, reader(pattern, "RANGE 5s STEP 1s")], f"{stream} | 11 a p b, b p c") == deltas(
        "20 +a c until 25 | 25 -a c"
    )


def test_a_window_that_counts_events_counts_the_instants_at_which_the_answer_changes() -> None:
    stream = "0 a p b, b p c | 1 x p y | 2 c p d | 3 d p e"
    # b-d enters at 2, c-e at 3; at 1 nothing is told
    assert told([producer(), reader("?x <urn:two> ?z", "ELEMENTS 2")], stream, until=False)[:3] == deltas(
        "0 +a c | 2 +b d | 3 +c e"
    )


def test_chains_and_diamonds_are_evaluated_at_one_instant() -> None:
    def turned(name: str, on: str) -> str:
        return (
            f"REGISTER CHANGES <urn:{name}> AS CONSTRUCT {{ ?z <urn:{name}> ?x }} FROM NAMED WINDOW <urn:w> "
            f"ON <urn:{on}> [RANGE 1h] WHERE {{ WINDOW <urn:w> {{ ?x ?p ?z }} }}"
        )

    both = (
        "REGISTER CHANGES <urn:reader> AS SELECT ?x ?z FROM NAMED WINDOW <urn:w1> ON <urn:left> [RANGE 1h] "
        "FROM NAMED WINDOW <urn:w2> ON <urn:right> [RANGE 1h] "
        "WHERE { WINDOW <urn:w1> { ?z <urn:left> ?x } WINDOW <urn:w2> { ?z <urn:right> ?x } }"
    )
    texts = [producer(), turned("left", "made"), turned("right", "made"), both]
    stream = "0 a p b, b p c | 3 c p d | 5 -b p c"
    answers = deltas("0 +a c until 10 | 3 +b d until 10 | 5 -a c, -b d")
    assert told(texts, stream) == answers
    # in any order, as long as the lateness is the same
    for seed in range(4):
        random.Random(seed).shuffle(texts)
        assert told(texts, stream) == answers


def test_a_circle_is_refused() -> None:
    engine = spectra.Engine()
    one = (
        "REGISTER ISTREAM <urn:one> AS CONSTRUCT { ?x <urn:p> ?y } FROM NAMED WINDOW <urn:w> ON <urn:other> [RANGE 1s] "
    )
    one += "WHERE { WINDOW <urn:w> { ?x <urn:p> ?y } }"
    engine.register(one)
    with pytest.raises(
        QueryError, match="<urn:other> reads its own output, directly or through other queries"
    ) as raised:
        engine.register(one.replace("urn:other", "urn:x").replace("urn:one", "urn:other").replace("urn:x", "urn:one"))
    assert raised.value.place is not None
    with pytest.raises(QueryError, match="<urn:me> reads its own output"):
        engine.register(one.replace("urn:other", "urn:me").replace("urn:one", "urn:me"))
    assert [query.name for query in engine.queries] == ["urn:one"]


def test_a_query_and_the_query_that_it_reads_have_one_lateness() -> None:
    engine = spectra.Engine()
    engine.register(producer("RANGE 10s STEP 1s LATENESS 2s"))
    engine.register(reader("?x <urn:two> ?z"))  # says nothing of lateness: what it reads is in order
    both = (
        "REGISTER CHANGES <urn:both> AS SELECT * FROM NAMED WINDOW <urn:w1> ON <urn:made> [RANGE 1h] "
        "FROM NAMED WINDOW <urn:w2> ON <urn:stream> [RANGE 1h LATENESS 2s] "
        "WHERE { WINDOW <urn:w1> { ?x <urn:two> ?z } WINDOW <urn:w2> { ?x <urn:p> ?y } }"
    )
    engine.register(both)
    with pytest.raises(QueryError, match=r"<urn:third> and <urn:made>.*differ in LATENESS"):
        engine.register(both.replace("urn:both", "urn:third").replace("2s]", "3s]"))
    assert len(engine.timelines) == 1


def test_the_only_stream_is_the_one_that_no_query_makes() -> None:
    engine = spectra.Engine()
    engine.register(reader("?x <urn:two> ?z"))
    assert engine.streams == ("urn:made",)
    engine.register(producer())
    assert engine.streams == ("urn:stream",)


def test_filters_of_the_reader_hold_for_derived_triples() -> None:
    engine = spectra.Engine()
    engine.register(producer())
    engine.register(reader("?x <urn:two> ?z FILTER(?z = <urn:c>)"))
    given = batch(STREAM, events("0 a p b, b p c, c p d, d p e"))
    found = shown(change for change in engine.run([given], drain=False) if change.query == "urn:reader")
    assert found == ["0 +a c"]
    (state,) = (s for s in engine.timelines[0].windows if s.stream == "urn:made")
    assert state.views.live == 1


def test_a_reader_goes_on_when_the_query_that_it_reads_is_removed() -> None:
    engine = spectra.Engine()
    made = engine.register(producer())
    engine.register(reader("?x <urn:two> ?z"))
    assert len(engine.push("<urn:a> <urn:p> <urn:b> .\n<urn:b> <urn:p> <urn:c> .", at=0)) == 2
    made.remove()
    assert engine.push("<urn:c> <urn:p> <urn:d> .", at=1000, stream=STREAM) == []
    assert shown(engine.advance(10_000)) == ["10 -a c"]


def test_a_checkpoint_keeps_what_readers_hold(tmp_path: Path) -> None:
    texts = [producer("RANGE 6s STEP 2s"), reader("?x <urn:two>+ ?z", "RANGE 4s STEP 1s")]
    rng = random.Random(3)
    names = "abcd"
    given = [
        batch(STREAM, events(f"{second} {rng.choice(names)} p {rng.choice(names)}, -{rng.choice(names)} p a"))
        for second in range(30)
    ]

    def started() -> spectra.Engine:
        engine = spectra.Engine()
        for text in texts:
            engine.register(text)
        return engine

    def fed(engine: spectra.Engine, part: list, *, drain: bool = False) -> list:
        found = [told for each in part for told in engine.offer([each], complete=False)]
        return lines_of_batches(found + (engine.drain() if drain else []))

    wanted = fed(started(), given, drain=True)
    assert len(wanted) > 20
    for cut in (0, 5, 11, 22, 30):
        engine = started()
        before = fed(engine, given[:cut])
        Checkpoints(tmp_path / str(cut)).save(saved(engine))
        state = Checkpoints(tmp_path / str(cut)).latest()
        assert state is not None
        other = started()
        restore(other, state)
        assert Counter(before + fed(other, given[cut:], drain=True)) == Counter(wanted)


@pytest.mark.parametrize("turned", [False, True])
def test_the_command_line_runs_and_verifies_them_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], turned: bool
) -> None:
    (tmp_path / "made.rq").write_text(producer())
    (tmp_path / "reader.rq").write_text(reader("?x <urn:two>+ ?z"))
    lines = [f"<urn:n{i}> <urn:p> <urn:n{i * 7 % 10}> .\n" for i in range(30)]
    (tmp_path / "stream.nt").write_text("".join(lines))
    queries = [str(tmp_path / name) for name in ("made.rq", "reader.rq")]
    call = [*(queries[::-1] if turned else queries), "--input", str(tmp_path / "stream.nt")]
    assert main(["run", *call]) == 0
    assert '"query":"urn:reader"' in capsys.readouterr().out.replace(" ", "")
    assert main(["verify", *call]) == 0
    assert capsys.readouterr().out.count("no difference") == 2


def test_a_query_that_matches_each_event_by_itself_is_read() -> None:
    stream = "0 a p b, b p c | 1 c p d | 2 x p y, y p z"
    assert told([producer("EVENT", "ISTREAM"), reader("?x <urn:two> ?z", "RANGE 5s STEP 1s")], stream) == deltas(
        "0 +a c until 5 | 2 +x z until 7 | 5 -a c | 7 -x z"
    )


def test_a_static_graph_that_is_replaced_changes_what_readers_see() -> None:
    engine = spectra.Engine()
    text = producer().replace("} }", "} ?z <urn:kind> ?k }").replace("WHERE", "FROM <urn:kinds> WHERE")
    engine.register(text, static={"urn:kinds": [("<urn:c>", "<urn:kind>", "<urn:shop>")]})
    engine.register(reader("?x <urn:two> ?z"))
    engine.push("<urn:a> <urn:p> <urn:b> .\n<urn:b> <urn:p> <urn:c> .\n<urn:b> <urn:p> <urn:d> .", at=0)
    changes = engine.update_static("urn:kinds", [("<urn:d>", "<urn:kind>", "<urn:shop>")])
    assert shown(change for change in changes if change.query == "urn:reader") == ["0 +a d", "0 -a c"]


def test_what_is_not_evaluated_yet_says_so() -> None:
    engine = spectra.Engine()
    engine.register(producer())
    with pytest.raises(UnsupportedError, match=r"\[EVENT\] on <urn:made>, the output of a query"):
        engine.register(reader("?x <urn:two> ?z", "EVENT"))
    with pytest.raises(UnsupportedError, match="a part of another query's output"):
        engine.register(reader("?x <urn:two> ?z", name="other"), shard=(0, 2))
