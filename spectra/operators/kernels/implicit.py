"""Which rows have been given, and not been taken back."""

from __future__ import annotations

import numpy as np

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, find_exact, remove_row


@kernel
def implicit_deltas(given, at, sign, rows, out):
    """Add rows that are not there and remove those that are, in order; how many deltas that makes."""
    written = 0
    for i in range(at.shape[0]):
        row = rows[i]
        known = given.exact[find_exact(given, row, np.int64(FOREVER))] > 0
        if known == (sign[i] > 0):
            continue
        if known:
            remove_row(given, row, np.int64(FOREVER))
        else:
            add_row(given, row, np.int64(FOREVER))
        out.at[written] = at[i]
        out.sign[written] = sign[i]
        out.until[written] = FOREVER
        for column in range(row.shape[0]):
            out.rows[written, column] = row[column]
        written += 1
    return written
