"""`read_given`: a plan that comes from elsewhere: a plan file, names of nodes with targets, or what a runtime says of its own assignment.

A file, its text or a mapping enters; a `GivenPlan` leaves, and `assign` gives its nodes to targets. Nothing is costed here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..base.user_file import read_text
from ..errors import CollageError
from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..rewrite.plan import plan_from_json

MOST_NAME = 200
"""Characters of the name of a file that is given as text; it is only shown."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PLACED = re.compile(r"\bNode\(s\) placed on \[(?P<some>[^\]]+)\]|\bAll nodes placed on \[(?P<all>[^\]]+)\]")
_NODE = re.compile(r"\]\s+\w+ \((?P<name>.*)\)\s*$")
FORMS = "a plan file, JSON {name: target} or [{target, nodes}], lines NAME=TARGET, or a verbose log of ONNX Runtime"


@dataclass(frozen=True)
class GivenPlan:
    """A plan from elsewhere, by names.

    Attributes:
        name: The file, for messages.
        assigned: (Name of a node or a pattern of names, target or device); of several that fit a node the last one counts.
        groups: (Target or device, names of the nodes of one partition); where there are some, they are the partitions.
        model_hash: The model that it was made for; empty where it does not say.
    """

    name: str
    assigned: tuple[tuple[str, str], ...] = ()
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    model_hash: str = ""


@dataclass(frozen=True)
class Assignment:
    """A given plan over the nodes of a graph.

    Attributes:
        target_of: Node → target.
        groups: The partitions, where the plan says them.
        ignored: Names that the graph does not have, such as those of folded or fused nodes.
    """

    target_of: Mapping[int, str]
    groups: tuple[tuple[str, IndexSet], ...]
    ignored: tuple[str, ...]


def read_given(source: str | Path | Mapping[str, str]) -> GivenPlan:
    """Return the plan in the file `source`, or that of a mapping from names to targets.

    Raises:
        CollageError: the file cannot be read, or has none of the forms.
    """
    if isinstance(source, Mapping):
        return GivenPlan("the given plan", tuple(source.items()))
    path = Path(source)
    try:
        text = read_text(path)
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", f"give {FORMS}", "no_file") from error
    except UnicodeDecodeError as error:
        raise _no_form(path, "it is no text") from error
    return given_from_text(text, str(path))


def given_from_text(text: str, name: str) -> GivenPlan:
    """Return the plan in the text of a file that is called `name`. Raises CollageError where it has none of the forms."""
    path, text = Path(name[:MOST_NAME]), _COLOUR.sub("", text)
    if text.lstrip().startswith(("{", "[")) and not _PLACED.search(text):
        try:
            return _from_json(path, json.loads(text))
        except (ValueError, RecursionError) as error:
            raise _no_form(path, f"it is not JSON: {error}") from error
    return _from_log(path, text) if _PLACED.search(text) else _from_lines(path, text)


def assign(given: GivenPlan, graph: DataflowGraph, targets: Sequence[str], devices: Mapping[str, str]) -> Assignment:
    """Give the nodes of `graph` to targets as `given` says.

    Args:
        targets: Those that the costs are known for.
        devices: Device or provider → target.

    Raises:
        CollageError: a target is not known, a device stands for none, or two partitions share a node.
    """

    def target(name: str) -> str:
        found = devices.get(name, name)
        if found not in targets:
            hint = f"say which target it is with --as {name}=TARGET; the run has {', '.join(targets)}"
            raise CollageError(f"{given.name} gives nodes to {name!r}, which is not a target of the run", hint, "unknown_target")
        return found

    assigned = [(name, target(where)) for name, where in (*given.assigned, *((name, one) for one, names in given.groups for name in names))]
    target_of: dict[int, str] = {}
    ignored = []
    for name, where in assigned:
        nodes = _nodes(graph, name)
        ignored += [] if nodes else [name]
        target_of |= dict.fromkeys(nodes, where)
    return Assignment(target_of, _groups(given, graph, target), tuple(dict.fromkeys(ignored)))


def _groups(given: GivenPlan, graph: DataflowGraph, target: Any) -> tuple[tuple[str, IndexSet], ...]:
    made, taken = [], 0
    for where, names in given.groups:
        inside = IndexSet(graph.index_by_name[name] for name in names if name in graph.index_by_name)
        if inside.bits & taken:
            shared = next(graph.nodes[index].name for index in inside if 1 << index & taken)
            raise CollageError(f"{given.name} has the node {shared!r} in two partitions", "a plan holds every node once", "bad_plan")
        taken |= inside.bits
        made += [(target(where), inside)] if inside else []
    return tuple(made)


def _nodes(graph: DataflowGraph, name: str) -> list[int]:
    """Return the node called `name`, or that makes the tensor `name`, or those whose names match it as a pattern.

    OpenVINO calls a node whose result leaves the model after its tensor.
    """
    if name in graph.index_by_name:
        return [graph.index_by_name[name]]
    if graph.producer.get(name, -1) >= 0:
        return [graph.producer[name]]
    if not set(name) & set("*?["):
        return []
    return [node.index for node in graph.nodes if fnmatchcase(node.name, name)]


def _from_json(path: Path, data: Any) -> GivenPlan:
    if isinstance(data, dict) and "partitions" in data:
        plan = plan_from_json(data, repr(str(path)))
        groups = tuple((part.target, part.names) for part in plan.partitions)
        return GivenPlan(str(path), (), groups, plan.model.hash)
    if isinstance(data, dict) and all(isinstance(value, str) for value in data.values()):
        return GivenPlan(str(path), tuple(data.items()))
    if isinstance(data, list) and all(_is_group(item) for item in data):
        return GivenPlan(str(path), (), tuple((item["target"], tuple(item["nodes"])) for item in data))
    raise _no_form(path, "its JSON is neither a plan, nor names with targets, nor a list of partitions")


def _is_group(item: Any) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("target"), str)
        and isinstance(item.get("nodes"), list)
        and all(isinstance(name, str) for name in item["nodes"])
    )


def _from_log(path: Path, text: str) -> GivenPlan:
    """Return the assignment in a verbose log of ONNX Runtime: a line for each provider, then one for each of its nodes."""
    assigned: list[tuple[str, str]] = []
    provider = ""
    for line in text.splitlines():
        placed = _PLACED.search(line)
        node = _NODE.search(line) if provider else None
        if placed:
            provider = placed["some"] or ""
            assigned += [("*", placed["all"])] if placed["all"] else []
        elif node:
            assigned.append((node["name"], provider))
        else:
            provider = ""
    return GivenPlan(str(path), tuple(assigned))


def _from_lines(path: Path, text: str) -> GivenPlan:
    assigned = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, equals, target = line.strip().rpartition("=")
        if not (name.strip() and equals and target.strip()):
            raise _no_form(path, f"line {number} is {line.strip()!r}, it must be NAME=TARGET")
        assigned.append((name.strip(), target.strip()))
    if not assigned:
        raise _no_form(path, "it names no node")
    return GivenPlan(str(path), tuple(assigned))


def _no_form(path: Path, why: str) -> CollageError:
    return CollageError(f"{str(path)!r} holds no plan: {why}", f"give {FORMS}", "bad_plan")
