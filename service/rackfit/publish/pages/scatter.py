"""Predicted against measured as inline SVG: one panel per kind of unit, both axes logarithmic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from datasette.utils import tilde_encode
from markupsafe import Markup

from rackfit.accuracy.summary import TOKENS, Row
from rackfit.publish.pages.accuracy_rows import KINDS

WIDTH, HEIGHT = 460, 420
LEFT, RIGHT, TOP, BOTTOM = 76, 26, 10, 46
"""Margins of the plot within a panel, in its own units."""

SHAPES = {
    "K1": "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "K2": "M-4 -4h8v8h-8z",
    "K3": "M0 5l5 -9h-10z",
    "K4": "M0 -5l5 9h-10z",
    "K5": "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "K6": "M-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z",
    "K7": "M-5 -3h10v6h-10z",
    "K8": "M-3 -5h6v10h-6z",
}
"""Kind -> outline around the point: kinds are told apart without colour."""

HALO = Markup('<circle class="rf-halo" r="8.5"/>')
"""Around a point outside its range."""

GIB = 2**30


@dataclass(frozen=True)
class Panel:
    """One plot. `left_out` counts points without a logarithm."""

    title: str
    svg: Markup
    points: int
    left_out: int
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class _Scale:
    low: int
    high: int

    def at(self, value: float, length: float) -> float:
        """Return the place of a value on an axis of a length."""
        return (math.log10(value) - self.low) / (self.high - self.low) * length


def panels(rows: Sequence[Row], address: str) -> list[Panel]:
    """Return the panels that have points; `address` is what a case id is put behind to link to its page."""
    memory = [(row, row.measured, row.estimate, row.size / GIB) for row in rows if row.size is not None]
    tokens = [(row, row.measured, row.estimate, 1.0) for row in rows if row.quantity in TOKENS]
    found = []
    for title, unit, several in (("Memory", "GiB", memory), ("Tokens", "tokens", tokens)):
        points = [(row, m * s, e * s) for row, m, e, s in several if m is not None and e is not None]
        drawn = [point for point in points if point[1] > 0 and point[2] > 0]
        if drawn:
            svg = _svg(title, unit, drawn, address)
            kinds = tuple(sorted({row.kind for row, _, _ in drawn}))
            found.append(Panel(title, svg, len(drawn), len(points) - len(drawn), kinds))
    return found


def key(kind: str) -> Markup:
    """Return the sign of a kind for a legend."""
    sign = '<svg class="rf-sign" viewBox="-7 -7 14 14" aria-hidden="true"><path class="rf-{}" d="{}"/></svg>'
    return Markup(sign).format(kind.lower(), SHAPES[kind])


def figure(value: float) -> str:
    """Return a number with four significant digits, whole numbers in full, from ten thousand million as so many e9.

    >>> figure(136416.0), figure(0.39062), figure(7.0), figure(1597051793192.0)
    ('136,416', '0.3906', '7', '1,597.1e9')
    """
    if abs(value) >= 1e10:
        return f"{value / 1e9:,.1f}e9"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _svg(title: str, unit: str, points: Sequence[tuple[Row, float, float]], address: str) -> Markup:
    values = [value for _, measured, estimate in points for value in (measured, estimate)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    scale = _Scale(low, max(high, low + 1))
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    drawn = Markup("").join(
        _point(row, LEFT + scale.at(measured, width), TOP + height - scale.at(estimate, height), address)
        for row, measured, estimate in sorted(points, key=lambda point: point[0].miss)
    )
    label = f"{title}: {len(points)} estimates against measured values, both axes logarithmic, in {unit}; "
    frame = '<svg class="rf-scatter" viewBox="0 0 {} {}" role="group" aria-label="{}">{}{}</svg>'
    return Markup(frame).format(
        WIDTH, HEIGHT, label + "the tables below have the figures", _axes(scale, unit, width, height), drawn
    )


def _axes(scale: _Scale, unit: str, width: float, height: float) -> Markup:
    parts = [Markup('<rect class="rf-frame" x="{}" y="{}" width="{}" height="{}"/>').format(LEFT, TOP, width, height)]
    line = Markup('<line class="rf-grid" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
    text = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    for power in range(scale.low, scale.high + 1):
        x, y = LEFT + scale.at(10.0**power, width), TOP + height - scale.at(10.0**power, height)
        parts += [line.format(x, TOP, x, TOP + height), line.format(LEFT, y, LEFT + width, y)]
        parts.append(text.format(x, TOP + height + 17, "middle", _tick(power)))
        parts.append(text.format(LEFT - 6, y + 4, "end", _tick(power)))
    same = '<line class="rf-same" x1="{}" y1="{}" x2="{}" y2="{}"/>'
    parts.append(Markup(same).format(LEFT, TOP + height, LEFT + width, TOP))
    parts.append(text.format(LEFT + width / 2, HEIGHT - 6, "middle", f"measured, {unit}"))
    upright = '<text transform="translate(13 {}) rotate(-90)" text-anchor="middle">estimated, {}</text>'
    parts.append(Markup(upright).format(TOP + height / 2, unit))
    return Markup("").join(parts)


def _tick(power: int) -> str:
    if power < 0:
        return f"{10.0**power:.{-power}f}"
    return f"{10**power:,}" if power < 6 else f"{10 ** (power - 6):,}M"


def _point(row: Row, x: float, y: float, address: str) -> Markup:
    off = "" if row.relative_error is None else f", {row.relative_error:+.1%}"
    outside = ", outside the range" if row.miss else ""
    said = f"{row.case_id} {row.quantity}: measured {row.printed}, estimated {figure(row.estimate or 0)}"
    shape = (
        '<a href="{}{}" tabindex="-1"><g transform="translate({:.1f} {:.1f})">{}<path class="rf-point rf-{}" d="{}"/>'
        "<title>{}</title></g></a>"
    )
    title = f"{said} {row.unit}{off}{outside}; {row.model or KINDS[row.kind]}"
    return Markup(shape).format(
        address, tilde_encode(row.case_id), x, y, HALO if row.miss else "", row.kind.lower(), SHAPES[row.kind], title
    )
