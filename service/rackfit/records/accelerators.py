"""Accelerators."""

from rackfit.records.base import Record, Text


class Accelerator(Record):
    """One device and memory variant."""

    name: Text
    vendor: Text
    aliases: list[Text] = []
