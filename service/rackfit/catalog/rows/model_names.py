"""Names of releases: hub ids, the names without organisation, and the short forms that people use."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from rackfit.records.models import Architecture, Checkpoint
from rackfit.records.names import name_key, names_of

_TUNING = re.compile(
    r"[-_ ](instruct|chat|base|it|pt|hf|thinking|preview|bf16|v\d+(\.\d+)*|\d{2}-\d{4}|\d{4}|a\d+(\.\d+)?b)$",
    re.IGNORECASE,
)
"""What follows the size in a hub id: tuning, version, month of release, active parameters."""

_MAKERS = re.compile(r"^(meta|nvidia)-", re.IGNORECASE)
"""Makers that some hub ids repeat before the name."""


def short_forms(tail: str) -> Iterator[str]:
    """Yield shorter names of a release, longest first, as long as a number is left in them.

    >>> list(short_forms("Meta-Llama-3-8B-Instruct"))
    ['Llama-3-8B-Instruct', 'Llama-3-8B']
    """
    name = _MAKERS.sub("", tail)
    if name != tail:
        yield name
    while (shorter := _TUNING.sub("", name)) != name and re.search(r"\d", shorter):
        name = shorter
        yield name


def own_names(releases: list[tuple[Checkpoint, str]]) -> dict[str, tuple[str, str]]:
    """Return key of name -> (release, spelling) for the names that belong to one release alone.

    The name without organisation is one of them where no other release has it.
    """
    tails = Counter(name_key(item.hf_id.rsplit("/", 1)[-1]) for item, _ in releases)
    names: dict[str, tuple[str, str]] = {}
    for item, key in releases:
        tail = item.hf_id.rsplit("/", 1)[-1]
        for name in (item.hf_id, *item.aliases, *([tail] if tails[name_key(tail)] == 1 else [])):
            names.setdefault(name_key(name), (key, name))
    return names


def rows(models: dict[str, Architecture]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield alias rows: names of one release; short forms of several name their architecture, or are a class."""
    releases = [(item, item.hf_id.lower()) for slug in sorted(models) for item in models[slug].checkpoints]
    owner = {item.hf_id.lower(): slug for slug in models for item in models[slug].checkpoints}
    names = own_names(releases)
    taken = set(names) | {name_key(name) for slug in models for name in names_of(slug, models[slug])}
    short: dict[str, dict[str, str]] = defaultdict(dict)
    for item, key in releases:
        if item.quantized_from is None:
            for form in short_forms(item.hf_id.rsplit("/", 1)[-1]):
                if name_key(form) not in taken:
                    short[name_key(form)].setdefault(key, form)
    for alias_key, (target, name) in sorted(names.items()):
        yield _row("checkpoint", alias_key, target, name)
    for alias_key, targets in sorted(short.items()):
        shapes = {owner[target] for target in targets}
        if len(targets) > 1 and len(shapes) == 1:
            yield _row("model", alias_key, shapes.pop(), min(targets.values()))
            continue
        for target, name in sorted(targets.items()):
            yield _row("checkpoint", alias_key, target, name, is_class=len(targets) > 1)


def _row(kind: str, alias_key: str, target: str, name: str, is_class: bool = False) -> tuple[str, dict[str, Any]]:
    row = {"kind": kind, "alias_key": alias_key, "target_id": target, "alias": name, "is_class": int(is_class)}
    return "aliases", row
