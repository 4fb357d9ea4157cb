"""`estimates`: the roofline estimate of each candidate that was measured, so that estimates and measurements can be compared.

A record enters; plain data leaves. No candidate is built or run, and the estimates are not used as costs.
"""

from __future__ import annotations

from ..cost.database.records import machine_id
from ..cost.estimators.roofline import machine_rates
from ..documents.candidates import RunEstimates
from ..graph.work_estimate import WorkEstimator
from ..pipeline.record.record import RunRecord

MEASURED = frozenset({"measured", "recorded"})


def estimates(record: RunRecord) -> RunEstimates:
    """Return the estimate of each candidate that was measured.

    Raises:
        CollageError: this machine's speed cannot be measured.
    """
    measured = [item for item in record.candidates if item.cost.source in MEASURED and item.cost.seconds is not None]
    rates = machine_rates(int(record.plan.options.get("threads", 1)))
    work_of = WorkEstimator(record.graph)
    return RunEstimates(machine_id(), rates.reason, {item.id: rates.seconds(work_of(item.inside)) for item in measured})
