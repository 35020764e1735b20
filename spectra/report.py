"""When a query is evaluated, and what of its changes is told then.

An evaluation has a key: twice its instant, plus one where the events and the expiry of that instant
are part of it. A window's close sees what was there just before, so its key is even and comes first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.errors import InternalError
from spectra.operators.contract import Deltas
from spectra.operators.kernels.rows import apply_rows, new_table, with_room
from spectra.operators.net import net_changes
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy, Window, WindowKind

Keys = NDArray[np.int64]

#: So many evaluations of an empty answer are made rather than passed over.
_SHORT_GAP = 64

#: Told which term ids a state begins to hold, and which it no longer holds.
Hold = Callable[[NDArray[np.int32], NDArray[np.int32]], None]


@dataclass(slots=True)
class Progress:
    """What happened to the windows of a query in one batch.

    Times of the events of its streams, instants at which something expired, instants at which a count
    window closed, and (only where asked for) how many triples the windows held after each change.
    Time has come to `upto`, all of it included.

    Where each event is matched by itself, `instants` has an instant of its own for each of the events to be
    evaluated, and `events` the time of each.
    """

    upto: int
    events: NDArray[np.int64]
    expiries: NDArray[np.int64]
    count_closes: NDArray[np.int64]
    held_at: NDArray[np.int64]
    held: NDArray[np.int64]
    instants: NDArray[np.int64]

    @property
    def first(self) -> int:
        """The instant at which what holds before any event enters."""
        return int(self.instants[0]) - 1 if len(self.instants) else int(self.events[0])


@dataclass(slots=True)
class Told:
    """What an evaluation tells: rows of term ids with sign (-1, 0 for RSTREAM, +1), or truth values.

    `instants` are those of the operators, where each event is matched by itself at one of its own.
    """

    at: NDArray[np.int64]
    op: NDArray[np.int8]
    until: NDArray[np.int64]
    rows: NDArray[np.int32]
    boolean: NDArray[np.bool_] | None = None
    instants: NDArray[np.int64] | None = None


class Evaluations:
    """The instants at which a query is evaluated, batch by batch."""

    def __init__(self, query: ContinuousQuery) -> None:
        self._policy = query.report.policy
        self._period = query.report.period or 0
        self._windows = query.windows
        self._done: int | None = None  # evaluations up to this instant are behind us
        self.first_event: int | None = None

    @property
    def done(self) -> int | None:
        """The instant up to which evaluations are behind us."""
        return self._done

    def resume(self, first_event: int | None, done: int | None) -> None:
        """Go on where another process was."""
        self.first_event, self._done = first_event, done

    @property
    def _time_windows(self) -> list[Window]:
        return [window for window in self._windows if window.spec.kind is WindowKind.TIME]

    def note_first_event(self, progress: Progress) -> None:
        if self.first_event is None and len(progress.events):
            self.first_event = int(progress.events[0])
            self._done = self.first_event - 1 if self._policy is Policy.PERIODIC else self.first_event

    def keys(self, progress: Progress, since: int | None = None, upto: int | None = None) -> Keys:
        """Keys of the evaluations of this batch, in order.

        `since` and `upto` leave out closes and periods outside them, which are known to tell nothing.
        """
        if self.first_event is None or self._done is None:
            return np.zeros(0, np.int64)
        low = self._done if since is None else max(self._done, since)
        high = progress.upto if upto is None else min(progress.upto, upto)
        match self._policy:
            case Policy.ON_CONTENT_CHANGE:
                keys = 2 * np.union1d(progress.events, progress.expiries) + 1
            case Policy.NON_EMPTY_CONTENT:
                instants = np.union1d(progress.events, progress.expiries)
                after = np.searchsorted(progress.held_at, instants, side="right") - 1
                keys = 2 * instants[progress.held[after] > 0] + 1
            case Policy.PERIODIC:
                origin = self._windows[0].spec.t0
                steps = np.arange((low - origin) // self._period + 1, (high - origin) // self._period + 1)
                keys = 2 * (origin + self._period * steps) + 1
            case Policy.ON_WINDOW_CLOSE:
                closes = [2 * progress.count_closes + 1]
                for window in self._time_windows:
                    spec = window.spec
                    origin = spec.t0 + spec.range
                    steps = np.arange((low - origin) // spec.step + 1, (high - origin) // spec.step + 1)
                    closes.append(2 * (origin + spec.step * steps))
                keys = np.unique(np.concatenate(closes))
        if since is not None:
            keys = keys[keys > 2 * since + 1]
        if upto is not None:
            keys = keys[keys <= 2 * upto + 1]
        return keys

    def instants(self, progress: Progress, deltas: Deltas, held: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Of each evaluation that sees any of some rows: the last instant of the operators that it sees, and its time.

        The rows change so in this batch, and there were `held` of them before.
        """
        self.note_first_event(progress)
        if len(progress.instants):
            return progress.instants, progress.events
        stretches = self.filled(deltas, held)
        keys = np.concatenate([np.zeros(0, np.int64), *(self.keys(progress, *stretch) for stretch in stretches)])
        return (keys - 1) >> 1, keys >> 1

    def filled(self, deltas: Deltas, held: int) -> list[tuple[int | None, int | None]]:
        """The stretches of time (since, upto) in which some of the rows are there; None for no limit.

        Outside them evaluations tell nothing, and between two events there may be millions of them. A gap
        of a few evaluations is not worth a stretch of its own.
        """
        last = np.flatnonzero(np.append(deltas.at[1:] != deltas.at[:-1], True)[: len(deltas)])
        at = deltas.at[last]
        after = np.concatenate(([held], held + np.cumsum(deltas.sign, dtype=np.int64)[last]))
        begins: list[int | None] = (at[(after[1:] > 0) & (after[:-1] == 0)] - 1).tolist()
        ends: list[int | None] = at[(after[1:] == 0) & (after[:-1] > 0)].tolist()
        if after[0]:
            begins.insert(0, None)
        if after[-1]:
            ends.append(None)
        short = _SHORT_GAP * self.shortest_wait
        stretches: list[tuple[int | None, int | None]] = []
        for since, upto in zip(begins, ends, strict=True):
            emptied = stretches[-1][1] if stretches else None
            if since is not None and emptied is not None and since - emptied <= short:
                stretches[-1] = (stretches[-1][0], upto)
                continue
            stretches.append((since, upto))
        return stretches

    def last_seen(self, at: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """For each instant the last one that the same evaluation sees; None where each may have one of its own.

        What happens between two evaluations may be taken to happen together.
        """
        if self._policy is Policy.PERIODIC:
            origin = self._windows[0].spec.t0
            return origin - self._period * ((origin - at) // self._period)
        if self._policy is not Policy.ON_WINDOW_CLOSE or len(self._time_windows) < len(self._windows):
            return None
        closes = []
        for window in self._windows:
            origin, step = window.spec.t0 + window.spec.range, window.spec.step
            closes.append(origin + step * ((at - origin) // step + 1))
        last: NDArray[np.int64] = np.minimum.reduce(closes) - 1
        return last

    @property
    def shortest_wait(self) -> int:
        """The shortest time from one close or period to the next; evaluations at events are never counted."""
        if self._policy is Policy.PERIODIC:
            return self._period
        if self._policy is Policy.ON_WINDOW_CLOSE and self._time_windows:
            return min(window.spec.step for window in self._time_windows)
        return FOREVER

    def passed(self, progress: Progress) -> None:
        """Time has come to `progress.upto`."""
        if self._done is not None:
            self._done = max(self._done, progress.upto)

    def keys_of(self, deltas: Deltas, progress: Progress) -> tuple[Keys, NDArray[np.bool_]]:
        """For each delta the key of the first evaluation that sees it, and whether that is behind us."""
        keys = 2 * deltas.at + 1
        if self._policy is Policy.ON_CONTENT_CHANGE:
            return keys, np.ones(len(keys), np.bool_)
        if self._policy is Policy.ON_WINDOW_CLOSE and not len(progress.count_closes):
            # arithmetic, not a list: between two events there may be millions of closes
            best = np.full(len(keys), np.iinfo(np.int64).max, np.int64)
            floor = self._done if self._done is not None else 0
            for window in self._time_windows:
                spec = window.spec
                origin = spec.t0 + spec.range
                after = np.maximum(deltas.at, floor)
                best = np.minimum(best, 2 * (origin + spec.step * ((after - origin) // spec.step + 1)))
            return best, best <= 2 * progress.upto
        if self._policy is Policy.PERIODIC:
            origin = self._windows[0].spec.t0
            floor = (self._done if self._done is not None else 0) + 1
            at = np.maximum(deltas.at, floor)
            best = 2 * (origin + self._period * -((origin - at) // self._period)) + 1
            return best, best <= 2 * progress.upto + 1
        evaluations = self.keys(progress)
        which = np.searchsorted(evaluations, keys)
        seen = which < len(evaluations)
        keys[seen] = evaluations[which[seen]]
        return keys, seen


class ChangeReport:
    """ISTREAM, DSTREAM, CHANGES: the difference to the previous evaluation.

    `net` is the difference both ways, of all evaluations of the last batch.
    """

    def __init__(self, query: ContinuousQuery, width: int, *, keyed: bool) -> None:
        self.evaluations = Evaluations(query)
        self._entering = query.output is not OutputOperator.DSTREAM
        self._leaving = query.output is not OutputOperator.ISTREAM
        self.keyed = keyed
        self.pending = Deltas.empty(width)
        self.net = Told(*_nothing(width))

    def tell(self, deltas: Deltas, progress: Progress) -> Told:
        self.evaluations.note_first_event(progress)
        deltas = Deltas.concatenate([self.pending, deltas]) if len(self.pending) else deltas
        keys, seen = self.evaluations.keys_of(deltas, progress)
        self.evaluations.passed(progress)
        self.pending = deltas.take(~seen)
        if not seen.all():
            deltas, keys = deltas.take(seen), keys[seen]
        if not (self.keyed and (deltas.sign > 0).all()):
            deltas, keys = net_changes(deltas, keys)
        self.net = Told(keys >> 1, deltas.sign, deltas.until, deltas.rows)
        if self._entering and self._leaving:
            return self.net
        told = (deltas.sign > 0) == self._entering
        return Told(keys[told] >> 1, deltas.sign[told], deltas.until[told], deltas.rows[told])


class AnswerReport:
    """RSTREAM: the whole answer of every evaluation."""

    def __init__(self, query: ContinuousQuery, width: int, hold: Hold) -> None:
        self.evaluations = Evaluations(query)
        self.pending = Deltas.empty(width)
        self._answer = new_table(width, [])
        self._held = 0
        self._hold = hold

    def tell(self, deltas: Deltas, progress: Progress) -> Told:
        self.evaluations.note_first_event(progress)
        deltas = Deltas.concatenate([self.pending, deltas])
        delta_keys = 2 * deltas.at + 1
        told: list[Told] = []
        done = 0

        def evaluate(keys: Keys) -> None:
            nonlocal done
            for key in keys.tolist():
                upto = int(np.searchsorted(delta_keys, key, side="right"))
                self._apply(deltas, done, upto)
                done = upto
                if self._answer.size[0]:
                    told.append(self._whole(key >> 1))

        for since, upto in self.evaluations.filled(deltas, self._held):
            evaluate(self.evaluations.keys(progress, since, upto))
        # what evaluations saw that told nothing
        seen = int(np.count_nonzero(self.evaluations.keys_of(deltas, progress)[1]))
        if seen > done:
            self._apply(deltas, done, seen)
            done = seen
        self.pending = deltas.take(np.arange(done, len(deltas)))
        self.evaluations.passed(progress)
        if not told:
            return Told(*_nothing(deltas.rows.shape[1]))
        return Told(
            np.concatenate([part.at for part in told]),
            np.concatenate([part.op for part in told]),
            np.concatenate([part.until for part in told]),
            np.concatenate([part.rows for part in told]),
        )

    def answer(self) -> Deltas:
        """The answer that the last evaluation saw, as rows that enter."""
        entries = np.flatnonzero(self._answer.copies)
        entries = np.repeat(entries, self._answer.copies[entries])
        return Deltas.entering(0, self._answer.until[entries], self._answer.rows[entries])

    def resume(self, answer: Deltas) -> None:
        """Hold the answer that another process told last."""
        self._apply(answer, 0, len(answer))

    def _whole(self, at: int) -> Told:
        entries = np.flatnonzero(self._answer.copies)
        entries = np.repeat(entries, self._answer.copies[entries])
        count = len(entries)
        return Told(
            np.full(count, at, np.int64),
            np.zeros(count, np.int8),
            self._answer.until[entries],
            self._answer.rows[entries],
        )

    def _apply(self, deltas: Deltas, first: int, last: int) -> None:
        part = slice(first, last)
        self._answer = with_room(self._answer, int(np.count_nonzero(deltas.sign[part] > 0)))
        if apply_rows(self._answer, deltas.sign[part], deltas.until[part], deltas.rows[part]):
            raise InternalError("the answer was told of a row that leaves and never came")
        self._held += int(deltas.sign[part].sum(dtype=np.int64))
        entering = deltas.sign[part] > 0
        self._hold(deltas.rows[part][entering].ravel(), deltas.rows[part][~entering].ravel())


class AskReport:
    """ASK: its value at every evaluation of RSTREAM, otherwise when it changes."""

    def __init__(self, query: ContinuousQuery) -> None:
        self.evaluations = Evaluations(query)
        self.pending = Deltas.empty(0)
        self._always = query.output is OutputOperator.RSTREAM
        self._count = 0
        self._last: bool | None = None

    @property
    def value(self) -> tuple[int, bool | None]:
        """How many solutions the last evaluation saw, and what it told."""
        return self._count, self._last

    def resume(self, count: int, last: bool | None) -> None:
        """Go on from the value that another process told last."""
        self._count, self._last = count, last

    def tell(self, deltas: Deltas, progress: Progress) -> Told:
        self.evaluations.note_first_event(progress)
        deltas = Deltas.concatenate([self.pending, deltas])
        keys = self.evaluations.keys(progress)
        upto = np.searchsorted(2 * deltas.at + 1, keys, side="right")
        counts = self._count + np.concatenate(([0], np.cumsum(deltas.sign, dtype=np.int64)))[upto]
        truth = counts > 0
        told = np.ones(len(keys), np.bool_)
        if not self._always and len(keys):
            told[1:] = truth[1:] != truth[:-1]
            told[0] = self._last is None or bool(truth[0]) != self._last
        if len(keys):
            done = int(upto[-1])
            self._count = int(counts[-1])
            self._last = bool(truth[-1])
            deltas = deltas.take(np.arange(done, len(deltas)))
        self.pending = deltas
        self.evaluations.passed(progress)
        count = int(told.sum())
        return Told(
            keys[told] >> 1,
            np.zeros(count, np.int8),
            np.full(count, FOREVER, np.int64),
            np.zeros((count, 0), np.int32),
            truth[told],
        )


class EventReport:
    """`[EVENT]`: the whole answer over each event; nothing is kept of one event for the next.

    The deltas at an event's instant are what it changes in the answer over no event at all, and those after
    it take that back.
    """

    def __init__(self, query: ContinuousQuery, width: int, hold: Hold) -> None:
        self.evaluations = Evaluations(query)
        self.pending = Deltas.empty(width)
        self._op = 0 if query.output is OutputOperator.RSTREAM else 1
        self._ask = query.form is Form.ASK
        self._without = Deltas.empty(width)
        self._hold = hold

    def settle(self, changes: list[Deltas]) -> None:
        """Take changes to the answer over no event."""
        before = self._without
        deltas = Deltas.concatenate([before, *changes])
        deltas.until[:] = FOREVER
        self._without, _ = net_changes(deltas, np.zeros(len(deltas), np.int64))
        self._hold(self._without.rows.ravel(), before.rows.ravel())

    def tell(self, deltas: Deltas, progress: Progress) -> Told:
        self.evaluations.note_first_event(progress)
        self.evaluations.passed(progress)
        instants, without = progress.instants, len(self._without)
        always = self._without.take(np.tile(np.arange(without), len(instants)))
        always.at = np.repeat(instants, without)
        deltas = Deltas.concatenate([always, deltas])
        event = np.searchsorted(instants, deltas.at)
        seen = np.searchsorted(instants, deltas.at, side="right") > event
        deltas, event = deltas.take(seen), event[seen]
        if self._ask:
            count = len(instants)
            truth = np.bincount(event, deltas.sign, count) > 0
            return Told(
                progress.events,
                np.zeros(count, np.int8),
                np.full(count, FOREVER, np.int64),
                np.zeros((count, 0), np.int32),
                truth,
            )
        if not (deltas.sign > 0).all():
            deltas, event = net_changes(deltas, event)
        count = len(deltas)
        return Told(
            progress.events[event],
            np.full(count, self._op, np.int8),
            np.full(count, FOREVER, np.int64),
            deltas.rows,
            instants=instants[event],
        )


Report = ChangeReport | AnswerReport | AskReport | EventReport


def report_for(query: ContinuousQuery, width: int, hold: Hold, *, keyed: bool) -> Report:
    """The report that a query asks for."""
    if query.by_event:
        return EventReport(query, width, hold)
    if query.form is Form.ASK:
        return AskReport(query)
    if query.output is OutputOperator.RSTREAM:
        return AnswerReport(query, width, hold)
    return ChangeReport(query, width, keyed=keyed)


def _nothing(width: int) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int64], NDArray[np.int32]]:
    empty = Deltas.empty(width)
    return empty.at, empty.sign, empty.until, empty.rows
