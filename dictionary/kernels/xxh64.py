"""xxh64 with seed 42 over spans of a buffer: the hash Spark SQL calls `xxhash64`."""

from __future__ import annotations

import numpy as np

from spectra.jit import is_interpreted, kernel

# Plain Python integers do not wrap, and NumPy scalars warn where they do. The masks below make both
# modes agree, and cost nothing compiled.
_word = int if is_interpreted() else np.uint64

_MASK = _word(0xFFFF_FFFF_FFFF_FFFF)
_PRIME_1 = _word(0x9E37_79B1_85EB_CA87)
_PRIME_2 = _word(0xC2B2_AE3D_27D4_EB4F)
_PRIME_3 = _word(0x1656_67B1_9E37_79F9)
_PRIME_4 = _word(0x85EB_CA77_C2B2_AE63)
_PRIME_5 = _word(0x27D4_EB2F_1656_67C5)
_SEED = _word(42)
_START_1 = _word((42 + 0x9E37_79B1_85EB_CA87 + 0xC2B2_AE3D_27D4_EB4F) & 0xFFFF_FFFF_FFFF_FFFF)
_START_2 = _word(42 + 0xC2B2_AE3D_27D4_EB4F)
_START_4 = _word((42 - 0x9E37_79B1_85EB_CA87) & 0xFFFF_FFFF_FFFF_FFFF)


@kernel
def _rotate(value, bits):
    return ((value << _word(bits)) & _MASK) | (value >> _word(64 - bits))


@kernel
def _four_bytes(buffer, at):
    return (
        _word(buffer[at])
        | (_word(buffer[at + _word(1)]) << _word(8))
        | (_word(buffer[at + _word(2)]) << _word(16))
        | (_word(buffer[at + _word(3)]) << _word(24))
    )


@kernel
def _eight_bytes(buffer, at):
    return _four_bytes(buffer, at) | (_four_bytes(buffer, at + _word(4)) << _word(32))


@kernel
def _round(lane, word):
    return (_rotate((lane + word * _PRIME_2) & _MASK, 31) * _PRIME_1) & _MASK


@kernel
def _merge(total, lane):
    return ((total ^ _round(_word(0), lane)) * _PRIME_1 + _PRIME_4) & _MASK


@kernel
def xxh64(buffer, start, length):
    """The signed hash of ``buffer[start : start + length]``.

    An int64, the same as `spectra.dictionary.hashing.hash_text` gives for these bytes.
    """
    # An unsigned index cannot count from the end, so eight bytes compile to one load.
    at = _word(start)
    end = _word(start + length)
    if length >= 32:
        lane_1, lane_2, lane_3, lane_4 = _START_1, _START_2, _SEED, _START_4
        while at + _word(32) <= end:
            lane_1 = _round(lane_1, _eight_bytes(buffer, at))
            lane_2 = _round(lane_2, _eight_bytes(buffer, at + _word(8)))
            lane_3 = _round(lane_3, _eight_bytes(buffer, at + _word(16)))
            lane_4 = _round(lane_4, _eight_bytes(buffer, at + _word(24)))
            at += _word(32)
        total = (_rotate(lane_1, 1) + _rotate(lane_2, 7) + _rotate(lane_3, 12) + _rotate(lane_4, 18)) & _MASK
        total = _merge(_merge(_merge(_merge(total, lane_1), lane_2), lane_3), lane_4)
    else:
        total = (_SEED + _PRIME_5) & _MASK
    total = (total + _word(length)) & _MASK
    while at + _word(8) <= end:
        total ^= _round(_word(0), _eight_bytes(buffer, at))
        total = (_rotate(total, 27) * _PRIME_1 + _PRIME_4) & _MASK
        at += _word(8)
    if at + _word(4) <= end:
        total ^= (_four_bytes(buffer, at) * _PRIME_1) & _MASK
        total = (_rotate(total, 23) * _PRIME_2 + _PRIME_3) & _MASK
        at += _word(4)
    while at < end:
        total ^= (_word(buffer[at]) * _PRIME_5) & _MASK
        total = (_rotate(total, 11) * _PRIME_1) & _MASK
        at += _word(1)
    total = ((total ^ (total >> _word(33))) * _PRIME_2) & _MASK
    total = ((total ^ (total >> _word(29))) * _PRIME_3) & _MASK
    total ^= total >> _word(32)
    # two's complement by hand: a plain integer cannot be reinterpreted
    if total >> _word(63):
        return -np.int64(_MASK - total) - np.int64(1)
    return np.int64(total)


@kernel
def hash_spans(buffer, start, length, hashes):
    """Fill `hashes` with those of spans of a buffer."""
    for i in range(start.shape[0]):
        hashes[i] = xxh64(buffer, start[i], length[i])
