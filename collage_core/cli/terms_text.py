"""The plan of a run under other terms: the document of `collage explain --what-if`, and its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.counted import counted
from ..base.durations import duration, signed
from ..documents.what_if import DeviceCurve, DeviceTerms, ExplainedTerms
from ..errors import CollageError
from ..events import Emit, ignore
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.differences import region_text
from ..what_if.devices import memory_of
from ..what_if.other_terms import other_terms
from ..what_if.questions import DEVICE_CURVE
from ..what_if.terms import Terms
from .say import say

NO_COSTS: Mapping[str, float] = {}
NO_DEVICES: Mapping[tuple[str, str], str] = {}
SHOWN_REGIONS = 8


def explain_terms(
    path: Path,
    constraints: Sequence[dict[str, Any]],
    accuracy: float | None,
    costs: Mapping[str, float] = NO_COSTS,
    model: str | None = None,
    emit: Emit = ignore,
    devices: Mapping[tuple[str, str], str] = NO_DEVICES,
) -> ExplainedTerms:
    """Return the best plan under other terms, its difference from the plan of the run, and what each brings (`other_terms`).

    Args:
        path: As in `record_path`.
        accuracy: Largest error of a partition; None for that of the run.
        costs: Candidate id → seconds that are typed in.
        model: Measures candidates that are accurate enough now and were not timed.
        devices: ``memory`` or ``link`` and a location → its bytes, its percentage, or its speed as text.
    """
    record = RunRecord.load(path)
    terms: dict[str, DeviceTerms] = {}
    for (quantity, location), text in devices.items():
        terms[location] = replace(terms.get(location, DeviceTerms()), **{quantity: _size(record, quantity, location, text)})
    return other_terms(record, Terms(constraints, accuracy, costs=costs, devices=terms), model, emit)


def _size(record: RunRecord, quantity: str, location: str, text: str) -> float:
    """Return the number in a text such as ``4e6``, or ``50%`` of what there is."""
    try:
        number = float(text.removesuffix("%"))
    except ValueError as error:
        message = f"the {quantity} of {location!r} is {text!r}, where a number must stand"
        raise CollageError(message, "such as memory:cuda:0=8e9, memory:cuda:0=50% or link:cuda:0=0.5", "bad_option") from error
    if not text.endswith("%"):
        return number
    return number / 100 * (memory_of(record, location) if quantity == "memory" else 1)


def explain_curves(path: Path, curves: Sequence[tuple[str, str]]) -> tuple[DeviceCurve, ...]:
    """Return how the best plan changes with the memory or the link of each location that is asked for."""
    record = RunRecord.load(path)
    return tuple(DEVICE_CURVE.ask(record, location, quantity) for quantity, location in curves)


def show_curves(curves: Sequence[DeviceCurve]) -> None:
    """Print the answer of `explain_curves` as text."""
    for curve in curves:
        for text in curve.texts:
            say(text)
        if not curve.is_complete:
            say("not every size was searched: the time was over")


def show_terms(document: ExplainedTerms) -> None:
    """Print the answer of `explain_terms` as text."""
    predicted, partitions = document.predicted_text, counted(len(document.plan.partitions), "partition")
    if document.keeps_plan:
        measured = "" if document.measured_s is None else f"measured {duration(document.measured_s)}, "
        say(f"nothing changes, the plan of the run holds this: {measured}{predicted}, {partitions}")
    else:
        basis, change = ", with costs typed in" if document.typed else "", document.change
        is_unknown = change is not None and change.change_s is None and not change.at_least_s
        compared = "not comparable with the plan of the run" if is_unknown else f"{document.change_text} against the plan of the run"
        say(f"{compared}: {predicted}, {partitions}{basis}")
    for row in document.typed:
        before = row.before
        was = duration(before.seconds) if before.seconds is not None else before.reason
        equal = f", and so do {row.equal - 1} equal ones" if row.equal > 1 else ""
        say(f"  typed in: {row.label} on {row.target} takes {duration(row.seconds)}{equal} ({before.source} before: {was})")
    if document.typed and document.kept_s is not None:
        say(f"  the plan of the run would take {duration(document.kept_s)} with these costs")
    _show_effects(document)
    _show_other_targets(document)
    for region in document.regions[:SHOWN_REGIONS]:
        say(f"  {signed(region.change_s):>10}  {region_text(region.first, region.second)}")
    if document.untimed:
        told = f"{document.untimed} candidates would be accurate enough, but nobody has timed them"
        say(f"{told}: --measure MODEL does, or run again to find out")


def _show_other_targets(document: ExplainedTerms) -> None:
    """Print the targets that come in or leave, and what each that comes in brings."""
    for row in document.targets:
        if row.nodes and not row.nodes_before:
            brings = "" if row.brings_s is None else f", {duration(row.brings_s)} less than without it"
            say(f"  {row.target} comes in with {counted(row.nodes, 'node')}{brings}")
        elif row.nodes_before and not row.nodes:
            say(f"  {row.target} is out: it had {row.nodes_before} nodes")
        if row.untimed:
            say(f"  {row.target}: {row.untimed} candidates are accurate enough now and not timed")


def _show_effects(document: ExplainedTerms) -> None:
    """Print what each constraint costs alone, and what taking it back saves."""
    for constraint, effect in zip(document.constraints, document.effects, strict=False):
        say(f"  {json.dumps(constraint)}: {effect.text}")
