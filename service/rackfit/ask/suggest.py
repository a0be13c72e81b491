"""What would flip a verdict: nearby questions, each of them really asked."""

from __future__ import annotations

import math
import sqlite3
from typing import Any

from rackfit.ask.other_hardware import larger_cards, more_of_the_same
from rackfit.ask.question import FitQuestion
from rackfit.errors import RackfitError
from rackfit.fit.verdicts import RUNNING
from rackfit.memory.budget import GIB

MOST = 5


def suggestions(connection: sqlite3.Connection, question: FitQuestion, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the changes that make a `no`, `tight` or `cannot_run` fit, nearest first; nothing for what fits.

    First what costs nothing but a setting, then part of the model in RAM, then other hardware: the fewest more devices
    and the nearest larger card that do it, one of each.
    """
    if answer["verdict"] == "fits":
        return []
    on = question.on or ""
    found = _flips(connection, question, answer, _changes(question, answer), MOST)
    for options in (more_of_the_same(connection, on, answer["accelerator"]), larger_cards(connection, on)):
        tried = [(text, {"on": expression, **_free(question)}) for text, expression in options]
        found += _flips(connection, question, answer, tried, 1)
    return found


def _flips(
    connection: sqlite3.Connection,
    question: FitQuestion,
    answer: dict[str, Any],
    tried: list[tuple[str, dict[str, Any]]],
    most: int,
) -> list[dict[str, Any]]:
    """Return the first changes that really give a better verdict, at most so many."""
    from rackfit.ask.fit import changed, fit_one

    found: list[dict[str, Any]] = []
    for text, changes in tried:
        if len(found) == most:
            break
        try:
            other = fit_one(connection, changed(question, **changes), suggest=False)
        except RackfitError:
            continue
        better = other["verdict"] == "fits" or (other["verdict"] in RUNNING and answer["verdict"] not in RUNNING)
        if better and not _adds_nothing(changes, answer, other):
            margin = other["per_device"]["margin_bytes"]
            found.append({"change": text, **changes, "verdict": other["verdict"], "margin_bytes": margin})
            if "tp" in changes:
                found[-1]["layout"] = other["layout"]
            if other.get("offloaded"):
                block = other["offload"]
                found[-1]["offload"] = {name: block[name] for name in ("gpu_layers", "cpu_experts", "host_bytes")}
    return found


def _adds_nothing(changes: dict[str, Any], answer: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether a change is none: 4 bits for what has 4 bits, or layers in RAM where none need to go there."""
    if {"gpu_layers", "cpu_experts"} & changes.keys() and not other.get("offloaded"):
        return True
    if "text_only" in changes:
        return bool(other["per_device"]["workspace_bytes"] == (answer["per_device"] or {}).get("workspace_bytes"))
    if "precision" not in changes or answer["per_device"] is None:
        return False
    return bool(other["per_device"]["weights_bytes"] > 0.9 * answer["per_device"]["weights_bytes"])


def _changes(question: FitQuestion, answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the changes to try, from the least to the most that the user gives up or pays."""
    tried: list[tuple[str, dict[str, Any]]] = []
    if any(getattr(question, name) for name in ("tp", "pp", "ep", "dp")):
        tried.append(("let the layout be chosen", {"tp": None, "pp": None, "ep": None, "dp": None}))
    if (larger := _larger_share(question, answer)) is not None:
        tried.append((f"a share of {larger} of the device", {"utilization": larger}))
    longest = answer["max_context_memory"]
    if longest and longest >= 1024 and answer["context"] > longest:
        shorter = longest // 1024 * 1024
        tried.append((f"a context of {shorter} tokens", {"context": shorter}))
    fewer = (answer["most_sequences"] or {}).get("sure") or (answer["most_sequences"] or {}).get("likely")
    if fewer and fewer < answer["sequences"]:
        tried.append((f"{fewer} sequences at a time", {"sequences": fewer}))
    if answer["layout"] and question.dp is None and _replicates(answer):
        tried.append(
            ("attention on every device for its own requests", {**_free(question), "dp": answer["layout"]["tp"]})
        )
    if not question.text_only and not question.images and answer.get("runtime") == "vllm":
        tried.append(("images switched off", {"text_only": True}))
    if not question.eager and answer.get("runtime") == "vllm":
        tried.append(("no captured graphs, slower", {"eager": True}))
    if answer["layout"] and question.dcp is None and answer["attention_kind"] == "mla" and answer["layout"]["tp"] > 1:
        degrees = {name: answer["layout"][name] for name in ("tp", "pp", "ep")}
        tried.append(("the cache shared by the ranks (DCP)", {**degrees, "dcp": answer["layout"]["tp"]}))
    if question.kv_precision is None:
        cache = "q8_0" if answer["runtime"] == "llama.cpp" else "fp8"
        tried.append((f"the cache in {cache}", {"kv_precision": cache}))
    for width in ("int8", "int4"):
        if question.precision != width:
            tried.append((f"weights in {width[3:]} bits", {"precision": width}))
    tried.append(("weights as GGUF Q4_K_M", {"precision": "q4_k_m"}))
    tried += _in_ram(question, answer)
    return tried


def _larger_share(question: FitQuestion, answer: dict[str, Any]) -> float | None:
    """Return the smallest share of a device that the high estimate needs, where the engine takes a share; else None."""
    held = answer["per_device"]
    if held is None or not held["usable_bytes"] < held["high_bytes"] <= held["device_bytes"]:
        return None
    if not any(line.startswith("utilization:") for line in answer["assumptions"]) and question.utilization is None:
        return None
    return math.ceil(100 * (held["high_bytes"] + round((question.reserve_gib or 0) * GIB)) / held["device_bytes"]) / 100


def _replicates(answer: dict[str, Any]) -> bool:
    """Return whether every rank keeps the whole cache and several requests are asked: DP attention divides it."""
    layout = answer["layout"]
    return answer["attention_kind"] == "mla" and layout["tp"] > 1 and layout["pp"] == 1 and answer["sequences"] > 1


def _in_ram(question: FitQuestion, answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return ways to keep part of the model in RAM; what has no experts or no second pool refuses them by itself.

    A file that llama.cpp runs already is taken as it is, everything else as GGUF Q4_K_M.
    """
    if question.offloads or question.draft is not None:
        return []
    as_it_is = answer["runtime"] == "llama.cpp"
    changes = {**_free(question), **({} if as_it_is else {"runtime": "llama.cpp", "precision": "q4_k_m"})}
    text = "" if as_it_is else "weights as GGUF Q4_K_M, "
    return [
        (f"{text}experts of some layers in RAM", {**changes, "cpu_experts": "auto"}),
        (f"{text}some layers in RAM", {**changes, "gpu_layers": "auto"}),
    ]


def _free(question: FitQuestion) -> dict[str, Any]:
    return {name: None for name in ("tp", "pp", "ep", "dp") if getattr(question, name) is not None}
