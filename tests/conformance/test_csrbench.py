"""CSRBench: the engine agrees with a recomputation at every report of its seven queries."""

from __future__ import annotations

import re
from functools import cache

import pytest

import spectra
from spectra.dictionary.terms import canonical
from spectra.oracle import Event, OracleAnswer, recompute
from spectra.sparql import parse_query
from spectra.streams.memory import from_triples
from tests.conformance.manifest import read_graph
from tests.data import data_path

pytestmark = pytest.mark.data

STREAM = "urn:csrbench"
CONTENT_CHANGE, WINDOW_CLOSE = "ISTREAM", "RSTREAM"


@cache
def properties() -> dict[str, str]:
    """The settings of the queries; a backslash at the end of a line goes on with the next."""
    text = data_path("rsp", "csrbench", "srbench-queries.properties").read_text(encoding="utf-8")
    lines = re.sub(r"\\[ \t]*\n", "\n", text)
    pairs = re.findall(r"^srb\.(\S+)[ \t]*=[ \t]*(.*?)(?=^srb\.|^#|\Z)", lines, re.DOTALL | re.MULTILINE)
    return {key: value.strip() for key, value in pairs}


def query_text(name: str, output: str) -> str:
    """The query with its window, in C-SPARQL's way: every pattern reads the stream."""
    settings = properties()
    size, slide = settings[f"{name}.window.size"], settings[f"{name}.window.slide"]
    text = settings[f"{name}.booleanquery"]
    prologue, select, rest = text.partition("SELECT")
    head, where, pattern = rest.partition("WHERE")
    window = f"FROM STREAM <{STREAM}> [RANGE {size}ms STEP {slide}ms] "
    return f"{prologue}REGISTER {output} <urn:{name}> AS {select}{head}{window}{where}{pattern}"


@cache
def events() -> list[Event]:
    """Each file is the event of one second."""
    files = sorted(data_path("rsp", "csrbench", "data").glob("*.ttl"))
    return [
        Event(1000 * second, tuple((1, triple) for triple in read_graph(path)), STREAM)
        for second, path in enumerate(files)
    ]


def engine_answers(text: str) -> list[OracleAnswer]:
    engine = spectra.Engine()
    engine.register(text)
    batches = [from_triples(STREAM, event.time, [t for _, t in event.operations], ()) for event in events()]
    return [
        OracleAnswer(
            change.at.milliseconds,
            change.op,
            tuple(sorted((name, canonical(term)[0]) for name, term in change.bindings.items())),
        )
        for change in engine.run(batches)
    ]


def in_order(answers: list[OracleAnswer]) -> list[OracleAnswer]:
    return sorted(answers, key=lambda answer: (answer.at, answer.op, answer.solution))


def test_the_data_is_whole():
    assert len(events()) == 34
    assert sum(len(event.operations) for event in events()) == 15_188
    assert sum(key.endswith(".booleanquery") for key in properties()) == 7
    assert properties()["query5.window.slide"] == "1000"


@pytest.mark.parametrize("output", [CONTENT_CHANGE, WINDOW_CLOSE])
@pytest.mark.parametrize("name", [f"query{number}" for number in range(1, 8)])
def test_engine_agrees_with_the_recomputation(name, output):
    text = query_text(name, output)
    wanted = recompute(parse_query(text), events())
    assert wanted, "the query has answers"
    got = engine_answers(text)
    assert [answer.at for answer in got] == sorted(answer.at for answer in got)
    assert in_order(got) == in_order(wanted)
