"""Facts and arrays as one string of bytes, to be sent or kept.

The layout: the length of the header as 8 bytes (little-endian), the header as JSON, then the arrays one
behind the other, each from a multiple of 8 on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES = {
    np.dtype(name).str: np.dtype(name)
    for name in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
}
_ALIGNMENT = 8


def packed(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The bytes from which `unpacked` gives the facts, as JSON has them, and the arrays."""
    columns = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, column in columns.items():
        if column.dtype.str not in _DTYPES:
            raise ValueError(f'cannot pack the array "{name}" of {column.dtype}')
    described = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    header = json.dumps([facts, described], separators=(",", ":")).encode()
    parts: list[bytes | memoryview] = [len(header).to_bytes(_ALIGNMENT, "little"), header, _padding(len(header))]
    for column in columns.values():
        # reshaped, since an array without dimensions or rows gives no memory to look at
        parts += [column.reshape(-1).view(np.uint8).data, _padding(column.nbytes)]
    return b"".join(parts)


def unpacked(data: bytes | bytearray | memoryview) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The facts and the arrays of `packed`; `data` is anything with the buffer protocol.

    The arrays are views of `data`: not writable where it is not, and aligned only as it is. Numba compiles a
    kernel once more for each of the two, so copy what is handed to one. Anything that `packed` did not make
    is a ValueError.
    """
    octets = memoryview(data).cast("B")
    size = int.from_bytes(octets[:_ALIGNMENT], "little")
    if len(octets) < _ALIGNMENT + size:
        raise ValueError("packed data end within their header")
    try:
        facts, described = json.loads(bytes(octets[_ALIGNMENT : _ALIGNMENT + size]))
        columns = [(str(name), _DTYPES[dtype], _checked(shape)) for name, dtype, shape in described]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError("packed data with a damaged header") from error
    if not isinstance(facts, dict):
        raise ValueError("packed data with a damaged header")
    at = _ALIGNMENT + size + len(_padding(size))
    arrays = {}
    for name, dtype, shape in columns:
        count = prod(shape)
        end = at + count * dtype.itemsize
        if end > len(octets):
            raise ValueError(f'packed data end within the array "{name}"')
        arrays[name] = np.frombuffer(octets[at:end], dtype).reshape(shape)
        at = end + len(_padding(end - at))
    return facts, arrays


def _checked(shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, list) or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("not a shape")
    return tuple(shape)


def _padding(size: int) -> bytes:
    return bytes(-size % _ALIGNMENT)
