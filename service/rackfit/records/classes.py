"""Class names: one name that fits several accelerators, such as `A100` or `24GB GPU`."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from rackfit.records.base import Text

SlugList = Annotated[str, StringConstraints(pattern=r"^[a-z0-9._-]+(; [a-z0-9._-]+)*$")]
"""Accelerator slugs separated by a semicolon and a space."""


class AcceleratorClass(BaseModel):
    """A name and its candidates. The first is the most usual reading, and the note says why."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    accelerators: SlugList
    note: Text
    file: str
    origin: str

    @property
    def candidates(self) -> list[str]:
        """Return the accelerator slugs, the most usual reading first."""
        return self.accelerators.split("; ")
