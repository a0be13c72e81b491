"""From a name to a record: one rule for commands, SQL functions and pages.

A name is looked up as it is, then with the vendor or organisation in front that people leave out, then, for models,
without the format at its end (`Qwen/Qwen3-8B-AWQ` is Qwen3-8B in AWQ). Case, spaces, hyphens and underscores never
matter. A name of several records is a class and is never taken for one of them silently.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from rackfit.errors import AmbiguousNameError, UnknownNameError
from rackfit.records.names import name_key

NEAR_NAMES = 5
"""Near names offered with an unknown one."""

NEAR_ENOUGH = 0.55
"""Similarity from which a name counts as near, difflib's ratio."""

OWNERS = {"accelerator": ("accelerators", "vendor"), "system": ("systems", "provider")}
"""Kinds whose names people write without the company in front, and the column that names it."""

CONTAINERS = frozenset({"gguf", "mlx", "safetensors", "hf"})
"""Words at the end of a hub id that name a file format and no precision."""

LONGEST_FORMAT = 4
"""Most words that a format at the end of a hub id has."""

_EXACT = "select target_id, alias, is_class from aliases where kind = ? and alias_key = ? order by rank, target_id"
_TAIL = (
    "select target_id, alias, is_class from aliases where kind = ? and instr(alias_key, '/') > 0 "
    "and substr(alias_key, instr(alias_key, '/') + 1) = ? order by rank, target_id"
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a name stands for: the records' keys, the usual reading first, and how the name is written."""

    kind: str
    ids: tuple[str, ...]
    is_class: bool
    alias: str
    checkpoint_id: str | None = None
    precision_id: str | None = None
    """For a model named by a checkpoint or with a format: its own precision or the format's."""

    @property
    def id(self) -> str:
        """Key of the record, or of the usual reading of a class."""
        return self.ids[0]


def resolve(connection: sqlite3.Connection, kind: str, name: str, allow_class: bool = False) -> Resolved:
    """Return what a name of one kind (accelerator, system, model, precision, ...) stands for.

    Raises:
        UnknownNameError: with near names.
        AmbiguousNameError: the name is a class and `allow_class` is false.
    """
    return resolve_first(connection, (kind,), name, allow_class)


def resolve_first(
    connection: sqlite3.Connection, kinds: Sequence[str], name: str, allow_class: bool = False
) -> Resolved:
    """Return what a name stands for among several kinds: complete names before shortened ones, then in the order given.

    Raises:
        UnknownNameError: with near names of all the kinds.
        AmbiguousNameError: the name is a class and `allow_class` is false.
    """
    key = name_key(name)
    for lookup in (_complete, _shortened, _with_format):
        for kind in kinds:
            found = lookup(connection, kind, key)
            if found is None:
                continue
            if found.is_class and not allow_class:
                raise AmbiguousNameError(kind, name, found.ids)
            return found
    raise UnknownNameError(" or ".join(kinds), name, near_names(connection, kinds, key))


def _resolved(kind: str, rows: list[tuple[str, str, int]]) -> Resolved | None:
    if not rows:
        return None
    ids = tuple(dict.fromkeys(row[0] for row in rows))
    return Resolved(kind, ids, len(ids) > 1 or bool(rows[0][2]), rows[0][1])


def _rows(connection: sqlite3.Connection, sql: str, kind: str, key: str) -> list[tuple[str, str, int]]:
    return [tuple(row) for row in connection.execute(sql, (kind, key))]


def _complete(connection: sqlite3.Connection, kind: str, key: str) -> Resolved | None:
    """Look a name up as it is. A model's name may be that of a checkpoint, which then says the precision."""
    found = _resolved(kind, _rows(connection, _EXACT, kind, key))
    if kind != "model":
        return found
    return _joined(found, _checkpoint(connection, _rows(connection, _EXACT, "checkpoint", key)))


def _shortened(connection: sqlite3.Connection, kind: str, key: str) -> Resolved | None:
    """Look a name up with the vendor, provider or organisation that was left out."""
    if kind in OWNERS:
        table, column = OWNERS[kind]
        rows: list[tuple[str, str, int]] = []
        for (owner,) in connection.execute(f"select distinct {column} from {table}").fetchall():
            rows += _rows(connection, _EXACT, kind, f"{name_key(owner)} {key}")
        return _resolved(kind, rows)
    if kind == "model":
        found = _resolved(kind, _rows(connection, _TAIL, kind, key))
        return _joined(found, _checkpoint(connection, _rows(connection, _TAIL, "checkpoint", key)))
    if kind == "checkpoint":
        return _resolved(kind, _rows(connection, _TAIL, kind, key))
    container, _, rest = key.partition(" ")
    if kind == "precision" and container in CONTAINERS and rest:
        return _resolved(kind, _rows(connection, _EXACT, kind, rest))
    return None


def _checkpoint(connection: sqlite3.Connection, rows: list[tuple[str, str, int]]) -> Resolved | None:
    """Turn checkpoints into their architectures; checkpoints of one precision also give that.

    A name of several checkpoints of one architecture is no class: they have the same bytes.
    """
    if not rows:
        return None
    targets = tuple(dict.fromkeys(row[0] for row in rows))
    marks = ", ".join("?" * len(targets))
    facts = connection.execute(
        f"select model_id, native_precision_id, checkpoint_id from checkpoints where checkpoint_id in ({marks}) "
        "order by checkpoint_id",
        targets,
    ).fetchall()
    models = tuple(dict.fromkeys(fact[0] for fact in facts))
    precisions = {fact[1] for fact in facts}
    return Resolved(
        "model",
        models,
        is_class=len(models) > 1,
        alias=rows[0][1],
        checkpoint_id=facts[0][2] if len(facts) == 1 else None,
        precision_id=facts[0][1] if len(precisions) == 1 else None,
    )


def _joined(model: Resolved | None, checkpoint: Resolved | None) -> Resolved | None:
    """Put together what a name means as an architecture and as a checkpoint of it; the architecture decides."""
    if model is None or checkpoint is None:
        return model or checkpoint
    if checkpoint.ids == model.ids:
        return replace(model, checkpoint_id=checkpoint.checkpoint_id, precision_id=checkpoint.precision_id)
    return model


def _formats(connection: sqlite3.Connection, key: str) -> Iterator[tuple[str, str | None]]:
    """Yield (rest of the name, precision) for each way to read the last words as a format, longest first."""
    words = key.split(" ")
    for length in range(min(LONGEST_FORMAT, len(words) - 1), 0, -1):
        rest, last = " ".join(words[:-length]), " ".join(words[-length:])
        found = _resolved("precision", _rows(connection, _EXACT, "precision", last))
        if found is not None and not found.is_class:
            head, _, container = rest.rpartition(" ")
            yield (head if container in CONTAINERS else rest), found.id
        elif last in CONTAINERS:
            yield rest, None


def _with_format(connection: sqlite3.Connection, kind: str, key: str) -> Resolved | None:
    """Read the end of a hub id as a format. Whoever repackaged the model may stand as its organisation."""
    if kind != "model":
        return None
    for rest, precision in _formats(connection, key):
        for base in (rest, rest.split("/", 1)[-1]):
            found = _complete(connection, kind, base) or _shortened(connection, kind, base)
            if found is None:
                continue
            chosen = precision or found.precision_id
            return replace(found, precision_id=chosen, checkpoint_id=None)
    return None


def near_names(connection: sqlite3.Connection, kinds: Sequence[str], key: str) -> list[str]:
    """Return up to five names like this one, the likest first, one per record."""
    asked = set(kinds) | ({"checkpoint"} if "model" in kinds else set())
    marks = ", ".join("?" * len(asked))
    rows = connection.execute(
        f"select alias_key, alias, target_id from aliases where kind in ({marks})", tuple(sorted(asked))
    ).fetchall()
    words = set(key.replace("/", " ").split())
    shared = sorted(rows, key=lambda row: (-len(words & set(row[0].replace("/", " ").split())), row[0]))
    matcher = SequenceMatcher(b=key.rsplit("/", 1)[-1])
    scored = []
    for alias_key, alias, target in [*shared[:200], *(row for row in shared[200:] if key[:4] in row[0])][:600]:
        matcher.set_seq1(alias_key.rsplit("/", 1)[-1])
        if matcher.quick_ratio() >= NEAR_ENOUGH and (ratio := matcher.ratio()) >= NEAR_ENOUGH:
            scored.append((-ratio, alias, target))
    best: dict[str, str] = {}
    for _, alias, target in sorted(scored):
        best.setdefault(target, alias)
    return list(dict.fromkeys(best.values()))[:NEAR_NAMES]
