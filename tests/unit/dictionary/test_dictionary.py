"""The dictionary against a plain dict, under growth, collisions, recycling and restore."""

from __future__ import annotations

import random
from collections import Counter

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from spectra.dictionary.dictionary import Dictionary
from spectra.dictionary.hashing import hash_text
from spectra.errors import InternalError, ResourceError

#: Loops that are not compiled are some hundred times slower.
COMPILED = not numba.config.DISABLE_JIT

#: They leave all of a hash, four bits of its lower half, two of the upper, which chooses the slot, or none.
MASKS = [-1, 0xF, 0x3 << 40, 0]


def columns(terms: list[str], tags: list[str] | None = None, hashes: list[int] | None = None) -> tuple[NDArray, ...]:
    """Spans of one text buffer, as `Dictionary.encode` takes them, with a gap before each."""
    tags = tags or [""] * len(terms)
    text, start, length, tag = bytearray(), [], [], []
    for term, written in zip(terms, tags, strict=True):
        text += b" "
        start.append(len(text))
        length.append(len(term.encode()))
        tag.append(len(written))
        text += term.encode() + written.encode()
    return (
        np.frombuffer(bytes(text), np.uint8),
        np.array(start, np.int64),
        np.array(length, np.int32),
        np.array(tag, np.int32),
        np.array([hash_text(term) for term in terms] if hashes is None else hashes, np.int64),
    )


def ids(*terms: int) -> NDArray[np.int32]:
    return np.array(terms, np.int32)


def numbered(numbers: NDArray[np.int64]) -> tuple[NDArray, ...]:
    """The columns of <http://example.org/n/0000000000>, … with hashes of their own, all vectorised."""
    prefix, digits = np.frombuffer(b"<http://example.org/n/", np.uint8), 10
    size = len(prefix) + digits + 1
    text = np.empty((len(numbers), size), np.uint8)
    text[:, : len(prefix)] = prefix
    for digit in range(digits):
        text[:, size - 2 - digit] = 48 + numbers // 10**digit % 10
    text[:, -1] = ord(">")
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (
        text.reshape(-1),
        np.arange(len(numbers), dtype=np.int64) * size,
        np.full(len(numbers), size, np.int32),
        np.zeros(len(numbers), np.int32),
        (mixed ^ (mixed >> np.uint64(32))).view(np.int64),
    )


class Model:
    """What a dictionary must do, by Python's own dict."""

    def __init__(self) -> None:
        self.id: dict[str, int] = {}
        self.references: Counter[str] = Counter()
        self.persistent: set[str] = set()
        self.printed: dict[str, str] = {}

    def enter(self, text: str, tag: str, term: int) -> None:
        if text in self.id:
            assert self.id[text] == term
            return
        assert term > 0
        assert term not in self.id.values()
        self.id[text] = term
        self.printed[text] = text[: len(text) - len(tag)] + tag

    def reclaim(self) -> int:
        gone = [text for text in self.id if text not in self.persistent and self.references[text] == 0]
        for text in gone:
            del self.id[text], self.printed[text]
        return len(gone)

    def check(self, dictionary: Dictionary) -> None:
        live = list(self.id)
        numbers = ids(*self.id.values())
        assert len(dictionary) == len(live)
        assert dictionary.texts(numbers) == [self.printed[text] for text in live]
        assert dictionary.references[numbers].tolist() == [self.references[text] for text in live]
        assert [dictionary.find(text) for text in live] == list(self.id.values())
        statistics = dictionary.statistics()
        assert statistics["persistent"] == len(self.persistent)
        assert statistics["adaptive"] == len(live) - len(self.persistent)
        text_bytes = sum(
            len(text.encode()) + (len(text) - text.rfind("@") - 1 if self.printed[text] != text else 0) for text in live
        )
        assert statistics["arena_bytes"] - statistics["arena_garbage"] == text_bytes
        assert statistics["persistent_bytes"] + statistics["adaptive_bytes"] == text_bytes


def random_term(random_: random.Random, kinds: int) -> tuple[str, str]:
    number = random_.randrange(kinds)
    match number % 3:
        case 0:
            return f"<http://example.org/{'x' * (number % 7)}/{number}>", ""
        case 1:
            return f'"é{number}"', ""
        case _:
            return f'"{number}"@en-gb', random_.choice(["", "en-GB", "EN-GB"])


# --- single terms -------------------------------------------------------------------------


def test_a_term_has_one_id_and_an_id_one_term():
    dictionary = Dictionary()
    first, second = dictionary.add("<a:x>"), dictionary.constant('"é"')
    assert len({0, first, second}) == 3
    assert dictionary.add("<a:x>") == dictionary.find("<a:x>") == first
    assert dictionary.text(second) == dictionary.canonical_text(second) == '"é"'
    assert dictionary.find("<a:y>") == 0
    assert len(dictionary) == 2


def test_zero_is_unbound():
    dictionary = Dictionary()
    dictionary.retain(ids(0, 0))
    dictionary.release(ids(0, 0, 0))
    assert dictionary.references[0] == 0
    assert dictionary.text(0) == dictionary.canonical_text(0) == ""
    assert dictionary.texts(ids(0, dictionary.add("<a:x>"))) == ["", "<a:x>"]


def test_a_tag_is_printed_as_first_seen():
    dictionary = Dictionary()
    encoded = dictionary.encode(*columns(['"x"@en-gb', '"x"@en-gb', '"y"@en'], ["en-GB", "EN-GB", ""]))
    assert dictionary.texts(encoded) == ['"x"@en-GB', '"x"@en-GB', '"y"@en']
    assert dictionary.canonical_text(int(encoded[0])) == '"x"@en-gb'
    assert dictionary.constant('"y"@en', "EN") == encoded[2]
    assert dictionary.text(int(encoded[2])) == '"y"@en'
    assert dictionary.text(dictionary.constant('"z"@en', "EN")) == '"z"@EN'


def test_a_tag_is_forgotten_with_its_term():
    dictionary = Dictionary()
    dictionary.add('"x"@en', "EN")
    dictionary.reclaim()
    assert dictionary.text(dictionary.add('"x"@en')) == '"x"@en'


@pytest.mark.parametrize("terms", [["_:a", "_:ab", "_:abc", "_:b"], ["_:b", "_:abc", "_:ab", "_:a"]])
def test_one_text_may_be_the_beginning_of_another(terms):
    dictionary = Dictionary(hash_mask=0)
    encoded = dictionary.encode(*columns(terms))
    assert len(set(encoded.tolist())) == 4
    assert dictionary.texts(encoded) == terms
    assert dictionary.statistics()["collisions"] == 3


# --- batches ------------------------------------------------------------------------------


def test_encode_keeps_the_shape():
    dictionary = Dictionary()
    text, start, length, tag, hashes = columns(["<a:x>", "<a:p>", "<a:y>", "<a:y>", "<a:p>", "<a:x>"])
    encoded = dictionary.encode(
        text, start.reshape(2, 3), length.reshape(2, 3), tag.reshape(2, 3), hashes.reshape(2, 3)
    )
    assert encoded.dtype == np.int32
    assert encoded[0].tolist() == encoded[1, ::-1].tolist()
    # a column of a table is not contiguous
    by_column = (column.reshape(2, 3)[:, 1] for column in (start, length, tag, hashes))
    assert dictionary.encode(text, *by_column).tolist() == [encoded[0, 1]] * 2


def test_an_empty_batch():
    dictionary = Dictionary()
    assert dictionary.encode(*columns([])).shape == (0,)
    empty = np.empty((0, 3))
    encoded = dictionary.encode(
        np.empty(0, np.uint8),
        empty.astype(np.int64),
        empty.astype(np.int32),
        empty.astype(np.int32),
        empty.astype(np.int64),
    )
    assert encoded.shape == (0, 3)
    assert dictionary.texts(ids()) == []
    assert dictionary.reclaim() == 0


def test_growth_in_the_middle_of_a_batch():
    dictionary = Dictionary()
    kept = dictionary.constant("<a:kept>")
    terms = [f"<http://example.org/{'long/' * (number % 400)}{number}>" for number in range(5000)] + ["<a:kept>"]
    encoded = dictionary.encode(*columns(terms + terms))
    assert encoded[:5001].tolist() == encoded[5001:].tolist()
    assert len(set(encoded.tolist())) == 5001
    assert encoded[5000] == kept
    assert dictionary.texts(encoded[:5001]) == terms
    assert [dictionary.find(term) for term in terms[::50]] == encoded[:5001:50].tolist()


def test_a_term_larger_than_the_arena():
    dictionary = Dictionary()
    large = f'"{"x" * 3_000_000}"'
    term = dictionary.add(large)
    assert dictionary.text(term) == large
    assert dictionary.add("<a:x>") != term
    assert dictionary.reclaim() == 2
    assert dictionary.statistics()["arena_bytes"] == 0


def test_more_terms_than_ids_is_a_limit(monkeypatch):
    monkeypatch.setattr("spectra.dictionary.dictionary._LARGEST", 1024)
    dictionary = Dictionary()
    with pytest.raises(ResourceError, match="1023 live terms"):
        dictionary.encode(*columns([f"<a:{number}>" for number in range(1024)]))
    assert dictionary.reclaim() == 1023


def test_a_span_outside_the_text_is_refused():
    text, start, length, tag, hashes = columns(["<a:x>", "<a:y>"])
    for wrong in (start - 2, start + 1):
        with pytest.raises(InternalError, match=r"term [01] of a batch"):
            Dictionary().encode(text, wrong, length, tag, hashes)
    with pytest.raises(InternalError, match="shape"):
        Dictionary().encode(text, start[:1], length, tag, hashes)


# --- references ---------------------------------------------------------------------------


def test_duplicates_count_each():
    dictionary = Dictionary()
    x, y = dictionary.add("<a:x>"), dictionary.add("<a:y>")
    dictionary.retain(ids(x, x, 0, y))
    assert dictionary.references[[x, y]].tolist() == [2, 1]
    dictionary.release(ids(x, y))
    assert dictionary.reclaim() == 1
    assert (dictionary.find("<a:x>"), dictionary.find("<a:y>")) == (x, 0)


def test_ids_are_recycled():
    dictionary = Dictionary()
    first = dictionary.encode(*columns(["<a:1>", "<a:2>", "<a:3>"]))
    assert dictionary.reclaim() == 3
    second = dictionary.encode(*columns(["<a:4>", "<a:5>", "<a:6>", "<a:7>"]))
    assert set(first.tolist()) < set(second.tolist())
    assert max(second) == 4


def test_a_term_that_comes_back_before_reclaim_keeps_its_id():
    dictionary = Dictionary()
    x = dictionary.add("<a:x>")
    dictionary.retain(ids(x))
    dictionary.release(ids(x))
    assert dictionary.add("<a:x>") == x
    dictionary.retain(ids(x))
    assert dictionary.reclaim() == 0
    dictionary.release(ids(x))
    assert dictionary.reclaim() == 1
    assert dictionary.reclaim() == 0


def test_constants_survive_everything():
    dictionary = Dictionary()
    constants = {text: dictionary.constant(text) for text in ["<a:p>", '"x"@en', "_:b"]}
    data = dictionary.add("<a:later>")
    dictionary.retain(ids(data))
    dictionary.release(ids(data))
    constants["<a:later>"] = dictionary.constant("<a:later>")
    assert constants["<a:later>"] == data
    for round_ in range(5):
        numbers = ids(*constants.values())
        dictionary.retain(numbers)
        dictionary.release(numbers)
        dictionary.encode(*columns([f"<a:{round_}/{number}>" for number in range(3000)] + list(constants)))
        assert dictionary.reclaim() == 3000
        assert {text: dictionary.find(text) for text in constants} == constants
        assert dictionary.texts(numbers) == list(constants)
    statistics = dictionary.statistics()
    assert (statistics["persistent"], statistics["adaptive"], len(dictionary)) == (4, 0, 4)
    assert statistics["persistent_bytes"] > statistics["adaptive_bytes"] == 0


def test_wrong_ids_are_refused():
    dictionary = Dictionary()
    x = dictionary.add("<a:x>")
    with pytest.raises(InternalError, match=f"id {x} is released"):
        dictionary.release(ids(x))
    dictionary.reclaim()
    for wrong in (x, -1, 7, 10**6):
        for use in (dictionary.retain, dictionary.release, dictionary.texts):
            with pytest.raises(InternalError, match=f"no term has id {wrong}"):
                use(ids(0, wrong))
        with pytest.raises(InternalError, match=f"no term has id {wrong}"):
            dictionary.canonical_text(wrong)


# --- against the model --------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mask", MASKS)
def test_random_sequences_equal_the_model(mask, seed):
    random_ = random.Random(seed)
    dictionary, model = Dictionary(hash_mask=mask), Model()
    collisions = 0
    for _ in range(150 if COMPILED else 40):
        operation = random_.random()
        if operation < 0.5:
            batch = [random_term(random_, 120) for _ in range(random_.randrange(40))]
            encoded = dictionary.encode(*columns([text for text, _ in batch], [tag for _, tag in batch]))
            for (text, tag), term in zip(batch, encoded.tolist(), strict=True):
                if text not in model.id:
                    masked = hash_text(text) & mask
                    collisions += any(hash_text(other) & mask == masked for other in model.id)
                model.enter(text, tag, term)
            retained = [text for text, _ in batch if random_.random() < 0.5]
            dictionary.retain(ids(*(model.id[text] for text in retained)))
            model.references.update(retained)
        elif operation < 0.8:
            held = list(model.references.elements())
            released = random_.sample(held, k=random_.randint(0, len(held)))
            dictionary.release(ids(*(model.id[text] for text in released)))
            model.references.subtract(released)
        elif operation < 0.85:
            text, tag = random_term(random_, 120)
            if text not in model.id:
                collisions += any(hash_text(other) & mask == hash_text(text) & mask for other in model.id)
            model.enter(text, tag, dictionary.constant(text, tag))
            model.persistent.add(text)
        else:
            assert dictionary.reclaim() == model.reclaim()
        if random_.random() < 0.05:
            dictionary = Dictionary.restore(dictionary.checkpoint())
        model.check(dictionary)
        assert dictionary.statistics()["collisions"] == collisions
    assert mask == -1 or collisions > 0


@pytest.mark.parametrize("seed", range(3))
def test_deletion_from_clusters_that_wrap_round_the_end_of_the_table(seed):
    # the upper half of a hash chooses one of 1,024 slots, here one of the last three or first three
    random_ = random.Random(seed)
    home = {f"<a:{number}>": random_.choice([1021, 1022, 1023, 0, 1, 2]) for number in range(60)}
    given = {text: slot << 32 | random_.randrange(1 << 32) for text, slot in home.items()}
    dictionary, model = Dictionary(), Model()
    for _ in range(100 if COMPILED else 30):
        batch = random_.sample(list(given), 20)
        encoded = dictionary.encode(*columns(batch, hashes=[given[text] for text in batch]))
        for text, term in zip(batch, encoded.tolist(), strict=True):
            model.enter(text, "", term)
        changed = random_.sample(batch, 10)
        dictionary.retain(ids(*(model.id[text] for text in changed)))
        model.references.update(changed)
        released = random_.sample(list(model.references.elements()), 8)
        dictionary.release(ids(*(model.id[text] for text in released)))
        model.references.subtract(released)
        assert dictionary.reclaim() == model.reclaim()
        live = list(model.id)
        encoded = dictionary.encode(*columns(live, hashes=[given[text] for text in live]))
        assert encoded.tolist() == list(model.id.values())
        assert len(dictionary) == len(live)


# --- memory -------------------------------------------------------------------------------


def slide(terms: int, window: int, batch: int) -> None:
    """Run `terms` distinct terms through a window, and check that the dictionary stays small."""
    dictionary = Dictionary()
    constant = dictionary.constant("<http://example.org/constant>")
    held = ids()
    largest = 0
    for first in range(0, terms, batch):
        new = dictionary.encode(*numbered(np.arange(first, first + batch)))
        dictionary.retain(new)
        held = np.concatenate([held, new])
        dictionary.release(held[:-window])
        held = held[-window:]
        assert len(dictionary) <= window + batch + 1
        dictionary.reclaim()
        assert len(dictionary) == window + 1
        largest = max(largest, dictionary.nbytes)
    # at most, per term at the peak: 38 bytes of columns, 33 of text, each with room to double, and 6 slots
    assert largest <= 2 * (38 + 2 * 33 + 24) * (window + batch) + 200_000
    assert dictionary.statistics()["capacity"] <= 2 * (window + batch + 1)
    numbers = np.arange(terms - window, terms)
    assert dictionary.texts(held) == [f"<http://example.org/n/{number:010d}>" for number in numbers]
    assert dictionary.find("<http://example.org/constant>") == constant


@pytest.mark.parametrize(("window", "batch"), [(1000, 10_000), (20_000, 30_000)])
def test_memory_follows_the_window_not_the_stream(window, batch):
    if COMPILED:
        slide(300_000, window, batch)
    else:
        slide(batch // 2, window // 10, batch // 10)


@pytest.mark.long
def test_memory_follows_the_window_over_ten_million_terms():
    slide(10_000_000 if COMPILED else 20_000, window=1000, batch=10_000)


def test_memory_shrinks_after_a_burst():
    dictionary = Dictionary()
    size = 100_000 if COMPILED else 10_000
    dictionary.encode(*numbered(np.arange(size)))
    burst = dictionary.nbytes
    assert dictionary.reclaim() == size
    for first in range(0, 3 * size, size // 10):
        dictionary.encode(*numbered(np.arange(first, first + size // 10)))
        dictionary.reclaim()
    assert len(dictionary) == 0
    assert dictionary.nbytes < 0.6 * burst


# --- checkpoints --------------------------------------------------------------------------


@pytest.mark.parametrize("mask", MASKS)
def test_a_restored_dictionary_goes_on_as_the_old_one(mask):
    dictionary = Dictionary(hash_mask=mask)
    constant = dictionary.constant('"c"@en', "EN")
    encoded = dictionary.encode(*columns([f"<a:{number}>" for number in range(200)]))
    dictionary.retain(encoded[:150])
    dictionary.release(encoded[:50])
    dictionary.reclaim()
    dictionary.add("<a:candidate>")
    arrays = dictionary.checkpoint()
    assert all(isinstance(array, np.ndarray) and array.dtype != object for array in arrays.values())
    restored = Dictionary.restore(arrays)
    for name in ("persistent", "adaptive", "collisions"):
        assert restored.statistics()[name] == dictionary.statistics()[name]
    # what the old one does now must not reach the copy
    dictionary.release(encoded[50:150])
    dictionary.reclaim()
    assert restored.text(constant) == '"c"@EN'
    assert restored.texts(encoded[50:150]) == [f"<a:{number}>" for number in range(50, 150)]
    assert restored.references[encoded[50:150]].tolist() == [1] * 100
    assert len(restored) == 102
    assert restored.reclaim() == 1
    restored.release(encoded[50:150])
    assert restored.reclaim() == 100
    assert restored.find('"c"@en') == constant
    again = restored.encode(*columns([f"<a:{number}>" for number in range(300)]))
    assert len(set(again.tolist())) == 300
    assert constant not in again


def test_a_restored_candidate_is_a_candidate_once():
    dictionary = Dictionary()
    encoded = dictionary.encode(*columns([f"<a:{number}>" for number in range(1000)]))
    restored = Dictionary.restore(dictionary.checkpoint())
    for _ in range(3):
        restored.retain(encoded)
        restored.release(encoded)
    assert len(restored.checkpoint()["candidates"]) == 1000
    assert restored.reclaim() == 1000


def test_an_empty_dictionary_can_be_restored():
    restored = Dictionary.restore(Dictionary().checkpoint())
    assert len(restored) == 0
    assert restored.add("<a:x>") == 1
