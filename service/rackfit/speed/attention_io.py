"""Attention and the memory hierarchy: the score matrix written out, against tiles that stay on the chip.

Written out, each head's n x n scores go to device memory and back for the softmax, and its result again for the
product with V: four times n^2 values, beside Q, K, V and the output (FlashAttention, arXiv 2205.14135, algorithm 0).
Tiled, a block of B queries stays on the chip while all keys and values pass by once: n / B passes of 2 n d values.
With B = M / 4 d values that is the paper's theta(n^2 d^2 / M) (theorem 2), M being the on-chip memory of one unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SCORE_PASSES = 4
"""Times that n^2 values cross the bus: scores out and in, probabilities out and in."""
TILES = 4
"""Blocks of d values per row that share the on-chip memory: queries, keys, values, output (Bc = M / 4d)."""


@dataclass(frozen=True, slots=True)
class Attention:
    """One layer's attention over whole sequences. Bytes are per value of Q, K, V, scores and output."""

    tokens: int
    heads: int
    head_dim: int
    batch: int = 1
    value_bytes: int = 2

    @property
    def score_bytes(self) -> int:
        """Bytes of one head's n x n matrix.

        >>> Attention(131072, 1, 128).score_bytes
        34359738368
        """
        return self.tokens * self.tokens * self.value_bytes

    @property
    def layer_score_bytes(self) -> int:
        """Bytes of the matrices of all heads and sequences of one layer."""
        return self.score_bytes * self.heads * self.batch

    @property
    def flops(self) -> int:
        """FLOPs of both products, all heads: 4 n^2 d per head, without a causal mask."""
        return 4 * self.tokens * self.tokens * self.head_dim * self.heads * self.batch

    @property
    def _side_bytes(self) -> int:
        """Bytes of one n x d matrix of all heads."""
        return self.tokens * self.head_dim * self.value_bytes * self.heads * self.batch

    def materialised_bytes(self) -> int:
        """Return the bytes that cross the bus of device memory when scores are written out."""
        return SCORE_PASSES * self.layer_score_bytes + 4 * self._side_bytes

    def block_rows(self, on_chip_bytes: int) -> int:
        """Return the query rows of a block in so much on-chip memory: M / 4d values, at least one."""
        return max(1, on_chip_bytes // (TILES * self.head_dim * self.value_bytes))

    def tiled_bytes(self, on_chip_bytes: int) -> int:
        """Return the bytes that cross the bus when blocks stay on the chip; what the L2 catches is not taken off."""
        passes = math.ceil(self.tokens / self.block_rows(on_chip_bytes))
        return 2 * self._side_bytes + passes * 2 * self._side_bytes

    def longest_materialised(self, memory_bytes: int, all_heads: bool) -> int:
        """Return the tokens at which score matrices alone fill a memory: those of one head, or of a whole layer."""
        matrices = self.heads * self.batch if all_heads else 1
        return math.isqrt(memory_bytes // (self.value_bytes * matrices))


def side_of_ridge(flops: float, size: float, ridge: float) -> str:
    """Return whether a kernel of so many FLOPs and bytes is bound by memory or by compute at a ridge point."""
    return "memory-bound" if flops / size < ridge else "compute-bound"
