"""`CandidatePartition`: a valid sub-graph that one target could take, and what was rejected on the way.

Seeds: RFC 62 (0.81), "CandidatePartition"; design, "Candidate partition". Plain data.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..graph import DataflowGraph, IndexSet, SubGraph

SAMPLE_PER_REASON = 200
"""How many rejected sub-graphs are kept for each (target, rule, stage, check); the rest are counted."""


@dataclass(frozen=True, slots=True)
class CandidatePartition:
    """A sub-graph, the target that could run it, and the path of rules that made it.

    Attributes:
        id: Hash of the target and the nodes' names; the same in the next run.
        target: Name of the target.
        sub_graph: The nodes.
        rule: Path of rules, outermost first, such as ``tvm.primitive.only_valid.combine``.
        composites: Labels of the composites inside, if any, such as ``("conv_relu",)``.
    """

    id: str
    target: str
    sub_graph: SubGraph
    rule: str
    composites: tuple[str, ...] = ()

    @property
    def inside(self) -> IndexSet:
        return self.sub_graph.inside

    def to_json(self) -> dict[str, Any]:
        """As `collage candidates` prints it (design, "Contracts")."""
        return {
            "id": self.id,
            "target": self.target,
            "nodes": list(self.inside),
            "label": "+".join(self.composites) or self.sub_graph.label,
            "kind": self.sub_graph.kind.letter,
            "rule": self.rule,
            "depth": self.sub_graph.depth,
            "exits": len(self.sub_graph.exits),
        }


def candidate_id(target: str, names: tuple[str, ...]) -> str:
    """The id of the candidate of `target` over the nodes `names`, given in order."""
    return hashlib.sha256("\n".join((target, *names)).encode()).hexdigest()[:16]


def make_candidate(graph: DataflowGraph, target: str, inside: IndexSet, rule: str, composites: tuple[str, ...] = ()) -> CandidatePartition:
    """The candidate of `target` over `inside`."""
    sub_graph = SubGraph(graph, inside)
    return CandidatePartition(candidate_id(target, sub_graph.names), target, sub_graph, rule, composites)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A sub-graph that did not become a candidate, or a candidate that came to nothing.

    Attributes:
        stage: One of pattern, predicate, validity, device, import, build, run, numerics, veto.
        reason: In the toolchain's own words where it has some.
    """

    target: str
    nodes: tuple[int, ...]
    rule: str
    stage: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"target": self.target, "nodes": list(self.nodes), "rule": self.rule, "stage": self.stage, "reason": self.reason}


@dataclass
class RejectionLog:
    """Counts every rejection and keeps a bounded sample of each sort."""

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    sample: list[Rejection] = field(default_factory=list)

    def add(self, rejection: Rejection, check: str = "") -> None:
        """Record one; `check` tells sorts of one stage apart (``depth``, ``taps`` …)."""
        sort = (rejection.target, rejection.rule, rejection.stage, check)
        self.counts[sort] += 1
        if self.counts[sort] <= SAMPLE_PER_REASON:
            self.sample.append(rejection)
