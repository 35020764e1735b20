"""The members of groups by one argument: by end, with sums, and in order; and the values of set functions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.operators.kernels import totals as t
from spectra.operators.kernels.digits import MARGIN, is_too_long, write_decimal, write_integer
from spectra.operators.kernels.rows import add_row, find_exact, remove_row
from spectra.operators.kernels.totals import add_term, as_single, binary_value, clear_total, copy_total, subtract_total
from spectra.operators.kernels.treap import Order, insert_node, neighbour, outermost, remove_node

#: Set functions.
COUNT, SUM, AVERAGE, MINIMUM, MAXIMUM, SAMPLE, CONCATENATION = 0, 1, 2, 3, 4, 5, 6

#: What a value is: none, a term by its slot, a text, a float or a double, a list of terms to be joined.
NONE, TERM, TEXT, FLOAT, DOUBLE, LIST = 0, 1, 2, 3, 4, 5


class Trees(NamedTuple):
    """Members in order. `ends` links the buckets of one end, those with values and those without having roots of
    their own; `terms` links the members in the order of `places`, where a function asks for that.
    """

    by_end: Order
    ends: NDArray[np.int32]
    values: NDArray[np.int32]
    errors: NDArray[np.int32]
    places: Order
    terms: NDArray[np.int32]
    roots: NDArray[np.int32]


class MemberDeltas(NamedTuple):
    """Members that come and go, in time order; slot 0 is a member without a value."""

    at: NDArray[np.int64]
    sign: NDArray[np.int8]
    until: NDArray[np.int64]
    members: NDArray[np.int32]


class Results(NamedTuple):
    """The values of functions at each evaluation, and until when the first of them holds.

    `what` says what a value is and `value` which: a slot, or a place in `starts` (where a text, or a list in
    `listed`, begins and ends) or in `numbers`.
    """

    what: NDArray[np.int8]
    value: NDArray[np.int64]
    until: NDArray[np.int64]
    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    numbers: NDArray[np.float64]
    listed: NDArray[np.int32]


class Scratch(NamedTuple):
    """Room for a number while it is computed. `shape` holds the limbs behind the point, and the first binary place."""

    totals: t.Totals
    bucket: NDArray[np.int32]
    limbs: NDArray[np.int64]
    chunks: NDArray[np.int64]
    digits: NDArray[np.uint8]
    shape: NDArray[np.int64]


#: Places in `progress`: deltas done, evaluations done, octets, texts, numbers and listed terms used, members missing,
#: and buckets and members looked at for the values.
DELTAS, EVALUATIONS, OCTETS, TEXTS, NUMBERS, LISTED, MISSING, VISITED = 0, 1, 2, 3, 4, 5, 6, 7
PROGRESS = 8


@kernel
def _change_bucket(buckets, bucket_totals, group_totals, trees, numbers, row, until, slot, sign):
    """Add a member to the bucket of its end, or take it away; False where it is not there."""
    if sign > 0:
        add_row(buckets, row, until)
    place = find_exact(buckets, row, until)
    bucket = np.int64(buckets.exact[place]) - 1
    if bucket < 0:
        return False
    group = row[0]
    roots = trees.values if slot > 0 else trees.errors
    if sign > 0 and buckets.copies[bucket] == 1:
        clear_total(bucket_totals, bucket)
        insert_node(trees.ends, trees.by_end, roots, group, bucket)
    number = slot if numbers.counts.shape[1] > 1 else np.int64(slot > 0)
    add_term(bucket_totals, bucket, numbers, number, sign)
    add_term(group_totals, group, numbers, number, sign)
    if sign < 0:
        if buckets.copies[bucket] == 1:
            remove_node(trees.ends, trees.by_end, roots, group, bucket)
        remove_row(buckets, row, until)
    return True


@kernel
def _change_order(entries, trees, labels, terms, row, until, sign):
    """Put a member in its place, or take it out; False where it is not there. Those without a value have none."""
    if sign > 0:
        add_row(entries, row, until)
    entry = np.int64(entries.exact[find_exact(entries, row, until)]) - 1
    if entry < 0:
        return False
    if entries.copies[entry] == 1:
        if sign > 0:
            trees.places.keys[entry, 0] = labels[row[1]]
            trees.places.terms[entry, 0] = terms[row[1]]
            insert_node(trees.terms, trees.places, trees.roots, row[0], entry)
        else:
            remove_node(trees.terms, trees.places, trees.roots, row[0], entry)
    if sign < 0:
        remove_row(entries, row, until)
    return True


@kernel
def _last_end(buckets, trees, group):
    """When the last member of a group ends."""
    last = np.int64(NO_END)
    for roots in (trees.values, trees.errors):
        bucket = outermost(trees.ends, roots[group], 1)
        if bucket >= 0:
            last = max(last, buckets.until[bucket])
    return last


@kernel
def _last_with(buckets, totals, trees, group, column):
    """When the last member ends that counts in a column; members without a value do."""
    last = np.int64(NO_END)
    bucket = outermost(trees.ends, trees.errors[group], 1)
    if bucket >= 0:
        last = buckets.until[bucket]
    bucket = outermost(trees.ends, trees.values[group], 1)
    while bucket >= 0 and totals.counts[bucket, column] == 0:
        bucket = neighbour(trees.ends, trees.by_end, trees.values[group], bucket, 0)
    return max(last, buckets.until[bucket]) if bucket >= 0 else last


@kernel
def _number(totals, row, average, scratch, text, at):
    """(what it is, where its text ends, the value of a float or double) of a sum or an average without bad members."""
    counts = totals.counts[row]
    copies = counts[t.VALUES]
    if counts[t.FLOATS] + counts[t.DOUBLES] == 0:
        integers = counts[t.DECIMALS] == 0
        if not integers and is_too_long(totals.exact[row], scratch.chunks):
            return NONE, at, 0.0
        divisor = copies if average else np.int64(0)
        end = write_decimal(
            totals.exact[row], scratch.shape[0], divisor, integers and divisor == 0,
            scratch.chunks, scratch.digits, text, at,
        )  # fmt: skip
        return TEXT, end, 0.0
    what = DOUBLE if counts[t.DOUBLES] else FLOAT
    up = counts[t.DOUBLE_INF if what == DOUBLE else t.FLOAT_INF]
    down = counts[t.DOUBLE_MINUS_INF if what == DOUBLE else t.FLOAT_MINUS_INF]
    if counts[t.NANS] or (up and down):
        value = np.nan
    elif up or down:
        value = np.inf if up else -np.inf
    elif what == DOUBLE:
        value = binary_value(totals.double[row], scratch.shape[1], scratch.limbs)
    else:
        value = as_single(binary_value(totals.single[row], scratch.shape[1], scratch.limbs))
    if average:
        value /= float(copies) if what == DOUBLE else as_single(float(copies))
        if what == FLOAT:
            value = as_single(value)
    return what, at, value


@kernel
def _is_same_text(text, start, end, other, other_end):
    if end - start != other_end - other:
        return False
    for place in range(end - start):
        if text[start + place] != text[other + place]:
            return False
    return True


@kernel
def _sum(buckets, bucket_totals, group_totals, trees, group, average, scratch, results, progress):
    """(what it is, its value, until when) of the sum or average of a group."""
    if group_totals.counts[group, t.BAD]:
        return NONE, np.int64(0), _last_with(buckets, bucket_totals, trees, group, t.BAD)
    text = results.text
    start = progress[OCTETS]
    what, end, value = _number(group_totals, group, average, scratch, text, start)
    until = np.int64(FOREVER)
    copy_total(group_totals, group, scratch.totals)
    bucket = outermost(trees.ends, trees.values[group], 0)
    while bucket >= 0:
        progress[VISITED] += 1
        subtract_total(scratch.totals, bucket_totals, bucket)
        then, then_end, then_value = _number(scratch.totals, 0, average, scratch, text, end)
        if (
            then != what
            or (what == TEXT and not _is_same_text(text, start, end, end, then_end))
            or (then_value != value and (then_value == then_value or value == value))
        ):
            until = buckets.until[bucket]
            break
        bucket = neighbour(trees.ends, trees.by_end, trees.values[group], bucket, 1)
    place = np.int64(0)
    if what == TEXT:
        place = _note_text(results, progress, end)
    elif what != NONE:
        place = progress[NUMBERS]
        results.numbers[place] = value
        progress[NUMBERS] += 1
    return what, place, until


@kernel
def _note_text(results, progress, end):
    """The place of the text that was written up to `end`."""
    place = progress[TEXTS]
    results.starts[place, 0] = progress[OCTETS]
    results.starts[place, 1] = end
    progress[TEXTS] += 1
    progress[OCTETS] = end
    return place


@kernel
def _extreme(buckets, entries, trees, function, group):
    """(what it is, its slot, until when) of the least or greatest member, or of a sample."""
    if function != SAMPLE:
        failed = outermost(trees.ends, trees.errors[group], 1)
        if failed >= 0:
            # an error until the last one without a value is gone, if any other is left then
            last = outermost(trees.ends, trees.values[group], 1)
            until = buckets.until[failed]
            return NONE, np.int64(0), until if last >= 0 and buckets.until[last] > until else np.int64(FOREVER)
    entry = outermost(trees.terms, trees.roots[group], 1 if function == MAXIMUM else 0)
    if entry < 0:
        return NONE, np.int64(0), np.int64(FOREVER)
    return TERM, np.int64(entries.rows[entry, 1]), entries.until[entry]


@kernel
def _length(counts, separator):
    return counts[t.CHARACTERS] + separator * max(counts[t.VALUES] - 1, 0)


@kernel
def _concatenation(buckets, entries, bucket_totals, group_totals, trees, group, separator, scratch, results, progress):
    """(what it is, its place, until when) of the strings of a group in order, each as often as it occurs."""
    if group_totals.counts[group, t.WITHOUT_STRING]:
        return NONE, np.int64(0), _last_with(buckets, bucket_totals, trees, group, t.WITHOUT_STRING)
    start = progress[LISTED]
    entry = outermost(trees.terms, trees.roots[group], 0)
    while entry >= 0:
        for _ in range(entries.copies[entry]):
            results.listed[progress[LISTED]] = entries.rows[entry, 1]
            progress[LISTED] += 1
            progress[VISITED] += 1
        entry = neighbour(trees.terms, trees.places, trees.roots[group], entry, 1)
    place = progress[TEXTS]
    results.starts[place, 0] = start
    results.starts[place, 1] = progress[LISTED]
    progress[TEXTS] += 1
    # strings only go, so what is joined is another text as soon as it is shorter
    copy_total(group_totals, group, scratch.totals)
    length = _length(scratch.totals.counts[0], separator)
    bucket = outermost(trees.ends, trees.values[group], 0)
    while bucket >= 0:
        progress[VISITED] += 1
        subtract_total(scratch.totals, bucket_totals, bucket)
        if _length(scratch.totals.counts[0], separator) != length:
            return LIST, place, buckets.until[bucket]
        bucket = neighbour(trees.ends, trees.by_end, trees.values[group], bucket, 1)
    return LIST, place, np.int64(FOREVER)


@kernel
def column_deltas(
    buckets, entries, bucket_totals, group_totals, trees, numbers, labels, terms, functions, separators, deltas,
    evaluations, count, keyed, scratch, results, progress,
):  # fmt: skip
    """Apply the members of each instant, then evaluate functions for its groups; whether all is done.

    `labels` and `terms` are the places and the ids of members by slot. `count` groups are to be evaluated; where they
    are `keyed` a solution ends with the last member of its group.
    False where `results` has no room for the next one.
    """
    while progress[EVALUATIONS] < count:
        i = progress[EVALUATIONS]
        while progress[DELTAS] < deltas.at.shape[0] and deltas.at[progress[DELTAS]] <= evaluations.at[i]:
            delta = progress[DELTAS]
            row = deltas.members[delta]
            slot = np.int64(row[1])
            sign = np.int64(deltas.sign[delta])
            until = deltas.until[delta]
            scratch.bucket[0] = row[0]
            scratch.bucket[1] = slot > 0
            there = _change_bucket(
                buckets, bucket_totals, group_totals, trees, numbers, scratch.bucket, until, slot, sign
            )
            if there and slot > 0 and labels.shape[0]:
                there = _change_order(entries, trees, labels, terms, row, until, sign)
            if not there:
                progress[MISSING] += 1
            progress[DELTAS] += 1
        group = evaluations.group[i]
        needed = functions.shape[0] * (18 * group_totals.exact.shape[1] + MARGIN)
        if (
            progress[OCTETS] + needed + needed > results.text.shape[0]
            or progress[LISTED] + functions.shape[0] * group_totals.counts[group, t.VALUES] > results.listed.shape[0]
        ):
            return False
        if evaluations.alive[i]:
            until = _last_end(buckets, trees, group) if keyed else np.int64(FOREVER)
            for at in range(functions.shape[0]):
                function = functions[at]
                if function == COUNT:
                    end = write_integer(group_totals.counts[group, t.VALUES], results.text, progress[OCTETS])
                    what, value = TEXT, _note_text(results, progress, end)
                    bucket = outermost(trees.ends, trees.values[group], 0)
                    stays = buckets.until[bucket] if bucket >= 0 else np.int64(FOREVER)
                    progress[VISITED] += 1
                elif function in (SUM, AVERAGE):
                    what, value, stays = _sum(
                        buckets, bucket_totals, group_totals, trees, group, function == AVERAGE, scratch, results,
                        progress,
                    )  # fmt: skip
                elif function == CONCATENATION:
                    what, value, stays = _concatenation(
                        buckets, entries, bucket_totals, group_totals, trees, group, separators[at], scratch, results,
                        progress,
                    )  # fmt: skip
                else:
                    progress[VISITED] += 1
                    what, value, stays = _extreme(buckets, entries, trees, function, group)
                results.what[i, at] = what
                results.value[i, at] = value
                until = min(until, stays)
            results.until[i] = until
        progress[EVALUATIONS] += 1
    return True
