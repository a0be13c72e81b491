"""Can this model be trained on this hardware, how, and with how large a batch? One answer with every byte."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask.machines import Machine, find_machines
from rackfit.ask.question import Subject, find_model, read_context
from rackfit.ask.train_host import host_of, warn_of_loading
from rackfit.ask.train_recipes import ADAPTING, adapter_for, recipe_for
from rackfit.ask.train_roles import roles_of
from rackfit.ask.train_shown import described
from rackfit.ask.train_time import time_of
from rackfit.catalog.context import Context
from rackfit.errors import UnknownNameError, UsageError
from rackfit.fit.training_search import Answer, Host, least_aggressive, runs, smallest_count, strategies
from rackfit.fit.verdicts import WORST_FIRST
from rackfit.memory.training.domain import OFFLOAD_TIERS, RECOMPUTE, Adapter, Job, Offload, Parallel, Recipe, Rules
from rackfit.memory.training.logits import LOSSES
from rackfit.memory.training.overheads import DEFAULT, TABLE
from rackfit.memory.training.recipes import BITSANDBYTES, runs_bitsandbytes

DEFAULT_LENGTH = 4096
MICRO_BATCHES = 8
"""Micro-batches of a pipeline's step where none are said."""
DEFAULT_RECIPE = "adam_mixed_16"
JOBS = {
    "sft": (1.0, 0.0, 1.0),
    "dpo": (1.0, 1.0, 2.0),
    "grpo": (1.0, 1.0, 1.0),
    "ppo": (2.0, 2.0, 1.0),
    "distill": (1.0, 0.0, 1.0),
}
"""Kind of job -> (models trained, frozen copies beside them, sequences per sample). PPO trains actor and critic beside
a reference and a reward model; GRPO has no critic; DPO runs chosen and rejected answers together."""
TP_TRIED = (1, 2, 4, 8)
USUAL_RECIPES = ("full", "bf16", "8bit", "lora", "qlora")


@dataclass(frozen=True, slots=True)
class TrainQuestion:
    """What a user asks. None: not said, and the default is echoed in the answer."""

    model: str | Subject | None = None
    on: str | None = None
    recipe: str | None = None
    optimizer: str | None = None
    zero: int | None = None
    recompute: str | None = None
    offload: str | None = None
    tp: int | None = None
    pp: int | None = None
    cp: int | None = None
    ep: int | None = None
    rank: int | None = None
    targets: str | None = None
    base: str | None = None
    """Format of the frozen base under adapters."""
    fused_update: bool = False
    """Each gradient is applied and dropped inside the backward pass."""
    sequence_length: int | None = None
    micro_batch: int | None = None
    accumulation: int | None = None
    """Micro-batches whose gradients are summed before an update."""
    framework: str | None = None
    loss: str | None = None
    job: str | None = None
    shards: int | None = None
    host_ram_gib: float | None = None
    reshard: bool = True
    flash: bool | None = None
    """Fused attention, or one that writes its scores out. None: as the framework does for the model."""
    teacher: str | Subject | None = None
    rollout_share: float | None = None
    tokens: float | None = None
    """Tokens of the whole run, for the days that it takes."""

    def check(self) -> None:
        """Refuse figures and words that mean nothing.

        Raises:
            UsageError: naming the first, its value and what was expected.
        """
        for name in ("tp", "pp", "cp", "ep", "rank", "sequence_length", "micro_batch", "accumulation", "shards"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= 2**30:
                raise UsageError(f"{name} = {value}: expected a whole number from 1")
        if self.zero is not None and self.zero not in (0, 1, 2, 3):
            raise UsageError(f"zero = {self.zero}: expected a stage from 0 to 3")
        if self.fused_update and (self.accumulation or 1) > 1:
            raise UsageError(
                "fused_update: gradients that are dropped at once cannot be summed, expected accumulation 1"
            )
        if self.host_ram_gib is not None and not 0 < self.host_ram_gib <= 2**20:
            raise UsageError(f"host_ram_gib = {self.host_ram_gib}: expected gibibytes above 0")
        if self.rollout_share is not None and not 0 <= self.rollout_share < 1:
            raise UsageError(f"rollout_share = {self.rollout_share}: expected a share from 0, below 1")
        words = {"recompute": RECOMPUTE, "job": tuple(JOBS), "framework": tuple(sorted(TABLE)), "loss": tuple(LOSSES)}
        for name, known in words.items():
            said = getattr(self, name)
            if said is not None and said not in known:
                raise UnknownNameError(name, said, list(known))
        if self.offload is not None:
            read_offload(self.offload)


def read_offload(text: str) -> Offload:
    """Return what `none`, `optimizer`, `params`, `activations` or a sum of them (`optimizer=nvme+params`) moves.

    Raises:
        UsageError: another word.
    """
    optimizer, parameters, activations = "none", "none", False
    for word in text.casefold().replace(",", "+").split("+"):
        name, _, tier = word.strip().partition("=")
        tier = tier or "cpu"
        if tier not in OFFLOAD_TIERS or name not in ("none", "optimizer", "params", "parameters", "activations", "all"):
            raise UsageError(
                f"offload = {word!r}: expected none, optimizer, params, activations, all, each with =cpu|nvme"
            )
        optimizer = tier if name in ("optimizer", "params", "parameters", "all") else optimizer
        parameters = tier if name in ("params", "parameters", "all") else parameters
        activations = activations or name in ("activations", "all")
    return Offload(optimizer, parameters, activations)


@dataclass(frozen=True)
class TrainSetting:
    """A question with its names resolved."""

    question: TrainQuestion
    context: Context
    subject: Subject
    machine: Machine
    recipe: Recipe
    adapter: Adapter | None
    rules: Rules
    host: Host
    length: int
    teacher: float
    """Size of a frozen teacher, in models of the size trained."""
    assumed: tuple[str, ...]


def train_one(connection: sqlite3.Connection, question: TrainQuestion) -> dict[str, Any]:
    """Answer for one model on one machine; a class of hardware is answered by its worst candidate.

    Raises:
        UsageError and its kinds: a name or figure that cannot be read.
        UnsupportedError: hardware without the facts that an answer needs.
    """
    question.check()
    if question.model is None or question.on is None:
        raise UsageError("training needs a model and hardware")
    context = read_context(connection)
    subject = find_model(connection, question.model)
    answers = [
        _answer(connection, _resolved(connection, question, context, subject, machine))
        for machine in find_machines(connection, question.on)
    ]
    answer = min(answers, key=lambda one: WORST_FIRST.index(one["verdict"]))
    if len(answers) > 1:
        answer["assumptions"].append(f"{question.on!r} is a class: the candidate with the worst verdict is shown")
        answer["candidates"] = [{"hardware": one["hardware"], "verdict": one["verdict"]} for one in answers]
    return answer


def _resolved(
    connection: sqlite3.Connection, question: TrainQuestion, context: Context, subject: Subject, machine: Machine
) -> TrainSetting:
    assumed: list[str] = []
    recipe = recipe_for(connection, subject.anatomy, question.recipe or DEFAULT_RECIPE, question.optimizer)
    adapter = adapter_for(context, subject, recipe, question, assumed) if recipe.method in ADAPTING else None
    limit = subject.max_context
    length = question.sequence_length or min(DEFAULT_LENGTH, limit or DEFAULT_LENGTH)
    if question.recipe is None:
        assumed.append(f"recipe: {recipe.name}")
    if question.sequence_length is None:
        assumed.append(f"sequence length: {length} tokens")
    elif limit and question.sequence_length > limit:
        assumed.append(f"sequence length: {length} tokens are more than the model's own limit of {limit}")
    if question.micro_batch is None:
        assumed.append("micro-batch: 1 sequence per device")
    rules = TABLE[question.framework] if question.framework else DEFAULT
    if question.framework is None:
        assumed.append("framework: eager PyTorch, as Transformers runs it")
    if question.flash is None:
        fused = rules.fuses_attention(subject.anatomy.model.model_id)
        assumed.append(
            "attention: " + ("a fused kernel" if fused else "no fused kernel for this model: scores are kept")
        )
    machine = _evenly(machine, assumed)
    host = host_of(connection, machine, question.host_ram_gib, question.job or "sft", assumed)
    warn_of_loading(subject.anatomy.model.params_total, host, assumed)
    machine = _beside_rollout(machine, question, assumed)
    teacher = _teacher(connection, question, subject)
    notes = (*subject.notes, *assumed, *machine.notes)
    return TrainSetting(question, context, subject, machine, recipe, adapter, rules, host, length, teacher, notes)


def _evenly(machine: Machine, assumed: list[str]) -> Machine:
    """Return unlike devices as so many of the one with the least memory: every rank has the same share of the work."""
    if not machine.others:
        return machine
    least = min((device for device, _ in machine.kinds), key=lambda one: one.memory_bytes)
    assumed.append(f"unlike devices: every rank has the same share, so {least.name} with the least memory binds")
    total = machine.devices
    return replace(machine, device=least, count=total, per_domain=total // machine.nodes, others=(), unlike=True)


def _beside_rollout(machine: Machine, question: TrainQuestion, assumed: list[str]) -> Machine:
    """Return the machine without the share of each device that a colocated rollout engine keeps."""
    share = question.rollout_share
    if question.job in ("grpo", "ppo"):
        kept = f"keeps {share:.0%} of each device" if share else "sleeps or runs elsewhere while weights are trained"
        assumed.append(f"rollout engine: {kept}")
    if not share:
        return machine
    return replace(
        machine, device=replace(machine.device, memory_bytes=round(machine.device.memory_bytes * (1 - share)))
    )


def _teacher(connection: sqlite3.Connection, question: TrainQuestion, subject: Subject) -> float:
    """Return the teacher's size in students; 0 without.

    Raises:
        UsageError: distillation without a teacher.
    """
    if question.teacher is None:
        if question.job == "distill":
            raise UsageError("distill needs a teacher model (teacher)")
        return 0.0
    teacher = find_model(connection, question.teacher).anatomy.model.params_total
    return teacher / subject.anatomy.model.params_total


def base_job(setting: TrainSetting, tp: int) -> Job:
    """Return the job before a strategy is chosen: degrees that are given kept, all other devices data-parallel.

    Raises:
        UsageError: degrees or shards that do not divide the devices.
    """
    question, machine = setting.question, setting.machine
    pp, cp, ep = question.pp or 1, question.cp or 1, question.ep or 1
    claimed = tp * pp * cp
    if machine.count % claimed:
        raise UsageError(f"TP {tp} x PP {pp} x CP {cp} = {claimed} does not divide {machine.count} devices")
    trained, frozen, factor = JOBS[question.job or "sft"]
    rules = setting.rules
    if setting.adapter is not None and question.job in ("dpo", "grpo"):
        frozen = 0.0  # the base without its adapters is the reference
    ranks = machine.count // claimed
    if question.shards and (ranks * cp) % question.shards:
        raise UsageError(f"shards = {question.shards}: expected a divisor of the {ranks * cp} data-parallel ranks")
    parallel = Parallel(
        ranks, tp, pp, cp, ep, question.zero or 0, question.shards,
        micro_batches=question.accumulation or MICRO_BATCHES, reshard=question.reshard,
    )  # fmt: skip
    offload = read_offload(question.offload) if question.offload else Offload()
    flash = rules.fuses_attention(setting.subject.anatomy.model.model_id) if question.flash is None else question.flash
    return Job(
        setting.subject.anatomy, setting.recipe, parallel, rules, setting.length, question.micro_batch or 1,
        question.recompute or "none", flash, offload=offload, adapter=setting.adapter, loss=question.loss,
        head_tokens_factor=factor, extra_models=frozen + setting.teacher,
        trained_models=trained, accumulates=(question.accumulation or 1) > 1, fused_update=question.fused_update,
    )  # fmt: skip


def _answer(connection: sqlite3.Connection, setting: TrainSetting) -> dict[str, Any]:
    best, judged = _search(setting)
    answer = described(setting, best, judged)
    answer["other_recipes"] = _other_recipes(connection, setting)
    answer["roles"] = roles_of(setting, best)
    answer["time"] = time_of(connection, setting, best)
    return answer


def _search(setting: TrainSetting) -> tuple[Answer, list[Answer]]:
    """Return the least aggressive strategy that fits, and all that were judged.

    Raises:
        UsageError: degrees that do not divide the devices.
    """
    question = setting.question
    vendor = setting.machine.device.vendor
    if setting.recipe.recipe_id in BITSANDBYTES and not runs_bitsandbytes(vendor):
        reason = f"recipe {setting.recipe.recipe_id} needs bitsandbytes, which has no kernels for {vendor} devices"
        return Answer(base_job(setting, question.tp or 1), None, "cannot_run", reason), []
    if setting.machine.sliced and setting.machine.count > 1:
        reason = "MIG slices have no peer-to-peer link: one slice trains alone"
        return Answer(base_job(setting, question.tp or 1), None, "cannot_run", reason), []
    fixed = frozenset(name for name in ("zero", "recompute", "offload") if getattr(question, name) is not None)
    others = (question.pp or 1) * (question.cp or 1)
    best: Answer | None = None
    judged: list[Answer] = []
    for tp in (question.tp,) if question.tp else TP_TRIED:
        crosses = tp > 1 and tp > setting.machine.per_domain
        if question.tp is None and (crosses or setting.machine.count % (tp * others)):
            continue
        jobs = strategies(base_job(setting, tp), fixed, movable=setting.host.ram_bytes != 0)
        found, tried = least_aggressive(jobs, setting.machine.device, setting.host)
        judged += tried
        if best is None or WORST_FIRST.index(found.verdict) > WORST_FIRST.index(best.verdict):
            best = found
        if runs(best):
            break
    if best is None:
        raise UsageError(f"PP x CP = {others} does not divide {setting.machine.count} devices")
    return best, judged


def _other_recipes(connection: sqlite3.Connection, setting: TrainSetting) -> list[dict[str, Any]]:
    """Return how the usual recipes would do on the same machine, and the fewest devices each needs without offload."""
    rows = []
    for name in USUAL_RECIPES:
        recipe = recipe_for(connection, setting.subject.anatomy, name, None)
        if recipe.recipe_id == setting.recipe.recipe_id:
            continue
        adapter = None
        if recipe.method in ADAPTING:
            adapter = adapter_for(setting.context, setting.subject, recipe, setting.question, [])
        other = replace(setting, recipe=recipe, adapter=adapter)
        best, _ = _search(other)
        plain = replace(best.job, recompute="full", offload=Offload())
        rows.append(
            {
                "recipe": recipe.recipe_id,
                "verdict": best.verdict,
                "zero": best.job.parallel.zero,
                "recompute": best.job.recompute,
                "offload_optimizer": best.job.offload.optimizer,
                "driver_bytes": None if best.found is None else round(best.found.driver),
                "smallest_count": None if best.found is None else smallest_count(plain, setting.machine.device),
            }
        )
    return rows
