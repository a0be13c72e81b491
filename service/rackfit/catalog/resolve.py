"""From a name to a record: one rule for commands, SQL functions and pages.

A name is looked up as it is, then with the vendor or organisation in front that people leave out, then, for models,
without the format at its end (`Qwen/Qwen3-8B-AWQ` is Qwen3-8B in AWQ). Case, spaces, hyphens and underscores never
matter. What is then still unknown is read as others write it (`catalog.spellings`): re-uploads, tags, names run
together, then another stage of training of the same release (`-Base` beside `-Instruct`), which has the same shapes;
the answer says so. A name of several records is a class and is never taken for one of them silently.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import takewhile

from rackfit.catalog.hardware_spellings import hardware_spellings
from rackfit.catalog.spellings import (
    format_spellings,
    is_empty,
    model_spellings,
    names_format,
    squashed,
    without_stage,
)
from rackfit.errors import AmbiguousNameError, UnknownNameError
from rackfit.memory.precision_names import parse_precision
from rackfit.records.names import name_key

NEAR_NAMES = 5
"""Near names offered with an unknown one."""

NEAR_ENOUGH = 0.55
"""Similarity from which a name counts as near, difflib's ratio."""

OWNERS = {"accelerator": ("accelerators", "vendor"), "system": ("systems", "provider")}
"""Kinds whose names people write without the company in front, and the column that names it."""

SHORTEST_SQUASHED = 4
"""Letters and digits from which names run together are compared: fewer fit too much."""

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
    respelled: bool = False
    """Whether the name had to be read as others write it; who shows the answer says what it was taken for."""

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
    for lookup in (_complete, _shortened, _with_format, _respelled, _other_stage):
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
    if kind == "precision" and is_empty(container) and rest:
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
    """Yield (rest of the name, precision) for each way to read the last words as a format, longest first.

    Words that say nothing of a format are dropped one by one from the end: `4bit mlx` is a format before it is not.
    """
    words, organisation = key.split(" "), key.rpartition("/")[0]
    while True:
        for length in range(min(LONGEST_FORMAT, len(words) - 1), 0, -1):
            rest, last = words[:-length], " ".join(words[-length:])
            found = _format(connection, organisation, last)
            if found is not None:
                while len(rest) > 1 and is_empty(rest[-1]):
                    rest.pop()
                yield " ".join(rest), found
        if len(words) < 2 or not is_empty(words[-1]):
            return
        words.pop()
        yield " ".join(words), None


def _format(connection: sqlite3.Connection, organisation: str, words: str) -> str | None:
    """Return the precision that the last words of a hub id name, read as the organisation writes it first."""
    for spelling in dict.fromkeys((*format_spellings(organisation, words), words)):
        found = _resolved("precision", _rows(connection, _EXACT, "precision", spelling))
        if found is not None and not found.is_class and not found.id.startswith("kv_"):
            return found.id
        if spelling != words or names_format(words):
            parsed = parse_precision(spelling).weight_id
            if parsed is not None:
                return parsed
    return None


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


def _respelled(connection: sqlite3.Connection, kind: str, key: str) -> Resolved | None:
    """Read a name as others write it: re-uploads, tags, machines around a chip, names run together."""
    if kind != "model" and kind not in OWNERS:
        return None
    run = RunTogether(connection, kind)
    if kind == "model":
        found = _respelled_model(connection, key, run)
    else:
        spellings = (key, *hardware_spellings(key))
        found = next(filter(None, (_plainly(connection, kind, name, run) for name in spellings)), None)
    return None if found is None else replace(found, respelled=True)


def _respelled_model(connection: sqlite3.Connection, key: str, run: RunTogether) -> Resolved | None:
    """Read a model's name as others write it, with the format that may stand at its end."""
    for organisation, base in (("", key), *model_spellings(key)):
        found = _plainly(connection, "model", base, run)
        if found is not None:
            return replace(found, checkpoint_id=None)
        for rest, precision in _formats(connection, f"{organisation}/{base}" if organisation else base):
            found = _plainly(connection, "model", rest.removeprefix(f"{organisation}/"), run)
            if found is not None:
                return replace(found, precision_id=precision or found.precision_id, checkpoint_id=None)
    return None


def _other_stage(connection: sqlite3.Connection, kind: str, key: str) -> Resolved | None:
    """Read a hub id as another stage of a release on record, by the same organisation and of one architecture.

    The format of the weights does not follow from the shapes: it stays with what the name says of it.
    """
    if kind != "model":
        return None
    for rest, precision in ((key, None), *_formats(connection, key)):
        wanted = without_stage(rest)
        if wanted is None:
            continue
        organisation = wanted.partition("/")[0]
        rows = connection.execute(
            "select aliases.alias_key, coalesce(checkpoints.model_id, aliases.target_id), aliases.alias from aliases "
            "left join checkpoints on kind = 'checkpoint' and checkpoint_id = target_id "
            "where kind in ('model', 'checkpoint') and alias_key glob ?",
            (f"{organisation}/*",),
        )
        alike = {model: alias for alias_key, model, alias in rows if without_stage(alias_key) == wanted}
        if len(alike) == 1:
            model, alias = next(iter(alike.items()))
            return Resolved("model", (model,), False, alias, precision_id=precision, respelled=True)
    return None


def _plainly(connection: sqlite3.Connection, kind: str, name: str, run: RunTogether) -> Resolved | None:
    """Look a spelling up as it stands, shortened, and run together."""
    found = _complete(connection, kind, name) or _shortened(connection, kind, name)
    if found is not None:
        return found
    alias = run.alias(name)
    return None if alias is None else _complete(connection, kind, alias)


class RunTogether:
    """The aliases of a kind by their letters and digits alone. Made once for a name that nothing else reads."""

    def __init__(self, connection: sqlite3.Connection, kind: str) -> None:
        """Read the aliases of a kind; a model is found by its checkpoints too."""
        kinds = ("model", "checkpoint") if kind == "model" else (kind, kind)
        self._targets: dict[str, dict[str, str]] = {}
        rows = connection.execute("select alias_key, target_id from aliases where kind in (?, ?)", kinds)
        for alias, target in rows:
            for written in {alias, alias.rpartition("/")[2]}:
                for dots in (True, False):
                    self._targets.setdefault(squashed(written, dots), {}).setdefault(target, alias)
        self._model_of = dict(connection.execute("select checkpoint_id, model_id from checkpoints"))

    def alias(self, name: str) -> str | None:
        """Return the alias that a name run together is, with its dots first.

        What fits several records fits none, unless they are one class.
        """
        for dots in (True, False):
            wanted = squashed(name, dots)
            if len(wanted) < SHORTEST_SQUASHED:
                return None
            found = self._targets.get(wanted, {})
            if len({self._model_of.get(target, target) for target in found}) == 1 or len(set(found.values())) == 1:
                return next(iter(found.values()))
        return None


def near_names(connection: sqlite3.Connection, kinds: Sequence[str], key: str) -> list[str]:
    """Return up to five names like this one, the likest first, one per record.

    Among names that are as like, the one that starts the same for longer comes first: `rtx-4091` is 4090 before 3090.
    """
    asked = set(kinds) | ({"checkpoint"} if "model" in kinds else set())
    marks = ", ".join("?" * len(asked))
    rows = connection.execute(
        f"select alias_key, alias, target_id from aliases where kind in ({marks})", tuple(sorted(asked))
    ).fetchall()
    words = set(key.replace("/", " ").split())
    shared = sorted(
        rows, key=lambda row: (-len(words & set(row[0].replace("/", " ").split())), -_same_start(row[0], key), row[0])
    )
    matcher = SequenceMatcher(b=key.rsplit("/", 1)[-1])
    scored = []
    for alias_key, alias, target in [*shared[:200], *(row for row in shared[200:] if key[:4] in row[0])][:600]:
        matcher.set_seq1(alias_key.rsplit("/", 1)[-1])
        if matcher.quick_ratio() >= NEAR_ENOUGH and (ratio := matcher.ratio()) >= NEAR_ENOUGH:
            scored.append((-ratio, -_same_start(alias_key, key), alias, target))
    best: dict[str, str] = {}
    for _, _, alias, target in sorted(scored):
        best.setdefault(target, alias)
    return list(dict.fromkeys(best.values()))[:NEAR_NAMES]


def _same_start(first: str, second: str) -> int:
    """Return with how many of the same letters two names start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
