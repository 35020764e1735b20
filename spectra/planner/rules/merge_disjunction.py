from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spectra.algebra.nodes import Distinct, Filter, Node, Project, Union
from spectra.sparql.syntax import Call


def merge_disjunction(node: Node) -> Iterator[Node]:
    """One filter for several branches over the same input, where duplicates are dropped.

    DISTINCT(UNION(FILTER[p](a), FILTER[q](a)))  =  DISTINCT(FILTER[p || q](a))

    A solution for which both hold is there twice before DISTINCT, and once afterwards; a projection between them keeps
    all copies. An error beside a condition that holds does no harm to it.
    """
    match node:
        case Distinct(Project(_, Union(branches)) as project):
            merged = _merged(branches)
            if merged is not None:
                yield Distinct(replace(project, input=merged))
        case Distinct(Union(branches)):
            merged = _merged(branches)
            if merged is not None:
                yield Distinct(merged)


def _merged(branches: tuple[Node, ...]) -> Node | None:
    filters = [branch for branch in branches if isinstance(branch, Filter)]
    if len(filters) < len(branches) or len({branch.input for branch in filters}) != 1:
        return None
    return Filter(Call("||", tuple(branch.condition for branch in filters)), filters[0].input)
