"""The graphs of the events in a window: which triples came under which name, as long as they are valid.

A triple is in the graph of its event from when it arrives until it expires there or is deleted, also where another
event has it too. Events with one name have one graph. A name is there as long as the window holds an event of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.dictionary.dictionary import Dictionary
from spectra.operators.relational.stateless import distinct_rows
from spectra.views.graph_views import GraphViews, Versions

Times = NDArray[np.int64]

#: About how many triples the versions of one batch may have together, and how many versions a graph may have in it:
#: rows of earlier versions are passed over wherever a triple is looked up.
_MOST_TRIPLES, _MOST_VERSIONS = 2_000_000, 16


@dataclass(slots=True)
class NamedEvents:
    """Events on their way into a window: when each enters and ends, its time and its graph name.

    Where ends are numbers of events, `first_number` is that of the first event here. `first` has the first operation
    of each event; `triples` and `sign` are the operations.
    """

    triples: NDArray[np.int32]
    sign: NDArray[np.int8]
    first: Times
    at: Times
    end: Times
    time: Times
    graph: NDArray[np.int32]
    first_number: int | None = None


@dataclass(slots=True)
class _Stays:
    """Rows that are in a graph for a while: (graph, …) ids, [`start`, `gone`) and the end that was promised.

    `gone` is when they really went, as far as that is known after the batch. `end` is on the window's own axis.
    """

    rows: NDArray[np.int32]
    start: Times
    gone: Times
    end: Times
    time: Times

    @classmethod
    def none(cls, width: int) -> _Stays:
        nothing = np.zeros(0, np.int64)
        return cls(np.zeros((0, width), np.int32), nothing, nothing, nothing, nothing)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def graph(self) -> NDArray[np.int32]:
        return self.rows[:, 0]

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> _Stays:
        return _Stays(self.rows[chosen], self.start[chosen], self.gone[chosen], self.end[chosen], self.time[chosen])

    def followed_by(self, other: _Stays) -> _Stays:
        return _Stays(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.start, other.start)),
            np.concatenate((self.gone, other.gone)),
            np.concatenate((self.end, other.end)),
            np.concatenate((self.time, other.time)),
        )

    def last_of(self, *groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of each group the stay that is promised to end last, and of these the one that came last."""
        order = np.lexsort((self.start, self.end, *groups))
        if not len(order):
            return order
        fresh = np.zeros(len(order), np.bool_)
        for column in groups:
            fresh[1:] |= column[order][1:] != column[order][:-1]
        last: NDArray[np.int64] = order[np.append(np.flatnonzero(fresh), len(order)) - 1]
        return last


class EventGraphs:
    """The named graphs of one window, and the views in which queries match them."""

    def __init__(self, dictionary: Dictionary, *, counting: bool) -> None:
        """`counting`: ends are numbers of events, which is to say that time ends nothing."""
        self.views = GraphViews()
        self._dictionary = dictionary
        self._counting = counting
        self._triples = _Stays.none(4)
        self._events = _Stays.none(1)
        self._released = np.zeros(0, np.int32)
        self._next_instant = 0

    @property
    def latest_end(self) -> int:
        """When the last graph is over, `NO_END` where there is none."""
        return NO_END if self._counting else int(self._events.end.max(initial=NO_END))

    @property
    def nbytes(self) -> int:
        """Bytes of the views and of what is held of each graph."""
        stays = (self._triples, self._events)
        return self.views.nbytes + sum(part.rows.nbytes + 4 * part.start.nbytes for part in stays)

    def portion(self, graph: NDArray[np.int32], size: NDArray[np.int64]) -> int:
        """How many triples to apply at once, of events with these names and sizes.

        Where a name comes again, each of its events makes a version that has all of its graph.
        """
        names, which = np.unique(np.concatenate((graph, self._triples.graph)), return_inverse=True)
        new, held = which.reshape(-1)[: len(graph)], which.reshape(-1)[len(graph) :]
        events = np.bincount(new, minlength=len(names))
        triples = np.bincount(new, size, len(names)) + np.bincount(held, minlength=len(names))
        again = (events > 1) | (events > 0) & np.isin(names, self._events.graph)
        most = _MOST_TRIPLES // max(1, int(triples[again].max(initial=0)))
        often = int(events.max(initial=0))
        if often > _MOST_VERSIONS:
            most = min(most, int(size.sum()) * _MOST_VERSIONS // often)
        return max(1, most)

    def apply(self, events: NamedEvents, horizon: int) -> None:
        """Apply events and let time pass to `horizon`; the views then have the versions of all graphs that changed."""
        operation = np.repeat(np.arange(len(events.at)), np.diff(events.first))
        added = np.flatnonzero(events.sign > 0)
        event = operation[added]
        arriving = _Stays(
            np.column_stack((events.graph[event], events.triples[added])),
            events.at[event],
            events.end[event],
            events.end[event],
            events.time[event],
        )
        named = _Stays(events.graph.reshape(-1, 1), events.at, events.end, events.end, events.time)
        self._dictionary.retain(events.graph)
        for part in (self._triples, self._events, arriving, named):
            part.gone = self._instants(part.end, events)
        deleted = events.triples[events.sign < 0]
        changed = self._changed(named, deleted, horizon)
        held, rest = self._split(self._triples, changed)
        held_events, other_events = self._split(self._events, changed)
        triples = held.followed_by(arriving)
        if len(deleted):
            when = events.at[operation[events.sign < 0]]
            after = np.concatenate((np.full(len(held), -1), added))
            _cut(triples, after, deleted, np.flatnonzero(events.sign < 0), when)
        names = held_events.followed_by(named)
        self._lay_out(triples, names, horizon, len(held), len(held_events))
        self._triples = rest.followed_by(_staying(triples, horizon))
        still = _staying(names, horizon)
        self._dictionary.retain(still.graph)
        self._released = names.graph
        self._events = other_events.followed_by(still)

    def fill(self, saved: dict[str, NDArray[np.int64]], ids: NDArray[np.int32]) -> None:
        """Hold what was saved, with these ids for positions; the versions say that it has entered before all time."""
        for stays, name in ((self._triples, "triples"), (self._events, "events")):
            stays.rows, stays.end, stays.time = ids[saved[name]], saved[f"{name}.end"], saved[f"{name}.time"]
            stays.start = np.full(len(stays.rows), NO_END, np.int64)
            stays.gone = np.full(len(stays.rows), FOREVER, np.int64) if self._counting else stays.end
        self._dictionary.retain(self._events.graph)
        self._lay_out(self._triples, self._events, NO_END, 0, 0)

    def saved(self) -> tuple[dict[str, NDArray[np.int64]], dict[str, NDArray[np.int32]]]:
        """What `fill` takes: numbers, and term ids."""
        both = {"triples": self._triples, "events": self._events}
        numbers = {
            f"{name}.{column}": getattr(part, column) for name, part in both.items() for column in ("end", "time")
        }
        return numbers, {name: part.rows for name, part in both.items()}

    def vacuum(self) -> None:
        """Forget the last batch."""
        self.views.vacuum()
        self._dictionary.release(self._released)
        self._released = np.zeros(0, np.int32)

    def held_terms(self) -> NDArray[np.int32]:
        """The names that are held, each as often as it is."""
        return self._events.graph

    def _instants(self, end: Times, events: NamedEvents) -> Times:
        """When ends come: where they are numbers of events, with the event of that number, if it is there."""
        if events.first_number is None:
            return np.array(end)
        place = end - events.first_number
        known = place < len(events.at)
        gone = np.full(len(end), FOREVER, np.int64)
        gone[known] = events.at[place[known]]
        return gone

    def _changed(self, named: _Stays, deleted: NDArray[np.int32], horizon: int) -> NDArray[np.int32]:
        """The graphs that something happens to."""
        triples, events = self._triples, self._events
        parts = [named.graph, triples.graph[triples.gone <= horizon], events.graph[events.gone <= horizon]]
        if len(deleted) and len(triples):
            _, numbers = distinct_rows(np.concatenate((triples.rows[:, 1:], deleted)))
            parts.append(triples.graph[np.isin(numbers[: len(triples)], numbers[len(triples) :])])
        return np.unique(np.concatenate(parts))

    def _split(self, stays: _Stays, changed: NDArray[np.int32]) -> tuple[_Stays, _Stays]:
        chosen = np.isin(stays.graph, changed)
        return stays.take(chosen), stays.take(~chosen)

    def _lay_out(self, triples: _Stays, names: _Stays, horizon: int, old_triples: int, old_names: int) -> None:
        """Put every version of the graphs into the views, at instants of its own.

        The first `old_triples` and `old_names` were there before.
        """
        _, triple = distinct_rows(triples.rows)
        starts = np.concatenate((triples.start[old_triples:], names.start[old_names:]))
        started = np.concatenate((triples.graph[old_triples:], names.graph[old_names:]))
        ended = [_ended(triples, triple, horizon), _ended(names, names.graph.astype(np.int64), horizon)]
        graphs, graph = np.unique(np.concatenate((started, ended[0][0], ended[1][0])), return_inverse=True)
        instants, rank = np.unique(np.concatenate((starts, ended[0][1], ended[1][1])), return_inverse=True)
        width = len(instants) + 1
        version = np.unique(graph.reshape(-1) * width + rank.reshape(-1))  # by graph, then by time

        def covered(stays: _Stays) -> tuple[NDArray[np.int64], _Stays]:
            """For each version the stays that are in it."""
            base = np.searchsorted(graphs, stays.graph) * width
            low = np.searchsorted(version, base + np.searchsorted(instants, stays.start))
            high = np.searchsorted(version, base + np.searchsorted(instants, stays.gone))
            count = np.maximum(high - low, 0)
            first = np.cumsum(count) - count
            which = np.repeat(np.arange(len(stays)), count)
            return np.arange(count.sum()) - np.repeat(first - low, count), stays.take(which)

        of_name, event = covered(names)
        last = event.last_of(of_name)
        of_name, event = of_name[last], event.take(last)
        of_triple, content = covered(triples)
        _, triple = distinct_rows(content.rows)
        last = content.last_of(of_triple, triple)
        of_triple, content = of_triple[last], content.take(last)
        self._write(graphs, instants, version, of_name, event, of_triple, content)

    def _write(
        self,
        graphs: NDArray[np.int32],
        instants: Times,
        version: NDArray[np.int64],
        of_name: NDArray[np.int64],
        event: _Stays,
        of_triple: NDArray[np.int64],
        content: _Stays,
    ) -> None:
        """Number the versions in time order, give them instants, and let the views hold each at its own."""
        count, width = len(version), len(instants) + 1
        by_time = np.lexsort((version // width, version % width))
        place = np.empty(count, np.int64)
        place[by_time] = np.arange(count)
        of_name, of_triple = place[of_name], place[of_triple]
        held = np.zeros(count, np.bool_)
        held[of_name] = True
        time = np.zeros(count, np.int64)
        time[of_name] = event.time
        following = np.full(count, -1, np.int64)
        same = version[1:] // width == version[:-1] // width
        following[place[:-1][same]] = place[1:][same]
        # the ends of each version in order, that of its latest event last
        ends = np.concatenate((content.end, event.end))
        if self._counting:
            ends = np.full(len(ends), FOREVER, np.int64)
        owner = np.concatenate((of_triple, of_name))
        order = np.lexsort((ends, owner))
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (owner[order][1:] != owner[order][:-1]) | (ends[order][1:] != ends[order][:-1])
        end_owner, end = owner[order][fresh], ends[order][fresh]
        end_first = np.searchsorted(end_owner, np.arange(count + 1))
        instant = self._next_instant + np.cumsum(np.diff(end_first) + 1) - np.diff(end_first) - 1
        number = np.empty(len(order), np.int64)
        number[order] = np.cumsum(fresh) - 1
        # each end of each version is an event of the views
        step = np.arange(len(end)) - end_first[end_owner]
        number = number[: len(content)]
        in_order = np.argsort(number, kind="stable")
        at = instant[end_owner]
        horizon = self._next_instant + len(end) + count
        self.views.apply(
            content.rows[in_order, 1:],
            np.ones(len(content), np.int8),
            np.searchsorted(number[in_order], np.arange(len(end) + 1)),
            at,
            at,
            at + 1 + step,
            horizon,
        )
        self._next_instant = horizon
        at_real = instants[(version % width)[by_time]]
        graph = graphs[(version // width)[by_time]]
        self.views.versions = Versions(at_real, graph, held, time, instant, end_first, end, following)


def _cut(
    stays: _Stays, after: NDArray[np.int64], deleted: NDArray[np.int32], number: NDArray[np.int64], when: Times
) -> None:
    """End what is deleted: each stay, which began with operation `after`, with the next deletion of its triple."""
    _, triple = distinct_rows(np.concatenate((stays.rows[:, 1:], deleted)))
    width = number.max() + 2
    keys = triple[len(stays) :] * width + number
    order = np.argsort(keys)
    following = np.searchsorted(keys[order], triple[: len(stays)] * width + after)
    found = following < len(order)
    found[found] = triple[len(stays) :][order[following[found]]] == triple[: len(stays)][found]
    stays.gone[found] = np.minimum(stays.gone[found], when[order[following[found]]])


def _ended(stays: _Stays, key: NDArray[np.int64], horizon: int) -> tuple[NDArray[np.int32], Times]:
    """(graphs, instants) at which something is over: not where another stay of the same row goes on."""
    order = np.lexsort((np.arange(len(stays)), key))
    following = np.empty(len(stays), np.int64)
    following[order] = np.append(order[1:], -1)[: len(stays)]
    goes_on = (following >= 0) & (key[following] == key)
    goes_on &= (stays.start[following] <= stays.gone) & (stays.gone[following] >= stays.gone)
    ended = (stays.gone <= horizon) & ~goes_on & (stays.start < stays.gone)
    return stays.graph[ended], stays.gone[ended]


def _staying(stays: _Stays, horizon: int) -> _Stays:
    """What is there after the batch, each row once, and from before whatever comes next."""
    there = stays.take((stays.start <= horizon) & (stays.gone > horizon))
    _, row = distinct_rows(there.rows)
    there = there.take(there.last_of(row))
    there.start[:] = NO_END
    return there
