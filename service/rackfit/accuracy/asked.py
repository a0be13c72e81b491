"""Settings of a case that remember which of them an estimate looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Settings(Mapping[str, str]):
    """The key=value pairs of other_config. A key that nothing asks for has no part in the estimate, and is named."""

    __slots__ = ("_asked", "_pairs")

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._pairs = dict(pairs)
        self._asked: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self._asked.add(key)
        return self._pairs[key]

    def __contains__(self, key: object) -> bool:
        self._asked.add(str(key))
        return key in self._pairs

    def __iter__(self) -> Iterator[str]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def unread(self) -> tuple[str, ...]:
        """Keys that nothing has asked for, as they were written."""
        return tuple(key for key in self._pairs if key not in self._asked)
