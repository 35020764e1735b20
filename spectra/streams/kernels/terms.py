"""One RDF term of a line: its end, and its canonical text.

Positions are indexes of one buffer: first the text as read, behind it (from `side` on) the canonical
text of those terms that were not written canonically. Functions return the position behind what
they read and a code: 0 read and canonical, `REWRITE` read but not canonical, `FULL` no room left
behind the text, a reason (see `spectra.streams.reasons`) otherwise, then with the position of the fault.
"""

from __future__ import annotations

import numpy as np

from spectra.jit import kernel
from spectra.streams.reasons import (
    DATATYPE,
    ESCAPE,
    IRI_CHARACTER,
    IRI_RELATIVE,
    IRI_UNTERMINATED,
    LABEL,
    LANG_STRING,
    LANGUAGE_TAG,
    LITERAL_UNTERMINATED,
    SURROGATE,
    UTF8,
)

REWRITE = -1
FULL = -2

TAB, LINE_FEED, CARRIAGE_RETURN, SPACE = 9, 10, 13, 32
QUOTE, HASH, HYPHEN, DOT, COLON = 34, 35, 45, 46, 58
LESS, GREATER, AT_SIGN, BACKSLASH, CARET, UNDERSCORE = 60, 62, 64, 92, 94, 95
_LETTER_N, _LETTER_R, _LETTER_U, _LETTER_U_CAPITAL = 110, 114, 117, 85

# What a byte means inside an IRI, and inside quotes.
_PLAIN, _END, _ESCAPE, _HIGH, _FORBIDDEN = 0, 1, 2, 3, 4


def _byte_kinds(end: str, forbidden: bytes) -> np.ndarray:
    kinds = np.full(256, _PLAIN, np.uint8)
    kinds[128:] = _HIGH
    kinds[list(forbidden)] = _FORBIDDEN
    kinds[ord(end)] = _END
    kinds[BACKSLASH] = _ESCAPE
    return kinds


_IRI_KINDS = _byte_kinds(">", bytes(range(33)) + b'<"{}|^`')
_QUOTED_KINDS = _byte_kinds('"', b"\r\n")

# ASCII classes, by bits.
_ALPHA, _DIGIT, _SCHEME, _LABEL_START, _LABEL = 1, 2, 4, 8, 16


def _ascii_classes() -> np.ndarray:
    classes = np.zeros(256, np.uint8)
    for byte in range(128):
        letter = chr(byte)
        if letter.isalpha():
            classes[byte] |= _ALPHA | _SCHEME | _LABEL_START | _LABEL
        if letter.isdigit():
            classes[byte] |= _DIGIT | _SCHEME | _LABEL_START | _LABEL
        if letter in "+.-":
            classes[byte] |= _SCHEME
        if letter == "_":
            classes[byte] |= _LABEL_START | _LABEL
        if letter == "-":
            classes[byte] |= _LABEL
    return classes


_CLASSES = _ascii_classes()

# The value of a hexadecimal digit, 255 for other bytes; what `\t` and the like stand for, 0 for no escape.
_HEX = np.full(256, 255, np.uint8)
for _digit in "0123456789abcdefABCDEF":
    _HEX[ord(_digit)] = int(_digit, 16)
_NAMED_ESCAPES = np.zeros(256, np.uint8)
for _name, _meaning in zip("tbnrf\"'\\", "\t\b\n\r\f\"'\\", strict=True):
    _NAMED_ESCAPES[ord(_name)] = ord(_meaning)

# PN_CHARS_BASE beyond ASCII, first and last code points; PN_CHARS adds the second table.
_LABEL_START_RANGES = np.array(
    [
        (0xC0, 0xD6),
        (0xD8, 0xF6),
        (0xF8, 0x2FF),
        (0x370, 0x37D),
        (0x37F, 0x1FFF),
        (0x200C, 0x200D),
        (0x2070, 0x218F),
        (0x2C00, 0x2FEF),
        (0x3001, 0xD7FF),
        (0xF900, 0xFDCF),
        (0xFDF0, 0xFFFD),
        (0x10000, 0xEFFFF),
    ],
    np.int64,
)
_LABEL_RANGES = np.array([(0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)], np.int64)

_XSD_STRING = np.frombuffer(b"<http://www.w3.org/2001/XMLSchema#string>", np.uint8)
_RDF_LANG_STRING = np.frombuffer(b"<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>", np.uint8)


@kernel
def skip_blanks(buffer, at, end):
    """The position of the first byte that is neither space nor tab."""
    while at < end and (buffer[at] == SPACE or buffer[at] == TAB):
        at += 1
    return at


@kernel
def same_text(buffer, start, length, other, other_start, other_length):
    """Whether two spans hold the same bytes."""
    if length != other_length:
        return False
    offset = 0
    while offset < length and buffer[start + offset] == other[other_start + offset]:
        offset += 1
    return offset == length


@kernel
def utf8_width(buffer, at, end):
    """How many bytes the character beyond ASCII takes, 0 where they are no valid UTF-8."""
    lead = np.int64(buffer[at])
    low, high = 0x80, 0xBF
    if 0xC2 <= lead <= 0xDF:
        width = 2
    elif 0xE0 <= lead <= 0xEF:
        width = 3
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:  # surrogates
            high = 0x9F
    elif 0xF0 <= lead <= 0xF4:
        width = 4
        if lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F
    else:
        return 0
    if at + width > end or buffer[at + 1] < low or buffer[at + 1] > high:
        return 0
    for offset in range(2, width):
        if buffer[at + offset] < 0x80 or buffer[at + offset] > 0xBF:
            return 0
    return width


@kernel
def _code_point(buffer, at, width):
    value = np.int64(buffer[at]) & (0xFF >> (width + 1))
    for offset in range(1, width):
        value = (value << 6) | (np.int64(buffer[at + offset]) & 0x3F)
    return value


@kernel
def _write_character(buffer, side, value):
    if value < 0x80:
        buffer[side] = value
        return side + 1
    if value < 0x800:
        buffer[side] = 0xC0 | (value >> 6)
        buffer[side + 1] = 0x80 | (value & 0x3F)
        return side + 2
    if value < 0x10000:
        buffer[side] = 0xE0 | (value >> 12)
        buffer[side + 1] = 0x80 | ((value >> 6) & 0x3F)
        buffer[side + 2] = 0x80 | (value & 0x3F)
        return side + 3
    buffer[side] = 0xF0 | (value >> 18)
    buffer[side + 1] = 0x80 | ((value >> 12) & 0x3F)
    buffer[side + 2] = 0x80 | ((value >> 6) & 0x3F)
    buffer[side + 3] = 0x80 | (value & 0x3F)
    return side + 4


@kernel
def _copy(buffer, start, end, side):
    for at in range(start, end):
        buffer[side] = buffer[at]
        side += 1
    return side


@kernel
def _read_numeric_escape(buffer, at, end):
    """(width, code point) of a `u` or `U` escape; the width is 0 for no such escape, -1 for no character."""
    if at + 1 >= end:
        return 0, 0
    if buffer[at + 1] == _LETTER_U:
        width = 6
    elif buffer[at + 1] == _LETTER_U_CAPITAL:
        width = 10
    else:
        return 0, 0
    if at + width > end:
        return 0, 0
    value = 0
    for offset in range(2, width):
        digit = np.int64(_HEX[buffer[at + offset]])
        if digit == 255:
            return 0, 0
        value = value * 16 + digit
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        return -1, 0
    return width, value


@kernel
def _is_absolute(buffer, at, end):
    """Whether the text of an IRI (without brackets) starts with a scheme."""
    if at >= end or not _CLASSES[buffer[at]] & _ALPHA:
        return False
    while at < end and _CLASSES[buffer[at]] & _SCHEME:
        at += 1
    return at < end and buffer[at] == COLON


@kernel
def _scan_iri(buffer, at, end):
    """Read `<…>`, which starts at `at`."""
    code = 0
    at += 1
    start = at
    while at < end:
        kind = _IRI_KINDS[buffer[at]]
        if kind == _PLAIN:
            at += 1
        elif kind == _END:
            if code == 0 and not _is_absolute(buffer, start, at):
                return start, IRI_RELATIVE
            return at + 1, code
        elif kind == _HIGH:
            width = utf8_width(buffer, at, end)
            if width == 0:
                return at, UTF8
            at += width
        elif kind == _ESCAPE:
            width, value = _read_numeric_escape(buffer, at, end)
            if width <= 0:
                return at, ESCAPE if width == 0 else SURROGATE
            if value < 0x80 and _IRI_KINDS[value] != _PLAIN:
                return at, IRI_CHARACTER
            at += width
            code = REWRITE
        elif buffer[at] == LINE_FEED or buffer[at] == CARRIAGE_RETURN:
            return at, IRI_UNTERMINATED
        else:
            return at, IRI_CHARACTER
    return at, IRI_UNTERMINATED


@kernel
def _write_decoded(buffer, at, end, side):
    """Copy a scanned IRI or quoted text, each escape as its character; (new `side`)."""
    quoted = buffer[at] == QUOTE
    buffer[side] = buffer[at]
    side += 1
    at += 1
    while at < end - 1:
        if buffer[at] != BACKSLASH:
            buffer[side] = buffer[at]
            side += 1
            at += 1
            continue
        width, value = _read_numeric_escape(buffer, at, end)
        if width == 0:
            width = 2
            value = np.int64(_NAMED_ESCAPES[buffer[at + 1]])
        at += width
        if quoted and (value in (BACKSLASH, QUOTE, LINE_FEED, CARRIAGE_RETURN)):
            buffer[side] = BACKSLASH
            side += 1
            if value == LINE_FEED:
                value = _LETTER_N
            elif value == CARRIAGE_RETURN:
                value = _LETTER_R
        side = _write_character(buffer, side, value)
    buffer[side] = buffer[end - 1]
    return side + 1


@kernel
def _scan_quoted(buffer, at, end):
    """Read `"…"`, which starts at `at`."""
    code = 0
    at += 1
    while at < end:
        kind = _QUOTED_KINDS[buffer[at]]
        if kind == _PLAIN:
            at += 1
        elif kind == _END:
            return at + 1, code
        elif kind == _HIGH:
            width = utf8_width(buffer, at, end)
            if width == 0:
                return at, UTF8
            at += width
        elif kind == _ESCAPE:
            if at + 1 < end and _NAMED_ESCAPES[buffer[at + 1]] != 0:
                name = buffer[at + 1]
                if name != BACKSLASH and name != QUOTE and name != _LETTER_N and name != _LETTER_R:
                    code = REWRITE
                at += 2
                continue
            width, _ = _read_numeric_escape(buffer, at, end)
            if width <= 0:
                return at, ESCAPE if width == 0 else SURROGATE
            at += width
            code = REWRITE
        else:
            return at, LITERAL_UNTERMINATED
    return at, LITERAL_UNTERMINATED


@kernel
def _label_character(buffer, at, end, first):
    """The width of a character that a blank node label may hold here: 0 none, -1 invalid UTF-8."""
    if buffer[at] < 0x80:
        return 1 if _CLASSES[buffer[at]] & (_LABEL_START if first else _LABEL) else 0
    width = utf8_width(buffer, at, end)
    if width == 0:
        return -1
    value = _code_point(buffer, at, width)
    for row in range(_LABEL_START_RANGES.shape[0]):
        if _LABEL_START_RANGES[row, 0] <= value <= _LABEL_START_RANGES[row, 1]:
            return width
    if not first:
        for row in range(_LABEL_RANGES.shape[0]):
            if _LABEL_RANGES[row, 0] <= value <= _LABEL_RANGES[row, 1]:
                return width
    return 0


@kernel
def _scan_label(buffer, at, end):
    """Read `_:label`, which starts at `at`; dots at its end are not part of it."""
    if at + 2 >= end or buffer[at + 1] != COLON:
        return at, LABEL
    width = _label_character(buffer, at + 2, end, True)
    if width <= 0:
        return at + 2, UTF8 if width < 0 else LABEL
    behind = at + 2 + width
    at = behind
    while at < end:
        if buffer[at] == DOT:
            at += 1
            continue
        width = _label_character(buffer, at, end, False)
        if width < 0:
            return at, UTF8
        if width == 0:
            break
        at += width
        behind = at
    return behind, 0


@kernel
def _scan_tag(buffer, at, end):
    """Read a language tag behind its `@`; `REWRITE` where it has capitals."""
    code = 0
    wanted = _ALPHA
    start = at
    while True:
        while at < end and _CLASSES[buffer[at]] & wanted:
            if buffer[at] <= 90 and buffer[at] >= 65:
                code = REWRITE
            at += 1
        if at == start:
            return at, LANGUAGE_TAG
        if at >= end or buffer[at] != HYPHEN:
            return at, code
        at += 1
        start = at
        wanted = _ALPHA | _DIGIT


@kernel
def _read_literal(buffer, start, end, side):
    """What `read_term` says, of a literal."""
    behind_quote, code = _scan_quoted(buffer, start, end)
    if code > 0:
        return behind_quote, code, 0, 0, 0, side
    at = skip_blanks(buffer, behind_quote, end)
    first = np.int64(buffer[at]) if at < end else 0
    if first == AT_SIGN:
        behind, tag_code = _scan_tag(buffer, at + 1, end)
        if tag_code > 0:
            return behind, tag_code, 0, 0, 0, side
        if code == 0 and tag_code == 0 and at == behind_quote:
            return behind, 0, start, behind - start, 0, side
        if side + 2 * (behind - start) > buffer.shape[0]:
            return start, FULL, 0, 0, 0, side
        head = side
        side = _write_decoded(buffer, start, behind_quote, side)
        buffer[side] = AT_SIGN
        side += 1
        for place in range(at + 1, behind):
            letter = buffer[place]
            buffer[side] = letter + 32 if letter <= 90 and letter >= 65 else letter
            side += 1
        length = side - head
        tag = 0
        if tag_code == REWRITE:
            tag = behind - at - 1
            side = _copy(buffer, at + 1, behind, side)
        return behind, 0, head, length, tag, side
    if first != CARET:
        if code == 0:
            return behind_quote, 0, start, behind_quote - start, 0, side
        if side + (behind_quote - start) > buffer.shape[0]:
            return start, FULL, 0, 0, 0, side
        head = side
        side = _write_decoded(buffer, start, behind_quote, side)
        return behind_quote, 0, head, side - head, 0, side
    if at + 1 >= end or buffer[at + 1] != CARET:
        return at, DATATYPE, 0, 0, 0, side
    at = skip_blanks(buffer, at + 2, end)
    if at >= end or buffer[at] != LESS:
        return at, DATATYPE, 0, 0, 0, side
    behind, datatype_code = _scan_iri(buffer, at, end)
    if datatype_code > 0:
        return behind, datatype_code, 0, 0, 0, side
    if code == 0 and datatype_code == 0 and at == behind_quote + 2:
        head, length, datatype, datatype_length = start, behind - start, at, behind - at
    else:
        if side + (behind - start) > buffer.shape[0]:
            return start, FULL, 0, 0, 0, side
        head = side
        side = _write_decoded(buffer, start, behind_quote, side)
        buffer[side] = CARET
        buffer[side + 1] = CARET
        datatype = side + 2
        side = _write_decoded(buffer, at, behind, datatype)
        length, datatype_length = side - head, side - datatype
        if datatype_code != 0 and not _is_absolute(buffer, datatype + 1, side - 1):
            return at + 1, IRI_RELATIVE, 0, 0, 0, side
    if same_text(buffer, datatype, datatype_length, _XSD_STRING, 0, _XSD_STRING.shape[0]):
        length -= datatype_length + 2
    elif same_text(buffer, datatype, datatype_length, _RDF_LANG_STRING, 0, _RDF_LANG_STRING.shape[0]):
        return at, LANG_STRING, 0, 0, 0, side
    return behind, 0, head, length, 0, side


@kernel
def read_term(buffer, start, end, side, scope):
    """Read the IRI, blank node or literal that starts at `start`.

    Parameters
    ----------
    buffer : uint8[::1]
        The text, and room behind it.
    start, end : int64
        Where the term starts, and where the text ends.
    side : int64
        Where a canonical form may be written.
    scope : uint8[:]
        Set behind each blank node label, after a dot; empty: labels stay as they are.

    Returns
    -------
    behind, code, term_start, term_length, tag_length, side
        The code is 0, `FULL` or a reason. The canonical text is at ``term_start``, and `tag_length`
        bytes behind it are the language tag as written where it has capitals.
    """
    if buffer[start] == LESS:
        behind, code = _scan_iri(buffer, start, end)
        if code != REWRITE:
            return behind, code, start, behind - start, 0, side
        if side + (behind - start) > buffer.shape[0]:
            return start, FULL, 0, 0, 0, side
        head = side
        side = _write_decoded(buffer, start, behind, side)
        if not _is_absolute(buffer, head + 1, side - 1):
            return start + 1, IRI_RELATIVE, 0, 0, 0, side
        return behind, 0, head, side - head, 0, side
    if buffer[start] == QUOTE:
        return _read_literal(buffer, start, end, side)
    behind, code = _scan_label(buffer, start, end)
    if code != 0 or scope.shape[0] == 0:
        return behind, code, start, behind - start, 0, side
    if side + (behind - start) + 1 + scope.shape[0] > buffer.shape[0]:
        return start, FULL, 0, 0, 0, side
    head = side
    side = _copy(buffer, start, behind, side)
    buffer[side] = DOT
    side += 1
    for offset in range(scope.shape[0]):
        buffer[side + offset] = scope[offset]
    side += scope.shape[0]
    return behind, 0, head, side - head, 0, side
