"""Tables of columns in adaptive containers: making, growing, packing, and giving lives another rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.operators.kernels.containers import (
    BLOCK_USED,
    BLOCK_WANTED,
    DUE_BITS,
    FREE_ROWS,
    LIST_USED,
    LIST_WANTED,
    REVIEWED,
    ROWS,
    STRIDE,
    ColumnTable,
    repack,
)

_LEAST_ARENA = 1024
_SIZES = 48
_OF_ROWS = ("vertex", "state", "kind", "size", "offset", "entries", "least", "free")


def new_table(rows: int, lives: type[np.unsignedinteger[Any]]) -> ColumnTable:
    """Room for so many columns, with lives of a type."""
    return ColumnTable(
        vertex=np.zeros(rows, np.int32),
        state=np.zeros(rows, np.int32),
        kind=np.zeros(rows, np.int8),
        size=np.zeros(rows, np.int64),
        offset=np.zeros(rows, np.int64),
        entries=np.zeros(rows, np.int32),
        least=np.zeros(rows, lives),
        due=np.zeros((rows >> DUE_BITS) + 1, lives),
        free=np.zeros(rows, np.int32),
        **_new_arenas(_LEAST_ARENA, _LEAST_ARENA, lives),
        held=np.zeros(REVIEWED + 1, np.int64),
    )


def grown(column: NDArray[Any], room: int) -> NDArray[Any]:
    """The column with more room, which is 0."""
    more = np.zeros((room, *column.shape[1:]), column.dtype)
    more[: len(column)] = column
    return more


def grown_table(table: ColumnTable) -> ColumnTable:
    """The table with room for twice as many columns."""
    rows = 2 * len(table.vertex)
    due = grown(table.due, (rows >> DUE_BITS) + 1)
    return table._replace(**{name: grown(getattr(table, name), rows) for name in _OF_ROWS}, due=due)


def is_full(table: ColumnTable) -> bool:
    """Whether there is no row for another column."""
    return bool(table.held[ROWS] == len(table.vertex) and table.held[FREE_ROWS] == 0)


def wants_room(table: ColumnTable) -> bool:
    """Whether a container was asked for in vain."""
    return bool(table.held[LIST_WANTED] or table.held[BLOCK_WANTED])


def repacked(table: ColumnTable) -> ColumnTable:
    """The table with arenas for twice as much as is in use, and for what was asked for in vain."""
    held = table.held
    entries = int(2 * held[LIST_USED] + held[LIST_WANTED])
    cells = int(2 * held[BLOCK_USED] + held[BLOCK_WANTED])
    arenas = _new_arenas(
        max(_LEAST_ARENA, entries), max(_LEAST_ARENA, -(-cells // STRIDE) * STRIDE), table.least.dtype.type
    )
    packed = table._replace(**arenas)
    held[:ROWS] = 0
    repack(table, packed)
    return packed


def shrunk(table: ColumnTable) -> ColumnTable:
    """The table with smaller arenas where little of one is in use."""
    table.held[[LIST_WANTED, BLOCK_WANTED]] = 0
    wasteful = any(
        len(arena) > 8 * max(_LEAST_ARENA, int(table.held[used]))
        for arena, used in ((table.entry_root, LIST_USED), (table.cell, BLOCK_USED))
    )
    return repacked(table) if wasteful else table


def ranked(table: ColumnTable, rank: NDArray[Any]) -> ColumnTable:
    """The table with another rank for every life."""
    return table._replace(
        least=rank[table.least], due=rank[table.due], entry_life=rank[table.entry_life], cell=rank[table.cell]
    )


def _new_arenas(entries: int, cells: int, lives: type[np.unsignedinteger[Any]]) -> dict[str, Any]:
    return {
        "entry_root": np.zeros(entries, np.int32),
        "entry_life": np.zeros(entries, lives),
        "list_free": np.full(_SIZES, -1, np.int64),
        "cell": np.zeros(cells, lives),
        "block_link": np.zeros(cells // STRIDE, np.int64),
        "block_free": np.full(_SIZES, -1, np.int64),
    }
