"""`run_bodies`: the bodies of a run as the page draws them: each with its graph and its plan, nested as they are.

The record of a run enters; plain data leaves.
"""

from __future__ import annotations

from ...documents.bodies import BodyInfo, BodyNode, BodyPartition, ControlNode, RunBodies
from ...documents.run import NodeWithBodies
from ...graph.dataflow_graph import DataflowGraph
from ..record.record import RunRecord


def named_nodes(graph: DataflowGraph) -> list[tuple[str, str]]:
    """Return name and operator of the nodes of a body, and of those in bodies of these."""
    return [pair for node in graph.nodes for pair in ((node.name, node.op), *node.inner)]


def run_bodies(record: RunRecord) -> RunBodies:
    """Return every node of the run that has bodies."""
    return RunBodies(_control_nodes(record))


def _control_nodes(record: RunRecord) -> tuple[ControlNode, ...]:
    return tuple(_control_node(record, row) for row in record.document.bodies)


def _control_node(record: RunRecord, row: NodeWithBodies) -> ControlNode:
    runs = {body.attribute: body.runs for body in row.bodies}
    cost = row.host
    return ControlNode(
        node=row.node,
        name=row.name,
        op=row.op,
        runs_on=row.runs_on,
        host_s=cost.seconds,
        host_is_measured=cost.source == "measured",
        host_reason=cost.reason if cost.seconds is None else "",
        bodies=tuple(_body(attribute, runs.get(attribute, 0), body) for attribute, body in record.bodies.get(row.name, {}).items()),
    )


def _body(attribute: str, runs: int, body: RunRecord) -> BodyInfo:
    return BodyInfo(
        attribute=attribute,
        runs=runs,
        total_s=body.plan.total_s,
        nodes=tuple(BodyNode(node.name, node.op, tuple(body.graph.sources[node.index])) for node in body.graph.nodes),
        partitions=tuple(BodyPartition(part.target, part.nodes, part.cost_s) for part in body.plan.partitions),
        inner=_control_nodes(body),
    )
