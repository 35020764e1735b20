"""Which suffix languages of an automaton contain which others, and what that says of simple paths."""

from __future__ import annotations

from spectra.automata.dfa import Dfa


def suffix_containment(dfa: Dfa) -> frozenset[tuple[int, int]]:
    """The pairs of states (s, t) such that every word that is accepted from t is accepted from s."""
    states = range(dfa.states)
    contained = {(s, t) for s in states for t in states if s in dfa.accepting or t not in dfa.accepting}
    while True:
        kept = {(s, t) for s, t in contained if _follows(dfa, s, t, contained)}
        if kept == contained:
            return frozenset(contained)
        contained = kept


def _follows(dfa: Dfa, s: int, t: int, contained: set[tuple[int, int]] | frozenset[tuple[int, int]]) -> bool:
    """Whether each move from t has one from s that leads to a pair in the relation."""
    return all(
        label in dfa.moves[s] and (dfa.moves[s][label], following) in contained
        for label, following in dfa.moves[t].items()
    )


def conflicts(dfa: Dfa) -> frozenset[tuple[int, int]]:
    """The pairs of states (s, t) such that a path which visits a vertex in s and again in t may be the only one.

    Elsewhere the loop between the two can be left out. At the start a path has only been at its first vertex, to which
    no simple path comes back.
    """
    contained = suffix_containment(dfa)
    entered = {target for moves in dfa.moves for target in moves.values()}
    return frozenset((s, t) for s in entered for t in _following(dfa, s) if (s, t) not in contained)


def is_conflict_free(dfa: Dfa) -> bool:
    """Whether, on any graph, a path that does not come back to its first vertex has a simple one beside it."""
    return not conflicts(dfa)


def longest_word(dfa: Dfa) -> int | None:
    """The length of the longest word that is accepted, None where there is no longest."""
    if any(state in _following(dfa, state) for state in range(dfa.states)):
        return None
    length = [0] * dfa.states
    for _ in range(dfa.states):
        for state in range(dfa.states):
            length[state] = max((1 + length[target] for target in dfa.moves[state].values()), default=0)
    return length[0]


def _following(dfa: Dfa, state: int) -> set[int]:
    """The states that one move or more lead to."""
    reached: set[int] = set()
    waiting = [state]
    while waiting:
        for target in dfa.moves[waiting.pop()].values():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached
