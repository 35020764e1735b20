"""Rows -> indexes that were not there when the rows came."""

from __future__ import annotations

from spectra.jit import kernel
from spectra.views.kernels.index import link


@kernel
def link_rows(views, index, rows):
    """Put each of the rows into all of some indexes."""
    for at in range(rows.shape[0]):
        link(views.subject, views.predicate, views.object, index, rows[at])
