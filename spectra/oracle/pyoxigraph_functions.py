"""Functions on strings and dates, by asking pyoxigraph.

pyoxigraph rewrites numeric literals ("01"^^xsd:integer becomes "1"), so it is only asked where
that cannot show: it never returns one of its arguments as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from spectra.oracle.terms import is_blank, literal_text

if TYPE_CHECKING:
    import pyoxigraph

#: What the arguments of a call evaluated to.
Arguments = tuple[str, ...]


def ask(form: str, rows: Sequence[Arguments], base: str | None = None) -> list[str | None]:
    """The value of an expression for many argument lists, None for an error.

    `form` has one `{}` for each argument, or a single one for the whole list of them.
    """
    results: list[str | None] = [None] * len(rows)
    by_arity: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        # no function on strings or dates takes a blank node, and VALUES cannot name one
        if not any(is_blank(argument) for argument in row):
            by_arity.setdefault(len(row), []).append(index)
    for arity, indexes in by_arity.items():
        names = [f"?a{position}" for position in range(arity)]
        expression = form.format(*names) if form.count("{}") == arity else form.format(", ".join(names))
        values = "\n".join(f"({index} {' '.join(rows[index])})" for index in indexes)
        text = f"SELECT ?i ({expression} AS ?r) WHERE {{ VALUES (?i {' '.join(names)}) {{\n{values}\n}} }}"
        for index, result in _select(text, base):
            results[index] = result
    return results


def _select(text: str, base: str | None) -> list[tuple[int, str]]:
    import pyoxigraph

    solutions = _store().query(text, base_iri=base)
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    return [(int(row["i"].value), term_text(row["r"])) for row in solutions if row["r"] is not None]


@cache
def _store() -> pyoxigraph.Store:
    import pyoxigraph

    return pyoxigraph.Store()


def term_text(term: object) -> str:
    """Canonical text of a pyoxigraph term."""
    import pyoxigraph

    if isinstance(term, pyoxigraph.NamedNode):
        return f"<{term.value}>"
    if isinstance(term, pyoxigraph.BlankNode):
        return f"_:{term.value}"
    assert isinstance(term, pyoxigraph.Literal)
    return literal_text(term.value, term.datatype.value, term.language or "")
