"""Stacked bars and lines: figures of several formats side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 390, 240
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 10, 38
BAR = 1000
LINES = ("", "7 3", "2 3", "8 3 2 3", "1 4", "12 4")
"""Dash patterns: lines are told apart without colour."""


def stacked(pieces: Sequence[tuple[str, float, str]], full: float, said: str) -> Markup:
    """Return one bar of pieces (colour class, size, words) on a scale that ends at `full`."""
    at, drawn = 0.0, []
    for name, size, words in pieces:
        width = max(size, 0) / max(full, 1) * BAR
        shape = '<rect class="{}" x="{:.1f}" width="{:.1f}" height="20"><title>{}</title></rect>'
        drawn.append(Markup(shape).format(name, at, width, words))
        at += width
    frame = '<svg class="rf-stack" viewBox="0 0 {} 20" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    return Markup(frame).format(BAR, said, Markup("").join(drawn))


def ticks(most: float, count: int = 4) -> list[float]:
    """Return round values from zero up to `most`, about `count` of them.

    >>> ticks(10.0)
    [0.0, 2.5, 5.0, 7.5, 10.0]
    """
    if most <= 0:
        return [0.0]
    rough = most / count
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def tokens(count: float) -> str:
    """Return a number of tokens as short as people write it.

    >>> tokens(131072), tokens(40960), tokens(1048576), tokens(500)
    ('128K', '40K', '1M', '500')
    """
    if count >= 2**20:
        return f"{count / 2**20:.3g}M"
    return f"{count / 1024:.4g}K" if count >= 1024 else f"{count:.0f}"


def lines(series: Sequence[tuple[str, Sequence[tuple[float, float]]]], x_name: str, y_name: str, said: str) -> Markup:
    """Return lines over two linear axes from zero; x in tokens."""
    far = max((x for _, points in series for x, _ in points), default=1) or 1
    high = max((y for _, points in series for _, y in points), default=1) or 1
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = _grid(far, high, wide, tall)
    for number, (name, points) in enumerate(series):
        path = " ".join(f"{LEFT + x / far * wide:.1f},{TOP + tall - y / high * tall:.1f}" for x, y in points)
        shape = '<polyline class="rf-line rf-line-{}" stroke-dasharray="{}" points="{}"><title>{}</title></polyline>'
        parts.append(Markup(shape).format(number, LINES[number % len(LINES)], path, name))
    text = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    parts.append(text.format(LEFT + wide / 2, HEIGHT - 4, "middle", x_name))
    upright = '<text transform="translate(11 {:.1f}) rotate(-90)" text-anchor="middle">{}</text>'
    parts.append(Markup(upright).format(TOP + tall / 2, y_name))
    frame = '<svg class="rf-lines" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(frame).format(WIDTH, HEIGHT, said, Markup("").join(parts))


def _grid(far: float, high: float, wide: float, tall: float) -> list[Markup]:
    text = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    rule = Markup('<line class="rf-grid" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
    parts = []
    for value in ticks(high):
        y = TOP + tall - value / high * tall
        parts += [rule.format(LEFT, y, LEFT + wide, y), text.format(LEFT - 5, y + 4, "end", f"{value:,.4g}")]
    for quarter in range(5):
        x = LEFT + wide * quarter / 4
        anchor = "end" if quarter == 4 else "middle"
        parts.append(
            text.format(x + (RIGHT - 2 if quarter == 4 else 0), TOP + tall + 15, anchor, tokens(far * quarter / 4))
        )
    return parts


def key(number: int) -> Markup:
    """Return a piece of a line for a legend."""
    shape = (
        '<svg class="rf-line-sign" viewBox="0 0 34 8" aria-hidden="true">'
        '<line class="rf-line rf-line-{}" stroke-dasharray="{}" x1="0" y1="4" x2="34" y2="4"/></svg>'
    )
    return Markup(shape).format(number, LINES[number % len(LINES)])
