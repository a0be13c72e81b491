"""What a training job is made of: light, frozen descriptions that the terms work on."""

from __future__ import annotations

from dataclasses import dataclass, field

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Precision

RECOMPUTE = ("none", "selective", "selective_op", "full")
"""From the least to the most aggressive. `selective` drops attention scores, `selective_op` keeps every other
matrix product and the attention output, `full` keeps the layer's input."""
OFFLOAD_TIERS = ("none", "cpu", "nvme")


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes per trained parameter, by component."""

    weights: float
    master: float
    gradients: float
    accumulation: float
    optimizer: float
    step: float = 0.0
    """Temporary bytes while the optimizer updates; not part of the state."""
    pageable: float = 0.0
    """Part of `optimizer` that lives in memory which the driver may move to the host."""

    @property
    def total(self) -> float:
        """Bytes per parameter of the lasting state."""
        return self.weights + self.master + self.gradients + self.accumulation + self.optimizer

    @property
    def checkpoint(self) -> float:
        """Bytes per parameter of a checkpoint to resume from: weights, master copy and optimizer, no gradients.

        14 with mixed-precision Adam: 2 + 4 + 8.
        """
        return self.weights + self.master + self.optimizer


@dataclass(frozen=True, slots=True)
class Recipe:
    """A way to train: bytes per parameter and what is trained."""

    recipe_id: str
    name: str
    state: StateBytes
    method: str = "full"
    """full | lora | qlora"""
    compute_bytes: float = 2.0
    """Bytes of a value of the activations."""


@dataclass(frozen=True, slots=True)
class Parallel:
    """Degrees of parallelism of a training job, and what data-parallel ranks shard."""

    dp: int = 1
    tp: int = 1
    pp: int = 1
    cp: int = 1
    ep: int = 1
    zero: int = 0
    """ZeRO / FSDP stage, 0 to 3."""
    shards: int | None = None
    """Ranks that a state is divided over where that is fewer than dp x cp (hybrid sharding)."""
    sequence_parallel: bool = True
    """Whether what tensor parallelism leaves whole is divided along the sequence."""
    micro_batches: int = 8
    """Micro-batches of one step, which bound what a pipeline holds in flight."""
    reshard: bool = True
    """Whether gathered weights are dropped after the forward pass (stage 3)."""

    @property
    def devices(self) -> int:
        """Devices of the job; experts are placed over ranks that are counted already."""
        return self.dp * self.tp * self.pp * self.cp

    @property
    def state_shards(self) -> int:
        """Ranks that dense states are divided over."""
        return self.shards or self.dp * self.cp

    @property
    def expert_shards(self) -> int:
        """Ranks that hold the same experts and divide their states."""
        return max(1, self.dp * self.cp * self.tp // self.ep) if self.ep > 1 else self.state_shards


@dataclass(frozen=True, slots=True)
class Offload:
    """Where optimizer state, parameters and kept activations live."""

    optimizer: str = "none"
    parameters: str = "none"
    activations: bool = False
    optimizer_share: float = 1.0
    """Share of the optimizer that is moved."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """Low-rank adapters on a frozen base."""

    rank: int
    targets: frozenset[str]
    """Names of `lora.TARGETS`."""
    state: StateBytes
    base: Precision
    dora: bool = False
    trained_embeddings: bool = False
    trained: int | None = None
    """Trainable parameters where they are stated; they replace the count by rank and targets."""
    dropout: bool = False
    upcast_outer: bool = False
    """Embedding and head are kept in fp32 (k-bit preparation of PEFT)."""
    saves_inputs: bool = False
    """Frozen linears keep their input (bitsandbytes' 4-bit product)."""
    saves_outputs: bool = False
    """Every linear's output is scaled and shifted by trained vectors (adapter v2), and norms are trained."""
    embedding_state: StateBytes = StateBytes(2, 0, 2, 0, 4, 4)
    """Bytes per parameter of trained copies of embedding and head, which keep the base's 16 bits."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a framework keeps activations, computes the loss and reserves memory. Evidence stands in the table."""

    name: str
    loss: str
    """Key of `logits.LOSSES`."""
    norm_kept: float = 8.0
    """Bytes per unit of width kept by one RMS norm: 8 in eager code that widens to fp32, 4 fused."""
    norm_frozen: float = 4.0
    """The same where its weight is frozen."""
    gated_tensors: float = 4.0
    """16-bit tensors of the FFN width that a gated block keeps: gate, up, activation, product."""
    kept_share: float = 1.0
    """Share of a block's kept bytes that stays after the compiler fused it."""
    fused_qkv_view: bool = False
    """Values are a view of the joint projection, which keeps all of it alive."""
    expanded_kv: bool = False
    """Grouped keys and values are copied out to all heads before attention."""
    step_bytes: float | None = None
    """Temporary bytes per trained parameter at the update; None takes the recipe's."""
    step_elements: float = 0.0
    """Values that an update goes through at a time at stage 3; 0: all of a rank's."""
    unsharded_gradients: bool = False
    """Gradients stay whole on each rank while micro-batches are accumulated (FSDP under no_sync)."""
    flat_gradients: bool = False
    """At stage 3 a rank's gradients lie in one buffer from the start, before the first backward pass."""
    fp8_inputs: bool = False
    """Inputs of matrix products are kept in 8 bits, as their backward pass takes them."""
    standing_gradients: bool = False
    """Gradient buffers are allocated once, before the first step, and stay."""
    gathered_layers: float = 2.0
    """Layers whose full weights are alive at a time at stage 3."""
    live_elements: float = 0.0
    """Values of gathered weights that are kept beside the layer at work, for it is used again soon (stage 3)."""
    gathered_bytes: float = 2.0
    reduce_bytes: float = 4.0
    """Bytes per value of the gradient that is being reduced."""
    bucket_elements: float = 0.0
    """Elements of the reduction and gather buckets, 2 bytes each."""
    whole_logits: bool = False
    """Logits are gathered over tensor-parallel ranks before the loss."""
    unties_head: bool = False
    """Head and embedding are two tensors even where the model ties them."""
    dequantised_bytes: float = 2.0
    """Bytes per value of the matrix that a quantised base widens at a time."""
    reserved: float = 1.05
    """Reserved by the allocator per allocated byte."""
    reserved_full: float = 1.12
    """The same under full recompute, whose short-lived blocks fragment."""
    context_bytes: int = 600 * 2**20
    """Driver context, libraries and collective buffers beside the allocator."""
    copies_gradients: bool = False
    """Plain data parallelism keeps every gradient twice: in its parameter and in the bucket that is reduced."""
    autocasts: bool = False
    """Weights that are kept in fp32 are cast for each operation, and the casts wait for the backward pass."""
    own_streams: bool = False
    """Gradients are reduced into memory of a stream of their own: the allocator keeps a pool per stream, so that what
    they take is reserved beside the peak of the main stream, whichever moment that is."""
    whole_in_pipeline: bool = False
    """A pipeline's stage keeps gathered weights and whole fp32 gradients until the last micro-batch (stage 3)."""
    split_vocabulary_loss: str | None = None
    """Key of `logits.LOSSES` where tensor-parallel ranks divide the vocabulary; None takes `loss`."""
    varying: float = 0.0
    """Bytes of earlier, shorter batches' logits that the allocator still reserves, per byte of the loss, where lengths
    vary from batch to batch: no block fits a longer batch. It frees them before it fails."""
    unfused: tuple[str, ...] = ()
    """Parts of ids of models whose attention the framework writes out, score by score, unless told otherwise."""
    prints: str = "allocated"
    """What the framework's own tables call memory: allocated | reserved | driver."""
    spread: float = 0.10
    """Relative half-width of an estimate under these rules."""
    spread_high: float | None = None
    """The same above the estimate, where runs were seen to err to that side."""

    def fuses_attention(self, model_id: str) -> bool:
        """Return whether a model's attention runs in a fused kernel, which keeps no scores, by default."""
        return not any(part in model_id for part in self.unfused)


@dataclass(frozen=True, slots=True)
class Job:
    """One training job."""

    anatomy: Anatomy
    recipe: Recipe
    parallel: Parallel
    rules: Rules
    sequence_length: int
    micro_batch: int
    recompute: str = "none"
    flash: bool = True
    offload: Offload = field(default_factory=Offload)
    adapter: Adapter | None = None
    loss: str | None = None
    """Key of `logits.LOSSES`; None takes the framework's."""
    head_tokens_factor: float = 1.0
    """Rows of the loss per token: 2 where chosen and rejected answers go through together."""
    extra_models: float = 0.0
    """Frozen copies of the model that lie beside it (reference, reward), in models."""
    trained_models: float = 1.0
    """Models that are trained side by side (actor and critic: 2)."""
    accumulates: bool = False
    """Whether gradients of earlier micro-batches lie there while a micro-batch runs."""
    tiled_mlp: bool = False
    """Feed-forward parts run over pieces of the sequence."""
    fused_update: bool = False
    """Each gradient is applied and dropped inside the backward pass."""
    packed: bool = False
    """Whether every batch has the same length."""
    drops: frozenset[str] = frozenset()
    """Parts that selective recompute drops: moe, mlp, norm, act (Megatron's modules)."""
    checkpoint_every: int = 1
    """Layers between two checkpoints; 2 recomputes every second layer."""

    @property
    def keeps_gradients(self) -> bool:
        """Whether gradients lie on the device while a micro-batch's loss is computed."""
        standing = self.rules.standing_gradients or (self.rules.flat_gradients and self.parallel.zero == 3)
        return self.accumulates or standing

    @property
    def tokens(self) -> float:
        """Tokens of one micro-batch on one device of a context-parallel group."""
        return self.sequence_length * self.micro_batch / self.parallel.cp
