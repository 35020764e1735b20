"""The command line: every option, every exit code, and what goes where."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import spectra.progress
from spectra import cli
from spectra.cli import main
from spectra.progress import announce_compilation

E = "http://e/"
REACH = """PREFIX : <http://e/>
REGISTER {output} :{name} AS SELECT ?x ?y
FROM NAMED WINDOW :w ON :{stream} [RANGE PT10S STEP PT5S {more}]
WHERE {{ WINDOW :w {{ ?x :p+ ?y }} }}"""


def edge(s: str, o: str) -> str:
    return f"<{E}{s}> <{E}p> <{E}{o}> .\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of the worked example's events, and `reach.rq` beside it."""
    events = tmp_path / "events"
    events.mkdir()
    for second, lines in (
        (1, edge("ann", "bob")),
        (3, edge("bob", "cat")),
        (6, edge("ann", "bob")),
        (12, edge("cat", "dan") + edge("dan", "ann")),
    ):
        (events / f"1970-01-01T00-00-{second:02d}Z.nt").write_text(lines)
    write_query(tmp_path)
    return tmp_path


def write_query(folder: Path, name: str = "reach", output: str = "CHANGES", stream: str = "s", more: str = "") -> str:
    path = folder / f"{name}.rq"
    path.write_text(REACH.format(name=name, output=output, stream=stream, more=more))
    return str(path)


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def told(text: str) -> set[tuple[str, str, str]]:
    """(second, op, pair) of JSON lines."""
    return {
        (
            line["at"][17:-1].removesuffix(".000"),
            line["op"],
            line["bindings"]["x"]["value"].removeprefix(E) + " " + line["bindings"]["y"]["value"].removeprefix(E),
        )
        for line in map(json.loads, text.splitlines())
    }


EXAMPLE = {
    ("01", "+", "ann bob"),
    ("03", "+", "ann cat"),
    ("03", "+", "bob cat"),
    ("10", "-", "ann cat"),
    ("10", "-", "bob cat"),
    ("12", "+", "cat dan"),
    ("12", "+", "cat ann"),
    ("12", "+", "cat bob"),
    ("12", "+", "dan ann"),
    ("12", "+", "dan bob"),
    ("15", "-", "ann bob"),
    ("15", "-", "cat bob"),
    ("15", "-", "dan bob"),
    ("20", "-", "cat ann"),
    ("20", "-", "cat dan"),
    ("20", "-", "dan ann"),
}


# --- run --------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def compiled_before(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the first run: nothing is said of compilation."""
    cache = tmp_path_factory.mktemp("cache")
    (cache / "kernels").mkdir()
    (cache / "kernels" / f"table.encode-1.py{sys.version_info.major}{sys.version_info.minor}.nbi").touch()
    monkeypatch.setattr("spectra.progress.cache_folder", lambda module: cache)


def test_run_answers_in_json_lines_in_a_pipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "reach.rq"), "--input", str(folder / "events")]) == 0
    captured = capsys.readouterr()
    assert told(captured.out) == EXAMPLE
    assert lines(captured.out)[0] == {
        "query": "http://e/reach",
        "at": "1970-01-01T00:00:01.000Z",
        "op": "+",
        "bindings": {"x": {"type": "uri", "value": f"{E}ann"}, "y": {"type": "uri", "value": f"{E}bob"}},
        "until": "1970-01-01T00:00:10.000Z",
    }
    assert captured.err.startswith("4 events, 5 triples used and 0 skipped, 16 answers, ")
    assert len(captured.err.splitlines()) == 1


def test_no_drain_stops_at_the_last_event(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder / "reach.rq"), "--input", str(folder / "events"), "--no-drain"]) == 0
    assert told(capsys.readouterr().out) == {change for change in EXAMPLE if change[0] <= "12"}


def test_output_and_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder / "out.csv"
    call = ["run", str(folder / "reach.rq"), "--input", str(folder / "events"), "--output", str(target)]
    assert main([*call, "--format", "csv"]) == 0
    assert capsys.readouterr().out == ""
    header, first, *rest = target.read_bytes().decode().split("\r\n")
    assert header == "at,op,query,x,y,until"
    assert first.startswith("1970-01-01T00:00:01.000Z,+,http://e/reach,http://e/ann,http://e/bob,")
    assert len(rest) == 16
    assert main([*call, "--format", "table"]) == 0
    assert target.read_text().splitlines()[1].split()[1:4] == ["+", ":ann", ":bob"]


def test_times_of_one_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "edges.nt"
    file.write_text(edge("a", "b") + edge("b", "c") + edge("c", "d"))
    call = ["run", str(folder / "reach.rq"), "--input", str(file), "--no-drain"]
    assert main([*call, "--event-size", "2", "--start", "1970-01-01T00:00:10Z", "--interval", "5s"]) == 0
    assert told(capsys.readouterr().out) == {
        ("10", "+", "a b"),
        ("10", "+", "b c"),
        ("10", "+", "a c"),
        ("15", "+", "c d"),
        ("15", "+", "b d"),
        ("15", "+", "a d"),
    }


def test_times_from_a_predicate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    time_ = f'<{E}g> <{E}at> "1970-01-01T00:00:07Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    (folder / "timed").mkdir()
    (folder / "timed" / "any.nt").write_text(edge("a", "b") + time_)
    call = ["run", str(folder / "reach.rq"), "--input", str(folder / "timed"), "--no-drain"]
    assert main([*call, "--time-from", f"predicate:<{E}at>"]) == 0
    assert told(capsys.readouterr().out) == {("07", "+", "a b")}


def test_plain_sparql_takes_range_and_step_from_the_call(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = folder / "plain query.rq"
    query.write_text(f"SELECT ?x ?y {{ ?x <{E}p>+ ?y }}")
    call = ["run", str(query), "--input", str(folder / "events")]
    assert main([*call, "--range", "PT10S", "--step", "5s"]) == 0
    out = capsys.readouterr().out
    assert told(out) == {change for change in EXAMPLE if change[1] == "+"}
    assert lines(out)[0]["query"] == "urn:spectra:query:plain-query"
    assert main(call) == 2
    # beside a query that names the stream, and under a name on the command line, it reads the same one
    both = ["run", str(folder / "reach.rq"), *call[1:], "--range", "PT10S", "--step", "5s"]
    assert main(both) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8 + 16
    named = ["run", str(query), "--range", "10s", "--step", "5s", f"--stream={E}any={folder / 'events'}"]
    assert main(named) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_instants_come_in_order_across_queries_of_different_lateness(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    late = write_query(folder, "late", more="LATENESS PT7S")
    assert main(["run", str(folder / "reach.rq"), late, "--input", str(folder / "events")]) == 0
    found = lines(capsys.readouterr().out)
    assert len(found) == 32
    assert [line["at"] for line in found] == sorted(str(line["at"]) for line in found)


def test_from_is_relative_to_the_query(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "queries").mkdir()
    (folder / "queries" / "people.ttl").write_text(f"<{E}bob> a <{E}Suspect> .")
    query = folder / "queries" / "static.rq"
    query.write_text(
        REACH.format(name="q", output="ISTREAM", stream="s", more="").replace(
            "WHERE {", "FROM <people.ttl> WHERE { ?y a :Suspect ."
        )
    )
    assert main(["run", str(query), "--input", str(folder / "events")]) == 0
    assert {pair for _, _, pair in told(capsys.readouterr().out)} == {"ann bob", "cat bob", "dan bob"}


def test_nq_is_a_stream_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    derive = folder / "derive.rq"
    derive.write_text(
        """PREFIX : <http://e/> REGISTER ISTREAM :d AS CONSTRUCT { ?y :paidBy ?x . ?y a :Payee }
        FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT5S] WHERE { WINDOW :w { ?x :p ?y } }"""
    )
    target = folder / "derived.nq"
    call = ["run", str(derive), "--input", str(folder / "events")]
    assert main([*call, "--format", "nq", "--output", str(target)]) == 0
    assert main(call) == 0
    direct = {(line["at"], *line["triple"]) for line in lines(capsys.readouterr().out)}  # type: ignore[misc]
    again = folder / "again.rq"
    again.write_text(
        """PREFIX : <http://e/> REGISTER ISTREAM :a AS CONSTRUCT { ?s ?p ?o }
        FROM NAMED WINDOW :w ON :d [RANGE PT1S STEP PT1S] WHERE { WINDOW :w { ?s ?p ?o } }"""
    )
    assert main(["run", str(again), "--input", str(target)]) == 0
    captured = capsys.readouterr()
    assert {(line["at"], *line["triple"]) for line in lines(captured.out)} == direct  # type: ignore[misc]
    assert len(direct) == 8
    assert "warning" not in captured.err


# --- streams ----------------------------------------------------------------------------------


def test_several_streams(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = write_query(folder, "other", stream="t?a=b")
    other_path = Path(other)
    other_path.write_text(other_path.read_text().replace(":t?a=b", "<http://e/t?a=b>"))
    (folder / "other").mkdir()
    (folder / "other" / "2000.nt").write_text(edge("x", "y"))
    call = ["run", str(folder / "reach.rq"), other]
    streams = [f"--stream={E}s={folder / 'events'}", f"--stream=<{E}t?a=b>={folder / 'other'}"]
    assert main([*call, *streams]) == 0
    found = lines(capsys.readouterr().out)
    assert [line["query"] for line in found].count("http://e/other") == 2
    assert len(found) == 18

    assert main([*call, "--input", str(folder / "events")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("QueryError: --input is one stream, and the queries read 2\n")
    assert "<http://e/s>, <http://e/t?a=b>" in error
    assert main([*call, streams[0]]) == 2
    assert "no input for the stream <http://e/t?a=b>" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stream=http://e/nowhere=events"], "QueryError: no query reads the stream <http://e/nowhere>\n"),
        (["--stream=http://e/nowhere"], 'QueryError: not a stream: "http://e/nowhere"\n'),
        ([], "QueryError: no input\n"),
        (
            ["--input=events", "--stream=http://e/s=events"],
            "QueryError: --input and --stream exclude each other",
        ),
        (["--input=absent"], 'StreamError: no such file or folder: "absent"\n'),
        (["--input=reach.rq"], 'StreamError: unknown ending: "reach.rq"\n'),
        (["--input=empty"], 'StreamError: no files to read in "empty"\n'),
        (["--input=events", "--time-from=nowhere"], "StreamError: unknown origin of times"),
        (["--input=events", "--start=soon"], "StreamError: not a time"),
        (
            ["--input=events", "--output=absent/out"],
            'QueryError: cannot write the output file "absent/out"\n',
        ),
        (["--input=events", "--quarantine=absent/q"], "StreamError: cannot write the quarantine file"),
        (["--input=events", "--format=nq"], "QueryError: the answers of <http://e/reach> are no triples"),
        (["--input=events", "--engine=embedded", "--master=local[2]"], "QueryError: --master is of Spark"),
        (["--input=events", "--checkpoint=state"], "QueryError: --checkpoint needs --output FILE"),
        (["--input=edges.nt", "--follow"], "StreamError: cannot follow one file"),
        (["reach.rq", "--input=events"], "QueryError: two queries are named <http://e/reach>"),
    ],
)
def test_wrong_calls(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    Path("edges.nt").write_text(edge("a", "b"))
    Path("empty").mkdir()
    assert main(["run", "reach.rq", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run"],
        ["run", "q.rq", "--format", "xml"],
        ["run", "q.rq", "--state-limit", "much"],
        ["run", "q.rq", "--idle", "soon"],
        ["run", "q.rq", "--idle", "0s"],
        ["fly", "q.rq"],
    ],
)
def test_arguments_that_cannot_be_read(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: spectra" in capsys.readouterr().err


def test_an_error_of_the_query_has_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = folder / "bad.rq"
    query.write_text(REACH.format(name="q", output="ISTREAM", stream="s", more="").replace("?y }", "?y "))
    assert main(["check", str(query)]) == 2
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("QueryError: ")
    assert error[1].startswith(f"  {query}, line ")
    query.write_text(
        REACH.format(name="q", output="ISTREAM", stream="s", more="").replace("?y }", "?y OPTIONAL { ?y :q ?z } }")
    )
    assert main(["run", str(query), "--input", str(folder / "events")]) in (0, 2)
    assert main(["check", str(folder / "absent.rq")]) == 2
    assert "cannot read the query file" in capsys.readouterr().err
    query.write_bytes(b"SELECT \xff")
    assert main(["check", str(query)]) == 2
    assert "is not UTF-8" in capsys.readouterr().err


# --- bad data, limits, bugs --------------------------------------------------------------------


def test_bad_lines_are_set_aside_and_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = folder / "events" / "1970-01-01T00-00-02Z.nt"
    bad.write_text(edge("x", "y") + f"<{E}x> <{E}p> .\n")
    quarantine = folder / "bad.jsonl"
    call = ["run", str(folder / "reach.rq"), "--input", str(folder / "events")]
    assert main([*call, "--quarantine", str(quarantine)]) == 0
    captured = capsys.readouterr()
    assert ("02", "+", "x y") in told(captured.out)
    assert f"warning: set aside: 1 expected an object ({quarantine})" in captured.err
    assert lines(quarantine.read_text())[0]["line"] == 2
    assert main(call) == 0
    assert "--quarantine FILE keeps them" in capsys.readouterr().err
    assert main([*call, "--strict"]) == 3
    error = capsys.readouterr().err.splitlines()
    assert error[0] == "StreamError: expected an object"
    assert error[1].endswith("1970-01-01T00-00-02Z.nt, line 2, column 27")


def test_lines_that_no_query_can_use_are_read_on_demand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "events" / "2000.nt").write_text(f"<{E}x> <{E}unused> nonsense\n")
    call = ["run", str(folder / "reach.rq"), "--input", str(folder / "events")]
    assert main([*call, "--strict"]) == 0
    assert "5 triples used and 1 skipped" in capsys.readouterr().err
    assert main([*call, "--strict", "--validate"]) == 3


def test_late_events_are_bad_data_under_strict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quads = folder / "late.nq"
    text = ""
    for second in (5, 1):
        graph = f"<{E}g{second}>"
        text += f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:0{second}Z"'
        text += "^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n"
        text += edge("a", f"b{second}").replace(" .\n", f" {graph} .\n")
    quads.write_text(text)
    call = ["run", str(folder / "reach.rq"), "--input", str(quads)]
    assert main(call) == 0
    assert "warning: set aside: 1 late" in capsys.readouterr().err
    assert main([*call, "--strict"]) == 3


def test_state_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["run", str(folder / "reach.rq"), "--input", str(folder / "events")]
    assert main([*call, "--state-limit", "1kB"]) == 4
    assert capsys.readouterr().err.startswith("ResourceError: views and operators take ")
    assert main([*call, "--state-limit", "1.5GiB"]) == 0


def test_a_bug_is_not_taken_for_a_difference(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("spectra.verify.verify", broken)
    assert main(["verify", str(folder / "reach.rq"), "--input", str(folder / "events")]) == 70
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert error.splitlines()[-2:] == [
        "InternalError: unexpected ZeroDivisionError",
        "hint: Please report it with the query and the data.",
    ]


# --- explain, check, version --------------------------------------------------------------------


def test_check_needs_no_static_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = folder / "static.rq"
    query.write_text(
        REACH.format(name="q", output="ISTREAM", stream="s", more="").replace("WHERE", "FROM <no.ttl> WHERE")
    )
    assert main(["check", str(query)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok: query <http://e/q>",
        "  SELECT ?x ?y",
        "  ISTREAM, ON_CONTENT_CHANGE",
        "  window <http://e/w> on <http://e/s> [RANGE PT10S STEP PT5S]",
        "  static <no.ttl>",
    ]


def test_analyze_adds_what_was_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(folder / "reach.rq"), "--analyze", "--input", str(folder / "events")]) == 0
    plan, _, measured = capsys.readouterr().out.partition("\nmeasured\n")
    assert plan.startswith("query <http://e/reach>\n")
    assert "  4 events, 16 answers, state " in measured
    assert "  spath(?x ?y) " in plan
    assert "    estimated: " in plan
    assert "    measured: 0.7273 rows/s, 6 rows, cost " in plan
    assert "edges_probed " in plan
    assert main(["explain", str(folder / "reach.rq"), "--input", str(folder / "events")]) == 2


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"spectra {spectra.__version__}\n"


# --- the terminal, and other processes ------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_table_and_progress(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr(spectra.progress, "_SECONDS_BETWEEN_LINES", 0)
    assert main(["run", str(folder / "reach.rq"), "--input", str(folder / "events")]) == 0
    assert out.getvalue().splitlines()[0].split() == ["at", "op", "x", "y", "until"]
    assert "4 events  " in err.getvalue()
    assert "watermark 1970-01-01T00:00:06.000Z" in err.getvalue()
    # the line is taken away before the summary
    last, summary = err.getvalue().split("\n")[0].rsplit("\r", 1)
    assert last.endswith(" ")
    assert summary.startswith("4 events, 5 triples used")


def test_compilation_is_announced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def announced() -> str:
        file = io.StringIO()
        announce_compilation(file)
        return file.getvalue()

    monkeypatch.setattr("spectra.progress.is_interpreted", lambda: False)
    monkeypatch.setattr("spectra.progress.cache_folder", lambda module: tmp_path)
    assert announced() == "compiling kernels, first run only\n"
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "table.encode-1.py200.nbi").touch()
    assert announced() != ""
    (tmp_path / "kernels" / f"table.encode-1.{version}.nbi").touch()
    assert announced() == ""
    (tmp_path / "kernels" / f"table.encode-1.{version}.nbi").unlink()
    monkeypatch.setattr("spectra.progress.is_interpreted", lambda: True)
    assert announced() == ""


@pytest.mark.parametrize(("lines_of_input", "compiler"), [(10, False), (2_000, True)])
def test_the_compiler_is_not_loaded_for_little_input(folder: Path, lines_of_input: int, compiler: bool) -> None:
    stream = folder / "stream.nt"
    stream.write_text("".join(edge(f"a{i}", f"b{i}") for i in range(lines_of_input)))
    call = ["run", str(folder / "reach.rq"), "--engine=embedded", f"--input={stream}", f"--output={folder / 'out'}"]
    script = f"import sys, spectra.cli; spectra.cli.main({call!r}); print('numba' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_DISABLE_JIT"}
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert process.stdout.split()[-1] == str(compiler), process.stderr
    assert (folder / "out").read_text().count('"+"') == lines_of_input


def spectra_process(*arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own, which does not outlive a test that waits in vain."""
    process = subprocess.Popen(
        [sys.executable, "-m", "spectra", arguments[0], f"--engine={cli.DEFAULT_ENGINE}", *arguments[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        # where the suite runs in the background, interrupts are ignored, and a child would ignore them too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    watchdog = threading.Timer(300, process.kill)
    watchdog.daemon = True
    watchdog.start()
    return process


def test_a_closed_pipe_ends_quietly(folder: Path) -> None:
    file = folder / "many.nt"
    file.write_text("".join(edge(f"a{n}", f"b{n}") for n in range(3_000)))
    process = spectra_process("run", str(folder / "reach.rq"), "--input", str(file), "--interval", "1ms")
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith('{"query"')
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0
    assert "Traceback" not in error
    assert "BrokenPipe" not in error


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_follow_answers_as_files_come_and_ends_with_a_summary(folder: Path, number: signal.Signals) -> None:
    query = str(folder / "reach.rq")
    process = spectra_process("run", query, "--input", str(folder / "events"), "--follow", "--idle", "200ms")
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(10)]
    hidden = folder / "events" / ".1970-01-01T00-00-13Z.nt"
    hidden.write_text(edge("dan", "eve"))
    hidden.rename(folder / "events" / "1970-01-01T00-00-13Z.nt")
    seen += [process.stdout.readline() for _ in range(2)]
    time.sleep(0.1)
    process.send_signal(number)
    rest, error = process.communicate(timeout=180)
    assert rest == ""
    assert process.returncode == 0
    found = told("".join(seen))
    assert {change for change in found if change[0] <= "12"} == {c for c in EXAMPLE if c[0] <= "12"}
    assert {change for change in found if change[0] > "12"} == {
        ("13", "+", "dan eve"),
        ("13", "+", "cat eve"),
    }
    assert error.splitlines()[-1].startswith("5 events, 6 triples used")
