"""The one way kernels are compiled, so that options are changed in one place."""

from __future__ import annotations

import numba

#: Decorates a hot loop over arrays and scalars: compiled on first use, kept on disk, runs without the GIL.
kernel = numba.njit(cache=True, nogil=True)

#: The same, copied into the kernels that call it.
inline_kernel = numba.njit(cache=True, nogil=True, inline="never")
