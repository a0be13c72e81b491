"""The model of a training case: by name, by size, or cut to its first layers."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace

from rackfit.accuracy.cases import Case
from rackfit.accuracy.usual import find_usual
from rackfit.catalog.read import read_model, rows_of
from rackfit.errors import UnknownNameError, UnsupportedError
from rackfit.memory.anatomy import Anatomy

MULTIPLES = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def params_of(text: str) -> float | None:
    """Return a parameter count such as 7.5B, 2851M or 8030261248.

    >>> params_of("2851M")
    2851000000.0
    """
    match = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([kmbt]?)\s*", text.casefold())
    return float(match[1]) * MULTIPLES.get(match[2], 1.0) if match else None


def anatomy_of(connection: sqlite3.Connection, case: Case, assumed: list[str]) -> Anatomy:
    """Return the model of a case; a bare size is answered by the dense model nearest in size.

    Raises:
        UnknownNameError: a name that is no model.
        UnsupportedError: neither a name nor a size.
    """
    name = re.sub(r"\s*\([^)]*\)\s*$", "", case.model).strip()
    cut = re.search(r"cut to (\d+) layers", name)
    if cut:
        name = name[: cut.start()].strip()
    size = re.fullmatch(r"(\d+(?:\.\d+)?[bm])( class)?", name.casefold())
    params = params_of(size[1]) if size else params_of(case.params)
    try:
        if not name or size:
            raise UnknownNameError("model", name, [])
        anatomy = named(connection, "llama-4-scout-17b-16e" if cut and "scout" in name.casefold() else name, assumed)
    except UnknownNameError:
        sized = re.search(r"(\d+(?:\.\d+)?)b\b", name.casefold())
        params = params or (float(sized[1]) * 1e9 if sized else None)
        if params is None:
            raise
        plain = re.search(r"\b(mpt|gpt|opt|bloom|falcon|pythia)", name.casefold()) is not None
        family = re.match(r"[a-z]+", name.casefold())
        routed = case.settings.get("moe") == "true"
        anatomy = (nearest_routed(connection, params, family[0]) if family and routed else None) or nearest_dense(
            connection, params, gated=not plain
        )
        assumed.append(f"model: {anatomy.model.model_id}, nearest to {params:.3g} parameters of its kind")
    return cut_layers(anatomy, int(cut[1])) if cut else anatomy


def named(connection: sqlite3.Connection, name: str, assumed: list[str]) -> Anatomy:
    """Return the model of a name; a tuned or base release that is not on record has its family's architecture.

    Raises:
        UnknownNameError: neither the name nor the name without its release's words.
    """
    try:
        return find_usual(connection, name, assumed).anatomy
    except UnknownNameError:
        plain = RELEASED.sub("", name)
        if plain == name:
            raise
        anatomy = find_usual(connection, plain, assumed).anatomy
        assumed.append(f"model: {anatomy.model.model_id}, whose architecture {name} has")
        return anatomy


RELEASED = re.compile(r"(-(base|chat|instruct|inst|hf|it|pt|sft|dpo|rl|rm))+$", re.IGNORECASE)
"""Words at the end of a name that say how a model was tuned or packed, not how it is built."""


def nearest_dense(connection: sqlite3.Connection, params: float, gated: bool = True) -> Anatomy:
    """Return the dense decoder whose parameter count is nearest (by ratio), the first id where two are as near.

    Raises:
        UnsupportedError: there is none.
    """
    rows = rows_of(
        connection,
        "select model_id, params_total from models where params_active = params_total or params_active is null "
        "order by abs(log(params_total * 1.0 / ?)), model_id limit 60",
        params,
    )
    for row in rows:
        anatomy = Anatomy(read_model(connection, row["model_id"]))
        plain = not anatomy.has_experts and not anatomy.model.towers and uniform(anatomy)
        if anatomy.caches_tokens and plain and anatomy.model.gated_ffn == gated:
            return anatomy
    raise UnsupportedError(f"no model near {params:.3g} parameters")


def nearest_routed(connection: sqlite3.Connection, params: float, family: str) -> Anatomy | None:
    """Return the model with experts of a family whose parameter count is nearest, None where none is near."""
    rows = rows_of(
        connection,
        "select model_id from models where model_id like ? and params_active < params_total "
        "and params_total between ? and ? order by abs(log(params_total * 1.0 / ?)), model_id limit 1",
        f"%{family}%",
        params / 1.5,
        params * 1.5,
        params,
    )
    return Anatomy(read_model(connection, rows[0]["model_id"])) if rows else None


def uniform(anatomy: Anatomy) -> bool:
    """Return whether every layer has attention and no state: a plain decoder."""
    return all(group.n_heads and not group.state_elems for group in anatomy.model.groups)


def cut_layers(anatomy: Anatomy, layers: int) -> Anatomy:
    """Return the model with its first `layers` layers only, kinds in proportion."""
    model, kept, left = anatomy.model, [], layers
    for group in model.groups:
        share = min(left, max(1, round(layers * group.count / model.n_layers)))
        if share:
            kept.append(replace(group, count=share, indices=None))
        left -= share
    params = model.non_layer_params + sum(group.count * group.params for group in kept)
    return Anatomy(replace(model, groups=tuple(kept), params_text=params, params_total=params))
