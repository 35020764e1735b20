"""Query-based summarisation: which triples of a stream some registered query can use.

The first test is on hashes, next to the parser, before anything is encoded or stored. A hash that
collides lets a useless triple through; the operators compare ids, so no answer changes. What is left is
then tested for the filters that one triple decides; there terms are told apart by their text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.spans import Spans
from spectra.views.kernels.summary import SummaryColumns, mark_usable

_Key = TypeVar("_Key")
_Other = TypeVar("_Other")

#: For the terms at one place (0 subject, 1 predicate, 2 object) of some rows: a number for each, and the
#: distinct terms by number.
Terms = Callable[[NDArray[np.int64], int], tuple[NDArray[Any], Spans]]


class AtomicFilter(Protocol):
    """A condition that one triple decides, by the terms at some places of it."""

    @property
    def places(self) -> tuple[int, ...]: ...

    def holds(self, columns: Sequence[Spans], rows: int) -> NDArray[np.bool_]:
        """Which of so many combinations of terms pass; a column for each place."""
        ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class WantedTriples(Generic[_Key]):
    """The triples that a triple pattern can use: those with its constants (None: a variable) that pass its filters.

    Constants by text, by hash or by id.
    """

    terms: tuple[_Key | None, _Key | None, _Key | None]
    filters: frozenset[AtomicFilter] = frozenset()

    def by(self, key: Callable[[_Key], _Other]) -> WantedTriples[_Other]:
        """The same with other keys for the constants."""
        subject, predicate, object_ = (None if term is None else key(term) for term in self.terms)
        return WantedTriples((subject, predicate, object_), self.filters)


Wanted = set[WantedTriples[_Key]]


class Summary:
    """The union of what the queries on one stream can use."""

    def __init__(self, wanted: Iterable[WantedTriples[int]], *, keep_all: bool = False) -> None:
        """`wanted` by hashes or by ids."""
        rows = sorted(set(wanted), key=lambda row: (row.terms[1] is not None, row.terms[1] or 0, repr(row.terms)))
        unconditional = [row.terms for row in rows if not row.filters]
        self.keep_all = keep_all or (None, None, None) in unconditional
        self.columns = _columns([row.terms for row in rows], keep_all=self.keep_all)
        self._unconditional = _columns(unconditional, keep_all=self.keep_all)
        self._conditional = [] if self.keep_all else [row for row in rows if row.filters]

    def usable(self, triples: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows of (subject, predicate, object) some query can use by their constants; hashes or ids, as given."""
        usable = np.ones(len(triples), np.bool_)
        if not self.keep_all:
            mark_usable(self.columns, triples, usable)
        return usable

    def passing(self, triples: NDArray[Any], terms: Terms) -> NDArray[np.bool_] | None:
        """Which rows some query can use, filters included, of those that are usable; None where all of them pass."""
        if not self._conditional or not len(triples):
            return None
        passing = np.empty(len(triples), np.bool_)
        mark_usable(self._unconditional, triples, passing)
        for wanted in self._conditional:
            fits = ~passing
            for place, term in enumerate(wanted.terms):
                if term is not None:
                    fits &= triples[:, place] == term
            rows = np.flatnonzero(fits)
            for condition in wanted.filters:
                if len(rows):
                    rows = rows[_decided(condition, rows, terms)]
            passing[rows] = True
        return passing

    @classmethod
    def everything(cls) -> Summary:
        return cls((), keep_all=True)


def _columns(rows: Sequence[tuple[int | None, int | None, int | None]], *, keep_all: bool) -> SummaryColumns:
    return SummaryColumns(
        keep_all=np.array([keep_all], np.uint8),
        anywhere=np.array([sum(row[1] is None for row in rows)], np.int64),
        hashes=np.array([[part or 0 for part in row] for row in rows], np.int64).reshape(-1, 3),
        fixed=np.array([[part is not None for part in row] for row in rows], np.bool_).reshape(-1, 3),
    )


def _decided(condition: AtomicFilter, rows: NDArray[np.int64], terms: Terms) -> NDArray[np.bool_]:
    """Which of the rows pass, each combination of terms decided once."""
    columns = [terms(rows, place) for place in condition.places]
    if len(columns) == 1:
        numbers, distinct = columns[0]
        return condition.holds([distinct], len(distinct))[numbers]
    combinations, numbers = np.unique(np.column_stack([column for column, _ in columns]), axis=0, return_inverse=True)
    taken = [distinct.take(combinations[:, at]) for at, (_, distinct) in enumerate(columns)]
    return condition.holds(taken, len(combinations))[numbers.reshape(-1)]
