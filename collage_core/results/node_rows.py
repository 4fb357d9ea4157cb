"""`node_rows`: each node of a run's model with its target, its partition, its cost, and its regret on each other target.

A run enters; plain rows leave, from which the tables, the notebook and the annotated model are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..base.durations import milliseconds
from ..pipeline.record.known_regret import KnownRegret
from ..pipeline.record.record import RunRecord
from ..rules.spec import HOST_TARGET

Regrets = Mapping[str, KnownRegret]
"""Target → the least regret of the candidates on it that hold a node."""


@dataclass(frozen=True)
class NodeRow:
    """A node of the model under the plan.

    Attributes:
        partition: Number of its partition in the plan, from 1.
        cost_s: Cost of that partition in seconds; None where it is unknown.
        source: Source of that cost.
        kernel_s: Seconds of the kernel in the partition that computes the node, which may compute others too; None where nobody knows.
        regrets: Of the other targets that could take the node, the smallest first; those that are not known are left out.
    """

    node: int
    name: str
    op: str
    target: str
    partition: int
    partition_id: str
    cost_s: float | None
    source: str
    kernel_s: float | None
    regrets: Regrets = field(default_factory=dict)


def node_rows(record: RunRecord) -> list[NodeRow]:
    """Return a row for each node that the plan holds, in the order of the model."""
    regrets = regrets_by_node(record)
    kernel_s = {node: group.seconds for times in record.node_times for group in times.groups for node in group.nodes}
    rows = []
    for number, part in enumerate(record.plan.partitions, 1):
        for index in part.nodes:
            node = record.graph.nodes[index]
            known = (index, node.name, node.op, part.target, number, part.id, part.cost_s, part.source, kernel_s.get(index))
            rows.append(NodeRow(*known, regrets=regrets.get(index, {})))
    return sorted(rows, key=lambda row: row.node)


def regrets_by_node(record: RunRecord, *, bounds: bool = True) -> dict[int, Regrets]:
    """Return the regrets of each node on the targets that it is not on, as far as the run knows them without a search for each.

    Args:
        bounds: Lower bounds stand where the regret is not known; on a large problem they take seconds.
    """
    known = record.known_regrets(bounds=bounds)
    own = {node: part.target for part in record.plan.partitions for node in part.nodes}
    least: dict[int, dict[str, KnownRegret]] = {}
    for candidate in record.problem.candidates:
        if candidate.target == HOST_TARGET or candidate.id not in known:
            continue
        for node in candidate.inside:
            if own.get(node) != candidate.target:
                found = least.setdefault(node, {})
                found[candidate.target] = min(found.get(candidate.target, known[candidate.id]), known[candidate.id], key=_order)
    return {node: dict(sorted(found.items(), key=lambda item: (_order(item[1]), item[0]))) for node, found in least.items()}


def regret_texts(record: RunRecord) -> dict[int, dict[str, str]]:
    """Return the regrets of each node in words, by target."""
    return {node: {target: one.text(milliseconds) for target, one in found.items()} for node, found in regrets_by_node(record).items()}


def _order(regret: KnownRegret) -> tuple[bool, bool, float, bool]:
    """The best plan that gives a node to a target has only known costs wherever such a plan exists: unknown costs come last."""
    return regret.at_least_s is None, regret.rests_on_unknown, regret.at_least_s or 0.0, not regret.is_exact
