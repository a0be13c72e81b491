"""Headers of GGUF files: metadata and the table of tensors, without reading a weight.

Format: magic, version, counts, key-value pairs, tensor infos (ggml, docs/gguf.md). Long lists of words, such as the
tokenizer's, are counted and not kept.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from rackfit.errors import UnsupportedError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Type of a value -> how it is unpacked."""
STRING, ARRAY = 8, 9
MOST_PAIRS, MOST_TENSORS, MOST_TEXT, MOST_VALUES = 65_536, 1_000_000, 2**26, 2**24


@dataclass(frozen=True)
class Counted:
    """A list of words that was counted and not kept."""

    length: int


@dataclass(frozen=True)
class Header:
    """What the start of a file says."""

    metadata: dict[str, Any] = field(default_factory=dict)
    tensors: tuple[tuple[str, int], ...] = ()
    """Name and number of values of each tensor."""


def read_header(path: Path) -> Header:
    """Return the header of one file.

    Raises:
        UnsupportedError: the file is none of the format, of a version that nobody writes any more, or cut short.
    """
    with path.open("rb") as file:
        reader = _Reader(file, path.name)
        if file.read(4) != MAGIC:
            raise UnsupportedError(f"{path.name}: no GGUF file: it does not start with GGUF")
        version = reader.value("I")
        if version not in VERSIONS:
            raise UnsupportedError(f"{path.name}: GGUF version {version}: expected 2 or 3, little-endian")
        tensors, pairs = reader.count(MOST_TENSORS, "tensors"), reader.count(MOST_PAIRS, "metadata")
        metadata = {}
        for _ in range(pairs):
            key = reader.text()
            metadata[key] = reader.typed(reader.value("I"))
        return Header(metadata, tuple(reader.tensor() for _ in range(tensors)))


class _Reader:
    def __init__(self, file: BinaryIO, name: str) -> None:
        self.file, self.name = file, name

    def bytes(self, length: int) -> bytes:
        found = self.file.read(length)
        if len(found) != length:
            raise UnsupportedError(f"{self.name}: cut short within its header")
        return found

    def value(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.bytes(struct.calcsize(f"<{code}")))[0]

    def count(self, most: int, what: str) -> int:
        number = int(self.value("Q"))
        if number > most:
            raise UnsupportedError(f"{self.name}: {number:,} {what}: the header is damaged")
        return number

    def text(self) -> str:
        return self.bytes(self.count(MOST_TEXT, "bytes of text")).decode("utf-8", "replace")

    def typed(self, kind: int) -> Any:
        if kind == STRING:
            return self.text()
        if kind in SCALARS:
            return self.value(SCALARS[kind])
        if kind != ARRAY:
            raise UnsupportedError(f"{self.name}: metadata of type {kind}: the header is damaged")
        inner, length = self.value("I"), self.count(MOST_VALUES, "values in a list")
        if inner in SCALARS:
            size = struct.calcsize(f"<{SCALARS[inner]}")
            return list(struct.unpack(f"<{length}{SCALARS[inner]}", self.bytes(length * size)))
        for _ in range(length):
            self.typed(inner)
        return Counted(length)

    def tensor(self) -> tuple[str, int]:
        name, values = self.text(), 1
        dimensions = int(self.value("I"))
        if dimensions > 8:
            raise UnsupportedError(f"{self.name}: a tensor with {dimensions} dimensions: the header is damaged")
        for _ in range(dimensions):
            values *= int(self.value("Q"))
        self.value("I")
        self.value("Q")
        return name, values
