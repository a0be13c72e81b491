"""Text Generation Inference: the launcher's settings and the tokens that the router is left with."""

from __future__ import annotations

from collections.abc import Sequence

from rackfit.intake.logs.parsed import Log, no_rank, pattern, scan

ENGINE = "TGI"
RESTART = "text_generation_launcher: Args {"

PATTERNS = (
    pattern("Setting max batch total tokens to", r"Setting max batch total tokens to <pool_tokens:N>"),
    pattern("KV-cache blocks:", r"KV-cache blocks: <pool_blocks:N>, size: <block_tokens:N>"),
    pattern("Default `max_batch_prefill_tokens`", r"Default `max_batch_prefill_tokens` to <batched_tokens:N>"),
    pattern("Default `max_total_tokens`", r"Default `max_total_tokens` to <context:N>"),
    pattern("Sharding model on", r"Sharding model on <tp:N> processes"),
    pattern("Args {", r"""\bmodel_id: ["'](?P<model>[^"']+)"""),
    pattern("Args {", r"\bquantize: Some\(\s*(?P<quantization>\w+)"),
    pattern("Args {", r"\bnum_shard: Some\(\s*<tp:N>"),
    pattern("Args {", r"\bmax_total_tokens: (?:Some\(\s*)?<context:N>"),
    pattern("Args {", r"\bmax_batch_prefill_tokens: (?:Some\(\s*)?<batched_tokens:N>"),
    pattern("text-generation-inference:", r"text-generation-inference:v?(?P<version>\d+\.\d+(?:\.\d+)?)"),
    pattern("torch.cuda.OutOfMemoryError", r"GPU \d+ has a total capac\w+ of <device_total:N>\s*(?P<unit>GiB)"),
)
"""No line states bytes of the pool: what is left is printed in tokens."""


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the last start printed, and how many lines of this engine there are."""
    readings = scan(lines, PATTERNS, no_rank, RESTART)
    last = readings[-1]
    log = Log(ENGINE, dict(last.settings), last.amounts, tuple(last.devices.values()))
    return log, sum(one.own_hits for one in readings)
