"""The rules, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from spectra.algebra.nodes import Node
from spectra.planner.rules.associate_pattern import associate_pattern
from spectra.planner.rules.decompose_alternation import decompose_alternation
from spectra.planner.rules.decompose_sequence import decompose_sequence
from spectra.planner.rules.derive_edges import derive_edges
from spectra.planner.rules.distribute_wscan import distribute_wscan
from spectra.planner.rules.drop_distinct import drop_distinct
from spectra.planner.rules.drop_repeated_filter import drop_repeated_filter
from spectra.planner.rules.fuse_alternation import fuse_alternation
from spectra.planner.rules.fuse_sequence import fuse_sequence
from spectra.planner.rules.merge_disjunction import merge_disjunction
from spectra.planner.rules.merge_unions import merge_unions
from spectra.planner.rules.pull_project import pull_project
from spectra.planner.rules.push_filter_through_pattern import push_filter_through_pattern
from spectra.planner.rules.push_filter_through_union import push_filter_through_union
from spectra.planner.rules.regroup_filters import regroup_filters
from spectra.planner.rules.substitute_transition import substitute_transition
from spectra.planner.rules.swap_filters import swap_filters

#: The plans that may stand for a node; none where the rule does not apply.
Rule = Callable[[Node], Iterator[Node]]

RULES: tuple[Rule, ...] = (
    regroup_filters,
    swap_filters,
    drop_repeated_filter,
    push_filter_through_union,
    push_filter_through_pattern,
    distribute_wscan,
    merge_unions,
    drop_distinct,
    merge_disjunction,
    substitute_transition,
    decompose_alternation,
    decompose_sequence,
    derive_edges,
    fuse_alternation,
    fuse_sequence,
    pull_project,
    associate_pattern,
)
