"""How many rows the view of each triple pattern holds, counted while the log is walked.

A row is counted in at the entry that says it entered and out at the one that says it went, so the
numbers are those of the window at every position of the log.
"""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel


@kernel
def fits(pattern, which, subject, predicate, obj):
    """Whether a triple matches a triple pattern by itself: its constants, and a variable that occurs twice.

    Which pattern a triple matches is chance, so there is no branch to be guessed.
    """
    s, p, o = pattern.terms[which, 0], pattern.terms[which, 1], pattern.terms[which, 2]
    return (
        ((p <= 0) | (p == predicate))
        & ((o <= 0) | (o == obj))
        & ((s <= 0) | (s == subject))
        & ((s != p) | (subject == predicate))
        & ((s != o) | (subject == obj))
        & ((p != o) | (predicate == obj))
    )


@kernel
def count_row(views, pattern, row, change):
    """Count a row into (1) or out of (-1) the views of the triple patterns that it matches; these, as bits.

    `pattern.empty` gets the bits of the patterns whose views hold nothing.
    """
    matched = np.int64(0)
    empty = np.int64(0)
    subject, predicate, obj = views.subject[row], views.predicate[row], views.object[row]
    for which in range(pattern.terms.shape[0]):
        match = np.int64(fits(pattern, which, subject, predicate, obj))
        matched |= match << which
        held = pattern.held[which] + match * change
        pattern.held[which] = held
        empty |= np.int64(held == 0) << which
    pattern.empty[0] = empty
    return matched


@kernel
def sort_states(pattern):
    """Put the smallest views first in `pattern.order`, which is nearly sorted already."""
    order, held = pattern.order, pattern.held
    for last in range(1, order.shape[0]):
        which = order[last]
        place = last
        while place > 0 and held[order[place - 1]] > held[which]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = which
