"""xxh64: the package, the kernel, and the numbers Spark gives."""

from __future__ import annotations

import numpy as np
import pytest

from spectra.dictionary.hashing import hash_text
from spectra.dictionary.kernels.xxh64 import xxh64


def test_text_and_its_utf8_hash_alike():
    assert hash_text("Zoë") == hash_text("Zoë".encode())


def test_the_numbers_are_signed_and_those_of_seed_42():
    assert hash_text("") == -7444071767201028348
    # the example in the documentation of Spark's xxhash64
    assert hash_text("ABC") == 4105715581806190027


@pytest.mark.parametrize("alphabet", [256, 2])
def test_the_kernel_agrees_for_every_length(alphabet):
    random = np.random.default_rng(20160701)
    for length in range(201):
        start = int(random.integers(0, 40))
        buffer = random.integers(0, alphabet, start + length + 3, dtype=np.uint8)
        assert int(xxh64(buffer, start, length)) == hash_text(buffer[start : start + length].tobytes()), length


def test_the_kernel_reads_nothing_outside_its_span():
    buffer = np.frombuffer(b"xx<http://example.org/a-rather-long-name-of-a-thing>yy", np.uint8)
    inside = buffer[2:-2].copy()
    assert xxh64(buffer, 2, len(inside)) == xxh64(inside, 0, len(inside))
