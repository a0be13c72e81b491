"""The command line: thin, one command, one call. Everything heavy is imported inside the command that needs it."""

from rackfit.cli.app import main

__all__ = ["main"]
