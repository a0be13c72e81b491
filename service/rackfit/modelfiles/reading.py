"""A model file, or a folder of them, as an architecture with its precision and its exact bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rackfit.errors import UnsupportedError, UsageError
from rackfit.memory.domain import Model
from rackfit.modelfiles.config import read_config
from rackfit.modelfiles.fields import language_part
from rackfit.modelfiles.gguf import read_gguf
from rackfit.modelfiles.plan import model_of
from rackfit.modelfiles.quantization import section_of, stated_precision
from rackfit.modelfiles.safetensors import parameters, read_header, shards_of

MOST_CONFIG = 2_000_000
"""Bytes of a config.json: the longest have lists of a few hundred modules."""


@dataclass(frozen=True)
class ModelFile:
    """A model that was read from a file."""

    name: str
    model: Model
    precision_id: str | None
    bytes: int | None
    """Bytes of the weights on disk; None where only a config was there."""
    params: int | None
    """Parameters that the tensors hold; None where no table of tensors was there."""
    with_towers: bool
    notes: tuple[str, ...]


def read_model_file(path: Path) -> ModelFile:
    """Return the model of a config.json, a .safetensors or .gguf file, or a folder with a config and weights.

    Raises:
        UsageError: there is no such file. UnsupportedError: it cannot be read, with the reason.
    """
    if path.is_dir():
        found = sorted(path.glob("*.gguf"))
        if not (path / "config.json").is_file() and not found:
            raise UnsupportedError(f"{path.name}: neither a config.json nor a .gguf file in this folder")
        return _from_config(path / "config.json") if (path / "config.json").is_file() else _from_gguf(_one(path, found))
    if not path.is_file():
        raise UsageError(f"no file {path}")
    try:
        if path.suffix.casefold() == ".gguf":
            return _from_gguf(path)
        if path.suffix.casefold() == ".safetensors":
            return _from_config(path.parent / "config.json", path)
        return _from_config(path)
    except OSError as error:
        raise UnsupportedError(f"{path.name}: cannot be read ({error.strerror or error})") from None


def _one(folder: Path, found: Sequence[Path]) -> Path:
    """Return the only model among the GGUF files of a folder; parts of a split one are one."""
    firsts = [one for one in found if shards_of(one)[0] == one and "mmproj" not in one.name.casefold()]
    if len(firsts) != 1:
        names = ", ".join(one.name for one in firsts[:5])
        raise UsageError(f"{folder.name}: {len(firsts)} GGUF models in this folder: name one of {names}")
    return firsts[0]


def _from_gguf(path: Path) -> ModelFile:
    found, notes = read_gguf(path)
    precision = f"ggufmix_{found.file_type}" if found.file_type else None
    if precision is None:
        notes.append("general.file_type is not in the file or not known: the bytes are the file's own")
    return ModelFile(path.stem, model_of(found.plan), precision, found.bytes, found.params, False, tuple(notes))


def read_text(text: str, name: str) -> ModelFile:
    """Return the model of the text of a config.json.

    Raises:
        UsageError: the text is too long or no JSON. UnsupportedError: it describes no model that is read here.
    """
    if len(text) > MOST_CONFIG:
        raise UsageError(f"{name} has {len(text):,} characters: expected at most {MOST_CONFIG:,}")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is no JSON: {str(error)[:100]}") from None
    return _described(config, name)


def _described(config: Any, name: str, quantization: dict[str, Any] | None = None) -> ModelFile:
    plan, notes = read_config(config, name)
    part, _ = language_part(config, name)
    if quantization and section_of(config, part) is None:
        config = {**config, "quantization_config": {"quant_method": "modelopt", **quantization}}
    precision, why = stated_precision(config, part)
    notes += [f"precision: {why}"] if why else []
    return ModelFile(name, model_of(plan), precision, None, None, True, tuple(notes))


def _from_config(path: Path, weights: Path | None = None) -> ModelFile:
    """Return the model of a config file, with the bytes of the weights that lie beside it or were named."""
    if not path.is_file():
        raise UnsupportedError(
            f"{weights.name if weights else path.name}: no config.json beside it, so layers and cache are not known"
        )
    name = _name(path)
    config = _json(path)
    beside = path.with_name("hf_quant_config.json")
    found = _described(config, name, _json(beside) if beside.is_file() else None)
    files = shards_of(weights) if weights else _weights(path.parent)
    if not files:
        return found
    tensors = [tensor for file in files for tensor in read_header(file)]
    part, _ = language_part(config, name)
    params = parameters(tensors, section_of(config, part))
    off = params / found.model.params_total - 1
    notes = list(found.notes)
    if abs(off) > 0.01:
        notes.append(
            f"the tensors hold {params:,} parameters, the config makes {found.model.params_total:,} ({off:+.1%})"
        )
    return ModelFile(
        name, found.model, found.precision_id, sum(tensor.bytes for tensor in tensors), params, True, tuple(notes)
    )


def _name(path: Path) -> str:
    return path.parent.resolve().name or "model" if path.name == "config.json" else path.stem


def _json(path: Path) -> Any:
    if path.stat().st_size > MOST_CONFIG:
        raise UnsupportedError(
            f"{path.name}: {path.stat().st_size:,} bytes: expected a config of at most {MOST_CONFIG:,}"
        )
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnsupportedError(f"{path.name} is no JSON: {str(error)[:100]}") from None


def _weights(folder: Path) -> list[Path]:
    """Return the files of weights of a folder: those that its index names, else all.

    Raises:
        UnsupportedError: the index names a file that is not there.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        table = _json(index)
        named = sorted(set(table.get("weight_map", {}).values())) if isinstance(table, dict) else []
        missing = [one for one in named if not (folder / one).is_file()]
        if missing:
            raise UnsupportedError(
                f"{folder.name}: {len(missing)} of {len(named)} files are missing, first {missing[0]}"
            )
        return [folder / one for one in named]
    found = sorted(folder.glob("*.safetensors"))
    return sorted({part for one in found for part in shards_of(one)})
