"""`CandidatePartition`: a valid sub-graph that one target could take, and what was rejected on the way.

Seeds: RFC 62 (0.81), "CandidatePartition"; design, "Candidate partition". Plain data.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from ..graph.computation import Computations
from ..graph.dataflow_graph import DataflowGraph
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraph

SAMPLE_PER_REASON = 200
"""How many rejected sub-graphs are kept for each (target, rule, stage, check); the rest are counted."""


class CandidatePartition:
    """A sub-graph, the target that could run it, and the path of rules that made it.

    There are hundreds of thousands in a large model, so it holds little, and makes what follows from that when it is asked for.
    Two are the same only if they are one object.

    Attributes:
        graph: The model's graph.
        target: Name of the target.
        inside: The nodes.
        rule: Path of rules, outermost first, such as ``tvm.primitive.only_valid.combine``.
        composites: Labels of the composites inside, if any, such as ``("conv_relu",)``.
        deferred: Not to be measured before the search: it comes in by merging, where that pays.
        times: How many candidates of the target are the same computation.
    """

    __slots__ = ("_computation", "_id", "_sub_graph", "composites", "deferred", "graph", "inside", "rule", "target", "times")

    def __init__(
        self,
        graph: DataflowGraph,
        target: str,
        inside: IndexSet,
        rule: str,
        composites: tuple[str, ...] = (),
        deferred: bool = False,
        computation: int = -1,
        times: int = 1,
    ):
        self.graph = graph
        self.target = target
        self.inside = inside
        self.rule = rule
        self.composites = composites
        self.deferred = deferred
        self.times = times
        self._computation = computation
        self._id = ""
        self._sub_graph: SubGraph | None = None

    def __repr__(self) -> str:
        return f"CandidatePartition({self.target!r}, {self.sub_graph.label}, {list(self.inside)})"

    @property
    def id(self) -> str:
        """Hash of the target and the nodes' names; the same in the next run."""
        if not self._id:
            nodes = self.graph.nodes
            self._id = candidate_id(self.target, tuple([nodes[index].name for index in self.inside]))
        return self._id

    @property
    def sub_graph(self) -> SubGraph:
        """The nodes, with all that follows from them."""
        if self._sub_graph is None:
            self._sub_graph = SubGraph(self.graph, self.inside)
        return self._sub_graph

    @property
    def computation(self) -> int:
        """The number of the computation that it is, among those of the graph (`Computations.of`)."""
        if self._computation < 0:
            self._computation = self.graph.derive(Computations).of(self.inside)
        return self._computation

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
            "times": self.times,
            "deferred": self.deferred,
        }


def candidate_id(target: str, names: tuple[str, ...]) -> str:
    """The id of the candidate of `target` over the nodes `names`, given in order."""
    return hashlib.sha256("\n".join((target, *names)).encode()).hexdigest()[:16]


def make_candidate(graph: DataflowGraph, target: str, inside: IndexSet, rule: str, composites: tuple[str, ...] = ()) -> CandidatePartition:
    """The candidate of `target` over `inside`."""
    return CandidatePartition(graph, target, inside, rule, composites)


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
    """Counts every rejection and keeps a bounded sample of each sort.

    Attributes:
        counts: (target, rule, stage, check) → how many.
        sample: The first of each sort.
        notes: Those without nodes: something about the rules themselves, of which the user should hear.
        note_sorts: The sorts that these are counted as.
    """

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    sample: list[Rejection] = field(default_factory=list)
    notes: list[Rejection] = field(default_factory=list)
    note_sorts: set[tuple[str, str, str, str]] = field(default_factory=set)

    def add(self, rejection: Rejection, check: str = "") -> None:
        """Record one; `check` tells sorts of one stage apart (``depth``, ``taps`` …)."""
        sort = (rejection.target, rejection.rule, rejection.stage, check)
        self.counts[sort] += 1
        if self.counts[sort] <= SAMPLE_PER_REASON:
            self.sample.append(rejection)
        if not rejection.nodes:
            self.notes.append(rejection)
            self.note_sorts.add(sort)

    def add_for(self, target: str, other: RejectionLog, together: str) -> None:
        """Take in all of `other`, as rejections of `target`; `together` is what the reasons call it and those that share its rules."""
        for (_, rule, stage, check), count in other.counts.items():
            self.counts[target, rule, stage, check] += count
        self.note_sorts |= {(target, *sort[1:]) for sort in other.note_sorts}
        for mine, its in ((self.sample, other.sample), (self.notes, other.notes)):
            mine += [replace(rejection, target=target, reason=rejection.reason.replace(together, target)) for rejection in its]
