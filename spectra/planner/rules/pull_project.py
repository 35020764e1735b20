from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Node, Pattern, Project, pattern_of


def pull_project(node: Node) -> Iterator[Node]:
    """A PATTERN inside a projection as a part of the one above it, so that all of it can be matched together.

    PATTERN(PROJECT[n](PATTERN(a, b)), c)  =  PROJECT[n ∪ vars(c)](PATTERN(a, b, c))

    when c has none of the variables that are projected away: a projection keeps all copies, and so does the join.
    """
    match node:
        case Pattern(inputs):
            for at, part in enumerate(inputs):
                match part:
                    case Project(names, below) if set(names) <= set(below.variables):
                        others = [*inputs[:at], *inputs[at + 1 :]]
                        hidden = set(below.variables) - set(names)
                        if not hidden & {name for other in others for name in other.variables}:
                            yield Project(node.variables, pattern_of(*inputs[:at], below, *inputs[at + 1 :]))
