"""`own_run`: a run whose plan is the user's own: its costs are measured, and the whole beside the plan of the run that it is given to.

The record of a run, a given plan and the model enter; a new record leaves. The given record is not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..base.durations import now
from ..errors import CollageError
from ..events import Emit, Note, ignore
from ..pipeline.discover import Phases
from ..pipeline.plan_documents import bodies_under, plan_document
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.finalists import GIVEN, decision_text
from .apparent_loss import own_plan
from .given_plan import GivenPlan
from .timed_beside import timed_beside


def own_run(record: RunRecord, given: GivenPlan, devices: Mapping[str, str], source: str | Path, emit: Emit = ignore) -> RunRecord:
    """Return a run whose plan is the user's own.

    Raises:
        CollageError: as `own_plan` and `timed_beside`, or the user's plan cannot be built, or computes something else than the model.
    """
    phases = Phases(emit)
    with phases("costs"):
        own = own_plan(record, given, devices, source, emit)
    beside = timed_beside(own.record, own.plan, own.name, source, emit)
    if beside.reason or beside.verify is None:
        message = f"{own.name} cannot be timed end to end: {beside.reason}"
        raise CollageError(message, "its costs can be compared all the same", "own_plan")
    plan = own.plan.model_copy(update={"constraints": ()})  # those of the run bind its search, and not the user's own plan
    known = own.record.document
    # At the end of the search stands a plan that nobody calls the best.
    final = replace(known.search.final, optimal=False, total_s=plan.total_s)
    document = replace(
        known,
        shapes=None,
        phases=phases.info,
        search=replace(known.search, final=final),
        plan=plan_document(plan),
        budget=None,
        decided_by=GIVEN,
        alternatives=beside.rows,
        baselines=tuple(replace(row, measured_s=None) for row in known.baselines),
        bodies=bodies_under(known.bodies, plan),
        verify=beside.verify,
        cancelled=None,
    )
    emit(Note(decision_text(document)))
    return replace(own.record, document=document, plan=plan, regret_s={}, created=now())
