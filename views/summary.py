"""Query-based summarisation: which triples of a stream some registered query can use.

The test is on hashes, next to the parser, before anything is encoded or stored. A hash that
collides lets a useless triple through; the operators compare ids, so no answer changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spectra.views.kernels.summary import SummaryColumns, mark_usable

_Key = TypeVar("_Key")

#: Triple patterns (subject, predicate, object), None for a variable; by text, by hash or by id.
Wanted = set[tuple[_Key | None, _Key | None, _Key | None]]


class Summary:
    """The union of what the queries on one stream can use."""

    def __init__(self, wanted: Iterable[tuple[int | None, int | None, int | None]], *, keep_all: bool = False) -> None:
        """`wanted`: one (subject, predicate, object) of hashes or ids per triple pattern, None for a variable."""
        rows = sorted(set(wanted), key=lambda row: (row[1] is not None, row[1] or 0, repr(row)))
        self.keep_all = keep_all or any(row == (None, None, None) for row in rows)
        self.columns = SummaryColumns(
            keep_all=np.array([self.keep_all], np.uint8),
            anywhere=np.array([sum(row[1] is None for row in rows)], np.int64),
            hashes=np.array([[part or 0 for part in row] for row in rows], np.int64).reshape(-1, 3),
            fixed=np.array([[part is not None for part in row] for row in rows], np.bool_).reshape(-1, 3),
        )

    def usable(self, triples: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows of (subject, predicate, object) some query can use; hashes or ids, as the summary has them."""
        usable = np.ones(len(triples), np.bool_)
        if not self.keep_all:
            mark_usable(self.columns, triples, usable)
        return usable

    @classmethod
    def everything(cls) -> Summary:
        return cls((), keep_all=True)
