"""`CandidatePartition`: a valid sub-graph that one target could take; and the log of sub-graphs that were rejected. Plain data.

After RFC 62 (Collage), "CandidatePartition".
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
"""Number of rejected sub-graphs that are kept for each (target, rule, stage, check); the others are only counted."""


class CandidatePartition:
    """A sub-graph, the target that could run it, and the path of rules that made it.

    A large model has hundreds of thousands, so a candidate holds little and computes the rest on demand. Two candidates are equal only
    if they are one object.

    Attributes:
        graph: The model's graph.
        target: Name of the target.
        inside: The nodes.
        rule: Path of rules, outermost first, such as ``tvm.primitive.only_valid.combine``.
        composites: Labels of the composites inside, if any, such as ``("conv_relu",)``.
        deferred: Not to be measured before the first search; merging takes it up where that pays.
        times: Number of candidates of the target that are the same computation.
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
        """Hash of the target and the names of the nodes; the same in every run."""
        if not self._id:
            nodes = self.graph.nodes
            self._id = candidate_id(self.target, tuple([nodes[index].name for index in self.inside]))
        return self._id

    @property
    def sub_graph(self) -> SubGraph:
        """The nodes as a `SubGraph`."""
        if self._sub_graph is None:
            self._sub_graph = SubGraph(self.graph, self.inside)
        return self._sub_graph

    @property
    def computation(self) -> int:
        """Number of its computation among those of the graph (`Computations.of`); equal for candidates that compute the same."""
        if self._computation < 0:
            self._computation = self.graph.derive(Computations).of(self.inside)
        return self._computation

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as `collage candidates` prints it."""
        label, kind, depth, exits = self.graph.derive(_Properties).of(self.inside)
        return {
            "id": self.id,
            "target": self.target,
            "nodes": list(self.inside),
            "label": "+".join(self.composites) or label,
            "kind": kind,
            "rule": self.rule,
            "depth": depth,
            "exits": exits,
            "times": self.times,
            "deferred": self.deferred,
        }


class _Properties:
    """Label, letter of the kind, depth and number of exits of the sub-graphs of `graph`, found once for the candidates of all targets."""

    def __init__(self, graph: DataflowGraph):
        self._graph = graph
        self._known: dict[IndexSet, tuple[str, str, int, int]] = {}

    def of(self, inside: IndexSet) -> tuple[str, str, int, int]:
        known = self._known.get(inside)
        if known is None:
            sub_graph = SubGraph(self._graph, inside)
            known = self._known[inside] = sub_graph.label, sub_graph.kind.letter, sub_graph.depth, len(sub_graph.exits)
        return known


def candidate_id(target: str, names: tuple[str, ...]) -> str:
    """Return the id of the candidate of `target` over the nodes called `names`, in their order."""
    return hashlib.sha256("\n".join((target, *names)).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A sub-graph that did not become a candidate, or a candidate that came to nothing.

    Attributes:
        stage: One of pattern, predicate, validity, device, import, build, run, numerics, veto.
        reason: The toolchain's own message where there is one.
        is_absence: The model has nothing for one of the patterns, which interests the author of the pattern.
        pattern: The label of the pattern that matched, or the pattern itself; empty for rules without one.
    """

    target: str
    nodes: tuple[int, ...]
    rule: str
    stage: str
    reason: str
    is_absence: bool = False
    pattern: str = ""

    def to_json(self) -> dict[str, Any]:
        shown = {"target": self.target, "nodes": list(self.nodes), "rule": self.rule, "stage": self.stage, "reason": self.reason}
        return {**shown, "pattern": self.pattern} if self.pattern else shown


@dataclass
class RejectionLog:
    """Counts every rejection, grouped by (target, rule, stage, check), and keeps the first of each group.

    Attributes:
        counts: Group → number of rejections.
        sample: The first `SAMPLE_PER_REASON` of each group.
        notes: Rejections without nodes: remarks on the rules themselves that the user should see.
        note_groups: The groups of `notes`.
    """

    counts: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    sample: list[Rejection] = field(default_factory=list)
    notes: list[Rejection] = field(default_factory=list)
    note_groups: set[tuple[str, str, str, str]] = field(default_factory=set)

    def add(self, rejection: Rejection, check: str = "") -> None:
        """Add one rejection; `check` (``depth``, ``taps`` …) tells groups of one stage apart."""
        group = (rejection.target, rejection.rule, rejection.stage, check)
        self.counts[group] += 1
        if self.counts[group] <= SAMPLE_PER_REASON:
            self.sample.append(rejection)
        if not rejection.nodes:
            self.notes.append(rejection)
            self.note_groups.add(group)

    def add_for(self, target: str, other: RejectionLog, together: str) -> None:
        """Add all rejections of `other` as rejections of `target`.

        Args:
            together: How the reasons in `other` name the targets that share the rules; replaced by `target`.
        """
        for (_, rule, stage, check), count in other.counts.items():
            self.counts[target, rule, stage, check] += count
        self.note_groups |= {(target, *group[1:]) for group in other.note_groups}
        for mine, its in ((self.sample, other.sample), (self.notes, other.notes)):
            mine += [replace(rejection, target=target, reason=rejection.reason.replace(together, target)) for rejection in its]
