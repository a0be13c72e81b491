"""A matrix of verdicts as a picture that stands alone: colour, sign and words in each cell, each cell a link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from rackfit.publish.render import VERDICTS

LABEL, CELL, HIGH, TOP, FOOT = 136, 92, 26, 66, 30

COLOURS = {
    "text": "#111a2c", ".small": "#5a6270", ".paper": "#ffffff",
    ".fits text": "#0b6b2e", ".fits rect": "#dff5e5", ".tight text": "#7a4b00", ".tight rect": "#fff0cc",
    ".no text": "#8f1d1d", ".no rect": "#fbe1e1", ".cannot_run text": "#4a4a55", ".cannot_run rect": "#e6e6ec",
}  # fmt: skip
DARK = {
    "text": "#e8ebf1", ".small": "#a5adba", ".paper": "#12161d",
    ".fits text": "#8fe0a8", ".fits rect": "#12381f", ".tight text": "#ffd37a", ".tight rect": "#443009",
    ".no text": "#ffaaaa", ".no rect": "#471a1a", ".cannot_run text": "#c9cbd6", ".cannot_run rect": "#33353f",
}  # fmt: skip
"""Colours of the pages, which a file of its own does not get from their style sheet."""

FONTS = (
    "text{font:12px system-ui,sans-serif}.small{font-size:11px}.title{font-size:15px;font-weight:600}"
    "a:hover text,a:focus text{text-decoration:underline}"
)


def _style() -> Markup:
    light, dark = (
        "".join(f"{part}{{fill:{colour}}}" for part, colour in colours.items()) for colours in (COLOURS, DARK)
    )
    return Markup(f"<style>{FONTS}{light}@media (prefers-color-scheme:dark){{{dark}}}</style>")  # no text of others


def picture(columns: Sequence[str], rows: Sequence[dict[str, Any]], title: str, source: str) -> Markup:
    """Return the picture. A row has `name`, `href` and `cells`: `verdict`, `text`, `note`, `href` of each, or None."""
    wide, high = LABEL + len(columns) * CELL, TOP + len(rows) * HIGH + FOOT
    parts = [
        Markup('<rect class="paper" width="{}" height="{}"/><text class="title" x="4" y="20">{}</text>').format(
            wide, high, title
        )
    ]
    for number, name in enumerate(columns):
        x = LABEL + number * CELL + CELL / 2
        for line, words in enumerate(_two_lines(name)):
            parts.append(
                Markup('<text class="small" text-anchor="middle" x="{}" y="{}">{}</text>').format(
                    x, 42 + 14 * line, words
                )
            )
    for number, row in enumerate(rows):
        y = TOP + number * HIGH
        name = '<a href="{}"><text x="4" y="{}">{}</text></a>'
        parts.append(Markup(name).format(row["href"], y + 16, row["name"]))
        parts += [
            _cell(cell, LABEL + place * CELL, y, f"{row['name']} on {columns[place]}")
            for place, cell in enumerate(row["cells"])
            if cell is not None
        ]
    parts.append(Markup('<text class="small" x="4" y="{}">{}</text>').format(high - 10, source))
    counts = {name: sum(cell["verdict"] == name for row in rows for cell in row["cells"] if cell) for name in VERDICTS}
    said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    frame = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" width="{}" height="{}" role="group">'
        "<title>{}: {}</title>{}{}</svg>"
    )
    return Markup(frame).format(wide, high, wide, high, title, said, _style(), Markup("").join(parts))


def _two_lines(name: str) -> tuple[str, ...]:
    """Return a name in two lines where it is long."""
    words = name.split()
    if len(name) <= 11 or len(words) < 2:
        return ("", name)
    break_at = min(range(1, len(words)), key=lambda at: abs(len(" ".join(words[:at])) - len(" ".join(words[at:]))))
    return " ".join(words[:break_at]), " ".join(words[break_at:])


def _cell(cell: dict[str, Any], x: float, y: float, about: str) -> Markup:
    shape = (
        '<a href="{}" class="{}"><title>{}: {}. {}</title><rect x="{}" y="{}" width="{}" height="{}" rx="4"/>'
        '<text text-anchor="middle" x="{}" y="{}">{} {}</text></a>'
    )
    return Markup(shape).format(
        cell["href"], cell["verdict"], about, cell["text"], cell["note"], x + 2, y, CELL - 4, HIGH - 4,
        x + CELL / 2, y + 15, VERDICTS[cell["verdict"]][0], cell["text"],
    )  # fmt: skip
