"""/model/<org>/<name>: how it is built, what it takes in each format, how its cache grows, where it fits."""

from __future__ import annotations

from typing import Any

from rackfit.ask import facts
from rackfit.catalog.read import rows_of
from rackfit.errors import RackfitError
from rackfit.publish.answers import Answers
from rackfit.publish.drawings import charts, layers
from rackfit.publish.pages.record import RecordPage, answer

WIDTHS = (("bf16", "16-bit"), ("fp8", "FP8"), ("int4", "INT4"), ("q4_k_m", "GGUF Q4_K_M"))
"""Name of a weight format, and the words in front of its bar."""

CONTEXTS = (8192, 32768, 131072)
CACHES = (("bf16", "16-bit"), ("fp8", "FP8"), ("q8_0", "Q8_0"), ("q4_0", "Q4_0"))
"""Name of a cache format, and the words of its line."""

POINTS = 32
GIB = 2**30
SEGMENTS = {
    "consumer": "consumer", "workstation": "workstation", "unified": "unified memory", "laptop": "laptop",
    "edge": "edge", "datacenter": "datacenter", "tpu_asic": "TPU and ASIC",
}  # fmt: skip
"""Class of hardware -> its name, in the order of the table."""

RECIPES = {
    "adam_mixed_16": "mixed Adam", "adam8bit_bnb_bf16": "8-bit Adam", "lora_bf16": "LoRA, rank 16",
    "qlora_nf4": "QLoRA, rank 16",
}  # fmt: skip
"""Recipe of the stored matrix -> its words, from the most bytes to the fewest."""

SMALLEST = """
select configurations.segment, fit_precisions.precision_id, precisions.effective_bits, cells.verdict,
    configurations.configuration_id, configurations.label, configurations.device_count, cells.margin_bytes,
    min(configurations.memory_bytes_summed * 1000 + configurations.device_count) as rank
from fit_models
join inference_cells as cells using (model_key)
join configurations using (configuration_key)
join fit_precisions using (precision_key)
join precisions using (precision_id)
where fit_models.model_id = ? and cells.verdict = 'fits'
group by configurations.segment, fit_precisions.precision_id
"""
"""Memory decides, then the number of devices; SQLite takes the other columns from the row of the minimum."""

BEST = """
select best_fits.*, configurations.label, precisions.effective_bits, workloads.context, workloads.sequences
from best_fits join configurations using (configuration_id) join precisions using (precision_id)
join workloads using (workload_id)
where model_id = ? order by precisions.effective_bits desc, precision_id, workloads.sequences, workloads.context
"""

RAM = """case when memory_options_gb is null then '' else ' ' || cast(memory_gb as integer) || 'gb' end as ram"""
"""The size of memory that the training matrix takes for a chip that is sold with several: the one of its record."""

TRAINING = """
select best_training.*, recipes.name, accelerators.name as accelerator_name, {ram}
from best_training join recipes using (recipe_id) join accelerators using (accelerator_id)
where model_id = ? order by recipes.total_bytes_per_param is null, recipes.total_bytes_per_param desc, recipe_id
"""

TRAINS = """
select accelerators.segment, recipes.recipe_id, cells.verdict, cells.device_count, cells.zero_stage,
    accelerators.accelerator_id, accelerators.name as accelerator_name, {ram},
    min(cells.device_count * accelerators.fit_memory_bytes * 1000 + cells.device_count) as rank
from fit_models
join training_cells as cells using (model_key)
join training_accelerators using (accelerator_key)
join accelerators using (accelerator_id)
join training_recipes using (recipe_key)
join recipes using (recipe_id)
where fit_models.model_id = ? and cells.verdict = 'fits'
group by accelerators.segment, recipes.recipe_id
"""
"""The least memory of each class of hardware; SQLite takes the other columns from the row of the minimum."""


def read(answers: Answers, key: str) -> dict[str, Any]:
    """Return everything that is said of one model."""
    record = facts.record(answers.connection, "model", key)
    known = {fact["field"]: fact["value"] for fact in record["facts"]}
    longest = known.get("max_context") or CONTEXTS[-1]
    return {
        **record,
        "known": known,
        "weights": _weights(answers, key, known.get("native_precision_id")),
        "cache": _cache(answers, key, longest),
        "longest": longest,
        "smallest": rows_of(answers.connection, SMALLEST, key),
        "best": rows_of(answers.connection, BEST, key),
        "training": rows_of(answers.connection, TRAINING.format(ram=RAM), key),
        "trains": rows_of(answers.connection, TRAINS.format(ram=RAM), key),
    }


def _weights(answers: Answers, key: str, native: str | None) -> list[dict[str, Any]]:
    """Return the bytes of all weights in the usual formats and in the released one."""
    found: dict[str, dict[str, Any]] = {}
    for name, words in WIDTHS:
        precision = answers.precision(name).precision_id
        found[precision] = {"precision": precision, "name": words, "bytes": answers.weights(key, name)}
    if native and native not in found:
        try:
            found[native] = {"precision": native, "name": "as released", "bytes": answers.weights(key, native)}
        except RackfitError:
            return list(found.values())
    return sorted(found.values(), key=lambda entry: -entry["bytes"])


def _cache(answers: Answers, key: str, longest: int) -> list[dict[str, Any]]:
    """Return the cache of one sequence in each format, as a curve up to the longest context and at usual lengths."""
    places = sorted({round(longest * step / POINTS) for step in range(POINTS + 1)})
    series = []
    for name, words in CACHES:
        shape = answers.cache(key, name)
        knees = {int(cap) for _, cap in shape.slopes if cap is not None and cap < longest}
        series.append({
            "format": name,
            "name": words,
            "points": [(place, round(float(shape.bytes(place)))) for place in sorted({*places, *knees})],
            "at": {length: round(float(shape.bytes(length))) for length in (*CONTEXTS, longest) if length <= longest},
        })  # fmt: skip
    return series


def bars(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return one stacked bar for each weight format: weights, then the 16-bit cache up to each usual length."""
    at = [(length, found["cache"][0]["at"][length]) for length in CONTEXTS if length <= found["longest"]]
    full = max((entry["bytes"] for entry in found["weights"]), default=1) + (at[-1][1] if at else 0)
    shown = []
    for entry in found["weights"]:
        pieces, before = [("rf-bar-weights", entry["bytes"], f"weights: {entry['bytes']:,} bytes")], 0
        for number, (length, size) in enumerate(at):
            words = f"cache from there to {charts.tokens(length)} tokens: {size - before:,} bytes"
            pieces.append((f"rf-cache-{number}", size - before, words))
            before = size
        said = f"{entry['name']}: {sum(size for _, size, _ in pieces) / GIB:,.1f} GiB; the table below has the figures"
        totals = {length: entry["bytes"] + size for length, size in at}
        shown.append({**entry, "bar": charts.stacked(pieces, full, said), "totals": totals})
    return shown


def curve(found: dict[str, Any]) -> Any:
    """Return the cache against the context, one line for each format."""
    highest = max(size for one in found["cache"] for _, size in one["points"])
    unit, name = (GIB, "GiB") if highest >= GIB / 2 else (2**20, "MiB")
    series = [(one["name"], [(x, y / unit) for x, y in one["points"]]) for one in found["cache"]]
    said = f"cache of one sequence against context up to {found['longest']:,} tokens; the table below has the figures"
    return charts.lines(series, "tokens in one sequence", name, said)


def width(row: dict[str, Any]) -> str:
    """Return the class of widths that a stored format belongs to; GGUF files are named after their mix."""
    bits = row["effective_bits"]
    if row["precision_id"].startswith("gguf"):
        return "GGUF " + row["precision_id"].partition("_")[2].upper()
    return "16-bit" if bits > 10 else "8-bit" if bits > 6 else "4-bit"


def classes(found: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest configuration of each segment (rows) at each class of widths (columns)."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in sorted(found["smallest"], key=lambda row: (row["rank"], row["precision_id"])):
        cells.setdefault((row["segment"], width(row)), row)
    bits = {width(row): row["effective_bits"] for row in found["smallest"]}
    columns = sorted(bits, key=lambda name: (-bits[name], name))
    rows = [
        (SEGMENTS[segment], [cells.get((segment, name)) for name in columns])
        for segment in SEGMENTS
        if any((segment, name) in cells for name in columns)
    ]
    return {"columns": columns, "rows": rows}


def workloads(found: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest and the cheapest configuration of each format (rows) for each workload (columns)."""
    columns = {row["workload_id"]: row for row in found["best"]}
    cells = {(row["precision_id"], row["workload_id"], row["criterion"]): row for row in found["best"]}
    rows = []
    for name in dict.fromkeys(row["precision_id"] for row in found["best"]):
        pairs = [(cells.get((name, work, "smallest")), cells.get((name, work, "cheapest"))) for work in columns]
        rows.append((name, pairs))
    return {"columns": list(columns.values()), "rows": rows}


def training(found: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Return (recipe, smallest, cheapest) of each recipe that something holds."""
    cells = {(row["recipe_id"], row["criterion"]): row for row in found["training"]}
    names = {row["recipe_id"]: row["name"] for row in found["training"]}
    return [(names[key], cells.get((key, "smallest")), cells.get((key, "cheapest"))) for key in names]


def trainers(found: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest devices of each segment (rows) that train the model by each recipe (columns)."""
    cells = {(row["segment"], row["recipe_id"]): row for row in found["trains"]}
    columns = [recipe for recipe in RECIPES if any(recipe == key for _, key in cells)]
    rows = [
        (SEGMENTS[segment], [cells.get((segment, recipe)) for recipe in columns])
        for segment in SEGMENTS
        if any((segment, recipe) in cells for recipe in columns)
    ]
    return {"columns": [(recipe, RECIPES[recipe]) for recipe in columns], "rows": rows}


def _show(urls: Any, database: str, found: dict[str, Any]) -> dict[str, Any]:
    groups = found["parts"].get("layer_groups", [])
    for group in groups:
        for name in ("window", "n_experts", "n_experts_active", "layer_indices", "beside"):
            group.setdefault(name, None)
    return {
        "groups": groups,
        "strip": layers.picture(groups),
        "layer_sign": layers.sign,
        "layer_words": layers.words,
        "bars": bars(found),
        "curve": curve(found),
        "line_key": charts.key,
        "tokens": charts.tokens,
        "contexts": [length for length in CONTEXTS if length <= found["longest"]],
        "beyond": [length for length in CONTEXTS if length > found["longest"]],
        "training": training(found),
        "trainers": trainers(found),
        "classes": classes(found),
        "workloads": workloads(found),
    }


PAGE = RecordPage("model", "rackfit_model.html", read, _show)


async def page(request: Any, datasette: Any) -> Any:
    """Answer /model/<name> and /model/<name>.json."""
    return await answer(request, datasette, PAGE)
