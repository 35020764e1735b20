"""Division of a query among shards: engines that see the same events and each tell a part of the changes.

One variable of the query is chosen, and every solution belongs to the shard that owns the term which the
variable is bound to. The division is a selection, and is pushed down to the leaves:

    owned(A ⋈ B) = owned(A) ⋈ owned(B)    owned(A ∪ B) = owned(A) ∪ owned(B)    …
    owned(A ▷ B) = owned(A) ▷ owned(B)    owned(γ(A)) = γ(owned(A))

where `owned` keeps the solutions that bind the variable to an owned term or do not bind it. An anti-join (OPTIONAL,
MINUS, EXISTS) compares solutions that agree on its keys, so its right side is divided where the variable is one of
these; a group has one owner where the variable is one of its keys. So a leaf that
has the variable gives only what its shard owns, and a path that starts from it grows only the trees of owned
roots; a leaf that does not have it is evaluated in full on every shard. The variable is one that every
solution binds, so every solution has exactly one owner.

Equal solutions must have one owner, or shards would tell differences that cancel, and DISTINCT would let both
through. So the variable must be one of the answer, unless whole bags are told (RSTREAM).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from spectra.algebra.outer import reads_now
from spectra.dictionary.hashing import hash_text
from spectra.planner.physical import turned, wanted_triples
from spectra.planner.plans import (
    AntiJoinPlan,
    ConstructPlan,
    CopyPlan,
    DistinctPlan,
    ExtendPlan,
    FilterPlan,
    GroupPlan,
    HashJoinPlan,
    NowPlan,
    OwnedPlan,
    PhysicalPlan,
    ProjectPlan,
    SPathPlan,
    TpJoinPlan,
    UnionPlan,
    ValuesPlan,
    inputs,
)
from spectra.sparql.query import ContinuousQuery, Form, OutputOperator, Policy
from spectra.sparql.syntax import QuadPattern, TemplatePattern, Variable, template_terms
from spectra.views.summary import Summary, Wanted

#: By stream: triple patterns, as summaries, with the place that the variable has in them (None: none).
_Needs = Mapping[str, tuple[tuple[int | None, Summary], ...]]

_NO_VARIABLE = "no variable of the answer is bound in every solution by a triple pattern or a path"
_NO_GAIN = "no triple pattern on a stream and no path between two variables has a variable to divide the answer by"


def owner(hashes: NDArray[np.int64], shards: int) -> NDArray[np.int64]:
    """Which of the shards owns each term, by the hash of its text.

    The hashes are mixed again, so that owners do not depend on bits that a hash table or a partitioning by
    the same hash has used already.
    """
    mixed = hashes.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):  # the finalizer of MurmurHash3
        mixed ^= mixed >> np.uint64(33)
        mixed *= np.uint64(factor)
    # as good as a remainder, and without a division: the upper half as a fraction of the shards
    owners: NDArray[np.int64] = ((mixed >> np.uint64(32)) * np.uint64(shards) >> np.uint64(32)).astype(np.int64)
    return owners


@dataclass(frozen=True)
class Division:
    """How a query is divided: by the owner of `variable`, or not at all (None) for a `reason`.

    A query that is not divided is answered by shard 0 alone.
    """

    variable: str | None
    reason: str
    _needs: _Needs = field(repr=False, compare=False)

    def usable(self, stream: str, hashes: NDArray[np.int64], shard: int, shards: int) -> NDArray[np.bool_]:
        """Which triples of a stream a shard needs; `hashes` has a row (subject, predicate, object) for each.

        Every shard must be told of all events all the same, with the sizes that they had.
        """
        needed = np.zeros(len(hashes), np.bool_)
        if self.variable is None and shard != 0:
            return needed
        for place, summary in self._needs.get(stream, self._needs.get("", ())):
            found = summary.usable(hashes)
            if place is not None:
                rows = np.flatnonzero(found & ~needed)
                found[rows] = owner(hashes[rows, place], shards) == shard
            needed |= found
        return needed


def division(query: ContinuousQuery, plan: PhysicalPlan) -> Division:
    """The division of a query, which has this plan: by the variable that divides most of the work.

    That is a variable that many paths can start from, and of these one that many triple patterns share.
    """
    variable, reason = None, ""
    if query.form is Form.ASK:
        reason = "the answer of ASK is one value"
    else:
        candidates = _candidates(query, plan)
        gains = {name: _gain(plan, name) for name in candidates}
        useful = [name for name in candidates if gains[name] > (0, 0)]
        if useful:
            variable = max(useful, key=gains.__getitem__)
        else:
            reason = _NO_GAIN if candidates else _NO_VARIABLE
    return Division(variable, reason, _needs(query, plan, variable))


def divided(plan: PhysicalPlan, variable: str, shard: int, shards: int) -> PhysicalPlan:
    """The part of a plan that one shard evaluates, with paths from `variable` where it is at an end of them."""
    match plan:
        case DistinctPlan(ConstructPlan(template, inner)):
            return DistinctPlan(ConstructPlan(template, _owned(inner, variable, shard, shards)))
        case ProjectPlan(names, inner):
            return ProjectPlan(names, _owned(inner, variable, shard, shards))
        case _:
            return _owned(plan, variable, shard, shards)


def sees_everything(query: ContinuousQuery) -> bool:
    """Whether it shows when a triple comes or goes that no pattern matches: then nothing may be dropped."""
    policy = query.report.policy
    return policy is Policy.NON_EMPTY_CONTENT or (
        policy is Policy.ON_CONTENT_CHANGE and (query.output is OutputOperator.RSTREAM or reads_now(query))
    )


def _owned(plan: PhysicalPlan, variable: str, shard: int, shards: int) -> PhysicalPlan:
    """The plan with the selection at its leaves; what is not known to let it through is left as it is."""

    def below(inner: PhysicalPlan) -> PhysicalPlan:
        return _owned(inner, variable, shard, shards)

    match plan:
        case TpJoinPlan(_, scans, names) if any(variable in scan.variables for scan in scans):
            if variable in names:
                return OwnedPlan(variable, shard, shards, plan)
            whole = replace(plan, variables=(*names, variable))
            return ProjectPlan(names, OwnedPlan(variable, shard, shards, whole))
        case SPathPlan() if variable in plan.variables:
            from_other_end = isinstance(plan.root, Variable) and plan.root.name != variable
            return OwnedPlan(variable, shard, shards, turned(plan) if from_other_end else plan)
        case ValuesPlan() if variable in plan.variables:
            return OwnedPlan(variable, shard, shards, plan)
        case HashJoinPlan(left, right, _):
            return replace(plan, left=below(left), right=below(right))
        case UnionPlan(parts):
            return UnionPlan(tuple(below(part) for part in parts))
        case AntiJoinPlan(left, right, keys):
            return replace(plan, left=below(left), right=below(right) if variable in keys else right)
        case FilterPlan() | DistinctPlan():
            return replace(plan, input=below(plan.input))
        case ExtendPlan() | CopyPlan() | NowPlan() if plan.variable != variable:
            return replace(plan, input=below(plan.input))
        case ProjectPlan(names, inner) if variable in names:  # otherwise, inside it is another variable
            return ProjectPlan(names, below(inner))
        case GroupPlan() if variable in plan.keys:
            return replace(plan, input=below(plan.input))
        case _:
            return plan


# --- the choice of the variable -------------------------------------------------------------


def _candidates(query: ContinuousQuery, plan: PhysicalPlan) -> list[str]:
    """The variables that tell for each solution which shard is to give it, in the order of the plan's leaves."""
    match plan:
        case DistinctPlan(ConstructPlan(template, inner)):
            names = {name for name in _certain(inner) if _owns_triples(name, template)}
        case ProjectPlan(_, inner) if query.output is OutputOperator.RSTREAM:
            names = set(_certain(inner))
        case _:
            names = set(_certain(plan))
    in_order = dict.fromkeys(name for leaf in _leaves(plan) for name in _bound(leaf))
    return [name for name in in_order if name in names]


def _owns_triples(variable: str, template: tuple[TemplatePattern, ...]) -> bool:
    """Whether equal triples of a template come from solutions that agree on the variable.

    Two of its triple patterns give no equal triples where constants differ, and where the variable has the
    same place in both its value can be read off the triple.
    """
    of_variable = Variable(variable)

    def agree(one: TemplatePattern, other: TemplatePattern) -> bool:
        if isinstance(one, QuadPattern) != isinstance(other, QuadPattern):
            return True  # in the default graph, and in a named one
        pairs = list(zip(template_terms(one), template_terms(other), strict=True))
        differ = any(a != b and not isinstance(a, Variable) and not isinstance(b, Variable) for a, b in pairs)
        return differ or (of_variable, of_variable) in pairs

    return all(agree(one, other) for one, other in combinations_with_replacement(template, 2))


def _certain(plan: PhysicalPlan) -> frozenset[str]:
    """The variables that leaves bind in every solution, those not carried to the top included."""
    match plan:
        case TpJoinPlan() | SPathPlan() | ValuesPlan():
            return frozenset(_bound(plan))
        case HashJoinPlan(left, right, _):
            return _certain(left) | _certain(right)
        case UnionPlan(parts):
            return frozenset.intersection(*(_certain(part) for part in parts)) if parts else frozenset()
        case AntiJoinPlan(left, _, _):
            return _certain(left)
        case FilterPlan() | DistinctPlan():
            return _certain(plan.input)
        case ExtendPlan() | CopyPlan() | NowPlan():
            return _certain(plan.input) - {plan.variable}
        case ProjectPlan(names, inner):
            return _certain(inner) & frozenset(names)
        case GroupPlan(keys, _, inner):
            return _certain(inner) & frozenset(keys)
        case _:
            return frozenset()


def _bound(leaf: PhysicalPlan) -> tuple[str, ...]:
    """The variables that a leaf binds in every solution."""
    match leaf:
        case TpJoinPlan(_, scans, _):
            return tuple(dict.fromkeys(name for scan in scans for name in scan.variables))
        case ValuesPlan(values):
            return tuple(name for name in values.names if name in values.certain)
        case _:
            return leaf.variables


def _gain(plan: PhysicalPlan, variable: str) -> tuple[int, int]:
    """How many paths on streams have their trees divided by a variable, and how many triple patterns their views."""
    paths, patterns = 0, 0
    for leaf in _leaves(divided(plan, variable, 0, 1)):
        match leaf:
            case OwnedPlan(input=SPathPlan() as path) if path.root == Variable(variable):
                paths += not path.source.static
            case OwnedPlan(input=TpJoinPlan(source, scans, _)) if not source.static:
                patterns += sum(variable in scan.variables for scan in scans)
    return paths, patterns


# --- what a shard needs ---------------------------------------------------------------------


def _needs(query: ContinuousQuery, plan: PhysicalPlan, variable: str | None) -> _Needs:
    streams = dict.fromkeys(window.stream for window in query.windows)
    if sees_everything(query):
        return {stream: ((None, Summary.everything()),) for stream in streams}
    if variable is not None:
        plan = divided(plan, variable, 0, 1)
    needs: dict[str, tuple[tuple[int | None, Summary], ...]] = {}
    for stream in streams:
        windows = {window.name for window in query.windows if window.stream == stream}
        wanted: dict[int | None, Wanted[int]] = {}
        everything = False
        for place, patterns, all_of_it in _wanted(plan, windows):
            everything = everything or all_of_it
            wanted[place] = wanted.get(place, set()) | {triples.by(hash_text) for triples in patterns}
        if everything:
            needs[stream] = ((None, Summary.everything()),)
        else:
            needs[stream] = tuple((place, Summary(patterns)) for place, patterns in wanted.items())
    return needs


def _wanted(plan: PhysicalPlan, windows: set[str]) -> Iterator[tuple[int | None, Wanted[str], bool]]:
    """For each leaf on some windows: the variable's place in triple patterns, these, and whether it needs all."""
    for leaf in _leaves(plan):
        read = leaf.input if isinstance(leaf, OwnedPlan) else leaf
        if not isinstance(read, TpJoinPlan | SPathPlan) or read.source.static or read.source.name not in windows:
            continue
        if isinstance(leaf, OwnedPlan) and isinstance(read, TpJoinPlan):
            for scan in read.scans:
                terms = (scan.subject, scan.predicate, scan.object)
                place = terms.index(Variable(leaf.variable)) if leaf.variable in scan.variables else None
                yield place, *wanted_triples(replace(read, scans=(scan,)), read.source)
        else:
            yield None, *wanted_triples(read, read.source)


def _leaves(plan: PhysicalPlan) -> Iterator[PhysicalPlan]:
    """The plans that have no others below them; of a selection, the selection."""
    below = () if isinstance(plan, OwnedPlan) else inputs(plan)
    if not below:
        yield plan
    for inner in below:
        yield from _leaves(inner)
