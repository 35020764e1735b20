"""What one query holds of the dictionary, so that all of it can be given back at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.dictionary import Dictionary


class Holder:
    """Counts the terms that a query keeps beside its windows: computed values, answers, static triples."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._held = np.zeros(0, np.int32)

    def hold(self, entering: NDArray[np.int32], leaving: NDArray[np.int32]) -> None:
        """Begin to hold some terms, and hold others no longer; each as often as it is listed."""
        if len(entering):
            room = int(entering.max()) + 1
            if room > len(self._held):
                self._held = np.concatenate((self._held, np.zeros(2 * room - len(self._held), np.int32)))
            np.add.at(self._held, entering, 1)
            self._dictionary.retain(entering)
        if len(leaving):
            np.subtract.at(self._held, leaving, 1)
            self._dictionary.release(leaving)

    def release(self) -> None:
        """Hold nothing any more."""
        self._dictionary.release(np.repeat(np.arange(len(self._held), dtype=np.int32), self._held))
        self._held = np.zeros(0, np.int32)
