"""Term text <-> dense id, in arrays whose size follows the live terms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.hashing import hash_text
from spectra.dictionary.kernels import table as kernels
from spectra.dictionary.kernels.table import Table
from spectra.dictionary.kernels.xxh64 import hash_spans
from spectra.dictionary.spans import Spans
from spectra.errors import InternalError, ResourceError

#: The id of no term: an unbound variable.
UNBOUND = 0

_SMALLEST = 1024  # ids, and slots, of an empty dictionary
_SMALLEST_ARENA = 1 << 17  # bytes; the system gives them when they are written to
_LARGEST = 1 << 31  # ids are int32
_OF_IDS = ("hashes", "start", "length", "tag", "references", "state", "queued", "free", "candidates")


class Dictionary:
    """Terms by id and ids by term, in two parts with one id space (CGPM).

    Persistent terms, the constants of queries, keep their id for ever. Adaptive terms, those of the
    data, have reference counts; `reclaim` gives back the ids and the memory of those without one.
    Terms are told apart by their bytes, so terms with equal hashes stay different terms.

    Texts are canonical (see `spectra.dictionary.terms`) and are not checked here.
    """

    def __init__(self, *, hash_mask: int = -1) -> None:
        """`hash_mask` is and-ed onto every hash, so that tests can make hashes collide."""
        self._scratch = np.zeros(kernels.BLOCK + 1, np.int64)
        counters = np.zeros(kernels.COUNTERS, np.int64)
        counters[kernels.HASH_MASK] = hash_mask
        counters[kernels.NEXT_ID] = 1
        self._table = Table(
            slots=np.zeros(_SMALLEST, np.int64),
            arena=np.empty(_SMALLEST_ARENA, np.uint8),
            hashes=np.zeros(_SMALLEST, np.int64),
            start=np.zeros(_SMALLEST, np.int64),
            length=np.zeros(_SMALLEST, np.int32),
            tag=np.zeros(_SMALLEST, np.int32),
            references=np.zeros(_SMALLEST, np.int32),
            state=np.zeros(_SMALLEST, np.uint8),
            queued=np.zeros(_SMALLEST, np.bool_),
            free=np.zeros(_SMALLEST, np.int32),
            candidates=np.zeros(_SMALLEST, np.int32),
            counters=counters,
        )

    # --- from terms to ids ------------------------------------------------------------------

    def constant(self, text: str, printed_tag: str = "") -> int:
        """The id of a term that is kept for ever; a term of the data becomes such a one."""
        return self._encode_one(text, printed_tag, kernels.PERSISTENT)

    def add(self, text: str, printed_tag: str = "") -> int:
        """The id of a term that the next `reclaim` takes back unless it is retained."""
        return self._encode_one(text, printed_tag, kernels.ADAPTIVE)

    def add_all(self, texts: list[str]) -> NDArray[np.int32]:
        """The ids of several terms, as `add` gives them."""
        spans = [text.encode() for text in texts]
        length = np.array([len(span) for span in spans], np.int32)
        return self._encode(
            np.frombuffer(b"".join(spans), np.uint8),
            np.cumsum(length, dtype=np.int64) - length,
            length,
            np.zeros(len(spans), np.int32),
            np.array([hash_text(span) for span in spans], np.int64),
            kernels.ADAPTIVE,
        )

    def add_spans(
        self, text: NDArray[np.uint8], start: NDArray[np.int64], length: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """The ids of the terms whose canonical texts are spans of `text`, as `add` gives them."""
        hashes = np.empty(len(start), np.int64)
        hash_spans(text, start, length, hashes)
        return self._encode(text, start, length, np.zeros(len(start), np.int32), hashes, kernels.ADAPTIVE)

    def find(self, text: str) -> int:
        """The id of a term, 0 if it has none."""
        return self._encode_one(text, "", kernels.FIND)

    def encode(
        self,
        text: NDArray[np.uint8],
        start: NDArray[np.int64],
        length: NDArray[np.int32],
        tag: NDArray[np.int32],
        hashes: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        """The ids of spans of `text`, in the shape of `start`; new terms get one, with no reference.

        The columns are those of `spectra.views.batch.EventBatch`. `hashes` are `hash_text` of the spans.
        """
        return self._encode(text, start, length, tag, hashes, kernels.ADAPTIVE)

    # --- from ids to terms ------------------------------------------------------------------

    def text(self, term: int) -> str:
        """The printed text of a term, its language tag as first seen; "" for 0, unbound."""
        return self.texts(np.array([term], np.int32))[0]

    def texts(self, terms: NDArray[np.int32]) -> list[str]:
        """The printed text of each term; "" for 0, unbound."""
        self._check(terms)
        table = self._table
        arena = table.arena.data
        printed = []
        for start, length, tag in zip(
            table.start[terms].tolist(), table.length[terms].tolist(), table.tag[terms].tolist(), strict=True
        ):
            end = start + length
            if tag:
                printed.append(str(arena[start : end - tag], "utf-8") + str(arena[end : end + tag], "utf-8"))
            else:
                printed.append(str(arena[start:end], "utf-8"))
        return printed

    def canonical_text(self, term: int) -> str:
        """The canonical text of a term; "" for 0, unbound."""
        return self.canonical_texts(np.array([term], np.int32))[0]

    def canonical_texts(self, terms: NDArray[np.int32]) -> list[str]:
        """The canonical text of each term; "" for 0, unbound."""
        return self.spans(terms).texts()

    def spans(self, terms: NDArray[np.int32]) -> Spans:
        """The canonical text of each term where it lies, empty for 0, unbound; good until terms come or go."""
        self._check(terms)
        table = self._table
        return Spans(table.arena, table.start[terms], table.length[terms])

    def all_spans(self) -> Spans:
        """The canonical texts by id, where they lie; good until terms come or go."""
        return Spans(self._table.arena, self._table.start, self._table.length)

    def hashes(self, terms: NDArray[np.int32]) -> NDArray[np.int64]:
        """The hash of each term's canonical text."""
        return self._table.hashes[terms]

    # --- references -------------------------------------------------------------------------

    @property
    def references(self) -> NDArray[np.int32]:
        """The reference count of every id; another array once the dictionary has grown."""
        return self._table.references

    def retain(self, ids: NDArray[np.int32]) -> None:
        """Count one reference more for each occurrence of an id; 0 is passed over."""
        self._count(ids, 1)

    def release(self, ids: NDArray[np.int32]) -> None:
        """Count one reference less for each occurrence of an id; 0 is passed over."""
        self._count(ids, -1)

    def reclaim(self) -> int:
        """Give back the ids of all adaptive terms without a reference; how many those were.

        Looks only at terms that are new or lost their last reference since the last call.
        """
        counters = self._table.counters
        before = len(self)
        freed = int(kernels.reclaim(self._table))
        used = int(counters[kernels.ARENA_USED])
        if used > _SMALLEST_ARENA and 2 * int(counters[kernels.ARENA_GARBAGE]) > used:
            # as much room as was needed since the last time: the next batch is likely to be alike
            self._rebuild(before, used)
        return freed

    # --- measures ---------------------------------------------------------------------------

    def __len__(self) -> int:
        counters = self._table.counters
        return int(counters[kernels.PERSISTENT_COUNT] + counters[kernels.ADAPTIVE_COUNT])

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._table)

    def statistics(self) -> dict[str, int]:
        """Live terms of both parts and the bytes of their texts, room for ids, bytes of all texts and of garbage,
        colliding terms met.

        Constants of queries are the persistent part; the adaptive part is given back as nobody holds it any more.
        """
        table, counters = self._table, self._table.counters
        octets = table.length.astype(np.int64) + table.tag
        return {
            "persistent": int(counters[kernels.PERSISTENT_COUNT]),
            "persistent_bytes": int(octets[table.state == kernels.PERSISTENT].sum()),
            "adaptive": int(counters[kernels.ADAPTIVE_COUNT]),
            "adaptive_bytes": int(octets[table.state == kernels.ADAPTIVE].sum()),
            "capacity": len(table.state),
            "arena_bytes": int(counters[kernels.ARENA_USED]),
            "arena_garbage": int(counters[kernels.ARENA_GARBAGE]),
            "collisions": int(counters[kernels.COLLISIONS]),
        }

    # --- checkpoints ------------------------------------------------------------------------

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Copies of the arrays that `restore` needs."""
        table = self._table
        counters = table.counters
        arrays: dict[str, NDArray[Any]] = {"counters": counters.copy()}
        arrays["arena"] = table.arena[: counters[kernels.ARENA_USED]].copy()
        arrays["free"] = table.free[: counters[kernels.FREE_COUNT]].copy()
        arrays["candidates"] = table.candidates[: counters[kernels.CANDIDATE_COUNT]].copy()
        for name in ("hashes", "start", "length", "tag", "references", "state"):
            arrays[name] = getattr(table, name)[: counters[kernels.NEXT_ID]].copy()
        return arrays

    @classmethod
    def restore(cls, arrays: dict[str, NDArray[Any]]) -> Dictionary:
        """The dictionary of which `arrays` is a checkpoint: same terms, ids and counts."""
        self = cls()
        self._widen(len(arrays["state"]))
        table = self._table
        table.counters[:] = arrays["counters"]
        for name in ("hashes", "start", "length", "tag", "references", "state", "free", "candidates"):
            getattr(table, name)[: len(arrays[name])] = arrays[name]
        table.queued[arrays["candidates"]] = True
        live = np.flatnonzero(table.state)
        self._table = table._replace(
            slots=(table.hashes[live] & kernels.UPPER) | live, arena=np.ascontiguousarray(arrays["arena"])
        )
        self._rebuild(len(live), len(arrays["arena"]))
        return self

    # --- inside -----------------------------------------------------------------------------

    def _encode_one(self, text: str, printed_tag: str, kind: int) -> int:
        span = text.encode()
        ids = self._encode(
            np.frombuffer(span + printed_tag.encode(), np.uint8),
            np.zeros(1, np.int64),
            np.array([len(span)], np.int32),
            np.array([len(printed_tag)], np.int32),
            np.array([hash_text(span)], np.int64),
            kind,
        )
        return int(ids[0])

    def _encode(
        self,
        text: NDArray[np.uint8],
        start: NDArray[np.int64],
        length: NDArray[np.int32],
        tag: NDArray[np.int32],
        hashes: NDArray[np.int64],
        kind: int,
    ) -> NDArray[np.int32]:
        if not start.shape == length.shape == tag.shape == hashes.shape:
            raise InternalError("columns of a batch differ in shape")
        # one compiled version of the kernel: it is keyed by type, layout and whether it may write
        text = np.require(text, np.uint8, ["C", "W"])
        columns = (
            np.require(start.reshape(-1), np.int64, ["C", "W"]),
            np.require(length.reshape(-1), np.int32, ["C", "W"]),
            np.require(tag.reshape(-1), np.int32, ["C", "W"]),
            np.require(hashes.reshape(-1), np.int64, ["C", "W"]),
        )
        ids = np.empty(start.size, np.int32)
        row, status = kernels.encode(self._table, text, *columns, kind, 0, ids, self._scratch)
        while status == kernels.NO_ROOM:
            self._make_room(int(columns[1][row]) + int(columns[2][row]))
            row, status = kernels.encode(self._table, text, *columns, kind, row, ids, self._scratch)
        if status == kernels.BAD_SPAN:
            raise InternalError(f"term {row} of a batch is not a span of its text")
        return ids.reshape(start.shape)

    def _count(self, ids: NDArray[np.int32], change: int) -> None:
        ids = np.require(ids.reshape(-1), np.int32, ["C", "W"])
        row = int(kernels.count_references(self._table, ids, change))
        if row >= 0:
            self._check(ids[row : row + 1])
            raise InternalError(f"term id {ids[row]} is released more often than it was retained")

    def _check(self, terms: NDArray[np.int32]) -> None:
        """Refuse ids that are neither 0 nor a live term's."""
        state = self._table.state
        outside = (terms < 0) | (terms >= len(state))
        if outside.any():
            raise InternalError(f"no term has id {terms[outside][0]}")
        unknown = (state[terms] == kernels.FREE) & (terms != UNBOUND)
        if unknown.any():
            raise InternalError(f"no term has id {terms[unknown][0]}")

    def _make_room(self, size: int) -> None:
        """Room for one more term of `size` bytes, and in proportion to what is there."""
        counters = self._table.counters
        capacity = len(self._table.state)
        if counters[kernels.FREE_COUNT] == 0 and counters[kernels.NEXT_ID] == capacity:
            self._widen(min(2 * capacity, _LARGEST))
        used = int(counters[kernels.ARENA_USED])
        if used + size > len(self._table.arena) or 2 * (len(self) + 1) > len(self._table.slots):
            live = used - int(counters[kernels.ARENA_GARBAGE])
            self._rebuild(len(self) + 1, 2 * (live + size))

    def _widen(self, capacity: int) -> None:
        """Make the columns that are indexed by id `capacity` long, if they are shorter."""
        if len(self) + 1 >= _LARGEST:
            raise ResourceError(
                f"the dictionary is full: {len(self)} live terms",
                hint="Use shorter windows, or several engines.",
            )
        wider = {}
        for name in _OF_IDS:
            column = getattr(self._table, name)
            wider[name] = np.zeros(max(capacity, len(column)), column.dtype)
            wider[name][: len(column)] = column
        self._table = self._table._replace(**wider)

    def _rebuild(self, terms: int, size: int) -> None:
        """Compact the text into an arena of `size` bytes, with slots for `terms` terms without crowding."""
        slots = np.zeros(max(_SMALLEST, 1 << (3 * terms).bit_length()), np.int64)
        arena = np.empty(max(_SMALLEST_ARENA, size), np.uint8)
        used = kernels.rebuild(self._table, slots, arena)
        self._table = self._table._replace(slots=slots, arena=arena)
        self._table.counters[kernels.ARENA_USED] = used
        self._table.counters[kernels.ARENA_GARBAGE] = 0
