from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spectra.algebra.nodes import OBJECT, SUBJECT, Derived, Node, Path, WScan
from spectra.algebra.paths import path_node
from spectra.sparql.syntax import InversePath, Link, Term


def substitute_transition(node: Node) -> Iterator[Node]:
    """The edges of a label for a path of that one edge.

    PATH[s a o](S)  =  WSCAN[s a o]      PATH[s d o](S_d)  =  PATH[s r o](S)      where S_d has the pairs of PATH[r](S)

    A triple is in a window once, and so is the pair that it connects; derived edges are a set by definition.
    """
    match node:
        case Path(source, subject, InversePath(inner), object_):
            yield from substitute_transition(Path(source, object_, inner, subject))
        case Path(Derived(edges), subject, Link(label), object_):
            edge = dict(edges)[label]
            if isinstance(edge, WScan | Path):
                ends: dict[Term, Term] = {SUBJECT: subject, OBJECT: object_}
                yield replace(edge, subject=ends[edge.subject], object=ends[edge.object])
        case Path(source, subject, Link() as path, object_):
            yield path_node(source, subject, path, object_)
