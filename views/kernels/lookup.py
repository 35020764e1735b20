"""Triples -> the rows of a window that hold them."""

from __future__ import annotations

from spectra.jit import kernel
from spectra.views.kernels.apply import find_live


@kernel
def find_rows(views, triples, rows):
    """Write the live row of each of the triples (n, 3) to `rows`, -1 where there is none."""
    for at in range(triples.shape[0]):
        rows[at] = find_live(views, triples[at, 0], triples[at, 1], triples[at, 2])
