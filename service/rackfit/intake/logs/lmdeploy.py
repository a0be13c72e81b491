"""LMDeploy: the blocks of TurboMind, or from 0.15 on the budget of its cache. "MB" in these lines is 2^20 bytes."""

from __future__ import annotations

from collections.abc import Sequence

from rackfit.intake.logs.parsed import Log, no_rank, pattern, scan

ENGINE = "LMDeploy"
RESTART = "input backend="

PATTERNS = (
    pattern("[BlockManager] block_size", r"\[BlockManager\] block_size = <kv_block:N> MB", unit="MIB"),
    pattern("[BlockManager] max_block_count", r"\[BlockManager\] max_block_count = <pool_blocks:N>"),
    pattern("Object cache budget:", r"Object cache budget: <kv_pool:N> MB", unit="MIB"),
    pattern("Object cache budget:", r"Object cache budget: .*?from free <free_after_load:N> MB", unit="MIB"),
    pattern("Object cache budget:", r"Object cache budget: .*?and ratio (?P<utilization>0?\.\d+)"),
    pattern("input backend=", r"input backend=(?P<generation>turbomind|pytorch)"),
    pattern("EngineConfig(", r"\bcache_max_entry_count=(?P<utilization>0?\.\d+)"),
    pattern("EngineConfig(", r"\btp=<tp:N>"),
    pattern("EngineConfig(", r"\bsession_len=<context:N>"),
    pattern("EngineConfig(", r"\bmax_batch_size=<max_sequences:N>"),
    pattern("EngineConfig(", r"\bmax_prefill_token_num=<batched_tokens:N>"),
    pattern("EngineConfig(", r"\bcache_block_seq_len=<block_tokens:N>"),
    pattern("EngineConfig(", r"(?<!torch_)\bdtype='(?P<dtype>\w+)'"),
)


def read(lines: Sequence[str]) -> tuple[Log, int]:
    """Return what the last start printed, and how many lines of this engine there are.

    A pool of blocks is their size times their number; a block is no figure of its own.
    """
    readings = scan(lines, PATTERNS, no_rank, RESTART)
    with_bytes = [one for one in readings if one.amounts] or readings[-1:]
    last = with_bytes[-1]
    block, blocks = last.amounts.pop("kv_block", None), last.settings.get("pool_blocks")
    if block and blocks:
        last.add("kv_pool", "", block[""] * blocks)
        if tokens := last.settings.get("block_tokens"):
            last.set("pool_tokens", str(blocks * tokens))
    log = Log(ENGINE, dict(last.settings), last.amounts, tuple(last.devices.values()), loads=len(with_bytes))
    return log, sum(one.own_hits for one in readings)
