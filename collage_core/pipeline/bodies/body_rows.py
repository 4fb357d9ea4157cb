"""`body_rows`: the bodies of a run as the page draws them: each with its graph and its plan, nested as they are.

The record of a run enters; plain data leaves.
"""

from __future__ import annotations

from typing import Any

from ...documents.run import BodyNode
from ...graph.dataflow_graph import DataflowGraph
from ..record.record import RunRecord


def named_nodes(graph: DataflowGraph) -> list[tuple[str, str]]:
    """Return name and operator of the nodes of a body, and of those in bodies of these."""
    return [pair for node in graph.nodes for pair in ((node.name, node.op), *node.inner)]


def body_rows(record: RunRecord) -> list[dict[str, Any]]:
    """Return the fields of the server's `ControlNode` for each node with bodies."""
    return [_node_row(record, row) for row in record.document.bodies]


def _node_row(record: RunRecord, row: BodyNode) -> dict[str, Any]:
    runs = {body.attribute: body.runs for body in row.bodies}
    cost = row.host
    return {
        "node": row.node,
        "name": row.name,
        "op": row.op,
        "runs_on": row.runs_on,
        "host_s": cost.seconds,
        "host_is_measured": cost.source == "measured",
        "host_reason": cost.reason if cost.seconds is None else "",
        "bodies": [_body_row(attribute, runs.get(attribute, 0), body) for attribute, body in record.bodies.get(row.name, {}).items()],
    }


def _body_row(attribute: str, runs: int, body: RunRecord) -> dict[str, Any]:
    return {
        "attribute": attribute,
        "runs": runs,
        "total_s": body.plan.total_s,
        "nodes": _node_rows(body.graph),
        "partitions": [{"target": one.target, "nodes": list(one.nodes), "cost_s": one.cost_s} for one in body.plan.partitions],
        "inner": body_rows(body),
    }


def _node_rows(graph: DataflowGraph) -> list[dict[str, Any]]:
    return [{"name": node.name, "op": node.op, "reads": list(graph.sources[node.index])} for node in graph.nodes]
