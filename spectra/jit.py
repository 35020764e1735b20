"""The one way kernels are compiled, so that options are changed in one place."""

from __future__ import annotations

from typing import Any

import numba

# `_nrt` is off: kernels only borrow arrays and never make one (allocation stays in the class that owns
# the columns). Counting references would otherwise take most of the time where small kernels call each
# other for every triple; numba's stubs do not list the option.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

#: Decorates a hot loop over arrays and scalars: compiled on first use, kept on disk, runs without the GIL.
kernel = numba.njit(**_OPTIONS)
