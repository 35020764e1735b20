"""The query conductor: triples of a window linked by what they are joined on, and the matches they form.

A *pair* is a row of the window at a triple pattern that it matches. An *ordinal number* stands for one
value of one join variable. Pairs with the same ordinal number are *siblings*: they agree on that
variable, whatever pattern they are of, and every pattern has its own list of them. So a search goes
from pair to pair along lists, without looking up a key, and a cycle closes where two pairs have an
ordinal number in common. A pair finds its ordinal numbers when it enters: that look-up is the hash
join, and the lists are its by-product. The *final views* hold the matches; each is in the list of
every pair it consists of, so a triple that goes leads to exactly the matches that lose it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.jit import kernel
from spectra.operators.kernels.cardinality import fits
from spectra.views.kernels.apply import DELETED, ENTERED, EXPIRED, end_at
from spectra.views.kernels.index import key_slot

#: What may run out of room: the tables of the conductor (their places in `Conductor.free`), and the output. A kernel
#: that cannot go on gives -1 minus one of these in place of the number of deltas written.
PAIRS, ORDINALS, MATCHES, OUTPUT = 0, 1, 2, 3

#: Ordinal numbers are found by (variable, value): the first two of three columns of a key.
_KEY = 3

#: Signs of deltas. They have a type of their own: kernels are compiled anew for each plain number that they are given.
_ENTERS, _LEAVES = np.int64(1), np.int64(-1)

#: Places in the counters.
PROBES, CANDIDATES, EXPIRED_MATCHES = 0, 1, 2


class SiblingPattern(NamedTuple):
    """A basic graph pattern for the conductor.

    `terms` has a row per triple pattern: a constant's id (> 0), or minus the number of a variable. `joins`
    are the join variables of each pattern (-1 after the last), `columns` where in the triple they stand,
    `places` the pattern's place among the patterns of the variable, of which there are `degree`. A join
    variable in no column joins everything: it holds together what shares no variable. `projected` says
    where each output column comes from: (pattern, column). The rest is room for the search: the pair at
    each pattern, the ordinal number of each join variable, and per depth the pattern chosen, the join it
    is reached by, the pair it stands at and the join variables bound down to it.
    """

    terms: NDArray[np.int32]
    joins: NDArray[np.int32]
    columns: NDArray[np.int32]
    places: NDArray[np.int32]
    degree: NDArray[np.int32]
    projected: NDArray[np.int32]
    member: NDArray[np.int32]
    ordinal: NDArray[np.int32]
    chosen: NDArray[np.int64]
    via: NDArray[np.int64]
    cursor: NDArray[np.int64]
    bound: NDArray[np.int64]


class Conductor(NamedTuple):
    """Pairs, ordinal numbers and matches, each a table with a list of free entries.

    `first_pair` of a row heads the list of its pairs, linked by `next_pair`. A pair has a `pattern` (-1: the
    entry is free), and per join of it an ordinal number and its place in that sibling list (`after`,
    `before`); `first_match` heads the list of the matches that contain it. An ordinal number has its
    `variable` and `value` (found through `slots`, which hold ordinal + 1), per pattern of the variable the
    first pair and the number of pairs, and how many of these lists are empty (`missing`): while one is, none
    of its pairs is in a match. A match has the pair at each pattern (`members`) and its places in their
    lists. `free` counts the free entries of each table.
    """

    first_pair: NDArray[np.int32]
    row: NDArray[np.int32]
    pattern: NDArray[np.int32]
    next_pair: NDArray[np.int32]
    first_match: NDArray[np.int32]
    ordinal: NDArray[np.int32]
    after: NDArray[np.int32]
    before: NDArray[np.int32]
    variable: NDArray[np.int32]
    value: NDArray[np.int32]
    missing: NDArray[np.int32]
    heads: NDArray[np.int32]
    counts: NDArray[np.int32]
    slots: NDArray[np.int32]
    members: NDArray[np.int32]
    match_after: NDArray[np.int32]
    match_before: NDArray[np.int32]
    free_pairs: NDArray[np.int32]
    free_ordinals: NDArray[np.int32]
    free_matches: NDArray[np.int32]
    free: NDArray[np.int64]


@kernel
def term_of(views, row, column):
    """The term in a column (0 subject, 1 predicate, 2 object) of a row."""
    if column == 0:
        return views.subject[row]
    if column == 1:
        return views.predicate[row]
    return views.object[row]


@kernel
def ordinal_of(conductor, pattern, variable, value):
    """The ordinal number of a join variable's value; a new one where it has none."""
    size_mask = conductor.slots.shape[0] - 1
    slot = key_slot(np.int64(variable), np.int64(value), np.int64(0), _KEY, size_mask)
    while conductor.slots[slot] > 0:
        ordinal = np.int64(conductor.slots[slot] - 1)
        if conductor.value[ordinal] == value and conductor.variable[ordinal] == variable:
            return ordinal
        slot = (slot + 1) & size_mask
    conductor.free[ORDINALS] -= 1
    ordinal = np.int64(conductor.free_ordinals[conductor.free[ORDINALS]])
    conductor.variable[ordinal] = variable
    conductor.value[ordinal] = value
    conductor.missing[ordinal] = pattern.degree[variable]
    for place in range(pattern.degree[variable]):
        conductor.heads[ordinal, place] = -1
        conductor.counts[ordinal, place] = 0
    conductor.slots[slot] = ordinal + 1
    return ordinal


@kernel
def free_ordinal(conductor, ordinal):
    """Give an ordinal number back; entries whose probe chain ran over its slot are shifted back."""
    size_mask = conductor.slots.shape[0] - 1
    variable, value = np.int64(conductor.variable[ordinal]), np.int64(conductor.value[ordinal])
    hole = key_slot(variable, value, np.int64(0), _KEY, size_mask)
    while conductor.slots[hole] != ordinal + 1:
        hole = (hole + 1) & size_mask
    probe = hole
    while True:
        probe = (probe + 1) & size_mask
        other = conductor.slots[probe] - 1
        if other < 0:
            break
        variable, value = np.int64(conductor.variable[other]), np.int64(conductor.value[other])
        home = key_slot(variable, value, np.int64(0), _KEY, size_mask)
        if ((probe - home) & size_mask) >= ((probe - hole) & size_mask):
            conductor.slots[hole] = conductor.slots[probe]
            hole = probe
    conductor.slots[hole] = 0
    conductor.free_ordinals[conductor.free[ORDINALS]] = ordinal
    conductor.free[ORDINALS] += 1


@kernel
def move_slots(conductor, old_slots):
    """Fill the (larger, empty) slots from the old ones."""
    size_mask = conductor.slots.shape[0] - 1
    for entry in old_slots:
        if entry > 0:
            variable, value = np.int64(conductor.variable[entry - 1]), np.int64(conductor.value[entry - 1])
            slot = key_slot(variable, value, np.int64(0), _KEY, size_mask)
            while conductor.slots[slot] > 0:
                slot = (slot + 1) & size_mask
            conductor.slots[slot] = entry


@kernel
def enter_pair(views, conductor, pattern, which, row, counters):
    """Put a row, as a match of one triple pattern, among its siblings; the pair. There is room for it."""
    conductor.free[PAIRS] -= 1
    pair = np.int64(conductor.free_pairs[conductor.free[PAIRS]])
    conductor.row[pair] = row
    conductor.pattern[pair] = which
    conductor.first_match[pair] = -1
    conductor.next_pair[pair] = conductor.first_pair[row]
    conductor.first_pair[row] = pair
    for join in range(pattern.joins.shape[1]):
        variable = pattern.joins[which, join]
        if variable < 0:
            break
        column = pattern.columns[which, join]
        value = term_of(views, row, column) if column >= 0 else np.int32(0)
        counters[PROBES] += 1
        ordinal = ordinal_of(conductor, pattern, variable, value)
        place = pattern.places[which, join]
        head = conductor.heads[ordinal, place]
        conductor.ordinal[pair, join] = ordinal
        conductor.after[pair, join] = head
        conductor.before[pair, join] = -1
        if head >= 0:
            conductor.before[head, join] = pair
        else:
            conductor.missing[ordinal] -= 1
        conductor.heads[ordinal, place] = pair
        conductor.counts[ordinal, place] += 1
    return pair


@kernel
def leave_pair(conductor, pattern, pair):
    """Take the first pair of its row from among its siblings; it is in no match any more."""
    which = conductor.pattern[pair]
    conductor.pattern[pair] = -1
    conductor.first_pair[conductor.row[pair]] = conductor.next_pair[pair]
    for join in range(pattern.joins.shape[1]):
        variable = pattern.joins[which, join]
        if variable < 0:
            break
        ordinal = conductor.ordinal[pair, join]
        place = pattern.places[which, join]
        after, before = conductor.after[pair, join], conductor.before[pair, join]
        if after >= 0:
            conductor.before[after, join] = before
        if before >= 0:
            conductor.after[before, join] = after
        else:
            conductor.heads[ordinal, place] = after
        conductor.counts[ordinal, place] -= 1
        if conductor.counts[ordinal, place] == 0:
            conductor.missing[ordinal] += 1
            if conductor.missing[ordinal] == pattern.degree[variable]:
                free_ordinal(conductor, ordinal)
    conductor.free_pairs[conductor.free[PAIRS]] = pair
    conductor.free[PAIRS] += 1


@kernel
def keep_match(conductor, members):
    """Put a match into the final views; there is room for it."""
    conductor.free[MATCHES] -= 1
    match = conductor.free_matches[conductor.free[MATCHES]]
    for which in range(members.shape[0]):
        pair = members[which]
        head = conductor.first_match[pair]
        conductor.members[match, which] = pair
        conductor.match_after[match, which] = head
        conductor.match_before[match, which] = -1
        if head >= 0:
            conductor.match_before[head, which] = match
        conductor.first_match[pair] = match


@kernel
def load_match(conductor, pattern, match):
    """Make a match of the final views the present one."""
    for which in range(pattern.member.shape[0]):
        pattern.member[which] = conductor.members[match, which]


@kernel
def drop_match(conductor, match):
    """Take a match out of the final views."""
    for which in range(conductor.members.shape[1]):
        after, before = conductor.match_after[match, which], conductor.match_before[match, which]
        if after >= 0:
            conductor.match_before[after, which] = before
        if before >= 0:
            conductor.match_after[before, which] = after
        else:
            conductor.first_match[conductor.members[match, which]] = after
    conductor.free_matches[conductor.free[MATCHES]] = match
    conductor.free[MATCHES] += 1


@kernel
def forget_row(conductor, pattern, row):
    """Take a row and all its matches out, and tell nobody."""
    while conductor.first_pair[row] >= 0:
        pair = np.int64(conductor.first_pair[row])
        while conductor.first_match[pair] >= 0:
            drop_match(conductor, conductor.first_match[pair])
        leave_pair(conductor, pattern, pair)


@kernel
def earliest_end(views, conductor, pattern, position):
    """When the first of the pairs of the present match ends, as known at a log position."""
    end = FOREVER
    for which in range(pattern.member.shape[0]):
        end = min(end, end_at(views, conductor.row[pattern.member[which]], position))
    return end


@kernel
def tell(views, conductor, pattern, out, written, at, sign, until):
    """Write the present match as a delta."""
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = until
    for column in range(pattern.projected.shape[0]):
        row = conductor.row[pattern.member[pattern.projected[column, 0]]]
        out.rows[written, column] = term_of(views, row, pattern.projected[column, 1])
    return written + 1


@kernel
def choose_siblings(conductor, pattern, remaining, bound, depth):
    """Put the remaining pattern with the fewest siblings at `depth`; False where some pattern has none."""
    best = np.int64(-1)
    fewest = np.int64(1) << 62
    for which in range(pattern.terms.shape[0]):
        if not remaining >> which & 1:
            continue
        for join in range(pattern.joins.shape[1]):
            variable = pattern.joins[which, join]
            if variable < 0:
                break
            if not bound >> variable & 1:
                continue
            ordinal = pattern.ordinal[variable]
            place = pattern.places[which, join]
            count = conductor.counts[ordinal, place]
            if count == 0:
                return False
            if count < fewest:
                fewest = count
                best = which
                pattern.via[depth] = join
                pattern.cursor[depth] = conductor.heads[ordinal, place]
    pattern.chosen[depth] = best
    return best >= 0


@kernel
def agrees(conductor, pattern, which, pair, via, bound):
    """The join variables bound once a sibling is taken, or -1 where it closes no cycle or has no siblings itself."""
    for join in range(pattern.joins.shape[1]):
        variable = pattern.joins[which, join]
        if variable < 0:
            break
        if join == via:
            continue
        ordinal = conductor.ordinal[pair, join]
        if bound >> variable & 1:
            if pattern.ordinal[variable] != ordinal:
                return np.int64(-1)
        elif conductor.missing[ordinal] > 0:
            return np.int64(-1)
        else:
            pattern.ordinal[variable] = ordinal
            bound |= np.int64(1) << variable
    return bound


@kernel
def extract_matches(
    views, conductor, pattern, pair, position, at, sign, least_end, keep, counting, out, written, counters
):
    """Tell the matches that contain a pair and end after `least_end`, and `keep` them in the final views.

    Returns how many deltas are written then, or what ran out of room: some matches may be kept by then.
    """
    room = out.at.shape[0]
    start = np.int64(conductor.pattern[pair])
    pattern.member[start] = pair
    bound = agrees(conductor, pattern, start, pair, np.int64(-1), np.int64(0))
    if bound < 0:
        return written
    pattern.bound[0] = bound
    remaining = (np.int64(1) << pattern.terms.shape[0]) - 1 & ~(np.int64(1) << start)
    depth = 0
    descend = True
    while True:
        if descend:
            descend = False
            if remaining == 0:
                until = FOREVER if counting else earliest_end(views, conductor, pattern, position)
                if until > least_end:
                    if written == room:
                        return -1 - OUTPUT
                    if keep and conductor.free[MATCHES] == 0:
                        return -1 - MATCHES
                    written = tell(views, conductor, pattern, out, written, at, sign, until)
                    if keep:
                        keep_match(conductor, pattern.member)
            elif choose_siblings(conductor, pattern, remaining, pattern.bound[depth], depth + 1):
                depth += 1
                remaining &= ~(np.int64(1) << pattern.chosen[depth])
        if depth == 0:
            return written
        # take the next sibling of the pattern at this depth
        which = pattern.chosen[depth]
        via = pattern.via[depth]
        sibling = pattern.cursor[depth]
        while sibling >= 0:
            counters[CANDIDATES] += 1
            here = sibling
            sibling = np.int64(conductor.after[here, via])
            bound = agrees(conductor, pattern, which, here, via, pattern.bound[depth - 1])
            if bound >= 0:
                pattern.member[which] = here
                pattern.cursor[depth] = sibling
                pattern.bound[depth] = bound
                descend = True
                break
        if not descend:
            remaining |= np.int64(1) << which
            depth -= 1


@kernel
def enter_row(views, conductor, pattern, row, position, at, keep, counting, out, written, counters):
    """Put a new row among its siblings and tell its matches; the deltas written, or (without the row) what ran out."""
    patterns, joins = pattern.joins.shape
    subject, predicate, obj = views.subject[row], views.predicate[row], views.object[row]
    for which in range(patterns):
        if not fits(pattern, which, subject, predicate, obj):
            continue
        if conductor.free[PAIRS] == 0:
            written = -1 - PAIRS
        elif conductor.free[ORDINALS] < joins:
            written = -1 - ORDINALS
        else:
            # A match with the row at several patterns is found when the last of these pairs enters. One that
            # ends at the very instant at which it would enter is none.
            pair = enter_pair(views, conductor, pattern, which, row, counters)
            written = extract_matches(
                views, conductor, pattern, pair, position, at, _ENTERS, at, keep, counting, out, written, counters
            )
        if written < 0:
            forget_row(conductor, pattern, row)
            return written
    return written


@kernel
def extend_row(views, conductor, row, position, at, pattern, out, written):
    """Tell the matches of a row whose end has moved and with it theirs; the deltas written, or what ran out."""
    before = position - 1
    pair = conductor.first_pair[row]
    while pair >= 0:
        which = conductor.pattern[pair]
        match = conductor.first_match[pair]
        while match >= 0:
            load_match(conductor, pattern, match)
            first = True
            for other in range(which):
                if conductor.row[pattern.member[other]] == row:
                    first = False  # a match with the row at two patterns is told at the first
            was = earliest_end(views, conductor, pattern, before)
            now = earliest_end(views, conductor, pattern, position)
            if first and was != now:
                if written + 2 > out.at.shape[0]:
                    return -1 - OUTPUT
                written = tell(views, conductor, pattern, out, written, at, _LEAVES, was)
                written = tell(views, conductor, pattern, out, written, at, _ENTERS, now)
            match = conductor.match_after[match, which]
        pair = conductor.next_pair[pair]
    return written


@kernel
def conduct_log(views, log, first, last, pattern, conductor, counting, keep, removals, extensions, out, counters):
    """Deltas of the log entries [first, last); returns (next entry, deltas written, what ran out of room or -1).

    Stops early when room runs out; the entry is then taken up again in the next call, where an entry
    that removes goes on and any other starts anew. `removals` and `extensions` say whether anybody asks
    for matches that expire and for ends that move; matches that a deletion ends are always told. Without
    `keep` there are no final views, and what a deletion ends is searched for.
    """
    written = np.int64(0)
    for entry in range(first, last):
        kind = log.kind[entry]
        at = log.at[entry]
        row = log.row[entry]
        if kind >= 0:
            before = written
            if kind == ENTERED:
                written = enter_row(
                    views, conductor, pattern, row, entry + 1, at, keep, counting, out, written, counters
                )
            elif extensions and not counting:
                written = extend_row(views, conductor, row, entry + 1, at, pattern, out, written)
            if written < 0:
                return entry, before, -1 - written
            continue
        told = removals or kind == DELETED
        while conductor.first_pair[row] >= 0:
            pair = np.int64(conductor.first_pair[row])
            if told and not keep:
                before = written
                written = extract_matches(
                    views,
                    conductor,
                    pattern,
                    pair,
                    entry,
                    at,
                    _LEAVES,
                    -FOREVER,
                    keep,
                    counting,
                    out,
                    written,
                    counters,
                )
                if written < 0:
                    return entry, before, -1 - written
            while conductor.first_match[pair] >= 0:
                match = conductor.first_match[pair]
                if told:
                    if written == out.at.shape[0]:
                        return entry, written, OUTPUT
                    load_match(conductor, pattern, match)
                    until = FOREVER if counting else earliest_end(views, conductor, pattern, entry)
                    written = tell(views, conductor, pattern, out, written, at, _LEAVES, until)
                if kind == EXPIRED:
                    counters[EXPIRED_MATCHES] += 1
                drop_match(conductor, match)
            leave_pair(conductor, pattern, pair)
    return last, written, -1


@kernel
def current_matches(views, pattern, conductor, pairs, first, position, at, counting, out, counters):
    """Tell the matches of the pairs from `first` on as entering at `at`; returns (next pair, deltas written)."""
    written = np.int64(0)
    keep = np.bool_(False)  # they are kept already, if they are to be
    for place in range(first, pairs.shape[0]):
        before = written
        written = extract_matches(
            views,
            conductor,
            pattern,
            pairs[place],
            position,
            at,
            _ENTERS,
            -FOREVER,
            keep,
            counting,
            out,
            written,
            counters,
        )
        if written < 0:
            return place, before
    return pairs.shape[0], written
