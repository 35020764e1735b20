"""Conditions that one triple decides: a triple that fails is not encoded, not stored, and changes no answer."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import spectra
from spectra.algebra.nodes import Source
from spectra.describe import explained
from spectra.dictionary.spans import Spans
from spectra.explanation import explanation
from spectra.planner.atomic import TermFilter
from spectra.planner.physical import wanted_triples
from spectra.streams.distinct import DistinctTerms
from spectra.streams.memory import from_triples

WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT10S STEP PT10S]"
PREFIX = "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def registered(
    body: str, *, engine: spectra.Engine | None = None, name: str = "q", window: str = WINDOW
) -> tuple[spectra.Engine, spectra.Query]:
    engine = engine or spectra.Engine()
    text = f"{PREFIX}REGISTER ISTREAM <urn:{name}> AS SELECT * {window} WHERE {{ WINDOW <urn:w> {{ {body} }} }}"
    return engine, engine.register(text)


def pushed(engine: spectra.Engine, *triples: str, at: int = 0) -> list[str]:
    text = "".join(f"{triple} .\n" for triple in triples)
    return sorted(str(change).split(" + ")[1].split(" until")[0] for change in engine.push(text, at=at))


def values(*objects: str) -> list[str]:
    return [f"<http://e/s{number}> <http://e/p> {value}" for number, value in enumerate(objects)]


def filters(body: str) -> list[tuple[str, tuple[int, ...]]]:
    """The filters of the summary: text and places."""
    _, query = registered(body)
    patterns, _ = wanted_triples(query.physical, Source("urn:w"))
    found = [f for wanted in patterns for f in wanted.filters]
    assert all(isinstance(f, TermFilter) for f in found)
    return sorted((str(f).replace(INTEGER, ""), f.places) for f in found)


INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("?o > 3", ["s2", "s3"]),
        ("?o = 4", ["s2", "s3"]),  # 4.0 is equal to 4
        ("?o != 4", ["s0", "s1", "s4", "s5", "s6"]),
        ("sameTerm(?o, 4)", ["s2"]),
        ("?o IN (1, 4)", ["s1", "s2", "s3"]),
        ("?o NOT IN (1, 4)", ["s0", "s4", "s5", "s6"]),
        ("isIRI(?o)", ["s0"]),
        ("isLiteral(?o) && !isNumeric(?o)", ["s4", "s5"]),
        ("isBlank(?o)", ["s6"]),
        ("lang(?o) = 'en'", ["s5"]),
        ("langMatches(lang(?o), 'EN')", ["s5"]),
        ("datatype(?o) = xsd:integer", ["s1", "s2"]),
        ("regex(str(?o), '^c')", ["s4", "s5"]),
        ("contains(?o, 'a')", ["s4", "s5"]),
        ("strstarts(str(?s), 'http://e/s4')", ["s4"]),
        ("?o > 3 || isIRI(?o)", ["s0", "s2", "s3"]),
        ("1/0 = ?o", []),
        ("?o", ["s1", "s2", "s3", "s4", "s5"]),  # effective boolean values; other terms have none
    ],
)
def test_a_triple_that_fails_is_not_stored(condition: str, kept: list[str]) -> None:
    decimal = '"4.0"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    objects = ["<http://e/s0>", f'"1"{INTEGER}', f'"4"{INTEGER}', decimal, '"cat"', '"cat"@EN', "_:b"]
    engine, _ = registered(f"?s :p ?o FILTER({condition})")
    before = engine.dictionary.statistics()
    answers = pushed(engine, *values(*objects))
    assert sorted(answer[answer.index("?s=<http://e/") + 13 :][:2] for answer in answers) == kept
    assert engine.statistics()["triples"] == len(kept)
    if not kept:
        assert engine.dictionary.statistics() == before


def test_what_a_filter_can_be_decided_by() -> None:
    assert filters("?s :p ?o . ?o :q ?u FILTER(?o > 3)") == [('?o > "3"', (0,)), ('?o > "3"', (2,))]
    assert filters("?s :p ?o FILTER(?s != ?o)") == [("?s != ?o", (2, 0))]
    assert filters("?s :p ?o . ?o :q ?u FILTER(?s < ?u)") == []
    assert filters("?s :p ?o FILTER(?o > 3 && ?s != :a)") == [('?o > "3"', (2,)), ("?s != <http://e/a>", (0,))]
    assert filters("?s :p ?o FILTER(IRI(?o) = :a)") == []
    assert filters("?s :p+ ?o FILTER(?o = :a)") == []
    assert filters("?s :p ?o FILTER(1 = 1)") == []
    assert filters("?s :p ?o FILTER EXISTS { ?o :q ?s }") == []
    assert filters("{ ?s :p ?o } UNION { ?s :q ?o } FILTER(isIRI(?o))") == [("ISIRI(?o)", (2,))] * 2
    assert filters("?s :p ?o BIND(?o + 1 AS ?v) FILTER(?v > 2)") == []
    assert filters("?s :p ?o MINUS { ?s :q ?o } FILTER(?o > 2)") == [('?o > "2"', (2,))]


def test_another_variable_of_the_same_name_is_not_meant() -> None:
    body = "?s :p ?v { SELECT ?s { ?s :q ?v } } FILTER(?v > 3)"
    engine, _ = registered(body)
    assert pushed(engine, f'<http://e/a> <http://e/q> "1"{INTEGER}', f'<http://e/a> <http://e/p> "5"{INTEGER}') != []


def test_what_an_optional_part_asks_for_is_not_asked_of_the_rest() -> None:
    engine, _ = registered("?s :p ?o OPTIONAL { ?s :q ?u FILTER(?o > 3 && ?u > 3) }")
    found = pushed(engine, f'<http://e/a> <http://e/p> "1"{INTEGER}', f'<http://e/a> <http://e/q> "1"{INTEGER}')
    assert len(found) == 1
    assert engine.statistics()["triples"] == 1


def test_a_triple_stays_that_another_pattern_or_a_path_can_use() -> None:
    triple = f'<http://e/a> <http://e/p> "1"{INTEGER}'
    for other in (":a :p ?x", "?a :p+ ?x"):
        engine, _ = registered(f"?s :p ?o . {other} FILTER(?o > 3)")
        assert pushed(engine, triple) == []
        assert engine.statistics()["triples"] == 1
        assert len(pushed(engine, f'<http://e/a> <http://e/p> "5"{INTEGER}', at=1)) == 2


def test_each_window_of_a_stream_keeps_its_own() -> None:
    engine = spectra.Engine()
    registered("?s :p ?o FILTER(?o > 3)", engine=engine, name="high")
    registered("?s :p ?o FILTER(?o < 3)", engine=engine, name="low", window=WINDOW.replace("PT10S STEP", "PT20S STEP"))
    assert len(pushed(engine, *values(*(f'"{number}"{INTEGER}' for number in range(8))))) == 7
    held = [state.views.live for timeline in engine.timelines for state in timeline.windows]
    assert held == [4, 3]


def test_a_deleted_triple_that_fails_was_never_there() -> None:
    engine, _ = registered("?s :p ?o FILTER(?o > 3)")
    low, high = values(f'"1"{INTEGER}', f'"5"{INTEGER}')
    assert len(pushed(engine, low, high)) == 1
    assert engine.push(deleted=f"{low} .", at=1) == []
    assert engine.statistics()["triples"] == 1


def test_files_count_what_fails_as_skipped(tmp_path: Path) -> None:
    path = tmp_path / "s.nt"
    path.write_text(
        "".join(f"{triple} .\n" for triple in values(*(f'"{number % 8}"{INTEGER}' for number in range(80))))
    )
    engine, _ = registered("?s :p ?o FILTER(?o > 5)")
    source = spectra.read(path, event_size=3)
    assert len(list(engine.run(source, drain=False))) == 20
    assert (source.triples, source.skipped) == (20, 60)
    assert engine.events == 27


def test_a_summary_can_be_sent_to_another_process() -> None:
    engine, _ = registered("?s :p ?o FILTER(?o > 3 && ?s != ?o)")
    batch = from_triples("urn:s", 0, "".join(f"{t} .\n" for t in values(*(f'"{n}"{INTEGER}' for n in range(8)))), ())
    terms = DistinctTerms(batch.text, batch.start, batch.length, batch.hashes)
    summary = engine.summary("urn:s")
    wanted = summary.passing(batch.hashes, terms)
    assert wanted is not None
    assert wanted.tolist() == [number > 3 for number in range(8)]
    found = pickle.loads(pickle.dumps(summary)).passing(batch.hashes, terms)
    assert found.tolist() == wanted.tolist()


def test_a_condition_is_evaluated_once_for_a_term(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    holds = TermFilter.holds

    def counting(self: TermFilter, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        asked.append(rows)
        return holds(self, columns, rows)

    monkeypatch.setattr(TermFilter, "holds", counting)
    engine, _ = registered("?s :p ?o FILTER(?o > 3)")
    pushed(engine, *values(*(f'"{number % 5}"{INTEGER}' for number in range(1000))))
    assert asked == [5]


def test_explain_names_them() -> None:
    engine, query = registered("?s :p ?o FILTER(?o > 3)")
    assert f'<urn:s>: * <http://e/p> * where ?o > "3"{INTEGER}' in explained(engine, query, explanation(query, {}, 0.0))
