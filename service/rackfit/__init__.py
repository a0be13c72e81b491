"""Rackfit: does this language model fit this hardware?

    >>> import rackfit
    >>> rackfit.estimate_vram(70, "int4")["weights"]
    35.0

Names are imported when they are first used, so that `import rackfit` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackfit.catalog.build import build as build
    from rackfit.catalog.connect import open_catalog as open_catalog
    from rackfit.errors import RackfitError as RackfitError
    from rackfit.memory.quick import estimate_vram as estimate_vram

__version__ = "2026.11.0"

_HOMES = {
    "RackfitError": "rackfit.errors",
    "build": "rackfit.catalog.build",
    "estimate_vram": "rackfit.memory.quick",
    "open_catalog": "rackfit.catalog.connect",
}
"""Exported name -> module that defines it."""

__all__ = ["RackfitError", "__version__", "build", "estimate_vram", "open_catalog"]


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rackfit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the exported names."""
    return sorted(__all__)
