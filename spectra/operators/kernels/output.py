"""Room for the deltas that a kernel writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.errors import ResourceError


class OutputColumns(NamedTuple):
    """The columns of `Deltas`, with room."""

    at: NDArray[np.int64]
    sign: NDArray[np.int8]
    until: NDArray[np.int64]
    rows: NDArray[np.int32]


#: What one step of one operator may tell at once; more is a product that nobody meant.
MOST_DELTAS = 1 << 26


def new_output(room: int, width: int) -> OutputColumns:
    """Room for so many deltas with rows of so many columns."""
    if room > MOST_DELTAS:
        raise ResourceError(
            f"one step of a query gives more than {MOST_DELTAS // 4:,} changes",
            detail="They come from patterns that share no variable, or from a vertex that nearly all others share.",
            hint="Join the patterns by a variable, add a constant or a FILTER, or narrow the window.",
        )
    return OutputColumns(
        at=np.empty(room, np.int64),
        sign=np.empty(room, np.int8),
        until=np.empty(room, np.int64),
        rows=np.empty((room, width), np.int32),
    )
