"""Spectra on Spark: the session, streaming DataFrames of events, and streaming DataFrames of changes.

The only package that imports pyspark, and none of it does so before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spectra.spark.dataframes import continuous, read_stream
    from spectra.spark.sessions import session

__all__ = ["continuous", "read_stream", "session"]

_LAZY = {
    "continuous": "spectra.spark.dataframes",
    "read_stream": "spectra.spark.dataframes",
    "session": "spectra.spark.sessions",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'spectra.spark' has no attribute {name!r}")
