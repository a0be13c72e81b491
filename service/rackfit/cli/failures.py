"""Whatever goes wrong is one clear line on stderr and an exit status, never a stack trace."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import suppress
from typing import IO

import click

from rackfit.errors import RackfitError

FAILURE = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""128 + SIGINT, what shells expect."""


def complain(message: str) -> None:
    """Write one message to stderr, or nothing where stderr is gone."""
    with suppress(OSError, ValueError):
        print(f"rackfit: {message}", file=sys.stderr, flush=True)


def run(command: click.Command, arguments: list[str] | None = None) -> int:
    """Run a command and return the exit status of the process."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        _write_anything(stream)
    try:
        status = command.main(arguments, prog_name="rackfit", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        return _nobody_reads()
    except (Exception, KeyboardInterrupt) as error:
        return _explain(error)
    return status if isinstance(status, int) else 0


def _open_streams() -> None:
    """Write to nowhere where a stream was closed before the start (`rackfit hardware >&-`): Python has None there."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process


def _write_anything(stream: IO[str]) -> None:
    """Let characters that the terminal cannot show become question marks instead of failures."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")


def _nobody_reads() -> int:
    """End quietly when the reader of a pipe has left (`rackfit hardware | head`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILURE


def _explain(error: BaseException) -> int:
    """Write what went wrong and return the exit status that says whose fault it is."""
    match error:
        case KeyboardInterrupt() | click.Abort():
            complain("interrupted")
            return INTERRUPTED
        case click.UsageError():
            command = error.ctx.command_path if error.ctx else "rackfit"
            complain(f"{_sentence(error.format_message())} (try `{command} --help`)")
            return WRONG_USAGE
        case click.ClickException():
            complain(_sentence(error.format_message()))
            return error.exit_code
        case RackfitError():
            complain(str(error))
            return error.exit_code
        case sqlite3.Error():
            complain(f"the catalog cannot answer: {error}")
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            complain(f"{place}{error.strerror or error}")
        case MemoryError():
            complain("out of memory")
        case _:
            if os.environ.get("RACKFIT_DEBUG"):
                raise error
            complain(f"internal error, {type(error).__name__}: {error} (RACKFIT_DEBUG=1 shows where)")
    _drop_output()
    return FAILURE


def _drop_output() -> None:
    """Throw away what could not be written, so that the interpreter does not complain a second time."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _sentence(message: str) -> str:
    """Put a message of several lines on one."""
    line = " ".join(message.split())
    return line[:1].lower() + line[1:].rstrip(".") if line[1:2].islower() else line.rstrip(".")
