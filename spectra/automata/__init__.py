"""Property paths as finite automata: regular expression -> NFA -> minimal DFA."""

from spectra.automata.dfa import Dfa, minimal_dfa
from spectra.automata.nfa import OTHER, Label, Nfa, inverse, thompson

__all__ = ["OTHER", "Dfa", "Label", "Nfa", "inverse", "minimal_dfa", "thompson"]
