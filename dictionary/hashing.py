"""The 64-bit hash of a term's canonical text, equal wherever it is computed."""

from __future__ import annotations

import xxhash

_SEED = 42


def hash_text(text: str | bytes) -> int:
    """xxh64 with seed 42 of UTF-8 text as a signed integer, the same number Spark SQL's `xxhash64` gives.

    Examples
    --------
    >>> hash_text("")
    -7444071767201028348
    """
    octets = text.encode() if isinstance(text, str) else text
    unsigned: int = xxhash.xxh64_intdigest(octets, seed=_SEED)
    return unsigned - (1 << 64) if unsigned >> 63 else unsigned
