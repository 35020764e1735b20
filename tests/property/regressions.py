"""Cases that once failed, each with what was wrong; written out, so that they outlive the generator."""

from __future__ import annotations

from spectra.oracle import Triple
from tests.property.generate import EX, PROLOGUE, Case, StreamEvent, iri


def triples(text: str) -> tuple[Triple, ...]:
    """`a p b, c q "x"`: local names are IRIs, the rest is as it stands."""
    found = []
    for part in filter(None, text.split(", ")):
        subject, predicate, object_ = (iri(term) if term[0].isalpha() else term for term in part.split(" ", maxsplit=2))
        found.append((subject, predicate, object_))
    return tuple(found)


def case(
    body: str,
    events: str,
    *,
    head: str = "SELECT *",
    output: str = "CHANGES",
    spec: str = "RANGE 10ms STEP 5ms",
    static: dict[str, str] | None = None,
    clauses: str = "",
) -> Case:
    """A case over one window `ex:w`; events are `time triples; time triples`, deletions after `-`."""
    parsed = []
    for event in events.split("; "):
        time, _, content = event.partition(" ")
        added, _, deleted = content.partition(" - ")
        parsed.append(StreamEvent(int(time), f"{EX}s", triples(deleted), triples(added)))
    window = f"FROM NAMED WINDOW ex:w ON ex:s [{spec}]"
    text = f"{PROLOGUE}REGISTER {output} ex:out AS {head} {window} {clauses} WHERE {{ {body} }}"
    given = {f"{EX}{name}": triples(content) for name, content in (static or {}).items()}
    return Case(-1, text, None, None, tuple(parsed), given)


REGRESSIONS: dict[str, Case] = {
    "GRAPH ?g over a dataset without named graphs was a union of nothing": case(
        "{ WINDOW ex:w { ?x ex:p ?y } } UNION { GRAPH ?g { ?x ex:q ?y } FILTER(?x != ?y) }", "1 a p b, a q b"
    ),
    "GRAPH <g> read a graph that FROM NAMED does not list": case(
        "{ WINDOW ex:w { ?x ex:p ?y } } UNION { GRAPH ex:g1 { ?x ex:q ?y } }",
        "1 a p b",
        static={"g0": "a q b", "g1": "c q c"},
        clauses="FROM NAMED ex:g0",
    ),
    "a join with VALUES found at the first instant what came later in the batch": case(
        "WINDOW ex:w { ?x ex:p ?y } VALUES ?z { 1 2 }", "1 a p b; 3 b p c; 12 c p a"
    ),
    "a join with WINDOW ?w did the same under RSTREAM": case(
        "WINDOW ?w { ?x ex:p+ ?y }", "1 a p b; 3 b p c; 12 c p a", output="RSTREAM"
    ),
    "a constant outside the data did not match itself through (p?){1,}": case(
        "WINDOW ex:w { ?x (ex:r?){1,} ex:absent }", "1 a p b; 3 a r c"
    ),
    "nor through (p?){1,2}": case("WINDOW ex:w { ?x (ex:r?){1,2} ex:absent }", "1 a p b; 3 a r c"),
    'in expressions "a"@EN of the stream was not the term "a"@en of the query': case(
        'WINDOW ex:w { ?x ex:p ?y FILTER(?y NOT IN ("a"@en) || LANG(?y) = "EN") }', '1 a p "a"@EN, a p "b"@en'
    ),
    "a path told the end of the first derivation, not of the widest one of that instant": case(
        "WINDOW ex:w { ?x ex:p+ ?y }", "1 a p c; 6 c p a, c p b, b p c", output="ISTREAM"
    ),
    "oracle: two paths to one constant outside the data found nothing": case(
        "WINDOW ex:w { ?x ex:q* ex:absent . ?x ex:q? ex:absent }", "1 a p b; 3 a q c"
    ),
    "EXISTS with a path that may be empty, from a variable of the same graph": case(
        "WINDOW ex:w { ?x ex:p ?y FILTER EXISTS { ?y ex:q*/ex:r ?z } }", "1 a p b; 3 b q c; 5 c r d; 12 b r b; 31 a p b"
    ),
    "static data took back what VALUES had told before it": case(
        "WINDOW ex:w { ?x ex:p ?y } OPTIONAL { ?y ex:q ?z VALUES ?z { ex:c } }",
        "1 a p b; 3 b p c; 22 a p b",
        output="RSTREAM",
        static={"d": "b q c"},
        clauses="FROM ex:d",
    ),
}
