"""A query rewritten so that rdflib's grammar sees its shape only: every term is a number.

rdflib's parser would normalise literals (`01` to `1`), forget the place of everything it reads and lose
the IRI of `^p` in a negated property set. So each IRI, literal, number and variable is handed to it as
the index of its token, and what that index means is kept here; so are the pieces of RSP-QL and the
bounded repetitions, which rdflib's grammar does not know.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

from spectra.errors import Place, QueryError
from spectra.sparql.syntax import Term
from spectra.sparql.tokens import Source, Token


@dataclass(frozen=True, slots=True)
class IriSlot:
    """An IRI, as canonical text."""

    text: str


@dataclass(frozen=True, slots=True)
class LiteralSlot:
    """A quoted literal, as canonical text; `plain` is its value without datatype and language, else None."""

    text: str
    plain: str | None


@dataclass(frozen=True, slots=True)
class NumberSlot:
    """A number: its sign as written ("", "+" or "-"), its digits, its datatype's IRI."""

    sign: str
    digits: str
    datatype: str


@dataclass(frozen=True, slots=True)
class VariableSlot:
    name: str


@dataclass(frozen=True, slots=True)
class LabelSlot:
    """The label of a blank node."""

    label: str


@dataclass(frozen=True, slots=True)
class RepeatSlot:
    """`{low,high}` after a path element, written `/ <index>` for rdflib."""

    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class InverseSlot:
    """`^predicate` in a negated property set, written `<index>` for rdflib."""

    predicate: str


@dataclass(frozen=True, slots=True)
class WindowSlot:
    """`WINDOW name`, written `GRAPH <index>` for rdflib."""

    name: Term


@dataclass(frozen=True, slots=True)
class ServiceSlot:
    """`SERVICE name`, written `GRAPH <index>` for rdflib, which would search the whole text at each one."""

    name: Term
    silent: bool


@dataclass(frozen=True, slots=True)
class TemplateGraphSlot:
    """`GRAPH name {` of a template, or None for its `}`, written as a triple `<index> <index> <index>` for rdflib."""

    name: Term | None


@dataclass(frozen=True, slots=True)
class DeclarationSlot:
    """`FROM NAMED WINDOW …` or `FROM STREAM …`, written `FROM NAMED <index>` for rdflib."""


Slot = (
    IriSlot
    | LiteralSlot
    | NumberSlot
    | VariableSlot
    | LabelSlot
    | RepeatSlot
    | InverseSlot
    | WindowSlot
    | ServiceSlot
    | TemplateGraphSlot
    | DeclarationSlot
)


class Rewritten:
    """The text for rdflib, built piece by piece, and the way back to the user's tokens."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.slots: dict[int, Slot] = {}
        self._starts: list[int] = []  # where each piece starts in `text`
        self._indices: list[int] = []  # the token that each piece stands for
        self._pieces: list[str] = []
        self._length = 0

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add(self, piece: str, index: int, slot: Slot | None = None, *, glued: bool = False) -> None:
        """Append a piece that stands for the token `index`, after a space unless it is glued."""
        if not glued and self._pieces:
            piece = " " + piece
        self._starts.append(self._length + (0 if glued or not self._pieces else 1))
        self._indices.append(index)
        self._pieces.append(piece)
        self._length += len(piece)
        if slot is not None:
            self.slots[index] = slot

    def piece_at(self, offset: int) -> int:
        """The piece at an offset of `text`, the next one for a space; past the end, how many there are."""
        if offset >= self._length:
            return len(self._starts)
        piece = bisect.bisect_right(self._starts, offset) - 1
        return piece + 1 if self.text[offset] == " " else piece

    def before(self, piece: int) -> str:
        """The text in front of a piece."""
        return "".join(self._pieces[:piece])

    def ends_with(self, *pieces: str) -> bool:
        """Whether the last piece so far is one of these."""
        return bool(self._pieces) and self._pieces[-1].strip() in pieces

    def is_word(self, piece: int) -> bool:
        return self._pieces[piece].strip()[:1].isalpha()

    def token_of(self, piece: int) -> Token:
        """The user's token that a piece stands for; the end of the query past the last one."""
        return self.tokens[self._indices[piece]] if piece < len(self._indices) else self.tokens[-1]

    def place(self, index: int) -> Place:
        token = self.tokens[index]
        return self.source.place(token.start, token.end)

    def error(self, message: str, index: int, *, expected: str | None = None, hint: str | None = None) -> QueryError:
        return self.source.error(message, self.tokens[index], expected=expected, hint=hint)
