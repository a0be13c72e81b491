"""The check itself: each requirement on each system, compliant, not compliant or unknown, with what it rests on."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rackfit.ask.choices import choose_cache
from rackfit.ask.fit import answer_for
from rackfit.ask.parts import sources_of
from rackfit.ask.question import FitQuestion, Subject, find_model, read_context
from rackfit.ask.quote_rows import layout_text
from rackfit.ask.speed import speed_one
from rackfit.ask.tender.evidence import Fact, FieldKind, facts_of, field_kinds, near_field
from rackfit.ask.tender.offered import Offered
from rackfit.ask.tender.requirements import Requirement, Requirements
from rackfit.ask.tender.wish import DeviceWish
from rackfit.catalog.context import Context
from rackfit.catalog.release import newest_release
from rackfit.errors import BadFileError, Problem, RackfitError, UnsupportedError, UsageError

COMPLIANT, NOT_COMPLIANT, UNKNOWN = "compliant", "not compliant", "unknown"
GIB = 2**30
ORDER = (NOT_COMPLIANT, UNKNOWN, COMPLIANT)
"""Worst first: a system is what its worst requirement is."""
MEMORY = FieldKind("memory_gb", True, unit="GB")
NUMERIC_BOUNDS = ("at_least", "at_most")
TEXT_BOUNDS = ("one_of", "contains")


@dataclass(frozen=True)
class Finding:
    """The verdict on one requirement with its evidence."""

    verdict: str
    value: str | None
    reason: str
    record: str | None = None
    sources: tuple[str, ...] = ()
    confidence: str | None = None
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judge:
    """A tender, ready to be checked on one system after another."""

    connection: sqlite3.Connection
    context: Context
    kinds: Mapping[str, FieldKind]
    subjects: Mapping[str, Subject]

    def finding(self, requirement: Requirement, offered: Offered) -> Finding:
        """Return the verdict on one requirement for one system."""
        if requirement.devices:
            return self._devices(requirement.wishes, offered)
        if requirement.field:
            facts = facts_of(self.connection, offered, self.kinds[requirement.field])
            return _worst([_bounded(requirement, fact) for fact in facts])
        return _worst([self._model(requirement, name, offered) for name in requirement.models])

    def _devices(self, wishes: Sequence[DeviceWish], offered: Offered) -> Finding:
        """Return whether the devices meet any alternative; GB are the label, GiB the memory of fits."""
        count = offered.devices
        if count is None:
            return Finding(UNKNOWN, None, "neither the offer nor a record says how many devices it has")
        facts = facts_of(self.connection, offered, MEMORY)
        usable = [part.device.memory_bytes / GIB for part in offered.parts]
        labels = [fact.value for fact in facts]
        least = None if None in labels or not labels else min(labels)
        verdict, reason = _met(wishes, count, least, min(usable, default=None))
        doubts = [one for fact in facts for one in fact.others if one.unresolved and isinstance(one.value, float)]
        for one in doubts:
            if _met(wishes, count, min(one.value, least or one.value), min(usable, default=None))[0] != verdict:
                verdict, reason = UNKNOWN, str(one)
        shown = f"{count} x {'unknown memory' if least is None else f'{least:g} GB'}"
        shown += f" ({min(usable):.2f} GiB)" if usable else ""
        records = ", ".join(fact.record for fact in facts if fact.record)
        sources = tuple(dict.fromkeys(source for fact in facts for source in fact.sources))
        return Finding(verdict, shown, reason, records or offered.place, sources, facts[0].confidence)

    def _model(self, requirement: Requirement, name: str, offered: Offered) -> Finding:
        """Return whether a model fits, and is fast enough where that is asked."""
        if offered.machine is None:
            return Finding(UNKNOWN, None, f"{name}: the offer names no hardware on record", offered.place)
        question = FitQuestion(
            model=name, on=offered.machine.shown, precision=requirement.precision,
            kv_precision=requirement.kv_precision, context=requirement.context, sequences=requirement.sequences,
            runtime=requirement.runtime,
        )  # fmt: skip
        try:
            answer = answer_for(self.connection, question, self.context, self.subjects[name], offered.machine)
        except UnsupportedError as error:
            return Finding(UNKNOWN, None, f"{name}: {error}")
        found = replace(_fitted(name, answer), sources=self._sources(name, offered))
        if found.verdict == NOT_COMPLIANT or not (requirement.min_tokens_s or requirement.max_first_token_s):
            return found
        return _worst([found, self._speed(requirement, name, question, answer)])

    def _sources(self, name: str, offered: Offered) -> tuple[str, ...]:
        """Return what a fit rests on: the sources of the model's shape and of the memory of each device."""
        found = sources_of(self.connection, "models", self.subjects[name].anatomy.model.model_id)
        for part in offered.parts:
            key = str(part.accelerator["accelerator_id"])
            for field in ("usable_memory_bytes", "memory_gb"):
                found += sources_of(self.connection, "accelerators", key, field)
        return tuple(dict.fromkeys(found))

    def _speed(self, requirement: Requirement, name: str, question: FitQuestion, answer: Mapping[str, Any]) -> Finding:
        try:
            speed = speed_one(self.connection, question)
        except UnsupportedError as error:
            return Finding(UNKNOWN, None, f"{name}: {error}")
        row = next((one for one in speed["decode"] if one["sequences"] == answer["sequences"]), None)
        prefill = speed["prefill"]
        findings = []
        if (wanted := requirement.min_tokens_s) is not None:
            findings.append(_ranged(name, "tokens/s", wanted, row and (row["low"], row["tokens_per_s"], row["high"])))
        if (wanted := requirement.max_first_token_s) is not None:
            times = prefill and tuple(
                -prefill[f"time_to_first_token_{part}s"] for part in ("high_", "", "low_")
            )  # a longer time is a smaller figure
            findings.append(_ranged(name, "s to the first token", -wanted, times))
        return _worst(findings)


def _met(wishes: Sequence[DeviceWish], count: int, label: float | None, usable: float | None) -> tuple[str, str]:
    """Return whether devices meet any of the alternatives, by memory of the label (GB) or that of fits (GiB)."""
    met = [wish.met_by(count, label if wish.unit == "GB" else usable) for wish in wishes]
    if True in met:
        return COMPLIANT, f"meets {wishes[met.index(True)]}"
    if None in met:
        return UNKNOWN, "the memory of a device is not on record"
    return NOT_COMPLIANT, "meets none of them"


def _ranged(name: str, unit: str, wanted: float, found: tuple[float, float, float] | None) -> Finding:
    """Return whether an estimate with a range reaches a bound: surely, surely not, or nobody can say."""
    if found is None:
        return Finding(UNKNOWN, None, f"{name}: its speed cannot be said")
    low, likely, high = found
    verdict = COMPLIANT if low >= wanted else NOT_COMPLIANT if high < wanted else UNKNOWN
    ends = sorted((abs(low), abs(high)))
    shown = f"{abs(likely):,.4g} {unit} ({ends[0]:,.4g} to {ends[1]:,.4g})"
    reason = {COMPLIANT: "the whole range is within", NOT_COMPLIANT: "no part of the range is within",
              UNKNOWN: "part of the range is within"}[verdict]  # fmt: skip
    return Finding(verdict, f"{name}: {shown}", f"{name}: {reason} {abs(wanted):,.4g} {unit}")


def _fitted(name: str, answer: Mapping[str, Any]) -> Finding:
    """Return the verdict of a fit as that of a tender: what only the likely estimate says is unknown."""
    device, verdict = answer["per_device"], answer["verdict"]
    if device is None:
        doubt = answer["precision_support"] == "unknown"
        return Finding(UNKNOWN if doubt else NOT_COMPLIANT, None, f"{name}: cannot run, {answer['reason']}",
                       assumptions=tuple(answer["assumptions"]))  # fmt: skip
    found = {"fits": COMPLIANT, "tight": UNKNOWN, "no": NOT_COMPLIANT}[verdict]
    reason = f"{name}: {verdict}, {answer['reason']}"
    if verdict == "no" and device["low_bytes"] <= device["usable_bytes"]:
        found, reason = UNKNOWN, f"{reason}; the low estimate would fit"
    shown = f"{name}: {device['margin_bytes'] / GIB:+.2f} GiB per device, {answer['precision']}, " + (
        layout_text(answer["layout"]) or ""
    )
    return Finding(
        found, shown, reason, f"fit of {answer['model']} on {answer['hardware']}, {answer['runtime_budget']}",
        assumptions=(*answer["assumptions"], *answer["warnings"]),
    )  # fmt: skip


def _bounded(requirement: Requirement, fact: Fact) -> Finding:
    """Return whether a fact is within the bounds; an unresolved dispute that would turn it makes it unknown."""
    if fact.value is None:
        return Finding(UNKNOWN, None, fact.note or "not on record", fact.record, fact.sources, fact.confidence)
    verdict = _within(requirement, fact.value)
    shown = f"{_shown(fact.value)} {fact.unit or ''}".strip()
    reason = fact.note or ("as on record" if verdict == COMPLIANT else "outside the bound")
    turned = [one for one in fact.others if _within(requirement, one.value) != verdict]
    if turned:
        reason = "; ".join(dict.fromkeys([reason, *map(str, turned)]))
        verdict = UNKNOWN if any(one.unresolved for one in turned) else verdict
    return Finding(verdict, shown, reason, fact.record, fact.sources, fact.confidence)


def _within(requirement: Requirement, value: Any) -> str:
    text = str(value).casefold()
    tests: list[bool] = []
    if requirement.at_least is not None:
        tests.append(float(value) >= requirement.at_least)
    if requirement.at_most is not None:
        tests.append(float(value) <= requirement.at_most)
    if requirement.equals is not None:
        tests.append(_equal(value, requirement.equals))
    if requirement.one_of:
        tests.append(text in {one.casefold() for one in requirement.one_of})
    if requirement.contains is not None:
        tests.append(requirement.contains.casefold() in text)
    return COMPLIANT if all(tests) else NOT_COMPLIANT


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, (int, float)) and isinstance(wanted, (int, float)):
        return float(value) == float(wanted)
    return str(value).casefold() == str(wanted).casefold()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _worst(findings: Sequence[Finding]) -> Finding:
    """Return several findings as one: the worst verdict, everything that was found."""
    if len(findings) == 1:
        return findings[0]
    verdict = min((one.verdict for one in findings), key=ORDER.index)
    joined: Callable[[str], str | None] = lambda name: (  # noqa: E731
        "; ".join(dict.fromkeys(getattr(one, name) for one in findings if getattr(one, name))) or None
    )
    return Finding(
        verdict, joined("value"), joined("reason") or "", joined("record"),
        tuple(dict.fromkeys(source for one in findings for source in one.sources)),
        next((one.confidence for one in findings if one.confidence), None),
        tuple(dict.fromkeys(text for one in findings for text in one.assumptions)),
    )  # fmt: skip


def check_tender(
    connection: sqlite3.Connection, requirements: Requirements, offered: Sequence[Offered]
) -> dict[str, Any]:
    """Return the check of a tender: one row per system and requirement, and a summary per system, best first.

    A system is `compliant` where every requirement is, `not compliant` where any is not, else `unknown`: what is not on
    record is never taken for met.

    Raises:
        BadFileError: fields, models or formats of the requirements that are not known, all at once.
        UsageError: no system to check.
    """
    if not offered:
        raise UsageError("no system to check: name one, or a file of offers")
    judge = _judge(connection, requirements)
    rows: list[dict[str, Any]] = []
    summary: list[dict[str, Any]] = []
    for one in offered:
        found = [(line, judge.finding(line, one)) for line in requirements.lines]
        rows += [_row(one, line, finding) for line, finding in found]
        counts = Counter(finding.verdict for _, finding in found)
        summary.append(
            {
                "system": one.name,
                "verdict": min(counts, key=ORDER.index),
                **{name.replace(" ", "_"): counts.get(name, 0) for name in (COMPLIANT, NOT_COMPLIANT, UNKNOWN)},
                "fails": [line.id for line, finding in found if finding.verdict == NOT_COMPLIANT],
                "open": [line.id for line, finding in found if finding.verdict == UNKNOWN],
            }
        )
    summary.sort(key=lambda row: (-ORDER.index(row["verdict"]), row["not_compliant"], row["unknown"], row["system"]))
    place = {row["system"]: number for number, row in enumerate(summary)}
    rows.sort(key=lambda row: place[row["system"]])
    release = newest_release(connection)
    return {
        "query": {"requirements": requirements.name, "title": requirements.title, "systems": len(offered)},
        "systems": summary,
        "results": rows,
        "catalog_version": release.version,
        "catalog_hash": release.logical_hash,
    }


def _judge(connection: sqlite3.Connection, requirements: Requirements) -> Judge:
    """Return the judge of a tender whose every name is known."""
    kinds, context = field_kinds(connection), read_context(connection)
    subjects: dict[str, Subject] = {}
    problems: list[Problem] = []
    for line in requirements.lines:
        place = f"{requirements.name} [{line.id}]"
        problems += _field_problems(place, line, kinds)
        for name in line.models:
            try:
                subjects.setdefault(name, find_model(connection, name))
            except RackfitError as error:
                problems.append(Problem(place, "models", name, f"a model on record ({error})"))
        try:
            choose_cache(context, line.kv_precision)
        except RackfitError as error:
            problems.append(Problem(place, "kv_precision", line.kv_precision, str(error)))
    if problems:
        raise BadFileError(requirements.name, problems)
    return Judge(connection, context, kinds, subjects)


def _field_problems(place: str, line: Requirement, kinds: Mapping[str, FieldKind]) -> list[Problem]:
    if line.field is None:
        return []
    kind = kinds.get(line.field)
    if kind is None:
        return [Problem(place, "field", line.field, f"a field on record, such as {near_field(kinds, line.field)}")]
    wrong = TEXT_BOUNDS if kind.numeric and not kind.truth else NUMERIC_BOUNDS
    names = [name for name in wrong if getattr(line, name) not in (None, [])]
    right = "at_least, at_most or equals" if wrong == TEXT_BOUNDS else "equals, one_of or contains"
    what = "a number" if wrong == TEXT_BOUNDS else "yes or no" if kind.truth else "text"
    return [Problem(place, name, getattr(line, name), f"{right}: {line.field} is {what}") for name in names]


def _row(offered: Offered, line: Requirement, finding: Finding) -> dict[str, Any]:
    return {
        "system": offered.name,
        "requirement": line.id,
        "text": line.text,
        "wanted": line.wanted,
        "verdict": finding.verdict,
        "value": finding.value,
        "reason": finding.reason,
        "record": finding.record,
        "sources": list(finding.sources),
        "confidence": finding.confidence,
        "assumptions": list(finding.assumptions),
    }
