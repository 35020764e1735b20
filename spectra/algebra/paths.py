"""Property paths as nodes: single predicates are scans, and which paths may be empty."""

from __future__ import annotations

from spectra.algebra.nodes import Derived, Node, Path, Source, WScan
from spectra.sparql.syntax import (
    AlternativePath,
    InversePath,
    Link,
    OneOrMorePath,
    PathExpression,
    RepeatPath,
    SequencePath,
    Term,
    ZeroOrMorePath,
    ZeroOrOnePath,
)


def path_node(source: Source | Derived, subject: Term, path: PathExpression, object_: Term) -> Node:
    """The pairs of a path, each once: a PATH, or a WSCAN for a single predicate, either way."""
    match path:
        case Link(predicate) if isinstance(source, Source):
            return WScan(source, subject, predicate, object_)
        case InversePath(inner):
            return path_node(source, object_, inner, subject)
        case _:
            return Path(source, subject, path, object_)


def may_be_empty(path: PathExpression) -> bool:
    """Whether the path connects a term with itself by no edge at all."""
    match path:
        case ZeroOrMorePath() | ZeroOrOnePath():
            return True
        case RepeatPath(inner, low, _):
            return low == 0 or may_be_empty(inner)
        case OneOrMorePath(inner) | InversePath(inner):
            return may_be_empty(inner)
        case SequencePath(parts):
            return all(may_be_empty(part) for part in parts)
        case AlternativePath(parts):
            return any(may_be_empty(part) for part in parts)
        case _:
            return False


def matches_itself(path: PathExpression) -> bool:
    """Whether a constant at an end matches itself even where the graph does not have it.

    So it is for `*` and `?`. A sequence goes through a variable, which ranges over the graph's terms.
    """
    match path:
        case ZeroOrMorePath() | ZeroOrOnePath():
            return True
        case RepeatPath(_, low, _) if low == 0:
            return True
        case RepeatPath(inner, 1, _) | OneOrMorePath(inner) | InversePath(inner):
            return matches_itself(inner)
        case AlternativePath(parts):
            return any(matches_itself(part) for part in parts)
        case _:
            return False
