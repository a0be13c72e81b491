"""Measured cases as the case format states them: configuration columns apart from what was measured."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rackfit.accuracy.asked import Settings
from rackfit.catalog.read import rows_of
from rackfit.errors import UsageError
from rackfit.tabular.reading import parse_csv, read_text

MULTIPLES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
REQUIRED = ("case_id", "kind", "quantity", "value")
NUMERIC = ("value", "params_total")
"""Columns whose fractions a spreadsheet may have written with a decimal comma."""
CONFIGURATION = (
    "model_id", "params_total", "precision_or_quant", "kv_dtype", "gpu", "gpu_count", "tp", "pp", "dp_or_zero",
    "context_tokens", "batch", "other_config", "engine_and_version",
)  # fmt: skip
"""Columns that an estimate may look at. Value and note are not among them."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. `settings` are the key=value pairs of other_config; bare remarks in it are left out."""

    case_id: str
    kind: str
    quantity: str
    value: str
    unit: str
    confidence: str
    model: str
    precision: str
    kv: str
    gpu: str
    gpu_count: int | None
    tp: int | None
    pp: int | None
    dp_or_zero: str
    context: int | None
    batch: int | None
    engine: str
    settings: Settings = field(default_factory=lambda: Settings({}))
    remarks: tuple[str, ...] = ()
    """Parts of other_config that are no key=value pair."""
    params: str = ""
    """Parameter count as printed, such as 7.5B."""
    problem: str | None = None
    """What of the row could not be read."""

    @property
    def parameter_count(self) -> float | None:
        """Parameters that the case states, None where it states none."""
        return parse_count(self.params)

    def number(self, key: str) -> float | None:
        """Return a setting as a number, None where it is not there or not one."""
        try:
            return float(self.settings[key])
        except (KeyError, ValueError):
            return None

    @property
    def unread(self) -> tuple[str, ...]:
        """Keys of the settings that the case format does not have."""
        return tuple(key for key in self.settings if key not in VOCABULARY)

    def switch(self, key: str) -> bool | None:
        """Return a setting as on or off, None where it is not there or neither."""
        said = self.settings.get(key, "").casefold()
        return True if said in ON else False if said in OFF else None


_KEYS = """
a ac act_ckpt act_offload active actor_gpus attention backend base binding_stage_layers block_size
chunked_prefill compile context_length cp cpu_offload cuda_context_mib cuda_graphs cumulative d data dataset dcp
decode device_map dispatcher drafter enforce_eager ep ep_overlap etp excludes excludes_activations
expandable_segments experts extra final_share flash_attn float8 flops forced_balance fp8 fp8_all_gather framework
fsdp_impl global_batch gpu_memory_utilization grad_accum grad_reduce h hidden host_gib hybrid image_tokens images
input_tokens interconnect kernel kv_gib kv_gib_per_gpu language_model_only largest_layer layers layout_len liger
load_format logits_contiguous_copy lora loss low_precision max_batch max_num_batched_tokens max_num_seqs measure
mem_fraction_static method micro_batch minimum_gpus mixed_precision mla models moe mtp ngl nodes note num_layers
offload offload_optimizer offload_param offload_ratio oft_rank optimizer output_tokens packed
pairs_per_micro_batch phase power pp_layers pp_microbatches pp_schedule pp_stages precompute_ref prefill
prefix_caching profile prompt rank recompute_modules reentrant ref_gpus ref_model reshard_after_forward rollout
rslora s sac_bug seq_len seq_len_not_stated seq_step sequences_per_batch sp speculative split stack stage
statement targets task techniques test theoretical tiled_mlp tokens tool trainable ubatch variant virtual_tokens
vision vllm vllm_engines vocab vpp zero_init
"""
VOCABULARY = frozenset({*_KEYS.split(), "a s h"})
"""Keys of `other_config` that the case format has; others are ignored and named."""
ON = frozenset({"true", "on", "1", "yes", "enabled"})
OFF = frozenset({"false", "off", "0", "no", "none", "disabled"})
"""How settings are switched in the case format."""


def _whole(text: str, name: str, problems: list[str]) -> int | None:
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,15})(?:\.0*)?", text)
    if match is None:
        problems.append(f"{name} = {text!r}: expected a whole number")
        return None
    return int(match[1])


def parse_count(text: str) -> float | None:
    """Return a number as people write it, None for what is no number.

    >>> parse_count("6.2B"), parse_count("2851M"), parse_count("about 7")
    (6200000000.0, 2851000000.0, None)
    """
    match = re.fullmatch(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([KMBT]?)", text.strip())
    return float(match[1]) * MULTIPLES.get(match[2], 1.0) if match else None


def parse_case(row: Mapping[str, str | None]) -> Case:
    """Return the case of one row. What cannot be read is kept as the case's problem: every row gets an answer."""
    text = {name: (row.get(name) or "").strip() for name in (*REQUIRED, *CONFIGURATION, "unit", "confidence")}
    problems = [f"{name} is empty, expected a value" for name in REQUIRED if not text[name]]
    pairs = (part.split("=", 1) for part in text["other_config"].split(";") if "=" in part)
    return Case(
        case_id=text["case_id"],
        kind=text["kind"],
        quantity=text["quantity"],
        value=text["value"],
        unit=text["unit"],
        confidence=text["confidence"],
        model=text["model_id"],
        precision=text["precision_or_quant"],
        kv=text["kv_dtype"],
        gpu=text["gpu"],
        gpu_count=_whole(text["gpu_count"], "gpu_count", problems),
        tp=_whole(text["tp"], "tp", problems),
        pp=_whole(text["pp"], "pp", problems),
        dp_or_zero=text["dp_or_zero"],
        context=_whole(text["context_tokens"], "context_tokens", problems),
        batch=_whole(text["batch"], "batch", problems),
        engine=text["engine_and_version"],
        settings=Settings({key.strip(): value.strip() for key, value in pairs}),
        remarks=tuple(part.strip() for part in text["other_config"].split(";") if part.strip() and "=" not in part),
        params=text["params_total"],
        problem="; ".join(problems) or None,
    )


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a CSV file, in its order. Unknown columns are ignored.

    Raises:
        UsageError: the file is missing or is no CSV of cases.
    """
    found = parse_csv(read_text(path), path.name)
    missing = [name for name in REQUIRED if name not in found.header]
    if missing:
        raise UsageError(f"{path.name}: no column {', '.join(missing)}")
    return [parse_case(row) for _, row in found.records(NUMERIC)]


def stored_cases(connection: sqlite3.Connection) -> list[Case]:
    """Return the measurements of the catalog as cases."""
    rows = rows_of(connection, "select * from measurements order by case_id")
    return [parse_case({name: None if value is None else str(value) for name, value in row.items()}) for row in rows]
