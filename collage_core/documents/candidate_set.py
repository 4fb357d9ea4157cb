"""The answer of `collage candidates`: the graph of a model, every candidate, and all that was rejected with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .json_form import IfKnown
from .rules import RuleTree
from .run import RunModel, TensorInfo


@dataclass(frozen=True, kw_only=True)
class NodeInfo:
    """A node of the graph.

    Attributes:
        id: Its index.
        kind: How freely TVM may fuse it, as a letter.
        absorbed: Names of the nodes of the user's model that folding fused into it.
        inputs: The indices of the nodes whose tensors it reads.
    """

    id: int
    name: str
    op: str
    kind: str
    outputs: tuple[TensorInfo, ...]
    absorbed: tuple[str, ...]
    inputs: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class CandidateInfo:
    """A candidate, as `CandidatePartition.to_json` gives it.

    Attributes:
        kind: The highest of its nodes' kinds, as a letter.
        rule: The names of the rules that made it.
        exits: How many of its nodes are read outside.
        times: How many candidates of the target are this computation.
        deferred: It is costed only where merging comes to it.
    """

    id: str
    target: str
    nodes: tuple[int, ...]
    label: str
    kind: str
    rule: str
    depth: int
    exits: int
    times: int
    deferred: bool


@dataclass(frozen=True, kw_only=True)
class RejectionInfo:
    """A sub-graph that became no candidate, as `Rejection.to_json` gives it; `pattern` is that of a pattern rule."""

    target: str
    nodes: tuple[int, ...]
    rule: str
    stage: str
    reason: str
    pattern: IfKnown[str] = None


@dataclass(frozen=True)
class RejectionCount:
    """How many sub-graphs a rule of a target turned down at a stage, by one check."""

    target: str
    rule: str
    stage: str
    check: str
    count: int


@dataclass(frozen=True)
class SpecInfo:
    """A rule tree, and the targets that share it."""

    targets: tuple[str, ...]
    tree: RuleTree


@dataclass(frozen=True)
class FoldedInfo:
    """A node of the file that is not in the graph; `into` is the node that it became a part of, if any."""

    name: str
    op: str
    into: str | None


@dataclass(frozen=True, kw_only=True)
class CandidateSetInfo:
    """All that phases 1 and 2 find.

    Attributes:
        rejected: Of equal rejections only a sample.
        shapes: Of a model of several shapes, the same for each by its name; the rest is about the shape that comes most often.
    """

    schema: int = 1
    model: RunModel
    nodes: tuple[NodeInfo, ...]
    candidates: tuple[CandidateInfo, ...]
    rejected: tuple[RejectionInfo, ...]
    rejected_counts: tuple[RejectionCount, ...]
    specs: tuple[SpecInfo, ...]
    folded: tuple[FoldedInfo, ...]
    shapes: IfKnown[Mapping[str, CandidateSetInfo]] = None
