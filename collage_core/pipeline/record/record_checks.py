"""Checks the data in the file of a run before it is believed: every value has its type, and every node exists.

Decoded JSON enters; nothing leaves, or a `ValueError` that names the first wrong field. What the document, the plan and the problem hold
is checked where they are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...documents.node_times import PartitionNodeTimes
from ...documents.run import NodeWithBodies

_NODE = {"name": str, "op": str, "kind": str}
_CANDIDATE = {"id": str, "target": str, "label": str, "rule": str}
_MORE_OF_CANDIDATE = {"kind": str, "depth": int, "exits": int, "times": int, "deferred": bool}
_REJECTION = {"target": str, "stage": str, "reason": str}
_COST = {"source": str}
_MORE_OF_COST = {"samples": int, "stage": str, "reason": str, "stopped_early": bool}
_SECONDS = ("seconds", "spread_s", "error", "interval_s", "alone_s")
_TUNED = {"digest": str, "trials": int}


def check_record(data: Mapping[str, Any]) -> None:
    """Check all that `RunRecord` keeps as it is.

    Raises:
        ValueError, KeyError: a field is missing, or is something else than it must be.
    """
    nodes = _is(_is(data["graph"], dict, "graph")["nodes"], list, "graph.nodes")
    for index, node in enumerate(nodes):
        _fields(node, _NODE, f"graph.nodes[{index}]")
    count = len(nodes)
    _fields(data, {"created": str, "machine": str, "document": dict, "regret_s": dict, "rules": dict}, "the run")
    for index, item in enumerate(_is(data["candidates"], list, "candidates")):
        _check_candidate(item, f"candidates[{index}]", count)
    for index, item in enumerate(_is(data["rejected"], list, "rejected")):
        _fields(item, _REJECTION, f"rejected[{index}]")
        _fields(item, {"pattern": str}, f"rejected[{index}]", are_needed=False)
        _check_nodes(item["nodes"], f"rejected[{index}].nodes", count)
    for name, value in data["regret_s"].items():
        _check_number(value, f"regret_s[{name[:40]!r}]")
    for name, bodies in _is(data.get("bodies") or {}, dict, "bodies").items():
        _is(bodies, dict, f"bodies[{name[:40]!r}]")
    for index, partition in enumerate(_is(_is(data["plan"], dict, "plan")["partitions"], list, "plan.partitions")):
        _check_nodes(_is(partition, dict, "a partition")["nodes"], f"plan.partitions[{index}].nodes", count)


def _check_candidate(item: Any, where: str, count: int) -> None:
    _fields(item, _CANDIDATE, where)
    _fields(item, _MORE_OF_CANDIDATE, where, are_needed=False)
    _check_nodes(item["nodes"], f"{where}.nodes", count)
    cost = item["cost"]
    _fields(cost, _COST, f"{where}.cost")
    _fields(cost, _MORE_OF_COST, f"{where}.cost", are_needed=False)
    for name in _SECONDS:
        _check_number(cost.get(name), f"{where}.cost.{name}")
    if cost.get("tuned") is not None:
        _fields(cost["tuned"], _TUNED, f"{where}.cost.tuned")
        for name in ("untuned_s", "spent_s"):
            _check_number(cost["tuned"][name], f"{where}.cost.tuned.{name}")


def check_bodies(rows: Sequence[NodeWithBodies], count: int) -> None:
    """Check that every node with bodies is one of the `count` nodes of its model.

    Raises:
        ValueError: one is not.
    """
    for row in rows:
        if not 0 <= row.node < count:
            raise ValueError(f"the document has bodies of the node {row.node}, and there are {count} nodes")
        for body in row.bodies:
            check_bodies(body.bodies, body.nodes)


def check_node_times(rows: Sequence[PartitionNodeTimes], count: int) -> None:
    """Check that the times inside partitions are of the `count` nodes of the model.

    Raises:
        ValueError: a group names another node.
    """
    for row in rows:
        for group in row.groups:
            _check_nodes(list(group.nodes), f"node_times of {row.partition!r}", count)


def _fields(item: Any, kinds: Mapping[str, Any], where: str, *, are_needed: bool = True) -> None:
    _is(item, dict, where)
    for name, kind in kinds.items():
        if are_needed and name not in item:
            raise ValueError(f"{where}.{name} is missing")
        if name in item:
            _is(item[name], kind, f"{where}.{name}")


def _is(value: Any, kind: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
        raise ValueError(f"{where} is a {type(value).__name__}")
    return value


def _check_nodes(nodes: Any, where: str, count: int) -> None:
    for node in _is(nodes, list, where):
        if not 0 <= _is(node, int, where) < count:
            raise ValueError(f"{where} names a node that does not exist")


def _check_number(value: Any, where: str, *, least: float = 0.0) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value) or value < least:
        raise ValueError(f"{where} is not a valid number")
    if least == 0.0 and not (math.isfinite(value) and value < 1e300):
        raise ValueError(f"{where} is not a finite number")
