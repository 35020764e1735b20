"""The search for the cheapest plan: top down, each part of a plan once, within a budget.

A group is a node with what is asked of it. Its alternatives are what the rules make of it, one after the other;
each of them has the best plans of its inputs below it. An alternative whose inputs alone cost as much as the best
plan found so far is not looked at further.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from spectra.algebra import nodes
from spectra.algebra.nodes import Derived, Node, children, with_children
from spectra.planner.cost import CostModel, Estimate
from spectra.planner.physical import physical_plan
from spectra.planner.pipeline import RULES
from spectra.planner.plans import PhysicalPlan

#: Plans that are estimated before the search ends with the best so far, and alternatives of one node.
_MOST_PLANS, _MOST_ALTERNATIVES = 400, 100


class Alternative(NamedTuple):
    """A plan that was considered, with its cost per second and the rules that led to it."""

    node: Node
    estimate: Estimate
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The cheapest plan, and what else was considered for the parts in which plans differ, cheapest first."""

    best: Alternative
    considered: tuple[Alternative, ...]
    complete: bool


class Asked(NamedTuple):
    """What is asked of a node: whether copies can be told apart from one, and whether rows that leave are told."""

    as_set: bool
    removals: bool


@dataclass(slots=True)
class Search:
    """One search; `operators` chooses those of a physical plan."""

    model: CostModel
    operators: Callable[[PhysicalPlan], PhysicalPlan]
    budget: int = _MOST_PLANS
    _groups: dict[tuple[Node, Asked], list[Alternative]] = field(default_factory=dict)

    def choose(self, node: Node, *, removals: bool) -> Choice:
        """The cheapest plan for a node; `removals` says whether rows that leave are told."""
        best = self._best(node, Asked(False, removals))
        considered = [each for group in self._groups.values() if len(group) > 1 for each in group]
        considered.sort(key=lambda each: each.estimate.cost)
        return Choice(best, tuple(considered), self.budget > 0)

    def estimated(self, node: Node, *, removals: bool) -> Alternative:
        """A plan as it is."""
        return self._estimated(node, (), Asked(False, removals))

    def _best(self, node: Node, asked: Asked) -> Alternative:
        known = self._groups.get((node, asked))
        if known:
            return known[0]
        # what is asked for again below itself is taken as it is
        self._groups[node, asked] = [self._estimated(node, (), asked)]
        found: list[Alternative] = []
        bound = float("inf")
        for other, rules in self._alternatives(node, asked):
            if self.budget <= 0:
                break
            alternative = self._alternative(other, rules, asked, bound)
            if alternative is not None:
                found.append(alternative)
                bound = min(bound, alternative.estimate.cost)
        found = found or self._groups[node, asked]
        found.sort(key=lambda each: each.estimate.cost)
        self._groups[node, asked] = found
        return found[0]

    def _alternative(self, node: Node, rules: tuple[str, ...], asked: Asked, bound: float) -> Alternative | None:
        """A node over the best plans of its inputs; None where those cost too much already."""
        below: list[Alternative] = []
        for child in children(node):
            below.append(self._best(child, _asked_below(node, asked)))
            if sum(each.estimate.cost for each in below) >= bound:
                return None
        best = iter(below)
        changed = with_children(node, lambda _: next(best).node)
        return self._estimated(changed, sum((each.rules for each in below), rules), asked)

    def _alternatives(self, node: Node, asked: Asked) -> list[tuple[Node, tuple[str, ...]]]:
        """The node itself and what rules make of it; without DISTINCT where nobody sees copies."""
        found: dict[Node, tuple[str, ...]] = {node: ()}
        waiting = [node]
        while waiting and len(found) < _MOST_ALTERNATIVES:
            current = waiting.pop(0)
            for rule in RULES:
                for other in rule(current):
                    if asked.as_set and isinstance(other, nodes.Distinct):
                        other = other.input
                    if other not in found:
                        found[other] = (*found[current], rule.__name__)
                        waiting.append(other)
        return list(found.items())[:_MOST_ALTERNATIVES]

    def _estimated(self, node: Node, rules: tuple[str, ...], asked: Asked) -> Alternative:
        self.budget -= 1
        plan = self.operators(physical_plan(node))
        return Alternative(node, self.model.estimate(plan, removals=asked.removals), rules)


def _asked_below(node: Node, asked: Asked) -> Asked:
    """What a node asks of its inputs."""
    match node:
        case nodes.Distinct(below):
            return Asked(True, asked.removals or not physical_plan(below).keyed)
        case nodes.Path(Derived()):
            return Asked(True, True)
        case nodes.Pattern(inputs):
            return Asked(asked.as_set, asked.removals or len(inputs) > 1)
        case nodes.AntiJoin():
            return Asked(False, True)
        case nodes.Group() | nodes.Slice() | nodes.Fresh() | nodes.Drawn() | nodes.Now():
            return Asked(False, True)
        case _:
            return asked
