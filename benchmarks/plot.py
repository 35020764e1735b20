"""A line chart with logarithmic axes as SVG, for figures that are to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

_COLOURS = (
    "#1b6ca8", "#d1495b", "#2e933c", "#8d6a9f", "#b07d12", "#444444", "#17a2a2", "#e07b39", "#7f9c1d", "#b5739d",
)  # fmt: skip
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 720, 420, 80, 190, 40, 50


def log_chart(title: str, across: str, up: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """The chart; `lines` are points (x, y) by name, all greater than 0."""
    points = [point for line in lines.values() for point in line]
    x_low, x_high = _decades([x for x, _ in points])
    y_low, y_high = _decades([y for _, y in points])

    def at(x: float, y: float) -> tuple[float, float]:
        right = _LEFT + (log10(x) - x_low) / (x_high - x_low) * (_WIDTH - _LEFT - _RIGHT)
        down = _HEIGHT - _BOTTOM - (log10(y) - y_low) / (y_high - y_low) * (_HEIGHT - _TOP - _BOTTOM)
        return right, down

    parts = [_text(_LEFT, 22, title, size=15), _text(_LEFT, _HEIGHT - 12, across), _text(8, _TOP - 8, up)]
    for exponent in range(x_low, x_high + 1):
        x, bottom = at(10.0**exponent, 10.0**y_low)
        parts += [_line([(x, _TOP), (x, bottom)], "#dddddd"), _text(x - 10, bottom + 16, f"{10.0**exponent:g}")]
    for exponent in range(y_low, y_high + 1):
        left, y = at(10.0**x_low, 10.0**exponent)
        parts += [_line([(left, y), (_WIDTH - _RIGHT, y)], "#dddddd"), _text(8, y + 4, f"{10.0**exponent:g}")]
    for number, (name, line) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [at(x, y) for x, y in line]
        parts.append(_line(places, colour, width=2))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        parts.append(_text(_WIDTH - _RIGHT + 12, _TOP + 18 * number + 10, name, colour=colour))
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _decades(values: list[float]) -> tuple[int, int]:
    """The powers of ten around some values, at least one apart."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _line(points: Sequence[tuple[float, float]], colour: str, width: int = 1) -> str:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, *, size: int = 12, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}">{escape(text)}</text>'
