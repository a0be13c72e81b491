"""The form of /why: what was typed, and the question that it stands for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rackfit.errors import UsageError
from rackfit.publish.answers import whole

LONGEST = 200
"""Characters of a parameter that are still a name."""


@dataclass(frozen=True)
class Form:
    """What the page was asked, as it was typed."""

    model: str = ""
    on: str = ""
    precision: str = ""
    kv_precision: str = ""
    context: str = ""
    sequences: str = ""
    runtime: str = ""

    @property
    def asked(self) -> dict[str, str]:
        """The parameters that were filled in."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name)}


def read_form(arguments: Any) -> Form:
    """Return the form of a request."""
    return Form(**{field.name: (arguments.get(field.name) or "").strip() for field in fields(Form)})


def question_of(form: Form, limit: int = 1) -> Any:
    """Return the question that a form stands for.

    Raises:
        UsageError: a parameter is too long, or a figure cannot be read.
    """
    from rackfit.ask.question import FitQuestion

    for name, value in form.asked.items():
        if len(value) > LONGEST:
            raise UsageError(f"{name} has {len(value)} characters: expected at most {LONGEST}")
    return FitQuestion(
        model=form.model or None,
        on=form.on or None,
        precision=form.precision or None,
        kv_precision=form.kv_precision or None,
        context=_number(form, "context"),
        sequences=_number(form, "sequences"),
        runtime=form.runtime or None,
        limit=limit,
    )


def _number(form: Form, name: str) -> int | None:
    text = getattr(form, name).replace(",", "").replace("_", "")
    return whole(name, text) if text else None
