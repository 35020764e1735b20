from __future__ import annotations

from collections.abc import Iterator

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
    near = _neighbours(node)
    everything = (1 << len(node.inputs)) - 1
    limit = len(node.inputs) // 2 if len(node.inputs) <= _MOST_INPUTS else 1
    found = sorted(_connected(near, limit), key=lambda part: (part.bit_count(), part))
    for inside in found:
        outside = everything & ~inside
        if 2 * inside.bit_count() == len(node.inputs) and not inside & 1:
            continue  # the other half
        if _spread(outside & -outside, outside, near) == outside:
            yield Pattern((_together(node, outside), _together(node, inside)))


def _together(node: Pattern, part: int) -> Node:
    parts = tuple(each for at, each in enumerate(node.inputs) if part >> at & 1)
    return parts[0] if len(parts) == 1 else Pattern(parts)


def _neighbours(node: Pattern) -> list[int]:
    """For each input those that share a variable with it; sets of inputs are bits of a number."""
    names = [set(part.variables) for part in node.inputs]
    return [sum(1 << at for at, other in enumerate(names) if mine & other) for mine in names]


def _spread(start: int, within: int, near: list[int]) -> int:
    """The inputs that are connected with those of the start by others of `within`."""
    reached, fresh = start, start
    while fresh:
        at = (fresh & -fresh).bit_length() - 1
        fresh &= fresh - 1
        more = near[at] & within & ~reached
        reached |= more
        fresh |= more
    return reached


def _connected(near: list[int], limit: int) -> set[int]:
    """The connected sets of at most so many inputs, each grown by one neighbour from a smaller one."""
    found = {1 << at for at in range(len(near))}
    grown = set(found)
    for _ in range(limit - 1):
        grown = {part | 1 << at for part in grown for at in range(len(near)) if not part >> at & 1 and near[at] & part}
        found |= grown
    return found
