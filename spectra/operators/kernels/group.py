"""GROUP BY: which groups change when, and what is told of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, find_exact, remove_row


class Evaluations(NamedTuple):
    """The groups that change at each instant, in time order: their numbers and keys, and whether they go on."""

    at: NDArray[np.int64]
    group: NDArray[np.int64]
    alive: NDArray[np.bool_]
    keys: NDArray[np.int32]


class Told(NamedTuple):
    """What is told of each group at present: a row of values and its end, if anything."""

    values: NDArray[np.int32]
    until: NDArray[np.int64]
    present: NDArray[np.bool_]


@kernel
def group_rows(groups, at, sign, keys, touched, group_of, evaluations):
    """Number the group of each row, and list the groups that change at each instant.

    `groups` has the keys of the groups, with their sizes as copies; a group that becomes empty loses its number at
    the end of the instant. `touched` is the evaluation of each group at the present instant, + 1, and is left
    empty. Returns (evaluations, rows that leave no group).
    """
    count = 0
    missing = 0
    first = 0
    begun = 0
    for i in range(at.shape[0]):
        place = find_exact(groups, keys[i], np.int64(0))
        group = np.int64(groups.exact[place]) - 1
        if sign[i] > 0:
            add_row(groups, keys[i], np.int64(0))
            group = np.int64(groups.exact[find_exact(groups, keys[i], np.int64(0))]) - 1
        elif group < 0 or groups.copies[group] == 0:
            missing += 1
            continue
        else:
            groups.copies[group] -= 1
        group_of[i] = group
        if touched[group] == 0:
            evaluations.at[count] = at[i]
            evaluations.group[count] = group
            for column in range(keys.shape[1]):
                evaluations.keys[count, column] = keys[i, column]
            count += 1
            touched[group] = count
        if i + 1 < at.shape[0] and at[i + 1] == at[i]:
            continue
        for begun in range(first, count):
            group = evaluations.group[begun]
            touched[group] = 0
            evaluations.alive[begun] = groups.copies[group] > 0
            if groups.copies[group] == 0:
                groups.copies[group] = 1
                remove_row(groups, evaluations.keys[begun], np.int64(0))
        first = count
    return count, missing


@kernel
def tell_groups(told, evaluations, count, values, until, out):
    """Write what is told of the groups now in the place of what was told; how many deltas that are."""
    written = 0
    width = evaluations.keys.shape[1]
    for i in range(count):
        group = evaluations.group[i]
        same = told.present[group] == evaluations.alive[i]
        if same and told.present[group]:
            same = told.until[group] == until[i]
            for column in range(values.shape[1]):
                same = same and told.values[group, column] == values[i, column]
        if same:
            continue
        for step in range(2):
            if not (evaluations.alive[i] if step else told.present[group]):
                continue
            out.at[written] = evaluations.at[i]
            out.sign[written] = 1 if step else -1
            out.until[written] = until[i] if step else told.until[group]
            for column in range(width):
                out.rows[written, column] = evaluations.keys[i, column]
            for column in range(values.shape[1]):
                out.rows[written, width + column] = values[i, column] if step else told.values[group, column]
            written += 1
        told.present[group] = evaluations.alive[i]
        told.until[group] = until[i]
        for column in range(values.shape[1]):
            told.values[group, column] = values[i, column]
    return written
