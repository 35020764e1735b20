"""What comes out of an operator: rate, live rows and distinct values, from what goes in.

The formulas are the thesis's: with `r` rows per second that are valid for `v` seconds there are r · v at an
instant. Here the rows at an instant come first, since static data has no rate; `v` follows. Selectivities are
System R's: values are spread evenly, and of two columns that are compared each has its part of a common domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import exp, inf, prod

from spectra.algebra.nodes import OBJECT, SUBJECT, WScan
from spectra.planner.statistics import ALL, NO_EDGES, GraphStatistics, LabelStatistics, all_edges, domain
from spectra.sparql.syntax import Call, Constant, Expression, Variable

#: Of the solutions that a condition leaves of which nothing is known.
_RANGE, _UNKNOWN = 1 / 3, 1 / 2


@dataclass(frozen=True, slots=True)
class Values:
    """How many values a variable has, and how many it could have.

    `domain` are the values that anything has at its `place`, subject or object, and `terms` those at any place.
    """

    distinct: float
    domain: float
    terms: float
    place: str = ""

    def room(self, other: Values) -> float:
        """Among how many values both have theirs."""
        if self.place == other.place:
            return max(self.domain, other.domain, 1.0)
        return max(self.terms, other.terms, 1.0)

    def joined(self, other: Values) -> Values:
        """The values that both have."""
        room = self.room(other)
        place = self.place if self.place == other.place else ""
        return Values(min(self.distinct * other.distinct / room, self.distinct, other.distinct), room, room, place)


def some(count: float) -> Values:
    """Values of which only their number is known."""
    return Values(count, count, count)


@dataclass(frozen=True, slots=True)
class Characteristics:
    """Rows that enter per second, rows at an instant, and the values that each variable has in them."""

    rate: float
    live: float
    values: Mapping[str, Values]

    @property
    def validity(self) -> float:
        """How many seconds a row stays."""
        return self.live / self.rate if self.rate > 0 else inf

    def of(self, variable: str) -> Values:
        """The values of a variable; one where nothing is known."""
        return self.values.get(variable, _ONE)

    def scaled(self, factor: float) -> Characteristics:
        """That part of the rows."""
        return limited(self.rate * factor, self.live * factor, self.values)


_ONE = some(1.0)


def limited(rate: float, live: float, values: Mapping[str, Values]) -> Characteristics:
    """Rows with no more values than there are rows."""
    if any(value.distinct > live for value in values.values()):
        values = {n: replace(v, distinct=live) if v.distinct > live else v for n, v in values.items()}
    return Characteristics(rate, live, values)


def ends(label: LabelStatistics, graph: GraphStatistics) -> tuple[Values, Values]:
    """The subjects and the objects of a label."""
    edges = all_edges(graph)
    terms = min(domain(edges.terms, 2 * edges.live), edges.met_terms)
    subjects = min(domain(edges.subjects, edges.live), edges.met_subjects)
    objects = min(domain(edges.objects, edges.live), edges.met_objects)
    return Values(label.subjects, subjects, terms, "subject"), Values(label.objects, objects, terms, "object")


def scanned(scan: WScan, graph: GraphStatistics) -> Characteristics:
    """The triples that match a triple pattern."""
    label = graph.get(scan.predicate, NO_EDGES) if isinstance(scan.predicate, str) else all_edges(graph)
    subjects, objects = ends(label, graph)
    labels = float(len(graph.keys() - {ALL}))
    values: dict[str, Values] = {}
    factor = 1.0
    for term, found in (
        (scan.subject, subjects),
        (scan.predicate, some(labels)),
        (scan.object, objects),
    ):
        if not isinstance(term, Variable):
            # the predicate has chosen the label already
            factor /= max(found.distinct, 1.0) if term != scan.predicate else 1.0
        elif term.name in values:  # twice in one triple
            factor /= values[term.name].room(found)
            values[term.name] = values[term.name].joined(found)
        else:
            values[term.name] = found
    return limited(label.rate * factor, label.live * factor, values)


def joined(left: Characteristics, right: Characteristics) -> Characteristics:
    """The compatible pairs: r = f · (r1 · live2 + r2 · live1), live = f · live1 · live2."""
    shared = left.values.keys() & right.values.keys()
    factor = prod(1 / left.of(name).room(right.of(name)) for name in shared)
    values = {**left.values, **right.values}
    values |= {name: left.values[name].joined(right.values[name]) for name in shared}
    rate = factor * (left.rate * right.live + right.rate * left.live)
    return limited(rate, factor * left.live * right.live, values)


def united(parts: list[Characteristics]) -> Characteristics:
    """All rows: the rates add up, and v is the mean."""
    values: dict[str, Values] = {}
    for name in {name for part in parts for name in part.values}:
        each = [part.values[name] for part in parts if name in part.values]
        widest = max(each, key=lambda value: value.terms)
        values[name] = replace(widest, distinct=filled(sum(value.distinct for value in each), widest.terms), place="")
    return limited(sum(part.rate for part in parts), sum(part.live for part in parts), values)


def distinct(part: Characteristics) -> Characteristics:
    """Each row once: copies fall on the combinations of values at random."""
    room = prod(max(value.distinct, 1.0) for value in part.values.values())
    if part.live <= 0:
        return part
    share = filled(part.live, room) / part.live
    return limited(part.rate * share, part.live * share, part.values)


def filled(thrown: float, room: float) -> float:
    """How many of `room` places are taken when so many are thrown into them at random."""
    if room <= 0 or thrown <= 0:
        return 0.0
    return room * (1 - exp(-thrown / room)) if thrown > room * 1e-9 else thrown


def selectivity(condition: Expression, part: Characteristics) -> float:
    """Which part of the rows a condition keeps."""
    match condition:
        case Call("&&", conditions):
            return prod(selectivity(each, part) for each in conditions)
        case Call("||", conditions):
            return 1 - prod(1 - selectivity(each, part) for each in conditions)
        case Call("!", (inner,)):
            return 1 - selectivity(inner, part)
        case Call("=", (Variable(left), Variable(right))):
            return 1 / part.of(left).room(part.of(right))
        case Call("=", (Variable(name), Constant()) | (Constant(), Variable(name))):
            return 1 / max(part.of(name).distinct, 1.0)
        case Call("!=", (left, right)):
            return 1 - selectivity(Call("=", (left, right)), part)
        case Call("IN", (Variable(name), *listed)):
            return min(1.0, len(listed) / max(part.of(name).distinct, 1.0))
        case Call("NOT IN", (value, *listed)):
            return 1 - selectivity(Call("IN", (value, *listed)), part)
        case Call("<" | "<=" | ">" | ">="):
            return _RANGE
        case _:
            return _UNKNOWN


def as_graph(edges: Mapping[str, Characteristics]) -> GraphStatistics:
    """A graph of derived edges, from the rows of each label."""
    graph: dict[str, LabelStatistics] = {}
    terms = 0.0
    for label, rows in edges.items():
        near, far = rows.of(SUBJECT.name), rows.of(OBJECT.name)
        graph[label] = LabelStatistics(rows.rate, rows.validity, near.distinct, far.distinct, rows.live)
        terms = max(terms, near.terms, far.terms)
    # all of a common domain, whatever part of it the edges have
    together = all_edges(graph)
    return {**graph, ALL: replace(together, subjects=terms, objects=terms, terms=terms)}
