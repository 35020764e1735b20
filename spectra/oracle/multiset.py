"""Multisets of solutions and the operators that compare them: Join and Minus (section 18.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from spectra.oracle.expressions import Solution

Solutions = list[Solution]
Domain = frozenset[str]


def canonical(solution: Solution) -> tuple[tuple[str, str], ...]:
    """The solution as sorted pairs, without the blank nodes of the pattern."""
    return tuple(sorted(item for item in solution.items() if not item[0].startswith("_:")))


class Compatible:
    """Finds the solutions of a multiset that agree with a given one on every variable both bind."""

    def __init__(self, solutions: Iterable[Solution]) -> None:
        self._by_domain: dict[Domain, Solutions] = defaultdict(list)
        for solution in solutions:
            self._by_domain[frozenset(solution)].append(solution)
        self._indexes: dict[tuple[Domain, tuple[str, ...]], dict[tuple[str, ...], Solutions]] = {}

    def find(self, solution: Solution) -> Iterator[tuple[bool, Solutions]]:
        """The compatible solutions, domain by domain, each with whether they share a variable."""
        for domain in self._by_domain:
            shared = tuple(sorted(name for name in solution if name in domain))
            index = self._index(domain, shared)
            found = index.get(tuple(solution[name] for name in shared))
            if found:
                yield bool(shared), found

    def _index(self, domain: Domain, shared: tuple[str, ...]) -> dict[tuple[str, ...], Solutions]:
        index = self._indexes.get((domain, shared))
        if index is None:
            index = defaultdict(list)
            for solution in self._by_domain[domain]:
                index[tuple(solution[name] for name in shared)].append(solution)
            self._indexes[domain, shared] = index
        return index


def join(left: Solutions, right: Solutions) -> Solutions:
    """The merge of each compatible pair, as often as there are such pairs."""
    compatible = Compatible(right)
    return [{**solution, **other} for solution in left for _, found in compatible.find(solution) for other in found]


def minus(left: Solutions, right: Solutions) -> Solutions:
    """What is left of `left` without those that have a compatible partner with a variable in common."""
    compatible = Compatible(right)
    return [solution for solution in left if not any(shared for shared, _ in compatible.find(solution))]
