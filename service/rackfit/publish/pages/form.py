"""Forms of pages: what was typed, as it was typed; the figures in it; and the questions that the forms stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from rackfit.ask import figures
from rackfit.errors import UsageError
from rackfit.publish.render import asking

LONGEST = 200
"""Characters of a parameter that are still a name."""
LONGEST_CONFIG = 16_000
"""Characters of a config.json that still go into an address: most have one to four thousand."""


@dataclass(frozen=True)
class PageForm:
    """Text parameters of a page, empty where they were left out; a page's own form names them as fields."""

    FIGURES: ClassVar[Mapping[str, figures.Figure]] = {}
    """Parameter -> how it is read; the others are taken as they are."""
    MOST_CHARACTERS: ClassVar[int] = LONGEST
    """Characters of a parameter: more where a form takes lists of names."""
    LONG: ClassVar[Mapping[str, int]] = {}
    """Parameter that is a text -> the characters it may have."""

    @classmethod
    def read(cls, arguments: Any) -> Self:
        """Return the form of a request."""
        return cls(**{field.name: (arguments.get(field.name) or "").strip() for field in fields(cls)})

    @property
    def asked(self) -> dict[str, str]:
        """The parameters that were filled in."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name)}

    @property
    def asks(self) -> bool:
        """Whether it asks something. Half a question does too: it is refused with what is missing."""
        return bool(self.asked)

    def checked(self) -> Self:
        """Return the form.

        Raises:
            UsageError: a parameter is too long.
        """
        for name, value in self.asked.items():
            most = self.LONG.get(name, self.MOST_CHARACTERS)
            if len(value) > most:
                raise UsageError(f"{name} has {len(value)} characters: expected at most {most}")
        return self

    def value(self, name: str, figure: figures.Figure | None = None) -> Any:
        """Return what a parameter stands for, None where it was left out.

        Raises:
            UsageError: it cannot be read as the figure that it is.
        """
        text, figure = getattr(self, name), figure or self.FIGURES.get(name)
        if not text or figure is None:
            return text or None
        found = figure.read(text)
        if found is None:
            raise UsageError(f"{name} = {text!r}: expected {figure.expected}")
        return found

    def number(self, name: str) -> int | None:
        """Return a count of the form, None where it was left out.

        Raises:
            UsageError: it is no whole number from 1.
        """
        found: int | None = self.value(name, figures.WHOLE)
        return found

    def values(self) -> dict[str, Any]:
        """Return what every parameter that was filled in stands for.

        Raises:
            UsageError: one is too long, or cannot be read.
        """
        self.checked()
        return {name: self.value(name) for name in self.asked if name not in self.LONG}

    def near_links(self, address: str, problem: Mapping[str, Any] | None) -> list[tuple[str, str]]:
        """Return each near name of a problem with the address that asks again with it in place of the unknown one."""
        near, name = (problem or {}).get("near", []), (problem or {}).get("name", "")
        typed = [
            field
            for field, text in self.asked.items()
            if name and name.casefold() in text.casefold() and field not in self.LONG
        ]
        if not typed:
            return []
        field = min(typed, key=lambda one: len(self.asked[one]))
        text = self.asked[field]
        start = text.casefold().index(name.casefold())
        parts = text[:start], text[start + len(name) :]
        return [(one, asking(address, {**self.asked, field: one.join(parts)})) for one in near]


@dataclass(frozen=True)
class PricedForm(PageForm):
    """A form of a question of money: which offers count, by the words of `money.offers`."""

    currency: str = ""
    term: str = ""
    tier: str = ""
    provider: str = ""
    region: str = ""
    date: str = ""
    since: str = ""


@dataclass(frozen=True)
class Form(PageForm):
    """What /why and /calculator are asked: everything that `rackfit fit` can be asked, by the same names."""

    FIGURES = {
        **dict.fromkeys(("context", "max_batched_tokens"), figures.TOKENS),
        **dict.fromkeys(("sequences", "tp", "pp", "ep", "dp", "dcp", "max_sequences"), figures.WHOLE),
        **dict.fromkeys(("lora_slots", "lora_rank", "images"), figures.WHOLE),
        **dict.fromkeys(("utilization", "usable_gib", "reserve_gib", "max_price", "host_ram_gib"), figures.DECIMAL),
        "gpu_layers": figures.amount("auto"),
        "cpu_experts": figures.amount("auto", "all"),
        "split": figures.LAYERS,
        **dict.fromkeys(("mtp", "eager", "text_only"), figures.FLAG),
    }

    model: str = ""
    on: str = ""
    precision: str = ""
    kv_precision: str = ""
    context: str = ""
    sequences: str = ""
    runtime: str = ""
    tp: str = ""
    pp: str = ""
    ep: str = ""
    dp: str = ""
    dcp: str = ""
    utilization: str = ""
    max_batched_tokens: str = ""
    max_sequences: str = ""
    usable_gib: str = ""
    reserve_gib: str = ""
    max_price: str = ""
    gpu_layers: str = ""
    cpu_experts: str = ""
    host_ram_gib: str = ""
    draft: str = ""
    mtp: str = ""
    lora_slots: str = ""
    lora_rank: str = ""
    images: str = ""
    eager: str = ""
    text_only: str = ""
    split: str = ""


def question_of(form: Form, limit: int = 1) -> Any:
    """Return the question that a form stands for.

    Raises:
        UsageError: a parameter is too long, or a figure cannot be read.
    """
    from rackfit.ask.question import FitQuestion

    return FitQuestion(**form.values(), limit=limit)


@dataclass(frozen=True)
class TrainForm(PageForm):
    """What /train is asked: everything that `rackfit train` can be asked, by the same names."""

    FIGURES = {
        **dict.fromkeys(("tp", "pp", "cp", "ep", "rank", "micro_batch", "accumulation", "shards"), figures.WHOLE),
        **dict.fromkeys(("rollout_share", "tokens", "host_ram_gib"), figures.DECIMAL),
        "zero": figures.amount(),
        "sequence_length": figures.TOKENS,
        "reshard": figures.FLAG,
        "fused_update": figures.FLAG,
        "flash": figures.FLAG,
    }

    model: str = ""
    on: str = ""
    recipe: str = ""
    optimizer: str = ""
    zero: str = ""
    recompute: str = ""
    offload: str = ""
    tp: str = ""
    pp: str = ""
    cp: str = ""
    ep: str = ""
    rank: str = ""
    targets: str = ""
    base: str = ""
    fused_update: str = ""
    sequence_length: str = ""
    micro_batch: str = ""
    accumulation: str = ""
    framework: str = ""
    loss: str = ""
    job: str = ""
    shards: str = ""
    host_ram_gib: str = ""
    reshard: str = ""
    flash: str = ""
    teacher: str = ""
    rollout_share: str = ""
    tokens: str = ""


def train_question_of(form: TrainForm) -> Any:
    """Return the training question that a form stands for.

    Raises:
        UsageError: a parameter is too long, or a figure cannot be read.
    """
    from rackfit.ask.train import TrainQuestion

    return TrainQuestion(**form.values())


@dataclass(frozen=True)
class OwnForm(Form):
    """What the calculator is asked of inference: the same, and the text of a config.json in place of a name."""

    LONG = {"config": LONGEST_CONFIG}

    config: str = ""


@dataclass(frozen=True)
class OwnTrainForm(TrainForm):
    """What the calculator is asked of training: the same, and the text of a config.json in place of a name."""

    LONG = {"config": LONGEST_CONFIG}

    config: str = ""


def with_own_model(question: Any, form: OwnForm | OwnTrainForm) -> Any:
    """Return a question about the model of the form's config.json, where there is one.

    Raises:
        UsageError: the text is no JSON. UnsupportedError: it describes no model that is read here, with the reason.
    """
    if not form.config:
        return question
    from rackfit.ask.model_files import pasted_model

    return replace(question, model=pasted_model(form.config, form.model or "config.json"))
