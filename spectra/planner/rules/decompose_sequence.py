from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

from spectra.algebra.explain import explain
from spectra.algebra.nodes import Distinct, Node, Path, Project, pattern_of
from spectra.algebra.paths import path_node
from spectra.sparql.syntax import PathExpression, RepeatPath, SequencePath, Variable


def decompose_sequence(node: Node) -> Iterator[Node]:
    """A path of two parts as a join over the vertex between them, for every place to cut.

    PATH[s r1/r2 o]  =  DISTINCT(PROJECT[s o](PATTERN(PATH[s r1 h], PATH[h r2 o])))

    Two vertices between may connect the same pair, which PATH gives once. `h` is a variable of this path alone.
    """
    match node:
        case Path(source, subject, path, object_):
            parts = _parts(path)
            for cut in range(1, len(parts)):
                # the same for equal paths only
                via = Variable(f"_:{crc32(f'{explain(node)} {cut}'.encode()):08x}")
                first = path_node(source, subject, _sequence(parts[:cut]), via)
                second = path_node(source, via, _sequence(parts[cut:]), object_)
                yield Distinct(Project(node.variables, pattern_of(first, second)))


def _parts(path: PathExpression) -> tuple[PathExpression, ...]:
    match path:
        case SequencePath(parts):
            return parts
        case RepeatPath(inner, low, high) if low == high and low > 1:
            return (inner,) * low
        case _:
            return (path,)


def _sequence(parts: tuple[PathExpression, ...]) -> PathExpression:
    return parts[0] if len(parts) == 1 else SequencePath(parts)
