"""Which MODEL arguments are paths: kept apart, so that a name costs no reader of files."""

from __future__ import annotations

from pathlib import Path

ENDINGS = (".json", ".safetensors", ".gguf")


def is_model_path(text: str) -> bool:
    """Return whether a MODEL argument is a path: a known ending, or a folder that is there.

    >>> is_model_path("Qwen/Qwen3-8B"), is_model_path("config.json"), is_model_path("model-00001-of-00003.gguf")
    (False, True, True)
    """
    if text.casefold().endswith(ENDINGS):
        return True
    return _is_folder(text)


def is_own_file(text: str) -> bool:
    """Return whether a MODEL argument is to be read as a file: published GGUF files have names that look like paths."""
    return is_model_path(text) and (not text.casefold().endswith(".gguf") or Path(text).expanduser().exists())


def _is_folder(text: str) -> bool:
    return ("/" in text or "\\" in text or text in (".", "..")) and Path(text).expanduser().is_dir()
