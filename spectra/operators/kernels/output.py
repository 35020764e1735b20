"""Room for the deltas that a kernel writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class OutputColumns(NamedTuple):
    """The columns of `Deltas`, with room."""

    at: NDArray[np.int64]
    sign: NDArray[np.int8]
    until: NDArray[np.int64]
    rows: NDArray[np.int32]


def new_output(room: int, width: int) -> OutputColumns:
    """Room for so many deltas with rows of so many columns."""
    return OutputColumns(
        at=np.empty(room, np.int64),
        sign=np.empty(room, np.int8),
        until=np.empty(room, np.int64),
        rows=np.empty((room, width), np.int32),
    )
