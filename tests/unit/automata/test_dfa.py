"""Paths as automata, beside a plain matcher: Python's `re` over one character for each label."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from spectra.automata import OTHER, Label, inverse, minimal_dfa, thompson
from spectra.errors import ResourceError
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    NegatedPropertySet,
    OneOrMorePath,
    RepeatPath,
    SequencePath,
    ZeroOrMorePath,
    ZeroOrOnePath,
)

#: A character for each label: lower case forward, upper case backward, x and X for other predicates.
ALPHABET = {
    "a": Label("p"), "A": Label("p", True), "b": Label("q"), "B": Label("q", True),
    "x": Label(OTHER), "X": Label(OTHER, True),
}  # fmt: skip
FORWARD = {"p": "a", "q": "b"}
P, Q = Link("p"), Link("q")


def as_regex(path, named, backward=False):
    """The path as a regular expression; `backward` reads it from the object to the subject."""
    match path:
        case Link(predicate):
            return FORWARD[predicate].upper() if backward else FORWARD[predicate]
        case InversePath(inner):
            return as_regex(inner, named, not backward)
        case SequencePath(parts):
            ordered = reversed(parts) if backward else parts
            return "(?:" + "".join(as_regex(part, named, backward) for part in ordered) + ")"
        case AlternativePath(parts):
            return "(?:" + "|".join(as_regex(part, named, backward) for part in parts) + ")"
        case ZeroOrMorePath(inner):
            return f"(?:{as_regex(inner, named, backward)})*"
        case OneOrMorePath(inner):
            return f"(?:{as_regex(inner, named, backward)})+"
        case ZeroOrOnePath(inner):
            return f"(?:{as_regex(inner, named, backward)})?"
        case RepeatPath(inner, low, high):
            return f"(?:{as_regex(inner, named, backward)}){{{low},{'' if high is None else high}}}"
        case NegatedPropertySet(forward, other):
            sides = (other, forward) if backward else (forward, other)
            allowed = ""
            for excluded, upper in zip(sides, (False, True), strict=True):
                if excluded is not None:
                    characters = "".join(FORWARD[name] for name in named if name not in excluded) + "x"
                    allowed += characters.upper() if upper else characters
            return f"[{allowed}]"


def names_in(path):
    match path:
        case Link(predicate):
            return {predicate}
        case NegatedPropertySet(forward, backward):
            return set(forward or ()) | set(backward or ())
        case SequencePath(parts) | AlternativePath(parts):
            return set().union(*map(names_in, parts))
        case _:
            return names_in(path.path)


def random_path(rng, depth):
    if depth == 0:
        return rng.choice([
            P, Q, P, Q, NegatedPropertySet(("p",), None), NegatedPropertySet(None, ("q",)),
            NegatedPropertySet(("p", "q"), ("p",)), NegatedPropertySet((), None),
        ])  # fmt: skip
    kind = rng.choice(
        [SequencePath, AlternativePath, ZeroOrMorePath, OneOrMorePath, ZeroOrOnePath, RepeatPath, InversePath]
    )
    if kind in (SequencePath, AlternativePath):
        return kind(tuple(random_path(rng, rng.randrange(depth)) for _ in range(rng.choice([2, 2, 3]))))
    inner = random_path(rng, rng.randrange(depth))
    if kind is RepeatPath:
        low = rng.randrange(3)
        return RepeatPath(inner, low, rng.choice([None, low, low + 2]))
    return kind(inner)


def words(length, characters):
    return ("".join(word) for size in range(length + 1) for word in itertools.product(characters, repeat=size))


def used(path):
    """The characters a word of this path may have; predicates that it does not name are x."""
    return "".join(c for c, label in ALPHABET.items() if label.predicate in names_in(path) | {OTHER})


def nfa_accepts(nfa, word):
    def closure(states):
        reached = set(states)
        waiting = list(states)
        while waiting:
            for target in nfa.empty.get(waiting.pop(), ()):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return reached

    states = closure({nfa.start})
    for label in word:
        states = closure({target for state in states for found, target in nfa.moves.get(state, ()) if found == label})
    return nfa.accept in states


@pytest.mark.parametrize("seed", range(60))
def test_automata_accept_the_words_of_the_path(seed):
    rng = random.Random(seed)
    path = random_path(rng, 3)
    matcher = re.compile(as_regex(path, sorted(names_in(path))))
    dfa, nfa = minimal_dfa(path), thompson(path)
    characters = used(path)
    tried = [*words(3, characters), *("".join(rng.choices(characters, k=rng.randrange(4, 12))) for _ in range(100))]
    for text in tried:
        word = [ALPHABET[c] for c in text]
        wanted = matcher.fullmatch(text) is not None
        assert dfa.accepts(word) is wanted, (path, text)
        assert nfa_accepts(nfa, word) is wanted, (path, text)
    assert dfa.accepts_empty is (matcher.fullmatch("") is not None)


@pytest.mark.parametrize("seed", range(40))
def test_the_automaton_has_a_state_for_each_residual(seed):
    """Two words lead to one state just when the same words complete them: Myhill and Nerode, by brute force."""
    rng = random.Random(f"minimal {seed}")
    path = random_path(rng, 2)
    while minimal_dfa(path).states > 6:  # words that tell more states apart are too long to try
        path = random_path(rng, 2)
    dfa = minimal_dfa(path)
    matcher = re.compile(as_regex(path, sorted(names_in(path))))
    characters = used(path)
    # a state is reached, and told from another one, by a word shorter than there are states
    tails = list(words(min(dfa.states, 4), characters))
    residuals = {
        frozenset(tail for tail in tails if matcher.fullmatch(head + tail))
        for head in words(min(dfa.states - 1, 4), characters)
    } - {frozenset()}
    assert dfa.states == max(1, len(residuals))


EQUIVALENT = {
    "p+ = p/p*": (OneOrMorePath(P), SequencePath((P, ZeroOrMorePath(P)))),
    "p* = (p+)?": (ZeroOrMorePath(P), ZeroOrOnePath(OneOrMorePath(P))),
    "(p*)* = p*": (ZeroOrMorePath(ZeroOrMorePath(P)), ZeroOrMorePath(P)),
    "(p|q)* = (p*/q*)*": (
        ZeroOrMorePath(AlternativePath((P, Q))),
        ZeroOrMorePath(SequencePath((ZeroOrMorePath(P), ZeroOrMorePath(Q)))),
    ),
    "p{2,3} = p/p/p?": (RepeatPath(P, 2, 3), SequencePath((P, P, ZeroOrOnePath(P)))),
    "p{0,} = p*": (RepeatPath(P, 0, None), ZeroOrMorePath(P)),
    "p{1,1} = p": (RepeatPath(P, 1, 1), P),
    "^(p/q) = ^q/^p": (InversePath(SequencePath((P, Q))), SequencePath((InversePath(Q), InversePath(P)))),
    "^^p = p": (InversePath(InversePath(P)), P),
    "^(p|^q)* = (^p|q)*": (
        InversePath(ZeroOrMorePath(AlternativePath((P, InversePath(Q))))),
        ZeroOrMorePath(AlternativePath((InversePath(P), Q))),
    ),
    "^!(p|^q) = !(^p|q)": (
        InversePath(NegatedPropertySet(("p",), ("q",))),
        NegatedPropertySet(("q",), ("p",)),
    ),
    "p|q = q|p": (AlternativePath((P, Q)), AlternativePath((Q, P))),
    "p|p = p": (AlternativePath((P, P)), P),
}


@pytest.mark.parametrize("law", EQUIVALENT)
def test_equal_paths_have_equal_automata(law):
    left, right = EQUIVALENT[law]
    assert minimal_dfa(left) == minimal_dfa(right)


def test_different_paths_have_different_automata():
    assert minimal_dfa(OneOrMorePath(P)) != minimal_dfa(ZeroOrMorePath(P))
    assert minimal_dfa(P) != minimal_dfa(InversePath(P))
    # a negated set means other predicates than a path that does not name them
    assert minimal_dfa(NegatedPropertySet(("p",), None)) != minimal_dfa(NegatedPropertySet(("q",), None))


@pytest.mark.parametrize("seed", range(30))
def test_inverse_reads_words_from_the_end(seed):
    rng = random.Random(f"inverse {seed}")
    path = random_path(rng, 3)
    there, back = minimal_dfa(path), minimal_dfa(inverse(path))
    for text in words(3, used(path)):
        word = [ALPHABET[c] for c in text]
        reverse = [Label(label.predicate, not label.backward) for label in reversed(word)]
        assert there.accepts(word) is back.accepts(reverse), (path, text)
    assert minimal_dfa(inverse(inverse(path))) == there


@pytest.mark.parametrize("seed", range(20))
def test_every_state_is_reached_and_leads_to_acceptance(seed):
    dfa = minimal_dfa(random_path(random.Random(f"useful {seed}"), 3))
    reached, waiting = {0}, [0]
    while waiting:
        for target in dfa.moves[waiting.pop()].values():
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    assert reached == set(range(dfa.states))
    useful = set(dfa.accepting)
    while grown := {s for s in range(dfa.states) if s not in useful and useful & set(dfa.moves[s].values())}:
        useful |= grown
    assert useful == reached


def test_numbers_of_states():
    assert minimal_dfa(OneOrMorePath(P)).states == 2
    assert minimal_dfa(ZeroOrMorePath(P)).states == 1
    assert minimal_dfa(RepeatPath(P, 5, 5)).states == 6
    assert minimal_dfa(ZeroOrMorePath(SequencePath((P, Q)))).states == 2


def test_a_path_that_needs_too_many_states_is_refused():
    with pytest.raises(ResourceError, match="automaton states"):
        minimal_dfa(RepeatPath(P, 1, 10**6))
    # (p|q)*/p/(p|q){13}: the thirteenth letter from the end asks for 2^14 states
    either = AlternativePath((P, Q))
    with pytest.raises(ResourceError, match="deterministic states"):
        minimal_dfa(SequencePath((ZeroOrMorePath(either), P, RepeatPath(either, 13, 13))))
