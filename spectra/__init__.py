"""Continuous SPARQL queries, property paths included, over streams of RDF graphs.

>>> import spectra
>>> engine = spectra.Engine()
>>> query = engine.register("SELECT ?y { <urn:ann> <urn:pays>+ ?y }", range="PT10S", step="PT5S")
>>> for change in engine.push("<urn:ann> <urn:pays> <urn:bob> .", at="2016-07-01T10:00:01Z"):
...     print(change)
2016-07-01T10:00:01.000Z + ?y=<urn:bob> until 2016-07-01T10:00:10.000Z
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spectra.errors import (
    InternalError,
    QueryError,
    ResourceError,
    SpectraError,
    StreamError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from spectra.changes import Change, ChangeBatch, Snapshot
    from spectra.continuous import Query
    from spectra.engine import Engine
    from spectra.streams.source import read

__all__ = [
    "Change",
    "ChangeBatch",
    "Engine",
    "InternalError",
    "Query",
    "QueryError",
    "ResourceError",
    "Snapshot",
    "SpectraError",
    "StreamError",
    "UnsupportedError",
    "read",
]

__version__ = "0.1.0"

#: Loaded on first use, so that `import spectra.errors` or `spectra --help` does not load the engine.
_LAZY = {
    "Change": "spectra.changes",
    "ChangeBatch": "spectra.changes",
    "Engine": "spectra.engine",
    "Query": "spectra.continuous",
    "Snapshot": "spectra.changes",
    "read": "spectra.streams.source",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    if name == "spark":
        return import_module("spectra.spark")
    raise AttributeError(f"module 'spectra' has no attribute {name!r}")
