"""Figures of the seed chapter, of papers and of documents, by pure arithmetic."""

from __future__ import annotations

import pytest

from rackfit.errors import UnsupportedError
from rackfit.memory.domain import Layout, Precision
from rackfit.speed.attention_io import Attention, side_of_ridge
from rackfit.speed.communication import all_reduce_s, all_to_all_s, efficiency, send_s
from rackfit.speed.compute import rate_of, reached_peak
from rackfit.speed.domain import Chip
from rackfit.speed.efficiency import choose_efficiency, reached_gb_s
from rackfit.speed.roofline import decode_step, prefill_flops, ridge_point, tokens_per_s
from rackfit.speed.traffic import decode_traffic, touched_share
from speed.builders import A100, BF16, NVLINK, UPLINK, llama, record


def test_score_matrix_of_the_seed() -> None:
    """128K x 128K x 2 bytes = 34.4 GB: seed chapter, Flash Attention as Hardware Optimization."""
    assert Attention(131072, 1, 128).score_bytes == pytest.approx(34.4e9, rel=0.002)


def test_writing_scores_out_is_bound_by_memory_and_tiles_are_not() -> None:
    """FlashAttention's point (arXiv 2205.14135): on an A100, 153 FLOPs per byte lie between the two."""
    one = Attention(131072, 32, 128)
    ridge = ridge_point(312.0, 2039.0)

    assert ridge == pytest.approx(153, rel=0.01)
    assert one.tiled_bytes(167936) < one.materialised_bytes()
    assert side_of_ridge(one.flops, one.materialised_bytes(), ridge) == "memory-bound"
    assert side_of_ridge(one.flops, one.tiled_bytes(167936), ridge) == "compute-bound"


def test_tiles_move_less_the_more_memory_is_on_the_chip() -> None:
    """theta(n^2 d^2 / M): twice the memory, half the traffic (arXiv 2205.14135, theorem 2)."""
    one = Attention(65536, 1, 64)

    assert one.tiled_bytes(65536) / one.tiled_bytes(131072) == pytest.approx(2, rel=0.02)


def test_all_reduce_of_a_ring() -> None:
    """2 (n - 1) / n of the bytes: 1 GB over 8 devices at 300 GB/s is 5.83 ms, beside the steps."""
    assert all_reduce_s(1e9, 8, NVLINK) == pytest.approx(1.75 / 300 + 2e-6)
    assert all_reduce_s(1e9, 8, UPLINK) == pytest.approx(1.75 / 15.75 + 14e-6)
    assert all_reduce_s(1e9, 1, NVLINK) == 0


def test_the_seed_pair_implies_a_cost_ratio_of_nineteen() -> None:
    """300 against 15.75 GB/s: what leaves 95 % on NVLink leaves half on PCIe with two devices on an uplink."""
    talk = 1 / 0.95 - 1

    assert NVLINK.effective_gb_s / UPLINK.effective_gb_s == pytest.approx(19, rel=0.01)
    assert efficiency(1.0, talk * 19) == pytest.approx(0.5, abs=0.01)
    assert efficiency(1.0, talk * 300 / 31.5) == pytest.approx(0.67, abs=0.02)


def test_a_boundary_passes_far_less_than_an_all_reduce() -> None:
    """A pipeline is viable over PCIe: one send per boundary against two all-reduces per layer."""
    size = 48 * 8192 * 2.0

    assert send_s(size, UPLINK) < all_reduce_s(size, 8, UPLINK)
    assert all_to_all_s(size, 8, UPLINK) == pytest.approx(all_reduce_s(size, 8, UPLINK) / 2)


def test_one_row_of_the_embedding_is_read_and_the_head_is_read_whole() -> None:
    """Untied: the embedding counts nothing. Tied: the one matrix is read once, as the head."""
    untied = decode_traffic(llama(), BF16, Layout(), 0, 1, 16.0)
    tied = decode_traffic(llama(tied=True), BF16, Layout(), 0, 1, 16.0)
    table = 128256 * 4096 * 2

    assert untied.total == pytest.approx(tied.total)
    assert untied.total == pytest.approx(2 * llama().model.params_total - table)


def test_the_cache_is_read_whole() -> None:
    """GQA: 2 x 8 heads x 128 x 2 bytes per layer and token."""
    with_cache = decode_traffic(llama(), BF16, Layout(), 1000, 3, 16.0)

    assert sum(with_cache.cache) == 3 * 1000 * 2 * 4096


def test_a_token_visits_its_own_experts_and_a_batch_more_of_them() -> None:
    """Mixtral: 2 of 8 for one token; 1 - (3/4)^4 = 68 % for four; all for many."""
    assert touched_share(8, 2, 1) == pytest.approx(0.25)
    assert touched_share(8, 2, 4) == pytest.approx(0.684, abs=0.001)
    one = decode_traffic(llama(experts=8), BF16, Layout(), 0, 1, 16.0).total
    many = decode_traffic(llama(experts=8), BF16, Layout(), 0, 1000, 16.0).total
    assert many - one == pytest.approx(2 * 6 * 3 * 4096 * 14336 * 2, rel=1e-6)


def test_bound_of_decode_is_bytes_over_bandwidth() -> None:
    """At full bandwidth and with no fixed time, estimate and bound agree."""
    anatomy, chosen = llama(), choose_efficiency([record()], "vllm", A100, "16bit")
    traffic = decode_traffic(anatomy, BF16, Layout(), 0, 1, 16.0)
    step = decode_step(anatomy, Layout(), traffic, (A100,), chosen, 0)

    assert step.total_ms == pytest.approx(step.bound_ms)
    assert step.bound_ms == pytest.approx(traffic.total / 2039e9 * 1000)
    assert tokens_per_s(step, chosen).high == pytest.approx(1000 / step.bound_ms)


def test_terms_are_apart() -> None:
    """Time per layer, all-reduces and hand-overs add up; the host counts where it is the slower."""
    anatomy, layout = llama(), Layout(tp=2)
    one = record(layer_ms=0.1, all_reduce_ms=0.01, all_reduce_step_ms=0.001)
    traffic = decode_traffic(anatomy, BF16, layout, 0, 1, 16.0)
    step = decode_step(anatomy, layout, traffic, (A100,), choose_efficiency([one], "vllm", A100, "16bit"), 0)

    assert step.layers_ms == pytest.approx(0.2)
    assert step.split_ms == pytest.approx(2 * 2 * (0.01 + 0.002))
    eager = record(host_layer_ms=50.0)
    slow = decode_step(anatomy, layout, traffic, (A100,), choose_efficiency([eager], "vllm", A100, "16bit"), 0)
    assert (slow.total_ms, slow.bound_by) == (100.0, "host")


def test_the_units_cap_the_bandwidth_and_inline_ecc_takes_a_share() -> None:
    """78 units of 20 GB/s take 1560 of 4000 GB/s; a GDDR card with correction loses a share."""
    h20 = Chip("nvidia-h20-96gb", "H20", "hbm", 4000.0, False, 78, "SM", {})
    l40s = Chip("nvidia-l40s", "L40S", "gddr", 864.0, True, 142, "SM", {})

    assert reached_gb_s(record(unit_gb_s=20.0, unit_kind="SM"), h20) == 1560
    assert reached_gb_s(record(unit_gb_s=20.0, unit_kind="CU"), h20) == 4000
    assert reached_gb_s(record(ecc_share=0.9), l40s) == pytest.approx(777.6)


@pytest.mark.parametrize(
    ("engine", "chip", "family"),
    [
        ("vllm", Chip("nvidia-h100-sxm5-80gb", "H100", "hbm", 3350.0, False, 132, "SM", {}), "16bit"),
        ("vllm", Chip("nvidia-rtx-4090", "RTX 4090", "gddr", 1008.0, False, 128, "SM", {}), "16bit"),
        ("vllm", A100, "int4"),
        ("tgi", A100, "16bit"),
    ],
)
def test_what_was_not_measured_widens_the_range_and_says_so(engine: str, chip: Chip, family: str) -> None:
    """Another device, class of memory, format or engine: never the range of the measured one."""
    chosen = choose_efficiency([record()], engine, chip, family)

    assert chosen.below > 0.1
    assert chosen.above > 0.1
    assert any("range wider" in reason for reason in chosen.reasons)


def test_without_records_or_bandwidth_nothing_is_guessed() -> None:
    """No record, no estimate; no bandwidth, no speed."""
    with pytest.raises(UnsupportedError, match="no efficiency"):
        choose_efficiency([], "vllm", A100, "16bit")
    with pytest.raises(UnsupportedError, match="bandwidth is not on record"):
        reached_gb_s(record(), Chip("x", "X", "hbm", None, False, None, None, {}))


def test_it_loads_but_does_not_compute_in_that_format() -> None:
    """Weight-only formats compute at the 16-bit peak; native ones at their own."""
    h100 = Chip("nvidia-h100-sxm5-80gb", "H100", "hbm", 3350.0, False, 132, "SM", {"bf16": 989.4, "fp8": 1978.9})
    fp8 = Precision("fp8_e4m3", "fp8", 8.0, 16.0, frozenset(), None)

    assert rate_of(h100, fp8, "native") == ("fp8", 1978.9)
    assert rate_of(h100, fp8, "weight_only") == ("bf16", 989.4)
    assert rate_of(A100, fp8, "emulated") == ("bf16", 312.0)
    assert rate_of(Chip("x", "X", "hbm", 1.0, False, None, None, {}), fp8, "native") is None


def test_prefill_is_two_flops_per_active_parameter_and_token() -> None:
    """2 N per token (Kaplan et al., arXiv 2001.08361, section 2.1), embeddings left out, and attention beside it."""
    anatomy = llama()
    matrices = anatomy.model.params_total - 2 * 128256 * 4096

    short = prefill_flops(anatomy, 1)
    assert short == pytest.approx(2 * matrices, rel=0.001)
    attention = prefill_flops(anatomy, 8192) - 8192 * 2 * matrices
    assert attention == pytest.approx(2 * 2 * 32 * 256 * 8192**2 / 2, rel=0.001)


def test_shares_of_16_bit_runs_promise_no_more_of_a_narrower_rate() -> None:
    """Published runs are dense and in 16 bits: fp8's low end is bf16's; experts reach less (torchtitan, 8 H100)."""
    h100 = Chip("nvidia-h100-sxm5-80gb", "H100", "hbm", 3350.0, False, 132, "SM", {"bf16": 989.4, "fp8": 1978.9})
    runs = (0.4, 0.3, 0.8, "runs on H100")

    plain, narrow = (reached_peak(h100, (name, h100.rates[name]), runs, False) for name in ("bf16", "fp8"))
    routed = reached_peak(h100, ("fp8", 1978.9), runs, True)

    assert plain.low * plain.tflops == pytest.approx(narrow.low * narrow.tflops)
    assert (plain.share, narrow.share) == (0.4, 0.4)
    assert routed.low == pytest.approx(narrow.low * 0.3)
    assert routed.share == pytest.approx(0.4 * 0.4)
    assert (plain.basis, routed.high) == ("runs on H100", 0.8)
    assert "experts" in routed.basis


def test_a_prompt_on_a_device_without_a_like_run_lies_in_its_range() -> None:
    """gpt-oss-20b reads 2,053 tokens/s on a GB10 (LMSYS, in triton-inference-server issue 8691): 15 TFLOPS at 3.6B.

    500 dense TFLOPS in fp4 (NVIDIA), no 16-bit rate on record; no training run on record is of such a device.
    """
    gb10 = Chip("nvidia-gb10", "GB10", "unified", 273.0, False, 48, "SM", {"fp4": 500.0})
    peak = reached_peak(gb10, ("fp4", 500.0), (0.45, 0.15, 1.0, "other devices"), True)

    assert peak.low * peak.tflops < 2 * 3.6e9 * 2053 / 1e12 < peak.high * peak.tflops
