"""A plan to look at: as a graph for Graphviz (`dot`), and drawn (`svg`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from spectra.explanation import Step

_LINE, _LETTER, _MARGIN, _GAP = 16, 7, 10, 36


def dot_of(plans: list[tuple[str, Step]]) -> str:
    """The plans as one directed graph: rows flow along the arrows."""
    lines = ["digraph plans {", "  rankdir=BT;", '  node [shape=box, fontname="monospace"];']
    for number, (name, step) in enumerate(plans):
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(name)};"]
        lines += [f"    {line}" for line in _dot_lines(step, f"n{number}")]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _dot_lines(step: Step, name: str) -> Iterator[str]:
    yield f"{name} [label={_quoted(chr(10).join(_lines(step)))}];"
    for number, below in enumerate(step.inputs):
        yield from _dot_lines(below, f"{name}_{number}")
        yield f"{name}_{number} -> {name};"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lines(step: Step) -> list[str]:
    return [step.operator, *step.reads, *step.figures()]


@dataclass(slots=True)
class _Box:
    """A step with its place: the middle of its upper edge."""

    lines: list[str]
    inputs: list[_Box] = field(default_factory=list)
    middle: float = 0.0
    top: float = 0.0

    @property
    def width(self) -> float:
        return _LETTER * max(map(len, self.lines)) + 2 * _MARGIN

    @property
    def height(self) -> float:
        return _LINE * len(self.lines) + _MARGIN

    @property
    def span(self) -> float:
        """How wide it is with all below it."""
        return max(self.width, sum(below.span for below in self.inputs) + _GAP * max(len(self.inputs) - 1, 0))


def svg_of(plans: list[tuple[str, Step]]) -> str:
    """The plans one below the other, each with its inputs underneath."""
    shapes: list[str] = []
    top, width = float(_MARGIN), 0.0
    for name, step in plans:
        box = _box(step)
        shapes.append(f'<text x="{_MARGIN}" y="{top + _LINE:g}" font-weight="bold">{escape(name)}</text>')
        width = max(width, box.span, _LETTER * len(name))
        top = _place(box, _MARGIN, top + 2 * _LINE) + _GAP
        shapes += _shapes(box)
    size = f'width="{width + 2 * _MARGIN:g}" height="{top:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *shapes, "</svg>"])


def _box(step: Step) -> _Box:
    return _Box(_lines(step), [_box(below) for below in step.inputs])


def _place(box: _Box, left: float, top: float) -> float:
    """Put a box and all below it where they belong; the lowest edge."""
    box.top, box.middle = top, left + box.span / 2
    bottom = top + box.height
    left += (box.span - sum(below.span for below in box.inputs) - _GAP * max(len(box.inputs) - 1, 0)) / 2
    lowest = bottom
    for below in box.inputs:
        lowest = max(lowest, _place(below, left, bottom + _GAP))
        left += below.span + _GAP
    return lowest


def _shapes(box: _Box) -> Iterator[str]:
    left = box.middle - box.width / 2
    frame = f'x="{left:g}" y="{box.top:g}" width="{box.width:g}" height="{box.height:g}" rx="4"'
    yield f'<rect {frame} fill="#f4f6fa" stroke="#5b6b8c"/>'
    for number, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if number == 0 else ""
        place = f'x="{left + _MARGIN:g}" y="{box.top + _LINE * (number + 1):g}"'
        yield f"<text {place}{weight}>{escape(line)}</text>"
    for below in box.inputs:
        ends = f'x1="{below.middle:g}" y1="{below.top:g}" x2="{box.middle:g}" y2="{box.top + box.height:g}"'
        yield f'<line {ends} stroke="#5b6b8c"/>'
        yield from _shapes(below)
