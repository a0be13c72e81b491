"""What a question wants on the devices beside the model: names looked up, and what could not be known said."""

from __future__ import annotations

import sqlite3

from rackfit.ask.choices import choose_precision
from rackfit.ask.question import FitQuestion, Subject, find_model
from rackfit.catalog.context import Context
from rackfit.catalog.read import rows_of
from rackfit.errors import UsageError
from rackfit.fit.beside import Beside, Encoder
from rackfit.memory.domain import Budget, Device
from rackfit.memory.weights import fitted

DEFAULT_RANK = 16
"""vLLM's max_lora_rank where nothing is said (runtime_rules, term lora_slots)."""


def find_beside(
    connection: sqlite3.Connection,
    question: FitQuestion,
    context: Context,
    subject: Subject,
    device: Device,
    budget: Budget,
    precision_id: str,
) -> tuple[Beside, list[str]]:
    """Return what comes beside the model, and what had to be assumed of it.

    Raises:
        UnknownNameError: a draft model that is not known.
        UsageError: heads or an encoder that the model does not have.
    """
    notes: list[str] = []
    beside = Beside()
    if question.draft is not None:
        draft = find_model(connection, question.draft)
        same = precision_id if budget.family == "llama.cpp" else None
        choice, assumed = choose_precision(connection, context, draft, device, same)
        precision = fitted(draft.anatomy, context.precisions[choice.precision_id])
        beside = Beside(draft.anatomy, precision)
        notes += [f"draft model: {draft.shown} in {choice.precision_id}", *(f"draft model: {one}" for one in assumed)]
    if question.mtp and not subject.anatomy.model.mtp_params:
        raise UsageError(f"{subject.shown} has no multi-token prediction heads on record")
    if question.mtp:
        notes.append("prediction heads: weights at the bits and shares of the last layer, cache of one such layer")
    rank = question.lora_rank or DEFAULT_RANK
    if question.lora_slots:
        notes += _lora_notes(question, subject, budget)
    encoder = _encoder(connection, question, subject, notes)
    return (
        Beside(
            beside.draft, beside.draft_precision, question.mtp, question.lora_slots or 0, rank, question.images or 0,
            encoder,
        ),
        notes,
    )  # fmt: skip


def _lora_notes(question: FitQuestion, subject: Subject, budget: Budget) -> list[str]:
    notes = []
    if question.lora_rank is None:
        notes.append(f"adapters: rank {DEFAULT_RANK}")
    if budget.family != "vllm":
        notes.append(f"adapters: the rule is vLLM's, {budget.runtime_id} has none on record")
    if subject.anatomy.has_experts:
        notes.append("adapters: attention and shared parts only, routed experts are not counted")
    if any(group.state_elems for group in subject.anatomy.model.groups):
        notes.append("adapters: projections of recurrent layers are not counted")
    return notes


def _encoder(
    connection: sqlite3.Connection, question: FitQuestion, subject: Subject, notes: list[str]
) -> Encoder | None:
    """Return the image encoder, where images are asked for.

    Raises:
        UsageError: the model takes no images.
    """
    if not question.images:
        return None
    towers = rows_of(
        connection,
        "select * from towers where model_id = ? and modality <> 'audio' order by tower_index",
        subject.anatomy.model.model_id,
    )
    if not towers:
        raise UsageError(f"{subject.shown} takes no images: no vision tower on record")
    known = [tower for tower in towers if tower["max_tokens_per_image"]]
    if not known:
        notes.append("images: tokens per image are not on record, so none are counted")
        return None
    tower = max(known, key=lambda row: row["max_tokens_per_image"])
    tokens = tower["max_tokens_per_image"]
    notes.append(f"images: {question.images} x {tokens} tokens at the largest size come on top of the context")
    notes.append("images: what the encoder takes while it runs is in no engine's rules; the range is widened for it")
    if tower["replicated_per_rank"]:
        notes.append(f"image encoder: {tower['replicated_per_rank']}")
    return Encoder(tokens, tower["width"], tower["d_ff"])


def image_tokens(beside: Beside) -> int:
    """Return the tokens that the images of one request add to its context."""
    return beside.images * beside.encoder.tokens if beside.encoder is not None else 0
