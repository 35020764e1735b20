"""A recomputation of every evaluation of a continuous query, independent of the engine's code."""

from spectra.oracle.dataset import Dataset, Triple, TripleSet, WindowGraphs
from spectra.oracle.evaluate import evaluate
from spectra.oracle.recompute import OracleAnswer, recompute
from spectra.oracle.render import render_pattern, render_query
from spectra.oracle.schedule import StaticUpdate
from spectra.oracle.windows import Event

__all__ = [
    "Dataset",
    "Event",
    "OracleAnswer",
    "StaticUpdate",
    "Triple",
    "TripleSet",
    "WindowGraphs",
    "evaluate",
    "recompute",
    "render_pattern",
    "render_query",
]
