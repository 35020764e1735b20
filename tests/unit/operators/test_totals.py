"""Exact sums as limbs, and their texts, beside Python's integers and decimals."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import numpy as np
import pytest

from spectra.dictionary.dictionary import Dictionary
from spectra.operators.kernels.digits import MARGIN, is_too_long, write_decimal, write_integer
from spectra.operators.kernels.totals import Totals, add_term, binary_value, copy_total, subtract_total
from spectra.operators.relational.numbers import Numbers
from spectra.sparql import numeric
from spectra.sparql.numeric import DECIMAL, INTEGER
from spectra.sparql.values import Value


def spans_of(texts):
    dictionary = Dictionary()
    return dictionary.all_spans().take(np.array([dictionary.constant(text) for text in texts], np.int32))


def enter(numbers, texts, first=1):
    numbers.enter(np.arange(first, first + len(texts), dtype=np.int32), spans_of(texts))


def learned(texts):
    numbers = Numbers()
    enter(numbers, texts)
    exact, _, binary, _ = numbers.shape
    widths = numbers.columns.counts.shape[1], exact, binary, binary
    return numbers, Totals(*(np.zeros((2, width), np.int64) for width in widths))


def written(limbs, fraction, divisor, is_integer):
    size = limbs.shape[0]
    text = np.zeros(18 * size + 2 * MARGIN, np.uint8)
    digits = np.zeros(18 * size + MARGIN, np.uint8)
    end = write_decimal(limbs, fraction, divisor, is_integer, np.zeros(2 * size, np.int64), digits, text, 3)
    return text[3:end].tobytes().decode()


def random_decimal(rng):
    digits = rng.choice([1, 3, 9, 17, 18, 19, 36, 60])
    return Decimal(rng.choice([-1, 1]) * rng.randrange(10**digits)).scaleb(-rng.choice([0, 0, 1, 6, 18, 19, 40]))


@pytest.mark.parametrize("seed", range(40))
def test_sums_and_quotients_of_decimals(seed):
    rng = random.Random(seed)
    given = [random_decimal(rng) for _ in range(rng.choice([1, 2, 10]))]
    numbers, totals = learned([Value(DECIMAL, value).text for value in given])
    total = Decimal(0)
    for slot, value in enumerate(given, 1):
        add_term(totals, 0, numbers.columns, slot, 1)
        total = numeric.EXACT.add(total, value)
        if rng.random() < 0.3:
            add_term(totals, 0, numbers.columns, slot, -1)
            total = numeric.EXACT.subtract(total, value)
        limbs = totals.exact[0]
        assert written(limbs, numbers.fraction, 0, False) == Value(DECIMAL, total).text
        assert not is_too_long(limbs, np.zeros(2 * len(limbs), np.int64))
        for divisor in (1, 3, 7, 10, 999_999, 1_000_000, 2**31 - 1):
            quotient = numeric.divide(DECIMAL, total, Decimal(divisor))
            assert written(limbs, numbers.fraction, divisor, False) == Value(DECIMAL, quotient).text


@pytest.mark.parametrize(
    ("total", "divisor"), [("9.5", 10**9), ("0", 3), ("2", 3), ("-1", 3), ("1e17", 1), ("1e18", 9)]
)
def test_quotients_at_the_edges(total, divisor):
    numbers, totals = learned([Value(DECIMAL, Decimal(total)).text])
    add_term(totals, 0, numbers.columns, 1, 1)
    quotient = numeric.divide(DECIMAL, Decimal(total), Decimal(divisor))
    assert written(totals.exact[0], numbers.fraction, divisor, False) == Value(DECIMAL, quotient).text


def test_a_quotient_of_nines_is_rounded_up_to_the_next_power():
    total = Decimal("0." + "9" * 30)
    numbers, totals = learned([Value(DECIMAL, total).text])
    add_term(totals, 0, numbers.columns, 1, 1)
    assert written(totals.exact[0], numbers.fraction, 1, False) == Value(DECIMAL, Decimal(1)).text


@pytest.mark.parametrize("value", [0, 1, 9, 10, 99, 100, 2**31, 10**17 + 1, 10**18 - 1])
def test_integers(value):
    text = np.zeros(100, np.uint8)
    assert text[: write_integer(np.int64(value), text, 0)].tobytes().decode() == Value(INTEGER, value).text
    numbers, totals = learned([Value(INTEGER, -value).text])
    add_term(totals, 0, numbers.columns, 1, 1)
    assert written(totals.exact[0], numbers.fraction, 0, True) == Value(INTEGER, -value).text


def test_a_decimal_that_is_too_long():
    low, high = Decimal("0." + "0" * 4000 + "1"), Decimal(10) ** 200
    numbers, totals = learned([Value(DECIMAL, value).text for value in (low, high)])
    chunks = np.zeros(2 * totals.exact.shape[1], np.int64)
    for slot, too_long in ((1, False), (2, True)):
        add_term(totals, 0, numbers.columns, slot, 1)
        assert is_too_long(totals.exact[0], chunks) == too_long


def random_double(rng):
    match rng.randrange(4):
        case 0:
            return rng.uniform(-1, 1)
        case 1:
            return math.ldexp(rng.uniform(-1, 1), rng.randrange(-1070, 1020))
        case 2:
            return float(rng.randrange(-(2**60), 2**60))
        case _:
            return rng.choice([0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.0, 2.0**-1022])


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_doubles_are_rounded_once(seed):
    rng = random.Random(seed)
    given = [random_double(rng) for _ in range(12)]
    if seed % 2:
        given = [math.ldexp(rng.randrange(2**53), rng.choice([0, 1, 52, 53, 54])) for _ in range(12)]
    numbers, totals = learned([Value(numeric.DOUBLE, value).text for value in given])
    whole = 0
    limbs = np.zeros(totals.double.shape[1], np.int64)
    for slot, value in enumerate(given, 1):
        add_term(totals, 0, numbers.columns, slot, 1)
        add_term(totals, 1, numbers.columns, slot, 1)
        numerator, denominator = value.as_integer_ratio()
        whole += numerator * (2**1074 // denominator)
        if rng.random() < 0.3:
            add_term(totals, 0, numbers.columns, slot, -1)
            whole -= numerator * (2**1074 // denominator)
        try:
            nearest = whole / 2**1074
        except OverflowError:
            nearest = math.inf if whole > 0 else -math.inf
        assert binary_value(totals.double[0], numbers.point, limbs) == nearest
    scratch = Totals(*(np.zeros((1, part.shape[1]), np.int64) for part in totals))
    copy_total(totals, 1, scratch)
    subtract_total(scratch, totals, 0)
    subtract_total(scratch, totals, 0)
    subtract_total(scratch, scratch, 0)
    assert all(not part.any() for part in scratch)


def test_limbs_come_as_they_are_needed():
    numbers, totals = learned([Value(INTEGER, -5).text])
    add_term(totals, 0, numbers.columns, 1, 1)
    old = numbers.shape
    later = [Value(DECIMAL, Decimal("1e-40")).text, Value(INTEGER, 10**60).text, Value(numeric.DOUBLE, 1e-300).text]
    enter(numbers, later, 2)
    assert numbers.shape != old
    totals = numbers.fit(totals, old)
    for slot in (2, 3):
        add_term(totals, 0, numbers.columns, slot, 1)
    exact = numeric.EXACT.add(Decimal(10**60 - 5), Decimal("1e-40"))
    assert written(totals.exact[0], numbers.fraction, 0, False) == Value(DECIMAL, exact).text
    limbs = np.zeros(totals.double.shape[1], np.int64)
    assert binary_value(totals.double[0], numbers.point, limbs) == 1e60


def random_number(rng):
    lexical = "".join(rng.choice("0123456789") for _ in range(rng.choice([1, 2, 5, 8, 16, 20])))
    if rng.random() < 0.6:
        lexical += "." + "".join(rng.choice("0005") for _ in range(rng.choice([0, 1, 3, 9, 18, 19])))
    datatype = rng.choice(
        ["decimal", "double", "float"] if "." in lexical else ["integer", "decimal", "double", "long"]
    )
    if datatype == "double" and rng.random() < 0.5:
        lexical += f"e{rng.randrange(-30, 30)}"
    return f'"{rng.choice(["", "-", "+"])}{lexical}"^^<http://www.w3.org/2001/XMLSchema#{datatype}>'


@pytest.mark.parametrize("seed", range(10))
def test_plain_numbers_are_learned_as_all_others(seed):
    rng = random.Random(seed)
    texts = [*(random_number(rng) for _ in range(200)), '"16777217"^^<http://www.w3.org/2001/XMLSchema#integer>']
    plain = Numbers()
    enter(plain, texts)
    enter(plain, texts)  # now that there are limbs for all
    one_by_one = Numbers()
    enter(one_by_one, ['"a"'] * len(texts))
    for slot, text in enumerate(texts, 1):
        for column in one_by_one.columns:
            column[slot] = 0
        one_by_one._learn(slot, text)
    totals = Totals(*(np.zeros((1, size), np.int64) for size in (13, *(one_by_one.shape[at] for at in (0, 2, 2)))))
    assert plain.shape == one_by_one.shape
    for slot, text in enumerate(texts, 1):
        add_term(totals, 0, one_by_one.columns, slot, 1)
        add_term(totals, 0, plain.columns, slot, -1)
        assert not any(part.any() for part in totals), text
