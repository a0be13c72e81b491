"""What a log says about its own run, completed by the user, as the configuration columns of the case format.

Nothing is guessed: a model or device that the catalog does not know stays unknown with the reason, and what is read
out of names (the degrees in workers' names, a path's last part) is said.
"""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from rackfit.accuracy.setting import AS_SHIPPED
from rackfit.ask.machines import find_machines
from rackfit.ask.question import Subject, find_model
from rackfit.errors import RackfitError
from rackfit.intake.logs.parsed import Log
from rackfit.memory.budget import GIB
from rackfit.memory.versions import version_key

SIXTEEN_BITS = ("bf16", "fp16")
DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32"}
CACHE_DTYPES = {"float8_e4m3fn": "fp8_e4m3", "float8_e4m3fnuz": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "half": "fp16"}
METHODS = {
    "awq": "awq", "awq_marlin": "awq", "gptq": "gptq", "gptq_marlin": "gptq", "fp8": "fp8", "bitsandbytes": "nf4",
    "mxfp4": "mxfp4", "modelopt_fp4": "nvfp4", "modelopt_fp8": "fp8",
}  # fmt: skip
"""Quantisation method as engines print it -> precision name. Methods of several layouts are not here."""
NEWER_BUILD = 9452
"""Build of llama.cpp from which the server's newer rules are known to hold (the one that Ollama 0.30.0 pins)."""
FINAL_SHARE_FROM, FINAL_SHARE_SINCE = (0, 5, 8), "2026-01-23"
"""SGLang applies the factor of AMD's attention kernels before it prints its settings from this version and day on."""
SYMBOLS = re.compile(r"\((?:R|TM|C)\)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the user says; None leaves what the log says."""

    model: str | None = None
    on: str | None = None
    precision: str | None = None
    kv_precision: str | None = None
    context: int | None = None
    sequences: int | None = None
    tp: int | None = None
    pp: int | None = None
    utilization: float | None = None
    max_batched_tokens: int | None = None
    max_sequences: int | None = None


@dataclass(frozen=True)
class Configuration:
    """One run as the case format describes it. None is unknown; `missing` says why by subject."""

    engine: str
    model: str | None
    gpu: str | None
    gpu_count: int
    precision: str | None
    kv: str | None
    tp: int | None
    pp: int | None
    context: int | None
    sequences: int | None
    usable_gib: float | None
    settings: dict[str, str]
    shown: dict[str, Any]
    missing: dict[str, str] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()

    def row(
        self, quantity: str, value: float | str = 0, kind: str = "K1", plain_device: bool = False
    ) -> dict[str, Any]:
        """Return a row of the case format for one quantity.

        Args:
            quantity: from the format's vocabulary.
            value: the printed figure in the quantity's unit.
            kind: kind of case.
            plain_device: leave out what the log prints of the device's memory, where that is the quantity.
        """
        gpu = self.gpu
        if gpu and self.usable_gib and not plain_device and "(" not in gpu:
            gpu = f"{gpu} ({self.usable_gib:.4f} GiB usable)"
        return {
            "case_id": "log",
            "kind": kind,
            "model_id": self.model,
            "precision_or_quant": self.precision,
            "kv_dtype": self.kv,
            "gpu": gpu,
            "gpu_count": self.gpu_count,
            "tp": self.tp,
            "pp": self.pp,
            "context_tokens": self.context,
            "batch": self.sequences,
            "other_config": ";".join(f"{name}={text}" for name, text in self.settings.items()) or None,
            "quantity": quantity,
            "value": value,
            "engine_and_version": self.engine,
        }


def configuration_of(connection: sqlite3.Connection, log: Log, given: Overrides) -> Configuration:
    """Return the configuration of a log.

    Raises:
        UnknownNameError, UsageError: a name given by the user that cannot be read. Names in the log never raise.
    """
    missing: dict[str, str] = {}
    said: list[str] = []
    subject, model = _model(connection, log, given, missing, said)
    gpu = _device(connection, log, given, missing, said)
    precision = _precision(log, given, subject, missing)
    tp, pp = _degrees(log, given, missing, said)
    printed_kv = log.settings.get("kv_dtype")
    kv = given.kv_precision or CACHE_DTYPES.get(str(printed_kv), printed_kv)
    total = log.bound("device_total")
    if "started" in log.settings and "version" not in log.settings:
        said.append(f"version: the newest of {log.settings['started']}, the day of the log, as none is printed")
    settings = _settings(log, given)
    shown = {
        **log.settings,
        "model_used": model,
        "device": gpu,
        "precision": (subject.precision_id if subject else None) if precision == AS_SHIPPED else precision,
        "kv_precision": kv,
        "tp": tp,
        "pp": pp,
    }
    return Configuration(
        engine=_engine(log),
        model=model,
        gpu=gpu,
        gpu_count=max((tp or 1) * (pp or 1), 1),
        precision=precision,
        kv=kv,
        tp=tp,
        pp=pp,
        context=given.context or log.settings.get("context") or log.settings.get("concurrency_tokens"),
        sequences=given.sequences or log.settings.get("sequences"),
        usable_gib=total / GIB if total else None,
        settings=settings,
        shown={name: value for name, value in shown.items() if value is not None},
        missing=missing,
        assumptions=tuple(said),
    )


def _engine(log: Log) -> str:
    version, generation = log.settings.get("version"), log.settings.get("generation")
    if version is None and (started := log.settings.get("started")):
        version = f"({started})"
    text = " ".join(part for part in (log.engine, version, generation) if part)
    build = re.fullmatch(r"b(\d+)", str(version or ""))
    if log.engine == "llama.cpp" and build and int(build[1]) >= NEWER_BUILD:
        text += " (2026)"
    return text


def _settings(log: Log, given: Overrides) -> dict[str, str]:
    """Return the settings that an estimate looks at, by the case format's names."""
    found = {
        "gpu_memory_utilization": given.utilization or log.settings.get("utilization"),
        "mem_fraction_static": log.settings.get("static_fraction"),
        "max_num_batched_tokens": given.max_batched_tokens or log.settings.get("batched_tokens"),
        "max_num_seqs": given.max_sequences or log.settings.get("max_sequences"),
        "enforce_eager": "true" if log.settings.get("eager") else None,
        "speculative": log.settings.get("speculative"),
    }
    if log.engine == "SGLang" and given.utilization:
        found["mem_fraction_static"], found["gpu_memory_utilization"] = given.utilization, None
    elif found["mem_fraction_static"] and _prints_final_share(log):
        found["final_share"] = "true"
    if log.engine in ("llama.cpp", "Ollama"):
        found["max_num_batched_tokens"] = given.max_batched_tokens or log.settings.get("micro_batch")
        found["max_num_seqs"] = given.max_sequences or log.settings.get("sequences")
    return {name: str(value) for name, value in found.items() if value is not None}


def _prints_final_share(log: Log) -> bool:
    """Return whether the log prints SGLang's share after every factor: from 0.5.8 on, before that as it was asked."""
    if version := log.settings.get("version"):
        return version_key(str(version)) >= FINAL_SHARE_FROM
    return str(log.settings.get("started", FINAL_SHARE_SINCE)) >= FINAL_SHARE_SINCE


def model_names(log: Log) -> list[str]:
    """Return the names under which a log may name its model: as printed, a hub cache's, a file's, general.name."""
    names = []
    printed = str(log.settings.get("model") or "")
    if printed:
        names.append(printed)
        if hub := re.search(r"models--([^/]+?)--([^/]+)", printed):
            names.append(f"{hub[1]}/{hub[2]}")
        last = PurePosixPath(printed.replace("\\", "/")).name
        names.append(re.sub(r"(?:-\d{5}-of-\d{5})?\.gguf$", "", last, flags=re.IGNORECASE))
    if log.settings.get("name"):
        names.append(str(log.settings["name"]))
    return list(dict.fromkeys(name for name in names if name))


def _model(
    connection: sqlite3.Connection, log: Log, given: Overrides, missing: dict[str, str], said: list[str]
) -> tuple[Subject | None, str | None]:
    if given.model is not None:
        return find_model(connection, given.model), given.model
    names = model_names(log)
    for name in names:
        try:
            subject = find_model(connection, name)
        except RackfitError:
            continue
        if name != names[0]:
            said.append(f"model: {name!r} read from {names[0]!r}")
        return subject, name
    shown = f"{names[0]!r} is not in the catalog" if names else "the log names none"
    missing["model"] = f"model: {shown}; give --model"
    return None, None


def _device(
    connection: sqlite3.Connection, log: Log, given: Overrides, missing: dict[str, str], said: list[str]
) -> str | None:
    if given.on is not None:
        find_machines(connection, given.on)
        return given.on
    names = list(dict.fromkeys(device.name for device in log.devices))
    if len(names) != 1:
        why = "the log names none" if not names else f"the log names {len(names)} unlike devices"
        missing["device"] = f"device: {why}; give --on"
        return None
    for name in dict.fromkeys((names[0], device_name(names[0]))):
        try:
            machines = find_machines(connection, name)
        except RackfitError:
            continue
        if len(machines) == 1 or log.bound("device_total"):
            if len(machines) > 1:
                said.append(f"device: {machines[0].device.accelerator_id} taken for {name!r}, with the memory printed")
            return name
        missing["device"] = f"device: {name!r} is sold in {len(machines)} forms; give --on"
        return None
    missing["device"] = f"device: {names[0]!r} is not in the catalog; give --on"
    return None


def device_name(printed: str) -> str:
    """Return a device's name as catalogs write it, without the marks that drivers add.

    >>> device_name("Intel(R) Arc(TM) Pro B60 Graphics")
    'Intel Arc Pro B60'
    """
    return " ".join(SYMBOLS.sub(" ", printed).removesuffix("Graphics").split())


def _precision(log: Log, given: Overrides, subject: Subject | None, missing: dict[str, str]) -> str | None:
    if given.precision is not None:
        return given.precision
    if (kind := log.settings.get("file_type")) is not None:
        return gguf_type(str(kind))
    if log.engine in ("llama.cpp", "Ollama") and not _is_gguf(subject):
        missing["precision"] = "precision: the file type is not printed; give --precision"
        return None
    method = log.settings.get("quantization")
    own = subject.precision_id if subject else None
    if method is None:
        dtype = DTYPES.get(str(log.settings.get("dtype")))
        return dtype if dtype and own in (None, *SIXTEEN_BITS) else AS_SHIPPED
    if own is not None and own not in SIXTEEN_BITS:
        return AS_SHIPPED
    if method.casefold() in METHODS:
        return METHODS[method.casefold()]
    missing["precision"] = f"precision: {method} has several layouts; give --precision"
    return None


def _is_gguf(subject: Subject | None) -> bool:
    """Return whether the model's own name says a GGUF type."""
    return subject is not None and str(subject.precision_id).startswith("gguf")


def gguf_type(printed: str) -> str:
    """Return the file type as people name it.

    >>> gguf_type("Q4_K - Medium"), gguf_type("IQ4_XS - 4.25 bpw"), gguf_type("MXFP4 MoE")
    ('Q4_K_M', 'IQ4_XS', 'MXFP4')
    """
    text = printed.removeprefix("mostly ").removeprefix("all ")
    head, _, size = text.partition(" - ")
    letter = {"small": "_S", "medium": "_M", "large": "_L"}.get(size.strip().casefold(), "")
    return head.split()[0] + letter if head.split() else text


def _degrees(log: Log, given: Overrides, missing: dict[str, str], said: list[str]) -> tuple[int | None, int | None]:
    """Return (tp, pp): given, printed, else the least that the workers' names need.

    Workers carry a degree in their name only where it is more than 1: `TP0` alone says that, and not how many.
    """
    found: dict[str, int | None] = {}
    for name in ("tp", "pp"):
        printed = getattr(given, name) or log.settings.get(name)
        if printed is None:
            ranks = [rank for ranks in log.amounts.values() for rank in ranks]
            numbers = [int(number) for rank in ranks for number in re.findall(rf"{name.upper()}(\d+)", rank)]
            if numbers and max(numbers) > 0:
                printed = max(numbers) + 1
                said.append(f"{name}: at least {printed}, from the workers' names; --{name} says it if there are more")
            elif numbers:
                missing["layout"] = f"{name}: more than 1 by the workers' names, but not printed; give --{name}"
        found[name] = printed
    return found["tp"], found["pp"]
