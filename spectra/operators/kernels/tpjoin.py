"""The TP-join automaton: matches of a basic graph pattern that contain a changed triple.

The states are the triple patterns, the edges the variables that they share, and an execution starts at
the state of the changed triple. *Join* takes a row of a state and binds its variables. *Proceed* looks
for rows of the states that these variables lead to, those of the smallest views first; a state without
any stops the execution before anything is joined further. What it found stays good for the states that
the next variables do not lead to, so that a star around a bound variable is looked up once and a chain
link by link. Next is the state with the fewest rows. A comparison between two variables is decided as soon
as both are bound, and where one of them is, the rows of a state may be taken from a column that is sorted
by the values of the other: those that can compare so lie together. A match is found once: at the first of its states
that the changed triple matches.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.cardinality import count_row, sort_states
from spectra.operators.kernels.comparison import ComparisonColumns, admitted, value_range
from spectra.views.kernels.apply import ENTERED, EXPIRED, EXTENDED, end_at
from spectra.views.kernels.index import find_slot


class PatternColumns(NamedTuple):
    """A basic graph pattern for the kernel.

    `terms` has a row per triple pattern: a constant's id (> 0), or minus the number of a variable;
    `variables` has their bits, and those of variables that they are compared with by order. `index_of` tells
    which index serves a set of bound columns. `projected` are the variables of the output rows. `held` counts
    the rows of each pattern's view, `empty` has the bits of those without any, and `order` has the patterns with the
    smallest views first. The rest is room for the
    search: the bindings; per depth and pattern the index that serves it (-1 for a sorted column), the place of
    the first of its rows there, the ends of the runs of a sorted column, and the number of rows (-1 where it
    is not reached yet); and per depth the pattern chosen, the place it stands at, the variables bound
    above it, and the earliest ends above it (before and after the change).
    """

    terms: NDArray[np.int32]
    variables: NDArray[np.int64]
    index_of: NDArray[np.int64]
    projected: NDArray[np.int64]
    held: NDArray[np.int64]
    empty: NDArray[np.int64]
    order: NDArray[np.int64]
    comparisons: ComparisonColumns
    binding: NDArray[np.int32]
    index_at: NDArray[np.int64]
    first_at: NDArray[np.int64]
    runs_at: NDArray[np.int64]
    count_at: NDArray[np.int64]
    chosen: NDArray[np.int64]
    cursor: NDArray[np.int64]
    bound: NDArray[np.int64]
    ends: NDArray[np.int64]


#: Places in the counters: look-ups in an index, rows looked at, rows joined, executions of the automaton that a
#: state without a row stopped, log entries passed over because some view is empty, rows that a comparison ruled out.
PROBES, CANDIDATES, JOINED, STOPPED, SKIPPED, PRUNED = 0, 1, 2, 3, 4, 5

#: The states are sorted anew when so many log entries (as a mask) have changed the views.
SORTED_FOR = 255


@kernel
def bind(views, pattern, which, row, bound):
    """Bind the variables of a triple pattern to a row; the variables then bound, or -1 where they disagree."""
    for column in range(3):
        if column == 0:
            value = views.subject[row]
        elif column == 1:
            value = views.predicate[row]
        else:
            value = views.object[row]
        term = pattern.terms[which, column]
        if term > 0:
            if term != value:
                return -1
        elif bound >> -term & 1:
            if pattern.binding[-term] != value:
                return -1
        else:
            pattern.binding[-term] = value
            bound |= np.int64(1) << -term
    return bound


@kernel
def narrow(pattern, which, bound, depth, count):
    """Let a sorted column serve a pattern where that leaves fewer than `count` rows; how many there are then."""
    ranges = pattern.comparisons.ranges
    for at in range(ranges.shape[0]):
        if ranges[at, 0] != which or not bound >> ranges[at, 2] & 1:
            continue
        a, b, c, d = value_range(pattern.comparisons, at, pattern.binding[ranges[at, 2]])
        if a >= 0 and b - a + d - c < count:
            count = b - a + d - c
            pattern.index_at[depth, which] = -1
            pattern.first_at[depth, which] = a if a < b else c
            pattern.runs_at[depth, which, 0] = b
            pattern.runs_at[depth, which, 1] = c
            pattern.runs_at[depth, which, 2] = d
    return count


@kernel
def place_after(runs, depth, which, place):
    """The place that follows in the runs of a sorted column, -1 after the last."""
    place += 1
    if place == runs[depth, which, 0]:
        place = runs[depth, which, 1]
    return place if place != runs[depth, which, 2] else np.int64(-1)


@kernel
def proceed(views, pattern, remaining, fresh, bound, depth, counters):
    """Put the remaining pattern with the fewest rows at `depth`; False where some pattern has none.

    Only the patterns with a variable of `fresh` are looked up, those with the smallest views first.
    """
    best = np.int64(-1)
    fewest = np.int64(1) << 62
    ranges = pattern.comparisons.ranges.shape[0]
    for place in range(pattern.order.shape[0]):
        which = pattern.order[place]
        if not remaining >> which & 1:
            continue
        if pattern.variables[which] & fresh:
            bits = 0
            s, p, o = pattern.terms[which, 0], pattern.terms[which, 1], pattern.terms[which, 2]
            if s > 0:
                bits |= 1
            elif bound >> -s & 1:
                bits |= 1
                s = pattern.binding[-s]
            if p > 0:
                bits |= 2
            elif bound >> -p & 1:
                bits |= 2
                p = pattern.binding[-p]
            if o > 0:
                bits |= 4
            elif bound >> -o & 1:
                bits |= 4
                o = pattern.binding[-o]
            index = pattern.index_of[bits]
            count = np.int64(-1)  # not reached yet: another pattern binds one of its variables first
            if index >= 0:
                counters[PROBES] += 1
                slot = find_slot(views.subject, views.predicate, views.object, views.lists, index, s, p, o)
                if slot < 0:
                    counters[STOPPED] += 1
                    return False
                count = np.int64(views.lists.counts[index, slot])
                pattern.index_at[depth, which] = index
                pattern.first_at[depth, which] = views.lists.heads[index, slot] - 1
                if ranges > 0:
                    count = narrow(pattern, which, bound, depth, count)
                    if count == 0:
                        counters[STOPPED] += 1
                        return False
        else:
            count = pattern.count_at[depth - 1, which]
            pattern.index_at[depth, which] = pattern.index_at[depth - 1, which]
            pattern.first_at[depth, which] = pattern.first_at[depth - 1, which]
            if ranges > 0:
                for run in range(3):
                    pattern.runs_at[depth, which, run] = pattern.runs_at[depth - 1, which, run]
        pattern.count_at[depth, which] = count
        if 0 <= count < fewest:
            fewest = count
            best = which
    pattern.chosen[depth] = best
    if best < 0:
        return False
    pattern.cursor[depth] = pattern.first_at[depth, best]
    return True


@kernel
def emit(pattern, out, written, at, sign, until):
    """Write the present bindings as a delta."""
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = until
    for column in range(pattern.projected.shape[0]):
        out.rows[written, column] = pattern.binding[pattern.projected[column]]
    return written + 1


@kernel
def match_log(views, log, first, last, pattern, counting, removals, extensions, lazy, only, position, out, counters):
    """Deltas of the log entries [first, last); returns (next entry, deltas written).

    Stops early, between two entries, when `out` is full. `removals` and `extensions` say whether
    anybody asks for matches that expire and for ends that move; matches that a deletion ends are always
    told. A match that ends at the very instant at which it would enter is none. Where the evaluation is
    `lazy`, nothing is joined at an entry where the view of some pattern is empty. With `only` a pattern's
    number (otherwise -1) the entries are all rows of the window, looked at as of `position`, and each match
    is found at that pattern.
    """
    patterns = pattern.terms.shape[0]
    every = (np.int64(1) << patterns) - 1
    compares = pattern.comparisons.pairs.shape[0] > 0
    room = out.at.shape[0]
    written = 0
    instant = np.int64(-1) << 62
    known = -1  # log position before the first row that entered at this instant, -1 for none so far
    entry = first
    while entry > 0 and only < 0 and log.at[entry - 1] == log.at[first]:
        entry -= 1
        if log.kind[entry] == ENTERED:
            known = entry
    if known >= 0:
        instant = log.at[first]
    for entry in range(first, last):
        kind = log.kind[entry]
        at = log.at[entry]
        if at != instant:
            instant = at
            known = -1
        if kind == ENTERED and known < 0:
            known = entry
        if kind == EXTENDED and not extensions:
            continue
        changed = log.row[entry]
        change = np.sign(np.int64(kind))
        if only < 0:
            position = entry + 1 if kind >= 0 else entry
            if entry & SORTED_FOR == 0 or entry == first:
                sort_states(pattern)
            starts = count_row(views, pattern, changed, change)
        else:
            starts = np.int64(1) << only
        if starts == 0 or (kind == EXPIRED and not removals):
            continue
        if lazy and pattern.empty[0] & ~starts:
            counters[SKIPPED] += 1
            continue
        before = written
        # what entered at this instant has made no match with what expires at it
        newest = known if kind == EXPIRED and known >= 0 and not counting else position
        for start in range(patterns):
            if not starts >> start & 1:
                continue
            bound = bind(views, pattern, start, changed, np.int64(0))
            if bound < 0:
                continue
            if compares and not admitted(pattern.comparisons, pattern.binding, bound, bound):
                counters[PRUNED] += 1
                continue
            pattern.ends[0, 1] = end_at(views, changed, position)
            pattern.ends[0, 0] = end_at(views, changed, position - 1) if kind == EXTENDED else pattern.ends[0, 1]
            pattern.bound[0] = bound
            pattern.chosen[0] = start
            remaining = every & ~(np.int64(1) << start)
            fresh = np.int64(-1)
            depth = 0
            descend = True
            while True:
                if descend:
                    if remaining == 0:
                        # a match: every pattern has a row
                        if written + 2 > room:
                            if only < 0:
                                count_row(views, pattern, changed, -change)
                            return entry, before
                        was, now = pattern.ends[depth, 0], pattern.ends[depth, 1]
                        if counting:
                            was = FOREVER
                            now = FOREVER
                        if kind == EXTENDED:
                            if was != now:
                                written = emit(pattern, out, written, at, -1, was)
                                written = emit(pattern, out, written, at, 1, now)
                        elif kind < 0:
                            written = emit(pattern, out, written, at, -1, now)
                        elif only >= 0 or now > at:
                            written = emit(pattern, out, written, at, 1, now)
                        descend = False
                    elif proceed(views, pattern, remaining, fresh, pattern.bound[depth], depth + 1, counters):
                        depth += 1
                        remaining &= ~(np.int64(1) << pattern.chosen[depth])
                    else:
                        descend = False
                if not descend and depth == 0:
                    break
                # take the next row of the pattern at this depth
                which = pattern.chosen[depth]
                place = pattern.cursor[depth]
                index = pattern.index_at[depth, which]
                above = pattern.bound[depth - 1]
                descend = False
                while place >= 0:
                    counters[CANDIDATES] += 1
                    if index >= 0:
                        here = place
                        place = np.int64(views.lists.after[index, place])
                    else:
                        here = np.int64(pattern.comparisons.rows[place])
                        place = place_after(pattern.runs_at, depth, which, place)
                    if views.born[here] > newest or views.gone[here] <= position:
                        continue
                    if here == changed and which < start and only < 0:
                        continue  # found at the first of its states that the changed triple matches
                    bound = bind(views, pattern, which, here, above)
                    if bound < 0:
                        continue
                    fresh = bound & ~above
                    if compares and not admitted(pattern.comparisons, pattern.binding, bound, fresh):
                        counters[PRUNED] += 1
                        continue
                    counters[JOINED] += 1
                    pattern.cursor[depth] = place
                    pattern.bound[depth] = bound
                    now = end_at(views, here, position)
                    was = end_at(views, here, position - 1) if kind == EXTENDED else now
                    pattern.ends[depth, 0] = min(pattern.ends[depth - 1, 0], was)
                    pattern.ends[depth, 1] = min(pattern.ends[depth - 1, 1], now)
                    descend = True
                    break
                if not descend:
                    remaining |= np.int64(1) << which
                    depth -= 1
    return last, written
