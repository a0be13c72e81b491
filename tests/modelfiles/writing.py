"""Model files small enough for tests: headers as the formats have them, with no weights behind them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    """Return a value with its type in front, as GGUF has it."""
    if isinstance(value, bool):
        return struct.pack("<I?", BOOL, value)
    if isinstance(value, int):
        return struct.pack("<II", U32, value)
    if isinstance(value, float):
        return struct.pack("<If", F32, value)
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _text(value)
    inner = BOOL if isinstance(value[0], bool) else STRING if isinstance(value[0], str) else I32
    head = struct.pack("<IIQ", ARRAY, inner, len(value))
    if inner == STRING:
        return head + b"".join(_text(one) for one in value)
    return head + struct.pack(f"<{len(value)}{'?' if inner == BOOL else 'i'}", *value)


def write_gguf(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, Sequence[int]] | None = None, version: int = 3
) -> Path:
    """Write the header of a GGUF file, and as many zeros behind it as make it look like one."""
    tensors = tensors or {}
    parts = [b"GGUF", struct.pack("<IQQ", version, len(tensors), len(metadata))]
    parts += [_text(key) + _value(value) for key, value in metadata.items()]
    for name, shape in tensors.items():
        parts.append(_text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0))
    path.write_bytes(b"".join(parts))
    return path


def write_safetensors(path: Path, tensors: Mapping[str, tuple[str, Sequence[int], int]], data: bool = True) -> Path:
    """Write a safetensors file of tensors given as (dtype, shape, bytes); the data is a hole in the file."""
    header, at = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        if data:
            file.truncate(8 + len(text) + at)
    return path
