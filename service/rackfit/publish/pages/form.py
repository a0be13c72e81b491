"""Forms of pages: what was typed, as it was typed; and the form of /why with the question that it stands for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

from rackfit.errors import UsageError
from rackfit.publish.answers import whole

LONGEST = 200
"""Characters of a parameter that are still a name."""


@dataclass(frozen=True)
class PageForm:
    """Text parameters of a page, empty where they were left out; a page's own form names them as fields."""

    @classmethod
    def read(cls, arguments: Any) -> Self:
        """Return the form of a request."""
        return cls(**{field.name: (arguments.get(field.name) or "").strip() for field in fields(cls)})

    @property
    def asked(self) -> dict[str, str]:
        """The parameters that were filled in."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name)}

    def checked(self) -> Self:
        """Return the form.

        Raises:
            UsageError: a parameter is too long.
        """
        for name, value in self.asked.items():
            if len(value) > LONGEST:
                raise UsageError(f"{name} has {len(value)} characters: expected at most {LONGEST}")
        return self

    def number(self, name: str) -> int | None:
        """Return a figure of the form, None where it was left out.

        Raises:
            UsageError: it is no whole number.
        """
        text = getattr(self, name).replace(",", "").replace("_", "")
        return whole(name, text) if text else None


@dataclass(frozen=True)
class Form(PageForm):
    """What /why was asked."""

    model: str = ""
    on: str = ""
    precision: str = ""
    kv_precision: str = ""
    context: str = ""
    sequences: str = ""
    runtime: str = ""


def question_of(form: Form, limit: int = 1) -> Any:
    """Return the question that a form stands for.

    Raises:
        UsageError: a parameter is too long, or a figure cannot be read.
    """
    from rackfit.ask.question import FitQuestion

    form.checked()
    return FitQuestion(
        model=form.model or None,
        on=form.on or None,
        precision=form.precision or None,
        kv_precision=form.kv_precision or None,
        context=form.number("context"),
        sequences=form.number("sequences"),
        runtime=form.runtime or None,
        limit=limit,
    )
