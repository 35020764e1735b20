"""Thompson's construction: a property path becomes an automaton with empty transitions.

The alphabet is finite although predicates are not: each predicate that the path mentions is a
label of its own, forward and backward, and all others are one label `OTHER`, which only negated
property sets use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from spectra.errors import ResourceError
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    PathExpression,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

#: Stands for every predicate that the path does not mention.
OTHER = ""

#: Bounded repetition unrolls; a path that would need more states than this is refused.
MOST_STATES = 100_000


class Label(NamedTuple):
    """A step along an edge: with it, or against its direction."""

    predicate: str
    backward: bool = False


@dataclass(slots=True)
class Nfa:
    """One start state, one accepting state, labelled and empty transitions."""

    start: int = 0
    accept: int = 0
    states: int = 0
    moves: dict[int, list[tuple[Label, int]]] = field(default_factory=dict)
    empty: dict[int, list[int]] = field(default_factory=dict)

    def state(self) -> int:
        self.states += 1
        if self.states > MOST_STATES:
            raise ResourceError(
                f"a property path needs more than {MOST_STATES} automaton states",
                hint="Lower the bounds of {n,m}, or use * and +.",
            )
        return self.states - 1

    def move(self, source: int, label: Label, target: int) -> None:
        self.moves.setdefault(source, []).append((label, target))

    def skip(self, source: int, target: int) -> None:
        self.empty.setdefault(source, []).append(target)


def mentioned(path: PathExpression) -> set[str]:
    """The predicates that a path names, in negated sets too."""
    match path:
        case Link(predicate):
            return {predicate}
        case NegatedPropertySet(forward, backward):
            return set(forward or ()) | set(backward or ())
        case SequencePath(parts) | AlternativePath(parts):
            return set().union(*(mentioned(part) for part in parts))
        case (
            InversePath(inner) | ZeroOrMorePath(inner) | OneOrMorePath(inner) | ZeroOrOnePath(inner) | RepeatPath(inner)
        ):
            return mentioned(inner)


def inverse(path: PathExpression) -> PathExpression:
    """The path that leads from the object to the subject, with `^` on links only."""
    match path:
        case Link():
            return InversePath(path)
        case InversePath(inner):
            return inner if isinstance(inner, Link) else inverse(inverse(inner))
        case SequencePath(parts):
            return SequencePath(tuple(inverse(part) for part in reversed(parts)))
        case AlternativePath(parts):
            return AlternativePath(tuple(inverse(part) for part in parts))
        case ZeroOrMorePath(inner):
            return ZeroOrMorePath(inverse(inner))
        case OneOrMorePath(inner):
            return OneOrMorePath(inverse(inner))
        case ZeroOrOnePath(inner):
            return ZeroOrOnePath(inverse(inner))
        case RepeatPath(inner, low, high):
            return RepeatPath(inverse(inner), low, high)
        case NegatedPropertySet(forward, backward):
            return NegatedPropertySet(backward, forward)


def thompson(path: PathExpression) -> Nfa:
    """An automaton that accepts the label sequences of the path."""
    nfa = Nfa()
    predicates = mentioned(path)
    nfa.start, nfa.accept = _build(nfa, path, predicates)
    return nfa


def _build(nfa: Nfa, path: PathExpression, predicates: set[str]) -> tuple[int, int]:
    """Add the path as a fragment; its entry and its exit."""
    match path:
        case Link(predicate):
            entry, exit_ = nfa.state(), nfa.state()
            nfa.move(entry, Label(predicate), exit_)
        case InversePath(Link(predicate)):
            entry, exit_ = nfa.state(), nfa.state()
            nfa.move(entry, Label(predicate, backward=True), exit_)
        case InversePath(inner):
            return _build(nfa, inverse(inner), predicates)
        case NegatedPropertySet(forward, backward):
            entry, exit_ = nfa.state(), nfa.state()
            for excluded, is_backward in ((forward, False), (backward, True)):
                if excluded is not None:
                    for predicate in [*sorted(predicates - set(excluded)), OTHER]:
                        nfa.move(entry, Label(predicate, is_backward), exit_)
        case SequencePath(parts):
            entry, exit_ = _build(nfa, parts[0], predicates)
            for part in parts[1:]:
                next_entry, next_exit = _build(nfa, part, predicates)
                nfa.skip(exit_, next_entry)
                exit_ = next_exit
        case AlternativePath(parts):
            entry, exit_ = nfa.state(), nfa.state()
            for part in parts:
                part_entry, part_exit = _build(nfa, part, predicates)
                nfa.skip(entry, part_entry)
                nfa.skip(part_exit, exit_)
        case ZeroOrMorePath(inner):
            entry, exit_ = _repeated(nfa, inner, predicates)
            nfa.skip(entry, exit_)
        case OneOrMorePath(inner):
            entry, exit_ = _repeated(nfa, inner, predicates)
        case ZeroOrOnePath(inner):
            entry, exit_ = _build(nfa, inner, predicates)
            fresh = nfa.state()
            nfa.skip(fresh, entry)
            nfa.skip(fresh, exit_)
            entry = fresh
        case RepeatPath(inner, low, high):
            entry = exit_ = nfa.state()
            for _ in range(low):
                part_entry, part_exit = _build(nfa, inner, predicates)
                nfa.skip(exit_, part_entry)
                exit_ = part_exit
            if high is None:
                part_entry, part_exit = _build(nfa, ZeroOrMorePath(inner), predicates)
                nfa.skip(exit_, part_entry)
                exit_ = part_exit
            else:
                for _ in range(high - low):
                    part_entry, part_exit = _build(nfa, ZeroOrOnePath(inner), predicates)
                    nfa.skip(exit_, part_entry)
                    exit_ = part_exit
    return entry, exit_


def _repeated(nfa: Nfa, inner: PathExpression, predicates: set[str]) -> tuple[int, int]:
    """`inner` one or more times, with an entry and an exit that nothing else uses."""
    entry, exit_ = nfa.state(), nfa.state()
    part_entry, part_exit = _build(nfa, inner, predicates)
    nfa.skip(entry, part_entry)
    nfa.skip(part_exit, part_entry)
    nfa.skip(part_exit, exit_)
    return entry, exit_
