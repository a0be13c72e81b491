"""Parts of an engine's rules that have fields of their own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """Default sizes of an engine on devices with at least so much memory."""

    min_memory_gib: float
    batched_tokens: int
    max_sequences: int
    wide_sequences: int | None = None
    """Sequences at tensor parallel degree 4 and more; None: as many."""
    names: tuple[str, ...] = ()
    """Names of the devices that the sizes are for; none: all of them."""


@dataclass(frozen=True, slots=True)
class PrefillRate:
    """Rate by which an engine sizes its prefill on a card, as its own table has it."""

    card: str
    tflops: float


@dataclass(frozen=True, slots=True)
class Reserve:
    """What an engine leaves out of its static share: share = (M - reserve) / M, with M the driver's MiB of a device."""

    steps: tuple[tuple[float, float, float], ...] = ()
    """(GiB of memory from, MiB, MiB per rank): the constant part."""
    mib_per_token: float = 0.0
    least_tokens: int = 0
    """Tokens of a prefill batch that are charged at least."""
    mib_per_sequence: float = 0.0
    """Charged for each sequence of the largest captured decode graph."""
    sequences_follow_limit: bool = False
    """Whether a limit of running requests lowers the largest decode graph."""
    floor_mib: float = 0.0
    floor_above_mib: float = 0.0
    """Memory above which the floor holds."""
    mib_per_prefill_graph: float = 0.0
    latent_prefill_mib: float = 0.0
    """In place of the charge per prefill graph, for models with a latent cache."""
    draft_mib: float = 0.0
    """Charged where a draft model runs."""
    shares: tuple[tuple[int, float], ...] = ()
    """(ranks from, share): fixed shares in place of a reserve."""
    shares_up_to_mib: float = 0.0
    """Memory up to which the fixed share falls with the ranks."""
    encoder_factor: bool = False
    """Whether the share shrinks with the size of a vision encoder."""
    shared_memory_mib: float = 0.0
    """What the system holds of a memory that devices and programs share, before a model is loaded."""
    workspace_share: float = 1.0
    """Factor on the share, also on one that the user sets, where attention runs in AMD's AITER kernels."""
    workspace_context: int = 0
    """Context of the model above which the factor holds."""


@dataclass(frozen=True, slots=True)
class TokenPools:
    """How an engine divides its cache into pools sized by tokens. None: the engine has no such pool."""

    window_models: tuple[str, ...] = ()
    """Starts of the names of models whose windowed layers have a pool of their own; others keep every token."""
    window_share: float | None = None
    """Tokens of that pool over those of the full one."""
    compressed_share: float | None = None
    """The same where layers keep compressed rows beside a window."""
    compressed_page: int | None = None
    """Window tokens that share one ring of compressor states."""
    compressed_requests: int | None = None
    """Requests that states of widely compressed layers are kept for; None: they go with window tokens."""
    compressed_window_cap: bool = False
    """Whether the window pool of such models is sized by requests, not by its share."""
    state_share: float | None = None
    """Recurrent states over the cache of attention layers, bytes."""
    state_slots: int | None = None
    """States that one request takes: its own and those kept for reuse."""
    draft_layers_counted: bool = False
    """Whether a token is charged in the draft's layers as well, and the draft's weights before the pool."""
    every_layer_caches: bool = False
    """Whether layers that read another layer's cache get one of their own all the same."""
    every_layer_indexes: bool = False
    """Whether layers that reuse another layer's choice of tokens keep index keys all the same."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A weight format that is widened on load where the device lacks a kernel for it."""

    precision: str
    below_compute_capability: str
    bits: float
    """Bits per weight of what was quantised, afterwards."""
