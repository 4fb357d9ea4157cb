"""Phases 1 and 2: partition specs from the targets' rule trees, and the candidates that they find.

Seeds: RFC 62 (0.81), "PartitionSpec", "Phase 1", "Phase 2".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..graph import DataflowGraph
from .base import PartitionRule, RuleContext
from .base_rules import Host
from .candidate import CandidatePartition, RejectionLog, make_candidate

HOST_TARGET = "host"
"""The target of what only reshuffles references; it costs nothing."""


@dataclass(frozen=True)
class PartitionSpec:
    """A rule tree and the targets whose candidates it finds."""

    targets: tuple[str, ...]
    rule: PartitionRule


def gather_specs(rules: Mapping[str, PartitionRule]) -> list[PartitionSpec]:
    """One spec for each distinct rule tree, in the order of the targets, and the host's (phase 1)."""
    by_rule: dict[PartitionRule, list[str]] = {}
    for target, rule in rules.items():
        by_rule.setdefault(rule, []).append(target)
    specs = [PartitionSpec(tuple(targets), rule) for rule, targets in by_rule.items()]
    return [*specs, PartitionSpec((HOST_TARGET,), Host())]


def find_candidates(graph: DataflowGraph, spec: PartitionSpec, log: RejectionLog) -> dict[str, list[CandidatePartition]]:
    """Target → its candidates, ordered by their first node, then by their nodes (phase 2)."""
    made: dict[str, list[CandidatePartition]] = {}
    for target in spec.targets:
        context = RuleContext(graph, target, log)
        found = sorted(spec.rule.find(context), key=lambda item: tuple(item.inside))
        made[target] = [make_candidate(graph, target, item.inside, f"{target}.{item.path}", item.composites) for item in found]
    return made
