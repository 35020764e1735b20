"""Subset construction and Hopcroft's minimisation."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from spectra.automata.nfa import Label, Nfa, mentioned, thompson
from spectra.errors import ResourceError
from spectra.sparql.syntax import PathExpression

#: The subset construction can be exponential; a path that needs more states than this is refused.
MOST_STATES = 4096


@dataclass(frozen=True, slots=True)
class Dfa:
    """A deterministic automaton; state 0 is the start, and every state leads to an accepting one.

    `moves[state]` maps labels to the following state; what is missing leads nowhere. `mentioned` are the
    predicates that the path names, whether or not a move uses them: `OTHER` stands for none of them.
    """

    mentioned: frozenset[str]
    labels: tuple[Label, ...]
    moves: tuple[dict[Label, int], ...]
    accepting: frozenset[int]

    @property
    def states(self) -> int:
        return len(self.moves)

    @property
    def accepts_empty(self) -> bool:
        return 0 in self.accepting

    def accepts(self, word: list[Label]) -> bool:
        state: int | None = 0
        for label in word:
            if state is None:
                return False
            state = self.moves[state].get(label)
        return state in self.accepting


def minimal_dfa(path: PathExpression) -> Dfa:
    """The smallest deterministic automaton of a property path."""
    moves, accepting = _determine(thompson(path))
    moves, accepting, start = _minimise(moves, accepting)
    return _renumber(moves, accepting, start, frozenset(mentioned(path)))


def _determine(nfa: Nfa) -> tuple[list[dict[Label, int]], set[int]]:
    """Subset construction; state 0 is the start."""

    def closure(states: frozenset[int]) -> frozenset[int]:
        reached = set(states)
        waiting = list(states)
        while waiting:
            for target in nfa.empty.get(waiting.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return frozenset(reached)

    start = closure(frozenset([nfa.start]))
    number = {start: 0}
    moves: list[dict[Label, int]] = [{}]
    waiting = [start]
    while waiting:
        subset = waiting.pop()
        targets: dict[Label, set[int]] = defaultdict(set)
        for state in subset:
            for label, target in nfa.moves.get(state, ()):
                targets[label].add(target)
        for label, target_states in targets.items():
            closed = closure(frozenset(target_states))
            if closed not in number:
                if len(number) >= MOST_STATES:
                    raise ResourceError(f"a property path needs more than {MOST_STATES} deterministic states")
                number[closed] = len(number)
                moves.append({})
                waiting.append(closed)
            moves[number[subset]][label] = number[closed]
    return moves, {state for subset, state in number.items() if nfa.accept in subset}


def _minimise(moves: list[dict[Label, int]], accepting: set[int]) -> tuple[list[dict[Label, int]], set[int], int]:
    """Hopcroft: split the states into classes that no word tells apart. The sink is state `len(moves)`."""
    sink = len(moves)
    labels = sorted({label for state_moves in moves for label in state_moves})
    arriving: dict[Label, dict[int, set[int]]] = {label: defaultdict(set) for label in labels}
    for state in range(sink + 1):
        for label in labels:
            target = moves[state].get(label, sink) if state < sink else sink
            arriving[label][target].add(state)
    classes = [part for part in (set(accepting), set(range(sink + 1)) - accepting) if part]
    waiting = [set(part) for part in classes]
    while waiting:
        splitter = waiting.pop()
        for label in labels:
            into = set().union(*(arriving[label][state] for state in splitter))
            refined = []
            for part in classes:
                inside, outside = part & into, part - into
                if not inside or not outside:
                    refined.append(part)
                    continue
                refined += [inside, outside]
                if part in waiting:
                    waiting.remove(part)
                    waiting += [inside, outside]
                else:
                    waiting.append(min(inside, outside, key=len))
            classes = refined
    class_of = {state: at for at, part in enumerate(classes) for state in part}
    merged: list[dict[Label, int]] = [{} for _ in classes]
    dead = class_of[sink]
    for state, state_moves in enumerate(moves):
        for label, target in state_moves.items():
            if class_of[target] != dead:
                merged[class_of[state]][label] = class_of[target]
    return merged, {class_of[state] for state in accepting}, class_of[0]


def _renumber(moves: list[dict[Label, int]], accepting: set[int], start: int, named: frozenset[str]) -> Dfa:
    """Number the states breadth first from the start, in the order of their labels: equal paths, equal automata."""
    number = {start: 0}
    order = [start]
    for state in order:
        for label in sorted(moves[state]):
            target = moves[state][label]
            if target not in number:
                number[target] = len(order)
                order.append(target)
    return Dfa(
        mentioned=named,
        labels=tuple(sorted({label for state in order for label in moves[state]})),
        moves=tuple({label: number[target] for label, target in sorted(moves[state].items())} for state in order),
        accepting=frozenset(number[state] for state in accepting if state in number),
    )
