"""What this version does not evaluate is refused when the query is registered, and the error says where."""

from __future__ import annotations

import pytest

from spectra.engine import Engine
from spectra.errors import UnsupportedError

HEAD = "PREFIX ex: <http://example.org/>\nREGISTER {output} ex:out {options}AS\n"
WINDOW = "FROM NAMED WINDOW ex:w ON ex:s [{spec}]\n"


def text(
    body: str = "WINDOW ex:w { ?x ex:p ?y }",
    *,
    head: str = "SELECT ?x",
    tail: str = "",
    spec: str = "RANGE 10ms STEP 5ms",
    options: str = "",
) -> str:
    return (
        HEAD.format(output="ISTREAM", options=options)
        + f"{head}\n{WINDOW.format(spec=spec)}WHERE {{ {body} }} {tail}".rstrip()
    )


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (
            text("WINDOW ex:w { ?x ex:p ?y FILTER EXISTS { { SELECT ?x ?z { ?x ex:q ?z } LIMIT 1 } ?z ex:p ?x } }"),
            "LIMIT",
        ),
        (text("WINDOW ex:w { ?x ex:p ?y FILTER EXISTS { SELECT ?x { ?x ex:q ?z } OFFSET 1 } }"), "OFFSET"),
        (text("WINDOW ex:w { GRAPH ?e { GRAPH ?f { ?x ex:p ?y } } }"), "GRAPH"),
        (text("WINDOW ex:w { ?x ex:p ?y } SERVICE ex:far { ?x ex:q ?z }"), "SERVICE"),
        (text(spec="EVENT] FROM NAMED WINDOW ex:v ON ex:s [ELEMENTS 2"), "EVENT"),
        (text("WINDOW ex:w { GRAPH ?e { ?x ex:p ?y FILTER(?y < NOW()) } }"), "NOW inside the GRAPH"),
        (text("WINDOW ex:w { ?x ex:p ?y OPTIONAL { ?x ex:q ?z FILTER(RAND() < 0.5) } }"), "FILTER of OPTIONAL"),
        (
            text(
                "WINDOW ex:w { ?x ex:p ?y BIND(NOW() AS ?z) }",
                spec="ELEMENTS 3 REPORT ON_WINDOW_CLOSE] FROM NAMED WINDOW ex:v ON ex:s [RANGE 3s",
            ),
            "NOW()",
        ),
        (text(spec="ELEMENTS 3", options="WITH IMPLICIT WINDOWS "), "WITH IMPLICIT WINDOWS"),
    ],
)
def test_refused_with_its_place(query: str, names: str) -> None:
    engine = Engine()
    with pytest.raises(UnsupportedError) as caught:
        engine.register(query)
    error = caught.value
    assert names in error.message
    assert error.place is not None
    line = query.splitlines()[error.place.line - 1]
    assert line[error.place.column - 1 :].strip()
    assert engine.queries == ()
    assert engine.streams == ()


def test_a_refused_query_leaves_the_others_alone() -> None:
    engine = Engine()
    kept = engine.register(text())
    with pytest.raises(UnsupportedError):
        engine.register(text("WINDOW ex:w { ?x ex:p ?y } SERVICE ex:far {}").replace("ex:out", "ex:other"))
    triple = ("<http://example.org/a>", "<http://example.org/p>", "<http://example.org/b>")
    assert len(engine.push([triple], at=1)) == 1
    assert kept.snapshot().boolean
