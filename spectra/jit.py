"""The one way kernels are compiled, so that options are changed in one place."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

# `_nrt` is off: kernels only borrow arrays and never make one (allocation stays in the class that owns
# the columns). Counting references would otherwise take most of the time where small kernels call each
# other for every triple; numba's stubs do not list the option.
# `forceinline` is on: a table is a tuple of arrays, and a call hands over every pointer, length and stride of
# each, hundreds of words for some. Without it such calls take most of the time (PATH by columns: three quarters).
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False, "forceinline": True}

_decorating = threading.Lock()
_interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
_decorated = 0


def interpret() -> bool:
    """Run kernels as plain Python in this process, which needs no compiler; False where it is too late.

    For work so small that loading the compiler, let alone compiling, would take longer than the work.
    """
    global _interpreted
    if _decorated == 0:
        _interpreted = True
    return _interpreted


def is_interpreted() -> bool:
    """Whether kernels run as plain Python."""
    return _interpreted


@cache
def _sources(module: str) -> frozenset[Path]:
    """The source files of a module and of all that it imports from this project."""
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ImportError(f"{module} has no source file")
    source = Path(spec.origin)
    imported = re.findall(r"^from (spectra\.\S+) import", source.read_text(), re.MULTILINE)
    return frozenset({source}).union(*map(_sources, imported))


@cache
def cache_folder(module: str) -> Path:
    """Where the compiled kernels of a module are kept: a folder of its own for every state of its sources.

    Numba notices a change in a kernel's own file, and not one in a kernel of another file that was
    compiled into it. The folder is not there before the first run.
    """
    digest = blake2b(digest_size=8)
    for path in sorted(_sources(module)):
        digest.update(path.read_bytes())
    base = os.environ.get("NUMBA_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "spectra-rsp" / digest.hexdigest()


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a hot loop over arrays and scalars: compiled on first use, kept on disk, runs without the GIL."""
    global _decorated
    _decorated += 1
    if _interpreted:
        return function
    import numba

    config: Any = numba.config
    with _decorating:  # other users of numba keep their own place
        others, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder(function.__module__))
        try:
            compiled: Any = numba.njit(**_OPTIONS)(function)
        finally:
            config.CACHE_DIR = others
    kept = compiled._cache._cache_file
    base = kept._index_name.removesuffix(".nbi")
    compiled._cache._cache_file = _files_by_key()(kept._cache_path, base, kept._source_stamp)
    return cast("Callable[..., Any]", compiled)


@cache
def _files_by_key() -> type[Any]:
    """Numba's cache of one kernel, with a file for each signature that no other signature can have.

    Numba numbers the files by what it reads in the index. Two processes that compile a kernel for different
    types at the same time may take one number: the index of one then leads to the machine code of the other.
    """
    from numba.core.caching import IndexDataCacheFile

    class FilesByKey(IndexDataCacheFile):
        def save(self, key: object, data: object) -> None:
            digest = blake2b(repr(key).encode(), digest_size=16).hexdigest()
            name = f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"
            self._save_data(name, data)  # before the index leads there
            self._save_index({**self._load_index(), key: name})

    return FilesByKey
