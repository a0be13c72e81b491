"""What the arithmetic works on: light, immutable descriptions of models, precisions, devices and layouts.

They are read from catalog rows (`catalog/read.py`) or built from a file (`modelfiles/`), and hold numbers
only. Sizes are bytes, counts are values, nothing here has a default that stands for "unknown".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rackfit.memory.budget_parts import PrefillRate, Reserve, Tier, TokenPools, Unpacked


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`count` identical layers. Element counts are per layer and per token (or per sequence for state)."""

    count: int
    indices: tuple[int, ...] | None
    attention: str
    n_heads: int | None
    n_kv_heads: int | None
    d_k: int | None
    d_v: int | None
    window: int | None
    owns_cache: bool
    index_dim: int
    compress_ratio: int | None
    ffn: str
    d_ff: int | None
    n_experts: int | None
    n_experts_active: int | None
    moe_d_ff: int | None
    shared_d_ff: int | None
    state_elems: int
    conv_elems: int
    kv_full_elems: int
    kv_windowed_elems: int
    params: int
    output_gate: bool = False
    """Attention output is gated at full width: a second projection as large as the output's."""
    shared_kv_projection: bool = False
    """One projection serves keys and values (both are cached)."""
    cross_attention: bool = False
    """A second attention block over an encoder's output lies in the same layer."""
    shared_block: bool = False
    """Attention and feed-forward weights are shared by several layers and counted outside them."""
    index_n_heads: int = 0
    """Heads of the index of sparse attention; 0 without."""


@dataclass(frozen=True, slots=True)
class Tower:
    """A vision or audio encoder beside the language model; `params` includes the projector."""

    kind: str
    params: int
    max_tokens_per_image: int | None
    width: int | None = None
    d_ff: int | None = None
    patches_per_token: int = 1
    """Patches that the projector merges into one token of the language model."""
    layers: int | None = None
    patch: int | None = None
    """Side of a patch, pixels."""
    frames: int = 1
    """Frames that a patch spans: encoders of video give a still image twice."""
    rotary: bool = False
    """Whether attention turns queries and keys by their place, which needs copies of them."""
    features_per_token: int = 1
    """Vectors of the language model's width that the encoder returns for one token: DeepStack adds some."""
    clips: bool = False
    """Whether it takes clips whose frames may each be as large as an image."""


@dataclass(frozen=True, slots=True)
class Model:
    """An architecture: an ordered list of layer groups, embeddings, head, towers and extra heads."""

    model_id: str
    name: str
    attention_kind: str
    d_model: int
    vocab_size: int
    tied_embeddings: bool
    gated_ffn: bool
    groups: tuple[LayerGroup, ...]
    non_layer_params: int
    params_text: int
    params_total: int
    params_active: int
    towers: tuple[Tower, ...]
    mtp_params: int
    max_context: int | None
    q_lora_rank: int | None
    kv_lora_rank: int | None
    qk_nope_head_dim: int | None
    qk_rope_head_dim: int | None
    v_head_dim: int | None
    attention_bias: str
    qk_norm: str
    native_precision: str | None
    moe_latent_dim: int | None = None
    """Width that routed experts work on where it is narrower than d_model."""
    o_lora_rank: int | None = None
    o_groups: int | None = None
    """Low-rank, grouped output projection (DeepSeek-V4)."""
    embedding_dim: int | None = None
    """Width of the embedding where it is not d_model."""
    per_layer_embedding_dim: int | None = None
    per_layer_embedding_rows: int | None = None
    """Embedding table per layer (Gemma 3n, Gemma 4 E)."""
    mtp_own_tables: bool = False
    """Whether checkpoints hold the embedding and the head once more for the prediction layers."""

    @property
    def n_layers(self) -> int:
        """Number of layers, all groups."""
        return sum(group.count for group in self.groups)


@dataclass(frozen=True, slots=True)
class Precision:
    """A weight layout: effective bits of the quantised roles, and the bits that the other roles keep."""

    precision_id: str
    family: str
    """fp | fp8 | int8 | int4 | fp4 | gguf | mlx | bnb | ternary | ..."""
    bits: float
    """Effective bits per weight of the roles that are quantised, scales and zero points included."""
    high_bits: float
    """Bits per weight of the roles that stay in high precision."""
    high_roles: frozenset[str]
    """Roles (see memory.roles.ROLES) that keep high precision."""
    block_size: int | None
    """Width that a sharded row must be a multiple of, or None."""
    role_bits: tuple[tuple[str, float], ...] = ()
    """Roles with bits of their own (GGUF mixes), overriding `bits` and `high_bits`."""


@dataclass(frozen=True, slots=True)
class Device:
    """One accelerator as a fit sees it."""

    accelerator_id: str
    name: str
    vendor: str
    memory_bytes: int
    """What the driver reports, or the derived figure; bytes."""
    memory_rule: str
    """`printed`, or the rule by which memory_bytes was derived."""
    memory_spread: float
    """Relative uncertainty of memory_bytes; 0 when printed."""
    unified: bool
    compute_capability: str | None
    segment: str
    bandwidth_gb_s: float | None
    fabric: bool = False
    """Whether more than two such devices are joined by links of their own."""

    @property
    def is_hopper_or_later_server(self) -> bool:
        """Whether kernels of compute capability 9.0 and 10.x run here, which desktop parts (12.x) do not have."""
        return (self.compute_capability or "").split(".")[0] in ("9", "10")


@dataclass(frozen=True, slots=True)
class Layout:
    """Degrees of parallelism. tp·pp·dp devices hold the model; ep divides the experts over tp·dp ranks.

    dcp (decode context parallel) needs no devices of its own: it stripes a cache over the tp ranks that would each keep
    a copy of it.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1
    dcp: int = 1
    head_slot: bool = False
    """Whether the head takes the place of a layer where layers are divided over stages."""

    @property
    def devices(self) -> int:
        """Number of devices that the layout occupies."""
        return self.tp * self.pp * self.dp


@dataclass(frozen=True, slots=True)
class Budget:
    """How one engine, in one range of versions, divides a device's memory."""

    budget_id: str
    runtime_id: str
    engine: str | None
    version_from: str
    version_to: str | None
    released: str | None
    """Date of the earliest version, as precisely as it is known."""
    equation: str
    """share_of_total | share_of_free | share_of_rest | all_of_device: what the engine may use."""
    utilization: float
    """Share that the equation applies; 1 where it applies none."""
    parallelism: str
    """tensor | layers: whether the engine splits matrices or whole layers over devices."""
    profiled_tokens: str
    """batched_tokens | context | ubatch | none: rows of the forward pass that is reserved for."""
    forward_bytes: float
    """Bytes per token and unit of width of the profiled forward pass."""
    sampler_bytes_per_logit: float
    persistent_bytes_per_logit: float
    extra_hidden_states: int
    """Hidden states of the full batch that the profile holds beside the three of `forward_bytes`."""
    profile_extra_bytes: int
    """Bytes that every profile of the sampler shows beside its logits and hidden states."""
    keeps_expert_workspaces: bool
    """Whether the buffers of the routed experts outlive the layer, so that they add to the sampler's peak."""
    expands_encoder_outputs: bool
    """Whether the profile stretches the features of each image to the encoder's whole budget of tokens."""
    logit_rows: int | None
    """Rows of logits reserved; None: the sequence limit."""
    non_torch_bytes_single: int
    non_torch_bytes_parallel: int
    fused_allreduce_bytes: int
    """Buffers of the fused all-reduce, which engines switch on by themselves on some devices; 0 without."""
    context_bytes: int
    """Driver context and libraries that lie outside the engine's own budget."""
    graph_bytes: int
    graphs_in_budget: bool
    kv_block_tokens: int
    window_extra_batches: int | None
    """Batches of tokens that a windowed layer keeps beside its window; None: it keeps every token."""
    group_join_ratio: float | None
    """Kinds of layers share one pool of equal blocks, in groups of as many layers as the rarest kind has, or as the
    most frequent one where that is less than so many times as many; None: no such groups."""
    clip_frames: int | None
    """Most frames of a clip that is profiled; None: only images are."""
    clip_beside_image: bool
    """Whether the profiled clip leaves room for an image in the context."""
    keeps_reduced_inputs: bool
    """Whether the inputs of all-reduces stay until the forward pass ends."""
    prints_blocks_per_group: bool
    """Whether the printed pool is blocks / groups x tokens of a block, whatever a request keeps."""
    state_bits: int
    mla_cache: str
    """latent | padded | full_heads: how multi-head latent attention is cached."""
    mxfp4_width_multiple: int | None
    """Expert widths in MXFP4 are stored padded to a multiple of this."""
    cache_copies: float
    """Bytes of the cache at its peak over its own bytes: above 2 where it grows by concatenation."""
    min_cache_tokens: int
    """Tokens that a cache set aside at start holds at least."""
    prints_gib_as_gb: bool
    """Whether what the stack's tables call GB is 2^30 bytes."""
    prompt_logit_bytes: float
    """Bytes per logit of the prompt; 0 where only the last position's logits are made."""
    widened_head_bytes: float
    """Bytes per value of the wide copy of a quantised head; 0 where the head is not quantised."""
    loads_second_head: bool
    """Whether a tied head that a checkpoint stores again is loaded again."""
    awq_cache_surplus: float
    """Share of the cache that peaks with AWQ weights show on top of it."""
    rotary_tables: bool
    """Whether each layer keeps sines and cosines of all positions."""
    widens_int4_matrix: bool
    """Whether kernels of GPTQ int4 set a 16-bit copy of their largest matrix aside."""
    embedding_on_host: bool
    tiers: tuple[Tier, ...]
    small_tier_names: tuple[str, ...]
    """Device names that take the smallest tier whatever their memory."""
    chunked_above: int | None = None
    """Context above which a profiled context is taken in chunks of the token budget; None: never by itself."""
    queue_per_stage: bool = False
    """Whether each stage of a pipeline schedules requests of its own, over blocks / stages."""
    reserve: Reserve | None = None
    """What is left out of the static share, None for engines whose share is a setting."""
    token_pools: TokenPools | None = None
    unpacked: tuple[Unpacked, ...] = ()
    dense_sampler_bytes_per_logit: float | None = None
    dense_persistent_bytes_per_logit: float | None = None
    dense_graphs_in_budget: bool | None = None
    """The same three where models without experts and states have a runner of their own; None: they do not."""
    pipeline_rules: Budget | None = None
    """Rules that hold where a pipeline has several stages, None for these."""

    base: str | None = None
    """Engine whose code does the work, where this one wraps or forks another."""
    named_only: bool = False
    """Whether the rules hold only where their variant of the engine is named."""
    runs_on: tuple[str, ...] = ()
    """Makers or families of the devices that the engine runs on, lower case; none: no device is left out."""
    graph_share: float = 0.0
    """Share of the cache's own share that is set aside for graphs."""
    left_free_bytes: int = 0
    """Bytes that the engine leaves free on each device."""
    context_in_budget: bool = False
    """Whether the driver context is part of the library bytes above."""
    embedding_whole: bool = False
    """Whether every tensor parallel rank keeps the whole token embedding."""
    prefill_rates: tuple[PrefillRate, ...] = ()
    """Cards whose prefill is sized by their rate; none: by the tiers alone."""

    def for_stages(self, stages: int) -> Budget:
        """Return the rules that hold over so many pipeline stages.

        vLLM 0.8.0 to 0.9.0 runs a pipeline without Ray on its first engine (arg_utils, `_is_v1_supported_oracle`;
        vllm#16057, vllm#18915).
        """
        return self if stages == 1 or self.pipeline_rules is None else self.pipeline_rules

    def for_runner(self, dense: bool) -> Budget:
        """Return the rules of the runner that a model gets: dense models without states may have one of their own.

        vLLM 0.25 to 0.28 runs them on model runner V2, which samples without sorting, keeps the penalties' counts and
        does not estimate graphs; from 0.29 on all models (config/vllm.py, `use_v2_model_runner`).
        """
        if not dense or self.dense_sampler_bytes_per_logit is None:
            return self
        return replace(
            self,
            sampler_bytes_per_logit=self.dense_sampler_bytes_per_logit,
            persistent_bytes_per_logit=self.dense_persistent_bytes_per_logit or 0.0,
            graphs_in_budget=bool(self.dense_graphs_in_budget),
            dense_sampler_bytes_per_logit=None,
        )

    def queues(self, stages: int) -> int:
        """Return among how many schedulers a replica's blocks are divided."""
        return stages if self.queue_per_stage else 1

    def serves(self, device: Device) -> bool:
        """Return whether the engine runs on devices of this maker or family."""
        named = f"{device.vendor} {device.name}".casefold()
        return not self.runs_on or any(one in named for one in self.runs_on)

    @property
    def family(self) -> str:
        """The engine whose code does the work."""
        return self.base or self.runtime_id

    @property
    def conv_bits(self) -> int:
        """Bits of a convolution's last inputs: llama.cpp keeps them as the state, in 32 bits."""
        return 32 if self.family == "llama.cpp" else 16
