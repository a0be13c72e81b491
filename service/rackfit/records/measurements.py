"""Published measurements and statements: rows of data/measurements/*.csv, in the case format of `accuracy --cases`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from rackfit.records.base import Confidence, Text
from rackfit.records.sources import Url

CaseId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
CaseKind = Literal["K1", "K2", "K3", "K4", "K5", "K6", "K7", "K8"]
Degree = Annotated[int, Field(ge=1)]
CaseText = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^=+@\t\r\n\x00]")]

SCALES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}


def numeric(value: str) -> float | None:
    """Return the number that a case's value states: 1 and 0 for true and false, 6.2e9 for `6.2B`, None for a formula.

    >>> numeric("6.2B"), numeric("true"), numeric("34sbh")
    (6200000000.0, 1.0, None)
    """
    text = value.strip()
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    matched = re.fullmatch(r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)([KMBT]?)", text)
    if matched is None:
        return None
    return float(matched[1]) * SCALES.get(matched[2], 1.0)


class Measurement(BaseModel):
    """One published figure with the configuration that it was measured, computed or stated for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    case_id: CaseId
    kind: CaseKind
    model_id: Text | None = None
    params_total: Text | None = None
    precision_or_quant: Text | None = None
    kv_dtype: Text | None = None
    gpu: Text | None = None
    gpu_count: Degree | None = None
    tp: Degree | None = None
    pp: Degree | None = None
    dp_or_zero: Text | None = None
    context_tokens: Degree | None = None
    batch: Text | None = None
    other_config: CaseText | None = None
    quantity: Text
    value: CaseText
    unit: Text | None = None
    engine_and_version: Text | None = None
    source_url: Url
    source_note: CaseText | None = None
    confidence: Confidence
    file: str
    origin: Literal["release", "local"]
