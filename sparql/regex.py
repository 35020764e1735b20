r"""XPath regular expressions, translated to Python's.

The two grammars look alike and differ in detail: `$` is the very end of the text in XPath and also
before a last line end in Python, `[a-z-[aeiou]]` subtracts, `\i` and `\c` are name characters, there
is no lookaround and nothing else behind `(?` but `:`. So a pattern is parsed by XPath's grammar, and
only what was understood is written out for Python. One deliberate difference: `\w` includes the
underscore, as in every engine that users come from. `\b` and `\B` are accepted beyond the grammar.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_WHITESPACE = " \t\n\r"
_LAST = 0x10FFFF
_Ranges = tuple[tuple[int, int], ...]

_SPACES: _Ranges = ((0x09, 0x0A), (0x0D, 0x0D), (0x20, 0x20))
# NameStartChar and NameChar of XML 1.1
_NAME_START: _Ranges = (
    (0x3A, 0x3A),
    (0x41, 0x5A),
    (0x5F, 0x5F),
    (0x61, 0x7A),
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
)
_NAME: _Ranges = (
    (0x2D, 0x2E),
    (0x30, 0x3A),
    (0x41, 0x5A),
    (0x5F, 0x5F),
    (0x61, 0x7A),
    (0xB7, 0xB7),
    (0xC0, 0xD6),
    (0xD8, 0xF6),
    (0xF8, 0x37D),
    (0x37F, 0x1FFF),
    (0x200C, 0x200D),
    (0x203F, 0x2040),
    (0x2070, 0x218F),
    (0x2C00, 0x2FEF),
    (0x3001, 0xD7FF),
    (0xF900, 0xFDCF),
    (0xFDF0, 0xFFFD),
    (0x10000, 0xEFFFF),
)
_CATEGORY = re.compile(r"[LMNPZSC]|L[ultmo]|M[nce]|N[dlo]|P[cdseifo]|Z[slp]|S[mcko]|C[cfon]")
_COUNT = re.compile(r"\{([0-9]{1,9})(?:(,)([0-9]{1,9})?)?\}")

#: A computed pattern longer than this is refused.
_MAXIMUM_COMPUTED = 10_000


class PatternError(ValueError):
    """The pattern, the flags or the replacement is not one of XPath's."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str, flags: str = "", *, computed: bool = False) -> re.Pattern[str]:
    """The compiled pattern; `flags` are XPath's `s m i x q`.

    A `computed` pattern comes from data, not from the query's author, so one that could take
    exponential time is refused: a repeated group with repetition or alternatives inside.
    """
    if not set(flags) <= set("smixq"):
        raise PatternError(f'unknown flag in "{flags}"')
    if computed and len(pattern) > _MAXIMUM_COMPUTED:
        raise PatternError("pattern from data is too long")
    if "q" in flags:
        text = re.escape(pattern)
    else:
        translation = _Translation(_without_whitespace(pattern) if "x" in flags else pattern, "m" in flags)
        try:
            text = translation.regular_expression()
        except RecursionError:
            raise PatternError("pattern is nested too deeply") from None
        if computed and translation.nested:
            raise PatternError("pattern from data nests repetition")
    options = re.RegexFlag(0)
    if "i" in flags:
        options |= re.IGNORECASE
    if "s" in flags:
        options |= re.DOTALL
    try:
        return re.compile(text, options)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(str(error)) from None


def _without_whitespace(pattern: str) -> str:
    """The pattern under the flag `x`: no whitespace but in character classes."""
    kept = []
    depth = 0
    escaped = False
    for character in pattern:
        if depth == 0 and character in _WHITESPACE:
            continue
        kept.append(character)
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
    return "".join(kept)


class _Translation:
    """One pass over a pattern by recursive descent; `nested` says that a repeated group could explode."""

    def __init__(self, pattern: str, multiline: bool) -> None:
        self.pattern = pattern
        self.at = 0
        self.multiline = multiline
        self.groups = 0
        self.open_groups: set[int] = set()
        self.nested = False

    def regular_expression(self) -> str:
        text, _ = self._alternatives()
        if self.at < len(self.pattern):
            raise PatternError('")" closes nothing')
        return text

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _next(self) -> str:
        if self.at >= len(self.pattern):
            raise PatternError("pattern ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def _alternatives(self) -> tuple[str, bool]:
        """Branches up to `)` or the end, and whether they repeat or choose."""
        parts: list[str] = []
        complex_ = False
        while (character := self._peek()) and character != ")":
            if character == "|":
                self.at += 1
                parts.append("|")
                complex_ = True
                continue
            atom, inner = self._atom()
            quantifier, repeats = self._quantifier()
            if repeats and inner:
                self.nested = True
            parts.append(atom + quantifier)
            complex_ = complex_ or inner or bool(quantifier)
        return "".join(parts), complex_

    def _quantifier(self) -> tuple[str, bool]:
        """The quantifier at this place ("" for none), and whether it repeats more than once."""
        character = self._peek()
        if character and character in "?*+":
            self.at += 1
            quantifier, repeats = character, character != "?"
        elif character == "{":
            count = _COUNT.match(self.pattern, self.at)
            if count is None:
                raise PatternError('"{" starts no count')
            self.at = count.end()
            quantifier = count[0]
            repeats = bool(count[2] and not count[3]) or int(count[3] or count[1]) > 1
        else:
            return "", False
        if self._peek() == "?":
            self.at += 1
            quantifier += "?"
        if self._peek() and self._peek() in "?*+{":
            raise PatternError("a quantifier follows a quantifier")
        return quantifier, repeats

    def _atom(self) -> tuple[str, bool]:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._character_class(), False
        if character == "\\":
            return self._escape(), False
        if character == ".":
            return ".", False
        if character == "^":
            return (r"(?:\A|(?<=\n)(?!\Z))" if self.multiline else r"\A"), False
        if character == "$":
            return (r"(?=\n|\Z)" if self.multiline else r"\Z"), False
        if character in "?*+{}]":
            raise PatternError(f'"{character}" must be escaped')
        return re.escape(character), False

    def _group(self) -> tuple[str, bool]:
        number = 0
        if self._peek() == "?":
            self.at += 1
            if self._next() != ":":
                raise PatternError('"(?" can only be followed by ":"')
        else:
            self.groups += 1
            number = self.groups
            self.open_groups.add(number)
        inner, complex_ = self._alternatives()
        if self._peek() != ")":
            raise PatternError('"(" is not closed')
        self.at += 1
        self.open_groups.discard(number)
        return (f"({inner})" if number else f"(?:{inner})"), complex_

    def _escape(self) -> str:
        character = self._next()
        if character in "123456789":
            return self._back_reference(int(character))
        if character in "bB":
            return f"\\{character}"
        return f"[{self._class_escape(character)}]"

    def _back_reference(self, number: int) -> str:
        while self._peek() and self._peek() in "0123456789" and number * 10 + int(self._peek()) <= self.groups:
            number = number * 10 + int(self._next())
        if number > self.groups or number in self.open_groups:
            raise PatternError(f"\\{number} refers to no group before it")
        # a group that took no part in the match is empty in XPath, and never matches in Python
        return f"(?:(?({number})\\{number}))"

    def _class_escape(self, character: str) -> str:
        """What an escape stands for, written for the inside of a character class."""
        if character in "nrt":
            return f"\\{character}"
        if character in "\\|.?*+(){}-[]^$":
            return re.escape(character)
        if character in "dDwW":
            return f"\\{character}"
        if character in "pP":
            return _ranges_text(self._category(), negated=character == "P")
        ranges = {"s": _SPACES, "i": _NAME_START, "c": _NAME}.get(character.lower())
        if ranges is None:
            raise PatternError(f"unknown escape \\{character}")
        return _ranges_text(ranges, negated=character.isupper())

    def _category(self) -> _Ranges:
        end = self.pattern.find("}", self.at)
        name = self.pattern[self.at + 1 : end]
        if self._peek() != "{" or end < 0 or _CATEGORY.fullmatch(name) is None:
            raise PatternError(r"\p is not followed by a general category")
        self.at = end + 1
        return _category_ranges(name)

    def _character_class(self) -> str:
        """A class after its `[`, as a class or, with a subtraction, as a group."""
        negated = self._peek() == "^"
        if negated:
            self.at += 1
        items: list[str] = []
        while True:
            character = self._next()
            if character == "]":
                if not items:
                    raise PatternError("character class is empty")
                return f"[{'^' if negated else ''}{''.join(items)}]"
            if character == "-" and self._peek() == "[" and items:
                self.at += 1
                subtracted = self._character_class()
                if self._next() != "]":
                    raise PatternError("a subtraction must end its character class")
                return f"(?:(?!{subtracted})[{'^' if negated else ''}{''.join(items)}])"
            items.append(self._class_item(character))

    def _class_item(self, character: str) -> str:
        first, single = self._class_character(character)
        following = self.pattern[self.at : self.at + 2]
        if not single or following[:1] != "-" or following[1:] in ("", "[", "]"):
            return first
        self.at += 1
        last, single = self._class_character(self._next())
        if not single:
            raise PatternError("a range of characters ends in a class")
        return f"{first}-{last}"

    def _class_character(self, character: str) -> tuple[str, bool]:
        """A character or escape inside a class, and whether it is one character."""
        if character == "[":
            raise PatternError('"[" must be escaped in a character class')
        if character != "\\":
            return re.escape(character), True
        escaped = self._next()
        return self._class_escape(escaped), escaped not in "dDwWpPsSiIcC"


def _ranges_text(ranges: Iterable[tuple[int, int]], *, negated: bool) -> str:
    if negated:
        ranges = _complement(ranges)
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


def _complement(ranges: Iterable[tuple[int, int]]) -> _Ranges:
    gaps = []
    start = 0
    for low, high in ranges:
        if start < low:
            gaps.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        gaps.append((start, _LAST))
    return tuple(gaps)


@lru_cache(maxsize=64)
def _category_ranges(name: str) -> _Ranges:
    """The characters of a general category, or of all that start with its one letter."""
    ranges: list[tuple[int, int]] = []
    for point in range(_LAST + 1):
        if unicodedata.category(chr(point)).startswith(name):
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1] = (ranges[-1][0], point)
            else:
                ranges.append((point, point))
    return tuple(ranges)


# --- replacement --------------------------------------------------------------------------


def replace(pattern: re.Pattern[str], text: str, replacement: str, *, literally: bool = False) -> str:
    """`text` with every match replaced; `$n` in the replacement is a group unless taken `literally`."""
    if pattern.search("") is not None:
        raise PatternError("pattern matches the empty string")
    parts = (replacement,) if literally else _replacement_parts(replacement, pattern.groups)

    def expand(match: re.Match[str]) -> str:
        return "".join(part if isinstance(part, str) else match[part] or "" for part in parts)

    return pattern.sub(expand, text)


@lru_cache(maxsize=1024)
def _replacement_parts(replacement: str, groups: int) -> tuple[str | int, ...]:
    """The replacement as pieces of text and numbers of groups."""
    parts: list[str | int] = []
    at = 0
    while at < len(replacement):
        character = replacement[at]
        at += 1
        if character == "\\":
            if replacement[at : at + 1] not in ("\\", "$"):
                raise PatternError("a backslash in a replacement must be followed by \\ or $")
            parts.append(replacement[at])
            at += 1
        elif character == "$":
            if replacement[at : at + 1] not in set("0123456789"):
                raise PatternError("a $ in a replacement must be followed by a digit")
            number = int(replacement[at])
            at += 1
            while replacement[at : at + 1] in set("0123456789") and number * 10 + int(replacement[at]) <= groups:
                number = number * 10 + int(replacement[at])
                at += 1
            # a group that the pattern does not have is the empty string
            if number <= groups:
                parts.append(number)
        else:
            parts.append(character)
    return tuple(parts)
