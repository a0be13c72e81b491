"""Jobs on devices: what must hold for every job, whatever the figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackfit.fit.training import footprint, refusal
from rackfit.fit.training_held import held_params
from rackfit.fit.training_search import Host, _largest, host_need
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import LayerGroup, Model
from rackfit.memory.training.domain import Job, Offload, Parallel, Recipe
from rackfit.memory.training.overheads import TRANSFORMERS
from rackfit.memory.training.recipes import MIXED_ADAM


def model(experts: int | None = None) -> Model:
    """Return a decoder of 8 layers, width 1024, dense or with experts of width 512."""
    d, ffn = 1024, 4096
    routed = 3 * d * 512 * experts + d * experts if experts else 3 * d * ffn
    params = 4 * d * d + routed + 2 * d
    group = LayerGroup(
        count=8, indices=None, attention="gqa", n_heads=16, n_kv_heads=16, d_k=64, d_v=64, window=None, owns_cache=True,
        index_dim=0, compress_ratio=None, ffn="moe" if experts else "dense", d_ff=None if experts else ffn,
        n_experts=experts, n_experts_active=2 if experts else None, moe_d_ff=512 if experts else None, shared_d_ff=None,
        state_elems=0, conv_elems=0, kv_full_elems=2048, kv_windowed_elems=0, params=params,
    )  # fmt: skip
    outer = 2 * 32000 * d + d
    total = 8 * params + outer
    return Model(
        model_id="test/small", name="small", attention_kind="gqa", d_model=d, vocab_size=32000, tied_embeddings=False,
        gated_ffn=True, groups=(group,), non_layer_params=outer, params_text=total, params_total=total,
        params_active=total, towers=(), mtp_params=0, max_context=4096, q_lora_rank=None, kv_lora_rank=None,
        qk_nope_head_dim=None, qk_rope_head_dim=None, v_head_dim=None, attention_bias="no", qk_norm="no",
        native_precision="bf16",
    )  # fmt: skip


def job(parallel: Parallel | None = None, experts: int | None = None, **changes: object) -> Job:
    """Return a job of mixed Adam at 2048 tokens."""
    plain = Job(
        Anatomy(model(experts)),
        Recipe("adam_mixed_16", "mixed", MIXED_ADAM),
        parallel or Parallel(),
        TRANSFORMERS,
        2048,
        1,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_states_are_sixteen_bytes() -> None:
    """On one device weights, master copy, gradients and optimizer add up to 16 bytes per parameter."""
    parts = footprint(job()).components
    states = sum(parts[name] for name in ("weights", "master", "gradients", "accumulation", "optimizer"))

    assert states == pytest.approx(16 * model().params_total)


def test_every_stage_needs_less_than_the_one_before() -> None:
    """More sharding never makes the states of a rank larger."""
    sizes = []
    for stage in range(4):
        parts = footprint(job(Parallel(dp=8, zero=stage))).components
        sizes.append(sum(parts[name] for name in ("weights", "master", "gradients", "optimizer")))

    assert sizes == sorted(sizes, reverse=True)
    assert sizes[3] == pytest.approx(2 * model().params_total)


def test_recompute_and_fused_attention_save_activations() -> None:
    """Full recompute keeps least; attention without a fused kernel keeps scores on top."""
    none, full = footprint(job()), footprint(job(recompute="full"))
    scores = footprint(job(flash=False))

    assert full.components["activations"] == pytest.approx(8 * 2 * 1024 * 2048)
    assert full.allocated < none.allocated < scores.allocated


def test_the_peak_is_the_largest_moment() -> None:
    """Allocated bytes are the maximum of the three moments, not the sum of the components."""
    found = footprint(job())

    assert found.allocated == max(found.moments.values())
    assert found.allocated < sum(found.components.values())


@pytest.mark.parametrize("degrees", [{"tp": 4}, {"cp": 4}, {"pp": 4, "micro_batches": 1}, {"dp": 4, "zero": 3}])
def test_parallel_devices_hold_less(degrees: dict[str, int]) -> None:
    """Each kind of parallelism lowers the bytes of a device."""
    assert footprint(job(Parallel(**degrees))).allocated < footprint(job()).allocated


def test_stages_of_a_pipeline_hold_all_layers_once() -> None:
    """The stages' parameters add up to the model."""
    stages = held_params(job(Parallel(pp=4)))

    assert sum(stage.total for stage in stages) == pytest.approx(model().params_total)
    assert [sum(stage.layers) for stage in stages] == [2, 2, 2, 2]


def test_experts_divide_over_their_ranks() -> None:
    """With EP 8 over 8 data-parallel ranks each rank holds an eighth of the experts, all of the rest."""
    whole = held_params(job(experts=16))[0]
    divided = held_params(job(Parallel(dp=8, ep=8), experts=16))[0]

    assert divided.experts == pytest.approx(whole.experts / 8)
    assert divided.dense == whole.dense


def test_offload_moves_bytes_to_the_host() -> None:
    """What leaves the device is on the host, with the buffer factor of 1.5."""
    here = footprint(job(Parallel(dp=2, zero=3)))
    moved = footprint(job(Parallel(dp=2, zero=3), offload=Offload("cpu", "cpu")))
    params = model().params_total

    assert moved.components["weights"] == 0
    assert moved.host_bytes == pytest.approx(1.5 * 16 * params / 2)
    assert moved.allocated < here.allocated


def test_nvme_takes_the_states_off_the_host() -> None:
    """With NVMe most of the states leave host memory as well, without the buffer factor."""
    moved = job(Parallel(dp=8, zero=3), offload=Offload("nvme", "nvme"))
    ram, nvme = host_need(moved, footprint(moved), Host(None, None, 8))

    assert nvme == pytest.approx(16 * model().params_total)
    assert ram < nvme


@pytest.mark.parametrize(
    ("parallel", "said"),
    [
        (Parallel(pp=9), "PP 9"),
        (Parallel(tp=3), "TP 3"),
        (Parallel(ep=2, dp=2), "experts"),
        (Parallel(cp=3), "CP 3"),
    ],
)
def test_layouts_that_cannot_run(parallel: Parallel, said: str) -> None:
    """The reason names the number that forbids the layout."""
    assert said in (refusal(job(parallel)) or "")


@pytest.mark.parametrize("edge", [0, 1, 2, 3, 7, 100, 4096])
def test_the_search_finds_the_edge(edge: int) -> None:
    """The largest number that fits is found whatever it is, and never above the limit."""
    assert _largest(lambda count: count <= edge, 4096) == edge
    assert _largest(lambda count: count <= edge, 50) == min(edge, 50)
