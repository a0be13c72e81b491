"""What a fit needs to know beside the model: precisions, engines, support. Read once, used for many questions."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace

from rackfit.catalog.connect import Reading
from rackfit.catalog.read import precision_of, read_budgets, rows_of
from rackfit.fit.classes import Chooser
from rackfit.memory.domain import Budget, Device, Precision
from rackfit.memory.support import EngineFloor, SupportRule, floors_at, read_floor, rules_at


@dataclass(frozen=True)
class Context:
    """Precisions by id, budgets, and the rules that say what runs where."""

    precisions: dict[str, Precision]
    kv_bits: dict[str, float]
    budgets: tuple[Budget, ...]
    chooser: Chooser
    support: tuple[SupportRule, ...]
    """What every version of every engine states; `chooser` holds the newest."""
    floors: tuple[EngineFloor, ...]
    """What every version of every engine needs to start; `chooser` holds the newest."""
    sixteen_bit_devices: frozenset[str]
    versions: dict[tuple[str, tuple[int, ...]], Context] = field(default_factory=dict, repr=False, compare=False)
    """What was asked of older versions already."""

    def of_version(self, runtime_id: str, version: tuple[int, ...]) -> Context:
        """Return the context in which one engine runs what a version of it ran; made once, lists ask it per model."""
        key = (runtime_id, version)
        if key not in self.versions:
            rules, floors = rules_at(self.support, runtime_id, version), floors_at(self.floors, runtime_id, version)
            chooser = Chooser(rules, self.chooser.precisions, self.chooser.bases, floors)
            self.versions[key] = replace(self, chooser=chooser)
        return self.versions[key]

    def newest_budget(self, runtime_id: str) -> Budget:
        """Return the rules of the newest version of an engine, of the variant that runs unless another is named."""
        own = (budget for budget in self.budgets if budget.runtime_id == runtime_id)
        return next(budget for budget in own if budget.version_to is None and not budget.named_only)

    def assume_16_bit(self, device: Device) -> bool:
        """Return whether the hardware facts say that a device computes bf16."""
        return device.accelerator_id in self.sixteen_bit_devices


def read_precisions(connection: sqlite3.Connection) -> dict[str, Precision]:
    """Return the weight layouts, with the bits of every role that does not have the layout's own."""
    roles: dict[str, list[tuple[str, float, str]]] = {}
    for row in rows_of(connection, "select * from precision_roles order by precision_id, role"):
        roles.setdefault(row["precision_id"], []).append((row["role"], row["bits"], row["role_source"]))
    found = rows_of(connection, "select * from precisions where use = 'weight' order by precision_id")
    return {
        row["precision_id"]: precision_of(row, roles.get(row["precision_id"], []))
        for row in found
        if row["effective_bits"]
    }


def read_context(connection: sqlite3.Connection) -> Context:
    """Read what every fit shares; over a connection that only reads, once."""
    if not isinstance(connection, Reading):
        return _read_context(connection)
    if "context" not in connection.kept:
        connection.kept["context"] = _read_context(connection)
    found: Context = connection.kept["context"]
    return found


def _read_context(connection: sqlite3.Connection) -> Context:
    precisions = read_precisions(connection)
    bases = {
        row["precision_id"]: row["support_as"]
        for row in rows_of(connection, "select precision_id, support_as from precisions where support_as is not null")
    }
    found = rows_of(
        connection,
        "select runtime_id, precision_id, vendor, architecture, support, coalesce(from_position, 0) as version_rank, "
        "kernel, note, version_from, version_to from precision_support order by support_id",
    )
    support = tuple(SupportRule(**row) for row in found)
    newest = tuple(rule for rule in support if rule.version_to is None)
    stated = rows_of(
        connection,
        "select runtime_id, term, value, applies_when, version_from from runtime_rules "
        "where term in ('min_cc', 'min_gfx') order by rule_id",
    )
    floors = tuple(floor for row in stated if (floor := read_floor(**row)) is not None)
    kv_bits = {
        row["precision_id"]: row["effective_bits"]
        for row in rows_of(connection, "select * from precisions where use = 'kv' and effective_bits is not null")
    }
    bf16 = rows_of(connection, "select accelerator_id from accelerators where supports_bf16 = 1")
    return Context(
        precisions=precisions,
        kv_bits=kv_bits,
        budgets=tuple(read_budgets(connection)),
        chooser=Chooser(newest, precisions, bases, floors_at(floors)),
        support=support,
        floors=floors,
        sixteen_bit_devices=frozenset(row["accelerator_id"] for row in bf16),
    )
