"""Bits of a word."""

from __future__ import annotations

import numpy as np

from spectra.jit import is_interpreted, kernel

if not is_interpreted():
    from numba.cpython.unsafe.numbers import trailing_zeros
else:

    def trailing_zeros(bits):  # type: ignore[misc]
        return (int(bits) & -int(bits)).bit_length() - 1


@kernel
def lowest_bit(bits):
    """The place of the lowest bit that is set."""
    return np.int64(trailing_zeros(bits))
