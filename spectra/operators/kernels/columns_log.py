"""PATH by columns along the log of a batch: what an edge that comes, goes or is over changes."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.automaton import count_term, emit_change
from spectra.operators.kernels.columns import (
    BEGIN,
    COLLECT,
    CURSOR,
    DELETE,
    ENDS,
    EXPIRED_LIFE,
    FINISH,
    FLOOR,
    LIMIT,
    PAIRS,
    PHASE,
    PURGE,
    RELAX,
    REPORT,
    ROOTS,
    SEARCHES,
    collect_ending,
    free_roots,
    pair_life,
    relax,
    review_root,
)
from spectra.operators.kernels.columns_deletion import delete_edge
from spectra.operators.kernels.containers import DUE_BITS, NONE, REVIEWED, ROWS, STRIDE, free_row, purge
from spectra.views.kernels.apply import DELETED, EXPIRED


@kernel
def purge_table(table, gains, rows_by, expired, roots, forever):
    """Let the columns of a table go that are over; `rows_by` says where each is."""
    for part in range((table.held[ROWS] + STRIDE - 1) >> DUE_BITS):
        if table.due[part] > expired:
            continue
        due = forever
        for row in range(part << DUE_BITS, min(table.held[ROWS], (part + 1) << DUE_BITS)):
            table.held[REVIEWED] += 1
            if table.kind[row] != NONE and table.least[row] <= expired:
                if purge(table, gains, row, expired, roots, forever) == 0:
                    rows_by[table.vertex[row], table.state[row]] = 0
                    free_row(table, row)
            if table.kind[row] != NONE:
                due = min(due, np.int64(table.least[row]))
        table.due[part] = due


@kernel
def purge_all(columns, arcs, gains, roots, work, forever):
    """Let everything go that is over up to the limit."""
    work[EXPIRED_LIFE] = work[LIMIT]
    work[FLOOR] = max(work[FLOOR], work[LIMIT])
    free_roots(columns, roots, work, forever)
    purge_table(columns, gains, roots.node, work[EXPIRED_LIFE], work[ROOTS], forever)
    purge_table(arcs, gains, roots.arc, work[EXPIRED_LIFE], 0, forever)  # always lists


@kernel
def follow_log(
    views, log, first, last, columns, arcs, gains, roots, search, lanes, pairs, work, ends, terms,
    automaton, counting, removals, extensions, out,
):  # fmt: skip
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full; `work` knows how far the entry has come.
    """
    written = 0
    room = out.at.shape[0]
    forever = np.int64(ends.end.shape[0] - 1)
    for entry in range(first, last):
        kind, row, at = log.kind[entry], log.row[entry], log.at[entry]
        if work[PHASE] == BEGIN:
            # What expires at this very instant is still there, but nothing new is built on it. In a count
            # window, ends are no times: there what is built goes again at the same instant.
            while not counting and work[FLOOR] < work[ENDS] and ends.end[work[FLOOR] + 1] <= at:
                work[FLOOR] += 1
            work[PHASE] = RELAX
            if kind == DELETED:
                work[PHASE] = DELETE
            elif kind == EXPIRED:
                ends.edge[row] = 0
                work[LIMIT] = ends.entry[entry]
                work[PHASE] = FINISH
                if work[LIMIT] > work[EXPIRED_LIFE]:
                    work[PHASE] = COLLECT if removals else PURGE
            else:
                ends.edge[row] = ends.entry[entry]
        if work[PHASE] == RELAX:
            if not relax(
                views, columns, arcs, gains, roots, search, pairs, work, ends, terms, automaton, row,
                extensions and not counting,
            ):  # fmt: skip
                return entry, written
            # The edges that enter at one instant are told together, or a result would be told with the end of
            # the first path that is found, though a wider one enters with the next edge.
            together = entry + 1 < last and log.kind[entry + 1] == kind and log.at[entry + 1] == at
            work[PHASE] = FINISH if together else REPORT
        if work[PHASE] == DELETE:
            if not delete_edge(views, columns, arcs, roots, lanes, pairs, work, ends, automaton, row):
                return entry, written
            work[PHASE] = REPORT
        if work[PHASE] == COLLECT:
            if not collect_ending(columns, roots, pairs, work, automaton, work[LIMIT]):
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = REPORT
        if work[PHASE] == REPORT:
            while work[CURSOR] < work[PAIRS]:
                if written + 2 > room:
                    return entry, written
                number = work[CURSOR]
                work[CURSOR] += 1
                root, vertex = pairs.root[number], pairs.vertex[number]
                before, after = pairs.before[number], pairs.after[number]
                if before == 0 and work[SEARCHES] > 1 and not extensions:
                    after = pair_life(columns, roots, automaton, root, vertex)
                written = emit_change(
                    automaton, out, written, at, ends.end[before], ends.end[after], roots.term[root], vertex,
                    counting, extensions,
                )  # fmt: skip
            work[CURSOR] = 0
            work[PAIRS] = 0
            work[SEARCHES] = 0
            work[PHASE] = PURGE if kind == EXPIRED else FINISH
            if kind == DELETED:
                review_root(columns, arcs, roots, work, automaton, views.subject[row])
                review_root(columns, arcs, roots, work, automaton, views.object[row])
        if work[PHASE] == PURGE:
            purge_all(columns, arcs, gains, roots, work, forever)
            work[PHASE] = FINISH
        if automaton.flags[1]:
            if written + 4 > room:
                return entry, written
            for side in range(2):
                written = count_term(
                    views, terms, automaton, out, written, at, kind, row, side, entry + 1,
                    counting, removals, extensions,
                )  # fmt: skip
        work[PHASE] = BEGIN
    return last, written
