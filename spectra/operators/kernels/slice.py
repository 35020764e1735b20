"""A stretch of a bag of rows in some order, kept while rows come and go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.jit import kernel
from spectra.operators.kernels.rows import add_row, find_exact, remove_row
from spectra.operators.kernels.treap import Order, insert_node, is_before, neighbour, outermost, remove_node

#: Places in `border`: the last entry that is shown, + 1; how many of its copies are; how many rows are shown in all.
LAST, COPIES, SHOWN = 0, 1, 2

#: Places in `counters`: entries looked at, rows that leave and never came.
VISITED, MISSING = 0, 1


class OrderedRows(NamedTuple):
    """Rows with their ends, in an order.

    `links` and `root` are the tree of the entries that count. Where only distinct rows do, `of_projection` and
    `projection_roots` are the trees of the entries that look alike, of which the first one counts. `told` is how
    many copies of an entry are told; `touched` marks those that may be shown more or less often than that, and
    `changed` lists them.
    """

    order: Order
    links: NDArray[np.int32]
    root: NDArray[np.int32]
    of_projection: NDArray[np.int32]
    projection_roots: NDArray[np.int32]
    told: NDArray[np.int64]
    touched: NDArray[np.bool_]
    changed: NDArray[np.int64]
    border: NDArray[np.int64]
    counters: NDArray[np.int64]


class Shape(NamedTuple):
    """The columns that are shown (-1: none), those whose texts decide between rows with equal keys and those whose
    ids do then, whether only distinct rows count, and the stretch: offset and end.
    """

    shown: NDArray[np.int64]
    ties: NDArray[np.int64]
    hidden: NDArray[np.int64]
    distinct: bool
    offset: int
    end: int


@kernel
def _touch(ordered, size, entry):
    """Remember an entry that may be shown more or less often; how many are remembered."""
    if not ordered.touched[entry]:
        ordered.touched[entry] = True
        ordered.changed[size] = entry
        size += 1
    return size


@kernel
def _weight(entries, distinct, entry):
    return np.int64(1) if distinct else entries.copies[entry]


@kernel
def _step(ordered, entry, side):
    ordered.counters[VISITED] += 1
    return neighbour(ordered.links, ordered.order, ordered.root[0], entry, side)


@kernel
def _enter(entries, ordered, shape, entry, size):
    """Move the border when a copy of an entry has come; how many entries are touched."""
    border = ordered.border
    last = border[LAST] - 1
    if shape.offset > 0 or shape.end == 0:
        return size
    if border[SHOWN] < shape.end:
        border[SHOWN] += 1
        if last < 0 or is_before(ordered.order, last, entry):
            border[LAST], border[COPIES] = entry + 1, 1
        elif last == entry:
            border[COPIES] += 1
        return _touch(ordered, size, entry)
    if last == entry or is_before(ordered.order, last, entry):
        return size
    # it is shown, and the last copy is not any more
    size = _touch(ordered, size, entry)
    size = _touch(ordered, size, last)
    border[COPIES] -= 1
    if border[COPIES] == 0:
        last = _step(ordered, last, 0)
        border[LAST], border[COPIES] = last + 1, _weight(entries, shape.distinct, last)
    return size


@kernel
def _leave(entries, ordered, shape, entry, size):
    """Move the border when a copy of an entry is about to go; how many entries are touched."""
    border = ordered.border
    last = border[LAST] - 1
    if shape.offset > 0 or shape.end == 0 or is_before(ordered.order, last, entry):
        return size
    more = _weight(entries, shape.distinct, last) > border[COPIES]
    if entry == last and more:
        return size
    size = _touch(ordered, size, entry)
    if more:
        border[COPIES] += 1
        return _touch(ordered, size, last)
    following = _step(ordered, last, 1)
    if following >= 0:
        border[LAST], border[COPIES] = following + 1, 1
        return _touch(ordered, size, following)
    border[SHOWN] -= 1
    if entry == last:
        border[COPIES] -= 1
        if border[COPIES] == 0:
            last = _step(ordered, last, 0)
            border[LAST] = last + 1
            border[COPIES] = _weight(entries, shape.distinct, last) if last >= 0 else np.int64(0)
    return size


@kernel
def _add(entries, projections, ordered, shape, projection, row, until, key, size):
    """Add a copy of a row; how many entries are touched."""
    add_row(entries, row, until)
    entry = np.int64(entries.exact[find_exact(entries, row, until)]) - 1
    if entries.copies[entry] > 1:
        return size if shape.distinct else _enter(entries, ordered, shape, entry, size)
    for column in range(key.shape[0]):
        ordered.order.keys[entry, column] = key[column]
    for column in range(shape.ties.shape[0]):
        ordered.order.terms[entry, column] = row[shape.ties[column]]
    for column in range(shape.hidden.shape[0]):
        ordered.order.rest[entry, column] = row[shape.hidden[column]]
    ordered.order.rest[entry, shape.hidden.shape[0]] = -until  # of copies those that last longest first
    if shape.distinct:
        add_row(projections, projection, np.int64(0))
        alike = np.int64(projections.exact[find_exact(projections, projection, np.int64(0))]) - 1
        first = outermost(ordered.of_projection, ordered.projection_roots[alike], 0)
        insert_node(ordered.of_projection, ordered.order, ordered.projection_roots, alike, entry)
        if first >= 0 and is_before(ordered.order, first, entry):
            return size
        if first >= 0:
            size = _leave(entries, ordered, shape, first, size)
            remove_node(ordered.links, ordered.order, ordered.root, 0, first)
    insert_node(ordered.links, ordered.order, ordered.root, 0, entry)
    return _enter(entries, ordered, shape, entry, size)


@kernel
def _remove(entries, projections, ordered, shape, projection, row, until, size):
    """Remove a copy of a row; how many entries are touched. An entry without copies goes at the end of the instant."""
    entry = np.int64(entries.exact[find_exact(entries, row, until)]) - 1
    if entry < 0 or entries.copies[entry] == 0:
        ordered.counters[MISSING] += 1
        return size
    counts = entries.copies[entry] == 1 if shape.distinct else True
    if counts and shape.distinct:
        alike = np.int64(projections.exact[find_exact(projections, projection, np.int64(0))]) - 1
        counts = outermost(ordered.of_projection, ordered.projection_roots[alike], 0) == entry
        remove_node(ordered.of_projection, ordered.order, ordered.projection_roots, alike, entry)
        following = outermost(ordered.of_projection, ordered.projection_roots[alike], 0)
        remove_row(projections, projection, np.int64(0))
        if counts:
            size = _leave(entries, ordered, shape, entry, size)
            remove_node(ordered.links, ordered.order, ordered.root, 0, entry)
            if following >= 0:
                insert_node(ordered.links, ordered.order, ordered.root, 0, following)
                size = _enter(entries, ordered, shape, following, size)
    elif counts:
        size = _leave(entries, ordered, shape, entry, size)
        if entries.copies[entry] == 1:
            remove_node(ordered.links, ordered.order, ordered.root, 0, entry)
    entries.copies[entry] -= 1
    return _touch(ordered, size, entry) if entries.copies[entry] == 0 else size


@kernel
def _shown(entries, ordered, shape, entry):
    """How many copies of an entry are shown."""
    last = ordered.border[LAST] - 1
    if last < 0 or entries.copies[entry] == 0 or is_before(ordered.order, last, entry):
        return np.int64(0)
    if entry == last:
        return ordered.border[COPIES]
    if shape.distinct and not _counts(ordered, entry):
        return np.int64(0)
    return _weight(entries, shape.distinct, entry)


@kernel
def _counts(ordered, entry):
    """Whether an entry is in the tree of those that count."""
    current = np.int64(ordered.root[0]) - 1
    while current >= 0 and current != entry:
        current = np.int64(ordered.links[current, 0 if is_before(ordered.order, entry, current) else 1]) - 1
    return current == entry


@kernel
def _free(entries, ordered, size):
    """Let go of the touched entries that have no copies any more."""
    for i in range(size):
        entry = ordered.changed[i]
        ordered.touched[entry] = False
        if entries.copies[entry] == 0:
            entries.copies[entry] = 1
            remove_row(entries, entries.rows[entry], entries.until[entry])


@kernel
def _write(out, written, at, sign, until, rows, entry, shown):
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = until
    for column in range(shown.shape[0]):
        out.rows[written, column] = rows[entry, shown[column]] if shown[column] >= 0 else 0


@kernel
def slice_deltas(entries, projections, ordered, shape, at, sign, until, rows, projected, keys, out):
    """Deltas of the first rows, instant by instant; how many.

    `projected` are the rows as they are shown and `keys` their places in the order.
    """
    written = 0
    size = 0
    for i in range(at.shape[0]):
        if sign[i] > 0:
            size = _add(entries, projections, ordered, shape, projected[i], rows[i], until[i], keys[i], size)
        else:
            size = _remove(entries, projections, ordered, shape, projected[i], rows[i], until[i], size)
        if i + 1 < at.shape[0] and at[i + 1] == at[i]:
            continue
        for step in range(2):
            for touched in range(size):
                entry = ordered.changed[touched]
                ordered.counters[VISITED] += step
                now = _shown(entries, ordered, shape, entry)
                change = now - ordered.told[entry]
                if (change > 0) == (step == 1):
                    ordered.told[entry] = now
                    for _ in range(abs(change)):
                        _write(
                            out,
                            written,
                            at[i],
                            1 if step else -1,
                            entries.until[entry],
                            entries.rows,
                            entry,
                            shape.shown,
                        )
                        written += 1
        _free(entries, ordered, size)
        size = 0
    return written


class Stretch(NamedTuple):
    """Rows that are told, with the ends that they are told with: `size[0]` of them."""

    rows: NDArray[np.int32]
    until: NDArray[np.int64]
    size: NDArray[np.int64]


@kernel
def stretch_deltas(
    entries, projections, ordered, shape, at, sign, until, rows, projected, keys, earlier, now, told, held, first, out,
):  # fmt: skip
    """Deltas of the rows behind an offset, instant by instant from `first` on; (how many, where to go on).

    A row stays until its own end, or until those before it no longer fill the offset. So all of the stretch is looked
    at again. `told` is the stretch of the last instant and `now` has room for the next; `held` is an empty bag for the
    comparison, and `earlier` has room for the ends of all rows. Stops after the instant at which `out` gets full.
    """
    written = 0
    size = 0
    for i in range(first, at.shape[0]):
        if sign[i] > 0:
            size = _add(entries, projections, ordered, shape, projected[i], rows[i], until[i], keys[i], size)
        else:
            size = _remove(entries, projections, ordered, shape, projected[i], rows[i], until[i], size)
        if i + 1 < at.shape[0] and at[i + 1] == at[i]:
            continue
        _free(entries, ordered, size)
        size = 0
        _walk(entries, ordered, shape, earlier, now)
        for row in range(told.size[0]):
            add_row(held, told.rows[row], told.until[row])
        for row in range(now.size[0]):
            if not remove_row(held, now.rows[row], now.until[row]):
                written = _tell(out, written, at[i], 1, now, row)
        for row in range(told.size[0]):
            if remove_row(held, told.rows[row], told.until[row]):
                written = _tell(out, written, at[i], -1, told, row)
        told.size[0] = now.size[0]
        for row in range(now.size[0]):
            told.until[row] = now.until[row]
            for column in range(now.rows.shape[1]):
                told.rows[row, column] = now.rows[row, column]
        if 4 * now.rows.shape[0] > out.at.shape[0] - written:
            return written, i + 1
    return written, at.shape[0]


@kernel
def _tell(out, written, at, sign, stretch, row):
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = stretch.until[row]
    for column in range(stretch.rows.shape[1]):
        out.rows[written, column] = stretch.rows[row, column]
    return written + 1


@kernel
def _walk(entries, ordered, shape, earlier, now):
    """Put the rows of the stretch into `now`."""
    now.size[0] = 0
    position = 0
    entry = outermost(ordered.links, ordered.root[0], 0)
    while entry >= 0 and position < shape.end:
        end = entries.until[entry]
        for _ in range(_weight(entries, shape.distinct, entry)):
            if position >= shape.end:
                break
            if position >= shape.offset:
                row = now.size[0]
                now.until[row] = min(end, earlier[position - shape.offset])
                for column in range(shape.shown.shape[0]):
                    now.rows[row, column] = entries.rows[entry, shape.shown[column]] if shape.shown[column] >= 0 else 0
                now.size[0] += 1
            place = position
            while place > 0 and earlier[place - 1] > end:
                earlier[place] = earlier[place - 1]
                place -= 1
            earlier[place] = end
            position += 1
        entry = _step(ordered, entry, 1)
