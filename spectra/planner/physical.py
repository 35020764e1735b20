"""The choice of physical operators: which scans are matched together, which side of a path is the root.

All scans of one graph below one PATTERN become one TP-join; what they share with paths, unions and
other graphs is joined by hash. A filter sits on the smallest part that binds what it reads. Columns
that nobody above asks for are not carried.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

from spectra.algebra import nodes
from spectra.algebra.explain import expression_text, label, path_text
from spectra.algebra.nodes import Node, Source
from spectra.algebra.paths import matches_itself
from spectra.automata import OTHER, Dfa, inverse, is_conflict_free, longest_word, minimal_dfa
from spectra.errors import UnsupportedError
from spectra.planner.atomic import atomic_filters, decidable_conditions
from spectra.planner.plans import (
    AntiJoinPlan,
    ConstructPlan,
    CopyPlan,
    DerivedPathPlan,
    DistinctPlan,
    DrawnPlan,
    EventGraphsPlan,
    ExtendPlan,
    FilterPlan,
    FreshPlan,
    GroupPlan,
    HashJoinPlan,
    ImplicitPlan,
    NowPlan,
    OwnedPlan,
    PhysicalPlan,
    ProjectPlan,
    SlicePlan,
    SPathPlan,
    TpJoinPlan,
    UnionPlan,
    ValuesPlan,
    inputs,
)
from spectra.sparql import syntax
from spectra.sparql.expressions import variables_of
from spectra.sparql.syntax import (
    Expression,
    PathExpression,
    Term,
    Variable,
    template_terms,
)
from spectra.views.summary import Wanted, WantedTriples

#: The column of the terms that tell solutions apart.
_ROW = "_:row"

#: Stands for the graph of a path over derived edges, which is that path's own.
DERIVED = Source("derived")


def physical_plan(node: Node, needed: frozenset[str] | None = None) -> PhysicalPlan:
    """The physical plan of a logical one; `needed` are the variables that are asked for above (None: all)."""
    if needed is None:
        needed = frozenset(node.variables)
    match node:
        case nodes.WScan() | nodes.Path() | nodes.Pattern() | nodes.Filter():
            return _joined(node, needed)
        case nodes.Union(inputs):
            return UnionPlan(tuple(physical_plan(part, needed) for part in inputs))
        case nodes.Extend(variable, expression, inner):
            below = (needed - {variable}) | frozenset(variables_of(expression)) & frozenset(inner.variables)
            return ExtendPlan(variable, expression, physical_plan(inner, below))
        case nodes.Copy(variable, of, inner):
            return CopyPlan(variable, of, physical_plan(inner, (needed - {variable}) | {of}))
        case nodes.EventGraphs(source, name, time, inner):
            kept_time = time if time in needed else None
            return EventGraphsPlan(source, name, kept_time, physical_plan(inner, needed & frozenset(inner.variables)))
        case nodes.AntiJoin(left, right, keys):
            columns = ProjectPlan(keys, physical_plan(right, frozenset(keys)))
            return AntiJoinPlan(physical_plan(left, needed | frozenset(keys)), columns, keys)
        case nodes.Values():
            return ValuesPlan(node)
        case nodes.Now(variable, inner):
            return NowPlan(variable, physical_plan(inner, needed - {variable}))
        case nodes.Drawn():
            return _drawn(node)
        case nodes.Project(names, inner):
            kept = tuple(name for name in names if name in needed)
            return ProjectPlan(kept, physical_plan(inner, frozenset(kept) & frozenset(inner.variables)))
        case nodes.Distinct(inner):
            plan = physical_plan(inner)
            return plan if plan.keyed else DistinctPlan(plan)
        case nodes.Group(keys, aggregates, inner):
            kept_aggregates = tuple(part for part in aggregates if part[0] in needed)
            return GroupPlan(keys, kept_aggregates, physical_plan(inner, _grouped(keys, kept_aggregates, inner)))
        case nodes.Slice(_, order, _, _, _, inner):
            # all that a query can name decides between solutions with equal keys
            read = {name for name in inner.variables if not name.startswith("_:")} | {name for name, _ in order}
            return SlicePlan(node, physical_plan(inner, frozenset(read)))
        case nodes.Fresh(labels, inner):
            nameable = frozenset(name for name in inner.variables if not name.startswith("_:"))
            return FreshPlan(labels, physical_plan(inner, nameable))
        case nodes.Construct(template, inner):
            used = {term.name for pattern in template for term in template_terms(pattern) if isinstance(term, Variable)}
            return ConstructPlan(template, physical_plan(inner, frozenset(used) & frozenset(inner.variables)))


def _drawn(node: nodes.Drawn) -> PhysicalPlan:
    """Values of their own for solutions that a term of its own tells apart, whatever is asked for above.

    So all who read these solutions read the same ones. Columns that no query can name tell them apart as well.
    """
    plan = physical_plan(node.input)
    for name in node.input.variables:
        if name.startswith("_:"):
            plan = CopyPlan(f"row {name}", name, plan)
    return ProjectPlan(node.variables, DrawnPlan(_ROW, node.columns, FreshPlan((_ROW,), plan)))


def _grouped(
    keys: tuple[str, ...], aggregates: tuple[tuple[str, syntax.Aggregate], ...], inner: Node
) -> frozenset[str]:
    """The columns that groups and their set functions read; `COUNT(DISTINCT *)` reads all that a query can name."""
    read = set(keys)
    for _, aggregate in aggregates:
        if aggregate.argument is not None:
            read.update(variables_of(aggregate.argument))
        elif aggregate.distinct:
            read.update(name for name in inner.variables if not name.startswith("_:"))
    return frozenset(read)


def _joined(node: Node, needed: frozenset[str]) -> PhysicalPlan:
    """PATTERN and the filters around and inside it, as joins of as few parts as possible."""
    parts, filters = _parts(node)
    wanted = needed.union(*(variables_of(condition) for condition in filters))
    groups: dict[Source, list[nodes.WScan]] = {}
    others: list[Node] = []
    for part in parts:
        if isinstance(part, nodes.WScan):
            groups.setdefault(part.source, []).append(part)
        else:
            others.append(part)

    members: list[tuple[frozenset[str], tuple[str, ...]]] = [
        (frozenset().union(*(scan.certain for scan in scans)), ()) for scans in groups.values()
    ] + [(part.certain, part.variables) for part in others]
    plans: list[tuple[PhysicalPlan, frozenset[str]]] = []
    for at, (source, scans) in enumerate(groups.items()):
        names = dict.fromkeys(name for scan in scans for name in scan.variables)
        elsewhere = wanted.union(
            *(other.variables for other in others),
            *(certain for i, (certain, _) in enumerate(members) if i != at),
        )
        projected = tuple(name for name in names if name in elsewhere)
        plans.append((TpJoinPlan(source, tuple(scans), projected), frozenset(projected)))
    for at, part in enumerate(others, len(groups)):
        elsewhere = wanted.union(
            *(name for i, (certain, names) in enumerate(members) if i != at for name in (certain, names))
        )
        below = frozenset(part.variables) & elsewhere
        plans.append((_part(part, below), part.certain))
    if not plans:
        unit = nodes.Values((), ((),))
        plans.append((ValuesPlan(unit), frozenset()))

    plans = [_with_filters(plan, certain, filters) for plan, certain in plans]
    plan, certain = plans.pop(0)
    while plans:
        # a part that shares a variable, before one that multiplies
        at = next((i for i, (other, _) in enumerate(plans) if set(other.variables) & set(plan.variables)), 0)
        other, other_certain = plans.pop(at)
        plan = HashJoinPlan(plan, other, certain & other_certain)
        plan, certain = _with_filters(plan, certain | other_certain, filters)
    for condition in filters:
        plan = FilterPlan(condition, plan)
    return plan


def _parts(node: Node) -> tuple[list[Node], list[Expression]]:
    """What a PATTERN joins, and the filters over all of it.

    A filter on one input holds over the join as well, where all that it reads is bound in that input.
    """
    match node:
        case nodes.Pattern(inputs):
            parts: list[Node] = []
            filters: list[Expression] = []
            for child in inputs:
                # what is a PATTERN of its own is joined before
                if isinstance(child, nodes.Pattern) or (isinstance(child, nodes.Filter) and not _movable(child)):
                    parts.append(child)
                    continue
                child_parts, child_filters = _parts(child)
                parts += child_parts
                filters += child_filters
            return parts, filters
        case nodes.Filter(condition, inner):
            parts, filters = _parts(inner)
            return parts, [*filters, condition]
        case _:
            return [node], []


def _movable(node: nodes.Filter) -> bool:
    """Whether all filters of a chain read only what is bound in any case below them."""
    inner: Node = node
    while isinstance(inner, nodes.Filter):
        if not set(variables_of(inner.condition)) <= inner.input.certain:
            return False
        inner = inner.input
    return True


def _part(node: Node, needed: frozenset[str]) -> PhysicalPlan:
    match node:
        case nodes.Path(nodes.Derived(edges)):
            path = _path(replace(node, source=DERIVED))
            # the empty path matches the terms of all edges
            followed = {label.predicate for label in path.dfa.labels}
            used = {name: edge for name, edge in edges if name in followed or path.empty == "terms"} or dict(edges)
            return DerivedPathPlan(path, tuple(used), tuple(map(_edges, used.values())))
        case nodes.Path():
            return _path(node)
        case _:
            return physical_plan(node, needed)


def _edges(node: Node) -> PhysicalPlan:
    """The plan of derived edges, each once."""
    plan = physical_plan(node)
    return plan if plan.keyed else DistinctPlan(plan)


def _with_filters(
    plan: PhysicalPlan, certain: frozenset[str], filters: list[Expression]
) -> tuple[PhysicalPlan, frozenset[str]]:
    """Put the filters that can already be decided onto a part, and strike them off the list."""
    for condition in list(filters):
        if set(variables_of(condition)) <= certain:
            filters.remove(condition)
            plan = FilterPlan(condition, plan)
    return plan, certain


def _path(node: nodes.Path, *, backward: bool | None = None) -> SPathPlan:
    """The path from its subject or `backward`; by default from the constant end, if there is one."""
    if backward is None:
        backward = isinstance(node.subject, Variable) and not isinstance(node.object, Variable)
    path = inverse(node.path) if backward else node.path
    root, target = (node.object, node.subject) if backward else (node.subject, node.object)
    source = node.source
    assert isinstance(source, Source)
    dfa = _dfa(path)
    empty: Literal["none", "constant", "terms"] = "none"
    if dfa.accepts_empty:
        with_constant = not (isinstance(root, Variable) and isinstance(target, Variable))
        empty = "constant" if with_constant and matches_itself(path) else "terms"
    return SPathPlan(source, root, target, dfa, empty, backward, node.path)


@lru_cache(1024)
def _dfa(path: PathExpression) -> Dfa:
    """The automaton of a path, which is a part of many plans."""
    return minimal_dfa(path)


# --- what a plan reads, and what it looks like ----------------------------------------------


def with_implicit_windows(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan under which a solution once given stays when its triples expire.

    Refuses what lets solutions enter because something expires: there they would stay by accident.
    """
    waiting = [plan]
    while waiting:
        part = waiting.pop()
        if isinstance(part, AntiJoinPlan | GroupPlan | SlicePlan | FreshPlan | NowPlan):
            raise UnsupportedError(
                "WITH IMPLICIT WINDOWS is for queries whose solutions only leave as time passes",
                detail="OPTIONAL, MINUS, NOT EXISTS, aggregates, LIMIT, blank nodes of a template, NOW, RAND, UUID, "
                "STRUUID and BNODE are not such.",
            )
        waiting += inputs(part)
    return ImplicitPlan(plan.input if isinstance(plan, DistinctPlan) else plan)


def turned(plan: SPathPlan) -> SPathPlan:
    """The same pairs by trees that grow from the other end."""
    subject, object_ = (plan.target, plan.root) if plan.backward else (plan.root, plan.target)
    other = _path(nodes.Path(plan.source, subject, plan.path, object_), backward=not plan.backward)
    return replace(other, operator=plan.operator)


def wanted_triples(
    plan: PhysicalPlan, source: Source, conditions: frozenset[Expression] = frozenset()
) -> tuple[Wanted[str], bool]:
    """Which triples of a graph the plan can use, and whether it needs all; `conditions` hold for what it gives."""
    patterns: Wanted[str] = set()
    everything = False
    match plan:
        case TpJoinPlan(scanned, scans, _) if scanned == source:
            for scan in scans:
                terms = (_fixed(scan.subject), _fixed(scan.predicate), _fixed(scan.object))
                patterns.add(WantedTriples(terms, atomic_filters(scan, {*conditions, *plan.comparisons})))
        case SPathPlan() if plan.source == source:
            everything = plan.empty == "terms"
            for name in plan.dfa.labels:
                patterns.add(WantedTriples((None, None if name.predicate == OTHER else name.predicate, None)))
        case _:
            for below, of_below in zip(inputs(plan), _conditions_below(plan, conditions), strict=True):
                more, all_of_it = wanted_triples(below, source, of_below)
                patterns |= more
                everything = everything or all_of_it
    return patterns, everything


def _conditions_below(plan: PhysicalPlan, conditions: frozenset[Expression]) -> tuple[frozenset[Expression], ...]:
    """The conditions that hold for the inputs of a plan, given those that hold for what it gives."""
    match plan:
        case FilterPlan(condition, _):
            return (conditions | decidable_conditions(condition),)
        case HashJoinPlan():
            return conditions, conditions
        case UnionPlan(parts):
            return (conditions,) * len(parts)
        case AntiJoinPlan():
            return conditions, frozenset()
        case ExtendPlan() | CopyPlan() | EventGraphsPlan() | NowPlan() | OwnedPlan() | DistinctPlan():
            return (conditions,)
        case ProjectPlan(names, _):  # what is not projected may have the name of another variable above
            return (frozenset(condition for condition in conditions if set(variables_of(condition)) <= set(names)),)
        case _:
            return (frozenset(),) * len(inputs(plan))


def _fixed(term: Term) -> str | None:
    return None if isinstance(term, Variable) else term


def _conflicts(dfa: Dfa) -> str:
    """Whether simple paths may have to be searched for, and whether that may take exponential time."""
    if is_conflict_free(dfa):
        return "free of conflicts by itself"
    longest = longest_word(dfa)
    if longest is None:
        return "may conflict"
    return f"may conflict within {longest} edges, never exponential in the graph"


def _path_line(plan: SPathPlan) -> str:
    names = " ".join(f"?{name}" for name in plan.variables)
    end = "object" if plan.backward else "subject"
    text = f"{plan.operator}({names}) {path_text(plan.path)}: {plan.dfa.states} states, from the {end}"
    if plan.operator == "rspq":
        text += f", {_conflicts(plan.dfa)}"
    if plan.empty != "none":
        text += f", empty path matches {'the terms of the graph' if plan.empty == 'terms' else 'the constant'}"
    return text


def _reason(plan: SPathPlan) -> list[str]:
    return [f"{plan.operator}, since {plan.reason}"] if plan.reason else []


def explain_physical(plan: PhysicalPlan, depth: int = 0) -> str:
    """The physical plan as indented text."""
    head, *details = operator_lines(plan)
    lines = [f"{'  ' * depth}{head}", *(f"{'  ' * (depth + 1)}{line}" for line in details)]
    return "\n".join([*lines, *(explain_physical(below, depth + 1) for below in inputs(plan))])


def operator_lines(plan: PhysicalPlan) -> list[str]:
    """What the operator of a plan is and does, and what it reads of a graph, line by line."""
    names = " ".join(f"?{name}" for name in plan.variables)
    match plan:
        case TpJoinPlan(_, scans, _):
            compared = [f"compare[{expression_text(condition)}]" for condition in plan.comparisons]
            return [f"{plan.operator}({names})", *map(label, scans), *compared]
        case SPathPlan():
            return [_path_line(plan), *_reason(plan)]
        case DerivedPathPlan(path, labels, _):
            return [f"{_path_line(path)}, over derived {', '.join(labels)}", *_reason(path)]
        case HashJoinPlan(left, right, certain):
            shared = [name for name in left.variables if name in right.variables]
            loose = [name for name in shared if name not in certain]
            text = f"hash_join on {' '.join(f'?{n}' for n in shared if n in certain) or 'nothing'}"
            return [text + (f", compatible {' '.join(f'?{name}' for name in loose)}" if loose else "")]
        case FilterPlan(condition, _):
            return [label(nodes.Filter(condition, nodes.Pattern(()))).replace("Filter", "filter")]
        case ExtendPlan(variable, expression, _):
            return [label(nodes.Extend(variable, expression, nodes.Pattern(()))).replace("Extend", "extend")]
        case GroupPlan(keys, aggregates, _):
            return [label(nodes.Group(keys, aggregates, nodes.Pattern(()))).replace("Group", "group")]
        case SlicePlan(sliced, _):
            return [label(sliced).replace("Slice", "slice")]
        case FreshPlan(labels, _):
            return [f"fresh {' '.join(labels)}"]
        case CopyPlan(variable, of, _):
            return [f"copy ?{variable} of ?{of}"]
        case EventGraphsPlan(source, name, time, _):
            event_graphs = label(nodes.EventGraphs(source, name, time, nodes.Pattern(())))
            return [event_graphs.replace("EventGraphs", "event_graphs")]
        case AntiJoinPlan(_, _, keys):
            return [f"anti_join on {' '.join(f'?{name}' for name in keys) or 'nothing'}"]
        case NowPlan(variable, _):
            return [f"now ?{variable}"]
        case DrawnPlan(_, columns, _):
            return [f"drawn {', '.join(f'?{name} := {function}()' for name, function in columns)}"]
        case ValuesPlan(values):
            return [label(values).replace("Values", "values")]
        case OwnedPlan(variable, shard, shards, _):
            return [f"owned by ?{variable}, shard {shard} of {shards}"]
        case ProjectPlan():
            return [f"project({names})"]
        case _:
            return [type(plan).__name__.removesuffix("Plan").lower()]
