"""`totals`: the plan of a run and all that it was compared with, as rows with their times and how each compares with the plan.

The document of a run enters; plain data leaves. Nothing is searched or measured.
"""

from __future__ import annotations

import math

from ..documents.plan import Baseline
from ..documents.run import Alternative, RunDocument
from ..documents.statement_text import change_text
from ..documents.statements import PlanTime, compared, time_of_row, time_of_run
from ..documents.totals import RunTotals, TotalRow
from ..documents.verdict import widened
from ..pipeline.whole.finalists import decision_text

PLAN_NAME = "this plan"


def totals(document: RunDocument) -> RunTotals:
    """Return the times of the plan of a run and of all other plans that the run names."""
    own = time_of_run(document)
    reason = "some of its costs are not known" if own.predicted_s is None else ""
    first = TotalRow(name=PLAN_NAME, kind="plan", time=own, rounds=document.verify.rounds or 0, reason=reason, against="")
    known = {row.name for row in document.alternatives}
    others: list[Alternative | Baseline] = [*document.alternatives, *(row for row in document.baselines if row.name not in known)]
    return RunTotals(decision_text(document), (first, *sorted((_row(document, row, own) for row in others), key=_order)))


def _row(document: RunDocument, row: Alternative | Baseline, own: PlanTime) -> TotalRow:
    if isinstance(row, Alternative):
        time, kind, rounds = time_of_row(document, row), row.kind, row.rounds
    else:
        time, kind, rounds = PlanTime(predicted_s=row.total_s, measured_s=row.measured_s), "baseline", 0
    statement = widened(compared(time, own), document)
    return TotalRow(
        name=row.name,
        kind=kind,
        time=time,
        rounds=rounds,
        reason=row.reason,
        against="" if statement.basis == "unknown" else change_text(statement),
    )


def _order(row: TotalRow) -> tuple[bool, float]:
    time = row.time
    seconds = time.measured_s if time.measured_s is not None else time.predicted_s
    return time.measured_s is None, math.inf if seconds is None else seconds
