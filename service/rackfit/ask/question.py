"""A fit question as people put it, and the records that its names stand for."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from difflib import get_close_matches

from rackfit.catalog.context import read_context
from rackfit.catalog.read import read_model, row_of, rows_of
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UsageError
from rackfit.memory.anatomy import Anatomy
from rackfit.memory.published import PublishedFile, holds_predictions

DEFAULT_CONTEXT = 8192
GGUF = ".gguf"
MOST_NEAR = 3
"""Published files that are named where one is not on record."""
SIXTEEN_BIT_CACHE = "kv_bf16"


WHOLE_NUMBERS = (
    "context", "sequences", "tp", "pp", "ep", "dp", "dcp", "max_batched_tokens", "max_sequences", "lora_slots",
    "lora_rank", "images", "limit",
)  # fmt: skip
"""Figures of a question that count something."""


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """What a user asks. None means that the user did not say, and the default is echoed in the answer."""

    model: str | Subject | None = None
    """A name, or a model that was read from a file."""
    on: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    context: int | None = None
    sequences: int | None = None
    tp: int | None = None
    pp: int | None = None
    ep: int | None = None
    dp: int | None = None
    dcp: int | None = None
    """Decode context parallel: TP ranks over which a cache is striped that each of them would keep a copy of."""
    runtime: str | None = None
    utilization: float | None = None
    max_batched_tokens: int | None = None
    max_sequences: int | None = None
    usable_gib: float | None = None
    reserve_gib: float | None = None
    max_price: float | None = None
    gpu_layers: int | str | None = None
    """Layers on devices as llama.cpp counts them, or `auto` for the most that fit."""
    cpu_experts: int | str | None = None
    """First layers whose experts lie in RAM, `all`, or `auto` for the fewest that make it fit."""
    host_ram_gib: float | None = None
    draft: str | Subject | None = None
    mtp: bool = False
    eager: bool = False
    """The engine captures no graphs."""
    text_only: bool = False
    """Images are switched off in the engine, which then sets nothing aside for them."""
    lora_slots: int | None = None
    lora_rank: int | None = None
    images: int | None = None
    split: tuple[int, ...] | None = None
    """Layers on each device, first to last."""
    limit: int = 50

    @property
    def offloads(self) -> bool:
        """Whether part of the model may lie in RAM."""
        return self.gpu_layers is not None or self.cpu_experts is not None

    def check(self) -> None:
        """Refuse figures that mean nothing.

        Raises:
            UsageError: naming the first figure, its value and what was expected.
        """
        for name in WHOLE_NUMBERS:
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 2**40:
                raise UsageError(f"{name} = {value}: expected a whole number from 1")
        for name in ("usable_gib", "max_price", "host_ram_gib"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1e9:
                raise UsageError(f"{name} = {value}: expected a number above 0")
        if self.reserve_gib is not None and not 0 <= self.reserve_gib < 1e6:
            raise UsageError(f"reserve_gib = {self.reserve_gib}: expected a number from 0")
        if self.utilization is not None and not 0 < self.utilization <= 1:
            raise UsageError(f"utilization = {self.utilization}: expected a share above 0, at most 1")
        if self.images is not None and self.text_only:
            raise UsageError(f"images = {self.images}: expected none where images are switched off (text_only)")
        for name, words in (("gpu_layers", ("auto",)), ("cpu_experts", ("auto", "all"))):
            value = getattr(self, name)
            if not (value is None or value in words or (isinstance(value, int) and 0 <= value <= 2**20)):
                raise UsageError(f"{name} = {value}: expected a whole number from 0, or {' or '.join(words)}")
        if self.split is not None and (not self.split or not all(0 <= count <= 2**20 for count in self.split)):
            raise UsageError(f"split = {self.split}: expected the layers of each device, such as 16,32")


@dataclass(frozen=True)
class Subject:
    """The model asked about: architecture, and the precision and context of the checkpoint where one was named."""

    anatomy: Anatomy
    shown: str
    checkpoint_id: str | None
    precision_id: str | None
    max_context: int | None
    file: PublishedFile | None = None
    """The published file that was named, where its bytes are on record."""
    notes: tuple[str, ...] = ()
    """What had to be assumed where the model was read from a file."""
    taken_for: str | None = None
    """What was assumed where the name is not on record as it was written."""

    def __str__(self) -> str:
        """Return the name as answers show it."""
        return self.shown


def find_model(connection: sqlite3.Connection, name: str | Subject) -> Subject:
    """Return the model that a name stands for; one that was read from a file is itself.

    Raises:
        UnknownNameError, AmbiguousNameError: from resolution;
            also for the name of a GGUF file that is neither there nor on record as a published one.
    """
    if isinstance(name, Subject):
        return name
    named = _published(connection, name)
    if named is not None:
        return named
    if name.casefold().endswith(GGUF):
        raise UnknownNameError("model or file", name, _published_near(connection, name))
    found = resolve(connection, "model", name)
    row = row_of(connection, "models", "model_id", found.id)
    limit = row["max_context"]
    precision = found.precision_id or row["native_precision_id"]
    if found.checkpoint_id:
        checkpoint = row_of(connection, "checkpoints", "checkpoint_id", found.checkpoint_id)
        limit = checkpoint["max_context"] or limit
        precision = found.precision_id or checkpoint["native_precision_id"]
    else:
        limit = _stated_limit(connection, name) or limit
    taken_for = f"model: {name!r} is not on record, read as {found.id}" if found.respelled else None
    anatomy = _anatomy(connection, found.id, limit)
    return Subject(anatomy, found.id, found.checkpoint_id, precision, limit, taken_for=taken_for)


def _anatomy(connection: sqlite3.Connection, model_id: str, limit: int | None) -> Anatomy:
    """Return the architecture with the longest context of the checkpoint that is meant."""
    return Anatomy(replace(read_model(connection, model_id), max_context=limit))


def _published(connection: sqlite3.Connection, name: str) -> Subject | None:
    """Return the model of a published file, with its bytes; None where the name is not that of a file on record."""
    found = rows_of(
        connection,
        "select artifacts.*, models.max_context from artifacts join models using (model_id) "
        "where (lower(artifact_id) = ?1 "
        "or substr(lower(artifact_id), -length(?1) - 1) = '/' || ?1 and ?1 like '%.gguf') "
        "and precision_id is not null and instr(lower(artifact_id), 'mmproj') = 0",
        name.strip().casefold(),
    )
    whole = [row for row in found if row["artifact_id"].casefold() == name.strip().casefold()]
    if not whole and len(found) != 1:
        return None
    row, checkpoint = (whole or found)[0], name.strip().casefold()
    known = rows_of(connection, "select max_context from checkpoints where checkpoint_id = ?", checkpoint)
    limit = (known[0]["max_context"] if known else None) or _stated_limit(connection, checkpoint) or row["max_context"]
    file = PublishedFile(
        row["artifact_id"], row["bytes"], GGUF not in checkpoint, holds_predictions(row["artifact_id"], row["model_id"])
    )
    return Subject(
        _anatomy(connection, row["model_id"], limit), row["model_id"], checkpoint if known else None,
        row["precision_id"], limit, file,
    )  # fmt: skip


def _published_near(connection: sqlite3.Connection, name: str) -> list[str]:
    """Return the published files that have a name at the end, or whose own name is like it."""
    ids = [row["artifact_id"] for row in rows_of(connection, "select artifact_id from artifacts order by artifact_id")]
    tail = name.casefold().rsplit("/", 1)[-1]
    by_tail = {one.casefold().rsplit("/", 1)[-1]: one for one in ids if GGUF in one.casefold()}
    same = [one for one in ids if one.casefold().endswith(f"/{tail}")]
    near = same or [by_tail[one] for one in get_close_matches(tail, by_tail, MOST_NEAR)]
    return near[:MOST_NEAR]


def _stated_limit(connection: sqlite3.Connection, name: str) -> int | None:
    """Return the longest context of the checkpoint that a name in another format begins with, whoever publishes it.

    A family's base and instruct releases differ: Qwen2-7B states 131072 tokens, Qwen2-7B-Instruct 32768.
    """
    tail = name.strip().casefold().split(":")[0].rsplit("/", 1)[-1]
    found = rows_of(
        connection,
        "select max_context from checkpoints where max_context is not null "
        "and substr(?, 1, length(checkpoint_id) - instr(checkpoint_id, '/') + 1) "
        "in (substr(checkpoint_id, instr(checkpoint_id, '/') + 1) || '-', "
        "substr(checkpoint_id, instr(checkpoint_id, '/') + 1) || '.') order by length(checkpoint_id) desc limit 1",
        tail,
    )
    return int(found[0]["max_context"]) if found else None


__all__ = ["FitQuestion", "Subject", "find_model", "read_context"]
