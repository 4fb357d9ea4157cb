"""`timing_gap`: that a plan, timed end to end, takes another time than was predicted, beyond what both may be off, and the likely reason.

A plan, its `verify` document and facts about the machine enter; a sentence leaves. Nothing is measured here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...base.durations import milliseconds
from ...base.processor import usable_cores
from ...cost.database.records import machine_id
from ...cost.measuring.other_load import OtherLoad, busy_text
from ...documents.run import Disturbance
from ...documents.verify import Verify
from ...rewrite.plan import Plan
from .additive_error import additive_error_s

TOLERATED = 0.05
"""Share of the predicted total up to which a difference is no gap, however well both are known: it changes no decision."""


@dataclass(frozen=True)
class Surroundings:
    """The circumstances under which a plan was timed.

    Attributes:
        machine: As `machine_id`.
        cores: How many this process may use.
        others: How many of them other processes kept busy meanwhile.
    """

    machine: str
    cores: int
    others: float

    @classmethod
    def since(cls, load: OtherLoad) -> Surroundings:
        """Those of this process since `load` was made."""
        return cls(machine_id(), usable_cores(), load.cores())


def disturbance_of(around: Surroundings, threads: int) -> Disturbance | None:
    """Return what disturbed the timing of plans with so many threads; None where others left them their cores."""
    text = busy_text(around.others, around.cores, threads)
    return Disturbance(share=min(1.0, around.others / around.cores), text=f"{text} meanwhile") if text else None


def timing_gap(plan: Plan, verify: Verify, around: Surroundings) -> str:
    """Say by how much the measured time is off the predicted one, and why, as far as one can tell; empty where it is not."""
    measured_s = verify.measured_s
    gap_s = None if measured_s is None else additive_error_s(plan, measured_s)
    if measured_s is None or gap_s is None or not math.isfinite(gap_s):
        return ""
    interval_s = math.hypot(plan.total_interval_s or 0.0, verify.interval_s or 0.0)
    if abs(gap_s) <= max(interval_s, TOLERATED * plan.total_s):
        return ""
    predicted = milliseconds(plan.total_s, interval_s=plan.total_interval_s or None)
    return (
        f"timed end to end, the plan takes {milliseconds(measured_s)}; {predicted} were predicted. Likely reason: {_reason(plan, around)}"
    )


def _reason(plan: Plan, around: Surroundings) -> str:
    threads = int(plan.options.get("threads", 1))
    if threads > around.cores:
        return f"the plan has {threads} threads, and this process may use {around.cores} cores"
    if plan.machine and plan.machine != around.machine:
        return f"its costs are from another machine ({plan.machine})"
    busy = busy_text(around.others, around.cores, threads)
    if busy:
        return f"{busy}, which may have been different while its costs were measured"
    return "inside the whole plan, its partitions find other data in the caches than alone"
