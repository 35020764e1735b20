"""Events -> the log of what changed in a window, and the upkeep of its views.

One call takes many instants. Removed rows stay linked until `vacuum`, and each row knows at which
position of the log it was born and went (`born`, `gone`), so that operators that read the log
afterwards see, at each entry, the window as it was then: per-event semantics without a call per event.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.views.kernels.index import IndexColumns, find_slot, link, unlink

#: `gone` of a row that is there.
NEVER = np.int32(2**31 - 1)

#: The sign of an operation that lets a triple last longer and is no arrival; others are +1 and -1.
PROLONG = np.int8(2)

#: The sign of an operation that gives a triple another end, an earlier one too: its row is deleted, and entered
#: anew. It is the only operation on its triple at an instant, and no arrival.
RENEW = np.int8(3)

#: What a log entry says of its row.
ENTERED = np.int8(1)
EXPIRED = np.int8(-1)
DELETED = np.int8(-2)
EXTENDED = np.int8(0)

# marks of a row within the instant that is being applied
_UNTOUCHED = np.int8(0)
_NEW = np.int8(1)
_LONGER = np.int8(2)
_DROPPED = np.int8(3)


class ViewColumns(NamedTuple):
    """Rows of a window, one triple each; what operators read.

    `valid_to` is the exclusive end of validity: a time, or in a count window a number of events.
    A row is visible at log position `p` when ``born <= p < gone``. `history` heads the list of
    earlier ends of this batch: record `h` says that until position `history_position[h]` (exclusive)
    the end was `history_end[h]`.
    """

    subject: NDArray[np.int32]
    predicate: NDArray[np.int32]
    object: NDArray[np.int32]
    valid_from: NDArray[np.int64]
    valid_to: NDArray[np.int64]
    born: NDArray[np.int32]
    gone: NDArray[np.int32]
    history: NDArray[np.int32]
    history_position: NDArray[np.int32]
    history_end: NDArray[np.int64]
    history_next: NDArray[np.int32]
    lists: IndexColumns


class LogColumns(NamedTuple):
    """What changed, in order; entry `i` has position ``i + 1``."""

    at: NDArray[np.int64]
    kind: NDArray[np.int8]
    row: NDArray[np.int32]


class Timelist(NamedTuple):
    """Rows in the order in which they expire, and the free rows; `bounds` has [first, next) of the ring, how
    many rows are free, and 1 where the ring is a heap instead: from 0 to next, none ends before its parent.

    An entry whose row has meanwhile been extended, deleted or reused is stale: its end differs.
    """

    rows: NDArray[np.int32]
    ends: NDArray[np.int64]
    bounds: NDArray[np.int64]
    free: NDArray[np.int32]
    mark: NDArray[np.int8]
    touched: NDArray[np.int32]


@kernel
def visible(views, row, position):
    """Whether the row is there at a log position."""
    return views.born[row] <= position < views.gone[row]


@kernel
def end_at(views, row, position):
    """The end of validity of `row` as it was known at a log position."""
    end = views.valid_to[row]
    record = views.history[row]
    while record >= 0 and views.history_position[record] > position:
        end = views.history_end[record]
        record = views.history_next[record]
    return end


@kernel
def find_live(views, s, p, o):
    """The live row of a triple, or -1. Index 0 is the one over all three columns."""
    slot = find_slot(views.subject, views.predicate, views.object, views.lists, 0, s, p, o)
    if slot < 0:
        return -1
    row = views.lists.heads[0, slot] - 1
    while row >= 0 and views.gone[row] != NEVER:
        row = views.lists.after[0, row]
    return row


@kernel
def enlist(views, timelist, row):
    """Put `row` into the timelist: at its end, since events come in time order, or where it belongs in the heap.

    Only the events of one instant in a count window, which have different ends, are put in order here.
    """
    end = views.valid_to[row]
    if end >= FOREVER:
        return
    size_mask = timelist.rows.shape[0] - 1
    at = timelist.bounds[1]
    if timelist.bounds[3]:
        while at > 0 and timelist.ends[(at - 1) >> 1] > end:
            timelist.rows[at] = timelist.rows[(at - 1) >> 1]
            timelist.ends[at] = timelist.ends[(at - 1) >> 1]
            at = (at - 1) >> 1
    else:
        while at > timelist.bounds[0] and timelist.ends[(at - 1) & size_mask] > end:
            timelist.rows[at & size_mask] = timelist.rows[(at - 1) & size_mask]
            timelist.ends[at & size_mask] = timelist.ends[(at - 1) & size_mask]
            at -= 1
    timelist.rows[at & size_mask] = row
    timelist.ends[at & size_mask] = end
    timelist.bounds[1] += 1


@kernel
def drop_first(timelist):
    """Take the entry that ends first out of the timelist."""
    if not timelist.bounds[3]:
        timelist.bounds[0] += 1
        return
    last = timelist.bounds[1] - 1
    timelist.bounds[1] = last
    row, end = timelist.rows[last], timelist.ends[last]
    at = 0
    child = 1
    while child < last:
        if child + 1 < last and timelist.ends[child + 1] < timelist.ends[child]:
            child += 1
        if timelist.ends[child] >= end:
            break
        timelist.rows[at] = timelist.rows[child]
        timelist.ends[at] = timelist.ends[child]
        at = child
        child = 2 * at + 1
    timelist.rows[at] = row
    timelist.ends[at] = end


@kernel
def expire_until(views, log, timelist, entries, limit, at, counting):
    """Log and end every row with `valid_to` <= `limit`, at its end; in a count window at the instant `at`."""
    size_mask = timelist.rows.shape[0] - 1
    while timelist.bounds[0] < timelist.bounds[1]:
        first = timelist.bounds[0] & size_mask
        end = timelist.ends[first]
        if end > limit:
            break
        row = timelist.rows[first]
        drop_first(timelist)
        if views.gone[row] != NEVER or views.valid_to[row] != end:
            continue
        log.at[entries] = at if counting else end
        log.kind[entries] = EXPIRED
        log.row[entries] = row
        entries += 1
        views.gone[row] = entries
    return entries


@kernel
def apply_events(
    views, log, timelist, triples, sign, event_first, event_time, event_position, event_end, horizon, counting
):
    """Apply events in time order and return (log entries, history records).

    `triples` (n, 3) and `sign` are the operations of the events; of several on one triple at one instant
    the last one wins. An event has its first operation, its instant, its position on the window's axis
    (the time, or the number of the event) and the end of validity of what arrives with it. Afterwards,
    everything that expires up to `horizon` goes too (in a count window time ends nothing).
    """
    entries = 0
    records = 0
    free_count = timelist.bounds[2]
    events = event_time.shape[0]
    event = 0
    while event < events:
        now = event_time[event]
        if not counting:
            entries = expire_until(views, log, timelist, entries, now - 1, now, counting)
        touched = 0
        position = event_position[event]
        while event < events and event_time[event] == now:
            position = event_position[event]
            end = event_end[event]
            for operation in range(event_first[event], event_first[event + 1]):
                s, p, o = triples[operation, 0], triples[operation, 1], triples[operation, 2]
                row = find_live(views, s, p, o)
                if sign[operation] > 0:
                    if row < 0 and sign[operation] >= PROLONG:
                        continue
                    since = now
                    if sign[operation] == RENEW:
                        since = views.valid_from[row]
                        views.history_position[records] = NEVER
                        views.history_end[records] = views.valid_to[row]
                        views.history_next[records] = views.history[row]
                        views.history[row] = records
                        records += 1
                        timelist.touched[touched] = row
                        touched += 1
                        timelist.mark[row] = _DROPPED
                        row = -1
                    if row < 0:
                        free_count -= 1
                        row = timelist.free[free_count]
                        views.subject[row] = s
                        views.predicate[row] = p
                        views.object[row] = o
                        views.valid_from[row] = since
                        views.valid_to[row] = end
                        views.born[row] = NEVER  # not visible until it is logged
                        views.gone[row] = NEVER
                        views.history[row] = -1
                        link(views.subject, views.predicate, views.object, views.lists, row)
                        timelist.mark[row] = _NEW
                        timelist.touched[touched] = row
                        touched += 1
                    else:
                        mark = timelist.mark[row]
                        if views.valid_to[row] < end:
                            if mark == _NEW:
                                views.valid_to[row] = end
                            else:
                                if mark == _UNTOUCHED:
                                    # the record gets its position when the row is logged
                                    views.history_position[records] = NEVER
                                    views.history_end[records] = views.valid_to[row]
                                    views.history_next[records] = views.history[row]
                                    views.history[row] = records
                                    records += 1
                                    timelist.touched[touched] = row
                                    touched += 1
                                    mark = _LONGER
                                views.valid_to[row] = end
                                timelist.mark[row] = _LONGER
                        elif mark == _DROPPED:
                            timelist.mark[row] = _LONGER
                        if sign[operation] != PROLONG:
                            views.valid_from[row] = now
                elif row >= 0:
                    if timelist.mark[row] == _NEW:
                        unlink(views.subject, views.predicate, views.object, views.lists, row)
                        timelist.mark[row] = _UNTOUCHED
                        views.gone[row] = 0
                        views.valid_to[row] = NO_END
                        timelist.free[free_count] = row
                        free_count += 1
                    elif timelist.mark[row] != _DROPPED:
                        if timelist.mark[row] == _UNTOUCHED:
                            views.history_position[records] = NEVER
                            views.history_end[records] = views.valid_to[row]
                            views.history_next[records] = views.history[row]
                            views.history[row] = records
                            records += 1
                            timelist.touched[touched] = row
                            touched += 1
                        timelist.mark[row] = _DROPPED
            event += 1

        # What lasts longer, what is deleted, what is new, and last what expires: so a solution that loses one
        # derivation and gains another at this instant is seen to last longer, not to leave and to enter.
        for i in range(touched):
            row = timelist.touched[i]
            if timelist.mark[row] == _LONGER:
                timelist.mark[row] = _UNTOUCHED
                record = views.history[row]
                if views.valid_to[row] == views.history_end[record]:
                    views.history[row] = views.history_next[record]
                    continue  # deleted and added again at once, with the same end
                log.at[entries] = now
                log.kind[entries] = EXTENDED
                log.row[entries] = row
                entries += 1
                views.history_position[record] = entries
                enlist(views, timelist, row)
        for i in range(touched):
            row = timelist.touched[i]
            if timelist.mark[row] == _DROPPED:
                timelist.mark[row] = _UNTOUCHED
                log.at[entries] = now
                log.kind[entries] = DELETED
                log.row[entries] = row
                entries += 1
                views.gone[row] = entries
        for i in range(touched):
            row = timelist.touched[i]
            if timelist.mark[row] == _NEW:
                timelist.mark[row] = _UNTOUCHED
                if counting and views.valid_to[row] <= position:
                    # more events in one instant than the window holds
                    unlink(views.subject, views.predicate, views.object, views.lists, row)
                    views.gone[row] = 0
                    views.valid_to[row] = NO_END
                    timelist.free[free_count] = row
                    free_count += 1
                    continue
                log.at[entries] = now
                log.kind[entries] = ENTERED
                log.row[entries] = row
                entries += 1
                views.born[row] = entries
                enlist(views, timelist, row)
        # Rows that were extended no longer match their old timelist entry: only what really ends is logged.
        entries = expire_until(views, log, timelist, entries, position if counting else now, now, counting)
    if not counting:
        entries = expire_until(views, log, timelist, entries, horizon, horizon, counting)
    timelist.bounds[2] = free_count
    return entries, records


@kernel
def arrival_times(views, triples, times):
    """When each of the triples that are there arrived; the times of others stay as they are."""
    for at in range(triples.shape[0]):
        row = find_live(views, triples[at, 0], triples[at, 1], triples[at, 2])
        if row >= 0:
            times[at] = views.valid_from[row]


@kernel
def vacuum(views, log, timelist, entries, released):
    """Unlink the rows that went, forget the positions of this batch; return how many terms `released` holds.

    `released` receives the three terms of every row that went.
    """
    count = 0
    free_count = timelist.bounds[2]
    for entry in range(entries):
        row = log.row[entry]
        views.history[row] = -1
        kind = log.kind[entry]
        if kind == ENTERED:
            views.born[row] = 0
        elif kind < 0:
            released[count] = views.subject[row]
            released[count + 1] = views.predicate[row]
            released[count + 2] = views.object[row]
            count += 3
            unlink(views.subject, views.predicate, views.object, views.lists, row)
            views.valid_to[row] = NO_END
            timelist.free[free_count] = row
            free_count += 1
    timelist.bounds[2] = free_count
    return count
