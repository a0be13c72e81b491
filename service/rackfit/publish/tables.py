"""What each table is, in one sentence, and how its page starts: label, facets, order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableGuide:
    """One table's page. `sort` starts with - for descending; `sortable` is for views, where indexes decide."""

    description: str
    label: str = ""
    facets: tuple[str, ...] = ()
    sort: str = ""
    sortable: tuple[str, ...] = ()


HIDDEN = frozenset(
    {
        "inference_cells", "fit_models", "fit_precisions", "fit_budgets", "training_cells", "training_accelerators",
        "training_recipes", "_sqlite_migrations",
    }
)  # fmt: skip
"""Internals: numbers behind the views, and the record of schema steps."""

FIT_SORTS = ("margin_bytes", "max_context", "total_bytes")

TABLES: dict[str, TableGuide] = {
    "accelerators": TableGuide(
        "Graphics cards, accelerators, chips with unified memory. Memory on the label and memory that a driver reports "
        "are separate columns; fits use fit_memory_bytes.",
        "name", ("vendor", "segment", "status"), "name",
    ),
    "accelerator_rates": TableGuide(
        "Peak rates by number format. Dense is the speed; sparse counts zeros that are skipped and is shown beside it.",
        facets=("precision_name", "basis"),
    ),
    "memory_levels": TableGuide("Registers, shared memory, caches and main memory of a device.", facets=("level",)),
    "usable_memory": TableGuide(
        "What drivers and runtimes print as usable, by memory size, operating system and setting.", facets=("os",)
    ),
    "mig_profiles": TableGuide("Partitions of one device: each is a device of its own, without a link to the others."),
    "interconnects": TableGuide(
        "Links, with one direction and both directions in separate columns.", "name", ("family", "scope"),
        "-total_gb_s",
    ),
    "systems": TableGuide(
        "Servers, racks, desktops and cloud instances with what a buyer needs to know.", "name",
        ("kind", "provider"), "name",
    ),
    "system_facts": TableGuide("Facts about systems outside the common columns.", facets=("field",)),
    "system_power": TableGuide(
        "Wall power of whole systems under a benchmark, as an analyser recorded it.", facets=("benchmark", "mode")
    ),
    "offers": TableGuide(
        "Dated prices with what they are the price of. A price of zero or one that contradicts another is flagged.",
        "product", ("kind", "currency", "tier", "term"), "-valid_from",
    ),
    "configuration_prices": TableGuide(
        "The lowest price of each configuration by kind, currency and class of term: the newest of each product, "
        "flagged and restricted offers left out. A configuration that is not here has no price on record.",
        facets=("kind", "currency", "term_class", "origin"), sort="price",
    ),
    "device_prices": TableGuide(
        "The lowest price of one device in any product, by kind, currency and class of term.",
        facets=("kind", "currency", "term_class"), sort="price_per_device",
    ),
    "device_values": TableGuide(
        "What money and power buy: memory, bandwidth and dense 16-bit rate per currency unit and per watt, with the "
        "date and source of the price. Devices without a price have empty columns there.",
    ),
    "models": TableGuide(
        "Model architectures: layers, parameters, cache per token. Named releases are in checkpoints.", "name",
        ("attention_kind", "verification", "confidence"), "name",
    ),
    "checkpoints": TableGuide(
        "Named releases of an architecture with their own precision, context, licence and date.", "hf_id",
        ("verification",), "-release_date",
    ),
    "layer_groups": TableGuide(
        "Identical layers of a model, in order: what the parameter count and the cache follow from.",
        facets=("attention", "ffn"),
    ),
    "towers": TableGuide("Vision and audio encoders beside a language model.", facets=("modality",)),
    "artifacts": TableGuide("Published files with known bytes: they beat every estimate.", facets=("what_is_counted",)),
    "precisions": TableGuide(
        "Number formats: nominal bits, and effective bits with scales and zero points.", "name",
        ("category", "use"), "effective_bits",
    ),
    "precision_roles": TableGuide("Tensors that a format keeps at bits of their own."),
    "precision_support": TableGuide(
        "Which engine runs which format on which device: native, weight only, emulated or not at all.",
        facets=("runtime_id", "support", "vendor"),
    ),
    "runtimes": TableGuide("Engines that load and run models.", "name"),
    "runtime_versions": TableGuide("Releases of engines in order."),
    "runtime_rules": TableGuide("How an engine divides memory, as its own source says.", facets=("runtime_id", "term")),
    "runtime_constants": TableGuide("Figures in those rules, with their evidence.", facets=("runtime_id", "kind")),
    "runtime_budgets": TableGuide("The budget equation of an engine in one range of versions."),
    "recipes": TableGuide("Bytes per parameter of ways to train.", "name", ("section",)),
    "workloads": TableGuide("Standard questions: context and sequences.", "name"),
    "mfu_runs": TableGuide("Published training runs with their model FLOPs utilisation.", facets=("device",)),
    "efficiencies": TableGuide(
        "Shares of bandwidth that engines reach when they decode, and their fixed times, fitted on measured cases.",
        facets=("engine_name", "memory_class"),
    ),
    "measurements": TableGuide(
        "Published measurements that the estimates are scored against.", facets=("kind", "quantity", "confidence")
    ),
    "estimates": TableGuide("The estimate beside every measurement.", facets=("kind", "status", "quantity")),
    "accuracy": TableGuide("Errors by kind and quantity over all measurements."),
    "configurations": TableGuide(
        "Shapes: so many of one accelerator over the link it really has. Memory is compared per device; the summed "
        "column is for reading only.",
        "label", ("device_count", "segment"),
    ),
    "configuration_systems": TableGuide("Which systems have which shape."),
    "inference_fits": TableGuide(
        "Every model at its native format, 16 bits, the best 8 and 4 bits and Q4_K_M on every shape, asked for one "
        "sequence of 8192 tokens (or the model's limit). Bytes are per device.",
        sortable=FIT_SORTS,
    ),
    "system_fits": TableGuide("The fits by system: filter by system_id or model_id.", sortable=FIT_SORTS),
    "fits_with_cost": TableGuide(
        "The fits with power and the lowest hourly price on demand and as spot: filter by model_id or "
        "configuration_id first.",
        sortable=FIT_SORTS,
    ),
    "best_fits": TableGuide(
        "For each model, format and workload the smallest and the cheapest shape that fits.",
        facets=("workload_id", "criterion"),
    ),
    "training_fits": TableGuide(
        "Four recipes for every model on every accelerator: the fewest devices up to 64 that hold it at 4096 tokens "
        "and micro-batch 1, data-parallel, with the least sharding and recompute. Bytes are per device.",
        sortable=("device_count", "driver_bytes", "margin_bytes", "max_micro_batch"),
    ),
    "best_training": TableGuide(
        "For each model and recipe the smallest and the cheapest way to train it.",
        facets=("recipe_id", "criterion"),
    ),
    "sources": TableGuide("Where facts come from.", "title", ("source_class", "share_alike")),
    "provenance": TableGuide("The source of every fact: table, key, field, source.", facets=("table_name",)),
    "disputes": TableGuide("What another source says, and why it was not taken.", facets=("table_name", "field")),
    "unknown_fields": TableGuide("What was looked for and not found.", facets=("table_name", "field")),
    "aliases": TableGuide("Names people and drivers print, and what they resolve to.", facets=("kind", "is_class")),
    "releases": TableGuide("Versions of this catalog.", sort="-version"),
    "changes": TableGuide("What changed between releases.", facets=("version", "table_name")),
}  # fmt: skip
