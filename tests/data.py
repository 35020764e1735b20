"""Where the third-party data is, and a skip that says so where it is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


def data_path(*parts: str) -> Path:
    """The path of a third-party file or folder; skips the test where it is absent."""
    root = Path(os.environ.get("SPECTRA_DATA", _BESIDE))
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(
            f"third-party data is absent: set SPECTRA_DATA (looked for {'/'.join(parts)} there)",
            allow_module_level=True,
        )
    return path
