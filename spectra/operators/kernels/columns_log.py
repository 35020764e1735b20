"""PATH by columns along the log of a batch: what an edge that comes, goes or is over changes."""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.operators.kernels.automaton import count_term, emit_change
from spectra.operators.kernels.columns import (
    BEFORE_COLUMNS,
    BEFORE_HUBS,
    BEGIN,
    COLLECT,
    CURSOR,
    DELETE,
    ENDS,
    EXPIRED_LIFE,
    FINISH,
    FLOOR,
    HELD,
    HOLD,
    INSTANT,
    LIMIT,
    PAIRS,
    PHASE,
    PURGE,
    RELAX,
    REPORT,
    ROOTS,
    collect_ending,
    free_roots,
    pair_life,
    put_arc,
    review_root,
)
from spectra.operators.kernels.columns_deletion import delete_edge
from spectra.operators.kernels.columns_search import relax
from spectra.operators.kernels.containers import DUE_BITS, REVIEWED, ROWS, STRIDE, free_row, purge
from spectra.operators.kernels.hubs import forget_covers, hold, let_die, review
from spectra.views.kernels.apply import DELETED, EXPIRED

# so many are told apart
_INSTANTS = np.int64((1 << 31) - 1)


@kernel
def purge_table(table, gains, hubs, of_nodes, rows_by, expired, roots, forever):
    """Let the columns of a table go that are over; `rows_by` says where each is. Hubs reach those `of_nodes`."""
    for part in range((table.held[ROWS] + STRIDE - 1) >> DUE_BITS):
        if table.due[part] > expired:
            continue
        due = forever
        for row in range(part << DUE_BITS, min(table.held[ROWS], (part + 1) << DUE_BITS)):
            table.held[REVIEWED] += 1
            if table.least[row] <= expired:  # those given back last for ever
                if of_nodes:
                    left = review(table, gains, hubs, row, expired, roots, forever)
                else:
                    left = purge(table, gains, row, expired, roots, forever) > 0
                if not left:
                    rows_by[table.vertex[row], table.state[row]] = 0
                    free_row(table, row, forever)
            due = min(due, np.int64(table.least[row]))
        table.due[part] = due


@kernel
def purge_all(columns, arcs, sources, gains, roots, hubs, work, forever):
    """Let everything go that is over up to the limit."""
    work[EXPIRED_LIFE] = work[LIMIT]
    work[FLOOR] = max(work[FLOOR], work[LIMIT])
    free_roots(columns, roots, hubs, work, forever)
    forget_covers(hubs)
    purge_table(columns, gains, hubs, True, roots.node, work[EXPIRED_LIFE], work[ROOTS], forever)
    # always lists
    purge_table(arcs, gains, hubs, False, roots.arc, work[EXPIRED_LIFE], 0, forever)
    if hubs.ahead.shape[2] > 0:
        purge_table(sources, gains, hubs, False, hubs.source, work[EXPIRED_LIFE], 0, forever)


@kernel
def hold_ending(columns, gains, roots, hubs, none, work, limit, forever):
    """Let columns hold what hubs tell no longer than to a limit, which then is told by cells; False for want of room.

    Otherwise a life that is about to end could meet one that has just begun, and tell of a pair that never was.
    """
    if hubs.ahead.shape[2] > 0:
        if not hold(columns, gains, roots.node, hubs, none, work[EXPIRED_LIFE], limit, work[ROOTS], forever):
            return False
        let_die(columns, roots.node, hubs, work[EXPIRED_LIFE], limit, work[ROOTS])
    work[HELD] = limit
    return True


@kernel
def follow_log(
    views, log, first, last, columns, arcs, sources, gains, roots, hubs, none, search, lanes, pairs, work, ends, terms,
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
            floor = work[FLOOR]
            while not counting and work[FLOOR] < work[ENDS] and ends.end[work[FLOOR] + 1] <= at:
                work[FLOOR] += 1
            if work[FLOOR] > floor:
                forget_covers(hubs)
            work[PHASE] = RELAX
            if work[FLOOR] > max(work[EXPIRED_LIFE], work[HELD]):
                work[PHASE] = HOLD
            if kind == DELETED:
                work[PHASE] = DELETE
            elif kind == EXPIRED:
                ends.edge[row] = 0
                work[LIMIT] = ends.entry[entry]
                work[PHASE] = FINISH
                if work[LIMIT] > work[EXPIRED_LIFE]:
                    work[PHASE] = HOLD if removals else PURGE
            else:
                ends.edge[row] = ends.entry[entry]
        if work[PHASE] == HOLD:
            limit = work[LIMIT] if kind == EXPIRED else work[FLOOR]
            if not hold_ending(columns, gains, roots, hubs, none, work, limit, forever):
                return entry, written
            work[PHASE] = COLLECT if kind == EXPIRED else RELAX
        if work[PHASE] == RELAX:
            if not relax(
                views, columns, arcs, sources, gains, roots, hubs, search, pairs, work, ends, terms, automaton, row,
                extensions and not counting,
            ):  # fmt: skip
                return entry, written
            # The edges that enter at one instant are told together, or a result would be told with the end of
            # the first path that is found, though a wider one enters with the next edge.
            together = entry + 1 < last and log.kind[entry + 1] == kind and log.at[entry + 1] == at
            work[PHASE] = FINISH if together else REPORT
        if work[PHASE] == DELETE:
            if hubs.ahead.shape[2] > 0:
                return entry, written  # columns follow deletions without
            if not delete_edge(views, columns, arcs, roots, lanes, pairs, work, ends, automaton, row):
                return entry, written
            work[PHASE] = REPORT
        if work[PHASE] == COLLECT:
            if not collect_ending(columns, roots, hubs, pairs, work, automaton, work[LIMIT]):
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
                if before == 0 and not extensions:
                    after = pair_life(columns, roots, hubs, search, work, automaton, number, root, vertex, after)
                written = emit_change(
                    automaton, out, written, at, ends.end[before], ends.end[after], roots.term[root], vertex,
                    counting, extensions,
                )  # fmt: skip
            work[CURSOR] = 0
            work[PAIRS] = 0
            work[BEFORE_HUBS] = 0
            work[BEFORE_COLUMNS] = 0
            work[INSTANT] = (work[INSTANT] + 1) & _INSTANTS
            work[PHASE] = PURGE if kind == EXPIRED else FINISH
            if kind == DELETED:
                review_root(columns, arcs, roots, hubs, work, automaton, views.subject[row])
                review_root(columns, arcs, roots, hubs, work, automaton, views.object[row])
        if work[PHASE] == PURGE:
            purge_all(columns, arcs, sources, gains, roots, hubs, work, forever)
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


@kernel
def turn_arcs(arcs, sources, arc_of, source_of, forever):
    """Let all edges be found from their targets, too; False for want of room."""
    for source in range(arc_of.shape[0]):  # in order, so that lists grow at their ends
        for group in range(arc_of.shape[1]):
            arc = np.int64(arc_of[source, group] - 1)
            if arc < 0:
                continue
            for entry in range(arcs.offset[arc], arcs.offset[arc] + arcs.entries[arc]):
                life = np.int64(arcs.entry_life[entry])
                if not put_arc(sources, source_of, arcs.entry_root[entry], group, source, life, forever):
                    return False
    return True
