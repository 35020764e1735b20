"""Bits of a word."""

from __future__ import annotations

import numpy as np

from spectra.jit import is_interpreted, kernel

if is_interpreted():

    def lowest_bit(bits):
        """The place of the lowest bit that is set."""
        return (int(bits) & -int(bits)).bit_length() - 1

else:
    from numba.cpython.unsafe.numbers import trailing_zeros

    @kernel
    def lowest_bit(bits):
        """The place of the lowest bit that is set."""
        return np.int64(trailing_zeros(bits))
