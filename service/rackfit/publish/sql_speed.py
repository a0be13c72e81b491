"""SQL functions of speed: the same answers as `rackfit speed`, `scaling` and `attention` with --json."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rackfit.errors import UsageError
from rackfit.publish.answers import Answers, whole

Named = tuple[str, str, str, Callable[..., Any]]
"""Name, signature, meaning and call of a function with arguments that may be left out."""


def speed_functions(answers: Answers) -> tuple[Named, ...]:
    """Return the functions of speed of one catalog."""

    def speed_json(model: str, hardware: str, *rest: Any) -> str:
        return json.dumps(_speed(answers, model, hardware, *rest))

    def tokens_per_s(model: str, hardware: str, *rest: Any) -> float | None:
        """Return the estimate at the sequences asked for, null where there is no figure."""
        rows = _speed(answers, model, hardware, *rest)["decode"]
        wanted = (*rest, None, None, None)[2] or 1
        found = [row["tokens_per_s"] for row in rows if row["sequences"] == wanted]
        return float(found[0]) if found else None

    def scaling_json(model: str, hardware: str, *rest: Any) -> str:
        degrees, tokens, precision = (*rest, None, None, None)[:3]
        return json.dumps(scaling_rows(answers, model, hardware, degrees, tokens, precision))

    def attention_json(model: str, hardware: str, *rest: Any) -> str:
        from rackfit.ask.attention import DEFAULT_CONTEXT, attention

        context, batch = (*rest, None, None)[:2]
        return json.dumps(
            attention(
                answers.connection, model, hardware,
                DEFAULT_CONTEXT if context is None else whole("context", context),
                1 if batch is None else whole("batch", batch),
            )
        )  # fmt: skip

    return (
        (
            "speed_json", "speed_json(model, hardware, precision, context, sequences)",
            "decode and prompt speed with bound, estimate and range, as JSON; the last three may be left out",
            speed_json,
        ),
        (
            "tokens_per_s", "tokens_per_s(model, hardware, precision, context, sequences)",
            "estimate of decoding, all sequences together; the last three may be left out", tokens_per_s,
        ),
        (
            "scaling_json", "scaling_json(model, hardware, degrees, tokens, precision)",
            "efficiency of each strategy and degree ('2,8') as JSON; the last three may be left out", scaling_json,
        ),
        (
            "attention_json", "attention_json(model, hardware, context, batch)",
            "attention against the memory hierarchy, as JSON; the last two may be left out", attention_json,
        ),
    )  # fmt: skip


def _speed(answers: Answers, model: str, hardware: str, *rest: Any) -> dict[str, Any]:
    from rackfit.ask.question import FitQuestion
    from rackfit.ask.speed import speed_one

    precision, context, sequences = (*rest, None, None, None)[:3]
    question = FitQuestion(
        model=model,
        on=hardware,
        precision=precision or None,
        context=None if context is None else whole("context", context),
        sequences=None if sequences is None else whole("sequences", sequences),
    )
    return speed_one(answers.connection, question)


def read_degrees(text: Any) -> tuple[int, ...]:
    """Return the degrees of a text such as 1,2,8.

    Raises:
        UsageError: the text is no such list.
    """
    parts = [part.strip() for part in str(text).split(",")]
    if not parts or len(parts) > 20 or not all(part.isdecimal() and len(part) <= 4 for part in parts):
        raise UsageError(f"degrees = {str(text)[:60]!r}: expected whole numbers with commas, such as 1,2,4,8")
    return tuple(int(part) for part in parts)


def scaling_rows(
    answers: Answers, model: str, hardware: str, degrees: Any = None, tokens: Any = None, precision: str | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a scaling question as SQL and pages put it; what is None or empty takes its default."""
    from rackfit.ask.question import FitQuestion
    from rackfit.ask.scaling import DEFAULT_DEGREES, DEFAULT_TOKENS, scaling

    return scaling(
        answers.connection,
        FitQuestion(model=model, on=hardware, precision=precision or None),
        read_degrees(degrees) if degrees not in (None, "") else DEFAULT_DEGREES,
        whole("tokens", tokens) if tokens not in (None, "") else DEFAULT_TOKENS,
    )
