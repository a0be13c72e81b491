"""Rackfit: does this language model fit this hardware?

>>> import rackfit
>>> rackfit.estimate_vram(70, "int4")["weights"]
35.0

Names are imported when they are first used, so that `import rackfit` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackfit.accuracy.score import score as score
    from rackfit.ask.attention import attention as attention
    from rackfit.ask.attention import hierarchy as hierarchy
    from rackfit.ask.compare import compare_machines as compare_machines
    from rackfit.ask.cost import CostQuestion as CostQuestion
    from rackfit.ask.cost import cost_one as cost_one
    from rackfit.ask.facts import hardware as hardware
    from rackfit.ask.facts import models as models
    from rackfit.ask.facts import show as show
    from rackfit.ask.fit import fit_one as fit_one
    from rackfit.ask.lists import what_runs as what_runs
    from rackfit.ask.lists import where_it_runs as where_it_runs
    from rackfit.ask.model_files import read_model as read_model
    from rackfit.ask.plan.answer import plan as plan
    from rackfit.ask.plan.question import PlanQuestion as PlanQuestion
    from rackfit.ask.power import PowerQuestion as PowerQuestion
    from rackfit.ask.power import power_one as power_one
    from rackfit.ask.question import FitQuestion as FitQuestion
    from rackfit.ask.quote import QuoteQuestion as QuoteQuestion
    from rackfit.ask.quote import quote as quote
    from rackfit.ask.scaling import scaling as scaling
    from rackfit.ask.speed import speed_one as speed_one
    from rackfit.ask.tender.judge import check_tender as check_tender
    from rackfit.ask.tender.offered import named_systems as named_systems
    from rackfit.ask.tender.offered import read_offered as read_offered
    from rackfit.ask.tender.requirements import read_requirements as read_requirements
    from rackfit.ask.together import fit_together as fit_together
    from rackfit.ask.train import TrainQuestion as TrainQuestion
    from rackfit.ask.train import train_one as train_one
    from rackfit.assemble import build as build
    from rackfit.catalog.connect import open_catalog as open_catalog
    from rackfit.catalog.resolve import resolve as resolve
    from rackfit.errors import RackfitError as RackfitError
    from rackfit.memory.quick import estimate_vram as estimate_vram
    from rackfit.paths import default_catalog as default_catalog

__version__ = "2026.11.0"

_HOMES = {
    "CostQuestion": "rackfit.ask.cost",
    "FitQuestion": "rackfit.ask.question",
    "PlanQuestion": "rackfit.ask.plan.question",
    "PowerQuestion": "rackfit.ask.power",
    "QuoteQuestion": "rackfit.ask.quote",
    "RackfitError": "rackfit.errors",
    "TrainQuestion": "rackfit.ask.train",
    "attention": "rackfit.ask.attention",
    "build": "rackfit.assemble",
    "compare_machines": "rackfit.ask.compare",
    "check_tender": "rackfit.ask.tender.judge",
    "cost_one": "rackfit.ask.cost",
    "default_catalog": "rackfit.paths",
    "estimate_vram": "rackfit.memory.quick",
    "fit_one": "rackfit.ask.fit",
    "fit_together": "rackfit.ask.together",
    "hardware": "rackfit.ask.facts",
    "hierarchy": "rackfit.ask.attention",
    "models": "rackfit.ask.facts",
    "named_systems": "rackfit.ask.tender.offered",
    "open_catalog": "rackfit.catalog.connect",
    "plan": "rackfit.ask.plan.answer",
    "power_one": "rackfit.ask.power",
    "quote": "rackfit.ask.quote",
    "read_offered": "rackfit.ask.tender.offered",
    "read_requirements": "rackfit.ask.tender.requirements",
    "read_model": "rackfit.ask.model_files",
    "resolve": "rackfit.catalog.resolve",
    "scaling": "rackfit.ask.scaling",
    "score": "rackfit.accuracy.score",
    "show": "rackfit.ask.facts",
    "speed_one": "rackfit.ask.speed",
    "train_one": "rackfit.ask.train",
    "what_runs": "rackfit.ask.lists",
    "where_it_runs": "rackfit.ask.lists",
}
"""Exported name -> module that defines it. No name may be that of a subpackage: importing the package would hide it."""

__all__ = [
    "CostQuestion",
    "FitQuestion",
    "PlanQuestion",
    "PowerQuestion",
    "QuoteQuestion",
    "RackfitError",
    "TrainQuestion",
    "__version__",
    "attention",
    "build",
    "check_tender",
    "compare_machines",
    "cost_one",
    "default_catalog",
    "estimate_vram",
    "fit_one",
    "fit_together",
    "hardware",
    "hierarchy",
    "models",
    "named_systems",
    "open_catalog",
    "plan",
    "power_one",
    "quote",
    "read_model",
    "read_offered",
    "read_requirements",
    "resolve",
    "scaling",
    "score",
    "show",
    "speed_one",
    "train_one",
    "what_runs",
    "where_it_runs",
]


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rackfit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the exported names."""
    return sorted(__all__)
