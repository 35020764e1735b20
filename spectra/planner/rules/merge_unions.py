from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.explain import explain
from spectra.algebra.nodes import Node, Union


def merge_unions(node: Node) -> Iterator[Node]:
    """A union of unions as one, its inputs in the order of their texts.

    UNION(a, UNION(b, c))  =  UNION(a, b, c)      UNION(b, a)  =  UNION(a, b)

    UNION is associative and commutative, since it adds up the copies of each solution. In one order, equal
    unions are equal plans, which are evaluated once.
    """
    if not isinstance(node, Union):
        return
    inputs: list[Node] = []
    for part in node.inputs:
        inputs += part.inputs if isinstance(part, Union) else (part,)
    merged = Union(tuple(sorted(inputs, key=explain)))
    if merged != node:
        yield merged
