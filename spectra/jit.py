"""The one way kernels are compiled, so that options are changed in one place."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numba

# `_nrt` is off: kernels only borrow arrays and never make one (allocation stays in the class that owns
# the columns). Counting references would otherwise take most of the time where small kernels call each
# other for every triple; numba's stubs do not list the option.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

_decorating = threading.Lock()


def _kernel_sources() -> list[Path]:
    """The source files of all kernels, installed or in a checkout, where some folders lie beside `spectra`."""
    package = Path(__file__).parent
    beside = [package.parent / name for name in ("dictionary", "views")]
    folders = [package, *(folder for folder in beside if not (package / folder.name).exists())]
    return sorted(path for folder in folders for path in folder.glob("**/kernels/*.py"))


def _cache_folder() -> Path:
    """Where compiled kernels are kept: a folder of its own for every state of the kernels' sources.

    Numba notices a change in a kernel's own file, and not one in a kernel of another file that was
    compiled into it.
    """
    digest = blake2b(digest_size=8)
    for path in _kernel_sources():
        digest.update(path.read_bytes())
    base = numba.config.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spectra-rsp" / digest.hexdigest()


#: Compiled kernels of this version are kept here; it is not there before the first run.
CACHE_FOLDER = _cache_folder()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a hot loop over arrays and scalars: compiled on first use, kept on disk, runs without the GIL."""
    with _decorating:  # other users of numba keep their own place
        others, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(CACHE_FOLDER)
        try:
            compiled: Callable[..., Any] = numba.njit(**_OPTIONS)(function)
        finally:
            numba.config.CACHE_DIR = others
    return compiled
