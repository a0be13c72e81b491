"""From what a source prints about its engine to the engine's rules of that version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rackfit.memory.domain import Budget
from rackfit.memory.versions import FIRST_V1_BY_DEFAULT, budget_at, version_key

STACKS = (
    ("nim 24.05 trt-llm", "vllm"),
    ("trt-llm", "vllm"),
    ("tensorrt", "vllm"),
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("exllama", "transformers"),
    ("llama", "llama.cpp"),
    ("ggml", "llama.cpp"),
    ("lm studio", "llama.cpp"),
    ("mlx", "mlx-lm"),
    ("accelerate", "transformers"),
    ("autoawq", "autoawq"),
    ("litgpt", "litgpt"),
    ("gpt-fast", "transformers"),
    ("docs.mistral", "transformers"),
    ("transformers", "transformers"),
)
"""Word in the engine's name -> engine whose rules are nearest. Eager PyTorch stacks hold weights, cache and little
more; an engine without rules of its own that reserves a share of the card is read as vLLM, and the estimate says so."""
OWN_RULES = ("vllm", "sglang", "llama.cpp", "transformers", "litgpt", "autoawq", "mlx")
DEFAULT = "vllm"
FIRST_BUILD_WITH_WINDOWS = 5500
"""Build of llama.cpp from which on windows surely are caches of their own (end of May 2025)."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The rules that a case falls under, and what had to be assumed to find them."""

    budget: Budget
    assumed: tuple[str, ...]
    others: tuple[Budget, ...] = ()
    """Rules of other versions, newest first, where the source states none."""


def find_engine(text: str, budgets: tuple[Budget, ...], gguf: bool, vendor: str | None) -> Engine:
    """Return the rules for an engine as a source prints it.

    Args:
        text: for example `vLLM 0.11.0 V1`, `llama.cpp (May 2024)`, `transformers 4.51.3, torch 2.6.0`, or empty.
        budgets: all budgets.
        gguf: whether the weights are a GGUF file, which decides where the engine is not stated.
        vendor: vendor of the device, likewise.
    """
    said = text.casefold()
    runtime = next((runtime for word, runtime in STACKS if word in said), None)
    assumed: list[str] = []
    if runtime is None:
        runtime = "llama.cpp" if gguf or vendor == "Apple" else DEFAULT
        assumed.append(f"engine: {runtime} assumed")
    elif not any(name in said for name in OWN_RULES):
        assumed.append(f"engine: rules of {runtime} used for {text}")
    known = [budget for budget in budgets if budget.runtime_id == runtime]
    if runtime == "llama.cpp":
        return Engine(_llama(said, known), tuple(assumed))
    if runtime == "transformers":
        return Engine(_transformers(said, known), tuple(assumed))
    budget = _by_version(said, known) or _by_date(said, known)
    if budget is not None:
        return Engine(budget, tuple(assumed))
    newest = next(one for one in known if one.version_to is None)
    older = sorted(known, key=lambda one: version_key(one.version_from), reverse=True)
    assumed.append(f"version: the newest rules of {runtime} assumed")
    return Engine(newest, tuple(assumed), tuple(one for one in older if one is not newest))


def _transformers(said: str, known: list[Budget]) -> Budget:
    """Return the rules of the version that is named, of the time of torch 2.0, else the newest."""
    match = re.search(r"transformers\D{0,3}(\d+\.\d+(?:\.\d+)?)", said)
    if match is not None:
        return budget_at(known, version_key(match[1]), v0=False)
    if "torch 2.0" in said:
        return min(known, key=lambda budget: version_key(budget.version_from))
    return next(budget for budget in known if budget.version_to is None)


def _llama(said: str, known: list[Budget]) -> Budget:
    """Return the rules of the server for builds since June 2025 and Ollama 0.30, of the library for older ones.

    Windows are caches of their own since pull request 13194 of May 2025; before, every layer kept the whole context.
    """
    build = re.search(r"\bb(\d{4,5})\b", said)
    newer = re.search(r"ollama 0\.(3\d|[4-9]\d)|20(2[6-9]|[3-9]\d)|2025-(0[6-9]|1[0-2])", said) is not None or (
        build is not None and int(build[1]) >= FIRST_BUILD_WITH_WINDOWS
    )
    return next(budget for budget in known if (budget.version_to is None) == newer)


def _by_version(said: str, known: list[Budget]) -> Budget | None:
    match = re.search(r"(?<![\d-])v?(0\.\d+(?:\.\d+)?)", said)
    if match is None or "0.1.dev" in said:
        return None
    version = version_key(match[1])
    return budget_at(known, version, bool(re.search(r"\bv0\b", said)) or version < FIRST_V1_BY_DEFAULT)


def _by_date(said: str, known: list[Budget]) -> Budget | None:
    match = re.search(r"(20\d\d)(?:-(\d\d))?(?:-(\d\d))?", said)
    if match is None:
        return None
    date = "-".join(part for part in match.groups() if part)
    dated = [
        budget for budget in known if budget.released and budget.engine != "V0" and budget.released[: len(date)] <= date
    ]
    if dated:
        return max(dated, key=lambda budget: version_key(budget.version_from))
    oldest = min(known, key=lambda budget: version_key(budget.version_from))
    return oldest if oldest.released and date[:4] <= oldest.released[:4] else None
