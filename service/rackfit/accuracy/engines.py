"""From what a source prints about its engine to the engine's rules of that version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rackfit.errors import UnsupportedError
from rackfit.memory.domain import Budget
from rackfit.memory.versions import budget_at, named_engine, version_key

STACKS = (
    ("tensorrt", "tensorrt-llm"),
    ("trt-llm", "tensorrt-llm"),
    ("trtllm", "tensorrt-llm"),
    ("gaudi", "vllm-gaudi"),
    ("ascend", "vllm-ascend"),
    ("vllm", "vllm"),
    ("ktransformers", "ktransformers"),
    ("sglang", "sglang"),
    ("lmdeploy", "lmdeploy"),
    ("turbomind", "lmdeploy"),
    ("text-generation-inference", "tgi"),
    ("text generation inference", "tgi"),
    ("tgi", "tgi"),
    ("exllamav3", "exllamav3"),
    ("exllamav2", "exllamav2"),
    ("exllama", "transformers"),
    ("ik_llama", "llama.cpp"),
    ("llama.cpp", "llama.cpp"),
    ("ollama", "ollama"),
    ("llama", "llama.cpp"),
    ("ggml", "llama.cpp"),
    ("lm studio", "lm-studio"),
    ("mlx", "mlx-lm"),
    ("accelerate", "transformers"),
    ("autoawq", "autoawq"),
    ("litgpt", "litgpt"),
    ("gpt-fast", "transformers"),
    ("docs.mistral", "transformers"),
    ("transformers", "transformers"),
)
"""Word in the engine's name -> engine whose rules hold, the more particular words first. Eager PyTorch stacks without
rules of their own hold weights, cache and little more: those of Transformers are used, and the estimate says so."""
STAND_INS = frozenset({"ik_llama", "exllama", "accelerate", "gpt-fast", "docs.mistral"})
"""Words of stacks that have no rules of their own."""
DEFAULT = "vllm"
PREBUILT = "Engine"
"""What NIM's optimised profiles are: engines that were built beforehand (NVIDIA NIM for LLMs, support matrix)."""
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

    Raises:
        UnsupportedError: an engine that is known and whose budget is not.
    """
    said = text.casefold()
    word, runtime = next(((word, runtime) for word, runtime in STACKS if word in said), ("", ""))
    assumed: list[str] = []
    if not runtime:
        runtime = "llama.cpp" if gguf or vendor == "Apple" else DEFAULT
        unknown = f", nothing is on record of {text!r}" if text.strip() else ""
        assumed.append(f"engine: {runtime} assumed{unknown}")
    elif word in STAND_INS and not any(own in said for own in ("transformers", "autoawq", "litgpt")):
        assumed.append(f"engine: rules of {runtime} used for {text}")
    known = [budget for budget in budgets if budget.runtime_id == runtime]
    if not known:
        raise UnsupportedError(f"no memory budget on record for {runtime}: how it divides memory is not known")
    if runtime == "llama.cpp":
        return Engine(_llama(said, known), tuple(assumed))
    if runtime == "transformers":
        return Engine(_transformers(said, known), tuple(assumed))
    engine = PREBUILT if re.search(r"\bnim\b", said) and runtime == "tensorrt-llm" else named_engine(known, said)
    version = _version(said, word, runtime)
    if version is not None:
        return Engine(budget_at(known, version, engine), tuple(assumed))
    budget = _by_date(said, known, engine)
    if budget is not None:
        return Engine(budget, tuple(assumed))
    budget = budget_at(known, None, engine)
    newest = f"the newest rules of {runtime}" if budget.version_to is None else f"rules of {budget.budget_id}"
    assumed.append(f"version: {newest} assumed")
    older = sorted(known, key=lambda one: version_key(one.version_from), reverse=True)
    return Engine(budget, tuple(assumed), tuple(one for one in older if one is not budget))


def _transformers(said: str, known: list[Budget]) -> Budget:
    """Return the rules of the version that is named, of the time of torch 2.0, else the newest."""
    match = re.search(r"transformers\D{0,3}(\d+\.\d+(?:\.\d+)?)", said)
    if match is not None:
        return budget_at(known, version_key(match[1]))
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


def _version(said: str, word: str, runtime: str) -> tuple[int, ...] | None:
    """Return the version that is printed: anywhere for vLLM and SGLang, right behind the name for the others."""
    near = rf"{re.escape(word)}[^\d,;(]{{0,16}}v?(\d+\.\d+(?:\.\d+)?)" if word else r"(?!)"
    loose = r"(?<![\d-])v?(0\.\d+(?:\.\d+)?)"
    match = re.search(loose if runtime in ("vllm", "sglang") else near, said)
    return None if match is None or "0.1.dev" in said else version_key(match[1])


def _by_date(said: str, known: list[Budget], engine: str | None) -> Budget | None:
    match = re.search(r"(20\d\d)(?:-(\d\d))?(?:-(\d\d))?", said)
    if match is None:
        return None
    date = "-".join(part for part in match.groups() if part)
    meant = [budget for budget in known if engine is None or budget.engine == engine]
    dated = [
        budget for budget in meant if budget.released and budget.engine != "V0" and budget.released[: len(date)] <= date
    ]
    if dated:
        return max(dated, key=lambda budget: version_key(budget.version_from))
    oldest = min(known, key=lambda budget: version_key(budget.version_from))
    return oldest if oldest.released and date[:4] <= oldest.released[:4] else None
