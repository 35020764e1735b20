"""Property paths as finite automata: regular expression -> NFA -> minimal DFA."""

from spectra.automata.containment import conflicts, is_conflict_free, longest_word, suffix_containment
from spectra.automata.dfa import Dfa, minimal_dfa
from spectra.automata.nfa import OTHER, Label, Nfa, inverse, thompson

__all__ = [
    "OTHER",
    "Dfa",
    "Label",
    "Nfa",
    "conflicts",
    "inverse",
    "is_conflict_free",
    "longest_word",
    "minimal_dfa",
    "suffix_containment",
    "thompson",
]
