"""Comparisons of two bound variables by keys of their terms, which decide them or leave them open.

A term has a *kind* and a key: within a kind `=` is equality of keys, and within the ordered kinds `<` is
their order. What the kinds of two terms do not decide stays open, to be decided by the terms' values.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel

#: Kinds, in the order of a sorted column: numbers of different types and what is not known may compare in any way,
#: a moment only with moments and with what is not known. The order of strings is not in their keys; nodes have none.
OPEN, DECIMAL, FLOAT, DOUBLE, MOMENT, STRING, NODE = 0, 1, 2, 3, 4, 5, 6
KINDS = 7

#: Operators.
EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = 0, 1, 2, 3, 4, 5

NO, YES, MAYBE = 0, 1, 2


class ComparisonColumns(NamedTuple):
    """The comparisons of a basic graph pattern, and what decides them.

    `kind` and `key` are those of each term id. `pairs` has a row per comparison: left variable, operator, right
    variable. `ranges` has a row per triple pattern and variable of it that is compared by order: the pattern, the
    operator, the other variable, and the sorted column of the pattern's rows by the values of the first. The
    columns lie one after the other in `rows` and `keys`; `starts` says where in each of them a kind starts.
    """

    kind: NDArray[np.int8]
    key: NDArray[np.int64]
    pairs: NDArray[np.int64]
    ranges: NDArray[np.int64]
    rows: NDArray[np.int32]
    keys: NDArray[np.int64]
    starts: NDArray[np.int64]


@kernel
def verdict(kind, key, left, operator, right):
    """Whether `left operator right` holds of two term ids: NO, YES, or MAYBE where their keys do not tell."""
    a, b = kind[left], kind[right]
    same = a == b and key[left] == key[right]
    if a == NODE or b == NODE or (a != b and a > OPEN and b > OPEN and (a >= MOMENT or b >= MOMENT)):
        # values that have nothing in common are unequal, and in no order
        return YES if operator == (EQUAL if same else UNEQUAL) else NO
    if a != b or a == OPEN or (a == STRING and operator >= LESS):
        return MAYBE
    if operator == EQUAL:
        return YES if same else NO
    if operator == UNEQUAL:
        return NO if same else YES
    if same:
        return NO if operator in (LESS, GREATER) else YES
    return YES if (key[left] < key[right]) == (operator <= LESS_EQUAL) else NO


@kernel
def decide(kind, key, left, operator, right, verdicts):
    """Fill `verdicts` with those of a comparison of two columns of term ids."""
    for row in range(left.shape[0]):
        verdicts[row] = verdict(kind, key, left[row], operator, right[row])


@kernel
def admitted(comparisons, binding, bound, fresh):
    """Whether no comparison that the `fresh` variables make ready is known to fail."""
    for at in range(comparisons.pairs.shape[0]):
        left, operator, right = comparisons.pairs[at, 0], comparisons.pairs[at, 1], comparisons.pairs[at, 2]
        both = np.int64(1) << left | np.int64(1) << right
        if both & fresh and both & bound == both:
            if verdict(comparisons.kind, comparisons.key, binding[left], operator, binding[right]) == NO:
                return False
    return True


@kernel
def first_above(keys, low, high, key, strictly):
    """The first place in the sorted `keys[low:high]` whose key is at least `key`, or greater where `strictly`."""
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key or (strictly and keys[middle] == key):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def value_range(comparisons, at, term):
    """Where the values of a sorted column lie that may compare so with a term, as two runs [a, b) and [c, d).

    (-1, -1, -1, -1) where the order of the term is not known.
    """
    operator, column = comparisons.ranges[at, 1], comparisons.ranges[at, 3]
    kind, key = np.int64(comparisons.kind[term]), comparisons.key[term]
    none = np.int64(-1)
    if kind < DECIMAL or kind > MOMENT:
        return none, none, none, none
    starts = comparisons.starts[column]
    low, high = starts[kind], starts[kind + 1]
    # the runs of other kinds before and after, of which nothing is known
    before, after = (low, starts[MOMENT]) if kind < MOMENT else (starts[DECIMAL], high)
    if operator <= LESS_EQUAL:
        high = first_above(comparisons.keys, low, high, key, operator == LESS_EQUAL)
        if kind < MOMENT:
            return starts[OPEN], high, starts[kind + 1], after
        return starts[OPEN], before, low, high
    return starts[OPEN], before, first_above(comparisons.keys, low, high, key, operator == GREATER), after
