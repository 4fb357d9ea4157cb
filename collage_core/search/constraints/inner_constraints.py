"""`inner_constraints`: the constraints of a model as they are for a body of one of its nodes.

The list of a constraints file enters, with the names of the model's nodes and the nodes of the body; a list for the body leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..problem import HOST_NAME
from .constraints import is_selected


def inner_constraints(
    items: Sequence[Mapping[str, Any]], around: Collection[str], nodes: Sequence[tuple[str, str]], targets: Collection[str]
) -> tuple[dict[str, Any], ...]:
    """Return the constraints that hold in a body: vetoes of a target everywhere, and what selects nodes of the body.

    Args:
        items: Constraints that are right for the model around.
        around: Names of the nodes around the body.
        nodes: Name and operator of the nodes in the body, those in bodies of these included.
        targets: Those that may take nodes of the body.
    """
    known = {*targets, HOST_NAME}
    inner = (_inner(item, around, nodes) for item in items if item.get("target") in known or "target" not in item)
    return tuple(item for item in inner if item is not None and (item.get("target") != HOST_NAME or speaks_of_nodes(item)))


def names_in(items: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return all names and indices, as text, by which constraints select single nodes."""
    listed = ([item["node"]] if "node" in item else [*item.get("nodes", ()), *item.get("between", ())] for item in items)
    return {str(value) for values in listed for value in values}


def speaks_of_nodes(item: Mapping[str, Any]) -> bool:
    """Return whether a constraint selects nodes, and is not about the whole model."""
    return not item.keys().isdisjoint(("node", "nodes", "op", "name", "between"))


def _inner(item: Mapping[str, Any], around: Collection[str], nodes: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    """Return a constraint as it is for the body; None where it says nothing of it."""
    if item["kind"] == "cut":
        inside = {name for name, _ in nodes}
        return dict(item) if all(end in inside and end not in around for end in item["between"]) else None
    if not speaks_of_nodes(item):
        return dict(item) if item.keys() in ({"kind", "target"}, {"kind", "location"}) and item["kind"] == "veto" else None
    selected = list(dict.fromkeys(name for name, op in nodes if is_selected(item, name, op, around)))
    if not selected:
        return None
    kept = {key: value for key, value in item.items() if key not in ("node", "nodes")}
    return {**kept, "nodes": selected} if kept.keys() != item.keys() else kept
