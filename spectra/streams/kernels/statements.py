"""Lines of N-Triples, N-Quads and RDF Patch: rows of term spans, events, bad lines.

Every line is exactly one of: a triple kept, a triple skipped, a bad line, or something that holds no
triple (blank, comment, time statement, control line). A line changes nothing before it is read
whole, so that a call which runs out of room can be repeated from the start of that line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spectra.dictionary.kernels.xxh64 import xxh64
from spectra.jit import kernel
from spectra.streams.kernels.terms import (
    CARRIAGE_RETURN,
    DOT,
    FULL,
    HASH,
    LESS,
    LINE_FEED,
    QUOTE,
    UNDERSCORE,
    read_term,
    same_text,
    skip_blanks,
)
from spectra.streams.reasons import (
    DATATYPE,
    DEFAULT_GRAPH,
    FULL_STOP,
    GRAPH,
    HEADER,
    LITERAL_SUBJECT,
    OBJECT,
    OUTSIDE_BLOCK,
    PATCH_KEYWORD,
    PREDICATE,
    PREFIXED_NAME,
    SECOND_STATEMENT,
    SECOND_TIME,
    SUBJECT,
    TRAILING_TEXT,
)
from spectra.views.kernels.summary import may_use, may_use_predicate

# The forms a text can have: what an event is.
FILE, TRIPLES, QUADS, PATCH = 0, 1, 2, 3

# What a call says: all read, or which room is used up.
DONE, ROOM_ROWS, ROOM_EVENTS, ROOM_BAD, ROOM_TIMES, ROOM_TEXT = 0, 1, 2, 3, 4, 5

# Fields of the state: how far the scan is, and what it has counted.
SEGMENT, POSITION, LINE, SIDE, ROWS, EVENTS, BAD, TIMES, OPEN, ENTERED, LINES, SKIPPED = range(12)
STATE_WIDTH = 12

# Columns of an event. Its rows end where those of the next begin; BEGIN and END are its bytes.
E_SEGMENT, E_FIRST, E_SIZE, E_LINE, E_BEGIN, E_END, E_GRAPH, E_GRAPH_LENGTH, E_TIME, E_TIME_LENGTH, E_FATE = range(11)
EVENT_WIDTH = 11
# The fate of an event.
WHOLE, ABORTED, UNTERMINATED = 0, 1, 2

# Columns of a bad line.
B_SEGMENT, B_LINE, B_BEGIN, B_END, B_REASON, B_POSITION = range(6)
BAD_WIDTH = 6

# Columns of a time statement; it holds for the events from T_EVENT on.
T_EVENT, T_SEGMENT, T_LINE, T_BEGIN, T_END, T_GRAPH, T_GRAPH_LENGTH, T_TIME, T_TIME_LENGTH = range(9)
TIME_WIDTH = 9

_NO_KEYWORD, _ADD, _DELETE, _HEADER, _BEGIN, _COMMIT, _ABORT, _PREFIX = 0, 1, 2, 3, 4, 5, 6, 7
_A, _C, _D, _H, _P, _T, _X = 65, 67, 68, 72, 80, 84, 88
_TIME_NAME = np.frombuffer(b"time", np.uint8)
_XSD_DATE_TIME = np.frombuffer(b"xsd:dateTime", np.uint8)


class Text(NamedTuple):
    """What is scanned.

    `buffer` holds the segments one behind the other, ``segment_end[s]`` is where segment `s` ends,
    ``first_line[s]`` how many lines of its file came before it, ``scope[s]`` what its blank node labels
    are followed by. `options` are form, event size, whether to validate, whether the last segment
    ends its file.
    """

    buffer: NDArray[np.uint8]
    segment_end: NDArray[np.int64]
    first_line: NDArray[np.int64]
    scope: NDArray[np.uint8]
    time_predicate: NDArray[np.uint8]
    options: NDArray[np.int64]


class Tables(NamedTuple):
    """What comes out: rows as in `EventBatch`, and the tables of events, bad lines and time statements."""

    start: NDArray[np.int64]
    length: NDArray[np.int32]
    tag: NDArray[np.int32]
    hashes: NDArray[np.int64]
    sign: NDArray[np.int8]
    event: NDArray[np.int64]
    bad: NDArray[np.int64]
    time: NDArray[np.int64]


@kernel
def _line_end(buffer, at, end):
    while at < end and buffer[at] != LINE_FEED and buffer[at] != CARRIAGE_RETURN:
        at += 1
    return at


@kernel
def _next_line(buffer, at, end):
    """The start of the line behind the line end at `at`; CR LF is one line end."""
    if at + 1 < end and buffer[at] == CARRIAGE_RETURN and buffer[at + 1] == LINE_FEED:
        return at + 2
    return min(at + 1, end)


@kernel
def _is_line_end(buffer, at, end):
    """Whether nothing but a comment is left of the line."""
    return at >= end or buffer[at] == LINE_FEED or buffer[at] == CARRIAGE_RETURN or buffer[at] == HASH


@kernel
def _read_full_stop(buffer, at, end, required):
    """Read the `.` and what may stand behind it; (position, 0 or a reason)."""
    at = skip_blanks(buffer, at, end)
    if at < end and buffer[at] == DOT:
        at = skip_blanks(buffer, at + 1, end)
    elif required:
        return at, FULL_STOP
    if _is_line_end(buffer, at, end):
        return at, 0
    if buffer[at] == LESS or buffer[at] == UNDERSCORE:
        return at, SECOND_STATEMENT
    return at, TRAILING_TEXT


@kernel
def _read_keyword(buffer, at, end):
    """(position behind, which) of the RDF Patch keyword that starts a line."""
    first = np.int64(buffer[at])
    second = np.int64(buffer[at + 1]) if at + 1 < end else 0
    third = np.int64(buffer[at + 2]) if at + 2 < end else 0
    if not (65 <= second <= 90 or 97 <= second <= 122 or second == 58):
        if first == _A:
            return at + 1, _ADD
        if first == _D:
            return at + 1, _DELETE
        if first == _H:
            return at + 1, _HEADER
    elif not (65 <= third <= 90 or 97 <= third <= 122 or third == 58):
        if first == _T and second == _X:
            return at + 2, _BEGIN
        if first == _T and second == _C:
            return at + 2, _COMMIT
        if first == _T and second == _A:
            return at + 2, _ABORT
        if first == _P and second in (_A, _D):
            return at + 2, _PREFIX
    return at, _NO_KEYWORD


@kernel
def _read_header(buffer, at, end, side, scope):
    """Read what stands behind `H`: (position, code, start, length) of a time, length 0 for other headers."""
    at = skip_blanks(buffer, at, end)
    behind = at
    while behind < end and 97 <= buffer[behind] <= 122:
        behind += 1
    if behind == at:
        return at, HEADER, 0, 0, side
    if not same_text(buffer, at, behind - at, _TIME_NAME, 0, _TIME_NAME.shape[0]):
        return behind, 0, 0, 0, side
    at = skip_blanks(buffer, behind, end)
    if at >= end or buffer[at] != QUOTE:
        return at, HEADER, 0, 0, side
    behind, code, start, length, _, new_side = read_term(buffer, at, end, side, scope)
    name_length = _XSD_DATE_TIME.shape[0]
    if code == DATATYPE and behind + name_length <= end:
        # the prefix that the documentation uses, declared or not
        if same_text(buffer, behind, name_length, _XSD_DATE_TIME, 0, name_length):
            start, length, code, new_side = at, behind - 2 - at, 0, side
            behind += name_length
    if code != 0:
        return behind, code, 0, 0, side
    behind, code = _read_full_stop(buffer, behind, end, False)
    return behind, code, start, length, new_side


@kernel
def _save(state, segment, position, line, side, rows, events, bad, times, is_open, entered, lines, skipped):
    state[SEGMENT] = segment
    state[POSITION] = position
    state[LINE] = line
    state[SIDE] = side
    state[ROWS] = rows
    state[EVENTS] = events
    state[BAD] = bad
    state[TIMES] = times
    state[OPEN] = is_open
    state[ENTERED] = entered
    state[LINES] = lines
    state[SKIPPED] = skipped


@kernel
def _open_event(event, events, segment, first_row, line, begin):
    event[events, E_SEGMENT] = segment
    event[events, E_FIRST] = first_row
    event[events, E_SIZE] = 0
    event[events, E_LINE] = line
    event[events, E_BEGIN] = begin
    event[events, E_END] = begin
    event[events, E_GRAPH] = 0
    event[events, E_GRAPH_LENGTH] = 0
    event[events, E_TIME] = 0
    event[events, E_TIME_LENGTH] = 0
    event[events, E_FATE] = WHOLE


@kernel
def scan(text, summary, tables, state, safe):
    """Scan from `state` on; says `DONE`, or which table has no room left.

    Parameters
    ----------
    text : Text
        What to scan.
    summary : SummaryColumns
        Which triples get a row. Outside N-Quads, and unless validating, a line is left unread as soon
        as its predicate shows that no query can use it.
    tables : Tables
        Filled from the row counts in `state` on.
    state, safe : int64[STATE_WIDTH]
        How far the scan is; and the last point between two events, from where a text that goes on can be
        scanned again. Both are changed.
    """
    buffer = text.buffer
    form = text.options[0]
    event_size = text.options[1]
    validate = text.options[2] != 0
    final = text.options[3] != 0
    time_predicate = text.time_predicate
    time_length = time_predicate.shape[0]
    start, length, tag, hashes, sign = tables.start, tables.length, tables.tag, tables.hashes, tables.sign
    event, bad_lines, time_lines = tables.event, tables.bad, tables.time
    segments = text.segment_end.shape[0]
    keep_all = summary.keep_all[0] != 0

    segment = state[SEGMENT]
    position = state[POSITION]
    line = state[LINE]
    side = state[SIDE]
    rows = state[ROWS]
    events = state[EVENTS]
    bad = state[BAD]
    times = state[TIMES]
    is_open = state[OPEN]
    entered = state[ENTERED]
    lines = state[LINES]
    skipped = state[SKIPPED]

    while segment < segments:
        end = text.segment_end[segment]
        scope = text.scope[segment]
        if entered == 0:
            if form == FILE:
                if events == event.shape[0]:
                    _save(state, segment, position, line, side, rows, events, bad, times, 0, 0, lines, skipped)
                    return ROOM_EVENTS
                _open_event(event, events, segment, rows, 1, position)
                events += 1
                is_open = 1
            line = text.first_line[segment]
            entered = 1
        while position < end:
            room = DONE
            if rows == start.shape[0]:
                room = ROOM_ROWS
            elif form != FILE and events == event.shape[0]:
                room = ROOM_EVENTS
            elif bad == bad_lines.shape[0]:
                room = ROOM_BAD
            elif times == time_lines.shape[0]:
                room = ROOM_TIMES
            if room != DONE:
                _save(
                    state,
                    segment,
                    position,
                    line,
                    side,
                    rows,
                    events,
                    bad,
                    times,
                    is_open,
                    entered,
                    lines,
                    skipped,
                )
                return room

            at = skip_blanks(buffer, position, end)
            reason = 0
            triple = False
            row_sign = 1
            if not _is_line_end(buffer, at, end):
                triple = True
                if form == PATCH:
                    behind, keyword = _read_keyword(buffer, at, end)
                    triple = keyword in (_ADD, _DELETE)
                    row_sign = -1 if keyword == _DELETE else 1
                    if keyword == _NO_KEYWORD:
                        reason = PATCH_KEYWORD
                    elif keyword == _BEGIN:
                        at, reason = _read_full_stop(buffer, behind, end, False)
                        if reason == 0:
                            if is_open:
                                event[events - 1, E_FATE] = UNTERMINATED
                            _save(
                                safe,
                                segment,
                                position,
                                line,
                                side,
                                rows,
                                events,
                                bad,
                                times,
                                0,
                                1,
                                lines,
                                skipped,
                            )
                            _open_event(event, events, segment, rows, line + 1, position)
                            events += 1
                            is_open = 1
                    elif keyword == _HEADER:
                        at, reason, time_at, length_of_time, new_side = _read_header(buffer, behind, end, side, scope)
                        if reason == FULL:
                            _save(
                                state,
                                segment,
                                position,
                                line,
                                side,
                                rows,
                                events,
                                bad,
                                times,
                                is_open,
                                entered,
                                lines,
                                skipped,
                            )
                            return ROOM_TEXT
                        if reason == 0 and length_of_time > 0:
                            if not is_open:
                                reason = OUTSIDE_BLOCK
                            elif event[events - 1, E_TIME_LENGTH] > 0:
                                reason = SECOND_TIME
                            else:
                                side = new_side
                                event[events - 1, E_TIME] = time_at
                                event[events - 1, E_TIME_LENGTH] = length_of_time
                    elif keyword == _PREFIX:
                        at = behind
                    elif not is_open:
                        reason = OUTSIDE_BLOCK
                        triple = False
                    elif not triple:
                        at, reason = _read_full_stop(buffer, behind, end, False)
                        if reason == 0:
                            event[events - 1, E_FATE] = WHOLE if keyword == _COMMIT else ABORTED
                            event[events - 1, E_END] = _next_line(buffer, _line_end(buffer, at, end), end)
                            is_open = 0
                    else:
                        at = skip_blanks(buffer, behind, end)

            if triple:
                # Subject and predicate; then it is known whether the rest is worth reading.
                first = np.int64(buffer[at]) if at < end else 0
                new_side = side
                unread = False
                is_time = False
                predicate_hash = np.int64(0)
                s_start = s_length = p_start = p_length = np.int64(0)
                o_start = o_length = o_tag = g_start = g_length = np.int64(0)
                if first != LESS and first != UNDERSCORE:
                    reason = LITERAL_SUBJECT if first == QUOTE else SUBJECT
                else:
                    at, reason, s_start, s_length, _, new_side = read_term(buffer, at, end, new_side, scope)
                if reason == 0:
                    at = skip_blanks(buffer, at, end)
                    if at >= end or buffer[at] != LESS:
                        reason = PREDICATE
                    else:
                        at, reason, p_start, p_length, _, new_side = read_term(buffer, at, end, new_side, scope)
                if reason == 0:
                    predicate_hash = xxh64(buffer, p_start, p_length)
                    is_time = time_length > 0 and same_text(buffer, p_start, p_length, time_predicate, 0, time_length)
                    if form == FILE and is_time:
                        is_time = event[events - 1, E_TIME_LENGTH] == 0
                    unread = (
                        form != QUADS
                        and not validate
                        and not is_time
                        and not keep_all
                        and not may_use_predicate(summary, predicate_hash)
                    )
                if reason == 0 and not unread:
                    at = skip_blanks(buffer, at, end)
                    first = np.int64(buffer[at]) if at < end else 0
                    if first != LESS and first != UNDERSCORE and first != QUOTE:
                        reason = OBJECT
                    else:
                        at, reason, o_start, o_length, o_tag, new_side = read_term(buffer, at, end, new_side, scope)
                if reason == 0 and not unread and form >= QUADS:
                    at = skip_blanks(buffer, at, end)
                    first = np.int64(buffer[at]) if at < end else 0
                    if first in (LESS, UNDERSCORE):
                        at, reason, g_start, g_length, _, new_side = read_term(buffer, at, end, new_side, scope)
                    elif first == QUOTE:
                        reason = GRAPH
                if reason == 0 and not unread:
                    at, reason = _read_full_stop(buffer, at, end, True)
                if reason == FULL:
                    _save(
                        state,
                        segment,
                        position,
                        line,
                        side,
                        rows,
                        events,
                        bad,
                        times,
                        is_open,
                        entered,
                        lines,
                        skipped,
                    )
                    return ROOM_TEXT
                if form == PATCH and reason in (SUBJECT, PREDICATE, OBJECT):
                    name = at
                    while name < end and (97 <= np.int64(buffer[name]) | 32 <= 122 or 48 <= buffer[name] <= 57):
                        name += 1
                    if name < end and buffer[name] == 58 and (name == at or buffer[at] > 57):
                        reason = PREFIXED_NAME

                if reason == 0 and form == QUADS:
                    if g_length == 0:
                        triple = False
                        if is_time:
                            if is_open and same_text(
                                buffer, s_start, s_length,
                                buffer, event[events - 1, E_GRAPH], event[events - 1, E_GRAPH_LENGTH],
                            ):  # fmt: skip
                                is_open = 0
                            behind = _next_line(buffer, _line_end(buffer, at, end), end)
                            time_lines[times, T_EVENT] = events
                            time_lines[times, T_SEGMENT] = segment
                            time_lines[times, T_LINE] = line + 1
                            time_lines[times, T_BEGIN] = position
                            time_lines[times, T_END] = behind
                            time_lines[times, T_GRAPH] = s_start
                            time_lines[times, T_GRAPH_LENGTH] = s_length
                            time_lines[times, T_TIME] = o_start
                            time_lines[times, T_TIME_LENGTH] = o_length
                            times += 1
                            side = new_side
                        else:
                            reason = DEFAULT_GRAPH
                    elif not is_open or not same_text(
                        buffer, g_start, g_length,
                        buffer, event[events - 1, E_GRAPH], event[events - 1, E_GRAPH_LENGTH],
                    ):  # fmt: skip
                        _save(
                            safe,
                            segment,
                            position,
                            line,
                            side,
                            rows,
                            events,
                            bad,
                            times,
                            0,
                            1,
                            lines,
                            skipped,
                        )
                        _open_event(event, events, segment, rows, line + 1, position)
                        event[events, E_GRAPH] = g_start
                        event[events, E_GRAPH_LENGTH] = g_length
                        events += 1
                        is_open = 1
                        side = new_side

                if reason == 0 and triple:
                    if form == TRIPLES and not is_open:
                        _open_event(event, events, segment, rows, line + 1, position)
                        events += 1
                        is_open = 1
                    kept = not unread and (keep_all or may_use_predicate(summary, predicate_hash))
                    if kept:
                        subject_hash = xxh64(buffer, s_start, s_length)
                        object_hash = xxh64(buffer, o_start, o_length)
                        kept = keep_all or may_use(summary, subject_hash, predicate_hash, object_hash)
                        if kept:
                            hashes[rows, 0] = subject_hash
                            hashes[rows, 1] = predicate_hash
                            hashes[rows, 2] = object_hash
                            start[rows, 0] = s_start
                            start[rows, 1] = p_start
                            start[rows, 2] = o_start
                            length[rows, 0] = s_length
                            length[rows, 1] = p_length
                            length[rows, 2] = o_length
                            tag[rows, 0] = 0
                            tag[rows, 1] = 0
                            tag[rows, 2] = o_tag
                            sign[rows] = row_sign
                            rows += 1
                            side = new_side
                    if not kept:
                        skipped += 1
                    if form == FILE and is_time:
                        event[events - 1, E_TIME] = o_start
                        event[events - 1, E_TIME_LENGTH] = o_length
                        side = new_side
                    event[events - 1, E_SIZE] += 1
                    if form == TRIPLES and event[events - 1, E_SIZE] == event_size:
                        is_open = 0

            line_end = _line_end(buffer, at, end)
            if reason != 0:
                bad_lines[bad, B_SEGMENT] = segment
                bad_lines[bad, B_LINE] = line + 1
                bad_lines[bad, B_BEGIN] = position
                bad_lines[bad, B_END] = line_end
                bad_lines[bad, B_REASON] = reason
                bad_lines[bad, B_POSITION] = at
                bad += 1
            position = _next_line(buffer, line_end, end)
            line += 1
            lines += 1
            if is_open:
                event[events - 1, E_END] = position
            else:
                _save(safe, segment, position, line, side, rows, events, bad, times, 0, 1, lines, skipped)
        if segment == segments - 1 and not final:
            break
        if is_open and form == PATCH:
            event[events - 1, E_FATE] = UNTERMINATED
        is_open = 0
        entered = 0
        segment += 1
        _save(safe, segment, position, line, side, rows, events, bad, times, 0, 0, lines, skipped)
    _save(state, segment, position, line, side, rows, events, bad, times, is_open, entered, lines, skipped)
    return DONE
