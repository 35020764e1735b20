from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Extend, Filter, Node, Union, WScan
from spectra.sparql.syntax import Call, Constant, Expression, Variable


def distribute_wscan(node: Node) -> Iterator[Node]:
    """A window on the triples of several predicates as the union of the windows on each.

    FILTER[?l IN (p, q)](WSCAN[s ?l o])  =  UNION(EXTEND[?l := p](WSCAN[s p o]), EXTEND[?l := q](WSCAN[s q o]))

    A window gives each triple its validity without looking at others, so that it may be put on each part of a
    stream. FILTER and WSCAN change places for the same reason. Predicates are IRIs, which are equal only to themselves.
    """
    match node:
        case Filter(Call("IN" | "=", (Variable(name), *listed)), WScan(source, s, Variable(predicate), o)) if (
            name == predicate and Variable(name) not in (s, o)
        ):
            labels = list(dict.fromkeys(map(_iri, listed)))
            if None not in labels:
                scans = [
                    Extend(name, Constant(label), WScan(source, s, label, o)) for label in labels if label is not None
                ]
                yield scans[0] if len(scans) == 1 else Union(tuple(scans))


def _iri(expression: Expression) -> str | None:
    match expression:
        case Constant(term) if term.startswith("<"):
            return term
        case _:
            return None
