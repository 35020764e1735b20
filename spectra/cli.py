"""The command `spectra`: run, explain, check and verify continuous queries."""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from spectra.errors import (
    InternalError,
    QueryError,
    ResourceError,
    SpectraError,
    StreamError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from spectra.ending import Ending
    from spectra.engine import Engine
    from spectra.keeper import Keeper
    from spectra.planner.statistics import Statistics
    from spectra.sparql.query import ContinuousQuery
    from spectra.streams.contract import EventSource
    from spectra.streams.source import Source

DONE, DIFFERENT, WRONG, BAD_DATA, LIMIT = 0, 1, 2, 3, 4
#: A bug of ours, as sysexits.h numbers it.
INTERNAL = 70

DEFAULT_ENGINE = "spark"

#: Bytes of input up to which interpreting the kernels is quicker than loading them compiled.
_LITTLE = 16 * 1024

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\Z", re.IGNORECASE)
#: How many instants that differ `verify` shows, and how many answers of each.
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class QueryFile:
    """A query and the folder that its FROM clauses start from."""

    query: ContinuousQuery
    folder: Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    # to start is to make many objects that stay: looking for garbage among them takes a tenth of the time
    gc.disable()
    try:
        return int(options.command(options))
    except BrokenPipeError:
        # whoever read our output has seen enough; nothing more may be written, at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except _BadDataError as stop:
        return _failed(stop.error, BAD_DATA)
    except (QueryError, UnsupportedError, StreamError) as error:
        return _failed(error, WRONG)
    except ResourceError as error:
        return _failed(error, LIMIT)
    except MemoryError:
        return _failed(ResourceError("out of memory", hint="Narrow the windows, or set --state-limit."), LIMIT)
    except Exception as error:
        # exit code 1 is a difference that `verify` found, so a bug must not end with it
        traceback.print_exc()
        hint = "Please report it with the query and the data."
        return _failed(InternalError(f"unexpected {type(error).__name__}", hint=hint), INTERNAL)
    finally:
        gc.enable()


def _failed(error: SpectraError, code: int) -> int:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    return code


class _BadDataError(Exception):
    """What `--strict` stops at; the other errors of a stream are errors of the call."""

    def __init__(self, error: StreamError) -> None:
        super().__init__(error)
        self.error = error


# --- run ------------------------------------------------------------------------------------


def _run(options: argparse.Namespace) -> int:
    _check_engine(options)
    from spectra.clock import FOREVER
    from spectra.ending import Ending
    from spectra.output import HoldBack, writer_for
    from spectra.progress import Progress, reached_time, summary_lines

    queries = _queries(options)
    sources = _sources(options, queries)
    queries = _on_the_only_stream(queries, sources)
    keeper = _keeper(options, queries)
    if keeper is not None and keeper.finished:
        print(f'the run of the checkpoint "{options.checkpoint}" is complete', file=sys.stderr)
        return DONE
    resumed = keeper is not None and keeper.resumed
    with _output(options.output, append=resumed) as file, _engine(options, append=resumed) as engine:
        name = options.format or ("table" if file.isatty() else "jsonl")
        writer = writer_for(name, [entry.query for entry in queries], file)
        for entry in queries:
            static = keeper.static(entry.query.name) if keeper is not None else None
            engine.register(entry.query, folder=entry.folder, static=static)
        hold_back = HoldBack() if len({_lateness(entry.query) for entry in queries}) > 1 else None
        position = None
        if keeper is not None:
            position = keeper.begin(engine, writer, hold_back, file)
        interrupted = False
        # last, because Spark takes its time: whatever is wrong with the call is known by now
        with _inputs(options, sources, keeper) as inputs:
            progress = Progress(engine, inputs, sys.stderr)
            ending = Ending()
            reading = {**_reading(options), **_following(options, ending)}
            run = engine.run(*inputs, drain=options.drain, position=position, **reading)
            awaited = ending.awaited() if options.follow else nullcontext()
            try:
                with awaited, _running(engine), closing(run.portions()) as portions:
                    for told in portions:
                        progress.clear()
                        writer.write(hold_back.upto(told, reached_time(engine)) if hold_back else told)
                        if options.follow:
                            writer.flush()
                        if keeper is not None:
                            keeper.portion_written()
                        progress.show()
                        ending.check()
            except KeyboardInterrupt:
                interrupted = True
            finally:
                progress.clear()
                if hold_back:
                    writer.write(hold_back.upto([], FOREVER))
                writer.flush()
            if keeper is not None and not options.follow and not interrupted:
                keeper.save(finished=True)
            for line in summary_lines(engine, inputs, progress.seconds):
                print(line, file=sys.stderr)
    # a follower has no other end
    return 128 + signal.SIGINT if interrupted and not options.follow else DONE


def _check_engine(options: argparse.Namespace) -> None:
    if options.engine == "embedded" and options.master is not None:
        raise QueryError("--master is of Spark", hint="Leave it out, or use --engine spark.")


@contextmanager
def _inputs(options: argparse.Namespace, sources: list[Source], keeper: Keeper | None) -> Iterator[list[EventSource]]:
    """The streams as the engine of the call reads them."""
    if options.engine == "embedded":
        yield list(sources)
        return
    from spectra.spark.delivery import delivered

    folder = Path(options.checkpoint) / "spark" if keeper is not None else None
    before_commit = keeper.save if keeper is not None else None
    with delivered(sources, options.master or "local[*]", folder, before_commit) as deliveries:
        yield list(deliveries)


#: What must be the same for a run to go on from a checkpoint, beside the queries.
_OF_THE_CALL = (
    "engine",
    "range",
    "step",
    "input",
    "stream",
    "time_from",
    "event_size",
    "start",
    "interval",
    "validate",
    "drain",
    "follow",
    "format",
    "output",
    "quarantine",
)


def _keeper(options: argparse.Namespace, queries: list[QueryFile]) -> Keeper | None:
    """What keeps the checkpoints of a run, if they are asked for."""
    if options.checkpoint is None:
        return None
    if options.output is None:
        raise QueryError(
            "--checkpoint needs --output FILE",
            detail="What has gone to standard output cannot be taken back.",
            hint="Name a file: --output FILE.",
        )
    from spectra.keeper import Keeper
    from spectra.static import load_static

    static = {
        entry.query.name: {
            iri: load_static(iri, entry.folder, {})
            for iri in dict.fromkeys((*entry.query.static, *entry.query.static_named))
        }
        for entry in queries
    }
    return Keeper(
        options.checkpoint,
        call={f"--{name.replace('_', '-')}": getattr(options, name) for name in _OF_THE_CALL},
        queries=[(entry.query.name, entry.query.text) for entry in queries],
        static=static,
        seconds=options.checkpoint_interval,
    )


def _following(options: argparse.Namespace, ending: Ending) -> dict[str, Any]:
    return {"follow": True, "idle": options.idle, "between": ending.check} if options.follow else {}


def _lateness(query: ContinuousQuery) -> int:
    return max(window.spec.lateness for window in query.windows)


@contextmanager
def _output(path: str | None, *, append: bool = False) -> Iterator[TextIO]:
    """Where answers go, in UTF-8 whatever the locale says."""
    if path is None:
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", newline="")
        yield sys.stdout
        sys.stdout.flush()
        return
    with _opened(path, "a" if append else "w") as file:
        yield file


def _opened(path: str, mode: Literal["a", "w"]) -> TextIO:
    try:
        return open(path, mode, encoding="utf-8", newline="")
    except OSError as error:
        raise QueryError(
            f'cannot write the output file "{path}"',
            detail=error.strerror,
            hint="Name a file in a folder that exists.",
        ) from None


# --- explain, check, verify -------------------------------------------------------------------


def _explain(options: argparse.Namespace) -> int:
    from spectra.describe import explained, measured
    from spectra.drawing import dot_of, svg_of
    from spectra.explanation import explanation

    if not options.analyze and (options.input or options.stream):
        raise QueryError("explain reads no input without --analyze", hint="Add --analyze, or leave the input out.")
    queries = _queries(options)
    if options.analyze:
        sources = _sources(options, queries)
        queries = _on_the_only_stream(queries, sources)
    with _engine(options) as engine:
        for entry in queries:
            static = None if options.analyze else _no_static(entry.query)
            engine.register(entry.query, folder=entry.folder, static=static)
        known, seconds = engine.planning.known, None
        if options.analyze:
            with _running(engine):
                for _ in engine.run(*sources, drain=False, **_reading(options)).portions():
                    pass
            known, seconds = {**engine.label_statistics(), **known}, engine.seconds
        plans = [explanation(query, known, seconds) for query in engine.queries]
        if options.analyze and options.drain:  # only now, it empties the windows
            engine.drain()
        match options.format:
            case "json":
                print(json.dumps([plan.shown() for plan in plans], indent=2, ensure_ascii=False))
            case "dot":
                print(dot_of([(plan.query, plan.plan) for plan in plans]))
            case "svg":
                print(svg_of([(plan.query, plan.plan) for plan in plans]))
            case _:
                texts = [explained(engine, query, plan) for query, plan in zip(engine.queries, plans, strict=True)]
                if options.analyze:
                    texts = [f"{text}\n{measured(engine, q)}" for text, q in zip(texts, engine.queries, strict=True)]
                print("\n\n".join(texts))
    return DONE


def _check(options: argparse.Namespace) -> int:
    from spectra.describe import headline

    with _engine(options) as engine:
        for entry in _queries(options):
            engine.register(entry.query, static=_no_static(entry.query))
            print(f"ok: {headline(entry.query)}")
    return DONE


def _calibrate(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from spectra.calibrate import calibrated
    from spectra.planner.constants import save

    found = calibrated()
    for name, price in asdict(found).items():
        print(f"{name:8} {price:9.4f} us")
    print(f"written to {save(found)}", file=sys.stderr)
    return DONE


def _no_static(query: ContinuousQuery) -> dict[str, Any]:
    """To plan a query, its static files need not be there."""
    return dict.fromkeys((*query.static, *query.static_named), ())


def _verify(options: argparse.Namespace) -> int:
    from spectra.clock import date_time
    from spectra.progress import counted
    from spectra.static import load_static
    from spectra.verify import verify

    queries = _queries(options)
    sources = _sources(options, queries)
    queries = _on_the_only_stream(queries, sources)
    static = {}
    with _engine(options) as engine:
        for entry in queries:
            query = entry.query
            graphs = {
                iri: load_static(iri, entry.folder, {}) for iri in dict.fromkeys((*query.static, *query.static_named))
            }
            engine.register(query, static=graphs)
            default = [triple for iri in query.static for triple in graphs[iri]]
            static[query.name] = {"": default, **{iri: graphs[iri] for iri in query.static_named}}
        with _running(engine):
            found = verify(engine, sources, static, drain=options.drain, **_reading(options))
    different = False
    for result in found:
        compared = f"{counted(result.evaluations, 'evaluation')}, {counted(result.answers, 'answer')} compared"
        if not result.differences:
            print(f"<{result.query}>: {compared}, no difference")
            continue
        different = True
        print(f"<{result.query}>: {compared}, {counted(len(result.differences), 'instant')} with differences")
        for difference in result.differences[:_SHOWN]:
            print(f"  at {date_time(difference.at)}")
            for what, answers in (("missing", difference.missing), ("extra", difference.extra)):
                listed = sorted(answers.elements())
                for op, text in listed[:_SHOWN]:
                    print(f"    {what}: {op} {text}")
                if len(listed) > _SHOWN:
                    print(f"    {what}: and {len(listed) - _SHOWN:,} more")
    return DIFFERENT if different else DONE


# --- queries, streams, engine -------------------------------------------------------------------


def _queries(options: argparse.Namespace) -> list[QueryFile]:
    """The queries of the call, parsed, those that others read first; plain ones are named after their files."""
    from spectra.sparql.composed import in_order
    from spectra.sparql.rspql import DEFAULT_NAME

    found: dict[str, QueryFile] = {}
    for name in options.queries:
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise QueryError(f'cannot read the query file "{name}"', detail=error.strerror) from None
        except UnicodeDecodeError as error:
            raise QueryError(f'the query file "{name}" is not UTF-8', detail=str(error)) from None
        query = _parsed(text, name, options)
        if query.name == DEFAULT_NAME:
            query = replace(query, name=f"{DEFAULT_NAME}:{re.sub(r'[^A-Za-z0-9_.-]', '-', path.stem)}")
        if query.name in found:
            raise QueryError(
                f"two queries are named <{query.name}>",
                hint="Register them under different names, or in different runs.",
            )
        found[query.name] = QueryFile(query, path.parent)
    _choose_kernels(options, list(found.values()))
    ordered = in_order(entry.query for entry in found.values())
    # a circle is refused when the queries are registered
    return [found[query.name] for query in ordered] if ordered is not None else list(found.values())


def _choose_kernels(options: argparse.Namespace, queries: list[QueryFile]) -> None:
    """Interpret the kernels where there is little or nothing to read, otherwise say if they must be compiled."""
    from spectra.jit import interpret
    from spectra.progress import announce_compilation

    inputs = [*(options.input or ()), *(text.rpartition("=")[2] for text in options.stream)]
    static = [str(entry.folder / iri) for entry in queries for iri in (*entry.query.static, *entry.query.static_named)]
    sizes = [_bytes_of(path) for path in [*inputs, *static]]
    if not options.follow and None not in sizes and sum(size or 0 for size in sizes) <= _LITTLE:
        interpret()
    announce_compilation(sys.stderr)


def _bytes_of(path: str) -> int | None:
    """About how many bytes of text there are under a path or glob, None where nothing is found."""
    files: list[Path] = []
    for found in glob(path):
        files += Path(found).iterdir() if Path(found).is_dir() else [Path(found)]
    sizes = [file.stat().st_size * (10 if file.suffix == ".gz" else 1) for file in files if file.is_file()]
    return sum(sizes) if sizes else None


def _parsed(text: str, name: str, options: argparse.Namespace) -> ContinuousQuery:
    """The query of a text; of several, those with windows of their own do without the range of the call."""
    from spectra.sparql import parse_query

    try:
        return parse_query(text, range=options.range, step=options.step, source=name)
    except QueryError as error:
        if options.range is None or len(options.queries) == 1:
            raise
        try:
            return parse_query(text, source=name)
        except QueryError:
            raise error from None


def _sources(options: argparse.Namespace, queries: list[QueryFile]) -> list[Source]:
    """The inputs of the call, each under the stream that it is."""
    from spectra.sparql.composed import makes_stream
    from spectra.streams.source import Source

    made = {entry.query.name for entry in queries if makes_stream(entry.query)}
    read = dict.fromkeys(window.stream for entry in queries for window in entry.query.windows)
    streams = [stream for stream in read if stream not in made]
    named = [stream for stream in streams if stream]
    listed = ", ".join(f"<{stream}>" for stream in named)
    paths: dict[str, list[str]] = {}
    if options.input:
        if options.stream:
            raise QueryError(
                "--input and --stream exclude each other", hint="Give every stream with --stream IRI=PATH."
            )
        if len(named) > 1:
            raise QueryError(
                f"--input is one stream, and the queries read {len(named)}",
                detail=f"They read {listed}.",
                hint="Give each with --stream IRI=PATH.",
            )
        paths[named[0] if named else ""] = options.input
    for text in options.stream:
        stream, path = _stream_and_path(text, streams, listed)
        paths.setdefault(stream, []).append(path)
    if not paths:
        raise QueryError("no input", hint="Name a folder, a glob or a file: --input PATH, or --stream IRI=PATH.")
    missing = [stream for stream in named if stream not in paths]
    if missing:
        raise QueryError(
            f"no input for the stream <{missing[0]}>",
            detail=f"The queries read {listed}.",
            hint=f"Add --stream {missing[0]}=PATH.",
        )
    return [
        Source(
            given,
            stream=stream,
            time_from=options.time_from,
            event_size=options.event_size,
            start=options.start,
            interval=options.interval,
        )
        for stream, given in paths.items()
    ]


def _stream_and_path(text: str, streams: list[str], listed: str) -> tuple[str, str]:
    for stream in sorted(filter(None, streams), key=len, reverse=True):
        for written in (f"{stream}=", f"<{stream}>="):
            if text.startswith(written):
                return stream, text[len(written) :]
    iri, equals, path = text.partition("=")
    if not equals:
        raise QueryError(f'not a stream: "{text}"', hint="Write --stream IRI=PATH.")
    if streams == [""]:
        return iri.strip("<>"), path
    raise QueryError(f"no query reads the stream <{iri.strip('<>')}>", detail=f"The queries read {listed}.")


def _on_the_only_stream(queries: list[QueryFile], sources: list[Source]) -> list[QueryFile]:
    """The same queries, plain SPARQL ones put on the one stream there is."""
    plain = any(not window.stream for entry in queries for window in entry.query.windows)
    if not plain:
        return queries
    if len(sources) > 1:
        raise QueryError(
            "a plain SPARQL query reads the only stream, and there are several",
            hint="Say which one it reads: FROM NAMED WINDOW … ON <stream> […].",
        )
    stream = sources[0].stream
    placed = []
    for entry in queries:
        windows = tuple(replace(window, stream=window.stream or stream) for window in entry.query.windows)
        placed.append(replace(entry, query=replace(entry.query, windows=windows)))
    return placed


@contextmanager
def _engine(options: argparse.Namespace, *, append: bool = False) -> Iterator[Engine]:
    from spectra.engine import Engine
    from spectra.streams.quarantine import Quarantine

    state_limit, path_budget = getattr(options, "state_limit", None), getattr(options, "path_budget", None)
    # of the formats only RDF Patch can delete
    inputs = [*(getattr(options, "input", None) or []), *getattr(options, "stream", [])]
    deletes = any(text.removesuffix(".gz").endswith(".rdfp") for text in inputs)
    engine = Engine(
        state_limit=state_limit,
        path_budget=path_budget,
        deleting=deletes,
        cores=getattr(options, "cores", 1),
        statistics=_statistics(getattr(options, "statistics", None)),
        adaptive=getattr(options, "adaptive", True),
        measure=getattr(options, "analyze", False),
    )
    path, strict = getattr(options, "quarantine", None), getattr(options, "strict", False)
    with Quarantine(path, strict, append=append) as quarantine:
        engine.quarantine = quarantine
        yield engine


def _statistics(file: str | None) -> Statistics | None:
    """What is known of the streams, from a file."""
    from spectra.planner.statistics import statistics_from

    if file is None:
        return None
    try:
        return statistics_from(json.loads(Path(file).read_text(encoding="utf-8")))
    except OSError as error:
        raise QueryError(f'cannot read the statistics "{file}"', detail=error.strerror) from None
    except ValueError as error:
        raise QueryError(f'the statistics "{file}" are no JSON', detail=str(error)) from None


@contextmanager
def _running(engine: Engine) -> Iterator[None]:
    """Tell what `--strict` stops at from the other errors that a stream may have."""
    gc.enable()
    try:
        yield
    except StreamError as error:
        if engine.quarantine.strict and engine.quarantine.count:
            raise _BadDataError(error) from None
        raise


def _reading(options: argparse.Namespace) -> dict[str, Any]:
    return {"validate": options.validate}


# --- arguments ----------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spectra",
        description="Continuous SPARQL queries, property paths included, over streams of RDF graphs.",
    )
    parser.add_argument("--version", action=_Version)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run queries over streams and write their answers")
    _add_queries(run)
    _add_input(run)
    run.add_argument(
        "--engine",
        choices=("spark", "embedded"),
        default=DEFAULT_ENGINE,
        help="what reads the input: spark (default), or this process alone, which needs no Java",
    )
    run.add_argument("--master", metavar="URL", help="the Spark master; default: local[*]")
    run.add_argument(
        "--format",
        choices=("table", "jsonl", "csv", "nq"),
        help="default: table on a terminal, jsonl otherwise",
    )
    run.add_argument("--output", metavar="FILE", help="where answers go; default: standard output")
    run.add_argument("--checkpoint", metavar="DIR", help="resume after a stop; with --output FILE")
    run.add_argument(
        "--checkpoint-interval",
        type=_seconds_or_none,
        default=1.0,
        metavar="D",
        help="least time from one checkpoint to the next; default: 1s",
    )
    run.add_argument("--follow", action="store_true", help="keep watching a folder; Ctrl-C ends")
    run.add_argument(
        "--idle",
        type=_seconds,
        default=1.0,
        metavar="D",
        help="with --follow: an instant is complete when nothing came for so long; default: 1s",
    )
    _add_statistics(run)
    run.set_defaults(command=_run)

    explain = commands.add_parser("explain", help="show the plan of queries")
    _add_queries(explain)
    explain.add_argument("--analyze", action="store_true", help="run over the input, and add what was counted")
    explain.add_argument("--format", choices=("text", "json", "dot", "svg"), default="text", help="default: text")
    _add_statistics(explain)
    _add_input(explain)
    explain.set_defaults(command=_explain, follow=False)

    check = commands.add_parser("check", help="parse and plan queries, and nothing else")
    _add_queries(check)
    check.set_defaults(command=_check, input=None, stream=[], follow=False)

    verify = commands.add_parser("verify", help="run, and compare every evaluation with a recomputation")
    _add_queries(verify)
    _add_input(verify)
    verify.set_defaults(command=_verify, follow=False)

    calibrate = commands.add_parser("calibrate", help="measure what the cost model needs to know of this machine")
    calibrate.set_defaults(command=_calibrate, input=None, stream=[], follow=False)
    return parser


def _add_statistics(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--statistics", metavar="FILE", help="JSON with what is known of the streams, to choose plans by their cost"
    )
    parser.add_argument(
        "--no-adaptive",
        dest="adaptive",
        action="store_false",
        help="keep the plan of the start, whatever the streams turn out to be",
    )


def _add_queries(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("queries", nargs="+", metavar="QUERY.rq", help="query files; FROM is relative to their folders")
    parser.add_argument("--range", metavar="D", help="the window of plain SPARQL: PT1H, 10s, …")
    parser.add_argument("--step", metavar="D", help="its step; default: the range")


def _add_input(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="PATH",
        help="the only stream: a folder, a glob or a file",
    )
    parser.add_argument(
        "--stream", action="append", default=[], metavar="IRI=PATH", help="one of several streams; full IRIs"
    )
    parser.add_argument(
        "--time-from",
        default="name",
        metavar="HOW",
        help="times of a folder of N-Triples files: name (default), mtime, predicate:<iri>",
    )
    parser.add_argument(
        "--event-size",
        type=int,
        default=1,
        metavar="N",
        help="triples of an event in one N-Triples file; default: 1",
    )
    parser.add_argument("--start", default="0", metavar="TIME", help="time of its first event; default: the epoch")
    parser.add_argument("--interval", default="PT1S", metavar="D", help="from one event to the next; default: PT1S")
    parser.add_argument("--quarantine", metavar="FILE", help="where bad lines and late events go, as JSON lines")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line or late event")
    parser.add_argument("--validate", action="store_true", help="read every line, also those that no query can use")
    parser.add_argument(
        "--no-drain",
        dest="drain",
        action="store_false",
        help="stop at the last event, with windows still open",
    )
    parser.add_argument("--state-limit", type=_bytes, metavar="SIZE", help="most bytes of state: 500MB, 2GB, …")
    parser.add_argument(
        "--path-budget", type=int, metavar="N", help="most states that simple paths may take at one event"
    )
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="cores that follow a path (1)")


def _bytes(text: str) -> int:
    """A number of bytes: 2GB, 500 MB, 1.5GiB, 4096."""
    match = _SIZE.match(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f'not a size: "{text}" (write 500MB, 2GB or a number of bytes)')
    power = " KMGT".index(match.group(2).upper() or " ")
    return int(float(match.group(1)) * (1024 if match.group(3) else 1000) ** power)


def _seconds(text: str) -> float:
    length = _seconds_or_none(text)
    if length == 0:
        raise argparse.ArgumentTypeError("an idle time of zero makes every event an instant of its own")
    return length


def _seconds_or_none(text: str) -> float:
    from spectra.clock import duration

    try:
        return duration(text) / 1000
    except QueryError as error:
        raise argparse.ArgumentTypeError(str(error).replace("\n", "; ")) from None


class _Version(argparse.Action):
    """Prints the version; the package is asked only when someone wants to know."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from spectra import __version__

        print(f"spectra {__version__}")
        parser.exit()
