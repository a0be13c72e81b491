"""Other ways to write a device that is on record: pure text, looked up only where the name as it stands is unknown.

Hardware is written with its machine (`MacBook Pro M3 Max`, `M4 Mac mini`), its link (`RTX 3090 NVLink`), its vendor
and line (`Tenstorrent Wormhole n300`), the place that lends it (`Colab T4`), its form (`MI300X OAM`), its size in
brackets or apart from its unit (`80 GB GPU`, `V100-32G`), its kind of memory (`H100 HBM3`), in the plural (`A100s`), or
without spaces (`RTX4090`). A word is only ever left out that does not tell parts apart: `Quadro RTX 4000` is not the
`RTX 4000`, and `SXM`, `PCIe` and `NVL` stay. Apple's GPU cores do not tell chips with one memory apart; where they do,
the chips have records of their own, whose names stand first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

_MACHINE: Final = r"(?:macbook(?: pro| air)?|mac (?:studio|mini|pro)|imac)\b"
_MAC: Final = re.compile(rf"^(?:apple )?{_MACHINE}.*?\b(?=m\d)")
_MAC_BEHIND: Final = re.compile(rf"^(?:apple )?(m\d+(?: (?:pro|max|ultra))?) {_MACHINE}")
_PRO_BEHIND: Final = re.compile(r"\brtx (\d{4}) pro\b")
_LINK: Final = re.compile(r"\s+(?:with |without |no )?(?:nvlink|nv link|sli|infinity fabric|xgmi)(?: bridge)?$")
_SIZE: Final = re.compile(r"\b\d+ ?gb\b")
_SIZE_APART: Final = re.compile(r"\b(\d+) (gi?b)\b")
_SHORT_UNIT: Final = re.compile(r"\b(\d+)g\b")
_CORES: Final = re.compile(r"^(?:apple )?(m\d+(?: (?:pro|max|ultra))?) \d+ core gpu\b")
_PLURAL: Final = re.compile(r"(?<=\d)(?<!16[56]0)(?<!20[678]0)(?<!40[78]0)s\b")
"""Not of cards that have a Super of their name: `4080s` is either."""
_MEMORY: Final = re.compile(r" (?:hbm\d?e?|gddr\d?x?)\b")
_MARKET: Final = re.compile(r"\b(?:consumer|data ?cent(?:er|re)|workstation|server|professional) ")
_SOCKET: Final = re.compile(r"\bsxm\d\b")
_ORIN: Final = re.compile(r"^(?=(?:agx )?orin\b|agx thor\b)")
_MOBILE: Final = re.compile(r"\b(?:laptop|mobile|notebook)(?: gpu)?\b")
_PLACE: Final = re.compile(r"^(?:free )?(?:google )?(?:colab|kaggle)(?: free)? |^ml\.(?=[a-z]+\d)")
"""Notebooks that lend a card; SageMaker writes EC2's instances with `ml.` in front."""
_FORM: Final = re.compile(r" (?:oam|gpus?|cards?|accelerators?|superchip)(?= \d+ ?gi?b$|$)")
_LINE: Final = re.compile(
    r"^(?:(?:nvidia|amd|intel|google|huawei|tenstorrent|tesla|geforce|instinct|wormhole|blackhole|ryzen) )+"
)
"""Vendors and lines whose parts have names of their own. Not Quadro and Radeon: those words tell parts apart."""
_WORKSTATION: Final = re.compile(r"^(?:nvidia )?(a\d{4}\b.*)")


def _mobile(key: str) -> str:
    """Return a laptop's part with that word behind it and without its size."""
    if not _MOBILE.search(key):
        return key
    return re.sub(r"\s+", " ", _MOBILE.sub("", _SIZE.sub("", key))).strip() + " laptop"


_READINGS: Final[tuple[Callable[[str], str], ...]] = (
    lambda key: _SIZE_APART.sub(r"\1\2", key),
    lambda key: _SHORT_UNIT.sub(r"\1gb", key),
    lambda key: _CORES.sub(r"apple \1", key),
    lambda key: _PLURAL.sub("", key),
    lambda key: _MEMORY.sub("", key),
    lambda key: _MARKET.sub("", key),
    lambda key: _SOCKET.sub("sxm", key),
    lambda key: _ORIN.sub("jetson ", key),
    lambda key: _MAC.sub("apple ", key),
    lambda key: _MAC_BEHIND.sub(r"apple \1", key),
    lambda key: _PRO_BEHIND.sub(r"rtx pro \1", key),
    lambda key: _LINK.sub("", key),
    _mobile,
    lambda key: _PLACE.sub("", key),
    lambda key: _FORM.sub("", key),
    lambda key: _LINE.sub("", key),
    lambda key: _WORKSTATION.sub(r"rtx \1", key),
)
"""One way each to say the same with other words; a name may need several of them."""


def hardware_spellings(key: str) -> Iterator[str]:
    """Yield other ways to write a device, the nearest to what was written first.

    >>> list(hardware_spellings("kaggle t4")), "apple m4 16gb" in list(hardware_spellings("m4 mac mini 16gb"))
    (['t4'], True)
    """
    seen, whole = {key}, key
    for reading in _READINGS:
        whole = reading(whole)
        for spelling in (reading(key), whole):
            if spelling and spelling not in seen:
                seen.add(spelling)
                yield spelling
