"""Headers of safetensors files: bytes and parameters of every tensor, without reading a weight.

Format: eight bytes with the length of a JSON header, the header, the data (huggingface/safetensors, README).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rackfit.errors import UnsupportedError
from rackfit.modelfiles.quantization import bits_of, packed

MOST_HEADER = 100_000_000
"""Bytes above which the format's own reader refuses a header."""
CONTAINERS = {"I32": 32, "U32": 32}
"""Integer types that hold several weights each."""
SCALES = re.compile(
    r"(^|\.|_)(scales?|weight_scale(_inv|_2)?|input_scale|zeros?|qzeros|weight_zero_point|g_idx|biases)$"
)
"""Names of what goes with quantised weights and is no parameter of the model."""
SHARD = re.compile(r"^(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<end>\.\w+)$")


@dataclass(frozen=True, slots=True)
class Stored:
    """One tensor as it lies in a file."""

    name: str
    dtype: str
    values: int
    bytes: int


def read_header(path: Path) -> list[Stored]:
    """Return the tensors of a file.

    Raises:
        UnsupportedError: the file is none of the format, or its data is cut short.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= length <= min(MOST_HEADER, size - 8):
            raise UnsupportedError(
                f"{path.name}: no safetensors file: its header would have {length:,} bytes of {size:,}"
            )
        text = file.read(length)
    try:
        header = json.loads(text)
        found = [_stored(name, entry) for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UnsupportedError(f"{path.name}: its header is no table of tensors") from None
    end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    if 8 + length + end > size:
        raise UnsupportedError(f"{path.name}: cut short: {8 + length + end:,} bytes expected, {size:,} are there")
    return found


def _stored(name: str, entry: dict[str, Any]) -> Stored:
    values = 1
    for side in entry["shape"]:
        values *= int(side)
    first, last = entry["data_offsets"]
    return Stored(name, str(entry["dtype"]), values, int(last) - int(first))


def parameters(tensors: list[Stored], quantization: dict[str, Any] | None) -> int:
    """Return the parameters that the tensors hold: packed ones unpacked, scales and zero points left out.

    A container of 32 bits holds 32 / bits weights, the bits being those of the group that names the tensor.
    """
    total = 0
    for tensor in tensors:
        if SCALES.search(tensor.name):
            continue
        bits = bits_of(quantization, tensor.name) if quantization and tensor.dtype in CONTAINERS else None
        total += tensor.values * packed(bits, CONTAINERS[tensor.dtype]) if bits else tensor.values
    return total


def shards_of(path: Path) -> list[Path]:
    """Return every file of a split model, the one given among them; a whole file is its own only one.

    Raises:
        UnsupportedError: a part is missing, with its name.
    """
    matched = SHARD.match(path.name)
    if matched is None:
        return [path]
    names = [
        f"{matched['stem']}-{number:05d}-of-{matched['count']}{matched['end']}"
        for number in range(1, int(matched["count"]) + 1)
    ]
    missing = [name for name in names if not (path.parent / name).is_file()]
    if missing:
        raise UnsupportedError(f"{path.name}: {len(missing)} of {len(names)} parts are missing, first {missing[0]}")
    return [path.parent / name for name in names]
