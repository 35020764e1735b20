"""LM-SRPQ along the log of a batch: landmarks settle before roots, and then the pairs are told."""

from __future__ import annotations

import numpy as np

from spectra.clock import NO_END
from spectra.jit import kernel
from spectra.operators.kernels.automaton import count_term
from spectra.operators.kernels.delta_trees import FIRST, SLIDES, drop_slide, slide_end
from spectra.operators.kernels.landmark import (
    AFFECTED,
    BEGIN,
    CURSOR,
    FINISH,
    LIMIT,
    MARK,
    PHASE,
    RESELECT,
    SEED_LANDMARKS,
    SEED_ROOTS,
    SETTLE_LANDMARKS,
    SETTLE_ROOTS,
    TELL,
)
from spectra.operators.kernels.landmark_deletion import mark_deleted, rederive
from spectra.operators.kernels.landmark_results import forget, note_slide, tell
from spectra.operators.kernels.landmark_search import grow, seed_edge, settle
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, end_at


@kernel
def follow_log(
    views, log, first, last, trees, marks, heap, gains, told, affected, work, terms, automaton, counting, removals,
    extensions, out,
):  # fmt: skip
    """Deltas of the log entries [first, last); returns (entry to go on with, deltas written).

    Stops where an array is full, and where a slide is over and landmarks may be chosen anew; `work` knows how far the
    entry has come.
    """
    written = 0
    entry = first
    while entry < last:
        kind, at = log.kind[entry], log.at[entry]
        # the edges that enter at one instant are followed together, see spath
        behind = entry + 1
        while kind == ENTERED and behind < last and log.kind[behind] == ENTERED and log.at[behind] == at:
            behind += 1
        floor = np.int64(NO_END) if counting else at
        if work[PHASE] == BEGIN:
            if work[RESELECT] and kind != EXPIRED:
                return entry, written
            if kind == EXPIRED:
                limit = end_at(views, log.row[entry], entry)
                over = trees.size[SLIDES] > 0 and slide_end(trees, trees.size[FIRST]) <= limit
                if over and removals and not note_slide(trees, gains, work):
                    return entry, written
                if over:
                    drop_slide(trees)
                    work[RESELECT], work[LIMIT] = 1, limit
                work[PHASE] = TELL if over else FINISH
            else:
                work[PHASE] = MARK if kind == DELETED else SEED_LANDMARKS
            work[CURSOR] = 0
        if work[PHASE] == MARK:
            if not mark_deleted(views, trees, marks, gains, affected, work, automaton, log.row[entry]):
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = SEED_LANDMARKS
        if work[PHASE] == SEED_LANDMARKS:
            if kind == DELETED and not rederive(
                views, trees, marks, heap, gains, work, automaton, behind, floor
            ):  # fmt: skip
                return entry, written
            if kind != DELETED:
                for seeded in range(entry, behind):
                    if not seed_edge(
                        views, trees, marks, heap, work, terms, automaton, log.row[seeded], behind, floor, True
                    ):  # fmt: skip
                        return entry, written
            work[PHASE] = SETTLE_LANDMARKS
        if work[PHASE] == SETTLE_LANDMARKS:
            if not settle(views, trees, marks, heap, gains, work, automaton, behind, floor):
                return entry, written
            work[PHASE] = SEED_ROOTS
        if work[PHASE] == SEED_ROOTS:
            if kind == DELETED:
                for i in range(work[AFFECTED]):
                    if not grow(
                        views, trees, marks, heap, work, automaton, np.int64(affected[i]), behind, floor
                    ):  # fmt: skip
                        return entry, written
            else:
                for seeded in range(entry, behind):
                    if not seed_edge(
                        views, trees, marks, heap, work, terms, automaton, log.row[seeded], behind, floor, False
                    ):  # fmt: skip
                        return entry, written
            work[PHASE] = SETTLE_ROOTS
        if work[PHASE] == SETTLE_ROOTS:
            if not settle(views, trees, marks, heap, gains, work, automaton, behind, floor):
                return entry, written
            work[CURSOR] = 0
            work[PHASE] = TELL
        if work[PHASE] == TELL:
            # what a landmark leads to may enter and end at one instant; where both are told they cancel
            least = np.int64(NO_END) if removals else floor
            written, done = tell(
                trees, marks, gains, told, work, terms, automaton, out, written, at, least, counting, extensions
            )  # fmt: skip
            if not done:
                return entry, written
            forget(trees, gains, told, affected, work)
            if kind == EXPIRED:  # more than one slide may be over
                work[PHASE] = BEGIN
                continue
            work[PHASE] = FINISH
        if automaton.flags[1]:
            for counted in range(entry, behind):
                if written + 4 > out.at.shape[0]:
                    return counted, written
                for side in range(2):
                    written = count_term(
                        views, terms, automaton, out, written, at, kind, log.row[counted], side, counted + 1,
                        counting, removals, extensions,
                    )  # fmt: skip
        work[PHASE] = BEGIN
        entry = behind
    return last, written
