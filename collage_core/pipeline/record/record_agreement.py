"""Checks that the parts of a run's record agree: candidates, problem, plan and document are of one graph.

A record that was read enters; nothing leaves, or a `CollageError` that names what contradicts what. A record of ours always agrees; one
of a stranger need not, and whatever asks about it later relies on that.
"""

from __future__ import annotations

from ...errors import CollageError
from .record import RunRecord, usable


def check_agreement(record: RunRecord) -> None:
    """Check a record that came from elsewhere.

    Raises:
        CollageError: two parts of it contradict each other.
    """
    fault = _fault(record)
    if fault:
        raise CollageError(f"the run contradicts itself: {fault}", "request the run again", "bad_run")


def _fault(record: RunRecord) -> str:
    nodes, problem, plan = record.graph.nodes, record.problem, record.plan
    if problem.nodes != len(nodes):
        return f"its problem has {problem.nodes} nodes, its graph {len(nodes)}"
    costed = usable(record.candidates)
    if [(one.id, one.target, one.inside) for one in costed] != [(one.id, one.target, one.inside) for one in problem.candidates]:
        return "its problem has other candidates than were costed"
    by_id = {one.id: one for one in costed}
    if sorted(node for part in plan.partitions for node in part.nodes) != list(range(len(nodes))):
        return "its plan does not hold every node once"
    for part in plan.partitions:
        one = by_id.get(part.id)
        if one is None or one.target != part.target or set(one.inside) != set(part.nodes):
            return f"its plan has a partition {part.id!r} that is no candidate of it"
    documented = record.document.plan.partitions
    if [(part.id, part.target, part.nodes) for part in documented] != [(part.id, part.target, part.nodes) for part in plan.partitions]:
        return "its document tells of another plan"
    return ""
