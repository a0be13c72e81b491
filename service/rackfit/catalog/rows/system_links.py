"""How the accelerators of a system are joined, where only the name of the link is stated."""

from __future__ import annotations

from rackfit.records.accelerators import Accelerator
from rackfit.records.systems import System

SWITCHED = ("NVSwitch", "domain of 72", "rack domain")
"""Words in intra_node_link that mean every device reaches every other at full rate."""

RACK_DEVICES = 72
"""Devices of an NVL72 domain, which spans the instances of a rack."""


def link_columns(system: System, accelerator: Accelerator) -> dict[str, str | int | None]:
    """Return topology, domain size and peer-to-peer of a system: stated, else derived from intra_node_link."""
    topology = system.nvlink_topology or topology_of(system.intra_node_link or "", accelerator)
    domain = system.scale_up_domain_size or _domain(topology, system)
    peers = system.peer_to_peer or (None if topology == "none" else "yes")
    stated = system.nvlink_topology and system.scale_up_domain_size
    return {
        "nvlink_topology": topology,
        "scale_up_domain_size": domain,
        "bridge_group": domain if "bridges" in topology else None,
        "peer_to_peer": peers,
        "topology_basis": "stated" if stated else "derived from intra_node_link",
    }


def topology_of(link: str, accelerator: Accelerator) -> str:
    """Return how devices are joined beside PCIe, from the words of the link."""
    if "cube mesh" in link:
        return "hybrid cube mesh"
    if any(word in link for word in SWITCHED):
        return "all-to-all NVSwitch"
    if "bridge" in link:
        return "bridges in groups of 2 or 4" if accelerator.scaleup_max_devices == 4 else "bridges in pairs"
    if "Infinity Fabric" in link:
        return "none (Infinity Fabric full mesh)"
    if "RoCE" in link:
        return "none (on-chip RoCE all-to-all)"
    return "none"


def _domain(topology: str, system: System) -> int:
    if topology == "none":
        return 1
    if str(RACK_DEVICES) in (system.intra_node_link or ""):
        return RACK_DEVICES
    return {"bridges in pairs": 2, "bridges in groups of 2 or 4": 4}.get(topology, system.accelerator_count)
