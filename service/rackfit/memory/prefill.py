"""Prefill that an engine sizes by the rate of the card: TGI 3 takes as many tokens as keep the card's units busy."""

from __future__ import annotations

from rackfit.memory.anatomy import Anatomy
from rackfit.memory.domain import Budget, LayerGroup, Layout
from rackfit.memory.elementwise import Number, minimum

LEAST_TOKENS = 100
"""A result below this is taken for an error and the default is used (TGI, launcher/src/main.rs)."""


def flops_per_token(anatomy: Anatomy) -> float:
    """Return the operations of one token as TGI's launcher counts them; 0 for what it does not count.

    Per layer: 2 d d_h (3 h + 2 h_kv) for the projections and 6 d d_ff for a gated feed-forward pass, the experts of one
    token together. Models with an image encoder are not counted (launcher/src/main.rs, Config::flop).
    """
    if anatomy.tower_params:
        return 0.0
    d_model = anatomy.model.d_model

    def layer(group: LayerGroup) -> float:
        heads = 3 * (group.n_heads or 0) + 2 * (group.n_kv_heads or 0)
        routed = (group.moe_d_ff or 0) * (group.n_experts_active or 0) + (group.shared_d_ff or 0)
        return 2.0 * d_model * ((group.d_k or 0) * heads + 3 * (group.d_ff or routed))

    return sum(group.count * layer(group) for group in anatomy.model.groups)


def sized_prefill(anatomy: Anatomy, budget: Budget, layout: Layout, device_name: str, default: Number) -> Number:
    """Return the tokens of one prefill: rate of all cards / operations of a token, at most the model's context.

    Args:
        anatomy: the model.
        budget: the engine's rules; without rates in them the default stays.
        layout: its devices add up their rates.
        device_name: a card that the engine's table does not have gets the default.
        default: tokens where the rule gives none.
    """
    named = device_name.casefold()
    rates = [rate for rate in budget.prefill_rates if rate.card in named]
    flops = flops_per_token(anatomy)
    if not rates or not flops:
        return default
    tokens = int(max(rates, key=lambda rate: len(rate.card)).tflops * 1e12 * layout.devices / flops)
    if tokens <= LEAST_TOKENS:
        return default
    longest = anatomy.model.max_context
    return minimum(tokens + 0 * default, longest if longest else tokens)
