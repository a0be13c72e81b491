"""What an answer uses where the user leaves it open: weight format, cache format, engine and its version."""

from __future__ import annotations

import re
import sqlite3

from rackfit.ask.question import SIXTEEN_BIT_CACHE, Subject
from rackfit.catalog.context import Context
from rackfit.catalog.read import rows_of
from rackfit.catalog.resolve import resolve
from rackfit.errors import UnknownNameError, UnsupportedError
from rackfit.fit.classes import EIGHT_BIT, FOUR_BIT, RUNS, SIXTEEN_BIT, Choice
from rackfit.memory.domain import Budget, Device
from rackfit.memory.precision_names import ParsedPrecision, parse_kv, parse_precision
from rackfit.memory.versions import budget_at, version_key

ENGINE_VERSION = re.compile(r"^(?P<name>.*?)[\s=@:]+v?(?P<version>\d+(?:\.\d+)+)\S*$", re.IGNORECASE)
"""An engine with its version: `vllm 0.6.3`, `vllm==0.10.2`."""
WIDTHS = {"int8": EIGHT_BIT, "8bit": EIGHT_BIT, "int4": FOUR_BIT, "4bit": FOUR_BIT, "16bit": SIXTEEN_BIT}
"""Names that say a width and no layout: the best layout of that width on the device is taken."""
FLOATS_OF_8_AND_4 = frozenset({"fp8", "fp4"})
"""Families whose names leave most of the layout open, and whose checkpoints makers publish themselves."""
HALVES_FP32 = ("vllm", "sglang")
"""Engines whose default is to load 32-bit weights in 16 bits."""


def choose_precision(
    connection: sqlite3.Connection, context: Context, subject: Subject, device: Device, asked: str | None
) -> tuple[Choice, list[str]]:
    """Return the precision and engine for a device, and what had to be assumed.

    Raises:
        UnknownNameError: a precision that is not known.
    """
    notes: list[str] = []
    if asked is None:
        wanted = subject.precision_id
        if wanted is None or wanted not in context.precisions:
            notes.append("precision: the checkpoint's own is not on record, 16-bit assumed")
            wanted = "bf16"
    elif asked.casefold() in WIDTHS:
        best = context.chooser.best_of(WIDTHS[asked.casefold()], device)
        if best is not None:
            return best, notes
        wanted = WIDTHS[asked.casefold()][0]
        notes.append(f"precision: no {asked} format is known to run on this device")
    else:
        wanted, note = _precision_id(connection, context, asked)
        own = published_layout(connection, context, subject, ParsedPrecision(wanted, note))
        if own not in (None, wanted):
            wanted, note = str(own), f"{asked} of this model's own checkpoints: {own}"
        if note:
            notes.append(f"precision: {note}")
    choice = context.chooser.runtime_for(wanted, device)
    if wanted == "bf16" and choice.support in ("none", "unknown") and asked is None:
        half = context.chooser.runtime_for("fp16", device)
        if half.support not in ("none", "unknown"):
            notes.append("precision: bf16 does not run on this device, fp16 of the same size assumed")
            return half, notes
    return choice, notes


def published_layout(
    connection: sqlite3.Connection, context: Context, subject: Subject, parsed: ParsedPrecision
) -> str | None:
    """Return the layout of the model's own checkpoints that a name means, None where it means none of them.

    A name that leaves the layout open (`FP8`, `NVFP4`) means the layout in which the model is published: that of the
    checkpoint itself, else of the one other layout that its checkpoints have. A mixture is meant by either part.
    """
    said = str(parsed.weight_id)

    def may_mean(own: str) -> bool:
        if own not in context.precisions or said not in context.precisions:
            return False
        if context.chooser.bases.get(own) == said:
            return True
        word, family = said.split("_")[0], context.precisions[said].family
        loose = parsed.note is not None or (family in FLOATS_OF_8_AND_4 and said == word)
        alike = family != "fp4" and context.precisions[own].family == family
        return loose and (alike or (family in FLOATS_OF_8_AND_4 and word in own.split("_")))

    if subject.precision_id is not None and may_mean(subject.precision_id):
        return subject.precision_id
    if said not in context.precisions or context.precisions[said].family not in FLOATS_OF_8_AND_4:
        return None
    model = subject.anatomy.model.model_id
    rows = rows_of(connection, "select distinct native_precision_id as id from checkpoints where model_id = ?", model)
    others = [row["id"] for row in rows if row["id"] is not None and may_mean(row["id"])]
    return others[0] if len(others) == 1 else None


def as_loaded(context: Context, choice: Choice, device: Device, asked: str | None) -> tuple[Choice, list[str]]:
    """Return the format in which an engine holds the weights, and what was assumed where it is not their own.

    Transformers widens what it only emulates. vLLM and SGLang load a 32-bit checkpoint in 16 bits unless told
    otherwise: their `dtype` is `auto`, which "will use FP16 precision for FP32 and FP16 models"
    (vllm/config/model.py; sglang/srt/server_args.py).
    """
    engine = choice.runtime_id
    if engine == "transformers" and choice.support == "emulated":
        note = f"precision: transformers widens {choice.precision_id} to bf16 when it loads it on this device"
        return Choice("bf16", engine, "native"), [note]
    if asked is None and choice.precision_id == "fp32" and engine in HALVES_FP32:
        half = Choice("fp16", engine, context.chooser.level(engine, "fp16", device))
        if half.support in RUNS:
            return half, [f"precision: {engine} loads 32-bit checkpoints in 16 bits unless asked for fp32"]
    return choice, []


def _precision_id(connection: sqlite3.Connection, context: Context, asked: str) -> tuple[str, str | None]:
    parsed = parse_precision(asked)
    if parsed.weight_id in context.precisions:
        return str(parsed.weight_id), parsed.note
    found = resolve(connection, "precision", asked)
    if found.id not in context.precisions:
        raise UnknownNameError("weight precision", asked, parsed.near)
    return found.id, None


def choose_cache(context: Context, asked: str | None) -> tuple[str, float]:
    """Return the cache format and its effective bits.

    Raises:
        UnknownNameError: a cache format that is not known.
    """
    if asked is None:
        return SIXTEEN_BIT_CACHE, context.kv_bits[SIXTEEN_BIT_CACHE]
    parsed = parse_kv(asked)
    if parsed.weight_id is None or parsed.weight_id not in context.kv_bits:
        raise UnknownNameError("KV precision", asked, parsed.near)
    return parsed.weight_id, context.kv_bits[parsed.weight_id]


def choose_budget(
    connection: sqlite3.Connection, context: Context, choice: Choice, asked: str | None, device: Device
) -> tuple[Budget, Choice, list[str]]:
    """Return the engine's rules, the choice under that engine, and what had to be assumed.

    Raises:
        UnknownNameError: an engine that is not known.
        UnsupportedError: an engine whose budget is not on record.
    """
    if asked is None:
        return context.newest_budget(choice.runtime_id), choice, []
    name, version, engine = _engine_version(asked, context.budgets)
    own = budgets_of(connection, context, name)
    if version is None and engine is None:
        budget, notes = context.newest_budget(own[0].runtime_id), []
    else:
        budget = budget_at(own, version_key(version) if version else None, engine)
        until = f"to {budget.version_to}" if budget.version_to else "on"
        said = " ".join(part for part in (name, version, engine) if part)
        notes = [f"runtime: {said}, rules of {budget.version_from} {until}; formats as on record for it"]
    if budget.base is not None:
        notes.append(f"runtime: {budget.runtime_id} works on the rules of {budget.base}, with settings of its own")
    return (
        budget,
        Choice(choice.precision_id, budget.runtime_id, level_under(context, budget, choice.precision_id, device)),
        notes,
    )


def budgets_of(connection: sqlite3.Connection, context: Context, name: str) -> list[Budget]:
    """Return the rules of an engine in all its versions.

    Raises:
        UnknownNameError: an engine that is not known.
        UnsupportedError: an engine whose budget is not on record.
    """
    found = resolve(connection, "runtime", name)
    own = [budget for budget in context.budgets if budget.runtime_id == found.id]
    if not own:
        known = ", ".join(sorted({budget.runtime_id for budget in context.budgets}))
        raise UnsupportedError(
            f"no memory budget on record for {found.id}: how it divides a device's memory is not known; known: {known}"
        )
    return own


def level_under(context: Context, budget: Budget, precision_id: str, device: Device) -> str:
    """Return how an engine runs a format; where its own table is silent, how the engine that it works on does."""
    level = context.chooser.level(budget.runtime_id, precision_id, device)
    if level == "unknown" and budget.base is not None:
        return context.chooser.level(budget.base, precision_id, device)
    return level


def context_for(connection: sqlite3.Connection, context: Context, asked: str | None) -> Context:
    """Return the context in which an engine runs what the version that was asked for ran.

    Raises:
        UnknownNameError: an engine that is not known.
    """
    if asked is None:
        return context
    name, version, _ = _engine_version(asked, context.budgets)
    if version is None:
        return context
    return context.of_version(resolve(connection, "runtime", name).id, version_key(version))


def _engine_version(asked: str, budgets: tuple[Budget, ...]) -> tuple[str, str | None, str | None]:
    """Return an engine's name, and where they are said its version and its variant (`V0`, `PyTorch`)."""
    engines = {budget.engine.casefold(): budget.engine for budget in budgets if budget.engine}
    words, engine = asked.split(), None
    for place in range(len(words) - 1, 0, -1):
        if words[place].casefold() in engines:
            engine = engines[words.pop(place).casefold()]
            break
    rest = " ".join(words)
    match = ENGINE_VERSION.match(rest)
    return (rest, None, engine) if match is None else (match["name"], match["version"], engine)
