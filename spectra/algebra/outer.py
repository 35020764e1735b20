"""The solutions that a pattern is matched for: those of EXISTS, and the left side of MINUS and OPTIONAL.

SPARQL evaluates the pattern of EXISTS for each solution with that solution's values put in. Here the
distinct values of all solutions are one more input of the pattern: wherever it reads one of their
variables, or must tell one solution from another, it is joined with them. So the pattern is maintained
once, for all solutions together, and what it finds says for which of them it was found.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass

from spectra.algebra import nodes
from spectra.algebra.nodes import Node, Source, pattern_of
from spectra.sparql.query import ContinuousQuery
from spectra.sparql.syntax import Call, Variable


@dataclass(frozen=True, slots=True)
class Outer:
    """The values that the solutions of `node` have for `names`.

    A variable that is bound in every solution stands for itself. Another has a copy beside it, because the
    pattern may bind it: the copy keeps saying which solution was meant.
    """

    node: Node
    names: tuple[str, ...]

    def identity(self, name: str) -> str:
        """The column that tells solutions apart by this variable."""
        return name if name in self.node.certain else f"_:outer {name}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.identity(name) for name in self.names)

    def copied(self) -> Node:
        """The solutions themselves, with the columns of `keys`."""
        node = self.node
        for name in self.names:
            if self.identity(name) not in node.variables:
                node = nodes.Copy(self.identity(name), name, node)
        return node

    def values(self, names: Collection[str]) -> Node:
        """The distinct values of some of the variables, with their keys."""
        kept = [name for name in self.names if name in names]
        columns = dict.fromkeys(column for name in kept for column in (name, self.identity(name)))
        return nodes.Distinct(nodes.Project(tuple(columns), self.copied()))

    def only(self, names: Collection[str]) -> Outer | None:
        """The same with fewer variables, None where none is left."""
        kept = tuple(name for name in self.names if name in names)
        return Outer(self.node, kept) if kept else None

    def joined(self, node: Node, names: Collection[str]) -> Node:
        """The pattern for each combination of values of these variables."""
        wanted = [name for name in self.names if name in names]
        if all(self.identity(name) in node.certain for name in wanted):
            return node
        return pattern_of(self.values({*wanted, *node.variables}), node)


def mentioned(part: object) -> frozenset[str]:
    """The names of all variables in a piece of syntax."""
    return frozenset(found.name for found in _walk(part) if isinstance(found, Variable))


def reads_now(query: ContinuousQuery) -> bool:
    """Whether a query asks for the time of its evaluations."""
    return any(isinstance(part, Call) and part.function == "NOW" for part in _walk(query.pattern))


def _walk(part: object) -> Iterator[object]:
    todo = [part]
    while todo:
        current = todo.pop()
        yield current
        if isinstance(current, tuple):
            todo.extend(current)
        elif is_dataclass(current):
            todo.extend(getattr(current, field.name) for field in fields(current))


def graph_terms(node: Node, source: Source) -> frozenset[str]:
    """The variables whose values are subjects or objects of a graph, in every solution."""
    match node:
        case nodes.WScan() | nodes.Path() if node.source == source:
            ends = (node.subject, node.object)
            return frozenset(end.name for end in ends if isinstance(end, Variable))
        case nodes.Pattern(inputs):
            return frozenset().union(*(graph_terms(part, source) for part in inputs))
        case nodes.Union(inputs) if inputs:
            return frozenset.intersection(*(graph_terms(part, source) for part in inputs))
        case nodes.AntiJoin(left):
            return graph_terms(left, source)
        case nodes.Filter() | nodes.Extend() | nodes.Copy() | nodes.Project() | nodes.Distinct():
            return graph_terms(node.input, source) & frozenset(node.variables)
        case _:
            return frozenset()
