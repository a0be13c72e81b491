"""SQL functions of speed: the same answers as `rackfit speed`, `scaling` and `attention` with --json."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from rackfit.errors import UsageError
from rackfit.publish.answers import Answers, decimal, whole
from rackfit.publish.sql_money import Named
from rackfit.speed.domain import BOUND


def speed_functions(answers: Answers) -> tuple[Named, ...]:
    """Return the functions of speed of one catalog."""

    def speed_json(model: str, hardware: str, *rest: Any) -> str:
        return json.dumps(_speed(answers, model, hardware, *rest))

    def plan_json(model: str, *rest: Any) -> str:
        return json.dumps(_plan(answers, model, *rest))

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
        *_rates(answers),
        (
            "plan_json", "plan_json(model, context, users, tokens_per_second, precision)",
            "configurations that serve so many users, as JSON; all but the model may be left out", plan_json,
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


def _rates(answers: Answers) -> Iterator[Named]:
    """Yield the functions that give one figure of decoding at the sequences asked for, null where there is none."""

    def figure(name: str) -> Callable[..., float | None]:
        def find(model: str, hardware: str, *rest: Any) -> float | None:
            rows = _speed(answers, model, hardware, *rest)["decode"]
            wanted = (*rest, None, None, None)[2] or 1
            found = [row[name] for row in rows if row["sequences"] == wanted]
            return float(found[0]) if found else None

        return find

    for name, key, meaning in (
        ("tokens_per_s", "tokens_per_s", "estimate of decoding, all sequences together"),
        ("tokens_per_s_low", "low", "low end of that estimate"),
        ("tokens_per_s_bound", BOUND, "bound of decoding by printed rates, which nothing passes"),
    ):
        signature = f"{name}(model, hardware, precision, context, sequences)"
        yield name, signature, f"{meaning}; the last three may be left out", figure(key)


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


def _plan(answers: Answers, model: str, *rest: Any) -> dict[str, Any]:
    from rackfit.ask.plan.answer import plan
    from rackfit.ask.plan.question import PlanQuestion

    context, users, rate, precision = (*rest, None, None, None, None)[:4]
    question = PlanQuestion(
        model,
        context=None if context is None else whole("context", context),
        users=None if users is None else whole("users", users),
        tokens_per_second=None if rate is None else decimal("tokens_per_second", rate),
        precision=precision or None,
    )
    return plan(answers.connection, question)


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
