from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from spectra.algebra.nodes import Node, Pattern

#: A PATTERN of more inputs is split only into one of them and the rest.
_MOST_INPUTS = 10


def associate_pattern(node: Node) -> Iterator[Node]:
    """Some inputs of a PATTERN joined before the others.

    PATTERN(a, b, c)  =  PATTERN(PATTERN(a, b), c)  =  PATTERN(PATTERN(a, c), b)  =  …

    PATTERN is associative and commutative, as the natural join is. Only parts that share a variable are joined
    first; what shares none would be a product. Each division comes once, the smaller side nested; what is a
    single input stays as it is.
    """
    if not isinstance(node, Pattern) or len(node.inputs) < 3:
        return
    count = len(node.inputs)
    sizes = range(1, count // 2 + 1) if count <= _MOST_INPUTS else (1,)
    for size in sizes:
        for chosen in combinations(range(count), size):
            if 2 * size == count and 0 not in chosen:
                continue  # the other half
            inside = [node.inputs[at] for at in chosen]
            outside = [part for at, part in enumerate(node.inputs) if at not in chosen]
            if _is_connected(inside) and _is_connected(outside):
                yield Pattern((_together(outside), _together(inside)))


def _together(parts: list[Node]) -> Node:
    return parts[0] if len(parts) == 1 else Pattern(tuple(parts))


def _is_connected(parts: list[Node]) -> bool:
    """Whether no part of them is joined with the others by a product."""
    reached, rest = set(parts[0].variables), parts[1:]
    while rest:
        near = [part for part in rest if reached & set(part.variables)]
        if not near:
            return False
        rest = [part for part in rest if part not in near]
        reached.update(*(part.variables for part in near))
    return True
