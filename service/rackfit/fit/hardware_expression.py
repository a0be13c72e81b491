"""What people write for hardware, taken apart: pure parsing, names are looked up elsewhere.

8x h100-sxm5-80gb                   eight devices
1x rtx-3090 + 1x rtx-3070           unlike devices in one machine
2 nodes x dgx-h100                  two systems, or two machines of the devices that follow
a100-sxm4-80gb/2g.20gb              one MIG partition
H100 80GB (79.18 GiB usable)        a remark; usable memory in it counts
a40 (ECC off)                       a setting of the memory; `ask.memory_settings` reads it
H100 (94GB)                         a size in brackets is part of the name
2 nodes (8x H100 each)              so many machines of what the brackets hold
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rackfit.errors import UsageError

MOST = 100_000
"""Devices or nodes from which a count is taken for a slip."""

GIB = 2**30

_NODES = re.compile(r"^\s*(\d+)\s*nodes?\s*(?:x|×|\*|of)\s*", re.IGNORECASE)
_COUNT = re.compile(r"^\s*(\d+)\s*(?:[x×*][\s-]*|\s+x\s+)(?=\S)", re.IGNORECASE)
_REMARK = re.compile(r"\(([^()]*)\)\s*$")
_USABLE = re.compile(r"(\d+(?:\.\d+)?)\s*(GiB|GB)\s+usable|usable\s*:?\s*(\d+(?:\.\d+)?)\s*(GiB|GB)", re.IGNORECASE)
_SIZE_REMARK = re.compile(r"(?:[\w +./-]+,\s*)?\d+\s*GB(?:\s+(?:HBM\w*|GDDR\w*|VRAM|unified))?", re.IGNORECASE)
_COUNT_BEHIND = re.compile(
    r"^(?P<name>.*\S)\s+(?:[x×*]\s*(?P<count>\d+)|(?P<times>\d+)[x×])$"
    r"|^(?P<other>\d+)\s+(?:gpus?|cards?|devices?)\s+(?:of\s+)?(?P<of>\S.*)$"
    r"|^(?P<joined>[a-z]*[ -]?[a-z]?\d{2,4}[a-z]?)[x×](?P<behind>\d{1,3})$",
    re.IGNORECASE,
)
_COUNT_BARE = re.compile(
    r"^(?P<count>\d{1,3}|single|one|dual|two|three|quad|four|eight)\s+(?!gi?b\b)(?P<name>[a-z].*|\d{4}s?\b.*)$",
    re.IGNORECASE,
)
_COUNT_WORDS = {"single": 1, "one": 1, "dual": 2, "two": 2, "three": 3, "quad": 4, "four": 4, "eight": 8}
_NODES_OF = re.compile(r"^\s*(\d+\s*nodes?)\s*\(\s*(\d+\s*[x×].*?)(?:\s+each)?\s*\)\s*$", re.IGNORECASE)
_MACHINES_OF = re.compile(r"^(?P<nodes>\d{1,4})\s*[x×]\s*(?P<count>\d{1,3})\s*[x×*]?\s+(?=[a-z])", re.IGNORECASE)
_SLICE = re.compile(r"^(?P<name>.*?\S)[\s/]+(?:MIG[\s-]*)?(?P<profile>[1-9]\d*g\.\d+gb\S*)$", re.IGNORECASE)
_PROFILE = re.compile(r"^[1-9]\d*g\.\d+gb(?:\+me(?:\.all)?|\+gfx|-me)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """`count` devices or systems of one name; `profile` is a MIG profile; `counted` says that a count was written."""

    count: int
    name: str
    profile: str | None = None
    counted: bool = False


@dataclass(frozen=True, slots=True)
class HardwareExpression:
    """The parts of one machine, how many such machines, and what a remark says about usable memory per device."""

    parts: tuple[Part, ...]
    nodes: int = 1
    usable_gib: float | None = None
    remark: str | None = None

    def __str__(self) -> str:
        """Return the expression in its usual form; parsing it again gives the same parts."""
        shown = " + ".join(
            (f"{part.count}x " if part.counted else "") + part.name + (f"/{part.profile}" if part.profile else "")
            for part in self.parts
        )
        machines = f"{self.nodes} nodes x {shown}" if self.nodes > 1 else shown
        return f"{machines} ({self.remark})" if self.remark else machines


def parse_hardware(text: str) -> HardwareExpression:
    """Take a hardware expression apart.

    Raises:
        UsageError: naming the place that cannot be read.
    """
    if not text.strip():
        raise UsageError("hardware is empty: name a device or system, such as 8x h100-sxm5-80gb")
    body, remark = _without_remark(_NODES_OF.sub(r"\1 x \2", text))
    if remark is not None and _SIZE_REMARK.fullmatch(remark):
        body, remark = f"{body.rstrip()} {remark.replace(',', ' ')}", None
    nodes, body = _nodes(body, text)
    pieces = re.split(r"\s\+\s|\s\+(?=\d+\s*[x×*])|\+\s(?=\d+\s*[x×*])", body)
    parts = tuple(_part(piece, text) for piece in pieces)
    return HardwareExpression(parts, nodes, _usable_gib(remark), remark)


def _without_remark(text: str) -> tuple[str, str | None]:
    """Split off a last remark in brackets. Brackets elsewhere belong to a name."""
    matched = _REMARK.search(text)
    if matched is None:
        if text.count("(") != text.count(")"):
            raise UsageError(f"hardware {text!r}: a bracket is not closed")
        return text, None
    if _USABLE.search(matched[1]) is None and not text[: matched.start()].strip():
        raise UsageError(f"hardware {text!r}: no name before the bracket")
    return text[: matched.start()], matched[1].strip() or None


def _nodes(body: str, text: str) -> tuple[int, str]:
    matched = _NODES.match(body)
    if matched is None:
        return 1, body
    return _number(matched[1], "nodes", text), body[matched.end() :]


def _number(digits: str, what: str, text: str) -> int:
    number = int(digits) if len(digits) <= 9 else MOST + 1
    if not 1 <= number <= MOST:
        raise UsageError(f"hardware {text!r}: {digits[:12]} {what}, expected 1 to {MOST}")
    return number


def _part(piece: str, text: str) -> Part:
    matched = _COUNT.match(piece)
    count = _number(matched[1], "devices", text) if matched else 1
    name = (piece[matched.end() :] if matched else piece).strip()
    name, profile = _profile(name)
    if not name or not re.search(r"[^\W_]", name):
        raise UsageError(f"hardware {text!r}: no name in {piece.strip()!r}")
    if _NODES.match(name + " x "):
        raise UsageError(f"hardware {text!r}: nodes stand first, as in 2 nodes x dgx-h100")
    if profile is not None and _PROFILE.match(profile) is None:
        raise UsageError(f"hardware {text!r}: {profile!r} is no MIG profile such as 2g.20gb")
    return Part(count, name, profile.lower() if profile else None, matched is not None)


def _profile(name: str) -> tuple[str, str | None]:
    """Split off what stands behind a slash if it begins like a MIG profile; other slashes belong to the name."""
    head, slash, tail = name.rpartition("/")
    if slash and re.match(r"\s*\d+g\b", tail, re.IGNORECASE):
        return head.strip(), tail.strip()
    written = _SLICE.match(name)
    if written is not None:
        return written["name"].strip(), written["profile"]
    return name, None


def count_in_front(text: str) -> str | None:
    """Return an expression with its counts where they belong, None where there is nothing to move.

    Counts behind the name (`H200 x8`, `A100x8`, `RTX PRO 6000 2x`), without a sign or as a word (`8 H100`, `dual 3090`,
    `2 nodes x 8 H100`), and machines times devices (`2x8 H100`). Only for what is no name as it stands: systems are
    called `H100 SXM x8`.

    >>> count_in_front("H200 x8"), count_in_front("dual 3090"), count_in_front("2x8 H100")
    ('8x H200', '2x 3090', '2 nodes x 8x H100')
    >>> count_in_front("8x h200"), count_in_front("80 GB GPU")
    (None, None)
    """
    said = text.strip()
    machines = _MACHINES_OF.match(said)
    if machines is not None:
        return f"{machines['nodes']} nodes x {machines['count']}x {said[machines.end() :]}"
    nodes = _NODES.match(said)
    front, body = (said[: nodes.end()], said[nodes.end() :]) if nodes else ("", said)
    matched = _COUNT_BEHIND.match(body)
    if matched is not None:
        count = matched["count"] or matched["times"] or matched["other"] or matched["behind"]
        return f"{front}{count}x {matched['name'] or matched['of'] or matched['joined']}"
    bare = _COUNT_BARE.match(body)
    if bare is not None:
        return f"{front}{_COUNT_WORDS.get(bare['count'].casefold(), bare['count'])}x {bare['name']}"
    return None


def _usable_gib(remark: str | None) -> float | None:
    """Return the usable memory per device that a remark states, GiB; GB are decimal. A bare figure in GiB is usable."""
    bare = re.fullmatch(r"(\d+(?:\.\d+)?)\s*GiB", remark or "", re.IGNORECASE)
    if bare:
        return float(bare[1])
    matched = _USABLE.search(remark or "")
    if matched is None:
        return None
    number, unit = (matched[1], matched[2]) if matched[1] else (matched[3], matched[4])
    return float(number) * (1.0 if unit.lower() == "gib" else 1e9 / GIB)
