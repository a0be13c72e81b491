"""Libraries that not everybody needs: imported when a file asks for them, named with the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rackfit.errors import MissingExtraError


def load(module: str, extra: str, what: str) -> Any:
    """Import a library of an extra.

    Raises:
        MissingExtraError: it is not installed; the message has the command that does it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(what, extra) from error
