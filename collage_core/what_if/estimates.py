"""`estimates`: what the roofline estimate says of each candidate that was measured, so that the two can be compared.

What enters is a record; what leaves is plain data. No candidate is built or run, and nothing of it is a cost: it says how far
estimates can be believed where nothing is measured.
"""

from __future__ import annotations

from typing import Any

from ..cost.database.records import machine_id
from ..cost.estimators.roofline import machine_rates
from ..cost.estimators.work_estimate import WorkEstimator
from ..pipeline.record import RunRecord

MEASURED = frozenset({"measured", "recorded"})


def estimates(record: RunRecord) -> dict[str, Any]:
    """``seconds`` by a candidate's id, for those that were measured; ``machine``, by whose speed; ``reason``, what they rest on.

    Raises:
        CollageError: this machine's speed cannot be measured.
    """
    measured = [item for item in record.candidates if item.cost.source in MEASURED and item.cost.seconds is not None]
    rates = machine_rates(int(record.plan.options.get("threads", 1)))
    work_of = WorkEstimator(record.graph)
    return {
        "machine": machine_id(),
        "reason": rates.reason,
        "seconds": {item.id: rates.seconds(work_of(item.inside)) for item in measured},
    }
