"""The automaton of a path for kernels: which edges a move follows, and the deltas of the pairs it accepts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER, NO_END
from spectra.jit import kernel
from spectra.views.kernels.apply import DELETED, ENTERED, end_at, visible
from spectra.views.kernels.index import find_slot


class AutomatonColumns(NamedTuple):
    """The path for the kernels.

    `moves[state, label]` is the next state or -1; labels with the same moves in all states are a `group`, and
    `group_moves[state, group]` are theirs. A label is a predicate's id (0: any predicate that
    the path does not mention) and a direction; `outgoing` and `incoming` are the indexes that list
    the edges along and against it. `accepting` lists the accepting states. `ends` are root and target
    (constants or 0) and the indexes by subject and by object; `flags` are (both ends are one variable,
    the empty path is accepted by all terms, the pair of a term with itself comes from the empty path only,
    only owned terms are roots, no path comes back to its root). `projected` says which end each output
    column is (0 root, 1 vertex). `clash[s, t]` says that a path which comes to a vertex in s and again
    in t may have no shorter one beside it.
    """

    moves: NDArray[np.int32]
    group: NDArray[np.int64]
    group_moves: NDArray[np.int32]
    label_predicate: NDArray[np.int32]
    label_backward: NDArray[np.bool_]
    outgoing: NDArray[np.int64]
    incoming: NDArray[np.int64]
    mentioned: NDArray[np.int32]
    accepting: NDArray[np.int64]
    is_accepting: NDArray[np.bool_]
    ends: NDArray[np.int32]
    flags: NDArray[np.bool_]
    projected: NDArray[np.int64]
    clash: NDArray[np.bool_]


class TermColumns(NamedTuple):
    """What is known of each term.

    For the empty path between two variables: how many triples of the window use a term, and until when.
    For a shard's part of the trees: whether the shard owns it.
    """

    uses: NDArray[np.int32]
    end: NDArray[np.int64]
    owned: NDArray[np.bool_]


# --- edges ----------------------------------------------------------------------------------


@kernel
def label_of(automaton, predicate, backward):
    """The label of an edge in one direction, -1 where the path has none."""
    wanted = 0
    for i in range(automaton.mentioned.shape[0]):
        if automaton.mentioned[i] == predicate:
            wanted = predicate
            break
    for label in range(automaton.label_predicate.shape[0]):
        if automaton.label_predicate[label] == wanted and automaton.label_backward[label] == backward:
            return label
    return -1


@kernel
def first_edge(views, automaton, label, vertex, incoming):
    """(index, row, length) of the list of edges that a label leads along from a vertex, or that lead into it.

    The row is -1 where there are none.
    """
    index = automaton.incoming[label] if incoming else automaton.outgoing[label]
    predicate = automaton.label_predicate[label]
    subject, object_ = (0, vertex) if automaton.label_backward[label] != incoming else (vertex, 0)
    slot = find_slot(views.subject, views.predicate, views.object, views.lists, index, subject, predicate, object_)
    if slot < 0:
        return index, -1, 0
    return index, views.lists.heads[index, slot] - 1, views.lists.counts[index, slot]


@kernel
def fits(views, automaton, label, row):
    """Whether an edge of the list belongs to the label: the list of "any other predicate" holds all."""
    if automaton.label_predicate[label] != 0:
        return True
    for i in range(automaton.mentioned.shape[0]):
        if automaton.mentioned[i] == views.predicate[row]:
            return False
    return True


@kernel
def leads_to(automaton, label, state):
    """Whether a label leads from any state to this one."""
    for before in range(automaton.moves.shape[0]):
        if automaton.moves[before, label] == state:
            return True
    return False


@kernel
def source_of(views, automaton, label, row):
    """The vertex from which a label leads along an edge."""
    return views.object[row] if automaton.label_backward[label] else views.subject[row]


@kernel
def target_of(views, automaton, label, row):
    """The vertex to which a label leads along an edge."""
    return views.subject[row] if automaton.label_backward[label] else views.object[row]


# --- pairs ----------------------------------------------------------------------------------


@kernel
def may_be_root(terms, automaton, term):
    """Whether this operator grows a tree from a term."""
    if automaton.ends[0] != 0:
        return automaton.ends[0] == term
    return not automaton.flags[3] or terms.owned[term]


@kernel
def is_asked(automaton, root, vertex):
    """Whether the pair can be a result of a non-empty path that nothing else reports."""
    if automaton.ends[1] != 0 and vertex != automaton.ends[1]:
        return False
    if root == vertex:
        return not automaton.flags[2]
    return not automaton.flags[0]


@kernel
def emit(automaton, out, written, at, sign, until, root, vertex, counting):
    out.at[written] = at
    out.sign[written] = sign
    out.until[written] = FOREVER if counting else until
    for column in range(automaton.projected.shape[0]):
        out.rows[written, column] = root if automaton.projected[column] == 0 else vertex
    return written + 1


@kernel
def emit_change(automaton, out, written, at, before, after, root, vertex, counting, extensions):
    """Deltas of a pair whose end went from `before` to `after` (`NO_END`: no result)."""
    if before == after:
        return written
    if before == NO_END:
        return emit(automaton, out, written, at, 1, after, root, vertex, counting)
    if after == NO_END:
        return emit(automaton, out, written, at, -1, before, root, vertex, counting)
    if extensions and not counting:
        written = emit(automaton, out, written, at, -1, before, root, vertex, counting)
        written = emit(automaton, out, written, at, 1, after, root, vertex, counting)
    return written


# --- the empty path between two variables ---------------------------------------------------


@kernel
def latest_use(views, automaton, term, position):
    """The latest end of a triple that uses a term."""
    latest = np.int64(NO_END)
    for side in range(2):
        index = automaton.ends[2 + side]
        s, o = (term, 0) if side == 0 else (0, term)
        slot = find_slot(views.subject, views.predicate, views.object, views.lists, index, s, 0, o)
        row = -1 if slot < 0 else views.lists.heads[index, slot] - 1
        while row >= 0:
            if visible(views, row, position):
                latest = max(latest, end_at(views, row, position))
            row = views.lists.after[index, row]
    return latest


@kernel
def count_term(views, terms, automaton, out, written, at, kind, row, side, position, counting, removals, extensions):
    """Keep the empty path of one end of an edge."""
    term = views.subject[row] if side == 0 else views.object[row]
    if automaton.flags[3] and not terms.owned[term]:
        return written
    before = terms.end[term] if terms.uses[term] > 0 else np.int64(NO_END)
    if kind == ENTERED:
        terms.uses[term] += 1
        terms.end[term] = max(before, end_at(views, row, position))
    elif kind < 0:
        terms.uses[term] -= 1
        if kind == DELETED and terms.uses[term] > 0:
            terms.end[term] = latest_use(views, automaton, term, position)
    else:
        terms.end[term] = max(before, end_at(views, row, position))
    after = terms.end[term] if terms.uses[term] > 0 else np.int64(NO_END)
    for end in range(2):
        if automaton.ends[end] != 0 and automaton.ends[end] != term:
            return written
    if after == NO_END and kind != DELETED and not removals:
        return written
    return emit_change(automaton, out, written, at, before, after, term, term, counting, extensions)
