"""`explain`: why a plan is as it is: every candidate for a node, or for each partition, as plain data.

A run enters. For each candidate these are its regret and the cost at which it would enter the plan, and for a target without a candidate
the stage and the reason. The command line prints it, and a result in a notebook shows it.
"""

from __future__ import annotations

from dataclasses import fields

from ..documents.candidates import NodeCandidate
from ..documents.explain import ExplainedCandidate, ExplainedNode, Explanation, NodeTime
from ..errors import CollageError
from ..pipeline.record.node_times import NONE
from ..pipeline.record.record import RunRecord
from ..pipeline.whole.differences import differences
from ..pipeline.whole.finalists import decision_text


def explain(record: RunRecord, node: str | None = None, candidate: str | None = None) -> Explanation:
    """Return the explanation of a node, of a candidate, or (where neither is given) of every partition.

    Args:
        node: A name or an index; behind the name of a node and that of a body, with slashes, it is about that body.

    Raises:
        CollageError: there is no such node or candidate.
    """
    record, node = _inside(record, node or "")
    if node:
        nodes = [node_index(record, node)]
    elif candidate is not None:
        nodes = [_candidate_nodes(record, candidate)[0]]
    else:
        nodes = [partition.nodes[0] for partition in record.plan.partitions]
    times = [one for one in record.node_times if any(node in group.nodes for group in one.groups for node in nodes)]
    return Explanation(
        total_s=record.plan.total_s,
        decision=decision_text(record.document),
        nodes=tuple(explain_node(record, index, candidate) for index in nodes),
        node_times=tuple(times),
        bodies=tuple(row for row in record.document.bodies if not node or row.node in nodes),
        partitionings=differences(record) if not node and candidate is None else (),
    )


def explain_node(record: RunRecord, index: int, only: str | None = None) -> ExplainedNode:
    """Return every candidate that holds the node at `index`, or the one with the id `only`, and why others cannot take it."""
    found = record.node_candidates(index)
    node = record.graph.nodes[index]
    return ExplainedNode(
        node=index,
        name=node.name,
        op=node.op,
        candidates=tuple(_explained(row) for row in found.candidates if only is None or row.id == only),
        rejections=found.rejections if only is None else (),
        time=_node_time(record, index),
    )


def _explained(row: NodeCandidate) -> ExplainedCandidate:
    cost_s, regret_s = row.cost.seconds, row.regret_s
    is_predicted = row.regret_basis != "measured"  # how a cost changes a measured time is not known
    enters_below_s = max(cost_s - regret_s, 0.0) if cost_s is not None and regret_s and is_predicted else None
    return ExplainedCandidate(**{one.name: getattr(row, one.name) for one in fields(row)}, enters_below_s=enters_below_s)


def _node_time(record: RunRecord, index: int) -> NodeTime:
    """Return what the node takes inside its partition, with the nodes that share its kernel, and its costs alone."""
    alone_s = {target: seconds for (node, target), seconds in record.alone_s.items() if node == index}
    for times in record.node_times:
        for group in times.groups:
            if index in group.nodes:
                return NodeTime(group.nodes, group.share, group.seconds, group.kernel, times.source, alone_s)
    return NodeTime((index,), None, None, "", NONE, alone_s)


def _inside(record: RunRecord, node: str) -> tuple[RunRecord, str]:
    """Return the record of the body that `node` leads into, such as ``loop/body/add``, and the rest of it; empty for the whole body."""
    if node in record.graph.index_by_name:
        return record, node
    for name, bodies in record.bodies.items():
        for attribute, body in bodies.items():
            if node == f"{name}/{attribute}":
                return body, ""
            if node.startswith(f"{name}/{attribute}/"):
                return _inside(body, node.removeprefix(f"{name}/{attribute}/"))
    return record, node


def node_index(record: RunRecord, node: str) -> int:
    """Return the index of the node that `node` names, by name or index, or that folding fused it into.

    Raises:
        CollageError: there is none.
    """
    if node in record.graph.index_by_name:
        return record.graph.index_by_name[node]
    if node.isdecimal() and int(node) < len(record.graph):
        return int(node)
    into = next((index for index, one in enumerate(record.graph.nodes) if node in one.absorbed), None)
    if into is not None:
        return into
    raise CollageError(f"the model has no node {node!r}", f"give a name, or an index from 0 to {len(record.graph) - 1}", "unknown_node")


def _candidate_nodes(record: RunRecord, candidate: str) -> list[int]:
    for costed in record.candidates:
        if costed.id == candidate:
            return list(costed.candidate["nodes"])
    raise CollageError(f"the run has no candidate {candidate!r}", "`collage explain PLAN --node N` lists the ids", "unknown_candidate")
