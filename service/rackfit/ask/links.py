"""Which link joins the devices of a question: of the system where one is named, else of the device as it is sold."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from typing import Any

from rackfit.ask.machines import Machine
from rackfit.catalog.read import row_of, rows_of
from rackfit.errors import UnsupportedError
from rackfit.speed.communication import Link

STEP_US = {"NVLink": 1.0, "NVSwitch": 1.0, "PCIe": 1.0, "InfiniBand": 1.0, "Infinity Fabric": 1.0}
"""Time of one step by family: the classes that data/interconnects names (NVLink: sub-microsecond to few us)."""
NETWORK_US = 3.0
"""Middle of the class of Ethernet with RoCE, 1 to 5 us; for what names no class as well."""
HOST_DEVICES = 8
"""Devices of one host where the question names a device and no system."""
OWN_UPLINKS = 4
"""Cards of one host that have a PCIe uplink each; of more, two share one behind a switch."""
BRIDGE = re.compile(r"bridge", re.IGNORECASE)


def link_for(connection: sqlite3.Connection, machine: Machine, degree: int) -> Link:
    """Return the link over which `degree` devices of a machine talk.

    Raises:
        UnsupportedError: nothing is on record about a link of that device.
    """
    row = row_of(connection, "accelerators", "accelerator_id", machine.device.accelerator_id)
    system = _system(connection, machine)
    alone = max(machine.per_domain, HOST_DEVICES) if machine.nodes == 1 else machine.per_domain
    per_host = system["accelerator_count"] if system else alone
    domain = (row["scaleup_max_devices"] or per_host) if _switched(row) else per_host
    if degree > max(per_host, domain):
        return _network(connection, system, per_host, row)
    fast = _fast(connection, row, system, degree)
    return fast if fast is not None else _pcie(connection, row, system, per_host, degree)


def _system(connection: sqlite3.Connection, machine: Machine) -> dict[str, Any] | None:
    if machine.system_id is None:
        return None
    return row_of(connection, "systems", "system_id", machine.system_id)


def _switched(row: dict[str, Any]) -> bool:
    return "domain" in (row["scaleup_interconnect"] or "")


def _fast(
    connection: sqlite3.Connection, row: dict[str, Any], system: dict[str, Any] | None, degree: int
) -> Link | None:
    """Return the scale-up link, None where PCIe has to carry the group."""
    name = row["scaleup_interconnect"]
    total = row["scaleup_total_bidir_gb_s"]
    if not name or "Thunderbolt" in name or "no NVLink" in name:
        return None
    if BRIDGE.search(name):
        reach = (system["scale_up_domain_size"] or 1) if system else 1
        if degree > reach or total is None:
            return None
        return Link(name, "pair", total / 2, 1, STEP_US["NVLink"], f"bridge as fitted in {(system or {})['name']}")
    if system is not None and (system["intra_node_link"] or "").startswith("PCIe"):
        return None
    if total is None:
        return None
    topology = _topology(name, system)
    family = "Infinity Fabric" if "Infinity Fabric" in name else "NVLink"
    measured = _measured(connection, row, family)
    basis = f"{total:g} GB/s in total, {total / 2:g} per direction, as printed{measured}"
    rate, links = total / 2, row["scaleup_links"]
    if topology == "full mesh" and links and degree - 1 < links:
        rate *= (degree - 1) / links
        basis += f"; {degree - 1} of {links} links lead to the other devices of the group"
    return Link(name, topology, rate, 1, STEP_US.get(family, NETWORK_US), basis)


def _topology(name: str, system: dict[str, Any] | None) -> str:
    stated = ((system or {}).get("nvlink_topology") or "").casefold()
    if "mesh" in name and "cube" not in stated:
        return "full mesh"
    if "torus" in name or "ICI" in name or "NeuronLink" in name or "cube mesh" in stated:
        return "torus"
    return "switched"


def _measured(connection: sqlite3.Connection, row: dict[str, Any], family: str) -> str:
    """Return what is measured on the link, as words, empty where nothing is. A variant with a record of its own has
    its own figure, never that of its generation.
    """
    generation = re.search(r"NVLink (\d)", row["scaleup_interconnect"] or "")
    key = f"nvlink-{generation[1]}" if generation else "xgmi-mi300x" if "mi300x" in row["accelerator_id"] else ""
    found = rows_of(
        connection,
        "select measured_gb_s, measured_what from interconnects "
        "where measured_gb_s is not null and interconnect_id = coalesce("
        "(select interconnect_id from interconnects where name = ?), ?)",
        row["scaleup_interconnect"],
        key,
    )
    return f"; measured: {found[0]['measured_gb_s']:g} GB/s ({found[0]['measured_what']})" if found else ""


def _pcie(
    connection: sqlite3.Connection, row: dict[str, Any], system: dict[str, Any] | None, per_host: int, degree: int
) -> Link:
    """Return PCIe as the devices of a host have it: their own x16 up to four cards, else two to an uplink."""
    words = re.search(r"Gen(\d)(?: x(\d+))?", row["pcie"] or "")
    if words is None:
        raise UnsupportedError(f"{row['name']}: no link between devices is on record")
    key = f"pcie-gen{words[1]}-x{words[2] or 16}"
    link = row_of(connection, "interconnects", "interconnect_id", key)
    sharing = 2 if min(per_host, degree) > OWN_UPLINKS else 1
    why = "two devices on one uplink" if sharing > 1 else "an uplink for each device"
    stated = (system or {}).get("pcie_topology")
    basis = (
        f"{link['total_gb_s']:g} GB/s in total, {link['per_direction_gb_s']:g} per direction; {why}"
        + (f" ({stated})" if stated else ": assumed by the number of devices")
    )  # fmt: skip
    if BRIDGE.search(row["scaleup_interconnect"] or ""):
        basis += "; a bridge joins pairs and does not carry a larger group"
    return Link(link["name"], "PCIe tree", link["per_direction_gb_s"], sharing, STEP_US["PCIe"], basis)


def host_link(connection: sqlite3.Connection, accelerator_id: str, system_id: str | None) -> float:
    """Return the GB/s, one direction, between a device and its host: PCIe as the device has it.

    Raises:
        UnsupportedError: no PCIe on record.
    """
    row = row_of(connection, "accelerators", "accelerator_id", accelerator_id)
    system = None if system_id is None else row_of(connection, "systems", "system_id", system_id)
    link = _pcie(connection, row, system, 1, 1)
    return link.per_direction_gb_s


def _network(connection: sqlite3.Connection, system: dict[str, Any] | None, per_host: int, row: dict[str, Any]) -> Link:
    """Return the network between hosts, shared by the devices of one.

    Raises:
        UnsupportedError: no network is on record.
    """
    if system is None:
        raise UnsupportedError(
            f"more than {per_host} {row['name']} need several hosts: name a system with its network, not a device"
        )
    if system["nic_count"] and system["nic_per_direction_gb_s"]:
        rate = system["nic_count"] * system["nic_per_direction_gb_s"]
    elif system["inter_node_gbps"]:
        rate = system["inter_node_gbps"] / 8
    else:
        raise UnsupportedError(f"{system['name']}: its network is not on record, so nothing can be said over nodes")
    base = Link("network between nodes", "network", rate, per_host, NETWORK_US, f"{rate:g} GB/s per node")
    return replace(base, basis=f"{rate:g} GB/s per node and direction, shared by its {per_host} devices")
