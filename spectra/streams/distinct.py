"""The distinct terms of a batch, and what a summary keeps of it by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.spans import Spans
from spectra.streams.kernels.distinct import number_terms
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary


class Numbered(NamedTuple):
    """A number for each span, by number the first span that has it, and the terms one behind the other."""

    codes: NDArray[np.int32]
    first: NDArray[np.int32]
    text: NDArray[np.uint8]


def numbered(
    text: NDArray[np.uint8],
    start: NDArray[np.int64],
    length: NDArray[np.int32],
    tag: NDArray[np.int32],
    hashes: NDArray[np.int64],
) -> Numbered:
    """The terms of a batch's columns, all places together, numbered as they come; the tags are a part of them."""
    # one compiled version of the kernel: it is keyed by type, layout and whether it may write
    text = np.require(text, np.uint8, ["C", "W"])
    start = np.require(start.reshape(-1), np.int64, ["C", "W"])
    length = np.require(length.reshape(-1), np.int32, ["C", "W"])
    tag = np.require(tag.reshape(-1), np.int32, ["C", "W"])
    hashes = np.require(hashes.reshape(-1), np.int64, ["C", "W"])
    slots = np.zeros(1 << (2 * len(start)).bit_length(), np.int64)
    codes = np.empty(len(start), np.int32)
    first = np.empty(len(start), np.int32)
    arena = np.empty(int(length.sum(dtype=np.int64) + tag.sum(dtype=np.int64)), np.uint8)
    terms, used = number_terms(text, start, length, tag, hashes, slots, codes, first, arena)
    return Numbered(codes, first[:terms], arena[:used])


@dataclass(slots=True)
class DistinctTerms:
    """The canonical terms at one place of some rows of a batch: `spectra.views.summary.Terms`."""

    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int32]
    hashes: NDArray[np.int64]

    def __call__(self, rows: NDArray[np.int64], place: int) -> tuple[NDArray[np.int32], Spans]:
        start, length = self.start[rows, place], self.length[rows, place]
        found = numbered(self.text, start, length, np.zeros_like(length), self.hashes[rows, place])
        return found.codes, Spans(self.text, start[found.first], length[found.first])


def pruned(batch: EventBatch, summary: Summary) -> EventBatch:
    """The events without the triples that a summary drops, by their constants or by their filters."""
    batch = batch.without(~summary.usable(batch.hashes))
    passing = summary.passing(batch.hashes, DistinctTerms(batch.text, batch.start, batch.length, batch.hashes))
    return batch if passing is None else batch.without(~passing)
