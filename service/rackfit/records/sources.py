"""Where facts come from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from rackfit.records.base import Part, PartialDate, Text

Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s\"<>]+$")]
SourceClass = Literal["vendor", "vendor_data", "engine_source", "device_print", "paper", "second_hand"]


class Source(Part):
    """One document, data set, package or page that facts were read from."""

    slug: str
    title: Text
    url: Url | None = None
    issuer: Text | None = None
    version: Text | None = None
    published: PartialDate | None = None
    accessed: PartialDate | None = None
    kind: Text
    source_class: SourceClass
    licence: Text | None = None
    use_rule: Text | None = None
    share_alike: bool = False
