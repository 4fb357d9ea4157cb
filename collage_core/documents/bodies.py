"""The bodies of a run as the page draws them: the graph and the plan of each body of an `If`, `Loop` or `Scan`, nested as they are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BodyNode:
    """A node of a body; `reads` are the indices of the nodes whose tensors it reads."""

    name: str
    op: str
    reads: tuple[int, ...]


@dataclass(frozen=True)
class BodyPartition:
    """A partition of a body's plan; `cost_s` is None where it is not known."""

    target: str
    nodes: tuple[int, ...]
    cost_s: float | None


@dataclass(frozen=True)
class BodyInfo:
    """A body of a node.

    Attributes:
        attribute: The attribute of the node that it is: ``body``, ``then_branch`` or ``else_branch``.
        runs: How often it ran, in all, in the reference run on the inputs of the run.
        total_s: The cost of its plan for one run.
        inner: Nodes of it that have bodies themselves.
    """

    attribute: str
    runs: int
    total_s: float
    nodes: tuple[BodyNode, ...]
    partitions: tuple[BodyPartition, ...]
    inner: tuple[ControlNode, ...]


@dataclass(frozen=True)
class ControlNode:
    """A node with bodies.

    Attributes:
        node: Its index.
        runs_on: The target of its partition; ``host`` where its bodies run by their own plans.
        host_s: Its cost on the host; None where there is none.
        host_is_measured: Whether that is measured.
        host_reason: Why the host cannot run it; empty where it can.
        bodies: Those that were planned.
    """

    node: int
    name: str
    op: str
    runs_on: str
    host_s: float | None
    host_is_measured: bool
    host_reason: str
    bodies: tuple[BodyInfo, ...]


@dataclass(frozen=True)
class RunBodies:
    """``GET /api/v1/runs/<id>/bodies``: the nodes of the run's model that have bodies."""

    nodes: tuple[ControlNode, ...]
