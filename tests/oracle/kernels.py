"""Plain twins of the kernels: what a window holds, what matches, what a path connects, recomputed each time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from spectra.clock import FOREVER

Triple = tuple[int, int, int]


@dataclass
class PlainWindow:
    """The content of a window as a dict triple -> end, moved on one instant at a time."""

    range: int
    step: int
    counting: bool = False
    content: dict[Triple, int] = field(default_factory=dict)
    events: int = 0

    def end(self, position: int) -> int:
        return position // self.step * self.step + self.range

    def expiries_before(self, time: int) -> list[int]:
        """Instants before `time` at which something expires."""
        return [] if self.counting else sorted({end for end in self.content.values() if end < time})

    def expire(self, limit: int) -> None:
        self.content = {triple: end for triple, end in self.content.items() if end > limit}

    def apply(self, time: int, events: Iterable[list[tuple[int, Triple]]]) -> None:
        """One instant: its events in order, then what expires at it."""
        last = time
        for operations in events:
            last = self.events if self.counting else time
            self.events += 1
            for sign, triple in operations:
                if sign > 0:
                    self.content[triple] = max(self.end(last), self.content.get(triple, -FOREVER))
                else:
                    self.content.pop(triple, None)
        self.expire(last)


def matches(content: dict[Triple, int], patterns: list[tuple[int | str, ...]]) -> Iterator[tuple[dict[str, int], int]]:
    """(bindings, end) of every way to match the patterns."""

    def extend(at: int, binding: dict[str, int], end: int) -> Iterator[tuple[dict[str, int], int]]:
        if at == len(patterns):
            yield binding, end
            return
        for triple, triple_end in content.items():
            bound = dict(binding)
            for term, value in zip(patterns[at], triple, strict=True):
                wanted = bound.setdefault(term, value) if isinstance(term, str) else term
                if wanted != value:
                    break
            else:
                yield from extend(at + 1, bound, min(end, triple_end))

    yield from extend(0, {}, FOREVER)


def widest_pairs(content: dict[Triple, int], dfa, encode, *, returning=True) -> dict[tuple[int, int], int]:
    """(x, y) -> latest end of a non-empty path from x to y that the automaton accepts; may it come back to x?"""
    steps: dict[int, list[tuple[object, int, int]]] = {}
    named = {encode(predicate) for predicate in dfa.mentioned}
    for (s, p, o), end in content.items():
        for label in dfa.labels:
            if (label.predicate and encode(label.predicate) == p) or (not label.predicate and p not in named):
                source, target = (o, s) if label.backward else (s, o)
                steps.setdefault(source, []).append((label, target, end))
    best: dict[tuple[int, int], int] = {}
    for root in {term for s, _, o in content for term in (s, o)}:
        reached: dict[tuple[int, int], int] = {}
        waiting = [(root, 0, FOREVER)]
        while waiting:
            vertex, state, end = waiting.pop()
            for label, target, edge_end in steps.get(vertex, ()):
                following = dfa.moves[state].get(label)
                reach = min(end, edge_end)
                if target == root and not returning:
                    continue
                if following is not None and reach > reached.get((target, following), -FOREVER):
                    reached[target, following] = reach
                    waiting.append((target, following, reach))
        for (vertex, state), end in reached.items():
            if state in dfa.accepting:
                best[root, vertex] = max(end, best.get((root, vertex), -FOREVER))
    return best


def terms_with_end(content: dict[Triple, int]) -> dict[int, int]:
    """Each subject and object with the latest end of a triple that uses it."""
    ends: dict[int, int] = {}
    for (s, _, o), end in content.items():
        for term in (s, o):
            ends[term] = max(end, ends.get(term, -FOREVER))
    return ends


def grouped_by_time(
    events: list[tuple[int, list[tuple[int, Triple]]]],
) -> list[tuple[int, list[list[tuple[int, Triple]]]]]:
    return [(time, [ops for _, ops in group]) for time, group in itertools.groupby(events, key=lambda event: event[0])]


def simple_pairs(content: dict[Triple, int], dfa, encode) -> dict[tuple[int, int], int]:
    """(x, y) -> latest end of a non-empty path from x to y without a repeated vertex that the automaton accepts."""
    named = {encode(predicate) for predicate in dfa.mentioned}
    steps: dict[int, list[tuple[object, int, int]]] = {}
    for (s, p, o), end in content.items():
        for label in dfa.labels:
            if (label.predicate and encode(label.predicate) == p) or (not label.predicate and p not in named):
                source, target = (o, s) if label.backward else (s, o)
                steps.setdefault(source, []).append((label, target, end))
    best: dict[tuple[int, int], int] = {}

    def extend(path: list[int], state: int, end: int) -> None:
        if len(path) > 1 and state in dfa.accepting:
            pair = path[0], path[-1]
            best[pair] = max(end, best.get(pair, end))
        for label, target, edge_end in steps.get(path[-1], ()):
            following = dfa.moves[state].get(label)
            if following is not None and target not in path:
                extend([*path, target], following, min(end, edge_end))

    for root in steps:
        extend([root], 0, FOREVER)
    return best
