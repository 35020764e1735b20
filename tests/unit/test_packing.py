"""Packing: facts and arrays as bytes, batches of events as bytes, and the way back."""

from __future__ import annotations

import contextlib
import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectra.packing import packed, unpacked
from spectra.streams.memory import concatenate, from_triples
from spectra.streams.packed import integers, pack, put_integers, unpack
from spectra.streams.quarantine import Quarantine
from spectra.streams.source import read
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

ARRAYS = {
    "empty": np.empty((0, 3), np.int64),
    "bool": np.array([True, False, True]),
    "odd": np.arange(5, dtype=np.uint8),
    "table": np.arange(6, dtype=np.int32).reshape(2, 3),
    "turned": np.arange(6, dtype=np.int16).reshape(2, 3).T,
    "every second": np.arange(10, dtype=np.int64)[::2],
    "float": np.array([0.5, np.nan]),
    "scalar": np.array(7, np.uint64),
}


# --- facts and arrays -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, pyarrow.py_buffer], ids=lambda kind: kind.__name__)
def test_facts_and_arrays_come_back(kind):
    facts = {"name": "é\udc80", "numbers": [1, 2.5, None], "nested": {"": True}}
    back, arrays = unpacked(kind(packed(facts, ARRAYS)))
    assert back == facts
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        np.testing.assert_array_equal(arrays[name], array)


def test_arrays_are_aligned_views():
    data = packed({"a": 1}, {"odd": np.arange(3, dtype=np.uint8), "wide": np.arange(4, dtype=np.int64)})
    whole = np.frombuffer(data, np.uint8)
    _, arrays = unpacked(data)
    for array in arrays.values():
        assert np.shares_memory(array, whole)
        assert (array.ctypes.data - whole.ctypes.data) % 8 == 0


def test_unaligned_data_are_read():
    data = b"x" + packed({}, {"wide": np.arange(4, dtype=np.int64)})
    _, arrays = unpacked(memoryview(data)[1:])
    assert arrays["wide"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("array", [np.array([object()]), np.array(["text"]), np.array([1], ">i8"), np.array([1j])])
def test_other_kinds_of_arrays_are_refused(array):
    with pytest.raises(ValueError, match="cannot pack"):
        packed({}, {"array": array})


def header(content: Any) -> bytes:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return len(text).to_bytes(8, "little") + text + bytes(-len(text) % 8)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\1\0\0",
        b"\xff" * 8,
        header(b"not json"),
        header(b"\xff"),
        header(b"[" * 200_000),
        header(1),
        header([{}]),
        header([[], []]),
        header([{}, [["a", "|O", [1]]]]),
        header([{}, [["a", ["<i8"], [1]]]]),
        header([{}, [["a", "<i8", 1]]]),
        header([{}, [["a", "<i8", [-1]]]]),
        header([{}, [["a", "<i8", [True]]]]),
        header([{}, [["a", "<i8", [1.5]]]]),
        header([{}, [["a", "<i8", [1]]]]),
        header([{}, [["a", "<i8", [1 << 62, 1 << 62]]]]),
        header([{}, [["a", "<i8"]]]),
        packed({}, {"a": np.arange(9)})[:-1],
    ],
)
def test_malformed_data_are_a_value_error(data):
    with pytest.raises(ValueError):
        unpacked(data)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_damaged_data_give_a_value_error_or_something(data):
    whole = bytearray(packed({"a": [1, 2]}, {"x": np.arange(5), "y": np.ones((2, 2), np.uint8)}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    damaged = whole[: data.draw(st.integers(0, len(whole)))]
    with contextlib.suppress(ValueError):
        unpacked(damaged)


# --- columns of integers --------------------------------------------------------------------

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1


@given(st.lists(st.one_of(st.integers(-3, 300), st.integers(LEAST, GREATEST)), max_size=20))
def test_integers_come_back(values):
    arrays: dict[str, Any] = {}
    column = np.array(values, np.int64)
    fact = json.loads(json.dumps(put_integers(column, arrays, "x")))
    assert integers(fact, arrays, "x").tolist() == values


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ([7] * 1000, 0),
        (list(range(5, 10_005, 10)), 0),
        ([10**15 + at for at in (0, 3, 200)], 3),
        ([at * 1000 + at % 3 for at in range(1000)], 999),
        ([LEAST, GREATEST, 0], 24),
    ],
    ids=["constant", "arithmetic", "near each other", "regular but for a little", "anything"],
)
def test_integers_are_as_narrow_as_they_are(values, size):
    arrays: dict[str, Any] = {}
    put_integers(np.array(values, np.int64), arrays, "x")
    assert sum(array.nbytes for array in arrays.values()) == size


# --- batches --------------------------------------------------------------------------------


def content(batch: EventBatch) -> Any:
    """All that a batch says, as Python values."""
    octets = batch.text.tobytes()
    spans = zip(batch.start.ravel().tolist(), batch.length.ravel().tolist(), batch.tag.ravel().tolist(), strict=True)
    terms = [(octets[at : at + length], octets[at + length : at + length + tag]) for at, length, tag in spans]
    return (
        batch.stream,
        terms,
        batch.hashes.tolist(),
        batch.sign.tolist(),
        batch.event_time.tolist(),
        batch.event_first.tolist(),
        batch.event_size.tolist(),
        batch.event_graph,
        batch.event_place,
    )


def types(batch: EventBatch) -> Any:
    columns = ("text", "start", "length", "tag", "hashes", "sign", "event_time", "event_first", "event_size")
    return [(getattr(batch, name).dtype, getattr(batch, name).ndim) for name in columns]


def assert_round_trip(batch: EventBatch) -> EventBatch:
    back = unpack(pack(batch))
    assert content(back) == content(batch)
    assert types(back) == types(batch)
    return back


def triples(count: int, seed: int = 0) -> EventBatch:
    """Events of 0 to 3 triples, with deletions and terms of all kinds."""
    chance = random.Random(seed)
    terms = ["<urn:a>", "<urn:b>", "_:x", '"é"', '"x"@en-GB', '"x"@en-gb', '"x"@EN-gb', '"1"^^<urn:t>', '""']
    batches = []
    for at in range(count):
        chosen = [
            (chance.choice(terms[:3]), f"<urn:p{chance.randrange(3)}>", chance.choice(terms))
            for _ in range(chance.randrange(4))
        ]
        cut = chance.randrange(len(chosen) + 1)
        batch = from_triples("urn:s", at * 1000 + chance.randrange(2), chosen[cut:], chosen[:cut])
        size = np.array([batch.triples + chance.randrange(2)])
        batches.append(replace(batch, event_size=size, event_place=[(f"f{chance.randrange(3)}", chance.randrange(99))]))
    return concatenate(batches)


@pytest.mark.parametrize("count", [1, 2, 50])
@pytest.mark.parametrize("seed", range(5))
def test_a_batch_comes_back(count, seed):
    batch = triples(count, seed)
    back = assert_round_trip(batch)
    assert back.text.flags.writeable
    assert_round_trip(replace(batch, event_place=[]))
    assert_round_trip(batch.slice(count // 2, count))
    assert_round_trip(batch.slice(0, 0))


def test_graph_names_come_back():
    names = ["<urn:g>", "", "_:é", "<urn:g>"]
    batch = concatenate([from_triples("", 5, [], [], graph) for graph in names])
    assert assert_round_trip(batch).event_graph == names


def test_the_tag_as_written_belongs_to_each_occurrence():
    batch = from_triples(
        "", 0, ['<urn:a> <urn:p> "x"@EN .', '<urn:b> <urn:p> "x"@en .', '<urn:c> <urn:p> "x"@En .'], []
    )
    back = assert_round_trip(batch)
    ends = (back.start + back.length)[:, 2]
    tags = [back.text[at : at + tag].tobytes() for at, tag in zip(ends, back.tag[:, 2], strict=True)]
    assert tags == [b"EN", b"", b"En"]


@pytest.mark.parametrize("mask", [0, 1, 0xFFFF_FFFF, -1 << 32])
def test_terms_with_equal_hashes_stay_different(mask):
    batch = triples(40)
    assert_round_trip(replace(batch, hashes=batch.hashes & mask))


def test_each_term_is_there_once():
    name = "x" * 1000
    lines = [f"<urn:{name}> <urn:p> <urn:o{at}> ." for at in range(100)]
    batch = concatenate([from_triples("", 1000 * at, [line], []) for at, line in enumerate(lines)])
    assert len(pack(batch)) < 5_000


def test_terms_that_are_not_the_text_are_refused():
    facts, arrays = unpacked(pack(triples(3)))
    with pytest.raises(ValueError, match="not its text"):
        unpack(packed(facts, {**arrays, "text": arrays["text"][:-1]}))


def test_columns_of_different_length_are_refused():
    facts, arrays = unpacked(pack(triples(3)))
    with pytest.raises(ValueError, match="differ in length"):
        unpack(packed({**facts, "size": [2, 0, 0]}, arrays))


def test_an_event_of_one_triple_takes_few_bytes(tmp_path):
    path = tmp_path / "s.nt"
    path.write_text("".join(f"<urn:{at % 100}> <urn:p> <urn:{at % 77}> .\n" for at in range(3000)))
    (batch,) = (batch for batch in read(path).batches(Summary.everything(), Quarantine()) if batch)
    assert len(pack(assert_round_trip(batch))) < 4 * batch.triples
