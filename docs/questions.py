"""Sheets of questions with today's answers, each from a TOML file beside this one and a catalog.

questions.toml: what people ask in public. basics.toml: the chapter that Rackfit grew from, claim by claim. Each
question names the one command or page that answers it, a Jinja template that makes a sentence of that answer, and the
figures that its source reports, each with an expression for ours, the tolerance and why they differ.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from asked import Asked, NoAnswer
from jinja2 import Environment, StrictUndefined, TemplateError

FOLDER = Path(__file__).parent
SITE = "http://127.0.0.1:8001"
"""Where `rackfit serve` shows pages."""
GIB = 1024**3
UNANSWERED = (TemplateError, TypeError, KeyError, AttributeError, ValueError, ZeroDivisionError)
"""What a template raises where an answer lacks what it says."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the source and the expression that gives ours, in the same unit.

    `reported` is a number, a word, or a range [least, most]; `tolerance` a share of the reported figure. `differs` owns
    up to a word that is not the source's; `why` explains.
    """

    what: str
    ours: str
    reported: float | str | list[float]
    unit: str = ""
    tolerance: float = 0.0
    why: str = ""
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question with how to ask it.

    `also` are further ways that the sentence draws on; `outside` says why it is out of scope, for what is not answered.
    """

    id: str
    kind: str
    ask: str
    source: str = ""
    how: str = ""
    answer: str = ""
    also: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    outside: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Our figure beside that of the source."""

    figure: Figure
    ours: Any

    @property
    def off(self) -> float | None:
        """Return how far ours is from the reported figure or range, as a share of it; None for words."""
        reported = self.figure.reported
        if isinstance(reported, str) or isinstance(self.ours, str):
            return None
        least, most = reported if isinstance(reported, list) else (reported, reported)
        nearest = min(max(self.ours, least), most)
        if self.ours == nearest:
            return 0.0
        return float(self.ours / nearest - 1) if nearest else float("inf")

    @property
    def holds(self) -> bool:
        """Say whether ours is within the tolerance, or differs where the record says so."""
        off = self.off
        if off is None:
            return (self.ours != self.figure.reported) == self.figure.differs
        return abs(off) <= self.figure.tolerance


@dataclass(frozen=True, slots=True)
class Sheet:
    """The questions of one file in order of kind, with the words of their document."""

    title: str
    lead: str
    columns: list[str]
    kinds: dict[str, str]
    questions: list[Question]


@cache
def sheet(name: str) -> Sheet:
    """Read a sheet."""
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    found = [
        Question(**{**entry, "figures": [Figure(**figure) for figure in entry.get("figures", [])]})
        for entry in data["question"]
    ]
    places = list(data["kinds"])
    found.sort(key=lambda question: (places.index(question.kind), question.id))
    return Sheet(data["title"], data["lead"].strip(), data["columns"], data["kinds"], found)


def _pick(rows: Iterable[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """Return the first row whose fields have the values wanted."""
    for row in rows:
        if all(row.get(name) == value for name, value in wanted.items()):
            return row
    raise TemplateError(f"no row with {wanted}")


def _label(value: Any) -> Any:
    """Return the key of a foreign key that Datasette shows with its label."""
    return value["value"] if isinstance(value, dict) else value


@cache
def _templates() -> Environment:
    words = Environment(undefined=StrictUndefined, autoescape=False)
    words.filters["gib"] = lambda size: f"{size / GIB:,.1f} GiB"
    words.filters["kib"] = lambda size: f"{size / 1024:,.0f} KiB"
    words.filters["gb"] = lambda size: f"{size / 1e9:,.1f} GB"
    words.filters["cents"] = lambda amount: f"{amount:,.3f}"
    words.filters["n"] = lambda number: f"{number:,.0f}"
    words.filters["d1"] = lambda number: f"{number:,.1f}"
    words.filters["pick"] = _pick
    words.filters["pick_label"] = lambda rows, name, value: next(row for row in rows if _label(row[name]) == value)
    words.filters["label"] = _label
    words.filters["per_u"] = lambda row: row["max_power_w"] / 1000 / row["rack_units"]
    words.globals.update(GIB=GIB)
    return words


def _known(question: Question, asked: Asked) -> dict[str, Any]:
    """Return the names that templates see: the fields of the answer, `answer` for the whole, `also` for the others."""
    data = asked.data(question.how)
    also = [asked.data(how) for how in question.also]
    return {**(data if isinstance(data, dict) else {}), "answer": data, "also": also}


def answer(question: Question, asked: Asked) -> str:
    """Return today's answer as a sentence.

    Raises:
        NoAnswer: the command or page fails, or its answer lacks what the sentence says.
    """
    if question.outside:
        return question.outside
    known = _known(question, asked)
    try:
        text = _templates().from_string(question.answer).render(known)
    except UNANSWERED as error:
        raise NoAnswer(f"{question.id}: {question.how}: {error}") from error
    return " ".join(text.split())


def compare(question: Question, asked: Asked) -> list[Comparison]:
    """Return the reported figures with ours beside them.

    Raises:
        NoAnswer: the answer lacks a figure.
    """
    if question.outside:
        return []
    compared, known = [], _known(question, asked)
    for figure in question.figures:
        evaluate = _templates().compile_expression(figure.ours, undefined_to_none=True)
        try:
            ours = evaluate(known)
        except UNANSWERED as error:
            raise NoAnswer(f"{question.id}, {figure.what}: {error}") from error
        if ours is None:
            raise NoAnswer(f"{question.id}, {figure.what}: the answer has no {figure.ours}")
        compared.append(Comparison(figure, ours))
    return compared


def document(asked: Asked, name: str) -> str:
    """Return every question of a sheet with how to ask it, today's answer and the reported figures, as Markdown."""
    of = sheet(name)
    lines = [
        f"# {of.title}",
        "",
        f"Written by `python docs/generate.py --answers` from `docs/{name}.toml` and a catalog. Do not edit.",
        "",
        of.lead,
        f"Links to pages lead to {SITE}, where `rackfit serve` shows them.",
        "",
    ]
    head = [f"| {' | '.join(of.columns)} |", f"|{'---|' * len(of.columns)}"]
    for key, kind in of.kinds.items():
        rows = [_row(question, asked) for question in of.questions if question.kind == key]
        lines += [f"## {kind}", "", *head, *rows, ""] if rows else []
    return "\n".join(lines)


def _row(question: Question, asked: Asked) -> str:
    name = f"[{question.id}]({question.source})" if question.source else question.id
    ways = "<br>also: ".join(map(_way, filter(None, [question.how, *question.also])))
    compared = "<br>".join(map(_compared, compare(question, asked)))
    cells = [name, question.ask, ways, answer(question, asked), compared]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _way(how: str) -> str:
    return f"[{how}]({SITE}{how})" if how.startswith("/") else f"`{how}`"


def _compared(comparison: Comparison) -> str:
    figure = comparison.figure
    unit = f" {figure.unit}" if figure.unit else ""
    why = f": {figure.why}" if figure.why else ""
    return f"{figure.what} {_figure(figure.reported)}{unit}, ours {_figure(comparison.ours)}{_off(comparison)}{why}"


def _off(comparison: Comparison) -> str:
    off = comparison.off
    if off is None:
        return " (differs)" if comparison.figure.differs else ""
    return " (inside)" if off == 0 and isinstance(comparison.figure.reported, list) else f" ({off:+.1%})"


def _figure(value: Any) -> str:
    if isinstance(value, list):
        return f"{_figure(value[0])} to {_figure(value[1])}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
