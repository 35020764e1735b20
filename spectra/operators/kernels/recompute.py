"""All matches of a basic graph pattern, found anew at every instant at which the window has changed."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.cardinality import count_row, sort_states
from spectra.operators.kernels.rows import add_row, find_exact, remove_row
from spectra.operators.kernels.tpjoin import PRUNED, SKIPPED, match_log
from spectra.views.kernels.apply import visible
from spectra.views.kernels.index import find_slot

#: A place in the counters, after those of the automaton: how often all was computed.
EVALUATIONS = PRUNED + 1


@kernel
def count_rows(views, log, first, last, pattern, sign):
    """Count the rows of the log entries [first, last) into and out of the views; with `sign` -1 take that back."""
    for entry in range(first, last):
        count_row(views, pattern, log.row[entry], sign * np.sign(np.int64(log.kind[entry])))


@kernel
def rows_of(views, pattern, which, position, rows):
    """Fill `rows` with the rows of the view of a triple pattern that are there at a log position; how many."""
    s, p, o = pattern.terms[which, 0], pattern.terms[which, 1], pattern.terms[which, 2]
    index = pattern.index_of[(s > 0) + 2 * (p > 0) + 4 * (o > 0)]
    slot = find_slot(views.subject, views.predicate, views.object, views.lists, index, s, p, o)
    count = 0
    row = np.int64(views.lists.heads[index, slot] - 1) if slot >= 0 else np.int64(-1)
    while row >= 0:
        if visible(views, row, position):
            rows[count] = row
            count += 1
        row = np.int64(views.lists.after[index, row])
    return count


@kernel
def tell_row(out, written, at, sign, until, row):
    """Write a row as a delta."""
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = until
    for column in range(row.shape[0]):
        out.rows[written, column] = row[column]
    return written + 1


@kernel
def tell_difference(table, seen, found, matches, at, out, written):
    """Make `table` hold the matches just found, and tell what it did not hold and what it no longer holds."""
    for match in range(matches):
        place = find_exact(table, found.rows[match], found.until[match])
        entry = table.exact[place] - 1
        if entry < 0 or seen[entry] == table.copies[entry]:
            add_row(table, found.rows[match], found.until[match])
            entry = table.exact[place] - 1
            written = tell_row(out, written, at, 1, found.until[match], found.rows[match])
        seen[entry] += 1
    for entry in range(seen.shape[0]):
        for _ in range(table.copies[entry] - seen[entry]):
            written = tell_row(out, written, at, -1, table.until[entry], table.rows[entry])
            remove_row(table, table.rows[entry], table.until[entry])
        seen[entry] = 0
    return written


@kernel
def rejoin_log(views, log, first, last, pattern, counting, lazy, driving, found, table, seen, out, counters):
    """Deltas of the log entries [first, last); returns (next entry, deltas written, matches held).

    The entries of one instant are taken together. The joins start from the smallest view, for whose rows `driving`
    has room; where the evaluation is `lazy` there are none while some view is empty. `found` has room for the
    matches; `table` holds those of the instant before and `seen` is room beside it. Stops early, between two
    instants, where room runs out.
    """
    written = 0
    held = np.int64(0)
    for entry in range(table.copies.shape[0]):
        held += table.copies[entry]
    entry = first
    while entry < last:
        position = entry + 1
        while position < last and log.at[position] == log.at[entry]:
            position += 1
        count_rows(views, log, entry, position, pattern, 1)
        sort_states(pattern)
        smallest = pattern.order[0]
        matches = np.int64(0)
        if lazy and pattern.empty[0] != 0:
            counters[SKIPPED] += position - entry
        else:
            rows = rows_of(views, pattern, smallest, position, driving.row)
            done, matches = match_log(
                views, driving, 0, rows, pattern, counting, True, True, False, smallest, position, found, counters
            )
            counters[EVALUATIONS] += 1
            if done < rows:
                matches = np.int64(-1)
        if matches < 0 or table.size[1] < matches or written + matches + held > out.at.shape[0]:
            count_rows(views, log, entry, position, pattern, -1)
            return entry, written, held
        if matches + held > 0:
            written = tell_difference(table, seen, found, matches, log.at[entry], out, written)
        held = np.int64(matches)
        entry = position
    return last, written, held
