"""`verdict_now`: the verdict on the plan of a run by today's times: it and its nearest rival are built and timed end to end in turns.

A run and its model enter; a `Verdict` leaves. Nothing is kept.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from ..documents.verdict import Verdict, verdict
from ..events import Emit, ignore
from ..pipeline.record.record import RunRecord
from .timed_beside import timed_beside
from .what_if import plan_of_baseline


def verdict_now(record: RunRecord, source: str | Path, emit: Emit = ignore) -> Verdict:
    """Return the verdict on the plan of `record` beside what its own verdict compares it with, both timed now.

    It is that of the run where nothing was compared then.

    Args:
        source: The model's file or sample.

    Raises:
        CollageError: as `timed_beside`.
    """
    document = record.document
    then = verdict(document)
    row = next((row for row in document.alternatives if row.name == then.against and not row.is_plan), None)
    if row is None:
        return replace(then, text=f"as the run left it: {then.text}")
    beside = timed_beside(record, plan_of_baseline(record, row.name), row.name, source, emit)
    plan, other = beside.plan, beside.other
    halves = plan.interval_s, other.interval_s  # one of them is that of the ratio, whichever of the two is the faster one
    interval_s = None if None in halves else math.hypot(*(half for half in halves if half is not None))
    now = replace(row, measured_s=other.measured_s, interval_s=interval_s, rounds=other.rounds, reason=beside.reason)
    verify = replace(document.verify, measured_s=plan.measured_s, interval_s=plan.interval_s, rounds=plan.rounds, apart=False)
    return verdict(replace(document, verify=verify, alternatives=(now,), baselines=(), disturbance=None))
