"""Training time: the published runs themselves, and what they say of other jobs."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from rackfit.paths import packaged
from rackfit.speed.training_time import (
    MfuRun,
    choose_utilisation,
    days,
    flops_per_token,
    tokens_per_s,
)

WIDTHS = {"1b": 24 * 2048, "3b": 32 * 2560, "7b": 32 * 4096, "13b": 40 * 5120}
"""Layers x width of the MPT configurations: llm-foundry, scripts/train/yamls/pretrain/mpt-*.yaml."""
PEAKS = {"a100": 312.0, "h100": 989.4}
"""Dense bf16 TFLOPS: data sheets of the A100 and H100 SXM."""


def published() -> list[dict[str, str]]:
    """Return the rows of the published 16-bit runs."""
    folder = Path(packaged("data")) / "mfu"
    rows = [row for path in sorted(folder.glob("*.csv")) for row in csv.DictReader(path.open(encoding="utf-8"))]
    return [row for row in rows if row["precision"].endswith("bf16")]


def runs() -> list[MfuRun]:
    """Return the published runs as the arithmetic takes them."""
    return [
        MfuRun(
            row["device"], int(row["params"]), int(row["sequence_length"]), int(row["device_count"]),
            float(row["mfu_percent"]), row["flop_convention"], int(row["activation_checkpointing"].lower() == "true"),
        )
        for row in published()
    ]  # fmt: skip


def test_published_runs_are_reproduced() -> None:
    """tokens/s = MFU x peak / (6 N + 12 L d s), at 2K, 32K and 64K, within 2 % of what each run prints."""
    found = published()
    assert {row["sequence_length"] for row in found} >= {"2048", "32768", "65536"}
    for row in found:
        width = next(width for name, width in WIDTHS.items() if f"MPT-{name} " in row["model"])
        flops = flops_per_token(float(row["params"]), width, int(row["sequence_length"]), row["flop_convention"])
        said = tokens_per_s(float(row["mfu_percent"]) / 100, PEAKS[row["device"].split("_")[0]], flops)
        assert said == pytest.approx(float(row["tokens_per_s_per_device"]), rel=0.02), row


def test_attention_counts_where_its_author_counted_it() -> None:
    """6 N alone gives 8.2 % where a run at 64K prints 28.6 % (MEMORY_MODEL section 6)."""
    alone = flops_per_token(6918905856, WIDTHS["7b"], 65536, "6n")
    whole = flops_per_token(6918905856, WIDTHS["7b"], 65536)

    assert alone * 1956 / 989.4e12 == pytest.approx(0.082, abs=0.001)
    assert whole * 1956 / 989.4e12 == pytest.approx(0.286, abs=0.003)
    assert flops_per_token(1e9, 1000, 1000, "6n_plus_causal_attention") == 6e9 + 6e6


@pytest.mark.parametrize("length", [2048, 32768, 65536])
def test_the_range_holds_the_published_runs(length: int) -> None:
    """Every published run lies in the range that the records give for its own job."""
    for run in runs():
        if run.sequence_length != length:
            continue
        word = "full" if run.activation_checkpointing else "none"
        name = f"nvidia-{run.device.split('_')[0]}-sxm"
        found = choose_utilisation(runs(), name, run.params, length, recompute=word)
        assert found is not None
        assert found.low <= run.mfu_percent / 100 <= found.high * 1.0001


def test_what_no_run_has_widens_the_range_and_says_so() -> None:
    """Another device and experts: a lower low end, and the reason."""
    plain = choose_utilisation(runs(), "nvidia-h100-sxm5-80gb", 7e9, 4096)
    other = choose_utilisation(runs(), "amd-mi300x", 7e9, 4096)
    routed = choose_utilisation(runs(), "nvidia-h100-sxm5-80gb", 7e9, 4096, experts=True)

    assert plain is not None and other is not None and routed is not None
    assert other.high / other.low > plain.high / plain.low
    assert routed.low < plain.low
    assert "range wider" in other.basis and "range wider" in routed.basis
    assert choose_utilisation([], "nvidia-h100-sxm5-80gb", 7e9, 4096) is None


def test_recompute_is_charged() -> None:
    """Full recompute does 8 N and counts 6 N (Korthikanti et al., arXiv 2205.05198)."""
    none, full = (
        choose_utilisation(runs(), "nvidia-a100-sxm4-80gb", 7e9, 2048, recompute=word) for word in ("none", "full")
    )

    assert none is not None and full is not None
    assert full.value / none.value == pytest.approx(0.75)


def test_days() -> None:
    """10^12 tokens over 512 devices of 10^4 tokens/s each: 195,312 s."""
    assert days(1e12, 512, 1e4) == pytest.approx(195312.5 / 86400)
