"""Work that pages do in threads: its failures come back, and its answers are kept."""

from __future__ import annotations

import asyncio

import pytest

from rackfit.errors import UsageError
from rackfit.publish.pages.common import ask, ask_once, open_database


def test_a_failure_ends_the_request(served):
    """A StopIteration, which no future can carry, does not leave the request waiting."""

    async def fails():
        return await asyncio.wait_for(ask(open_database(served), lambda answers: next(iter(()))), timeout=20)

    with pytest.raises(RuntimeError, match="found nothing"):
        asyncio.run(fails())


def test_the_same_question_is_answered_once(served):
    """An answer is kept; a refusal is not."""
    calls = []

    def work(answers):
        calls.append(1)
        if len(calls) == 1:
            raise UsageError("not yet")
        return len(calls)

    async def twice():
        database, key = open_database(served), ("test of asking", object())
        with pytest.raises(UsageError):
            await ask_once(database, key, work)
        return [await ask_once(database, key, work) for _ in range(3)]

    assert asyncio.run(twice()) == [2, 2, 2]
