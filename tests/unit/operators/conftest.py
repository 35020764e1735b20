"""What several tests of operators need."""

from __future__ import annotations

import pytest

from spectra.operators.kernels import delta_trees
from spectra.operators.path import rspq, spath


@pytest.fixture
def small_arrays(monkeypatch):
    """Every array is full again and again in the middle of the work, and slides are numbered anew all the time."""
    monkeypatch.setattr(delta_trees, "_LEAST_PLACES", 16)
    monkeypatch.setattr(delta_trees, "_LEAST_SLIDES", 1)
    monkeypatch.setattr(spath, "_LEAST_HEAP", 1)
    monkeypatch.setattr(spath, "_LEAST_MARKS", 1)
    monkeypatch.setattr(spath, "_MOST_SLIDES", 6)
    monkeypatch.setattr(rspq, "_LEAST_CONFLICTS", 1)
    monkeypatch.setattr(rspq, "_LEAST_KNOWN", 1)
