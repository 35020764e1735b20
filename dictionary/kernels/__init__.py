"""Compiled loops over term text and term ids."""

from __future__ import annotations

from typing import Any

import numba

# Numba knows the last option by this name, and its stubs do not list it.
_OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}

#: Decorates kernels that only borrow arrays and never make one. They count no references, which
#: otherwise takes most of the time where small kernels call each other for every term.
borrowing_kernel = numba.njit(**_OPTIONS)
