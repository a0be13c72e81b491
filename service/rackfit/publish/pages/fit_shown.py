"""An answer about fitting as pages show it: pictures, links, and each suggestion as a question of its own."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from rackfit.ask.hosts import CPU
from rackfit.publish import render
from rackfit.publish.drawings import budget
from rackfit.publish.drawings.budget import Bar, Piece
from rackfit.publish.pages.form import Form

TERMS = (("weights", "weights"), ("kv", "cache"), ("workspace", "workspace"), ("runtime", "runtime"))
"""Terms whose sum is what is needed, and their names."""

ELSEWHERE = (
    "model", "on", "precision", "kv_precision", "runtime", "context", "sequences", "tp", "pp", "ep", "dp",
)  # fmt: skip
"""What the other pages that take a model and a machine can be told too."""


def picture(found: dict[str, Any]) -> Markup | None:
    """Return what is needed and what is reserved on the fullest device against its limit; None without bytes."""
    device = found["per_device"]
    if device is None:
        return None
    needed = tuple(Piece(f"rf-bar-{name}", words, device[f"{name}_bytes"]) for name, words in TERMS)
    pool = max(device["kv_pool_bytes"] - device["kv_bytes"], 0)
    in_pool = device["kept_free_bytes"] + device["kv_reserved_bytes"] - device["kv_bytes"]
    held = tuple(
        Piece(piece.colour, piece.words, max(piece.size - in_pool, 0) if name == "runtime" else piece.size)
        for (name, _), piece in zip(TERMS, needed, strict=True)
    )
    rest = max(device["reserved_bytes"] - sum(piece.size for piece in held) - pool, 0)
    reserved = (*held, Piece("rf-bar-pool", "cache set aside beyond it", pool))
    if rest:
        reserved = (*reserved, Piece("rf-bar-outside", "outside the engine's budget", rest))
    return budget.picture(
        (Bar("needed", needed), Bar("reserved", reserved)),
        device["usable_bytes"], "usable", device["low_bytes"], device["high_bytes"],
    )  # fmt: skip


def shown(urls: Any, database: str, form: Form, found: dict[str, Any], address: str) -> dict[str, Any]:
    """Return what the parts of a page about one answer need beside it; `address` is the page that asks again."""
    device, own = found["accelerator"], "config" in form.asked
    short = {name: form.asked[name] for name in ELSEWHERE if name in form.asked}
    return {
        "answer": found,
        "verdict": render.verdict(found["verdict"]),
        "picture": picture(found),
        "size": render.size,
        "words": dict(TERMS),
        "shown_verdict": render.verdict,
        "model_href": None if own else render.page_link(urls, "model_id", found["model"]),
        "accelerator_href": None if device == CPU else render.page_link(urls, "accelerator_id", device),
        "device_href": lambda key: render.page_link(urls, "accelerator_id", key),
        "precision_href": render.row_link(urls, database, "precisions", found["precision"]),
        "suggestions": [_suggestion(address, form, item) for item in found["suggestions"]],
        "why_href": render.asking(urls.path("/why"), form.asked),
        "settings_href": render.asking(urls.path("/calculator"), form.asked),
        "elsewhere": device != CPU,
        "speed_href": render.asking(urls.path("/speed"), short),
        "cost_href": render.asking(urls.path("/cost"), short),
        "train_href": render.asking(urls.path("/train"), {"model": form.model, "on": form.on}),
    }  # fmt: skip


def _suggestion(address: str, form: Form, item: dict[str, Any]) -> dict[str, Any]:
    changes = {name: item[name] for name in Form.__dataclass_fields__ if name in item}
    href = render.asking(address, {**form.asked, **changes})
    return {**item, "href": href if changes else None, "shown": render.verdict(item["verdict"])}
