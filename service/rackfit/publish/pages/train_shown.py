"""An answer about training as pages show it: three levels of bytes as bars, strategies as questions of their own."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from rackfit.publish import render
from rackfit.publish.drawings import budget
from rackfit.publish.drawings.budget import Bar, Piece
from rackfit.publish.pages.form import TrainForm

COMPONENTS = {
    "weights": ("rf-t-weights", "weights"),
    "master": ("rf-t-master", "fp32 copy of the weights"),
    "gradients": ("rf-t-gradients", "gradients"),
    "accumulation": ("rf-t-gradients", "fp32 gradient sums"),
    "optimizer": ("rf-t-optimizer", "optimizer states"),
    "frozen": ("rf-t-weights", "frozen base"),
    "extra_models": ("rf-t-master", "reference, reward or teacher models"),
    "activations": ("rf-t-activations", "activations kept"),
    "layer_work": ("rf-t-work", "work of one layer"),
    "logits": ("rf-t-logits", "logits and loss"),
    "gathered": ("rf-t-work", "gathered weights"),
    "reduced": ("rf-t-work", "gradients being reduced"),
    "dequantised": ("rf-t-work", "a widened matrix"),
    "cast": ("rf-t-work", "16-bit casts of the weights"),
    "buckets": ("rf-t-work", "communication buckets"),
    "step": ("rf-t-step", "temporaries of the update"),
}
"""Component -> colour class and words. Colours repeat among what is seldom large together."""

MOMENTS = {
    "loss": "at the loss, when all activations are kept",
    "backward": "at the end of the backward pass, when all gradients are there",
    "update": "at the optimizer's update",
}


def picture(found: dict[str, Any]) -> Markup | None:
    """Return allocated, reserved and driver-seen bytes of the fullest device against its limit; None without bytes."""
    device = found["per_device"]
    if device is None:
        return None
    pieces = tuple(
        Piece(colour, words, device["at_peak"][f"{name}_bytes"])
        for name, (colour, words) in COMPONENTS.items()
        if device["at_peak"].get(f"{name}_bytes")
    )
    allocated, reserved, seen = (device[f"{name}_bytes"] for name in ("allocated", "reserved", "driver"))
    slack = Piece("rf-t-slack", "reserved by the allocator, not in use", reserved - allocated)
    driver = Piece("rf-t-context", "driver context", seen - reserved)
    return budget.picture(
        (Bar("allocated", pieces), Bar("reserved", (*pieces, slack)), Bar("driver sees", (*pieces, slack, driver))),
        device["usable_bytes"], "usable", device["low_bytes"], device["high_bytes"],
    )  # fmt: skip


def components(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each component: its words, its bytes, and whether it lies on the device at the peak."""
    device = found["per_device"]
    if device is None:
        return []
    return [
        {
            "name": name, "colour": colour, "words": words, "bytes": device[f"{name}_bytes"],
            "at_peak": f"{name}_bytes" in device["at_peak"],
        }
        for name, (colour, words) in COMPONENTS.items()
        if f"{name}_bytes" in device
    ]  # fmt: skip


def alternative_href(address: str, form: TrainForm, row: dict[str, Any]) -> str:
    """Return the address that asks for one of the other strategies."""
    moved = [
        f"{name}={row[f'offload_{key}']}"
        for name, key in (("optimizer", "optimizer"), ("params", "parameters"))
        if row[f"offload_{key}"] != "none"
    ]
    changes = {
        "zero": row["zero"], "recompute": row["recompute"], "offload": "+".join(moved) or "none",
        "tp": row["tp"], "loss": row["loss"],
    }  # fmt: skip
    return render.asking(address, {**form.asked, **changes})


def shown(urls: Any, database: str, form: TrainForm, found: dict[str, Any], address: str) -> dict[str, Any]:
    """Return what the parts of a page about one answer need beside it; `address` is the page that asks again."""
    own = "config" in form.asked
    zero = {"model": found["model"], "devices": found["strategy"]["shards"], "recipe": found["recipe"]}
    return {
        "answer": found,
        "verdict": render.verdict(found["verdict"]),
        "shown_verdict": render.verdict,
        "picture": picture(found),
        "components": components(found),
        "moments": MOMENTS,
        "size": render.size,
        "large": render.large,
        "model_href": None if own else render.page_link(urls, "model_id", found["model"]),
        "accelerator_href": render.page_link(urls, "accelerator_id", found["accelerator"]),
        "web_link": render.web_link,
        "source_href": lambda key: render.row_link(urls, database, "sources", key),
        "recipe_href": lambda key: render.row_link(urls, database, "recipes", key),
        "alternatives": [
            {**row, "href": alternative_href(address, form, row), "shown": render.verdict(row["verdict"])}
            for row in found["alternatives"]
        ],
        "other_recipes": [
            {
                **row,
                "href": render.asking(address, {**form.asked, "recipe": row["recipe"], "optimizer": ""}),
                "shown": render.verdict(row["verdict"]),
            }
            for row in found["other_recipes"]
        ],
        "zero_href": render.asking(urls.path("/zero"), zero) if found["stages"] and not own else None,
        "train_href": render.asking(urls.path("/train"), form.asked),
        "calculator_href": render.asking(urls.path("/calculator"), {"task": "training", **form.asked}),
        "why_href": render.asking(urls.path("/why"), {"model": form.model, "on": form.on}),
    }
