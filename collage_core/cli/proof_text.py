"""`proof_text`: how good the plan of a run is, as far as its search proved it. The document of `collage partition` enters, a phrase leaves.

The page says the same in the same words (`frontend/src/data/plan/proof_text.ts`).
"""

from __future__ import annotations

from ..base.durations import duration
from ..documents.run import RunDocument

_NOTHING_S = 0.5e-12
"""Less than this apart two totals are equal: costs are rounded to femtoseconds."""

_OTHERWISE = {"whole": "chosen by measuring the whole", "given": "given, not searched for"}
"""How it is said that something else than the total decided, by ``decided_by``."""


def proof_text(document: RunDocument) -> str:
    """Return what is proven of the plan's total: that no plan has a lower one, or by how much it is above the least and why."""
    plan, final = document.plan, document.search.final  # the first search knew neither fused partitions nor ties
    least_s = final.lower_bound_s
    above_s = plan.total_s - least_s if least_s > 0 else 0.0
    if final.optimal and above_s <= _NOTHING_S:
        has_unknown = any(part.cost_s is None for part in plan.partitions)
        return "optimal for the known costs" if has_unknown else "optimal for these costs"
    if document.decided_by in _OTHERWISE:
        return _OTHERWISE[document.decided_by]
    if above_s <= _NOTHING_S:
        return "not proven to be the best"
    reason, interval_s = "" if final.optimal else "stopped early", plan.total_interval_s
    if interval_s is None or above_s > interval_s:
        return ": ".join(filter(None, (reason, f"at most {duration(above_s)} above the best")))
    is_tie = any(part.decided_by == "priority" and part.cost_s is not None for part in plan.partitions)
    noise = f"at most {duration(above_s)} above the best, within noise"
    return ": ".join(filter(None, ("tie broken by priority" if is_tie else reason, noise)))
