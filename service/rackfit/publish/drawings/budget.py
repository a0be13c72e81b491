"""Bytes of one device as bars against its limit: what is needed, what is reserved, how far the estimate may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rackfit.publish.drawings.hierarchy import short

LABEL, WIDE, FIGURE = 74, 250, 66
WIDTH = LABEL + WIDE + FIGURE
ROW, BAR, FOOT = 32, 20, 22
LEAST = 0.4
"""Width of the thinnest piece that is still seen."""


@dataclass(frozen=True)
class Piece:
    """A part of a bar: colour class, words of its title, bytes."""

    colour: str
    words: str
    size: float


@dataclass(frozen=True)
class Bar:
    """One level: its name and the parts that it is the sum of."""

    name: str
    pieces: tuple[Piece, ...]

    @property
    def total(self) -> float:
        """Bytes of all parts."""
        return sum(piece.size for piece in self.pieces)


def picture(bars: Sequence[Bar], limit: float, limit_name: str, low: float, high: float) -> Markup:
    """Return the bars over one scale, the limit as a line through all, low to high as a bracket under the last."""
    span = max(*(bar.total for bar in bars), limit, high, 1)
    parts = [_bar(bar, number, span) for number, bar in enumerate(bars)]
    floor = len(bars) * ROW
    left, right, x = (LABEL + size / span * WIDE for size in (low, high, limit))
    bracket = '<path class="rf-range-mark" d="M{:.1f} {}v6h{:.1f}v-6"><title>low to high estimate</title></path>'
    parts.append(Markup(bracket).format(left, floor - 8, right - left))
    line = '<line class="rf-limit-mark" x1="{:.1f}" x2="{:.1f}" y1="2" y2="{}"><title>{}: {:,.0f} bytes</title></line>'
    parts.append(Markup(line).format(x, x, floor + 4, limit_name, limit))
    middle = x < LABEL + WIDE * 0.7
    text = '<text x="{:.1f}" y="{}" text-anchor="{}">{} {}</text>'
    parts.append(Markup(text).format(x, floor + 16, "middle" if middle else "end", limit_name, short(limit)))
    said = "; ".join(
        f"{bar.name} {short(bar.total)}: " + ", ".join(f"{piece.words} {short(piece.size)}" for piece in bar.pieces)
        for bar in bars
    )
    said += f"; {limit_name} {short(limit)}; the estimate is between {short(low)} and {short(high)}"
    frame = '<svg class="rf-budget" viewBox="0 0 {} {}" role="img" aria-label="Bytes on one device. {}">{}</svg>'
    return Markup(frame).format(WIDTH, floor + FOOT, said, Markup("").join(parts))


def _bar(bar: Bar, number: int, span: float) -> Markup:
    """Return one bar with its name before and its sum behind it."""
    y, x = number * ROW, float(LABEL)
    parts = [Markup('<text x="0" y="{}">{}</text>').format(y + 15, bar.name)]
    shape = '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{}: {:,.0f} bytes</title></rect>'
    for piece in bar.pieces:
        wide = max(piece.size / span * WIDE, LEAST if piece.size > 0 else 0)
        parts.append(Markup(shape).format(piece.colour, x, y + 1, wide, BAR, piece.words, piece.size))
        x += wide
    parts.append(Markup('<text x="{}" y="{}">{}</text>').format(LABEL + WIDE + 6, y + 15, short(bar.total)))
    return Markup("").join(parts)
