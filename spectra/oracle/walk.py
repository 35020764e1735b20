"""Every node of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass


def walk(node: object) -> Iterator[object]:
    """The node and all nodes below it."""
    yield node
    if isinstance(node, tuple):
        for part in node:
            yield from walk(part)
    elif is_dataclass(node):
        for part in fields(node):
            yield from walk(getattr(node, part.name))
