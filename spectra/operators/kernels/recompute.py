"""All matches of a basic graph pattern, found anew at every instant at which the window has changed."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, find_exact, remove_row
from spectra.operators.kernels.tpjoin import match_log
from spectra.views.kernels.apply import visible
from spectra.views.kernels.index import find_slot


@kernel
def put_smallest_first(views, pattern):
    """Make the triple pattern with the fewest triples the first one; (its first row or -1, the index of its rows)."""
    smallest = 0
    fewest = np.int64(1) << 62
    row = np.int64(-1)
    driver = np.int64(0)
    for which in range(pattern.terms.shape[0]):
        s, p, o = pattern.terms[which, 0], pattern.terms[which, 1], pattern.terms[which, 2]
        index = pattern.index_of[(s > 0) + 2 * (p > 0) + 4 * (o > 0)]
        slot = find_slot(views.subject, views.predicate, views.object, views.lists, index, s, p, o)
        if slot < 0:
            return np.int64(-1), driver
        if views.lists.counts[index, slot] < fewest:
            fewest = np.int64(views.lists.counts[index, slot])
            smallest = which
            row = np.int64(views.lists.heads[index, slot] - 1)
            driver = index
    for column in range(3):
        term = pattern.terms[0, column]
        pattern.terms[0, column] = pattern.terms[smallest, column]
        pattern.terms[smallest, column] = term
    return row, driver


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
def rejoin_log(views, log, first, last, pattern, counting, driving, found, table, seen, out, counters):
    """Deltas of the log entries [first, last); returns (next entry, deltas written, matches held).

    The entries of one instant are taken together. `driving` has room for the rows from which the joins
    start, `found` for the matches; `table` holds those of the instant before and `seen` is room beside
    it. Stops early, between two instants, where room runs out.
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
        row, index = put_smallest_first(views, pattern)
        rows = 0
        while row >= 0:
            if visible(views, row, position):
                driving.row[rows] = row
                rows += 1
            row = np.int64(views.lists.after[index, row])
        done, matches = match_log(
            views, driving, 0, rows, pattern, counting, True, True, True, position, found, counters
        )
        if done < rows or table.size[1] < matches or written + matches + held > out.at.shape[0]:
            return entry, written, held
        written = tell_difference(table, seen, found, matches, log.at[entry], out, written)
        held = np.int64(matches)
        counters[2] += 1
        entry = position
    return last, written, held
