"""How many rows the view of each triple pattern holds, counted while the log is walked.

A row is counted in at the entry that says it entered and out at the one that says it went, so the
numbers are those of the window at every position of the log.
"""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel


@kernel
def fits(pattern, which, subject, predicate, obj):
    """Whether a triple matches a triple pattern by itself: its constants, and a variable that occurs twice."""
    s, p, o = pattern.terms[which, 0], pattern.terms[which, 1], pattern.terms[which, 2]
    return (
        (p <= 0 or p == predicate)
        and (o <= 0 or o == obj)
        and (s <= 0 or s == subject)
        and (s != p or subject == predicate)
        and (s != o or subject == obj)
        and (p != o or predicate == obj)
    )


@kernel
def count_row(views, pattern, row, change):
    """Count a row into (1) or out of (-1) the views of the triple patterns that it matches; these, as bits.

    `pattern.order` stays sorted by the numbers.
    """
    matched = np.int64(0)
    order, held = pattern.order, pattern.held
    subject, predicate, obj = views.subject[row], views.predicate[row], views.object[row]
    for which in range(pattern.terms.shape[0]):
        if not fits(pattern, which, subject, predicate, obj):
            continue
        matched |= np.int64(1) << which
        held[which] += change
        place = 0
        while order[place] != which:
            place += 1
        while place > 0 and held[order[place - 1]] > held[which]:
            order[place] = order[place - 1]
            place -= 1
        while place + 1 < order.shape[0] and held[order[place + 1]] < held[which]:
            order[place] = order[place + 1]
            place += 1
        order[place] = which
    return matched


@kernel
def lacks_rows(pattern, matched):
    """Whether the view of some triple pattern other than the `matched` ones is empty."""
    for place in range(pattern.order.shape[0]):
        which = pattern.order[place]
        if pattern.held[which] > 0:
            return False
        if not matched >> which & 1:
            return True
    return False
