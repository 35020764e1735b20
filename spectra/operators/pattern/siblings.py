"""PATTERN by incremental indexing: triples are linked as they are joined, and matches are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectra.operators.contract import Deltas
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.siblings import (
    MATCHES,
    ORDINALS,
    OUTPUT,
    PAIRS,
    Conductor,
    SiblingPattern,
    conduct_log,
    current_matches,
    move_slots,
)
from spectra.operators.pattern.tpjoin import EncodedPattern, encoded_terms, is_connected, variable_numbers
from spectra.views.view import WindowViews

#: A join variable that every triple pattern has where the pattern falls into parts that share none.
_EVERYTHING = ""

#: Of pairs, ordinal numbers and matches: the columns of their tables, plain ones and those with several values.
_COLUMNS = (
    (("row", "pattern", "next_pair", "first_match"), ("ordinal", "after", "before")),
    (("variable", "value", "missing"), ("heads", "counts")),
    ((), ("members", "match_after", "match_before")),
)
_FREE = ("free_pairs", "free_ordinals", "free_matches")

_LEAST_ROOM = 64


class Siblings:
    """Solutions of a basic graph pattern, as deltas.

    `removals` and `extensions` say whether a consumer asks for solutions that leave and for ends
    that move; where nobody asks for either, the final views are not kept.
    """

    def __init__(
        self,
        views: WindowViews,
        patterns: Sequence[EncodedPattern],
        projected: Sequence[str],
        *,
        removals: bool = True,
        extensions: bool = True,
    ) -> None:
        self.variables = tuple(projected)
        self._views = views
        self._removals = removals
        self._extensions = extensions
        self._pattern = _sibling_pattern(patterns, projected)
        self._conductor = _empty_conductor(self._pattern)
        # the kernels are compiled for tables that have room: without any, numpy would call them contiguous
        for table in (PAIRS, ORDINALS, MATCHES):
            self._grow(table)
        self._counts = np.zeros(3, np.int64)
        self._out = new_output(1024, len(self.variables))

    @property
    def keeps_matches(self) -> bool:
        """Whether there are final views."""
        return self._removals or self._extensions

    @property
    def counters(self) -> dict[str, int]:
        """Look-ups of ordinal numbers, siblings looked at, matches touched by expiry, matches held."""
        probes, candidates, expired = self._counts.tolist()
        held = len(self._conductor.members) - int(self._conductor.free[MATCHES])
        return {"probes": probes, "candidates": candidates, "expired": expired, "matches": held}

    def initial(self, at: int) -> Deltas:
        return Deltas.empty(len(self.variables))

    def process(self) -> Deltas:
        views = self._views
        self._cover_rows(len(views.columns.subject))
        parts = []
        first, last = 0, views.log.entries
        while first < last:
            following, written, short = conduct_log(
                views.columns,
                views.log.columns,
                first,
                last,
                self._pattern,
                self._conductor,
                views.counting,
                self.keeps_matches,
                self._removals,
                self._extensions,
                self._out,
                self._counts,
            )
            if written:
                parts.append(Deltas.written(self._out, int(written)))
            first = int(following)
            if short in (PAIRS, ORDINALS, MATCHES):
                self._grow(short)
            elif short == OUTPUT:
                self._widen_output(int(written))
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    def current(self, at: int) -> Deltas:
        pattern_of = self._conductor.pattern
        sizes = np.bincount(pattern_of[pattern_of >= 0], minlength=len(self._pattern.terms))
        pairs = np.flatnonzero(pattern_of == sizes.argmin())
        counts = np.zeros_like(self._counts)
        parts = []
        first = 0
        while first < len(pairs):
            following, written = current_matches(
                self._views.columns,
                self._pattern,
                self._conductor,
                pairs,
                first,
                0,
                at,
                self._views.counting,
                self._out,
                counts,
            )
            if written:
                parts.append(Deltas.written(self._out, int(written)))
            first = int(following)
            if first < len(pairs):
                self._widen_output(int(written))
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    # --- room ---------------------------------------------------------------------------------

    def _cover_rows(self, rows: int) -> None:
        """Follow the views as they grow."""
        known = len(self._conductor.first_pair)
        if rows > known:
            first_pair = np.full(rows, -1, np.int32)
            first_pair[:known] = self._conductor.first_pair
            self._conductor = self._conductor._replace(first_pair=first_pair)

    def _widen_output(self, written: int) -> None:
        if written == 0 or len(self._out.at) < 1 << 16:
            self._out = new_output(4 * len(self._out.at), len(self.variables))

    def _grow(self, table: int) -> None:
        """Half as much again of one table of the conductor."""
        conductor, (narrow, wide) = self._conductor, _COLUMNS[table]
        vacant = getattr(conductor, _FREE[table])
        size = len(vacant)
        room = max(_LEAST_ROOM, size + size // 2)
        width = getattr(conductor, wide[0]).shape[1]
        # what is read together lies together
        block = np.full((room, len(narrow) + len(wide) * width), -1, np.int32)
        grown = {name: block[:, at] for at, name in enumerate(narrow)}
        for at, name in enumerate(wide):
            first = len(narrow) + at * width
            grown[name] = block[:, first : first + width]
        for name, column in grown.items():
            column[:size] = getattr(conductor, name)
        held = int(conductor.free[table])
        grown[_FREE[table]] = np.empty(room, np.int32)
        grown[_FREE[table]][:held] = vacant[:held]
        grown[_FREE[table]][held : held + room - size] = np.arange(room - 1, size - 1, -1, dtype=np.int32)
        conductor.free[table] = held + room - size
        if table == ORDINALS:
            grown["slots"] = np.zeros(1 << (room + room // 2 - 1).bit_length(), np.int32)
        self._conductor = conductor._replace(**grown)
        if table == ORDINALS:
            move_slots(self._conductor, conductor.slots)

    @property
    def nbytes(self) -> int:
        """Bytes of pairs, ordinal numbers, matches and the room to write."""
        return sum(array.nbytes for array in (*self._conductor, *self._pattern, *self._out))


def _sibling_pattern(patterns: Sequence[EncodedPattern], projected: Sequence[str]) -> SiblingPattern:
    number = variable_numbers(patterns)
    # where each variable stands first in each pattern
    where = [{term: at for at, term in reversed(list(enumerate(p))) if isinstance(term, str)} for p in patterns]
    incident = {name: [at for at, columns in enumerate(where) if name in columns] for name in number}
    joined = {name: at for name, at in incident.items() if len(at) > 1}
    if not is_connected(patterns):
        joined[_EVERYTHING] = list(range(len(patterns)))
        where = [{**columns, _EVERYTHING: -1} for columns in where]
    names = list(joined)
    joins_of = [[name for name in names if name in columns] for columns in where]
    width = max(1, *(len(joins) for joins in joins_of))
    joins, columns, places = (np.full((len(patterns), width), -1, np.int32) for _ in range(3))
    for which, of_pattern in enumerate(joins_of):
        for join, name in enumerate(of_pattern):
            joins[which, join] = names.index(name)
            columns[which, join] = where[which][name]
            places[which, join] = joined[name].index(which)
    source = [(incident[name][0], where[incident[name][0]][name]) for name in projected]
    depths = len(patterns) + 1
    return SiblingPattern(
        terms=encoded_terms(patterns, number),
        joins=joins,
        columns=columns,
        places=places,
        degree=np.array([len(at) for at in joined.values()], np.int32),
        projected=np.array(source, np.int32).reshape(-1, 2),
        member=np.zeros(len(patterns), np.int32),
        ordinal=np.zeros(max(1, len(names)), np.int32),
        chosen=np.zeros(depths, np.int64),
        via=np.zeros(depths, np.int64),
        cursor=np.zeros(depths, np.int64),
        bound=np.zeros(depths, np.int64),
    )


def _empty_conductor(pattern: SiblingPattern) -> Conductor:
    """A conductor without any room."""
    none = np.zeros(0, np.int32)
    columns = dict.fromkeys(("first_pair", "slots", *_FREE), none)
    widths = (pattern.joins.shape[1], int(pattern.degree.max(initial=1)), len(pattern.terms))
    for (narrow, wide), width in zip(_COLUMNS, widths, strict=True):
        columns |= dict.fromkeys(narrow, none)
        columns |= dict.fromkeys(wide, np.zeros((0, width), np.int32))
    return Conductor(**columns, free=np.zeros(3, np.int64))
