"""Logits and loss: bytes alive at the peak of the loss, by implementation.

A logit is one value per token and word of the vocabulary. What is alive when the backward pass of the loss begins is
counted from the code of each implementation: 16-bit logits 2, their fp32 copy 4, a shifted contiguous copy 4,
log-softmax 4, its gradient 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
    """Bytes per logit that are alive for all tokens, and for the tokens of one chunk."""

    per_logit: float
    per_chunk_logit: float = 0.0
    chunk_tokens: float = 0.0
    """Tokens of a chunk; 0: the share below."""
    chunk_share: float = 0.0
    """Chunk as a share of the tokens."""
    head_gradient: float = 0.0
    """Bytes per value of a gradient of the head that is built inside the loss."""
    head_copy: float = 0.0
    """Bytes per value of a copy of the head that is made for every chunk and waits for the backward pass."""
    hidden_gradient: float = 0.0
    """Bytes per token and unit of width of the gradient that is kept instead of logits."""
    freed: float = 0.0
    """Bytes per logit of copies that are gone at the peak and whose blocks nothing else takes: reserved only."""


LOSSES = {
    "full": Loss(14.0),
    "full_shifted": Loss(13.0, freed=5.0),
    "full_fp32_ce": Loss(14.0),
    "compiled": Loss(8.0),
    "compiled_with_cast": Loss(4.0),
    "bf16": Loss(8.0),
    "fused_in_place": Loss(4.0),
    "chunked": Loss(6.0, 4.0, chunk_share=1 / 8),
    "chunked_compiled": Loss(2.0, 6.0, chunk_share=1 / 8),
    "chunked_128": Loss(8.0),
    "chunked_256": Loss(0.0, 14.0, chunk_tokens=256, head_gradient=6.0, hidden_gradient=2.0),
    "chunked_256_kept": Loss(4.0, 10.0, chunk_tokens=256, head_gradient=2.0, hidden_gradient=2.0),
    "chunked_256_copies": Loss(4.0, 10.0, chunk_tokens=256, head_gradient=2.0, head_copy=4.0, hidden_gradient=2.0),
    "chunked_1024": Loss(0.0, 14.0, chunk_tokens=1024, head_gradient=4.0, hidden_gradient=2.0),
    "fused_linear": Loss(0.0, 10.0, chunk_share=-1.0, head_gradient=8.0, hidden_gradient=2.0),
    "fused_linear_addmm": Loss(0.0, 10.0, chunk_share=-1.0, head_gradient=2.0, hidden_gradient=2.0),
    "cut": Loss(0.0, 0.0, head_gradient=2.0, hidden_gradient=2.0),
    "vocab_parallel": Loss(10.0),
    "loss_parallel": Loss(18.0, hidden_gradient=4.0),
    "none": Loss(0.0),
}
"""Implementation -> bytes.

full: bf16 logits, fp32 copy, log-softmax, gradient (2 + 4 + 4 + 4). full_shifted: Transformers before 4.45 and remote
code shift the fp32 logits into a copy of their own: 18 bytes pass through the allocator, of which log-softmax and two
gradients or copies are alive at once (Liger-Kernel's benchmark of Hugging Face's trainer: 12.4 allocated per logit
between batches of 32 and 48, while runs that print what is reserved need 18). compiled: the compiler keeps bf16
logits and recomputes the rest (2 + 2 + 4). compiled_with_cast: the widening is compiled too, so that the gradient is
written in 16 bits. bf16: cross entropy on bf16. fused_in_place: flash-attention's kernel writes the gradient over the
logits. chunked: torchtune's eight chunks of head and loss, all in the list until the backward pass: bf16 logits 2 and
log-softmax 4 of every chunk, fp32 of one (torchtune/modules/loss). chunked_128: litgpt's head in pieces of 128
tokens. chunked_256: TRL's chunked_nll, which widens the head to fp32 for its product and recomputes each chunk of 256
tokens; kept: where log- softmax of the chunks waits for the backward pass after all, as its loss alone was measured;
copies: the widened head of every chunk waits too (TRL pull requests 6858 and 6863). chunked_1024: head and loss piece
by piece (xtuner). fused_linear: Liger's kernel; its chunk makes tokens x vocabulary about tokens x width, and each
chunk's share of the head's gradient is a matrix of its own, 2, and widened, 4, before it is added (0.6.2 to 0.7; its
issue 1323). addmm: earlier and later versions add it in place. cut: cut cross entropy keeps no logits (arXiv
2411.09009). vocab_parallel: Megatron's fp32 logits over TP ranks. loss_parallel: torch's own
(torch/distributed/tensor/parallel/loss.py): log-softmax, a zeroed gradient, exponentials and their sum or product, 4
each, and the block of the 16-bit logits, beside the gathered hidden state and its gradient.
"""


def loss_bytes(
    loss: Loss, tokens: float, vocabulary: float, width: int, *, train_head: bool = True, ranks: int = 1
) -> float:
    """Return the bytes alive at the peak of the loss on one device.

    Args:
        loss: the implementation.
        tokens: rows of the loss on this device.
        vocabulary: words of the vocabulary.
        width: width of the hidden state.
        train_head: whether the head's gradient is needed.
        ranks: tensor-parallel ranks over which the vocabulary is divided.
    """
    words = vocabulary / ranks
    if loss.chunk_share < 0:
        chunk = min(tokens, max(1.0, 1.5 * tokens * width / vocabulary))
    elif loss.chunk_share:
        chunk = tokens * loss.chunk_share
    else:
        chunk = min(loss.chunk_tokens, tokens)
    held = loss.per_logit * tokens * words + loss.per_chunk_logit * chunk * words
    head = loss.head_gradient * words * width if train_head else 0.0
    copies = loss.head_copy * words * width * math.ceil(tokens / loss.chunk_tokens) if loss.head_copy else 0.0
    return held + head + copies + loss.hidden_gradient * tokens * width


def freed_bytes(loss: Loss, tokens: float, vocabulary: float, ranks: int = 1) -> float:
    """Return the bytes that the allocator still reserves for copies of logits that are gone."""
    return loss.freed * tokens * vocabulary / ranks
