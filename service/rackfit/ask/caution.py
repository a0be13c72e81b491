"""What runs, but badly: layouts whose traffic goes over slow links, and stages that wait for each other."""

from __future__ import annotations

import re

from rackfit.ask.setting import Setting
from rackfit.memory.domain import Layout

SLOW_LINKS = ("gen", "thunderbolt", "ethernet", "connectx", "roce")
"""Starts and parts of link names that are no scale-up link: the bus of the host, or a network."""


def warnings_of(setting: Setting, layout: Layout) -> list[str]:
    """Return what makes a layout slow on this machine, one sentence each."""
    machine, found = setting.machine, []
    link = machine.link
    if machine.nodes > 1 and layout.tp > machine.per_domain:
        found.append(
            f"TP {layout.tp} spans nodes of {machine.per_domain} devices: two all-reduces per layer cross the network"
        )
    elif layout.tp > 1 and (machine.others or slow(link)):
        over = f"PCIe ({link})" if link and not machine.others else "the host's bus"
        found.append(
            f"TP {layout.tp} over {over}: no scale-up link joins these devices, every layer waits for two all-reduces"
        )
    elif layout.tp > 1 and link is not None and 0 < bridged(link) < layout.tp:
        found.append(f"TP {layout.tp} over {link}: not all devices are bridged, the rest goes over PCIe")
    if layout.pp > 1 and setting.asked.sequences < layout.pp * layout.dp:
        few = "1 sequence" if setting.asked.sequences == 1 else f"{setting.asked.sequences} sequences"
        found.append(f"PP {layout.pp} with {few}: a token passes the stages one after another, the others wait")
    queues = setting.budget.queues(layout.pp)
    if queues > 1:
        found.append(f"each of {queues} stages schedules requests of its own: one request gets 1/{queues} of the cache")
    if machine.nodes > 1 and layout.ep > machine.per_domain:
        found.append(f"EP {layout.ep} spans nodes: tokens travel to their experts over the network in every layer")
    return found


def bridged(link: str) -> int:
    """Return how many devices a bridge joins at most; 0 where the link is no bridge."""
    matched = re.search(r"bridge \((?:2 or )?(\d+)", link)
    return int(matched[1]) if matched else 0


def slow(link: str | None) -> bool:
    """Return whether a link is the host's bus or a network rather than a scale-up link; unknown counts as slow."""
    return link is None or any(part in link.casefold() for part in SLOW_LINKS)
