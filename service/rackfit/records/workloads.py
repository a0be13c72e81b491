"""Standard workloads: the contexts and numbers of sequences that fits are answered for."""

from __future__ import annotations

from rackfit.records.base import PositiveCount, Record, Text


class Workload(Record):
    """A context length and a number of sequences, by a name people recognise. Chosen here, not found."""

    name: Text
    aliases: list[Text] = []
    context: PositiveCount
    sequences: PositiveCount
    description: Text

    @classmethod
    def bookkeeping(cls) -> frozenset[str]:
        """A workload is a definition: nothing in it needs a source."""
        return frozenset(cls.model_fields)
