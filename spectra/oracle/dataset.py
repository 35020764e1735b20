"""What a pattern is evaluated over: sets of triples, indexed by each position."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

#: Subject, predicate and object as canonical N-Triples texts.
Triple = tuple[str, str, str]
Quad = tuple[str, str, str, str]


class TripleSet:
    """An RDF graph: a set of triples, found by any bound position."""

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self.triples = frozenset(triples)
        self.by_predicate: dict[str, list[Triple]] = defaultdict(list)
        self.outgoing: dict[str, list[Triple]] = defaultdict(list)
        self.incoming: dict[str, list[Triple]] = defaultdict(list)
        for triple in self.triples:
            self.outgoing[triple[0]].append(triple)
            self.by_predicate[triple[1]].append(triple)
            self.incoming[triple[2]].append(triple)
        #: The terms that zero-length paths range over: every subject and every object.
        self.nodes = self.outgoing.keys() | self.incoming.keys()

    def match(self, subject: str | None, predicate: str | None, object_: str | None) -> Iterator[Triple]:
        """The triples with these terms; None matches any."""
        if subject is not None:
            found: Iterable[Triple] = self.outgoing.get(subject, ())
        elif object_ is not None:
            found = self.incoming.get(object_, ())
        elif predicate is not None:
            found = self.by_predicate.get(predicate, ())
        else:
            found = self.triples
        for triple in found:
            if predicate is not None and triple[1] != predicate:
                continue
            if object_ is not None and triple[2] != object_:
                continue
            yield triple


EMPTY = TripleSet()


@dataclass(frozen=True, slots=True)
class WindowGraphs:
    """A window at one instant: its graph, and the graphs and times of the events in it by graph name."""

    graph: TripleSet
    events: Mapping[str, TripleSet] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dataset:
    """The static data and the windows; names are canonical texts (`<iri>`)."""

    default: TripleSet = EMPTY
    named: Mapping[str, TripleSet] = field(default_factory=dict)
    windows: Mapping[str, WindowGraphs] = field(default_factory=dict)

    def event_time(self, name: str) -> int | None:
        """The time of the latest event in any window whose graph has this name."""
        return max((window.times[name] for window in self.windows.values() if name in window.times), default=None)
