"""How many pairs an automaton connects in a graph, and how often a tree node changes, from the graph's labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, prod

from spectra.automata import OTHER, Dfa
from spectra.automata.nfa import Label
from spectra.planner.characteristics import Values, ends, filled
from spectra.planner.statistics import ALL, NO_EDGES, GraphStatistics, all_edges

#: Longer paths are not followed, and neither are changes of less than this part.
_LONGEST, _CLOSE = 200, 1e-4


@dataclass(frozen=True, slots=True)
class PathEstimate:
    """Per instant: edges that the automaton can follow, pairs that it accepts, tree nodes, and how many of them are at
    one vertex; per second: pairs that enter, tree nodes that are set, edges that are looked at for that, edges that
    arrive.
    """

    edges: float

    pairs: float
    nodes: float
    nodes_at_vertex: float
    pair_rate: float
    node_rate: float
    probe_rate: float
    edge_rate: float
    roots: float
    targets: float

    def scaled(self, factor: float) -> PathEstimate:
        """The same edges with so many times as many pairs."""
        return replace(
            self,
            pairs=self.pairs * factor,
            nodes=self.nodes * factor,
            nodes_at_vertex=self.nodes_at_vertex * factor,
            pair_rate=self.pair_rate * factor,
            node_rate=self.node_rate * factor,
            probe_rate=self.probe_rate * factor,
        )


@dataclass(slots=True)
class _Edges:
    """Edges of a label as they are followed, from near to far; `met` is the label's `met_terms`."""

    live: float
    rate: float
    near: Values
    far: Values
    met: float

    def after(self, last: _Edges) -> float:
        """How many of them go on from the end of another one.

        How often edges of one label do is counted. It is not to be told from their vertices: a hub may have no way out.
        """
        if self is last and isfinite(self.met):
            return self.live / self.met
        return self.live / self.near.room(last.far)


def estimate_path(dfa: Dfa, graph: GraphStatistics, *, rooted: bool, ended: bool) -> PathEstimate:
    """The path from all vertices, or from one (`rooted`), to all or to one (`ended`).

    A product node (state, label of the last edge) has as many pairs (root, vertex) as are found by one more edge from
    those before it, less those that are found twice: pairs fall on roots · vertices at random. The fixed point of that
    is the closure. Where a vertex has more than one successor it fills the graph, where it has less it is a geometric
    series, as in the thesis.
    """
    edges = {label: _followed(label, dfa, graph) for label in dfa.labels}
    first = [edges[label] for label in dfa.moves[0]]
    roots = 1.0 if rooted else max((each.near.distinct for each in first), default=0.0)
    places = {(target, label) for moves in dfa.moves for label, target in moves.items()}
    found = dict.fromkeys(places, 0.0)
    changes = dict.fromkeys(places, 0.0)
    probes = 0.0
    for _ in range(_LONGEST):
        before = dict(found)
        thrown, gains = dict.fromkeys(places, 0.0), dict.fromkeys(places, 0.0)
        probes = 0.0
        for state, moves in enumerate(dfa.moves):
            for label, target in moves.items():
                step, place = edges[label], (target, label)
                if state == 0:
                    share = 1 / max(step.near.distinct, 1.0) if rooted else 1.0
                    thrown[place] += step.live * share
                    gains[place] += step.rate * share
                for (at, last), pairs in found.items():
                    if at != state:
                        continue
                    successors = step.after(edges[last])
                    thrown[place] += pairs * successors
                    # a new edge carries on all that reaches its source, and a node that changes all its edges
                    turnover = step.rate / step.live if step.live else 0.0
                    gains[place] += successors * (changes[at, last] + pairs * turnover)
                    probes += changes[at, last] * (1 + successors)
        for place in places:
            room = roots * max(edges[place[1]].far.distinct, 1.0)
            found[place] = filled(thrown[place], room)
            kept = found[place] / thrown[place] if thrown[place] else 0.0
            changes[place] = gains[place] * kept
        if all(abs(found[place] - before[place]) <= _CLOSE * found[place] for place in places):
            break
    accepted = [place for place in places if place[0] in dfa.accepting]
    targets = max((edges[label].far.distinct for _, label in accepted), default=0.0)
    share = 1 / max(targets, 1.0) if ended else 1.0
    room = max(roots * targets, 1.0)
    pairs = room * (1 - prod(1 - min(found[place] / room, 1.0) for place in accepted)) * share
    # what changes is a new pair unless it was there before
    pair_rate = share * sum(changes[place] * (1 - min(found[place] / room, 1.0)) for place in accepted)
    nodes = sum(found.values())
    vertices = max((each.far.distinct for each in edges.values()), default=1.0) * max(dfa.states - 1, 1)
    arriving = {(label.predicate): edges[label].rate for label in dfa.labels}
    return PathEstimate(
        edges=sum(step.live for step in {label.predicate: edges[label] for label in dfa.labels}.values()),
        pairs=pairs,
        nodes=nodes,
        nodes_at_vertex=nodes / max(vertices, 1.0),
        pair_rate=pair_rate,
        node_rate=sum(changes.values()),
        probe_rate=probes,
        edge_rate=sum(arriving.values()),
        roots=min(roots, pairs),
        targets=min(1.0 if ended else targets, pairs),
    )


def _followed(label: Label, dfa: Dfa, graph: GraphStatistics) -> _Edges:
    if label.predicate == OTHER:
        of_label = all_edges({name: each for name, each in graph.items() if name not in (ALL, *dfa.mentioned)})
    else:
        of_label = graph.get(label.predicate, NO_EDGES)
    near, far = reversed(ends(of_label, graph)) if label.backward else ends(of_label, graph)
    return _Edges(of_label.live, of_label.rate, near, far, of_label.met_terms)
