"""The bytes of a file, decompressed where its name ends in `.gz`; damage is said, not raised."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

_BLOCK = 1 << 15
_GZIP_FORMAT = 31  # zlib's number for "gzip header and trailer, largest window"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Octets:
    """Reads a file front to back.

    `ended` is True once the last byte was read. `damage` then says what is wrong with the
    compression, "" for nothing; all bytes before the damage are read.
    """

    def __init__(self, path: Path, content: bytes | None = None, begin: int = 0, end: int | None = None) -> None:
        """`content` is read instead of the file, where it is given.

        From `begin` to `end`, of what is not compressed: the lines that start there, the last one whole.
        """
        self.ended = False
        self.damage = ""
        self._file: BinaryIO = path.open("rb") if content is None else io.BytesIO(content)
        self._end = end
        self._compressed = path.suffix == ".gz"
        self._at_start = True
        self._member: zlib._Decompress | None = None
        self._members = 0
        self._pending = b""
        if begin > 0:
            self._at_start = False
            self._file.seek(begin - 1)
            self._rest_of_line()

    def __enter__(self) -> Octets:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def read(self, size: int) -> bytes:
        """At least `size` bytes, fewer at the end only; a byte order mark at the start is left out."""
        text = self._inflate(size) if self._compressed else self._read(size)
        if self._at_start:
            self._at_start = False
            text = text.removeprefix(_BYTE_ORDER_MARK)
        return text

    def read_all(self) -> bytes:
        if not self._compressed:
            self.ended = True
            return self._file.read().removeprefix(_BYTE_ORDER_MARK)
        parts = []
        while not self.ended:
            parts.append(self.read(1 << 20))
        return b"".join(parts)

    def _read(self, size: int) -> bytes:
        left = size + 1 if self._end is None else self._end - self._file.tell()
        if left > size:
            text = self._file.read(size)
            self.ended = len(text) < size
            return text
        self.ended = True
        text = self._file.read(max(left, 0))
        return text if not text or text.endswith(b"\n") else text + self._rest_of_line()

    def _rest_of_line(self) -> bytes:
        parts = [self._file.readline(_BLOCK)]
        while parts[-1] and not parts[-1].endswith(b"\n"):
            parts.append(self._file.readline(_BLOCK))
        return b"".join(parts)

    def _inflate(self, size: int) -> bytes:
        parts: list[bytes] = []
        have = 0
        while have < size and not self.ended:
            part = self._inflate_block()
            parts.append(part)
            have += len(part)
        return b"".join(parts)

    def _inflate_block(self) -> bytes:
        block = self._pending or self._file.read(_BLOCK)
        self._pending = b""
        if not block:
            self.ended = True
            if self._member is not None:
                self.damage = "truncated gzip"
            return b""
        if self._member is None:
            if self._members > 0:
                # what follows a member may be padding
                block = block.lstrip(b"\0")
                if not block:
                    return b""
            self._members += 1
            self._member = zlib.decompressobj(_GZIP_FORMAT)
        before = self._member.copy()
        try:
            text = self._member.decompress(block)
        except zlib.error as error:
            self.ended = True
            self.damage = f"corrupt gzip ({error})"
            return _salvage(before, block)
        if self._member.eof:
            self._pending = self._member.unused_data
            self._member = None
        return text


def _salvage(member: zlib._Decompress, block: bytes) -> bytes:
    """What a block gives before its first damaged byte."""
    parts = []
    try:
        for at in range(len(block)):
            parts.append(member.decompress(block[at : at + 1]))
    except zlib.error:
        pass
    return b"".join(parts)
