"""Terms in some order, as numbers that kernels compare."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import groupby, pairwise
from typing import Any

import numpy as np

_WIDEST = 1 << 62
_STEP = 1 << 40
#: When more terms than this come or go at once, all others are moved at once too.
_MANY = 8

_Entry = tuple[Any, int]


class TermOrder:
    """Labels of slots (`LiveTerms`) that are ordered as `key` orders the texts of their terms; equal keys share one.

    New keys get labels between those of their neighbours, so that other labels stay. Where there are none left all get
    new ones in the same order, and `moved` counts that: trees stay as they are.
    """

    def __init__(self, key: Callable[[str], Any]) -> None:
        self.labels = np.zeros(1, np.int64)
        self.moved = 0
        self._key = key
        self._entries: list[_Entry] = []  # key and slot
        self._newest = -1

    def enter(self, slots: list[int], texts: list[str]) -> None:
        """Put the terms of some slots in order, which have these texts."""
        room = max(slots, default=0) + 1
        if room > len(self.labels):
            self.labels = np.append(self.labels, np.zeros(2 * room - len(self.labels), np.int64))
        fresh = sorted((self._key(text), slot) for slot, text in zip(slots, texts, strict=True))
        places = [bisect_left(self._entries, entry) for entry in fresh]
        placed = zip(places, fresh, strict=True)
        labelled = [self._label(place, [entry for _, entry in run]) for place, run in groupby(placed, lambda at: at[0])]
        if len(fresh) > _MANY:
            self._entries = _merged(self._entries, places, fresh)
        else:
            for before, (place, entry) in enumerate(zip(places, fresh, strict=True)):
                self._entries.insert(place + before, entry)
        if not all(labelled):
            self._spread()

    def leave(self, slots: list[int], texts: list[str]) -> None:
        """Forget the terms of some slots, which have these texts."""
        gone = zip(slots, texts, strict=True)
        places = sorted(bisect_left(self._entries, (self._key(text), slot)) for slot, text in gone)
        if len(places) > _MANY:
            kept: list[_Entry] = []
            done = 0
            for place in places:
                kept += self._entries[done:place]
                done = place + 1
            self._entries = kept + self._entries[done:]
            return
        for place in reversed(places):
            del self._entries[place]

    def _label(self, place: int, run: list[_Entry]) -> bool:
        """Label entries that all come before the one at a place; False where its neighbours leave too little room."""
        low = self._entries[place - 1] if place else None
        high = self._entries[place] if place < len(self._entries) else None
        keys = [low[0]] if low is not None else []
        for key, _ in run:
            if not keys or key != keys[-1]:
                keys.append(key)
        if low is not None:
            del keys[0]
        if high is not None and keys and keys[-1] == high[0]:
            del keys[-1]
        first = int(self.labels[low[1]]) if low is not None else None
        last = int(self.labels[high[1]]) if high is not None else None
        known = {entry[0]: int(self.labels[entry[1]]) for entry in (low, high) if entry is not None}
        if keys:
            room = self._room(low, first, high, last, len(keys))
            if room is None:
                return False
            begin, step = room
            known.update((key, begin + number * step) for number, key in enumerate(keys))
        for key, slot in run:
            self.labels[slot] = known[key]
        self._newest = run[-1][1]
        return True

    def _room(
        self, low: _Entry | None, first: int | None, high: _Entry | None, last: int | None, count: int
    ) -> tuple[int, int] | None:
        """The first of so many labels between two, and the step to the next; None where there is too little room."""
        if low is None or high is None or first is None or last is None:
            begin = 0 if first is last else first + _STEP if first is not None else (last or 0) - count * _STEP
            return (begin, _STEP) if -_WIDEST < begin < _WIDEST - count * _STEP else None
        step = (last - first) // (count + 1)
        if step < 1:
            return None
        # keys often come in order: room is left on the side where the last one did not come
        if low[1] == self._newest:
            return first + max(1, step >> 3), max(1, step >> 3)
        if high[1] == self._newest:
            return last - count * max(1, step >> 3), max(1, step >> 3)
        return first + step, step

    def _spread(self) -> None:
        """New labels for all, far apart."""
        entries = self._entries
        rank = np.cumsum([0, *(low[0] != high[0] for low, high in pairwise(entries))])
        step = min(_STEP, _WIDEST // (len(entries) + 1))
        self.labels[[slot for _, slot in entries]] = (rank - len(entries) // 2) * step
        self._newest = -1
        self.moved += 1


def _merged(entries: list[_Entry], places: list[int], fresh: list[_Entry]) -> list[_Entry]:
    """The entries with others, each before the one at its place."""
    merged: list[_Entry] = []
    done = 0
    for place, entry in zip(places, fresh, strict=True):
        merged += entries[done:place]
        merged.append(entry)
        done = place
    return merged + entries[done:]
