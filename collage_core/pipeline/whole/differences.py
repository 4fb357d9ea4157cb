"""`differences`: how the plan of a run differs from each partitioning that came from elsewhere, region by region, and what that brings.

A `RunRecord` enters; plain data leaves. The apparent loss is that of RFC 62 (Collage): the plan's time less that of the partitioning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from ...documents.explain import PartitioningDifference, SavingRegion, ShownPartition
from ...documents.plan import PlanPart
from ...documents.run import BaselineInfo
from ...documents.statement_text import faster_text
from ...documents.statements import PlanTime, compared, time_of_run, turned
from ...rules.spec import HOST_TARGET
from ...search.plan_properties import plan_total
from ...search.problem import FEMTOSECONDS
from ..loop.cost_table import is_settled
from ..loop.rivals import differing_regions
from ..record.record import CostedCandidate, RunRecord


def differences(record: RunRecord) -> tuple[PartitioningDifference, ...]:
    """Return how the plan differs from each partitioning whose plan is known."""
    known = {candidate.id for candidate in record.problem.candidates}
    rows = [(row, row.partitions) for row in record.document.baselines if row.partitions]
    return tuple(_difference(record, row, parts) for row, parts in rows if known.issuperset(partition.id for partition in parts))


def _difference(record: RunRecord, row: BaselineInfo, parts: Sequence[PlanPart]) -> PartitioningDifference:
    by_id = {item.id: item for item in record.candidates}
    mine = [by_id[partition.id] for partition in record.plan.partitions]
    theirs = [by_id[partition.id] for partition in parts]
    found = [_region(record, mine, *sides) for sides in differing_regions(mine, theirs)]
    known = PlanTime(predicted_s=row.total_s, measured_s=row.measured_s)
    change = turned(compared(known, time_of_run(record.document)))
    return PartitioningDifference(
        name=row.name,
        plan_partitions=_count(mine),
        partitions=_count(theirs),
        total_s=row.total_s,
        measured_s=row.measured_s,
        apparent_loss_s=change.change_s,
        is_measured=change.basis == "measured",
        change_text=faster_text(change, row.name),
        is_estimate=any(item.cost.source == "estimate" or item.cost.is_guess for item in theirs if item.target != HOST_TARGET),
        regions=tuple(sorted(found, key=lambda region: math.inf if region.saves_s is None else -region.saves_s)),
    )


def _count(items: Iterable[CostedCandidate]) -> int:
    return sum(item.target != HOST_TARGET for item in items)


def _region(
    record: RunRecord, plan: Sequence[CostedCandidate], mine: Sequence[CostedCandidate], theirs: Sequence[CostedCandidate]
) -> SavingRegion:
    shown, instead = (tuple(_shown(record, item) for item in items) for items in (mine, theirs))
    return SavingRegion(shown, instead, swapped_saves_s(record, plan, mine, theirs))


def swapped_saves_s(
    record: RunRecord, plan: Sequence[CostedCandidate], mine: Sequence[CostedCandidate], theirs: Sequence[CostedCandidate]
) -> float | None:
    """Return by how much a plan is faster with its partitions `mine` than with `theirs` in their place, transitions included.

    None where a cost of either is not known to its end.
    """
    if not all(is_settled(item.cost) or item.target == HOST_TARGET for item in (*mine, *theirs)):
        return None
    index_of = {candidate.id: index for index, candidate in enumerate(record.problem.candidates)}
    swapped = {item.id for item in mine}
    chosen = [index_of[item.id] for item in plan]
    other = [index_of[item.id] for item in (*(item for item in plan if item.id not in swapped), *theirs)]
    return (plan_total(record.problem, other) - plan_total(record.problem, chosen)) / FEMTOSECONDS


def _shown(record: RunRecord, item: CostedCandidate) -> ShownPartition:
    nodes = tuple(item.inside)
    return ShownPartition(item.id, item.target, nodes, tuple(record.graph.nodes[index].op for index in nodes))


class Placed(Protocol):
    """A partition of a region, by what its text says."""

    @property
    def target(self) -> str: ...
    @property
    def nodes(self) -> Sequence[int]: ...
    @property
    def ops(self) -> Sequence[str]: ...


def region_text(plan: Sequence[Placed], instead: Sequence[Placed]) -> str:
    """Return a region as one line without its time: ``MatMul+Softmax instead of MatMul | Softmax (nodes 3, 4)``."""
    nodes = sorted(node for item in plan for node in item.nodes)
    listed = ", ".join(map(str, nodes[:6])) + (" …" if len(nodes) > 6 else "")
    targets = {item.target for item in (*plan, *instead)} - {HOST_TARGET}
    mine, theirs = (" | ".join(_label(item, len(targets) > 1) for item in side) for side in (plan, instead))
    return f"{mine} instead of {theirs} (nodes {listed})"


def _label(item: Placed, with_target: bool) -> str:
    label = "+".join(item.ops[:6]) + ("+…" if len(item.ops) > 6 else "")
    return f"{label} on {item.target}" if with_target else label
