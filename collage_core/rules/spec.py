"""Phases 1 and 2: gathers partition specs from the rule trees of the targets, finds their candidates, and reports on each rule.

After RFC 62 (Collage), "PartitionSpec", "Phase 1", "Phase 2". A report on phase 2 is kept with the run; the rule tree with its counts is
made of it on demand. A rule counts the candidates whose path leads through it; of two rules that find the same set, only the path of the
first is kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..graph.computation import Computations
from ..graph.dataflow_graph import DataflowGraph
from .base_rules import Host
from .candidate import CandidatePartition, Rejection, RejectionLog
from .rule import PartitionRule, RuleContext, RuleMatch, Tables, find_with_note
from .segments import Segments

HOST_TARGET = "host"
"""Target of nodes that only rename tensors, which cost nothing, and of nodes whose bodies are partitioned: it runs the loop."""


@dataclass(frozen=True)
class PartitionSpec:
    """A rule tree and the targets whose candidates it finds."""

    targets: tuple[str, ...]
    rule: PartitionRule


def gather_specs(rules: Mapping[str, PartitionRule]) -> list[PartitionSpec]:
    """Return one spec for each distinct rule tree, in the order of the targets, and that of the host (phase 1)."""
    by_rule: dict[PartitionRule, list[str]] = {}
    for target, rule in rules.items():
        by_rule.setdefault(rule, []).append(target)
    specs = [PartitionSpec(tuple(targets), rule) for rule, targets in by_rule.items()]
    return [*specs, PartitionSpec((HOST_TARGET,), Host())]


Taken = Mapping[str, Sequence[bool]]
"""Target → for each node whether it takes it."""


def taken_nodes(graph: DataflowGraph, specs: Sequence[PartitionSpec], tables: Tables | None = None) -> Taken:
    """Return the nodes that each target takes into its segments; targets whose rules have no `Segments` are left out."""
    by_target = {}
    for spec in specs:
        segments = _segments(spec.rule)
        if segments is not None:
            mask = segments.taken(RuleContext(graph, "", RejectionLog(), tables=tables or {}))
            by_target.update(dict.fromkeys(spec.targets, mask))
    return by_target


def _segments(rule: PartitionRule) -> Segments | None:
    """Return the first `Segments` in the tree `rule`."""
    if isinstance(rule, Segments):
        return rule
    return next((segments for sub in rule.below if (segments := _segments(sub)) is not None), None)


def find_candidates(
    graph: DataflowGraph, spec: PartitionSpec, log: RejectionLog, taken: Taken | None = None, tables: Tables | None = None
) -> dict[str, list[CandidatePartition]]:
    """Return the candidates of each target of `spec`, ordered by their first node, then by their nodes (phase 2).

    The rules run once for all targets of the spec; their rejections are added to `log` for each target.

    Args:
        taken: What the targets of all specs take (`taken_nodes`); the rules of one may look at what the others take.
        tables: What the pattern tables that the rules name match in `graph`.
    """
    rejected = RejectionLog()
    others = {name: mask for name, mask in (taken or {}).items() if name not in spec.targets}
    context = RuleContext(graph, " and ".join(spec.targets), rejected, others, tables or {})
    matches = sorted(spec.rule.find(context) if HOST_TARGET in spec.targets else find_with_note(spec.rule, context), key=_order)
    computations = graph.derive(Computations)
    numbers = [computations.of(item.inside) for item in matches]
    times = Counter(numbers)
    candidates = {}
    for target in spec.targets:
        log.add_for(target, rejected, context.target)
        paths = {path: f"{target}.{path}" for path in {item.path for item in matches}}
        candidates[target] = [
            CandidatePartition(graph, target, item.inside, paths[item.path], item.composites, item.deferred, number, times[number])
            for item, number in zip(matches, numbers, strict=True)
        ]
    return candidates


def with_buffers(found: Sequence[CandidatePartition], log: RejectionLog, *, opens: bool, opaque: bool) -> list[CandidatePartition]:
    """Return the candidates whose target takes all that crosses their boundaries, and log the others as rejections.

    Args:
        opens: Whether the target takes tensors whose shape differs from call to call.
        opaque: Whether it takes values that are no plain memory.
    """
    kept = []
    for candidate in found:
        refused = _refused_value(candidate, opens, opaque)
        if refused is None:
            kept.append(candidate)
            continue
        group, reason = refused
        path = candidate.rule.removeprefix(f"{candidate.target}.")
        log.add(Rejection(candidate.target, tuple(candidate.inside), path, "validity", f"{group}: {reason}"), group)
    return kept


def _refused_value(candidate: CandidatePartition, opens: bool, opaque: bool) -> tuple[str, str] | None:
    """Return what is wrong with the first value at the boundary of `candidate` that its target does not take: the group and a reason."""
    sub_graph, types = candidate.sub_graph, candidate.graph.types
    for name in (*sub_graph.input_tensors(), *sub_graph.output_tensors()):
        kind = types[name]
        if kind.open_axes and not opens:
            return "shapes", f"{name!r} is {kind}: its shape differs from call to call, and {candidate.target} takes fixed shapes only"
        if kind.is_opaque and not opaque:
            return "types", f"{name!r} is {kind}: it is not a flat buffer, and {candidate.target} takes flat buffers only"
    return None


_SWAPPED = str.maketrans("01", "10")


def _order(found: RuleMatch) -> tuple[int, str]:
    """Return a sort key that orders sets as lists of their nodes are ordered."""
    return found.inside.base, f"{found.inside.rel:b}"[::-1].translate(_SWAPPED)


RuleReport = Mapping[str, Any]
"""``tree``: the rule tree as data; ``paths``: path → [candidates, deferred ones]; ``rejected``: ``rule``, ``stage``, ``check`` and
``count`` of each group; ``notes``: ``rule`` and ``text``."""


def make_report(target: str, rule: PartitionRule, candidates: Iterable[CandidatePartition], log: RejectionLog) -> RuleReport:
    """Return the report on phase 2 for `target`."""
    counts, deferred = Counter[str](), Counter[str]()
    for candidate in candidates:
        counts[candidate.rule] += 1
        deferred[candidate.rule] += candidate.deferred
    return {
        "tree": rule.to_json(),
        "paths": {path.removeprefix(f"{target}."): [count, deferred[path]] for path, count in counts.items()},
        "rejected": [
            {"rule": group[1], "stage": group[2], "check": group[3], "count": count}
            for group, count in log.counts.items()
            if group[0] == target and group not in log.note_groups
        ],
        "notes": [{"rule": note.rule, "text": note.reason} for note in log.notes if note.target == target],
    }


def specs_with_counts(reports: Mapping[str, RuleReport]) -> list[dict[str, Any]]:
    """Return an entry for each distinct tree: ``targets`` that share it (a spec of phase 1), and ``tree`` with its counts."""
    by_tree: dict[str, list[str]] = {}
    for target, report in reports.items():
        by_tree.setdefault(json.dumps(report["tree"], sort_keys=True), []).append(target)
    return [{"targets": targets, "tree": tree_with_counts(reports[targets[0]])} for targets in by_tree.values()]


def tree_with_counts(report: RuleReport) -> dict[str, Any]:
    """Return the tree of a report; each rule has its ``path``, ``rule``, ``options``, counts, and the rules below it (``of``)."""
    nodes: list[dict[str, Any]] = []
    root = _node(report["tree"], "", report["paths"], nodes)
    known = Counter(node["path"] for node in nodes)
    for node in nodes:
        node["is_shared"] = known[node["path"]] > 1
    for item in report["rejected"]:
        _rule_of(item["rule"], item["check"], nodes)["rejected"].append({key: item[key] for key in ("stage", "check", "count")})
    for item in report["notes"]:
        _rule_of(item["rule"], "", nodes)["notes"].append(item["text"])
    for node in nodes:
        del node["label"]
    return root


def tree_without_counts(rule: PartitionRule) -> dict[str, Any]:
    """Return the same tree for a rule that has not been run yet: every count is 0."""
    return tree_with_counts({"tree": rule.to_json(), "paths": {}, "rejected": [], "notes": []})


def _node(data: Mapping[str, Any], above: str, paths: Mapping[str, Sequence[int]], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the rule `data` with those below it, and add each to `nodes`."""
    rule = data["rule"]
    own = f"{rule}({data.get('name', '')})" if rule == "composite" else rule
    path = f"{above}.{own}" if above else own
    through = [counts for known, counts in paths.items() if known == path or known.startswith(f"{path}.")]
    subs = data.get("of", [])
    node: dict[str, Any] = {
        "path": path,
        "rule": rule,
        "options": {word: _shown(value) for word, value in data.items() if word not in ("rule", "of")},
        "candidates": sum(counts[0] for counts in through),
        "deferred": sum(counts[1] for counts in through),
        "rejected": [],
        "notes": [],
        "label": str(data.get("label") or data.get("match") or ""),
    }
    nodes.append(node)
    node["of"] = [_node(sub, path, paths, nodes) for sub in (subs if isinstance(subs, list) else [subs])]
    return node


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _rule_of(rule: str, check: str, nodes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the rule that made a rejection: the one called `rule`; of several patterns, the one whose label ends `check`."""
    name = rule.partition(".")[0]
    called = [node for node in nodes if node["rule"] == name]
    labelled = [node for node in called if node["label"] and check.endswith(node["label"])]
    return (labelled or called or list(nodes))[0]
