"""How names are compared: one rule for records, commands, SQL and pages."""

from __future__ import annotations

import re


def name_key(name: str) -> str:
    """Return the form in which names are compared: case, spaces, dashes of any kind and trade marks do not matter.

    >>> name_key("NVIDIA A100-SXM4-80GB") == name_key("nvidia a100 sxm4 80gb")
    True
    """
    return re.sub(r"[\s_\-()\u2010-\u2015\u2212]+", " ", re.sub("[\u00ae\u2122]", "", name.casefold())).strip()


def names_of(slug: str, record: object) -> list[str]:
    """Return every name that must resolve to this record: slug, name, aliases."""
    own = getattr(record, "name", None)
    return [slug, *([own] if own else []), *getattr(record, "aliases", [])]
