"""CONSTRUCT: the triples that a template makes of each solution."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spectra.operators.contract import UNBOUND, Deltas, Operator


class Construct:
    """Triples as rows (s, p, o), duplicates kept; those that RDF does not allow are left out.

    With named graphs, rows are (s, p, o, g), where g is unbound for triples of the default graph. `template` has a
    term id or a variable's name in each place of a triple or quad; `text` gives the text of an id.
    """

    def __init__(
        self,
        source: Operator,
        variables: tuple[str, ...],
        template: Sequence[tuple[int | str, ...]],
        text: Callable[[int], str],
    ) -> None:
        self.source = source
        self.variables = variables
        self.counters: dict[str, int] = {}
        self._template = template
        self._text = text

    def initial(self, at: int) -> Deltas:
        return self._construct(self.source.initial(at))

    def process(self) -> Deltas:
        return self._construct(self.source.process())

    def current(self, at: int) -> Deltas:
        return self._construct(self.source.current(at))

    def _construct(self, deltas: Deltas) -> Deltas:
        if not len(deltas) or not self._template:
            return Deltas.empty(len(self.variables))
        ids = np.unique(deltas.rows)
        constants = [term for triple in self._template for term in triple if isinstance(term, int)]
        ids = np.union1d(ids, np.array([UNBOUND, *constants], np.int32))
        first = np.array([self._text(term)[:1] if term != UNBOUND else "" for term in ids.tolist()], "U1")
        parts = []
        for triple in self._template:
            columns = [
                np.full(len(deltas), term, np.int32)
                if isinstance(term, int)
                else deltas.rows[:, self.source.variables.index(term)]
                if term in self.source.variables
                else np.zeros(len(deltas), np.int32)
                for term in triple
            ]
            missing = [np.zeros(len(deltas), np.int32)] * (len(self.variables) - len(triple))
            rows = np.column_stack([*columns, *missing])
            kind = first[np.searchsorted(ids, rows)]
            allowed = np.isin(kind[:, 0], ["<", "_"]) & (kind[:, 1] == "<") & (kind[:, 2] != "")
            if len(triple) == 4:
                allowed &= np.isin(kind[:, 3], ["<", "_"])
            parts.append(Deltas(deltas.at, deltas.sign, deltas.until, rows).take(allowed))
        return Deltas.concatenate(parts)

    @property
    def nbytes(self) -> int:
        return self.source.nbytes
