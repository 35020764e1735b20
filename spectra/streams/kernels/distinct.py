"""The distinct terms of a batch, by a hash table with linear probing."""

from __future__ import annotations

from spectra.dictionary.kernels.table import LOWER, UPPER, copy_bytes, same_bytes
from spectra.jit import kernel


@kernel
def number_terms(text, start, length, tag, hashes, slots, codes, first, arena):
    """Number the different spans as they come, and copy each once; (how many, bytes of the arena used).

    Parameters
    ----------
    text : uint8[::1]
        Where the spans are.
    start, length, tag : int64[::1], int32[::1], int32[::1]
        Span `i` is ``length[i]`` bytes from ``start[i]`` on and, part of the term, ``tag[i]`` behind them.
    hashes : int64[::1]
        Equal for equal spans; different spans may have equal ones.
    slots : int64[::1]
        Zeros, a power of two of them, more than spans. An entry is the upper half of a hash and a number plus one.
    codes, first : int32[::1]
        Filled: the number of each span, and by number the first span of that number.
    arena : uint8[::1]
        Filled with the terms one behind the other; there is room for all spans.
    """
    last_slot = slots.shape[0] - 1
    terms = 0
    used = 0
    for span in range(start.shape[0]):
        begin = start[span]
        size = length[span] + tag[span]
        upper = hashes[span] & UPPER
        slot = (hashes[span] >> 32) & last_slot
        code = -1
        while slots[slot] != 0:
            if slots[slot] & UPPER == upper:
                number = (slots[slot] & LOWER) - 1
                other = first[number]
                if length[other] == length[span] and tag[other] == tag[span] and hashes[other] == hashes[span]:
                    other_begin = start[other]
                    if same_bytes(text[begin : begin + size], text[other_begin : other_begin + size]):
                        code = number
                        break
            slot = (slot + 1) & last_slot
        if code < 0:
            code = terms
            first[code] = span
            terms += 1
            slots[slot] = upper | terms
            copy_bytes(text, begin, arena, used, size)
            used += size
        codes[span] = code
    return terms, used
