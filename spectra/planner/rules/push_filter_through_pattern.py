from __future__ import annotations

from collections.abc import Iterator

from spectra.algebra.nodes import Filter, Node, Pattern
from spectra.sparql.expressions import variables_of


def push_filter_through_pattern(node: Node) -> Iterator[Node]:
    """A filter on each input of a PATTERN that binds all that it reads, whichever side that is.

    FILTER[p](PATTERN(a, b))  =  PATTERN(FILTER[p](a), b)      when a binds vars(p) in every solution

    A solution of the join has the bindings of its parts. What would be unbound in an input must not be decided
    there. What comes down to a WSCAN is decided before the window, on the triple.
    """
    match node:
        case Filter(condition, Pattern(inputs)):
            read = set(variables_of(condition))
            if read and any(read <= part.certain for part in inputs):
                yield Pattern(tuple(Filter(condition, part) if read <= part.certain else part for part in inputs))
